//! Whole passes, by what recorded answers do not contain: the trace, and metrics that are unknown here.

use serde_json::{Value, json};

use super::decision::{Decision, Step};
use super::reconcile;
use crate::build;
use crate::memory::Memory;
use crate::saved::assemble::assemble;
use crate::saved::file::read_text;
use crate::saved::objects::Objects;
use crate::snapshot::input::Options;
use crate::snapshot::{Documents, ExternalValue, MetricAnswer, Snapshot, Unread};

/// Runs a pass over 4 replicas with one metric, whose answer it is.
fn pass(metric: &Value, answer: MetricAnswer) -> Decision {
    let hpa = build::hpa(&json!({"metrics": [metric]}));
    let items = [hpa, build::scale(4), build::state(&json!({}))];
    let mut objects = Objects::default();
    read_text(&build::list(items), "state", &mut objects).unwrap();
    let options = Options { name: "web".to_owned(), ..Options::default() };
    let input = assemble(objects, &options, build::NOW.parse().unwrap()).unwrap();
    let snapshot = Snapshot { metrics: vec![answer], ..input.snapshot };
    reconcile(&snapshot, &Memory::default())
}

/// Returns the published step that combines the metrics.
fn combined(decision: &Decision) -> Value {
    let combines = |step: &&Step| matches!(step, Step::CombineMetrics { .. });
    serde_json::to_value(decision.trace.iter().find(combines).unwrap()).unwrap()
}

#[test]
fn what_may_have_been_read_elsewhere_decides_nothing_here() {
    let metric = build::external("queue", &build::average("1"));
    let documents = Documents::ExternalMetricValueList;
    let unread = pass(&metric, MetricAnswer::Unread(Unread::Missing { documents }));
    assert!(unread.is_unread());
    assert_eq!((unread.proposal, unread.outcome.scale_to), (None, None));
    assert_eq!((&unread.outcome.status, unread.block()), (&None, None));
    assert_eq!(combined(&unread)["unread"], 1);
    let value = ExternalValue { value: 6_000, ..ExternalValue::default() };
    let read = pass(&metric, MetricAnswer::External(vec![value]));
    assert_eq!((read.proposal, read.outcome.scale_to), (Some(6), Some(6)));
    assert_eq!(combined(&read).get("unread"), None);
}

#[test]
fn a_metric_of_an_object_names_it() {
    let object = json!({"apiVersion": "v1", "kind": "Service", "name": "front"});
    let metric = json!({"type": "Object", "object": {
        "metric": {"name": "rps"}, "describedObject": object, "target": build::value("1"),
    }});
    let decision = pass(&metric, MetricAnswer::Failed("no".to_owned()));
    assert_eq!(decision.metric(0).unwrap().described_object.as_deref(), Some("Service/front"));
}
