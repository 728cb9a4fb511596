//! The search over the values of one metric. The values fall into three classes: too low, on target, too high. At the
//! borders between them, the controller's answer may jump, even against the direction of the value if some pods do not
//! count, but within a class a higher value never means fewer replicas. So if two values of a class agree in something
//! that only grows, all values between them agree as well; the results are checked against that.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::{
    Ask, Asks, Band, Curve, CurvePoint, Effect, HeldBy, RangeEnd, Span, held_by, holds, proposal_of,
};
use crate::engine;
use crate::engine::decision::{Because, Decision, MetricStep};
use crate::memory::Remembered;
use crate::outlook::{self, Outlook};
use crate::pass::Pass;
use crate::snapshot::controller::Tolerances;
use crate::snapshot::input::Input;
use crate::snapshot::shared::Shared;
use crate::snapshot::{MetricAnswer, Snapshot};
use crate::whatif::overrides::Dial;

pub(super) struct ValueSearch<'s> {
    snapshot: &'s Snapshot,
    remembered: &'s Remembered,
    /// The pass at another time, if the clock is in doubt.
    elsewhen: Option<&'s Pass>,
    dial: Dial,
    /// The places in the spec of the metrics that read the values.
    places: Vec<usize>,
    /// The steps of the other metrics, which are the same at each value; empty while unknown.
    others: Vec<Shared<MetricStep>>,
    index: usize,
    current: i32,
    min: i32,
    max: i32,
    /// The pods whose values make up the metric.
    counted: i64,
    /// The highest value tried.
    pub(super) end: i64,
    /// The results so far, by value.
    seen: BTreeMap<i64, Probe>,
}

/// The result of a pass at a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Probe {
    /// The class of each metric that reads the values.
    classes: Vec<Class>,
    /// Whether the metric counts as on target, including the values that are assumed for pods without one.
    pub(super) tolerated: bool,
    /// Whether the metric is above its target by more than the tolerance.
    beyond: bool,
    pub(super) proposal: Option<i32>,
    pub(super) replicas: i32,
}

/// The position of a value relative to the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Class {
    Low,
    OnTarget,
    High,
    /// Unknown: the metric failed.
    Failed,
}

impl Class {
    fn of(metric: &MetricStep) -> Self {
        let Some(proposal) = metric.proposal() else {
            return Self::Failed;
        };
        match proposal.because {
            Because::WithinTolerance => Self::OnTarget,
            _ if proposal.ratio < 1.0 => Self::Low,
            _ if proposal.ratio > 1.0 => Self::High,
            _ => Self::OnTarget,
        }
    }
}

/// The maximum number of steps of a curve that are searched for.
const STEPS: i32 = 1000;

/// Each pass goes through all pods, so with many pods there are fewer steps: this many pods over all steps, but no
/// fewer steps than a chart can show.
const LOOKS: usize = 200_000;
const FEWEST: i32 = 100;

impl<'s> ValueSearch<'s> {
    pub(super) fn new(pass: &'s Pass, dial: Dial, index: usize) -> Self {
        let Pass {
            input: Input { snapshot, .. },
            remembered,
            elsewhen,
            decision,
            ..
        } = pass;
        let spec = &snapshot.hpa.spec;
        let scale = snapshot.scale.as_ref();
        let current = scale.map_or(0, |scale| scale.spec_replicas);
        let places = dial.places();
        let others = if dial.is_filled() {
            Vec::new()
        } else {
            decision.metrics_besides(&places)
        };
        Self {
            snapshot,
            remembered,
            elsewhen: elsewhen.as_deref(),
            dial,
            places,
            others,
            index,
            current,
            min: spec.min(),
            max: spec.max_replicas,
            counted: current.into(),
            end: 0,
            seen: BTreeMap::new(),
        }
    }

    /// Finds every value at which something that the thresholds distinguish changes.
    pub(super) fn run(&mut self, now: Option<i64>) -> Result<(), String> {
        let guess = self.begin(self.max, now)?;
        let mut places = Vec::from(self.borders_of_tolerance(guess));
        places.extend(now);
        for count in [self.min - 1, self.min, self.current, self.max - 1, self.max] {
            places.push(self.guess_for(guess, count.into()));
        }
        self.try_at(&places)?;
        self.refine(self.end, Self::key)?;
        self.check()
    }

