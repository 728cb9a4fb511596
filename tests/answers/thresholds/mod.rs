//! The reported values at which an answer changes, checked against the engine itself: just below
//! and just above each of them it gives the two answers, and nothing in between changes them. The
//! values are set with `set_metric` on a fresh copy, not with what the search uses.

mod cases;
use crate::common;
mod shown;
// It has more than is needed here.
#[allow(dead_code)]
use crate::common::scenario;
use common::build;

use std::collections::BTreeSet;

use kubectl_hpa::engine::decision::{Because, MetricResult, Proposal, Step};
use kubectl_hpa::engine::reconcile;
use kubectl_hpa::memory::Remembered;
use kubectl_hpa::outlook::range;
use kubectl_hpa::pass::Pass;
use kubectl_hpa::snapshot::Snapshot;
use kubectl_hpa::snapshot::input::Input;
use kubectl_hpa::whatif::overrides::set_metric;
use kubectl_hpa::whatif::thresholds::{
    Ask, Asks, Band, Changes, Effect, MetricUnit, Reached, ThresholdValues, thresholds,
};
use kubectl_hpa::whatif::value::AssumedValue;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{TestCaseResult, TestRunner};
use scenario::{Scenario, scenario};
use serde_json::json;

#[test]
fn the_engine_gives_the_answers_on_both_sides() {
    gives_the_answers_on_both_sides(40);
}

#[test]
#[ignore = "takes minutes: cargo test --release --test answers thresholds -- --ignored"]
fn the_engine_gives_the_answers_on_both_sides_long() {
    gives_the_answers_on_both_sides(20_000);
}

fn gives_the_answers_on_both_sides(cases: u32) {
    let config = ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let inputs = (scenario(), any::<u64>(), any::<bool>());
    let held = TestRunner::new(config).run(&inputs, |(scenario, dice, forget)| {
        holds(&scenario, &mut Dice(dice), forget)
    });
    if let Err(e) = held {
        panic!("{e}");
    }
}

/// Without this, the above might hold because nothing is ever found.
#[test]
fn the_scenarios_have_all_sorts_of_thresholds() {
    const SCENARIOS: usize = 800;
    let mut runner = TestRunner::deterministic();
    let mut seen = BTreeSet::new();
    let missing = |seen: &BTreeSet<String>| {
        SORTS
            .into_iter()
            .filter(|sort| !seen.contains(*sort))
            .collect::<Vec<_>>()
    };
    for place in 0..SCENARIOS {
        if missing(&seen).is_empty() {
            return;
        }
        let scenario = scenario().new_tree(&mut runner).expect("a scenario");
        let input = input(&scenario.current(), place % 2 == 0);
        for (_, changes) in search(&input, None).1 {
            let bands = changes.bands.iter();
            seen.insert(
                bands
                    .map(|band| format!("{:?}", band.effect))
                    .collect::<Vec<_>>()
                    .join(" "),
            );
            let open = changes.bands.iter().any(|band| !band.certain);
            seen.extend(open.then(|| "not certain".to_owned()));
            let removes = changes
                .bands
                .iter()
                .any(|band| band.effect == Effect::Removes);
            let fewer = changes.asks.iter().any(|asks| asks.asks == Ask::Fewer);
            seen.extend((fewer && !removes).then(|| "fewer, but held".to_owned()));
        }
    }
    panic!("never found: {:?}; but {seen:?}", missing(&seen));
}

/// With that many replicas, an unready pod keeps them until the metric asks for more, and beyond the largest
/// integer the overflow keeps them again.
#[test]
fn more_is_found_below_the_largest_integer() {
    const MANY: i32 = 1 << 30;
    let cpu = build::resource("cpu", &build::average("1m"));
    let unready = json!({"status": {"startTime": null, "conditions": []}});
    let input = common::read(&build::list([
        build::state(&json!({})),
        build::hpa(&json!({"maxReplicas": MANY, "metrics": [cpu]})),
        build::scale(MANY),
        build::with(build::pod("web-0"), &unready),
        build::pod("web-1"),
    ]))
    .expect("an input");
    let changes = &search(&input, None).1[0].1;
    let asks = changes
        .asks
        .iter()
        .map(|it| (it.span.from, it.span.to, it.asks));
    // The usage of one pod, halved without a remainder, times two pods.
    let more = i64::from(MANY) + 2;
    assert_eq!(
        asks.collect::<Vec<_>>(),
        [
            (0, 0, Ask::Fewer),
            (1, more - 1, Ask::Same),
            (more, i32::MAX.into(), Ask::More)
        ],
    );
    holds_for(&input, &mut Dice(0)).expect("what the engine says");
}

