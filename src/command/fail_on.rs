//! `--fail-on` and `--ignore`: the findings that fail a run, and those that are left out.

use clap::ValueEnum;
use clap::builder::PossibleValue;

use crate::apimachinery::similar::nearest;
use crate::args::ExpectShorthand;
use crate::error::{Error, listed};
use crate::findings::watched::Watched;
use crate::findings::{Aspect, Code, FindingView};
use crate::pass::Pass;
use crate::report::Explanation;
use crate::report::expected::Judged;
use crate::snapshot::input::Input;
use crate::whatif::expect::{Expectation, PassFacts};

/// The exit code if a finding of `--fail-on` is found.
pub(super) const FOUND: u8 = 3;

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
        let conditions = || conditions.iter().map(PossibleValue::get_name);
        for text in fail_on {
            let findings = Watched::all().map(|own| own.as_str() as &str);
            let meant = nearest(text, findings.chain(conditions()));
            if let Some(condition) = meant.filter(|meant| conditions().any(|own| own == *meant)) {
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
            // The writer of the replicas does not depend on pods.
            let is_of_pods =
                |it: &FindingView| it.code.is(Aspect::Lasts) && it.code != Code::OtherWriter;
            explanation.findings.retain(|it| !is_of_pods(it));
            explanation
                .findings
                .extend(later.into_iter().filter(is_of_pods));
            explanation.findings.sort_by_key(|it| it.severity);
        }
        explanation
    }

    /// Returns the expectations of `--fail-on` for a pass, and for a run that begins with it.
    pub(super) fn expectations<'a>(
        &'a self,
        explanation: &'a Explanation<'_>,
        facts: &'a PassFacts<'_>,
    ) -> impl Iterator<Item = Expectation> + 'a {
        self.fail_on.iter().map(|watched| {
            let found = explanation.of(*watched);
            let lasts = !found.is_empty() && found.iter().all(|it| it.is(Aspect::Lasts));
            let codes: Vec<&str> = found.into_iter().map(Code::as_str).collect();
            let of_metrics = watched.is_of_metrics();
            Expectation::not_found(watched.as_str(), &codes, lasts, of_metrics, facts)
        })
    }

    /// Judges a pass by `--fail-on`; `of` names the HPA if there are several.
    pub(super) fn judged(
        &self,
        pass: &Pass,
        explanation: &Explanation<'_>,
        of: Option<String>,
    ) -> Judged {
        let facts = PassFacts::of(pass);
        let expectations = self.expectations(explanation, &facts).collect();
        Judged {
            candidate: of,
            manifest: None,
            expectations,
        }
    }

    /// Names the findings that `--fail-on` matches, each with its severity.
    pub(super) fn failed(&self, explanation: &Explanation<'_>) -> Option<String> {
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
