//! What no rule can know: two histories that the API shows alike, after which the next pass decides differently. For
//! moments of the recorded runs, what left no trace is varied: the proposals of passes whose status has been
//! overwritten, or whose pods may have lacked metrics or had old ones; the seconds by which passes were late; and,
//! where no lease is read, a restart. The engine runs the varied course. If everything that a user can read stays as
//! it was, and the next pass decides otherwise, then no bounds are right that say what it decides. A moment without
//! a certain answer and without such a pair is undecided: a rule is missing, or the search is too narrow.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use kubectl_hpa::apimachinery::quantity::Quantity;
use kubectl_hpa::engine;
use kubectl_hpa::engine::decision::Event;
use kubectl_hpa::memory::{Memory, infer};
use kubectl_hpa::snapshot::hpa::{HpaStatus, MetricStatus};
use kubectl_hpa::snapshot::input::Input;
use kubectl_hpa::snapshot::{MetricAnswer, Snapshot};

use super::{NAMES, Pass, Past, SeenSoFar, asking_for, moments, passes, range};

/// A pass is this late at most, relative to the one before.
const LATE: SignedDuration = SignedDuration::from_millis(4_900);
const PERIOD: SignedDuration = SignedDuration::from_secs(15);
/// From the last sign of a controller to the first pass of the next: the lease expires, and a period passes.
const RESTART: SignedDuration = SignedDuration::from_secs(13 + 15);
/// Usage that was measured before a pod was ready does not count for this long after it has started.
const INITIALIZATION: SignedDuration = SignedDuration::from_mins(5);

/// A run, and what the passes of its course leave.
struct Run {
    /// The HPA and its controller; a pass asks for its proposal.
    template: Snapshot,
    passes: Vec<Pass>,
    /// The proposals that the status of each pass leaves possible.
    shown: Vec<BTreeSet<i32>>,
    /// What was before each pass.
    before: Vec<Left>,
    /// What each pass shows.
    played: Vec<Shown>,
}

/// What a pass leaves.
#[derive(Debug, Clone)]
struct Left {
    memory: Memory,
    status: HpaStatus,
}

/// What a user can read of a pass, apart from the values of its metrics.
#[derive(Debug, Clone, PartialEq)]
struct Shown {
    status: HpaStatus,
    events: Vec<Event>,
}

/// A course of passes.
#[derive(Debug, Clone)]
struct Course {
    /// The place of the first, and of the one that wrote the status, in the run.
    first: usize,
    wrote: usize,
    /// The controller started with this one.
    start: Option<usize>,
    passes: Vec<Pass>,
    next: Pass,
}

/// What has to be varied to reach another decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Varied {
    Proposals,
    Times,
    Restart,
}

impl Run {
    fn new(name: &str) -> Self {
        let mut template = moments(name)[0].snapshot.clone();
        template.controller.tolerance = 0.0;
        let passes = passes(name);
        let shown = passes.iter().map(|pass| shown(name, pass)).collect();
        let mut run = Self {
            template,
            passes,
            shown,
            before: Vec::new(),
            played: Vec::new(),
        };
        let mut left = Left {
            memory: Memory::default(),
            status: HpaStatus::default(),
        };
        for place in 0..run.passes.len() {
            run.before.push(left.clone());
            let pass = run.passes[place].clone();
            run.played.push(run.pass(&pass, &mut left));
        }
        run
    }

    /// Runs a pass.
    fn pass(&self, pass: &Pass, left: &mut Left) -> Shown {
        let mut snapshot = self.template.clone();
        snapshot.now = pass.time;
        (snapshot.hpa.spec.metrics, snapshot.metrics) = asking_for(pass.proposal);
        let scale = snapshot.scale.as_mut().unwrap();
        (scale.spec_replicas, scale.status_replicas) = (pass.from, pass.from);
        snapshot.hpa.status = left.status.clone();
        let decision = engine::reconcile(&snapshot, &left.memory);
        left.memory = decision.memory;
        left.status = decision.outcome.status.expect("every metric is read");
        let mut status = left.status.clone();
        status.current_metrics = None;
        let times = status
            .conditions
            .iter_mut()
            .map(|it| &mut it.last_transition_time);
        for time in times.chain([&mut status.last_scale_time]).flatten() {
            *time = Timestamp::from_second(time.as_second()).unwrap();
        }
        Shown {
            status,
            events: decision.outcome.events.unwrap_or_default(),
        }
    }

