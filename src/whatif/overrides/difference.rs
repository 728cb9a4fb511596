//! The differences between two specs, field by field, each as the API server stores it: stating a default makes no
//! difference.

use serde_json::Value as Json;

use super::{Override, Reported, distinct};
use crate::apiserver::default::set_on_read;
use crate::error::Error;
use crate::snapshot::hpa::{HpaSpec, MetricSpec, MetricTarget};

/// A step on the way to a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PathStep {
    Name(String),
    Place(usize),
}

/// A field that differs, with its place in the second spec; empty if the second spec lacks it.
pub(super) struct Difference {
    pub(super) path: Vec<PathStep>,
    pub(super) own: Override,
}

/// The text for a field or metric that one of the two specs does not have.
const NONE: &str = "none";

/// The fields of a spec in the order in which they are reported.
const ORDER: [&str; 5] = [
    "scaleTargetRef",
    "minReplicas",
    "maxReplicas",
    "metrics",
    "behavior",
];

/// The fields in which a spec differs from the running one.
pub(super) fn differences(
    running: &HpaSpec,
    candidate: &HpaSpec,
) -> Result<Vec<Difference>, Error> {
    let mut differences = fields(running, candidate)?;
    differences.extend(targets(running, candidate));
    differences.sort_by_key(|own| match own.path.first() {
        Some(PathStep::Name(name)) => ORDER.iter().position(|it| it == name),
        _ => ORDER.iter().position(|it| *it == "metrics"),
    });
    if differences.is_empty() && running != candidate {
        let defaults = |spec: &HpaSpec| spec.behavior.as_ref().map_or(NONE, |_| "the defaults");
        let (item, assumed, observed) = if running.metrics == candidate.metrics {
            let observed = Reported::Text(defaults(running).to_owned());
            ("behavior", defaults(candidate), Some(observed))
        } else {
            ("metrics", "in another order", None)
        };
        differences.push(Difference {
            path: vec![PathStep::Name(item.to_owned())],
            own: Override::new(item, assumed, observed),
        });
    }
    Ok(differences)
}

/// Returns the differences of all fields but metrics. A behavior that only one of the two has is compared
/// with the defaults.
fn fields(running: &HpaSpec, candidate: &HpaSpec) -> Result<Vec<Difference>, Error> {
    let (before, after) = (leaves_of(running)?, leaves_of(candidate)?);
    let filled = (
        leaves_of(&with_defaults(running))?,
        leaves_of(&with_defaults(candidate))?,
    );
    let all = filled.0.iter().chain(&filled.1);
    let mut paths = distinct(all.map(|(path, _)| path));
    paths.retain(|path| text_at(&filled.0, path) != text_at(&filled.1, path));
    let differences = paths.into_iter().map(|path| {
        let names = path.iter().filter_map(|step| match step {
            PathStep::Name(name) => Some(&**name),
            PathStep::Place(_) => None,
        });
        let item = names.collect::<Vec<_>>().join(".");
        let text = |all| text_at(all, path).unwrap_or(NONE).to_owned();
        Difference {
            path: path.clone(),
            own: Override::new(item, text(&after), Some(Reported::Text(text(&before)))),
        }
    });
    Ok(differences.collect())
}

/// Returns the spec with a behavior, and with all defaults.
fn with_defaults(spec: &HpaSpec) -> HpaSpec {
    let mut filled = spec.clone();
    filled.behavior.get_or_insert_default();
    set_on_read(&mut filled);
    filled
}

/// A field without subfields, with its value as text.
type Leaf = (Vec<PathStep>, String);

/// Returns the leaves of a spec without its metrics.
fn leaves_of(spec: &HpaSpec) -> Result<Vec<Leaf>, Error> {
    let mut json = to_json(spec)?;
    json.as_object_mut().map(|fields| fields.remove("metrics"));
    let mut all = Vec::new();
    leaves(&json, &mut Vec::new(), &mut all);
    Ok(all)
}

/// Returns the value of the leaf with a path, as text.
fn text_at<'l>(leaves: &'l [Leaf], path: &[PathStep]) -> Option<&'l str> {
    let (_, text) = leaves.iter().find(|(own, _)| own == path)?;
    Some(text)
}

fn leaves(json: &Json, path: &mut Vec<PathStep>, all: &mut Vec<Leaf>) {
    match json {
        Json::Object(fields) => {
            for (name, value) in fields {
                path.push(PathStep::Name(name.clone()));
                leaves(value, path, all);
                path.pop();
            }
        }
        Json::Array(policies) => {
            let texts: Vec<String> = policies.iter().map(policy).collect();
            let text = if texts.is_empty() {
                NONE.to_owned()
            } else {
                texts.join(", ")
            };
            all.push((path.clone(), text));
        }
        value => all.push((path.clone(), plain(value))),
    }
}

