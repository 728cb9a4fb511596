//! The queries to Prometheus for the load of an HPA: which metrics, which typed queries, and whether the state has the
//! pods that share the answer.

use crate::apimachinery::names::shell_word;
use crate::error::Error;
use crate::keda;
use crate::prometheus::queries::Purpose;
use crate::snapshot::Snapshot;
use crate::snapshot::hpa::MetricSpec;
use crate::snapshot::input::Input;
use crate::snapshot::pod::Container;
use crate::whatif::overrides::NamedMetric;

/// Returns the metrics of the HPA, and the additional metrics of candidates; of several that are based on the same
/// usage, the first.
pub(crate) fn metrics(snapshot: &Snapshot, also: &[MetricSpec]) -> Vec<MetricSpec> {
    let mut metrics: Vec<MetricSpec> = Vec::new();
    for spec in snapshot.hpa.spec.metrics.iter().chain(also) {
        if metrics
            .iter()
            .all(|other| other.id() != spec.id() && !spec.shares_usage(other))
        {
            metrics.push(spec.clone());
        }
    }
    metrics
}

/// Returns each typed query with its metric, whose name ends at the first `=` that leaves a valid name, and KEDA's own
/// queries for the other metrics of its HPA.
///
/// # Errors
///
/// A text is not of the form METRIC=PROMQL, names no metric, or names one twice.
pub(crate) fn stated(
    queries: &[String],
    input: &Input,
    metrics: &[MetricSpec],
) -> Result<Vec<(Purpose, String)>, Error> {
    let snapshot = &input.snapshot;
    let mut stated: Vec<(Purpose, String)> = Vec::new();
    for text in queries {
        let form = || Error::usage(format!("--query {text}: not of the form METRIC=PROMQL"));
        let mut failed = None;
        let ends = text.match_indices('=').map(|(at, _)| at);
        let found = ends.take(MOST_ENDS).find_map(|at| {
            let (name, query) = (&text[..at], text[at + 1..].trim());
            let purpose = match name {
                "replicas" => Ok(Purpose::Replicas),
                "ready" => Ok(Purpose::Ready),
                name => NamedMetric::read(name, "--query")
                    .and_then(|named| named.places_in(metrics))
                    .map(|places| Purpose::Metric(places[0])),
            };
            match purpose {
                Ok(purpose) => Some((purpose, query)),
                Err(e) => {
                    failed.get_or_insert(e);
                    None
                }
            }
        });
        let (purpose, query) = found.ok_or_else(|| match failed {
            Some(e) => e.within(format_args!("--query {text}")),
            None => form(),
        })?;
        if query.is_empty() {
            return Err(form().hint("PROMQL is such as sum(rabbitmq_queue_messages)"));
        }
        if stated.iter().any(|(own, _)| *own == purpose) {
            return Err(Error::usage(format!(
                "--query {text}: there is another query for it"
            )));
        }
        stated.push((purpose, query.to_owned()));
    }
    // KEDA's own queries are known.
    let owner = snapshot.hpa.scaled_object();
    let object = owner.and_then(|owner| {
        let mut objects = input.surroundings.scaled_objects.iter();
        objects.find(|object| object.metadata.name == owner.name)
    });
    for (place, spec) in metrics.iter().enumerate() {
        let purpose = Purpose::Metric(place);
        let query = object.and_then(|object| keda::prometheus_query(object, spec));
        if let Some(query) = query.filter(|_| stated.iter().all(|(own, _)| *own != purpose)) {
            stated.push((purpose, query.to_owned()));
        }
    }
    Ok(stated)
}

/// The number of `=` that are tried as the end of a name; more than a container and a selector need.
const MOST_ENDS: usize = 16;

