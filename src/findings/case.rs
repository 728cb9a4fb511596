//! The pass under examination, with the queries that several findings share.

use std::cell::OnceCell;
use std::collections::HashMap;

use jiff::{SignedDuration, Timestamp};

use super::{Alternative, Code, Facts, Finding, Severity};
use crate::apimachinery::managed_fields::{ManagedFieldsEntry, SpecField, last_writer};
use crate::engine;
use crate::engine::decision::{Decision, Direction, Group, MetricStep, Path, PodRow};
use crate::engine::pods::{counted_containers, counts_as_whole};
use crate::outlook::{self, Range};
use crate::pass::Pass;
use crate::rules::Rules;
use crate::snapshot::by_name::Names;
use crate::snapshot::hpa::{CrossVersionObjectReference, MetricSpec};
use crate::snapshot::metric::{Measured, PodMetrics};
use crate::snapshot::neighbour::OtherHpa;
use crate::snapshot::owners::{PodOwners, TopOwner};
use crate::snapshot::pod::{Container, Phase, Pod};
use crate::snapshot::requests::as_pod;
use crate::snapshot::shared::Shared;
use crate::snapshot::surroundings::{ScaledObject, Surroundings, Workload};
use crate::snapshot::{MetricAnswer, Scale, Snapshot};
use crate::whatif::overrides;

/// The pass under examination.
pub(crate) struct Case<'p> {
    pub(crate) pass: &'p Pass,
    pub(crate) snapshot: &'p Snapshot,
    pub(crate) surroundings: &'p Surroundings,
    pub(crate) decision: &'p Decision,
    /// The rules of the controller's version.
    pub(crate) rules: Rules,
    /// The findings so far, in the order of the table.
    pub(super) found: Vec<Finding>,
    /// The codes that are not shown.
    ignored: &'p [Code],
    /// The owners of the pods that the selector of the target matches.
    owners: PodOwners<'p>,
    /// A pod as the API server makes it from the template of the target's pods.
    template: OnceCell<Option<Pod>>,
    measured: OnceCell<Measured<'p>>,
    /// The pods as they were read, by name, if anything is assumed.
    observed_pods: OnceCell<HashMap<&'p str, &'p Pod>>,
    /// The usage of those pods as it was read.
    observed_usage: OnceCell<Measured<'p>>,
    /// The pass without any recommendation.
    forgotten: OnceCell<Decision>,
}

impl<'p> Case<'p> {
    pub(crate) fn new(pass: &'p Pass, ignored: &'p [Code]) -> Self {
        let snapshot = &pass.input.snapshot;
        Self {
            pass,
            snapshot,
            surroundings: &pass.input.surroundings,
            decision: &pass.decision,
            rules: Rules::of(&snapshot.controller),
            found: Vec::new(),
            ignored,
            owners: PodOwners::of(snapshot, &pass.input.surroundings),
            template: OnceCell::new(),
            measured: OnceCell::new(),
            observed_pods: OnceCell::new(),
            observed_usage: OnceCell::new(),
            forgotten: OnceCell::new(),
        }
    }

    /// Returns the findings so far: the explanation of a metric's failure applies whether or not it is shown.
    pub(crate) fn found(&self) -> impl Iterator<Item = &Finding> {
        self.found.iter()
    }

    /// Returns the findings that are shown.
    pub(crate) fn shown(&self) -> impl Iterator<Item = &Finding> {
        self.found().filter(|it| !self.ignored.contains(&it.code()))
    }

    /// Whether a metric has the highest proposal.
    pub(crate) fn decides(&self, step: &MetricStep) -> bool {
        let winner = self.decision.winner();
        winner.is_some_and(|it| it.index == step.index)
    }

    /// Whether the target of a metric is probably in another unit than its value.
    pub(crate) fn is_suspect(&self, metric: usize) -> bool {
        let is_it =
            |it: &Finding| matches!(&it.facts, Facts::SuspectUnit(it) if it.metric == metric);
        self.found().any(is_it)
    }

