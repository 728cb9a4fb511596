//! The behavior of an HPA over a load: the run of the unchanged HPA, the runs of candidates over the same
//! load, where they part, and how far the first run can be trusted. [`crate::whatif::timeline`] runs the
//! passes; nothing here decides about replicas.

mod check;
mod parting;
mod search;

use std::collections::HashMap;

use jiff::SignedDuration;

use crate::engine;
use crate::engine::decision::Decision;
use crate::error::Error;
use crate::memory::Remembered;
use crate::numbers::duration;
use crate::pass::Pass;
use crate::snapshot::Snapshot;
use crate::snapshot::hpa::{CrossVersionObjectReference, Hpa};
use crate::snapshot::input::Input;
use crate::snapshot::metric::PodMetrics;
use crate::snapshot::note::{Note, Subject};
use crate::snapshot::shared::Shared;
use crate::snapshot::surroundings::{Replacement, UpdateStrategy, Workload};
use crate::whatif::overrides::{Assumptions, OtherRun, Override, drop_known};
use crate::whatif::timeline::{
    Course, LoadFacts, Player, Record, Rollout, Strategy, Timeline, TimelineOptions, Totals,
    begin_with_load, make_ready_then,
};
pub use check::{Check, RecordTotals};
pub use parting::{Parting, Stretches};
pub use search::{Axis, Filter, Search, SearchResult, Tried};

/// The runs over one load.
#[derive(Debug, Clone)]
pub struct Backtest {
    /// The load, if a trace states it.
    pub load: Option<LoadFacts>,
    /// The metrics of the HPA that have no value in any pass of the replay: the load does not contain them, and they
    /// fail at its start.
    pub lacking: Vec<String>,
    /// The run of the HPA without changes.
    pub replay: Run,
    /// The runs of other specs, in the order in which they were given.
    pub candidates: Vec<CandidateRun>,
    /// The replay's agreement with the record, if there is a record.
    pub check: Option<Check>,
    /// The time that new pods take to become ready, if the record shows it.
    pub ready_after: Option<SignedDuration>,
    /// The result of a search over settings, if there was one.
    pub search: Option<SearchResult>,
}

/// The run of one spec.
#[derive(Debug, Clone)]
pub struct Run {
    /// Its name: `replay`, or the candidate's.
    pub name: String,
    /// The first pass, with the assumptions.
    pub pass: Pass,
    /// Each assumption.
    pub overrides: Vec<Override>,
    /// The input with the pods that are rolled out later, if some are.
    pub rolled_out: Option<Box<Input>>,
    /// Its passes and totals.
    pub timeline: Timeline,
}

/// The run of a candidate, compared with the replay.
#[derive(Debug, Clone)]
pub struct CandidateRun {
    /// The run.
    pub run: Run,
    /// The manifest that it comes from, if it comes from one.
    pub manifest: Option<ManifestPlace>,
    /// The first difference from the replay, with the change of the replicas by each of the two.
    pub parted: Option<Parting>,
    /// All stretches over which the two have different replicas.
    pub stretches: Stretches,
}

/// The place of a manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManifestPlace {
    /// The file.
    pub file: String,
    /// The line at which its document begins, counted from 1.
    pub line: u64,
}

/// The runs to play, and their assumptions.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The time to play, and the load.
    pub timeline: TimelineOptions,
    /// The observed state, at the beginning of the load.
    pub observed: Input,
    /// Whether the load begins at another time than the state was read.
    pub is_moved: bool,
    /// The state that the runs begin with.
    begun: Input,
    /// The replicas at the beginning, if they were recorded.
    replicas: Option<i32>,
    /// The time from the first pass until the changed pods are rolled out; `None` if they run from the start.
    pub rollout: Option<SignedDuration>,
}

/// A spec to play.
#[derive(Debug, Clone)]
pub struct NamedSpec {
    /// Its name.
    pub name: String,
    /// The spec, with all other assumptions.
    pub assumptions: Assumptions,
}

