//! Evidence of the controller's past, from the API. A pass uses none of it; [`crate::memory`] determines what it says
//! about the controller's history. Times are the API's: whole seconds, the fraction dropped.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::hpa::Hpa;
use super::memory::ScaleEvent;
use super::past::{Bounds, Past};
use super::shared::Shared;
use super::written::last_write;
use crate::apimachinery::json::time;
use crate::apimachinery::managed_fields::ManagedFieldsEntry;
use crate::calendar::Calendar;

/// The time for which an API server keeps events by default.
pub(crate) const EVENTS_KEPT: SignedDuration = SignedDuration::from_hours(1);

/// The known facts, apart from the HPA itself.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Evidence {
    /// Events about HPAs, in any order.
    pub events: Vec<Event>,
    /// The events of Deployments whose ReplicaSets were scaled, in any order.
    pub scaled: Vec<Event>,
    /// Events of the cluster autoscaler about pods, in any order. Only files have them.
    pub pods: Shared<Vec<Event>>,
    /// The lease of the controller manager.
    pub lease: Option<Lease>,
    /// The earlier passes that were observed while the HPA was watched.
    pub seen: Vec<SeenPass>,
    /// The rescales shown by an unbroken sequence of states; `None` if there is no such sequence.
    pub rescales: Option<Rescales>,
    /// The target's past replica count; `None` if the target does not say since when it has had it.
    pub counted: Option<Counted>,
    /// The past of the pass, if it is explained from a history of samples.
    pub past: Option<Past>,
    /// The passes before now, from a history of samples.
    pub recorded: Option<Past>,
}

/// The `status.replicas` of a target, by which averages per pod are computed, for a time in which its status was
/// unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counted {
    /// The number of replicas, at least one.
    pub replicas: i32,
    /// The last change of the status before it was read, according to `managedFields`.
    pub since: Timestamp,
    /// The time at which the status was read.
    pub until: Timestamp,
    /// Whether the target had this many pods, all with the same requests; known only of the current target.
    pub alike: bool,
}

/// All rescales by the controller since some time, derived from the HPA states that its passes left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rescales {
    /// The start: all later rescales are included, and the one of the pass at this time.
    #[serde(with = "time")]
    pub since: Timestamp,
    /// The change in replicas, positive for an increase; the oldest first.
    pub changes: Vec<ScaleEvent>,
}

/// The recommendations of passes whose status has since been overwritten.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SeenPass {
    /// The lower bound of the recommendation; above the upper bound if its passes made none.
    pub at_least: i32,
    /// The upper bound; the largest integer if unknown.
    pub at_most: i32,
    /// The most likely recommendation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub likely: Option<i32>,
    /// The replicas that its passes found, which a controller that started with one of these passes recommended first;
    /// `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// The time at which the status was written.
    #[serde(with = "time")]
    pub time: Timestamp,
    /// The last time at which the status is known to have been in place.
    #[serde(with = "time")]
    pub until: Timestamp,
    /// Whether the spec, but not the status, was changed at that time.
    #[serde(default, rename = "kept", skip_serializing_if = "std::ops::Not::not")]
    pub spec_changed: bool,
    /// Whether its passes may have left the list of recommendations without any.
    #[serde(default, rename = "unread", skip_serializing_if = "std::ops::Not::not")]
    pub may_lack_recommendation: bool,
}

impl SeenPass {
    /// Whether its passes made no recommendation.
    pub(crate) fn recommended_nothing(&self) -> bool {
        self.at_least > self.at_most
    }

    /// Returns the bounds of the recommendation; `None` if its passes made none, or it may be any.
    pub(crate) fn recommended(&self) -> Option<Bounds> {
        let &Self {
            at_least, at_most, ..
        } = self;
        let bounds = Bounds { at_least, at_most };
        (!self.recommended_nothing() && bounds != Bounds::UNKNOWN).then_some(bounds)
    }
}

impl Counted {
    /// Returns the replicas of a target that was read at a given time, if it says since when its status has been
    /// unchanged. Removing a count leaves no trace, so a count of zero is unusable.
    pub(crate) fn new(
        replicas: i32,
        managed: &[ManagedFieldsEntry],
        until: Timestamp,
    ) -> Option<Self> {
        let since = last_write(managed, true)?;
        (replicas > 0).then_some(Self {
            replicas,
            since,
            until,
            alike: false,
        })
    }
}

