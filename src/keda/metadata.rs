//! The metadata of a trigger, as scalers read it.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::Refused;
use super::keys::keys;
use crate::apimachinery::names::nearest;

/// Why a scaler gives no name or target.
pub(super) enum Gap {
    Refused(Refused),
    /// Only KEDA can know it.
    Open(String),
}

impl From<Refused> for Gap {
    fn from(refused: Refused) -> Self {
        Self::Refused(refused)
    }
}

/// The metadata of a trigger as its scaler reads it, `configParamValue` in `typed_config.go`. Some fields
/// may also come from the environment of a container or from a TriggerAuthentication.
pub(super) struct Metadata<'t> {
    index: usize,
    type_: &'t str,
    values: &'t BTreeMap<String, Json>,
    is_authenticated: bool,
    /// The ScaledObject's.
    pub(super) namespace: Option<&'t str>,
}

/// What a field can come from besides the metadata, the `order` of its `keda` tag.
#[derive(Clone, Copy)]
pub(super) struct Sources {
    /// The environment of a container, named in the field with `FromEnv` at its end.
    pub(super) environment: bool,
    /// A TriggerAuthentication.
    pub(super) authentication: bool,
}

impl Sources {
    /// Both.
    pub(super) const ALL: Self = Self { environment: true, authentication: true };
}

impl<'t> Metadata<'t> {
    /// The metadata of the trigger of a type at this index.
    pub(super) fn new(
        index: usize,
        type_: &'t str,
        values: &'t BTreeMap<String, Json>,
        is_authenticated: bool,
        namespace: Option<&'t str>,
    ) -> Self {
        Self { index, type_, values, is_authenticated, namespace }
    }

    /// The trimmed value of a field, or of the first of several names (`one;other`); an empty one counts as
    /// absent.
    pub(super) fn get(&self, names: &str) -> Option<&'t str> {
        self.stated(names).map(|(_, value)| value)
    }

    /// The same with the name that is stated.
    pub(super) fn stated<'n>(&self, names: &'n str) -> Option<(&'n str, &'t str)> {
        let values = names.split(';').filter_map(|name| Some((name, self.untrimmed(name)?.trim())));
        values.into_iter().find(|(_, value)| !value.is_empty())
    }

    /// The value of a field as it is written.
    pub(super) fn untrimmed(&self, name: &str) -> Option<&'t str> {
        self.values.get(name)?.as_str()
    }

    /// Whether the trigger has an `authenticationRef`.
    pub(super) fn is_authenticated(&self) -> bool {
        self.is_authenticated
    }

    /// Where a field that is not stated here may come from; none where it comes from nowhere.
    pub(super) fn elsewhere(&self, name: &str, sources: Sources) -> Option<String> {
        let from_env = format!("{name}FromEnv");
        if sources.environment && self.get(&from_env).is_some() {
            return Some(format!("{from_env} reads it from the container's environment"));
        }
        (sources.authentication && self.is_authenticated)
            .then(|| format!("{name} may be in what authenticationRef leads to"))
    }

    /// A field that must stand here.
    pub(super) fn need(&self, names: &str) -> Result<&'t str, Refused> {
        self.get(names).ok_or_else(|| self.missing(names))
    }

    /// A field that may come from elsewhere; none where it is stated nowhere.
    pub(super) fn known(&self, name: &str) -> Result<Option<&'t str>, Gap> {
        if let Some(value) = self.get(name) {
            return Ok(Some(value));
        }
        match self.elsewhere(name, Sources::ALL) {
            Some(why) => Err(Gap::Open(why)),
            None => Ok(None),
        }
    }

    /// Makes sure that a field which is not stated (several names are separated by `;`) comes from nowhere
    /// else: from the environment, or if it has no default, from where the trigger authenticates.
    pub(super) fn is_elsewhere(&self, names: &str, has_default: bool) -> Result<(), Gap> {
        let sources = Sources { authentication: !has_default, ..Sources::ALL };
        match names.split(';').find_map(|name| self.elsewhere(name, sources)) {
            Some(why) => Err(Gap::Open(why)),
            None => Ok(()),
        }
    }

    /// One that may come from elsewhere, but must come.
    pub(super) fn known_need(&self, name: &str) -> Result<&'t str, Gap> {
        Ok(self.known(name)?.ok_or_else(|| self.missing(name))?)
    }

    /// That a field is missing, with the one that may be meant.
    pub(super) fn missing(&self, names: &str) -> Refused {
        let name = names.split(';').next().unwrap_or(names);
        let error = self.refused(name, "required");
        let unread = self.unread().find(|(_, meant)| *meant == name).map(|(key, _)| key);
        match unread {
            Some(key) => error.hint(format!("KEDA does not read {key}: {name} may be meant")),
            None => error,
        }
    }

    /// Returns the keys that the scaler does not read, each with the field that is probably meant.
    pub(super) fn unread(&self) -> impl Iterator<Item = (&'t str, &'static str)> {
        let known = keys(self.type_);
        let unread = self.values.keys().map(String::as_str).filter({
            let known = known.clone();
            move |key| {
                let name = key.strip_suffix("FromEnv").unwrap_or(key);
                let is_it = |own: &str| match own.strip_suffix('*') {
                    Some(start) => name.starts_with(start),
                    None => own == name,
                };
                !known.clone().any(is_it)
            }
        });
        unread.filter_map(move |key| {
            let open = known.clone().filter(|name| !self.values.contains_key(*name));
            // A part of the name, such as replicas of desiredReplicas.
            let mut parts = open.clone().filter(|name| {
                let first = key.get(..1).unwrap_or_default().to_uppercase();
                name.strip_suffix(key.get(1..).unwrap_or(key))
                    .is_some_and(|it| it.ends_with(&first))
            });
            let part = parts.next().filter(|_| parts.next().is_none());
            Some((key, nearest(key, open).or(part)?))
        })
    }

    /// An int64, read as JSON (`setConfigValueHelper` in `typed_config.go`).
    pub(super) fn whole(&self, name: &str, text: &str) -> Result<i64, Refused> {
        serde_json::from_str(text).map_err(|_| self.refused(name, "must be a whole number"))
    }

    /// A float64, read alike.
    pub(super) fn number(&self, name: &str, text: &str) -> Result<f64, Refused> {
        serde_json::from_str(text).map_err(|_| self.refused(name, "must be a number"))
    }

    /// The name of a metric, `GenerateMetricNameWithIndex` in `scaler.go` and `NormalizeString` in
    /// `normalize_string.go`.
    pub(super) fn with_index(&self, name: &str) -> String {
        let normalized = name.replace(['/', '.', ':', '%', '(', ')'], "-");
        format!("s{}-{normalized}", self.index)
    }

    /// That the value of a field is refused.
    pub(super) fn refused(&self, name: &str, message: impl Into<String>) -> Refused {
        Refused::new(format!("spec.triggers[{}].metadata.{name}", self.index), message)
    }
}
