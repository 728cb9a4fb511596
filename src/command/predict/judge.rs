//! Judges the expectations for each spec that was played, or for the one pass.

use super::{Baseline, Evaluation, Scenario, Simulation};
use crate::backtest::{CandidateRun, SearchResult};
use crate::error::Error;
use crate::pass::Pass;
use crate::report::expected::Judged;
use crate::report::{Explanation, backtest};
use crate::whatif::expect::{Expectation, ExpectationVerdict, PassFacts, RunFacts, Truth};
use crate::whatif::timeline::Totals;

/// Judges the explained pass with the run that begins with it, and then the other candidates.
pub(super) fn judge<'s>(
    scenario: &Scenario<'_>,
    baseline: &Baseline<'_>,
    simulation: &'s Simulation,
) -> Result<Evaluation<'s>, Error> {
    let Simulation { pass, backtest, .. } = simulation;
    let candidates = backtest.as_ref().map_or(&[][..], |own| &own.candidates);
    let others = candidates.get(1..).unwrap_or_default();
    scenario.gate.check(&pass.input.snapshot.hpa.spec)?;
    for CandidateRun { run, .. } in others {
        let checked = scenario.gate.check(&run.pass.input.snapshot.hpa.spec);
        checked.map_err(|e| e.within(&run.name))?;
    }
    let several = backtest.as_ref().filter(|_| candidates.len() > 1);
    let name = |of: &CandidateRun| several.map(|runs| backtest::name(runs, of));
    let replay = backtest.as_ref().map(|own| &own.replay);
    let judgement = Judgement {
        scenario,
        replay: replay.map(|own| RunFacts::new(&own.pass, &own.timeline.totals)),
        search: backtest.as_ref().and_then(|own| own.search.as_ref()),
    };

    let first = candidates.first();
    let rolled_out = first.and_then(|own| own.run.rolled_out.as_deref());
    let explanation = scenario.watch.explain(pass, rolled_out);
    let totals = simulation.timeline.as_ref().map(|own| &own.totals);
    let (expectations, mut worst) = judgement.of(pass, &explanation, totals, rolled_out.is_some());
    let candidate = scenario.candidates.first();
    let mut judged = vec![Judged {
        candidate: first.and_then(name),
        manifest: candidate.and_then(|own| own.manifest(&baseline.pass.input.snapshot.hpa)),
        expectations,
    }];
    let mut findings = vec![explanation.findings.clone()];
    for other in others {
        let pass = &other.run.pass;
        let rolled_out = other.run.rolled_out.as_deref();
        let explanation = scenario.watch.explain(pass, rolled_out);
        let totals = &other.run.timeline.totals;
        let (expectations, verdict) =
            judgement.of(pass, &explanation, Some(totals), rolled_out.is_some());
        worst = worst.max(verdict);
        judged.push(Judged {
            candidate: name(other),
            manifest: other.manifest.clone(),
            expectations,
        });
        findings.push(explanation.findings);
    }
    Ok(Evaluation {
        explanation,
        findings,
        judged,
        verdict: worst,
    })
}

/// The basis on which every spec is judged.
struct Judgement<'s> {
    scenario: &'s Scenario<'s>,
    replay: Option<RunFacts<'s>>,
    search: Option<&'s SearchResult>,
}

impl Judgement<'_> {
    fn of(
        &self,
        pass: &Pass,
        explanation: &Explanation<'_>,
        totals: Option<&Totals>,
        is_rolled_out: bool,
    ) -> (Vec<Expectation>, ExpectationVerdict) {
        let Scenario { gate, watch, .. } = self.scenario;
        let run = totals.map(|totals| RunFacts::new(pass, totals));
        let facts = PassFacts::of(pass);
        let facts = run.map_or(facts, |run| {
            facts.with_runs(run, self.replay.unwrap_or(run))
        });
        let found = watch.expectations(pass, explanation, &facts, is_rolled_out);
        let Some(search) = self.search else {
            return gate.judge(&facts, found);
        };
        // The expectations were used to choose the settings.
        let names = gate.names();
        let some = Expectation::of_some_setting(&names, search.meets(), tried(search));
        let some = (!names.is_empty()).then_some(some);
        gate.of_change_alone()
            .judge(&facts, some.into_iter().chain(found))
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