/// While a pod goes, the metric proposes the three that there still are, which is more than the bound, wherever
/// it is on target.
#[test]
fn the_tolerance_ends_above_a_proposal_beyond_the_bound() {
    let queue = build::external("queue", &build::average("30"));
    let scale = build::with(build::scale(2), &json!({"status": {"replicas": 3}}));
    let input = common::read(&build::list([
        build::state(&json!({})),
        build::hpa(&json!({"maxReplicas": 2, "metrics": [queue]})),
        scale,
        build::queue(&["50"]),
    ]))
    .expect("an input");
    let changes = &search(&input, None).1[0].1;
    let tolerance = changes.tolerance.map(|span| (span.from, span.to));
    assert_eq!(tolerance, Some((81_000, 99_000)));
    holds_for(&input, &mut Dice(0)).expect("what the engine says");
}

/// The kinds of thresholds that a metric may have: the effects by rising values, and what may be added.
const SORTS: [&str; 6] = [
    "Removes Keeps Adds",
    "Keeps Adds",
    "Removes Keeps",
    "Adds",
    "not certain",
    "fewer, but held",
];

/// Reads a scenario, with or without its memory.
fn input(scenario: &Scenario, forget: bool) -> Input {
    let mut input = common::read(&scenario.text()).expect("a scenario is read");
    if forget {
        input.stated_memory = None;
    }
    input
}

/// Returns the metrics whose thresholds can be determined, by index, with the memory.
fn search(input: &Input, curve: Option<usize>) -> (Remembered, Vec<(usize, Changes)>) {
    let pass = Pass::run(input.clone());
    let all = thresholds(&pass, curve).into_iter();
    let found = all.filter_map(|of| match of.found {
        ThresholdValues::Changes(changes) => Some((of.index, *changes)),
        ThresholdValues::Nothing { .. } => None,
    });
    let found = found.collect();
    (pass.remembered, found)
}

fn holds(scenario: &Scenario, dice: &mut Dice, forget: bool) -> TestCaseResult {
    holds_for(&input(scenario, forget), dice)
}

fn holds_for(input: &Input, dice: &mut Dice) -> TestCaseResult {
    let snapshot = &input.snapshot;
    let curve = dice.below(snapshot.hpa.spec.metrics.len() as i64) as usize;
    let (remembered, found) = search(input, Some(curve));
    for (index, changes) in found {
        let at = |value| at(snapshot, &remembered, index, &changes, value);
        tell_the_truth(snapshot, &changes, &at, dice)?;
    }
    Ok(())
}

/// The pass with a metric at a value, and its other possible results.
struct At {
    proposal: Option<Proposal>,
    replicas: i32,
    least: i32,
    most: i32,
}

fn at(
    snapshot: &Snapshot,
    remembered: &Remembered,
    index: usize,
    changes: &Changes,
    value: i64,
) -> At {
    let value = match changes.unit {
        MetricUnit::Percent => format!("{value}%").parse().expect("a share"),
        MetricUnit::MilliPerPod | MetricUnit::Milli => AssumedValue::Amount(value),
    };
    let mut changed = snapshot.clone();
    let specs = &snapshot.hpa.spec.metrics;
    set_metric(&mut changed, index, &specs[index], &value).expect("a value that can be set");
    for place in 0..specs.len() {
        let asked = |place: usize| {
            let spec = &specs[place];
            let object = spec.object.as_ref().map(|object| &object.described_object);
            (
                &spec.type_,
                object,
                spec.name(),
                spec.container(),
                spec.selector(),
            )
        };
        if asked(place) == asked(index) {
            changed.metrics[place] = changed.metrics[index].clone();
        }
    }
    let decision = reconcile(&changed, &remembered.likely);
    let proposal = decision.trace.iter().find_map(|step| match step {
        Step::ComputeMetric(step) if step.index == index => match &step.result {
            MetricResult::Proposal(proposal) => Some(proposal.clone()),
            MetricResult::Error(_) | MetricResult::Unread(_) => None,
        },
        _ => None,
    });
    let range = range(&changed, remembered, &decision).expect("a scale");
    let replicas = decision.replicas_after().expect("a scale");
    At {
        proposal,
        replicas,
        least: range.min,
        most: range.max,
    }
}

