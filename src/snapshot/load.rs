//! A load over time as it was read, from a table or from Prometheus: columns of text, and what is to be known
//! beside them. It is saved as it stands, so that it can be played again. What the columns mean is the
//! business of the timeline.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::apimachinery::go::GoDuration;

/// A load over time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Load {
    /// Where it was read, without credentials.
    pub source: String,
    /// What was asked there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queries: Vec<LoadQuery>,
    /// How long a new pod took until it was ready, if that was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready_after: Option<GoDuration>,
    /// What is to be known of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<LoadNote>,
    /// What the columns are headed with.
    pub columns: Vec<String>,
    /// A cell for each column, empty where there is none; in the order of time.
    pub rows: Vec<Vec<Box<str>>>,
    /// The lines of the rows in a table that was read, for messages.
    #[serde(skip)]
    pub lines: Vec<u64>,
}

impl Load {
    /// The line of a row in messages; the first line has the columns.
    pub fn line(&self, row: usize) -> u64 {
        self.lines.get(row).copied().unwrap_or(row as u64 + 2)
    }
}

/// A query, and what it was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadQuery {
    /// The column, or what else follows from it.
    #[serde(rename = "for")]
    pub of: String,
    /// In PromQL.
    pub query: String,
}

/// One thing to know of a load.
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
    /// What the server warned of, in its words.
    Warning(String),
    /// The history begins later than was asked for.
    Begins(Timestamp),
    /// The history ends earlier than was asked for.
    Ends(Timestamp),
    /// Something was not recorded.
    NotRecorded(LoadPart),
    /// The server has so many series of the HPA: those of several clusters may be mixed.
    Several(usize),
    /// The HPA had another value of a field until a time.
    #[serde(rename_all = "camelCase")]
    SpecChanged {
        /// The field.
        field: String,
        /// The value.
        from: String,
        /// Until when.
        until: Timestamp,
    },
    /// What a pod requested was not always the same.
    #[serde(rename_all = "camelCase")]
    Requests {
        /// The metric.
        metric: String,
        /// The least, on average over the pods.
        least: String,
        /// The most.
        most: String,
        /// At the end.
        last: String,
    },
    /// How long new pods took to become ready.
    #[serde(rename_all = "camelCase")]
    Started {
        /// Of how many pods it is the median.
        pods: usize,
        /// How long.
        took: GoDuration,
    },
    /// The share of the periods in which a limit held containers back.
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
