//! Findings about causes outside the pass: a missing target, KEDA, the API server, someone else who sets replicas, and
//! a controller that makes no passes or decides differently from this program.

pub mod controller_silent;
pub mod differs_from_status;
pub mod field_ignored;
pub mod flapping;
pub mod other_writer;
pub mod paused_by_keda;
pub mod scale_not_read;
pub mod scale_not_written;
pub mod target_not_found;
#[cfg(test)]
pub(crate) mod testing;

use jiff::Timestamp;

use crate::apimachinery::names::shell_word;
use crate::findings::metrics::miss::RefusedRight;
use crate::findings::{About, Advice, Case, Command, Remedy};

/// Whether a pod has been created or started, or become ready or unready, since some time, or was not yet due to be gone
/// then.
fn pods_changed_since(case: &Case<'_>, since: Timestamp) -> bool {
    case.pods().any(|pod| {
        let ready = pod.ready.map(|it| it.last_transition_time);
        let times = [pod.created, pod.start_time, ready, pod.deletion_timestamp];
        times.into_iter().flatten().any(|time| time > since)
    })
}

/// Returns a command that shows which field managers own the replicas.
fn show_fields(about: &About<'_>) -> Command {
    about.kubectl_quoted("get", &about.target(), "-o yaml --show-managed-fields")
}

/// Returns the advice to grant the controller a right to the scale of the target.
fn grant_scale(about: &About<'_>, RefusedRight { user, verb, .. }: &RefusedRight) -> Advice {
    // `kubectl scale` needs other rights.
    let flags = format!("--subresource=scale --as={}", shell_word(user));
    let verb = format!("auth can-i {}", shell_word(verb));
    Remedy::Grant
        .says("Grant the controller the right with a role and a binding.")
        .with(about.kubectl_quoted(&verb, &about.target(), &flags))
}