    /// Finds only the values at which the direction of the metric's own proposal changes.
    pub(super) fn run_for_asks(&mut self) -> Result<(), String> {
        let guess = self.begin(self.current, None)?;
        let [low, high] = self.borders_of_tolerance(guess);
        let fewer = self.guess_for(guess, i64::from(self.current) - 1);
        // Pods that do not count are assumed to use nothing.
        let pods = i64::try_from(self.snapshot.pods.len()).unwrap_or(i64::MAX);
        let filled = self.guess_for(high.saturating_add(1), pods.max(self.counted));
        self.try_at(&[low, low.min(fewer), guess, high, filled])?;
        self.refine(self.end, |search, seen| {
            let ask = search.ask(seen.proposal);
            (seen.classes.clone(), seen.tolerated, ask)
        })?;
        self.check()
    }

    /// Probes zero, then the target, where the direction probably changes, and then upward as long as the metric
    /// proposes no more than this many replicas.
    fn begin(&mut self, most: i32, now: Option<i64>) -> Result<i64, String> {
        let guess = self.target();
        let nothing = self.look(0)?;
        self.find_end(guess, most)?;
        let within = now.filter(|now| (0..=self.dial.end()).contains(now));
        self.end = self.end.max(within.unwrap_or(0));
        let failed = |seen: &Probe| seen.proposal.is_none();
        if failed(&nothing)
            && failed(&self.look(guess.min(self.end))?)
            && failed(&self.look(self.end)?)
        {
            let decision = self.decide(self.end)?;
            let error = proposal_of(&decision, self.index).err().unwrap_or_default();
            return Err(error.to_owned());
        }
        Ok(guess)
    }

    /// Returns the probable ends of the tolerance.
    fn borders_of_tolerance(&self, target: i64) -> [i64; 2] {
        let Tolerances { down, up } = self.tolerances();
        [1.0 - down, 1.0 + up].map(|share| (target as f64 * share) as i64)
    }

    fn tolerances(&self) -> Tolerances {
        self.snapshot.controller.tolerances(&self.snapshot.hpa.spec)
    }

    /// Returns the replicas at each value where the metric proposes a new number.
    pub(super) fn curve(&mut self, now: Option<i64>) -> Result<Curve, String> {
        let guess = self.target();
        let beyond = self.lowest(&|seen| seen.proposal.is_some_and(|it| it > self.max));
        let wanted = beyond.unwrap_or(0).max(guess);
        // A value far away would leave no room for the changes.
        let near = now.filter(|now| *now / 2 <= wanted);
        let to = near
            .unwrap_or(0)
            .max(wanted.saturating_add(wanted / 10))
            .min(self.end);
        let afford = LOOKS / self.snapshot.pods.len().max(1);
        let steps = i32::try_from(afford).unwrap_or(STEPS).clamp(FEWEST, STEPS);
        let stride = self.max.max(0) / steps + 1;
        let all = (0..=self.max).step_by(stride as usize);
        let mut places: Vec<i64> = all
            .map(|count| self.guess_for(guess, count.into()))
            .collect();
        places.retain(|place| *place <= to);
        places.push(to);
        self.try_at(&places)?;
        // All proposals beyond the upper bound are equivalent.
        let beyond = self.max.saturating_add(1);
        let proposal = |seen: &Probe| seen.proposal.map(|proposal| proposal.min(beyond));
        let counts = |seen: &Probe| {
            let proposed = proposal(seen).map(|proposal| proposal.div_euclid(stride));
            (proposed, seen.replicas.div_euclid(stride))
        };
        self.refine(to, |_, seen| (seen.classes.clone(), counts(seen)))?;
        self.check()?;
        let mut steps: Vec<CurvePoint> = Vec::new();
        let mut last = None;
        for (from, seen) in self.seen.range(..=to) {
            let new = Some(counts(seen));
            if new != last {
                last = new;
                steps.push(CurvePoint {
                    from: *from,
                    proposal: proposal(seen),
                    replicas: seen.replicas,
                });
            }
        }
        Ok(Curve {
            span: Span { from: 0, to },
            steps,
        })
    }

    /// The values that count as on target.
    pub(super) fn tolerance(&self) -> Option<Span> {
        let from = self.lowest(&|seen| seen.tolerated)?;
        let to = self.highest(&|seen| seen.tolerated)?;
        Some(Span { from, to })
    }

    pub(super) fn lowest(&self, holds: &dyn Fn(&Probe) -> bool) -> Option<i64> {
        let mut all = self.seen.iter();
        Some(*all.find(|(_, seen)| holds(seen))?.0)
    }

