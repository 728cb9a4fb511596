//! The layout of text: its width and colors, and the form of commands.

use super::style::{Styles, clean};
use crate::args::Form;

/// The layout of a page.
#[derive(Debug, Clone, Default)]
pub struct Layout {
    /// Columns of the terminal; `None` if lines may have any length.
    pub width: Option<usize>,
    /// Colors, if any.
    pub styles: Styles,
    /// Whether only ASCII can be shown.
    pub ascii: bool,
    /// The form in which commands are typed.
    pub form: Form,
}

impl Layout {
    /// Returns a text as it is displayed: safe for the terminal, with commands as they are typed.
    pub(crate) fn shown(&self, text: &str) -> String {
        clean(&self.form.speak(text), self.ascii)
    }
}

/// Returns the layout of a terminal with this many columns, for tests.
#[cfg(test)]
pub(crate) fn of_width(columns: usize) -> Layout {
    Layout {
        width: Some(columns),
        ..Layout::default()
    }
}
