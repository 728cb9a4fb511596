//! The pods that a pass uses, the group of each, and its requests (`groupPods`, `calculateRequests` and
//! `PodRequests` upstream). The order of the pods does not matter, except that it determines which pod an
//! error about missing requests names.

use std::cell::OnceCell;
use std::collections::HashMap;

use jiff::{SignedDuration, Timestamp};

use super::decision::{Clause, Group, PodCounts, PodRow};
use crate::apimachinery::selector::{Labels, Selector};
use crate::calendar::Calendar;
use crate::rules::Rules;
use crate::snapshot::controller::Controller;
use crate::snapshot::pod::{ConditionStatus, Container, Phase, Pod};
use crate::snapshot::requests::{add_to, aggregate_request, is_pod_level_resource};
use crate::snapshot::shared::Shared;

/// The pods that the target's selector matches.
pub(super) struct Selected<'s> {
    /// All pods of the namespace.
    all: &'s [Shared<Pod>],
    /// The indices of the selected ones.
    places: Vec<u32>,
    by_name: OnceCell<HashMap<&'s str, u32>>,
}

/// The value of a metric for one pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PodSample {
    /// Milli-units.
    pub(super) value: i64,
    /// The end of the measurement.
    pub(super) timestamp: Timestamp,
    /// The length of the measurement.
    pub(super) window: SignedDuration,
}

/// Each selected pod with its group, and the metrics of pods that are not in the list.
pub(super) struct Grouped<'s> {
    pub(super) rows: Vec<PodRow>,
    pub(super) strangers: HashMap<&'s str, i64>,
    pub(super) counts: PodCounts,
}

