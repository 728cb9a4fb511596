//! How text is laid out: its width, colors and symbols.

use super::style::Styles;

/// How a page is laid out.
#[derive(Debug, Clone, Default)]
pub struct Layout {
    /// Columns of the terminal; `None` if lines may have any length.
    pub width: Option<usize>,
    /// Colors, if any.
    pub styles: Styles,
    /// Whether only ASCII can be shown.
    pub ascii: bool,
}
