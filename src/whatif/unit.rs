//! Whether an amount has the unit of its metric. One user reads a bare number as a percentage, another as cores, so for
//! a utilization target neither is assumed: the error says how to write each.

use crate::apimachinery::quantity::Amount;
use crate::error::Error;
use crate::numbers::{decimal, resource_amount};
use crate::snapshot::hpa::MetricSpec;

/// A KiB in thousandths of a byte.
const KI: i64 = 1024 * 1000;

/// The kind of a resource, which determines its unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ResourceKind {
    Cores,
    Bytes,
    Other,
}

impl ResourceKind {
    fn of(resource: &str) -> Self {
        match resource {
            "cpu" => Self::Cores,
            "memory" => Self::Bytes,
            _ => Self::Other,
        }
    }

    /// Returns an amount with its unit as text.
    fn words(self, number: &str) -> String {
        let s = if number == "1" { "" } else { "s" };
        match self {
            Self::Cores => format!("{number} core{s}"),
            Self::Bytes => format!("{number} byte{s}"),
            Self::Other => format!("an amount of {number}"),
        }
    }

    /// Returns the same amount with an unambiguous unit.
    fn with_unit(self, milli: i64) -> String {
        match self {
            Self::Bytes if milli % KI == 0 => format!("{}Ki", milli / KI),
            Self::Bytes => format!("{}k", decimal(milli, 6)),
            Self::Cores | Self::Other => format!("{milli}m"),
        }
    }
}

/// Returns an example of an amount of a resource with a usual unit.
pub(super) fn example(resource: &str) -> &'static str {
    match ResourceKind::of(resource) {
        ResourceKind::Bytes => "512Mi",
        ResourceKind::Cores | ResourceKind::Other => "250m",
    }
}

/// Returns an amount of a resource as a flag takes it: never as a bare number, and memory from a MiB on in whole KiB.
pub(super) fn stated(resource: &str, milli: i64) -> String {
    let milli = match ResourceKind::of(resource) {
        ResourceKind::Bytes if milli >= 1024 * KI => milli - milli % KI,
        _ => milli,
    };
    let text = resource_amount(resource, milli).canonicalized().to_string();
    match unit(&text) {
        "" => ResourceKind::of(resource).with_unit(milli),
        _ => text,
    }
}

/// Checks that a value typed for a metric or its target is unambiguous. `typed` inserts an alternative in
/// place of the value, as it would be typed.
///
/// # Errors
///
/// What is wrong with the value, and what to type instead.
pub(super) fn check(
    spec: &MetricSpec,
    value: &str,
    typed: impl Fn(&str) -> String,
) -> Result<(), String> {
    if !spec.is_resource() {
        return Ok(());
    }
    check_amount(spec.name(), spec.is_utilization(), value, typed)
}

/// Checks that the value at the end of a flag, as it was typed, is unambiguous.
///
/// # Errors
///
/// What is wrong with the flag, and what to type instead.
pub(super) fn check_flag(spec: &MetricSpec, value: &str, flag: &str) -> Result<(), Error> {
    let before = flag.strip_suffix(value).unwrap_or(flag);
    check(spec, value, |other| format!("{before}{other}"))
        .map_err(|why| Error::usage(why).within(flag))
}

/// Checks that an amount of a resource is unambiguous; a bare number is ambiguous if it could also be a percentage of
/// the request.
///
/// # Errors
///
/// What is wrong with the value, and what to type instead.
pub(super) fn check_amount(
    resource: &str,
    of_request: bool,
    value: &str,
    typed: impl Fn(&str) -> String,
) -> Result<(), String> {
    // Anything but an amount has a meaning of its own, and text that is neither is rejected elsewhere.
    let Ok(amount) = Amount::parse(value) else {
        return Ok(());
    };
    // 0 is the same in every unit.
    if amount.signum() == 0 {
        return Ok(());
    }
    let kind = ResourceKind::of(resource);
    let unit = unit(value);
    match (kind, unit) {
        (_, "") => {
            if !of_request {
                return match kind {
                    ResourceKind::Bytes if amount.signum() > 0 && amount.milli_value() < KI => {
                        Err(format!(
                            "{value} bytes are less than a KiB: {value} MiB is {}",
                            typed(&format!("{value}Mi"))
                        ))
                    }
                    _ => Ok(()),
                };
            }
            let milli = amount.milli_value();
            let number = decimal(milli, 3);
            // A value below one percent is never meant.
            let is_fraction = (1..1000).contains(&milli);
            let percent = decimal(milli, if is_fraction { 1 } else { 3 });
            Err(format!(
                "ambiguous, because the target of {resource} is a utilization: {percent}% of the \
                 request is {}, {} is {}",
                typed(&format!("{percent}%")),
                kind.words(&number),
                typed(&kind.with_unit(milli)),
            ))
        }
        (ResourceKind::Cores, "n" | "u" | "m") => Ok(()),
        (ResourceKind::Cores, unit) => {
            let number = value.trim_end_matches(unit);
            Err(format!(
                "{unit} is not a unit of cpu, which is measured in cores: {number} thousandths of a \
                 core is {}",
                typed(&format!("{number}m"))
            ))
        }
        // A status has averages in thousandths of a byte, but no pod uses so little.
        (ResourceKind::Bytes, "n" | "u" | "m") if amount.milli_value() < KI => {
            let number = value.trim_end_matches(unit);
            Err(format!(
                "less than a KiB, because {unit} is a part of a byte: {number} MiB is {}",
                typed(&format!("{number}Mi"))
            ))
        }
        _ => Ok(()),
    }
}

