//! What each code means in general: the texts of `docs/findings.md`.

use crate::findings::Code;

/// What is to be known of a code.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// When it appears.
    pub when: &'static str,
    /// What to do about it.
    pub advice: &'static str,
}

/// What is to be known of a code.
pub fn entry(code: Code) -> Entry {
    let (when, advice) = match code {
        Code::FinishedPods => (
            "Pods that have succeeded or failed match the target's selector. Up to Kubernetes 1.37, \
             a succeeded pod counts as a pod without metrics.",
            "Delete the finished pods, or give the pods of the target labels of their own.",
        ),
        Code::WithinTolerance => (
            "A metric is off its target, but within the tolerance, so the replicas stay.",
            "Wait until the metric leaves the tolerance, or set the tolerance in the behavior of the \
             HPA (Kubernetes 1.35 or newer).",
        ),
    };
    Entry { when, advice }
}