    /// Returns the other HPAs whose selectors the controller stores.
    pub(crate) fn stored_hpas(&self) -> impl Iterator<Item = &'p Shared<OtherHpa>> {
        engine::stored_hpas(self.snapshot, self.rules)
    }

    /// Returns the name of another HPA that scales an object.
    pub(crate) fn hpa_of(&self, object: &CrossVersionObjectReference) -> Option<String> {
        let mut others = self.snapshot.other_hpas.iter();
        let own = others.find(|it| it.hpa.spec.scale_target_ref.is_same(object));
        own.map(|it| it.hpa.name.clone())
    }

    /// Whether the spec lets passes change the present replicas in a direction.
    pub(crate) fn may_scale(&self, side: Direction) -> bool {
        let current = self.decision.replicas_before();
        current.is_some_and(|it| self.snapshot.hpa.spec.may_scale(side, it))
    }

    pub(crate) fn scale(&self) -> Option<&'p Scale> {
        self.snapshot.scale.as_ref().ok()
    }

    pub(crate) fn target(&self) -> &'p CrossVersionObjectReference {
        &self.snapshot.hpa.spec.scale_target_ref
    }

    /// Returns the target itself, if it was read.
    pub(crate) fn workload(&self) -> Option<&'p Workload> {
        self.surroundings.workload(self.target())
    }

    /// Returns the last write to `spec.replicas` of the target, by the controller or anyone else.
    pub(crate) fn last_replicas_write(&self) -> Option<&'p ManagedFieldsEntry> {
        last_writer(
            &self.workload()?.metadata.managed_fields,
            SpecField::Replicas,
        )
    }

    /// Returns the ScaledObject that owns the HPA, if it was read.
    pub(crate) fn scaled_object(&self) -> Option<&'p ScaledObject> {
        self.pass.input.own_scaled_object()?.object
    }

    /// Returns a pod as the API server makes it from the template of the target's pods, if the template was read.
    pub(crate) fn template(&self) -> Option<&Pod> {
        let made = || self.workload()?.template.as_deref().map(as_pod);
        self.template.get_or_init(made).as_ref()
    }

    /// Returns the template that a pod was made from: its ReplicaSet's, or the target's own, as assumed or as read, if
    /// the pod has its revision; `None` if the template was not read.
    pub(crate) fn template_of(&self, pod: &Pod) -> Option<&'p Pod> {
        let surroundings = self.surroundings;
        let owner = surroundings.owner(pod.owner.as_deref()?)?;
        let is_made = |it: &&Workload| {
            let stated = it.status.as_ref().map(|it| &*it.update_revision);
            !it.is_named_by(self.target()) || stated.is_some() && pod.revision() == stated
        };
        let running = surroundings.running.as_deref();
        let made = [Some(owner), running].into_iter().flatten().find(is_made);
        made?.template.as_deref()
    }

    /// Returns the metrics that were evaluated.
    pub(crate) fn metrics(&self) -> impl Iterator<Item = &'p MetricStep> {
        self.decision.metrics()
    }

    /// Returns the spec of a metric.
    pub(crate) fn spec(&self, step: &MetricStep) -> &'p MetricSpec {
        &self.snapshot.hpa.spec.metrics[step.index]
    }

    /// Returns the pods that the selector of the target matches.
    pub(crate) fn pods(&self) -> impl ExactSizeIterator<Item = &'p Pod> {
        self.owners.pods()
    }

    /// Returns the matched pods that may belong to the target.
    pub(crate) fn own_pods(&self) -> impl Iterator<Item = &'p Pod> {
        self.pods().filter(|pod| !self.is_foreign(pod))
    }

    /// Returns the pod of a metric's row.
    pub(crate) fn pod_of(&self, row: &PodRow) -> &'p Pod {
        &self.snapshot.pods[row.pod as usize]
    }

    /// Returns the pods whose usage counts in a metric.
    pub(super) fn counted<'a>(
        &'a self,
        step: &'a MetricStep,
    ) -> impl Iterator<Item = (&'a PodRow, &'p Pod)> {
        step.ready_rows().map(|row| (row, self.pod_of(row)))
    }

    /// Returns the containers of a pod whose requests count in a metric.
    pub(super) fn counted_containers<'a>(
        &'a self,
        pod: &'a Pod,
        step: &'a MetricStep,
    ) -> impl Iterator<Item = &'a Container> {
        counted_containers(pod, step.container.as_deref(), &self.rules)
    }

    /// Whether the request of a pod as a whole counts in a metric, instead of those of its containers.
    pub(super) fn counts_as_whole(&self, pod: &Pod, step: &MetricStep) -> bool {
        counts_as_whole(pod, step.container.as_deref(), &self.rules)
    }

    /// Returns the pods that some metric puts into a matching group.
    pub(crate) fn pods_in(
        &self,
        is_meant: impl Fn(Group) -> bool,
    ) -> impl Iterator<Item = &'p Pod> {
        let pods = &self.snapshot.pods;
        let mut is_in = vec![false; pods.len()];
        for row in self
            .metrics()
            .flat_map(|step| &step.pods)
            .filter(|row| is_meant(row.group))
        {
            is_in[row.pod as usize] = true;
        }
        pods.iter()
            .zip(is_in)
            .filter_map(|(pod, is_in)| is_in.then_some(&**pod))
    }

    /// Returns the answer of the resource metrics API for a pod.
    pub(crate) fn metrics_of(&self, pod: &Pod) -> Option<&'p PodMetrics> {
        self.measured
            .get_or_init(|| Measured::of(&self.snapshot.pod_metrics))
            .of_pod(&pod.name)
    }

    /// Returns the container without usage that leaves a pod without a value of a resource metric.
    pub(crate) fn unmeasured(&self, spec: &MetricSpec, pod: &Pod) -> Option<&'p str> {
        let item = self.metrics_of(pod).filter(|_| spec.is_resource())?;
        item.unmeasured(spec.name(), spec.container())
    }

    /// Returns a pod as it was read; `None` if it is only assumed.
    pub(crate) fn observed_pod(&self, pod: &'p Pod) -> Option<&'p Pod> {
        let Some(observed) = &self.pass.input.observed else {
            return Some(pod);
        };
        let by_name = |pod: &'p Shared<Pod>| (&*pod.name, &**pod);
        self.observed_pods
            .get_or_init(|| observed.pods.iter().map(by_name).collect())
            .get(&*pod.name)
            .copied()
    }

    /// Returns the pod of a row as it was read; `None` if the pod or its value is only assumed and so proves nothing.
    pub(crate) fn observed_pod_of(&self, step: &MetricStep, row: &PodRow) -> Option<&'p Pod> {
        let pod = self.pod_of(row);
        let Some(observed) = &self.pass.input.observed else {
            return Some(pod);
        };
        let value = if step.is_resource() {
            let measured = self
                .observed_usage
                .get_or_init(|| Measured::of(&observed.pod_metrics));
            let item = measured.of_pod(&pod.name)?;
            item.usage(&step.name, step.container.as_deref())
        } else {
            let spec = observed.hpa.spec.metrics.get(step.index)?;
            let is_same = spec.source() == self.spec(step).source();
            match observed.metrics.get(step.index)? {
                MetricAnswer::Pods(values) if is_same => {
                    let mut own = values.iter().filter(|value| value.pod == pod.name);
                    own.next().map(|own| own.value)
                }
                _ => None,
            }
        };
        self.observed_pod(pod).filter(|_| value == row.value)
    }

    /// Returns the running pods' cpu usage as a share of their requests; `None` if either is unknown for one of
    /// them.
    pub(super) fn cpu_share(&self) -> Option<f64> {
        let (mut used, mut requested) = (0.0, 0.0);
        for pod in self.pods().filter(|pod| pod.phase == Phase::Running) {
            used += self.metrics_of(pod)?.usage("cpu", None)? as f64;
            for container in pod.running(false) {
                requested += container.requests.get("cpu")?.milli_value() as f64;
            }
        }
        (requested > 0.0).then_some(used / requested)
    }

    /// Returns a metric that decides with a value of exactly 0 while the pods are busy, with their cpu usage as a
    /// share of their requests: some adapters count a query without a result as 0.
    pub(crate) fn zero_while_busy(&self) -> Option<(usize, f64)> {
        /// Idle pods rarely use everything that they request.
        const BUSY: f64 = 1.0;
        let step = self.decision.winner().filter(|it| !it.is_resource())?;
        let proposal = step.proposal()?;
        let amounts = [
            &proposal.total,
            &proposal.current.value,
            &proposal.current.average_value,
        ];
        let value = amounts.into_iter().flatten().next()?;
        let share = self.cpu_share()?;
        (value.milli_value() == 0 && share >= BUSY).then_some((step.index, share))
    }

    /// Returns the topmost owner of a pod.
    pub(crate) fn top_owner(&self, pod: &'p Pod) -> TopOwner<'p> {
        self.owners.top(pod)
    }

    /// Whether the target is of a kind.
    pub(crate) fn is_kind(&self, kind: &str) -> bool {
        self.target().is_kind(kind)
    }

    /// Whether a pod certainly does not belong to the target.
    pub(crate) fn is_foreign(&self, pod: &'p Pod) -> bool {
        self.top_owner(pod).is_foreign()
    }

    /// Returns how long ago a pod started or was created; `None` if not stated or the clock is doubtful.
    pub(crate) fn age(&self, pod: &Pod) -> Option<SignedDuration> {
        self.since(pod.known_start().or(pod.created)?)
    }

    /// Returns how long ago something happened; `None` if the clock is doubtful.
    pub(crate) fn since(&self, time: Timestamp) -> Option<SignedDuration> {
        let is_certain = self.pass.input.clock_doubt.is_none();
        is_certain.then(|| self.snapshot.now.duration_since(time))
    }

    /// Returns the proposal of a metric on a changed snapshot.
    pub(crate) fn proposal_of(
        &self,
        metric: usize,
        change: impl FnOnce(&mut Snapshot),
    ) -> Option<i32> {
        let decision = self.decide(change);
        decision
            .metric(metric)?
            .proposal()
            .map(|proposal| proposal.replicas)
    }

    /// Returns the result of the pass if no recommendation held it.
    pub(crate) fn without_history(&self) -> Alternative {
        Alternative::of(self.forgotten(), None)
    }

    /// Returns the pass without any recommendation.
    pub(crate) fn forgotten(&self) -> &Decision {
        self.forgotten.get_or_init(|| self.forget(|_| ()))
    }

    /// Runs the pass on a changed snapshot, without any recommendation.
    pub(crate) fn forget(&self, change: impl FnOnce(&mut Snapshot)) -> Decision {
        let snapshot = self.changed(change);
        let forgotten = self.pass.remembered.clone().without_recommendations();
        engine::reconcile(&snapshot, &forgotten.likely)
    }

    /// Returns the result of this pass.
    pub(crate) fn answer(&self) -> Alternative {
        let range = self.pass.outlook.range(self.decision);
        Alternative::of(self.decision, range)
    }

    /// Runs the pass on a changed snapshot, with the same history.
    pub(crate) fn decide(&self, change: impl FnOnce(&mut Snapshot)) -> Decision {
        self.decide_on(&self.changed(change))
    }

    /// Returns the result of the pass on a changed snapshot, with the same history.
    pub(crate) fn without(&self, change: impl FnOnce(&mut Snapshot)) -> Alternative {
        let snapshot = self.changed(change);
        self.result(&snapshot, &self.decide_on(&snapshot))
    }

    /// Returns the result of a decision on a snapshot, with the same history.
    pub(crate) fn result(&self, snapshot: &Snapshot, decision: &Decision) -> Alternative {
        let range = outlook::range(snapshot, &self.pass.remembered, decision);
        Alternative::of(decision, range)
    }

    fn changed(&self, change: impl FnOnce(&mut Snapshot)) -> Snapshot {
        let mut snapshot = self.snapshot.clone();
        change(&mut snapshot);
        snapshot
    }

    fn decide_on(&self, snapshot: &Snapshot) -> Decision {
        engine::reconcile(snapshot, &self.pass.remembered.likely)
    }

    /// Returns the result of the pass on a changed snapshot if it is different.
    pub(crate) fn other_answer(&self, change: impl FnOnce(&mut Snapshot)) -> Option<Alternative> {
        Some(self.without(change)).filter(|other| *other != self.answer())
    }

    /// Returns the result without some pods and their metrics.
    pub(crate) fn without_pods(&self, goes: impl Fn(&Pod) -> bool) -> Alternative {
        self.without(|snapshot| overrides::remove_pods(snapshot, goes))
    }

    /// Returns the pods, out of some, that exceed the number of missing replicas: once ready, they replace pods of a
    /// rollout.
    pub(crate) fn replacing(&self, pods: impl Fn(&Pod) -> bool) -> Vec<&'p Pod> {
        let Some(scale) = self.scale() else {
            return Vec::new();
        };
        let active = self.pods().filter(|pod| pod.is_active());
        let (mut these, others): (Vec<&Pod>, Vec<_>) = active.partition(|pod| pods(pod));
        let counts = |pod: &&&'p Pod| pod.is_ready() && !self.is_foreign(pod);
        let replicas = usize::try_from(scale.spec_replicas).unwrap_or(0);
        let lacking = replicas.saturating_sub(others.iter().filter(counts).count());
        these.split_off(lacking.min(these.len()))
    }

    /// Returns the result if some pods had long been ready, using the average of the counted pods if they have no
    /// value. Pods that replace others add nothing.
    pub(crate) fn if_ready(&self, pods: impl Fn(&Pod) -> bool) -> Alternative {
        let replacing = self.replacing(&pods).into_iter();
        let replacing: Names<&str> = replacing.map(|pod| &*pod.name).collect();
        self.without(|snapshot| {
            overrides::make_ready(snapshot, self.decision, pods);
            overrides::remove_pods(snapshot, |pod| replacing.contains(&pod.name));
        })
    }

    /// Returns a finding about a problem, with the result of the pass without it. It explains the decision if
    /// the result differs.
    pub(crate) fn weigh(
        &self,
        facts: impl Into<Facts>,
        without: Alternative,
        otherwise: Severity,
    ) -> Finding {
        let answer = self.answer();
        match (answer.proposal, without.proposal) {
            // Without the problem, nothing is left to compute.
            (Some(_), None) => Finding::aside(otherwise, facts),
            _ if without == answer => Finding::aside(otherwise, facts).without(without),
            (None, Some(_)) => Finding::explaining(Severity::Error, facts).without(without),
            _ => Finding::explaining(Severity::Warning, facts).without(without),
        }
    }
}

impl Decision {
    /// Returns the bound beyond which the pass found the replicas: it corrects them, and leaves the metrics to the next
    /// pass.
    pub(super) fn corrects(&self) -> Option<Direction> {
        match self.path()? {
            Path::AboveMax => Some(Direction::Up),
            Path::BelowMin => Some(Direction::Down),
            Path::Metrics | Path::Disabled => None,
        }
    }
}

impl Alternative {
    fn of(decision: &Decision, range: Option<Range>) -> Self {
        Self {
            proposal: decision.proposal,
            replicas: decision.replicas_after(),
            possible: range.filter(|it| it.min != it.max),
        }
    }
}
