//! The samples of a target's pods and of its HPA, as they were scraped. They are for a past pass, where
//! rates and sums over windows would blur the order of events. Scrapes of the same source by several
//! servers form one series: all samples of a state, and the samples of one server for usage.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::answer::{QueryAnswer, Series};
use super::kinds;
use super::queries::{CONTROLLER_DESIRED, CPU, MEMORY, Sampled};
use crate::snapshot::hpa::Hpa;
use crate::snapshot::load::LoadQuery;
use crate::snapshot::pod::{Phase, ResourceName, resource_name};

/// Values by time in milliseconds since 1970, ascending.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Samples(Vec<(i64, f64)>);

impl Samples {
    /// Returns the last sample up to a time.
    pub fn last(&self, millis: i64) -> Option<(i64, f64)> {
        self.0[..self.place(millis)].last().copied()
    }

    /// Returns the first sample after a time.
    pub fn next(&self, millis: i64) -> Option<(i64, f64)> {
        self.0.get(self.place(millis)).copied()
    }

    /// Returns the last sample up to a time, or else the first one after it.
    pub fn near(&self, millis: i64) -> Option<f64> {
        self.last(millis)
            .or_else(|| self.next(millis))
            .map(|(_, value)| value)
    }

    /// Returns all samples.
    pub fn all(&self) -> &[(i64, f64)] {
        &self.0
    }

    /// Whether it has no samples.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn place(&self, millis: i64) -> usize {
        self.0.partition_point(|(time, _)| *time <= millis)
    }

    /// Adds the samples of another server, for values that are the same whichever server scraped them.
    pub fn add(&mut self, points: &[(i64, f64)]) {
        let is_later = self
            .0
            .last()
            .is_none_or(|last| points.first().is_none_or(|it| it.0 > last.0));
        self.0.extend_from_slice(points);
        if !is_later {
            self.0.sort_by_key(|(time, _)| *time);
            self.0.dedup_by_key(|(time, _)| *time);
        }
    }

    /// Adds the samples of another server, or of a container that replaced one, where this series has none. Two
    /// servers read a counter at different times, so there is no rate between a sample of one and a sample of
    /// the other. The series with more samples is followed, as Thanos follows one replica until it has a gap.
    pub fn follow(&mut self, points: &[(i64, f64)]) {
        let mut other = points.to_vec();
        if other.len() > self.0.len() {
            std::mem::swap(&mut self.0, &mut other);
        }
        let gap = self.gap().unwrap_or(i64::MAX / 4);
        other.retain(|(time, _)| {
            let place = self.place(*time);
            let since = place.checked_sub(1).map(|before| time - self.0[before].0);
            let until = self.0.get(place).map(|next| next.0 - time);
            // One missed scrape leaves a gap of twice the usual interval.
            let is_in_hole = match (since, until) {
                (Some(since), Some(until)) => since + until > gap + gap / 2,
                _ => true,
            };
            is_in_hole
                && [since, until]
                    .into_iter()
                    .flatten()
                    .all(|apart| apart >= gap / 2)
        });
        self.add(&other);
    }

    /// Returns the median of the times between two samples, in milliseconds.
    fn gap(&self) -> Option<i64> {
        let mut gaps: Vec<i64> = self
            .0
            .windows(2)
            .map(|pair| pair[1].0 - pair[0].0)
            .collect();
        gaps.sort_unstable();
        gaps.get(gaps.len() / 2).copied()
    }
}

/// Everything that was scraped.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct History {
    /// The server, without credentials.
    pub source: String,
    /// The queries.
    pub queries: Vec<LoadQuery>,
    /// The server's warnings.
    pub warnings: Vec<String>,
    /// The pods of the target, by name and creation: a StatefulSet reuses a name.
    pub pods: Vec<PodHistory>,
    /// The replicas that were requested of the target.
    pub replicas: Samples,
    /// The actual replicas of the target, from the status.
    pub status_replicas: Samples,
    /// The replicas that the HPA desired, at the resolution of the scrapes.
    pub desired: Samples,
    /// `minReplicas` of the HPA.
    pub min: Samples,
    /// `maxReplicas` of the HPA.
    pub max: Samples,
    /// The targets of its metrics, by name and type.
    pub targets: BTreeMap<(String, String), Samples>,
    /// The creation time of the HPA, in seconds since 1970.
    pub creations: Samples,
    /// The series of metrics that are not resources, by place in the spec.
    pub metrics: BTreeMap<usize, Vec<ValueHistory>>,
    /// The known scrapes of kube-state-metrics.
    pub scrapes: Samples,
    /// The time between two scrapes of the usage, in milliseconds, if there were any.
    pub scrape: Option<i64>,
}

