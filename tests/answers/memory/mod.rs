//! What is inferred about the controller's memory must hold, whatever has happened to it: a
//! simulated controller with its full memory runs through random loads, specs, other writers,
//! failures and restarts, and at random moments the inference sees only what a user of the API
//! could see. The next pass must end inside the range. How often the range is a single count is
//! printed, by situation (`cargo test --test answers memory -- --nocapture`).
#![allow(clippy::print_stdout, reason = "the shares are printed")]
#![allow(
    clippy::unwrap_used,
    reason = "what cannot fail here is not worth a message"
)]

mod recorder;
mod world;

use std::collections::BTreeMap;
use std::fmt::Debug;

use jiff::{SignedDuration, Timestamp};
use kubectl_hpa::engine;
use kubectl_hpa::memory::Memory;
use kubectl_hpa::memory::infer;
use kubectl_hpa::memory::states::{self, Chain};
use kubectl_hpa::outlook::{Outlook, Range};
use kubectl_hpa::snapshot::Snapshot;
use kubectl_hpa::snapshot::evidence::{Counted, Evidence};
use kubectl_hpa::snapshot::hpa::{Hpa, HpaSpec};
use serde_json::{Value, json};
use world::{Life, Shape, World};

use crate::common;
use crate::common::build;

/// Returns a time as the API shows it.
fn whole(time: Timestamp) -> Timestamp {
    Timestamp::from_second(time.as_second()).unwrap()
}

/// Moments of one situation, and how many of them had a certain answer.
#[derive(Debug, Default, Clone, Copy)]
struct Share {
    moments: usize,
    certain: usize,
    /// How often the most likely count was the actual one.
    right: usize,
}

/// What the user may read in addition to the HPA.
#[derive(Debug, Clone, Copy)]
struct Sees {
    lease: bool,
    events: bool,
    managed_fields: bool,
    /// Earlier states of the HPA, as far back as they are relevant.
    past: bool,
    /// The target itself, now and at every earlier state of the HPA.
    target: bool,
}

/// Runs one world for a number of passes, and examines it between each two.
fn run(
    seed: u64,
    passes: u64,
    shape: Shape,
    behavior: bool,
    life: Life,
    sees: Sees,
    shares: &mut Shares,
) {
    let mut world = World::new(seed, shape, behavior, life);
    let mut states: Vec<Hpa> = Vec::new();
    for pass in 0..passes {
        let unforeseen = world.live();
        // The moment is between the last event and the pass.
        world.wait();
        let mut snapshot = world.snapshot(world.now);
        if !sees.managed_fields {
            snapshot.hpa.written.spec = None;
            snapshot.hpa.written.status = None;
        }
        let evidence = world.evidence(sees.lease, sees.events && !world.others_count());
        let evidence = evidence.of(&snapshot.hpa);
        if states.last() != Some(&snapshot.hpa) {
            states.push(snapshot.hpa.clone());
        }
        let controller = &world.controller;
        let hpa = &snapshot.hpa;
        let since = world.now - infer::window(hpa, controller);
        let old = |state: &Hpa| state.written.status.is_none_or(|written| written < since);
        let first = if sees.past {
            states.iter().rposition(old).unwrap_or(0)
        } else {
            states.len() - 1
        };
        let alike = snapshot.has_pods_alike();
        let counted = sees.target.then(|| Counted {
            alike,
            ..world.counted()
        });
        let meanwhile = if sees.target { &world.counted[..] } else { &[] };
        let meanwhile: Vec<_> = meanwhile.iter().copied().chain(counted).collect();
        let evidence = Evidence {
            seen: states::seen(hpa, controller, &states[first..], &meanwhile, Chain::Whole),
            rescales: states::rescales_seen(hpa, &states[first..], Chain::Whole),
            counted,
            ..evidence
        };
        let seen_at = world.now;
        let before = world.memory.clone();
        let alone = (pass % 10 == 0).then(|| world.left_alone());
        let mut changed = (pass % 5 == 0).then(|| world.updated(seed ^ pass << 20));
        let died = world.died.is_some() || evidence.lease.is_none() && world.is_back();
        let truth = world.pass();
        states.push(world.hpa.clone());
        // Without managedFields, a spec that has just changed looks like one that has not, and a
        // leader that is gone looks alive until its lease expires.
        let gone = evidence
            .lease
            .is_none_or(|lease| lease.renewed + lease.duration >= seen_at);
        let hidden = !sees.managed_fields && unforeseen || died && gone;
        let Some(after) = truth.replicas_after() else {
            continue;
        };
        let Ok(scale) = &snapshot.scale else {
            continue;
        };
        if hidden || world.left_no_trace(&evidence) {
            continue;
        }
        let current = scale.spec_replicas;
        let remembered = infer::infer(&snapshot, &snapshot, scale, &evidence);
        let decision = engine::reconcile(&snapshot, &remembered.likely);
        assert_eq!(
            decision.proposal, truth.proposal,
            "the metrics have not changed"
        );
        let outlook = Outlook::new(&snapshot, &remembered, &decision);
        let range = outlook.range(&decision).expect("the scale was read");
        assert!(
            (range.min..=range.max).contains(&after),
            "seed {seed} {shape:?} pass {pass} at {seen_at}: {range:?}, but the pass at {} came \
             to {after}\n{remembered:#?}\n{before:#?}\n{:#?}\n{:#?}",
            world.next_pass,
            snapshot.hpa,
            evidence,
        );
        if let Some(alone) = alone
            && decision.proposal.is_some()
            && current != 0
            // The table promises passes that are a sync period apart: a regular one may follow an extra one sooner.
            && !alone.next_is_extra()
        {
            let at = format!("seed {seed} {shape:?} pass {pass} at {seen_at}");
            follows(alone, &snapshot, &evidence, &at);
        }
        if let Some(changed) = &mut changed {
            inherits(changed, &snapshot, &evidence, shares, || {
                format!("seed {seed} {shape:?} pass {pass} at {seen_at}\n{before:#?}")
            });
        }
        let behaves = if snapshot.hpa.spec.behavior.is_some() {
            "behavior"
        } else {
            "plain"
        };
        let able = snapshot
            .hpa
            .status
            .conditions
            .iter()
            .find(|c| c.type_ == "AbleToScale");
        let reason = able
            .map_or("none yet", |condition| &*condition.reason)
            .to_owned();
        for key in [
            format!("{behaves}: {reason}"),
            format!("{behaves}, {shape:?}"),
            format!("{behaves}, {sees:?}"),
        ] {
            let share = shares.entry(key).or_default();
            share.moments += 1;
            share.certain += usize::from(range.min == range.max);
            share.right += usize::from(decision.replicas_after() == Some(after));
        }
    }
}

