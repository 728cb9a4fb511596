//! Runs of a real v1.36.2 controller (`tests/trajectories`): what a user could see every 5 s, and
//! what each pass came to. At every moment whose metrics give the proposal of the next pass, that
//! pass must end inside the range that is inferred; how often the range is one count is printed.
//! The nodes of the recording were played; it has no lease, so the controller may have started anew
//! at any time, as far as the inference can tell.
#![allow(clippy::print_stdout, reason = "the shares are printed")]
#![allow(clippy::unwrap_used, reason = "what cannot fail here is not worth a message")]

use std::collections::BTreeMap;
use std::io::BufRead;

use jiff::SignedDuration;
use kubectl_hpa::memory::states::{self, Chain};
use kubectl_hpa::snapshot::Snapshot;
use kubectl_hpa::snapshot::assemble::Input;
use kubectl_hpa::snapshot::evidence::{Counted, Lease};
use kubectl_hpa::snapshot::hpa::Hpa;
use trajectories::{NAMES, lines, moment, passes, replay};

mod common;
#[path = "common/trajectories.rs"]
mod trajectories;

/// How many moments could be compared, at how many the answer was one count, and at how many the
/// likeliest count was the one that came.
#[derive(Debug, Default)]
struct Share {
    compared: usize,
    certain: usize,
    right: usize,
}

/// What there is beside what was read at the moment.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Past {
    /// Nothing.
    None,
    /// What an API server still has, too: the HPA and its target at each moment before.
    Kept,
    /// And a lease, which the recorded controller, started with its HPAs, did without.
    Led,
}

fn check(name: &str, past: Past) -> Share {
    let passes = passes(name);
    let mut share = Share::default();
    let mut outside = Vec::new();
    let (mut states, mut counted): (Vec<Hpa>, Vec<Counted>) = Default::default();
    for line in lines(&format!("{name}.jsonl.gz")).lines() {
        let (time, mut input) = moment(name, &line.unwrap());
        if past != Past::None {
            let Input { snapshot, evidence, .. } = &mut input;
            let Snapshot { hpa, controller, .. } = &*snapshot;
            if states.last() != Some(hpa) {
                states.push(hpa.clone());
            }
            counted.extend(evidence.counted);
            evidence.seen = states::seen(hpa, controller, &states, &counted, Chain::Whole);
            evidence.rescales = states::rescales_seen(hpa, &states);
            let acquired = states.first().and_then(|state| state.written.created);
            let duration = SignedDuration::from_secs(15);
            let lease = acquired.map(|acquired| Lease { acquired, renewed: time, duration });
            evidence.lease = lease.filter(|_| past == Past::Led);
        }
        let Some(next) = passes.iter().find(|pass| pass.time > time) else {
            continue;
        };
        let (decision, explanation) = common::explain(&input);
        let Snapshot { scale: Ok(scale), .. } = &input.snapshot else {
            panic!("{name} at {time}: no scale");
        };
        if decision.proposal != Some(next.proposal) || scale.spec_replicas != next.from {
            continue;
        }
        let range = &explanation["range"];
        let (min, max) = (range["min"].as_i64().unwrap(), range["max"].as_i64().unwrap());
        share.compared += 1;
        share.certain += usize::from(min == max);
        share.right += usize::from(decision.replicas_after() == Some(next.to));
        if !(min..=max).contains(&i64::from(next.to)) {
            outside.push(format!("{name} {past:?} at {time}: {min} to {max}, but then {next:?}"));
        }
    }
    assert!(outside.is_empty(), "{outside:#?}");
    share
}

#[test]
fn the_next_pass_ends_inside_the_range() {
    for name in NAMES {
        for past in [Past::None, Past::Kept, Past::Led] {
            let Share { compared, certain, right } = check(name, past);
            let percent = |count: usize| 100.0 * count as f64 / compared as f64;
            println!(
                "{name}, past {past:?}: {compared} moments compared, {:.1} % certain, likeliest \
                 right {:.1} %",
                percent(certain),
                percent(right)
            );
            assert!(compared >= 100, "{name}: {compared} compared");
        }
    }
}

/// The recorded proposals lead to the controller's own counts.
#[test]
fn the_recorded_proposals_lead_to_the_recorded_counts() {
    let mut replayed = 0;
    for name in NAMES {
        for ((_, after), pass) in replay(name).into_iter().zip(passes(name)) {
            assert_eq!(after, Some(pass.to), "{name}: {pass:?}");
            replayed += 1;
        }
    }
    assert_eq!(replayed, 280);
}

/// The controller ran all the time with the settings that are assumed, so that no difference from
/// what it last wrote is without a reason, and none is its fault.
#[test]
fn every_difference_from_what_was_last_written_has_a_reason() {
    let (mut moments, mut same, mut codes) = (0, 0, BTreeMap::<String, usize>::new());
    let mut wrong = Vec::new();
    for name in NAMES {
        for line in lines(&format!("{name}.jsonl.gz")).lines() {
            let (time, input) = moment(name, &line.unwrap());
            let (_, explanation) = common::explain(&input);
            let comparison = &explanation["comparison"];
            moments += 1;
            same += usize::from(comparison["differs"] == false);
            for reason in comparison["reasons"].as_array().unwrap() {
                let code = reason["code"].as_str().unwrap();
                *codes.entry(code.to_owned()).or_default() += 1;
                if ["unexplained", "stale-status", "controller-not-running"].contains(&code) {
                    wrong.push(format!("{name} at {time}: {comparison:#}"));
                }
            }
        }
    }
    println!("{moments} moments, {same} without a difference; {codes:?}");
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(moments > 500 && same > 100 && codes.len() > 4, "{moments} {same} {codes:?}");
}
