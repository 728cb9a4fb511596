//! The fuzz targets: functions that take any bytes and panic if a guarantee is broken. The caller decides
//! where the bytes come from and how many there are: `tests/fuzz` with its own mutator, or cargo-fuzz.
//! Nothing here runs a program, reaches beyond the loopback interface, or writes
//! outside its own directory.

#![allow(unreachable_pub, reason = "tests include it as a module")]

mod documents;
mod live;
mod passes;
mod values;

pub use documents::{document, hpa, scaled_object};
pub use live::{answers, kubeconfig};
pub use passes::{predict, snapshot};
pub use values::{duration, expression, prometheus, quantity, range, selector, text, trace};

use kubectl_hpa::error::Error;
use kubectl_hpa::render::style::clean;

/// Returns the bytes as text, which most targets take.
fn as_text(data: &[u8]) -> Option<&str> {
    std::str::from_utf8(data).ok()
}

/// Asserts that output contains nothing that a terminal would interpret, except newlines.
#[track_caller]
fn assert_harmless(shown: &str) {
    for line in shown.lines() {
        assert_eq!(clean(line, false), line, "it is shown as it came");
    }
}

/// Asserts that an error can be printed: on one line, with its place in what was typed.
#[track_caller]
fn assert_told(e: &Error) {
    assert!(!e.message.trim().is_empty(), "an error without words");
    if let Some((text, place)) = &e.place {
        assert!(
            text.is_char_boundary(*place),
            "the place {place} is not in {text:?}"
        );
    }
}
