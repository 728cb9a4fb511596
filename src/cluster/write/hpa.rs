//! The HPA during a write of its target's scale: it is read again before the write, and afterwards its
//! status and an event about it are written, as the controller does. Follows `updateStatus` of the
//! controller and client-go's event recorder; the contents are decided elsewhere.

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::pin;

use super::query;
use super::settle::{self, Fate, ReadBack, Write, settled};
use crate::apimachinery::json::{self, SecondsTime};
use crate::apimachinery::metadata::Metadata;
use crate::cluster::fetch::discovery::collection;
use crate::cluster::fetch::read::read;
use crate::cluster::fetch::{admitted, hpa_path};
use crate::cluster::{ApiStatus, Failure, Method, Response, Session};
use crate::snapshot::hpa::{Hpa, HpaStatus};
use crate::snapshot::written::FIELD_MANAGER;

/// An HPA as the server has it.
#[derive(Debug)]
pub struct Read {
    /// The fields that the controller reads.
    pub hpa: Hpa,
    /// The whole object.
    object: Value,
}

impl Read {
    /// Whether a pass finds the same in this HPA as in an earlier reading of it.
    fn has_what_decides(&self, before: &Self) -> bool {
        let [now, before] = [&self.hpa, &before.hpa];
        now.uid == before.uid
            && now.deletion_timestamp.is_none()
            && now.spec == before.spec
            && now.status == before.status
    }
}

/// Reads an HPA again.
///
/// # Errors
///
/// The HPA cannot be read.
pub async fn read_again(session: &Session, hpa: &Hpa) -> Result<Read, Failure> {
    let path = hpa_path(&hpa.namespace, &hpa.name);
    let response = session.get(&path).await?;
    let asked = [hpa.namespace.clone(), hpa.name.clone()];
    let read = session.object(&response, move |body| {
        let hpa = admitted(body, &asked)?.into_hpa();
        Ok(Read {
            hpa,
            object: json::read(body)?,
        })
    });
    read.await
}

/// Replaces the status of an HPA in the state that was read, and determines the outcome. If only its metadata has
/// changed since, such as an annotation, the status is sent once more. Once `cut` completes, the answer is no longer
/// awaited and nothing is sent again.
pub async fn write_status(
    session: &Session,
    read: &Read,
    status: &HpaStatus,
    dry_run: bool,
    cut: impl Future<Output = ()>,
) -> Fate<()> {
    pin!(cut);
    let write = StatusWrite {
        session,
        read,
        status,
        dry_run,
    };
    let first = sent(session, &write, dry_run, cut.as_mut()).await;
    if !matches!(first, Fate::Overtaken { is_gone: false, .. }) {
        return first;
    }
    match read_again(session, &read.hpa).await {
        Ok(now) if now.has_what_decides(read) => {
            let again = StatusWrite {
                read: &now,
                ..write
            };
            sent(session, &again, dry_run, cut).await
        }
        _ => first,
    }
}

/// Sends a write, and determines the outcome. A dry run stores nothing, so its outcome cannot be looked up.
async fn sent(
    session: &Session,
    write: &impl Write<State = ()>,
    dry_run: bool,
    cut: impl Future<Output = ()>,
) -> Fate<()> {
    session.allow(settle::REQUESTS);
    if dry_run {
        return settle::once(write).await;
    }
    settled(write, cut).await
}

/// A status to be written. Of two attempts, only the first matches the resourceVersion.
struct StatusWrite<'a> {
    session: &'a Session,
    read: &'a Read,
    status: &'a HpaStatus,
    dry_run: bool,
}

impl Write for StatusWrite<'_> {
    type State = ();

    async fn send(&self) -> Result<(), Failure> {
        let Self { session, read, .. } = *self;
        let before = &read.hpa;
        let path = hpa_path(&before.namespace, &before.name) + "/status" + &query(self.dry_run);
        // Fields that a write omits are removed, such as labels.
        let mut object = read.object.clone();
        object["status"] = json!(self.status);
        let response = session
            .write(Method::Put, &path, object.to_string().as_bytes())
            .await?;
        let asked = [before.namespace.clone(), before.name.clone()];
        let admit = move |body: &[u8]| admitted(body, &asked);
        let after = session.object(&response, admit).await?.into_hpa();
        // An unchanged status is not stored, and neither is anything in a dry run.
        let stays = self.dry_run || json!(before.status) == json!(self.status);
        let cause = match () {
            () if after.uid != before.uid => "the answer is another HPA",
            () if !stays && after.resource_version == before.resource_version => {
                "the answer has the resourceVersion from before"
            }
            () => return Ok(()),
        };
        Err(session.unreadable(Method::Put, &path, cause))
    }

    async fn look(&self) -> Result<ReadBack<()>, Failure> {
        let Read { hpa: before, .. } = self.read;
        let now = read_again(self.session, before).await?.hpa;
        Ok(if now.uid != before.uid {
            let what = "the HPA was replaced by another one of the same name";
            ReadBack::Replaced(what.to_owned(), true)
        } else if now.resource_version == before.resource_version {
            ReadBack::Still
        } else if json!(now.status) == json!(self.status) {
            ReadBack::Written((), now.written.by_us)
        } else {
            let what = "the HPA has a different status: the write can no longer take effect, or \
                        something has written the HPA since";
            ReadBack::Replaced(what.to_owned(), true)
        })
    }

    fn open(&self) -> String {
        "the HPA is unchanged, and the write may still take effect".to_owned()
    }
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
    /// The time of the event.
    pub time: Timestamp,
}

