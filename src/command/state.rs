//! The state of one HPA, from saved objects or a cluster, and the pass over it: the common part of
//! `explain`, `predict` and `apply`.

use jiff::Timestamp;

use super::Terminal;
use super::load::Query;
use super::named::name;
use super::past::narrow;
use super::remember::{SeenStates, learn, open_question, remember, watch};
use crate::apimachinery::names::shell_word;
use crate::args::{ConnectionFlags, ControllerArgs, MemoryArgs, Named, Validate};
use crate::cluster::Session;
use crate::cluster::fetch::fetch;
use crate::cluster::observed;
use crate::cluster::observed::ScaleAt;
use crate::engine::decision::{Outcome, UnreadMetric};
use crate::error::{Error, docs};
use crate::memory::states::{self, Chain};
use crate::pass::Pass;
use crate::saved::assemble::{assemble, save_command};
use crate::saved::objects::Objects;
use crate::saved::remarks::{assume_pods, state_replicas, value_flags};
use crate::snapshot::command_flags::CommandFlags;
use crate::snapshot::input::{Input, Options};
use crate::snapshot::note::{Note, remedy_of_unread};
use crate::snapshot::surroundings::Workload;
use crate::snapshot::{ScaleError, Snapshot, UnreadCause};
use crate::whatif::overrides::Assumptions;
use crate::words::lacking;

/// Collects the input of a pass from saved objects.
pub(super) fn read_saved(objects: Objects, options: &Options) -> Result<Input, Error> {
    assemble(objects, options, Timestamp::now())
}

/// Runs a pass over saved objects.
pub(super) fn pass(mut input: Input, memory: &MemoryArgs) -> Result<Pass, Error> {
    remember(memory, &mut input)?;
    Ok(Pass::run(input))
}

/// A pass over the answers of a cluster.
pub(super) struct Live {
    pub(super) pass: Pass,
    /// The location at which the scale was read.
    pub(super) scale_at: Option<ScaleAt>,
    /// The messages about a history, if one was requested.
    pub(super) messages: Vec<String>,
}

/// Queries a cluster for everything about one HPA: first its identity, then its states if it is to be watched, and then
/// the rest.
pub(super) async fn ask(
    session: &Session,
    memory: &MemoryArgs,
    options: &Options,
    assumptions: Option<&Assumptions>,
    query: Option<&Query<'_>>,
    terminal: &Terminal,
) -> Result<Live, Error> {
    let options = &Options {
        name: name(session, options).await?,
        ..options.clone()
    };
    let mut watched = watch(memory, session, &options.name, terminal).await?;
    let asked = ask_after(
        &mut watched,
        session,
        memory,
        options,
        assumptions,
        query,
        terminal,
    );
    asked.await
}

/// Queries a cluster for the input of every pass over an HPA whose name is known, and then, pass after pass, everything
/// on which the answer turns out to depend. Adds the state of the HPA to those that were seen before.
pub(super) async fn ask_after(
    (states, missed): &mut SeenStates,
    session: &Session,
    memory: &MemoryArgs,
    options: &Options,
    assumptions: Option<&Assumptions>,
    query: Option<&Query<'_>>,
    terminal: &Terminal,
) -> Result<Live, Error> {
    let mut observed = fetch(session, session.namespace(), &options.name, &options.also).await?;
    let scale_at = observed.scale_at.take();
    let mut input = observed::input(observed, options)?;
    input.notes.extend(missed.clone());
    let Snapshot {
        hpa, controller, ..
    } = &input.snapshot;
    states.push(hpa.clone());
    input.evidence.seen = states::seen(hpa, controller, states, &[], Chain::Glimpses);
    input.evidence.rescales = states::rescales_seen(hpa, states, Chain::Glimpses);
    remember(memory, &mut input)?;
    let mut pass = Pass::run(input);
    let mut asked = Vec::new();
    while let Some(question) = open_question(&pass, assumptions, &asked) {
        let mut input = pass.input;
        learn(session, question, &mut input, scale_at.as_ref()).await;
        asked.push(question);
        pass = Pass::run(input);
    }
    let (pass, messages) = match query {
        Some(query) if pass.depends_on_history() => {
            narrow(query, Some(session), pass, terminal).await?
        }
        _ => (pass, Vec::new()),
    };
    Ok(Live {
        pass,
        scale_at,
        messages,
    })
}

/// Queries a cluster for an HPA in its current state, and for its target.
pub(super) async fn current(session: &Session, options: &Options) -> Result<Input, Error> {
    let name = name(session, options).await?;
    let observed = fetch(session, session.namespace(), &name, &options.also).await?;
    observed::input(observed, options)
}

