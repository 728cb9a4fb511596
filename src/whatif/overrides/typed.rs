//! The values of the flags of `predict`, parsed before the cluster is queried.

use super::candidate::Candidate;
use super::named::{NamedMetric, OtherRun, split};
use super::patch::Patch;
use super::pods::{PodChanges, ReplicasChange, State};
use super::requests::TypedRequest;
use super::spec::{SET, SpecChanges};
use crate::apimachinery::names::shell_word;
use crate::args::{Overrides, Validate};
use crate::error::Error;
use crate::snapshot::Snapshot;
use crate::snapshot::hpa::Hpa;
use crate::snapshot::surroundings::Workload;
use crate::whatif::value::{AssumedValue, FORMS};

/// All assumptions.
#[derive(Debug, Clone, Default)]
pub struct Assumptions {
    pub(super) spec: SpecChanges,
    pub(super) requests: Vec<TypedRequest>,
    pub(super) pods: PodChanges,
    /// The values of metrics, those of single pods last.
    pub(super) values: Vec<Assigned>,
    /// All runs over the same load: assumptions about metrics and containers that only other runs have are left out.
    pub runs: Vec<OtherRun>,
    /// Whether a rollout replaces the pods later, so that assumptions about a container that only their successors have
    /// do not apply.
    pub(super) pods_go: bool,
    /// The flags for all assumptions, except manifests, each with its value as typed.
    pub flags: Vec<(&'static str, String)>,
}

/// The flag that says when pods change, which commands repeat only if any do.
const WHEN: &str = "--at";

/// The flags about the spec and the requests.
const OF_CANDIDATE: [&str; 5] = ["--min", "--max", "--target", "--set", "--request"];

/// A metric with its assumed value.
#[derive(Debug, Clone)]
pub(super) struct Assigned {
    /// The pod, if the value applies to only one.
    pub(super) pod: Option<String>,
    pub(super) wanted: NamedMetric,
    pub(super) value: AssumedValue,
    /// The value as it was typed.
    pub(super) text: String,
    /// The flag with its full text.
    pub(super) flag: String,
}

impl Assumptions {
    /// Replaces the HPA's manifest.
    pub fn replace_hpa(&mut self, candidate: Candidate) {
        self.spec.candidate = Some(candidate);
        if !self.changes_pods() {
            self.flags.retain(|(flag, _)| *flag != WHEN);
        }
    }

    /// Sets a field of the spec as `--vary` names it: `target.METRIC`, `min`, `max`, or its path.
    ///
    /// # Errors
    ///
    /// The errors of the corresponding flag, in the same words.
    pub fn vary(&mut self, path: &str, value: &str) -> Result<(), Error> {
        let (flag, text) = if let Some(metric) = path.strip_prefix("target.") {
            let text = format!("{metric}={value}");
            self.spec.add_target(&text, "target.")?;
            ("--target", text)
        } else {
            let path = match path {
                "min" => "minReplicas",
                "max" => "maxReplicas",
                path => path,
            };
            let text = format!("{path}={value}");
            self.spec.add_field(&text, "")?;
            ("--set", text)
        };
        self.flags.push((flag, text));
        Ok(())
    }

    /// Whether a value is assumed for every metric of the current spec.
    pub fn fixes_all_metrics(&self, snapshot: &Snapshot) -> bool {
        let of_all = self.values.iter().filter(|own| own.pod.is_none());
        let metrics = &snapshot.hpa.spec.metrics;
        let found = of_all.filter_map(|own| own.wanted.places_in(metrics).ok());
        let fixed = Vec::from_iter(found.flatten());
        (0..metrics.len()).all(|place| fixed.contains(&place))
    }

    /// Returns the flags of a command with the same assumptions, with their values quoted for a shell.
    pub(super) fn flags(&self) -> Vec<(&'static str, String)> {
        let quoted = self.flags.iter().map(|(flag, value)| match &**value {
            "" => (*flag, String::new()),
            value => (*flag, shell_word(value)),
        });
        let manifest = self.candidate().map(Candidate::flag);
        quoted.chain(manifest).collect()
    }

