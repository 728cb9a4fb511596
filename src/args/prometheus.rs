//! The flags for the Prometheus from which a load is read. No query is sent here.

use std::fmt;

use clap::Args;
use jiff::{SignedDuration, Timestamp};

use super::file_name;
use crate::apimachinery::names;
use crate::calendar::Calendar;
use crate::error::Error;
use crate::numbers::{duration, parse_duration};

/// A Prometheus, or a server with the same API.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Prometheus")]
pub struct PrometheusArgs {
    /// The Prometheus to ask: its address, or a service of the cluster, which is reached through the API
    /// server with your credentials (for saved objects, only an address)
    #[arg(long, value_name = "URL|NAMESPACE/SERVICE[:PORT][/PATH]")]
    pub prometheus: Option<String>,

    /// PromQL for a metric, instead of its default query if it has one, such as
    /// 'queue_depth=sum(rabbitmq_queue_messages)'. It must return the total, or for a metric of Pods one
    /// series per pod, except for a load. For predict, METRIC may also be replicas or ready; repeatable
    #[arg(long = "query", value_name = "METRIC=PROMQL")]
    pub queries: Vec<String>,

    /// Select only series with matching labels, such as 'cluster="eu"', in a store for several clusters
    #[arg(long = "prometheus-match", value_name = "MATCHER")]
    pub matcher: Option<String>,

    /// Send a header with the content of a file, such as Authorization=@token or X-Scope-OrgID=@tenant; a
    /// token alone is sent as `Bearer TOKEN`; only to an address; repeatable
    #[arg(long = "prometheus-header", value_name = "NAME=@FILE")]
    pub headers: Vec<String>,

    /// Path to a file with the certificate authorities to trust for the address of Prometheus (default: the
    /// system's)
    #[arg(long = "prometheus-ca", value_name = "FILE", value_parser = file_name)]
    pub authority: Option<String>,
}

impl PrometheusArgs {
    /// Checks that a server is named if a flag about it is typed, or one of `more`.
    ///
    /// # Errors
    ///
    /// No server is named.
    pub fn check(&self, more: Vec<(&'static str, String)>) -> Result<(), Error> {
        let mut typed = more.into_iter().chain(self.flags());
        match typed.next().filter(|_| self.prometheus.is_none()) {
            Some((flag, _)) => Err(Error::usage(format!("{flag} requires --prometheus"))
                .hint("--prometheus names the server: an address, or NAMESPACE/SERVICE:PORT")),
            None => Ok(()),
        }
    }

    /// Returns the flags, each with its value.
    pub fn flags(&self) -> Vec<(&'static str, String)> {
        let Self {
            prometheus,
            queries,
            matcher,
            headers,
            authority,
        } = self;
        let all: [(&'static str, &[String]); 5] = [
            ("--prometheus", prometheus.as_slice()),
            ("--query", queries),
            ("--prometheus-match", matcher.as_slice()),
            ("--prometheus-header", headers),
            ("--prometheus-ca", authority.as_slice()),
        ];
        let flags = all
            .into_iter()
            .flat_map(|(flag, values)| values.iter().map(move |value| (flag, value.clone())));
        flags.collect()
    }

    /// Returns the matcher that was typed; empty if none was.
    ///
    /// # Errors
    ///
    /// The text is not `LABEL="VALUE"` with one of the four operators, or several, separated by commas.
    pub fn matching(&self) -> Result<&str, Error> {
        let Some(text) = &self.matcher else {
            return Ok("");
        };
        let wrong = || no_matcher(text);
        let mut rest = text.as_str();
        loop {
            let name = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            let (label, tail) = rest.split_at(name.ok_or_else(wrong)?);
            let is_label = label.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
            let operators = ["=~", "!~", "!=", "="];
            let value = operators
                .iter()
                .find_map(|operator| tail.strip_prefix(operator))
                .and_then(|quoted| quoted.strip_prefix('"'))
                .ok_or_else(wrong)?;
            let mut is_escaped = false;
            let end = value.char_indices().find(|(_, c)| {
                let ends = *c == '"' && !is_escaped;
                is_escaped = *c == '\\' && !is_escaped;
                ends
            });
            let (end, _) = end.filter(|_| is_label).ok_or_else(wrong)?;
            match &value[end + 1..] {
                "" => return Ok(text),
                more => rest = more.strip_prefix(',').ok_or_else(wrong)?,
            }
        }
    }
}

/// The load that a Prometheus recorded.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Load from Prometheus")]
pub struct RecordedArgs {
    /// When the load begins: a time (2026-11-14T06:00:00Z), or how long before its end (36h, 90m); default 7d
    #[arg(long, value_name = "TIME", value_parser = TimeArgument::read, allow_hyphen_values = true)]
    pub since: Option<TimeArgument>,

    /// When the load ends: a time, or how long before now (default: now; with -f, the time of the state)
    #[arg(long, value_name = "TIME", value_parser = TimeArgument::read, allow_hyphen_values = true)]
    pub until: Option<TimeArgument>,

    /// Time between two samples of the load; passes stay a sync period apart, and a sample holds until the
    /// next. CPU usage is the rate between the last two scrapes: a longer step misses peaks in between, and one shorter
    /// than a scrape shows nothing more; default 30s
    #[arg(long, value_name = "DURATION", value_parser = step, allow_hyphen_values = true)]
    pub step: Option<SignedDuration>,
}

impl RecordedArgs {
    /// Returns the flags, each with its value.
    pub fn flags(&self) -> Vec<(&'static str, String)> {
        let since = self.since.map(|time| ("--since", time.to_string()));
        let until = self.until.map(|time| ("--until", time.to_string()));
        let step = self.step.map(|step| ("--step", duration(step)));
        [since, until, step].into_iter().flatten().collect()
    }

    /// Returns the first and the last time of the load for a state read at a given time, and the time between
    /// two samples.
    ///
    /// # Errors
    ///
    /// There can be no samples for such a time.
    pub fn span(&self, now: Timestamp) -> Result<(Timestamp, Timestamp, SignedDuration), Error> {
        const WEEK: TimeArgument = TimeArgument::Before(SignedDuration::from_hours(7 * 24));
        const STEP: SignedDuration = SignedDuration::from_secs(30);
        let until = self.until.map_or(Ok(now), |until| until.before(now))?;
        let since = self.since.unwrap_or(WEEK).before(until)?;
        Ok((since, until, self.step.unwrap_or(STEP)))
    }
}

/// A time, or a duration before another time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeArgument {
    /// The time.
    At(Timestamp),
    /// A duration before another time.
    Before(SignedDuration),
}

impl fmt::Display for TimeArgument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::At(time) => time.fmt(f),
            Self::Before(before) => f.write_str(&duration(*before)),
        }
    }
}

