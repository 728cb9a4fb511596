//! What tells of the controller's past: the events of HPAs, and since when the controller manager
//! leads. An answer can do without; whatever has not come in time is told as not known.

use std::cell::RefCell;

use tokio::join;

use super::super::Failure;
use super::super::discovery::segment;
use super::beside::told;
use super::{Fetch, List};
use crate::snapshot::evidence::{
    Event, Evidence, LEASE_NAME, LEASE_NAMESPACE, Lease, WireEvent, WireLease,
};

/// What has come so far.
#[derive(Default)]
pub(super) struct Past {
    events: RefCell<Option<Result<Vec<Event>, Failure>>>,
    lease: RefCell<Option<Result<Option<Lease>, Failure>>>,
}

impl Past {
    /// What has come, and why the rest is not known.
    pub(super) fn take(&self, notes: &mut Vec<String>) -> Evidence {
        let events = known(self.events.take(), "the HPA's events are not known", notes);
        let lease = "since when the controller manager leads is not known";
        let lease = known(self.lease.take(), lease, notes);
        Evidence { events, lease, seen: Vec::new() }
    }
}

fn known<T: Default>(answer: Option<Result<T, Failure>>, what: &str, notes: &mut Vec<String>) -> T {
    let cause = match answer {
        Some(Ok(value)) => return value,
        Some(Err(e)) => told(Some(&e)),
        None => "no answer in time".to_owned(),
    };
    notes.push(format!("{what}: {cause}"));
    T::default()
}

impl Fetch<'_> {
    /// Puts what comes into `past`: about one HPA or all, of one namespace or all.
    pub(super) async fn past(&self, namespace: Option<&str>, name: Option<&str>, past: &Past) {
        let events = async {
            let events = self.events(namespace, name).await;
            *past.events.borrow_mut() = Some(events);
        };
        let lease = async {
            let lease = self.lease().await;
            *past.lease.borrow_mut() = Some(lease);
        };
        join!(events, lease);
    }

    async fn events(
        &self,
        namespace: Option<&str>,
        name: Option<&str>,
    ) -> Result<Vec<Event>, Failure> {
        let mut fields = "involvedObject.kind=HorizontalPodAutoscaler".to_owned();
        if let Some(name) = name {
            fields.push_str(&format!(",involvedObject.name={name}"));
        }
        let namespace =
            namespace.map_or_else(String::new, |name| format!("/namespaces/{}", segment(name)));
        let path = format!("/api/v1{namespace}/events?fieldSelector={}", segment(&fields));
        let list: List<WireEvent> = self.json(&path, "EventList").await?;
        Ok(list.items.into_iter().flatten().filter_map(WireEvent::about_hpa).collect())
    }

    /// The lease of the controller manager; none where there is none of the usual name.
    async fn lease(&self) -> Result<Option<Lease>, Failure> {
        let path = format!(
            "/apis/coordination.k8s.io/v1/namespaces/{LEASE_NAMESPACE}/leases/{LEASE_NAME}"
        );
        match self.json::<WireLease>(&path, "Lease").await {
            Ok(lease) => Ok(lease.of_controller_manager()),
            Err(e) if e.is_not_found() => Ok(None),
            Err(e) => Err(e),
        }
    }
}