fn tell_the_truth(
    snapshot: &Snapshot,
    changes: &Changes,
    at: &dyn Fn(i64) -> At,
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
    for Band {
        span,
        effect: said,
        certain,
    } in &changes.bands
    {
        prop_assert!(
            span.from == next && span.from <= span.to,
            "{:?}",
            changes.bands
        );
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

    let mut next = 0;
    let mut last = None;
    for Asks { span, asks: said } in &changes.asks {
        prop_assert!(
            span.from == next && span.from <= span.to,
            "{:?}",
            changes.asks
        );
        prop_assert_ne!(last, Some(said), "two spans that ask for the same");
        next = span.to + 1;
        last = Some(said);
        for value in dice.between(span.from, span.to) {
            let asked = at(value)
                .proposal
                .map(|proposal| proposal.replicas.cmp(&current));
            let asked = match asked {
                None => Ask::Nothing,
                Some(std::cmp::Ordering::Less) => Ask::Fewer,
                Some(std::cmp::Ordering::Equal) => Ask::Same,
                Some(std::cmp::Ordering::Greater) => Ask::More,
            };
            prop_assert_eq!(asked, *said, "at {}: {:?}", value, changes);
        }
    }
    prop_assert_eq!(next, end + 1);

    let tolerated = |value: i64| {
        at(value).proposal.is_some_and(|proposal| {
            let of = [
                Because::WithinTolerance,
                Because::FilledWithinTolerance,
                Because::DirectionFlips,
            ];
            of.contains(&proposal.because)
        })
    };
    // At exactly its target, a metric may propose fewer: pods that lack a value then count as using nothing.
    let is_exception = |value: i64| {
        let of_value = |asks: &&Asks| (asks.span.from..=asks.span.to).contains(&value);
        let asks = changes.asks.iter().find(of_value);
        asks.is_some_and(|asks| asks.asks == Ask::Fewer && asks.span.from == asks.span.to)
    };
    if let Some(span) = changes.tolerance {
        for value in dice.between(span.from, span.to) {
            let holds = tolerated(value) || is_exception(value);
            prop_assert!(holds, "{value}: {changes:?}");
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
    let Reached {
        replicas: max,
        proposed,
        met,
    } = changes.max;
    let asked = |value: i64| asks(value).is_some_and(|asked| asked >= max);
    first_is(proposed, end, &asked, dice)?;
    first_is(met, end, &|value| at(value).replicas == max, dice)?;
    let Reached {
        replicas: min,
        proposed,
        met,
    } = changes.min;
    let asked = |value: i64| asks(value).is_some_and(|asked| asked <= min);
    last_is(proposed, end, &asked, dice)?;
    last_is(met, end, &|value| at(value).replicas == min, dice)?;

    for (value, said) in [(0, &changes.lowest), (end, &changes.highest)] {
        prop_assert_eq!(asks(value), said.proposal);
        prop_assert_eq!(at(value).replicas, said.replicas);
    }

    let Some(curve) = &changes.curve else {
        return Ok(());
    };
    prop_assert_eq!(curve.steps[0].from, 0);
    let whole = max < 1000;
    let asks = |value: i64| asks(value).map(|asked| asked.min(max.saturating_add(1)));
    for (place, step) in curve.steps.iter().enumerate() {
        let answer = |value: i64| (asks(value), at(value).replicas);
        prop_assert!(
            place == 0 || answer(step.from - 1) != answer(step.from),
            "{:?}",
            curve
        );
        let to = curve
            .steps
            .get(place + 1)
            .map_or(curve.span.to, |next| next.from - 1);
        let values = if whole {
            dice.between(step.from, to)
        } else {
            vec![step.from]
        };
        for value in values {
            prop_assert_eq!(asks(value), step.proposal, "at {}: {:?}", value, curve);
            prop_assert_eq!(
                at(value).replicas,
                step.replicas,
                "at {}: {:?}",
                value,
                curve
            );
        }
    }
    Ok(())
}

/// Asserts that a value is the first one up to the end with a property.
fn first_is(
    said: Option<i64>,
    end: i64,
    has: &dyn Fn(i64) -> bool,
    dice: &mut Dice,
) -> TestCaseResult {
    prop_assert!(said.is_none_or(has), "{said:?} does not do so");
    for value in dice.between(0, said.unwrap_or(end + 1) - 1) {
        prop_assert!(!has(value), "{value} is, before {said:?}");
    }
    Ok(())
}

/// The same, from the end.
fn last_is(
    said: Option<i64>,
    end: i64,
    has: &dyn Fn(i64) -> bool,
    dice: &mut Dice,
) -> TestCaseResult {
    prop_assert!(said.is_none_or(has), "{said:?} does not do so");
    for value in dice.between(said.unwrap_or(-1) + 1, end) {
        prop_assert!(!has(value), "{value} is, after {said:?}");
    }
    Ok(())
}

/// Pseudorandom numbers (Knuth's generator for MMIX).
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: i64) -> i64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 1) % end.unsigned_abs().max(1)) as i64
    }

    /// Returns the ends of a span, and some of its values at every scale; nothing if it is empty.
    fn between(&mut self, from: i64, to: i64) -> Vec<i64> {
        if from > to {
            return Vec::new();
        }
        let width = to - from;
        let near = 1i64 << self.below(62);
        let offsets = [
            0,
            1,
            self.below(width),
            self.below(width.min(near)),
            width - 1,
            width,
        ];
        let far = offsets.map(|offset| from + offset.clamp(0, width));
        let mut values = far.to_vec();
        values.push(to - self.below(width.min(near)));
        values
    }
}