impl TimeArgument {
    pub(super) fn read(text: &str) -> Result<Self, String> {
        if let Ok(time) = text.parse() {
            return Ok(Self::At(time));
        }
        // A time in the notation of Prometheus itself.
        let second = text
            .parse::<i64>()
            .ok()
            .filter(|second| *second >= 1_000_000_000);
        if let Some(time) = second.and_then(|second| Timestamp::from_second(second).ok()) {
            return Ok(Self::At(time));
        }
        parse_duration(text).map(Self::Before).map_err(|_| {
            // Other notations: -1h, now-1h, "1h ago".
            let unsigned = text
                .strip_prefix("now")
                .unwrap_or(text)
                .trim_start()
                .trim_start_matches('-');
            let bare = unsigned.strip_suffix("ago").unwrap_or(unsigned).trim();
            match parse_duration(bare) {
                Ok(_) => format!("state how long before without a sign: {bare}"),
                Err(_) => {
                    "neither a time with its zone, such as 2026-11-14T06:00:00Z, nor how long \
                           before, such as 90m or 7d"
                        .to_owned()
                }
            }
        })
    }

    /// Returns the time; a duration counts back from `time`.
    ///
    /// # Errors
    ///
    /// The time is before 1970, when the times of samples begin.
    pub fn before(self, time: Timestamp) -> Result<Timestamp, Error> {
        let moment = match self {
            Self::At(moment) => moment,
            Self::Before(duration) => time.minus(duration),
        };
        if moment < Timestamp::UNIX_EPOCH {
            let year = moment.strftime("%Y");
            return Err(
                Error::usage(format!("there are no samples of the year {year}")).hint(
                    "state a time such as 2026-11-14T06:00:00Z, or how long before, such as 7d",
                ),
            );
        }
        Ok(moment)
    }
}

/// Reads the time between samples.
fn step(text: &str) -> Result<SignedDuration, String> {
    let step = parse_duration(text).map_err(|e| e.to_string())?;
    match step {
        step if step.subsec_nanos() != 0 => Err("not a whole number of seconds".to_owned()),
        step if step.as_secs() < 1 => Err("must be at least 1s".to_owned()),
        step => Ok(step),
    }
}

/// The location of a Prometheus server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PrometheusServer {
    /// At an address.
    Url(String),
    /// Behind a service of the cluster.
    Service {
        /// The namespace.
        namespace: String,
        /// The service in the notation of the API server's proxy: `[SCHEME:]NAME[:PORT]`.
        service: String,
        /// The start of the paths behind it, with a slash; empty for none.
        path: String,
    },
}