    /// Returns what the next pass after a course decides; `None` if the course can be told from the recorded one.
    fn decides(&self, course: &Course, past: Past) -> Option<i32> {
        let mut left = self.before[course.first].clone();
        for (place, pass) in (course.first..).zip(&course.passes) {
            if course.start == Some(place) {
                left.memory = Memory::default();
            }
            let shown = self.pass(pass, &mut left);
            // Those after it have left its status as it is.
            let recorded = &self.played[place.min(course.wrote)];
            let is_read = past != Past::None || place >= course.wrote;
            let events = if place > course.wrote {
                &[][..]
            } else {
                &recorded.events
            };
            if is_read && place <= course.wrote && shown.status != recorded.status
                || place > course.wrote && !same(&shown.status, &recorded.status)
                || shown.events != events
            {
                return None;
            }
        }
        if course.start == Some(course.first + course.passes.len()) {
            left.memory = Memory::default();
        }
        Some(self.pass(&course.next, &mut left).status.desired_replicas)
    }

    /// Returns what has to be varied for another decision at a moment, with that decision.
    fn other(&self, input: &Input, past: Past) -> Option<(Varied, Course, i32)> {
        let courses = self.courses(input, past);
        let decided = self
            .passes
            .iter()
            .find(|pass| pass.time > input.snapshot.now)?
            .to;
        for (varied, course) in courses {
            if let Some((course, to)) = self.search(course, past, decided) {
                return Some((varied, course, to));
            }
        }
        None
    }

    /// Returns courses that differ from the recorded one in their times, or by a restart.
    fn courses(&self, input: &Input, past: Past) -> Vec<(Varied, Course)> {
        let Snapshot {
            now,
            hpa,
            controller,
            ..
        } = &input.snapshot;
        let now = *now;
        let next = self.passes.partition_point(|pass| pass.time <= now);
        let written = hpa.written.status.unwrap();
        let wrote = self
            .passes
            .partition_point(|pass| pass.time < written)
            .min(next - 1);
        let oldest = now - infer::window(hpa, controller);
        let first = self
            .passes
            .partition_point(|pass| pass.time < oldest)
            .min(wrote);
        let recorded = Course {
            first,
            wrote,
            start: None,
            passes: self.passes[first..next].to_vec(),
            next: self.passes[next].clone(),
        };
        let mut courses = vec![(Varied::Proposals, recorded.clone())];
        // The passes since the status was written have left no trace: they may have been late.
        let last = &self.passes[wrote];
        for gaps in 1..8 {
            let latest = (last.time + (PERIOD + LATE) * gaps).min(now + PERIOD + LATE);
            let gap = (latest.duration_since(last.time)) / gaps;
            if latest <= now || gap < PERIOD || last.time + gap * (gaps - 1) > now {
                continue;
            }
            let at = |gaps: i32, pass: &Pass| Pass {
                time: last.time + gap * gaps,
                ..pass.clone()
            };
            let mut late = recorded.clone();
            late.passes.truncate(wrote + 1 - first);
            late.passes.extend((1..gaps).map(|gaps| at(gaps, last)));
            late.next = at(gaps, &recorded.next);
            courses.push((Varied::Times, late));
        }
        if matches!(past, Past::None | Past::Kept) {
            // The controller may have ended after it wrote the status.
            if now >= last.time + RESTART - PERIOD {
                let mut ended = recorded.clone();
                ended.passes.truncate(wrote + 1 - first);
                ended.start = Some(wrote + 1);
                ended.next.time = ended.next.time.max(last.time + RESTART);
                courses.push((Varied::Restart, ended));
            }
            // Or have started with the pass that wrote it.
            let before = &self.passes[first..wrote];
            let mut young = before.iter().zip(&self.played[first..wrote]);
            let is_silent = young
                .all(|(pass, shown)| pass.time < last.time - RESTART || shown.events.is_empty());
            if past == Past::None && is_silent {
                let mut started = recorded;
                started.start = Some(wrote);
                courses.push((Varied::Restart, started));
            }
        }
        courses
    }

