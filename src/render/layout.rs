//! How text is laid out: in which width, with which colours and signs.

use super::style::Styles;

/// How a page is laid out.
#[derive(Debug, Clone, Default)]
pub struct Layout {
    /// Columns of the terminal; none if lines may have any length.
    pub width: Option<usize>,
    /// Colours, or none.
    pub styles: Styles,
    /// Whether only ASCII can be shown.
    pub ascii: bool,
}
