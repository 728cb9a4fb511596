//! The plan of a write: the pass on fresh data, and the reasons against writing its result.

use super::Attempts;
use crate::apply::gate::{GateInput, Going, Leader};
use crate::apply::next::next;
use crate::apply::{Applied, ApplyOutcome, precondition};
use crate::args::Apply;
use crate::cluster::Session;
use crate::cluster::observed::ScaleAt;
use crate::cluster::target::target;
use crate::command::remember::SeenStates;
use crate::command::state::{Live, ask_after};
use crate::error::Error;
use crate::pass::Pass;

/// A pass, with whether its result may be written.
pub(super) struct WritePlan {
    pub(super) pass: Pass,
    pub(super) applied: Applied,
    /// Whether the report has been shown.
    pub(super) is_told: bool,
    /// The messages about a history, if one was requested.
    pub(super) messages: Vec<String>,
}

impl Attempts<'_> {
    /// Reads everything and decides, but writes nothing. A result that may be written is
    /// [`ApplyOutcome::Planned`].
    pub(super) async fn plan(&self, watched: &mut SeenStates) -> Result<WritePlan, Error> {
        let Self {
            session,
            args: Apply { memory, how, .. },
            options,
            query,
            terminal,
            ..
        } = *self;
        let Live {
            pass,
            scale_at,
            messages,
        } = ask_after(watched, session, memory, options, None, query, terminal).await?;
        let going = match &scale_at {
            Some(at) => going(session, at).await?,
            None => Going::No,
        };
        let leader = Leader::of(&pass.input);
        let own = pass.remembered.clone();
        let pass = if how.ignore_stabilization {
            Pass::with(pass.input, own.clone().without_recommendations())
        } else {
            pass
        };
        let facts = GateInput {
            pass: &pass,
            going: &going,
            leader,
        };
        let change = facts.change();
        let state = facts.unknown_state(how, scale_at.as_ref());
        let concerns = Vec::from_iter(state.into_iter().chain(facts.concerns(how)));
        let at = scale_at.as_ref();
        let expected = at.and_then(|at| precondition(&at.state, how));
        let result = if let Some(unmet) = expected {
            ApplyOutcome::Unmet(unmet)
        } else if concerns.iter().any(|concern| !concern.forced) {
            ApplyOutcome::Refused
        } else if change.is_none() {
            ApplyOutcome::NothingDue
        } else {
            ApplyOutcome::Planned
        };
        let next = change.map(|change| next(&pass, &own, change, leader, how));
        let applied = Applied {
            at: scale_at,
            change,
            how: how.clone(),
            concerns,
            next,
            result,
            status: None,
            event: None,
            wait: None,
        };
        Ok(WritePlan {
            pass,
            applied,
            is_told: false,
            messages,
        })
    }
}

/// Returns whether the target is being deleted, which its scale does not show.
async fn going(session: &Session, at: &ScaleAt) -> Result<Going, Error> {
    match target(session, at).await {
        Ok(target) => {
            let deleted = target.metadata.deletion_timestamp;
            Ok(deleted.map_or(Going::No, Going::Since))
        }
        Err(e) if e.is_gone() => Err(e.into()),
        Err(e) => {
            let is_forbidden = e.is_forbidden();
            let Error { message, hint, .. } = Error::from(e);
            let right = hint.filter(|_| is_forbidden);
            Ok(Going::Unknown(right.unwrap_or(message)))
        }
    }
}
