//! Every pass of the recorded runs as a past pass, from what a Prometheus would have of it: the answer is judged by
//! what the controller did, whose second the user need not know.

use std::fmt;

use jiff::SignedDuration;
use kubectl_hpa::pass;
use kubectl_hpa::past::{rewind, span};

use super::history::{Faults, Scrapes, history};
use super::{NAMES, Pass, moments, passes};

/// How far the stated time is from the pass, in seconds.
const OFFSETS: [i64; 5] = [0, -1, -3, 1, 3];

/// How the runs are scraped.
fn all_scrapes() -> impl Iterator<Item = Scrapes> {
    let all = [Faults::None, Faults::Lost, Faults::Away, Faults::Resets];
    let kinds = all.map(|faults| [false, true].map(|own_times| (faults, own_times)));
    let of = |(faults, own_times)| {
        [1, 3, 6].map(|every| Scrapes {
            every,
            own_times,
            faults,
        })
    };
    kinds.into_iter().flatten().flat_map(of)
}

/// What became of the answers.
#[derive(Debug, Default)]
struct Judged {
    /// Those at which nothing had been scraped for a minute.
    unseen: usize,
    all: usize,
    in_range: usize,
    certain: usize,
    certain_and_wrong: usize,
    right: usize,
    rescales: usize,
    rescales_right: usize,
    /// The replicas in all ranges beyond the first.
    width: i32,
}

impl Judged {
    fn add(&mut self, pass: &Pass, range: (i32, i32), headline: i32) {
        let is_right = headline == pass.to;
        let is_certain = range.0 == range.1;
        let is_rescale = pass.from != pass.to;
        self.all += 1;
        self.in_range += usize::from((range.0..=range.1).contains(&pass.to));
        self.certain += usize::from(is_certain);
        self.certain_and_wrong += usize::from(is_certain && !is_right);
        self.right += usize::from(is_right);
        self.rescales += usize::from(is_rescale);
        self.rescales_right += usize::from(is_rescale && is_right);
        self.width += range.1 - range.0;
    }
}

impl fmt::Display for Judged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            unseen,
            all,
            in_range,
            certain,
            certain_and_wrong,
            right,
            rescales,
            ..
        } = self;
        write!(
            f,
            "{unseen} without samples, {in_range} of {all} in range, {certain} certain and {certain_and_wrong} of these wrong, the headline \
             right in {right} and in {} of {rescales} rescales, {:.1} replicas wide",
            self.rescales_right,
            f64::from(self.width) / *all as f64,
        )
    }
}

/// Explains a pass at a time that may be seconds off, from what was scraped around it.
fn judge(name: &str, pass: &Pass, scrapes: Scrapes, offset: i64, judged: &mut Judged) {
    let moments = moments(name);
    let input = moments.last().unwrap().clone();
    let at = pass.time + SignedDuration::from_secs(offset);
    let (before, after) = span(&input);
    let place = |time| moments.partition_point(|moment| moment.snapshot.now < time);
    // Scrapes are as far apart wherever the part begins.
    let from = place(at - before).next_multiple_of(scrapes.every);
    let history = history(&moments[from..place(at + after)], scrapes);
    let run = match rewind(input, &history, at) {
        Ok(input) => pass::Pass::run(input),
        Err(e) => {
            assert!(e.message.contains("has no samples of"), "{e}");
            judged.unseen += 1;
            return;
        }
    };
    let range = run.outlook.range(&run.decision).unwrap();
    let headline = run.decision.replicas_after().unwrap();
    judged.add(pass, (range.min, range.max), headline);
}

/// Judges every Nth pass of each run, another one for each way to scrape and each offset, and prints the shares.
fn judged(every: usize) -> Vec<(Scrapes, Judged)> {
    let mut all = Vec::new();
    let mut looks = 0;
    for scrapes in all_scrapes() {
        let mut total = Judged::default();
        for offset in OFFSETS {
            for name in NAMES {
                looks += 1;
                let last = moments(name).last().unwrap().snapshot.now;
                let passes = passes(name);
                let passes = passes.iter().filter(|pass| pass.time < last);
                for pass in passes.skip(looks * 61 % every).step_by(every) {
                    judge(name, pass, scrapes, offset, &mut total);
                }
            }
        }
        println!("{scrapes:?}: {total}");
        all.push((scrapes, total));
    }
    all
}

/// Makes sure that no answer is certain and wrong, and that most are right, however often was scraped. What happens
/// between two scrapes of 30 s may be in neither: one pass in a hundred, or one in all.
fn check(all: &[(Scrapes, Judged)]) {
    assert!(all.iter().all(|(_, judged)| judged.all > 0), "{all:?}");
    for every in [1, 3, 6] {
        let these = || all.iter().filter(|(scrapes, _)| scrapes.every == every);
        let sum = |of: fn(&Judged) -> usize| these().map(|(_, judged)| of(judged)).sum::<usize>();
        let (passes, rescales) = (sum(|own| own.all), sum(|own| own.rescales));
        assert_eq!(sum(|own| own.certain_and_wrong), 0, "every {every}");
        let outside = passes - sum(|own| own.in_range);
        assert!(
            outside * 100 <= if every == 6 { passes.max(100) } else { 0 },
            "every {every}: {outside}"
        );
        assert!(sum(|own| own.certain) * 2 >= passes, "every {every}");
        assert!(sum(|own| own.right) * 100 >= passes * 95, "every {every}");
        let right = sum(|own| own.rescales_right);
        let least = if every == 6 { 80 } else { 95 };
        assert!(
            right * 100 >= rescales * least,
            "every {every}: {right} of {rescales} rescales"
        );
        assert!(sum(|own| own.unseen) * 50 <= passes, "every {every}");
    }
}

#[test]
fn past_passes_are_answered_as_the_controller_decided() {
    check(&judged(320));
}

#[test]
#[ignore = "all passes: cargo test --test answers past_passes -- --ignored --nocapture"]
fn all_past_passes_are_answered_as_the_controller_decided() {
    check(&judged(1));
}
