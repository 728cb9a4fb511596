//! The queries in PromQL: for the usage of the target's pods, for what the cluster did, and for what makes
//! both more exact. Pods are found by their owners, as kube-state-metrics reports them, and not by their
//! labels; series have the names of kube-state-metrics and cAdvisor.

use super::kinds::{KnownKind, kind, known_kind};
use super::promql::{SeriesSelector, fresh, literal, quote, rate, sum};
use super::scraped::Scraped;
use crate::snapshot::hpa::{Hpa, MetricSource, MetricSpec};
use crate::snapshot::load::LoadQuery;

/// The step for values that change slowly, in samples.
pub const SLOW: i64 = 20;

/// The cAdvisor series of a container's CPU seconds.
pub const CPU: &str = "container_cpu_usage_seconds_total";
/// The cAdvisor series of a container's memory usage.
pub const MEMORY: &str = "container_memory_working_set_bytes";

/// The desired replicas as the controller itself reports them (alpha, since 1.35). They are scraped from
/// the controller manager, whose namespace may hide the HPA's.
pub const CONTROLLER_DESIRED: &str = "horizontal_pod_autoscaler_controller_desired_replicas";

/// The kube-state-metrics series of pods that a pass uses.
const POD_SERIES: [&str; 11] = [
    "kube_pod_owner",
    "kube_pod_created",
    "kube_pod_start_time",
    "kube_pod_deletion_timestamp",
    "kube_pod_status_phase",
    "kube_pod_status_ready",
    "kube_pod_status_ready_time",
    "kube_pod_container_info",
    "kube_pod_container_resource_requests",
    "kube_pod_init_container_info",
    "kube_pod_init_container_resource_requests",
];

/// The maximum replicas of an HPA; each HPA has one such series.
pub const MAX_REPLICAS: &str = "kube_horizontalpodautoscaler_spec_max_replicas";

/// The seconds that a restart of kube-state-metrics may take.
const RESTART: i64 = 240;

/// The creation time of an HPA.
pub const HPA_CREATED: &str = "kube_horizontalpodautoscaler_created";

/// The kube-state-metrics series of an HPA.
const HPA_SERIES: [&str; 5] = [
    HPA_CREATED,
    "kube_horizontalpodautoscaler_spec_min_replicas",
    MAX_REPLICAS,
    "kube_horizontalpodautoscaler_spec_target_metric",
    "kube_horizontalpodautoscaler_status_desired_replicas",
];

/// The length of the part of a workload's name with which the names of its pods certainly begin.
const MOST_OF_NAME: usize = 40;

/// The purpose of a query's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// A metric, by its place.
    Metric(usize),
    /// The replicas that were requested of the target.
    Replicas,
    /// The pods that were ready.
    Ready,
    /// The replicas that the HPA desired.
    Desired,
    /// `minReplicas` of the HPA.
    MinReplicas,
    /// `maxReplicas` of the HPA.
    MaxReplicas,
    /// The targets of the HPA's metrics.
    Targets,
    /// The number of pods with an earlier template.
    Outdated,
    /// The creation time of the newest ReplicaSet.
    Template,
    /// The number of container restarts.
    Restarts,
    /// The number of the target's pods with a counter of CPU seconds but no rate.
    Unmeasured,
    /// The time that new pods took to become ready.
    Started,
    /// The time that their containers took to start.
    Measured,
    /// The average request of a pod for a metric, by the metric's place.
    Requests(usize),
    /// The share of the periods in which a limit throttled containers.
    Throttled,
}

/// Samples as they were scraped, for a past pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sampled {
    /// The pods, according to kube-state-metrics.
    Pods,
    /// The usage of containers.
    Usage,
    /// The replicas of the target.
    Target,
    /// The HPA.
    Hpa,
    /// The desired replicas as the controller itself reports them.
    Controller,
}

/// A query, with its purpose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The purpose of the answer.
    pub purpose: Purpose,
    /// The query, with the purpose in words.
    pub asked: LoadQuery,
}

impl Question {
    /// Whether a load is as good without the answer. A subquery over all containers may be more than a server computes.
    pub fn is_optional(&self) -> bool {
        self.purpose == Purpose::Measured
    }

    /// Whether one value for many samples is enough.
    pub fn is_slow(&self) -> bool {
        matches!(
            self.purpose,
            Purpose::Started
                | Purpose::Measured
                | Purpose::Unmeasured
                | Purpose::Requests(_)
                | Purpose::Throttled
        )
    }
}

