//! What is said of the values at which an answer changes, held against the engine itself: just below
//! and just above each of them it gives the two answers, and nothing in between changes them. The
//! values are put in place by `set_metric` on a fresh copy, not by what the search uses.

#[path = "thresholds/cases.rs"]
mod cases;
mod common;
#[path = "thresholds/shown.rs"]
mod shown;
// It makes more than is needed here.
#[allow(dead_code)]
#[path = "properties/scenario.rs"]
mod scenario;

use std::cell::RefCell;
use std::collections::BTreeMap;

use kubectl_hpa::engine::decision::{Because, Decision, MetricResult, Proposal, Step};
use kubectl_hpa::engine::{range, reconcile};
use kubectl_hpa::memory::Remembered;
use kubectl_hpa::snapshot::Snapshot;
use kubectl_hpa::whatif::overrides::set_metric;
use kubectl_hpa::whatif::thresholds::{Band, Changes, Effect, Found, Reached, Unit, thresholds};
use kubectl_hpa::whatif::value::Value;
use proptest::prelude::*;
use proptest::test_runner::{TestCaseResult, TestRunner};
use scenario::{Scenario, scenario};

#[test]
fn the_engine_gives_the_answers_on_both_sides() {
    let seen = RefCell::new(BTreeMap::new());
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    let inputs = (scenario(), any::<u64>(), any::<bool>());
    let held = TestRunner::new(config).run(&inputs, |(scenario, dice, forget)| {
        holds(&scenario, &mut Dice(dice), forget, &mut seen.borrow_mut())
    });
    if let Err(e) = held {
        panic!("{e}");
    }
    // Without this, it might hold because nothing was ever found.
    let seen = seen.into_inner();
    println!("{seen:?}");
    for bands in ["Removes Keeps Adds ", "Keeps Adds ", "Removes Keeps ", "Adds "] {
        assert!(seen.contains_key(bands), "never found: {bands}; but {seen:?}");
    }
}

fn holds(
    scenario: &Scenario,
    dice: &mut Dice,
    forget: bool,
    seen: &mut BTreeMap<String, usize>,
) -> TestCaseResult {
    let mut input = common::read(&scenario.text()).map_err(|e| TestCaseError::fail(e.message))?;
    if forget {
        input.stated_memory = None;
    }
    let snapshot = &input.snapshot;
    let remembered = Remembered::of(&input);
    let decision = reconcile(snapshot, &remembered.likely);
    let curve = dice.below(snapshot.hpa.spec.metrics.len().max(1) as i64) as usize;
    for found in thresholds(snapshot, &remembered, &decision, Some(curve)) {
        let sort = match &found.found {
            Found::Nothing { error } => error.split(':').next().unwrap_or_default().to_owned(),
            Found::Changes(changes) => {
                let at = |value| at(snapshot, &remembered, &decision, found.index, changes, value);
                tell_the_truth(snapshot, changes, &at, dice)?;
                changes.bands.iter().map(|band| format!("{:?} ", band.effect)).collect()
            }
        };
        *seen.entry(sort).or_default() += 1;
    }
    Ok(())
}

/// The pass with a metric at a value, and what else may come of it.
struct Pass {
    proposal: Option<Proposal>,
    replicas: i32,
    least: i32,
    most: i32,
}

fn at(
    snapshot: &Snapshot,
    remembered: &Remembered,
    decision: &Decision,
    index: usize,
    changes: &Changes,
    value: i64,
) -> Pass {
    let value = match changes.unit {
        Unit::Percent => format!("{value}%").parse().expect("a share"),
        Unit::MilliPerPod | Unit::Milli => Value::Amount(value),
    };
    let mut changed = snapshot.clone();
    set_metric(&mut changed, index, &value, decision).expect("a value that can be set");
    let specs = &snapshot.hpa.spec.metrics;
    for place in 0..specs.len() {
        let asked = |place: usize| {
            let spec = &specs[place];
            let object = spec.object.as_ref().map(|object| &object.described_object);
            (&spec.type_, object, spec.identifier().map(|it| (&it.name, spec.selector())))
        };
        if specs[place].identifier().is_some() && asked(place) == asked(index) {
            changed.metrics[place] = changed.metrics[index].clone();
        }
    }
    let decision = reconcile(&changed, &remembered.likely);
    let proposal = decision.trace.iter().find_map(|step| match step {
        Step::ComputeMetric(step) if step.index == index => match &step.result {
            MetricResult::Proposal(proposal) => Some(proposal.clone()),
            MetricResult::Error(_) => None,
        },
        _ => None,
    });
    let range = range(&changed, remembered, &decision).expect("a scale");
    let replicas = decision.replicas_after().expect("a scale");
    Pass { proposal, replicas, least: range.min, most: range.max }
}

