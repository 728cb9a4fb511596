//! What is certain about the recommendations, by hand. Unless a test says otherwise, the status is of second 100,
//! now is 101, the leader has led since 0, and the next pass runs from 114 to 121.

use std::ops::RangeInclusive;

use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use super::{HeldRecommendation, held, holding, limited, survived};
use crate::apimachinery::json::SecondsTime;
use crate::memory::ground;
use crate::memory::holds::{ends, extremes};
use crate::memory::known::Known;
use crate::memory::sighting::{Sighting, Standing};
use crate::memory::states::tests::{above, event, led, of, pass, rescale, second, state};
use crate::memory::{Ends, Extreme};
use crate::snapshot::evidence::{Event, Evidence, SeenPass};
use crate::snapshot::hpa::Hpa;
use crate::snapshot::memory::Recommendation;

const ANY: i32 = i32::MAX;

fn since(time: Timestamp) -> i64 {
    let millis = time.duration_since(second(0)).as_millis();
    millis.div_euclid(1000) as i64
}

/// Returns an HPA with these stabilization windows up and down; without any, it has no `behavior`.
fn hpa(status: i64, windows: Option<(i32, i32)>) -> Hpa {
    let mut hpa = state((status, 50, 8, None));
    if let Some((up, down)) = windows {
        let window = |seconds: i32| json!({"stabilizationWindowSeconds": seconds});
        let behavior = json!({"scaleUp": window(up), "scaleDown": window(down)});
        hpa.spec.behavior = serde_json::from_value(behavior).unwrap();
    }
    hpa
}

fn known<'k>(hpa: &'k Hpa, evidence: &'k Evidence, now: i64) -> Known<'k> {
    Known::new(hpa, &hpa.spec, 8, &of("v1.36"), second(now), evidence)
}

/// A status that recommended 4 to 6, when the highest of all was 9 at most and the lowest 2 at least.
fn sighting() -> Sighting {
    Sighting {
        proposal: 4..=6,
        likely: None,
        counted: None,
        at_most: Some(9),
        at_least: Some(2),
        held_down_by: None,
        held_up_by: None,
        standing: Standing::Unknown,
        reason: "ReadyForNewScale".to_owned(),
    }
}

/// What is held: the bounds of the replicas, since when, and the most likely replicas and time.
type Told = ((i32, i32), i64, (i32, i64));

fn told(held: &HeldRecommendation) -> Told {
    let Recommendation { replicas, time } = held.likely;
    (
        held.replicas.clone().into_inner(),
        since(held.earliest),
        (replicas, since(time)),
    )
}

/// Returns what events show, without a sighting.
fn by_events(hpa: &Hpa, events: Vec<Event>, acquired: i64) -> Vec<Told> {
    let evidence = Evidence {
        events,
        ..led(acquired)
    };
    let known = known(hpa, &evidence, 101);
    let mut grounds = Vec::new();
    let found: Vec<Told> = held(&known, None, &mut grounds).iter().map(told).collect();
    let rescales = found.iter().map(|&((at_least, _), _, (_, time))| {
        let time = SecondsTime(second(time));
        ground::recommendations(format!("at least {at_least} at {time}"), ground::BY_EVENTS)
    });
    assert_eq!(grounds, rescales.collect::<Vec<_>>());
    found
}

/// With `behavior`, a rescale above a target follows a recommendation of at least its size.
#[test]
fn a_rescale_shows_a_recommendation() {
    let hpa = |down| hpa(100, Some((0, down)));
    let with = |size, time, down| by_events(&hpa(down), vec![above(size, time)], 0);
    assert_eq!(with(6, 85, 300), [((6, ANY), 84, (6, 85))]);
    // A window of 30 s begins at 71.
    assert_eq!(with(6, 71, 30), [((6, ANY), 70, (6, 71))]);
    assert_eq!(with(6, 70, 30), []);
    // The spec of 50 may have been written at 51, and the rescale of 52 made at 51.
    assert_eq!(with(6, 53, 300), [((6, ANY), 52, (6, 53))]);
    assert_eq!(with(6, 52, 300), []);
    // The window up counts as well.
    let up = self::hpa(100, Some((300, 0)));
    assert_eq!(by_events(&up, vec![above(6, 85)], 0).len(), 1);
    // Other reasons say nothing, nor what the minimum requires.
    let other = rescale(6, "All metrics below target", 85);
    assert_eq!(by_events(&hpa(300), vec![other], 0), []);
    let mut at_least_5 = hpa(300);
    at_least_5.spec.min_replicas = Some(5);
    assert_eq!(by_events(&at_least_5, vec![above(5, 85)], 0), []);
    assert_eq!(by_events(&at_least_5, vec![above(6, 85)], 0).len(), 1);
    assert_eq!(with(1, 85, 300), [], "the minimum is 1 by default");
    assert_eq!(with(2, 85, 300).len(), 1);
}

