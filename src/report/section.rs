//! The sections of a page. A section has a title and parts of a few kinds. Layout knows these kinds but not
//! the section's subject.

use std::borrow::Cow;

use super::chart::Chart;
use crate::findings::Severity;

/// The tone of a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// More replicas.
    Up,
    /// Fewer replicas.
    Down,
    /// No change.
    Stay,
    /// The controller cannot decide or scale.
    Blocked,
}

/// A section of a page.
#[derive(Debug, Clone, PartialEq)]
pub struct Section {
    /// Its title; empty if its first part needs none.
    pub title: String,
    /// The reports that show it.
    pub detail: Detail,
    /// Its parts, in order.
    pub body: Vec<Part>,
}

/// The level of detail of a section. A comment shows everything, but folds details.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// Every report shows it.
    Always,
    /// Every report shows it, except a narrow terminal, where the verdict already contains it.
    Roomy,
    /// A terminal shows it, a comment folds it.
    Folded,
    /// Only a wide report shows it, a comment folds it.
    Wide,
    /// Only a comment shows it; a terminal has it above the title.
    Comment,
}

/// A part of a section.
#[derive(Debug, Clone, PartialEq)]
pub enum Part {
    /// Labels with their texts.
    Pairs(Vec<(String, String)>),
    /// A table of words and numbers.
    Table(Table),
    /// Rows that end in a sentence.
    Records(Table),
    /// Replicas, one count after another.
    Steps(Vec<StepLine>),
    /// Findings.
    Findings(Vec<Remark>),
    /// Sentences.
    Text(Vec<String>),
    /// A text, and how a terminal shows more.
    Hinted(String, &'static str),
    /// A sentence about another report, for terminals only.
    Hint(&'static str),
    /// A chart.
    Chart(Box<Chart>),
}

/// A table of text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Table {
    /// The columns, each with whether it holds numbers. Records may have columns without titles.
    pub columns: Vec<(Cow<'static, str>, bool)>,
    /// The cells.
    pub rows: Vec<Vec<String>>,
}

/// An entry of [`Part::Findings`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// Its severity.
    pub severity: Severity,
    /// The code.
    pub code: &'static str,
    /// One sentence.
    pub summary: String,
    /// Further sentences.
    pub sentences: Vec<String>,
    /// Lines to paste, which are never wrapped.
    pub commands: Vec<String>,
}

/// A line of [`Part::Steps`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepLine {
    /// The replicas.
    pub replicas: i32,
    /// The cause of these replicas, or the time.
    pub text: String,
    /// The controller's reason, if this step made a difference.
    pub reason: Option<&'static str>,
}

impl Table {
    /// A table with these titles.
    pub(crate) fn new(
        columns: impl IntoIterator<Item = (impl Into<Cow<'static, str>>, bool)>,
        rows: Vec<Vec<String>>,
    ) -> Self {
        Self {
            columns: columns
                .into_iter()
                .map(|(title, numbers)| (title.into(), numbers))
                .collect(),
            rows,
        }
    }
}

impl Section {
    /// Returns a section with the parts that are not empty; `None` if all are.
    pub(crate) fn new<const N: usize>(
        title: impl Into<String>,
        detail: Detail,
        body: [Part; N],
    ) -> Option<Self> {
        Some(Self::titled(title, detail, body)).filter(|section| !section.body.is_empty())
    }

    /// Returns the same with a title that says something even if all parts are empty.
    pub(crate) fn titled<const N: usize>(
        title: impl Into<String>,
        detail: Detail,
        body: [Part; N],
    ) -> Self {
        Self {
            title: title.into(),
            detail,
            body: body.into_iter().filter(|part| !part.is_empty()).collect(),
        }
    }

    /// Changes each of its texts, except commands.
    pub(super) fn each_text(&mut self, change: &mut impl FnMut(&mut String)) {
        change(&mut self.title);
        for part in &mut self.body {
            match part {
                Part::Pairs(pairs) => {
                    pairs
                        .iter_mut()
                        .flat_map(|(one, other)| [one, other])
                        .for_each(&mut *change);
                }
                Part::Table(Table { rows, .. }) | Part::Records(Table { rows, .. }) => {
                    rows.iter_mut().flatten().for_each(&mut *change);
                }
                Part::Steps(steps) => steps.iter_mut().for_each(|step| change(&mut step.text)),
                Part::Findings(remarks) => remarks.iter_mut().for_each(|remark| {
                    change(&mut remark.summary);
                    remark.sentences.iter_mut().for_each(&mut *change);
                }),
                Part::Text(sentences) => sentences.iter_mut().for_each(&mut *change),
                Part::Hinted(text, _) => change(text),
                Part::Hint(_) => {}
                Part::Chart(chart) => {
                    [&mut chart.title, &mut chart.description, &mut chart.across]
                        .into_iter()
                        .chain(chart.series.iter_mut().map(|series| &mut series.name))
                        .for_each(&mut *change);
                }
            }
        }
    }
}

impl Part {
    fn is_empty(&self) -> bool {
        match self {
            Self::Pairs(pairs) => pairs.is_empty(),
            Self::Table(table) | Self::Records(table) => table.rows.is_empty(),
            Self::Steps(steps) => steps.is_empty(),
            Self::Findings(remarks) => remarks.is_empty(),
            Self::Text(sentences) => sentences.is_empty(),
            Self::Hinted(text, _) => text.is_empty(),
            Self::Hint(_) | Self::Chart(_) => false,
        }
    }
}
