//! Words what an answer is based on.

use jiff::SignedDuration;
use serde::Serialize;

use crate::apimachinery::json::SecondsTime;
use crate::apimachinery::names::shell_word;
use crate::apimachinery::quantity::Quantity;
use crate::memory::ground::{
    Contradiction, CountedRescales, Ground, Running, StatusSilent, UnknownRescales,
};
use crate::memory::sighting::Sighting;
use crate::numbers::{self, age, format_of};
use crate::snapshot::basis::{Basis, ClockSource, SettingSource};
use crate::snapshot::control_plane::manager;
use crate::snapshot::control_plane::{MANAGER_LABEL, ManagerFact, Unshown};
use crate::snapshot::evidence::{LEASE_NAMESPACE, SCALED};
use crate::snapshot::hpa::HpaSpec;
use crate::snapshot::memory::ScaleEvent;
use crate::snapshot::past::{Past, PastField, PastPart};
use crate::snapshot::right::UnknownFactCause;
use crate::snapshot::surroundings::{SupposedPods, SupposedTemplate};
use crate::words::{self, duration};

/// One item that the answer is based on.
#[derive(Debug, Serialize)]
pub struct BasisView {
    /// What it is about.
    pub item: &'static str,
    /// The value used.
    pub value: String,
    /// Where it comes from.
    pub source: String,
    /// Its age: a field of the published JSON, which is always null.
    age: Option<i64>,
}

impl BasisView {
    fn new(item: &'static str, value: impl Into<String>, source: impl Into<String>) -> Self {
        Self {
            item,
            value: value.into(),
            source: source.into(),
            age: None,
        }
    }
}

impl From<&Basis> for BasisView {
    fn from(basis: &Basis) -> Self {
        match basis {
            Basis::Clock { time, source } => {
                let source = match source {
                    ClockSource::System => "the system clock; use --now to set it",
                    ClockSource::Server => "the API server's",
                    ClockSource::Local => "the local clock, because the API server sent no time",
                };
                Self::new("clock", SecondsTime(*time).to_string(), source)
            }
            Basis::Flags {
                settings,
                source: from,
            } => Self::new("controller flags", settings.join(", "), source(from)),
            Basis::Gates {
                settings,
                source: from,
            } => Self::new("feature gates", settings.join(", "), source(from)),
            Basis::ManagerUnread(unread) => {
                let what = unread.iter().map(|(fact, _)| match fact {
                    ManagerFact::Flags => "flags",
                    ManagerFact::Start => "start",
                });
                let value = format!("{} unknown", Vec::from_iter(what).join(" and "));
                let why = unread.iter().map(|(_, why)| unshown(why));
                Self::new("controller manager", value, Vec::from_iter(why).join("; "))
            }
            Basis::Version(version) => {
                let unstated = version
                    .stated()
                    .is_none()
                    .then_some("the newest confirmed rules");
                let sources = unstated.into_iter().chain(version.caveat());
                Self::new(
                    "version",
                    version.to_string(),
                    Vec::from_iter(sources).join("; "),
                )
            }
            Basis::Target {
                kind,
                replicas,
                right,
            } => Self::new(
                "scale",
                replicas.map_or("none".to_owned(), |replicas| format!("{replicas} replicas")),
                format!(
                    "the {kind} itself, because its scale may not be read; {}",
                    right.advice()
                ),
            ),
            Basis::SupposedPods(SupposedPods {
                count, template, ..
            }) => {
                let made = match template {
                    SupposedTemplate::OfTarget => {
                        ", as the template of the target makes them".to_owned()
                    }
                    template => made_by(template),
                };
                let pods = match count {
                    0 => "none".to_owned(),
                    count => format!("{count}, ready and alike{made}"),
                };
                Self::new("pods", pods, "the input has no pods of the target")
            }
            Basis::StatusReplicas { kind, replicas } => Self::new(
                "status.replicas",
                replicas.to_string(),
                format!("spec.replicas, because the {kind} has no status"),
            ),
        }
    }
}