impl PrometheusServer {
    /// Reads the text that was typed. Errors do not repeat parts that may contain credentials.
    ///
    /// # Errors
    ///
    /// The text is neither an address nor a service.
    pub fn read(text: &str) -> Result<Self, Error> {
        const FORMS: &str = "such as https://prometheus.example.com or monitoring/prometheus:9090";
        if let Some((scheme, rest)) = text.split_once("://") {
            let host = rest.split('/').next().unwrap_or_default();
            if host.contains('@') {
                return Err(
                    Error::usage("--prometheus: the address must not hold credentials")
                        .hint("--prometheus-header Authorization=@FILE sends those of a file"),
                );
            }
            if host.is_empty() || host.starts_with(':') {
                return Err(Error::usage("--prometheus: the address has no host").hint(FORMS));
            }
            if rest.contains(['?', '#', '@', ' ']) {
                return Err(Error::usage(
                    "--prometheus: the address must not contain ?, #, @ or spaces",
                )
                .hint(FORMS));
            }
            return match scheme {
                "http" | "https" => Ok(Self::Url(text.to_owned())),
                _ => Err(Error::usage(format!(
                    "--prometheus: the scheme must be http or https, not {scheme}"
                ))),
            };
        }
        if text.contains(['@', '?', '#']) {
            return Err(
                Error::usage("--prometheus: neither an address nor NAMESPACE/SERVICE").hint(FORMS),
            );
        }
        let wrong = |why: String| Error::usage(format!("--prometheus {text}: {why}")).hint(FORMS);
        let Some((namespace, service)) = text.split_once('/') else {
            return Err(wrong("neither an address nor NAMESPACE/SERVICE".to_owned()));
        };
        let (service, path) = match service.find('/') {
            Some(end) => (&service[..end], service[end..].trim_end_matches('/')),
            None => (service, ""),
        };
        if !path.split('/').skip(1).all(is_segment) {
            return Err(wrong(
                "each segment of the path must have only letters, digits, -, ., _ and ~, and not be empty, . or ..".to_owned(),
            ));
        }
        let parts: Vec<&str> = service.split(':').collect();
        let (scheme, name, port) = match parts[..] {
            [name] => ("", name, None),
            [name, port] => ("", name, Some(port)),
            [scheme @ ("http" | "https"), name, port] => (scheme, name, Some(port)),
            _ => {
                return Err(wrong(
                    "not of the form NAMESPACE/SERVICE[:PORT][/PATH]".to_owned(),
                ));
            }
        };
        for (what, name) in [("namespace", namespace), ("service", name)] {
            if let [cause, ..] = &*names::dns_label(name) {
                return Err(wrong(format!("invalid {what} {name:?}: {cause}")));
            }
        }
        // Only with a scheme, the port may be omitted after its colon.
        let is_left_out = |port: &str| port.is_empty() && !scheme.is_empty();
        if let Some(port) = port.filter(|port| !is_port(port) && !is_left_out(port)) {
            return Err(wrong(format!(
                "the port {port:?} is neither a number up to 65535 nor a name"
            )));
        }
        let [namespace, service, path] = [namespace, service, path].map(str::to_owned);
        Ok(Self::Service {
            namespace,
            service,
            path,
        })
    }
}

fn no_matcher(text: &str) -> Error {
    Error::usage(format!(
        "--prometheus-match {text}: not of the form LABEL=\"VALUE\""
    ))
    .hint("such as 'cluster=\"eu\"' or 'cluster=~\"eu-.*\",env=\"prod\"'")
}

/// Whether a text can be used unchanged between two slashes of a path.
fn is_segment(text: &str) -> bool {
    let is_plain = |c: u8| c.is_ascii_alphanumeric() || b"-._~".contains(&c);
    !text.is_empty() && text != "." && text != ".." && text.bytes().all(is_plain)
}

/// Whether a port is a number or a name.
fn is_port(text: &str) -> bool {
    let is_number = text.bytes().all(|c| c.is_ascii_digit());
    let is_name =
        text.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'-') && !text.starts_with('-');
    !text.is_empty() && is_name && (!is_number || text.parse::<u16>().is_ok())
}

#[cfg(test)]
mod tests {
    use jiff::{SignedDuration, Timestamp};

    use super::{PrometheusArgs, PrometheusServer, TimeArgument, step};

