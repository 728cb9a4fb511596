//! The HPA when a scale is written: read again before, and afterwards its status and an event about
//! it written, as the controller does. Follows `updateStatus` of the controller and client-go's event
//! recorder; what is written is decided elsewhere.

use bytes::Bytes;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::discovery::segment;
use super::fetch::Fetch;
use super::managed::MANAGER;
use super::{Failure, Method, Session};
use crate::json::SecondsTime;
use crate::snapshot::hpa::{Hpa, HpaStatus};

/// An HPA as the server holds it.
#[derive(Debug)]
pub struct Read {
    /// What the controller sees of it.
    pub hpa: Hpa,
    /// All of it.
    body: Bytes,
}

/// Reads an HPA again.
///
/// # Errors
///
/// It cannot be read.
pub async fn read_again(session: &Session, hpa: &Hpa) -> Result<Read, Failure> {
    let path = path_of(session, hpa);
    let response = session.get(&path, "application/json").await?;
    let asked = Fetch { session, namespace: &hpa.namespace };
    let object = asked.admit(&response.body).map_err(|cause| asked.unreadable(&path, cause))?;
    Ok(Read { hpa: object.into_hpa(), body: response.body })
}

/// Writes the status of an HPA in the place of the state that was read.
///
/// # Errors
///
/// It is not written, or may not be.
pub async fn write_status(
    session: &Session,
    read: &Read,
    status: &HpaStatus,
    dry_run: bool,
) -> Result<(), Failure> {
    let path = format!("{}/status?{}", path_of(session, &read.hpa), query(dry_run));
    let fail = |e: serde_json::Error| Failure::unreadable(session.host(), &path, e.to_string());
    // What a write leaves out is removed, labels for one.
    let mut object: Value = serde_json::from_slice(&read.body).map_err(fail)?;
    object["status"] = serde_json::to_value(status).map_err(fail)?;
    session.write(Method::Put, &path, object.to_string().as_bytes()).await.map(drop)
}

/// An event as the controller would send it.
#[derive(Debug, Clone, Copy)]
pub struct Happened<'a> {
    /// `Normal` or `Warning`.
    pub type_: &'a str,
    /// The reason, as one word.
    pub reason: &'a str,
    /// The text.
    pub message: &'a str,
    /// When.
    pub time: Timestamp,
}

/// Sends an event about an HPA, in our own name.
///
/// # Errors
///
/// It is not sent, or may not be.
pub async fn send_event(
    session: &Session,
    hpa: &Hpa,
    event: Happened<'_>,
    dry_run: bool,
) -> Result<(), Failure> {
    let Happened { type_, reason, message, time } = event;
    let time = SecondsTime(time).to_string();
    let path = format!("/api/v1/namespaces/{}/events?{}", segment(&hpa.namespace), query(dry_run));
    let event = json!({
        "kind": "Event",
        "apiVersion": "v1",
        "metadata": {"generateName": format!("{}.", hpa.name), "namespace": hpa.namespace},
        "involvedObject": {
            "kind": "HorizontalPodAutoscaler",
            "apiVersion": "autoscaling/v2",
            "namespace": hpa.namespace,
            "name": hpa.name,
            "uid": hpa.uid,
            "resourceVersion": hpa.resource_version,
        },
        "type": type_,
        "reason": reason,
        "message": message,
        "source": {"component": MANAGER},
        "reportingComponent": MANAGER,
        "firstTimestamp": time,
        "lastTimestamp": time,
        "count": 1,
    });
    session.write(Method::Post, &path, event.to_string().as_bytes()).await.map(drop)
}

fn path_of(session: &Session, hpa: &Hpa) -> String {
    let asked = Fetch { session, namespace: &hpa.namespace };
    format!("{}/{}", asked.hpas_path(), segment(&hpa.name))
}

fn query(dry_run: bool) -> String {
    format!("{}fieldManager={MANAGER}", if dry_run { "dryRun=All&" } else { "" })
}
