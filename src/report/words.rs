//! Small wordings that several parts of the page share: durations, times, counts, values. Every
//! number is given in the unit that people use for it.

use jiff::{SignedDuration, Timestamp};

use crate::quantity::{Format, Quantity};

/// `5m`, `1h30m`, `17.068s`: a duration without its zero parts.
pub(super) fn duration(duration: SignedDuration) -> String {
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

/// The distance between two times, rough where it is long, as kubectl shows ages.
pub(super) fn distance(from: Timestamp, to: Timestamp) -> String {
    let seconds = to.duration_since(from).as_secs().max(0);
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86400);
    match seconds {
        0..120 => format!("{seconds}s"),
        120..600 if seconds % 60 != 0 => format!("{minutes}m{}s", seconds % 60),
        120..10800 => format!("{minutes}m"),
        10800..172_800 => format!("{hours}h"),
        _ => format!("{days}d"),
    }
}

/// `06:03:20Z`, with the date where it is not today.
pub(super) fn time(now: Timestamp, at: Timestamp) -> String {
    let text = crate::json::SecondsTime(at).to_string();
    let today = crate::json::SecondsTime(now).to_string();
    match text.split_once('T') {
        Some((date, time)) if today.starts_with(date) => time.to_owned(),
        _ => text,
    }
}

/// `06:03:20Z (in 3m20s)`, with the date where it is not today.
pub(super) fn future(now: Timestamp, at: Timestamp) -> String {
    let shown = time(now, at);
    if at > now {
        format!("{shown} (in {})", distance(now, at))
    } else {
        format!("{shown} ({} ago)", distance(at, now))
    }
}

/// `1 pod`, `2 pods`.
pub(super) fn count(n: impl TryInto<i64>, noun: &str) -> String {
    match n.try_into() {
        Ok(1) => format!("1 {noun}"),
        Ok(n) => format!("{n} {noun}s"),
        Err(_) => format!("many {noun}s"),
    }
}

/// A number without trailing zeros, to four places.
pub(super) fn number(f: f64) -> String {
    if f.is_nan() {
        return "NaN".to_owned();
    }
    if f.is_infinite() {
        return if f > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let text = format!("{f:.4}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// A share of 1 in percent: `10%`, `7.5%`.
pub(super) fn percent(share: f64) -> String {
    format!("{}%", number(share * 100.0))
}

/// A value as people read it. Bytes that are no whole number of a binary unit are rounded and
/// marked; everything else is exact.
pub(super) fn quantity(quantity: &Quantity) -> String {
    let exact = quantity.to_string();
    let bytes = quantity.milli_value() as f64 / 1000.0;
    if quantity.format() != Format::BinarySI || exact.ends_with('i') || bytes.abs() < 1024.0 {
        return exact;
    }
    let units = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
    let (mut scaled, mut unit) = (bytes, 0);
    while scaled.abs() >= 1024.0 && unit + 1 < units.len() {
        scaled /= 1024.0;
        unit += 1;
    }
    format!("~{scaled:.1}{}", units[unit])
}

/// `a`, `a and b`, `a, b and c`.
pub(super) fn list(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// With a capital at the start.
pub(super) fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::{count, distance, duration, number, quantity};
    use crate::quantity::{Format, Quantity};
    use jiff::{SignedDuration, Timestamp};

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
            assert_eq!(duration(SignedDuration::from_millis(millis)), text);
        }
    }

    #[test]
    fn distances_are_rough_where_long() {
        let start = Timestamp::UNIX_EPOCH;
        for (seconds, text) in
            [(0, "0s"), (119, "119s"), (200, "3m20s"), (240, "4m"), (7200, "120m"), (90_000, "25h")]
        {
            assert_eq!(distance(start, start + SignedDuration::from_secs(seconds)), text);
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
        assert_eq!(count(1, "pod"), "1 pod");
        assert_eq!(count(0, "pod"), "0 pods");
    }

    #[test]
    fn bytes_are_rounded_only_where_they_must_be() {
        for (milli, text) in
            [(104_857_600_000, "100Mi"), (105_206_442_666, "~100.3Mi"), (1_000, "1"), (1, "1m")]
        {
            assert_eq!(quantity(&Quantity::from_milli(milli, Format::BinarySI)), text);
        }
    }
}
