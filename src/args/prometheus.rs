//! Where a load is to be read from: the flags about Prometheus. Nothing is asked here.

use clap::Args;
use jiff::{SignedDuration, Timestamp};

use crate::apimachinery::names;
use crate::error::Error;
use crate::numbers::parse_duration;

/// A Prometheus, or a server with the same API.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Prometheus")]
pub struct PrometheusArgs {
    /// The Prometheus to ask: its address, or a service of the cluster, which is reached through the API
    /// server with your credentials (with -f, only an address)
    #[arg(long, value_name = "URL|NAMESPACE/SERVICE[:PORT]")]
    pub prometheus: Option<String>,

    /// PromQL with the total of a metric (for explain and a metric of Pods: by pod), which replaces the
    /// default query or is needed where there is none, such as 'queue_depth=sum(rabbitmq_queue_messages)';
    /// for predict, METRIC may also be replicas or ready; repeatable
    #[arg(long = "query", value_name = "METRIC=PROMQL", requires = "prometheus")]
    pub queries: Vec<String>,

    /// Send a header with the content of a file, such as Authorization=@token or X-Scope-OrgID=@tenant; a
    /// token alone is sent as `Bearer TOKEN`; only to an address; repeatable
    #[arg(long = "prometheus-header", value_name = "NAME=@FILE", requires = "prometheus")]
    pub headers: Vec<String>,

    /// Path to a file with the certificate authorities to trust for the address of Prometheus (default: the
    /// system's)
    #[arg(long = "prometheus-ca", value_name = "FILE", requires = "prometheus")]
    pub authority: Option<String>,
}

/// The load that a Prometheus recorded.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Load from Prometheus")]
pub struct RecordedArgs {
    /// When the load begins: a time (2026-11-14T06:00:00Z), or how long before now (7d, 36h, 90m)
    #[arg(long, value_name = "TIME", value_parser = Moment::read, default_value = "7d")]
    #[arg(requires = "prometheus")]
    pub since: Moment,

    /// When the load ends, in the same forms (default: now; with -f, the time of the state)
    #[arg(long, value_name = "TIME", value_parser = Moment::read, requires = "prometheus")]
    pub until: Option<Moment>,

    /// Time between two samples, at least as long as between two scrapes
    #[arg(long, value_name = "DURATION", value_parser = step, default_value = "30s")]
    #[arg(requires = "prometheus")]
    pub step: SignedDuration,
}

/// A time, or how long it is before another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// The time.
    At(Timestamp),
    /// So long before.
    Before(SignedDuration),
}

impl Moment {
    pub(super) fn read(text: &str) -> Result<Self, String> {
        if let Ok(time) = text.parse() {
            return Ok(Self::At(time));
        }
        parse_duration(text).map(Self::Before).map_err(|_| {
            "neither a time such as 2026-11-14T06:00:00Z nor a duration such as 7d or 36h"
                .to_owned()
        })
    }

    /// The time, where it may be one before another.
    pub fn before(self, time: Timestamp) -> Timestamp {
        match self {
            Self::At(own) => own,
            Self::Before(duration) => time.checked_sub(duration).unwrap_or(Timestamp::MIN),
        }
    }
}

/// A time between samples.
fn step(text: &str) -> Result<SignedDuration, String> {
    let step = parse_duration(text).map_err(|e| e.to_string())?;
    let is_whole = step.subsec_nanos() == 0 && step.as_secs() >= 1;
    if is_whole { Ok(step) } else { Err("not a whole number of seconds".to_owned()) }
}

/// Where a Prometheus is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PrometheusServer {
    /// At an address.
    Url(String),
    /// Behind a service of the cluster.
    Service {
        /// The namespace.
        namespace: String,
        /// The service as the API server's proxy takes it: `[SCHEME:]NAME[:PORT]`.
        service: String,
    },
}

