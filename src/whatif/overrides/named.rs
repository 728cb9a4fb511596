//! A metric as named on the command line, and its places in the spec.

use std::collections::BTreeSet;

use super::pods::matched;
use super::requests::has_container;
use crate::apimachinery::selector::Selector;
use crate::error::Error;
use crate::snapshot::Snapshot;
use crate::snapshot::hpa::{HpaSpec, METRIC_SOURCE_TYPES, MetricId, MetricSource, MetricSpec};

/// A reference to a metric.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NamedMetric {
    /// The type, if it distinguishes the metric from another one of its name.
    pub(super) type_: Option<&'static str>,
    pub(in crate::whatif) name: String,
    pub(in crate::whatif) container: Option<String>,
    /// The object that the metric describes, as `KIND/NAME` or `KIND.GROUP/NAME`.
    pub(super) object: Option<String>,
    /// The selector as [`MetricSpec::selector`] writes it.
    pub(super) selector: Option<String>,
    /// The name together with the selector, which may be a name that ends with braces.
    pub(super) braced: Option<String>,
    /// Whether the reference is text from a file, which no error quotes.
    pub(super) is_unquoted: bool,
}

/// Splits a metric and its value: `NAME=VALUE`, `CONTAINER=NAME=VALUE`, `NAME{SELECTOR}=VALUE`, `NAME on
/// KIND/OBJECT=VALUE`, `TYPE/NAME=VALUE`. `typed` is the text with its flag, and `values` describes the
/// possible values.
pub(super) fn split<'t>(
    text: &'t str,
    typed: &str,
    values: &str,
) -> Result<(NamedMetric, &'t str), Error> {
    let form = || {
        let message = format!("{typed}: not of the form NAME=VALUE or NAME{{SELECTOR}}=VALUE");
        Error::usage(message).hint(values)
    };
    let (metric, value) = text.rsplit_once('=').ok_or_else(form)?;
    Ok((named(metric, typed, form)?, value))
}

/// Parses a metric name, with the type, container, object or selector if it has one.
fn named(text: &str, typed: &str, form: impl Fn() -> Error) -> Result<NamedMetric, Error> {
    let of_container = text
        .split_once('=')
        .filter(|(before, _)| !before.contains('{'));
    let (container, text) = match of_container {
        Some(("", _)) => return Err(form()),
        Some((container, rest)) => (Some(container.to_owned()), rest),
        None => (None, text),
    };
    // A name may have braces, too; a selector has none within.
    let (name, selector) = match text
        .strip_suffix('}')
        .and_then(|text| text.rsplit_once('{'))
    {
        // A brace that is not closed begins a selector.
        None if text
            .rsplit_once('{')
            .is_some_and(|(_, rest)| !rest.contains('}')) =>
        {
            return Err(form());
        }
        None => (text, None),
        Some((name, selector)) => {
            let selector = Selector::parse(selector)
                .map_err(|e| Error::usage(format!("{typed}: {selector}: {e}")))?;
            (name, Some(selector.to_string()))
        }
    };
    let braced = selector.as_ref().map(|_| text.to_owned());
    let (name, object) = match name.split_once(" on ") {
        None => (name, None),
        Some((name, object)) => (name, Some(object.to_owned())),
    };
    // No name of a metric has a slash, and the domain before one in the name of a resource has small letters.
    let typed = name.split_once('/').and_then(|(before, name)| {
        let type_ = METRIC_SOURCE_TYPES
            .into_iter()
            .find(|type_| *type_ == before)?;
        Some((Some(type_), name))
    });
    let (type_, name) = typed.unwrap_or((None, name));
    if name.is_empty() {
        return Err(form());
    }
    Ok(NamedMetric {
        type_,
        name: name.to_owned(),
        container,
        object,
        selector,
        braced,
        is_unquoted: false,
    })
}

/// The places of a metric's values.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Meant {
    /// The places in the spec.
    pub places: Vec<usize>,
    /// The metric. If the HPA only has others that are based on the same usage, it is that of a container, at the place
    /// of the pods' metric, or that of the pods, at the places of their containers' metrics.
    pub(in crate::whatif) spec: MetricSpec,
    /// Whether it is such a metric, which the HPA does not have.
    pub(in crate::whatif) is_part: bool,
}