/// The target whose load is requested.
#[derive(Debug, Clone)]
pub struct LoadRequest<'a> {
    /// The HPA.
    pub hpa: &'a Hpa,
    /// The metrics of the HPA and its candidates.
    pub metrics: &'a [MetricSpec],
    /// Queries that take precedence over the program's.
    pub stated: &'a [(Purpose, String)],
    /// The ReplicaSets that the target has had. A join with their owners at every time would cause most of the
    /// server's work.
    pub replica_sets: &'a [String],
    /// A matcher that all series must match, such as `cluster="eu"`; empty for none.
    pub matching: &'a str,
}

impl LoadRequest<'_> {
    /// Returns the queries for the maximum number of scrapes in ten minutes of a span, of the containers and of
    /// the HPA.
    pub fn scrapes(&self, seconds: i64) -> [LoadQuery; 2] {
        [
            ("usage", self.containers(CPU, None)),
            ("kube-state-metrics", self.of_hpa(MAX_REPLICAS)),
        ]
        .map(|(of, series)| {
            LoadQuery::new(
                format!("the time between scrapes of {of}"),
                format!("max_over_time(max(count_over_time({series}[10m]))[{seconds}s:10m])"),
            )
        })
    }

    /// Returns the query for the HPA's series in a span; there should be one.
    pub fn copies(&self, seconds: i64) -> LoadQuery {
        let hpa = self.of_hpa(MAX_REPLICAS);
        LoadQuery::new(
            "copies of the HPA",
            format!("last_over_time({hpa}[{seconds}s])"),
        )
    }

    /// Returns the query for whether any pod of the namespace has series in a span.
    pub fn any(&self, seconds: i64) -> LoadQuery {
        let namespace = [("namespace", &*self.hpa.namespace)];
        let names = format!("kube_pod_owner|{CPU}");
        let series = self.series("", &namespace).like("__name__", &names);
        LoadQuery::new(
            "any series of the namespace",
            format!("count(present_over_time({series}[{seconds}s]))"),
        )
    }

    /// Returns the query for the target's ReplicaSets in the last `seconds`, by the label `replicaset`; `None`
    /// if the target owns its pods directly.
    pub fn owned(&self, seconds: i64) -> Option<LoadQuery> {
        if self.target_kind().is_some_and(|own| !own.has_replica_sets) {
            return None;
        }
        let target = &self.hpa.spec.scale_target_ref;
        let labels = [
            ("namespace", &*self.hpa.namespace),
            ("owner_kind", kind(target)),
            ("owner_name", &target.name),
        ];
        let sets = self.series("kube_replicaset_owner", &labels);
        Some(LoadQuery::new(
            "the ReplicaSets of the target",
            format!("max by (replicaset) (present_over_time({sets}[{seconds}s]))"),
        ))
    }

    /// Returns the queries for the samples of the last `seconds`.
    pub fn samples(&self, seconds: i64) -> Vec<(Sampled, LoadQuery)> {
        let of = |of, series: SeriesSelector| LoadQuery::new(of, format!("{series}[{seconds}s]"));
        // For each condition and phase, the most informative series.
        let pods = self
            .of_pods("", &[])
            .like("condition", "|true")
            .like("phase", "|Pending|Running|Failed")
            .like("resource", "|cpu|memory")
            .like("__name__", &POD_SERIES.join("|"));
        let usage = self.containers("", None);
        let usages = usage.like("__name__", &format!("{CPU}|{MEMORY}"));
        let Hpa { name, .. } = self.hpa;
        let controller = self.series(CONTROLLER_DESIRED, &[("hpa_name", name)]);
        let hpa = self.of_hpa("").like("__name__", &HPA_SERIES.join("|"));
        let mut samples = vec![
            (Sampled::Pods, of("the pods", pods)),
            (Sampled::Usage, of("usage", usages)),
            (Sampled::Hpa, of("the HPA", hpa)),
            (Sampled::Controller, of("the controller", controller)),
        ];
        if let Some(own) = self.target_kind() {
            let names = format!("{}|{}", own.desired, own.status);
            let target = self.of_target("").like("__name__", &names);
            samples.push((Sampled::Target, of("replicas", target)));
        }
        samples
    }

    /// Returns a question, with the query on the command line for it, if there is one; `None` without any query.
    fn question(&self, purpose: Purpose, of: String, query: Option<String>) -> Option<Question> {
        let stated = self.stated.iter().find(|(own, _)| *own == purpose);
        let query = stated.map(|(_, stated)| stated.clone()).or(query)?;
        Some(Question {
            purpose,
            asked: LoadQuery { of, query },
        })
    }

    /// Returns all queries of a load, with samples `step` seconds apart.
    pub fn questions(&self, scraped: Scraped, step: i64) -> Vec<Question> {
        let state = scraped.state_window();
        let recently = 2 * SLOW * step;
        let latest = |name: &str| fresh(&self.of_hpa(name), state);
        let min = latest("kube_horizontalpodautoscaler_spec_min_replicas");
        let max = latest(MAX_REPLICAS);
        let targets = latest("kube_horizontalpodautoscaler_spec_target_metric");
        let (desired, ready) = self.record(state);
        let once = [
            (Purpose::Replicas, "replicas", Some(desired)),
            (Purpose::Ready, "ready", Some(ready)),
            (
                Purpose::Desired,
                "replicas by hand",
                Some(self.desired(state)),
            ),
            (
                Purpose::MinReplicas,
                "minReplicas",
                Some(format!("max({min})")),
            ),
            (
                Purpose::MaxReplicas,
                "maxReplicas",
                Some(format!("max({max})")),
            ),
            (
                Purpose::Targets,
                "targets",
                Some(format!(
                    "max by (metric_name, metric_target_type) ({targets})"
                )),
            ),
            (Purpose::Outdated, "rollouts", self.outdated()),
            (Purpose::Template, "new templates", self.newest_template()),
            (
                Purpose::Restarts,
                "restarts",
                Some(self.restarts(state.max(step))),
            ),
            (
                Purpose::Started,
                "how long pods take to become ready",
                Some(self.time_to_ready(recently)),
            ),
            (
                Purpose::Unmeasured,
                "pods without a rate",
                self.unmeasured(scraped),
            ),
            (
                Purpose::Measured,
                "how long containers take to start",
                self.time_to_start(scraped, recently),
            ),
        ];
        let mut questions = Vec::new();
        for (place, spec) in self.metrics.iter().enumerate() {
            let (of, query) = (spec.flag_name(self.metrics), self.usage(spec, scraped));
            questions.extend(self.question(Purpose::Metric(place), of, query));
        }
        for (purpose, of, query) in once {
            questions.extend(self.question(purpose, of.to_owned(), query));
        }
        for (place, spec) in self.metrics.iter().enumerate() {
            let of = format!("requests: {}", spec.flag_name(self.metrics));
            questions.extend(self.question(Purpose::Requests(place), of, self.request(spec)));
        }
        let throttled = self.throttled(scraped);
        questions.extend(self.question(Purpose::Throttled, "throttling".to_owned(), throttled));
        questions
    }

    /// Returns the query for the replicas that the HPA desired.
    fn desired(&self, state: i64) -> String {
        let Hpa {
            name, namespace, ..
        } = self.hpa;
        // The controller's own value is scraped where its target's namespace may hide the HPA's.
        let own = ["exported_namespace", "namespace"].map(|label| {
            let series = self.series(
                CONTROLLER_DESIRED,
                &[(label, namespace), ("hpa_name", name)],
            );
            format!("max({})", fresh(&series, state))
        });
        // Only kube-state-metrics has it from the scrape that has the replicas, with which it is compared.
        let of_hpa = self.of_hpa("kube_horizontalpodautoscaler_status_desired_replicas");
        let desired = fresh(&of_hpa, state);
        format!("max({desired}) or {} or {}", own[0], own[1])
    }

    /// Returns the query for the number of pods with an earlier template, if the target's kind states it.
    fn outdated(&self) -> Option<String> {
        let kind = self.target_kind()?;
        let [status, updated] = [kind.status, kind.updated?].map(|name| self.of_target(name));
        Some(format!("max({status}) - max({updated})"))
    }

    /// Returns the query for the creation time of a Deployment's newest ReplicaSet.
    fn newest_template(&self) -> Option<String> {
        self.target_kind().filter(|own| own.has_replica_sets)?;
        let namespace = [("namespace", &*self.hpa.namespace)];
        let of_all = self.series("kube_replicaset_created", &namespace);
        let created = of_all.like("replicaset", &self.replica_sets());
        Some(format!("max({created})"))
    }

    /// Returns the query for the number of restarts within `span` seconds.
    fn restarts(&self, span: i64) -> String {
        let restarts = self.of_pods("kube_pod_container_status_restarts_total", &[]);
        self.total(&format!("changes({restarts}[{span}s])"))
    }

    /// Returns the query for the time that the pods of the last `recently` seconds took to become ready.
    fn time_to_ready(&self, recently: i64) -> String {
        let ready = self.of_pods("kube_pod_status_ready_time", &[]);
        let took = format!(
            "max by (namespace, pod) ({ready}) - on (namespace, pod) {}",
            self.created()
        );
        self.of_new_pods(&took, recently)
    }

    /// Returns the query for when the pods were created.
    fn created(&self) -> String {
        let created = self.of_pods("kube_pod_created", &[]);
        format!("max by (namespace, pod) ({created})")
    }

    /// Returns the query for values of the pods of the last `recently` seconds, by the time at which each was created: a
    /// StatefulSet gives a new pod the name of an earlier one.
    fn of_new_pods(&self, each: &str, recently: i64) -> String {
        let (created, pods) = (self.created(), self.pods());
        format!(
            "count_values by (namespace, pod) (\"created\", {created} > time() - {recently}) * on \
             (namespace, pod) group_left () ({each}) and on (namespace, pod) {pods}"
        )
    }

    /// Whether a metric is the CPU usage of pods or of a container.
    fn has_cpu(&self) -> bool {
        let mut metrics = self.metrics.iter();
        metrics.any(|spec| spec.is_resource() && spec.name() == "cpu")
    }

    /// Returns the query for the number of pods with a counter of CPU seconds but no rate.
    fn unmeasured(&self, scraped: Scraped) -> Option<String> {
        let cpu = self.containers(CPU, None);
        let (rate, reach, pods) = (rate(&cpu, scraped), scraped.reach(), self.pods());
        self.has_cpu().then(|| {
            format!(
                "count(count by (namespace, pod) (present_over_time({cpu}[{reach}s] offset {reach}s)) \
                 unless on (namespace, pod) {rate} and on (namespace, pod) {pods})"
            )
        })
    }

    /// Returns the query for the time that the containers of the last `recently` seconds took to start.
    fn time_to_start(&self, scraped: Scraped, recently: i64) -> Option<String> {
        let scrape = scraped.usage.filter(|_| self.has_cpu())?;
        // On average, half a scrape interval passes between its start and its first sample.
        let start = scrape as f64 / 2.0;
        let (cpu, created) = (self.containers(CPU, None), self.created());
        let took = format!(
            "clamp_min(min by (namespace, pod) (min_over_time(timestamp({cpu})[{recently}s:{scrape}s]) > \
             on (namespace, pod) group_left () ({created} - {scrape})) - on (namespace, pod) {created} - \
             {start}, 0)"
        );
        Some(self.of_new_pods(&took, recently))
    }

    /// Returns the query for the average request of a pod, if the target of a metric is a share of it.
    fn request(&self, spec: &MetricSpec) -> Option<String> {
        let target = spec.target().filter(|_| spec.is_resource())?;
        target.average_utilization?;
        let of_container = spec.container().map(|name| ("container", name));
        let labels: Vec<(&str, &str)> = [("resource", spec.name())]
            .into_iter()
            .chain(of_container)
            .collect();
        let requests = self.of_pods("kube_pod_container_resource_requests", &labels);
        // Sidecars, which are init containers that keep running, have requests like other containers.
        let init = self.of_pods("kube_pod_init_container_resource_requests", &labels);
        let info = self.of_pods(
            "kube_pod_init_container_info",
            &[("restart_policy", "Always")],
        );
        let all = self.total(&format!(
            "({requests} or {init} and on (namespace, pod, container) {info})"
        ));
        let pods = self.pods();
        Some(format!("{all} / count(count by (namespace, pod) ({pods}))"))
    }

    /// Returns the query for the share of periods in which a limit throttled containers.
    fn throttled(&self, scraped: Scraped) -> Option<String> {
        let periods = |name: &str| self.total(&rate(&self.containers(name, None), scraped));
        let throttled = periods("container_cpu_cfs_throttled_periods_total");
        let all = periods("container_cpu_cfs_periods_total");
        self.has_cpu().then(|| format!("{throttled} / {all}"))
    }

    /// Returns the query for the pods' total usage; `None` for a metric that neither cAdvisor nor
    /// kube-state-metrics has.
    fn usage(&self, spec: &MetricSpec, scraped: Scraped) -> Option<String> {
        let container = match spec.source() {
            MetricSource::Resource(_) => None,
            MetricSource::ContainerResource(source) => Some(&*source.container),
            _ => return None,
        };
        let each = match spec.name() {
            "cpu" => rate(&self.containers(CPU, container), scraped),
            "memory" => fresh(&self.containers(MEMORY, container), scraped.reach()),
            _ => return None,
        };
        Some(self.total_over_restarts(&each, scraped.state_window()))
    }

    /// Returns the query for the sum over the containers of the target's pods. A series that two servers scrape
    /// counts once.
    fn total(&self, each: &str) -> String {
        sum(each, &self.pods())
    }

    /// Returns the query for the same sum that also works while kube-state-metrics restarts: it then has no
    /// pods at all, and the last known ones are taken as the target's. Otherwise, the current ones are.
    fn total_over_restarts(&self, each: &str, window: i64) -> String {
        let known = self.pods_as(|owned| format!("last_over_time({owned}[{RESTART}s])"));
        let now = fresh(&self.of_pods("kube_pod_owner", &[]), window);
        let pods = format!(
            "({known} and on (namespace, pod) {now} or {known} unless on (namespace) {now})"
        );
        sum(each, &pods)
    }

    /// Returns the queries for the replicas that were requested of the target, and for the ready pods.
    fn record(&self, window: i64) -> (String, String) {
        let Some(KnownKind { desired, ready, .. }) = self.target_kind() else {
            let desired = self.of_hpa("kube_horizontalpodautoscaler_status_desired_replicas");
            let ready = self.of_pods("kube_pod_status_ready", &[("condition", "true")]);
            let (ready, pods) = (fresh(&ready, window), self.pods());
            return (
                format!("max({})", fresh(&desired, window)),
                format!("sum(max by (namespace, pod) ({ready}) and on (namespace, pod) {pods})"),
            );
        };
        let latest = |name| format!("max({})", fresh(&self.of_target(name), window));
        (latest(desired), latest(ready))
    }

    /// Returns the target's kind, if it is built in.
    fn target_kind(&self) -> Option<&'static KnownKind> {
        known_kind(&self.hpa.spec.scale_target_ref)
    }

    /// Returns the series with these labels.
    fn series(&self, name: &str, labels: &[(&str, &str)]) -> SeriesSelector {
        let labels = labels
            .iter()
            .map(|(label, value)| format!("{label}={}", quote(value)));
        let matching = Some(self.matching).filter(|text| !text.is_empty());
        SeriesSelector {
            name: name.to_owned(),
            matchers: labels.chain(matching.map(str::to_owned)).collect(),
        }
    }

    /// Returns the series about the HPA.
    fn of_hpa(&self, name: &str) -> SeriesSelector {
        let Hpa {
            namespace,
            name: hpa,
            ..
        } = self.hpa;
        self.series(
            name,
            &[("namespace", namespace), ("horizontalpodautoscaler", hpa)],
        )
    }

    /// Returns the series about a target of a built-in kind.
    fn of_target(&self, name: &str) -> SeriesSelector {
        let target = &self.hpa.spec.scale_target_ref;
        let label = target.kind.to_lowercase();
        self.series(
            name,
            &[("namespace", &self.hpa.namespace), (&label, &target.name)],
        )
    }

    /// Returns the query for series about pods whose names begin like those of the target's pods. Only their
    /// owners show which of them are the target's.
    fn of_pods(&self, name: &str, labels: &[(&str, &str)]) -> SeriesSelector {
        let mut all = vec![("namespace", &*self.hpa.namespace)];
        all.extend_from_slice(labels);
        let series = self.series(name, &all);
        if self.target_kind().is_none() {
            return series;
        }
        let target = &self.hpa.spec.scale_target_ref;
        // Pod names contain only the start of a long name.
        let pattern = match target.name.char_indices().nth(MOST_OF_NAME) {
            Some((end, _)) => format!("{}.*", literal(&target.name[..end])),
            None => format!("{}-.*", literal(&target.name)),
        };
        series.like("pod", &pattern)
    }

    /// Returns the query for series of containers, without the sums over pods and the container that holds the
    /// network.
    fn containers(&self, name: &str, container: Option<&str>) -> SeriesSelector {
        match container {
            Some(container) => self.of_pods(name, &[("container", container)]),
            None => {
                let series = self.of_pods(name, &[]);
                series.and(r#"container!="",container!="POD""#.to_owned())
            }
        }
    }

    /// Returns the series of the target's pods, found by their owners.
    fn pods(&self) -> String {
        self.pods_as(|owned| owned.to_string())
    }

    /// Returns the same series with a function applied to each.
    fn pods_as(&self, of: impl Fn(SeriesSelector) -> String) -> String {
        match self.target_kind() {
            Some(own) if own.has_replica_sets => of(self.pods_of_replica_sets()),
            Some(_) => of(self.pods_of_target()),
            None => format!(
                "({} or {})",
                of(self.pods_of_target()),
                of(self.pods_of_replica_sets())
            ),
        }
    }

    fn pods_of_target(&self) -> SeriesSelector {
        let target = &self.hpa.spec.scale_target_ref;
        self.of_pods(
            "kube_pod_owner",
            &[("owner_kind", kind(target)), ("owner_name", &target.name)],
        )
    }

    fn pods_of_replica_sets(&self) -> SeriesSelector {
        let owned = self.of_pods("kube_pod_owner", &[("owner_kind", "ReplicaSet")]);
        owned.like("owner_name", &self.replica_sets())
    }

    /// Returns a regular expression for the ReplicaSets of the target. If there are many, their common prefix
    /// is stated once, because servers and proxies limit the length of a query; a plain list is faster for
    /// servers to match.
    fn replica_sets(&self) -> String {
        const MANY: usize = 50;
        let sets = self.replica_sets;
        let begin_with = |start: &str| sets.iter().all(|name| name.starts_with(start));
        let shared = sets
            .first()
            .into_iter()
            .flat_map(|first| first.char_indices().rev().map(|(end, _)| &first[..end]))
            .filter(|_| sets.len() > MANY)
            .find(|start| begin_with(start))
            .unwrap_or_default();
        let names: Vec<String> = sets
            .iter()
            .map(|name| literal(&name[shared.len()..]))
            .collect();
        match shared {
            "" => names.join("|"),
            shared => format!("{}({})", literal(shared), names.join("|")),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{LoadQuery, LoadRequest, Purpose, Question};
    use crate::build;
    use crate::prometheus::kinds::owns;
    use crate::prometheus::promql::{literal, quote};
    use crate::prometheus::scraped::Scraped;
    use crate::snapshot::hpa::Hpa;

    fn hpa(api_version: &str, kind: &str, name: &str) -> Hpa {
        let target = json!({"apiVersion": api_version, "kind": kind, "name": name});
        let metrics = json!([
            build::resource("cpu", &build::utilization(50)),
            build::resource_of("memory", "app", &build::average("100Mi")),
            {"type": "External", "external": {
                "metric": {"name": "queue_depth", "selector": {"matchLabels": {"queue": "a\"b"}}},
                "target": {"type": "AverageValue", "averageValue": "30"}}},
        ]);
        let mut spec = json!({"maxReplicas": 9});
        spec["scaleTargetRef"] = target;
        spec["metrics"] = metrics;
        Hpa::of(&spec, json!({}))
    }

    fn asked(hpa: &Hpa, stated: &[(Purpose, String)]) -> Vec<Question> {
        let sets = ["web-5d".to_owned(), "web-7f".to_owned()];
        let metrics = &hpa.spec.metrics;
        let wanted = LoadRequest {
            hpa,
            metrics,
            stated,
            replica_sets: &sets,
            matching: "",
        };
        wanted.questions(
            Scraped {
                usage: Some(15),
                state: Some(30),
            },
            60,
        )
    }

    fn query(all: &[Question], purpose: Purpose) -> Option<&str> {
        all.iter()
            .find(|own| own.purpose == purpose)
            .map(|own| &*own.asked.query)
    }

    #[test]
    fn pods_are_found_by_their_owners() {
        let own = hpa("apps/v1", "Deployment", "web");
        let all = asked(&own, &[]);
        let series = "container_cpu_usage_seconds_total{namespace=\"default\",pod=~\"web-.*\",\
                      container!=\"\",container!=\"POD\"}";
        let range = format!("{series}[115s]");
        let rate = format!(
            "(irate({range}) and idelta({range}) >= 0 or irate({range} offset 65s) and idelta({range}) < 0)"
        );
        let any = "kube_pod_owner{namespace=\"default\",pod=~\"web-.*\"}";
        let now = format!("({any} and present_over_time({any}[60s]))");
        let known = "last_over_time(kube_pod_owner{namespace=\"default\",owner_kind=\"ReplicaSet\",\
                     pod=~\"web-.*\",owner_name=~\"web-5d|web-7f\"}[240s])";
        let cpu = format!(
            "sum(max by (namespace, pod, container) ({rate}) and on (namespace, pod) ({known} and on \
             (namespace, pod) {now} or {known} unless on (namespace) {now}))"
        );
        assert_eq!(query(&all, Purpose::Metric(0)), Some(&*cpu));
        let memory = query(&all, Purpose::Metric(1)).unwrap();
        assert!(
            memory.contains("present_over_time(container_memory_working_set_bytes{"),
            "{memory}"
        );
        assert!(memory.contains("container=\"app\""), "{memory}");
        // Nothing but its owner knows where an external metric is from.
        assert_eq!(query(&all, Purpose::Metric(2)), None);
        assert!(
            query(&all, Purpose::Template).is_some() && query(&all, Purpose::Requests(1)).is_none()
        );

        let stateful = hpa("apps/v1", "StatefulSet", "db.main");
        let all = asked(&stateful, &[]);
        let cpu = query(&all, Purpose::Metric(0)).unwrap();
        assert!(
            cpu.contains(r#"owner_kind="StatefulSet",owner_name="db.main",pod=~"db\\.main-.*""#),
            "{cpu}"
        );
        let replicas = query(&all, Purpose::Replicas).unwrap();
        assert!(
            replicas.contains(
                r#"kube_statefulset_replicas{namespace="default",statefulset="db.main"}"#
            )
        );
        assert_eq!(query(&all, Purpose::Template), None);

        let many: Vec<String> = (0..51).map(|n| format!("web.eu-{n:02}")).collect();
        let metrics = &own.spec.metrics;
        let wanted = LoadRequest {
            hpa: &own,
            metrics,
            stated: &[],
            replica_sets: &many,
            matching: "",
        };
        let all = wanted.questions(Scraped::default(), 60);
        let cpu = query(&all, Purpose::Metric(0)).unwrap();
        assert!(cpu.contains(r#"owner_name=~"web\\.eu-(00|01|02|"#) && cpu.contains("|49|50)\""));

        // VictoriaMetrics takes 16 KiB.
        let many: Vec<String> = (0..600).map(|n| format!("web-{:010}", n * 7919)).collect();
        let all = LoadRequest {
            replica_sets: &many,
            ..wanted
        }
        .questions(Scraped::default(), 60);
        assert!(all.iter().all(|own| own.asked.query.len() < 16 * 1024));

        let rollout = hpa("argoproj.io/v1alpha1", "Rollout", "web");
        let all = asked(&rollout, &[]);
        let cpu = query(&all, Purpose::Metric(0)).unwrap();
        assert!(
            cpu.contains(r#"owner_kind="Rollout",owner_name="web"}[240s]) or last_over_time("#),
            "{cpu}"
        );
        let replicas = query(&all, Purpose::Replicas).unwrap();
        assert!(replicas.contains("kube_horizontalpodautoscaler_status_desired_replicas{"));
    }

    /// The controller takes it.
    #[test]
    fn a_built_in_kind_may_be_in_lower_case() {
        for (version, kind) in [
            ("apps/v1", "Deployment"),
            ("apps/v1", "StatefulSet"),
            ("apps/v1", "ReplicaSet"),
            ("v1", "ReplicationController"),
        ] {
            let both = [kind.to_owned(), kind.to_lowercase()];
            let [proper, lower] = both.map(|kind| hpa(version, &kind, "web"));
            assert_eq!(asked(&lower, &[]), asked(&proper, &[]), "{kind}");
            let target = &lower.spec.scale_target_ref;
            assert_eq!(owns(target, &[], kind, "web"), kind != "Deployment");
        }
    }

    #[test]
    fn pods_of_a_name_take_as_long_to_start_as_their_first_sample_says() {
        let all = asked(&hpa("apps/v1", "StatefulSet", "db"), &[]);
        let created =
            r#"max by (namespace, pod) (kube_pod_created{namespace="default",pod=~"db-.*"})"#;
        let by_creation = format!(
            "count_values by (namespace, pod) (\"created\", {created} > time() - 2400) * on (namespace, pod) \
             group_left () ("
        );
        for purpose in [Purpose::Started, Purpose::Measured] {
            let query = query(&all, purpose).unwrap();
            assert!(query.starts_with(&by_creation), "{query}");
            assert_eq!(query.matches("time()").count(), 1, "{query}");
        }
        // Lost scrapes after it do not count, nor do the samples of an earlier pod.
        let measured = query(&all, Purpose::Measured).unwrap();
        let first = "min_over_time(timestamp(container_cpu_usage_seconds_total{";
        let of_pod =
            format!("[2400s:15s]) > on (namespace, pod) group_left () ({created} - 15)) - on");
        assert!(
            measured.contains(first) && measured.contains(&of_pod),
            "{measured}"
        );
    }

    #[test]
    fn a_name_that_pods_have_only_a_part_of_is_cut() {
        let name = "a".repeat(60);
        let own = hpa("apps/v1", "Deployment", &name);
        let all = asked(&own, &[]);
        let cpu = query(&all, Purpose::Metric(0)).unwrap();
        assert!(
            cpu.contains(&format!("pod=~\"{}.*\"", "a".repeat(40))),
            "{cpu}"
        );
    }

    #[test]
    fn a_stated_query_replaces_any() {
        let own = hpa("apps/v1", "Deployment", "web");
        let text = |text: &str| text.to_owned();
        let stated = [
            (Purpose::Metric(0), text("x")),
            (Purpose::Metric(2), text("y")),
            (Purpose::Ready, text("z")),
        ];
        let all = asked(&own, &stated);
        for (purpose, want) in [
            (Purpose::Metric(0), "x"),
            (Purpose::Metric(2), "y"),
            (Purpose::Ready, "z"),
        ] {
            assert_eq!(query(&all, purpose), Some(want));
        }
        let titles: Vec<String> = own
            .spec
            .metrics
            .iter()
            .map(|it| it.flag_name(&[]))
            .collect();
        assert_eq!(titles[..2], ["cpu", "app=memory"]);
    }

    #[test]
    fn containers_that_stay_and_the_controllers_own_word_in_the_end_are_asked_for() {
        let own = hpa("apps/v1", "Deployment", "web");
        let all = asked(&own, &[]);
        let requests = query(&all, Purpose::Requests(0)).unwrap();
        assert!(
            requests.contains("kube_pod_init_container_resource_requests{")
                && requests.contains(
                    r#"kube_pod_init_container_info{namespace="default",restart_policy="Always""#
                ),
            "{requests}"
        );
        let desired = query(&all, Purpose::Desired).unwrap();
        let own_word = r#" or max((horizontal_pod_autoscaler_controller_desired_replicas{exported_namespace="default",hpa_name="#;
        let start = desired.split(own_word).next().unwrap();
        assert!(
            start.starts_with("max((kube_horizontalpodautoscaler_status_desired_replicas{")
                && start != desired,
            "{desired}"
        );
    }

    #[test]
    fn a_matcher_applies_to_every_series() {
        let own = hpa("apps/v1", "Deployment", "web");
        let sets = ["web-5d".to_owned()];
        let metrics = &own.spec.metrics;
        let matching = r#"cluster="eu""#;
        let wanted = LoadRequest {
            hpa: &own,
            metrics,
            stated: &[],
            replica_sets: &sets,
            matching,
        };
        let questions = wanted
            .questions(Scraped::default(), 60)
            .into_iter()
            .map(|own| own.asked.query);
        let samples = wanted.samples(600).into_iter().map(|(_, own)| own.query);
        let [one, other] = wanted.scrapes(600);
        let more = [
            one,
            other,
            wanted.copies(600),
            wanted.owned(600).unwrap(),
            wanted.any(600),
        ];
        let first = more.map(|own| own.query);
        for query in questions.chain(samples).chain(first) {
            assert_eq!(
                query.matches('{').count(),
                query.matches(matching).count(),
                "{query}"
            );
        }
    }

    #[test]
    fn values_cannot_end_a_string() {
        assert_eq!(quote("a\"b\\c\nd"), r#""a\"b\\c\nd""#);
        assert_eq!(literal("a.b"), r"a\.b");
        let odd = hpa("apps/v1", "StatefulSet", "x\"} or vector(1) #");
        for question in asked(&odd, &[]) {
            let LoadQuery { query, .. } = question.asked;
            assert!(!query.contains("x\"}"), "{query}");
        }
    }
}