impl PrometheusServer {
    /// Reads what was typed. What may hold credentials is not repeated.
    ///
    /// # Errors
    ///
    /// It is neither an address nor a service.
    pub fn read(text: &str) -> Result<Self, Error> {
        const FORMS: &str = "such as https://prometheus.example.com or monitoring/prometheus:9090";
        if let Some((scheme, rest)) = text.split_once("://") {
            if rest.split('/').next().unwrap_or_default().contains('@') {
                return Err(Error::usage("--prometheus: the address must not hold credentials")
                    .hint("--prometheus-header Authorization=@FILE sends those of a file"));
            }
            if rest.contains(['?', '#', '@']) {
                return Err(Error::usage("--prometheus: an address without a query is expected")
                    .hint(FORMS));
            }
            return match scheme {
                "http" | "https" => Ok(Self::Url(text.to_owned())),
                _ => Err(Error::usage(format!(
                    "--prometheus: {scheme} is not a scheme that is asked, only http and https"
                ))),
            };
        }
        let wrong = |why: String| Error::usage(format!("--prometheus {text}: {why}")).hint(FORMS);
        let Some((namespace, service)) = text.split_once('/') else {
            return Err(wrong("neither an address nor NAMESPACE/SERVICE".to_owned()));
        };
        let parts: Vec<&str> = service.split(':').collect();
        let (scheme, name, port) = match parts[..] {
            [name] => ("", name, None),
            [name, port] => ("", name, Some(port)),
            [scheme @ ("http" | "https"), name, port] => (scheme, name, Some(port)),
            _ => return Err(wrong("not of the form NAMESPACE/SERVICE[:PORT]".to_owned())),
        };
        for (what, name) in [("namespace", namespace), ("service", name)] {
            if let [cause, ..] = &*names::dns_label(name) {
                return Err(wrong(format!("invalid {what} {name:?}: {cause}")));
            }
        }
        let is_port = |port: &str| {
            !port.is_empty() && port.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'-')
        };
        // Only with a scheme a port may be left out after its colon.
        let is_left_out = |port: &str| port.is_empty() && !scheme.is_empty();
        if port.is_some_and(|port| !is_port(port) && !is_left_out(port)) {
            return Err(wrong("the port is neither a number nor a name".to_owned()));
        }
        Ok(Self::Service { namespace: namespace.to_owned(), service: service.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use jiff::{SignedDuration, Timestamp};

    use super::{Moment, PrometheusServer, step};

    #[test]
    fn moments() {
        let now: Timestamp = "2026-11-21T06:00:00Z".parse().unwrap();
        for (text, want) in [
            ("7d", Some("2026-11-14T06:00:00Z")),
            ("1d12h", Some("2026-11-19T18:00:00Z")),
            ("90m", Some("2026-11-21T04:30:00Z")),
            ("60", Some("2026-11-21T05:59:00Z")),
            ("2026-11-01T00:00:00Z", Some("2026-11-01T00:00:00Z")),
            ("", None),
            ("d", None),
            ("-7d", None),
            ("7w", None),
            ("yesterday", None),
            ("1000000000000000d", None),
        ] {
            let got = Moment::read(text).ok().map(|moment| moment.before(now).to_string());
            assert_eq!(got.as_deref(), want, "{text}");
        }
        assert_eq!(step("30"), Ok(SignedDuration::from_secs(30)));
        assert!(step("0s").is_err() && step("1.5s").is_err() && step("soon").is_err());
    }

    #[test]
    fn servers() {
        let service = |namespace: &str, service: &str| PrometheusServer::Service {
            namespace: namespace.to_owned(),
            service: service.to_owned(),
        };
        for (text, want) in [
            (
                "https://prom.example.com/base",
                PrometheusServer::Url("https://prom.example.com/base".to_owned()),
            ),
            ("monitoring/prometheus", service("monitoring", "prometheus")),
            ("monitoring/prometheus:9090", service("monitoring", "prometheus:9090")),
            ("monitoring/prometheus:web", service("monitoring", "prometheus:web")),
            ("monitoring/https:thanos:9091", service("monitoring", "https:thanos:9091")),
            ("monitoring/https:thanos:", service("monitoring", "https:thanos:")),
        ] {
            assert_eq!(PrometheusServer::read(text), Ok(want), "{text}");
        }
        for text in [
            "prometheus",
            "",
            "/",
            "monitoring/",
            "monitoring/prometheus:",
            "monitoring/prometheus:90/90",
            "monitoring/ftp:prometheus:9090",
            "monitoring/../x",
            "Monitoring/prometheus",
            "ftp://prom",
            "https://prom?token=s3cr3t",
            "https://user:s3cr3t@prom",
            "https://s3cr3t@prom/x",
        ] {
            let e = PrometheusServer::read(text).unwrap_err();
            assert!(!format!("{e:?}").contains("s3cr3t"), "{e:?}");
        }
    }
}