    #[test]
    fn moments() {
        let now: Timestamp = "2026-11-21T06:00:00Z".parse().unwrap();
        for (text, want) in [
            ("7d", Some("2026-11-14T06:00:00Z")),
            ("1d12h", Some("2026-11-19T18:00:00Z")),
            ("90m", Some("2026-11-21T04:30:00Z")),
            ("60", Some("2026-11-21T05:59:00Z")),
            ("2026-11-01T00:00:00Z", Some("2026-11-01T00:00:00Z")),
            ("1794907200", Some("2026-11-17T09:20:00Z")),
            ("2026-11-17T09:00", None),
            ("", None),
            ("d", None),
            ("-7d", None),
            ("7w", None),
            ("yesterday", None),
            ("1000000000000000d", None),
            ("99999d", None),
            ("1969-12-31T23:59:59Z", None),
        ] {
            let got = TimeArgument::read(text)
                .ok()
                .and_then(|moment| moment.before(now).ok());
            let got = got.map(|time| time.to_string());
            assert_eq!(got.as_deref(), want, "{text}");
        }
        assert_eq!(step("30"), Ok(SignedDuration::from_secs(30)));
        assert!(step("1.5s").is_err() && step("soon").is_err());
        assert_eq!(step("0s").unwrap_err(), "must be at least 1s");
        assert_eq!(step("1.5s").unwrap_err(), "not a whole number of seconds");
    }

    #[test]
    fn a_past_time_that_is_written_otherwise_is_told_how_to_type_it() {
        for (text, want) in [
            ("-1h", "without a sign: 1h"),
            ("now-1h", "without a sign: 1h"),
            ("now - 90m", "without a sign: 90m"),
            ("2d ago", "without a sign: 2d"),
            ("now", "how long before, such as 90m"),
            ("2026-11-20 12:00", "with its zone"),
        ] {
            let why = TimeArgument::read(text).unwrap_err();
            assert!(why.contains(want), "{text}: {why}");
        }
    }

    #[test]
    fn matchers() {
        let of = |text: &str| PrometheusArgs {
            prometheus: None,
            queries: Vec::new(),
            matcher: Some(text.to_owned()),
            headers: Vec::new(),
            authority: None,
        };
        for text in [r#"cluster="eu""#, r#"a=~"x.*",_b!="y\"",c!~"z""#] {
            assert_eq!(of(text).matching(), Ok(text), "{text}");
        }
        for text in [
            "",
            "eu",
            "cluster=eu",
            r#"cluster="eu"} or vector(1) #"#,
            r#"a="b","#,
            r#"1a="b""#,
            r#"a="b\""#,
        ] {
            assert!(of(text).matching().is_err(), "{text}");
        }
    }

    #[test]
    fn servers() {
        let service = |namespace: &str, service: &str| PrometheusServer::Service {
            namespace: namespace.to_owned(),
            service: service.to_owned(),
            path: String::new(),
        };
        for (text, want) in [
            (
                "https://prom.example.com/base",
                PrometheusServer::Url("https://prom.example.com/base".to_owned()),
            ),
            ("monitoring/prometheus", service("monitoring", "prometheus")),
            (
                "monitoring/prometheus:9090",
                service("monitoring", "prometheus:9090"),
            ),
            (
                "monitoring/prometheus:web",
                service("monitoring", "prometheus:web"),
            ),
            (
                "monitoring/https:thanos:9091",
                service("monitoring", "https:thanos:9091"),
            ),
            (
                "monitoring/https:thanos:",
                service("monitoring", "https:thanos:"),
            ),
            (
                "monitoring/mimir:80/prometheus/",
                PrometheusServer::Service {
                    namespace: "monitoring".to_owned(),
                    service: "mimir:80".to_owned(),
                    path: "/prometheus".to_owned(),
                },
            ),
        ] {
            assert_eq!(PrometheusServer::read(text), Ok(want), "{text}");
        }
        for text in [
            "prometheus",
            "",
            "/",
            "monitoring/",
            "monitoring/prometheus:",
            "monitoring/ftp:prometheus:9090",
            "monitoring/../x",
            "Monitoring/prometheus",
            "ftp://prom",
            "https://prom?token=s3cr3t",
            "https://user:s3cr3t@prom",
            "https://s3cr3t@prom/x",
            "admin:s3cr3t@prom.example.com/prom",
            "https:/admin:s3cr3t@prom/x",
            "prom.example.com/x?token=s3cr3t",
            "http://",
            "https:///x",
            "http://h/a b",
            "monitoring/prometheus/a/../b",
            "monitoring/prometheus//b",
        ] {
            let e = PrometheusServer::read(text).unwrap_err();
            assert!(!format!("{e:?}").contains("s3cr3t"), "{e:?}");
        }
    }
}
