//! Plays a scenario from its baseline: one pass, or runs of the HPA as it is and of others over the same load.

use std::num::NonZero;
use std::thread::available_parallelism;

use super::vary::vary_on;
use super::{Baseline, Scenario, Simulation};
use crate::backtest::{Backtest, Filter, Plan, Run, Search, SearchResult};
use crate::command::Terminal;
use crate::command::state::{unpredicted, with_remedy};
use crate::error::Error;
use crate::pass::Pass;
use crate::snapshot::note::{Note, Subject};
use crate::whatif::expect::{Gate, PassFacts, RunFacts, Truth};
use crate::whatif::timeline::{Timeline, TimelineOptions, Totals};

/// Plays the scenario.
pub(super) fn play(
    scenario: &Scenario<'_>,
    baseline: &Baseline<'_>,
    terminal: &Terminal,
) -> Result<Simulation, Error> {
    let played = match &baseline.timeline {
        Some(timeline) => {
            let plan = plan(scenario, baseline, timeline)?;
            runs(scenario, &plan, terminal)
        }
        None => next_pass(scenario, &baseline.pass),
    };
    let mut simulation = played.map_err(|e| with_remedy(e, &baseline.pass.input.notes))?;
    let Pass {
        input, decision, ..
    } = &simulation.pass;
    for assumed in &mut simulation.overrides {
        assumed.came_to(&input.snapshot, decision);
    }
    let is_played = simulation.timeline.is_some();
    let lacks_pods = simulation.timeline.as_ref().is_some_and(|it| it.lacks_pods);
    let reads_none = simulation.pass.decision.metrics().next().is_none();
    let asks_for_values =
        !scenario.is_gated() && scenario.curve.is_none() && unpredicted(&simulation.pass).is_some();
    let after_load = highest_after_load(scenario, baseline, &simulation);
    let notes = &mut simulation.pass.input.notes;
    if let Some(highest) = after_load {
        notes.push(Note::new(format!(
            "the replicas reach {highest} after the load has ended, which only run.last and run.settled cover"
        )));
    }
    if baseline.timeline.is_some() && !is_played {
        notes.push(Note::new(NOT_PLAYED));
    }
    if is_played || reads_none || asks_for_values {
        // The run has the values, the pass reads none, or an error asks for them.
        notes.retain(|note| note.subject != Subject::NoValues);
    }
    if lacks_pods {
        notes.push(Note::new(
            "there is no pod of the target to go by, so the run takes all replicas for ready",
        ));
    }
    if is_played && scenario.args.expect.exit_code {
        notes.push(Note::new(
            "--exit-code is about the first pass, not the run",
        ));
    }
    Ok(simulation)
}

/// Returns the most replicas of the runs that are judged, if they only reach them after the end of the load.
fn highest_after_load(
    scenario: &Scenario<'_>,
    baseline: &Baseline<'_>,
    simulation: &Simulation,
) -> Option<i32> {
    let options = baseline.timeline.as_ref()?;
    if options.span.is_some() || !scenario.gate.is_about_run() {
        return None;
    }
    let candidates = simulation.backtest.iter().flat_map(|it| &it.candidates);
    let runs = simulation.timeline.iter();
    runs.chain(candidates.map(|it| &it.run.timeline))
        .filter_map(Timeline::highest_after_load)
        .max()
}

/// The reason why there is no timeline.
pub(super) const NOT_PLAYED: &str = "no timeline: the scale cannot be read";

/// Plans the runs from the beginning of the load.
fn plan(
    scenario: &Scenario<'_>,
    baseline: &Baseline<'_>,
    timeline: &TimelineOptions,
) -> Result<Plan, Error> {
    let args = scenario.args;
    let times_are_given = args.timeline.ready_after.is_some();
    let mut plan = Plan::new(
        timeline.clone(),
        baseline.pass.input.clone(),
        times_are_given,
    );
    plan.rollout = args.timeline.at;
    if plan.is_moved && args.memory.is_stated() {
        return Err(Error::usage(
            "the load begins at another time than the state was read: its controller starts \
             without a history",
        )
        .hint("leave out --history, --recommendation and --observe"));
    }
    let as_it_is = scenario.first().without_candidate();
    let candidates = scenario.candidates.iter().map(|own| &own.assumptions);
    let others = std::iter::once(&as_it_is).chain(candidates);
    Ok(plan.beside(others, scenario.search.as_ref()))
}

