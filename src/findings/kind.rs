//! A kind of finding: its search, its texts, and the finding that it follows from.

use super::about::About;
use super::advice::Advice;
use super::scope::Aspect;
use super::wording::pod_objects;
use super::{Case, Code, Finding};
use crate::engine::decision::Decision;

/// A kind of finding. The type that implements it has the facts. `docs/findings.md` shows its documentation: one
/// paragraph on when it appears, and one on the remedy in general.
pub(crate) trait Kind: std::any::Any {
    /// Looks for findings of this kind. An implementation returns an `Option` if a pass has at most one, or else a
    /// `Vec`.
    fn find(case: &Case<'_>) -> impl IntoIterator<Item = Finding>
    where
        Self: Sized;

    /// Returns the finding that this one follows from, if any.
    fn cause(&self, _: &About<'_>) -> Option<Code> {
        None
    }

    /// Returns the metrics whose failure the finding explains, by index in the spec.
    fn failed_metrics(&self) -> Vec<usize> {
        Vec::new()
    }

    /// Returns the metrics whose failure or samples the finding explains.
    fn concerns(&self) -> Vec<usize> {
        self.failed_metrics()
    }

    /// Whether the verdict on a decision names the rule that the finding reports.
    fn is_in_verdict(&self, _: &Decision) -> bool {
        false
    }

    /// Returns one sentence with the problem and its effect on the answer.
    fn summary(&self, about: &About<'_>) -> String;

    /// Returns the evidence: sentences with numbers, names and times of this HPA.
    fn evidence(&self, about: &About<'_>) -> Vec<String>;

    /// Returns the advice, with the commands to paste.
    fn advice(&self, about: &About<'_>) -> Advice;

    /// Returns the names of the pods concerned.
    fn pods(&self) -> Vec<&str> {
        Vec::new()
    }

    /// Returns the objects concerned, as `kind/name`: the target, the pods, or else the HPA.
    fn objects(&self, about: &About<'_>) -> Vec<String> {
        let pods = self.pods();
        if about.finding.code().is(Aspect::OfTarget) {
            vec![about.target()]
        } else if pods.is_empty() {
            about.own()
        } else {
            pod_objects(&pods)
        }
    }
}
