//! What is wrong, and what to do about it.

use super::Words;
use crate::findings::Severity;
use crate::report::section::{Detail, Part, Remark, Section};

/// The number shown, as many as can be read at a glance.
pub(super) const SHOWN: usize = 3;

impl Words<'_> {
    /// Returns the most important findings; all of them with their evidence if `wide`.
    pub(in crate::report) fn findings(&self) -> Option<Section> {
        self.findings_of(Severity::Info)
    }

    /// Returns the most important findings of at least this severity.
    pub(in crate::report) fn findings_of(&self, least: Severity) -> Option<Section> {
        let findings = self.explanation.findings.iter().filter(|it| it.severity <= least);
        let findings: Vec<_> = findings.collect();
        let shown = if self.wide { findings.len() } else { SHOWN };
        let remarks = findings.iter().take(shown).map(|finding| {
            let text = finding.text();
            let mut sentences = Vec::new();
            if self.wide {
                sentences.extend(text.evidence.iter().cloned());
            }
            sentences.push(text.advice.clone());
            let commands = if self.wide { &*text.commands } else { &[] };
            Remark {
                severity: finding.severity,
                code: finding.code.as_str(),
                summary: text.summary.clone(),
                sentences,
                commands: commands.to_vec(),
            }
        });
        let more = findings.len().saturating_sub(shown);
        let more = (more > 0).then(|| format!("and {more} more (-o wide shows all)"));
        let body = [Part::Findings(remarks.collect()), Part::Text(Vec::from_iter(more))];
        Section::new("FINDINGS", Detail::Always, body).unless_empty()
    }
}
