//! Changes a metric's observed value. The requests of each pod come from the engine's own trace, so that shares are
//! taken of the requests that the engine finds.

use std::collections::{BTreeSet, HashMap};

use super::Reported;
use super::named::Meant;
use super::pods::{WITHOUT_PODS, check_read, known_selector};
use super::samples::{change, failure, fill, is_running, samples};
use crate::apimachinery::quantity::{Amount, Format, Quantity};
use crate::apimachinery::selector::Selector;
use crate::engine;
use crate::engine::decision::{Decision, Group, MetricStep, PodRow};
use crate::error::Error;
use crate::memory::Memory;
use crate::snapshot::hpa::{MetricSource, MetricSpec, MetricTarget};
use crate::snapshot::pod::Pod;
use crate::snapshot::{ExternalValue, MetricAnswer, ObjectValue, Snapshot, UnreadCause};
use crate::version::FeatureGate;
use crate::whatif::unit;
use crate::whatif::value::{AssumedValue, Ratio};

/// Sets a metric to another value than the observed one: that at a place in the spec, or another one that is based on the
/// same usage.
///
/// A share is applied to each pod's own request, so that the total is the requested one, up to rounding to
/// milli-units. An amount is the usage of every pod, or the whole value of a metric that is not per pod. Pods
/// without a value stay without one, unless no pod has any: then all running pods get one, measured now, except those
/// that are assumed to have none.
///
/// # Errors
///
/// The metric cannot have such a value, or its pods are not known.
pub fn set_metric(
    snapshot: &mut Snapshot,
    index: usize,
    spec: &MetricSpec,
    value: &AssumedValue,
) -> Result<(), Error> {
    Metric::of(snapshot, index, spec)?.set(snapshot, value)
}

/// Sets a metric to a value of a trace.
///
/// # Errors
///
/// The same as for [`set_metric`], or a request is missing of which the value is a share.
pub(in crate::whatif) fn set_traced(
    snapshot: &mut Snapshot,
    index: usize,
    spec: &MetricSpec,
    value: &AssumedValue,
) -> Result<(), Error> {
    let metric = Metric::traced(snapshot, index, spec)?;
    metric.set(snapshot, value)?;
    if matches!(value, AssumedValue::Share(_)) {
        metric.parts(snapshot, &metric.step(snapshot, true)?, true)?;
    }
    Ok(())
}

/// Gives the pods values of a metric for a trace, if none has any: their containers divide later totals in this
/// proportion.
///
/// # Errors
///
/// No pod can have a value.
pub(in crate::whatif) fn begin_traced(
    snapshot: &mut Snapshot,
    index: usize,
    spec: &MetricSpec,
) -> Result<(), Error> {
    Metric::traced(snapshot, index, spec)?.begin(snapshot)
}

/// Sets a metric of one pod, or only the usage of a container in it, to another value; the pod need not have had one. A
/// factor applies to `base`.
///
/// # Errors
///
/// There is no such pod, or the metric cannot have such a value for it.
pub(super) fn set_pod(
    snapshot: &mut Snapshot,
    meant: &Meant,
    pod: &str,
    value: &AssumedValue,
    base: Option<i64>,
) -> Result<(), Error> {
    let metric = Metric::of(snapshot, meant.first(), &meant.spec)?;
    let Metric {
        index, spec, label, ..
    } = &metric;
    if spec.is_total() {
        return Err(Error::usage(format!("{label} has no value for each pod")));
    }
    let one = |wanted: &Pod| *wanted.name == *pod;
    let to = match value {
        AssumedValue::Missing => None,
        AssumedValue::Amount(amount) => Some(*amount),
        AssumedValue::Scale(factor) => {
            let base = base.ok_or_else(|| metric.nothing_observed())?;
            Some(metric.part(*factor, base.into())?)
        }
        AssumedValue::Share(ratio) => {
            let mut measured = snapshot.clone();
            if value_of(snapshot, *index, spec, pod).is_none() {
                metric.fill(&mut measured, one)?;
            }
            let step = match metric.step(&measured, true) {
                Err(_) if metric.failure(&measured).is_some() => return Ok(()),
                step => step?,
            };
            let mut rows = step.pods.iter();
            let request = rows
                .find(|row| one(&snapshot.pods[row.pod as usize]))
                .and_then(|row| metric.request(snapshot, row))
                .ok_or_else(|| metric.no_request(pod))?;
            let part = Spread::of(*ratio, true).next(request);
            Some(part.ok_or_else(|| metric.too_large())?)
        }
    };
    if to.is_some() {
        metric.fill(snapshot, one)?;
    }
    change(snapshot, *index, spec, |name, observed| {
        if name == pod { to } else { Some(observed) }
    });
    Ok(())
}

