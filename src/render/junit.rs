//! Expectations as JUnit's XML, in the shape that CI systems read: a suite for each evaluated spec,
//! and in it a test case for each expectation, with `<failure>` if it is false and `<error>` if it is
//! unknown.

use std::fmt::Write;

use super::xml::escape;
use crate::report::expected::Judged;
use crate::whatif::expect::{Expectation, Truth};

/// Returns the report on the expectations of an HPA, identified as `namespace/name`.
pub fn junit(hpa: &str, judged: &[Judged]) -> String {
    let all = || judged.iter().flat_map(|own| &own.expectations);
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"kubectl-hpa\" {}>\n",
        counts(&all())
    );
    for spec in judged {
        let suite = escape(&spec.named(hpa));
        let counts = counts(&spec.expectations.iter());
        let _ = writeln!(out, r#"  <testsuite name="{suite}" {counts} skipped="0">"#);
        for expectation in &spec.expectations {
            case(&mut out, &suite, expectation);
        }
        out.push_str("  </testsuite>\n");
    }
    out.push_str("</testsuites>\n");
    out
}

fn counts<'e>(expectations: &(impl Iterator<Item = &'e Expectation> + Clone)) -> String {
    let truths = expectations.clone().map(|one| one.truth);
    let of = |truth| truths.clone().filter(|one| *one == truth).count();
    format!(
        r#"tests="{}" failures="{}" errors="{}""#,
        expectations.clone().count(),
        of(Truth::False),
        of(Truth::Unknown)
    )
}

fn case(out: &mut String, suite: &str, expectation: &Expectation) {
    let name = escape(&expectation.name());
    let _ = write!(out, r#"    <testcase classname="{suite}" name="{name}""#);
    let because = escape(&expectation.because());
    let outcome = match expectation.truth {
        Truth::True => {
            out.push_str("/>\n");
            return;
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
