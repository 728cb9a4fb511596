//! Findings about misleading values: old samples, a value in a different unit from its target, and
//! a target that lets a value multiply the replicas.

use jiff::{SignedDuration, Timestamp};

use super::requests::total;
use super::{Case, Facts, Finding, Severity};
use crate::apimachinery::quantity::{Amount, Format, Quantity};
use crate::engine::decision::{Because, Group, MetricStep};
use crate::engine::pods::counted_containers;
use crate::keda;
use crate::snapshot::by_name::Names;
use crate::snapshot::clock::Why;
use crate::snapshot::hpa::MetricTarget;
use crate::snapshot::pod::{ConditionStatus, Phase, Pod, ZERO_TIME};
use crate::snapshot::shared::Shared;
use crate::snapshot::{MetricAnswer, Snapshot};

/// The samples are older than they should be, or far from the clock of the pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StaleSamples {
    /// Their metrics, by index in the spec.
    pub metrics: Vec<usize>,
    /// How many samples are old.
    pub stale: usize,
    /// How many samples there are.
    pub samples: usize,
    /// The end of the newest one.
    pub newest: Timestamp,
    /// The window of that one, if its API states windows.
    pub window: Option<SignedDuration>,
    /// Whether the clock of the pass may be wrong, rather than the samples.
    pub doubts_clock: bool,
}

/// A metric and its target are probably in different units.
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
    /// The target in the unit of the value.
    pub meant: Quantity,
    /// Why they differ.
    pub clue: Clue,
}

/// Why a metric and its target are probably in different units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clue {
    /// One is about a thousand or 1024 times the other, or a power of that.
    Power,
    /// The target is a fraction, and the value a whole number.
    Whole,
    /// The metric is a share, judging by its name: one is a fraction, and the other a percentage.
    Share,
    /// The metric is a time, judging by its name, and its target has the suffix `m`, which is not for milliseconds.
    Milliseconds,
    /// The value is an average or a quantile, and the target one per replica, which divides it by the replicas.
    Divided {
        /// Whether its query says so; if not, its name does.
        by_query: bool,
    },
}

/// A target for the total value multiplies the replicas as long as the value stays.
#[derive(Debug, Clone, PartialEq)]
pub struct ValueMultiplies {
    /// The index of the metric in the spec, from 0.
    pub metric: usize,
    /// The value.
    pub current: Quantity,
    /// The target.
    pub target: Quantity,
    /// The current proposal, then one for each later pass, with the replicas that the previous one proposed.
    pub proposals: Vec<i32>,
    /// The proposal with the same number as a target per replica.
    pub average: i32,
    /// Whether it is a time, a share or an average, by its name or its query, which more replicas should lower.
    pub is_average: bool,
}

