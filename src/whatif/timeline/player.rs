//! Plays pass after pass: what the controller decides goes into the cluster of the next pass, and what
//! it remembers and writes goes with it.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use jiff::SignedDuration;

use super::trace::Stated;
use super::world::{Setting, World};
use super::{JoinTimes, MAX_PASSES, Timeline, TimelineOptions, TraceEnd, after, swing};
use crate::engine;
use crate::engine::decision::Decision;
use crate::error::Error;
use crate::numbers;
use crate::outlook::longest_wait;
use crate::snapshot::Snapshot;
use crate::whatif::overrides::{Override, SampleSource, current, look, words};
use crate::whatif::value::Value;

/// A timeline that is about to be played.
#[derive(Debug)]
pub struct Player {
    plan: TimelineOptions,
    trace: Option<TraceEnd>,
    /// How long is played, or at least where the plan does not say.
    span: SignedDuration,
    /// The longest time between a change and the next one that it leads to.
    wait: SignedDuration,
    held: HashSet<Box<str>>,
    settings: Vec<Setting>,
}

impl Player {
    /// Gets ready to play what follows on a snapshot, which is given the load that the trace has at its
    /// time. `overrides` are what was assumed of it; the pods that they name stay as they are.
    ///
    /// # Errors
    ///
    /// There is nothing to play, or too much of it, or the trace is not about this HPA.
    pub fn new(
        plan: TimelineOptions,
        snapshot: &mut Snapshot,
        overrides: &mut Vec<Override>,
    ) -> Result<Self, Error> {
        let trace = plan.trace.as_ref().map(|trace| trace.end(snapshot.now));
        let span = match (plan.span, &trace) {
            (Some(span), _) => span,
            (None, Some(end)) if end.after.is_positive() => end.after,
            _ => {
                return Err(Error::usage("the trace ends with the first pass")
                    .hint("use --for to set the duration"));
            }
        };
        let period = snapshot.controller.sync_period;
        let passes =
            span.as_nanos().checked_div(period.as_nanos()).map_or(0, |further| further + 1);
        let (span_text, period_text) = (numbers::duration(span), numbers::duration(period));
        if !span.is_positive() || !period.is_positive() {
            return Err(Error::usage(format!(
                "{span_text} is too short for a pass every {period_text}"
            ))
            .hint("--for is a time such as 10m, --sync-period one such as 15s"));
        }
        if passes > MAX_PASSES.into() {
            return Err(Error::usage(format!(
                "{span_text} with a pass every {period_text} has {passes} passes; the limit is \
                 {MAX_PASSES}"
            ))
            .hint("use a shorter --for"));
        }
        let held = overrides.iter().flat_map(|own| own.pods.iter().cloned()).collect();
        let wait = wait(plan.times, snapshot);
        let mut player = Self { plan, trace, span, wait, held, settings: Vec::new() };
        if let Some(trace) = &player.plan.trace {
            let stated = trace.resolve(snapshot)?;
            let world = World::of(snapshot, &player.held, player.plan.times);
            let mut requests = HashMap::new();
            let settings = stated.iter().map(|stated| world.setting(stated, &mut requests));
            player.settings = settings.collect::<Result<_, Error>>()?;
            player.begin(&stated, world, snapshot, overrides)?;
        }
        Ok(player)
    }

    /// Gives a snapshot the load that the trace has at its time, if it has one.
    fn begin(
        &self,
        stated: &[Stated],
        mut world: World,
        snapshot: &mut Snapshot,
        overrides: &mut Vec<Override>,
    ) -> Result<(), Error> {
        // Of several values that a metric has had by then, the latest.
        let mut begun: Vec<(&Stated, &Setting)> = Vec::new();
        for now in stated.iter().zip(&self.settings).rev() {
            let is_new = begun.iter().all(|(other, _)| other.places != now.0.places);
            if is_new && !now.0.after.is_positive() {
                begun.push(now);
            }
        }
        begun.reverse();
        let decision = look(snapshot);
        for (Stated { places, value, text, place, .. }, setting) in &begun {
            let Some(&first) = places.first() else { continue };
            let label = snapshot.hpa.spec.metrics[first].label();
            if overrides.iter().any(|own| own.item == label) {
                return Err(Error::usage(format!("{place}: {label} is also set by a flag"))
                    .hint("start the trace later, or remove the flag"));
            }
            let now = current(&decision, first);
            let own = Override::new(label, meaning(value, text, snapshot, first), now);
            overrides.push(own.of_metric(first, text));
            world.set(setting)?;
        }
        if !begun.is_empty() {
            world.settle();
            let World { snapshot: begun, .. } = world;
            (snapshot.pod_metrics, snapshot.metrics) = (begun.pod_metrics, begun.metrics);
        }
        Ok(())
    }