    /// Varies the proposals of a course, until the next pass decides otherwise.
    fn search(&self, course: Course, past: Past, decided: i32) -> Option<(Course, i32)> {
        let to = self.decides(&course, past)?;
        if to != decided {
            return Some((course, to));
        }
        let possible: Vec<Vec<i32>> = (course.first..)
            .zip(&course.passes)
            .map(|(place, pass)| match past {
                Past::None if place < course.wrote => self.at_will(pass),
                _ => self.shown[place.min(course.wrote)]
                    .iter()
                    .copied()
                    .collect(),
            })
            .collect();
        for (raise, latest_first) in [(true, false), (false, false), (true, true), (false, true)] {
            let mut varied = course.clone();
            for (raise, latest_first) in [(raise, latest_first), (!raise, true)] {
                for step in 0..possible.len() {
                    let place = if latest_first {
                        possible.len() - 1 - step
                    } else {
                        step
                    };
                    let own = varied.passes[place].proposal;
                    let further = |it: &&i32| if raise { **it > own } else { **it < own };
                    let mut values: Vec<i32> =
                        possible[place].iter().filter(further).copied().collect();
                    if raise {
                        values.reverse();
                    }
                    for value in values {
                        varied.passes[place].proposal = value;
                        match self.decides(&varied, past) {
                            Some(to) if to != decided => return Some((varied, to)),
                            Some(_) => break,
                            None => varied.passes[place].proposal = own,
                        }
                    }
                }
            }
        }
        None
    }

    /// Returns the proposals that make a difference for a pass whose metrics no one can read any more, in order.
    fn at_will(&self, pass: &Pass) -> Vec<i32> {
        let spec = &self.template.hpa.spec;
        let (min, max) = (spec.min_replicas.unwrap_or(1), spec.max_replicas);
        let counts = self.passes.iter().flat_map(|pass| [pass.from, pass.to]);
        let near = counts.flat_map(|count| [count - 1, count, count + 1]);
        let all = near.chain([0, min - 1, min, max, max + 1, 2 * max, pass.proposal]);
        let all: BTreeSet<i32> = all.filter(|it| *it >= 0).collect();
        all.into_iter().collect()
    }
}

/// Whether a pass would not have written its status over another.
fn same(status: &HpaStatus, other: &HpaStatus) -> bool {
    let key = |status: &HpaStatus| {
        let conditions = status.conditions.iter();
        let reasons: Vec<_> = conditions
            .map(|it| (it.reason.clone(), it.status.clone()))
            .collect();
        (status.current_replicas, status.desired_replicas, reasons)
    };
    key(status) == key(other)
}

