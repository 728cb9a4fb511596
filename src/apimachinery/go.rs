//! Text as Go's standard library prints and reads it, which appears in the API server's and the
//! controller's messages. Follows `strconv`, `fmt.Sprintf`, `encoding/json`, `time.Duration` and the
//! duration of Kubernetes' JSON.

use std::borrow::Cow;

use jiff::SignedDuration;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::json;

/// Returns a text as `%q` prints it.
pub(crate) fn quote(text: &str) -> String {
    quote_bytes(text.as_bytes())
}

/// Returns bytes as `%q` prints them: invalid UTF-8 as numbers.
pub(crate) fn quote_bytes(bytes: &[u8]) -> String {
    let mut quoted = String::from('"');
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '"' | '\\' => quoted.extend(['\\', c]),
                '\x07' => quoted.push_str("\\a"),
                '\x08' => quoted.push_str("\\b"),
                '\x0c' => quoted.push_str("\\f"),
                '\n' => quoted.push_str("\\n"),
                '\r' => quoted.push_str("\\r"),
                '\t' => quoted.push_str("\\t"),
                '\x0b' => quoted.push_str("\\v"),
                _ if is_printable(c) => quoted.push(c),
                _ => quoted.push_str(&match u32::from(c) {
                    code @ ..0x80 => format!("\\x{code:02x}"),
                    code @ 0x80..0x1_0000 => format!("\\u{code:04x}"),
                    code => format!("\\U{code:08x}"),
                }),
            }
        }
        for byte in chunk.invalid() {
            quoted.push_str(&format!("\\x{byte:02x}"));
        }
    }
    quoted.push('"');
    quoted
}

/// Returns the text that `fmt.Sprintf` produces from a format without arguments: a text that looks like a
/// verb becomes an error about its missing argument. Follows `doPrintf`.
pub(crate) fn sprintf(format: &str) -> String {
    let mut text = String::with_capacity(format.len());
    let start = format.find('%').unwrap_or(format.len());
    text.push_str(&format[..start]);
    let mut rest = &format[start..];
    while let Some(directive) = rest.strip_prefix('%') {
        let (printed, after) = verb(directive);
        text.push_str(&printed);
        let end = after.find('%').unwrap_or(after.len());
        text.push_str(&after[..end]);
        rest = &after[end..];
    }
    text
}

/// Returns what a directive after its `%` prints, and the rest of the format.
fn verb(directive: &str) -> (String, &str) {
    let mut printed = String::new();
    let rest = directive.trim_start_matches(['#', '0', '+', '-', ' ']);
    let mut index = ArgumentIndex {
        seen: false,
        good: true,
    };
    let mut rest = index.skip(rest);
    if let Some(after) = rest.strip_prefix('*') {
        printed.push_str("%!(BADWIDTH)");
        rest = after;
        index.seen = false;
    } else {
        let (after, number) = skip_number(rest);
        rest = after;
        index.good &= !(index.seen && number);
    }
    if let Some(after) = rest.strip_prefix('.') {
        index.good &= !index.seen;
        rest = index.skip(after);
        if let Some(after) = rest.strip_prefix('*') {
            printed.push_str("%!(BADPREC)");
            rest = after;
            index.seen = false;
        } else {
            rest = skip_number(rest).0;
        }
    }
    if !index.seen {
        rest = index.skip(rest);
    }
    let mut letters = rest.chars();
    match letters.next() {
        None => printed.push_str("%!(NOVERB)"),
        Some('%') => printed.push('%'),
        Some(verb) => {
            let lack = if index.good { "MISSING" } else { "BADINDEX" };
            printed.push_str(&format!("%!{verb}({lack})"));
        }
    }
    (printed, letters.as_str())
}

/// The explicit indices of arguments in a directive.
struct ArgumentIndex {
    /// Whether the last part was an index.
    seen: bool,
    /// Whether every index so far referred to an argument; without arguments, none does.
    good: bool,
}

impl ArgumentIndex {
    /// Skips an index such as `[1]`.
    fn skip<'f>(&mut self, rest: &'f str) -> &'f str {
        self.seen = false;
        if !rest.starts_with('[') {
            return rest;
        }
        self.good = false;
        match rest.find(']').filter(|_| rest.len() >= 3) {
            Some(end) => {
                let (left, number) = skip_number(&rest[1..end]);
                self.seen = number && left.is_empty();
                &rest[end + 1..]
            }
            None => &rest[1..],
        }
    }
}

/// Skips a number, and returns whether there was one. A number that is too large consumes the rest of the
/// text.
fn skip_number(rest: &str) -> (&str, bool) {
    let end = rest
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(rest.len());
    let mut number = 0u32;
    for digit in rest[..end].bytes() {
        if number > 1_000_000 {
            return ("", false);
        }
        number = number * 10 + u32::from(digit - b'0');
    }
    (&rest[end..], end > 0)
}

