//! Words the concerns about writing.

use super::expected::lacking;
use crate::apply::gate::{Concern, Leader, Reason};
use crate::engine::decision::UnreadMetrics;
use crate::memory::Knowledge;
use crate::outlook::Range;
use crate::snapshot::note::{Note, missing_right};
use crate::words::{duration, list};

/// Words a concern about writing the result of a pass.
pub fn text(concern: &Concern) -> String {
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
        Reason::NoMetric { failed, cause } => {
            format!(
                "{} failed, so the controller does not scale: {cause}",
                list(failed)
            )
        }
        Reason::Undecided { lacking } => {
            format!(
                "{}, so what the controller would write is unknown",
                unread(lacking)
            )
        }
        Reason::UnknownWords { lacking, flag } => {
            format!("{}, so what {flag} would write is unknown", unread(lacking))
        }
        Reason::Rights { lacking, range } => format!("{}: {}", unread(lacking), anywhere(*range)),
        Reason::Memory {
            knowledge,
            window,
            range,
        } => {
            let known = match knowledge {
                Knowledge::Inferred => "known only within bounds",
                _ => "unknown",
            };
            let window = duration(*window);
            let range = anywhere(*range);
            format!("the controller's history of the last {window} is {known}: {range}")
        }
        Reason::Metrics { failed, range } => {
            let with = if failed.len() == 1 { "it" } else { "them" };
            format!(
                "{} failed: with {with}, {}",
                failed.join(", "),
                anywhere(*range)
            )
        }
        Reason::Target { cause } => {
            format!("unknown whether the target is being deleted: {cause}")
        }
        Reason::Unread(note) => note.to_string(),
        Reason::StatusHeld(leader) => match leader {
            Leader::Holds(renewed) => format!(
                "a controller manager holds the lease (renewed at {renewed}) and writes the status itself"
            ),
            Leader::Seen(written) => {
                format!("a controller wrote the status at {written}, and writes it itself")
            }
            Leader::Lapsed(_) | Leader::Unknown => {
                "unknown whether a controller manager holds the lease and writes the status itself"
                    .to_owned()
            }
        },
    }
}

/// Returns what would settle a concern, the best way first, and how to override it.
pub fn remedies(concern: &Concern, notes: &[Note]) -> Vec<String> {
    let mut remedies = Vec::new();
    match &concern.reason {
        Reason::Memory { window, .. } => {
            let window = duration(*window);
            remedies.push(format!(
                "use --observe {window} to watch the HPA first, --prometheus to read its history, or --history \
                 none if the controller has just started"
            ));
        }
        Reason::Undecided { .. } | Reason::UnknownWords { .. } | Reason::Rights { .. } => {
            remedies.extend(missing_right(notes).map(str::to_owned));
        }
        _ => {}
    }
    remedies.extend(
        concern
            .flag
            .map(|flag| format!("use {flag} to write anyway")),
    );
    remedies
}

fn unread(metrics: &[UnreadMetrics]) -> String {
    lacking(metrics).unwrap_or_default()
}

fn anywhere(Range { min, max }: Range) -> String {
    format!("the pass may end anywhere from {min} to {max}")
}
