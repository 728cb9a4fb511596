//! The requests that a server received, and how many rounds they took.

use std::ops::Deref;
use std::time::Duration;

use super::http::Request;

/// One request as it arrived, and when it was finished.
#[derive(Debug, Clone)]
pub(crate) struct Recorded {
    /// The request with all its headers, credentials included.
    pub(crate) request: Request,
    /// When it had arrived completely, since the start of the server.
    pub(crate) at: Duration,
    /// When its answer was about to be sent, after all delays and the head, or the connection
    /// was cut instead; `None` while neither has happened.
    pub(crate) done: Option<Duration>,
    /// The connection that it came on, counted from 0 in the order of acceptance.
    pub(crate) connection: usize,
    /// Whom the server identified as the sender, after impersonation; `None` for no one (401).
    pub(crate) user: Option<String>,
    /// The status that was sent; 0 if none was.
    pub(crate) status: u16,
    /// The bytes of the answer's body, before they were compressed.
    pub(crate) bytes: usize,
}

impl Deref for Recorded {
    type Target = Request;

    fn deref(&self) -> &Request {
        &self.request
    }
}

/// Returns how many requests had to wait for another: the length of the longest chain of requests each
/// of which arrived only when the answer to the previous one was on its way.
///
/// Requests that overlap in time therefore belong to one round. Answers on the loopback interface are
/// so fast that requests sent together may still follow one another; so a test that counts rounds
/// gives the cluster a [`latency`](super::Cluster::latency), which holds every request long enough
/// for those sent with it to arrive. Then two requests belong to different rounds exactly if the
/// client sent one of them after it could have had some of the other's answer.
pub(crate) fn rounds(requests: &[Recorded]) -> usize {
    let mut spans: Vec<_> = requests
        .iter()
        .map(|request| (request.done.unwrap_or(Duration::MAX), request.at))
        .collect();
    // The one that ends first leaves most room for others: the usual greedy choice for the largest
    // number of disjoint intervals.
    spans.sort();
    let mut rounds = 0;
    let mut free = None;
    for (done, at) in spans {
        if free.is_none_or(|free| at >= free) {
            rounds += 1;
            free = Some(done);
        }
    }
    rounds
}
