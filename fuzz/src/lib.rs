//! What is fuzzed: a function a target, which takes any bytes and panics where a promise does not hold.
//! Where text comes from, and how often, is for whoever calls: `tests/fuzz` with a mutator of its own,
//! or cargo-fuzz. Nothing here runs a program, reaches beyond the loopback interface, or writes
//! outside of a directory of its own.

#![allow(unreachable_pub, reason = "tests include it as a module")]

mod documents;
mod live;
mod passes;
mod values;

pub use documents::{document, hpa, scaled_object};
pub use live::{answers, kubeconfig};
pub use passes::{predict, snapshot};
pub use values::{duration, expression, quantity, range, selector, text, trace};

use kubectl_hpa::error::Error;
use kubectl_hpa::render::style::clean;

/// The bytes as text, of which most targets are about.
fn as_text(data: &[u8]) -> Option<&str> {
    std::str::from_utf8(data).ok()
}

/// That what is shown holds nothing that a terminal would obey, line breaks aside.
#[track_caller]
fn assert_harmless(shown: &str) {
    for line in shown.lines() {
        assert_eq!(clean(line, false), line, "it is shown as it came");
    }
}

/// That an error can be told: in one line, with the place in what was typed.
#[track_caller]
fn assert_told(e: &Error) {
    assert!(!e.message.trim().is_empty(), "an error without words");
    if let Some((text, place)) = &e.place {
        assert!(text.is_char_boundary(*place), "the place {place} is not in {text:?}");
    }
}