/// The samples of a pod.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PodHistory {
    /// The pod's name.
    pub name: Box<str>,
    /// The samples that show that the pod existed.
    pub seen: Samples,
    /// The creation time, in seconds since 1970.
    pub created: Option<i64>,
    /// The creation time of the next pod of the same name, in seconds since 1970.
    pub replaced: Option<i64>,
    /// The start time.
    pub started: Option<i64>,
    /// The samples of the deletion timestamp.
    pub deleted: Samples,
    /// The samples of its phases.
    pub phases: Vec<(Phase, Samples)>,
    /// The samples of its readiness.
    pub ready: Samples,
    /// The time at which it became ready, or, depending on the version, also at which it ceased to be.
    pub ready_time: Samples,
    /// The containers.
    pub containers: BTreeMap<Box<str>, ContainerHistory>,
}

/// The samples of a container.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ContainerHistory {
    /// Whether kube-state-metrics reports it, as it does for all containers of a spec.
    pub has_info: bool,
    /// Whether it is an init container, and if so, whether it keeps running.
    pub init: Option<bool>,
    /// The requests.
    pub requests: Vec<(ResourceName, Samples)>,
    /// CPU seconds used.
    pub cpu: Samples,
    /// Bytes used.
    pub memory: Samples,
}

/// The samples of a metric that is not a resource.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ValueHistory {
    /// The pod that has the value, for a metric of pods.
    pub pod: Option<Box<str>>,
    /// The metric's values.
    pub samples: Samples,
}

/// How far apart two scrapes of kube-state-metrics may be that show what was between them, in milliseconds: a minute, and
/// what a scrape may be late. In a longer time, replicas come and go.
pub const STATE_GAP: i64 = 61_000;

/// How far apart two values of a query may be that show what was between them, in milliseconds: queries are evaluated
/// more often than that.
pub const VALUE_GAP: i64 = 60_000;

/// Returns how far apart two samples may be, given the time between two scrapes: one lost scrape is bridged, two in a
/// row are not, unless they are less than a minute.
fn bridged(scrape: Option<i64>) -> i64 {
    const LEAST: i64 = 60_000;
    LEAST.max(scrape.unwrap_or(0) / 2 * 5)
}