/// Returns a finite float as `encoding/json` writes it; kubectl sends the numbers of a YAML file in this
/// form.
pub(crate) fn float(number: f64) -> String {
    let size = number.abs();
    if size != 0.0 && !(1e-6..1e21).contains(&size) {
        let text = format!("{number:e}");
        if size < 1.0 {
            text
        } else {
            text.replace('e', "e+")
        }
    } else {
        number.to_string()
    }
}

/// Go's `unicode.IsPrint`, for all characters but quotes and backslashes.
fn is_printable(c: char) -> bool {
    // The standard library knows this only when it escapes strings, and is right about combining
    // characters only when they follow another.
    let mut buffer = String::from("x");
    buffer.push(c);
    c == '\'' || buffer.escape_debug().count() == 2
}

/// Returns a text as `json.Marshal` prints it, which also escapes characters that HTML could misread.
pub(crate) fn json_string(text: &str) -> String {
    json!(text)
        .to_string()
        .replace('<', r"\u003c")
        .replace('>', r"\u003e")
        .replace('&', r"\u0026")
        .replace('\u{2028}', r"\u2028")
        .replace('\u{2029}', r"\u2029")
}

/// Returns a duration as `time.Duration.String` prints it: `5m0s`, `17.068s`, `1.5ms`.
pub(crate) fn duration(duration: SignedDuration) -> String {
    let sign = if duration.is_negative() { "-" } else { "" };
    let nanos = duration.as_nanos().unsigned_abs();
    let (unit, name) = match nanos {
        0 => return "0s".to_owned(),
        1..1_000 => return format!("{sign}{nanos}ns"),
        1_000..1_000_000 => (1_000, "\u{b5}s"),
        1_000_000..1_000_000_000 => (1_000_000, "ms"),
        _ => (1_000_000_000, "s"),
    };
    let whole = nanos / unit;
    let fraction = fraction(nanos, unit);
    if name != "s" || whole < 60 {
        return format!("{sign}{whole}{fraction}{name}");
    }
    let (hours, minutes, seconds) = (whole / 3600, whole / 60 % 60, whole % 60);
    let hours = if hours > 0 {
        format!("{hours}h")
    } else {
        String::new()
    };
    format!("{sign}{hours}{minutes}m{seconds}{fraction}s")
}

/// Returns the remainder of the nanoseconds below a unit, as a decimal fraction of the unit with its point.
fn fraction(nanos: u128, unit: u128) -> String {
    let width = unit.ilog10() as usize;
    let padded = format!("{:0width$}", nanos % unit);
    let digits = padded.trim_end_matches('0');
    let point = if digits.is_empty() { "" } else { "." };
    format!("{point}{digits}")
}

/// Reads a duration as `time.ParseDuration` does: `5m0s`, `1.5h`, `-300ms`, `0`.
pub(crate) fn parse_duration(text: &str) -> Option<SignedDuration> {
    parse_units(text, &[])
}

/// Reads a duration that may have days and weeks, as go-str2duration's `ParseDuration` does: `7d12h`.
pub(crate) fn parse_duration_with_days(text: &str) -> Option<SignedDuration> {
    parse_units(
        text,
        &[("d", 86_400_000_000_000), ("w", 604_800_000_000_000)],
    )
}

/// Reads a duration in these units, with their nanoseconds, and Go's own.
fn parse_units(text: &str, longer: &[(&str, i128)]) -> Option<SignedDuration> {
    let (negative, mut rest) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    if rest == "0" {
        return Some(SignedDuration::ZERO);
    }
    if rest.is_empty() {
        return None;
    }
    let mut nanos = 0i128;
    while !rest.is_empty() {
        let number = rest.find(|c: char| c != '.' && !c.is_ascii_digit())?;
        let (whole, fraction) = rest[..number]
            .split_once('.')
            .unwrap_or((&rest[..number], ""));
        if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
            return None;
        }
        rest = &rest[number..];
        let end = rest
            .find(|c: char| c == '.' || c.is_ascii_digit())
            .unwrap_or(rest.len());
        let unit: i128 = match &rest[..end] {
            "ns" => 1,
            "us" | "\u{b5}s" | "\u{3bc}s" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            other => longer.iter().find(|(unit, _)| *unit == other)?.1,
        };
        rest = &rest[end..];
        let whole: i128 = digits(whole).filter(|n| *n <= i128::from(i64::MAX))?;
        let exact = &fraction[..fraction.len().min(18)];
        let part = digits(exact)? * unit / 10i128.pow(exact.len() as u32);
        nanos += whole * unit + part;
        if nanos > i128::from(i64::MAX) {
            return None;
        }
    }
    let nanos = i64::try_from(nanos).ok()?;
    Some(SignedDuration::from_nanos(if negative {
        -nanos
    } else {
        nanos
    }))
}