impl NamedSpec {
    /// Returns the place of the manifest that it takes for an HPA, if it takes one from a file.
    pub fn manifest(&self, hpa: &Hpa) -> Option<ManifestPlace> {
        let (file, line) = self.assumptions.candidate()?.place(hpa)?;
        Some(ManifestPlace {
            file: file.to_owned(),
            line: u64::try_from(line).ok()?,
        })
    }
}

/// A run that is ready to be played.
#[derive(Debug)]
pub struct PreparedRun {
    input: Input,
    overrides: Vec<Override>,
    rolled_out: Option<Box<Input>>,
    first: Decision,
    player: Player,
}

impl Plan {
    /// Plans runs from the observed state. A load of another time begins with the recorded replicas, and pods
    /// start as fast as they did then, unless `times_are_given`.
    pub fn new(mut timeline: TimelineOptions, mut observed: Input, times_are_given: bool) -> Self {
        let (mut is_moved, mut replicas) = (false, None);
        if let Some(trace) = timeline.trace.clone() {
            is_moved = begin_with_load(&mut observed, &trace, timeline.times);
            let record = trace.record(observed.snapshot.now);
            let scale = observed.snapshot.scale.as_ref().ok();
            let differs = |own: &i32| scale.is_some_and(|now| now.spec_replicas != *own);
            replicas = record.replicas_at(SignedDuration::ZERO).filter(differs);
            if let Some(ready) = record.ready_after().filter(|_| !times_are_given) {
                // A pod cannot be measured before it runs.
                timeline.times.measured = timeline.times.measured.max(ready);
                timeline.times.ready = ready;
            }
        }
        let mut begun = observed.clone();
        if let Some(trace) = timeline.trace.as_ref().filter(|_| is_moved) {
            let record = trace.record(begun.snapshot.now);
            make_ready_then(&mut begun, &record, timeline.times);
        }
        Self {
            timeline,
            observed,
            is_moved,
            begun,
            replicas,
            rollout: None,
        }
    }

    /// Whether the load was recorded rather than made up.
    pub fn is_recorded(&self) -> bool {
        let trace = self.timeline.trace.as_ref();
        trace.is_some_and(|trace| trace.is_recorded(self.observed.snapshot.now))
    }