impl History {
    /// Reads the answers about an HPA and its target's ReplicaSets.
    pub fn read(hpa: &Hpa, replica_sets: &[String], answers: &[(Sampled, QueryAnswer)]) -> Self {
        let mut history = Self::default();
        let of = |kind| answers.iter().filter(move |(own, _)| *own == kind);
        let all = |kind| of(kind).flat_map(|(_, answer)| &answer.series);
        let target = &hpa.spec.scale_target_ref;
        let of_pods = |wanted| all(Sampled::Pods).filter(move |own| name(own) == wanted);
        // The creation times of the pods of a name, each with the first sample that states it.
        let mut created: BTreeMap<&str, BTreeMap<i64, i64>> = BTreeMap::new();
        for series in of_pods("kube_pod_created") {
            let creations = created.entry(label(series, "pod")).or_default();
            for (time, value) in &series.points {
                let Some(second) = second(*value) else {
                    continue;
                };
                creations
                    .entry(second)
                    .and_modify(|first| *first = *time.min(first))
                    .or_insert(*time);
            }
        }
        let mut pods: BTreeMap<&str, Vec<(i64, PodHistory)>> = BTreeMap::new();
        for series in of_pods("kube_pod_owner") {
            let (kind, owner) = (label(series, "owner_kind"), label(series, "owner_name"));
            if kinds::owns(target, replica_sets, kind, owner) {
                let name = label(series, "pod");
                let named = pods
                    .entry(name)
                    .or_insert_with(|| namesakes(name, created.get(name)));
                share(named, &series.points, |pod, points| pod.seen.add(points));
            }
            history.scrapes.add(&series.points);
        }
        for series in all(Sampled::Pods).chain(all(Sampled::Usage)) {
            if let Some(own) = pods.get_mut(label(series, "pod")) {
                share(own, &series.points, |pod, points| pod.add(series, points));
            }
        }
        history.pods = pods
            .into_values()
            .flatten()
            .map(|(_, pod)| pod)
            .filter(|pod| !pod.seen.is_empty())
            .collect();
        let desired = kinds::known_kind(target).map(|own| own.desired);
        for series in all(Sampled::Target) {
            let samples = if desired == Some(name(series)) {
                &mut history.replicas
            } else {
                &mut history.status_replicas
            };
            samples.add(&series.points);
            history.scrapes.add(&series.points);
        }
        for series in all(Sampled::Hpa) {
            history.add_hpa(series);
        }
        for series in all(Sampled::Controller) {
            let exported = label(series, "exported_namespace");
            let hpa_namespace = if exported.is_empty() {
                label(series, "namespace")
            } else {
                exported
            };
            if hpa_namespace == hpa.namespace && name(series) == CONTROLLER_DESIRED {
                history.desired.add(&series.points);
            }
        }
        let containers = history.pods.iter().flat_map(|pod| pod.containers.values());
        let mut gaps: Vec<i64> = containers
            .flat_map(|own| [own.cpu.gap(), own.memory.gap()])
            .flatten()
            .collect();
        gaps.sort_unstable();
        history.scrape = gaps.get(gaps.len() / 2).copied();
        history
    }

    /// Returns how long a scrape of kube-state-metrics still counts as the state, in milliseconds.
    pub fn state_age(&self) -> i64 {
        bridged(self.scrapes.gap())
    }

    /// Returns how far apart two scrapes of the usage may be that show what was between them, in milliseconds.
    pub fn usage_gap(&self) -> i64 {
        bridged(self.scrape)
    }

    /// Returns when the HPA of a time was created: its latest creation up to then, or else the next one.
    pub fn created(&self, at: Timestamp) -> Option<Timestamp> {
        let seconds = self.creations.all().iter();
        let times = seconds.filter_map(|(_, value)| Timestamp::from_second(second(*value)?).ok());
        let (before, after): (Vec<_>, Vec<_>) = times.partition(|time| *time <= at);
        before.into_iter().max().or_else(|| after.into_iter().min())
    }

    fn add_hpa(&mut self, series: &Series) {
        let own = name(series)
            .strip_prefix("kube_horizontalpodautoscaler_")
            .unwrap_or_default();
        let samples = match own {
            "created" => &mut self.creations,
            "spec_min_replicas" => &mut self.min,
            "spec_max_replicas" => &mut self.max,
            "status_desired_replicas" => &mut self.desired,
            "spec_target_metric" => {
                let text = |of| label(series, of).to_owned();
                let key = (text("metric_name"), text("metric_target_type"));
                self.targets.entry(key).or_default()
            }
            _ => return,
        };
        samples.add(&series.points);
    }
}

impl PodHistory {
    /// Whether a container was added to the running pod, as by `kubectl debug`, and is not in its spec.
    pub fn is_ephemeral(&self, container: &ContainerHistory) -> bool {
        let ContainerHistory {
            has_info,
            init,
            requests,
            ..
        } = container;
        let is_in_spec = *has_info || init.is_some() || !requests.is_empty();
        !is_in_spec && self.containers.values().any(|own| own.has_info)
    }