/// A metric of the spec whose values are changed.
pub(super) struct Metric {
    pub(super) index: usize,
    pub(super) spec: MetricSpec,
    label: String,
    /// The hint if there are no pods.
    without_pods: &'static str,
}

impl Metric {
    /// Returns the metric at a place in the spec, or another one that is based on the same usage.
    pub(super) fn of(snapshot: &Snapshot, index: usize, spec: &MetricSpec) -> Result<Self, Error> {
        if spec.source() == MetricSource::Unknown {
            let type_ = &spec.type_;
            return Err(Error::usage(format!(
                "a metric of the type {type_} cannot be overridden"
            )));
        }
        Ok(Self {
            index,
            label: spec.label(&snapshot.hpa.spec.metrics),
            spec: spec.clone(),
            without_pods: "without pods nothing is measured: leave the value out, or suppose some, such as \
                           --replicas 3",
        })
    }

    /// The same for a value of a trace.
    fn traced(snapshot: &Snapshot, index: usize, spec: &MetricSpec) -> Result<Self, Error> {
        let mut metric = Self::of(snapshot, index, spec)?;
        let scale = snapshot.scale.as_ref();
        if scale.is_ok_and(|scale| scale.spec_replicas == 0) {
            metric.without_pods = "the run starts with 0 replicas: start the trace at a row with more, or suppose some, \
                                   such as --replicas 3";
        }
        Ok(metric)
    }

    pub(super) fn set(&self, snapshot: &mut Snapshot, value: &AssumedValue) -> Result<(), Error> {
        if *value == AssumedValue::Missing {
            snapshot.metrics[self.index] = MetricAnswer::Failed(failure(&snapshot.hpa, &self.spec));
            Ok(())
        } else if self.spec.is_total() {
            self.set_total(snapshot, value)
        } else {
            self.set_each(snapshot, value)
        }
    }

    /// One value for the whole workload.
    pub(super) fn set_total(
        &self,
        snapshot: &mut Snapshot,
        value: &AssumedValue,
    ) -> Result<(), Error> {
        let answer = &mut snapshot.metrics[self.index];
        let value = match value {
            AssumedValue::Amount(amount) => *amount,
            AssumedValue::Scale(factor) => self.part(
                *factor,
                answer.total().ok_or_else(|| self.nothing_observed())?,
            )?,
            AssumedValue::Share(_) | AssumedValue::Missing => return Err(self.no_share()),
        };
        let timestamp = None;
        *answer = if self.spec.described_object().is_some() {
            MetricAnswer::Object(vec![ObjectValue { value, timestamp }])
        } else {
            let first = match answer {
                MetricAnswer::External(values) => values.first(),
                _ => None,
            };
            MetricAnswer::External(vec![ExternalValue {
                labels: first.map(|own| own.labels.clone()).unwrap_or_default(),
                value,
                timestamp,
            }])
        };
        Ok(())
    }

    /// Gives all running pods a value if none has any.
    fn begin(&self, snapshot: &mut Snapshot) -> Result<(), Error> {
        let Self {
            index, ref spec, ..
        } = *self;
        if !samples(snapshot, index, spec).is_empty() {
            return Ok(());
        }
        let known = check_read(snapshot).and_then(|()| known_selector(snapshot));
        let selector = known.map_err(|e| e.within(&self.label))?;
        let was = snapshot.metrics[index].clone();
        self.fill(snapshot, |pod| {
            is_running(pod)
                && selector.matches(&pod.labels)
                && !pod.assumed_missing.contains(&index)
        })?;
        if samples(snapshot, index, spec).is_empty() {
            return Err(self.no_pods(snapshot, &selector, &was));
        }
        Ok(())
    }

    /// Gives pods without a value one. This fails if the HPA scales by their containers, whose parts of the value are
    /// unknown.
    fn fill(&self, snapshot: &mut Snapshot, wanted: impl Fn(&Pod) -> bool) -> Result<(), Error> {
        let Self { index, spec, .. } = self;
        let known = samples(snapshot, *index, spec);
        let mut parted = snapshot.pods.iter().filter(|pod| {
            wanted(pod)
                && pod.running(false).nth(1).is_some()
                && known.iter().all(|(name, _)| *name != pod.name)
        });
        let own = &snapshot.hpa.spec.metrics[*index];
        if spec.container().is_none() && own.container().is_some() && parted.next().is_some() {
            let label = &self.label;
            return Err(
                Error::usage(format!("{label}: the part of each container is unknown"))
                    .hint("give the usage of each container that the HPA scales by"),
            );
        }
        fill(snapshot, *index, spec, wanted);
        Ok(())
    }