impl Meant {
    /// Returns its first place in the spec, of which there is at least one.
    pub(in crate::whatif) fn first(&self) -> usize {
        self.places[0]
    }

    /// Returns the container, if the HPA only uses the usage of whole pods.
    pub fn container(&self) -> Option<&str> {
        self.spec.container().filter(|_| self.is_part)
    }
}

/// One of several runs over the same load, with the metrics and containers that the load may name.
#[derive(Debug, Clone)]
pub struct OtherRun {
    /// The spec of the HPA.
    pub spec: HpaSpec,
    /// The containers of the pods.
    pub containers: BTreeSet<Box<str>>,
}

impl OtherRun {
    /// Whether the run has the metric that is named: in its spec, or as a container of its metric of whole pods,
    /// or, if the HPA that is played has that metric (`has_whole`), as a container of its pods.
    fn has_metric(&self, wanted: &NamedMetric, has_whole: bool) -> bool {
        let metrics = &self.spec.metrics;
        let has_own = !has_whole && wanted.whole(metrics).is_some();
        let container = wanted.container.as_ref().filter(|_| has_whole);
        let has_container = container.is_some_and(|own| self.containers.contains(&**own));
        let has_pods = wanted.pods_of_containers(metrics).is_some();
        wanted.places_in(metrics).is_ok() || has_own || has_container || has_pods
    }
}

impl NamedMetric {
    /// Returns the place of the Resource metric that includes the usage of a container without a ContainerResource
    /// metric, and that container.
    pub(in crate::whatif) fn whole(&self, metrics: &[MetricSpec]) -> Option<(usize, &str)> {
        let container = self.container.as_deref()?;
        let mut whole = None;
        let all = metrics.iter().enumerate();
        for (place, metric) in all.filter(|(_, metric)| metric.name() == self.name) {
            match metric.source() {
                MetricSource::ContainerResource(own) if own.container == container => return None,
                MetricSource::Resource(_) => whole = whole.or(Some(place)),
                _ => {}
            }
        }
        Some((whole?, container))
    }

    /// Whether the metric is a resource of the pods or of one of their containers.
    pub(in crate::whatif) fn is_of_resource(&self, resource: &str) -> bool {
        self.name == resource
            && self
                .type_
                .is_none_or(|type_| ["Resource", "ContainerResource"].contains(&type_))
    }

    /// Finds the metric's values in all pods, or only in one; `typed` is the text that names the metric.
    ///
    /// # Errors
    ///
    /// There is no such metric or container, or it is ambiguous.
    pub fn find(
        &self,
        snapshot: &Snapshot,
        pod: Option<&str>,
        typed: &str,
    ) -> Result<Meant, Error> {
        if let Some(part) = self.part(snapshot, pod, typed)? {
            return Ok(part);
        }
        let metrics = &snapshot.hpa.spec.metrics;
        let places = self.places_in(metrics).map_err(|e| e.within(typed))?;
        Ok(Meant {
            spec: metrics[places[0]].clone(),
            places,
            is_part: false,
        })
    }

    /// Returns the name of the usage that this name means in all runs over the same load: among the metrics of the
    /// unchanged HPA or, if it is not there, among the metrics of all runs.
    ///
    /// # Errors
    ///
    /// It is ambiguous.
    fn as_in_all(&self, unchanged: &[MetricSpec], runs: &[OtherRun]) -> Result<Self, Error> {
        let found = self.as_in(unchanged).transpose().or_else(|| {
            let metrics = runs.iter().flat_map(|it| it.spec.metrics.iter().cloned());
            self.as_in(&Vec::from_iter(metrics)).transpose()
        });
        found.unwrap_or_else(|| Ok(self.clone()))
    }