    pub(super) fn highest(&self, holds: &dyn Fn(&Probe) -> bool) -> Option<i64> {
        let mut all = self.seen.iter();
        Some(*all.rfind(|(_, seen)| holds(seen))?.0)
    }

    /// Returns the effect of each value.
    pub(super) fn bands(&mut self) -> Result<Vec<Band>, String> {
        let unread = self.snapshot.metrics.iter().any(MetricAnswer::is_unread);
        let open = self.remembered.is_open() || unread || self.elsewhen.is_some();
        let mut bands: Vec<Band> = Vec::new();
        let places: Vec<(i64, Probe)> = self.seen.clone().into_iter().collect();
        for (place, (value, seen)) in places.iter().enumerate() {
            let effect = self.effect(seen);
            match bands.last_mut() {
                Some(band) if band.effect == effect => band.span.to = *value,
                _ => bands.push(Band {
                    span: Span::only(*value),
                    effect,
                    certain: true,
                }),
            }
            // Within a class, no bound of an unknown gives fewer replicas for a higher value either: the ends of bands
            // and classes represent all values between them.
            let inner = place > 0
                && [place - 1, place + 1].into_iter().all(|next| {
                    places.get(next).is_some_and(|(_, other)| {
                        other.classes == seen.classes && self.effect(other) == effect
                    })
                });
            if open && !inner {
                let certain = self.is_certain(*value, effect)?;
                if let Some(band) = bands.last_mut() {
                    band.certain &= certain;
                }
            }
        }
        Ok(bands)
    }

    /// Returns the direction that the metric proposes at each value.
    pub(super) fn asks(&self) -> Vec<Asks> {
        let mut all: Vec<Asks> = Vec::new();
        for (value, seen) in &self.seen {
            let asks = self.ask(seen.proposal);
            match all.last_mut() {
                Some(last) if last.asks == asks => last.span.to = *value,
                _ => all.push(Asks {
                    span: Span::only(*value),
                    asks,
                }),
            }
        }
        all
    }

    /// Returns the direction that the metric proposes at a value.
    pub(super) fn ask_at(&mut self, value: i64) -> Result<Ask, String> {
        let seen = self.look(value)?;
        Ok(self.ask(seen.proposal))
    }

    /// Returns the direction of a proposal.
    pub(super) fn ask(&self, proposal: Option<i32>) -> Ask {
        match proposal.map(|proposal| proposal.cmp(&self.current)) {
            None => Ask::Nothing,
            Some(Ordering::Less) => Ask::Fewer,
            Some(Ordering::Equal) => Ask::Same,
            Some(Ordering::Greater) => Ask::More,
        }
    }

    /// The pass at a value.
    pub(super) fn pass(&mut self, value: i64) -> Result<RangeEnd, String> {
        let Probe {
            proposal, replicas, ..
        } = self.look(value)?;
        let decision = self.decide(value)?;
        let mut end = RangeEnd {
            proposal,
            replicas,
            changes_at: None,
            held_by: holds(self.snapshot, &decision, self.index),
        };
        if replicas != self.current {
            return Ok(end);
        }
        let snapshot = self.dial.set(value).map_err(|e| e.message)?;
        let outlook = Outlook::new(snapshot, self.remembered, &decision);
        let mut later = outlook.upcoming.iter();
        if later.any(|step| step.replicas != replicas) {
            end.changes_at = outlook.earliest_change(&decision);
        }
        let extremes = outlook.extremes;
        // Whatever unread metrics ask for, nothing can be written, or something else may hold the replicas now.
        if end.is_unread() && self.snapshot.scale_update_error.is_some() {
            end.held_by = vec![HeldBy::Scale];
        } else if let (Some(least), None, true) = (extremes.first(), self.elsewhen, end.is_unread())
            && extremes.iter().all(|it| it.replicas >= replicas)
        {
            let others = held_by(&self.snapshot.hpa.spec, &least.steps);
            // What ends leaves the rest to them.
            if others
                .iter()
                .all(|it| matches!(it, HeldBy::Disabled { .. }))
            {
                end.held_by.clear();
            }
            end.held_by.extend(others);
        }
        Ok(end)
    }

