//! The controller's history as stated on the command line, instead of the input; and `--observe`, which
//! learns more of it.

use std::time::Duration;

use super::Terminal;
use super::progress::shown;
use crate::args::MemoryArgs;
use crate::calendar::Calendar;
use crate::cluster::Session;
use crate::cluster::fetch::control_plane::scaled;
use crate::cluster::fetch::old_versions::{OldVersions, count, look_back};
use crate::cluster::fetch::watch::observe;
use crate::cluster::observed::ScaleAt;
use crate::error::{Error, listed};
use crate::memory::infer;
use crate::memory::states::{self, Chain};
use crate::numbers;
use crate::pass::Pass;
use crate::saved::file;
use crate::saved::state::ControllerState;
use crate::snapshot::Snapshot;
use crate::snapshot::hpa::Hpa;
use crate::snapshot::input::Input;
use crate::snapshot::memory::{Memory, Recommendation};
use crate::snapshot::note::Note;
use crate::snapshot::right::UnknownFact;
use crate::whatif::overrides::Assumptions;

/// The polling interval: shorter than a controller's interval between passes, whatever its sync period.
const EVERY: Duration = Duration::from_secs(5);

/// Puts the history from the command line into an input.
pub(super) fn remember(args: &MemoryArgs, input: &mut Input) -> Result<(), Error> {
    match args.history.as_deref() {
        None => {}
        Some("none") => input.stated_memory = Some(Memory::default()),
        Some("infer") => input.stated_memory = None,
        Some(path) => {
            let read = file::read(&[path.to_owned()]);
            let state = read
                .map_err(|e| e.hint("--history takes none, infer or a file"))?
                .state;
            let key = input.snapshot.hpa.key();
            if let Some(owners) = state.as_ref().and_then(ControllerState::owners)
                && !owners.contains(&*key)
            {
                let owners: Vec<&str> = owners.into_iter().collect();
                let message = format!(
                    "{path} states the history of {}, not of {key}",
                    listed(&owners)
                );
                return Err(Error::usage(message).hint(format!("save one of {key}")));
            }
            let Some(memory) = state.and_then(|state| state.stated_memory()) else {
                return Err(Error::usage(format!("{path} states no history"))
                    .hint("it needs a ControllerState with recommendations"));
            };
            input.stated_memory = Some(memory);
        }
    }
    if !args.recommendations.is_empty() {
        let mut recommendations = Vec::new();
        for (replicas, age) in &args.recommendations {
            let time = input.snapshot.now.checked_sub(*age).map_err(|_| {
                Error::usage(format!(
                    "--recommendation {replicas}@{}: too old",
                    numbers::duration(*age)
                ))
            })?;
            recommendations.push(Recommendation {
                replicas: *replicas,
                time,
            });
        }
        let memory = input.stated_memory.get_or_insert_default();
        memory.recommendations = recommendations;
    }
    Ok(())
}

/// The states of an HPA that were seen, and a note about any that may be missing.
pub(super) type SeenStates = (Vec<Hpa>, Option<Note>);

/// Watches an HPA for the requested time, and shows the progress.
pub(super) async fn watch(
    args: &MemoryArgs,
    session: &Session,
    name: &str,
    terminal: &Terminal,
) -> Result<SeenStates, Error> {
    let Some(span) = args.observe else {
        return Ok(Default::default());
    };
    let namespace = session.namespace();
    let time = span.unsigned_abs();
    let begun = tokio::time::Instant::now();
    shown(
        observe(session, namespace, name, time, EVERY),
        || {
            let seconds = begun.elapsed().as_secs().try_into().unwrap_or(0);
            format!(
                "watching {namespace}/{name}: {} of {}",
                numbers::duration(jiff::SignedDuration::from_secs(seconds)),
                numbers::duration(span)
            )
        },
        terminal,
    )
    .await
}

/// Queries that cost additional requests, and are made only if the answer depends on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OpenQuestion {
    /// The earlier states of the HPA and of its target.
    States,
    /// The events of the target.
    TargetEvents,
}

/// Returns the next question whose answer may change the result of the pass, over the input as read or as
/// assumed.
pub(super) fn open_question(
    pass: &Pass,
    assumptions: Option<&Assumptions>,
    asked: &[OpenQuestion],
) -> Option<OpenQuestion> {
    let questions = [OpenQuestion::States, OpenQuestion::TargetEvents];
    questions
        .into_iter()
        .filter(|question| !asked.contains(question))
        .find(|question| match question {
            OpenQuestion::States => {
                pass.depends_on_history()
                    || assumptions.is_some_and(|own| depends_on_history_with(own, pass))
            }
            OpenQuestion::TargetEvents => infer::trusts_events(&pass.input),
        })
}

/// Whether the result would depend on the history under these assumptions.
fn depends_on_history_with(assumptions: &Assumptions, pass: &Pass) -> bool {
    let assumed = assumptions.apply(pass.input.clone(), &pass.decision);
    assumed.is_ok_and(|(input, _)| Pass::run(input).depends_on_history())
}

/// Makes the query, and adds the answer to the input.
pub(super) async fn learn(
    session: &Session,
    question: OpenQuestion,
    input: &mut Input,
    at: Option<&ScaleAt>,
) {
    match question {
        OpenQuestion::States => look_at_states(session, input, at).await,
        OpenQuestion::TargetEvents => match scaled(session, &input.snapshot.hpa).await {
            Ok(events) => input.evidence.scaled = events,
            Err(why) => input
                .notes
                .push(Note::not_known(UnknownFact::TargetEvents, &why)),
        },
    }
}

async fn look_at_states(session: &Session, input: &mut Input, at: Option<&ScaleAt>) {
    let Snapshot {
        hpa, now, scale, ..
    } = &input.snapshot;
    let target = at.filter(|_| infer::averages_over_target(&hpa.spec));
    if let (Some(target), Ok(scale), None) = (target, scale, input.evidence.counted) {
        match count(session, target, scale, *now).await {
            Ok(counted) => input.count(counted),
            Err(why) => input
                .notes
                .push(Note::not_known(UnknownFact::EarlierReplicas, &why)),
        }
    }
    let Input {
        snapshot, evidence, ..
    } = input;
    let Snapshot {
        hpa,
        controller,
        now,
        ..
    } = &*snapshot;
    let since = now.minus(infer::window(hpa, controller));
    let OldVersions { states, counted } =
        look_back(session, hpa, since, target, evidence.counted).await;
    let seen = states::seen(hpa, controller, &states, &counted, Chain::Whole);
    let rescales = states::rescales_seen(hpa, &states, Chain::Whole);
    evidence.rescales = rescales.or(evidence.rescales.take());
    if seen.len() > evidence.seen.len() {
        evidence.seen = seen;
    }
}
