//! The finding `suspect-unit`.

use super::values;
use crate::apimachinery::quantity::{Amount, Format, Quantity};
use crate::findings::measures::{
    Counter, falls_with_replicas, has_part, is_duration, is_share, says_per_pod,
};
use crate::findings::prelude::*;
use crate::findings::requests::total;
use crate::findings::targets::retarget;
use crate::findings::wording::exact;
use crate::snapshot::hpa::MetricTarget;

/// A value is off its target by about a factor of 1000 or 1024, or one of their powers; or the target is a fraction and
/// the value a whole number; or the metric is a share by its name, and one of the two is a fraction and the other a
/// percentage; or the target is 40 to 100 cores, and the value and the requests of each counted pod are at most a tenth
/// of that. So the units probably differ. It can be wrong: a long queue is also far above its target, an idle rate far
/// below it, and a target of 0.1 jobs per replica may be intended. A metric above its target is not reported if it may
/// be a counter, which no target fits: its name ends in `_total`; or the older a pod is, the higher its value is, and
/// the name does not say what else it is, such as a rate or a queue. A rate in KEDA's query rules out both.
///
/// Set the target in the unit of the value.
#[derive(Debug, Clone, PartialEq)]
pub struct SuspectUnit {
    /// The index of the metric in the spec, from 0.
    pub metric: usize,
    /// The value.
    pub current: Quantity,
    /// The target.
    pub target: Quantity,
    /// The value divided by the target.
    pub ratio: f64,
    /// The target that is probably meant: in the unit of the value, or not divided by the replicas.
    pub meant: MetricTarget,
    /// The reason why the units seem to differ.
    pub clue: Clue,
}

impl Kind for SuspectUnit {
    fn find(case: &Case<'_>) -> Vec<Finding> {
        case.metrics()
            .filter_map(|step| {
                let in_unit = Self::of(case, step).map(|facts| facts.in_unit(case, step));
                in_unit.or_else(|| Some(divided(case, step)?.undivided(case)))
            })
            .collect()
    }

    fn summary(&self, about: &About<'_>) -> String {
        let Self { target, ratio, .. } = self;
        let label = about.label(self.metric);
        let current = about.amount(self.metric, &self.current);
        let shown = about.amount(self.metric, target);
        if self.is_divided() {
            return format!(
                "{label} is {current}, above its target of {shown}, but AverageValue divides it by the replicas"
            );
        }
        // Next to plain values, thousandths are easily misread as ones.
        let is_fraction = target.milli_value() < 1000 && !about.spec(self.metric).is_resource();
        let stated = if is_fraction {
            format!("{} ({target})", self.plain_target())
        } else {
            shown
        };
        let times = if *ratio >= 1.0 {
            format!("{} times", number(ratio.round()))
        } else {
            format!("1/{} of", number((1.0 / ratio).round()))
        };
        let guess = match self.clue {
            Clue::Percent => ", probably a percentage",
            _ => ": the units probably differ",
        };
        format!("{label} is {current}, {times} its target of {stated}{guess}")
    }

    fn evidence(&self, about: &About<'_>) -> Vec<String> {
        let mut evidence = Vec::from_iter(self.clue(about));
        let meant = if self.is_divided() {
            let lower =
                "AverageValue divides it by the replicas, so more of them make it look lower.";
            evidence.push(lower.to_owned());
            "a target of type Value".to_owned()
        } else {
            self.meant_in_words(about)
        };
        evidence.extend(about.result(&format!("With {meant}")));
        evidence
    }

    fn advice(&self, about: &About<'_>) -> Advice {
        let (hint, command) = about.try_target(self.metric, &exact(&self.meant));
        let patch = about.patch_target(self.metric, self.meant.clone());
        let (remedy, act, commands) = match self.clue {
            Clue::Divided { .. } => {
                let used = self.other_type(about);
                let act = format!("Use {used} if the metric falls as replicas are added.");
                (Remedy::UseValue, act, [None, patch])
            }
            Clue::Percent => {
                let act = format!("Use {}, if that is meant.", self.other_type(about));
                (Remedy::SetTarget, act, [command, patch])
            }
            _ => {
                let amount = self.meant.amount();
                let of_trigger = amount.and_then(|it| about.trigger_number(self.metric, it));
                let to = of_trigger.unwrap_or_else(|| self.meant_in_words(about));
                let act = format!("Set the target to {to}, if that is what is meant{hint}.");
                (Remedy::SetTarget, act, [command, None])
            }
        };
        remedy.says(act).with_all(commands.into_iter().flatten())
    }
}

