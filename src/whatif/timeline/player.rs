//! Prepares a run: its length, its load, and what the load means for this HPA. A [`Course`] runs the passes.

use std::collections::HashSet;
use std::sync::Arc;

use jiff::SignedDuration;

use super::pods::steady_foreign;
use super::trace::TraceValue;
use super::world::{Bases, LoadSetting, World};
use super::{JoinTimes, MAX_PASSES, Rollout, TimelineOptions, Trace, TraceEnd};
use crate::calendar::Calendar;
use crate::error::Error;
use crate::numbers;
use crate::outlook::longest_wait;
use crate::snapshot::Snapshot;
use crate::snapshot::hpa::MetricSpec;
use crate::whatif::overrides::{Meant, Override, Values, matters};
use crate::whatif::value::AssumedValue;

/// A timeline that is ready to be played.
#[derive(Debug)]
pub struct Player {
    pub(super) plan: TimelineOptions,
    /// The time from the snapshot until the first pass. The passes run as if it were zero; only their times are
    /// shifted.
    pub(super) delay: SignedDuration,
    pub(super) trace: Option<TraceEnd>,
    /// The time to play; a minimum if the plan does not state it.
    pub(super) span: SignedDuration,
    /// The longest time from a change to the next one that it causes.
    pub wait: SignedDuration,
    pub(super) held: HashSet<Box<str>>,
    /// The places of the values of each metric of the trace.
    pub(super) places: Vec<Meant>,
    pub(super) settings: Vec<LoadSetting>,
    /// The times at which someone else scales to 0 and back, with the replicas from then on: with a `minReplicas` above
    /// 0, the controller does neither.
    pub(super) sleeps: Vec<(SignedDuration, i32)>,
    pub(super) rollout: Option<Rollout>,
}

impl Player {
    /// Prepares the passes that start from a snapshot, which gets the load that the trace has at its time. `overrides`
    /// are the assumptions about the snapshot; the pods that they name stay as they are. The first pass runs after
    /// `delay`, and the snapshot may differ from what was observed. The pods of the run are later replaced by those of
    /// `changed`, if any, which gets the load of containers that only its pods have.
    ///
    /// # Errors
    ///
    /// There is nothing to play, or too much, or the trace is not about this HPA.
    pub fn new(
        plan: TimelineOptions,
        delay: SignedDuration,
        observed: &Snapshot,
        snapshot: &mut Snapshot,
        changed: Option<&mut Snapshot>,
        overrides: &mut Vec<Override>,
    ) -> Result<Self, Error> {
        let start = snapshot.now.plus(delay);
        let places = match &plan.trace {
            Some(trace) => {
                let unchanged = &observed.hpa.spec.metrics;
                trace.places(snapshot, changed.as_deref(), unchanged, &plan.others)?
            }
            None => Vec::new(),
        };
        let trace = plan.trace.as_ref().map(|trace| trace.end(start));
        let span = match (plan.span, &trace) {
            (Some(span), _) => span,
            (None, Some(end)) if end.after.is_positive() => end.after,
            _ => {
                return Err(Error::usage("the trace ends with the first pass")
                    .hint("use --for to say how long the run is"));
            }
        };
        let period = snapshot.controller.sync_period;
        let passes = span
            .as_nanos()
            .checked_div(period.as_nanos())
            .map_or(0, |further| further + 1);
        let (span_text, period_text) = (numbers::duration(span), numbers::duration(period));
        let is_one_pass = plan.span.is_some_and(|span| span < period);
        if !period.is_positive() {
            return Err(Error::usage(format!(
                "--sync-period {period_text}: a run needs time between its passes"
            ))
            .hint("it is a time such as 15s, the controller's default"));
        }
        if !span.is_positive() || is_one_pass {
            return Err(Error::usage(format!(
                "{span_text} is too short for a pass every {period_text}"
            ))
            .hint("--for is a time such as 10m, --sync-period one such as 15s; a bare number is seconds"));
        }
        if passes > MAX_PASSES.into() {
            let what = format!(
                "{span_text} with a pass every {period_text} has {passes} passes; the limit is \
                 {MAX_PASSES}"
            );
            return Err(match plan.trace.as_ref().filter(|_| plan.span.is_none()) {
                Some(trace) => Error::usage(format!("{}: {what}", trace.extent(start)))
                    .hint("use a trace of less time, or --for"),
                None => Error::usage(what).hint("use a shorter --for"),
            });
        }
        // Foreign pods share a load only if a trace states one.
        let foreign = plan.trace.is_none().then(|| steady_foreign(snapshot));
        let named = overrides.iter().flat_map(|own| own.pods.iter().cloned());
        let held = named.chain(foreign.into_iter().flatten()).collect();
        let wait = wait(plan.times, snapshot);
        let (settings, sleeps, rollout) = (Vec::new(), Vec::new(), None);
        let mut player = Self {
            plan,
            delay,
            trace,
            span,
            wait,
            held,
            places,
            settings,
            sleeps,
            rollout,
        };
        if let Some(trace) = player.plan.trace.clone() {
            player.load(&trace, observed, snapshot, changed, overrides)?;
        }
        Ok(player)
    }