    /// Returns the flags about the spec and the requests, as typed.
    pub fn of_candidate(&self) -> impl Iterator<Item = String> {
        let of_flag = |wanted| self.flags.iter().filter(move |(flag, _)| *flag == wanted);
        let flags = OF_CANDIDATE.into_iter().flat_map(of_flag);
        flags.map(|(flag, value)| format!("{flag} {value}"))
    }

    /// Whether nothing is assumed about pods, their requests and metrics.
    pub(super) fn needs_no_pods(&self) -> bool {
        self.requests.is_empty() && self.pods.is_none() && self.values.is_empty()
    }

    /// Returns the candidate that replaces the HPA, if there is one.
    pub fn candidate(&self) -> Option<&Candidate> {
        self.spec.candidate.as_ref()
    }

    /// Whether another spec is assumed for the HPA, or other requests for the target's pods.
    pub fn has_candidate(&self) -> bool {
        !self.spec.is_none() || !self.requests.is_empty()
    }

    /// Returns the assumptions without those about the spec and the requests.
    #[must_use]
    pub fn without_candidate(&self) -> Self {
        let mut without = Self {
            spec: SpecChanges::default(),
            requests: Vec::new(),
            ..self.clone()
        };
        without
            .flags
            .retain(|(flag, _)| !OF_CANDIDATE.contains(flag) && *flag != WHEN);
        without
    }

    /// Returns the assumptions without values of metrics.
    #[must_use]
    pub fn without_values(&self) -> Self {
        Self {
            values: Vec::new(),
            ..self.clone()
        }
    }

    /// Whether pods other than the target's current ones are assumed.
    pub fn changes_pods(&self) -> bool {
        let has_workloads = |own: &Candidate| !own.workloads.is_empty();
        !self.requests.is_empty() || self.candidate().is_some_and(has_workloads)
    }

    /// Returns the assumptions with the target's current pods, which a rollout may replace; `None` if no others are
    /// assumed.
    #[must_use]
    pub fn with_running_template(&self, pods_go: bool) -> Option<Self> {
        self.changes_pods().then(|| {
            let mut running = Self {
                requests: Vec::new(),
                pods_go,
                ..self.clone()
            };
            running.spec.keeps_template = true;
            running
        })
    }

    /// The manifest of an HPA's target, if one is assumed to be applied.
    pub fn workload(&self, hpa: &Hpa) -> Option<&Workload> {
        self.candidate()?
            .choose(hpa, &[])
            .ok()?
            .workload
            .map(|own| &own.object)
    }

    /// Returns the assumptions with this number of replicas to start with, if any, unless they already state one.
    #[must_use]
    pub fn starting_with(mut self, replicas: Option<i32>) -> Self {
        self.pods.replicas = self.pods.replicas.or(replicas.map(ReplicasChange::To));
        self
    }

    /// Parses the typed flags.
    ///
    /// # Errors
    ///
    /// A value does not have the form that its flag requires.
    pub fn read(typed: &Overrides) -> Result<Self, Error> {
        let mut all = Self::default();
        for (flag, text) in flags(typed) {
            all.assume(flag, &text)?;
            all.flags.push((flag, text));
        }
        Ok(all)
    }

