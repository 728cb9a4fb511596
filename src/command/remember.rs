//! What the command line says about the controller's memory, in place of what the input states; and
//! the watching that tells more of it.

use std::time::Duration;

use jiff::Timestamp;

use super::Terminal;
use super::progress::shown;
use crate::args::MemoryArgs;
use crate::cluster::Session;
use crate::cluster::fetch::history::look_back;
use crate::cluster::fetch::observe::observe;
use crate::cluster::fetch::past::scaled;
use crate::engine;
use crate::engine::decision::Outlook;
use crate::error::Error;
use crate::go;
use crate::memory::infer::Chain;
use crate::memory::{Remembered, infer};
use crate::snapshot::assemble::Input;
use crate::snapshot::file;
use crate::snapshot::hpa::Hpa;
use crate::snapshot::stated::{Recommendation, StatedMemory};

/// More often than a controller passes, whatever its sync period may be.
const EVERY: Duration = Duration::from_secs(5);

/// Puts what is typed about the memory into an input.
pub(super) fn remember(args: &MemoryArgs, input: &mut Input) -> Result<(), Error> {
    match args.history.as_deref() {
        None => {}
        Some("none") => input.stated_memory = Some(StatedMemory::default()),
        Some("infer") => input.stated_memory = None,
        Some(path) => {
            let state = file::read(&[path.to_owned()])?.state;
            let Some(memory) = state.and_then(|state| state.stated_memory()) else {
                return Err(Error::usage(format!("{path} states nothing about the memory"))
                    .hint("it needs a ControllerState with recommendations, such as --save writes of a stated memory"));
            };
            input.stated_memory = Some(memory);
        }
    }
    if !args.recommendations.is_empty() {
        let now = input.snapshot.now;
        let recommended = |(replicas, age): &(i32, _)| {
            let time = now.checked_sub(*age).map_err(|_| {
                Error::usage(format!("--recommendation {replicas}@{}: too old", go::duration(*age)))
            })?;
            Ok(Recommendation { replicas: *replicas, time })
        };
        let recommendations: Result<Vec<_>, Error> =
            args.recommendations.iter().map(recommended).collect();
        let memory = input.stated_memory.get_or_insert_default();
        memory.recommendations = recommendations?;
    }
    Ok(())
}

/// Watches an HPA for as long as is asked for, and tells so; with the states that it had.
pub(super) async fn watch(
    args: &MemoryArgs,
    session: &Session,
    name: &str,
    terminal: &Terminal,
) -> Result<Vec<Hpa>, Error> {
    let Some(span) = args.observe else {
        return Ok(Vec::new());
    };
    let namespace = session.namespace();
    let time = span.unsigned_abs();
    let begun = tokio::time::Instant::now();
    let line = || {
        let passed =
            jiff::SignedDuration::from_secs(begun.elapsed().as_secs().try_into().unwrap_or(0));
        format!("watching {namespace}/{name}: {} of {}", go::duration(passed), go::duration(span))
    };
    shown(observe(session, namespace, name, time, EVERY), line, terminal).await
}

/// Looks for what is worth its requests only where the answer depends on it: earlier states of the HPA,
/// and else the target's events.
pub(super) async fn look_further(session: &Session, input: &mut Input) {
    look_at_states(session, input).await;
    if infer::trusts_events(input) {
        match scaled(session, &input.snapshot.hpa).await {
            Ok(events) => input.evidence.scaled = events,
            Err(e) => input.notes.push(format!("the target's events are not known: {}", e.message)),
        }
    }
}

async fn look_at_states(session: &Session, input: &mut Input) {
    let remembered = Remembered::of(input);
    if !remembered.is_open() {
        return;
    }
    let snapshot = &input.snapshot;
    let decision = engine::reconcile(snapshot, &remembered.likely);
    let Outlook { extremes, .. } = engine::outlook(snapshot, &remembered, &decision);
    if extremes.iter().all(|extreme| Some(extreme.replicas) == decision.replicas_after()) {
        return;
    }
    let window = infer::window(&snapshot.hpa, &snapshot.controller);
    let since = snapshot.now.checked_sub(window).unwrap_or(Timestamp::MIN);
    let states = look_back(session, &snapshot.hpa, since).await;
    let seen = infer::seen(&snapshot.hpa, &states, Chain::Whole);
    input.evidence.rescales = infer::rescales_seen(&snapshot.hpa, &states);
    if seen.len() > input.evidence.seen.len() {
        input.evidence.seen = seen;
    }
}