impl SuspectUnit {
    /// Returns a value that is probably in a different unit from its target.
    fn of(case: &Case<'_>, step: &MetricStep) -> Option<Self> {
        let reported = &step.proposal()?.current;
        let current = reported
            .average_value
            .as_ref()
            .or(reported.value.as_ref())?;
        let target = step.target.amount()?;
        let (value, wanted) = (current.milli_value(), target.milli_value());
        // Any target is too low for a counter in the end.
        if value <= 0 || wanted <= 0 || Counter::of(case, step).is_some() {
            return None;
        }
        let in_unit = meant(case, step, value, wanted)
            .map(|(amount, clue)| (step.target.with_amount(&amount), clue));
        // At night, the value of such a target is also near a thousandth of it.
        let (meant, clue) = as_percent(case, step, value, wanted).or(in_unit)?;
        Some(Self {
            metric: step.index,
            current: current.clone(),
            target: target.clone(),
            ratio: value as f64 / wanted as f64,
            meant,
            clue,
        })
    }

    /// Returns the finding, with the result of a pass whose target is in the unit of the value.
    fn in_unit(self, case: &Case<'_>, step: &MetricStep) -> Finding {
        let without = case.without(retarget(step.index, self.meant.clone()));
        // A low value looks like one in a larger unit, unless the metric is never idle.
        let is_never_idle = step.is_resource() || is_duration(&step.name);
        let severity = if self.ratio < 1.0 && !is_never_idle {
            Severity::Info
        } else {
            Severity::Warning
        };
        let explains = case.decides(step) && without != case.answer();
        Finding::new(severity, explains, self).without(without)
    }

    /// Returns the finding, with the result of a pass that does not divide the value by the replicas.
    fn undivided(self, case: &Case<'_>) -> Finding {
        let without = case.without(retarget(self.metric, self.meant.clone()));
        let finding = if without.proposal > case.answer().proposal {
            Finding::explaining(Severity::Warning, self)
        } else {
            Finding::aside(Severity::Info, self)
        };
        finding.without(without)
    }

    /// Whether the unit is right, and only the division by the replicas is not.
    pub(crate) fn is_divided(&self) -> bool {
        matches!(self.clue, Clue::Divided { .. })
    }

    /// Returns the target that is probably meant as it is shown.
    fn meant_in_words(&self, about: &About<'_>) -> String {
        let amount = self.meant.amount();
        amount.map_or_else(|| exact(&self.meant), |it| about.amount(self.metric, it))
    }

    /// Returns the target in plain units.
    fn plain_target(&self) -> String {
        number(self.target.milli_value() as f64 / 1000.0)
    }

    /// Describes why the units probably differ.
    fn clue(&self, about: &About<'_>) -> Option<String> {
        let target = &self.target;
        let plain = self.plain_target();
        let share =
            |amount: &Quantity, whole: i64| percent(amount.milli_value() as f64 / whole as f64);
        Some(match self.clue {
            Clue::Divided { by_query } => {
                let says = if by_query { "query" } else { "name" };
                format!(
                    "Its {says} says that it is an average, a quantile, a time or a share, or is divided by the pods already."
                )
            }
            Clue::Milliseconds => format!(
                "{target} is {plain} of the metric's unit: the suffix m is for thousandths, not for \
                 milliseconds."
            ),
            Clue::Share => format!(
                "Read as shares, the value is {} and the target {}.",
                share(&self.current, 1000),
                share(target, 1000)
            ),
            Clue::Whole => {
                let total = about.proposal(self.metric).and_then(|it| it.total.as_ref());
                let whole = match total {
                    Some(total) => format!(
                        "the total, {}, is a whole number",
                        about.amount(self.metric, total)
                    ),
                    None if about.spec(self.metric).is_total() => {
                        "the value is a whole number".to_owned()
                    }
                    None => "the values of the pods are whole numbers".to_owned(),
                };
                format!("{target} is {plain} in plain units, while {whole}.")
            }
            Clue::Percent => {
                let requested = match about.spec(self.metric).container() {
                    Some(name) => format!("{name} requests in each counted pod"),
                    None => "each counted pod requests".to_owned(),
                };
                format!("{plain} is {plain} cores, at least ten times what {requested}.")
            }
            Clue::Power => {
                let of_target = share(&self.current, self.meant.amount()?.milli_value());
                let with = self.meant_in_words(about);
                format!("With {with}, the value would be {of_target} of the target.")
            }
        })
    }

