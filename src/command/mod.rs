//! One file a verb, each a short pipeline over the other modules, without logic of its own.

pub mod explain;

use std::io::IsTerminal;

use crate::args::{Cli, Verb};
use crate::error::Error;
use crate::render::page::Layout;
use crate::render::style::Styles;
use crate::report::page::Symbols;

/// What a command has to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// For standard output.
    pub text: String,
    /// Warnings and notes, a line each, for standard error.
    pub messages: Vec<String>,
}

/// Runs what was typed.
pub fn run(cli: &Cli, terminal: &Terminal) -> Result<Answer, Error> {
    match &cli.verb {
        Verb::Explain(args) => explain::run(args, terminal),
    }
}

/// What is known of the place where the answer goes.
#[derive(Debug, Clone, Default)]
pub struct Terminal {
    /// Columns; none where it is no terminal.
    pub width: Option<usize>,
    /// Whether it shows ASCII only.
    pub ascii: bool,
}

impl Terminal {
    /// Looks at standard output and the environment. `COLUMNS` goes before the terminal's own
    /// answer; what is no terminal gets lines as long as they are.
    pub fn detect() -> Self {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(variable);
        let ascii = !locale.is_some_and(|locale| {
            let locale = locale.to_lowercase();
            locale.contains("utf-8") || locale.contains("utf8")
        });
        let width = std::io::stdout().is_terminal().then(|| {
            let columns = variable("COLUMNS").and_then(|columns| columns.parse().ok());
            let own = || comfy_table::Table::new().width().map(usize::from);
            columns.or_else(own).unwrap_or(80)
        });
        Self { width, ascii }
    }

    fn layout(&self) -> Layout {
        Layout { width: self.width, styles: Styles::colored(), ascii: self.ascii }
    }

    fn symbols(&self) -> Symbols {
        if self.ascii { Symbols::ASCII } else { Symbols::UNICODE }
    }
}