impl<'s> Selected<'s> {
    pub(super) fn new(all: &'s [Shared<Pod>], selector: &Selector) -> Self {
        let mut last: Option<(&Shared<Labels>, bool)> = None;
        let mut places = Vec::new();
        for (place, pod) in (0u32..).zip(all) {
            let matches = match last {
                Some((same, matches)) if same.is(&pod.labels) => matches,
                _ => selector.matches(&pod.labels),
            };
            last = Some((&pod.labels, matches));
            if matches {
                places.push(place);
            }
        }
        Self {
            all,
            places,
            by_name: OnceCell::new(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &'s Pod> {
        self.places.iter().map(|&place| &*self.all[place as usize])
    }

    /// Groups every pod by its readiness alone (`getReadyPodsCount`): running pods whose Ready condition
    /// is True count, including terminating ones.
    pub(super) fn by_readiness(&self) -> (Vec<PodRow>, PodCounts) {
        let mut counts = PodCounts::default();
        let rows = self.places.iter().map(|&place| {
            let pod = &self.all[place as usize];
            let ready = pod.is_ready();
            let (group, clause) = match pod.phase {
                Phase::Running if ready => (Group::Ready, Clause::Counted),
                Phase::Running => (Group::Unready, Clause::NotReady),
                Phase::Pending => (Group::Unready, Clause::Pending),
                Phase::Other => (Group::Unready, Clause::NotRunning),
                Phase::Failed => (Group::Ignored, Clause::Failed),
                Phase::Succeeded => (Group::Ignored, Clause::Succeeded),
            };
            counts.add(group);
            PodRow::new(place, group, clause)
        });
        (rows.collect(), counts)
    }

    /// Groups every pod. `samples` may name pods outside the list and name a pod twice;
    /// the last one counts.
    pub(super) fn group(
        &self,
        samples: impl Iterator<Item = (&'s str, PodSample)>,
        resource: &str,
        controller: &Controller,
        rules: &Rules,
        now: Timestamp,
    ) -> Grouped<'s> {
        let readiness = (resource == "cpu").then(|| Readiness {
            controller,
            now,
            started: now.checked_sub(controller.cpu_initialization_period).ok(),
        });
        let unmeasured = |&place| PodRow::new(place, Group::Missing, Clause::NoMetric);
        let mut rows: Vec<PodRow> = self.places.iter().map(unmeasured).collect();
        let mut strangers = HashMap::new();
        // Both lists usually come sorted by name, so the next pod is nearly always the right one.
        let mut next = 0;
        for (name, sample) in samples {
            let guess = (next..rows.len().min(next + LOOK_AHEAD))
                .find(|&i| *self.all[rows[i].pod as usize].name == *name);
            match guess.or_else(|| self.place_of(name)) {
                Some(place) => {
                    let row = &mut rows[place];
                    let pod = &self.all[row.pod as usize];
                    row.value = Some(sample.value);
                    (row.group, row.clause, row.until) =
                        classify(pod, Some(&sample), readiness.as_ref(), rules);
                    row.sample_from = match (row.clause, pod.ready) {
                        (Clause::InitializingOldSample, Some(ready)) => {
                            Some(ready.last_transition_time.plus(sample.window))
                        }
                        _ => None,
                    };
                    next = place + 1;
                }
                None => {
                    strangers.insert(name, sample.value);
                }
            }
        }
        let mut counts = PodCounts {
            strangers: strangers.len(),
            ..PodCounts::default()
        };
        for row in &mut rows {
            if row.value.is_none() {
                let pod = &self.all[row.pod as usize];
                (row.group, row.clause, row.until) = classify(pod, None, readiness.as_ref(), rules);
            }
            counts.add(row.group);
        }
        Grouped {
            rows,
            strangers,
            counts,
        }
    }

    fn place_of(&self, name: &str) -> Option<usize> {
        let by_name = self.by_name.get_or_init(|| {
            (0u32..)
                .zip(self.iter())
                .map(|(i, pod)| (&*pod.name, i))
                .collect()
        });
        by_name.get(name).map(|&i| i as usize)
    }

    /// Fills in each pod's request of a resource, in milli-units. Every pod of the list counts
    /// here, including ignored and pending ones; the first that lacks a request is an error.
    pub(super) fn fill_requests(
        &self,
        rows: &mut [PodRow],
        resource: &str,
        container: Option<&str>,
        rules: &Rules,
    ) -> Result<(), String> {
        let mut last: Option<(&Pod, i64)> = None;
        let mut filled = Ok(());
        for row in rows {
            let pod = &*self.all[row.pod as usize];
            let request = match last {
                Some((same, request)) if requests_the_same(pod, same) => Ok(request),
                _ if counts_as_whole(pod, container, rules) => {
                    pod_level_request(pod, resource, rules)
                }
                _ => container_requests(pod, resource, container, rules),
            };
            match request {
                Ok(request) => {
                    row.request = Some(request);
                    last = Some((pod, request));
                }
                // The controller ends here. The trace has the requests of the other pods, too.
                Err(error) => filled = filled.and(Err(error)),
            }
        }
        filled
    }
}

impl PodCounts {
    fn add(&mut self, group: Group) {
        *match group {
            Group::Ready => &mut self.ready,
            Group::Unready => &mut self.unready,
            Group::Missing => &mut self.missing,
            Group::Ignored => &mut self.ignored,
        } += 1;
    }
}

/// The number of further pods that are compared with a metric's pod name before it is looked up.
const LOOK_AHEAD: usize = 4;

/// The facts that decide whether a pod's CPU usage counts yet.
struct Readiness<'s> {
    controller: &'s Controller,
    now: Timestamp,
    /// Pods that started later are initializing; `None` if the time cannot be represented.
    started: Option<Timestamp>,
}

impl Readiness<'_> {
    /// Until when a pod that started at a time is initializing, if it is.
    fn initializing_until(&self, start: Timestamp) -> Option<Timestamp> {
        if self.started.is_some_and(|last| start <= last) {
            return None;
        }
        let until = start.plus(self.controller.cpu_initialization_period);
        (until > self.now).then_some(until)
    }
}

fn classify(
    pod: &Pod,
    sample: Option<&PodSample>,
    readiness: Option<&Readiness<'_>>,
    rules: &Rules,
) -> (Group, Clause, Option<Timestamp>) {
    if pod.deletion_timestamp.is_some() {
        return (Group::Ignored, Clause::Deleted, pod.deletion_timestamp);
    }
    if pod.phase == Phase::Failed {
        return (Group::Ignored, Clause::Failed, None);
    }
    if rules.ignores_succeeded && pod.phase == Phase::Succeeded {
        return (Group::Ignored, Clause::Succeeded, None);
    }
    if pod.phase == Phase::Pending {
        return (Group::Unready, Clause::Pending, None);
    }
    let Some(sample) = sample else {
        return (Group::Missing, Clause::NoMetric, None);
    };
    let Some(readiness) = readiness else {
        return (Group::Ready, Clause::Counted, None);
    };
    let (Some(ready), Some(start)) = (pod.ready, pod.start_time) else {
        return (Group::Unready, Clause::NoReadiness, None);
    };
    let not_ready = ready.status == ConditionStatus::False;
    let delay = readiness.controller.initial_readiness_delay;
    let never_ready = not_ready && start.plus(delay) > ready.last_transition_time;
    if let Some(initialized) = readiness.initializing_until(start) {
        // After the period, only a pod that was never ready stays unready.
        let until = (!never_ready).then_some(initialized);
        if not_ready {
            return (Group::Unready, Clause::InitializingNotReady, until);
        }
        let first_whole_window = ready.last_transition_time.plus(sample.window);
        if sample.timestamp < first_whole_window {
            return (Group::Unready, Clause::InitializingOldSample, until);
        }
    } else if never_ready {
        return (Group::Unready, Clause::NeverReady, None);
    }
    (Group::Ready, Clause::Counted, None)
}