/// Words what makes assumed pods, as the end of a clause; empty for the target in the input.
fn made_by(template: &SupposedTemplate) -> String {
    match template {
        SupposedTemplate::OfTarget => String::new(),
        SupposedTemplate::OfCandidate { workload, origin } => {
            format!(", as {workload} in {origin} makes them")
        }
        SupposedTemplate::Unknown { requests, .. } if requests.0.is_empty() => String::new(),
        SupposedTemplate::Unknown {
            containers,
            requests,
        } => {
            let amounts = requests.0.iter().map(|(resource, amount)| {
                let amount = Quantity::from_milli(amount.milli_value(), format_of(resource));
                format!("{} of {resource}", numbers::quantity(&amount))
            });
            let amounts = words::list(&Vec::from_iter(amounts));
            match &containers[..] {
                [] => format!(", requesting {amounts} each"),
                [one] => format!(", with no container but {one}, which requests {amounts}"),
                several => {
                    let several: Vec<String> = several.iter().map(ToString::to_string).collect();
                    let several = words::list(&several);
                    format!(", with no containers but {several}, each of which requests {amounts}")
                }
            }
        }
    }
}

/// Words what is assumed, as the end of a sentence; `None` for a default, and for what was read.
pub(super) fn brief(basis: &Basis) -> Option<String> {
    match basis {
        Basis::Clock {
            source: ClockSource::System,
            ..
        } => Some("the time of the system clock".to_owned()),
        Basis::Clock { .. }
        | Basis::Flags { .. }
        | Basis::Gates { .. }
        | Basis::ManagerUnread(_) => None,
        Basis::Version(version) => Some(format!("the rules of {version}")),
        Basis::Target { kind, .. } => Some(format!("the scale that the {kind} states")),
        Basis::SupposedPods(SupposedPods {
            count, template, ..
        }) => {
            let made = made_by(template);
            Some(match count {
                0 => "no pods".to_owned(),
                1 => format!("1 ready pod{made}"),
                count => format!("{count} pods, ready and alike{made}"),
            })
        }
        Basis::StatusReplicas { replicas, .. } => Some(format!("{replicas} for status.replicas")),
    }
}

/// Words what a past pass is based on besides the history.
pub(super) fn of_past(past: &Past) -> Vec<BasisView> {
    let Past {
        source,
        read,
        scrape,
        lacks,
        kept,
        ..
    } = past;
    let read = format!("as read at {}", SecondsTime(*read));
    let lacks = |part| lacks.contains(&part);
    let mut views = vec![BasisView::new(
        "history",
        "samples of the pods and the HPA",
        source,
    )];
    let mut add = |item, value: &str, source: &str| views.push(BasisView::new(item, value, source));
    let recorded = [
        (PastPart::Limits, "minReplicas and maxReplicas"),
        (PastPart::Targets, "the targets"),
    ];
    let recorded = recorded
        .into_iter()
        .filter(|(part, _)| !lacks(*part))
        .map(|(_, name)| name);
    let recorded: Vec<&str> = recorded.collect();
    let spec = if recorded.is_empty() {
        "all of it".to_owned()
    } else {
        format!("all but {}", recorded.join(", and "))
    };
    add("spec", &spec, &read);
    if !kept.is_empty() {
        add("targets", &format!("of {}", kept.join(", ")), &read);
    }
    add(
        "controller",
        "did not restart in its history",
        "the history does not say",
    );
    add(
        "passes",
        "at this time, and a sync period apart before it",
        "the history does not say when they were",
    );
    let scraped = scrape.map_or_else(
        || "no scrapes".to_owned(),
        |seconds| {
            format!(
                "scrapes every {}",
                duration(SignedDuration::from_secs(seconds))
            )
        },
    );
    add(
        "usage",
        "rates between two scrapes, of the last 45s",
        &format!("{scraped}; the metrics API's own samples are not recorded"),
    );
    for (part, item, value, source) in [
        (
            PastPart::Replicas,
            "replicas",
            "the number of active pods",
            "not recorded",
        ),
        (PastPart::Phases, "phases", "Running", "not recorded"),
        (
            PastPart::Readiness,
            "readiness",
            "ready since they were started",
            "not recorded",
        ),
        (
            PastPart::StartTimes,
            "start times",
            "when pods were created",
            "not recorded",
        ),
        (
            PastPart::ReadyTimes,
            "ready since",
            "the start, or the scrape that saw it",
            "not recorded",
        ),
        (
            PastPart::Requests,
            "requests",
            "those of the template",
            &read,
        ),
        (PastPart::Cpu, "usage of cpu", "unknown", "not recorded"),
        (
            PastPart::Memory,
            "usage of memory",
            "unknown",
            "not recorded",
        ),
    ] {
        if lacks(part) {
            add(item, value, source);
        }
    }
    views
}