/// Returns the error that explains why there is no answer, if the deciding fact is unknown here.
pub(super) fn unanswered(pass: &Pass) -> Option<Error> {
    let Outcome { unread, .. } = &pass.decision.outcome;
    let Input {
        snapshot,
        surroundings,
        command_flags,
        ..
    } = &pass.input;
    let hpa = &snapshot.hpa;
    let lacking =
        lacking(&pass.decision.outcome.lacking(&hpa.spec)).filter(|_| pass.is_unanswered())?;
    let message = format!("no answer: {lacking}");
    let missing = |unread: &UnreadMetric| matches!(unread.why, UnreadCause::Missing { .. });
    if !unread.iter().any(missing) {
        return Some(Error::failed(message));
    }
    let metrics = || unread.iter().map(|own| &hpa.spec.metrics[own.index]);
    let hint = if surroundings.supposed.is_some() {
        let flags = value_flags(metrics(), hpa);
        format!("state what is missing, such as {flags}")
    } else if pass.input.evidence.past.is_some() {
        match metrics().find(|metric| !metric.is_resource()) {
            None => format!(
                "Prometheus must scrape cAdvisor, see {}",
                docs("prometheus.md")
            ),
            Some(metric) => {
                let query = shell_word(&format!("{}=PROMQL", metric.flag_name(&hpa.spec.metrics)));
                format!("--query {query} gives its values in the history")
            }
        }
    } else if surroundings.lacks_pods {
        let workload = surroundings.workload(&hpa.spec.scale_target_ref);
        let states_replicas = workload.is_none_or(Workload::states_replicas);
        assume_pods(hpa, command_flags, states_replicas)
    } else {
        let of_candidate = pass.input.flags_of_candidate();
        let save = save_command(hpa, &of_candidate);
        if of_candidate.is_empty() {
            save
        } else {
            let flags = value_flags(metrics(), hpa);
            format!("state what is missing, such as {flags}; {save}")
        }
    };
    Some(Error::usage(message).hint(hint))
}

/// Returns an error about something that could not be read, with the remedy.
pub(super) fn with_remedy(e: Error, notes: &[Note]) -> Error {
    match remedy_of_unread(notes).filter(|_| e.hint.is_none()) {
        Some(remedy) => e.hint(remedy),
        None => e,
    }
}

/// Returns the error that explains why there is no prediction: the deciding fact is unknown, or too little is known
/// about the target for a pass.
pub(super) fn unpredicted(pass: &Pass) -> Option<Error> {
    without_target(pass).or_else(|| unanswered(pass))
}

/// Returns the error if the input lacks too much of the target for a pass.
pub(super) fn without_target(pass: &Pass) -> Option<Error> {
    let Input {
        snapshot,
        surroundings,
        command_flags,
        ..
    } = &pass.input;
    let hpa = &snapshot.hpa;
    let e = snapshot.scale.as_ref().err()?;
    let lacking = e.lacking()?;
    let hint = match (&surroundings.target_elsewhere, e) {
        (Some(elsewhere), _) => elsewhere.remedy(),
        (None, _) if surroundings.lacks_pods => assume_pods(hpa, command_flags, false),
        (None, ScaleError::NoReplicas { .. }) => state_replicas(snapshot, command_flags),
        (None, _) => save_command(hpa, ""),
    };
    Some(Error::usage(format!("no answer: {lacking}")).hint(hint))
}

/// Returns the options of the command line that add to the objects.
pub(super) fn options(
    (args, memory): (&ControllerArgs, &MemoryArgs),
    connection: &ConnectionFlags,
    files: &[String],
    named: Option<&Named>,
) -> Options {
    let (name, target) = match named.cloned() {
        None => (String::new(), None),
        Some(Named::Hpa(name)) => (name, None),
        Some(Named::Target(target)) => (String::new(), Some(target)),
    };
    Options {
        name,
        target,
        namespace: connection.namespace.clone(),
        now: args.now,
        version: args.kubernetes_version.clone(),
        flags: args.flags,
        gates: args.feature_gates.iter().cloned().collect(),
        // Nothing is about to be applied here.
        validate: Validate::Warn,
        also: Vec::new(),
        command_flags: CommandFlags {
            settings: args.typed().chain(memory.typed()).collect(),
            ..match files {
                [] => CommandFlags::of(connection),
                files => CommandFlags::of_files(files),
            }
        },
    }
}