/// A controller that started after it used the count then, which was no lower than the lowest since.
#[test]
fn after_a_restart_the_count_is_the_recommendation() {
    let low = |events, acquired, status: i32| {
        let mut hpa = hpa(100, Some((0, 300)));
        hpa.status.current_replicas = status;
        let found = by_events(&hpa, events, acquired);
        found
            .iter()
            .map(|&((low, _), _, _)| low)
            .collect::<Vec<_>>()
    };
    assert_eq!(low(vec![above(9, 85)], 83, 8), [9]);
    assert_eq!(low(vec![above(9, 85)], 84, 8), [8], "now there are 8");
    assert_eq!(
        low(vec![above(9, 85)], 84, 7),
        [7],
        "before the last pass there were 7"
    );
    assert_eq!(low(vec![above(3, 85)], 84, 8), [3]);
    let fell = rescale(5, "All metrics below target", 90);
    assert_eq!(low(vec![above(9, 85), fell], 84, 8), [5]);
}

/// Without `behavior`, an older recommendation may have raised the count, unless the pass before could have
/// followed it: the rescale from 4 to 6 at 85 shows that 6 was asked for.
#[test]
fn without_behavior_a_rescale_shows_one_after_an_unlimited_pass() {
    struct Case {
        before: Option<Event>,
        after: Event,
        others: Vec<Event>,
        able: (&'static str, i64),
        limited: (&'static str, i64),
        spec: i64,
    }
    let found = |change: &dyn Fn(&mut Case)| {
        let mut case = Case {
            before: Some(above(4, 70)),
            after: above(6, 85),
            others: Vec::new(),
            able: ("True", 60),
            limited: ("False", 60),
            spec: 50,
        };
        change(&mut case);
        let mut hpa = hpa(100, None);
        hpa.written.spec = Some(second(case.spec));
        for (place, (status, since)) in [(0, case.able), (2, case.limited)] {
            let condition = &mut hpa.status.conditions[place];
            condition.status = status.to_owned();
            condition.last_transition_time = Some(second(since));
        }
        let events = case
            .before
            .into_iter()
            .chain([case.after])
            .chain(case.others)
            .collect();
        let found = by_events(&hpa, events, 0);
        assert!(found.len() <= 1, "{found:?}");
        found.first().map(|it| it.0.0)
    };
    assert_eq!(found(&|_| ()), Some(6));
    assert_eq!(found(&|it| it.before = None), None);
    // It had fewer replicas, and its direction was its own.
    assert_eq!(found(&|it| it.before = Some(above(5, 70))), Some(6));
    assert_eq!(found(&|it| it.before = Some(above(6, 70))), None);
    assert_eq!(found(&|it| it.before = Some(above(7, 70))), None);
    let below =
        |reason: &'static str| move |it: &mut Case| it.before = Some(rescale(4, reason, 70));
    assert_eq!(found(&below("All metrics below target")), Some(6));
    assert_eq!(
        found(&below("Current number of replicas above Spec.MaxReplicas")),
        None
    );
    assert_eq!(
        found(&below("Current number of replicas below Spec.MinReplicas")),
        None
    );
    // No rescale is hidden in between.
    let merged = |count| {
        move |it: &mut Case| {
            it.after.message = format!("(combined from similar events): {}", it.after.message);
            (it.after.first, it.after.count) = (Some(second(80)), count);
        }
    };
    assert_eq!(found(&merged(1)), Some(6));
    assert_eq!(found(&merged(2)), None);
    // Every pass since was able to scale: the condition says so, or an event would report another.
    let failed = |time| event("u", "FailedRescale", "New size: 6", time);
    let many = || (0..30).map(|time| event("u", "Other", "", time)).collect();
    for (able, others, low) in [
        (("True", 70), many(), Some(6)),
        (("True", 71), Vec::new(), Some(6)),
        (("False", 60), Vec::new(), Some(6)),
        (("True", 71), vec![failed(68)], Some(6)),
        (("True", 71), vec![failed(69)], None),
        (
            ("True", 71),
            vec![event("u", "FailedGetScale", "", 69)],
            Some(6),
        ),
        (("True", 71), many(), None),
    ] {
        let case = format!("{able:?} {}", others.len());
        let given = |it: &mut Case| (it.able, it.others) = (able, others.clone());
        assert_eq!(found(&given), low, "{case}");
    }
    // The spec is older than both; both times may be a second off.
    assert_eq!(found(&|it| it.spec = 67), Some(6));
    assert_eq!(found(&|it| it.spec = 68), None);
    // Nothing has limited the rescale, or it was the first that something limited.
    assert_eq!(found(&|it| it.limited = ("False", 83)), Some(6));
    assert_eq!(found(&|it| it.limited = ("False", 84)), None);
    assert_eq!(found(&|it| it.limited = ("True", 60)), None);
    for time in [84, 85, 86] {
        assert_eq!(found(&|it| it.limited = ("True", time)), Some(7), "{time}");
    }
    assert_eq!(found(&|it| it.limited = ("True", 83)), None);
    assert_eq!(found(&|it| it.limited = ("True", 87)), None);
    assert_eq!(found(&|it| it.limited = ("Unknown", 85)), None);
    let limited = |it: &mut Case| it.limited = ("True", 85);
    assert_eq!(
        found(&|it| (limited(it), it.before = Some(above(4, 83))).0),
        Some(7)
    );
    assert_eq!(
        found(&|it| (limited(it), it.before = Some(above(4, 84))).0),
        None
    );
    assert_eq!(
        found(&|it| (limited(it), it.before = Some(above(7, 70))).0),
        None
    );
    let huge = |it: &mut Case| (limited(it), it.after = above(ANY, 85)).0;
    assert_eq!(found(&huge), Some(ANY));
}

/// An older recommendation cannot have raised the count if a pass in between would have followed it further than
/// it did: one that scaled to less than its limits, or one that did not scale.
#[test]
fn without_behavior_a_pass_that_followed_all_others_leaves_nothing_higher() {
    let last = |list: &[(i32, i64)], reason: &str, max: i32, active: i64| {
        let mut hpa = hpa(100, None);
        hpa.spec.max_replicas = max;
        for (place, status, since) in [(0, "True", 0), (1, "True", active), (2, "True", 60)] {
            let condition = &mut hpa.status.conditions[place];
            condition.status = status.to_owned();
            condition.last_transition_time = Some(second(since));
        }
        let rescale = |place: usize, (size, time): (i32, i64)| {
            if place + 1 == list.len() {
                rescale(size, reason, time)
            } else {
                above(size, time)
            }
        };
        let events = list
            .iter()
            .enumerate()
            .map(|(place, it)| rescale(place, *it))
            .collect();
        by_events(&hpa, events, 0)
            .last()
            .filter(|it| it.0.0 == 16)
            .map(|it| it.1)
    };
    let found = |list: &[(i32, i64)], max, active| last(list, "", max, active);
    // From 8 to 16 the limit may have stopped what 4 to 8 had left; 3 to 4 was stopped by nothing.
    assert_eq!(
        found(&[(3, 53), (4, 54), (8, 69), (16, 84)], 20, 53),
        Some(54 + 14)
    );
    assert_eq!(
        found(&[(2, 53), (4, 54), (8, 69), (16, 84)], 20, 53),
        None,
        "4 is the limit"
    );
    assert_eq!(found(&[(3, 53), (7, 54), (14, 69), (16, 84)], 20, 53), None);
    assert_eq!(
        found(&[(6, 53), (7, 54), (14, 69), (16, 84)], 20, 53),
        Some(54 + 14)
    );
    assert_eq!(
        found(&[(6, 53), (7, 54), (14, 69), (16, 84)], 7, 53),
        None,
        "7 is the maximum"
    );
    // Passes are 20 s apart at most: after the one of 55 another has followed 8 and nothing higher.
    let own = |list: &[(i32, i64)], active| last(list, "cpu above target", 20, active);
    assert_eq!(own(&[(4, 53), (8, 55), (16, 84)], 55), Some(83));
    assert_eq!(
        own(&[(4, 53), (8, 62), (16, 84)], 62),
        None,
        "perhaps none in between"
    );
    assert_eq!(
        own(&[(4, 53), (8, 55), (16, 84)], 56),
        None,
        "it may have had no metrics"
    );
    assert_eq!(
        found(&[(4, 53), (8, 55), (16, 84)], 20, 55),
        None,
        "it is not its own"
    );
    // The count fell, and the reason belongs to an older recommendation.
    assert_eq!(found(&[(4, 53), (17, 55), (16, 84)], 20, 53), None);
}

/// A status of second 100 whose condition `ScalingLimited` changed at 80: only the maximum or the minimum stopped the
/// pass before, or the pass of 80.
#[test]
fn a_limit_that_began_or_ended_shows_what_a_pass_asked_for() {
    struct Case {
        behavior: bool,
        count: i32,
        limited: &'static str,
        scaled: Option<i64>,
        events: Vec<Event>,
        since: i64,
        acquired: i64,
        disabled: Option<&'static str>,
    }
    let found = |change: &dyn Fn(&mut Case)| {
        let mut case = Case {
            behavior: true,
            count: 20,
            limited: "False",
            scaled: None,
            events: Vec::new(),
            since: 38,
            acquired: 0,
            disabled: None,
        };
        change(&mut case);
        let mut hpa = hpa(100, case.behavior.then_some((60, 60)));
        hpa.written.spec = Some(second(0));
        if let Some(behavior) = &mut hpa.spec.behavior {
            let policy = json!([{"type": "Pods", "value": 1, "periodSeconds": 60}]);
            for (name, rules) in [
                ("up", &mut behavior.scale_up),
                ("down", &mut behavior.scale_down),
            ] {
                let rules = rules.as_mut().unwrap();
                rules.policies = serde_json::from_value(policy.clone()).unwrap();
                rules.select_policy = case
                    .disabled
                    .filter(|it| *it == name)
                    .map(|_| "Disabled".to_owned());
            }
        }
        hpa.spec.max_replicas = 20;
        (hpa.status.current_replicas, hpa.status.desired_replicas) = (case.count, case.count);
        hpa.status.last_scale_time = case.scaled.map(second);
        let since = [case.since, case.since, 80];
        for (condition, since) in hpa.status.conditions.iter_mut().zip(since) {
            condition.last_transition_time = Some(second(since));
        }
        hpa.status.conditions[2].status = case.limited.to_owned();
        let evidence = Evidence {
            events: case.events,
            ..led(case.acquired)
        };
        let next = &hpa.spec;
        let known = Known::new(&hpa, next, case.count, &of("v1.36"), second(101), &evidence);
        limited(&known).map(|held| {
            let (range, earliest, (_, likely)) = told(&held);
            (range, earliest, likely)
        })
    };
    let ended = |low, high| Some(((low, high), 59, 64));
    let began = |low, high| Some(((low, high), 79, 80));
    assert_eq!(
        found(&|_| ()),
        ended(21, ANY),
        "the pass before, at 59 to 66"
    );
    assert_eq!(found(&|it| it.limited = "True"), began(21, ANY));
    assert_eq!(found(&|it| it.count = 1), ended(0, 0));
    assert_eq!(
        found(&|it| it.count = 8),
        None,
        "neither the maximum nor the minimum"
    );
    // With `behavior` alone, the proposal itself is beyond the limit.
    assert_eq!(found(&|it| it.behavior = false), None);
    let plain = |it: &mut Case| (it.behavior, it.limited) = (false, "True");
    assert_eq!(found(&plain), began(21, ANY));
    assert_eq!(found(&|it| (plain(it), it.count = 1).0), None);
    // A direction that is disabled stops at every count.
    assert_eq!(
        found(&|it| (it.count, it.disabled) = (8, Some("up"))),
        ended(9, ANY)
    );
    assert_eq!(
        found(&|it| (it.count, it.disabled) = (8, Some("down"))),
        ended(0, 7)
    );
    assert_eq!(
        found(&|it| (it.count, it.disabled) = (i32::MIN, Some("down"))),
        None,
        "no count"
    );
    assert_eq!(
        found(&|it| it.disabled = Some("down")),
        None,
        "or the maximum does"
    );
    // So may a rate limit that counts a rescale; but what scaled up still held it up.
    let scaled = |it: &mut Case| (it.count, it.scaled) = (8, Some(40));
    assert_eq!(found(&scaled), None);
    assert_eq!(
        found(&|it| (scaled(it), it.events = vec![above(8, 40)]).0),
        ended(9, ANY)
    );
    let fell = || vec![rescale(8, "All metrics below target", 40)];
    assert_eq!(found(&|it| (scaled(it), it.events = fell()).0), ended(0, 7));
    assert_eq!(
        found(&|it| it.scaled = Some(57)),
        None,
        "or the pass at 59 has scaled"
    );
    // It was another status before only if all passes have come so far, since before the one at 59.
    assert_eq!(found(&|it| it.since = 39), ended(21, ANY));
    assert_eq!(found(&|it| it.since = 40), None);
    // A controller that has started since remembers the count.
    assert_eq!(found(&|it| it.acquired = 70), ended(20, ANY));
    assert_eq!(found(&|it| (it.count, it.acquired) = (1, 70)), ended(0, 1));
}

/// The last pass was at 99 or later, and what held it back inside its window then.
#[test]
fn what_held_back_the_last_pass_was_in_its_window() {
    let down = Sighting {
        held_down_by: Some(5),
        ..sighting()
    };
    let up = Sighting {
        held_up_by: Some(5),
        ..sighting()
    };
    let both = Sighting {
        held_up_by: Some(5),
        ..down.clone()
    };
    let found = |sighting: &Sighting, seen: &[SeenPass], acquired| {
        let hpa = hpa(100, Some((20, 30)));
        let evidence = Evidence {
            seen: seen.to_vec(),
            ..led(acquired)
        };
        holding(&known(&hpa, &evidence, 101), sighting, &[])
            .map(|it| told(&it))
            .collect::<Vec<_>>()
    };
    assert_eq!(found(&sighting(), &[], 0), []);
    assert_eq!(found(&down, &[], 0), [((5, 9), 69, (5, 84))]);
    assert_eq!(found(&up, &[], 0), [((0, 5), 79, (5, 84))]);
    assert_eq!(
        found(&both, &[], 0),
        [((5, 9), 69, (5, 84)), ((0, 5), 79, (5, 84))]
    );
    let no_bound = Sighting {
        at_most: None,
        ..down.clone()
    };
    assert_eq!(found(&no_bound, &[], 0), [((5, ANY), 69, (5, 84))]);
    // What held it back was beyond its own proposal, which was most likely 6, or 4.
    let likely = |standing, likely, sighting: &Sighting| Sighting {
        standing,
        likely: Some(likely),
        ..sighting.clone()
    };
    for (sighting, want) in [
        (
            likely(Standing::BelowAnother, 6, &down),
            ((5, 9), 69, (7, 84)),
        ),
        (
            likely(Standing::BelowAnother, 3, &down),
            ((5, 9), 69, (5, 84)),
        ),
        (
            likely(Standing::BelowAnother, 20, &down),
            ((5, 9), 69, (9, 84)),
        ),
        (likely(Standing::Unknown, 6, &down), ((5, 9), 69, (5, 84))),
        (
            likely(Standing::AboveAnother, 4, &up),
            ((0, 5), 79, (3, 84)),
        ),
        (
            likely(Standing::AboveAnother, 9, &up),
            ((0, 5), 79, (5, 84)),
        ),
    ] {
        assert_eq!(found(&sighting, &[], 0), [want]);
    }
    // Its controller has had none before it started.
    assert_eq!(found(&down, &[], 90), [((5, 9), 90, (5, 90))]);

    // If all passes since are known, it was one of those that may have asked for 5 to 9.
    let with = |bounds: [(i32, i32); 3]| {
        let [first, second, third] = bounds;
        let passes = [
            pass(first, 50, 75),
            pass(second, 75, 95),
            pass(third, 95, 100),
        ];
        found(&down, &passes, 0)[0]
    };
    let none = (3, 4);
    assert_eq!(
        with([none, (6, 6), none]),
        ((5, 9), 74, (5, 75)),
        "right after it began"
    );
    assert_eq!(with([none, none, (6, 6)]), ((5, 9), 94, (5, 95)));
    assert_eq!(with([none, (6, 6), (6, 6)]), ((5, 9), 74, (5, 95)));
    assert_eq!(
        with([(6, 6), none, none]),
        ((5, 9), 69, (5, 69)),
        "not outside the window"
    );
    assert_eq!(with([none, (0, 5), none]), ((5, 9), 74, (5, 75)));
    assert_eq!(with([none, (9, ANY), none]), ((5, 9), 74, (5, 75)));
    assert_eq!(with([none, (10, 10), none]), ((5, 9), 69, (5, 84)));
    // Most likely the last one that most likely asked for that.
    let likely = |replicas| SeenPass {
        likely: Some(replicas),
        ..pass((3, 9), 75, 95)
    };
    let passes = |one| [pass(none, 50, 75), one, pass((3, 9), 95, 100)];
    assert_eq!(found(&down, &passes(likely(6)), 0), [((5, 9), 74, (5, 80))]);
    assert_eq!(found(&down, &passes(likely(4)), 0), [((5, 9), 74, (5, 95))]);
}

/// A status that was in place from one time to another was confirmed by the passes in between, the last of which
/// was 21 s before its end at the earliest.
#[test]
fn earlier_statuses_show_recommendations() {
    let found = |passes: &[SeenPass], evidence: Evidence, now| {
        let mut hpa = hpa(130, None);
        hpa.status.current_replicas = 7;
        let evidence = Evidence {
            seen: passes.to_vec(),
            ..evidence
        };
        let known = known(&hpa, &evidence, now);
        let mut grounds = Vec::new();
        let found = held(&known, None, &mut grounds)
            .iter()
            .map(told)
            .collect::<Vec<_>>();
        let first = passes.iter().map(|seen| seen.time).min();
        let last = passes.iter().map(|seen| seen.until).max();
        match &grounds[..] {
            [] => assert!(found.is_empty(), "{found:?}"),
            [one] => {
                let [from, to] = [first, last].map(|time| SecondsTime(time.unwrap()));
                let value = format!("{} more, between {from} and {to}", found.len());
                let told = ground::recommendations(value, "earlier states of the HPA");
                assert_eq!(*one, told);
            }
            other => panic!("{other:?}"),
        }
        found
    };
    let one = |time, until| [pass((5, 9), time, until)];
    assert_eq!(found(&one(60, 115), led(0), 131), [((5, 9), 94, (5, 100))]);
    assert_eq!(found(&one(100, 115), led(0), 131), [((5, 9), 99, (5, 100))]);
    let likely = [SeenPass {
        likely: Some(6),
        ..pass((5, 9), 100, 115)
    }];
    assert_eq!(found(&likely, led(0), 131), [((5, 9), 99, (6, 100))]);
    let two = [pass((5, 9), 100, 115), pass((3, 3), 115, 130)];
    assert_eq!(
        found(&two, led(0), 131),
        [((5, 9), 99, (5, 100)), ((3, 3), 114, (3, 115))]
    );
    // Not what bounds nothing, or is of an older spec.
    assert_eq!(found(&[pass((0, ANY), 100, 115)], led(0), 131), []);
    assert_eq!(found(&one(40, 49), led(0), 131), []);

    // A pass whose status was lost may have been in between.
    let lost = |time| {
        let reason = "FailedUpdateStatus".to_owned();
        let events = vec![Event {
            reason,
            ..above(0, time)
        }];
        found(&one(60, 115), Evidence { events, ..led(0) }, 131)
    };
    assert_eq!(lost(58), [((5, 9), 94, (5, 100))]);
    assert_eq!(lost(59), [((5, 9), 59, (5, 100))]);
    assert_eq!(lost(60), [((5, 9), 59, (5, 100))]);

    // A controller that started since, before the last status, used a count that is unknown.
    assert_eq!(found(&one(60, 115), led(93), 131), [((5, 9), 94, (5, 100))]);
    assert_eq!(found(&one(60, 115), led(94), 131), []);
    // If only after it, it used one of 7 and 8.
    assert_eq!(
        found(&one(60, 115), led(132), 133),
        [((5, 9), 94, (5, 100))]
    );
    assert_eq!(
        found(&[pass((9, 9), 60, 115)], led(132), 133),
        [((7, 9), 94, (7, 100))]
    );
    assert_eq!(
        found(&[pass((5, 5), 60, 115)], led(132), 133),
        [((5, 8), 94, (5, 100))]
    );
}

/// A controller that has started since has recommended what its first pass found: one of the counts that the
/// passes since have found, or that the next one finds.
#[test]
fn after_a_restart_one_of_the_counts_since_is_left() {
    let left = |counts: [Option<i32>; 2], since: i64, evidence: Evidence| {
        let [one, other] = counts;
        let seen = |replicas, time, until| SeenPass {
            replicas,
            ..pass((9, 9), time, until)
        };
        let seen = vec![seen(one, 60, 115), seen(other, 115, 130)];
        let mut hpa = hpa(130, None);
        hpa.status.current_replicas = 7;
        let evidence = Evidence { seen, ..evidence };
        let known = known(&hpa, &evidence, 131);
        survived(&known, 9..=9, second(since)).map(RangeInclusive::into_inner)
    };
    for evidence in [led(94), Evidence::default()] {
        assert_eq!(
            left([Some(10), Some(6)], 94, evidence.clone()),
            Some((6, 10))
        );
        assert_eq!(
            left([Some(10), Some(8)], 94, evidence.clone()),
            Some((7, 10))
        );
        assert_eq!(left([Some(10), None], 94, evidence.clone()), None);
        assert_eq!(
            left([Some(10), Some(6)], 58, evidence),
            None,
            "before the first"
        );
    }
    assert_eq!(
        left([Some(10), Some(6)], 94, led(93)),
        Some((9, 9)),
        "no restart since"
    );
}

#[test]
fn the_last_status_shows_its_own() {
    let found = |status: Option<i64>, sighting: &Sighting| {
        let mut hpa = hpa(100, None);
        hpa.written.status = status.map(second);
        let evidence = led(0);
        let mut grounds = Vec::new();
        let held = held(&known(&hpa, &evidence, 110), Some(sighting), &mut grounds);
        let [ground] = &grounds[..] else {
            panic!("{grounds:?}")
        };
        assert_eq!(ground.value, sighting.to_string());
        let (_, written) = ground.source.split_once(", ").unwrap();
        (
            held.iter().map(told).collect::<Vec<_>>(),
            written.to_owned(),
        )
    };
    let ago = |text: &str| format!("status written {text} ago");
    assert_eq!(
        found(Some(100), &sighting()),
        (vec![((4, 6), 101, (4, 100))], ago("10s"))
    );
    assert_eq!(
        found(Some(80), &sighting()),
        (vec![((4, 6), 110, (4, 95))], ago("30s"))
    );
    assert_eq!(
        found(None, &sighting()),
        (vec![((4, 6), 110, (4, 94))], "time unknown".to_owned())
    );
    let likely = Sighting {
        likely: Some(5),
        ..sighting()
    };
    assert_eq!(found(Some(100), &likely).0, [((4, 6), 101, (5, 100))]);
}

/// An HPA with windows of 60 s up and 120 s down, of which the list holds 3 to 5 since some time.
struct Pass {
    windows: (i32, i32),
    seen: Vec<SeenPass>,
    acquired: i64,
    sighting: Option<Sighting>,
    held: Vec<i64>,
}

impl Pass {
    fn new(windows: (i32, i32)) -> Self {
        let sighting = Some(sighting());
        Self {
            windows,
            seen: Vec::new(),
            acquired: 0,
            sighting,
            held: vec![90],
        }
    }

    fn known<T>(
        &self,
        read: impl Fn(&Known<'_>, Option<&Sighting>, &[HeldRecommendation]) -> T,
    ) -> T {
        let hpa = hpa(100, Some(self.windows));
        let evidence = Evidence {
            seen: self.seen.clone(),
            ..led(self.acquired)
        };
        let held: Vec<HeldRecommendation> = self
            .held
            .iter()
            .map(|time| HeldRecommendation::new(3..=5, second(*time), second(*time)))
            .collect();
        read(&known(&hpa, &evidence, 101), self.sighting.as_ref(), &held)
    }

    /// Returns the lists with which the holds against scaling down and up end soonest and last.
    fn ends(&self) -> [Vec<(i32, i64)>; 4] {
        let list = |list: Vec<Recommendation>| {
            list.into_iter()
                .map(|it| (it.replicas, since(it.time)))
                .collect()
        };
        let (down, up) = self.known(ends);
        let of = |Ends { soonest, last }| [list(soonest), list(last)];
        let ([one, two], [three, four]) = (of(down), of(up));
        [one, two, three, four]
    }

    /// Returns the bounds of the highest and of the lowest recommendation.
    fn extremes(&self) -> [(Option<i32>, Option<i32>); 2] {
        let (highest, lowest) = self.known(extremes);
        [highest, lowest].map(|Extreme { at_least, at_most }| (at_least, at_most))
    }
}

/// A hold ends soonest with what is certain, as old as at the latest pass, 20 s from now; last with the highest
/// (or lowest) possible one of a sync period before the next pass.
#[test]
fn a_hold_ends_with_what_is_certain_or_possible() {
    let pass = Pass::new((60, 120));
    assert_eq!(
        pass.ends(),
        [
            vec![(3, 70)],
            vec![(9, 86), (6, 86)],
            vec![(5, 70)],
            vec![(2, 86), (4, 86)]
        ]
    );
    // The windows of the pass of 121 begin at 1 and 61.
    let soonest = |held: Vec<i64>| {
        let [down, _, up, _] = Pass {
            held,
            ..Pass::new((60, 120))
        }
        .ends();
        [down, up].map(|list| list.iter().map(|it| it.1 + 20).collect::<Vec<_>>())
    };
    assert_eq!(
        soonest(vec![0, 1, 2, 60, 61, 62]),
        [vec![1, 2, 60, 61, 62], vec![61, 62]]
    );
    // One that is as old as the window at the latest pass was made a little later, and holds in that pass alone.
    let tie = Pass {
        held: vec![1, 2],
        ..Pass::new((60, 120))
    };
    let (down, _) = tie.known(ends);
    let times = down.soonest.iter().map(|it| it.time);
    assert_eq!(
        Vec::from_iter(times),
        [
            second(1 - 20) + SignedDuration::from_millis(1),
            second(2 - 20)
        ]
    );
    // A window of 15 s contains nothing of the last pass, but the next may be the first that recommends.
    let [_, down, _, up] = Pass::new((15, 16)).ends();
    assert_eq!((down, up), (vec![(6, 86)], vec![]));
    let [_, down, _, up] = Pass::new((16, 15)).ends();
    assert_eq!((down, up), (vec![], vec![(4, 86)]));
    let unknown = Pass {
        sighting: None,
        ..Pass::new((15, 15))
    };
    let [_, down, _, up] = unknown.ends();
    assert_eq!(
        (down, up),
        (vec![(ANY, 86), (ANY, 86)], vec![(0, 86), (0, 86)])
    );
    // A controller that has started since remembers the count, 8.
    let restarted = Pass {
        acquired: 99,
        ..Pass::new((60, 120))
    };
    assert_eq!(
        restarted.ends(),
        [
            vec![(3, 70)],
            vec![(9, 86), (6, 86), (8, 101)],
            vec![(8, 70)],
            vec![(2, 86), (4, 86), (8, 101)]
        ]
    );
}

/// Passes of which all is known bound a hold one by one, by their age at the next pass.
#[test]
fn known_passes_end_a_hold_one_by_one() {
    let passes = |one, other| vec![pass(one, 50, 85), pass(other, 85, 100)];
    let seen = Pass {
        seen: passes((1, 5), (3, 7)),
        ..Pass::new((46, 40))
    };
    let [_, down, _, up] = seen.ends();
    // Down: what was overwritten at 85 is 45 s old at the next pass, at 100 30 s.
    assert_eq!(down, [(7, 71), (6, 86)]);
    // Up: no recommendation was lower than 2, according to the last status.
    assert_eq!(up, [(2, 56), (3, 71), (4, 86)]);
    let high = Pass {
        seen: passes((3, 5), (3, 10)),
        ..Pass::new((46, 40))
    };
    assert_eq!(high.ends()[1], [(9, 71), (6, 86)]);
    // What the first did by 50 is 63 s old at the next pass: a longer window may contain others.
    let long = |window| Pass {
        seen: passes((1, 5), (3, 7)),
        ..Pass::new((window, window))
    };
    assert_eq!(long(63).ends()[1], [(5, 56), (7, 71), (6, 86)]);
    assert_eq!(long(64).ends()[1], [(9, 86), (6, 86)]);

    // The highest of the ones inside, and of the last; the lowest likewise.
    assert_eq!(seen.extremes(), [(Some(3), Some(7)), (Some(2), Some(5))]);
    assert_eq!(high.extremes()[0], (Some(3), Some(9)));
    let within = Pass {
        seen: passes((5, 5), (5, 5)),
        ..Pass::new((46, 40))
    };
    assert_eq!(within.extremes(), [(Some(3), Some(6)), (Some(4), Some(5))]);
}

#[test]
fn the_highest_and_the_lowest_are_bounded() {
    let whole = Pass::new((60, 120));
    assert_eq!(whole.extremes(), [(Some(3), Some(9)), (Some(2), Some(5))]);
    // What may have left the window is uncertain.
    let old = |held| {
        Pass {
            held: vec![held],
            ..Pass::new((60, 120))
        }
        .extremes()
    };
    assert_eq!(old(60), [(Some(3), Some(9)), (Some(2), None)]);
    assert_eq!(old(61), [(Some(3), Some(9)), (Some(2), Some(5))]);
    assert_eq!(old(0), [(None, Some(9)), (Some(2), None)]);
    // Nothing is left in a window of a sync period, unless the next pass is the first.
    assert_eq!(
        Pass::new((15, 15)).extremes(),
        [(None, Some(0)), (Some(ANY), None)]
    );
    assert_eq!(
        Pass::new((16, 16)).extremes(),
        [(None, Some(6)), (Some(4), None)]
    );
    // A window of two has only what the pass of the status left, and one that is longer what was before it.
    assert_eq!(
        Pass::new((30, 30)).extremes(),
        [(None, Some(6)), (Some(4), None)]
    );
    assert_eq!(
        Pass::new((31, 31)).extremes(),
        [(Some(3), Some(9)), (Some(2), Some(5))]
    );
    let unknown = Pass {
        sighting: None,
        ..Pass::new((15, 15))
    };
    assert_eq!(unknown.extremes(), [(None, None), (None, None)]);
    // The count, 8, may be the only one.
    let restarted = |sighting| {
        Pass {
            acquired: 99,
            sighting,
            ..Pass::new((60, 120))
        }
        .extremes()
    };
    assert_eq!(
        restarted(Some(sighting())),
        [(Some(3), Some(9)), (Some(2), Some(8))]
    );
    let narrow = Sighting {
        at_most: Some(7),
        at_least: Some(9),
        ..sighting()
    };
    assert_eq!(
        restarted(Some(narrow)),
        [(Some(3), Some(8)), (Some(8), Some(8))]
    );
    // Without a window, not even that holds anything back, and nothing else does.
    for sighting in [Some(sighting()), None] {
        let at_once = |windows| {
            let acquired = 99;
            let sighting = sighting.clone();
            Pass {
                acquired,
                sighting,
                ..Pass::new(windows)
            }
            .extremes()
        };
        assert_eq!(at_once((0, 120))[1], (Some(ANY), None));
        if sighting.is_some() {
            assert_eq!(at_once((0, 120))[0], (Some(3), Some(9)));
        }
        assert_eq!(at_once((60, 0))[0], (None, Some(0)));
    }
}

/// A status bounds the recommendations of its own window.
#[test]
fn a_longer_window_finds_older_recommendations_again() {
    let own = hpa(100, Some((60, 120)));
    let evidence = led(0);
    let found = |up, down| {
        let next = hpa(100, Some((up, down))).spec;
        let known = Known::new(&own, &next, 8, &of("v1.36"), second(101), &evidence);
        let (highest, lowest) = extremes(&known, Some(&sighting()), &[]);
        (highest.at_most, lowest.at_least)
    };
    assert_eq!(found(60, 120), (Some(9), Some(2)));
    assert_eq!(found(61, 120), (Some(9), None));
    assert_eq!(found(60, 121), (None, Some(2)));
}