/// The unit behind the number; an exponent is part of the number.
fn unit(amount: &str) -> &str {
    let rest = amount.trim_start_matches(|c: char| c.is_ascii_digit() || "+-.".contains(c));
    let exponent = rest.strip_prefix(['e', 'E']).unwrap_or("");
    let digits = exponent.trim_start_matches(['+', '-']);
    let is_exponent = !digits.is_empty() && digits.bytes().all(|c| c.is_ascii_digit());
    if is_exponent { "" } else { rest }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::{check, stated};
    use crate::build;
    use crate::snapshot::hpa::MetricSpec;

    fn metric(resource: &str, target: &Value) -> MetricSpec {
        serde_json::from_value(build::resource(resource, target)).unwrap()
    }

    #[test]
    fn amounts_are_stated_with_a_unit() {
        for (resource, milli, want) in [
            ("cpu", 720, "720m"),
            ("cpu", 2000, "2000m"),
            ("memory", 500_000, "0.5k"),
            ("memory", 134_217_728_000, "128Mi"),
            ("memory", 697_932_185_600, "681574Ki"),
        ] {
            assert_eq!(stated(resource, milli), want);
        }
    }

    #[test]
    fn an_amount_says_what_it_means_or_is_refused_with_what_to_type() {
        let percent = &build::utilization(70);
        let amount = &build::average("1");
        let refusal = |resource: &str, target: &Value, value: &str| {
            let alternative = |value: &str| format!("<{value}>");
            check(&metric(resource, target), value, alternative).err()
        };
        for (resource, target, value) in [
            ("cpu", percent, "80%"),
            ("cpu", percent, "800m"),
            ("cpu", percent, "+20%"),
            ("cpu", percent, "x2"),
            ("cpu", percent, "missing"),
            ("cpu", percent, "0"),
            ("cpu", amount, "0Mi"),
            ("memory", percent, "0m"),
            ("memory", amount, "0n"),
            ("cpu", percent, "12345678n"),
            ("cpu", amount, "80"),
            ("memory", percent, "900Mi"),
            ("memory", percent, "1G"),
            ("memory", percent, "81249578666m"),
        ] {
            assert_eq!(refusal(resource, target, value), None, "{resource} {value}");
        }
        for (resource, value, share, whole) in [
            ("cpu", "80", "80%", "80 cores is <80000m>"),
            ("cpu", "1.5", "1.5%", "1.5 cores is <1500m>"),
            ("cpu", "0.8", "80%", "0.8 cores is <800m>"),
            ("cpu", "1e1", "10%", "10 cores is <10000m>"),
            ("cpu", "-0.5", "-0.5%", "-0.5 cores is <-500m>"),
            ("memory", "900", "900%", "900 bytes is <0.9k>"),
            ("memory", "2048", "2048%", "2048 bytes is <2Ki>"),
            ("example.com/gpu", "2", "2%", "an amount of 2 is <2000m>"),
        ] {
            let ambiguous = format!(
                "ambiguous, because the target of {resource} is a utilization: {share} of the request \
                 is <{share}>, {whole}"
            );
            let found = refusal(resource, percent, value);
            assert_eq!(found, Some(ambiguous), "{resource} {value}");
        }
        for (target, unit) in [(amount, "Mi"), (percent, "Ki"), (percent, "k")] {
            let other = format!(
                "{unit} is not a unit of cpu, which is measured in cores: 400 thousandths of a core \
                 is <400m>"
            );
            let found = refusal("cpu", target, &format!("400{unit}"));
            assert_eq!(found, Some(other), "{unit}");
        }
        for (value, small) in [
            ("900", "900 bytes are less than a KiB: 900 MiB is <900Mi>"),
            (
                "400m",
                "less than a KiB, because m is a part of a byte: 400 MiB is <400Mi>",
            ),
        ] {
            let found = refusal("memory", amount, value);
            assert_eq!(found.as_deref(), Some(small), "{value}");
        }
        // Other metrics have no unit that is known.
        let other = build::external("queue", &build::average("1"));
        let other: MetricSpec = serde_json::from_value(other).unwrap();
        for value in ["30", "30Mi", "30m"] {
            assert_eq!(check(&other, value, str::to_owned), Ok(()));
        }
    }
}
