//! The cluster over time: the snapshot of each pass. The clock moves, pods come and go, and the load is
//! shared again; nothing here decides about replicas.

use std::collections::{BTreeSet, HashMap, HashSet};

use jiff::{SignedDuration, Timestamp};

use super::load::{Total, TotalUsage, together};
use super::pods::{Role, TargetPods};
use super::trace::{Trace, TraceValue};
use super::{JoinTimes, Rollout};
use crate::calendar::Calendar;
use crate::engine::decision::{Clause, Decision, LimitStep};
use crate::error::Error;
use crate::snapshot::hpa::MetricSpec;
use crate::snapshot::metric::PodMetrics;
use crate::snapshot::pod::{Pod, resource_name};
use crate::snapshot::shared::Shared;
use crate::snapshot::{MetricAnswer, Snapshot};
use crate::whatif::overrides::{Meant, begin_traced, failure, is_ready, set_traced};
use crate::whatif::value::{AssumedValue, Ratio};

/// Moves the samples of pods by some time.
pub(super) fn shift_samples(snapshot: &mut Snapshot, by: SignedDuration) {
    for item in &mut snapshot.pod_metrics {
        item.timestamp = item.timestamp.plus(by);
    }
    for answer in &mut snapshot.metrics {
        if let MetricAnswer::Pods(values) = answer {
            for value in values {
                value.timestamp = value.timestamp.plus(by);
            }
        }
    }
}

/// A value that a metric has from a time on.
#[derive(Debug)]
pub(super) struct LoadSetting {
    pub(super) after: SignedDuration,
    /// The number of the trace's metric, counted from 0.
    pub(super) column: usize,
    /// The total; `None` if the metric cannot be read.
    pub(super) total: Option<Total>,
}

/// The bases of the values of a trace, by column: what the pods that share the load use, in milli-units.
#[derive(Default)]
pub(super) struct Bases {
    /// The load before the first change.
    loads: HashMap<usize, i128>,
    /// The total requests of the pods.
    requests: HashMap<usize, i128>,
}

/// The cluster over time.
pub(super) struct World {
    pub(super) snapshot: Snapshot,
    pub(super) workload: TargetPods,
    load: TotalUsage,
    /// The metrics that cannot be read, by place, with the container if only its usage is missing.
    missing: BTreeSet<(usize, Option<String>)>,
    /// The answers that the missing metrics would have.
    aside: Vec<(usize, MetricAnswer)>,
    /// The usage of the pods, with what is missing.
    usage_aside: Option<Vec<Shared<PodMetrics>>>,
    /// Whether the pods or the load have changed since it was last shared.
    is_stale: bool,
}

impl World {
    pub(super) fn of(snapshot: &Snapshot, held: &HashSet<Box<str>>, times: JoinTimes) -> Self {
        let mut snapshot = snapshot.clone();
        let workload = TargetPods::of(&mut snapshot, held, times);
        let load = TotalUsage::of(&snapshot, &workload);
        Self {
            snapshot,
            workload,
            load,
            missing: BTreeSet::new(),
            aside: Vec::new(),
            usage_aside: None,
            is_stale: true,
        }
    }

    /// Returns the total for a value of the trace; `None` if the metric cannot be read.
    pub(super) fn total(
        &self,
        stated: &TraceValue<'_>,
        trace: &Trace,
        meant: &Meant,
        bases: &mut Bases,
    ) -> Result<Option<Total>, Error> {
        let column = stated.column;
        let within = |e: Error| e.within(trace.place(stated));
        let total = match stated.value {
            AssumedValue::Missing => return Ok(None),
            AssumedValue::Amount(amount) => Some(Total::Stated(amount.into())),
            AssumedValue::Scale(factor) => {
                let base = match bases.loads.get(&column) {
                    Some(base) => *base,
                    None => self.observed(meant).ok_or_else(|| {
                        within(Error::usage("there is no observed value to change"))
                            .hint("give a value such as 80% or 1500m")
                    })?,
                };
                bases.loads.insert(column, base);
                factor.of(base).map(Total::Changed)
            }
            AssumedValue::Share(ratio) => {
                let base = match bases.requests.get(&column) {
                    Some(base) => *base,
                    None => self.requested(meant).map_err(within)?,
                };
                bases.requests.insert(column, base);
                // The same rounding as for a share that is assumed of each pod.
                let milli = if ratio.is_whole_percent() {
                    ratio.of(base)
                } else {
                    ratio.whole_of(base)
                };
                milli.map(Total::Percentage)
            }
        };
        match total {
            Some(total) if i64::try_from(total.milli()).is_ok() => Ok(Some(total)),
            _ => Err(within(Error::usage("larger than any metric can be"))),
        }
    }

    /// Returns the load of a metric that the pods share.
    fn observed(&self, meant: &Meant) -> Option<i128> {
        let (place, spec) = (meant.first(), &meant.spec);
        let answer = &self.snapshot.metrics[place];
        if matches!(answer, MetricAnswer::Failed(_) | MetricAnswer::Unread(_)) {
            return None;
        }
        let pods = &self.workload;
        answer.total().or_else(|| {
            if spec.is_resource() {
                self.load.shared_usage(spec, &self.snapshot, pods)
            } else {
                self.load.shared_value(place, &self.snapshot, pods)
            }
        })
    }