    /// Returns the words that give the metric a target of another type, to follow `Use`.
    fn other_type(&self, about: &About<'_>) -> String {
        let MetricTarget {
            type_,
            average_utilization,
            ..
        } = &self.meant;
        let Some(owner) = about.owner() else {
            let own = match average_utilization {
                Some(percent) => format!("averageUtilization: {percent}"),
                None => format!("value: {}", self.target),
            };
            return format!("{own} instead of averageValue");
        };
        let label = about.spec(self.metric).short_label();
        let value = average_utilization.map(|percent| format!(" and metadata.value: {percent}"));
        let value = value.unwrap_or_default();
        format!("metricType: {type_}{value} for {label} in spec.triggers of {owner}")
    }
}

/// The reason why a metric and its target are probably in different units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clue {
    /// One is about 1000 or 1024 times the other, or a power of that factor.
    Power,
    /// The target is a number of cores that no pod comes near, and is plausible as a percentage of the requests.
    Percent,
    /// The target is a fraction, and the value a whole number.
    Whole,
    /// The metric is a share, judging by its name: one is a fraction, and the other a percentage.
    Share,
    /// The metric is a time, judging by its name, and its target has the suffix `m`, which does not mean milliseconds.
    Milliseconds,
    /// The value does not grow with the pods, and the target is one per replica, which divides it by the replicas.
    Divided {
        /// Whether the query shows it; otherwise, the name does.
        by_query: bool,
    },
}

/// Returns a value that is above its target unless it is divided by the replicas, on which it does not depend.
fn divided(case: &Case<'_>, step: &MetricStep) -> Option<SuspectUnit> {
    let proposal = step.proposal().filter(|_| step.is_total())?;
    let target = step.target.average_value.as_ref()?;
    let total = proposal.total.as_ref()?;
    let by_query = says_per_pod(case, step);
    if !by_query && !falls_with_replicas(&step.name) {
        return None;
    }
    let ratio = total.milli_value() as f64 / target.milli_value() as f64;
    let hides = ratio > 1.0 + step.tolerance.up
        && case
            .decision
            .replicas_before()
            .is_some_and(|current| proposal.replicas <= current);
    hides.then(|| SuspectUnit {
        metric: step.index,
        current: total.clone(),
        target: target.clone(),
        ratio,
        meant: MetricTarget::in_all(target.clone()),
        clue: Clue::Divided { by_query },
    })
}

/// A ratio up to this may come from comparing a percentage with a fraction.
const PERCENTS: f64 = 200.0;

/// A value that keeps growing is this far above its target.
const FAR: f64 = 10.0;

/// Whether two amounts of one unit may have this ratio.
fn is_near(ratio: f64) -> bool {
    (0.5..=2.0).contains(&ratio)
}