    /// Whether the next pass is not played. The end of a trace is followed by what it leads to, such
    /// as the scale-down once a window has passed: it goes on until nothing has changed for so long
    /// that nothing is waited for.
    fn is_over(&self, timeline: &Timeline, same_load: usize, next: SignedDuration) -> bool {
        if next <= self.span || self.plan.span.is_some() {
            return next > self.span;
        }
        let last_change = timeline.steady_since().duration_since(timeline.start);
        next > self.span.max(last_change).saturating_add(self.wait)
            || timeline.passes.len() as i64 >= MAX_PASSES
            || swing(&timeline.changes[same_load..]).is_some()
    }

    /// Plays what follows on the first pass over a snapshot. Nothing where the scale cannot be read.
    ///
    /// # Errors
    ///
    /// It comes to more pods than can be played.
    pub fn play(&self, snapshot: &Snapshot, first: &Decision) -> Result<Option<Timeline>, Error> {
        let Some(mut replicas) = snapshot.scale.as_ref().ok().map(|scale| scale.spec_replicas)
        else {
            return Ok(None);
        };
        let (start, period) = (snapshot.now, snapshot.controller.sync_period);
        let mut world = World::of(snapshot, &self.held, self.plan.times);
        let mut timeline = Timeline {
            start,
            period,
            span: self.span,
            trace: self.trace.clone(),
            times: self.plan.times,
            starting: world.starting(),
            stays: world.stays(),
            passes: Vec::new(),
            changes: Vec::new(),
            is_settled: false,
            swing: None,
        };
        let mut settings = self.settings.iter().filter(|own| own.after.is_positive()).peekable();
        // What is said of the load counts since the last time that it was another one.
        let mut same_load = 0;
        let mut after_first = SignedDuration::ZERO;
        let mut decision = Cow::Borrowed(first);
        loop {
            timeline.record(replicas, &world, &decision);
            let before = replicas;
            replicas = decision.replicas_after().unwrap_or(replicas);
            timeline.span = self.span.max(after_first);
            after_first += period;
            let is_over = self.is_over(&timeline, same_load, after_first);
            // With a load that stays, nothing comes after a rest.
            if (is_over || settings.peek().is_none())
                && before == replicas
                && world.is_at_rest(&decision, replicas)
            {
                timeline.is_settled = true;
                timeline.repeat_last(after_first);
                break;
            }
            if is_over {
                break;
            }
            world.reveal();
            // What the controller writes while a metric is unread is not known; the status before
            // it stays.
            if let Some(status) = &decision.outcome.status {
                world.snapshot.hpa.status = status.clone();
            }
            world.scale_to(replicas)?;
            world.advance(after(start, after_first));
            while let Some(own) = settings.next_if(|own| own.after <= after_first) {
                world.set(own)?;
                same_load = timeline.changes.len();
            }
            world.settle();
            let memory = decision.memory.clone();
            decision = Cow::Owned(engine::reconcile(&world.snapshot, &memory));
        }
        if !timeline.is_settled {
            timeline.swing = swing(&timeline.changes[same_load..]);
        }
        Ok(Some(timeline))
    }
}

/// How long it may take until a change leads to another: a window or rate limit, or pods that join.
fn wait(times: JoinTimes, snapshot: &Snapshot) -> SignedDuration {
    let Snapshot { hpa, controller, .. } = snapshot;
    let pods = times.ready.max(times.measured).max(controller.cpu_initialization_period);
    let rules = longest_wait(&hpa.spec, controller);
    rules.saturating_add(pods).saturating_add(controller.sync_period)
}

/// What a value of a trace means, in words.
fn meaning(value: &Value, text: &str, snapshot: &Snapshot, place: usize) -> String {
    let spec = &snapshot.hpa.spec.metrics[place];
    match (value, SampleSource::of(&snapshot.hpa, spec)) {
        (Value::Amount(_), SampleSource::Resource { .. } | SampleSource::Pods) => {
            format!("{text} in all")
        }
        _ => words(value, text),
    }
}