    fn is_certain(&mut self, value: i64, effect: Effect) -> Result<bool, String> {
        let decision = self.decide(value)?;
        let snapshot = self.dial.set(value).map_err(|e| e.message)?;
        let is_known = always_has(effect, self.current, snapshot, self.remembered, &decision);
        let is_timeless = self.elsewhen.is_none_or(|other| {
            let mut then = snapshot.clone();
            then.now = other.input.snapshot.now;
            let decision = engine::reconcile(&then, &other.remembered.likely);
            always_has(effect, self.current, &then, &other.remembered, &decision)
        });
        Ok(is_known && is_timeless)
    }

    /// Returns the value at which the metric is probably on target.
    fn target(&self) -> i64 {
        let spec = &self.snapshot.hpa.spec.metrics[self.index];
        let Some(target) = spec.target() else {
            return 1;
        };
        let scale = self.snapshot.scale.as_ref();
        let replicas = scale.map_or(1, |scale| scale.status_replicas);
        let value = match (
            &target.average_value,
            &target.value,
            target.average_utilization,
        ) {
            (_, Some(value), _) if spec.is_total() && !spec.is_divided() => value.milli_value(),
            (Some(average), ..) if spec.is_total() => {
                average.milli_value().saturating_mul(replicas.max(1).into())
            }
            (Some(average), ..) => average.milli_value(),
            (None, _, Some(percent)) if self.dial.is_percent() => percent.into(),
            (None, Some(value), _) => value.milli_value(),
            _ => 1,
        };
        value.clamp(1, self.dial.end().max(1))
    }

    /// Returns the value at which the metric probably proposes a count.
    fn guess_for(&self, target: i64, count: i64) -> i64 {
        let counted = i128::from(self.counted.max(1));
        let value = i128::from(target) * i128::from(count.max(0)) / counted;
        value.try_into().unwrap_or(i64::MAX)
    }

    /// Searches for a value above the tolerance at which the metric proposes more than this many replicas, if there is
    /// one. A value on target may do so as well, if there are more pods than replicas. It stops where the controller's
    /// integers probably overflow.
    fn find_end(&mut self, guess: i64, enough: i32) -> Result<(), String> {
        // The metric proposes no change up to the end of its tolerance.
        let tolerated = self.tolerances().up.min(f64::from(i32::MAX)) as i64;
        let times = i64::from(self.max)
            .saturating_add(2)
            .max(tolerated.saturating_add(2));
        let most = guess
            .saturating_mul(times)
            .saturating_mul(2)
            .saturating_mul(self.dial.reach())
            .min(self.dial.end())
            .max(0);
        let mut last: Option<(i64, Probe)> = None;
        self.end = guess.min(most);
        loop {
            let seen = self.look(self.end)?;
            let fell = |(_, last): &&(i64, Probe)| {
                last.classes == seen.classes && seen.proposal < last.proposal
            };
            if let Some((before, _)) = last.as_ref().filter(fell) {
                self.seen.remove(&self.end);
                self.end = *before;
                return Ok(());
            }
            let limit = most.min(self.guess_for(guess, i32::MAX.into()));
            let is_enough = seen.proposal.is_some_and(|proposal| proposal > enough);
            if (is_enough && seen.beyond) || self.end >= limit {
                return Ok(());
            }
            last = Some((self.end, seen));
            self.end = self.end.saturating_mul(2).min(limit);
        }
    }

    /// Tries values and their neighbours.
    fn try_at(&mut self, places: &[i64]) -> Result<(), String> {
        for place in places {
            for value in [place.saturating_sub(1), *place, place.saturating_add(1)] {
                if (0..=self.end).contains(&value) {
                    self.look(value)?;
                }
            }
        }
        Ok(())
    }

    /// Halves every gap between values with different results.
    fn refine<K: PartialEq>(
        &mut self,
        to: i64,
        key: impl Fn(&Self, &Probe) -> K,
    ) -> Result<(), String> {
        let places: Vec<i64> = self.seen.range(..=to).map(|(value, _)| *value).collect();
        let mut gaps: Vec<(i64, i64)> = places.windows(2).map(|gap| (gap[0], gap[1])).collect();
        while let Some((low, high)) = gaps.pop() {
            let (below, above) = (self.look(low)?, self.look(high)?);
            if high - low <= 1 || key(self, &below) == key(self, &above) {
                continue;
            }
            let middle = low + (high - low) / 2;
            self.look(middle)?;
            gaps.extend([(low, middle), (middle, high)]);
        }
        Ok(())
    }