/// Returns the target that is probably meant, in the unit of the value, and the clue; `value` and `wanted` are in
/// thousandths.
fn meant(case: &Case<'_>, step: &MetricStep, value: i64, wanted: i64) -> Option<(Quantity, Clue)> {
    /// The least memory that a pod could be intended to use, in milli-bytes.
    const LEAST_MEMORY: i64 = 1024 * 1024 * 1000;
    let ratio = value as f64 / wanted as f64;
    let is_memory = step.name == "memory" && step.is_resource();
    let is_time = is_duration(&step.name);
    let decimal = |milli: i64| Quantity::from_milli(milli, Format::DecimalSI);
    if is_of_share(step) && (10_000..=100_000).contains(&wanted) && is_fraction_of_one(step) {
        // An idle metric is far below its target in either unit.
        return is_near(ratio * 100.0).then_some((decimal(wanted / 100), Clue::Share));
    }
    if let Some((factor, clue)) = fraction(step, value, wanted) {
        return Some((decimal(wanted.checked_mul(factor)?), clue));
    }
    if is_memory && wanted < LEAST_MEMORY && ratio > PERCENTS {
        let is_whole = wanted % 1000 == 0;
        let clue = if is_whole { Clue::Power } else { Clue::Whole };
        return Some((with_unit(wanted, value)?, clue));
    }
    let (powers, format): (&[i64], _) = if is_memory {
        (&[1 << 10, 1 << 20, 1 << 30], Format::BinarySI)
    } else if is_queue(step) {
        // Many more messages than intended per replica are a long queue.
        (&[1_000_000, 1_000_000_000], Format::DecimalSI)
    } else {
        (&[1000, 1_000_000, 1_000_000_000], Format::DecimalSI)
    };
    let power = powers.iter().find(|power| is_near(ratio / **power as f64));
    let is_milli = is_time && !step.is_resource() && wanted < 1000;
    if power.is_none() && is_milli && ratio >= FAR && !is_in_seconds(&step.name) {
        return Some((decimal(wanted * 1000), Clue::Milliseconds));
    }
    let milli = match power {
        // Idle metrics are far below their targets as well, but memory and durations are never idle.
        _ if ratio < 1.0 && (is_memory || is_time) => {
            let mut factors = powers.iter().chain(&[1000, 1_000_000, 1_000_000_000]);
            let factor = factors.find(|factor| {
                let corrected = ratio * **factor as f64;
                wanted % **factor == 0 && case.rules.is_within(&step.tolerance, corrected)
            })?;
            wanted / factor
        }
        Some(power) => wanted.checked_mul(*power)?,
        None if has_surplus_thousands(step, ratio, wanted) => wanted / 1000,
        // Cores instead of the intended thousandths of a core.
        None if step.name == "cpu" && step.is_resource() => {
            let is_close = (0.25..=2.0).contains(&(ratio * 1000.0));
            (is_close && requests_at_most(case, step, wanted / 10)).then_some(wanted / 1000)?
        }
        None => return None,
    };
    Some((Quantity::from_milli(milli, format), Clue::Power))
}

/// Returns a target in cores as the percentage of the requests that it probably is, and the clue; `value` and `wanted`
/// are in thousandths.
fn as_percent(
    case: &Case<'_>,
    step: &MetricStep,
    value: i64,
    wanted: i64,
) -> Option<(MetricTarget, Clue)> {
    // Pods may use far more than they request, up to a target that is meant, and idle below a target of some cores.
    let is_percent = step.name == "cpu"
        && step.is_resource()
        && (40_000..=100_000).contains(&wanted)
        && wanted % 1000 == 0
        && value <= wanted / 10
        && requests_at_most(case, step, wanted / 10);
    let percent = i32::try_from(wanted / 1000).ok().filter(|_| is_percent);
    let meant = MetricTarget {
        type_: "Utilization".to_owned(),
        average_utilization: Some(percent?),
        ..MetricTarget::default()
    };
    // A percentage needs the requests of the pods that are not counted as well.
    let has_requests = case
        .proposal_of(step.index, retarget(step.index, meant.clone()))
        .is_some();
    has_requests.then_some((meant, Clue::Percent))
}

/// Whether a metric is a share by its name.
fn is_of_share(step: &MetricStep) -> bool {
    !step.is_resource() && is_share(&step.name)
}

/// Whether a metric may be a queue: times do not queue up, and a target for the total does not apply per replica.
fn is_queue(step: &MetricStep) -> bool {
    let is_per_replica = step.target.average_value.is_some();
    step.is_total() && (is_per_replica || !is_duration(&step.name))
}

/// Returns the factor from a target that is a fraction to a value that is not, and the clue.
fn fraction(step: &MetricStep, value: i64, wanted: i64) -> Option<(i64, Clue)> {
    /// The least fraction of a total that may be intended for each replica, in thousandths: ten replicas for one
    /// job.
    const LEAST_PLAUSIBLE: i64 = 100;
    /// 100 percent, in thousandths.
    const ALL_PERCENTS: i64 = 100_000;
    /// A value that is not a long queue is this far above its target.
    const TOO_FAR: f64 = 50.0;
    if step.is_resource() || wanted >= 1000 {
        return None;
    }
    let ratio = value as f64 / wanted as f64;
    let is_of_replica = is_queue(step) && step.target.average_value.is_some();
    // Half a job for each replica or a tenth of a second may well be intended.
    let is_plausible = is_duration(&step.name)
        || is_of_replica
            && (wanted > LEAST_PLAUSIBLE || wanted == LEAST_PLAUSIBLE && ratio < TOO_FAR);
    let is_whole = is_whole(step) && !is_plausible;
    // A total of less than one job is a share, or in another unit.
    let is_total_share = is_queue(step)
        && !is_of_replica
        && is_whole
        && wanted >= LEAST_PLAUSIBLE
        && value <= ALL_PERCENTS;
    let is_percents = ratio <= PERCENTS && (is_of_share(step) || is_total_share);
    let is_fraction = if is_percents {
        // A factor of 100 means percents.
        is_near(ratio / 100.0)
    } else if ratio <= PERCENTS {
        is_whole && wanted <= LEAST_PLAUSIBLE && ratio >= FAR
    } else {
        is_whole && ratio <= 10_000.0
    };
    let factor = if is_percents { 100 } else { 1000 };
    let clue = if is_whole { Clue::Whole } else { Clue::Share };
    is_fraction.then_some((factor, clue))
}

