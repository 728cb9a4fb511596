//! The small languages: quantities, selectors, durations, expectations, traces, ranges, and printed text.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use kubectl_hpa::apimachinery::quantity::{Amount, Quantity};
use kubectl_hpa::apimachinery::selector::{LabelSelector, Labels, Selector};
use kubectl_hpa::backtest::Axis;
use kubectl_hpa::flags::Flags;
use kubectl_hpa::pass::Pass;
use kubectl_hpa::past::rewind;
use kubectl_hpa::prometheus::answer::{self, AnswerMemory, QueryAnswer, Series};
use kubectl_hpa::prometheus::grid::Grid;
use kubectl_hpa::prometheus::history::History;
use kubectl_hpa::prometheus::load::{Answered, assemble};
use kubectl_hpa::prometheus::queries::{Purpose, Question, Sampled};
use kubectl_hpa::render::structured;
use kubectl_hpa::render::style::{clean, point_at};
use kubectl_hpa::saved::save::to_json;
use kubectl_hpa::snapshot::hpa::Hpa;
use kubectl_hpa::snapshot::input::Options;
use kubectl_hpa::snapshot::load::LoadQuery;
use kubectl_hpa::whatif::expect::{ComparisonOperator, Expression, Node, Number, Operand, Sign};
use kubectl_hpa::whatif::timeline::Trace;
use serde_json::{Value, json};

use self::expression::printed;
use super::{as_text, assert_harmless, assert_told};

#[path = "../../tests/common/expression.rs"]
mod expression;

/// Two quantities, one per line: each reads back as it prints, and they are ordered and added like
/// numbers.
pub fn quantity(data: &[u8]) {
    let Some(text) = as_text(data) else { return };
    let read: Vec<Quantity> = text
        .splitn(2, '\n')
        .filter_map(|text| Quantity::parse(text).ok())
        .collect();
    let most = Amount::parse("9P").expect("a quantity");
    for one in &read {
        let printed = one.to_string();
        let back = one.canonicalized();
        assert_eq!(back.to_string(), printed, "{one:?} changes in print");
        if is_usual(one) {
            assert_eq!(back, *one, "{one:?} prints as {printed}");
        }
        assert_eq!(
            one.signum(),
            one.amount().cmp(&Amount::ZERO) as i32,
            "{one:?}"
        );
        // Beyond that, upstream returns 0.
        if one.signum() >= 0 && *one.amount() < most {
            let milli = one.milli_value();
            let up = Quantity::from_milli(milli, one.format());
            assert!(
                up.amount() >= one.amount(),
                "{one:?} is {milli} thousandths"
            );
        }
    }
    let [one, two] = &read[..] else { return };
    let (left, right) = (one.amount(), two.amount());
    assert_eq!(
        left.cmp(right),
        right.cmp(left).reverse(),
        "{one:?} and {two:?}"
    );
    let (mut sum, mut other) = (left.clone(), right.clone());
    sum.add(right);
    other.add(left);
    assert_eq!(sum, other, "{one:?} + {two:?}");
    if is_usual(one) && is_usual(two) {
        assert_eq!(sum.cmp(left) as i32, two.signum(), "{one:?} + {two:?}");
    }
}

/// There is no decimal suffix beyond `E`, and upstream prints larger numbers without a suffix. Numbers
/// that are further apart are not added exactly.
fn is_usual(quantity: &Quantity) -> bool {
    let limit = Amount::parse("1000E").expect("a quantity");
    let mut size = quantity.amount().clone();
    if quantity.signum() < 0 {
        // Adding the limit to a number above its negative gives a positive number.
        size.add(&limit);
        return size.signum() > 0;
    }
    size < limit
}

/// A selector, or a LabelSelector in JSON: it reads back as it prints and selects the same.
pub fn selector(data: &[u8]) {
    let Some(text) = as_text(data) else { return };
    let object = serde_json::from_str::<LabelSelector>(text);
    let is_object = object.is_ok();
    let read = object.map_or_else(|_| Selector::parse(text), |object| object.to_selector());
    let selector = match read {
        Ok(selector) => selector,
        Err(e) => {
            assert!(!e.to_string().is_empty(), "an error without words");
            return;
        }
    };
    let printed = selector.to_string();
    let back = Selector::parse(&printed);
    let back = back.unwrap_or_else(|e| panic!("{text:?} prints as {printed:?}: {e}"));
    let again = Selector::parse(&back.to_string());
    assert_eq!(again.as_ref(), Ok(&back), "{text:?}");
    // An object may list a value several times, which counts once when it is read.
    assert!(
        is_object || back.to_string() == printed,
        "{printed:?} prints as {back}"
    );
    let words: Vec<&str> = text.split(|c: char| !c.is_ascii_alphanumeric()).collect();
    let labels: Labels = words.windows(2).map(|pair| (pair[0], pair[1])).collect();
    assert_eq!(
        back.matches(&labels),
        selector.matches(&labels),
        "{printed} and {labels:?}"
    );
    if selector.is_empty() {
        assert!(selector.matches(&labels), "nothing is required");
    }
    if let Ok(normal) = selector.normalized() {
        let again = normal.normalized().map(|again| again.to_string());
        assert_eq!(again, Ok(normal.to_string()), "{printed}");
    }
}

