//! How text is laid out: its width, colors and symbols.

use super::style::{Styles, clean};
use crate::args::Form;

/// How a page is laid out.
#[derive(Debug, Clone, Default)]
pub struct Layout {
    /// Columns of the terminal; `None` if lines may have any length.
    pub width: Option<usize>,
    /// Colors, if any.
    pub styles: Styles,
    /// Whether only ASCII can be shown.
    pub ascii: bool,
    /// How commands are typed.
    pub form: Form,
}

impl Layout {
    /// Returns a text as it is shown: safe for the terminal, with commands as they are typed.
    pub(crate) fn shown(&self, text: &str) -> String {
        clean(&self.form.speak(text), self.ascii)
    }
}