    /// A value for each pod.
    fn set_each(&self, snapshot: &mut Snapshot, value: &AssumedValue) -> Result<(), Error> {
        let Self {
            index, ref spec, ..
        } = *self;
        let is_share = matches!(value, AssumedValue::Share(_));
        if is_share && !spec.is_resource() {
            return Err(self.no_share());
        }
        if matches!(value, AssumedValue::Scale(_)) && samples(snapshot, index, spec).is_empty() {
            return Err(self.nothing_observed());
        }
        self.begin(snapshot)?;
        let ratio = match value {
            AssumedValue::Amount(amount) => {
                change(snapshot, index, spec, |_, _| Some(*amount));
                return Ok(());
            }
            AssumedValue::Share(ratio) | AssumedValue::Scale(ratio) => *ratio,
            AssumedValue::Missing => return Ok(()),
        };
        let step = self.step(snapshot, is_share);
        match step.and_then(|step| self.parts(snapshot, &step, is_share)) {
            Err(_) if self.failure(snapshot).is_some() => Ok(()),
            parts => self.spread(snapshot, Spread::of(ratio, is_share), &parts?),
        }
    }

    /// Returns the base of a ratio for each known sample: the request, if the ratio is a share, or else the value.
    pub(super) fn parts(
        &self,
        snapshot: &Snapshot,
        step: &MetricStep,
        is_share: bool,
    ) -> Result<Vec<PodPart>, Error> {
        let rows: HashMap<&str, &PodRow> = step
            .pods
            .iter()
            .map(|row| (&*snapshot.pods[row.pod as usize].name, row))
            .collect();
        samples(snapshot, self.index, &self.spec)
            .into_iter()
            .map(|(pod, observed)| {
                let row = rows.get(&*pod);
                let whole = match row {
                    _ if !is_share => observed,
                    Some(row) => self
                        .request(snapshot, row)
                        .ok_or_else(|| self.no_request(&pod))?,
                    // The usage of a pod that is not in the list is no share of anything.
                    None => return Ok(PodPart::Stays(observed)),
                };
                Ok(match row {
                    Some(row) if row.group != Group::Ready => PodPart::OfRest(whole),
                    _ => PodPart::OfCounted(whole),
                })
            })
            .collect()
    }

    /// Returns the weight in the metric of all pods, and of the pods that count: their requests if values are shares of
    /// requests, or else their number.
    pub(super) fn weights(&self, snapshot: &Snapshot, step: &MetricStep) -> [i128; 2] {
        let is_share = self.spec.is_utilization();
        if self.spec.is_total() {
            return [1, 1];
        }
        let [mut all, mut counted] = [0, 0];
        for row in step.pods.iter().filter(|row| row.group != Group::Ignored) {
            let weight = if is_share {
                self.request(snapshot, row).unwrap_or(0)
            } else {
                1
            };
            all += i128::from(weight);
            counted += i128::from(if row.group == Group::Ready { weight } else { 0 });
        }
        [all, counted]
    }

    /// Sets each value to the same share of its base.
    pub(super) fn spread(
        &self,
        snapshot: &mut Snapshot,
        mut counted: Spread,
        parts: &[PodPart],
    ) -> Result<(), Error> {
        // The pods that count add up to a whole value by themselves: the others take none of their rounding.
        let mut rest = counted.clone();
        let mut assumed = parts
            .iter()
            .map(|part| match part {
                PodPart::OfCounted(whole) => counted.next(*whole),
                PodPart::OfRest(whole) => rest.next(*whole),
                PodPart::Stays(observed) => Some(*observed),
            })
            .collect::<Option<Vec<i64>>>()
            .ok_or_else(|| self.too_large())?
            .into_iter();
        change(snapshot, self.index, &self.spec, |_, _| assumed.next());
        Ok(())
    }

    /// Returns why the controller cannot evaluate the metric whatever the pods use, such as a missing request; `None`
    /// if it can, if it evaluates no such part of a metric, or if the usage matters to this or another metric.
    fn failure(&self, snapshot: &Snapshot) -> Option<String> {
        let Self { index, spec, .. } = self;
        let metrics = &snapshot.hpa.spec.metrics;
        if metrics[*index].container() != spec.container() {
            return None;
        }
        let fail = metrics.iter().enumerate().all(|(place, other)| {
            !(other.shares_usage(spec) || other.id() == spec.id())
                || failure_of(snapshot, place, other).is_some()
        });
        failure_of(snapshot, *index, spec).filter(|_| fail)
    }