/// Returns a policy as text; no other lists are outside the metrics.
fn policy(policy: &Json) -> String {
    let (value, seconds) = (&policy["value"], &policy["periodSeconds"]);
    match &*plain(&policy["type"]) {
        "Percent" => format!("{value}% per {seconds}s"),
        "Pods" => format!("{value} pods per {seconds}s"),
        other => format!("{value} {other} per {seconds}s"),
    }
}

/// The metrics, each with its target.
fn targets(running: &HpaSpec, candidate: &HpaSpec) -> Vec<Difference> {
    let among: Vec<MetricSpec> = running
        .metrics
        .iter()
        .chain(&candidate.metrics)
        .cloned()
        .collect();
    let item = |metric: &MetricSpec| format!("target of {}", metric.label(&among));
    let mut left: Vec<&MetricSpec> = running.metrics.iter().collect();
    let mut differences = Vec::new();
    for (place, metric) in candidate.metrics.iter().enumerate() {
        let source = source_of(metric);
        let place_before = left.iter().position(|own| source_of(own) == source);
        let metric_before = place_before.map(|place| left.remove(place));
        if metric_before == Some(metric) {
            continue;
        }
        let [now, before] = [Some(metric), metric_before].map(|it| it.and_then(MetricSpec::target));
        // The value alone does not show whether it is an average or a total.
        let whole = [now, before].map(|it| it.map(|it| it.value.is_some()));
        let typed = matches!(whole, [Some(now), Some(before)] if now != before);
        let own = Override::new(
            item(metric),
            text(now, typed).to_string(),
            Some(text(before, typed)),
        );
        differences.push(Difference {
            path: target_path(metric, place),
            own,
        });
    }
    differences.extend(left.into_iter().map(|metric| {
        let own = Override::new(item(metric), NONE, Some(text(metric.target(), false)));
        Difference {
            path: Vec::new(),
            own,
        }
    }));
    differences
}

/// Returns the target, with its type if `typed`.
fn text(target: Option<&MetricTarget>, typed: bool) -> Reported {
    match target {
        None => Reported::Text(NONE.to_owned()),
        Some(target) if typed => Reported::Text(format!("{} {}", target.type_, reported(target))),
        Some(target) => reported(target),
    }
}

/// The value of a target.
pub(super) fn reported(target: &MetricTarget) -> Reported {
    match (target.utilization(), target.amount()) {
        (None, Some(amount)) => Reported::Amount(amount.clone()),
        (percent, _) => Reported::Text(percent.map(|it| format!("{it}%")).unwrap_or_default()),
    }
}

/// Returns the metric without its target.
pub(in crate::whatif) fn source_of(metric: &MetricSpec) -> MetricSpec {
    let mut source = metric.clone();
    if let Some(target) = source.target_mut() {
        *target = MetricTarget::default();
    }
    if let Some(external) = &mut source.external {
        external.metric.selector = external
            .metric
            .selector
            .take()
            .filter(|s| *s != Default::default());
    }
    source
}

/// Returns the place in another spec of the metric at a place in this one. Metrics that differ only in their targets
/// are matched in order.
pub(in crate::whatif) fn same_metric(
    of: &[MetricSpec],
    place: usize,
    other: &[MetricSpec],
) -> Option<usize> {
    let source = source_of(&of[place]);
    let is_same = |own: &MetricSpec| source_of(own) == source;
    let before = of[..place].iter().filter(|own| is_same(own)).count();
    let mut same = (0..other.len()).filter(|at| is_same(&other[*at]));
    same.nth(before)
}

/// Returns the path of a metric's target.
pub(super) fn target_path(metric: &MetricSpec, place: usize) -> Vec<PathStep> {
    let name = |text: &str| PathStep::Name(text.to_owned());
    let mut source = metric.type_.clone();
    source.get_mut(..1).map(str::make_ascii_lowercase);
    vec![
        name("metrics"),
        PathStep::Place(place),
        PathStep::Name(source),
        name("target"),
    ]
}

/// Whether one path leads to the other, or both are the same.
pub(super) fn overlap(one: &[PathStep], other: &[PathStep]) -> bool {
    one.starts_with(other) || other.starts_with(one)
}

/// A value as it would be typed.
pub(super) fn plain(json: &Json) -> String {
    match json {
        Json::String(text) => text.clone(),
        json => json.to_string(),
    }
}

/// A spec as JSON.
pub(super) fn to_json(spec: &HpaSpec) -> Result<Json, Error> {
    serde_json::to_value(spec).map_err(|e| Error::failed(format!("failed to write the spec: {e}")))
}