    /// Finds, for one of the runs over the same load, the values that this name means in all of them, in all pods or
    /// only in one; `None` if only another run has them. A container may exist only in the pods after a change,
    /// `changed`.
    ///
    /// # Errors
    ///
    /// The same as for [`Self::find`].
    pub(in crate::whatif) fn find_in_run(
        &self,
        runs: &[OtherRun],
        unchanged: &[MetricSpec],
        snapshot: &Snapshot,
        changed: Option<&Snapshot>,
        pod: Option<&str>,
        typed: &str,
    ) -> Result<Option<Meant>, Error> {
        let wanted = self
            .as_in_all(unchanged, runs)
            .map_err(|e| e.within(typed))?;
        let own = &snapshot.hpa.spec.metrics;
        let has_whole = wanted.whole(own).is_some();
        let later = || wanted.find(changed.filter(|_| has_whole)?, pod, typed).ok();
        let is_elsewhere = || {
            !own.iter().any(|own| wanted.fits(own))
                && runs.iter().any(|it| it.has_metric(&wanted, has_whole))
        };
        match wanted.find(snapshot, pod, typed) {
            Err(e) => match later().or_else(|| wanted.pods_of_containers(own)) {
                None if !is_elsewhere() => match self.find(snapshot, pod, typed) {
                    Err(as_typed) => Err(as_typed),
                    Ok(_) => Err(e.hint(format!(
                        "{self} alone is {wanted}, as in the unchanged HPA: name the container"
                    ))),
                },
                meant => Ok(meant),
            },
            meant => meant.map(Some),
        }
    }

    /// Finds the usage of whole pods, if this names a Resource metric, at the places of their containers' metrics.
    fn pods_of_containers(&self, metrics: &[MetricSpec]) -> Option<Meant> {
        let containers = Self {
            type_: Some("ContainerResource"),
            ..self.clone()
        };
        let fits = |place: &usize| containers.fits(&metrics[*place]);
        let places: Vec<usize> = (0..metrics.len()).filter(fits).collect();
        let first = *places.first().filter(|_| self.type_ == Some("Resource"))?;
        Some(Meant {
            places,
            spec: metrics[first].of_pods(),
            is_part: true,
        })
    }

    /// Returns the name of the usage that this name means among some metrics; `None` if it fits none of them.
    ///
    /// # Errors
    ///
    /// It is ambiguous.
    fn as_in(&self, metrics: &[MetricSpec]) -> Result<Option<Self>, Error> {
        if !metrics.iter().any(|own| self.fits(own)) {
            return Ok(None);
        }
        let place = self.places_in(metrics)?[0];
        let mut own = self.clone();
        match metrics[place].source() {
            MetricSource::Resource(_) => own.type_ = Some("Resource"),
            MetricSource::ContainerResource(of) => own.container = Some(of.container.clone()),
            _ => {}
        }
        Ok(Some(own))
    }

    /// Finds the values of a container without a ContainerResource metric, in all pods or only in one; `None` if this
    /// does not name such a container.
    ///
    /// # Errors
    ///
    /// None of these pods has the container.
    pub(super) fn part(
        &self,
        snapshot: &Snapshot,
        pod: Option<&str>,
        typed: &str,
    ) -> Result<Option<Meant>, Error> {
        let Some((whole, container)) = self.whole(&snapshot.hpa.spec.metrics) else {
            return Ok(None);
        };
        let mut pods = matched(snapshot).map_err(|e| e.within(typed))?;
        pods.retain(|own| pod.is_none_or(|pod| *own.name == *pod));
        has_container(&pods, container, false, typed).map_err(|e| {
            if self.is_unquoted {
                let message = format!("{typed}: no pod of the target has such a container");
                Error { message, ..e }
            } else {
                e
            }
        })?;
        Ok(Some(Meant {
            places: vec![whole],
            spec: snapshot.hpa.spec.metrics[whole].of_container(container),
            is_part: true,
        }))
    }

    /// Reads a metric without a value: `NAME`, `NAME{SELECTOR}`, `NAME on KIND/OBJECT`, or `CONTAINER=NAME`.
    ///
    /// # Errors
    ///
    /// It has none of these forms.
    pub fn read(text: &str, flag: &str) -> Result<Self, Error> {
        let typed = format!("{flag} {text}");
        named(text, &typed, || {
            Error::usage(format!("{typed}: the metric is missing"))
                .hint("such as cpu, app=cpu for a container, or 'queue_depth{queue=a}'")
        })
    }