/// `stale-samples`
pub(super) fn stale_samples(case: &Case<'_>) -> Vec<Finding> {
    /// Working pipelines may be late by this much.
    const LATE: SignedDuration = SignedDuration::from_mins(2);
    /// What the controller assumes if a custom metric states no window.
    const UNSTATED: SignedDuration = SignedDuration::from_mins(1);
    let snapshot = case.snapshot();
    let mut found: Vec<(&str, StaleSamples)> = Vec::new();
    let doubts_clock = case
        .pass
        .input
        .clock_doubt
        .is_some_and(|doubt| doubt.why != Why::Old);
    for step in case.metrics().filter(|step| step.proposal().is_some()) {
        let spec = &snapshot.hpa.spec.metrics[step.index];
        let is_same = |group: &str| spec.is_resource() && group == spec.api_group();
        if let Some((_, facts)) = found.iter_mut().find(|(group, _)| is_same(group)) {
            facts.metrics.push(step.index);
            continue;
        }
        let ready = step.pods.iter().filter(|row| row.group == Group::Ready);
        let ready: Names<&str> = ready.map(|row| &*case.pod_of(row).name).collect();
        let counted = |name: &str| ready.contains(name);
        let times: Vec<(Timestamp, Option<SignedDuration>)> = match snapshot.metrics.get(step.index)
        {
            Some(MetricAnswer::PodMetrics) => {
                let samples = snapshot.pod_metrics.iter().filter(|it| counted(&it.name));
                samples.map(|it| (it.timestamp, Some(it.window))).collect()
            }
            Some(MetricAnswer::Pods(values)) => {
                let samples = values.iter().filter(|it| counted(&it.pod));
                samples.map(|it| (it.timestamp, Some(it.window))).collect()
            }
            Some(answer) => answer
                .times()
                .into_iter()
                .map(|time| (time, None))
                .collect(),
            None => Vec::new(),
        };
        // An adapter that states no time says nothing about the age.
        let times: Vec<_> = times
            .into_iter()
            .filter(|(time, _)| *time != ZERO_TIME)
            .collect();
        let is_old = |(time, window): &&(Timestamp, Option<SignedDuration>)| {
            let window = window.unwrap_or(UNSTATED);
            if doubts_clock {
                snapshot.now.duration_since(*time).abs() > window.saturating_mul(2)
            } else {
                snapshot.is_stale(*time, window)
            }
        };
        let stale = times.iter().filter(is_old).count();
        let newest = times.iter().filter(is_old).max_by_key(|(time, _)| *time);
        let Some(&(newest, window)) = newest else {
            continue;
        };
        let (metrics, samples) = (vec![step.index], times.len());
        let facts = StaleSamples {
            metrics,
            stale,
            samples,
            newest,
            window,
            doubts_clock,
        };
        found.push((spec.api_group(), facts));
    }
    let winner = case.decision().winner().map(|step| step.index);
    let finding = |(_, facts): (&str, StaleSamples)| {
        let decides = winner.is_some_and(|winner| facts.metrics.contains(&winner));
        let is_late = snapshot.now.duration_since(facts.newest) <= LATE;
        if facts.doubts_clock || is_late {
            Finding::aside(Severity::Info, facts)
        } else if facts.stale == facts.samples && decides {
            Finding::explaining(Severity::Warning, facts)
        } else {
            Finding::aside(Severity::Warning, facts)
        }
    };
    found.into_iter().map(finding).collect()
}

/// Returns the target of a metric as an amount; `None` for a utilization.
fn amount(target: &MetricTarget) -> Option<&Quantity> {
    target.average_value.as_ref().or(target.value.as_ref())
}

/// Replaces the amount of a target.
fn set_amount(snapshot: &mut Snapshot, metric: usize, amount: &Quantity) {
    if let Some(target) = snapshot.hpa.spec.metrics[metric].target_mut() {
        let MetricTarget {
            value,
            average_value,
            ..
        } = target;
        for field in [average_value, value].into_iter().flatten() {
            field.clone_from(amount);
        }
    }
}

/// `suspect-unit`
pub(super) fn suspect_unit(case: &Case<'_>) -> Vec<Finding> {
    let winner = case.decision().winner().map(|step| step.index);
    let finding = |step: &MetricStep| {
        let facts = suspect(case, step)?;
        let without = case.without(|snapshot| set_amount(snapshot, step.index, &facts.meant));
        // A low value looks like one in a larger unit, except of what is never idle.
        let is_never_idle = step.is_resource() || is_duration(&step.name);
        let severity = if facts.ratio < 1.0 && !is_never_idle {
            Severity::Info
        } else {
            Severity::Warning
        };
        let finding = if winner == Some(step.index) && without != case.answer() {
            Finding::explaining(severity, facts)
        } else {
            Finding::aside(severity, facts)
        };
        Some(finding.without(without))
    };
    let divided = |step: &MetricStep| {
        let facts = divided(case, step)?;
        let without = case.without(|snapshot| {
            if let Some(target) = snapshot.hpa.spec.metrics[step.index].target_mut() {
                target.type_ = "Value".to_owned();
                target.value = target.average_value.take();
            }
        });
        Some(
            if without.proposal > case.answer().proposal {
                Finding::explaining(Severity::Warning, facts)
            } else {
                Finding::aside(Severity::Info, facts)
            }
            .without(without),
        )
    };
    case.metrics()
        .filter_map(|step| finding(step).or_else(|| divided(step)))
        .collect()
}