/// A pass over a spec to which the HPA is updated finds what the passes over the observed one have left.
fn inherits(
    changed: &mut World,
    observed: &Snapshot,
    evidence: &Evidence,
    shares: &mut Shares,
    at: impl Fn() -> String,
) {
    let mut snapshot = observed.clone();
    snapshot.hpa.spec = changed.hpa.spec.clone();
    let truth = changed.pass();
    let (Some(after), Ok(scale)) = (truth.replicas_after(), &snapshot.scale) else {
        return;
    };
    let next = &snapshot.hpa.spec;
    let remembered = infer::infer(observed, &snapshot, scale, evidence);
    let decision = engine::reconcile(&snapshot, &remembered.likely);
    let range = Outlook::new(&snapshot, &remembered, &decision)
        .range(&decision)
        .unwrap();
    assert!(
        (range.min..=range.max).contains(&after),
        "{}: {range:?}, but the pass came to {after} over {next:#?}\n{remembered:#?}\n{:#?}\n{evidence:#?}",
        at(),
        observed.hpa,
    );
    let behaves = |spec: &HpaSpec| {
        if spec.behavior.is_some() {
            "behavior"
        } else {
            "plain"
        }
    };
    let key = format!(
        "{} under a candidate, {}",
        behaves(&observed.hpa.spec),
        behaves(next)
    );
    let share = shares.entry(key).or_default();
    share.moments += 1;
    share.certain += usize::from(range.min == range.max);
    share.right += usize::from(decision.replicas_after() == Some(after));
}