/// Whether both have the same requests, because they share their containers and state none as a whole.
fn requests_the_same(one: &Pod, other: &Pod) -> bool {
    let states_none = |pod: &Pod| pod.requests.0.is_empty() && pod.overhead.0.is_empty();
    one.containers.is(&other.containers)
        && one.init_containers.is(&other.init_containers)
        && states_none(one)
        && states_none(other)
}

/// Whether the request of the whole pod counts instead of those of its containers, because the pod states one
/// (`IsPodLevelRequestsSet`).
pub(crate) fn counts_as_whole(pod: &Pod, container: Option<&str>, rules: &Rules) -> bool {
    rules.pod_level_requests
        && container.is_none()
        && pod
            .requests
            .0
            .iter()
            .any(|(name, _)| is_pod_level_resource(name))
}

/// Returns the request of the whole pod (`calculatePodLevelRequests` over `PodRequests`): the sum that its
/// containers need, during startup or later, overridden if the pod states it, plus the overhead.
fn pod_level_request(pod: &Pod, resource: &str, rules: &Rules) -> Result<i64, String> {
    let stated = pod
        .requests
        .get(resource)
        .filter(|_| is_pod_level_resource(resource));
    let mut request = match stated {
        Some(request) => Some(request.clone()),
        None => aggregate_request(pod, resource),
    };
    if let Some(overhead) = pod.overhead.get(resource).filter(|_| rules.overhead) {
        add_to(&mut request, overhead);
    }
    request.map(|request| request.milli_value()).ok_or_else(|| {
        format!(
            "missing pod-level request for {resource} in Pod {}",
            pod.name
        )
    })
}

/// Returns the containers whose requests count (`calculatePodRequestsFromContainers`): containers and
/// sidecars, or the one named container.
pub(crate) fn counted_containers<'p>(
    pod: &'p Pod,
    only: Option<&'p str>,
    rules: &Rules,
) -> impl Iterator<Item = &'p Container> {
    let counts_sidecars = rules.sidecars;
    let counts = move |container: &&Container| counts_sidecars && container.restart_always;
    let sidecars = pod.init_containers.iter().filter(counts);
    let is_meant = move |container: &&Container| only.is_none_or(|only| only == &*container.name);
    let most = only.map_or(usize::MAX, |_| 1);
    pod.containers
        .iter()
        .chain(sidecars)
        .filter(is_meant)
        .take(most)
}