    /// Returns the total requests of the pods that share the load, or of one of their containers.
    fn requested(&self, meant: &Meant) -> Result<i128, Error> {
        let no_base = |why: &str| {
            Error::usage(format!("{why}, so a percentage has no base"))
                .hint("use a total amount, such as 1500m")
        };
        let spec = &meant.spec;
        let (name, only) = (spec.name(), spec.container());
        // `getContainerMetrics` fails if a pod is measured without the container.
        let items = self.snapshot.pod_metrics.iter();
        let measured: HashSet<&str> = items.map(|item| &*item.name).collect();
        let lacks = |pod: &Shared<Pod>| {
            only.is_some_and(|name| pod.running(false).all(|own| *own.name != *name))
                && measured.contains(&*pod.name)
        };
        if self.snapshot.pods.iter().any(lacks) {
            return Err(no_base("some pods lack the container"));
        }
        let shares = |pod: &str| matches!(self.workload.role(pod), Role::Shares(_));
        let pods = &self.snapshot.pods;
        if pods.iter().any(|pod| pod.is_active()) && !pods.iter().any(|pod| shares(&pod.name)) {
            return Err(no_base("no pod is ready"));
        }
        let mut full = self.snapshot.clone();
        let all = AssumedValue::Share(Ratio::ONE);
        set_traced(&mut full, meant.first(), spec, &all)?;
        let items = full.pod_metrics.iter();
        let used = items.filter_map(|item| Some((&*item.name, item.usage(name, only)?)));
        let whole = together(used.filter(|(pod, _)| shares(pod)), &self.workload)
            .ok_or_else(|| no_base("no pod is ready"))?;
        Ok(whole.milli())
    }

    /// Whether a pass lacked values because the load does not have them at this time: a metric failed, so that others
    /// decided, or pods have a container whose usage is missing.
    pub(super) fn lacks_values(&self, decision: &Decision) -> bool {
        let mut missing = self.missing.iter();
        missing.any(|(place, container)| match decision.metric(*place) {
            Some(metric) => {
                metric.is_failed() || container.as_deref().is_some_and(|name| self.runs(name))
            }
            None => false,
        })
    }

    /// Sets a metric to another value from now on.
    pub(super) fn set(&mut self, setting: &LoadSetting, meant: &Meant) -> Result<(), Error> {
        self.is_stale = true;
        let spec = &meant.spec;
        for &place in &meant.places {
            let Some(total) = setting.total else {
                self.missing.insert(missing(place, meant));
                continue;
            };
            self.missing.remove(&missing(place, meant));
            if spec.is_total() {
                let amount = AssumedValue::Amount(total.milli().try_into().unwrap_or(i64::MAX));
                set_traced(&mut self.snapshot, place, spec, &amount)?;
            } else if !self.share(place, total, meant) {
                // Nothing was measured so far; measurement now begins.
                begin_traced(&mut self.snapshot, place, spec)?;
                let begun = self.snapshot.clone();
                set_traced(&mut self.snapshot, place, spec, &AssumedValue::Amount(0))?;
                self.workload.index(&mut self.snapshot);
                self.workload.learn(&self.snapshot);
                self.load.begin(TotalUsage::of(&begun, &self.workload));
                self.set_total(place, spec, total);
            }
        }
        Ok(())
    }

    /// Takes over a setting that is already in the snapshot: a missing value, or a total that is known only now that
    /// pods share it.
    pub(super) fn take_over(&mut self, setting: &LoadSetting, meant: &Meant) {
        for &place in &meant.places {
            match setting.total {
                None => _ = self.missing.insert(missing(place, meant)),
                Some(total) if !meant.spec.is_total() => _ = self.share(place, total, meant),
                Some(_) => {}
            }
        }
    }

    /// Sets the total of a metric that is per pod; returns false if nothing is measured.
    fn share(&mut self, place: usize, total: Total, meant: &Meant) -> bool {
        let spec = &meant.spec;
        let Some(own) = spec.container().filter(|_| !self.has(meant)) else {
            return self.set_total(place, spec, total);
        };
        // The pods of a rollout may have it.
        let resource = &resource_name(spec.name());
        self.load.add(own, resource, Total::Unknown);
        self.load
            .set_usage(spec, total, &self.snapshot, &self.workload);
        self.workload.expect_usage(own, resource);
        true
    }

    /// Whether there are pods with the container of a metric, if the metric has one.
    pub(super) fn has(&self, meant: &Meant) -> bool {
        let Some(name) = meant.spec.container() else {
            return true;
        };
        self.runs(name)
    }

    /// Whether there are pods with a container that keeps running.
    fn runs(&self, container: &str) -> bool {
        let mut pods = self.snapshot.pods.iter();
        pods.any(|pod| pod.running(false).any(|own| *own.name == *container))
    }