    fn add(&mut self, series: &Series, points: &[(i64, f64)]) {
        let Some((_, last)) = points.last().copied() else {
            return;
        };
        match name(series) {
            "kube_pod_start_time" => self.started = second(last),
            "kube_pod_deletion_timestamp" => self.deleted.add(points),
            "kube_pod_status_ready" => self.ready.add(points),
            "kube_pod_status_ready_time" => self.ready_time.add(points),
            "kube_pod_status_phase" => {
                let phase = match label(series, "phase") {
                    "Pending" => Phase::Pending,
                    "Failed" => Phase::Failed,
                    _ => Phase::Running,
                };
                add_to(&mut self.phases, phase, points);
            }
            "kube_pod_container_info" => self.container(series).has_info = true,
            "kube_pod_init_container_info" => {
                let stays = label(series, "restart_policy") == "Always";
                let container = self.container(series);
                // An older version of kube-state-metrics has no label.
                container.init = Some(stays || container.init == Some(true));
            }
            own @ ("kube_pod_container_resource_requests"
            | "kube_pod_init_container_resource_requests") => {
                let container = self.container(series);
                if own.starts_with("kube_pod_init") {
                    container.init.get_or_insert(false);
                }
                let resource = resource_name(label(series, "resource"));
                add_to(&mut container.requests, resource, points);
            }
            CPU => self.container(series).cpu.follow(points),
            MEMORY => self.container(series).memory.follow(points),
            _ => {}
        }
    }

    /// Returns the container that a series is about.
    fn container(&mut self, series: &Series) -> &mut ContainerHistory {
        let name = label(series, "container").into();
        self.containers.entry(name).or_default()
    }
}

/// Adds the points to the samples of a phase or resource.
fn add_to<K: PartialEq>(all: &mut Vec<(K, Samples)>, key: K, points: &[(i64, f64)]) {
    match all.iter_mut().find(|(own, _)| *own == key) {
        Some((_, samples)) => samples.add(points),
        None => all.push((key, Samples(points.to_vec()))),
    }
}

/// Returns the pods of a name, each with the time from which on samples of the name are its own. `created`
/// has their creation times, each with the first sample that states it, because labels with the uid may
/// have been dropped.
fn namesakes(name: &str, created: Option<&BTreeMap<i64, i64>>) -> Vec<(i64, PodHistory)> {
    let named = PodHistory {
        name: name.into(),
        ..PodHistory::default()
    };
    let mut pods = Vec::new();
    let mut creations = created.into_iter().flatten().peekable();
    while let Some((second, seen)) = creations.next() {
        let since = if pods.is_empty() {
            i64::MIN
        } else {
            (second * 1000).min(*seen)
        };
        let pod = PodHistory {
            created: Some(*second),
            replaced: creations.peek().map(|(next, _)| **next),
            ..named.clone()
        };
        pods.push((since, pod));
    }
    if pods.is_empty() {
        pods.push((i64::MIN, named));
    }
    pods
}

/// Gives each pod of a name its own points.
fn share(
    pods: &mut [(i64, PodHistory)],
    points: &[(i64, f64)],
    mut add: impl FnMut(&mut PodHistory, &[(i64, f64)]),
) {
    let mut rest = points;
    for (since, pod) in pods.iter_mut().rev() {
        let (earlier, own) = rest.split_at(rest.partition_point(|(time, _)| time < since));
        add(pod, own);
        rest = earlier;
    }
}

/// Returns a time in seconds since 1970, if the value can be one.
pub fn second(value: f64) -> Option<i64> {
    (value.abs() < 2e11).then_some(value as i64)
}

fn label<'s>(series: &'s Series, name: &str) -> &'s str {
    series.labels.get(name).unwrap_or_default()
}

