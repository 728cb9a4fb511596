//! Expectations as JUnit's XML, in the shape that CI systems read: a test case for each, a false one
//! with `<failure>`, one that is unknown with `<error>`.

use std::fmt::Write;

use super::xml::escape;
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
