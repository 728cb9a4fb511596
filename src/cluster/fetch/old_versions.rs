//! Reads the earlier states of an HPA that its API server still has: a list can be requested as of an
//! earlier resource version until that is compacted away, which takes five minutes or more. Each status
//! that the controller has overwritten records one of its passes; the target at that time shows the
//! replicas over which the averages in that status were computed.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::value::RawValue;
use tokio::join;
use tokio::time::{Instant, timeout_at};

use super::super::{Failure, Session};
use super::discovery::built_in;
use super::items::{HPAS, admitted_item};
use super::read::List;
use super::right::cause;
use super::{Fetch, hpas_path};
use crate::apimachinery::names::query;
use crate::apiserver::convert::HpaObject;
use crate::cluster::observed::ScaleAt;
use crate::cluster::target::TargetObject;
use crate::snapshot::Scale;
use crate::snapshot::evidence::Counted;
use crate::snapshot::hpa::Hpa;
use crate::snapshot::right::UnknownFactCause;

/// No more requests for another state start after this time.
const PATIENCE: Duration = Duration::from_secs(3);
/// The maximum number of states.
const STATES: usize = 100;
/// The time after which the older version of a target need not be read, if its status was unchanged for
/// that long before a pass.
const SETTLED: SignedDuration = SignedDuration::from_secs(10);

/// The past of an HPA.
pub struct OldVersions {
    /// The states of the HPA, the oldest first and the given one last.
    pub states: Vec<Hpa>,
    /// The known replica counts of the target during that time, in any order.
    pub counted: Vec<Counted>,
}

/// Returns the past of an HPA since a given time, and, if requested, of its target, in addition to the
/// known present. If the server has less or denies access, the result has less.
pub async fn look_back(
    session: &Session,
    hpa: &Hpa,
    since: Timestamp,
    at: Option<&ScaleAt>,
    now: Option<Counted>,
) -> OldVersions {
    let asked = Fetch::new(session, &hpa.namespace);
    let end = Instant::now() + PATIENCE;
    // Other kinds may count their replicas outside `status.replicas`.
    let reference = &hpa.spec.scale_target_ref;
    let mut target = at.filter(|_| built_in(reference.group(), &reference.kind).is_some());
    let mut past = OldVersions {
        states: vec![hpa.clone()],
        counted: now.into_iter().collect(),
    };
    while let Some(state) = past.states.last()
        && let Some(status) = state.written.status
    {
        let written = state.written.spec.map_or(status, |spec| status.max(spec));
        let more = past.states.len() < STATES && status >= since;
        let is_known = past
            .counted
            .iter()
            .any(|counted| written.duration_since(counted.since) > SETTLED);
        let earlier = async {
            if more {
                asked.before(state).await
            } else {
                None
            }
        };
        let counted = async {
            let unknown = target.filter(|_| !is_known)?;
            let found = asked.target(unknown, &state.resource_version).await;
            Some(found.map(|target| target.counted(target.status.replicas.unwrap_or(0), written)))
        };
        let Ok((earlier, counted)) = timeout_at(end, async { join!(earlier, counted) }).await
        else {
            break;
        };
        match counted {
            Some(Ok(counted)) => past.counted.extend(counted),
            Some(Err(_)) => target = None,
            None => {}
        }
        let Some(earlier) = earlier else { break };
        past.states.push(earlier);
    }
    past.states.reverse();
    past
}

/// Returns the replica count of a target according to its scale, and the time since which its status is
/// unchanged.
///
/// # Errors
///
/// The target cannot be read.
pub async fn count(
    session: &Session,
    target: &ScaleAt,
    scale: &Scale,
    now: Timestamp,
) -> Result<Option<Counted>, UnknownFactCause> {
    let asked = Fetch::new(session, &target.namespace);
    let found = asked.target(target, "").await;
    let target = found.map_err(|e| cause(&e))?;
    Ok(target.counted(scale.status_replicas, now))
}

/// Returns the query for the object of a name as of a version, or in its current state if that is empty.
fn one_of(name: &str, version: &str) -> String {
    let exact = if version.is_empty() { "" } else { "Exact" };
    query(&[
        ("fieldSelector", &format!("metadata.name={name}")),
        ("resourceVersion", version),
        ("resourceVersionMatch", exact),
    ])
}

impl Fetch<'_> {
    /// Returns the state before this one; `None` if it is not available.
    async fn before(&self, hpa: &Hpa) -> Option<Hpa> {
        // The storage counts revisions across all objects.
        let version: u64 = hpa.resource_version.parse().ok()?;
        let before = version.checked_sub(1)?.to_string();
        let path = hpas_path(Some(self.namespace)) + &one_of(&hpa.name, &before);
        let list: List<Box<RawValue>> = self.json(&path, HPAS).await.ok()?;
        let earlier = admitted_item(list.items.first()?.get(), self.namespace)
            .ok()
            .map(HpaObject::into_hpa)?;
        // A server that does not support exact versions returns the current state.
        let is_earlier = earlier
            .resource_version
            .parse::<u64>()
            .is_ok_and(|its| its < version);
        (is_earlier && earlier.uid == hpa.uid).then_some(earlier)
    }

    /// Reads a target as of a version, or in its current state if that is empty.
    async fn target(&self, at: &ScaleAt, version: &str) -> Result<TargetObject, Failure> {
        let collection = at
            .path
            .rsplit_once('/')
            .map_or("", |(collection, _)| collection);
        let path = format!("{collection}{}", one_of(&at.name, version));
        let list: List<TargetObject> = self.json(&path, "").await?;
        Ok(list.items.into_iter().next().unwrap_or_default())
    }
}