    fn set_total(&mut self, place: usize, spec: &MetricSpec, total: Total) -> bool {
        if !spec.is_resource() {
            return self.load.set_values(place, total);
        }
        let known = self
            .load
            .set_usage(spec, total, &self.snapshot, &self.workload);
        if known {
            self.snapshot.metrics[place] = MetricAnswer::PodMetrics;
        }
        known
    }

    /// Returns how many pods are ready: all replicas if no pod is known.
    pub(super) fn ready(&self) -> usize {
        if self.workload.model.is_none() {
            let scale = self.snapshot.scale.as_ref();
            let replicas = scale.map_or(0, |scale| scale.spec_replicas);
            return usize::try_from(replicas).unwrap_or(0);
        }
        let pods = self.snapshot.pods.iter();
        pods.filter(|pod| is_ready(pod) && !pod.is_foreign).count()
    }

    /// Gives the target this many replicas.
    pub(super) fn scale_to(&mut self, count: i32) -> Result<(), Error> {
        self.is_stale |= self.workload.scale_to(&mut self.snapshot, count)?;
        self.is_stale |= self.workload.roll(&mut self.snapshot);
        Ok(())
    }

    /// Schedules a rollout some time after now.
    pub(super) fn expect(&mut self, rollout: &Rollout) {
        self.workload.expect(rollout, &self.snapshot);
        for (_, container, resource, _) in &rollout.added {
            let values = rollout
                .added
                .iter()
                .filter(|(_, name, own, _)| (name, own) == (container, resource))
                .map(|(pod, _, _, used)| (&**pod, *used));
            if let Some(total) = together(values, &self.workload) {
                self.load.add(container, resource, total);
            }
        }
    }

    /// Advances the time, from step to step of a rollout if there is one.
    pub(super) fn advance(&mut self, now: Timestamp) {
        while let Some(step) = self.workload.next_step(self.snapshot.now, now) {
            self.move_to(step);
        }
        self.move_to(now);
    }

    /// Moves everything to a time; measurements keep their age.
    fn move_to(&mut self, now: Timestamp) {
        let passed = now.duration_since(self.snapshot.now);
        self.snapshot.now = now;
        shift_samples(&mut self.snapshot, passed);
        self.is_stale |= self.workload.advance(&mut self.snapshot);
        self.is_stale |= self.workload.roll(&mut self.snapshot);
    }

    /// Shares the load, and lets missing metrics fail.
    pub(super) fn settle(&mut self) {
        if std::mem::take(&mut self.is_stale) {
            self.load.share_out(&mut self.snapshot, &self.workload);
        }
        for (place, container) in &self.missing {
            if let Some(container) = container {
                // Pods with a container that lacks the resource have no value; others do (`getPodMetrics`).
                let resource = self.snapshot.hpa.spec.metrics[*place].name();
                let items = &mut self.snapshot.pod_metrics;
                self.usage_aside.get_or_insert_with(|| items.clone());
                for item in items {
                    let mut names = item.containers.iter().map(|own| &own.name);
                    if let Some(own) = names.position(|name| **name == **container) {
                        let usage = &mut item.containers[own].usage;
                        usage.retain(|(name, _)| **name != *resource);
                    }
                }
                continue;
            }
            let hpa = &self.snapshot.hpa;
            let failed = MetricAnswer::Failed(failure(hpa, &hpa.spec.metrics[*place]));
            let answer = std::mem::replace(&mut self.snapshot.metrics[*place], failed);
            self.aside.push((*place, answer));
        }
    }

    /// Restores the answers of all metrics that were missing.
    pub(super) fn reveal(&mut self) {
        if let Some(usage) = self.usage_aside.take() {
            self.snapshot.pod_metrics = usage;
        }
        for (place, answer) in self.aside.drain(..) {
            self.snapshot.metrics[place] = answer;
        }
    }

    /// Whether the next pass, and therefore every later one, is the same as this one, and nothing holds its proposal.
    pub(super) fn is_at_rest(&self, decision: &Decision, replicas: i32) -> bool {
        let spec = &self.snapshot.hpa.spec;
        let bounded = |n: i32| n.min(spec.max_replicas).max(spec.min());
        let disabled = decision.limit().is_some_and(LimitStep::is_disabled);
        let is_held = decision
            .proposal
            .is_some_and(|n| bounded(n.max(0)) != replicas)
            && !disabled;
        let mut rows = decision.metrics().flat_map(|metric| &metric.pods);
        let leaves = rows.any(|row| row.until.is_some() && row.clause != Clause::Deleted);
        let workload = &self.workload;
        !is_held
            && !leaves
            && !workload.is_joining()
            && !workload.is_rolling()
            && !workload.is_short(&self.snapshot, replicas)
    }
}

/// Returns the entry of a metric in [`World::missing`].
fn missing(place: usize, meant: &Meant) -> (usize, Option<String>) {
    (place, meant.container().map(str::to_owned))
}