    /// Returns the same plan with all specs that are played over the load, the spec of the unchanged HPA first. Specs
    /// that cannot be assumed are left out, and of a search all but one.
    #[must_use]
    pub fn beside<'s>(
        mut self,
        others: impl Iterator<Item = &'s Assumptions>,
        search: Option<&Search>,
    ) -> Self {
        let decision = decide(&self.observed);
        // The values that they share follow from these runs.
        let assumed = |own: &Assumptions| {
            let without = own.without_values();
            without.apply(self.observed.clone(), &decision).ok()
        };
        let of_search = search.and_then(|search| search.all().find_map(|own| assumed(&own)));
        let specs = others.filter_map(assumed).chain(of_search);
        let runs = specs.map(|(Input { snapshot, .. }, _)| {
            let pods = snapshot.pods.iter();
            let running = pods.flat_map(|pod| pod.running(false));
            OtherRun {
                containers: running.map(|own| own.name.clone()).collect(),
                spec: snapshot.hpa.spec,
            }
        });
        self.timeline.others = runs.collect();
        self
    }

    /// Prepares the run of a spec.
    ///
    /// # Errors
    ///
    /// An assumption is impossible for this HPA, or the load does not fit it.
    pub fn prepare(&self, assumptions: &Assumptions) -> Result<PreparedRun, Error> {
        let mut started = assumptions.clone().starting_with(self.replicas);
        started.runs.clone_from(&self.timeline.others);
        let (timeline, decision) = (self.timeline.clone(), decide(&self.begun));
        let (mut input, mut overrides) = started.apply(self.begun.clone(), &decision)?;
        let mut rolled_out = None;
        let observed = &self.observed.snapshot;
        let without_load = input.snapshot.clone();
        let delay = Remembered::of(&input).delay.likely;
        let is = &mut input.snapshot;
        let player = match started.with_running_template(self.rollout.is_some()) {
            None => Player::new(timeline, delay, observed, is, None, &mut overrides)?,
            // A percentage refers to the requests of the running pods, so that all runs have the same load.
            Some(running) => {
                let (mut running, _) = running.apply(self.begun.clone(), &decision)?;
                let was = &mut running.snapshot;
                let mut player =
                    Player::new(timeline, delay, observed, was, Some(is), &mut overrides)?;
                match self.rollout {
                    Some(at) => {
                        let (player, input) = (&mut player, &mut input);
                        rolled_out = roll_out(at, &started, player, running, input, &mut overrides);
                    }
                    None => use_as(is, running.snapshot),
                }
                player
            }
        };
        if rolled_out.is_none() {
            // The load may have what the input lacks.
            input.remark_anew(&without_load);
        }
        let Input {
            snapshot, notes, ..
        } = &mut input;
        let metrics = &snapshot.hpa.spec.metrics;
        drop_known(
            snapshot,
            |container| player.has_load_of(container, metrics),
            notes,
        );
        input.keep_observed(&observed.clone().into());
        let first = decide(&input);
        for own in &mut overrides {
            own.came_to(&input.snapshot, &first);
        }
        Ok(PreparedRun {
            input,
            overrides,
            rolled_out,
            first,
            player,
        })
    }

    /// Plays the unchanged HPA and each candidate, and compares them. `None` if the scale cannot be read.
    /// `assumptions` are those that do not concern the spec.
    ///
    /// # Errors
    ///
    /// The same as for [`Plan::prepare`], or the run has more pods than can be played.
    pub fn run(
        &self,
        assumptions: &Assumptions,
        candidates: &[NamedSpec],
    ) -> Result<Option<Backtest>, Error> {
        let mut replay = self.prepare(&assumptions.without_candidate())?;
        let Some(timeline) = replay.play()? else {
            return Ok(None);
        };
        let passes = replay.player.passes_of_load(timeline.totals.period);
        let trace = self.timeline.trace.as_ref();
        let record = trace.map(|trace| trace.record(timeline.start));
        let check = record.as_ref().and_then(|record| {
            let snapshot = &replay.input.snapshot;
            Check::of(&timeline, record, passes, &replay.player, snapshot)
        });
        let lacking = replay.lacking();
        let mut runs = Vec::with_capacity(candidates.len());
        for candidate in candidates {
            let Some(run) = self.run_beside(&replay, &timeline, candidate, passes)? else {
                return Ok(None);
            };
            runs.push(run);
        }
        Ok(Some(Backtest {
            load: trace.map(|trace| trace.facts(timeline.start, timeline.totals.span())),
            lacking,
            replay: replay.into_run("replay", timeline),
            candidates: runs,
            check,
            ready_after: record.as_ref().and_then(Record::ready_after),
            search: None,
        }))
    }

    /// Plays a candidate and compares it with the replay. `None` if the scale cannot be read.
    fn run_beside(
        &self,
        replay: &PreparedRun,
        replayed: &Timeline,
        candidate: &NamedSpec,
        passes: usize,
    ) -> Result<Option<CandidateRun>, Error> {
        let mut prepared = self.prepare(&candidate.assumptions)?;
        let Some(played) = prepared.play()? else {
            return Ok(None);
        };
        let stretches = Stretches::of(replayed, &played, passes);
        let parted = replay
            .start()
            .zip(prepared.start())
            .filter(|_| !stretches.all.is_empty())
            .map(|(one, other)| Parting::find(one, other))
            .transpose()?
            .flatten();
        Ok(Some(CandidateRun {
            run: prepared.into_run(&candidate.name, played),
            manifest: candidate.manifest(&self.observed.snapshot.hpa),
            parted,
            stretches,
        }))
    }
}

