//! What goes wrong, and with which requests. A fault either replaces a healthy answer or changes it on
//! the way.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;

use super::answer::status;
use super::http::{Answer, Extent, Request};
use super::list::expired;
use super::objects::Cluster;

/// What happens to a request.
#[derive(Debug, Clone)]
pub(crate) enum Fault {
    /// Its answer takes this long.
    DelayAnswer(Duration),
    /// This much time passes between head and body of the answer.
    DelayBody(Duration),
    /// It is never answered, and the connection stays open until the client closes it.
    Hang,
    /// The connection is closed before anything was sent.
    CutBeforeHead,
    /// The connection is closed after the head.
    CutAfterHead,
    /// The connection is closed in the middle of the body.
    CutInBody,
    /// 429 as from priority and fairness: a line of text, and `Retry-After` if given.
    TooManyRequests(Option<u32>),
    /// 503 as a Status, with `Retry-After` if given.
    Unavailable(Option<u32>),
    /// 500 as a Status.
    InternalError,
    /// 504 as a Status.
    Timeout,
    /// 502 with an HTML page, as from a load balancer.
    HtmlBadGateway,
    /// 401, though the credentials are right.
    Unauthorized,
    /// 410, as if the continue token were too old.
    Expired,
    /// 200 with a body that is not JSON.
    InvalidJson,
    /// 200 with the first half of the JSON, sent as if that were everything.
    TruncatedJson,
    /// 200 with an object of another kind.
    WrongKind,
    /// The healthy answer with a `Warning` header.
    Warning(String),
    /// Any other answer.
    Answer(Answer),
    /// An answer that depends on the request.
    Computed(fn(&Request) -> Answer),
    /// The connection is closed before the request is read, if it has served one before: the server closed it
    /// right after that one, but not before the client sent this one.
    CutWhereKept,
    /// The server does not execute it: it is lost on the way, or an intermediary answers.
    Unheard,
    /// The server executes it only this much later, whatever it answers.
    Late(Duration),
    /// Someone else does this right before.
    Before(fn(&mut Cluster)),
}

/// The requests that a fault affects.
#[derive(Debug, Clone)]
pub(crate) struct When {
    method: Option<&'static str>,
    prefix: String,
    except: Option<String>,
    from: usize,
    count: usize,
}

impl When {
    /// All requests whose path starts with `prefix`.
    pub(crate) fn on(prefix: &str) -> Self {
        Self {
            method: None,
            prefix: prefix.to_owned(),
            except: None,
            from: 1,
            count: usize::MAX,
        }
    }

    /// Excludes those whose path starts with `prefix`, too.
    pub(crate) fn except(mut self, prefix: &str) -> Self {
        self.except = Some(prefix.to_owned());
        self
    }

    /// Selects only those with a method.
    pub(crate) fn method(mut self, method: &'static str) -> Self {
        self.method = Some(method);
        self
    }

    /// Selects only the nth, counted from 1.
    pub(crate) fn nth(mut self, n: usize) -> Self {
        (self.from, self.count) = (n, 1);
        self
    }

    /// Selects only the first n.
    pub(crate) fn first(mut self, n: usize) -> Self {
        (self.from, self.count) = (1, n);
        self
    }

    /// Selects the nth and all later ones.
    pub(crate) fn from(mut self, n: usize) -> Self {
        (self.from, self.count) = (n, usize::MAX);
        self
    }
}

/// A fault with its condition and the number of requests checked.
pub(crate) struct Rule {
    when: When,
    fault: Fault,
    seen: AtomicUsize,
}

impl Rule {
    /// Returns a rule that has seen no request.
    pub(crate) fn new(when: When, fault: Fault) -> Self {
        Self {
            when,
            fault,
            seen: AtomicUsize::new(0),
        }
    }

    fn applies(&self, request: &Request) -> bool {
        let When {
            method,
            prefix,
            except,
            ..
        } = &self.when;
        if !request.path.starts_with(prefix) || method.is_some_and(|it| it != request.method) {
            return false;
        }
        if except
            .as_ref()
            .is_some_and(|prefix| request.path.starts_with(prefix))
        {
            return false;
        }
        let number = self.seen.fetch_add(1, Ordering::SeqCst) + 1;
        number >= self.when.from && number - self.when.from < self.when.count
    }
}