/// An event about an HPA or its target (`v1` or `events.k8s.io/v1`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Event {
    /// The namespace of the object that the event is about.
    pub namespace: String,
    /// The object's name.
    pub name: String,
    /// The object's uid; empty if the event omits it.
    pub uid: String,
    /// The reason, such as `SuccessfulRescale`.
    pub reason: String,
    /// The message.
    pub message: String,
    /// The time of the first occurrence.
    pub first: Option<Timestamp>,
    /// The time of the last occurrence, or of the first one if there is no other.
    pub last: Option<Timestamp>,
    /// The number of occurrences, at least 1.
    pub count: i32,
}

/// `Lease` of the controller manager: who leads, since when, and whether it still leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    /// The time at which the leader took over; its history is no older.
    pub acquired: Timestamp,
    /// The time of the last renewal.
    pub renewed: Timestamp,
    /// The time after the last renewal at which another instance may take over.
    pub duration: SignedDuration,
}

/// The namespace of the controller manager's lease.
pub const LEASE_NAMESPACE: &str = "kube-system";
/// The name of that lease.
pub const LEASE_NAME: &str = "kube-controller-manager";

/// The kind whose events show how its ReplicaSets are scaled.
pub const DEPLOYMENT: &str = "Deployment";
/// The reason of these events.
pub const SCALED: &str = "ScalingReplicaSet";

/// The kind of pods.
pub const POD: &str = "Pod";
/// The reason of an event of the cluster autoscaler that adds a node for a pod.
pub const TRIGGERED: &str = "TriggeredScaleUp";
/// The reason of an event of the cluster autoscaler that adds no node for a pod.
pub const NOT_TRIGGERED: &str = "NotTriggerScaleUp";

/// The age from which a lease counts as lost for good, however much clocks differ.
const LAPSED: SignedDuration = SignedDuration::from_secs(60);

impl Lease {
    /// Returns the time from which the holder has certainly lost the lease: it gives up well before another may take
    /// over.
    pub(crate) fn lost(&self) -> Timestamp {
        const SECOND: SignedDuration = SignedDuration::from_secs(1);
        self.renewed.plus(self.duration).plus(SECOND)
    }

    /// Whether the last holder still leads; after that, another may take over.
    pub(crate) fn is_held(&self, now: Timestamp) -> bool {
        now.duration_since(self.renewed) <= self.duration
    }

    /// Whether the lease has no holder any more.
    pub(crate) fn has_lapsed(&self, now: Timestamp) -> bool {
        now.duration_since(self.renewed) >= self.duration.max(LAPSED)
    }
}

impl Event {
    /// Whether the event is about this HPA, rather than an earlier one of the same name.
    pub fn is_about(&self, hpa: &Hpa) -> bool {
        self.uid.is_empty() || hpa.uid.as_ref().is_none_or(|uid| *uid == self.uid)
    }

    /// Returns the replicas from and to which a Deployment was scaled: the message reads `Scaled up replica set
    /// web-596d9ffddd from 2 to 4`. Older versions say `to 4 from 2`, and even older ones omit the old count.
    pub(crate) fn followed(&self) -> Option<(Option<i32>, i32)> {
        let (_, change) = self.message.split_once(" replica set ")?;
        let words: Vec<&str> = change.split_whitespace().skip(1).collect();
        match words[..] {
            ["from", old, "to", new, ..] => Some((Some(old.parse().ok()?), new.parse().ok()?)),
            ["to", new, "from", old, ..] => Some((Some(old.parse().ok()?), new.parse().ok()?)),
            ["to", new] => Some((None, new.parse().ok()?)),
            _ => None,
        }
    }

    /// Returns the ReplicaSet that a Deployment has scaled; `None` also for an event that combines several changes.
    pub(crate) fn replica_set(&self) -> Option<&str> {
        let (start, change) = self.message.split_once(" replica set ")?;
        let is_one = !start.starts_with("(combined");
        change.split_whitespace().next().filter(|_| is_one)
    }
}

impl Evidence {
    /// Returns the evidence about all HPAs that have had this HPA's name. All events about pods are included.
    pub fn of(&self, hpa: &Hpa) -> Self {
        let of_its_name =
            |event: &&Event| event.name == hpa.name && event.namespace == hpa.namespace;
        let target = &hpa.spec.scale_target_ref;
        let is_followed = target.is_kind(DEPLOYMENT);
        let of_its_target = |event: &&Event| {
            is_followed && event.name == target.name && event.namespace == hpa.namespace
        };
        Self {
            events: self.events.iter().filter(of_its_name).cloned().collect(),
            scaled: self.scaled.iter().filter(of_its_target).cloned().collect(),
            pods: self.pods.clone(),
            lease: self.lease,
            seen: self.seen.clone(),
            rescales: self.rescales.clone(),
            counted: self.counted,
            past: self.past.clone(),
            recorded: self.recorded.clone(),
        }
    }
}