fn name(series: &Series) -> &str {
    label(series, "__name__")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::prometheus::queries::HPA_CREATED;

    #[test]
    fn each_pod_of_a_name_has_its_own_samples() {
        let series = |name: &str, more: &[(&str, &str)], points: &[(i64, f64)]| Series {
            labels: [("__name__", name), ("pod", "db-0")]
                .iter()
                .chain(more)
                .copied()
                .collect(),
            points: points.to_vec(),
        };
        let owner = [("owner_kind", "StatefulSet"), ("owner_name", "db")];
        let seen = [(15_000, 1.0), (30_000, 1.0), (45_000, 1.0)];
        let created = [(15_000, 5.0), (30_000, 5.0), (45_000, 40.0)];
        let (init, proxy) = ("kube_pod_init_container_info", ("container", "proxy"));
        // The uid may have been dropped, and usage never has one.
        let pods = vec![
            series("kube_pod_owner", &owner, &seen),
            series("kube_pod_created", &[], &created),
            series("kube_pod_start_time", &[], &created),
            series("kube_pod_container_info", &[("container", "app")], &seen),
            // Another version had no label.
            series(init, &[proxy, ("restart_policy", "Always")], &seen),
            series(init, &[proxy], &seen),
        ];
        let used = [(20_000, 8.0), (35_000, 9.0), (46_000, 1.0)];
        let usage = vec![
            series(CPU, &[("container", "app")], &used),
            series(CPU, &[("container", "debugger")], &used),
        ];
        let target = json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db"});
        let hpa = Hpa::of(
            &json!({"maxReplicas": 9, "scaleTargetRef": target}),
            json!({}),
        );
        let answer = |series| QueryAnswer {
            series,
            ..QueryAnswer::default()
        };
        let answers = [
            (Sampled::Pods, answer(pods)),
            (Sampled::Usage, answer(usage)),
        ];
        let history = History::read(&hpa, &[], &answers);
        let [first, second] = &history.pods[..] else {
            panic!("{:?}", history.pods)
        };
        assert_eq!(
            (first.created, first.started, first.replaced),
            (Some(5), Some(5), Some(40))
        );
        assert_eq!(
            (second.created, second.started, second.replaced),
            (Some(40), Some(40), None)
        );
        assert_eq!(
            (first.seen.all(), second.seen.all()),
            (&seen[..2], &seen[2..])
        );
        let app = |pod: &PodHistory| pod.containers["app"].cpu.clone();
        assert_eq!(
            (app(first).all(), app(second).all()),
            (&used[..2], &used[2..])
        );
        assert_eq!(first.containers["proxy"].init, Some(true));
        let is_ephemeral = |name: &str| first.is_ephemeral(&first.containers[name]);
        assert_eq!(
            (is_ephemeral("app"), is_ephemeral("debugger")),
            (false, true)
        );
    }

    #[test]
    fn of_several_creations_of_an_hpa_the_latest_up_to_a_time_counts() {
        let series = |instance: &str, points: &[(i64, f64)]| Series {
            labels: [("__name__", HPA_CREATED), ("instance", instance)]
                .into_iter()
                .collect(),
            points: points.to_vec(),
        };
        let all = vec![
            series("a", &[(30_000, 5.0), (45_000, 40.0)]),
            series("b", &[(15_000, 5.0)]),
        ];
        let answer = QueryAnswer {
            series: all,
            ..QueryAnswer::default()
        };
        let hpa = Hpa::of(&json!({"maxReplicas": 9}), json!({}));
        let history = History::read(&hpa, &[], &[(Sampled::Hpa, answer)]);
        let created = |at| {
            let created = history.created(Timestamp::from_second(at).unwrap());
            created.map(Timestamp::as_second)
        };
        // The HPA of 40 ran its first passes before it was scraped.
        let found = [4, 39, 40, 44, 99].map(created);
        assert_eq!(found, [5, 5, 40, 40, 40].map(Some));
    }

    #[test]
    fn a_usage_that_several_servers_scraped_is_followed_at_one_of_them() {
        let times = |from: i64, until: i64| (from..until).step_by(15_000);
        let points = |from, until| times(from, until).map(|time| (time, time as f64)).collect();
        let (one, other): (Vec<_>, Vec<_>) = (points(0, 150_000), points(4_000, 90_000));
        let both = |all: &[&[(i64, f64)]]| {
            let mut samples = Samples::default();
            all.iter().for_each(|points| samples.follow(points));
            samples.0
        };
        assert_eq!(both(&[&one, &other]), one);
        assert_eq!(both(&[&other, &one]), one);
        assert_eq!(both(&[&one, &one]), one);
        // A server that was down is replaced for that time, and only then.
        let down: Vec<_> = one
            .iter()
            .copied()
            .filter(|(time, _)| !(40_000..80_000).contains(time))
            .collect();
        let times: Vec<i64> = both(&[&down, &other])
            .iter()
            .map(|(time, _)| time / 1000)
            .collect();
        assert_eq!(times, [0, 15, 30, 49, 64, 79, 90, 105, 120, 135]);
        // The usage of a container that was replaced continues in another series.
        let next: Vec<_> = points(150_000, 200_000);
        assert_eq!(both(&[&one, &next]).len(), one.len() + next.len());
        assert_eq!(both(&[&next, &one]), both(&[&one, &next]));
    }
}