/// Whether a target is a thousand times a busy value, as if a `k` or `000` was added.
fn has_surplus_thousands(step: &MetricStep, ratio: f64, wanted: i64) -> bool {
    /// A value in the target's unit is this close to it.
    const CLOSE: f64 = 1.25;
    /// An idle metric has no values like this, in thousandths.
    const BUSY: i64 = 100_000;
    let is_close = (1.0 / CLOSE..=CLOSE).contains(&(ratio * 1000.0));
    let is_busy = || values(step).iter().all(|value| *value >= BUSY);
    let may_be = !step.is_resource() && !is_size(&step.name) && wanted % 1_000_000 == 0;
    may_be && is_close && is_busy()
}

/// Whether a metric measures seconds, judging by its name.
fn is_in_seconds(name: &str) -> bool {
    has_part(name, &["seconds"]) && !has_part(name, &["milli"])
}

/// Returns a target for memory with the unit that brings it nearest to the value; a fraction of a byte has
/// `m` instead of the intended `M`.
fn with_unit(wanted: i64, value: i64) -> Option<Quantity> {
    let plain = if wanted % 1000 == 0 {
        wanted
    } else {
        wanted.checked_mul(1000)?
    };
    let off = |meant: &i64| (value as f64 / *meant as f64).ln().abs();
    let units = [1 << 10, 1 << 20, 1 << 30].into_iter();
    let all = units.filter_map(|unit| plain.checked_mul(unit));
    let meant = all.min_by(|one, other| off(one).total_cmp(&off(other)))?;
    Some(Quantity::from_milli(meant, Format::BinarySI))
}

/// Whether a metric measures bytes, judging by its name; both few and many bytes are usual.
fn is_size(name: &str) -> bool {
    const PARTS: [&str; 8] = [
        "byte",
        "bit",
        "mem",
        "size",
        "traffic",
        "network",
        "bandwidth",
        "throughput",
    ];
    has_part(name, &PARTS)
}

/// Whether all values of a metric are at most 1, and not all of them whole numbers.
fn is_fraction_of_one(step: &MetricStep) -> bool {
    let values = values(step);
    values.iter().all(|value| *value <= 1000) && values.iter().any(|value| value % 1000 != 0)
}

/// Whether a metric counts in whole numbers.
fn is_whole(step: &MetricStep) -> bool {
    values(step).iter().all(|milli| milli % 1000 == 0)
}

