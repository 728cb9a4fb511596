//! A field of the spec, or the target of a metric, with its new value, as flags state it.

use std::fmt;

use serde_json::{Map, Value as Json, json};

use super::difference::PathStep;
use crate::apimachinery::quantity::Quantity;
use crate::apiserver::convert::{HpaVersion, unknown_fields};
use crate::error::Error;
use crate::snapshot::hpa::{MetricSpec, MetricTarget};

/// A new target of a metric.
#[derive(Debug, Clone)]
pub(super) enum NewTarget {
    /// A share of the request.
    Percent(i32),
    /// An amount.
    Amount(Quantity),
}

pub(super) const TARGETS: &str =
    "a target is a whole percentage of the request (70%) or an amount (250m, 30)";

/// A field of the spec with its new value.
#[derive(Debug, Clone)]
pub(super) struct Patch {
    pub(super) path: Vec<PathStep>,
    pub(super) value: Json,
    /// The field and value as typed.
    pub(super) item: String,
    pub(super) text: String,
    /// The prefix in messages: the flag, or nothing for `--vary`.
    pub(super) flag: &'static str,
}

impl NewTarget {
    pub(super) fn read(text: &str, typed: &str) -> Result<Self, Error> {
        if text.starts_with('+') {
            return Err(Error::usage(format!(
                "{typed}: {text} looks like a change, but a target cannot be changed by \
                 an amount: give the new target without the +"
            )));
        }
        let target = match text.strip_suffix('%') {
            Some(percent) => percent.parse().ok().map(Self::Percent),
            None => Quantity::parse(text).ok().map(Self::Amount),
        };
        target.ok_or_else(|| Error::usage(format!("{typed}: {text} is not a target")).hint(TARGETS))
    }

    /// Sets the target of a metric, of the same type if the value does not determine it.
    pub(super) fn set(&self, metric: &mut MetricSpec, label: &str) -> Result<(), Error> {
        let of_resource = metric.is_resource();
        let Some(target) = metric.target_mut() else {
            return Err(Error::usage(format!("{label} has no target")));
        };
        let mut set = MetricTarget::default();
        let type_ = match self {
            Self::Percent(percent) if of_resource => {
                set.average_utilization = Some(*percent);
                "Utilization"
            }
            Self::Percent(_) => {
                return Err(
                    Error::usage(format!("--target: {self} is not a target of {label}")).hint(
                        "only resources can have a percentage as target: use an amount such as 30",
                    ),
                );
            }
            Self::Amount(amount) if !of_resource && target.type_ == "Value" => {
                set.value = Some(amount.clone());
                "Value"
            }
            Self::Amount(amount) => {
                set.average_value = Some(amount.clone());
                "AverageValue"
            }
        };
        set.type_ = type_.to_owned();
        *target = set;
        Ok(())
    }
}

impl fmt::Display for NewTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Percent(percent) => write!(f, "{percent}%"),
            Self::Amount(amount) => amount.fmt(f),
        }
    }
}

impl fmt::Display for Patch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.flag, self.item)
    }
}

const PATCH_FORM: &str = "it has the form PATH=VALUE, such as \
     behavior.scaleDown.stabilizationWindowSeconds=60 or metrics[0].resource.target.averageUtilization=70";

impl Patch {
    pub(super) fn read(text: &str, flag: &'static str) -> Result<Self, Error> {
        let form = |why: &str| Error::usage(format!("{flag}{text}: {why}")).hint(PATCH_FORM);
        let (typed, value) = text.split_once('=').ok_or_else(|| form("it has no ="))?;
        let path = typed.strip_prefix("spec.").unwrap_or(typed);
        let mut steps = Vec::new();
        for part in path.split('.') {
            let (name, mut rest) = part.split_at(part.find('[').unwrap_or(part.len()));
            if name.is_empty() || !name.bytes().all(|c| c.is_ascii_alphanumeric()) {
                return Err(form("the path has an empty or invalid name"));
            }
            steps.push(PathStep::Name(name.to_owned()));
            while let Some(after) = rest.strip_prefix('[') {
                let (digits, further) = after.split_once(']').ok_or_else(|| form("unclosed ["))?;
                let place = digits
                    .parse()
                    .map_err(|_| form("an index is not a number"))?;
                steps.push(PathStep::Place(place));
                rest = further;
            }
            if !rest.is_empty() {
                return Err(form("unexpected text after ]"));
            }
        }
        // A value that is not JSON is text: a quantity, a word.
        let json = serde_json::from_str(value).unwrap_or_else(|_| Json::String(value.to_owned()));
        Ok(Self {
            path: steps,
            value: json,
            item: path.to_owned(),
            text: value.to_owned(),
            flag,
        })
    }