    /// Whether the trace has a column for a container, or columns for all metrics that include it.
    pub fn has_load_of(&self, container: &str, metrics: &[MetricSpec]) -> bool {
        let whole = self
            .places
            .iter()
            .filter(|meant| meant.container().is_none());
        let is_stated = |place| whole.clone().any(|meant| meant.places.contains(&place));
        self.places
            .iter()
            .any(|meant| meant.container() == Some(container))
            || !matters(metrics, container, is_stated)
    }

    /// Resolves a trace for a snapshot, and applies the load that the trace has at its time, if any.
    fn load(
        &mut self,
        trace: &Arc<Trace>,
        observed: &Snapshot,
        snapshot: &mut Snapshot,
        changed: Option<&mut Snapshot>,
        overrides: &mut Vec<Override>,
    ) -> Result<(), Error> {
        let is_given = |place| overrides.iter().any(|own| own.is_of_metric(place));
        let start = snapshot.now.plus(self.delay);
        let as_it_is = self.plan.others.first().map(|own| &own.spec);
        trace.check_complete(snapshot, &self.places, is_given, as_it_is)?;
        if as_it_is.unwrap_or(&snapshot.hpa.spec).min_replicas != Some(0) {
            self.sleeps = trace.record(start).sleeps();
        }
        let stated = trace.stated(start);
        for stated in &stated {
            for place in &self.places[stated.column].places {
                trace.check_unit(&snapshot.hpa.spec.metrics, *place, stated)?;
            }
        }
        let mut world = World::of(snapshot, &self.held, self.plan.times);
        let mut later = changed
            .as_deref()
            .map(|own| World::of(own, &self.held, self.plan.times));
        let mut bases = Bases::default();
        let values = Values::of(observed, snapshot);
        let until_now = stated.partition_point(|own| !own.after.is_positive());
        let (past, future) = stated.split_at(until_now);
        // If a metric has had several values by then, the latest applies.
        let latest = |column| past.iter().rfind(|own| own.column == column);
        let begun: Vec<&TraceValue<'_>> = (0..self.places.len()).filter_map(latest).collect();
        for stated in begun.iter().copied().chain(future) {
            let TraceValue { after, column, .. } = *stated;
            let meant = &self.places[column];
            // Only another run may have the metric.
            if meant.places.is_empty() {
                continue;
            }
            let has_begun = !after.is_positive();
            if has_begun {
                let own = assumed(trace, stated, meant, snapshot, &values, overrides)?;
                overrides.push(own);
            }
            let world = match &mut later {
                Some(later) if !world.has(meant) => later,
                _ => &mut world,
            };
            let setting = LoadSetting {
                after,
                column,
                total: world.total(stated, trace, meant, &mut bases)?,
            };
            if has_begun {
                let set = world.set(&setting, meant);
                set.map_err(|e| e.within(trace.place(stated)))?;
            }
            self.settings.push(setting);
        }
        if !begun.is_empty() {
            for (mut world, snapshot) in later.zip(changed).into_iter().chain([(world, snapshot)]) {
                world.settle();
                let begun = world.snapshot;
                (snapshot.pod_metrics, snapshot.metrics) = (begun.pod_metrics, begun.metrics);
            }
        }
        Ok(())
    }