/// Returns a value that is above its target, unless it is divided by the replicas, on which it does not depend.
fn divided(case: &Case<'_>, step: &MetricStep) -> Option<SuspectUnit> {
    let proposal = step.proposal().filter(|_| step.is_total())?;
    let target = step.target.average_value.as_ref()?;
    let total = proposal.total.as_ref()?;
    let by_query = says_per_pod(case, step);
    if !by_query && !is_average(&step.name) {
        return None;
    }
    let ratio = total.milli_value() as f64 / target.milli_value() as f64;
    let hides = ratio > 1.0 + step.tolerance.up
        && case
            .decision()
            .replicas_before()
            .is_some_and(|current| proposal.replicas <= current);
    hides.then(|| SuspectUnit {
        metric: step.index,
        current: total.clone(),
        target: target.clone(),
        ratio,
        meant: target.clone(),
        clue: Clue::Divided { by_query },
    })
}

/// Whether the query of KEDA's trigger says that a metric does not grow with the pods.
fn says_per_pod(case: &Case<'_>, step: &MetricStep) -> bool {
    let spec = &case.snapshot().hpa.spec.metrics[step.index];
    let query = case
        .scaled_object()
        .and_then(|object| keda::prometheus_query(object, spec));
    query.is_some_and(keda::is_per_pod)
}

/// Whether a metric is an average or a quantile, judging by a word of its name.
fn is_average(name: &str) -> bool {
    const WORDS: [&str; 8] = [
        "avg", "average", "mean", "p50", "p90", "p95", "p99", "latency",
    ];
    let name = name.to_lowercase();
    let mut words = name.split(|letter: char| !letter.is_ascii_alphanumeric());
    words.any(|word| WORDS.contains(&word))
}