    /// Checks that the results are as orderly as the search assumes.
    fn check(&self) -> Result<(), String> {
        let mut pairs = self.seen.values().zip(self.seen.values().skip(1));
        let is_orderly = pairs.all(|(last, seen)| {
            let same = last.classes == seen.classes;
            let more = seen.replicas >= last.replicas && seen.proposal >= last.proposal;
            let mut classes = last.classes.iter().zip(&seen.classes);
            let upward =
                classes.all(|(last, seen)| last <= seen || [last, seen].contains(&&Class::Failed));
            upward && (more || !same)
        });
        if is_orderly {
            Ok(())
        } else {
            Err(
                "the controller's integers overflow, so a higher value may mean fewer \
                          replicas"
                    .to_owned(),
            )
        }
    }

    /// The answer of a pass, reduced to what the thresholds distinguish.
    fn key(&self, seen: &Probe) -> impl PartialEq + use<'s> {
        let proposal = |bound| seen.proposal.map(|proposal| proposal.cmp(&bound));
        (
            seen.classes.clone(),
            seen.tolerated,
            self.effect(seen),
            [self.min, self.max, self.current].map(proposal),
            [self.min, self.max].map(|bound| seen.replicas.cmp(&bound)),
        )
    }

    fn effect(&self, seen: &Probe) -> Effect {
        effect_of(seen.replicas, self.current)
    }

    /// The pass at a value.
    fn decide(&mut self, value: i64) -> Result<Decision, String> {
        let snapshot = self.dial.set(value).map_err(|e| e.message)?;
        let decision = engine::reconcile_changed(&self.others, snapshot, &self.remembered.likely);
        if self.others.is_empty() {
            self.others = decision.metrics_besides(&self.places);
        }
        Ok(decision)
    }

    fn look(&mut self, value: i64) -> Result<Probe, String> {
        if let Some(seen) = self.seen.get(&value) {
            return Ok(seen.clone());
        }
        let decision = self.decide(value)?;
        let replicas = decision.replicas_after().unwrap_or(self.current);
        let reading = decision
            .metrics()
            .filter(|metric| self.places.contains(&metric.index));
        let classes = reading.map(Class::of).collect();
        let asked = proposal_of(&decision, self.index).ok();
        let tolerated = asked.is_some_and(|proposal| {
            matches!(
                proposal.because,
                Because::WithinTolerance | Because::FilledWithinTolerance | Because::DirectionFlips
            )
        });
        if let Some(counts) = asked.and_then(|proposal| proposal.counted) {
            let strangers = if self.dial.is_percent() {
                0
            } else {
                counts.strangers
            };
            self.counted = (counts.ready + strangers) as i64;
        }
        let seen = Probe {
            classes,
            tolerated,
            beyond: !tolerated && asked.is_some_and(|proposal| proposal.ratio > 1.0),
            proposal: asked.map(|proposal| proposal.replicas),
            replicas,
        };
        self.seen.insert(value, seen.clone());
        Ok(seen)
    }
}

/// Whether a pass has an effect over all unknowns.
fn always_has(
    effect: Effect,
    current: i32,
    snapshot: &Snapshot,
    remembered: &Remembered,
    decision: &Decision,
) -> bool {
    let range = outlook::range(snapshot, remembered, decision);
    let mut ends = range.into_iter().flat_map(|it| [it.min, it.max]);
    ends.all(|replicas| effect_of(replicas, current) == effect)
}