    /// Whether the load sets the metric at a place in the spec.
    pub fn has(&self, place: usize) -> bool {
        self.places
            .iter()
            .flat_map(|meant| &meant.places)
            .any(|own| *own == place)
    }

    /// Returns how many passes the load covers: up to the end of the trace or of the time to play. Later passes are
    /// played to see where the replicas settle.
    pub fn passes_of_load(&self, period: SignedDuration) -> usize {
        let passes = -(-self.span.as_nanos()).div_euclid(period.as_nanos().max(1));
        usize::try_from(passes).unwrap_or(usize::MAX)
    }

    /// Schedules a rollout. Returns false if the run ends before it begins.
    pub fn roll_out(&mut self, rollout: Rollout, period: SignedDuration) -> bool {
        let nanos = rollout.after.as_nanos();
        let is_played = match self.plan.span {
            Some(span) => nanos <= span.as_nanos() - span.as_nanos() % period.as_nanos().max(1),
            None => nanos <= self.span.as_nanos(),
        };
        self.rollout = is_played.then_some(rollout);
        is_played
    }

    /// Whether the replicas of a run at a time are due to those of the record: at 0, and after that for as long as one
    /// change may lead to the next. A run that began with replicas did not follow a record that began at 0.
    pub fn is_forced(&self, at: SignedDuration, began: i32) -> bool {
        let earlier = self.sleeps.partition_point(|(time, _)| *time <= at);
        let is_missed = |(time, count): &&(SignedDuration, i32)| {
            began != 0 && (*count != 0 || !time.is_positive())
        };
        let followed = self.sleeps[..earlier].iter().skip_while(is_missed);
        let last = followed.last();
        last.is_some_and(|(time, count)| {
            *count == 0 || (time.is_positive() && at < time.saturating_add(self.wait))
        })
    }
}

/// Returns how long a change may take to cause another: a window or rate limit, or the time until pods join.
pub(super) fn wait(times: JoinTimes, snapshot: &Snapshot) -> SignedDuration {
    let Snapshot {
        hpa, controller, ..
    } = snapshot;
    let pods = times
        .ready
        .max(times.measured)
        .max(controller.cpu_initialization_period);
    let rules = longest_wait(&hpa.spec, controller);
    rules
        .saturating_add(pods)
        .saturating_add(controller.sync_period)
}

/// Returns the override for a value of a trace that a snapshot begins with.
fn assumed(
    trace: &Trace,
    stated: &TraceValue<'_>,
    meant: &Meant,
    snapshot: &Snapshot,
    values: &Values<'_>,
    overrides: &[Override],
) -> Result<Override, Error> {
    let label = meant.spec.label(&snapshot.hpa.spec.metrics);
    if overrides.iter().any(|own| own.sets(&meant.spec)) {
        let place = trace.place(stated);
        return Err(
            Error::usage(format!("{place}: {label} is also set by a flag")).hint("remove the flag"),
        );
    }
    let first = meant.first();
    let now = values.observed(&meant.spec, first);
    let own = Override::new(label, meaning(stated, snapshot, first), now);
    Ok(own.of_metric(meant, stated.text))
}

/// Returns the meaning of a trace value as text.
fn meaning(stated: &TraceValue<'_>, snapshot: &Snapshot, place: usize) -> String {
    let TraceValue { value, text, .. } = stated;
    match value {
        AssumedValue::Amount(_) if !snapshot.hpa.spec.metrics[place].is_total() => {
            format!("{text} in all")
        }
        _ => value.words(text),
    }
}