fn suspect(case: &Case<'_>, step: &MetricStep) -> Option<SuspectUnit> {
    /// The factor by which a value may differ apart from its unit.
    const OFF: f64 = 2.0;
    /// A ratio up to this may be percents compared with a fraction.
    const PERCENTS: f64 = 100.0 * OFF;
    /// The least memory that a pod could be meant to use, in milli-bytes.
    const LEAST_MEMORY: i64 = 1024 * 1024 * 1000;
    /// The least fraction of a total that may be meant for each replica, in thousandths: ten replicas for one job.
    const LEAST_PLAUSIBLE: i64 = 100;
    /// All of a share in percents, in thousandths.
    const ALL_PERCENTS: i64 = 100_000;
    /// An idle metric has no values like this, in thousandths.
    const BUSY: i64 = 100_000;
    /// A value of the target's unit is this close to it.
    const CLOSE: f64 = 1.25;
    /// A value that has grown without end is this far above its target.
    const FAR: f64 = 10.0;
    /// A value that is no long queue is this far above its target.
    const TOO_FAR: f64 = 50.0;
    let proposal = step.proposal()?;
    let target = amount(&step.target)?;
    let current = proposal
        .current
        .average_value
        .as_ref()
        .or(proposal.current.value.as_ref())?;
    let (value, wanted) = (current.milli_value(), target.milli_value());
    if value <= 0 || wanted <= 0 {
        return None;
    }
    let ratio = value as f64 / wanted as f64;
    let is_near = |power: i64| (1.0 / OFF..=OFF).contains(&(ratio / power as f64));
    let is_share = !step.is_resource() && is_share(&step.name);
    // Times do not queue up, and a total target is not for each replica.
    let is_per_replica = step.target.average_value.is_some();
    let is_queue = step.is_total() && (is_per_replica || !is_duration(&step.name));
    if is_share && (10_000..=100_000).contains(&wanted) && is_fraction_of_one(step) {
        // An idle metric is far below its target in either unit.
        let is_meant = (1.0 / OFF..=OFF).contains(&(ratio * 100.0));
        return is_meant.then(|| SuspectUnit {
            metric: step.index,
            current: current.clone(),
            target: target.clone(),
            ratio,
            meant: Quantity::from_milli(wanted / 100, Format::DecimalSI),
            clue: Clue::Share,
        });
    }
    // Half a job for each replica or a tenth of a second may well be meant.
    let is_plausible = is_duration(&step.name)
        || (is_queue
            && is_per_replica
            && (wanted > LEAST_PLAUSIBLE || (wanted == LEAST_PLAUSIBLE && ratio < TOO_FAR)));
    let is_whole = is_whole(step) && !is_plausible;
    // A total of less than one job is a share, or in another unit.
    let is_total_share = is_queue
        && !is_per_replica
        && is_whole
        && wanted >= LEAST_PLAUSIBLE
        && value <= ALL_PERCENTS;
    let is_fraction = wanted < 1000
        && !step.is_resource()
        && if ratio <= PERCENTS && (is_share || is_total_share) {
            // A factor of 100 means percents.
            ratio >= 100.0 / OFF
        } else if ratio <= PERCENTS {
            is_whole && wanted <= LEAST_PLAUSIBLE && ratio >= FAR
        } else {
            is_whole && ratio <= 10_000.0
        };
    let clue = if is_fraction && is_whole {
        Clue::Whole
    } else if is_fraction {
        Clue::Share
    } else {
        Clue::Power
    };
    let is_percents = is_fraction && ratio <= PERCENTS && (is_share || is_total_share);
    let (powers, format): (&[i64], _) = match &*step.name {
        _ if is_percents => (&[100], Format::DecimalSI),
        _ if is_fraction => (&[1000], Format::DecimalSI),
        "memory" if step.is_resource() => (&[1 << 10, 1 << 20, 1 << 30], Format::BinarySI),
        // Many more messages than intended per replica are a long queue.
        _ if is_queue => (&[1_000_000, 1_000_000_000], Format::DecimalSI),
        _ => (&[1000, 1_000_000, 1_000_000_000], Format::DecimalSI),
    };
    let power = powers.iter().find(|power| is_fraction || is_near(**power));
    let is_in_seconds = || {
        let name = step.name.to_lowercase();
        name.contains("seconds") && !name.contains("milli")
    };
    let is_milli = !step.is_resource() && is_duration(&step.name) && wanted < 1000;
    if power.is_none() && is_milli && ratio >= FAR && !is_in_seconds() {
        return Some(SuspectUnit {
            metric: step.index,
            current: current.clone(),
            target: target.clone(),
            ratio,
            meant: Quantity::from_milli(wanted * 1000, Format::DecimalSI),
            clue: Clue::Milliseconds,
        });
    }
    let is_memory = step.name == "memory" && step.is_resource();
    let meant = match power {
        _ if is_memory && wanted < LEAST_MEMORY && ratio > PERCENTS => {
            return Some(SuspectUnit {
                metric: step.index,
                current: current.clone(),
                target: target.clone(),
                ratio,
                meant: with_unit(wanted, value)?,
                clue: if wanted % 1000 == 0 {
                    Clue::Power
                } else {
                    Clue::Whole
                },
            });
        }
        // Idle metrics are far below their targets as well, but memory and durations are never idle.
        _ if ratio < 1.0 && (is_memory || is_duration(&step.name)) => {
            let is_meant = |power: &&i64| {
                let ratio = ratio * **power as f64;
                wanted % **power == 0 && case.rules().is_within(&step.tolerance, ratio)
            };
            let thousands = [1000, 1_000_000, 1_000_000_000];
            wanted / powers.iter().chain(&thousands).find(is_meant)?
        }
        // Thousands where a `k` or `000` was added.
        None if ratio < 1.0 && !step.is_resource() && !is_size(&step.name) => {
            let is_close = (1.0 / CLOSE..=CLOSE).contains(&(ratio * 1000.0));
            let is_busy = values(step).iter().all(|value| *value >= BUSY);
            (is_close && is_busy && wanted % 1_000_000 == 0).then_some(wanted / 1000)?
        }
        Some(power) => wanted.checked_mul(*power)?,
        // Cores where thousandths of a core are meant.
        None if step.name == "cpu" && step.is_resource() => {
            let is_near = (0.5 / OFF..=OFF).contains(&(ratio * 1000.0));
            (is_near && requests_at_most(case, step, wanted / 10)).then_some(wanted / 1000)?
        }
        None => return None,
    };
    let meant = Quantity::from_milli(meant, format);
    let (metric, current, target) = (step.index, current.clone(), target.clone());
    Some(SuspectUnit {
        metric,
        current,
        target,
        ratio,
        meant,
        clue,
    })
}

