//! The answers to the queries for a history: the values of each metric, and the notes about them.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::error::Error;
use crate::prometheus::answer::{QueryAnswer, Series};
use crate::prometheus::copies::{copies, followed, not_one, several};
use crate::prometheus::history::{Samples, ValueHistory};
use crate::prometheus::load::{Answered, digits, stated_milli, warnings};
use crate::prometheus::queries::{MAX_REPLICAS, Purpose, Sampled};
use crate::snapshot::hpa::{Hpa, MetricSource, MetricSpec};

/// Returns the notes about a server's answers.
pub fn notes(
    owners: &QueryAnswer,
    answers: &[(Sampled, QueryAnswer)],
    metrics: &[Answered],
) -> Vec<String> {
    let of = |wanted| {
        let own = answers.iter().filter(move |(kind, _)| *kind == wanted);
        own.flat_map(|(_, answer)| &answer.series)
    };
    let hpas =
        of(Sampled::Hpa).filter(|series| series.labels.get("__name__") == Some(MAX_REPLICAS));
    let samples = answers.iter().map(|(_, answer)| answer);
    let all = samples
        .chain(metrics.iter().map(|own| &own.answer))
        .chain([owners]);
    several(hpas)
        .into_iter()
        .chain(followed(of(Sampled::Usage)))
        .chain(warnings(all))
        .collect()
}

/// Returns the values of metrics, by index in the spec.
///
/// # Errors
///
/// A query gives several series for what has one value, only series of other namespaces, or a value that no metrics API
/// can state.
pub fn values(
    hpa: &Hpa,
    answered: &[Answered],
) -> Result<BTreeMap<usize, Vec<ValueHistory>>, Error> {
    let mut values = BTreeMap::new();
    for Answered {
        question, answer, ..
    } in answered
    {
        let Purpose::Metric(place) = question.purpose else {
            continue;
        };
        let (of, all) = (&question.asked.of, &answer.series);
        let spec = &hpa.spec.metrics[place];
        let is_of_pods = matches!(spec.source(), MetricSource::Pods(_));
        // As for a load: the total of what the controller adds up is one series.
        if !is_of_pods && all.len() > 1 {
            return Err(not_one(of, all));
        }
        let mut pods: BTreeMap<Option<&str>, Vec<&Series>> = BTreeMap::new();
        for own in all {
            if is_of_pods && is_elsewhere(own, &hpa.namespace) {
                continue;
            }
            let pod = own.labels.get("pod");
            if is_of_pods && pod.is_none() {
                return Err(Error::failed(format!(
                    "the query for {of} gives a series without the label pod"
                ))
                .hint("--at needs the value of each pod, as with sum by (pod) (...)"));
            }
            // A pod that was created again, or has another address, has one series after the other.
            let others = pods.entry(pod).or_default();
            if let Some(pod) = pod.filter(|_| others.iter().any(|other| overlap(own, other))) {
                return Err(not_one_of(pod, of, all, &hpa.namespace));
            }
            check_values(own, of, spec)?;
            others.push(own);
        }
        if pods.is_empty() && !all.is_empty() {
            let namespace = &hpa.namespace;
            return Err(Error::failed(format!(
                "the query for {of} gives only series of other namespaces"
            ))
            .hint(format!("add namespace={namespace:?} to its selectors")));
        }
        let histories = pods.into_iter().map(|(pod, series)| {
            let mut samples = Samples::default();
            series.iter().for_each(|own| samples.add(&own.points));
            let pod = pod.map(Into::into);
            ValueHistory { pod, samples }
        });
        values.insert(place, histories.collect());
    }
    Ok(values)
}

/// Checks that a metrics API can state the values of a series.
fn check_values(series: &Series, of: &str, spec: &MetricSpec) -> Result<(), Error> {
    for (millis, value) in &series.points {
        stated_milli(spec, *value).map_err(|why| {
            let time = Timestamp::from_millisecond(*millis).unwrap_or_default();
            let value = digits(*value);
            Error::failed(format!("the query for {of} gives {value} at {time}: {why}"))
        })?;
    }
    Ok(())
}

