//! What was typed after the flags of `predict`, read before anything is asked of a cluster.

use super::pods::{PodChanges, Replicas, Which};
use super::spec::SpecChanges;
use crate::apimachinery::selector::Selector;
use crate::args::Overrides;
use crate::error::Error;
use crate::snapshot::Snapshot;
use crate::snapshot::hpa::{MetricSource, MetricSpec};
use crate::whatif::unit;
use crate::whatif::value::{FORMS, Value};

/// Everything that is assumed.
#[derive(Debug, Clone, Default)]
pub struct Assumptions {
    pub(super) spec: SpecChanges,
    pub(super) pods: PodChanges,
    pub(super) metrics: Vec<Assigned>,
    /// The same for single pods, by name.
    pub(super) of_pods: Vec<(String, Assigned)>,
}

/// A metric with the value that is assumed of it.
#[derive(Debug, Clone)]
pub(super) struct Assigned {
    wanted: Wanted,
    pub(super) value: Value,
    /// The value as it was typed.
    pub(super) text: String,
    /// The flag with all that was typed for it.
    flag: String,
}

/// Which metric is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    name: String,
    container: Option<String>,
    /// As [`MetricSpec::selector`] writes it.
    selector: Option<String>,
}

impl Assumptions {
    /// Reads what was typed.
    ///
    /// # Errors
    ///
    /// It is not of the form that the flag has.
    pub fn read(typed: &Overrides) -> Result<Self, Error> {
        let Overrides { cpu, memory, metrics, pods, replicas, unready, missing, pending, .. } =
            typed;
        let mut assigned = Vec::new();
        for (flag, name, list) in [("--cpu", "cpu", cpu), ("--memory", "memory", memory)] {
            for text in list {
                let (container, value) = match text.rsplit_once('=') {
                    Some(("", _)) => {
                        return Err(Error::usage(format!("{flag} {text}: no container is named"))
                            .hint(format!("such as {flag} app=80%; a value is {FORMS}")));
                    }
                    Some((container, value)) => (Some(container.to_owned()), value),
                    None => (None, &**text),
                };
                let wanted = Wanted { name: name.to_owned(), container, selector: None };
                assigned.push(Assigned::new(wanted, value, flag, text)?);
            }
        }
        for text in metrics {
            assigned.push(Assigned::read(text, "--metric", text)?);
        }
        let mut of_pods = Vec::new();
        for text in pods {
            let Some((pod, rest)) = text.split_once(':').filter(|(pod, _)| !pod.is_empty()) else {
                return Err(Error::usage(format!(
                    "--pod {text}: not of the form POD:METRIC=VALUE"
                ))
                .hint("such as web-1:cpu=300m"));
            };
            of_pods.push((pod.to_owned(), Assigned::read(rest, "--pod", text)?));
        }
        let which = |flag: &str, list: &[String]| {
            list.iter().map(|text| Which::read(flag, text)).collect::<Result<Vec<_>, Error>>()
        };
        Ok(Self {
            spec: SpecChanges::read(typed)?,
            pods: PodChanges {
                replicas: replicas.as_deref().map(Replicas::read).transpose()?,
                unready: which("--unready", unready)?,
                missing: which("--missing", missing)?,
                pending: which("--pending", pending)?,
            },
            metrics: assigned,
            of_pods,
        })
    }
}

impl Assigned {
    fn read(text: &str, flag: &str, typed: &str) -> Result<Self, Error> {
        let (wanted, value) = split(text, flag, typed, &format!("a value is {FORMS}"))?;
        Self::new(wanted, value, flag, typed)
    }

    fn new(wanted: Wanted, text: &str, flag: &str, typed: &str) -> Result<Self, Error> {
        let value = text.parse().map_err(|e| {
            Error::usage(format!("{flag} {typed}: {text}: {e}")).hint(format!("a value is {FORMS}"))
        })?;
        Ok(Self { wanted, value, text: text.to_owned(), flag: format!("{flag} {typed}") })
    }

    /// Makes sure that the value has a unit that the metric has.
    pub(super) fn check_unit(&self, spec: &MetricSpec) -> Result<(), Error> {
        let Self { text, flag, .. } = self;
        let before = flag.strip_suffix(&**text).unwrap_or(flag);
        unit::check(spec, text, |value| format!("{before}{value}"))
            .map_err(|why| Error::usage(format!("{flag}: {why}")))
    }