    /// Adds what a flag assumes.
    fn assume(&mut self, flag: &str, text: &str) -> Result<(), Error> {
        if let Some(field) = Patch::set_by(flag, text) {
            return self.spec.add_field(&field, SET);
        }
        match flag {
            "--target" => self.spec.add_target(text, "--target ")?,
            "--request" => self.requests.push(TypedRequest::read(text)?),
            "--replicas" => self.pods.replicas = Some(ReplicasChange::read(text)?),
            _ => {
                self.pods.states.extend(State::of_flag(flag, text)?);
                self.values.extend(Assigned::of_flag(flag, text)?);
            }
        }
        Ok(())
    }
}

/// Returns the flags with their typed values, except manifests.
fn flags(typed: &Overrides) -> Vec<(&'static str, String)> {
    let replicas = typed.replicas.iter().cloned().collect();
    let [min, max] =
        [typed.min, typed.max].map(|bound| bound.iter().map(ToString::to_string).collect());
    let all: [(&'static str, &Vec<String>); 13] = [
        ("--replicas", &replicas),
        ("--cpu", &typed.cpu),
        ("--memory", &typed.memory),
        ("--metric", &typed.metrics),
        ("--pod", &typed.pods),
        ("--unready", &typed.unready),
        ("--missing", &typed.missing),
        ("--pending", &typed.pending),
        ("--request", &typed.requests),
        ("--min", &min),
        ("--max", &max),
        ("--target", &typed.targets),
        ("--set", &typed.fields),
    ];
    let validate = match typed.validate {
        Validate::Strict => None,
        Validate::Warn => Some(("--validate=warn", String::new())),
        Validate::Ignore => Some(("--validate=ignore", String::new())),
    };
    all.into_iter()
        .flat_map(|(flag, values)| values.iter().map(move |value| (flag, value.clone())))
        .chain(validate)
        .collect()
}

impl Assigned {
    /// Returns what a flag assigns; `None` if the flag assigns no value.
    pub(super) fn of_flag(flag: &str, text: &str) -> Result<Option<Self>, Error> {
        Ok(Some(match flag {
            "--cpu" => Self::of_resource("cpu", flag, text)?,
            "--memory" => Self::of_resource("memory", flag, text)?,
            "--metric" => Self::read(text, flag, text)?,
            "--pod" => {
                let Some((pod, rest)) = text.split_once(':').filter(|(pod, _)| !pod.is_empty())
                else {
                    return Err(Error::usage(format!(
                        "--pod {text}: not of the form POD:METRIC=VALUE"
                    ))
                    .hint("such as web-1:cpu=300m"));
                };
                Self {
                    pod: Some(pod.to_owned()),
                    ..Self::read(rest, flag, text)?
                }
            }
            _ => return Ok(None),
        }))
    }

    fn of_resource(name: &str, flag: &str, text: &str) -> Result<Self, Error> {
        let (container, value) = match text.rsplit_once('=') {
            Some(("", _)) => {
                return Err(
                    Error::usage(format!("{flag} {text}: the container is missing"))
                        .hint(format!("such as {flag} app=80%; a value is {FORMS}")),
                );
            }
            Some((container, value)) => (Some(container.to_owned()), value),
            None => (None, text),
        };
        let wanted = NamedMetric {
            name: name.to_owned(),
            container,
            ..NamedMetric::default()
        };
        Self::new(wanted, value, flag, text)
    }

    fn read(text: &str, flag: &str, typed: &str) -> Result<Self, Error> {
        let (wanted, value) = split(
            text,
            &format!("{flag} {typed}"),
            &format!("a value is {FORMS}"),
        )?;
        Self::new(wanted, value, flag, typed)
    }

    fn new(wanted: NamedMetric, text: &str, flag: &str, typed: &str) -> Result<Self, Error> {
        let value = text.parse().map_err(|e| {
            let message = match text {
                "" if typed.is_empty() => format!("{flag}: the value is missing"),
                "" => format!("{flag} {typed}: the value is missing"),
                text if text == typed => format!("{flag} {typed}: {e}"),
                text => format!("{flag} {typed}: {text}: {e}"),
            };
            Error::usage(message).hint(format!("a value is {FORMS}"))
        })?;
        Ok(Self {
            pod: None,
            wanted,
            value,
            text: text.to_owned(),
            flag: format!("{flag} {typed}"),
        })
    }
}
