//! A load over time as it was read, from a table or from Prometheus: columns of text, with notes about them.
//! It is saved unchanged, so that it can be played again. The timeline interprets the columns.

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::apimachinery::go::GoDuration;
use crate::apimachinery::json::{read_each, time};

/// A load over time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Load {
    /// The HPA that it is of, as `namespace/name`; only once it is saved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hpa: Option<String>,
    /// Where it was read, without credentials.
    pub source: String,
    /// The queries sent there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queries: Vec<LoadQuery>,
    /// How long a new pod took to become ready, if that was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready_after: Option<GoDuration>,
    /// How long it takes until it has metrics, if that was estimated from when containers started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metrics_after: Option<GoDuration>,
    /// Notes about it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<LoadNote>,
    /// The headers of the columns.
    pub columns: Vec<String>,
    /// A cell for each column, empty if there is no value; ordered by time.
    pub rows: Rows,
    /// The lines of the rows in the table that it was read from, for messages; none of a saved load.
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
    /// Where each cell ends in the text.
    cells: Vec<usize>,
    /// Where each row ends in the cells.
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

    /// Returns the rows in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Row<'_>> {
        (0..self.rows.len()).map(|row| {
            let start = row.checked_sub(1).map_or(0, |before| self.rows[before]);
            Row {
                of: self,
                start,
                end: self.rows[row],
            }
        })
    }
}

/// One of [`Rows`].
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    of: &'a Rows,
    start: usize,
    end: usize,
}

impl<'a> Row<'a> {
    /// Returns its cells in order.
    pub fn cells(self) -> impl ExactSizeIterator<Item = &'a str> {
        let Rows { text, cells, .. } = self.of;
        (self.start..self.end).map(|cell| {
            let start = cell.checked_sub(1).map_or(0, |before| cells[before]);
            &text[start..cells[cell]]
        })
    }
}

impl Serialize for Rows {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.cells())
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
    /// The column, or what else is derived from it.
    #[serde(rename = "for")]
    pub of: String,
    /// In PromQL.
    pub query: String,
}

/// One note about a load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum LoadNote {
    /// How it was sampled.
    #[serde(rename_all = "camelCase")]
    Sampled {
        /// The seconds between two samples.
        step: i64,
        /// The seconds between two scrapes, if they could be measured.
        scrape: Option<i64>,
    },
    /// How it was sampled, if it has no rates.
    SampledAsIs {
        /// The seconds between two samples.
        step: i64,
    },
    /// The server's warnings, in its words.
    Warning(String),
    /// The history begins later than requested.
    Begins(#[serde(deserialize_with = "time::deserialize")] Timestamp),
    /// The history ends earlier than requested.
    Ends(#[serde(deserialize_with = "time::deserialize")] Timestamp),
    /// Something was not recorded.
    NotRecorded(LoadPart),
    /// The server has series of several HPAs of the name, which differ in a label.
    Several {
        /// The label.
        label: String,
        /// Its values.
        values: Vec<String>,
    },
    /// Several servers recorded the usage of a container, with different values of a label; one is followed.
    Followed {
        /// The label.
        label: String,
        /// Its values.
        values: Vec<String>,
    },
    /// Further warnings of the server that are not listed.
    MoreWarnings(usize),
    /// The share of the samples in which the usage of a pod is missing in the total.
    Unmeasured(f64),
    /// The target had no replicas before this time, where the load begins.
    AtZeroUntil(#[serde(deserialize_with = "time::deserialize")] Timestamp),
    /// The HPA had a different value of a field until a time.
    #[serde(rename_all = "camelCase")]
    SpecChanged {
        /// The field.
        field: String,
        /// The value.
        from: String,
        /// The time.
        #[serde(deserialize_with = "time::deserialize")]
        until: Timestamp,
    },
    /// The request of a pod has changed.
    #[serde(rename_all = "camelCase")]
    Requests {
        /// The metric.
        metric: String,
        /// The minimum, on average over the pods.
        least: String,
        /// The maximum.
        most: String,
        /// The value at the end.
        last: String,
    },
    /// How long new pods took to become ready.
    #[serde(rename_all = "camelCase")]
    Started {
        /// The number of pods that the median is taken over.
        pods: usize,
        /// The time.
        took: GoDuration,
    },
    /// How long the containers of new pods took to start.
    #[serde(rename_all = "camelCase")]
    Measured {
        /// The number of pods that the median is taken over.
        pods: usize,
        /// The time.
        took: GoDuration,
    },
    /// The share of periods in which a limit throttled containers.
    Throttled(f64),
}

/// A part of the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum LoadPart {
    /// The replicas.
    Replicas,
    /// The pods that were ready.
    Ready,
}
