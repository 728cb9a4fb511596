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
use kubectl_hpa::memory::infer::{self, Chain};
use kubectl_hpa::snapshot::evidence::Evidence;
use kubectl_hpa::snapshot::hpa::Hpa;
use world::{Life, Shape, World};

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
fn run(seed: u64, shape: Shape, behavior: bool, life: Life, sees: Sees, shares: &mut Shares) {
    let mut world = World::new(seed, shape, behavior, life);
    let mut states: Vec<Hpa> = Vec::new();
    for pass in 0..600 {
        let unforeseen = world.live();
        // The moment lies between what has happened and the pass.
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
        let first = states.len().saturating_sub(1 + sees.watched);
        let evidence = Evidence { seen: infer::seen(&states[first..], Chain::Whole), ..evidence };
        let seen_at = world.now;
        let before = world.memory.clone();
        let died = world.died.is_some();
        let truth = world.pass();
        // Without managedFields a spec that has just changed cannot be told from one that has not,
        // nor that a leader has gone before its lease has run out.
        let gone = evidence.lease.is_none_or(|lease| lease.renewed + lease.duration >= seen_at);
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
        let controller = &world.controller;
        let remembered = infer::infer(&snapshot.hpa, current, controller, seen_at, &evidence);
        let decision = engine::reconcile(&snapshot, &remembered.likely);
        assert_eq!(decision.proposal, truth.proposal, "the metrics have not changed");
        let range = Range::of(&decision, &engine::outlook(&snapshot, &remembered, &decision));
        if std::env::var_os("HUNT").is_some() && !(range.min..=range.max).contains(&after) {
            println!(
                "FAIL seed {seed} {shape:?} pass {pass} at {seen_at}: {range:?} after {after}"
            );
            return;
        }
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

#[derive(Debug)]
struct Range {
    min: i32,
    max: i32,
}

impl Range {
    fn of(decision: &engine::decision::Decision, outlook: &engine::decision::Outlook) -> Self {
        let likely = decision.replicas_after().expect("the scale was read");
        let all = outlook.extremes.iter().copied().chain([likely]);
        let (min, max) = all.fold((likely, likely), |(min, max), n| (min.min(n), max.max(n)));
        Self { min, max }
    }
}

fn check(seeds: std::ops::Range<u64>, odd: bool) {
    let runs = seeds.end - seeds.start;
    let mut shares = Shares::new();
    for seed in seeds {
        let shape = Shape::ALL[(seed % 5) as usize];
        let behavior = (seed / 5) % 2 == 1;
        let life = match (seed / 10) % 3 {
            _ if odd => Life::Odd,
            0 => Life::Quiet,
            _ => Life::Usual,
        };
        let sees = match (seed / 30) % 4 {
            0 => Sees { lease: true, events: true, managed_fields: true, watched: 20 },
            1 => Sees { lease: true, events: true, managed_fields: true, watched: 0 },
            2 if seed % 2 == 0 => {
                Sees { lease: true, events: true, managed_fields: false, watched: 0 }
            }
            2 => Sees { lease: false, events: true, managed_fields: true, watched: 0 },
            _ => Sees { lease: false, events: false, managed_fields: false, watched: 0 },
        };
        run(seed, shape, behavior, life, sees, &mut shares);
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
    check(0..30, false);
}

#[test]
#[ignore = "long: 100,000 moments and more"]
fn the_next_pass_ends_inside_the_range_long() {
    check(0..600, false);
}

#[test]
fn it_does_so_where_much_happens_to_any_controller() {
    check(0..30, true);
}

#[test]
#[ignore = "long: 100,000 moments and more"]
fn it_does_so_where_much_happens_to_any_controller_long() {
    check(0..600, true);
}
