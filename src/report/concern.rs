//! Words the concerns about writing.

use super::expected::lacking;
use super::notes;
use crate::apply::gate::{Concern, Reason};
use crate::engine::decision::Lacking;
use crate::memory::Knowledge;
use crate::outlook::Range;
use crate::snapshot::hpa::Hpa;

/// Words a concern about writing the result of a pass of an HPA.
pub fn text(concern: &Concern, hpa: &Hpa) -> String {
    match &concern.reason {
        Reason::HpaDeleted(since) => format!("the HPA has been marked for deletion since {since}"),
        Reason::TargetDeleted(since) => {
            format!("the target has been marked for deletion since {since}")
        }
        Reason::CannotScale { error } => format!("the target cannot be scaled: {error}"),
        Reason::ScalingDisabled => {
            "scaling is disabled since the replica count of the target is zero".to_owned()
        }
        Reason::NoSelector { reason, message } => {
            format!("the controller does not scale it ({reason}): {message}")
        }
        Reason::NoMetric { invalid, total, error } => {
            format!("{invalid} of {total} metrics failed: {error}")
        }
        Reason::Undecided { lacking } => {
            format!("{}, so what the controller would write is unknown", unread(lacking))
        }
        Reason::UnknownWords { lacking, flag } => {
            format!("{}, so what {flag} would write is unknown", unread(lacking))
        }
        Reason::Rights { lacking, range } => format!("{}: {}", unread(lacking), anywhere(*range)),
        Reason::Memory { knowledge, range } => {
            let known = match knowledge {
                Knowledge::Inferred => "known only within bounds",
                _ => "unknown",
            };
            format!("the controller's history is {known}: {}", anywhere(*range))
        }
        Reason::Metrics { failed, range } => {
            let with = if failed.len() == 1 { "it" } else { "them" };
            format!("{} failed: with {with}, {}", failed.join(", "), anywhere(*range))
        }
        Reason::Target { cause } => {
            format!("unknown whether the target is being deleted: {cause}")
        }
        Reason::Unread(note) => notes::text(note, hpa),
        Reason::StatusHeld(Some(renewed)) => format!(
            "a controller manager holds the lease (renewed at {renewed}) and writes the status \
             itself"
        ),
        Reason::StatusHeld(None) => {
            "unknown whether a controller manager holds the lease and writes the status \
             itself"
                .to_owned()
        }
    }
}

fn unread(metrics: &[Lacking]) -> String {
    lacking(metrics).unwrap_or_default()
}

fn anywhere(Range { min, max }: Range) -> String {
    format!("the pass may end anywhere from {min} to {max}")
}
