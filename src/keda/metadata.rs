//! The metadata of a trigger, as scalers read it.

use core::cell::RefCell;
use std::collections::BTreeMap;

use super::Refused;
use super::keys::{FieldSource, keys, order};
use super::manifest::Trigger;
use crate::apimachinery::go;
use crate::apimachinery::similar::nearest;

/// The reason why a scaler gives no name or target.
pub(super) enum Gap {
    Refused(Refused),
    /// Only KEDA can know it, for this reason.
    Open(String),
}

impl From<Refused> for Gap {
    fn from(refused: Refused) -> Self {
        Self::Refused(refused)
    }
}

/// What the ScaledObject reveals about a field.
pub(super) struct KnownField<'n, 't> {
    /// The name and value in the metadata.
    pub(super) stated: Option<(&'n str, &'t str)>,
    /// Another source that may have the value, and before which the metadata does not count.
    pub(super) elsewhere: Option<(&'n str, FieldSource)>,
}

/// The metadata of a trigger as its scaler reads it, `configParamValue` in `typed_config.go`. Some fields
/// may also come from the environment of a container or from a TriggerAuthentication.
pub(super) struct TriggerMetadata<'t> {
    pub(super) index: usize,
    pub(super) trigger: &'t Trigger,
    /// The requested fields that are assumed, although authentication may have other values.
    assumed: RefCell<Vec<&'static str>>,
}

impl<'t> TriggerMetadata<'t> {
    /// Returns the metadata of the trigger with this index.
    pub(super) fn new(index: usize, trigger: &'t Trigger) -> Self {
        Self {
            index,
            trigger,
            assumed: RefCell::default(),
        }
    }

