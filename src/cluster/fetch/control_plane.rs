//! Evidence about the controller: the events of HPAs, the time since which the controller manager has been
//! the leader, and the flags of its pods. An answer does not need it; whatever does not arrive in time is
//! reported as unknown. Few users may read kube-system, so missing facts from there are a line and not a
//! note.

use tokio::join;

use super::super::{Failure, Session};
use super::discovery::collection;
use super::read::List;
use super::right::cause;
use super::{Awaited, Fetch};
use crate::apimachinery::names::query;
use crate::saved::wire::{EventObject, LeaseObject};
use crate::snapshot::control_plane::{
    ControlPlane, MANAGER_LABEL, ManagerFact, ManagerPod, Unshown,
};
use crate::snapshot::evidence::{DEPLOYMENT, Event, LEASE_NAME, LEASE_NAMESPACE, Lease, SCALED};
use crate::snapshot::hpa::Hpa;
use crate::snapshot::note::Note;
use crate::snapshot::pod::Pod;
use crate::snapshot::right::{UnknownFact, UnknownFactCause};

/// Returns the answer that has arrived, or the reason why none has.
fn arrived<T: Clone>(answer: Option<&Result<T, Failure>>) -> Result<T, UnknownFactCause> {
    match answer {
        Some(Ok(answer)) => Ok(answer.clone()),
        Some(Err(failure)) => Err(cause(failure)),
        None => Err(UnknownFactCause::Late),
    }
}

/// Returns the answer that has arrived, or adds a note if none has.
pub(super) fn come<T: Clone>(
    answer: Option<&Result<T, Failure>>,
    what: UnknownFact,
    notes: &mut Vec<Note>,
) -> Option<T> {
    arrived(answer)
        .inspect_err(|why| notes.push(Note::not_known(what, why)))
        .ok()
}

/// The answers that have arrived so far.
#[derive(Default)]
pub(super) struct ControllerAnswers {
    lease: Awaited<ManagerLease>,
    pods: Awaited<Vec<ManagerPod>>,
}

/// The lease of the controller manager, with its holder.
#[derive(Clone, Default)]
struct ManagerLease {
    lease: Option<Lease>,
    holder: Option<String>,
}

impl ControllerAnswers {
    /// Returns the answers that have arrived, and the reasons why the rest is unknown.
    pub(super) fn come(&self, session: &Session) -> (Option<Lease>, ControlPlane) {
        let pods = shown(&self.pods, session).and_then(|pods| {
            if pods.is_empty() {
                return Err(Unshown::NoPod);
            }
            Ok(pods)
        });
        let held = shown(&self.lease, session);
        let unread = [
            (ManagerFact::Flags, pods.as_ref().err()),
            (ManagerFact::Start, held.as_ref().err()),
        ]
        .into_iter()
        .filter_map(|(fact, why)| Some((fact, why?.clone())))
        .collect();
        let ManagerLease { lease, holder } = held.unwrap_or_default();
        let control_plane = ControlPlane {
            pods: pods.unwrap_or_default(),
            holder,
            server: None,
            unread,
        };
        (lease, control_plane)
    }
}

/// Returns the answer that has arrived, or the reason why none has; the remedy for a missing right is shown
/// with `-v`.
fn shown<T: Clone>(answer: &Awaited<T>, session: &Session) -> Result<T, Unshown> {
    arrived(answer.get()).map_err(|why| {
        if let UnknownFactCause::MissingRight(right) = &why {
            session.note_once(right.advice());
        }
        Unshown::Cause(why)
    })
}

/// Returns the events of a Deployment about its scaling.
///
/// # Errors
///
/// The events cannot be read.
pub async fn scaled(session: &Session, hpa: &Hpa) -> Result<Vec<Event>, UnknownFactCause> {
    let asked = Fetch::new(session, &hpa.namespace);
    let fields = format!(
        "involvedObject.kind={DEPLOYMENT},involvedObject.name={},reason={SCALED}",
        hpa.spec.scale_target_ref.name
    );
    let list = asked
        .event_list(Some(&hpa.namespace), &fields)
        .await
        .map_err(|e| cause(&e))?;
    Ok(list
        .into_iter()
        .filter_map(EventObject::about_scaled)
        .collect())
}

impl Fetch<'_> {
    /// Fetches the evidence about the controller manager into `answers`.
    pub(super) async fn controller(&self, answers: &ControllerAnswers) {
        join!(
            answers.lease.get_or_init(|| self.lease()),
            answers.pods.get_or_init(|| self.manager_pods())
        );
    }

    /// Returns the events of one HPA or all, in one namespace or all.
    pub(super) async fn events(
        &self,
        namespace: Option<&str>,
        name: Option<&str>,
    ) -> Result<Vec<Event>, Failure> {
        let mut fields = "involvedObject.kind=HorizontalPodAutoscaler".to_owned();
        if let Some(name) = name {
            fields.push_str(&format!(",involvedObject.name={name}"));
        }
        let list = self.event_list(namespace, &fields).await?;
        Ok(list
            .into_iter()
            .filter_map(EventObject::about_hpa)
            .collect())
    }

    async fn event_list(
        &self,
        namespace: Option<&str>,
        fields: &str,
    ) -> Result<Vec<EventObject>, Failure> {
        let path =
            collection("/api/v1", namespace, "events") + &query(&[("fieldSelector", fields)]);
        let list: List<EventObject> = self.json(&path, "EventList").await?;
        Ok(list.items)
    }

    /// Reads the lease of the controller manager; empty if none has the usual name.
    async fn lease(&self) -> Result<ManagerLease, Failure> {
        let path = format!(
            "/apis/coordination.k8s.io/v1/namespaces/{LEASE_NAMESPACE}/leases/{LEASE_NAME}"
        );
        match self.json::<LeaseObject>(&path, "Lease").await {
            Ok(lease) => {
                let holder = lease.holder().map(str::to_owned);
                Ok(ManagerLease {
                    lease: lease.of_controller_manager(),
                    holder,
                })
            }
            Err(e) if e.is_not_found() => Ok(ManagerLease::default()),
            Err(e) => Err(e),
        }
    }

    /// Reads the pods of the controller manager; only their flags are kept.
    async fn manager_pods(&self) -> Result<Vec<ManagerPod>, Failure> {
        let (label, value) = MANAGER_LABEL;
        let selector = format!("{label}={value}");
        let path = collection("/api/v1", Some(LEASE_NAMESPACE), "pods")
            + &query(&[("labelSelector", &selector)]);
        let list: List<Pod> = self.json(&path, "PodList").await?;
        let mut pods = list.items;
        Ok(pods.iter_mut().filter_map(ManagerPod::of).collect())
    }
}