/// Reads digits; an empty text is zero.
fn digits(text: &str) -> Option<i128> {
    if text.is_empty() {
        Some(0)
    } else {
        text.parse().ok()
    }
}

/// A duration as Kubernetes writes it in JSON (`17.068s`, `1m0s`); null and absence are zero.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GoDuration(pub SignedDuration);

impl<'de> Deserialize<'de> for GoDuration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Some(text) = Option::<Cow<'de, str>>::deserialize(deserializer)? else {
            return Ok(Self::default());
        };
        match parse_duration(&text) {
            Some(duration) => Ok(Self(duration)),
            None => Err(D::Error::custom(
                "invalid duration, expected one such as 1m30s",
            )),
        }
    }
}

impl Serialize for GoDuration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&duration(self.0))
    }
}

/// Reads a Boolean as `strconv.ParseBool` does.
pub(crate) fn parse_bool(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "TRUE" | "true" | "True" => Some(true),
        "0" | "f" | "F" | "FALSE" | "false" | "False" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_print_as_in_go_and_read_back() {
        for (nanos, text) in [
            (0, "0s"),
            (1, "1ns"),
            (1_500, "1.5\u{b5}s"),
            (100_000_000, "100ms"),
            (17_068_000_000, "17.068s"),
            (60_000_000_000, "1m0s"),
            (300_000_000_000, "5m0s"),
            (3_600_000_000_000, "1h0m0s"),
            (-90_500_000_000, "-1m30.5s"),
        ] {
            let duration = SignedDuration::from_nanos(nanos);
            assert_eq!(super::duration(duration), text);
            assert_eq!(parse_duration(text), Some(duration), "{text}");
        }
    }

    #[test]
    fn durations_are_read_as_in_go() {
        for (text, nanos) in [
            ("0", Some(0)),
            (".5m", Some(30_000_000_000)),
            ("1.5h30m", Some(7_200_000_000_000)),
            ("+1us", Some(1_000)),
            ("-0", Some(0)),
            ("5", None),
            ("", None),
            ("-", None),
            ("PT15S", None),
            ("15s ago", None),
            ("1.2.3s", None),
            (".s", None),
            ("9999999999h", None),
        ] {
            let read = parse_duration(text).map(|d| d.as_nanos());
            assert_eq!(read, nanos, "{text}");
        }
    }

    #[test]
    fn floats_print_as_in_go() {
        for (number, text) in [
            (5.0, "5"),
            (-0.0, "-0"),
            (0.1, "0.1"),
            (1e-6, "0.000001"),
            (1.5e-7, "1.5e-7"),
            (123_456_789_012_345_680_000.0, "123456789012345680000"),
            (1e21, "1e+21"),
            (-1.25e22, "-1.25e+22"),
        ] {
            assert_eq!(float(number), text);
        }
    }

    #[test]
    fn formats_without_arguments_say_what_they_miss() {
        for (format, want) in [
            ("", ""),
            ("plain größe", "plain größe"),
            ("100%", "100%!(NOVERB)"),
            ("5% of", "5%!o(MISSING)f"),
            ("a%%b%d%s", "a%b%!d(MISSING)%!s(MISSING)"),
            ("%2Fx%-08.3fy", "%!F(MISSING)x%!f(MISSING)y"),
            ("%ß", "%!ß(MISSING)"),
            ("%*d%.*d", "%!(BADWIDTH)%!d(MISSING)%!(BADPREC)%!d(MISSING)"),
            (
                "%[1]d%[x]d%[]d%[1",
                "%!d(BADINDEX)%!d(BADINDEX)%!d(BADINDEX)%!(NOVERB)",
            ),
            ("%.[1]%", "%"),
            ("%99999999999d left", "%!(NOVERB)"),
        ] {
            assert_eq!(sprintf(format), want, "{format}");
        }
    }

    #[test]
    fn quoted() {
        for (text, want) in [
            ("a b'\"\\", r#""a b'\"\\""#),
            (
                "\x07\x08\x0c\n\r\t\x0b\x01\x7f",
                r#""\a\b\f\n\r\t\v\x01\x7f""#,
            ),
            (
                "é\u{301}<\u{a0}\u{200b}\u{feff}",
                "\"é\u{301}<\\u00a0\\u200b\\ufeff\"",
            ),
            ("\u{301}\u{10ffff}", "\"\u{301}\\U0010ffff\""),
        ] {
            assert_eq!(quote(text), want);
        }
        assert_eq!(quote_bytes(b"a\xe2\x82"), r#""a\xe2\x82""#);
    }

    #[test]
    fn json_strings() {
        assert_eq!(
            json_string("a\"\\\n\x07\x7f<&>"),
            "\"a\\\"\\\\\\n\\u0007\x7f\\u003c\\u0026\\u003e\""
        );
    }
}