/// Everything that happens to one request.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    /// Added before the answer is sent.
    pub(crate) answer_delay: Duration,
    /// Added between head and body.
    pub(crate) body_delay: Duration,
    /// Whether it is never answered.
    pub(crate) hangs: bool,
    /// How much of the answer is sent.
    pub(crate) extent: Extent,
    /// Whether the connection is closed instead if it has served a request before.
    pub(crate) cut_where_kept: bool,
    /// Whether the server never executes it.
    pub(crate) unheard: bool,
    /// How much later the server executes it.
    pub(crate) late: Option<Duration>,
    /// What others do before.
    pub(crate) before: Vec<fn(&mut Cluster)>,
    changes: Vec<Fault>,
}

impl Effects {
    /// Applies the rules to a request, which they count.
    pub(crate) fn of(rules: &[Rule], request: &Request) -> Self {
        let mut effects = Self::default();
        // Every rule must count, so none may be skipped.
        for rule in rules.iter().filter(|rule| rule.applies(request)) {
            match &rule.fault {
                Fault::DelayAnswer(time) => effects.answer_delay += *time,
                Fault::DelayBody(time) => effects.body_delay += *time,
                Fault::Hang => effects.hangs = true,
                Fault::CutBeforeHead => effects.extent = Extent::Nothing,
                Fault::CutAfterHead => effects.extent = Extent::Head,
                Fault::CutInBody => effects.extent = Extent::HalfTheBody,
                Fault::CutWhereKept => effects.cut_where_kept = true,
                Fault::Unheard => effects.unheard = true,
                Fault::Late(time) => (effects.unheard, effects.late) = (true, Some(*time)),
                Fault::Before(change) => effects.before.push(*change),
                change => effects.changes.push(change.clone()),
            }
        }
        effects
    }

    /// Returns the answer as changed by the faults.
    pub(crate) fn change(&self, request: &Request, answer: Answer) -> Answer {
        let changes = self.changes.iter();
        changes.fold(answer, |answer, fault| changed(fault, request, answer))
    }
}

fn changed(fault: &Fault, request: &Request, mut answer: Answer) -> Answer {
    let retry = |answer: Answer, seconds: &Option<u32>| match seconds {
        Some(seconds) => answer.with("Retry-After", seconds.to_string()),
        None => answer,
    };
    match fault {
        Fault::TooManyRequests(after) => {
            let text = "Too many requests, please try again later.\n";
            let mut refusal = Answer::text(429, text).with("X-Content-Type-Options", "nosniff");
            // It says whose limits were reached.
            let limits = answer.headers.into_iter();
            let limits = limits.filter(|(name, _)| name.starts_with("X-Kubernetes-Pf-"));
            refusal.headers.extend(limits);
            retry(refusal, after)
        }
        Fault::Unavailable(after) => {
            let text = "the server is currently unable to handle the request";
            retry(
                status(503, "ServiceUnavailable", text, Some(json!({}))),
                after,
            )
        }
        Fault::InternalError => {
            let text = "Internal error occurred: etcdserver: leader changed";
            let cause = json!({"causes": [{"message": "etcdserver: leader changed"}]});
            status(500, "InternalError", text, Some(cause))
        }
        Fault::Timeout => {
            let text = "Timeout: request did not complete within requested timeout - context \
                        deadline exceeded";
            status(504, "Timeout", text, Some(json!({})))
        }
        Fault::HtmlBadGateway => {
            let page = "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n\
                        <center><h1>502 Bad Gateway</h1></center>\r\n</body>\r\n</html>\r\n";
            Answer::new(502, "text/html", page)
        }
        Fault::Unauthorized => status(401, "Unauthorized", "Unauthorized", None),
        Fault::Expired => {
            let after = request.parameter("continue").unwrap_or_default();
            expired(after)
        }
        Fault::InvalidJson => {
            answer.body = b"{\"kind\":\"Status\",,}\n".to_vec();
            answer
        }
        Fault::TruncatedJson => {
            answer.body.truncate(answer.body.len() / 2);
            answer
        }
        Fault::WrongKind => {
            let body = r#"{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"odd"}}"#;
            Answer::json(200, body.to_owned())
        }
        Fault::Warning(text) => {
            let text = text.replace('\\', "\\\\").replace('"', "\\\"");
            answer.with("Warning", format!("299 - \"{text}\""))
        }
        Fault::Answer(other) => other.clone(),
        Fault::Computed(compute) => compute(request),
        Fault::DelayAnswer(_)
        | Fault::DelayBody(_)
        | Fault::Hang
        | Fault::CutBeforeHead
        | Fault::CutAfterHead
        | Fault::CutInBody
        | Fault::CutWhereKept
        | Fault::Unheard
        | Fault::Late(_)
        | Fault::Before(_) => answer,
    }
}
