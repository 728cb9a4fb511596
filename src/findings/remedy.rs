//! The kinds of advice: when each is given, what it promises, and how the tests check that. `docs/advice.md`
//! lists them, and a test fails if advice does not keep its promise.

use super::command::Edited;

/// The way in which the promise of a kind of advice is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AdviceCheck {
    /// Its command is played on the state, and the engine runs the pass again: the finding is gone or no longer
    /// changes anything, and there is no other problem.
    Played,
    /// Its commands only show something: they name objects that exist, and change nothing.
    Shown,
    /// It asks for nothing, so nothing may need to be done: the finding is no more than information.
    Quiet,
    /// It cannot be played, for this reason. Its commands are checked like those that only show something.
    Unplayed(&'static str),
}

macro_rules! remedies {
    ($($name:ident: $check:expr, $when:literal, $promise:literal $(, changes $edited:ident)?;)*) => {
        /// A kind of advice.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Remedy {
            $(
                #[doc = $when]
                $name,
            )*
        }

        impl Remedy {
            /// All kinds, as the documentation lists them.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// Returns the cases in which it is given.
            pub fn when(self) -> &'static str {
                match self {
                    $(Self::$name => $when,)*
                }
            }

            /// Returns the result of following it.
            pub fn promise(self) -> &'static str {
                match self {
                    $(Self::$name => $promise,)*
                }
            }

            /// Returns how its promise is checked.
            pub fn check(self) -> AdviceCheck {
                use AdviceCheck::{Played, Quiet, Shown, Unplayed};
                match self {
                    $(Self::$name => $check,)*
                }
            }

            /// Returns the object that it changes, if it is one with its own source: the HPA, or the object that
            /// has the template of the pods.
            pub(super) fn changes(self) -> Option<Edited> {
                match self {
                    $($(Self::$name => Some(Edited::$edited),)?)*
                    _ => None,
                }
            }
        }
    };
}

/// The reason why nothing can be checked about something that is not in the state.
const ELSEWHERE: &str = "what is to be changed is not in the state";
/// The reason why only the cluster shows the effect.
const NEW_PODS: &str = "new pods come about in the cluster";
/// The reason why the new value is unknown.
const UNKNOWN_VALUE: &str = "the value of the metric is unknown";