fn container_requests(
    pod: &Pod,
    resource: &str,
    only: Option<&str>,
    rules: &Rules,
) -> Result<i64, String> {
    let mut sum = None;
    for container in counted_containers(pod, only, rules) {
        let Some(request) = container.requests.get(resource) else {
            if !rules.usage_words {
                return Err(format!("missing request for {resource}"));
            }
            return Err(format!(
                "missing request for {resource} in container {} of Pod {}",
                container.name, pod.name
            ));
        };
        sum = Some(sum.unwrap_or(0i64).wrapping_add(request.milli_value()));
    }
    match (sum, only) {
        (None, Some(only)) if rules.container_must_exist => {
            Err(format!("container {only} not found in Pod {}", pod.name))
        }
        _ => Ok(sum.unwrap_or(0)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::build::requesting;
    use crate::snapshot::controller::Controller;
    use crate::snapshot::shared::Share;

    fn rules() -> Rules {
        Rules::of(&Controller::new("v1.36".parse().unwrap()))
    }

    fn pod(spec: &Value) -> Pod {
        let metadata = json!({"name": "web-1", "labels": {"app": "web"}});
        let status = json!({"phase": "Running"});
        serde_json::from_value(json!({"metadata": metadata, "spec": spec, "status": status}))
            .unwrap()
    }

    fn sidecar(name: &str, cpu: &str) -> Value {
        let mut container = requesting(name, cpu);
        container["restartPolicy"] = "Always".into();
        container
    }

    /// `AggregateContainerRequests`: sidecars run next to the steps that follow them.
    #[test]
    fn a_pod_needs_as_much_as_its_largest_step() {
        for (steps, expected) in [
            (vec![], 100),
            (vec![requesting("a", "50m")], 100),
            (vec![requesting("a", "500m")], 500),
            (vec![requesting("a", "500m"), requesting("b", "200m")], 500),
            (vec![requesting("a", "200m"), requesting("b", "500m")], 500),
            (vec![sidecar("a", "50m")], 150),
            (vec![sidecar("a", "300m"), requesting("b", "200m")], 500),
            (vec![requesting("a", "200m"), sidecar("b", "300m")], 400),
        ] {
            let containers = [requesting("app", "100m")];
            let pod = pod(&json!({"containers": containers, "initContainers": steps}));
            let request = aggregate_request(&pod, "cpu").map(|it| it.milli_value());
            assert_eq!(request, Some(expected), "{steps:?}");
        }
    }

    #[test]
    fn steps_that_end_request_nothing() {
        let steps = [requesting("setup", "1"), sidecar("proxy", "1")];
        let pod = pod(&json!({"containers": [requesting("app", "1")], "initContainers": steps}));
        for (sidecars, only, expected) in [
            (true, None, &["app", "proxy"][..]),
            (false, None, &["app"]),
            (true, Some("proxy"), &["proxy"]),
            (true, Some("setup"), &[]),
        ] {
            let rules = Rules {
                sidecars,
                ..rules()
            };
            let names: Vec<&str> = counted_containers(&pod, only, &rules)
                .map(|it| &*it.name)
                .collect();
            assert_eq!(names, expected, "{sidecars} {only:?}");
        }
    }

    /// `IsSupportedPodLevelResource`.
    #[test]
    fn a_pod_counts_as_a_whole_if_it_states_a_request_that_pods_may_state() {
        for (resource, expected) in [
            ("cpu", true),
            ("memory", true),
            ("hugepages-2Mi", true),
            ("ephemeral-storage", false),
        ] {
            let pod = pod(&json!({"resources": {"requests": {resource: "1"}}}));
            let rules = Rules {
                pod_level_requests: true,
                ..rules()
            };
            assert_eq!(counts_as_whole(&pod, None, &rules), expected, "{resource}");
            assert!(!counts_as_whole(&pod, Some("app"), &rules), "{resource}");
        }
    }

    /// Whatever the order, and if they share what both have.
    #[test]
    fn each_pod_has_its_own_value_and_request() {
        let containers = json!([requesting("app", "100m")]);
        let plain = pod(&json!({"containers": containers}));
        let whole = json!({"containers": containers, "resources": {"requests": {"cpu": "1"}}});
        let mut whole = Pod {
            name: "web-2".into(),
            ..pod(&whole)
        };
        whole.share(&plain);
        let pods = [Shared::from(plain), Shared::from(whole)];
        let selected = Selected::new(&pods, &Selector::parse("app=web").unwrap());
        let now = Timestamp::UNIX_EPOCH;
        let sample = |value| PodSample {
            value,
            timestamp: now,
            window: SignedDuration::ZERO,
        };
        let samples = [("web-2", sample(2)), ("web-1", sample(1))].into_iter();
        let rules = Rules {
            pod_level_requests: true,
            ..rules()
        };
        let mut rows = selected
            .group(samples, "memory", &Controller::default(), &rules, now)
            .rows;
        selected
            .fill_requests(&mut rows, "cpu", None, &rules)
            .unwrap();
        let told: Vec<_> = rows.iter().map(|row| (row.value, row.request)).collect();
        assert_eq!(told, [(Some(1), Some(100)), (Some(2), Some(1000))]);
    }

    #[test]
    fn metrics_of_unknown_pods_are_counted_apart() {
        let pods = [Shared::from(pod(&json!({})))];
        let selected = Selected::new(&pods, &Selector::parse("app=web").unwrap());
        let now = Timestamp::UNIX_EPOCH;
        let sample = PodSample {
            value: 1,
            timestamp: now,
            window: SignedDuration::ZERO,
        };
        let samples = [("web-1", sample), ("web-2", sample)].into_iter();
        let grouped = selected.group(samples, "memory", &Controller::default(), &rules(), now);
        let counts = PodCounts {
            ready: 1,
            strangers: 1,
            ..PodCounts::default()
        };
        assert_eq!(grouped.counts, counts);
    }
}
