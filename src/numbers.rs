//! Numbers and lists in readable form: durations, ages, shares and amounts, rounded so that they are easy to
//! read, and written so that flags accept them; not every flag accepts days. JSON, saved states and the
//! controller's own messages have the exact ones. Knows nothing about HPAs.

use std::borrow::Borrow;

use jiff::SignedDuration;

use crate::apimachinery::go;
use crate::apimachinery::quantity::{Format, Quantity};

/// `5m`, `1h30m`, `17.068s`: a duration without its zero parts.
pub(crate) fn duration(duration: SignedDuration) -> String {
    let total = duration.as_secs();
    let sign = if duration.is_negative() { "-" } else { "" };
    let (hours, minutes) = ((total / 3600).abs(), (total / 60 % 60).abs());
    let (seconds, millis) = ((total % 60).abs(), duration.subsec_millis().abs());
    let mut text = sign.to_owned();
    if hours > 0 {
        text += &format!("{hours}h");
    }
    if minutes > 0 {
        text += &format!("{minutes}m");
    }
    if millis > 0 {
        let fraction = format!("{millis:03}");
        text += &format!("{seconds}.{}s", fraction.trim_end_matches('0'));
    } else if seconds > 0 || (hours == 0 && minutes == 0) {
        text += &format!("{seconds}s");
    }
    text
}

/// `7d`, `1d4h`, `1h12m`, `6m30s`: a duration that may be long, to the minute from an hour on.
pub(crate) fn long(length: SignedDuration) -> String {
    const HOUR: i64 = 3600;
    if length.as_secs() < HOUR {
        // Milliseconds of long durations are of no interest.
        let is_long = length.as_secs() >= 10;
        return duration(if is_long {
            length.round(jiff::Unit::Second).unwrap_or(length)
        } else {
            length
        });
    }
    let minutes = (length.as_secs() + 30) / 60;
    let parts = [
        (minutes / 1440, 'd'),
        (minutes / 60 % 24, 'h'),
        (minutes % 60, 'm'),
    ];
    parts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, unit)| format!("{count}{unit}"))
        .collect()
}

/// Parses a duration as people type it: in Go's syntax, which may begin with days, or as seconds without a
/// unit.
pub(crate) fn parse_duration(text: &str) -> Result<SignedDuration, NoDuration> {
    let is_number = !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit() || c == b'.');
    let typed = format!("{text}{}", if is_number { "s" } else { "" });
    let zeros = || typed.replace(|c: char| c.is_ascii_digit(), "0");
    match duration_with_days(&typed) {
        Some(duration) if duration.is_negative() => Err(NoDuration::Negative),
        Some(duration) => Ok(duration),
        // Only its digits are wrong. Of a single zero, Go expects no unit.
        None if !typed.ends_with(|c: char| c.is_ascii_digit())
            && duration_with_days(&zeros()).is_some() =>
        {
            Err(NoDuration::Long)
        }
        None => Err(NoDuration::Form),
    }
}

/// A duration as Go reads it, which may begin with days: `7d`, `1d10h24m`.
pub(crate) fn duration_with_days(text: &str) -> Option<SignedDuration> {
    let Some((days, rest)) = text.split_once('d') else {
        return go::parse_duration(text);
    };
    let is_number = !days.is_empty() && days.bytes().all(|c| c.is_ascii_digit());
    let count: i64 = days.parse().ok().filter(|_| is_number)?;
    let is_whole = rest.is_empty() || rest.starts_with(|c: char| c.is_ascii_digit());
    let hours = count.checked_mul(24).filter(|_| is_whole)?;
    // Alone, Go reads a zero without a unit.
    let rest = if rest == "0" { "" } else { rest };
    // Go's limit of 292 years holds for the sum.
    go::parse_duration(&format!("{hours}h{rest}"))
}

/// A text is not a duration that people may type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoDuration {
    #[error("must not be negative")]
    Negative,
    #[error("must not be longer than 292 years")]
    Long,
    #[error("not a duration such as 5m, 1m30s, or 90 for seconds")]
    Form,
}

/// An age, in at most two units and rough if it is long, much as kubectl shows it.
pub(crate) fn age(age: SignedDuration) -> String {
    let seconds = age.as_secs().max(0);
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86400);
    match seconds {
        0..120 => format!("{seconds}s"),
        120..600 if seconds % 60 != 0 => format!("{minutes}m{}s", seconds % 60),
        120..10800 => format!("{minutes}m"),
        10800..172_800 if minutes % 60 != 0 => format!("{hours}h{}m", minutes % 60),
        10800..172_800 => format!("{hours}h"),
        172_800..691_200 if hours % 24 != 0 => format!("{days}d{}h", hours % 24),
        _ => format!("{days}d"),
    }
}

