//! Expectations as workflow commands of GitHub Actions, which annotate the run. Any text that the runner
//! would read as the end of a property or of the command is escaped by its rules; the step summary comes from
//! [`super::markdown`].

use std::fmt::Write;

use super::style::clean;
use crate::backtest::ManifestPlace;
use crate::report::expected::Judged;
use crate::whatif::expect::Truth;

/// Returns a line for each expectation that does not hold, for the log of the step. It is shown in the
/// evaluated manifest, if there is one.
pub fn annotations(hpa: &str, judged: &[Judged]) -> String {
    let mut out = String::new();
    for spec in judged {
        let place = spec
            .manifest
            .as_ref()
            .map_or_else(String::new, |ManifestPlace { file, line }| {
                format!("file={},line={line},", property(file))
            });
        let title = property(&format!("HPA {}", spec.named(hpa)));
        for expectation in &spec.expectations {
            let failure = match expectation.truth {
                Truth::True => continue,
                Truth::False => expectation.failure(),
                Truth::Unknown => format!("{} is unknown, which does not pass", expectation.name()),
            };
            let message = data(&format!("{failure}: {}", expectation.because()));
            let _ = writeln!(out, "::error {place}title={title}::{message}");
        }
    }
    out
}

/// Escapes a message, after `::`.
fn data(text: &str) -> String {
    // Cleaning removes all control characters, including newlines.
    clean(text, false).replace('%', "%25")
}

/// Escapes the value of a property, which colons and commas would end.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::{data, property};

    #[test]
    fn nothing_ends_a_command_or_begins_one() {
        for (text, message, title) in [
            ("a::error::b", "a::error::b", "a%3A%3Aerror%3A%3Ab"),
            ("a,file=/etc/x", "a,file=/etc/x", "a%2Cfile=/etc/x"),
            ("80%0A::x", "80%250A::x", "80%250A%3A%3Ax"),
            (
                "a\r\n::set-env::b",
                "a\\r\\n::set-env::b",
                "a\\r\\n%3A%3Aset-env%3A%3Ab",
            ),
            (
                "a\u{2028}b\u{85}c",
                "a\\u{2028}b\\u{85}c",
                "a\\u{2028}b\\u{85}c",
            ),
        ] {
            assert_eq!(data(text), message);
            assert_eq!(property(text), title);
        }
    }
}
