//! Generates `week.csv`: a week of load for the HPA in `state.yaml`, with the replicas that this HPA would
//! have had. The load is synthetic: a day that rises and falls, a quieter weekend, sudden campaigns,
//! and noise from a seed. It has the samples that a Prometheus would have: one a minute, except for ten
//! minutes in which it was restarted.
//!
//! ```sh
//! cargo run --example backtest > examples/backtest/week.csv
//! ```
#![allow(clippy::print_stdout, reason = "it prints the table")]

use std::fmt::Write;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use kubectl_hpa::backtest::Plan;
use kubectl_hpa::error::Error;
use kubectl_hpa::saved;
use kubectl_hpa::snapshot::input::Options;
use kubectl_hpa::whatif::overrides::Assumptions;
use kubectl_hpa::whatif::timeline::{JoinTimes, TimelineOptions, Trace};

/// Monday, 00:00.
const START: &str = "2026-11-16T00:00:00Z";
const SYNC: i64 = 15;
const SAMPLE: i64 = 60;
const PASSES: i64 = 7 * 24 * 3600 / SYNC;

/// The usage of all pods, in milli-CPU, at each full hour of a weekday.
const HOURS: [i64; 25] = [
    900, 800, 750, 700, 700, 800, 1100, 1700, 2500, 3100, 3400, 3500, 3700, 3500, 3300, 3200, 3300,
    3600, 4000, 4200, 3800, 2900, 1900, 1200, 900,
];

/// When a campaign begins, in hours since the start, and how much it adds.
const CAMPAIGNS: [(i64, i64); 3] = [(36, 4200), (84, 3000), (131, 2500)];

fn main() -> Result<(), Error> {
    print!("{}", week()?);
    Ok(())
}

/// Returns the table.
pub(crate) fn week() -> Result<String, Error> {
    let start: Timestamp = START
        .parse()
        .map_err(|_| Error::failed("the start is no time"))?;
    let mut dice = Dice(2026);
    let mut noise = 0;
    let loads: Vec<i64> = (0..PASSES)
        .map(|pass| {
            noise = noise * 9 / 10 + dice.below(61) - 30;
            (load(pass * SYNC) + noise).max(50)
        })
        .collect();

    // The cluster saw every change of the load.
    let mut truth = "time,cpu\n".to_owned();
    for (pass, load) in (0i64..).zip(&loads) {
        let _ = writeln!(truth, "{}s,{load}m", pass * SYNC);
    }
    let times = JoinTimes {
        ready: SignedDuration::from_secs(20),
        measured: SignedDuration::from_secs(45),
    };
    let trace = Some(Arc::new(Trace::read(truth.as_bytes(), "the load")?));
    let options = Options {
        name: "web".to_owned(),
        ..Options::default()
    };
    let observed = saved::read(include_str!("state.yaml"), &options, start)?;
    let plan = Plan::new(
        TimelineOptions {
            others: Vec::new(),
            span: None,
            trace,
            times,
        },
        observed,
        true,
    );
    let played = plan.prepare(&Assumptions::default())?.play()?;
    let passes = played
        .ok_or_else(|| Error::failed("the scale cannot be read"))?
        .passes;

    let mut out = "time,cpu,replicas,ready,spec\n".to_owned();
    let each = (SAMPLE / SYNC) as usize;
    for (sample, (loads, passes)) in (0i64..).zip(loads.chunks(each).zip(passes.chunks(each))) {
        let hours_in = sample * SAMPLE / 3600;
        let is_restarting = (102..103).contains(&hours_in) && sample % 60 < 10;
        let Some(pass) = passes.last().filter(|_| !is_restarting) else {
            continue;
        };
        let time = start + SignedDuration::from_secs((sample + 1) * SAMPLE);
        let cpu = loads.iter().sum::<i64>() / loads.len() as i64;
        let mark = if sample == 57 * 60 {
            "rollout of v2.4.0"
        } else {
            ""
        };
        let _ = writeln!(out, "{time},{cpu}m,{},{},{mark}", pass.replicas, pass.ready);
    }
    Ok(out)
}

/// Returns the usage of all pods this many seconds after the start, without the noise.
fn load(second: i64) -> i64 {
    let (hour, within) = (second / 3600 % 24, second % 3600);
    let (from, to) = (HOURS[hour as usize], HOURS[hour as usize + 1]);
    let weekday = from + (to - from) * within / 3600;
    let day = second / 86_400;
    let base = if day < 5 { weekday } else { weekday * 6 / 10 };
    let campaigns = CAMPAIGNS.iter().map(|(hour, peak)| {
        let since = second - hour * 3600;
        // It builds up within two minutes, and ends within an hour.
        match since {
            0..120 => peak * since / 120,
            120..3720 => peak - peak * (since - 120) / 3600,
            _ => 0,
        }
    });
    base + campaigns.sum::<i64>()
}

/// A linear congruential generator: the same numbers on every machine.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: i64) -> i64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % end as u64) as i64
    }
}