/// A duration: as a flag of the controller it equals its nanoseconds, and as the time of a
/// trace it is read the same.
pub fn duration(data: &[u8]) {
    let Some(text) = as_text(data) else { return };
    let Some(span) = flag(text) else { return };
    assert!(!span.is_negative(), "{text}");
    let nanos = format!("{}ns", span.as_nanos());
    assert_eq!(flag(&nanos), Some(span), "{text}");
    assert!(Duration::try_from(span).is_ok(), "{text}");
    let row = |time: &str| Trace::read(format!("time,cpu\n{time},1\n").as_bytes(), "a trace");
    row(text).unwrap_or_else(|e| panic!("no trace has the time {text}: {e}"));
}

fn flag(text: &str) -> Option<SignedDuration> {
    let flags: Flags = serde_json::from_value(json!({"syncPeriod": text})).ok()?;
    flags.sync_period
}

/// An expectation: it reads back as it prints, and an error has a place in it.
pub fn expression(data: &[u8]) {
    let Some(text) = as_text(data) else { return };
    match Expression::parse(text) {
        Ok(read) => {
            let shown = printed(&read.root);
            let back = Expression::parse(&shown);
            let back = back.unwrap_or_else(|e| panic!("{text:?} prints as {shown:?}: {e:?}"));
            assert_eq!(back.root, read.root, "{text:?} prints as {shown:?}");
            for number in numbers(&read.root) {
                let digits = number.text.strip_suffix('%').unwrap_or(&number.text);
                let value = Quantity::parse(digits).expect("it was read");
                assert_eq!(value, number.quantity, "{text:?}");
            }
        }
        Err(e) => {
            assert!(text.is_char_boundary(e.at), "{} is not in {text:?}", e.at);
            assert!(
                !e.message.is_empty() && !e.hint.is_empty(),
                "{text:?}: {e:?}"
            );
            assert_harmless(&point_at(text, e.at, false));
        }
    }
}

fn numbers(node: &Node) -> Vec<&Number> {
    match node {
        Node::Any(parts) | Node::All(parts) => parts.iter().flat_map(numbers).collect(),
        Node::Not(inner) => numbers(inner),
        Node::Flag(_) => Vec::new(),
        Node::Compare(left, _, right) => [left, right]
            .into_iter()
            .flat_map(|it| literals(it))
            .collect(),
    }
}

fn literals(operand: &Operand) -> Vec<&Number> {
    match operand {
        Operand::Number(number) => vec![number],
        Operand::Field(_) | Operand::Duration { .. } => Vec::new(),
        Operand::Negative(inner) => literals(inner),
        Operand::Chain(first, rest) => {
            let rest = rest.iter().flat_map(|(_, next)| literals(next));
            literals(first).into_iter().chain(rest).collect()
        }
    }
}

/// The table of a load: it is read, or rejected at a line.
pub fn trace(data: &[u8]) {
    if let Err(e) = Trace::read(data, "load.csv") {
        assert_told(&e);
        let lines = data
            .iter()
            .filter(|byte| matches!(byte, b'\n' | b'\r'))
            .count()
            + 1;
        let place = e.message.split("load.csv:").nth(1).expect("a place");
        let digits = place
            .split(|c: char| !c.is_ascii_digit())
            .next()
            .expect("a line");
        let line: usize = digits.parse().expect("the number of a line");
        assert!((1..=lines).contains(&line), "line {line} of {lines}");
    }
}

/// A field with a range: its values are distinct, none is empty, and written out individually they are
/// the same.
pub fn range(data: &[u8]) {
    let Some(text) = as_text(data) else { return };
    let axis = match Axis::read(text) {
        Ok(axis) => axis,
        Err(e) => return assert_told(&e),
    };
    let Axis { path, values, .. } = &axis;
    assert!(
        !values.is_empty() && values.iter().all(|value| !value.trim().is_empty()),
        "{axis:?}"
    );
    let listed = Axis::read(&format!("{path}={}", values.join(",")));
    // A list with one value may look like a range of several.
    if values.len() > 1 || !values[0].contains("..") {
        assert_eq!(listed.map(|it| it.values).ok().as_ref(), Some(values));
    }
}