/// Makes a run begin with the running pods, and roll out the pods of `input` later. Returns the input with
/// these, if there is a rollout.
fn roll_out(
    at: SignedDuration,
    assumptions: &Assumptions,
    player: &mut Player,
    running: Input,
    input: &mut Input,
    overrides: &mut Vec<Override>,
) -> Option<Box<Input>> {
    let hpa = &input.snapshot.hpa;
    let target = &hpa.spec.scale_target_ref;
    let (name, max_replicas) = (hpa.reference(), hpa.spec.max_replicas);
    let known = [
        assumptions.workload(hpa),
        input.surroundings.workload(target),
    ];
    // The API server states the defaults: an object that it has read but that states none was saved without
    // them.
    let states = |it: &&Workload| it.strategy.is_some() || it.status.is_none();
    let how = Replacement::of(target, known.into_iter().flatten());
    let stating: Vec<&Workload> = known.into_iter().flatten().filter(states).collect();
    let stated = stating
        .iter()
        .find_map(|it| it.strategy.clone())
        .or_else(|| stating.first().map(|_| UpdateStrategy::default()));
    let strategy = Strategy::of(target, stated.as_ref(), how);
    let played = strategy.unwrap_or_else(|| Strategy::default_of(target));
    let rollout = Rollout::between(&running.snapshot, &input.snapshot, at, played);
    let mut rolled_out = None;
    if let Some(rollout) = rollout {
        let own = rollout.own();
        if how == Replacement::Paused {
            input.notes.push(Note::new(format!(
                "{name} is paused and replaces no pods: nothing changes before spec.paused is removed (--at)"
            )));
        } else if !player.roll_out(rollout, running.snapshot.controller.sync_period) {
            input.notes.push(Note::new(format!(
                "the run ends before the rollout of {name} begins after {}: nothing changes (--at)",
                duration(at)
            )));
        } else {
            rolled_out = Some(Box::new(input.clone()));
            overrides.push(own);
            if strategy.is_none() {
                input.notes.push(not_played(how, &name, target));
            } else if running.snapshot.controller.version.replaces_several()
                && let Some(limit) = played.at_once(stated.as_ref(), max_replicas)
            {
                input.notes.push(Note::new(format!(
                    "the rollout is simulated one pod at a time: maxUnavailable ({limit}) of {name} is ignored, but \
                     controllers of v1.37, and of v1.35 up to v1.35.3, replace that many at once"
                )));
            }
        }
    } else if let Replacement::AllBut { partition, .. } = how
        && input.surroundings.running.is_some()
    {
        input.notes.push(Note::new(format!(
            "all pods of {name} are below partition {partition}, so no rollout is simulated: pods that are added keep the \
             template that runs, but from ordinal {partition} on, they would get the new one (--at)"
        )));
    }
    input
        .notes
        .retain(|note| !matches!(note.subject, Subject::RolloutFirst { .. }));
    input.snapshot = running.snapshot;
    input.surroundings.workloads = running.surroundings.workloads;
    input.surroundings.running = None;
    rolled_out
}

/// Returns the note on a rollout whose strategy is not simulated, or not known.
fn not_played(how: Replacement, name: &str, target: &CrossVersionObjectReference) -> Note {
    let kind = if Strategy::is_stateful(target) {
        "StatefulSet"
    } else {
        "Deployment"
    };
    let (strategy, is) = match how {
        Replacement::Canary(_) => ("the canary strategy", "not simulated"),
        Replacement::BlueGreen { .. } => ("the blueGreen strategy", "not simulated"),
        _ => ("the strategy", "unknown"),
    };
    let waits = how.promotion().map(|own| format!("; {own}"));
    Note::new(format!(
        "{strategy} of {name} is {is}: the rollout is simulated with the defaults of a {kind}{}",
        waits.unwrap_or_default()
    ))
}