/// Plays only the next pass.
fn next_pass(scenario: &Scenario<'_>, observed: &Pass) -> Result<Simulation, Error> {
    let (input, overrides) = scenario
        .assumptions
        .apply(observed.input.clone(), &observed.decision)?;
    Ok(Simulation {
        begun: None,
        pass: Pass::run(input),
        overrides,
        timeline: None,
        backtest: None,
    })
}

/// Plays the HPA as it is, and any candidates or combinations.
fn runs(scenario: &Scenario<'_>, plan: &Plan, terminal: &Terminal) -> Result<Simulation, Error> {
    let begun = plan.is_moved.then(|| Pass::run(plan.observed.clone()));
    let (search, candidates) = (&scenario.search, &scenario.candidates);
    let compares = !candidates.is_empty() || search.is_some() || plan.is_recorded();
    // What only a candidate has may be assumed in a search, too.
    let assumptions = scenario.first();
    let backtest = if compares {
        plan.run(assumptions, candidates)?
    } else {
        None
    };
    let Some(mut backtest) = backtest else {
        let mut prepared = plan.prepare(assumptions)?;
        let timeline = prepared.play()?;
        let (input, overrides) = prepared.into_parts();
        return Ok(Simulation {
            begun,
            pass: Pass::run(input),
            overrides,
            timeline,
            backtest: None,
        });
    };
    if let Some(search) = search {
        backtest.search = Some(searched(search, plan, &backtest, &scenario.gate, terminal)?);
    }
    let first = backtest.candidates.first();
    let run = first.map_or(&backtest.replay, |it| &it.run);
    let (mut pass, overrides) = (run.pass.clone(), run.overrides.clone());
    let timeline = Some(run.timeline.clone());
    let notes = &mut pass.input.notes;
    tell_apart(notes, &backtest);
    if let Some(search) = search
        && let Some(prepared) = search.all().find_map(|own| plan.prepare(&own).ok())
    {
        // The notes about a manifest apply to every combination that can be played.
        let (tried, _) = prepared.into_parts();
        let is_new = |note: &Note| !notes.contains(note);
        let new: Vec<Note> = tried.notes.into_iter().filter(is_new).collect();
        notes.extend(new);
    }
    Ok(Simulation {
        begun,
        pass,
        overrides,
        timeline,
        backtest: Some(backtest),
    })
}

/// Tries the combinations of a search.
fn searched(
    search: &Search,
    plan: &Plan,
    backtest: &Backtest,
    gate: &Gate,
    terminal: &Terminal,
) -> Result<SearchResult, Error> {
    let begin = &backtest.replay.pass;
    let totals = &backtest.replay.timeline.totals;
    let replay = RunFacts::new(begin, totals);
    let meets = |pass: &Pass, totals: &Totals| {
        let facts = PassFacts::of(pass).with_runs(RunFacts::new(pass, totals), replay);
        gate.truth(&facts)
    };
    let expected = gate.has_expectations().then_some(&meets as &Filter<'_>);
    let rival = (meets(begin, totals) == Truth::True).then_some(totals);
    let threads = available_parallelism().map_or(1, NonZero::get);
    vary_on(threads, search, plan, expected, rival, terminal)
}

/// Replaces the notes about the first of several candidates with the notes about all: first the common
/// ones, then those of each candidate with its name.
fn tell_apart(notes: &mut Vec<Note>, backtest: &Backtest) {
    let runs = || backtest.candidates.iter().map(|it| &it.run);
    if runs().count() <= 1 {
        return;
    }
    let is_common = |note: &Note| runs().all(|run| run.pass.input.notes.contains(note));
    notes.retain(is_common);
    for Run { name, pass, .. } in runs() {
        let own = pass
            .input
            .notes
            .iter()
            .filter(|note| !is_common(note))
            .cloned();
        notes.extend(own.map(|note| match note.origin {
            Some(_) => note,
            // No code asks the first candidate about another one's subject.
            None => Note {
                origin: Some(name.clone()),
                ..Note::new(note.text)
            },
        }));
    }
}