/// Whether the requests of each counted pod are known, and at most this.
fn requests_at_most(case: &Case<'_>, step: &MetricStep, most: i64) -> bool {
    let mut sums = case.counted(step).map(|(_, pod)| {
        let counted = case.counted_containers(pod, step);
        total(counted.map(|it| it.requests.get(&step.name).map(Amount::milli_value)))
    });
    let is_low = |sum: Option<i64>| sum.is_some_and(|sum| sum > 0 && sum <= most);
    sums.next().is_some_and(is_low) && sums.all(is_low)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::build;
    use crate::findings::Code;
    use crate::findings::pods::testing::ready;
    use crate::findings::testing::{
        by_age, codes, external, of_keda, of_pods, only_of, said, state, triggered, with, with_pod,
    };
    use crate::findings::values::suspect_unit::Clue::{Milliseconds, Percent, Power, Share, Whole};

    #[test]
    fn a_value_and_a_target_in_different_units() {
        let of_each = |name: &str, target: &str, value: &str| {
            external(name, &build::average(target), value, 1)
        };
        let total =
            |name: &str, target: &str, value: &str| external(name, &build::value(target), value, 1);
        let external = |target: &str, value: &str| of_each("queue", target, value);
        let memory = |target: &str, usage: &str| {
            let items = state(
                &[build::resource("memory", &build::average(target))],
                &["50m"],
            );
            let containers = json!([{"name": "app", "usage": {"cpu": "1m", "memory": usage}}]);
            with(&items, "PodMetrics", &json!({ "containers": containers }))
        };
        let latency = |name: &str, target: &str, value: &str| of_pods(name, target, &[value]);
        let aging = |values: [&str; 3]| by_age(&of_pods("served", "100", &values));
        // A share of each of four pods.
        let idle = |shares: [&str; 4]| of_pods("DCGM_FI_DEV_GPU_UTIL", "60", &shares);
        let cores = |target: &str, usage: &str| {
            state(&[build::resource("cpu", &build::average(target))], &[usage])
        };
        let none = json!({"spec": {"containers": [{"name": "app"}]}});
        let none = build::with(none, &ready("False", "2026-11-21T03:00:00Z"));
        let metric = build::resource("cpu", &build::average("70"));
        let unrequested = state(&[metric], &["900m"; 2]);
        let unrequested = with_pod(&unrequested, "web-1", &none);
        let of_many_cores = json!({"spec": {"containers": [build::requesting("app", "8")]}});
        let meant = |items: &[Value]| {
            let (facts, finding) = only_of::<SuspectUnit>(items)?;
            let is_low = facts.clue == Share || matches!(&*facts.target.to_string(), "200k");
            let severity = if is_low && facts.ratio < 1.0 {
                Severity::Info
            } else {
                Severity::Warning
            };
            assert_eq!(finding.severity, severity);
            let SuspectUnit { meant, clue, .. } = facts;
            Some((exact(&meant), clue, finding.explains))
        };
        for (items, want) in [
            (external("30m", "25"), Some(("30", Whole, true))),
            (
                latency("gpu_utilization", "800m", "75"),
                Some(("80", Whole, true)),
            ),
            (latency("jobs", "20m", "15"), Some(("20", Whole, true))),
            (external("500", "600M"), Some(("500M", Power, true))),
            (memory("500", "300Mi"), Some(("500Mi", Power, true))),
            (cores("500", "600m"), Some(("500m", Power, true))),
            // A target in thousandths of a core would be near the value as well.
            (cores("50", "60m"), Some(("50%", Percent, true))),
            (cores("70", "180m"), Some(("70%", Percent, true))),
            (cores("70", "1m"), Some(("70%", Percent, false))),
            // Not a percentage, and not far from what a pod requests.
            (cores("70500m", "180m"), None),
            (cores("9", "180m"), None),
            // A few cores may be meant for bursts, and another pod has no requests.
            (cores("32", "500m"), None),
            (cores("40", "60m"), Some(("40%", Percent, true))),
            (unrequested, None),
            // Far above the requests, but near the target.
            (cores("10", "8"), None),
            (cores("10", "12"), None),
            (with(&cores("70", "9"), "Pod", &of_many_cores), None),
            (memory("500", "100Mi"), Some(("500Mi", Power, true))),
            (memory("200m", "100Mi"), Some(("200Mi", Whole, true))),
            (memory("100Gi", "100Mi"), Some(("100Mi", Power, false))),
            (
                latency("latency_ms", "500", "450m"),
                Some(("500m", Power, false)),
            ),
            (
                latency("gpu_utilization", "80", "450m"),
                Some(("800m", Share, false)),
            ),
            (
                latency("hitRatio", "90", "950m"),
                Some(("900m", Share, false)),
            ),
            (
                latency("CPUUtilization", "60", "700m"),
                Some(("600m", Share, true)),
            ),
            (
                latency("busy_percent", "70", "600m"),
                Some(("700m", Share, false)),
            ),
            (
                latency("gpu_utilization", "800m", "73500m"),
                Some(("80", Share, true)),
            ),
            // A tenth of each, and far more whole ones.
            (latency("rps", "100m", "9"), Some(("100", Whole, true))),
            (external("100m", "9"), Some(("100", Whole, true))),
            // Milliseconds that are thousandths.
            (
                of_each("backend_latencies", "50m", "1211m"),
                Some(("50", Milliseconds, true)),
            ),
            (
                latency("response_time", "50m", "1211m"),
                Some(("50", Milliseconds, true)),
            ),
            (of_each("backend_latency_seconds", "50m", "1211m"), None),
            (of_each("backend_latencies", "50m", "400m"), None),
            (external("100m", "4"), None),
            (latency("rps", "500m", "40"), None),
            // Whole numbers, a share of something small, and one pod above 1.
            (latency("gpu_utilization", "60", "1"), None),
            (latency("backlog_to_worker_ratio", "15", "800m"), None),
            (latency("utility_requests", "50", "300m"), None),
            (idle(["750m", "0", "0", "3"]), None),
            (
                idle(["900m", "300m", "300m", "900m"]),
                Some(("600m", Share, true)),
            ),
            // An idle percentage, more than 100%, a low target, and names that only look like shares.
            (latency("busy_percent", "70", "100m"), None),
            (latency("gpu_utilization", "80", "1200m"), None),
            (latency("gpu_utilization", "5", "450m"), None),
            (latency("pending_operations", "80", "450m"), None),
            (latency("pending_operations", "800m", "73500m"), None),
            // An idle rate, low memory, and a short latency.
            (latency("rps", "500", "450m"), None),
            (memory("100Gi", "10Mi"), None),
            (latency("latency_ms", "500", "300m"), None),
            // Half a job for each replica, a fifth of a second, and a name that ends like a share.
            (external("500m", "120"), None),
            (external("500m", "800"), None),
            (latency("jobs", "800m", "75"), None),
            (latency("latency_seconds", "200m", "14"), None),
            (latency("latency_seconds", "10m", "4"), None),
            (latency("GPUutility", "60", "700m"), None),
            // Times in milliseconds and seconds, and totals in thousands and in percents.
            (
                total("http_request_duration", "250m", "230"),
                Some(("250", Power, true)),
            ),
            (
                total("latency_seconds", "200m", "250"),
                Some(("200", Power, true)),
            ),
            (total("rps", "200m", "200"), Some(("200", Whole, true))),
            (
                total("broker_usage", "700m", "85"),
                Some(("70", Whole, true)),
            ),
            (latency("rps", "200k", "190"), Some(("200", Power, false))),
            // Any job at all, a few of them, many bytes, and values that are not near.
            (total("queue", "500m", "3"), None),
            (total("queue", "900m", "20"), None),
            (total("latency_seconds", "200m", "4"), None),
            (latency("network_rx", "200k", "190"), None),
            (latency("rps", "200k", "120"), None),
            (latency("rps", "500k", "50"), None),
            // Queues that are named after a time, which no replica has a part of.
            (of_each("rabbitmq-low-latency", "5", "5k"), None),
            (of_each("jobs_over_60_seconds", "5", "5k"), None),
            // A heavy load, a long queue, an idle one, a rate, and a target that pods do use.
            (external("30", "900"), None),
            (external("5", "5k"), None),
            (external("100", "0"), None),
            (external("500m", "750m"), None),
            (memory("500Mi", "1Gi"), None),
            (cores("100m", "1m"), None),
            // Counters, by the name and by the ages of the pods.
            (latency("http_requests_total", "100", "82500"), None),
            (aging(["150k", "90k", "30k"]), None),
            (aging(["90k", "150k", "30k"]), Some(("100k", Power, true))),
        ] {
            let want = want.map(|(text, clue, explains)| (text.to_owned(), clue, explains));
            assert_eq!(meant(&items), want, "{}", items[0]["spec"]["metrics"]);
        }
    }

    /// A percentage is named as the API or the trigger takes it, and only what counts is said to request less.
    #[test]
    fn a_percentage_that_is_meant() {
        let average = build::average("70");
        let plain = state(&[build::resource("cpu", &average)], &["180m"]);
        let container = build::resource_of("cpu", "app", &average);
        let scaled = of_keda(&plain, &json!({}));
        let told = |items: &[Value]| {
            let text = said(Code::SuspectUnit, items);
            let end = "1/389 of its target of 70, probably a percentage";
            assert!(text.summary.ends_with(end), "{}", text.summary);
            (text.evidence[0].clone(), text.advice.text(), text.commands)
        };
        let far = "70 is 70 cores, at least ten times what each counted pod requests.";
        let of_app = "70 is 70 cores, at least ten times what app requests in each counted pod.";
        let used = "Use averageUtilization: 70 instead of averageValue, if that is meant.";
        let of_trigger = "Use metricType: Utilization and metadata.value: 70 for cpu in spec.triggers of ScaledObject/web, if that is meant.";
        let patch =
            "{\"averageUtilization\":70,\"type\":\"Utilization\"}},\"type\":\"Resource\"}}]'";
        let edit = "kubectl edit scaledobject web -n default";
        for (items, evidence, advice, ends) in [
            (&plain, far, used, patch),
            (&state(&[container], &["180m"]), of_app, used, "}}]'"),
            (&scaled, far, of_trigger, edit),
        ] {
            let (own, text, commands) = told(items);
            assert_eq!((&*own, &*text), (evidence, advice));
            let is_predicted = commands[0].ends_with("cpu=70%");
            assert!(is_predicted && commands[1].ends_with(ends), "{commands:?}");
        }
    }

    /// KEDA parses a threshold as a number, not as a quantity.
    #[test]
    fn a_threshold_that_is_meant_is_a_number() {
        let items = triggered("5", "20M", &json!({}));
        let text = said(Code::SuspectUnit, &items).advice.text();
        let start = "Set the target to 5000000, if that";
        assert!(text.starts_with(start), "{text}");
    }

    /// A latency, or another average, that a target per replica divides by the replicas.
    #[test]
    fn an_average_that_is_divided() {
        let asking = |query: &str| {
            let triggers =
                json!([{"type": "prometheus", "metadata": {"query": query, "threshold": "20"}}]);
            triggered("20", "45", &json!({"spec": {"triggers": triggers}}))
        };
        let is_told = |items: &[Value]| codes(items).contains(&Code::SuspectUnit);
        let summary = "s0-prometheus is 45, above its target of 20, but AverageValue divides it by the replicas";
        let advice = "Use metricType: Value for s0-prometheus in spec.triggers of ScaledObject/web if the metric falls as replicas are added.";
        for query in [
            "avg(feature_flag_evals_secret)",
            "avg(rate(messages_secret_total{queue=\"a\"}[2m]))",
            "avg(container_cpu_secret{queue=\"a\"})",
            "histogram_quantile(0.95, sum(rate(x[2m])) by (le))",
            "avg(rate(secret_sum[2m]) / rate(secret_count[2m])) * 1000",
            "sum(rate(secret[2m])) / count(up{job=\"web\"})",
            "sum(secret) / scalar(sum(kube_deployment_status_replicas{deployment=\"web\"}))",
            "AVG(secret)",
            "sum(secret) / ON() COUNT(up)",
            "sum by (job) (secret) / on (job) group_left count by (job) (up)",
            "# the pods' share\navg(secret)",
        ] {
            let text = said(Code::SuspectUnit, &asking(query));
            assert_eq!(text.summary, summary);
            assert_eq!(text.advice.text(), advice);
            assert!(!format!("{text:?}").contains("secret"), "{text:?}");
        }
        for query in [
            "sum(rate(x[2m]))",
            "max(lag) / 60",
            "sum(avg_over_time(queue[5m]))",
            "avg(rabbitmq_queue_messages_ready{queue=\"orders\"})",
            "sum(rate(requests{path=\"/countries\"}[2m]))",
            "sum(rate(requests{path='a\\'/count'}[2m]))",
            "max(messages{vhost=`/count`})",
            "AVG(rabbitmq_queue_messages_ready)",
            "sum(jobs) / on () group_left sum(counted)",
            "sum(jobs) # / count(up)",
            "avg(rabbitmq_queue_messages_ready{queue=\"orders\"}) by (a)",
        ] {
            assert!(!is_told(&asking(query)), "{query}");
        }
        // Of another HPA, the name tells.
        let named = |name: &str| external(name, &build::average("20"), "45", 4);
        let text = said(Code::SuspectUnit, &named("checkout_latency_p95"));
        let advice =
            "Use value: 20 instead of averageValue if the metric falls as replicas are added.";
        assert_eq!(text.advice.text(), advice);
        for (name, is_divided) in [
            ("requests_per_second", false),
            ("queue_length_avg", false),
            ("gpu_utilization", true),
            ("response_time_ms", true),
            ("http_request_duration_seconds", true),
            ("requests_per_pod", true),
            ("alb_request_count_per_target", true),
            ("checkout_p95", true),
        ] {
            assert_eq!(is_told(&named(name)), is_divided, "{name}");
        }
        // A total target is right for it, and AverageValue is not advised.
        let total = external("latency_p95", &build::value("20"), "45", 4);
        let advice = said(Code::ValueMultiplies, &total).advice.text();
        assert!(advice.starts_with("Nothing to do if it falls"), "{advice}");
    }
}
