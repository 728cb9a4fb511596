//! `--fail-on` and `--ignore`: the findings that fail a run, and those that are left out.

use std::cell::LazyCell;
use std::iter::once;

use clap::ValueEnum;
use clap::builder::PossibleValue;

use super::state::unanswered;
use crate::apimachinery::similar::nearest;
use crate::args::ExpectShorthand;
use crate::error::{Error, listed};
use crate::findings::watched::Watched;
use crate::findings::{Aspect, Code, Finding, FindingView, find_except};
use crate::pass::Pass;
use crate::report::Explanation;
use crate::report::expected::Judged;
use crate::snapshot::hpa::MetricSpec;
use crate::snapshot::input::Input;
use crate::snapshot::note::Note;
use crate::snapshot::right::{UnknownFact, UnknownFactCause};
use crate::whatif::expect::{
    Expectation, ExpectationVerdict, FindingSearch, Gate, PassFacts, Truth,
};

/// The conditions of `predict`.
fn conditions() -> Vec<PossibleValue> {
    let all = ExpectShorthand::value_variants().iter();
    all.filter_map(ValueEnum::to_possible_value).collect()
}

/// The command line's settings for findings.
pub(super) struct FindingsWatch {
    pub(super) fail_on: Vec<Watched>,
    pub(super) ignored: Vec<Code>,
}

impl FindingsWatch {
    /// Reads `--fail-on` and `--ignore` of `explain`.
    ///
    /// # Errors
    ///
    /// A word is not a finding, or nothing watched for remains.
    pub(super) fn read(fail_on: &[String], ignore: &[String]) -> Result<Self, Error> {
        let conditions = conditions();
        let names: Vec<&str> = conditions.iter().map(PossibleValue::get_name).collect();
        for text in fail_on {
            let findings = Watched::all().map(|own| own.as_str() as &str);
            let meant = nearest(text, findings.chain(names.iter().copied()));
            if let Some(condition) = meant.filter(|meant| names.contains(meant)) {
                let hint = format!("{condition} is a condition of `kubectl hpa predict --fail-on`");
                return Err(Error::usage(format!("unknown finding {text:?}")).hint(hint));
            }
        }
        let watch = Self::beside(fail_on, ignore, &[])?;
        watch.check_something_remains()?;
        Ok(watch)
    }

    /// Reads the settings of `predict`, whose `--fail-on` also accepts conditions.
    ///
    /// # Errors
    ///
    /// A word is not a finding.
    pub(super) fn of_predict(fail_on: &[String], ignore: &[String]) -> Result<Self, Error> {
        let conditions = conditions();
        let names: Vec<&str> = conditions.iter().map(PossibleValue::get_name).collect();
        Self::beside(fail_on, ignore, &names)
    }

    fn beside(fail_on: &[String], ignore: &[String], conditions: &[&str]) -> Result<Self, Error> {
        let watched = fail_on.iter().map(|text| Watched::read(text, conditions));
        let ignored = ignore.iter().map(|text| Code::read(text));
        Ok(Self {
            fail_on: watched.collect::<Result<_, _>>()?,
            ignored: ignored.collect::<Result<_, _>>()?,
        })
    }

    /// Checks that a run which is watched for findings alone can fail.
    ///
    /// # Errors
    ///
    /// All of them are left out.
    pub(super) fn check_something_remains(&self) -> Result<(), Error> {
        let mut watched = self.fail_on.iter();
        let is_left_out =
            |it: &Watched| matches!(it, Watched::Code(code) if self.ignored.contains(code));
        if self.fail_on.is_empty() || !watched.all(is_left_out) {
            return Ok(());
        }
        Err(
            Error::usage("--ignore leaves out every finding of --fail-on")
                .hint("such a run cannot fail: remove a code from one of them"),
        )
    }

