//! Judges the expectations for each spec that was played, or for the one pass.

use super::{Baseline, Evaluation, Scenario, Simulation};
use crate::backtest::{Backtest, CandidateRun, Run, SearchResult};
use crate::error::Error;
use crate::pass::Pass;
use crate::report::expected::Judged;
use crate::report::{Explanation, backtest};
use crate::snapshot::hpa::Hpa;
use crate::whatif::expect::{Expectation, ExpectationVerdict, PassFacts, RunFacts, Truth};
use crate::whatif::timeline::Totals;

/// Judges the explained pass with the run that begins with it, and then the other candidates.
pub(super) fn judge<'s>(
    scenario: &Scenario<'_>,
    baseline: &Baseline<'_>,
    simulation: &'s Simulation,
) -> Result<Evaluation<'s>, Error> {
    let Simulation {
        pass,
        timeline,
        backtest,
        ..
    } = simulation;
    let candidates = backtest.as_ref().map_or(&[][..], |own| &own.candidates);
    let others = candidates.get(1..).unwrap_or_default();
    scenario.gate.check(&pass.input.snapshot.hpa.spec)?;
    for CandidateRun { run, .. } in others {
        let checked = scenario.gate.check(&run.pass.input.snapshot.hpa.spec);
        checked.map_err(|e| e.within(&run.name))?;
    }
    let replay = backtest.as_ref().map(|own| &own.replay);
    let judgement = Judgement {
        scenario,
        hpa: &baseline.pass.input.snapshot.hpa,
        backtest: backtest.as_ref(),
        replay: replay.map(|own| RunFacts::new(&own.pass, &own.timeline.totals)),
    };
    let totals = timeline.as_ref().map(|own| &own.totals);
    let (explanation, judged, verdict) = judgement.of(0, pass, totals, candidates.first());
    let mut evaluation = Evaluation {
        findings: vec![explanation.findings.clone()],
        explanation,
        judged: vec![judged],
        verdict,
    };
    for (place, own) in candidates.iter().enumerate().skip(1) {
        let Run { pass, timeline, .. } = &own.run;
        let (explanation, judged, verdict) =
            judgement.of(place, pass, Some(&timeline.totals), Some(own));
        evaluation.findings.push(explanation.findings);
        evaluation.judged.push(judged);
        evaluation.verdict = evaluation.verdict.max(verdict);
    }
    Ok(evaluation)
}

/// The basis on which every spec is judged.
struct Judgement<'s> {
    scenario: &'s Scenario<'s>,
    /// The observed HPA.
    hpa: &'s Hpa,
    backtest: Option<&'s Backtest>,
    replay: Option<RunFacts<'s>>,
}

impl Judgement<'_> {
    /// Explains and judges the first pass of the spec at a place, with the totals of its run.
    fn of<'p>(
        &self,
        place: usize,
        pass: &'p Pass,
        totals: Option<&Totals>,
        candidate: Option<&CandidateRun>,
    ) -> (Explanation<'p>, Judged, ExpectationVerdict) {
        let Scenario { watch, .. } = self.scenario;
        let rolled_out = candidate.and_then(|own| own.run.rolled_out.as_deref());
        let explanation = watch.explain(pass, rolled_out);
        let mut facts = PassFacts::of(pass);
        if let Some(totals) = totals {
            let run = RunFacts::new(pass, totals);
            facts = facts.with_runs(run, self.replay.unwrap_or(run));
        }
        let found = watch.expectations(&explanation, &facts, rolled_out.is_some());
        let (expectations, verdict) = self.judged(&facts, found);
        let several = self.backtest.filter(|own| own.candidates.len() > 1);
        let spec = self.scenario.candidates.get(place);
        let judged = Judged {
            candidate: several
                .zip(candidate)
                .map(|(runs, own)| backtest::name(runs, own)),
            manifest: spec.and_then(|own| own.manifest(self.hpa)),
            expectations,
        };
        (explanation, judged, verdict)
    }

    /// Judges facts by the command line, and by the expectations about findings.
    fn judged(
        &self,
        facts: &PassFacts<'_>,
        found: Vec<Expectation>,
    ) -> (Vec<Expectation>, ExpectationVerdict) {
        let gate = &self.scenario.gate;
        let Some(search) = self.backtest.and_then(|own| own.search.as_ref()) else {
            return gate.judge(facts, found);
        };
        // The expectations were used to choose the settings.
        let names = gate.names();
        let some = (!names.is_empty())
            .then(|| Expectation::of_some_setting(&names, search.meets(), tried(search)));
        gate.of_change_alone()
            .judge(facts, some.into_iter().chain(found))
    }
}

/// Returns how many settings were tried, and how they were judged.
fn tried(result: &SearchResult) -> String {
    let SearchResult { search, tried, .. } = result;
    let combinations = search.count();
    let played = || tried.iter().filter(|own| own.result.is_ok());
    let count = |truth| played().filter(|own| own.meets == truth).count();
    let refused = tried.len() - played().count();
    let counts: Vec<String> = [
        (count(Truth::True), ["meets it", "meet it"]),
        (count(Truth::False), ["does not", "do not"]),
        (count(Truth::Unknown), ["may or may not"; 2]),
        (refused, ["cannot be played"; 2]),
        (
            combinations.saturating_sub(tried.len()),
            ["was not tried", "were not tried"],
        ),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, [one, several])| format!("{count} {}", if count == 1 { one } else { several }))
    .collect();
    format!("of {combinations} settings, {}", counts.join(", "))
}