fn tell_the_truth(
    snapshot: &Snapshot,
    changes: &Changes,
    at: &dyn Fn(i64) -> Pass,
    dice: &mut Dice,
) -> TestCaseResult {
    let current = snapshot.scale.as_ref().expect("a scale").spec_replicas;
    let effect = |replicas: i32| match replicas.cmp(&current) {
        std::cmp::Ordering::Less => Effect::Removes,
        std::cmp::Ordering::Equal => Effect::Keeps,
        std::cmp::Ordering::Greater => Effect::Adds,
    };
    let end = changes.up_to;
    let mut next = 0;
    let mut last = None;
    for Band { span, effect: said, certain } in &changes.bands {
        prop_assert!(span.from == next && span.from <= span.to, "{:?}", changes.bands);
        prop_assert_ne!(last, Some(said), "two bands with the same effect");
        next = span.to + 1;
        last = Some(said);
        for value in dice.between(span.from, span.to) {
            let pass = at(value);
            prop_assert_eq!(effect(pass.replicas), *said, "at {}: {:?}", value, changes);
            if *certain {
                prop_assert_eq!(effect(pass.least), *said, "at {} at least", value);
                prop_assert_eq!(effect(pass.most), *said, "at {} at most", value);
            }
        }
    }
    prop_assert_eq!(next, end + 1);

    let tolerated = |value: i64| {
        at(value).proposal.is_some_and(|proposal| {
            let of =
                [Because::WithinTolerance, Because::FilledWithinTolerance, Because::DirectionFlips];
            of.contains(&proposal.because)
        })
    };
    if let Some(span) = changes.tolerance {
        for value in dice.between(span.from, span.to) {
            prop_assert!(tolerated(value), "{value}: {changes:?}");
        }
        for value in dice.between(0, span.from - 1) {
            prop_assert!(!tolerated(value), "{value}: {changes:?}");
        }
        for value in dice.between(span.to + 1, end) {
            prop_assert!(!tolerated(value), "{value}: {changes:?}");
        }
    } else {
        for value in dice.between(0, end) {
            prop_assert!(!tolerated(value), "{value}: {changes:?}");
        }
    }

    let asks = |value: i64| at(value).proposal.map(|proposal| proposal.replicas);
    let Reached { replicas: max, proposed, met } = changes.max;
    let asked = |value: i64| asks(value).is_some_and(|asked| asked >= max);
    first_is(proposed, end, &asked, dice)?;
    first_is(met, end, &|value| at(value).replicas == max, dice)?;
    let Reached { replicas: min, proposed, met } = changes.min;
    let asked = |value: i64| asks(value).is_some_and(|asked| asked <= min);
    last_is(proposed, end, &asked, dice)?;
    last_is(met, end, &|value| at(value).replicas == min, dice)?;

    for (value, said) in [(0, &changes.lowest), (end, &changes.highest)] {
        prop_assert_eq!(asks(value), said.proposal);
        prop_assert_eq!(at(value).replicas, said.replicas);
    }

    let Some(curve) = &changes.curve else { return Ok(()) };
    prop_assert_eq!(curve.steps[0].from, 0);
    let whole = max < 1000;
    let asks = |value: i64| asks(value).map(|asked| asked.min(max.saturating_add(1)));
    for (place, step) in curve.steps.iter().enumerate() {
        let to = curve.steps.get(place + 1).map_or(curve.span.to, |next| next.from - 1);
        let values = if whole { dice.between(step.from, to) } else { vec![step.from] };
        for value in values {
            prop_assert_eq!(asks(value), step.proposal, "at {}: {:?}", value, curve);
            prop_assert_eq!(at(value).replicas, step.replicas, "at {}: {:?}", value, curve);
        }
    }
    Ok(())
}

/// A value is the first of those up to the end with a quality.
fn first_is(
    said: Option<i64>,
    end: i64,
    has: &dyn Fn(i64) -> bool,
    dice: &mut Dice,
) -> TestCaseResult {
    prop_assert!(said.is_none_or(has), "{said:?} is none");
    for value in dice.between(0, said.unwrap_or(end + 1) - 1) {
        prop_assert!(!has(value), "{value} is, before {said:?}");
    }
    Ok(())
}

/// The same from the end on.
fn last_is(
    said: Option<i64>,
    end: i64,
    has: &dyn Fn(i64) -> bool,
    dice: &mut Dice,
) -> TestCaseResult {
    prop_assert!(said.is_none_or(has), "{said:?} is none");
    for value in dice.between(said.unwrap_or(-1) + 1, end) {
        prop_assert!(!has(value), "{value} is, after {said:?}");
    }
    Ok(())
}

/// Numbers that look random (Knuth's generator for MMIX).
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: i64) -> i64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 1) % end.unsigned_abs().max(1)) as i64
    }

    /// The ends of a span, and some values of it at every scale; none where it is empty.
    fn between(&mut self, from: i64, to: i64) -> Vec<i64> {
        if from > to {
            return Vec::new();
        }
        let width = to - from;
        let near = 1i64 << self.below(62);
        let offsets = [0, 1, self.below(width), self.below(width.min(near)), width - 1, width];
        let far = offsets.map(|offset| from + offset.clamp(0, width));
        let mut values = far.to_vec();
        values.push(to - self.below(width.min(near)));
        values
    }
}
