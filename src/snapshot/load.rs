//! A load over time as it was read, from a table or from Prometheus: columns of text, with notes about them.
//! It is saved unchanged, so that it can be played again. The timeline interprets the columns.

use std::ops::Range;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::apimachinery::go::{GoDuration, quote};
use crate::apimachinery::json::{SecondsTime, read_each, time};
use crate::apimachinery::names::shell_word;
use crate::error::listed;
use crate::numbers::{duration, part};

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
    pub notes: Vec<LoadNote>,
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

/// One note about a load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum LoadNote {
    /// The sampling of the load.
    #[error("{}", sampled(*step, *scrape))]
    #[serde(rename_all = "camelCase")]
    Sampled {
        /// The seconds between two samples.
        step: i64,
        /// The seconds between two scrapes, if they could be measured.
        scrape: Option<i64>,
    },
    /// The sampling of the load, if it has no rates.
    #[error("the load is sampled every {}", seconds(*step))]
    SampledAsIs {
        /// The seconds between two samples.
        step: i64,
    },
    /// The server's warnings, in its words.
    #[error("Prometheus warns: {0}")]
    Warning(String),
    /// The history begins later than requested.
    #[error("the history begins only at {}", SecondsTime(*.0))]
    Begins(#[serde(deserialize_with = "time::deserialize")] Timestamp),
    /// The history ends earlier than requested.
    #[error("the history ends at {}", SecondsTime(*.0))]
    Ends(#[serde(deserialize_with = "time::deserialize")] Timestamp),
    /// A part was not recorded.
    #[error("{0}")]
    NotRecorded(LoadPart),
    /// The server has series of several HPAs with this name, which differ in a label.
    #[error(
        "Prometheus has this HPA with several values of {label} ({}): their series are mixed; \
         --prometheus-match {} selects one",
        listed(values),
        matcher(label, values)
    )]
    Several {
        /// The label.
        label: String,
        /// The values of the label.
        values: Vec<String>,
    },
    /// Several servers recorded the usage of a container, with different values of a label; one is followed.
    #[error(
        "Prometheus has the usage with several values of {label} ({}), as from servers that scrape \
         the same: of each container, the one with more samples counts, and another where it has none",
        listed(values)
    )]
    Followed {
        /// The label.
        label: String,
        /// The values of the label.
        values: Vec<String>,
    },
    /// Further warnings of the server that are not listed.
    #[error("Prometheus warns {0} more times")]
    MoreWarnings(usize),
    /// The share of the samples whose total lacks the usage of a pod.
    #[error(
        "in {} of the samples the usage of a pod is missing in the total, because its scrapes were \
         lost",
        part(*.0)
    )]
    Unmeasured(f64),
    /// The target had no replicas before this time, and the load begins there or later.
    #[error(
        "the target had 0 replicas until {}: the load begins after that",
        SecondsTime(*.0)
    )]
    AtZeroUntil(#[serde(deserialize_with = "time::deserialize")] Timestamp),
    /// The HPA had a different value of a field until a time.
    #[error(
        "{field} of the HPA was {from} until {}: before that, the check compares the HPA as it is \
         with one that was different",
        SecondsTime(*until)
    )]
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
    #[error(
        "the requests of the pods changed: {metric} from {least} to {most} for each, {last} at the \
         end; the replay has those of today all the time"
    )]
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
    /// The request of a pod was different throughout.
    #[error(
        "the requests of the pods were different: {metric} {recorded} for each, {now} today; the \
         replay has those of today all the time"
    )]
    #[serde(rename_all = "camelCase")]
    OtherRequests {
        /// The metric.
        metric: String,
        /// The recorded value, on average over the pods.
        recorded: String,
        /// The value today.
        now: String,
    },
    /// The time that new pods took to become ready.
    #[error("{}", started(*pods, took.0))]
    #[serde(rename_all = "camelCase")]
    Started {
        /// The number of pods in the median.
        pods: usize,
        /// The time.
        took: GoDuration,
    },
    /// The time that the containers of new pods took to start.
    #[error(
        "the containers of new pods started after {} (the median of {pods}); without \
         --metrics-after, metrics are assumed 30s later",
        duration(took.0)
    )]
    #[serde(rename_all = "camelCase")]
    Measured {
        /// The number of pods in the median.
        pods: usize,
        /// The time.
        took: GoDuration,
    },
    /// The reason why it is not known when the containers of new pods started.
    #[error("{0}; --metrics-after states when new pods have metrics")]
    Failed(String),
    /// The share of periods in which a limit throttled containers.
    #[error(
        "CPU limits held containers back in {} of the periods: without them, they would have used \
         more",
        part(*.0)
    )]
    Throttled(f64),
}

fn sampled(step: i64, scrape: Option<i64>) -> String {
    let apart = scrape.map_or_else(String::new, |it| format!(", about {} apart", seconds(it)));
    let sees = if scrape.is_some_and(|scrape| step > scrape) {
        ", and sees only that part of each step"
    } else {
        ""
    };
    let step = seconds(step);
    format!(
        "the load is sampled every {step}; CPU usage is the rate between the last two scrapes{apart}{sees}"
    )
}

fn started(pods: usize, took: SignedDuration) -> String {
    let took = duration(took);
    match pods {
        1 => format!("a new pod took {took} to become ready"),
        pods => format!(
            "new pods took {took} to become ready (the median of {pods}); --ready-after replaces it"
        ),
    }
}

fn seconds(seconds: i64) -> String {
    duration(SignedDuration::from_secs(seconds))
}

/// A part of the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "camelCase")]
pub enum LoadPart {
    /// The replicas.
    #[error("the replicas were not recorded, so the replay cannot be checked")]
    Replicas,
    /// The pods that were ready.
    #[error("the pods that were ready were not recorded")]
    Ready,
}

/// Returns the matcher that selects the first of some values of a label, quoted for a shell.
fn matcher(label: &str, values: &[String]) -> String {
    let value = values.first().map_or("", String::as_str);
    shell_word(&format!("{label}={}", quote(value)))
}

#[cfg(test)]
mod tests {
    use super::LoadNote;

    /// The server chooses the values of labels, and users paste the matcher into a shell.
    #[test]
    fn the_matcher_of_a_label_is_one_word() {
        for (value, word) in [
            ("eu", r#"'cluster="eu"'"#),
            ("a'; touch x; '", r#"'cluster="a'\''; touch x; '\''"'"#),
            (r#"a"b\c"#, r#"'cluster="a\"b\\c"'"#),
        ] {
            let note = LoadNote::Several {
                label: "cluster".to_owned(),
                values: vec![value.to_owned(), "us".to_owned()],
            };
            let expected = format!("--prometheus-match {word} selects one");
            assert!(note.to_string().ends_with(&expected), "{note}");
        }
    }
}