/// Returns the proposals of a pass over pods of which some lacked metrics, or had only those of their start, that
/// leave the status which it left.
fn shown(name: &str, pass: &Pass) -> BTreeSet<i32> {
    let mut possible = BTreeSet::from([pass.proposal]);
    let Some(after) = moments(name)
        .iter()
        .find(|moment| moment.snapshot.now > pass.time)
    else {
        return possible;
    };
    let mut snapshot = after.snapshot.clone();
    let Some(shown) = snapshot.hpa.status.current_metrics.clone() else {
        return possible;
    };
    let average = |shown: &MetricStatus| {
        shown
            .current()?
            .average_value
            .as_ref()
            .map(Quantity::milli_value)
    };
    let Some(usage) = average(&shown[0]) else {
        return possible;
    };
    if snapshot.hpa.status.current_replicas != pass.from {
        return possible;
    }
    snapshot.now = pass.time;
    let scale = snapshot.scale.as_mut().unwrap();
    scale.spec_replicas = pass.from;
    let replicas = i64::from(scale.status_replicas);
    snapshot
        .pods
        .retain(|pod| pod.created.is_none_or(|created| created <= pass.time));
    for (answer, shown) in snapshot.metrics.iter_mut().zip(&shown) {
        if let (MetricAnswer::External(values), Some(average)) = (answer, average(shown)) {
            values.truncate(1);
            values
                .iter_mut()
                .for_each(|value| value.value = average * replicas);
        }
    }
    for item in &mut snapshot.pod_metrics {
        item.containers[0]
            .usage
            .iter_mut()
            .for_each(|(_, milli)| *milli = usage);
    }
    let mut add = |snapshot: &Snapshot| {
        let decision = engine::reconcile(snapshot, &Memory::default());
        let status = decision
            .outcome
            .status
            .and_then(|status| status.current_metrics);
        possible.extend(
            decision
                .proposal
                .filter(|_| status.as_ref() == Some(&shown)),
        );
    };
    let all = snapshot.pod_metrics.clone();
    for count in 1..=all.len() {
        snapshot.pod_metrics = all[..count].to_vec();
        add(&snapshot);
    }
    snapshot.pod_metrics = all;
    for place in 0..snapshot.pod_metrics.len() {
        let item = &snapshot.pod_metrics[place];
        let Some(pod) = snapshot.pods.iter().find(|pod| pod.name == item.name) else {
            continue;
        };
        let is_young = pod
            .start_time
            .is_some_and(|start| pass.time < start + INITIALIZATION);
        if let (Some(ready), true) = (pod.ready, is_young) {
            snapshot.pod_metrics[place].timestamp = ready.last_transition_time;
            add(&snapshot);
        }
    }
    possible
}

/// No answer is certain where another history shows the same. Prints how many of the others are proven.
#[test]
fn what_is_certain_has_no_other_history() {
    have_no_other_history(40);
}

#[test]
#[ignore = "all moments: cargo test --release --test answers two_histories -- --ignored --nocapture"]
fn what_is_certain_has_no_other_history_long() {
    have_no_other_history(1);
}

fn have_no_other_history(every: usize) {
    let mut wrong = Vec::new();
    let runs = NAMES.map(|name| (name, Run::new(name)));
    for past in [Past::None, Past::Kept, Past::Led] {
        let (mut all, mut open) = (0, 0);
        for (name, run) in &runs {
            let (mut seen, mut certain) = (SeenSoFar::default(), 0);
            let mut proven = BTreeMap::<Varied, usize>::new();
            let (mut undecided, mut compared) = (Vec::new(), 0);
            for (place, input) in moments(name).iter().enumerate() {
                seen.add(input);
                let now = input.snapshot.now;
                let Some(next) = run.passes.iter().find(|pass| pass.time > now) else {
                    continue;
                };
                let scale = input.snapshot.scale.as_ref().unwrap();
                let proposal = engine::reconcile(&input.snapshot, &Memory::default()).proposal;
                let is_first = run.passes[0].time > now;
                if place % every != 0
                    || is_first
                    || proposal != Some(next.proposal)
                    || scale.spec_replicas != next.from
                {
                    continue;
                }
                let mut input = input.clone();
                seen.give(&mut input, past);
                compared += 1;
                let found = range(&input);
                match (found.min == found.max, run.other(&input, past)) {
                    (true, None) => certain += 1,
                    (true, Some(other)) => {
                        wrong.push(format!(
                            "{name} {past:?} at {now}: {found:?}, but {other:?}"
                        ));
                    }
                    (false, Some((varied, ..))) => *proven.entry(varied).or_default() += 1,
                    (false, None) => undecided.push(now.strftime("%T").to_string()),
                }
            }
            println!(
                "{name}, past {past:?}: {compared} moments, {certain} certain, proven {proven:?}, {} undecided \
                 {undecided:?}",
                undecided.len(),
            );
            assert!(compared > 0, "{name} {past:?}");
            all += compared;
            open += undecided.len();
        }
        println!("all, past {past:?}: {all} moments, {open} undecided");
        assert!(
            all * every >= 400 && open * 8 <= all,
            "{open} of {all} are undecided"
        );
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
