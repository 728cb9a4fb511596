//! The problems, and their remedies.

use super::Words;
use crate::findings::path::NOTHING_TO_DO;
use crate::findings::{Aspect, Code, FindingView, Severity};
use crate::report::backtest::Compared;
use crate::report::section::{Detail, Part, Remark, Section};

/// Returns the most important findings of at least a severity: as many as can be read at a glance, without
/// any that only repeats another of them.
pub(super) fn shown(findings: &[FindingView], least: Severity) -> Vec<&FindingView> {
    let mut all = worth_showing(findings, least);
    all.truncate(SHOWN);
    all
}

/// The number of findings that can be read at a glance.
const SHOWN: usize = 3;

/// Returns the findings of at least a severity without those that only repeat the verdict, or one that is
/// shown.
fn worth_showing(findings: &[FindingView], least: Severity) -> Vec<&FindingView> {
    let is_meant = |it: &&FindingView| it.severity <= least && !it.is_in_verdict;
    let all = || findings.iter().filter(is_meant);
    let first = || all().filter(|it| !it.is_repeated()).take(SHOWN);
    let is_told = |code: Code| first().any(|it| it.code == code);
    let repeats = |it: &FindingView| it.is_repeated() && it.follows.is_some_and(is_told);
    all().filter(|it| !repeats(it)).collect()
}

/// Returns the remark on a finding, with its evidence and commands if `full`.
fn remark(finding: &FindingView, full: bool) -> Remark {
    let mut sentences = Vec::new();
    if full {
        sentences.extend(finding.evidence.iter().cloned());
    }
    let advice = finding.advice();
    let mut summary = finding.summary.clone();
    // Where nothing is wrong, one line is enough.
    if !full && advice == NOTHING_TO_DO {
        summary += ": nothing to do";
    } else if !advice.is_empty() {
        sentences.push(advice);
    }
    Remark {
        severity: finding.severity,
        code: finding.code.as_str(),
        summary,
        sentences,
        commands: if full {
            finding.commands.clone()
        } else {
            Vec::new()
        },
    }
}