    /// Returns the trimmed value of a field that is stated here, or of the first of several names
    /// (`one;other`); an empty value counts as absent.
    pub(super) fn get(&self, names: &str) -> Option<&'t str> {
        self.stated(names).map(|(_, value)| value)
    }

    /// Returns the same value with the name that is stated.
    fn stated<'n>(&self, names: &'n str) -> Option<(&'n str, &'t str)> {
        names
            .split(';')
            .filter_map(|name| Some((name, self.untrimmed(name)?.trim())))
            .find(|(_, value)| !value.is_empty())
    }

    /// Returns the value of a field as written.
    pub(super) fn untrimmed(&self, name: &str) -> Option<&'t str> {
        self.trigger.metadata.as_ref()?.get(name)?.as_str()
    }

    /// Whether a field is a Boolean that is true.
    pub(super) fn is_true(&self, name: &str) -> bool {
        self.get(name).and_then(go::parse_bool) == Some(true)
    }

    /// Returns a field that must be stated here.
    pub(super) fn need(&self, names: &str) -> Result<&'t str, Refused> {
        self.get(names).ok_or_else(|| self.missing(names))
    }

    /// Looks for a field in the order of its scaler.
    pub(super) fn find<'n>(&self, names: &'n str) -> KnownField<'n, 't> {
        let mut found = KnownField {
            stated: None,
            elsewhere: None,
        };
        let first = names.split(';').next().unwrap_or(names);
        for source in order(&self.trigger.type_, first) {
            let mut alternatives = names.split(';');
            let named = alternatives.find(|name| self.get(&format!("{name}FromEnv")).is_some());
            let other = match source {
                FieldSource::Metadata => None,
                FieldSource::Environment => named.map(|name| (name, source)),
                FieldSource::Authentication => self
                    .trigger
                    .authentication_ref
                    .as_ref()
                    .map(|_| (first, source)),
            };
            found.elsewhere = found.elsewhere.or(other);
            if source == FieldSource::Metadata {
                found.stated = self.stated(names);
                if found.stated.is_some() {
                    break;
                }
            }
        }
        found
    }

    /// Returns a field that determines a name or a target, with the name under which it is stated; `None` if it
    /// is not stated anywhere. A value that is stated here is assumed, even if authentication may have another.
    pub(super) fn known_field(
        &self,
        names: &'static str,
    ) -> Result<Option<(&'static str, &'t str)>, Gap> {
        let KnownField { stated, elsewhere } = self.find(names);
        match (stated, elsewhere) {
            (_, Some((name, FieldSource::Environment))) => {
                let why = format!("{name}FromEnv reads it from the container's environment");
                Err(Gap::Open(why))
            }
            (None, Some((name, _))) => {
                let why = format!("{name} may be in what authenticationRef leads to");
                Err(Gap::Open(why))
            }
            (Some((name, _)), Some(_)) => {
                self.assumed.borrow_mut().push(name);
                Ok(stated)
            }
            (_, None) => Ok(stated),
        }
    }

    /// Returns the value of such a field.
    pub(super) fn known(&self, names: &'static str) -> Result<Option<&'t str>, Gap> {
        Ok(self.known_field(names)?.map(|(_, value)| value))
    }

    /// Returns a field that must be stated somewhere.
    pub(super) fn known_need(&self, names: &'static str) -> Result<&'t str, Gap> {
        Ok(self.known(names)?.ok_or_else(|| self.missing(names))?)
    }

    /// Assumes that authentication does not have a field that would change the result.
    pub(super) fn assume_without(&self, name: &'static str) {
        if matches!(
            self.find(name).elsewhere,
            Some((_, FieldSource::Authentication))
        ) {
            self.assumed.borrow_mut().push(name);
        }
    }

    /// Returns the fields that were assumed, although authentication may have other values.
    pub(super) fn assumed(self) -> Vec<&'static str> {
        self.assumed.into_inner()
    }

    /// Returns the error for a missing field, with the key that may be meant.
    pub(super) fn missing(&self, names: &str) -> Refused {
        let name = names.split(';').next().unwrap_or(names);
        let error = self.refused(name, "required");
        match self.unread().find(|(_, meant)| meant == name) {
            Some((key, _)) => error.hint(format!("KEDA does not read {key}: {name} may be meant")),
            None => error,
        }
    }

    /// Returns the keys that the scaler does not read, each with the key that is probably meant.
    pub(super) fn unread(&self) -> impl Iterator<Item = (&'t str, String)> {
        let type_ = &*self.trigger.type_;
        let keys = self.trigger.metadata.iter().flat_map(BTreeMap::keys);
        keys.filter_map(move |key| {
            let (name, is_of_environment) = match key.strip_suffix("FromEnv") {
                Some(name) if order(type_, key).next().is_none() => (name, true),
                _ => (&**key, false),
            };
            let has = |source| order(type_, name).any(|own| own == source);
            match (
                is_of_environment,
                has(FieldSource::Metadata),
                has(FieldSource::Environment),
            ) {
                (_, false, false) => Some((&**key, self.similar(key)?.to_owned())),
                (true, _, false) => Some((key, name.to_owned())),
                (false, false, _) => Some((key, format!("{name}FromEnv"))),
                _ => None,
            }
        })
    }

    /// Returns the field that an unknown key is probably meant to be; only fields that are not stated qualify.
    fn similar(&self, key: &str) -> Option<&'static str> {
        let is_here =
            |name: &&str| order(&self.trigger.type_, name).any(|own| own == FieldSource::Metadata);
        let open = keys(&self.trigger.type_)
            .filter(is_here)
            .filter(|name| self.untrimmed(name).is_none());
        // A part of the name, such as `replicas` for `desiredReplicas`.
        let mut parts = open.clone().filter(|name| {
            let first = key.get(..1).unwrap_or_default().to_uppercase();
            name.strip_suffix(key.get(1..).unwrap_or(key))
                .is_some_and(|it| it.ends_with(&first))
        });
        let part = parts.next().filter(|_| parts.next().is_none());
        nearest(key, open).or(part)
    }

    /// Returns an int64, read as JSON (`setConfigValueHelper` in `typed_config.go`).
    pub(super) fn whole(&self, name: &str, text: &str) -> Result<i64, Refused> {
        serde_json::from_str(text).map_err(|_| self.refused(name, "must be a whole number"))
    }

    /// Returns a float64, read in the same way.
    pub(super) fn number(&self, name: &str, text: &str) -> Result<f64, Refused> {
        serde_json::from_str(text).map_err(|_| self.refused(name, "must be a number"))
    }

    /// Returns the name of a metric, like `GenerateMetricNameWithIndex` in `scaler.go` and `NormalizeString` in
    /// `normalize_string.go`.
    pub(super) fn with_index(&self, name: &str) -> String {
        let normalized = name.replace(['/', '.', ':', '%', '(', ')'], "-");
        format!("s{}-{normalized}", self.index)
    }

    /// Rejects the value of a field.
    pub(super) fn reject<T, E: From<Refused>>(
        &self,
        name: &str,
        message: impl Into<String>,
    ) -> Result<T, E> {
        Err(self.refused(name, message).into())
    }

    /// Returns the path of a field of the trigger.
    pub(super) fn path(&self, field: &str) -> String {
        format!("spec.triggers[{}].{field}", self.index)
    }

    /// Returns the error for a rejected value of a field.
    pub(super) fn refused(&self, name: &str, message: impl Into<String>) -> Refused {
        Refused::new(self.path(&format!("metadata.{name}")), message)
    }
}
