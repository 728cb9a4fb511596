//! What each code means in general: the texts of `docs/findings.md`.

use crate::findings::Code;

/// The documentation of a code.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// When it appears.
    pub when: &'static str,
    /// What to do about it.
    pub advice: &'static str,
}

/// Returns the documentation of a code.
pub fn entry(code: Code) -> Entry {
    let (when, advice) = match code {
        Code::TargetNotFound => (
            "The target of the HPA, its kind or its scale does not exist.",
            "Correct `scaleTargetRef`, or create the target.",
        ),
        Code::ScaleNotWritten => (
            "The API server refuses to change the scale of the target: either the input says so, or the last status \
             does and this pass would change the replicas, too.",
            "Change what refuses it: an admission webhook, a quota, or a right that the controller lacks.",
        ),
        Code::ControllerSilent => (
            "The controller makes no passes: the lease of the controller manager has run out, the \
             HPA controller is switched off, or no status has been written in several sync periods in which every \
             pass would have changed it. If the only sign is a CPU value in the status that is wrong and 10 minutes \
             old, it is a warning.",
            "Look at the controller manager.",
        ),
        Code::OtherWriter => (
            "The target has other replicas than the last pass left, or the controller scales to the \
             same number over and over: something else sets the replicas, too. A manifest given to \
             `--hpa` that states them will, whenever it is applied.",
            "Take `replicas` out of the manifest, and leave it to the HPA alone.",
        ),
        Code::PausedByKeda => (
            "An annotation of the ScaledObject pauses KEDA, in both directions or in one. KEDA \
             removes the HPA of a ScaledObject that is paused altogether; before 2.20, it keeps that of \
             `paused-replicas`, with both bounds at that number.",
            "Remove the annotation from the ScaledObject, unless it is there on purpose.",
        ),
        Code::FieldIgnored => (
            "The API server drops a field of the spec, or the controller ignores it, as the version \
             does not have it or its feature gate is off.",
            "Use a version that has the field, switch on its feature gate, or remove the field.",
        ),
        Code::DiffersFromStatus => (
            "The controller came to a different number of replicas than this pass, from the same values and with a \
             history that makes no difference.",
            "State the flags and the version of the controller.",
        ),
        Code::MissingRequest => (
            "The target of a metric is a percentage of the request, and a container of a pod that the \
             selector matches has no request for the resource. One such container fails the metric for \
             all pods.",
            "Set the request in the template or by the annotation of whatever injects the container, or \
             look at another container with a ContainerResource metric.",
        ),
        Code::MetricsApiUnavailable => (
            "The API server does not serve the metrics API that a metric is asked of, its APIService is \
             not available, or requests fail with a server error.",
            "Install what serves the API, or look at its APIService and at the pods behind it.",
        ),
        Code::MetricNotFound => (
            "The custom or external metrics API does not know a metric by its name, or serves it for \
             other kinds of objects only. It is asked for the namespace of the HPA.",
            "Correct the name or the object, or add a rule for it to the adapter.",
        ),
        Code::MetricFailing => (
            "A metrics API knows a metric and reports an error for it.",
            "Look at the backend that the adapter reads the metric from.",
        ),
        Code::MetricEmpty => (
            "A metrics API answers without a value for the selector of a metric in the namespace of the HPA, or for any of the pods, or an adapter says \
             that its query has no result. No resource metric has one until about a minute after the first pod started.",
            "Correct the selector, or let the source report 0 instead of nothing.",
        ),
        Code::BlockedByFailedMetric => (
            "A metric fails, and the others propose fewer replicas than there are. The controller removes \
             no replicas while a metric fails, because that metric might propose more.",
            "Fix the metric, or remove it from the HPA.",
        ),
        Code::UnknownContainer => (
            "A ContainerResource metric names a container that no pod has.",
            "Use the name of a container of the pods.",
        ),
        Code::ContainerMetricsMissing => (
            "Pods have the container of a ContainerResource metric, and their metrics lack it. Before \
             Kubernetes 1.33 one such pod fails the metric for all pods.",
            "Find out why the container does not run.",
        ),
        Code::SelectorMissing => (
            "The scale of the target has no selector in its status, or none that can be read, so the \
             controller cannot find the pods.",
            "Make the operator of the kind write a selector to the path that `labelSelectorPath` of \
             its CRD names.",
        ),
        Code::SelectorMatchesNothing => (
            "The target has replicas, and its selector matches no pod, or none that the target owns.",
            "Make the operator of the kind write a selector that its pods match to the path that \
             `labelSelectorPath` of its CRD names.",
        ),
        Code::SharedPods => (
            "The selectors of the targets of two HPAs match the same pods. Since Kubernetes 1.26, \
             neither of them is scaled.",
            "Use one HPA with both metrics, or give the pods of each target labels of their own.",
        ),
        Code::FinishedPods => (
            "Pods that have succeeded or failed match the target's selector. Up to Kubernetes 1.37, \
             a succeeded pod counts as a pod without metrics. A finished pod without a request \
             fails a utilization.",
            "Delete the finished pods, or give them labels that the selector does not match.",
        ),
        Code::ForeignPods => (
            "Pods are counted that the target does not own, as their owners show, or that it does \
             not count in its `status.replicas`.",
            "Give the other pods other labels where they are defined, or create the target anew with a selector of its own: selectors are immutable.",
        ),
        Code::NeverReady => (
            "Pods have never been ready for longer than is usual: for longer than CPU samples may \
             be skipped if a container waits or restarts, otherwise for more than 30 minutes.",
            "Find out why the pods do not become ready, or roll back the revision.",
        ),
        Code::UnschedulablePods => (
            "The scheduler finds no node for pending pods of the target.",
            "Add nodes, or lower maxReplicas.",
        ),
        Code::ReplicasWithoutPods => (
            "The target has fewer pods than replicas, and nothing has changed for minutes, or it \
             reports that it cannot create them. Metrics are multiplied by pods, not by replicas.",
            "Find out what keeps the pods from being created: a quota, or admission.",
        ),
        Code::OldRevisionPods => (
            "Pods of several revisions are counted, as in a rollout or with a canary, and together \
             they are more than `spec.replicas`.",
            "Wait for the rollout to end, or use a smaller surge. Where they change no answer, nothing is said.",
        ),
        Code::TerminatingPods => (
            "Ready pods that are being deleted count for Object and External metrics with a `Value` \
             target.",
            "Use an `AverageValue` target.",
        ),
        Code::StartingPods => (
            "Pods that have only just started, or are not ready yet, count and change the answer: \
             they use much more than the other pods, or they are not ready and the metric counts \
             them nevertheless.",
            "Add a startup probe, or lengthen the stabilization window of scaling up.",
        ),
        Code::UncountedPods => (
            "Pods that are unready, pending or without metrics do not count with their usage, and \
             the answer would be different if they did. Or they are unready and count for CPU \
             nevertheless, because they have been ready before, and it would be different if they did \
             not.",
            "Find out why the pods are not ready, or have no metrics.",
        ),
        Code::Rounding => (
            "A metric is below the tolerance, but its proposal is rounded up to the current \
             replicas.",
            "Nothing to do. If the metric is memory, all pods use about as much of it, and any other metrics need at \
             most half of the replicas, then less load may never lead to fewer: raise the request, or scale on another metric.",
        ),
        Code::HeldByWindow => (
            "A recommendation within the stabilization window decides. The controller uses the \
             highest (scaling down) or lowest (scaling up) recommendation of the window; it does \
             not pause after scaling.",
            "Wait until the recommendation leaves the window. A window that is longer than by default can be \
             shortened to scale down sooner.",
        ),
        Code::RateLimited => (
            "A scaling policy, or the doubling that is built in without `behavior`, limits what one \
             pass may change.",
            "Wait for the next passes, or change the policies in the behavior of the HPA.",
        ),
        Code::AtMax => (
            "The metrics propose more than `maxReplicas`.",
            "Raise `maxReplicas` if nodes can carry it, or what the metrics are compared with, a request or a target, if a \
             pod can carry more.",
        ),
        Code::AtMin => (
            "The metrics propose fewer than `minReplicas`.",
            "Nothing to do.",
        ),
        Code::AboveMax => (
            "There are more replicas than `maxReplicas`, or there were, and the newest rescale, less than an \
             hour ago, has corrected that. The controller does so without considering metrics, stabilization \
             or rate limits. It is a warning if the metrics propose more, and the HPA may have been changed.",
            "Find out what scaled the target, or raise `maxReplicas`. If the bound has just been lowered on \
             purpose, there is nothing to do.",
        ),
        Code::BelowMin => (
            "There are fewer replicas than `minReplicas`, or there were, and the newest rescale, less than an \
             hour ago, has corrected that. The controller does so without considering metrics, stabilization \
             or rate limits.",
            "Find out what scaled the target, or lower `minReplicas`. If the bound has just been raised on \
             purpose, there is nothing to do.",
        ),
        Code::DirectionDisabled => (
            "The metrics propose to scale in a direction whose `selectPolicy` is `Disabled`.",
            "Remove `selectPolicy` if the HPA is meant to scale in this direction; at a bound, change that as \
             well.",
        ),
        Code::SwitchedOff => (
            "The target has 0 replicas, and the controller ignores it until something else scales it \
             up.",
            "Leave it if Flagger or KEDA keeps it there; otherwise, scale the target to 1.",
        ),
        Code::DilutedByContainer => (
            "The containers of the pods use very different shares of their requests, so the share of the \
             pod as a whole hides how busy one of them is. Before Kubernetes 1.29 the usage of native \
             sidecars counts and their requests do not.",
            "Use a ContainerResource metric for the container that does the work.",
        ),
        Code::ResizeInProgress => (
            "The requests in the spec of pods are not those in effect, because a resize in place is \
             pending. The controller computes the utilization with those of the spec.",
            "Wait until the resize is done, or use a target of type AverageValue.",
        ),
        Code::RequestsDifferFromTemplate => (
            "The requests of the pods are not those of the target's template: a VerticalPodAutoscaler or \
             something else sets them, or the target is paused and its template was changed. The utilization \
             changes with the requests.",
            "Use a target of type AverageValue, let the VerticalPodAutoscaler control another resource, or \
             resume the target.",
        ),
        Code::ValueMultiplies => (
            "An Object or External metric has a target of type Value, which multiplies the ready pods by \
             value over target in each pass. A value that does not fall with the replicas, such as the \
             length of a queue, multiplies them without end.",
            "Use a target of type AverageValue, which divides the value by the target.",
        ),
        Code::SuspectUnit => (
            "A value is off its target by about a factor of 1000 or 1024, or one of their powers; or the \
             target is a fraction and the value a whole number; or the metric is a share by its name, and one of \
             the two is a fraction and the other a percentage. So the units probably differ. It can be wrong: a long \
             queue is far above its target, too, an idle rate far below, and a tenth of a job for each replica may \
             be meant.",
            "Set the target in the unit of the value.",
        ),
        Code::MemoryBaseline => (
            "Each pod uses more memory than the target and about as much as the others, although pods were \
             added or the replicas have been at `maxReplicas` for long.",
            "Raise the memory request, or a target that is an amount, or drop the metric.",
        ),
        Code::UnreachableTarget => (
            "Pods at their limits do not take a metric above its target. If no pod can, the metric never proposes more \
             replicas. Or at most half of the counted pods are at 90% or more of a cpu limit, and the others use no \
             more than half of the target: the controller looks at the average only.",
            "Lower the target, or raise the limits. If only a few pods are busy, find out why the work goes to them: \
             sticky sessions, connections that stay open, or one consumer or leader. More replicas help only if it \
             spreads.",
        ),
        Code::RequestTooSmall => (
            "The pods of a metric with a utilization target use at least twice what they request, as they did in the \
             last status, and the last rescale was at least 30 minutes ago. A maximum or more nodes would only hide \
             that.",
            "Raise the request of the container to about what it uses at the target; `predict --request` shows the \
             answer with it.",
        ),
        Code::Flapping => (
            "The events of the HPA show it scaling up and down at least five times, the last one less than an hour ago, and \
             the stabilization window of scaling down is shorter than the time from one scale-up to the next on average.",
            "Lengthen the window, so that it lasts from one peak to the next.",
        ),
        Code::StaleSamples => (
            "Samples are older than a minute and twice their window, so the pass answers what was true then; or they are \
             far from the clock of the pass.",
            "Look at the metrics pipeline, or state the time at which the objects were read.",
        ),
        Code::WithinTolerance => (
            "A metric is off its target, but within the tolerance, so the replicas stay.",
            "Nothing to do. To have the HPA react, set the tolerance in its behavior (Kubernetes 1.35 \
             or newer). Memory below its target that keeps the replicas at any load is described at `rounding`.",
        ),
    };
    Entry { when, advice }
}
