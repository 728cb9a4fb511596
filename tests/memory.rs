//! What is inferred about the controller's memory must hold, whatever it has been through: a
//! simulated controller with its full memory goes through random loads, specs, other writers,
//! failures and restarts, and at random moments the inference sees only what a user of the API
//! could. The next pass must end inside the range. How often the range is a single count is
//! printed, by situation (`cargo test --test memory -- --nocapture`).
#![allow(clippy::print_stdout, reason = "the shares are printed")]
#![allow(clippy::unwrap_used, reason = "what cannot fail here is not worth a message")]

#[path = "memory/recorder.rs"]
mod recorder;
#[path = "memory/world.rs"]
mod world;

use std::collections::BTreeMap;

use jiff::Timestamp;
use kubectl_hpa::engine;
use kubectl_hpa::memory::infer;
use kubectl_hpa::snapshot::evidence::Evidence;
use kubectl_hpa::snapshot::hpa::Hpa;
use world::{Shape, World};

/// A time as the API shows it.
fn whole(time: Timestamp) -> Timestamp {
    Timestamp::from_second(time.as_second()).unwrap()
}

/// Moments of one situation, and how many of them had a certain answer.
#[derive(Debug, Default, Clone, Copy)]
struct Share {
    moments: usize,
    certain: usize,
}

/// What the user may read beside the HPA.
#[derive(Debug, Clone, Copy)]
struct Sees {
    lease: bool,
    events: bool,
    managed_fields: bool,
    /// How many earlier states.
    watched: usize,
}

/// Runs one world for some hours, and looks at it between each two passes.
fn run(seed: u64, shape: Shape, behavior: bool, quiet: bool, sees: Sees, shares: &mut Shares) {
    let mut world = World::new(seed, shape, behavior, quiet);
    let mut states: Vec<Hpa> = Vec::new();
    for pass in 0..600 {
        let moment = world.now + world.random.up_to_ms(14_900);
        let unforeseen = world.live();
        // The moment lies between what has happened and the pass.
        world.now = world.now.max(moment).min(world.next_pass);
        let mut snapshot = world.snapshot(world.now);
        if !sees.managed_fields {
            snapshot.hpa.written.spec = None;
            snapshot.hpa.written.status = None;
        }
        let evidence = world.evidence(sees.lease, sees.events && !world.others_count());
        if states.last() != Some(&snapshot.hpa) {
            states.push(snapshot.hpa.clone());
        }
        let first = states.len().saturating_sub(1 + sees.watched);
        let evidence = Evidence { seen: infer::seen(&states[first..]), ..evidence };
        let seen_at = world.now;
        let before = world.memory.clone();
        let truth = world.pass();
        // Without managedFields a spec that has just changed cannot be told from one that has not.
        let hidden = !sees.managed_fields && unforeseen;
        let Some(after) = truth.replicas_after() else {
            continue;
        };
        let Ok(scale) = &snapshot.scale else {
            continue;
        };
        if hidden {
            continue;
        }
        let current = scale.spec_replicas;
        let controller = &world.controller;
        let remembered = infer::infer(&snapshot.hpa, current, controller, seen_at, &evidence);
        let decision = engine::reconcile(&snapshot, &remembered.likely);
        assert_eq!(decision.proposal, truth.proposal, "the metrics have not changed");
        let outlook = engine::outlook(&snapshot, &remembered, &decision);
        let range = outlook.range(&decision).expect("the scale was read");
        assert!(
            (range.min..=range.max).contains(&after),
            "seed {seed} {shape:?} pass {pass} at {seen_at}: {range:?}, but the pass at {} came \
             to {after}\n{remembered:#?}\n{before:#?}\n{:#?}\n{:#?}",
            world.next_pass,
            snapshot.hpa,
            evidence,
        );
        let behaves = if snapshot.hpa.spec.behavior.is_some() { "behavior" } else { "plain" };
        let able = snapshot.hpa.status.conditions.iter().find(|c| c.type_ == "AbleToScale");
        let reason = able.map_or("none yet", |condition| &*condition.reason).to_owned();
        for key in [
            format!("{behaves}: {reason}"),
            format!("{behaves}, {shape:?}"),
            format!("{behaves}, {sees:?}"),
        ] {
            let share = shares.entry(key).or_default();
            share.moments += 1;
            share.certain += usize::from(range.min == range.max);
        }
    }
}

type Shares = BTreeMap<String, Share>;

fn check(runs: u64) {
    let mut shares = Shares::new();
    for seed in 0..runs {
        let shape = Shape::ALL[(seed % 5) as usize];
        let behavior = (seed / 5) % 2 == 1;
        let quiet = (seed / 10) % 3 == 0;
        let sees = match (seed / 30) % 4 {
            0 => Sees { lease: true, events: true, managed_fields: true, watched: 20 },
            1 => Sees { lease: true, events: true, managed_fields: true, watched: 0 },
            2 => Sees { lease: false, events: true, managed_fields: true, watched: 0 },
            _ => Sees { lease: false, events: false, managed_fields: false, watched: 0 },
        };
        run(seed, shape, behavior, quiet, sees, &mut shares);
    }
    let total: usize = shares
        .iter()
        .filter(|(key, _)| key.contains(':') && !key.contains("Sees"))
        .map(|(_, share)| share.moments)
        .sum();
    println!("{total} moments, all inside their ranges; certain:");
    for (key, share) in &shares {
        let percent = 100.0 * share.certain as f64 / share.moments as f64;
        println!("{percent:6.1} % of {:7}  {key}", share.moments);
    }
    assert!(total as u64 > runs * 300, "{total} moments in {runs} runs");
}

#[test]
fn the_next_pass_ends_inside_the_range() {
    check(30);
}

#[test]
#[ignore = "long: 100,000 moments and more"]
fn the_next_pass_ends_inside_the_range_long() {
    check(600);
}