/// Whether a series says that it is of another namespace.
fn is_elsewhere(series: &Series, namespace: &str) -> bool {
    // A scrape that keeps its own labels renames those of the metric; otherwise `exported_namespace` is a label of the
    // application's own.
    let labels = ["exported_namespace", "namespace"].map(|label| series.labels.get(label));
    let mut stated = labels.into_iter().flatten().filter(|it| !it.is_empty());
    let is_stated = stated.clone().next().is_some();
    is_stated && stated.all(|own| own != namespace)
}

/// Whether there were samples of two series in the same span of time.
fn overlap(one: &Series, other: &Series) -> bool {
    let spans = one.span().zip(other.span());
    spans.is_some_and(|((start, end), (from, to))| start <= to && from <= end)
}

/// Returns the error if a query returns several series of a pod.
fn not_one_of(pod: &str, of: &str, all: &[Series], namespace: &str) -> Error {
    let is_own = |series: &&Series| {
        series.labels.get("pod") == Some(pod) && !is_elsewhere(series, namespace)
    };
    let own: Vec<Series> = all.iter().filter(is_own).cloned().collect();
    let error = not_one(&format!("{of} of pod {pod}"), &own);
    error.hint(match copies(&own) {
        Some(label) => format!("count each once, as with max without ({label}) (...)"),
        None => "aggregate them, as with sum by (pod) (...)".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;
    use serde_json::json;

    use super::*;
    use crate::prometheus::grid::Grid;
    use crate::prometheus::queries::Question;
    use crate::snapshot::load::LoadQuery;

    const STEP: SignedDuration = SignedDuration::from_secs(15);

    #[test]
    fn a_value_may_be_negative_and_has_to_be_a_quantity() {
        let target = json!({"type": "AverageValue", "averageValue": "10"});
        let external = json!({"metric": {"name": "rps"}, "target": target});
        let metrics = json!([{"type": "External", "external": external}]);
        let hpa = Hpa::of(&json!({"maxReplicas": 9, "metrics": metrics}), json!({}));
        for (value, error) in [
            (-35.0, None),
            (
                1e17,
                Some("1e17 at 1970-01-01T00:00:00Z: it is larger than any metric can be"),
            ),
            (
                -1e17,
                Some("-1e17 at 1970-01-01T00:00:00Z: it is smaller than any metric can be"),
            ),
        ] {
            let series = Series {
                points: vec![(0, value)],
                ..Series::default()
            };
            let found = values(&hpa, &[answered(0, vec![series])]);
            let want = error.map(|error| format!("the query for rps gives {error}"));
            assert_eq!(found.err().map(|e| e.message), want, "{value}");
        }
    }

    #[test]
    fn a_metric_has_one_series_or_one_for_each_pod_of_the_namespace() {
        /// The labels, and the hint if they are an error.
        type Row<'a> = (&'a [&'a [(&'a str, &'a str)]], &'a str, &'a str);
        let target = json!({"type": "AverageValue", "averageValue": "10"});
        let metric = json!({"metric": {"name": "rps"}, "target": target});
        let object = json!({"kind": "Service", "name": "web"});
        let metrics = json!([
            {"type": "Pods", "pods": metric},
            {"type": "Object", "object": {"describedObject": object,
                "metric": {"name": "rps"}, "target": target}},
        ]);
        let hpa = Hpa {
            namespace: "shop".to_owned(),
            ..Hpa::of(&json!({"maxReplicas": 9, "metrics": metrics}), json!({}))
        };
        let pods: [Row<'_>; 7] = [
            (&[&[("pod", "a")], &[("pod", "b")]], "", ""),
            (
                &[
                    &[("pod", "a"), ("namespace", "shop")],
                    &[("pod", "a"), ("namespace", "other")],
                    &[("namespace", "other")],
                    &[
                        ("pod", "b"),
                        ("namespace", "monitoring"),
                        ("exported_namespace", "shop"),
                    ],
                ],
                "",
                "",
            ),
            (
                &[&[("pod", "a")], &[]],
                "the query for rps gives a series without the label pod",
                "--at needs the value of each pod, as with sum by (pod) (...)",
            ),
            (
                &[
                    &[("pod", "b"), ("code", "200")],
                    &[("pod", "a"), ("code", "200")],
                    &[("pod", "a"), ("code", "500")],
                ],
                "the query for rps of pod a gives 2 series, not one",
                "aggregate them, as with sum by (pod) (...)",
            ),
            (
                &[
                    &[("pod", "a"), ("replica", "0")],
                    &[("pod", "a"), ("replica", "1")],
                ],
                "the query for rps of pod a gives copies of a series, which differ in replica",
                "count each once, as with max without (replica) (...)",
            ),
            (
                &[&[("pod", "a"), ("namespace", "other")]],
                "the query for rps gives only series of other namespaces",
                "add namespace=\"shop\" to its selectors",
            ),
            (
                &[&[
                    ("pod", "a"),
                    ("namespace", "shop"),
                    ("exported_namespace", "tenant"),
                ]],
                "",
                "",
            ),
        ];
        let object: [Row<'_>; 2] = [
            (&[&[("pod", "a"), ("namespace", "other")]], "", ""),
            (
                &[&[("pod", "a")], &[("pod", "b")]],
                "the query for rps gives 2 series, not one",
                "aggregate them, as with sum(...)",
            ),
        ];
        let rows = pods.map(|row| (0, row)).into_iter();
        for (place, (labels, message, hint)) in rows.chain(object.map(|row| (1, row))) {
            let series = labels.iter().map(|own| Series {
                labels: own.iter().copied().collect(),
                points: vec![(0, 1.0)],
            });
            let answered = answered(place, series.collect());
            let found = values(&hpa, &[answered]).map(drop);
            let error = found.err().map(|e| (e.message, e.hint.unwrap_or_default()));
            let want = (message.to_owned(), hint.to_owned());
            assert_eq!(error, (!message.is_empty()).then_some(want), "{labels:?}");
        }
    }

    #[test]
    fn a_pod_may_have_one_series_after_the_other() {
        let metric = json!({"metric": {"name": "rps"}, "target": {"type": "AverageValue", "averageValue": "1"}});
        let metrics = json!([{"type": "Pods", "pods": metric}]);
        let hpa = Hpa::of(&json!({"maxReplicas": 9, "metrics": metrics}), json!({}));
        for (begin, times) in [(2, Some(vec![0, 1, 2, 3])), (1, None), (0, None)] {
            // An answer is sorted by its labels.
            let series = [("1", [begin, 3]), ("2", [0, 1])].map(|(instance, times)| Series {
                labels: [("pod", "a"), ("instance", instance)].into_iter().collect(),
                points: times.map(|time| (time, 1.0)).into(),
            });
            let found = values(&hpa, &[answered(0, series.into())]).ok();
            let all = found.map(|found| {
                let own = found[&0].iter().map(|own| own.samples.all());
                own.map(|all| all.iter().map(|(time, _)| *time).collect())
                    .collect()
            });
            assert_eq!(all, times.map(|times| vec![times]), "{begin}");
        }
    }

    fn answered(place: usize, series: Vec<Series>) -> Answered {
        let start = Timestamp::UNIX_EPOCH;
        Answered {
            question: Question {
                purpose: Purpose::Metric(place),
                asked: LoadQuery::new("rps", String::new()),
            },
            grid: Grid::new(start, start + STEP, STEP).unwrap(),
            answer: QueryAnswer {
                series,
                ..QueryAnswer::default()
            },
            failure: None,
        }
    }
}