/// A share of 1 in percent, with at most one decimal: `10%`, `94.3%`.
pub(crate) fn percent(share: f64) -> String {
    let text = format!("{:.1}", share * 100.0);
    format!("{}%", without_zeros(&text))
}

/// A part of a whole in percent: only zero is 0%, and only the whole is 100%.
pub(crate) fn part(share: f64) -> String {
    match percent(share) {
        text if text == "0%" && share > 0.0 => "less than 0.1%".to_owned(),
        text if text == "100%" && share < 1.0 => "more than 99.9%".to_owned(),
        text => text,
    }
}

/// An amount: below 1 in thousandths (`515m`), above as a decimal number (`6262.5`); bytes in the largest
/// binary unit that they reach, with at most one decimal (`672.5Mi`).
pub(crate) fn quantity(quantity: &Quantity) -> String {
    const UNITS: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
    let exact = quantity.to_string();
    let units = quantity.approximate_f64();
    if quantity.format() == Format::BinarySI && units.abs() >= 1024.0 {
        let (mut scaled, mut unit) = (units, 0);
        // A number that rounds to 1024 of a unit is 1 of the next.
        while scaled.abs() >= 1023.95 && unit + 1 < UNITS.len() {
            scaled /= 1024.0;
            unit += 1;
        }
        return format!("{}{}", without_zeros(&format!("{scaled:.1}")), UNITS[unit]);
    }
    let milli = thousandths(quantity).filter(|milli| milli.unsigned_abs() >= 1000);
    if let Some(milli) = milli.filter(|_| exact.ends_with('m')) {
        return decimal(milli, 3);
    }
    let is_decimal = exact.contains('.') && !exact.contains(['e', 'E']);
    if is_decimal && exact.ends_with('0') {
        return without_zeros(&exact).to_owned();
    }
    exact
}

/// Formats an amount without thousandths: anything but a resource is counted in ones, so half a message is
/// `0.5` and not `500m`.
pub(crate) fn plain_quantity(amount: &Quantity) -> String {
    match thousandths(amount) {
        Some(milli) if milli.unsigned_abs() < 1000 && milli != 0 => decimal(milli, 3),
        _ => quantity(amount),
    }
}

/// Formats an amount without any unit.
pub(crate) fn bare_number(amount: &Quantity) -> String {
    match thousandths(amount) {
        Some(milli) => decimal(milli, 3),
        None => number(amount.approximate_f64()),
    }
}

/// Returns an amount in thousandths if they fit: the controller's own conversion overflows.
fn thousandths(amount: &Quantity) -> Option<i64> {
    // Above what a float may lose, and far below what an overflow changes.
    const NEAR: f64 = 16.0;
    let milli = amount.milli_value();
    let is_near = (milli as f64 / 1000.0 - amount.approximate_f64()).abs() < NEAR;
    is_near.then_some(milli)
}

/// A border between amounts, which is seldom round: millions in the largest decimal unit that they reach, with
/// at most three decimals (`333.333M`).
pub(crate) fn border(border: &Quantity) -> String {
    const UNITS: [&str; 5] = ["M", "G", "T", "P", "E"];
    const LONG: usize = 7;
    let text = quantity(border);
    let mut scaled = border.approximate_f64() / 1e6;
    if border.format() == Format::BinarySI || scaled.abs() < 1.0 || text.len() <= LONG {
        return text;
    }
    let mut units = UNITS.into_iter();
    // A number that rounds to 1000 of a unit is 1 of the next.
    while scaled.abs() >= 999.9995 && units.len() > 1 {
        scaled /= 1000.0;
        units.next();
    }
    format!(
        "{}{}",
        without_zeros(&format!("{scaled:.3}")),
        units.next().unwrap_or_default()
    )
}

/// Returns the usual format for amounts of a resource.
pub(crate) fn format_of(resource: &str) -> Format {
    if ["memory", "ephemeral-storage"].contains(&resource) || resource.starts_with("hugepages-") {
        Format::BinarySI
    } else {
        Format::DecimalSI
    }
}

/// Returns an amount of a resource in its usual format.
pub(crate) fn resource_amount(resource: &str, milli: i64) -> Quantity {
    Quantity::from_milli(milli, format_of(resource))
}