fn effect_of(replicas: i32, current: i32) -> Effect {
    match replicas.cmp(&current) {
        Ordering::Less => Effect::Removes,
        Ordering::Equal => Effect::Keeps,
        Ordering::Greater => Effect::Adds,
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::build;
    use crate::saved;
    use crate::scenario::scenario;
    use crate::snapshot::hpa::MetricSpec;
    use crate::snapshot::input::Options;
    use crate::snapshot::{Documents, UnreadCause};

    fn input(text: &str) -> Input {
        let options = Options {
            name: "web".to_owned(),
            namespace: Some("default".to_owned()),
            ..Options::default()
        };
        saved::read(text, &options, Timestamp::UNIX_EPOCH).unwrap()
    }

    /// Checks that each pass of a search equals a pass that computes all metrics, and returns how many were compared.
    fn decides_as_a_whole_pass(mut search: ValueSearch<'_>) -> usize {
        let target = search.target();
        let values = [target, 0, 1, target.saturating_mul(2), search.dial.end(), 7];
        let mut compared = 0;
        for value in values {
            let Ok(decision) = search.decide(value) else {
                continue;
            };
            let changed = search.dial.set(value).unwrap();
            let whole = engine::reconcile(changed, &search.remembered.likely);
            // A ratio may not be a number, which equals nothing.
            assert_eq!(format!("{decision:?}"), format!("{whole:?}"), "at {value}");
            let others = decision.metrics_besides(&search.places);
            assert_eq!(others.len(), search.others.len(), "at {value}");
            let mut pairs = others.iter().zip(&search.others);
            assert!(pairs.all(|(one, other)| one.is(other)), "at {value}");
            compared += 1;
        }
        compared
    }

    /// The containers that a metric includes and that have no ContainerResource metric.
    fn parts(metrics: &[MetricSpec], index: usize) -> Vec<&'static str> {
        let whole = &metrics[index];
        let has_own = |container| {
            metrics
                .iter()
                .any(|own| own.name() == whole.name() && own.container() == Some(container))
        };
        let of_pods = whole.is_resource() && whole.container().is_none();
        let containers = ["app", "proxy"].into_iter();
        containers
            .filter(|container| of_pods && !has_own(container))
            .collect()
    }

    /// Checks the search of each metric and of its parts, and returns how many passes were compared.
    fn all_decide_as_whole_passes(input: Input) -> usize {
        let pass = Pass::run(input);
        let snapshot = &pass.input.snapshot;
        let metrics = &snapshot.hpa.spec.metrics;
        let mut compared = 0;
        for index in 0..metrics.len() {
            let parts = parts(metrics, index).into_iter().map(Some);
            let dials = [None].into_iter().chain(parts);
            for dial in dials.flat_map(|part| Dial::new(snapshot, index, part)) {
                compared += decides_as_a_whole_pass(ValueSearch::new(&pass, dial, index));
            }
        }
        compared
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

        /// Some pods have no usage, or no pod has any; some answers are missing.
        #[test]
        fn random_situations_are_decided_as_by_whole_passes(
            scenario in scenario(), measured in 0..4usize, unread in any::<u8>(),
        ) {
            let mut input = input(&scenario.text());
            input.snapshot.pod_metrics.truncate(measured);
            for (place, answer) in input.snapshot.metrics.iter_mut().enumerate() {
                let dice = unread >> (2 * place) & 3;
                if dice == 0 {
                    *answer = MetricAnswer::Unread(UnreadCause::Missing { documents: Documents::PodMetrics });
                } else if dice == 1 && place > 0 {
                    *answer = MetricAnswer::Failed("out of luck".to_owned());
                }
            }
            all_decide_as_whole_passes(input);
        }
    }

    /// Usage given to a pod that had none makes what other metrics read incomplete.
    #[test]
    fn metrics_of_the_same_pods_are_decided_as_by_whole_passes() {
        let metrics = [
            build::resource("cpu", &build::utilization(50)),
            build::resource_of("cpu", "app", &build::utilization(60)),
            build::resource_of("cpu", "proxy", &build::average("20m")),
            build::resource("cpu", &build::average("70m")),
            build::resource("memory", &build::average("1Gi")),
            build::resource_of("memory", "app", &build::average("1Gi")),
            build::external("queue", &build::value("5")),
            build::external("absent", &build::average("5")),
        ];
        let two = json!({"spec": {"containers": [
            build::requesting("app", "100m"), build::requesting("proxy", "50m"),
        ]}});
        let measured = json!({"containers": [
            {"name": "app", "usage": {"cpu": "40m"}}, {"name": "proxy", "usage": {"cpu": "30m"}},
        ]});
        let lacking = build::pod_metrics("web-1", "80m");
        let both = build::with(build::pod_metrics("web-0", "0"), &measured);
        for usage in [vec![], vec![&both], vec![&lacking], vec![&both, &lacking]] {
            // Without metrics of containers, their usage is a part of what the pods use.
            for count in [metrics.len(), 1] {
                let specs = &metrics[..count];
                let items = [
                    build::state(&json!({})),
                    build::hpa(&json!({"metrics": specs})),
                    build::scale(3),
                    build::queue(&["7"]),
                ];
                let pods =
                    ["web-0", "web-1", "web-2"].map(|name| build::with(build::pod(name), &two));
                let items = items.into_iter().chain(pods);
                let text = build::list(items.chain(usage.iter().copied().cloned()));
                let compared = all_decide_as_whole_passes(input(&text));
                assert!(compared > 5, "{compared} of {count} metrics: {text}");
            }
        }
    }
}