/// An answer of Prometheus: its samples are ordered and finite, and its load is a valid table or an error
/// with a message.
pub fn prometheus(data: &[u8]) {
    let Ok(found) = answer::read(data, &AnswerMemory::default()) else {
        return;
    };
    for Series { points, .. } in &found.series {
        assert!(
            points.iter().all(|(_, value)| value.is_finite()),
            "{points:?}"
        );
        assert!(
            points.windows(2).all(|pair| pair[0].0 < pair[1].0),
            "{points:?}"
        );
    }
    let last = found
        .series
        .iter()
        .filter_map(|own| own.points.last())
        .map(|(time, _)| *time)
        .max();
    if let Some(last) = last.and_then(|last| Timestamp::from_millisecond(last).ok()) {
        past(&found, last);
    }
    let spec = json!({"maxReplicas": 9, "metrics": [
        {"type": "Resource", "resource": {"name": "memory",
            "target": {"type": "Utilization", "averageUtilization": 50}}},
        {"type": "External", "external": {"metric": {"name": "q"},
            "target": {"type": "Value", "value": "1"}}}]});
    let hpa = Hpa {
        spec: serde_json::from_value(spec).expect("a spec"),
        ..Hpa::default()
    };
    let points = found
        .series
        .first()
        .map_or(&[][..], |series| &series.points);
    let time = |place: usize| points.get(place).map(|(millis, _)| *millis);
    let (Some(first), Some(second)) = (time(0), time(1)) else {
        return;
    };
    let time = |millis| Timestamp::from_millisecond(millis).unwrap_or(Timestamp::MIN);
    let step = SignedDuration::from_millis(second - first);
    let last = points.last().map_or(second, |(millis, _)| *millis);
    let Ok(grid) = Grid::new(time(first), time(last), step) else {
        return;
    };
    if grid.count > 10_000 {
        return;
    }
    let purposes = [
        Purpose::Metric(0),
        Purpose::Metric(1),
        Purpose::Replicas,
        Purpose::Restarts,
    ];
    let answered = purposes.map(|purpose| {
        let question = Question {
            purpose,
            asked: LoadQuery::new(format!("{purpose:?}"), "q".to_owned()),
        };
        Answered {
            question,
            grid,
            answer: found.clone(),
            failure: None,
        }
    });
    let (metrics, min) = (&hpa.spec.metrics, hpa.spec.min_replicas);
    let load = assemble(metrics, grid, &answered, "a server", min, &[]);
    match load.and_then(|load| Trace::of(&load)) {
        Ok(_) => {}
        Err(e) => assert_told(&e),
    }
}

/// A past pass by these samples, at a time: it runs, and again when it was saved.
fn past(found: &QueryAnswer, at: Timestamp) {
    let state = json!({"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": "web", "namespace": "shop"},
            "spec": {"maxReplicas": 9, "minReplicas": 2,
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
                "behavior": {"scaleDown": {"stabilizationWindowSeconds": 60}},
                "metrics": [{"type": "Resource", "resource": {"name": "cpu",
                    "target": {"type": "Utilization", "averageUtilization": 50}}}]}},
        {"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "web", "namespace": "shop"},
            "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}}}]});
    let options = Options {
        namespace: Some("shop".to_owned()),
        ..Options::default()
    };
    let input = kubectl_hpa::saved::read(&state.to_string(), &options, at).expect("a state");
    let sets = found
        .series
        .iter()
        .filter_map(|own| own.labels.get("owner_name"));
    let sets: Vec<String> = sets.map(str::to_owned).collect();
    let kinds = [
        Sampled::Pods,
        Sampled::Usage,
        Sampled::Target,
        Sampled::Hpa,
        Sampled::Controller,
    ];
    let answers = kinds.map(|kind| (kind, found.clone()));
    let history = History::read(&input.snapshot.hpa, &sets, &answers);
    match rewind(input, &history, at) {
        Ok(input) => {
            let text = to_json(&[&input], &[]).expect("a state");
            let back = kubectl_hpa::saved::read(&text, &options, at).expect("what was saved");
            let (one, other) = (Pass::run(input), Pass::run(back));
            assert_eq!(one.decision, other.decision);
            assert_eq!(one.outlook, other.outlook);
        }
        Err(e) => assert_told(&e),
    }
}

/// Any text: on a screen it is harmless, and JSON and YAML preserve it.
pub fn text(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    for ascii in [false, true] {
        let shown = clean(&text, ascii);
        assert_eq!(clean(&shown, ascii), shown);
        assert!(!shown.contains(char::is_control), "{shown:?}");
        assert!(!ascii || shown.is_ascii(), "{shown:?}");
    }
    let value = json!({"text": text, "list": [text]});
    let json = structured::json(&value).expect("text is JSON");
    assert_harmless(&json);
    assert_eq!(serde_json::from_str::<Value>(&json).expect("JSON"), value);
    let yaml = structured::yaml(&value).expect("text is YAML");
    assert_harmless(&yaml);
    let back: Value = serde_yaml::from_str(&yaml).unwrap_or_else(|e| panic!("{yaml:?}: {e}"));
    assert_eq!(back, value, "{yaml:?}");
}