/// A number without trailing zeros, to four places.
pub(crate) fn number(f: f64) -> String {
    if f.is_nan() {
        return "NaN".to_owned();
    }
    if f.is_infinite() {
        return if f > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    match without_zeros(&format!("{f:.4}")) {
        "-0" => "0".to_owned(),
        text => text.to_owned(),
    }
}

/// A number of which the last `places` digits are behind the point, without trailing zeros: `-0.5` for -500 with
/// three places.
pub(crate) fn decimal(number: i64, places: u32) -> String {
    let sign = if number < 0 { "-" } else { "" };
    let one = 10_u64.pow(places);
    let (whole, rest) = (number.unsigned_abs() / one, number.unsigned_abs() % one);
    let width = places as usize;
    without_zeros(&format!("{sign}{whole}.{rest:0width$}")).to_owned()
}

fn without_zeros(decimal: &str) -> &str {
    decimal.trim_end_matches('0').trim_end_matches('.')
}

/// `1 pod`, `2 pods`.
pub(crate) fn count(n: impl TryInto<i64>, noun: &str) -> String {
    match n.try_into() {
        Ok(1) => format!("1 {noun}"),
        Ok(n) => format!("{n} {noun}s"),
        Err(_) => format!("many {noun}s"),
    }
}

/// `a`, `a and b`, `a, b and c`.
pub(crate) fn list<T: Borrow<str>>(parts: &[T]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.borrow().to_owned(),
        [first @ .., last] => format!("{} and {}", first.join(", "), last.borrow()),
    }
}

/// The first few of some texts, and the number of the others: `a`, `b`, `3 more`.
pub(crate) fn shortened<T: AsRef<str>>(texts: &[T], most: usize) -> Vec<String> {
    let first = texts.iter().take(most).map(|text| text.as_ref().to_owned());
    let others = texts.len().saturating_sub(most);
    let more = (others > 0).then(|| format!("{others} more"));
    first.chain(more).collect()
}