/// Words what is to be known of a past pass.
pub(super) fn notes_of_past(past: &Past, spec: &HpaSpec) -> Vec<String> {
    let Past {
        warnings,
        changed,
        lacks,
        kept,
        queries,
        ..
    } = past;
    let changed = changed.iter().map(|PastField { field, then, now }| {
        format!("{field} of the HPA was {then}, and is {now} since")
    });
    let mut notes: Vec<String> = changed.collect();
    if !lacks.is_empty() || !kept.is_empty() {
        let text =
            "the history lacks parts of this pass: ASSUMED, with -o wide, has what is used instead";
        notes.push(text.to_owned());
    }
    let metrics = spec.metrics.iter().filter(|metric| !metric.is_resource());
    let metrics = metrics.map(|metric| metric.flag_name(&spec.metrics));
    notes.extend(
        metrics
            .filter(|name| queries.iter().all(|own| own.of != *name))
            .map(|name| {
                let query = shell_word(&format!("{name}=PROMQL"));
                format!("no query was stated for {name}: --query {query} gives its values")
            }),
    );
    notes.extend(warnings.iter().map(ToString::to_string));
    notes
}

impl From<&Ground> for BasisView {
    fn from(ground: &Ground) -> Self {
        match ground {
            Ground::NeverReconciled => {
                Self::new("history", "empty: no pass over this HPA yet", "its status")
            }
            Ground::LeaderLost { renewed } => Self::new(
                "history",
                format!(
                    "empty: the leader last renewed its lease at {}",
                    SecondsTime(*renewed)
                ),
                "the controller manager's lease, and no status or event since",
            ),
            Ground::StatusSilent(why) => {
                let source = match why {
                    StatusSilent::LaterLost => {
                        "event FailedUpdateStatus: a later one could not be written"
                    }
                    StatusSilent::WrittenByUs => {
                        "kubectl-hpa wrote it, possibly without a pass since"
                    }
                    StatusSilent::Replaced => "no pass since the HPA was replaced",
                    StatusSilent::SpecChanged => "the spec was changed after it was written",
                };
                Self::new(
                    "recommendations",
                    "the status says nothing about them",
                    source,
                )
            }
            Ground::LastStatus {
                sighting,
                age: written,
            } => {
                let mut source = format!("condition {}, ", sighting.reason);
                source += &match written {
                    Some(written) => format!("status written {} ago", age(*written)),
                    None => "time unknown".to_owned(),
                };
                if let Some(counted) = sighting.counted {
                    source += &format!("; status.currentMetrics, averages over {counted} replicas");
                }
                Self::new("recommendations", sighted(sighting), source)
            }
            Ground::EarlierStatuses { count, first, last } => {
                let (from, to) = (SecondsTime(*first), SecondsTime(*last));
                let when = if first == last {
                    format!("at {from}")
                } else {
                    format!("between {from} and {to}")
                };
                let value = format!("{count} more, {when}");
                Self::new("recommendations", value, "earlier states of the HPA")
            }
            Ground::Rescale { at_least, time } => Self::new(
                "recommendations",
                format!("at least {at_least} at {}", SecondsTime(*time)),
                BY_EVENTS,
            ),
            Ground::Played { count, first, last } => Self::new(
                "recommendations",
                format!(
                    "{} by passes from {} to {}",
                    words::count(*count, "recommendation"),
                    SecondsTime(*first),
                    SecondsTime(*last)
                ),
                "the samples around each",
            ),
            Ground::Recorded {
                first,
                last,
                source,
            } => Self::new(
                "recommendations",
                format!(
                    "narrower bounds, by passes from {} to {}",
                    SecondsTime(*first),
                    SecondsTime(*last)
                ),
                source,
            ),
            Ground::Contradicted(contradiction) => {
                let value = match contradiction {
                    Contradiction::Replicas => "the recorded replicas are not those of the target",
                    Contradiction::Recommendations => {
                        "the recorded metrics lead to other recommendations than the status shows"
                    }
                };
                Self::new("history", "not that of Prometheus", value)
            }
            Ground::RateLimits(counted) => {
                let (value, source) = rate_limits(counted);
                Self::new("scale events", value, source)
            }
            Ground::Controller(running) => {
                let (value, source) = match running {
                    Running::Leads(since) => (
                        format!(
                            "leader since {}, with no older history",
                            SecondsTime(*since)
                        ),
                        "the controller manager's lease",
                    ),
                    Running::Since(since) => (
                        format!("has not restarted since {}", SecondsTime(*since)),
                        "consecutive statuses; no current controller manager \
                         lease",
                    ),
                    Running::Unknown => (
                        "may have restarted at any time".to_owned(),
                        "no current controller manager lease",
                    ),
                };
                Self::new("controller", value, source)
            }
        }
    }
}

