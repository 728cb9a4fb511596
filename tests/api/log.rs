//! The requests that a server got, and how many rounds they took.

use std::time::Duration;

use super::http::find;

/// One request as it arrived, and when it was done with.
#[derive(Debug, Clone)]
pub(crate) struct Recorded {
    /// The method.
    pub(crate) method: String,
    /// The path, percent-decoded, without the query.
    pub(crate) path: String,
    /// The parameters of the query, decoded, in their order.
    pub(crate) query: Vec<(String, String)>,
    /// All headers, credentials included, names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    /// The body.
    pub(crate) body: Vec<u8>,
    /// When it had arrived whole, since the start of the server.
    pub(crate) at: Duration,
    /// When its answer was about to leave, all delays over and the head sent, or the connection
    /// was cut instead; `None` while neither has happened.
    pub(crate) done: Option<Duration>,
    /// The connection that it came on, counted from 0 in the order of acceptance.
    pub(crate) connection: usize,
    /// Whom the server took the sender for, after impersonation; `None` if for no one (401).
    pub(crate) user: Option<String>,
    /// The status that was sent; 0 where none was.
    pub(crate) status: u16,
}

impl Recorded {
    /// The first header called `name`, which is in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        find(&self.headers, name)
    }

    /// The first parameter of the query called `name`.
    pub(crate) fn parameter(&self, name: &str) -> Option<&str> {
        find(&self.query, name)
    }
}

/// How many requests had to wait for another one: the length of the longest chain of requests each
/// of which arrived only when the answer to the one before was on its way.
///
/// Requests that overlap in time are therefore of one round. Answers on the loopback interface are
/// so quick that requests sent together may still follow one another; so a test that counts rounds
/// gives the cluster a [`latency`](super::Cluster::latency), which holds every request long enough
/// for those sent with it to arrive. Then two requests are of different rounds exactly if the
/// client sent one of them after it could have had some of the other's answer.
pub(crate) fn rounds(requests: &[Recorded]) -> usize {
    let mut spans: Vec<_> = requests
        .iter()
        .map(|request| (request.done.unwrap_or(Duration::MAX), request.at))
        .collect();
    // The one that ends first leaves most room for others: the usual greedy choice of the largest
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