/// The same as a list: `a, b and 3 more`.
pub(crate) fn first_few<T: AsRef<str>>(texts: &[T], most: usize) -> String {
    list(&shortened(texts, most))
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::{
        age, border, count, duration, long, number, part, percent, plain_quantity, quantity,
    };
    use crate::apimachinery::go;
    use crate::apimachinery::quantity::{Format, Quantity};

    #[test]
    fn borders_in_millions_have_units() {
        for (milli, format, text) in [
            (333_333_333_333, Format::DecimalSI, "333.333M"),
            (450_000_001_000, Format::DecimalSI, "450M"),
            (1_234_567_000_000, Format::DecimalSI, "1.235G"),
            (999_999_900_000_000, Format::DecimalSI, "1T"),
            (-333_333_333_333, Format::DecimalSI, "-333.333M"),
            // Short ones, smaller ones, and bytes stay as they are.
            (500_000_000_000, Format::DecimalSI, "500M"),
            (333_333_333, Format::DecimalSI, "333333.333"),
            (9_090_909, Format::DecimalSI, "9090.909"),
            (333_333_333_333, Format::BinarySI, "317.9Mi"),
        ] {
            assert_eq!(border(&Quantity::from_milli(milli, format)), text);
        }
    }

    #[test]
    fn amounts_end_without_zeros() {
        for (written, shown) in [
            ("1.500", "1.5"),
            ("2.100", "2.1"),
            ("-1.50", "-1.5"),
            ("150", "150"),
            ("1.0e10", "1.0e10"),
            ("1.50E+20", "1.50E+20"),
            // More than fits in thousandths.
            ("10000000000000000001m", "10000000000000000001m"),
            ("18446744073709552", "18446744073709552"),
        ] {
            let amount = Quantity::parse(written).expect("a quantity");
            assert_eq!(quantity(&amount), shown);
            assert_eq!(plain_quantity(&amount), shown);
        }
        let amount = Quantity::parse("20P").expect("a quantity");
        assert_eq!(border(&amount), "20P");
    }

    /// More than fits in thousandths.
    #[test]
    fn bytes_have_the_largest_unit_that_they_reach() {
        for (written, shown) in [
            ("1536", "1536"),
            ("1536Ki", "1.5Mi"),
            ("8Pi", "8Pi"),
            ("16Pi", "16Pi"),
            ("7.5Ei", "7.5Ei"),
            ("-16Pi", "-16Pi"),
        ] {
            let amount = Quantity::parse(written).expect("a quantity");
            assert_eq!(quantity(&amount), shown);
        }
        // As a status may have it.
        let amount = Quantity::parse("18014398509481984").expect("a quantity");
        assert_eq!(quantity(&amount.in_format(Format::BinarySI)), "16Pi");
    }

    #[test]
    fn durations_leave_out_zero_parts() {
        for (millis, text) in [
            (0, "0s"),
            (300_000, "5m"),
            (17_068, "17.068s"),
            (5_400_000, "1h30m"),
            (90_000, "1m30s"),
            (-15_000, "-15s"),
        ] {
            let exact = SignedDuration::from_millis(millis);
            assert_eq!(duration(exact), text);
            assert_eq!(go::parse_duration(text), Some(exact), "a flag takes {text}");
        }
    }

    #[test]
    fn long_durations_have_days() {
        for (seconds, text) in [
            (0, "0s"),
            (3599, "59m59s"),
            (3600, "1h"),
            (4340, "1h12m"),
            (86_399, "1d"),
            (100_800, "1d4h"),
            (604_800, "7d"),
        ] {
            assert_eq!(long(SignedDuration::from_secs(seconds)), text);
        }
    }

    #[test]
    fn typed_durations_need_no_unit() {
        use super::{NoDuration, parse_duration};
        for (text, millis) in [
            ("1m30s", 90_000),
            ("600", 600_000),
            ("1.5", 1500),
            ("7d", 604_800_000),
            ("1d10h24m", 123_840_000),
            ("1d0", 86_400_000),
            ("106751d23h47m16s", 9_223_372_036_000),
        ] {
            assert_eq!(
                parse_duration(text),
                Ok(SignedDuration::from_millis(millis)),
                "{text}"
            );
        }
        assert_eq!(parse_duration("-1s"), Err(NoDuration::Negative));
        for text in [
            "5x",
            "",
            ".",
            "-1",
            "d",
            "1.5d",
            "1d-1h",
            "1h1d",
            "1d5",
            "-5",
            "99999999999999999999d1",
        ] {
            assert_eq!(parse_duration(text), Err(NoDuration::Form), "{text}");
        }
        for text in [
            "9999999999999999d",
            "99999999999999999999",
            "99999999h",
            "106751d23h47m17s",
            "106751991167300d15h30m7s",
        ] {
            assert_eq!(parse_duration(text), Err(NoDuration::Long), "{text}");
        }
    }

    #[test]
    fn ages_have_two_units_at_most() {
        for (seconds, text) in [
            (0, "0s"),
            (119, "119s"),
            (200, "3m20s"),
            (240, "4m"),
            (7200, "120m"),
            (57_128, "15h52m"),
            (90_000, "25h"),
            (200_000, "2d7h"),
            (259_199, "2d23h"),
            (259_200, "3d"),
            (700_000, "8d"),
        ] {
            assert_eq!(age(SignedDuration::from_secs(seconds)), text);
        }
    }

    #[test]
    fn one_is_alone() {
        assert_eq!(count(1, "pod"), "1 pod");
        assert_eq!(count(0, "pod"), "0 pods");
    }

    #[test]
    fn shares_have_one_decimal_at_most() {
        for (share, text) in [
            (0.942_857, "94.3%"),
            (0.1, "10%"),
            (1.1, "110%"),
            (0.0, "0%"),
        ] {
            assert_eq!(percent(share), text);
        }
    }

    #[test]
    fn parts_are_never_rounded_to_nothing_or_the_whole() {
        for (share, text) in [
            (0.0, "0%"),
            (0.000_4, "less than 0.1%"),
            (0.5, "50%"),
            (0.999_6, "more than 99.9%"),
            (1.0, "100%"),
        ] {
            assert_eq!(part(share), text);
        }
    }

    #[test]
    fn amounts_are_plain_and_can_be_typed_again() {
        use Format::{BinarySI, DecimalSI};
        for (milli, format, text) in [
            (515, DecimalSI, "515m"),
            (1000, DecimalSI, "1"),
            (1500, DecimalSI, "1.5"),
            (-1500, DecimalSI, "-1.5"),
            (6_262_500, DecimalSI, "6262.5"),
            (750_281, DecimalSI, "750.281"),
            (i64::MAX, DecimalSI, "9223372036854775.807"),
            (688_640 * 1_024_000, BinarySI, "672.5Mi"),
            (104_857_600_000, BinarySI, "100Mi"),
            (105_206_442_666, BinarySI, "100.3Mi"),
            (1_073_741_823_000, BinarySI, "1Gi"),
            (1_000, BinarySI, "1"),
            (1, BinarySI, "1m"),
        ] {
            assert_eq!(quantity(&Quantity::from_milli(milli, format)), text);
            assert!(Quantity::parse(text).is_ok(), "a flag takes {text}");
        }
    }

    #[test]
    fn numbers_end_where_they_end() {
        for (f, text) in [
            (128.75, "128.75"),
            (1.0, "1"),
            (2.0 / 3.0, "0.6667"),
            (-0.0, "0"),
            (f64::INFINITY, "+Inf"),
            (f64::NAN, "NaN"),
        ] {
            assert_eq!(number(f), text);
        }
    }
}
