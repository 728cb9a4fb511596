//! A load over time as it was read, from a table or from Prometheus: columns of text, with notes about them.
//! It is saved unchanged, so that it can be played again. The timeline interprets the columns.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::apimachinery::go::GoDuration;

/// A load over time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Load {
    /// Where it was read, without credentials.
    pub source: String,
    /// The queries sent there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queries: Vec<LoadQuery>,
    /// How long a new pod took to become ready, if that was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready_after: Option<GoDuration>,
    /// Notes about it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<LoadNote>,
    /// The headers of the columns.
    pub columns: Vec<String>,
    /// A cell for each column, empty if there is no value; ordered by time.
    pub rows: Vec<Vec<Box<str>>>,
    /// The lines of the rows in the original table, for messages.
    #[serde(skip)]
    pub lines: Vec<u64>,
}

impl Load {
    /// Returns the line of a row in messages; the first line has the headers.
    pub fn line(&self, row: usize) -> u64 {
        self.lines.get(row).copied().unwrap_or(row as u64 + 2)
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
        /// The seconds over which a rate was taken.
        window: i64,
        /// The seconds between two scrapes, if they could be measured.
        scrape: Option<i64>,
    },
    /// The server's warnings, in its words.
    Warning(String),
    /// The history begins later than requested.
    Begins(Timestamp),
    /// The history ends earlier than requested.
    Ends(Timestamp),
    /// Something was not recorded.
    NotRecorded(LoadPart),
    /// The server has this many series of the HPA: those of several clusters may be mixed.
    Several(usize),
    /// The HPA had a different value of a field until a time.
    #[serde(rename_all = "camelCase")]
    SpecChanged {
        /// The field.
        field: String,
        /// The value.
        from: String,
        /// The time.
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
