//! The flags of the HPA controller on which a pass depends, in one table: as typed, as in a saved state and
//! as the controller manager runs with them.

use clap::Args;
use jiff::SignedDuration;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use crate::apimachinery::go::{self, GoDuration};
use crate::numbers;

/// The known flags; the others have their defaults.
#[derive(Debug, Clone, Copy, Default, PartialEq, Args, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Flags {
    /// How far the metric ratio must differ from 1 for the replicas to change (default 0.1)
    #[arg(long, value_name = "FRACTION", value_parser = typed_fraction, allow_hyphen_values = true)]
    #[serde(
        deserialize_with = "stated_fraction",
        skip_serializing_if = "Option::is_none"
    )]
    pub tolerance: Option<f64>,

    /// Period in which past recommendations prevent scaling below them (default 5m)
    #[arg(long, value_name = "DURATION", value_parser = numbers::parse_duration, allow_hyphen_values = true)]
    #[serde(with = "stated_duration", skip_serializing_if = "Option::is_none")]
    pub downscale_stabilization: Option<SignedDuration>,

    /// Period after a pod's start in which CPU samples may be skipped (default 5m)
    #[arg(long, value_name = "DURATION", value_parser = numbers::parse_duration, allow_hyphen_values = true)]
    #[serde(with = "stated_duration", skip_serializing_if = "Option::is_none")]
    pub cpu_initialization_period: Option<SignedDuration>,

    /// Period after a pod's start in which readiness changes count as initial readiness (default
    /// 30s)
    #[arg(long, value_name = "DURATION", value_parser = numbers::parse_duration, allow_hyphen_values = true)]
    #[serde(with = "stated_duration", skip_serializing_if = "Option::is_none")]
    pub initial_readiness_delay: Option<SignedDuration>,

    /// Time between two passes of the controller (default 15s)
    #[arg(long, value_name = "DURATION", value_parser = numbers::parse_duration, allow_hyphen_values = true)]
    #[serde(with = "stated_duration", skip_serializing_if = "Option::is_none")]
    pub sync_period: Option<SignedDuration>,
}

/// One of the flags with values of a type.
pub(crate) struct Flag<T> {
    /// The flag's name after `--horizontal-pod-autoscaler-`.
    pub(crate) name: &'static str,
    pub(crate) default: T,
    /// Prints a value for people.
    pub(crate) shown: fn(T) -> String,
    /// Reads a value as the controller manager does.
    parse: fn(&str) -> Result<T, String>,
    field: fn(&mut Flags) -> &mut Option<T>,
}

pub(crate) const TOLERANCE: Flag<f64> = Flag {
    name: "tolerance",
    default: 0.1,
    shown: |fraction| fraction.to_string(),
    parse: fraction,
    field: |flags| &mut flags.tolerance,
};
pub(crate) const DOWNSCALE_STABILIZATION: Flag<SignedDuration> =
    Flag::duration("downscale-stabilization", 300, |flags| {
        &mut flags.downscale_stabilization
    });
pub(crate) const CPU_INITIALIZATION_PERIOD: Flag<SignedDuration> =
    Flag::duration("cpu-initialization-period", 300, |flags| {
        &mut flags.cpu_initialization_period
    });
pub(crate) const INITIAL_READINESS_DELAY: Flag<SignedDuration> =
    Flag::duration("initial-readiness-delay", 30, |flags| {
        &mut flags.initial_readiness_delay
    });
pub(crate) const SYNC_PERIOD: Flag<SignedDuration> =
    Flag::duration("sync-period", 15, |flags| &mut flags.sync_period);

/// The flags that are durations: all but [`TOLERANCE`].
pub(crate) const DURATIONS: [Flag<SignedDuration>; 4] = [
    DOWNSCALE_STABILIZATION,
    CPU_INITIALIZATION_PERIOD,
    INITIAL_READINESS_DELAY,
    SYNC_PERIOD,
];

