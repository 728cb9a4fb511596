//! What the API shows of the controller's past. A pass looks at none of it; what it says about the
//! controller's memory is the business of [`crate::memory`]. Times are those of the API: whole
//! seconds, the fraction dropped.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::hpa::Hpa;
use super::memory::ScaleEvent;
use super::written::last_write;
use crate::apimachinery::json::time;
use crate::apimachinery::managed_fields::ManagedFieldsEntry;

/// What is known besides the HPA itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Evidence {
    /// Events about HPAs, in any order.
    pub events: Vec<Event>,
    /// Events about Deployments whose ReplicaSets were scaled, in any order.
    pub scaled: Vec<Event>,
    /// The lease of the controller manager.
    pub lease: Option<Lease>,
    /// What was seen of earlier passes while the HPA was watched.
    pub seen: Vec<SeenPass>,
    /// The rescales that states without a gap show; none where there are no such states.
    pub rescales: Option<Rescales>,
    /// How many replicas the target had; none where it does not say since when.
    pub counted: Option<Counted>,
}

/// The `status.replicas` of a target, which averages per pod are taken over, while its status stayed
/// as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counted {
    /// How many, more than none.
    pub replicas: i32,
    /// When the status was last changed before, by `managedFields`.
    pub since: Timestamp,
    /// When it was read.
    pub until: Timestamp,
}

/// All rescales of the controller since some time, by the states of the HPA that its passes left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rescales {
    /// There were no others since.
    #[serde(serialize_with = "time::serialize")]
    pub since: Timestamp,
    /// By how many replicas, positive where there were more of them afterwards; the oldest first.
    pub changes: Vec<ScaleEvent>,
}

/// The recommendations of passes that left a status which has been overwritten since.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SeenPass {
    /// They were not lower.
    pub at_least: i32,
    /// They were not higher; the largest integer where nothing is known.
    pub at_most: i32,
    /// What they were by all appearances.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub likely: Option<i32>,
    /// When the status was written.
    #[serde(serialize_with = "time::serialize")]
    pub time: Timestamp,
    /// Until when it is known to have stood.
    #[serde(serialize_with = "time::serialize")]
    pub until: Timestamp,
    /// At its time the spec was changed, and not the status.
    #[serde(default, rename = "kept", skip_serializing_if = "std::ops::Not::not")]
    pub spec_changed: bool,
    /// Its passes may not have got to a recommendation.
    #[serde(default, rename = "unread", skip_serializing_if = "std::ops::Not::not")]
    pub may_lack_recommendation: bool,
}

impl Counted {
    /// The replicas of a target that was read at some time, if it tells since when its status has been
    /// as it is. That a count is taken away leaves no trace, so none is no count.
    pub(crate) fn new(
        replicas: i32,
        managed: &[ManagedFieldsEntry],
        until: Timestamp,
    ) -> Option<Self> {
        let since = last_write(managed, true)?;
        (replicas > 0).then_some(Self { replicas, since, until })
    }
}

/// An event about an HPA or its target (`v1` or `events.k8s.io/v1`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Event {
    /// The namespace of what it is about.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its uid; empty where the event leaves it out.
    pub uid: String,
    /// The reason, such as `SuccessfulRescale`.
    pub reason: String,
    /// The message.
    pub message: String,
    /// When it was first seen.
    pub first: Option<Timestamp>,
    /// When it was last seen.
    pub last: Option<Timestamp>,
    /// How often it was seen.
    pub count: i32,
}

/// `Lease` of the controller manager: who leads, since when, and whether it still does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    /// When the leader took over; nothing that it remembers is older.
    pub acquired: Timestamp,
    /// When it last said that it is there.
    pub renewed: Timestamp,
    /// How long after that another one takes over.
    pub duration: SignedDuration,
}

/// Where the leader of the controller manager is elected.
pub const LEASE_NAMESPACE: &str = "kube-system";
/// The name of that lease.
pub const LEASE_NAME: &str = "kube-controller-manager";

/// Whose ReplicaSets are scaled where it is scaled itself.
pub const DEPLOYMENT: &str = "Deployment";
/// The reason of the events about that.
pub const SCALED: &str = "ScalingReplicaSet";

/// A lease that was renewed longer ago is lost for good, whichever clocks disagree.
const LOST: SignedDuration = SignedDuration::from_secs(60);

impl Lease {
    /// Whether the one who renewed it last still leads: another may take over from then on.
    pub(crate) fn is_held(&self, now: Timestamp) -> bool {
        self.renewed + self.duration >= now
    }

    /// Whether no one holds it any more.
    pub(crate) fn has_lapsed(&self, now: Timestamp) -> bool {
        now.duration_since(self.renewed) >= self.duration.max(LOST)
    }
}

impl Event {
    /// Whether it is about this HPA, and not about an earlier one of its name.
    pub fn is_about(&self, hpa: &Hpa) -> bool {
        self.uid.is_empty() || hpa.uid.as_ref().is_none_or(|uid| *uid == self.uid)
    }
}

impl Evidence {
    /// What it tells of the HPAs that there have been under the name of one.
    pub fn of(&self, hpa: &Hpa) -> Self {
        let of_its_name =
            |event: &&Event| event.name == hpa.name && event.namespace == hpa.namespace;
        let target = &hpa.spec.scale_target_ref;
        let of_its_target = |event: &&Event| {
            target.kind == DEPLOYMENT
                && event.name == target.name
                && event.namespace == hpa.namespace
        };
        Self {
            events: self.events.iter().filter(of_its_name).cloned().collect(),
            scaled: self.scaled.iter().filter(of_its_target).cloned().collect(),
            lease: self.lease,
            seen: self.seen.clone(),
            rescales: self.rescales.clone(),
            counted: self.counted,
        }
    }
}
