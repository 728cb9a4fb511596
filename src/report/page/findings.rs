//! What is wrong, and what to do about it.

use super::Words;
use crate::findings::{Code, Severity};
use crate::report::findings::FindingView;
use crate::report::section::{Detail, Part, Remark, Section};

/// The number shown, as many as can be read at a glance.
pub(super) const SHOWN: usize = 3;

/// Returns what is said of a finding, with its evidence and commands if `full`.
fn remark(finding: &FindingView, full: bool) -> Remark {
    let text = finding.text();
    let mut sentences = Vec::new();
    if full {
        sentences.extend(text.evidence.iter().cloned());
    }
    sentences.extend(Some(text.advice.clone()).filter(|advice| !advice.is_empty()));
    Remark {
        severity: finding.severity,
        code: finding.code.as_str(),
        summary: text.summary.clone(),
        sentences,
        commands: if full { text.commands.clone() } else { Vec::new() },
    }
}

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
        let remarks = findings.iter().take(shown).map(|it| remark(it, self.wide)).collect();
        let more = match findings.len().saturating_sub(shown) {
            0 => String::new(),
            more => format!("and {more} more"),
        };
        let body = [Part::Findings(remarks), Part::Hinted(more, " (-o wide shows all)")];
        Section::new("FINDINGS", Detail::Always, body).unless_empty()
    }

    /// Returns the findings of a first pass that hold throughout a run, whatever the load does, unless `is_full`
    /// shows all of its findings; and those of the first passes of other runs, by name.
    pub(in crate::report) fn lasting_findings(
        &self,
        others: &[(String, Vec<FindingView>)],
        is_full: bool,
    ) -> Option<Section> {
        let lasts = |it: &&FindingView| {
            use Code::{
                ContainerMetricsMissing, MetricEmpty, MissingRequest, OtherWriter, SharedPods,
                UnknownContainer,
            };
            let codes = [
                OtherWriter,
                SharedPods,
                MissingRequest,
                MetricEmpty,
                UnknownContainer,
                ContainerMetricsMissing,
            ];
            codes.contains(&it.code)
        };
        let own = &self.explanation.findings;
        let shown = own.iter().filter(|it| !is_full && lasts(it));
        let mut remarks: Vec<Remark> = shown.map(|it| remark(it, false)).collect();
        for (name, findings) in others {
            for finding in findings.iter().filter(lasts) {
                let Remark { summary, .. } = remark(finding, false);
                let is_same =
                    |it: &FindingView| it.code == finding.code && it.text().summary == summary;
                if !own.iter().any(is_same) {
                    let summary = format!("{name}: {summary}");
                    remarks.push(Remark { summary, ..remark(finding, is_full) });
                }
            }
        }
        let body = [Part::Findings(remarks)];
        Section::new("FINDINGS", Detail::Always, body).unless_empty()
    }

    /// Returns all findings with their evidence, as a comment folds them; the wide report begins with them.
    pub(in crate::report) fn evidence(&self) -> Option<Section> {
        let findings = self.explanation.findings.iter().filter(|_| !self.wide);
        let remarks = findings.map(|it| remark(it, true)).collect();
        let body = [Part::Findings(remarks)];
        Section::new("FINDINGS, WITH EVIDENCE", Detail::Wide, body).unless_empty()
    }
}