/// While the metrics ask for the same, the replicas after each pass are possible by the prediction for
/// its time, until the end. The controller is the same as in the passes before.
fn follows(mut world: World, observed: &Snapshot, evidence: &Evidence, at: &str) {
    let snapshot = world.snapshot(world.now);
    let now = world.now;
    let scale = snapshot.scale.as_ref().unwrap();
    let from = scale.spec_replicas;
    let next = Snapshot {
        controller: observed.controller.clone(),
        ..snapshot.clone()
    };
    let remembered = infer::infer(observed, &next, scale, evidence);
    let decision = engine::reconcile(&snapshot, &remembered.likely);
    let outlook = Outlook::new(&snapshot, &remembered, &decision);
    let range = outlook.range(&decision).unwrap();
    let upcoming = outlook.upcoming;
    for step in &upcoming {
        assert!(
            (step.range.min..=step.range.max).contains(&step.replicas),
            "{at}: {upcoming:#?}"
        );
    }
    let (mut passes, mut changes) = (Vec::new(), 0);
    let period = observed.controller.sync_period;
    let end = now + SignedDuration::from_hours(1) + period.saturating_mul(32);
    let mut current = from;
    while world.now < end {
        let truth = world.pass();
        if truth.proposal != decision.proposal && world.replicas != 0 {
            return;
        }
        changes += i32::from(world.replicas != current);
        current = world.replicas;
        passes.push((world.now, current));
    }
    // Passes need not be exactly when predicted; the grid may shift at each change, and drifts.
    let grid = period.saturating_mul(changes + 2);
    for (time, replicas) in &passes {
        let passed = time.duration_since(now).as_secs_f64() / period.as_secs_f64();
        let drift = SignedDuration::from_secs_f64(0.45 * passed);
        let slack = grid + SignedDuration::from_secs(10) + drift;
        let started = upcoming.partition_point(|step| step.time <= *time - slack);
        let near = upcoming[started.saturating_sub(1)..].iter();
        let near = near
            .take_while(|step| step.time <= *time + slack)
            .map(|step| step.range);
        // Until the first row, this pass's possible results apply, or the count it finds.
        let before = [
            range,
            Range {
                min: from,
                max: from,
            },
        ];
        let before = before.into_iter().filter(|_| started == 0);
        let mut possible = before.chain(near);
        // A known course is not followed beyond this many steps.
        let is_cut = remembered.possible.is_none() && upcoming.len() + 1 >= STEPS;
        if is_cut
            && upcoming
                .last()
                .is_some_and(|step| step.time <= *time + slack)
        {
            return;
        }
        assert!(
            possible.any(|range| (range.min..=range.max).contains(replicas)),
            "{at}: from {from} to {:?}, within {slack:?} of {time} {replicas} of {:?} is not in\n\
             {upcoming:?}\n{remembered:#?}\n{:#?}",
            decision.proposal,
            stops(&passes),
            snapshot.hpa,
        );
    }
}

/// The number of changes that are predicted.
const STEPS: usize = 32;

/// Returns the passes that change the replicas, and the first.
fn stops(passes: &[(Timestamp, i32)]) -> Vec<(Timestamp, i32)> {
    let mut stops = passes.to_vec();
    stops.dedup_by_key(|(_, replicas)| *replicas);
    stops
}

type Shares = BTreeMap<String, Share>;

fn check(seeds: Vec<u64>, passes: u64, odd: bool) {
    let runs = seeds.len() as u64;
    let mut shares = Shares::new();
    for seed in seeds {
        let shape = Shape::ALL[(seed % 5) as usize];
        let behavior = (seed / 5) % 2 == 1;
        let life = match (seed / 10) % 3 {
            _ if odd => Life::Odd,
            0 => Life::Quiet,
            _ => Life::Usual,
        };
        let all = Sees {
            lease: true,
            events: true,
            managed_fields: true,
            past: true,
            target: true,
        };
        let sees = match (seed / 30) % 6 {
            0 => all,
            1 => Sees {
                target: false,
                ..all
            },
            2 => Sees { past: false, ..all },
            3 => Sees {
                lease: false,
                ..all
            },
            4 if seed % 2 == 0 => Sees {
                managed_fields: false,
                past: false,
                target: false,
                ..all
            },
            4 => Sees {
                lease: false,
                past: false,
                target: false,
                ..all
            },
            _ => Sees {
                lease: false,
                events: false,
                managed_fields: false,
                past: false,
                target: false,
            },
        };
        run(seed, passes, shape, behavior, life, sees, &mut shares);
    }
    let total: usize = shares
        .iter()
        .filter(|(key, _)| key.contains(':') && !key.contains("Sees"))
        .map(|(_, share)| share.moments)
        .sum();
    println!("{total} moments, all inside their ranges; certain:");
    for (key, share) in &shares {
        let percent = 100.0 * share.certain as f64 / share.moments as f64;
        let right = 100.0 * share.right as f64 / share.moments as f64;
        println!(
            "{percent:6.1} % of {:7} (likeliest {right:5.1} %)  {key}",
            share.moments
        );
    }
    let least = if odd { passes / 3 } else { passes / 2 };
    assert!(
        total as u64 > runs * least,
        "{total} moments in {runs} runs"
    );
}

