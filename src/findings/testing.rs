//! Findings in small states, for the tests of the groups.

use serde_json::{Value, json};

use super::{Code, Facts, Finding, Severity, find};
use crate::build;
use crate::pass::Pass;
use crate::saved::assemble::assemble;
use crate::saved::file::read_text;
use crate::saved::objects::Objects;
use crate::snapshot::input::Options;

/// Runs a pass of the HPA `web` of these objects.
pub(crate) fn pass(items: &[Value]) -> Pass {
    let mut objects = Objects::default();
    read_text(&build::list(items.iter().cloned()), "state", &mut objects).unwrap();
    let options = Options {
        name: "web".to_owned(),
        ..Options::default()
    };
    let input = assemble(objects, &options, build::NOW.parse().unwrap()).unwrap();
    Pass::run(input)
}

/// Returns the findings about the HPA `web` of these objects.
pub(super) fn found(items: &[Value]) -> Vec<Finding> {
    find(&pass(items))
}

/// Returns the finding of a code, of which there is at most one.
pub(super) fn only(code: Code, items: &[Value]) -> Option<Finding> {
    let mut all = found(items)
        .into_iter()
        .filter(|finding| finding.code() == code);
    let finding = all.next();
    assert_eq!(all.next(), None, "{} is there once", code.as_str());
    finding
}

/// The severity of a finding, whether it explains the pass, and its facts.
pub(super) type Told = (Severity, bool, Facts);

/// Returns the finding of a code in a state.
pub(super) fn told(code: Code, items: &[Value]) -> Option<Told> {
    only(code, items).map(|finding| (finding.severity, finding.explains, finding.facts))
}

/// Returns an HPA with these metrics, the scale of its target, and pods that each use this much CPU of the
/// 100m that they request.
pub(crate) fn state(metrics: &[Value], cpu: &[&str]) -> Vec<Value> {
    let spec = json!({ "maxReplicas": 20, "metrics": metrics });
    let replicas = i32::try_from(cpu.len()).unwrap();
    let mut items = vec![
        build::hpa(&spec),
        build::scale(replicas),
        build::state(&json!({})),
    ];
    for (number, cpu) in cpu.iter().enumerate() {
        let name = format!("web-{number}");
        items.extend([build::pod(&name), build::pod_metrics(&name, cpu)]);
    }
    items
}

/// Returns the same with a patch of the objects of a kind.
pub(crate) fn with(items: &[Value], kind: &str, patch: &Value) -> Vec<Value> {
    let change = |item: &Value| {
        if item["kind"] == kind {
            build::with(item.clone(), patch)
        } else {
            item.clone()
        }
    };
    items.iter().map(change).collect()
}

/// Checks each state's finding of a code.
pub(super) fn check(table: Vec<(&str, Code, Vec<Value>, Option<Told>)>) {
    for (about, code, items, want) in table {
        assert_eq!(told(code, &items), want, "{} {about}", code.as_str());
    }
}

pub(super) fn boxed(names: &[&str]) -> Vec<Box<str>> {
    names.iter().map(|name| (*name).into()).collect()
}