const BY_EVENTS: &str = "SuccessfulRescale events, assuming nothing else scaled";

fn source(of: &SettingSource) -> String {
    match of {
        SettingSource::Pod(pod) => manager(pod),
        SettingSource::PodDefaults(pod) => {
            format!("the defaults; {} sets none of these", manager(pod))
        }
        SettingSource::Defaults => "the defaults".to_owned(),
    }
}

fn unshown(why: &Unshown) -> String {
    match why {
        // With -v, the advice is printed.
        Unshown::Cause(UnknownFactCause::MissingRight(right)) => right.to_string(),
        Unshown::Cause(cause) => cause.to_string(),
        Unshown::NoPod => {
            let (label, value) = MANAGER_LABEL;
            format!("no pod in {LEASE_NAMESPACE} with {label}={value} shows them")
        }
        Unshown::PodsDiffer(pods) => {
            format!("{} differ, and the leader is unknown", pods.join(", "))
        }
    }
}

/// Words what the rate limits count, and how that is known.
fn rate_limits(counted: &CountedRescales) -> (String, String) {
    let changes = |changes: &[ScaleEvent]| {
        let change = |it: &ScaleEvent| format!("{:+} at {}", it.replicas, SecondsTime(it.time));
        format!(
            "rate limits count {}",
            Vec::from_iter(changes.iter().map(change)).join(", ")
        )
    };
    match counted {
        CountedRescales::NoBehavior => (
            "rate limits count no rescale: without behavior, none is remembered".to_owned(),
            "the observed spec".to_owned(),
        ),
        CountedRescales::NoRescale => (
            "no rescale to count".to_owned(),
            "status.lastScaleTime is not set".to_owned(),
        ),
        CountedRescales::Expired(ago) => (
            "no rescale within the periods of the policies".to_owned(),
            format!("status.lastScaleTime, {} ago", age(*ago)),
        ),
        CountedRescales::Seen(seen) => (changes(seen), "earlier states of the HPA".to_owned()),
        CountedRescales::ByEvents(told) => (changes(told), BY_EVENTS.to_owned()),
        CountedRescales::Recorded(seen) if seen.is_empty() => (
            "no rescale to count".to_owned(),
            "the recorded replicas".to_owned(),
        ),
        CountedRescales::Recorded(seen) => (changes(seen), "the recorded replicas".to_owned()),
        CountedRescales::Any(why) => {
            let source = match why {
                UnknownRescales::StatusLost => "a status that could not be written".to_owned(),
                UnknownRescales::EarlierHpa => "events about an earlier HPA of the name".to_owned(),
                UnknownRescales::EventsIncomplete => "the events are incomplete".to_owned(),
                UnknownRescales::ReplicasNotRecorded => "the replicas were not recorded".to_owned(),
                UnknownRescales::OtherChange { message } => {
                    format!("a {SCALED} event of the target shows another change: {message}")
                }
            };
            ("rate limits may count any rescale".to_owned(), source)
        }
    }
}

/// Words what a status says about the recommendations of its pass.
fn sighted(seen: &Sighting) -> String {
    let (low, high) = (*seen.proposal.start(), *seen.proposal.end());
    let mut parts = Vec::new();
    match (low, high) {
        (0, i32::MAX) => {}
        (low, high) if low == high => parts.push(format!("{low} was recommended")),
        (low, i32::MAX) => parts.push(format!("at least {low} was recommended")),
        (0, high) => parts.push(format!("at most {high} was recommended")),
        (low, high) => parts.push(format!("{low} to {high} were recommended")),
    }
    match (seen.held_down_by, seen.at_most) {
        (Some(low), Some(high)) if low == high => {
            parts.push(format!("the highest recommendation is {low}"));
        }
        (Some(low), _) if low > 0 => {
            parts.push(format!("the highest recommendation is at least {low}"));
        }
        (_, Some(high)) if high > *seen.proposal.end() => {
            parts.push(format!("no recommendation above {high}"));
        }
        (_, Some(_)) => parts.push("no higher recommendation".to_owned()),
        (_, None) => {}
    }
    if let Some(low) = seen.at_least {
        parts.push(format!("no recommendation below {low}"));
    }
    if let Some(high) = seen.held_up_by {
        parts.push(format!("the lowest recommendation is at most {high}"));
    }
    parts.join(", ")
}
