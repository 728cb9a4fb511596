//! The words of findings about the way from the metrics to the replicas.

use super::{About, Text, Words};
use crate::findings::path::WithinTolerance;
use crate::report::words::percent;

impl Words for WithinTolerance {
    fn text(&self, about: &About<'_>) -> Text {
        let label = about.label(self.metric);
        let side = if self.ratio > 1.0 { "above" } else { "below" };
        let off = percent((self.ratio - 1.0).abs());
        let tolerance = percent(self.tolerance);
        Text {
            summary: format!(
                "{label} is {off} {side} its target, within the tolerance of {tolerance}"
            ),
            evidence: Vec::new(),
            advice: "Wait until the metric leaves the tolerance.".to_owned(),
            commands: Vec::new(),
            objects: Vec::new(),
        }
    }
}
