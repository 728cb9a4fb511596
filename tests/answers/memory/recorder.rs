//! The events of one object, as client-go's recorder sends them (`EventCorrelator`) and an API
//! server keeps them: repeats are counted, similar ones merged, too frequent ones dropped,
//! and those that are an hour old expire.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use kubectl_hpa::snapshot::evidence::Event;

use super::whole;

const BURST: f64 = 25.0;
const REFILL: f64 = 300.0;
const SIMILAR: usize = 10;
const SIMILAR_WITHIN: SignedDuration = SignedDuration::from_mins(10);
const TTL: SignedDuration = SignedDuration::from_hours(1);

/// The events in an API server, by recorder, uid, reason and message.
pub(crate) type Kept = BTreeMap<(usize, String, String, String), Event>;

/// The recorder of one life of the controller.
#[derive(Default, Clone)]
pub(crate) struct Recorder {
    life: usize,
    tokens: BTreeMap<String, (f64, Timestamp)>,
    similar: BTreeMap<(String, String), (BTreeSet<String>, Timestamp)>,
    seen: Kept,
}

impl Recorder {
    /// Returns the recorder of the next life, which knows no earlier event.
    pub(crate) fn next(&self) -> Self {
        Self {
            life: self.life + 1,
            ..Self::default()
        }
    }

    /// Sends an event about the HPA with a uid; `kept` has the API server's events.
    pub(crate) fn send(
        &mut self,
        uid: &str,
        reason: &str,
        message: &str,
        now: Timestamp,
        kept: &mut Kept,
    ) {
        let of = (uid.to_owned(), reason.to_owned());
        let similar = self
            .similar
            .entry(of)
            .or_insert_with(|| (BTreeSet::new(), now));
        if now.duration_since(similar.1) > SIMILAR_WITHIN {
            similar.0.clear();
        }
        similar.1 = now;
        similar.0.insert(message.to_owned());
        let (key, message) = if similar.0.len() < SIMILAR {
            (message.to_owned(), message.to_owned())
        } else {
            similar.0.pop_first();
            (
                String::new(),
                format!("(combined from similar events): {message}"),
            )
        };
        let key = (self.life, uid.to_owned(), reason.to_owned(), key);
        let event = self.seen.entry(key.clone()).or_insert_with(|| Event {
            namespace: "default".to_owned(),
            name: "web".to_owned(),
            uid: uid.to_owned(),
            reason: reason.to_owned(),
            first: Some(whole(now)),
            ..Event::default()
        });
        event.message = message;
        event.count += 1;
        event.last = Some(whole(now));

        let bucket = self.tokens.entry(uid.to_owned()).or_insert((BURST, now));
        let (tokens, since) = *bucket;
        let tokens = (tokens + now.duration_since(since).as_secs_f64() / REFILL).min(BURST);
        if tokens < 1.0 {
            *bucket = (tokens, now);
            return;
        }
        *bucket = (tokens - 1.0, now);
        kept.insert(key, event.clone());
        kept.retain(|_, event| {
            event
                .last
                .is_some_and(|last| now.duration_since(last) < TTL)
        });
    }
}