/// Gives the pods of a snapshot the usage of the same pods in another one, in all containers that both have. Pods that
/// nothing has measured before the load have only this usage.
fn use_as(snapshot: &mut Snapshot, other: Snapshot) {
    let items = other.pod_metrics.iter();
    let mut used: HashMap<&str, &Shared<PodMetrics>> =
        items.map(|item| (&*item.name, item)).collect();
    for item in &mut snapshot.pod_metrics {
        let Some(used) = used.remove(&*item.name) else {
            continue;
        };
        for own in &mut item.containers {
            if let Some(used) = used.containers.iter().find(|used| used.name == own.name) {
                own.usage.clone_from(&used.usage);
            }
        }
    }
    for pod in &snapshot.pods {
        if let Some(used) = used.remove(&*pod.name) {
            let mut item = used.clone();
            let has = |name: &str| pod.running(false).any(|own| *own.name == *name);
            item.containers.retain(|own| has(&own.name));
            snapshot.pod_metrics.push(item);
        }
    }
    snapshot.metrics = other.metrics;
}

/// The pass over an input.
fn decide(input: &Input) -> Decision {
    engine::reconcile(&input.snapshot, &Remembered::of(input).likely)
}

impl PreparedRun {
    /// Plays the run. `None` if the scale cannot be read.
    ///
    /// # Errors
    ///
    /// The run needs more pods than can be played.
    pub fn play(&mut self) -> Result<Option<Timeline>, Error> {
        let timeline = self.player.play(&self.input.snapshot, &self.first)?;
        if let Some(rolled) = timeline.as_ref().and_then(|own| own.rolled) {
            rolled.came_to(&mut self.overrides);
        }
        Ok(timeline)
    }

    /// The first pass, and each assumption.
    pub fn into_parts(self) -> (Input, Vec<Override>) {
        (self.input, self.overrides)
    }

    fn into_run(self, name: &str, timeline: Timeline) -> Run {
        Run {
            name: name.to_owned(),
            pass: Pass::run(self.input),
            overrides: self.overrides,
            rolled_out: self.rolled_out,
            timeline,
        }
    }

    /// The metrics that have no value in any pass of the replay.
    fn lacking(&self) -> Vec<String> {
        let all = self.first.metrics();
        let failed = all.filter(|it| it.is_failed() && !self.player.has(it.index));
        let metrics = &self.input.snapshot.hpa.spec.metrics;
        failed.map(|it| metrics[it.index].label(metrics)).collect()
    }

    /// The run at its first pass.
    fn start(&self) -> Option<Course<'_>> {
        self.player.start(&self.input.snapshot, self.first.clone())
    }

    /// Plays the run for its totals alone. `None` if the scale cannot be read.
    ///
    /// # Errors
    ///
    /// The run needs more pods than can be played.
    pub fn totals(&self) -> Result<Option<Totals>, Error> {
        self.start().map(Totals::of).transpose()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::use_as;
    use crate::build;
    use crate::saved::testing::input;

    #[test]
    fn pods_use_what_the_load_gives_to_the_running_ones() {
        let cpu = build::resource("cpu", &build::utilization(50));
        let items = [
            build::hpa(&json!({"maxReplicas": 9, "metrics": [cpu]})),
            build::scale(1),
            build::state(&json!({})),
            build::pod("web-0"),
            build::pod_metrics("web-0", "90m"),
        ];
        let input = input(&items).unwrap();
        let running = input.snapshot;
        let mut unmeasured = running.clone();
        unmeasured.pod_metrics.clear();
        let mut idle = running.clone();
        idle.pod_metrics[0].containers[0].usage[0].1 = 0;
        for (about, mut snapshot) in [("unmeasured", unmeasured), ("measured before", idle)] {
            use_as(&mut snapshot, running.clone());
            assert_eq!(snapshot.pod_metrics, running.pod_metrics, "{about}");
        }
    }
}