/// Returns a target for memory with the unit that brings it nearest to the value; a fraction of a byte
/// has `m` where `M` was meant.
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

/// Whether a metric measures time, judging by its name.
fn is_duration(name: &str) -> bool {
    let words = [
        "latenc",
        "duration",
        "seconds",
        "millis",
        "response_time",
        "responsetime",
    ];
    let name = name.to_lowercase();
    words.iter().any(|word| name.contains(word))
}

/// Whether a metric measures bytes, of which few and many are usual, judging by its name.
fn is_size(name: &str) -> bool {
    let words = [
        "byte",
        "bit",
        "mem",
        "size",
        "traffic",
        "network",
        "bandwidth",
        "throughput",
    ];
    let name = name.to_lowercase();
    words.iter().any(|word| name.contains(word))
}

/// Whether a metric falls with the replicas, judging by its name: a time, a share, or an average.
fn falls_with_replicas(name: &str) -> bool {
    const WORDS: [&str; 7] = ["time", "wait", "delay", "avg", "average", "mean", "per"];
    let name_in_small = name.to_lowercase();
    let mut words = name_in_small.split(|letter: char| !letter.is_ascii_alphanumeric());
    is_duration(name) || is_share(name) || words.any(|word| WORDS.contains(&word))
}

/// Whether a metric is a share, judging by a word of its name: `operations` and `utility` are others.
fn is_share(name: &str) -> bool {
    const SHARES: [&str; 8] = [
        "util",
        "utilization",
        "utilisation",
        "percent",
        "percentage",
        "pct",
        "fraction",
        "ratio",
    ];
    let mut words = String::new();
    let mut was_upper = false;
    let mut letters = name.chars().peekable();
    while let Some(letter) = letters.next() {
        // As in `hitRatio` and in `CPUUtilization`.
        let begins = !was_upper || letters.peek().is_some_and(|next| next.is_lowercase());
        if letter.is_uppercase() && begins {
            words.push('_');
        }
        was_upper = letter.is_uppercase();
        words.extend(letter.to_lowercase());
    }
    words
        .split(|letter: char| !letter.is_alphanumeric())
        .any(|word| SHARES.contains(&word))
}

/// Whether all values of a metric are at most 1, and not all of them whole numbers.
fn is_fraction_of_one(step: &MetricStep) -> bool {
    let values = values(step);
    values.iter().all(|value| *value <= 1000) && values.iter().any(|value| value % 1000 != 0)
}

/// Returns the total of a metric, or its value of each pod, in thousandths.
fn values(step: &MetricStep) -> Vec<i64> {
    let proposal = step.proposal();
    let total = proposal.and_then(|it| it.total.as_ref().or(it.current.value.as_ref()));
    match total {
        Some(total) => vec![total.milli_value()],
        None => step.pods.iter().filter_map(|row| row.value).collect(),
    }
}

/// Whether a metric counts in whole numbers.
fn is_whole(step: &MetricStep) -> bool {
    values(step).iter().all(|milli| milli % 1000 == 0)
}