/// Some hours of passes.
const LONG: u64 = 600;
/// Enough to cover everything if there are several worlds.
const SHORT: u64 = 200;

/// Returns a few seeds that cover each load shape, with and without `behavior`, each kind of controller
/// life, and most selections of what may be read.
fn every_sort() -> Vec<u64> {
    (0..180).step_by(37).collect()
}

#[test]
fn the_next_pass_ends_inside_the_range() {
    check(every_sort(), SHORT, false);
}

/// A controller that starts with an HPA whose scale it cannot read uses the count as a
/// recommendation at a later pass; one that restarts uses a count that no one may know of later.
#[test]
fn what_once_was_outside_is_inside() {
    for seed in [1826, 2085] {
        check(vec![seed], LONG, false);
    }
}

#[test]
#[ignore = "hundreds of thousands of moments: cargo test --release --test answers memory -- --ignored"]
fn the_next_pass_ends_inside_the_range_long() {
    check((0..600).collect(), LONG, false);
}

#[test]
fn it_does_so_where_much_happens_to_any_controller() {
    check(every_sort(), SHORT, true);
}

#[test]
#[ignore = "hundreds of thousands of moments: cargo test --release --test answers memory -- --ignored"]
fn it_does_so_where_much_happens_to_any_controller_long() {
    check((0..600).collect(), LONG, true);
}

/// Simulates a controller that wants these replicas, one count a pass: what the API shows before the last pass, and the
/// replicas after it.
fn simulated(spec: &Value, first: i32, wanted: &[i32]) -> (impl PartialEq + Debug + use<>, i32) {
    let mut memory = Memory::default();
    let (mut replicas, mut hpa, mut events) = (first, None::<Hpa>, Vec::new());
    for (pass, count) in (1..).zip(wanted) {
        let queue = build::queue(&[&count.to_string()]);
        let state = build::state(&json!({}));
        let items = [build::hpa(spec), build::scale(replicas), queue, state];
        let mut snapshot = common::read(&build::list(items)).unwrap().snapshot;
        snapshot.now = Timestamp::from_second(1_700_000_000 + 15 * pass).unwrap();
        snapshot.hpa = hpa.unwrap_or(snapshot.hpa);
        let decision = engine::reconcile(&snapshot, &memory);
        replicas = decision.replicas_after().unwrap();
        if pass == wanted.len() as i64 {
            return ((snapshot.hpa, events), replicas);
        }
        let sent = decision.outcome.events.unwrap();
        events.extend(sent.into_iter().map(|event| (snapshot.now, event.message)));
        let status = decision.outcome.status.unwrap();
        let mut written = snapshot.hpa;
        if written.status != status {
            written.written.status = Some(snapshot.now);
        }
        written.status = status;
        memory = decision.memory;
        hpa = Some(written);
    }
    unreachable!("it ends at the last pass")
}

/// Without earlier states, a status does not show how old the recommendation is that holds: two controllers with
/// the same status, and another next pass. So no narrower bounds are right.
#[test]
fn a_hold_may_end_at_once_or_last() {
    let metric = build::external("queue", &build::average("1"));
    let spec = json!({"maxReplicas": 20, "metrics": [metric]});
    // 25 for some time, then 14, and 12 at the last passes.
    let run = |high, low| {
        simulated(
            &spec,
            20,
            &[vec![25; high], vec![14; low], vec![12; 2]].concat(),
        )
    };
    // The last one of 25 leaves the window of 300 s with the last pass, or much later.
    let (one, ends) = run(11, 18);
    let (other, lasts) = run(28, 1);
    assert_eq!(one, other, "the API shows the same");
    assert_eq!((ends, lasts), (14, 20));
}

/// An event names the new size alone, so the first one that is kept does not show how much was added: two controllers
/// with the same status and the same events, of which one may add four more. So no narrower limits are right.
#[test]
fn a_rate_limit_may_have_room_or_not() {
    let metric = build::external("queue", &build::average("1"));
    let policy = json!([{"type": "Pods", "value": 4, "periodSeconds": 60}]);
    let up = json!({"stabilizationWindowSeconds": 0, "policies": policy});
    let spec = json!({"maxReplicas": 20, "metrics": [metric], "behavior": {"scaleUp": up}});
    let (one, stays) = simulated(&spec, 1, &[1, 5, 5, 9]);
    let (other, grows) = simulated(&spec, 4, &[4, 5, 5, 9]);
    assert_eq!(one, other, "the API shows the same");
    assert_eq!((stays, grows), (5, 8));
}