    /// Returns what a flag sets, as `PATH=VALUE`; `None` if it sets no field by its path.
    pub(super) fn set_by(flag: &str, value: &str) -> Option<String> {
        match flag {
            "--min" => Some(format!("minReplicas={value}")),
            "--max" => Some(format!("maxReplicas={value}")),
            "--set" => Some(value.to_owned()),
            _ => None,
        }
    }

    /// Returns the field at a path with a value, for a flag that names it otherwise.
    pub(super) fn of(path: Vec<PathStep>, value: Json) -> Self {
        Self {
            path,
            value,
            item: String::new(),
            text: String::new(),
            flag: "",
        }
    }

    /// Merges a field inside this one into its value; returns whether it is inside and can be set there.
    pub(super) fn include(&mut self, other: Self) -> bool {
        let inside = other.path.strip_prefix(&self.path[..]);
        let Some(path) = inside.filter(|path| !path.is_empty()).map(<[_]>::to_vec) else {
            return false;
        };
        Self { path, ..other }.set(&mut self.value).is_ok()
    }

    /// Checks that a spec in which it is set has this field, and the fields in its value.
    pub(super) fn check(&self, spec: &Json, metrics: &[MetricSpec]) -> Result<(), Error> {
        let unknown = unknown_fields(&json!({"spec": spec}), HpaVersion::V2);
        let Some(first) = unknown.first.first() else {
            return Ok(());
        };
        if self.value.is_object() || self.value.is_array() {
            let messages = unknown.messages().join("; ");
            return Err(Error::usage(format!("{self}: {messages}")));
        }
        let is_metric = metrics.iter().any(|metric| metric.name() == self.item);
        let meant = first.meant.as_deref();
        let hint = match meant.and_then(|meant| meant.strip_prefix("spec.")) {
            Some(meant) => format!("did you mean {meant}?"),
            None if is_metric => {
                format!("the target of a metric is --target {}=VALUE", self.item)
            }
            None => "a path such as maxReplicas, metrics[0].resource.target.averageUtilization, \
                     behavior.scaleDown.policies"
                .to_owned(),
        };
        Err(Error::usage(format!("{self}: the spec has no such field")).hint(hint))
    }

    pub(super) fn find<'j>(&self, json: &'j Json) -> Option<&'j Json> {
        self.path.iter().try_fold(json, |json, step| match step {
            PathStep::Name(name) => json.get(name),
            PathStep::Place(place) => json.get(place),
        })
    }

    pub(super) fn set(&self, json: &mut Json) -> Result<(), Error> {
        let mut at = json;
        for step in &self.path {
            at = match step {
                PathStep::Name(name) => {
                    if at.is_null() {
                        *at = Json::Object(Map::new());
                    }
                    let fields = at.as_object_mut().ok_or_else(|| {
                        Error::usage(format!("{self}: the parent of {name} is not an object"))
                    })?;
                    fields.entry(name).or_insert(Json::Null)
                }
                PathStep::Place(place) => {
                    if at.is_null() {
                        *at = Json::Array(Vec::new());
                    }
                    let list = at.as_array_mut().ok_or_else(|| {
                        Error::usage(format!(
                            "{self}: [{place}] is applied to something that is not a list"
                        ))
                    })?;
                    let length = list.len();
                    if *place == length {
                        list.push(Json::Null);
                    }
                    list.get_mut(*place).ok_or_else(|| {
                        Error::usage(format!(
                            "{self}: there is no [{place}] in a list of {length}"
                        ))
                    })?
                }
            };
        }
        at.clone_from(&self.value);
        Ok(())
    }
}