/// Whether the requests of each counted pod are known, and at most this.
fn requests_at_most(case: &Case<'_>, step: &MetricStep, most: i64) -> bool {
    let rules = case.rules();
    let container = step.container.as_deref();
    let is_at_most = |pod: &Pod| {
        let requests = counted_containers(pod, container, &rules)
            .map(|it| it.requests.get(&step.name).map(Amount::milli_value));
        total(requests).is_some_and(|sum| sum > 0 && sum <= most)
    };
    let counted = step.pods.iter().filter(|row| row.group == Group::Ready);
    counted.clone().next().is_some() && counted.into_iter().all(|row| is_at_most(case.pod_of(row)))
}

/// `value-multiplies`
pub(super) fn value_multiplies(case: &Case<'_>, found: &[Finding]) -> Option<Finding> {
    /// The number of passes to look ahead.
    const AHEAD: usize = 3;
    /// The maximum number of simulated pods.
    const MOST: i32 = 1000;
    /// A metric that falls with the replicas is seldom this far above its target.
    const FAR: f64 = 2.0;
    let step = case.decision().winner().filter(|step| step.is_total())?;
    let target = step
        .target
        .value
        .clone()
        .filter(|_| step.target.average_value.is_none())?;
    let proposal = step.proposal()?;
    let grows = proposal.replicas > case.decision().replicas_before()?;
    if proposal.because != Because::RatioTimesReady || proposal.ratio <= 1.0 || !grows {
        return None;
    }
    let current = proposal.current.value.clone()?;
    let metric = step.index;
    // A target in another unit says nothing about each replica.
    let is_suspect =
        |it: &Finding| matches!(&it.facts, Facts::SuspectUnit(it) if it.metric == metric);
    if found.iter().any(is_suspect) {
        return None;
    }
    let max = case.snapshot().hpa.spec.max_replicas.min(MOST);
    let mut proposals = vec![proposal.replicas];
    while let Some(&last) = proposals.last()
        && proposals.len() <= AHEAD
        && last < max
    {
        proposals.push(case.proposal_of(metric, |snapshot| grow(snapshot, last))?);
    }
    let per_replica = |snapshot: &mut Snapshot| {
        if let Some(of_metric) = snapshot.hpa.spec.metrics[metric].target_mut() {
            *of_metric = MetricTarget {
                type_: "AverageValue".to_owned(),
                average_value: Some(target.clone()),
                ..MetricTarget::default()
            };
        }
    };
    let average = case.proposal_of(metric, per_replica)?;
    let without = case.without(per_replica);
    // At the maximum, it has come to where only the bound ends it.
    let is_far = proposal.ratio >= FAR || proposal.replicas > case.snapshot().hpa.spec.max_replicas;
    let is_average = falls_with_replicas(&step.name) || says_per_pod(case, step);
    let is_far = is_far && !is_average;
    let target = target.clone();
    let facts = ValueMultiplies {
        metric,
        current,
        target,
        proposals,
        average,
        is_average,
    };
    let severity = if is_far {
        Severity::Warning
    } else {
        Severity::Info
    };
    Some(Finding::explaining(severity, facts).without(without))
}

/// Gives the target more replicas, all of them ready.
fn grow(snapshot: &mut Snapshot, replicas: i32) {
    let Ok(scale) = &mut snapshot.scale else {
        return;
    };
    let added = replicas - scale.spec_replicas;
    let is_ready = |pod: &&Shared<Pod>| {
        let ready = pod
            .ready
            .is_some_and(|ready| ready.status == ConditionStatus::True);
        ready && pod.phase == Phase::Running && scale.selector.matches(&pod.labels)
    };
    let Some(ready) = snapshot.pods.iter().find(is_ready).cloned() else {
        return;
    };
    (scale.spec_replicas, scale.status_replicas) = (replicas, replicas);
    let more = (0..added).map(|number| {
        let name = format!("{}-{number}", ready.name).into();
        Pod {
            name,
            ..Pod::clone(&ready)
        }
        .into()
    });
    snapshot.pods.extend(more);
}

#[cfg(test)]
mod tests;
