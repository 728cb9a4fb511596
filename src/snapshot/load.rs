//! A load over time as it was read, from a table or from Prometheus: columns of text, with notes about them.
//! It is saved unchanged, so that it can be played again. The timeline interprets the columns.

use std::ops::Range;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::apimachinery::go::GoDuration;
use crate::apimachinery::json::read_each;

/// A load over time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Load {
    /// The HPA of the load, as `namespace/name`; only in a saved load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hpa: Option<String>,
    /// The place where the load was read, without credentials.
    pub source: String,
    /// The queries sent there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queries: Vec<LoadQuery>,
    /// The time that a new pod took to become ready, if it was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready_after: Option<GoDuration>,
    /// The time that a new pod takes until it has metrics, if it was estimated from when containers started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metrics_after: Option<GoDuration>,
    /// The notes about the load.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The headers of the columns.
    pub columns: Vec<String>,
    /// A cell for each column, empty if there is no value; ordered by time.
    pub rows: Rows,
    /// The lines of the rows in the table from which the load was read, for messages; `None` for a saved load.
    #[serde(skip)]
    pub lines: Option<Vec<u64>>,
}

impl Load {
    /// Returns the line of a row in messages; the first line has the headers.
    pub fn line(&self, row: usize) -> u64 {
        let line = self.lines.as_ref().and_then(|lines| lines.get(row));
        line.copied().unwrap_or(row as u64 + 2)
    }
}

/// Rows of cells. All cells are in one text, because weeks have hundreds of thousands of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rows {
    text: String,
    /// The end of each cell in the text.
    cells: Vec<usize>,
    /// The end of each row in the cells.
    rows: Vec<usize>,
}

impl Rows {
    /// Adds a row.
    pub fn push(&mut self, cells: impl IntoIterator<Item = impl AsRef<str>>) {
        for cell in cells {
            self.text.push_str(cell.as_ref());
            self.cells.push(self.text.len());
        }
        self.rows.push(self.cells.len());
    }

    /// Returns the cells of each row, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Vec<&str>> {
        let cell = |cell| &self.text[place(&self.cells, cell)];
        (0..self.rows.len()).map(move |row| place(&self.rows, row).map(cell).collect())
    }
}

/// Returns the place of an item, given the ends of all items.
fn place(ends: &[usize], item: usize) -> Range<usize> {
    let start = item.checked_sub(1).map_or(0, |before| ends[before]);
    start..ends[item]
}

impl Serialize for Rows {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for Rows {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut rows = Self::default();
        read_each(deserializer, "a sequence of rows", |row: Vec<String>| {
            rows.push(row);
            Ok(())
        })?;
        Ok(rows)
    }
}

/// A query, and its purpose.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadQuery {
    /// The column, or the other value that is derived from the answer.
    #[serde(rename = "for")]
    pub of: String,
    /// In PromQL.
    pub query: String,
}

impl LoadQuery {
    /// Returns a query with its purpose.
    pub fn new(of: impl Into<String>, query: String) -> Self {
        let of = of.into();
        Self { of, query }
    }
}