    /// Returns the request of which a pod's value is a share: for a container, the container's request, whatever the
    /// controller makes of it.
    fn request(&self, snapshot: &Snapshot, row: &PodRow) -> Option<i64> {
        let Some(name) = self.spec.container() else {
            return row.request;
        };
        let mut running = snapshot.pods[row.pod as usize].running(false);
        let own = running.find(|own| *own.name == *name)?;
        own.requests.get(self.spec.name()).map(Amount::milli_value)
    }

    /// Returns the step with the request and the group of each pod, from a pass that is run for this purpose.
    pub(super) fn step(&self, snapshot: &Snapshot, is_share: bool) -> Result<MetricStep, Error> {
        let probed = probe(snapshot, self.index, &self.spec);
        let step = probed
            .metric(0)
            .filter(|step| !step.pods.is_empty())
            .ok_or_else(|| self.not_evaluated(&probed))?;
        let is_of_pods = is_share && self.spec.container().is_none();
        let mut requests = step.pods.iter().map(|row| row.request);
        match step.error() {
            Some(e) if is_of_pods && requests.any(|own| own.is_none()) => {
                Err(self.no_percentage(&e.message))
            }
            _ => Ok(step.clone()),
        }
    }

    /// Returns the error for a metric of which a pass knows no pods.
    fn not_evaluated(&self, probed: &Decision) -> Error {
        let label = &self.label;
        match (probed.metric(0).and_then(MetricStep::error), self.spec.container()) {
            (Some(e), Some(_)) => Error::usage(format!("{label}: {}", e.message)).hint(
                "assume no metrics at all for such a pod (--missing POD), or give single pods values (--pod)",
            ),
            _ => {
                let error = probed.outcome.error.as_deref();
                self.unknown_pods(error.unwrap_or("there are none"))
            }
        }
    }

    fn part(&self, ratio: Ratio, whole: i128) -> Result<i64, Error> {
        let part = ratio.of(whole).and_then(|part| part.try_into().ok());
        part.ok_or_else(|| self.too_large())
    }

    fn too_large(&self) -> Error {
        Error::usage(format!(
            "{} would be larger than any metric can be",
            self.label
        ))
    }

    fn nothing_observed(&self) -> Error {
        let is_resource = self.spec.is_resource();
        let share = if is_resource { "80% or " } else { "" };
        Error::usage(format!(
            "{}: there is no observed value to change",
            self.label
        ))
        .hint(format!("give a value such as {share}{}", self.amount()))
    }

    fn no_share(&self) -> Error {
        Error::usage(format!(
            "{} is not a resource, so it has no request",
            self.label
        ))
        .hint("use an amount such as 30, or a change such as +20% or x2")
    }

    fn no_request(&self, pod: &str) -> Error {
        self.no_percentage(&format!("{pod} has no request for it"))
    }

    fn no_percentage(&self, why: &str) -> Error {
        let (label, amount) = (&self.label, self.amount());
        Error::usage(format!("{label}: a percentage cannot be used: {why}"))
            .hint(format!("an amount such as {amount} needs no request"))
    }

    /// An amount in a unit of the metric.
    fn amount(&self) -> &'static str {
        if self.spec.is_resource() {
            unit::example(self.spec.name())
        } else {
            "30"
        }
    }

    /// Returns the error for a metric none of whose pods can be given a value; `was` is the answer that was read.
    fn no_pods(&self, snapshot: &Snapshot, selector: &Selector, was: &MetricAnswer) -> Error {
        let pods = snapshot
            .pods
            .iter()
            .filter(|pod| selector.matches(&pod.labels));
        let has_pods = pods.clone().next().is_some();
        let running: Vec<_> = pods.filter(|pod| is_running(pod)).collect();
        let mut assumed = running.iter().map(|pod| &pod.assumed_missing);
        match (self.spec.container(), was) {
            _ if !running.is_empty() && assumed.all(|own| own.contains(&self.index)) => {
                let label = &self.label;
                Error::usage(format!(
                    "{label}: every running pod is assumed to have no value"
                ))
                .hint("leave out that, or the value")
            }
            (Some(name), _) if !running.is_empty() => {
                let own = running.iter().flat_map(|pod| &pod.containers);
                let known: BTreeSet<&str> = own.map(|own| &*own.name).collect();
                Error::usage(format!(
                    "{}: no running pod has a container {name}",
                    self.label
                ))
                .hint(format!("they have {}", Vec::from_iter(known).join(", ")))
            }
            (_, MetricAnswer::Unread(UnreadCause::Missing { .. })) if !has_pods => self
                .unknown_pods("the input has none of them")
                .hint(WITHOUT_PODS),
            _ if has_pods => {
                Error::usage(format!("{}: no pod of the target is running", self.label))
            }
            _ => Error::usage(format!("{}: the target has no pods", self.label))
                .hint(self.without_pods),
        }
    }

    fn unknown_pods(&self, why: &str) -> Error {
        Error::usage(format!(
            "{}: the pods of the target are unknown: {why}",
            self.label
        ))
    }
}