    /// Explains the first pass of a run. Findings that last throughout the run come from the pods that are
    /// rolled out during it.
    pub(super) fn explain<'p>(
        &self,
        pass: &'p Pass,
        rolled_out: Option<&Input>,
    ) -> Explanation<'p> {
        let mut explanation = Explanation::ignoring(pass, &self.ignored);
        if let Some(input) = rolled_out {
            let later = Pass::run(input.clone());
            let later = Explanation::ignoring(&later, &self.ignored).findings;
            let is_replaced = |it: &FindingView| is_of_pods(it.code);
            explanation.findings.retain(|it| !is_replaced(it));
            explanation
                .findings
                .extend(later.into_iter().filter(is_replaced));
            explanation.findings.sort_by_key(|it| it.severity);
        }
        explanation
    }

    /// Returns the expectations of `--fail-on` for an explained pass, and for a run that begins with it. The pods of
    /// the run may be those of a rollout.
    pub(super) fn expectations(
        &self,
        explanation: &Explanation<'_>,
        facts: &PassFacts<'_>,
        is_rolled_out: bool,
    ) -> Vec<Expectation> {
        let find = |pass: &Pass| find_except(pass, &self.ignored);
        let pass = explanation.pass;
        let elsewhen = pass.elsewhen.as_deref();
        let at_other_time = LazyCell::new(|| elsewhen.map(find).unwrap_or_default());
        let with_other_history = LazyCell::new(|| {
            let passes = once(pass).chain(elsewhen).flat_map(Pass::at_bounds);
            Vec::from_iter(passes.flat_map(|pass| find(&pass)))
        });
        let expected = self.fail_on.iter().map(|watched| {
            let found = explanation.of(*watched);
            let is_open = found.is_empty();
            let is_one = |it: &Finding| {
                watched.is(it.code(), it.severity) && !(is_rolled_out && is_of_pods(it.code()))
            };
            let search = FindingSearch {
                lasts: !is_open && found.iter().all(|it| it.is(Aspect::Lasts)),
                found: found.into_iter().map(Code::as_str).collect(),
                of_metrics: watched.is_of_metrics(),
                with_other_history: is_open && with_other_history.iter().any(is_one),
                at_other_time: is_open && at_other_time.iter().any(is_one),
                unread: unread(*watched, pass),
            };
            Expectation::not_found(watched.as_str(), watched.none(), &search, facts)
        });
        expected.collect()
    }

    /// Judges a pass by `--fail-on`; `of` names the HPA if there are several.
    pub(super) fn judged(&self, explanation: &Explanation<'_>, of: Option<String>) -> WatchedPass {
        let facts = PassFacts::of(explanation.pass);
        let found = self.expectations(explanation, &facts, false);
        let (expectations, verdict) = Gate::default().judge(&facts, found);
        let judged = Judged {
            candidate: of,
            manifest: None,
            expectations,
        };
        let mut messages = Vec::from_iter(self.failed(explanation));
        let is_answered = unanswered(explanation.pass).is_none();
        if is_answered {
            messages.extend(unknown(&judged));
        }
        WatchedPass {
            judged,
            verdict: counted(verdict, is_answered),
            messages,
        }
    }

    /// Names the findings that `--fail-on` matches, each with its severity.
    fn failed(&self, explanation: &Explanation<'_>) -> Option<String> {
        let mut found: Vec<String> = explanation
            .findings
            .iter()
            .filter(|it| {
                let mut watched = self.fail_on.iter();
                watched.any(|watched| watched.is(it.code, it.severity))
            })
            .map(|it| format!("{} ({})", it.code.as_str(), it.severity.as_str()))
            .collect();
        found.dedup();
        (!found.is_empty()).then(|| format!("--fail-on found {}", listed(&found)))
    }
}

/// Returns the verdict that counts. If an answer is lacking, only a finding that is present does: everything else that is
/// unknown has its own error.
pub(super) fn counted(verdict: ExpectationVerdict, is_answered: bool) -> ExpectationVerdict {
    if is_answered || verdict == ExpectationVerdict::ExpectationFalse {
        verdict
    } else {
        ExpectationVerdict::Holds
    }
}

/// Returns the reason why a finding whose code is named may be hidden. Those that are named by severity are the ones
/// that the user's rights show.
fn unread(watched: Watched, pass: &Pass) -> Option<String> {
    let Watched::Code(code) = watched else {
        return None;
    };
    let input = &pass.input;
    let mut metrics = pass.decision.metrics();
    let mut specs = input.snapshot.hpa.spec.metrics.iter();
    let is_possible = match code {
        Code::MetricFailing | Code::MetricNotFound => metrics.any(|it| it.proposal().is_none()),
        Code::SelectorMatchesNothing => specs.any(MetricSpec::needs_pods),
        _ => true,
    };
    let hides = |fact: UnknownFact| is_possible && fact.hides(code.as_str());
    let mut around = input.surroundings.unread.iter();
    let hidden = around.find(|(fact, _)| hides(*fact));
    let lacks_pods = input.snapshot.pods_unread.is_some() && hides(UnknownFact::OF_PODS);
    let of_pods = lacks_pods.then(|| UnknownFactCause::NoPods.to_string());
    let of_others = input.notes.iter().find(|note| note.is_of_shared_pods());
    let hidden = hidden.map(|(_, why)| why.to_string());
    hidden.or(of_pods).or_else(|| {
        let own = of_others.filter(|_| code == Code::SharedPods);
        own.map(Note::to_string)
    })
}

/// A pass, judged by `--fail-on`.
pub(super) struct WatchedPass {
    pub(super) judged: Judged,
    /// The verdict for the exit code.
    pub(super) verdict: ExpectationVerdict,
    /// The findings, and what is unknown.
    pub(super) messages: Vec<String>,
}

/// Names what of `--fail-on` is unknown, with the reasons.
fn unknown(judged: &Judged) -> Vec<String> {
    let all = judged.expectations.iter();
    let unknown = all.filter(|it| it.truth == Truth::Unknown);
    let messages = unknown.map(|it| {
        let word = it.fail_on.unwrap_or_default();
        format!("--fail-on {word} is undecided: {}", it.because())
    });
    messages.collect()
}

/// Whether findings of a code last throughout a run because of its pods. The writer of the replicas does not depend
/// on pods.
fn is_of_pods(code: Code) -> bool {
    code.is(Aspect::Lasts) && code != Code::OtherWriter
}