remedies! {
    Nothing: Quiet, "Nothing is wrong, or nothing can be done.", "Nothing has to be done.";
    Follow: Quiet, "The finding follows from another one.", "The other finding has the advice for both.";
    PointAt: Unplayed("the scale of the other object is not in the state"), "The target does not exist and a similar object does, or the owner of the target sets its replicas.", "The HPA finds the target.", changes Hpa;
    CorrectReference: Shown, "The target does not exist, and no object is similar.", "The HPA finds the target.", changes Hpa;
    CreateThere: Unplayed(ELSEWHERE), "The target is in another namespace than the HPA.", "The HPA finds the target.";
    LookAtOwner: Unplayed(ELSEWHERE), "The target creates a workload that has fewer replicas.", "It shows what that is set to.";
    LookAtMetric: Shown, "A metric of the pods or of another object says the opposite of what the pods use, or its sum is below 0.", "It shows the values.";
    UseRate: Unplayed(UNKNOWN_VALUE), "A metric grows with the age of a pod, as a counter does.", "The metric follows the load.";
    PointAtRollout: Unplayed("the scale of the other object is not in the state"), "A Rollout runs the pods of the target and keeps it at 0.", "The HPA scales what runs.", changes Hpa;
    PermitWrite: Unplayed(ELSEWHERE), "The API server refuses to write the scale.", "The scale can be written.";
    LookAtController: Shown, "The controller makes no passes.", "It shows why.";
    TakeOut: Unplayed(ELSEWHERE), "A manifest, or something unknown, sets the replicas.", "The replicas are left to the HPA. One reset to 1 can follow, which the evidence says.";
    ChangeBounds: Played, "A person scaled the target.", "The pass keeps the replicas that the person set.", changes Hpa;
    LeaveReplicas: Unplayed(ELSEWHERE), "Another program scales the target, or a person has scaled it to fewer replicas than the metrics propose.", "Only one of the two scales it.";
    EndPause: Played, "KEDA has been told not to scale.", "The pause ends.";
    Upgrade: Unplayed("the version of the cluster is not in the state"), "The version lacks a field or a rule.", "The field works.";
    StateFlags: Played, "The status differs from what the assumed settings lead to.", "The pass agrees with the status.";
    SetRequest: Played, "A container of the template has no request.", "The metric has a value.", changes Template;
    Annotate: Played, "An injected container has no request.", "The metric has a value.", changes Template;
    UseContainer: Played, "A container hides another, lacks a request, or is named wrongly.", "The metric has a value for that container, or proposes what that container needs.", changes Hpa;
    LetInjector: Unplayed(ELSEWHERE), "An injected container has no request, and no annotation is known.", "The metric has a value.";
    FindRequest: Shown, "Pods lack the request of their template.", "It shows how far the rollout is.";
    Resume: Unplayed(NEW_PODS), "The target is paused, so its pods are of an earlier template.", "The pods are replaced.";
    Promote: Unplayed(NEW_PODS), "Pods of an earlier revision count, and the rollout pauses until it is promoted.", "They are gone when the rollout ends.";
    WaitForRollout: Shown, "Pods of an earlier revision count.", "They are gone when the rollout ends.";
    DeleteEarlier: Unplayed(NEW_PODS), "Pods of an earlier revision count, and no rollout replaces them.", "New pods are of the current template.";
    LowerPartition: Unplayed(NEW_PODS), "A rollout leaves the pods of an earlier revision alone.", "The rollout replaces them.";
    LabelApart: Unplayed("labels and selectors of other objects change with it"), "The selector of the target matches pods of others.", "Only the pods of the target count.";
    EndReferred: Unplayed("which pods are to serve is for the user to say"), "A Rollout and the workload that has its template both have pods.", "Only one of the two has pods.";
    DeleteByOwner: Unplayed(ELSEWHERE), "Finished pods of a Job or of another object that may need them match the selector.", "They no longer count.";
    UseValue: Played, "An average or a quantile is divided by the replicas.", "The whole value is compared with the target.", changes Hpa;
    InstallApi: Unplayed(ELSEWHERE), "No server answers for a metrics API.", "The metric can be read.";
    LookAtApi: Shown, "A metrics API does not answer.", "It shows why.";
    PointApiService: Unplayed(UNKNOWN_VALUE), "A server other than KEDA's serves the external metrics.", "KEDA serves them.";
    LookAtScaledObject: Shown, "KEDA has no value for a metric of its own.", "It shows why.";
    UseName: Unplayed(UNKNOWN_VALUE), "The API serves a metric of a similar name.", "The metric can be read.";
    CorrectName: Unplayed(UNKNOWN_VALUE), "The API does not know the metric, nor a similar name.", "The metric can be read.";
    DescribeObject: Unplayed(UNKNOWN_VALUE), "No API has the kind of the described object.", "The metric can be read.";
    Grant: Shown, "The controller may not read a metric.", "The metric can be read.";
    LookAtBackend: Shown, "A metrics API reports an error for a metric.", "It shows the error.";
    StateInput: Unplayed("the value is for the user to state"), "Only the input lacks a value.", "The pass can be computed.";
    UseOtherType: Unplayed(UNKNOWN_VALUE), "A Resource metric is neither CPU nor memory.", "The metric can be read.";
    FindSamples: Shown, "Samples are missing or old.", "It shows why.";
    FindSeries: Shown, "A metrics API has no value for a metric.", "It shows what the API answers.";
    RepairMetric: Played, "A metric fails, and no other finding says why.", "The other metrics decide.";
    NameContainer: Shown, "A ContainerResource metric names a container that not all pods have.", "The metric has a value.";
    RequestLess: Unplayed("what the node can hold is not in the state"), "A node cannot hold a pod with the request in its spec.", "The request comes into effect.";
    WaitForResize: Shown, "A resize of pods is pending.", "The requests are those in effect.";
    UseAverageValue: Played, "A total multiplies the replicas, or requests are not those of the template.", "The proposal is the total divided by the target, or usage alone decides.", changes Hpa;
    SetTarget: Played, "A target is probably in another unit than the value.", "The units agree.", changes Hpa;
    RaiseRequest: Played, "Usage has been several times the request since the last rescale.", "Usage is about the target, and the proposal is lower.", changes Template;
    LeaveRoom: Played, "Each pod uses more memory than the target, or so much that fewer pods are never enough.", "The pass proposes no more replicas than there are, and fewer if they are at the maximum or only kept.", changes Template;
    LowerTarget: Played, "Even with all pods at their limits, the metric is not above its target.", "Pods at their limits propose more replicas.", changes Hpa;
    SpreadLoad: Shown, "A few pods are at their limits, and the others idle.", "It shows what each pod uses.";
    SelectOwn: Unplayed(ELSEWHERE), "The scale has no selector that matches the pods.", "The controller finds the pods.";
    KeepOneHpa: Unplayed("which HPA is kept is for the user to say"), "Two HPAs have one target.", "One HPA decides.";
    DeleteFinished: Played, "Finished pods match the selector.", "They no longer count.";
    FindUnready: Shown, "Pods are not ready for a reason of their own.", "It shows the reason.";
    RollBack: Shown, "All pods of one revision fail to become ready.", "It shows the reason.";
    AddNodes: Shown, "The scheduler finds no node for pods that are needed.", "It shows what they lack.";
    FindQuota: Shown, "The target creates no more pods.", "It shows the quota and the events.";
    WaitForPods: Shown, "Pods are only starting.", "They count as soon as they are ready and measured.";
    EndSooner: Shown, "Ready pods that are being deleted count.", "They do not matter.";
    LengthenUpWindow: Played, "Pods that are starting raise the proposal.", "The pass does not scale up further because of them.", changes Hpa;
    AddStartupProbe: Unplayed(NEW_PODS), "Pods that are starting raise the proposal, and no longer window is allowed.", "They count when they have warmed up.";
    SetTolerance: Played, "A metric above its target is within the tolerance, and nothing is wrong.", "The metric proposes more replicas.", changes Hpa;
    ChangeTarget: Played, "The same, and the version has no field for the tolerance.", "The pass proposes the replicas that the advice names.", changes Hpa;
    WaitForWindow: Quiet, "An earlier recommendation holds the replicas.", "Nothing has to be done: it expires.";
    KeepBusy: Unplayed("which pods are busy is not in the state"), "The same, and each pod is to have at most one of what is counted, as jobs of a queue.", "Pods end their work before they are gone.";
    ShortenWindow: Played, "An earlier recommendation holds the replicas for longer than by default.", "The replicas follow the metrics sooner.", changes Hpa;
    AddBehavior: Played, "An earlier recommendation adds replicas.", "It adds none.", changes Hpa;
    RaiseSmallRequest: Unplayed("the load of the next hours is not in the state"), "The controller scales up and down again and again, with a target that little work exceeds.", "Only a lasting load adds replicas.", changes Template;
    LengthenDownWindow: Played, "The controller scales up and down again and again.", "The pass does not scale down below a recent recommendation.", changes Hpa;
    ChangePolicies: Played, "A policy or the built-in limit decides.", "The replicas reach the proposal within some passes.", changes Hpa;
    EnableDirection: Played, "Scaling in one direction is disabled.", "The HPA scales in that direction.", changes Hpa;
    RaiseMax: Played, "The metrics propose more than maxReplicas.", "The pass adds replicas, or proposes no more than it may.", changes Hpa;
    LookAtCounted: Shown, "The metrics propose more than maxReplicas although no metric is above its target.", "It shows the pods that count.";
    ChangeBound: Played, "The replicas are beyond a bound of the HPA.", "The bound allows them.", changes Hpa;
    AssumeBound: Played, "The replicas are beyond a bound, and either is assumed.", "The pass reads the metrics.";
    LeaveToKeda: Quiet, "KEDA scales to zero and from zero.", "Nothing has to be done.";
    LeaveToFlagger: Quiet, "Flagger keeps the target of a canary at 0.", "Nothing has to be done.";
    ScaleToOne: Played, "The target has 0 replicas, and nothing is known to keep it there.", "The HPA decides again.";
}