    /// Reads the title of a column, which errors do not quote if it `is_unquoted`.
    ///
    /// # Errors
    ///
    /// The same as for [`Self::read`].
    pub(in crate::whatif) fn of_column(title: &str, is_unquoted: bool) -> Result<Self, Error> {
        Ok(Self {
            is_unquoted,
            ..Self::read(title, "")?
        })
    }

    /// Returns the metric's place in the spec; the first if the spec has it several times.
    ///
    /// # Errors
    ///
    /// There is no such metric, or it is ambiguous.
    pub fn place(&self, snapshot: &Snapshot) -> Result<usize, Error> {
        Ok(self.places_in(&snapshot.hpa.spec.metrics)?[0])
    }

    /// Whether a metric matches everything that is named.
    fn fits(&self, spec: &MetricSpec) -> bool {
        self.type_.is_none_or(|own| spec.type_ == own)
            && spec.name() == self.name
            && self.object.as_ref().is_none_or(|own| {
                let object = spec.described_object();
                object.is_some_and(|it| [it.to_string(), it.with_group()].contains(own))
            })
            && self
                .container
                .as_deref()
                .is_none_or(|own| spec.container() == Some(own))
            && self
                .selector
                .as_ref()
                .is_none_or(|own| spec.selector() == *own)
    }

    /// Returns the metric's places among some metrics, at least one.
    pub(in crate::whatif) fn places_in(&self, metrics: &[MetricSpec]) -> Result<Vec<usize>, Error> {
        let is_braced = |spec: &MetricSpec| self.braced.as_deref() == Some(spec.name());
        let any_is_braced = metrics.iter().any(is_braced);
        let mut found: Vec<usize> = (0..metrics.len())
            .filter(|&place| {
                if any_is_braced {
                    is_braced(&metrics[place])
                } else {
                    self.fits(&metrics[place])
                }
            })
            .collect();
        // Without a container, the pod as a whole is meant, if the HPA has a metric for it.
        let of_pods = |place: &usize| matches!(metrics[*place].source(), MetricSource::Resource(_));
        if self.container.is_none() && found.iter().any(of_pods) {
            found.retain(of_pods);
        }
        // Likewise, without an object, the metric without a described object is meant.
        let of_none = |place: &usize| metrics[*place].described_object().is_none();
        if self.object.is_none() && found.iter().any(of_none) {
            found.retain(of_none);
        }
        let mut ids: Vec<MetricId> = Vec::new();
        let mut labels: Vec<String> = Vec::new();
        for metric in found.iter().map(|place| &metrics[*place]) {
            if !ids.contains(&metric.id()) {
                ids.push(metric.id());
                labels.push(metric.label(metrics));
            }
        }
        match labels.len() {
            0 => {
                let there: Vec<String> = metrics.iter().map(|own| own.flag_name(metrics)).collect();
                let wanted = if self.is_unquoted {
                    "such metric".to_owned()
                } else {
                    format!("metric {self}")
                };
                Err(Error::usage(format!("the HPA has no {wanted}"))
                    .hint(format!("it has {}", there.join(", "))))
            }
            1 => Ok(found),
            _ => {
                let wanted = if self.is_unquoted {
                    "it".to_owned()
                } else {
                    self.to_string()
                };
                Err(Error::usage(format!("{wanted} is ambiguous: {}", labels.join(", ")))
                .hint(
                    "name the container, as in --cpu app=80%, the selector, as in --metric 'NAME{queue=a}=30' or 'NAME{}=30' for none, the \
                     object, as in --metric 'NAME on Service/web=30', or the type, as in --metric Pods/NAME=30",
                ))
            }
        }
    }
}

impl std::fmt::Display for NamedMetric {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(type_) = self.type_ {
            write!(f, "{type_}/")?;
        }
        f.write_str(&self.name)?;
        if let Some(container) = &self.container {
            write!(f, " in {container}")?;
        }
        if let Some(object) = &self.object {
            write!(f, " on {object}")?;
        }
        if let Some(selector) = &self.selector {
            write!(f, "{{{selector}}}")?;
        }
        Ok(())
    }
}