/// The base of a pod's share or multiple.
#[derive(Debug, Clone, Copy)]
pub(super) enum PodPart {
    /// A share of this value, and the pod counts.
    OfCounted(i64),
    /// A share of this value, but the pod does not count.
    OfRest(i64),
    /// No share: the value stays as observed.
    Stays(i64),
}

impl PodPart {
    /// Returns the base of the pod's value.
    pub(super) fn whole(&self) -> i128 {
        let (Self::OfCounted(whole) | Self::OfRest(whole) | Self::Stays(whole)) = self;
        i128::from(*whole).abs()
    }
}

/// Shares of amounts that add up to the share of their sum.
#[derive(Clone)]
pub(super) struct Spread {
    ratio: Ratio,
    /// The engine truncates a share to whole percents, so that 80 % must not become a little less,
    /// nor 80.5 % come out as 81.
    down: bool,
    whole: i128,
    part: i128,
}

impl Spread {
    pub(super) fn of(ratio: Ratio, is_share: bool) -> Self {
        Self {
            ratio,
            down: is_share && !ratio.is_whole_percent(),
            whole: 0,
            part: 0,
        }
    }

    fn next(&mut self, whole: i64) -> Option<i64> {
        self.whole = self.whole.checked_add(whole.into())?;
        let part = if self.down {
            self.ratio.whole_of(self.whole)?
        } else {
            self.ratio.of(self.whole)?
        };
        let next = part - std::mem::replace(&mut self.part, part);
        next.try_into().ok()
    }
}

/// Returns why the controller cannot evaluate the metric at a place, or a part of it, whatever its pods use; `None` if it
/// can, or if the usage matters.
pub(super) fn failure_of(snapshot: &Snapshot, index: usize, spec: &MetricSpec) -> Option<String> {
    if !spec.is_utilization() {
        return None;
    }
    let decision = probe(snapshot, index, spec);
    let step = decision.metric(0).filter(|step| !step.pods.is_empty())?;
    step.error().map(|e| e.message.clone())
}

/// Returns the value of a metric for a pod.
pub(super) fn value_of(
    snapshot: &Snapshot,
    index: usize,
    spec: &MetricSpec,
    pod: &str,
) -> Option<i64> {
    let samples = samples(snapshot, index, spec);
    let mut own = samples.into_iter().filter(|(name, _)| **name == *pod);
    own.next().map(|(_, value)| value)
}

/// Returns the value of a metric for a pod, as reported.
pub(super) fn reported(spec: &MetricSpec, value: i64) -> Reported {
    let binary = spec.is_resource() && spec.name() == "memory";
    let format = if binary {
        Format::BinarySI
    } else {
        Format::DecimalSI
    };
    Reported::Amount(Quantity::from_milli(value, format))
}

/// Runs a pass with one metric only, as [`alone`], compared with the requests if it is a resource.
pub(in crate::whatif) fn probe(snapshot: &Snapshot, index: usize, spec: &MetricSpec) -> Decision {
    let mut metric = spec.clone();
    if metric.is_resource()
        && let Some(target) = metric.target_mut()
    {
        *target = MetricTarget {
            type_: "Utilization".to_owned(),
            average_utilization: Some(100),
            ..MetricTarget::default()
        };
    }
    alone(snapshot, index, metric)
}

/// Runs a pass with one metric only, whatever else is in the HPA and its target: the metric at a place in the spec, or
/// a container's part of it.
pub(in crate::whatif) fn alone(snapshot: &Snapshot, index: usize, metric: MetricSpec) -> Decision {
    let mut probe = snapshot.clone();
    let spec = &mut probe.hpa.spec;
    // Before 1.30, the controller looks at metrics of containers only with its gate.
    let is_part = spec.metrics[index].container() != metric.container();
    probe.controller.gates[FeatureGate::HPAContainerMetrics] |= is_part;
    spec.metrics = vec![metric];
    spec.min_replicas = Some(1);
    spec.max_replicas = i32::MAX;
    probe.metrics.swap(0, index);
    probe.metrics.truncate(1);
    probe.other_hpas.clear();
    probe.set_replicas(1);
    engine::reconcile(&probe, &Memory::default())
}
