//! What sharpens an answer and is not needed for one: the server's version, and the other HPAs of
//! the namespace with their targets' scales. Whatever has not come in time is told as not known.

use std::cell::RefCell;

use futures_util::{StreamExt, stream};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::join;

use super::super::Failure;
use super::super::discovery::segment;
use super::right::missing;
use super::scale::Found;
use super::{Fetch, List};
use crate::error::Error;
use crate::selector::Selector;
use crate::snapshot::OtherHpa;
use crate::snapshot::convert::HpaObject;
use crate::snapshot::evidence::{
    Event, Evidence, LEASE_NAME, LEASE_NAMESPACE, Lease, WireEvent, WireLease,
};
use crate::snapshot::hpa::Hpa;

/// How many scales are asked for at once.
const AT_ONCE: usize = 8;

/// As many names as fit a hint.
const NAMES: usize = 10;

/// What has come so far.
#[derive(Default)]
pub(super) struct Beside {
    version: RefCell<Option<Result<String, Failure>>>,
    names: RefCell<Vec<String>>,
    others: RefCell<Option<Result<Others, Failure>>>,
    events: RefCell<Option<Result<Vec<Event>, Failure>>>,
    lease: RefCell<Option<Result<Option<Lease>, Failure>>>,
}

/// The other HPAs, and what is not known of them.
#[derive(Default)]
struct Others {
    known: Vec<OtherHpa>,
    notes: Vec<String>,
}

impl Beside {
    /// Version and other HPAs.
    pub(super) fn take(&self, notes: &mut Vec<String>) -> (Option<String>, Vec<OtherHpa>) {
        let late = "no answer in time";
        let version = match self.version.take() {
            Some(Ok(version)) => Some(version),
            failed => {
                let cause = failed.map_or(late.to_owned(), |e| told(e.as_ref().err()));
                notes.push(format!("the server's version is not known: {cause}"));
                None
            }
        };
        let others = match self.others.take() {
            Some(Ok(others)) => {
                notes.extend(others.notes);
                others.known
            }
            failed => {
                let cause = failed.map_or(late.to_owned(), |e| told(e.as_ref().err()));
                notes.push(format!(
                    "whether another HPA selects the same pods is not known: {cause}"
                ));
                Vec::new()
            }
        };
        (version, others)
    }

    /// What there is to infer the controller's memory from.
    pub(super) fn evidence(&self, notes: &mut Vec<String>) -> Evidence {
        let mut cause = |what: &str, failed: Option<Option<&Failure>>| {
            let cause = failed.map_or("no answer in time".to_owned(), told);
            notes.push(format!("{what}: {cause}"));
        };
        let events = match self.events.take() {
            Some(Ok(events)) => events,
            failed => {
                let failed = failed.as_ref().map(|e| e.as_ref().err());
                cause("the HPA's events are not known", failed);
                Vec::new()
            }
        };
        let lease = match self.lease.take() {
            Some(Ok(lease)) => lease,
            failed => {
                let failed = failed.as_ref().map(|e| e.as_ref().err());
                cause("since when the controller manager leads is not known", failed);
                None
            }
        };
        Evidence { events, lease }
    }

    /// The error about an HPA that is not there, with those that are, or that none can be.
    pub(super) fn about_absence(&self, namespace: &str, error: Error) -> Error {
        let names = self.names.take();
        if let Some(Err(e)) = self.others.take()
            && e.api().is_some_and(|api| api.code == 404)
        {
            let version = self.version.take().and_then(Result::ok);
            let server = version.map_or("the server".to_owned(), |v| format!("the server ({v})"));
            return Error::failed(format!("{server} does not serve autoscaling/v2"))
                .hint("it is served as of Kubernetes v1.23");
        }
        if names.is_empty() {
            return error.hint(format!("looked in the namespace {namespace}; see -n"));
        }
        let more = match names.len().saturating_sub(NAMES) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let names = names[..names.len().min(NAMES)].join(", ");
        error.hint(format!("the namespace {namespace} has {names}{more}"))
    }
}

