//! The kinds of advice, with the cases in which each is given. `docs/advice.md` lists them with what they promise, and
//! a test fails if advice does not keep its promise (`tests/answers/advice.rs`).

use super::command::Edited;

macro_rules! remedies {
    ($($(#[$when:meta])* $name:ident $(changes $edited:ident)?,)*) => {
        /// A kind of advice.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Remedy {
            $(
                $(#[$when])*
                $name,
            )*
        }

        impl Remedy {
            /// All kinds, as the documentation lists them.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// Returns the object that the advice changes, if it has its own source: the HPA, or the object that has
            /// the template of the pods.
            pub(super) fn changes(self) -> Option<Edited> {
                match self {
                    $($(Self::$name => Some(Edited::$edited),)?)*
                    _ => None,
                }
            }
        }
    };
}

remedies! {
    /// Nothing is wrong, or nothing can be done.
    Nothing,
    /// The finding follows from another one.
    Follow,
    /// The target does not exist and a similar object does, or the owner of the target sets its replicas.
    PointAt changes Hpa,
    /// The target does not exist, and no object is similar.
    CorrectReference changes Hpa,
    /// The target is in another namespace than the HPA.
    CreateThere,
    /// The API server reports an error instead of the scale of the target.
    LookAtScale,
    /// The target creates a workload that has fewer replicas.
    LookAtOwner,
    /// A metric of the pods or of another object says the opposite of what the pods use, or its sum is below 0.
    LookAtMetric,
    /// A metric grows with the age of a pod, as a counter does.
    UseRate,
    /// A Rollout runs the pods of the target and keeps it at 0.
    PointAtRollout changes Hpa,
    /// The API server refuses to write the scale.
    PermitWrite,
    /// The controller makes no passes.
    LookAtController,
    /// A manifest, or something unknown, sets the replicas.
    TakeOut,
    /// A person scaled the target.
    ChangeBounds changes Hpa,
    /// Another program scales the target, or the replicas that a person has set are at a bound, or no bound keeps them.
    LeaveReplicas,
    /// KEDA has been told not to scale.
    EndPause,
    /// The version lacks a field or a rule.
    Upgrade,
    /// The status differs from what the assumed settings lead to.
    StateFlags,
    /// A container of the template has no request.
    SetRequest changes Template,
    /// An injected container has no request.
    Annotate changes Template,
    /// A container hides another, lacks a request, or is referenced by a wrong name.
    UseContainer changes Hpa,
    /// An injected container has no request and no annotation is known, or its request is too small.
    LetInjector,
    /// Pods lack the request of their template.
    FindRequest,
    /// The target is paused, so its pods are of an earlier template, or it has no pods.
    Resume,
    /// Pods of an earlier revision count, and the rollout pauses until it is promoted.
    Promote,
    /// Pods of an earlier revision count.
    WaitForRollout,
    /// Pods of an earlier revision count, and no rollout replaces them.
    DeleteEarlier,
    /// A rollout leaves the pods of an earlier revision alone.
    LowerPartition,
    /// The selector of the target matches pods of others.
    LabelApart,
    /// A Rollout and the workload that has its template both have pods.
    EndReferred,
    /// Finished pods of a Job or of another object that may need them match the selector.
    DeleteByOwner,
    /// An average or a quantile is divided by the replicas.
    UseValue changes Hpa,
    /// No server answers for a metrics API.
    InstallApi,
    /// An API does not answer, or KEDA's operator does not answer its server.
    LookAtApi,
    /// A server other than KEDA's serves the external metrics.
    PointApiService,
    /// KEDA has no value for a metric of its own.
    LookAtScaledObject,
    /// The API serves a metric of a similar name.
    UseName,
    /// The API does not know the metric, nor a similar name.
    CorrectName,
    /// The controller rejects the selector or the target of a metric.
    CorrectMetric changes Hpa,
    /// No API has the kind of the described object.
    DescribeObject,
    /// The controller lacks the right to read a metric or to write the scale.
    Grant,
    /// A metrics API reports an error for a metric.
    LookAtBackend,
    /// Only the input lacks a value.
    StateInput,
    /// A Resource metric is neither CPU nor memory, or an Object metric describes another namespace.
    UseOtherType,
    /// Samples are missing or old.
    FindSamples,
    /// A metrics API has no value for a metric.
    FindSeries,
    /// A metric fails, and no other finding says why.
    RepairMetric,
    /// A ContainerResource metric names a container that not all pods have.
    NameContainer,
    /// A node cannot hold a pod with the request in its spec.
    RequestLess,
    /// A resize of pods is pending.
    WaitForResize,
    /// A total multiplies the replicas, or requests are not those of the template.
    UseAverageValue changes Hpa,
    /// A target is probably in another unit than the value.
    SetTarget changes Hpa,
    /// Usage has been several times the request since the last rescale.
    RaiseRequest changes Template,
    /// Each pod uses more memory than the target, or so much that fewer pods are never enough.
    LeaveRoom changes Template,
    /// The same, and something other than the template sets the request.
    DropMetric changes Hpa,
    /// Even with all pods at their limits, the metric is not above its target.
    LowerTarget changes Hpa,
    /// A few pods are at their limits, and the others idle.
    SpreadLoad,
    /// The scale has no selector that matches the pods.
    SelectOwn,
    /// Two HPAs have one target.
    KeepOneHpa,
    /// Finished pods match the selector.
    DeleteFinished,
    /// Pods are not ready, and the reason lies in the pods themselves.
    FindUnready,
    /// All pods of one revision fail to become ready.
    RollBack,
    /// The scheduler finds no node for pods that are needed.
    AddNodes,
    /// The target creates no more pods.
    FindQuota,
    /// Pods are only starting, or none runs.
    WaitForPods,
    /// Ready pods that are being deleted count.
    EndSooner,
    /// Pods that are starting raise the proposal.
    LengthenUpWindow changes Hpa,
    /// Pods that are starting raise the proposal, and no longer window is allowed.
    AddStartupProbe,
    /// A metric above its target is within the tolerance, and nothing is wrong.
    SetTolerance changes Hpa,
    /// The same, and the version has no field for the tolerance.
    ChangeTarget changes Hpa,
    /// An earlier recommendation holds the replicas.
    WaitForWindow,
    /// The same, and each pod is to have at most one of what is counted, as jobs of a queue.
    KeepBusy,
    /// An earlier recommendation holds the replicas for longer than by default.
    ShortenWindow changes Hpa,
    /// An earlier recommendation adds replicas.
    AddBehavior changes Hpa,
    /// The controller scales up and down again and again, with a target that little work exceeds.
    RaiseSmallRequest changes Template,
    /// The controller scales up and down again and again.
    LengthenDownWindow changes Hpa,
    /// A policy or the built-in limit decides.
    ChangePolicies changes Hpa,
    /// Scaling in one direction is disabled.
    EnableDirection changes Hpa,
    /// The metrics propose more than maxReplicas.
    RaiseMax changes Hpa,
    /// The metrics propose more than maxReplicas although no metric is above its target.
    LookAtCounted,
    /// The replicas are beyond a bound of the HPA.
    ChangeBound changes Hpa,
    /// The replicas are beyond a bound, and either is assumed.
    AssumeBound,
    /// KEDA scales to zero and from zero.
    LeaveToKeda,
    /// Flagger keeps the target of a canary at 0.
    LeaveToFlagger,
    /// The target has 0 replicas, and nothing is known to keep it there.
    ScaleToOne,
}
