//! Observes the HPA of a scenario: from saved objects or a cluster, with the load that Prometheus recorded.

use std::borrow::Cow;

use super::read::{check_not_played, timeline_options};
use super::{Baseline, Scenario};
use crate::cluster::Session;
use crate::command::past::narrow;
use crate::command::state::{ask, pass, read_saved};
use crate::command::{Terminal, connected, waited};
use crate::error::Error;
use crate::pass::Pass;
use crate::saved::objects::Objects;
use crate::saved::scaled_objects::add_hpas_of_keda;
use crate::snapshot::input::Input;
use crate::snapshot::load::Load;
use crate::snapshot::note::Note;
use crate::whatif::overrides::{Assumptions, KnownValues, suppose_pods};

/// The result of the query to Prometheus.
enum FromPrometheus {
    Nothing,
    Load(Box<Load>),
    /// The history before now, in the pass.
    History,
}

/// Reads saved objects, or queries a cluster.
pub(super) fn observe<'s>(
    scenario: &'s Scenario<'_>,
    saved: Option<Objects>,
    terminal: &Terminal,
) -> Result<Baseline<'s>, Error> {
    let mut as_read = None;
    let ((mut pass, recorded, more), mut messages, warned) = match saved {
        Some(objects) => {
            let (pass, read) = read(scenario, objects)?;
            as_read = read;
            let asked = waited(recorded(scenario, None, pass, terminal))?;
            (asked, Vec::new(), None)
        }
        None => connected(&scenario.request.connection, async |session| {
            let (memory, options) = (&scenario.args.memory, &scenario.options);
            let assumed = Some(&scenario.assumptions);
            let live = ask(session, memory, options, assumed, None, terminal).await?;
            recorded(scenario, Some(session), live.pass, terminal).await
        })?,
    };
    let key = pass.input.snapshot.hpa.key();
    let saved_of = scenario.load.as_ref().and_then(|load| load.hpa.as_ref());
    if saved_of.is_some_and(|of| *of != key) {
        return Err(Error::usage(format!(
            "the saved load is not of {key}, but of another HPA"
        ))
        .hint("use --trace or --prometheus"));
    }
    messages.extend(more);
    let args = &scenario.args.timeline;
    let (load, timeline) = match recorded {
        FromPrometheus::Nothing => {
            let load = scenario.load.as_ref().map(Cow::Borrowed);
            (load, scenario.timeline.clone())
        }
        FromPrometheus::Load(load) => {
            let timeline = timeline_options(args, Some(&load))?;
            (Some(Cow::Owned(*load)), Some(timeline))
        }
        FromPrometheus::History => {
            check_not_played(&scenario.gate, args)?;
            (None, None)
        }
    };
    let of_load = load
        .iter()
        .flat_map(|load| load.notes.iter().map(|note| Note::new(note.clone())));
    pass.input.notes.extend(of_load);
    Ok(Baseline {
        pass,
        as_read,
        load,
        timeline,
        messages,
        warned,
    })
}

/// Returns the pass over saved objects, with pods for a target without any; in that case, also the input
/// without them.
fn read(scenario: &Scenario<'_>, mut objects: Objects) -> Result<(Pass, Option<Input>), Error> {
    let mut options = scenario.options.clone();
    let values = KnownValues {
        trace: scenario
            .timeline
            .as_ref()
            .and_then(|own| own.trace.as_deref()),
        is_asked: scenario.query.is_some(),
        candidates: scenario
            .others()
            .filter_map(Assumptions::candidate)
            .collect(),
    };
    let of_keda = add_hpas_of_keda(&mut objects, &mut options)?;
    let mut input = read_saved(objects, &options)?;
    input.notes.extend(of_keda);
    let read = input.surroundings.lacks_pods.then(|| input.clone());
    suppose_pods(&mut input, &scenario.assumptions, &values)?;
    let as_read = read.filter(|_| input.surroundings.supposed.is_some());
    Ok((pass(input, &scenario.args.memory)?, as_read))
}

/// Queries Prometheus for a load. If a value is assumed for every metric and no run is requested, there is
/// nothing to play, and the query is for the history before now. Also returns the messages about a connection
/// other than `session`.
async fn recorded(
    scenario: &Scenario<'_>,
    session: Option<&Session>,
    pass: Pass,
    terminal: &Terminal,
) -> Result<(Pass, FromPrometheus, Vec<String>), Error> {
    let Some(query) = &scenario.query else {
        return Ok((pass, FromPrometheus::Nothing, Vec::new()));
    };
    if !wants_run(scenario) && scenario.assumptions.fixes_all_metrics(&pass.input.snapshot) {
        let (pass, messages) = narrow(query, session, pass, terminal).await?;
        return Ok((pass, FromPrometheus::History, messages));
    }
    let (recorded, also) = (&scenario.args.recorded, &scenario.options.also);
    let (load, messages) = query
        .load(recorded, session, &pass.input, also, terminal)
        .await?;
    Ok((pass, FromPrometheus::Load(Box::new(load)), messages))
}

/// Whether a flag requests more than the next pass.
fn wants_run(scenario: &Scenario<'_>) -> bool {
    let args = scenario.args;
    args.timeline.span.is_some()
        || !args.timeline.vary.is_empty()
        || !args.overrides.hpa.is_empty()
        || !args.recorded.flags().is_empty()
}