/// The missing right, or the failure itself.
fn told(failure: Option<&Failure>) -> String {
    failure.map_or_else(String::new, |e| missing(e).unwrap_or_else(|| e.to_string()))
}

impl Fetch<'_> {
    /// Puts what comes into `beside`, the HPA of that name aside.
    pub(super) async fn beside(&self, name: &str, beside: &Beside) {
        let version = async {
            let version = self.version().await;
            *beside.version.borrow_mut() = Some(version);
        };
        let others = async {
            let others = match self.hpas().await {
                Ok(listed) => {
                    let names = listed.iter().map(|hpa| hpa.name.clone());
                    *beside.names.borrow_mut() = names.collect();
                    Ok(self.others(name, listed).await)
                }
                Err(e) => Err(e),
            };
            *beside.others.borrow_mut() = Some(others);
        };
        let events = async {
            let events = self.events(name).await;
            *beside.events.borrow_mut() = Some(events);
        };
        let lease = async {
            let lease = self.lease().await;
            *beside.lease.borrow_mut() = Some(lease);
        };
        join!(version, others, events, lease);
    }

    /// The events of the HPA, as `kubectl describe` asks for them.
    async fn events(&self, name: &str) -> Result<Vec<Event>, Failure> {
        let selector = format!(
            "involvedObject.kind=HorizontalPodAutoscaler,involvedObject.name={name},\
             involvedObject.namespace={}",
            self.namespace
        );
        let path = format!(
            "/api/v1/namespaces/{}/events?fieldSelector={}",
            segment(self.namespace),
            segment(&selector)
        );
        let list: List<WireEvent> = self.json(&path, "EventList").await?;
        Ok(list.items.into_iter().flatten().filter_map(WireEvent::about_hpa).collect())
    }

    /// The lease of the controller manager; none where it has none of the usual name.
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

    async fn version(&self) -> Result<String, Failure> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Version {
            git_version: String,
        }
        // It has no kind.
        Ok(self.json::<Version>("/version", "").await?.git_version)
    }

    async fn hpas(&self) -> Result<Vec<Hpa>, Failure> {
        let kind = "HorizontalPodAutoscalerList";
        let list: List<Box<RawValue>> = self.json(&self.hpas_path(), kind).await?;
        let items = list.items.unwrap_or_default();
        let whole = |item: &str| {
            // Items of a list do not state their kind.
            let rest = item.trim_start().strip_prefix('{').unwrap_or_default();
            let head = r#"{"kind":"HorizontalPodAutoscaler","apiVersion":"autoscaling/v2","#;
            self.admit(format!("{head}{rest}").as_bytes()).ok().map(HpaObject::into_hpa)
        };
        Ok(items.iter().filter_map(|item| whole(item.get())).collect())
    }

    /// The other HPAs whose selector the controller knows, as far as they can be read.
    async fn others(&self, name: &str, listed: Vec<Hpa>) -> Others {
        let others = listed.into_iter().filter(|other| other.name != name);
        let asked = others.map(|other| async {
            let scale = self.built_in_scale(&other).await;
            (other, scale)
        });
        let answers: Vec<_> = stream::iter(asked).buffered(AT_ONCE).collect().await;
        let mut others = Others::default();
        for (hpa, scale) in answers {
            let Some(Ok(Found { scale: Ok(scale), .. })) = scale else {
                let key = hpa.key();
                others
                    .notes
                    .push(format!("the target of {key} cannot be read, so it plays no part"));
                continue;
            };
            let bounds = hpa.spec.min_replicas.unwrap_or(1)..=hpa.spec.max_replicas;
            if scale.spec_replicas == 0 || !bounds.contains(&scale.spec_replicas) {
                continue;
            }
            if let Ok(selector) = Selector::parse(&scale.selector)
                && !scale.selector.is_empty()
            {
                others.known.push(OtherHpa { hpa, scale, selector });
            }
        }
        others
    }
}