    /// The places in the spec of the metric that is meant: several where the spec has it several
    /// times.
    pub(super) fn places(&self, snapshot: &Snapshot) -> Result<Vec<usize>, Error> {
        self.wanted.places(snapshot)
    }
}

/// A metric and what is said of it: `NAME=VALUE`, `NAME{SELECTOR}=VALUE`. `values` says which values
/// there are.
pub(super) fn split<'t>(
    text: &'t str,
    flag: &str,
    typed: &str,
    values: &str,
) -> Result<(Wanted, &'t str), Error> {
    let form = || {
        Error::usage(format!(
            "{flag} {typed}: not of the form NAME=VALUE or NAME{{SELECTOR}}=VALUE"
        ))
        .hint(values)
    };
    let (metric, value) = text.rsplit_once('=').ok_or_else(form)?;
    Ok((named(metric, flag, typed, form)?, value))
}

/// A metric by name, and by selector where it has one.
fn named(text: &str, flag: &str, typed: &str, form: impl Fn() -> Error) -> Result<Wanted, Error> {
    let (name, selector) = match text.split_once('{') {
        None => (text, None),
        Some((name, rest)) => {
            let selector = rest.strip_suffix('}').ok_or_else(&form)?;
            let selector = Selector::parse(selector)
                .map_err(|e| Error::usage(format!("{flag} {typed}: {selector}: {e}")))?;
            (name, Some(selector.to_string()))
        }
    };
    if name.is_empty() {
        return Err(form());
    }
    Ok(Wanted { name: name.to_owned(), container: None, selector })
}

impl Wanted {
    /// Reads a metric without a value: `NAME`, `NAME{SELECTOR}`, or `CONTAINER=NAME`.
    ///
    /// # Errors
    ///
    /// It has none of these forms.
    pub fn read(text: &str, flag: &str) -> Result<Self, Error> {
        let form = || {
            Error::usage(format!("{flag} {text}: names no metric"))
                .hint("such as cpu, app=cpu for a container, or 'queue_depth{queue=a}'")
        };
        let container = text.split_once('=').filter(|(before, _)| !before.contains('{'));
        let Some((container, name)) = container else {
            return named(text, flag, text, form);
        };
        if container.is_empty() {
            return Err(form());
        }
        let wanted = named(name, flag, text, form)?;
        Ok(Self { container: Some(container.to_owned()), ..wanted })
    }

    /// Its place in the spec; the first where the spec has it several times.
    ///
    /// # Errors
    ///
    /// There is no such metric, or it cannot be told which.
    pub fn place(&self, snapshot: &Snapshot) -> Result<usize, Error> {
        let places = self.places(snapshot)?;
        places.first().copied().ok_or_else(|| Error::usage(format!("the HPA has no metric {self}")))
    }

    pub(in crate::whatif) fn places(&self, snapshot: &Snapshot) -> Result<Vec<usize>, Error> {
        let metrics = &snapshot.hpa.spec.metrics;
        let fits = |spec: &MetricSpec| {
            spec.name() == self.name
                && self.container.as_deref().is_none_or(|own| spec.container() == Some(own))
                && self.selector.as_ref().is_none_or(|own| spec.selector() == *own)
        };
        let mut found: Vec<usize> =
            (0..metrics.len()).filter(|&place| fits(&metrics[place])).collect();
        // Without a container the pod as a whole is meant, where the HPA looks at it.
        let of_pods = |place: &usize| matches!(metrics[*place].source(), MetricSource::Resource(_));
        if self.container.is_none() && found.iter().any(of_pods) {
            found.retain(of_pods);
        }
        let mut labels: Vec<String> = found.iter().map(|place| metrics[*place].label()).collect();
        labels.dedup();
        match labels.len() {
            0 => {
                let there: Vec<String> = metrics.iter().map(MetricSpec::label).collect();
                Err(Error::usage(format!("the HPA has no metric {self}"))
                    .hint(format!("it has {}", there.join(", "))))
            }
            1 => Ok(found),
            _ => Err(Error::usage(format!("{self} is ambiguous: {}", labels.join(", ")))
                .hint("name the container, as in --cpu app=80%, or the selector, as in --metric 'NAME{queue=a}=30'")),
        }
    }
}

impl std::fmt::Display for Wanted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name)?;
        if let Some(container) = &self.container {
            write!(f, " in {container}")?;
        }
        if let Some(selector) = &self.selector {
            write!(f, "{{{selector}}}")?;
        }
        Ok(())
    }
}
