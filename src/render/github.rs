//! Expectations as workflow commands of GitHub Actions, which annotate the run. Whatever the runner
//! would read as the end of a property or of the command is escaped by its rules; the step summary is
//! that of [`super::markdown`].

use std::fmt::Write;

use super::style::clean;
use crate::whatif::expect::{Expectation, Truth};

/// A line for each expectation that does not hold, for the log of the step.
pub fn annotations(hpa: &str, expectations: &[Expectation]) -> String {
    let mut out = String::new();
    for expectation in expectations {
        let verdict = match expectation.truth {
            Truth::True => continue,
            Truth::False => "is false",
            Truth::Unknown => "is unknown, which does not pass",
        };
        let title = property(&format!("HPA {hpa}"));
        let message = data(&format!("{} {verdict}: {}", expectation.name(), expectation.because()));
        let _ = writeln!(out, "::error title={title}::{message}");
    }
    out
}

/// A message, after `::`.
fn data(text: &str) -> String {
    // No control character is left after cleaning, line breaks included.
    clean(text, false).replace('%', "%25")
}

/// The value of a property, which colons and commas would end.
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
            ("a\r\n::set-env::b", "a\\r\\n::set-env::b", "a\\r\\n%3A%3Aset-env%3A%3Ab"),
            ("a\u{2028}b\u{85}c", "a\\u{2028}b\\u{85}c", "a\\u{2028}b\\u{85}c"),
        ] {
            assert_eq!(data(text), message);
            assert_eq!(property(text), title);
        }
    }
}