impl Words<'_> {
    /// Returns the most important findings of at least a severity; all of them with their evidence if `wide`.
    pub(in crate::report) fn findings(&self, least: Severity) -> Option<Section> {
        let findings = &self.explanation.findings;
        let shown = if self.wide {
            findings.iter().filter(|it| it.severity <= least).collect()
        } else {
            shown(findings, least)
        };
        let remarks = shown.iter().map(|it| remark(it, self.wide)).collect();
        let more = match self.omitted(least) {
            0 => String::new(),
            more => format!("and {more} more"),
        };
        let body = [
            Part::Findings(remarks),
            Part::Hinted(more, " (-o wide shows all)"),
        ];
        Section::new("FINDINGS", Detail::Always, body)
    }

    /// Returns how many findings of at least this severity are left out because others are more important.
    fn omitted(&self, least: Severity) -> usize {
        if self.wide {
            0
        } else {
            worth_showing(&self.explanation.findings, least)
                .len()
                .saturating_sub(SHOWN)
        }
    }

    /// Whether a finding that is shown states how far the metric is off its target.
    pub(super) fn tells_tolerance(&self) -> bool {
        let mut findings = self.explanation.findings.iter();
        self.wide && findings.any(|it| it.code == Code::WithinTolerance)
    }

    /// Returns the advice on the rules that decide, which the wide report lists among the findings.
    pub(in crate::report) fn advice_on_rules(&self) -> impl Iterator<Item = String> {
        let findings = self.explanation.findings.iter().filter(|_| !self.wide);
        let rules = findings.filter(|it| it.is_in_verdict && it.explains && it.follows.is_none());
        rules
            .map(FindingView::advice)
            .filter(|advice| !advice.is_empty() && advice != NOTHING_TO_DO)
    }

    /// Whether the wide report has evidence or commands of a finding, and nothing in this one mentions it.
    pub(super) fn hides_evidence(&self) -> bool {
        let has = |it: &FindingView| !it.evidence.is_empty() || !it.commands.is_empty();
        !self.wide && self.omitted(Severity::Info) == 0 && self.explanation.findings.iter().any(has)
    }

    /// Returns the findings of a pass that hold throughout a run, whatever the load does, unless `is_full` shows
    /// all of its findings; and those of other runs. A finding that does not hold in all runs names its run.
    pub(in crate::report) fn lasting_findings(
        &self,
        runs: &Compared<'_>,
        is_full: bool,
    ) -> Option<Section> {
        let first = std::iter::once((runs.first(), &self.explanation.findings[..]));
        let runs: Vec<_> = first.chain(runs.findings().skip(1)).collect();
        let is_same =
            |one: &FindingView, it: &FindingView| it.code == one.code && it.summary == one.summary;
        let has = |findings: &[FindingView], one| findings.iter().any(|it| is_same(one, it));
        let mut remarks = Vec::new();
        // If all findings of the first pass are shown above, only those of its run follow.
        for (place, (name, findings)) in runs.iter().enumerate().skip(usize::from(is_full)) {
            for finding in findings.iter().filter(|it| it.code.is(Aspect::Lasts)) {
                if !runs.iter().all(|(_, findings)| has(findings, finding)) {
                    let own = remark(finding, is_full);
                    let summary = format!("{name}: {}", own.summary);
                    remarks.push(Remark { summary, ..own });
                } else if place == 0 {
                    remarks.push(remark(finding, false));
                }
            }
        }
        let body = [Part::Findings(remarks)];
        Section::new("FINDINGS", Detail::Always, body)
    }

    /// Returns all findings with their evidence, as a comment folds them; the wide report begins with them.
    pub(super) fn evidence(&self) -> Option<Section> {
        let findings = self.explanation.findings.iter().filter(|_| !self.wide);
        let remarks = findings.map(|it| remark(it, true)).collect();
        let body = [Part::Findings(remarks)];
        Section::new("FINDINGS, WITH EVIDENCE", Detail::Wide, body)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::build;
    use crate::findings::testing::{pass, state, with, with_hpa};
    use crate::findings::{find, views};
    use crate::report::Explanation;
    use crate::report::page::Page;

    /// The verdict states the rule that decides, and nothing repeats it; a rule that it does not name is a finding.
    #[test]
    fn a_rule_is_told_once() {
        let cpu = build::resource("cpu", &build::utilization(50));
        let page = |usage: &str, replicas: usize, spec: &serde_json::Value, history: &[i32]| {
            let recommendations = history
                .iter()
                .map(|it| json!({"replicas": it, "time": "2026-11-21T05:58:00Z"}));
            let recommendations: Vec<_> = recommendations.collect();
            let items = state(std::slice::from_ref(&cpu), &vec![usage; replicas]);
            let items = with_hpa(&items, &json!({ "spec": spec }));
            let items = with(
                &items,
                "ControllerState",
                &json!({ "recommendations": recommendations }),
            );
            let page = Page::new(&Explanation::new(&pass(&items)), false);
            let shown = page.sections.iter().filter(|it| it.title == "FINDINGS");
            let shown = shown.flat_map(|section| &section.body);
            let codes = shown.filter_map(|part| match part {
                Part::Findings(remarks) => Some(remarks.iter().map(|it| it.code)),
                _ => None,
            });
            (page.why.join(" "), Vec::from_iter(codes.flatten()))
        };
        let disabled = |max: i32, direction: &str| json!({"maxReplicas": max, "behavior": {direction: {"selectPolicy": "Disabled"}}});
        for (usage, replicas, spec, history, why, codes) in [
            (
                "100m",
                4,
                json!({"maxReplicas": 20}),
                vec![],
                "cpu proposes 8 replicas.",
                vec![],
            ),
            (
                "500m",
                4,
                json!({"maxReplicas": 40}),
                vec![],
                "cpu proposes 40 replicas; one pass may at most double the current 4. \
                 Wait for the next passes, or set behavior.scaleUp.policies.",
                vec![],
            ),
            // The verdict names both, and the finding gives the remedy.
            (
                "10m",
                4,
                disabled(20, "scaleDown"),
                vec![4],
                "cpu proposes 1 replica; behavior disables scaling down, and the higher recommendation of 4 from 2m ago still \
                 holds.",
                vec!["direction-disabled"],
            ),
            (
                "100m",
                4,
                disabled(4, "scaleUp"),
                vec![],
                "cpu proposes 8 replicas; the maximum is 4, and behavior disables scaling up. \
                 If that is not meant, remove behavior.scaleUp.selectPolicy and raise maxReplicas.",
                vec![],
            ),
        ] {
            assert_eq!(
                page(usage, replicas, &spec, &history),
                (why.to_owned(), codes)
            );
        }
    }

    /// Pods that were never ready do not count: one finding names them, another would repeat them.
    #[test]
    fn a_finding_that_only_repeats_another_takes_no_place() {
        let cpu = build::resource("cpu", &build::utilization(50));
        let pods = state(&[cpu], &["80m"; 4]);
        let stuck = |name: &str| {
            let status = json!({"startTime": "2026-11-21T05:00:00Z", "conditions": [{"type": "Ready",
                "status": "False", "lastTransitionTime": "2026-11-21T05:00:00Z"}]});
            let is_it = |it: &&serde_json::Value| it["metadata"]["name"] == name;
            let own: Vec<_> = pods.iter().filter(is_it).cloned().collect();
            let own = with(&own, "Pod", &json!({"status": status}));
            let others = pods.iter().filter(|it| !is_it(it)).cloned();
            others.chain(own).collect::<Vec<_>>()
        };
        let codes = |items: &[serde_json::Value]| {
            let pass = pass(items);
            let views = views(&pass, &find(&pass));
            let codes = |all: Vec<&FindingView>| all.iter().map(|it| it.code).collect::<Vec<_>>();
            (
                codes(views.iter().collect()),
                codes(shown(&views, Severity::Info)),
            )
        };
        let (all, shown) = codes(&stuck("web-3"));
        assert_eq!(all, [Code::NeverReady, Code::UncountedPods]);
        assert_eq!(shown, [Code::NeverReady]);
        // Left out, the other finding is not referred to.
        let pass = pass(&stuck("web-3"));
        let summary = |ignored: &[Code]| {
            let findings = Explanation::ignoring(&pass, ignored).findings;
            let uncounted = findings.iter().find(|it| it.code == Code::UncountedPods);
            uncounted.map(|it| it.summary.clone()).unwrap_or_default()
        };
        assert!(summary(&[]).contains("never-ready"));
        let alone = summary(&[Code::NeverReady]);
        assert!(alone.starts_with("1 of 4 pods does not count"), "{alone}");
        assert!(!alone.contains("never-ready"), "{alone}");
        // Another pod does not count either, which nothing else says.
        let mut items = stuck("web-3");
        items.retain(|it| it["kind"] != "PodMetrics" || it["metadata"]["name"] != "web-2");
        let (all, shown) = codes(&items);
        assert_eq!(all, [Code::UncountedPods, Code::NeverReady]);
        assert_eq!(shown, all);
    }
}