impl Flag<SignedDuration> {
    const fn duration(
        name: &'static str,
        default: i64,
        field: fn(&mut Flags) -> &mut Option<SignedDuration>,
    ) -> Self {
        let default = SignedDuration::from_secs(default);
        Self {
            name,
            default,
            shown: numbers::duration,
            parse: duration,
            field,
        }
    }
}

impl<T: Copy> Flag<T> {
    pub(crate) fn get(&self, mut flags: Flags) -> Option<T> {
        *(self.field)(&mut flags)
    }

    pub(crate) fn set(&self, flags: &mut Flags, value: Option<T>) {
        *(self.field)(flags) = value;
    }

    pub(crate) fn or_default(&self, flags: Flags) -> T {
        self.get(flags).unwrap_or(self.default)
    }

    fn read(&self, flags: &mut Flags, text: &str) -> Result<(), String> {
        self.set(flags, Some((self.parse)(text)?));
        Ok(())
    }
}

impl Flags {
    /// Returns the name of a flag if it is in the table.
    pub(crate) fn known_name(name: &str) -> Option<&'static str> {
        let names = DURATIONS
            .iter()
            .map(|flag| flag.name)
            .chain([TOLERANCE.name]);
        names.into_iter().find(|known| *known == name)
    }

    /// Returns the known flags as a command line has them, with exact values.
    pub(crate) fn typed(self) -> impl Iterator<Item = (String, String)> {
        let tolerance = TOLERANCE
            .get(self)
            .map(|value| (TOLERANCE.name, value.to_string()));
        let durations = DURATIONS
            .into_iter()
            .filter_map(move |flag| Some((flag.name, go::duration(flag.get(self)?))));
        let all = tolerance.into_iter().chain(durations);
        all.map(|(name, value)| (format!("--{name}"), value))
    }

    /// Sets the flag of this name to the value that the controller manager reads from a text.
    pub(crate) fn read(&mut self, name: &str, text: &str) -> Result<(), String> {
        match DURATIONS.iter().find(|flag| flag.name == name) {
            Some(flag) => flag.read(self, text),
            None => TOLERANCE.read(self, text),
        }
    }
}

/// The error for a text that is not a fraction.
const NO_FRACTION: &str = "not a fraction such as 0.1";

fn fraction(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(fraction) if fraction.is_finite() && fraction >= 0.0 => Ok(fraction),
        _ => Err(format!("{} is {NO_FRACTION}", go::quote(text))),
    }
}

fn duration(text: &str) -> Result<SignedDuration, String> {
    match go::parse_duration(text) {
        Some(duration) if !duration.is_negative() => Ok(duration),
        _ => Err(format!(
            "{} is not a duration such as 5m0s",
            go::quote(text)
        )),
    }
}

/// Reads a fraction without a plus sign, which could be mistaken for a change of the default.
fn typed_fraction(text: &str) -> Result<f64, &'static str> {
    fraction(text)
        .ok()
        .filter(|_| !text.starts_with('+'))
        .ok_or(NO_FRACTION)
}

fn stated_fraction<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    match Option::<f64>::deserialize(deserializer)? {
        Some(fraction) if fraction < 0.0 => {
            Err(D::Error::custom("a tolerance must not be negative"))
        }
        fraction => Ok(fraction),
    }
}

mod stated_duration {
    use jiff::SignedDuration;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::GoDuration;

    pub(super) fn serialize<S: Serializer>(
        duration: &Option<SignedDuration>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        duration.map(GoDuration).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<SignedDuration>, D::Error> {
        match Option::<GoDuration>::deserialize(deserializer)? {
            Some(GoDuration(duration)) if duration.is_negative() => {
                Err(D::Error::custom("a duration must not be negative"))
            }
            duration => Ok(duration.map(|GoDuration(duration)| duration)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::typed_fraction;

    #[test]
    fn a_typed_fraction_is_finite_and_has_no_sign() {
        assert_eq!(typed_fraction("0.05"), Ok(0.05));
        for text in ["-1", "+0.1", "NaN", "inf", "x", ""] {
            assert!(typed_fraction(text).is_err(), "{text}");
        }
    }
}
