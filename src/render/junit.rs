//! Expectations as JUnit's XML, in the shape that CI systems read: a test case for each, a false one
//! with `<failure>`, one that is unknown with `<error>`.

use std::fmt::Write;

use super::style::clean;
use crate::whatif::expect::{Expectation, Truth};

/// The report on the expectations of an HPA, which is called `namespace/name`.
pub fn junit(hpa: &str, expectations: &[Expectation]) -> String {
    let of = |truth| expectations.iter().filter(|one| one.truth == truth).count();
    let counts = format!(
        r#"tests="{}" failures="{}" errors="{}""#,
        expectations.len(),
        of(Truth::False),
        of(Truth::Unknown)
    );
    let hpa = escape(hpa);
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"kubectl-hpa\" {counts}>\n  \
         <testsuite name=\"{hpa}\" {counts} skipped=\"0\">\n"
    );
    for expectation in expectations {
        let name = escape(&expectation.name());
        let _ = write!(out, r#"    <testcase classname="{hpa}" name="{name}""#);
        let because = escape(&expectation.because());
        let outcome = match expectation.truth {
            Truth::True => {
                out.push_str("/>\n");
                continue;
            }
            Truth::False => "failure",
            Truth::Unknown => "error",
        };
        let truth = expectation.truth.as_str();
        let _ = writeln!(
            out,
            ">\n      <{outcome} type=\"{truth}\" message=\"{because}\"/>\n    </testcase>"
        );
    }
    out.push_str("  </testsuite>\n</testsuites>\n");
    out
}

/// Text for an attribute. What XML cannot hold is shown by its number.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in clean(text, false).chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&apos;"),
            '\u{fffe}' | '\u{ffff}' => escaped.extend(letter.escape_unicode()),
            _ => escaped.push(letter),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::escape;

    #[test]
    fn what_xml_would_read_or_refuse_is_escaped() {
        for (text, shown) in [
            ("desired <= 2", "desired &lt;= 2"),
            ("\"/><x a='&amp;'>", "&quot;/&gt;&lt;x a=&apos;&amp;amp;&apos;&gt;"),
            ("]]>", "]]&gt;"),
            ("a\0b\u{8}c\u{1b}d\u{7f}", "a\\u{0}b\\u{8}c^[d\\u{7f}"),
            ("a\r\nb\tc", "a\\r\\nb\\tc"),
            ("\u{fffe}\u{ffff}\u{202e}", "\\u{fffe}\\u{ffff}\\u{202e}"),
            ("größe 大 𝛑", "größe 大 𝛑"),
        ] {
            assert_eq!(escape(text), shown);
        }
    }
}
