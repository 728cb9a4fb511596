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
        Code::Rounding => (
            "A metric is below the tolerance, but its proposal is rounded up to the current \
             replicas.",
            "Raise the target to a value at which one replica fewer is enough.",
        ),
        Code::HeldByWindow => (
            "A recommendation within the stabilization window decides. The controller uses the \
             highest (scaling down) or lowest (scaling up) recommendation of the window; it does \
             not pause after scaling.",
            "Wait until the recommendation leaves the window, or shorten \
             `stabilizationWindowSeconds` in the behavior of the HPA.",
        ),
        Code::RateLimited => (
            "A scaling policy, or the doubling that is built in without `behavior`, limits what one \
             pass may change.",
            "Wait for the next passes, or change the policies in the behavior of the HPA.",
        ),
        Code::AtMax => (
            "The metrics propose more than `maxReplicas`.",
            "Raise `maxReplicas` if the workload needs it.",
        ),
        Code::AtMin => (
            "The metrics propose fewer than `minReplicas`.",
            "Lower `minReplicas` if fewer replicas are enough.",
        ),
        Code::AboveMax => (
            "There are more replicas than `maxReplicas`. The controller corrects this without \
             considering metrics, stabilization or rate limits.",
            "Find out what scaled the target, or raise `maxReplicas`.",
        ),
        Code::BelowMin => (
            "There are fewer replicas than `minReplicas`. The controller corrects this without \
             considering metrics, stabilization or rate limits.",
            "Find out what scaled the target, or lower `minReplicas`.",
        ),
        Code::DirectionDisabled => (
            "The metrics propose to scale in a direction whose `selectPolicy` is `Disabled`.",
            "Remove `selectPolicy` if the HPA is meant to scale in this direction.",
        ),
        Code::SwitchedOff => (
            "The target has 0 replicas, and the controller ignores it until something else scales it \
             up.",
            "Scale the target to 1.",
        ),
        Code::WithinTolerance => (
            "A metric is off its target, but within the tolerance, so the replicas stay.",
            "Wait until the metric leaves the tolerance, or set the tolerance in the behavior of the \
             HPA (Kubernetes 1.35 or newer).",
        ),
    };
    Entry { when, advice }
}
