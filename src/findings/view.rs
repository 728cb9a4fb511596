//! Findings in their published form: texts, with commands that reach the same state.

use serde::Serialize;

use super::about::About;
use super::advice::Advice;
use super::remedy::Remedy;
use super::scope::Aspect;
use super::{Code, Finding, Severity};
use crate::pass::Pass;

/// A finding, worded. Serializes as the published object.
#[derive(Debug, Clone, Serialize)]
pub struct FindingView {
    /// The code, as listed in `docs/findings.md`.
    pub code: Code,
    /// Its severity.
    pub severity: Severity,
    /// The metrics whose failure or samples the finding explains, by index in the spec.
    #[serde(skip)]
    pub(crate) metrics: Vec<usize>,
    /// The finding that this one follows from, which has the remedy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub follows: Option<Code>,
    /// Whether the finding is the reason why the pass ends without a decision.
    #[serde(skip)]
    pub(crate) ends: bool,
    /// Whether the replicas do not follow from the passes.
    #[serde(skip)]
    pub(crate) overrules: bool,
    /// Whether the verdict already says so: an ordinary rule decides, and no one needs to act.
    #[serde(skip)]
    pub(crate) is_in_verdict: bool,
    /// Whether the finding explains the result of the pass.
    #[serde(skip)]
    pub(crate) explains: bool,
    /// The problem and its effect on the answer, in one sentence.
    pub(crate) summary: String,
    /// Sentences with numbers, names and times of this HPA.
    pub(crate) evidence: Vec<String>,
    /// One remedy.
    pub(crate) advice: Advice,
    /// Commands to paste, each of which works for this HPA and reaches the same state.
    pub(crate) commands: Vec<String>,
    /// The objects concerned, as `kind/name`.
    pub(crate) objects: Vec<String>,
}

impl FindingView {
    /// Returns the kind of its advice.
    pub fn remedy(&self) -> Remedy {
        self.advice.remedy
    }

    /// Returns its advice; empty if it has none.
    pub fn advice(&self) -> String {
        self.advice.text()
    }

    /// Returns the commands to paste.
    pub fn commands(&self) -> &[String] {
        &self.commands
    }

    /// Whether a report for people can omit the finding if it shows the one that this follows from: it repeats the same
    /// pods, or a rule that applies only because of the other finding.
    pub(crate) fn is_repeated(&self) -> bool {
        self.code.is(Aspect::Repeats) && self.follows.is_some()
    }
}

/// Creates the published form of the findings about a pass.
pub(crate) fn views(pass: &Pass, findings: &[Finding]) -> Vec<FindingView> {
    let all = findings.iter().map(|it| view(pass, it, findings));
    let mut views: Vec<FindingView> = all.collect();
    // Where an assumption is the cause, there is no advice to follow.
    let without = views.iter().filter(|it| it.advice().is_empty());
    let silent: Vec<Code> = without.map(|it| it.code).collect();
    for view in &mut views {
        if view.follows.is_some_and(|it| silent.contains(&it)) {
            view.advice = Advice::default();
        }
    }
    views
}

/// Returns one published finding.
fn view(pass: &Pass, finding: &Finding, found: &[Finding]) -> FindingView {
    let about = About::new(pass, finding, found);
    let facts = finding.facts.kind();
    let mut evidence = facts.evidence(&about);
    let mut advice = match finding.follows {
        Some(cause) => Remedy::Follow.says(format!("Follow the advice of {}.", cause.as_str())),
        None if pass.input.evidence.past.is_some() => facts.advice(&about).of_past(),
        None => about.correct(facts.advice(&about), &mut evidence),
    };
    // An edit that follows from requests that no pod has yet may be wrong for the template that runs.
    if pass.input.assumes_template() {
        advice.commands.retain(|it| it.edits.is_none());
    }
    let flags = &pass.input.command_flags;
    let commands = advice.commands.iter();
    let metrics = if finding.leaves_no_values() {
        pass.decision.metrics().map(|step| step.index).collect()
    } else {
        facts.concerns()
    };
    FindingView {
        code: finding.code(),
        severity: finding.severity,
        metrics,
        follows: finding.follows,
        ends: finding.ends(pass.decision.block()),
        overrules: finding.overrules(),
        is_in_verdict: finding.severity == Severity::Info && facts.is_in_verdict(&pass.decision),
        explains: finding.explains,
        summary: facts.summary(&about),
        evidence,
        commands: commands.map(|it| flags.add_to(&it.line)).collect(),
        advice,
        objects: facts.objects(&about),
    }
}