/// Checks that a metric has a query; if none has one, no request is needed to say so.
pub(crate) fn check_asked(
    metrics: &[MetricSpec],
    stated: &[(Purpose, String)],
) -> Result<(), Error> {
    let has_default =
        |spec: &MetricSpec| spec.is_resource() && ["cpu", "memory"].contains(&spec.name());
    let is_metric = |(purpose, _): &(Purpose, String)| matches!(purpose, Purpose::Metric(_));
    match metrics.first() {
        Some(first) if !metrics.iter().any(has_default) && !stated.iter().any(is_metric) => {
            let name = first.flag_name(metrics);
            Err(Error::usage(format!(
                "neither cAdvisor nor kube-state-metrics has {name}"
            ))
            .hint(format!(
                "--query '{name}=PROMQL' gives its total, such as sum(...)"
            )))
        }
        _ => Ok(()),
    }
}

/// Checks that there are pods to share the load of a resource, if the input lacks their usage.
pub(crate) fn check_pods(snapshot: &Snapshot) -> Result<(), Error> {
    let mut read = snapshot.hpa.spec.metrics.iter().zip(&snapshot.metrics);
    let lacks_usage = read.any(|(spec, answer)| spec.is_resource() && answer.is_missing());
    let Some(scale) = snapshot
        .scale
        .as_ref()
        .ok()
        .filter(|scale| scale.spec_replicas > 0)
    else {
        return Ok(());
    };
    if !lacks_usage || !snapshot.pods.is_empty() {
        return Ok(());
    }
    let (target, namespace) = (&snapshot.hpa.spec.scale_target_ref, &snapshot.hpa.namespace);
    let message = format!("the input has no pods of {}/{}", target.kind, target.name);
    let hint = format!(
        "the load is shared among them; add what this prints with another -f: kubectl get pods -n \
         {namespace} -l {} -o yaml",
        shell_word(scale.selector.as_str())
    );
    Err(Error::usage(message).hint(hint))
}

/// Returns the average request of a pod for a metric, as its containers state it.
pub(crate) fn request(snapshot: &Snapshot, spec: &MetricSpec) -> Option<f64> {
    let of_metric = |own: &&Container| spec.container().is_none_or(|name| *own.name == *name);
    let pods = || snapshot.unended_pods();
    let containers = pods().flat_map(|pod| pod.running(false));
    let amounts = containers
        .filter(of_metric)
        .filter_map(|own| own.requests.get(spec.name()));
    let milli: f64 = amounts.map(|amount| amount.milli_value() as f64).sum();
    (milli > 0.0).then(|| milli / 1000.0 / pods().count() as f64)
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use serde_json::json;

    use super::request;
    use crate::build;
    use crate::saved;
    use crate::snapshot::input::Options;

    #[test]
    fn the_average_request_of_the_pods_that_the_target_has() {
        let spec = json!({"metrics": [build::resource("cpu", &build::utilization(50))]});
        let of = |cpu: &str| json!({"spec": {"containers": [build::requesting("app", cpu)]}});
        let foreign = json!({"metadata": {"labels": {"app": "batch"}}});
        let ended = json!({"status": {"phase": "Failed"}});
        for (changes, want) in [
            (vec![of("300m")], Some(0.2)),
            (vec![of("300m"), build::with(of("9"), &foreign)], Some(0.2)),
            (vec![of("300m"), build::with(of("9"), &ended)], Some(0.2)),
            (
                vec![json!({"spec": {"containers": [{"name": "app", "resources": null}]}})],
                Some(0.05),
            ),
        ] {
            let others = changes.iter().zip(["web-2", "web-3"]);
            let others = others.map(|(change, name)| build::with(build::pod(name), change));
            let items = [build::hpa(&spec), build::scale(2), build::pod("web-1")];
            let text = build::list(items.into_iter().chain(others));
            let input = saved::read(&text, &Options::default(), Timestamp::UNIX_EPOCH);
            let snapshot = input.expect("an input").snapshot;
            assert_eq!(
                request(&snapshot, &snapshot.hpa.spec.metrics[0]),
                want,
                "{text}"
            );
        }
    }
}