/// Sends an event about an HPA, in our own name, and determines the outcome; `cut` works as with the
/// status.
pub async fn send_event(
    session: &Session,
    hpa: &Hpa,
    event: Happened<'_>,
    dry_run: bool,
    cut: impl Future<Output = ()>,
) -> Fate<()> {
    let Happened {
        type_,
        reason,
        message,
        time,
    } = event;
    let time = SecondsTime(time).to_string();
    let name = event_name(&hpa.name, Timestamp::now());
    let body = json!({
        "kind": "Event",
        "apiVersion": "v1",
        "metadata": {"name": name, "namespace": hpa.namespace},
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
        "source": {"component": FIELD_MANAGER},
        "reportingComponent": FIELD_MANAGER,
        "firstTimestamp": time,
        "lastTimestamp": time,
        "count": 1,
    });
    let events = collection("/api/v1", Some(&hpa.namespace), "events");
    let write = EventWrite {
        session,
        path: format!("{events}/{name}"),
        name,
        sent_to: events + &query(dry_run),
        body: body.to_string(),
    };
    sent(session, &write, dry_run, cut).await
}

/// The longest name that the server accepts.
const LONGEST_NAME: usize = 253;

/// Returns the name of an event about an HPA as in client-go, so that an event that is sent twice exists once.
fn event_name(hpa: &str, time: Timestamp) -> String {
    let moment = time.as_nanosecond();
    match format!("{hpa}.{moment:x}") {
        name if name.len() <= LONGEST_NAME => name,
        _ => format!("{FIELD_MANAGER}.{moment:x}"),
    }
}

/// An event to be sent under a unique name, which a second attempt cannot use again.
struct EventWrite<'a> {
    session: &'a Session,
    name: String,
    path: String,
    sent_to: String,
    body: String,
}

/// An object of which only the name is read.
#[derive(Deserialize)]
struct NamedObject {
    metadata: Metadata,
}

impl EventWrite<'_> {
    /// Makes sure that an answer is this event.
    async fn is_in(&self, response: &Response) -> Result<(), Failure> {
        let name = self.name.clone();
        let read = self.session.object(response, move |body| {
            let event: NamedObject = read("Event", body)?;
            if event.metadata.name == name {
                Ok(())
            } else {
                Err("the answer is another event".to_owned())
            }
        });
        read.await
    }
}

/// Whether the API server says that an object of this name exists.
fn exists(status: &ApiStatus) -> bool {
    let is_conflict = status.code == 409 && status.reason == "AlreadyExists";
    is_conflict && status.from_server && !settle::is_denial(status)
}

impl Write for EventWrite<'_> {
    type State = ();

    async fn send(&self) -> Result<(), Failure> {
        let sent = self
            .session
            .write(Method::Post, &self.sent_to, self.body.as_bytes())
            .await;
        match sent {
            Ok(response) => self.is_in(&response).await,
            // Nothing else has its name, so it was sent before by something on the way.
            Err(e) if e.api().is_some_and(exists) => Ok(()),
            Err(e) => Err(e),
        }
    }

    async fn look(&self) -> Result<ReadBack<()>, Failure> {
        match self.session.get(&self.path).await {
            Ok(response) => {
                self.is_in(&response).await?;
                Ok(ReadBack::Written((), true))
            }
            Err(e) if e.is_gone() => Ok(ReadBack::Still),
            // Users who may create events may not be allowed to read them. Sending the event again reveals the same.
            Err(e) if e.is_forbidden() => Ok(ReadBack::Hidden),
            Err(e) => Err(e),
        }
    }

    fn open(&self) -> String {
        "it does not exist or cannot be read, and may still arrive".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::event_name;

    #[test]
    fn an_event_is_named_after_its_hpa_as_far_as_the_server_accepts() {
        let time = "2026-11-21T07:07:13.25Z".parse().unwrap();
        let name = |length| event_name(&"a".repeat(length), time);
        // The digits are those of the nanoseconds since 1970.
        assert_eq!(name(3), "aaa.18e9fdaa0ab8bc80");
        // A point and 16 digits follow.
        assert_eq!(name(236), format!("{}.18e9fdaa0ab8bc80", "a".repeat(236)));
        assert_eq!(name(237), "kubectl-hpa.18e9fdaa0ab8bc80");
    }
}
