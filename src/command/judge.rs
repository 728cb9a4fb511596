//! Judges the expectations for each spec that was played, or for the one pass.

use super::fail_on::FindingsWatch;
use crate::backtest::{Backtest, Candidate, Found, ManifestPlace};
use crate::pass::Pass;
use crate::report::expected::Judged;
use crate::report::{Explanation, backtest};
use crate::whatif::expect::{Expectation, Facts, Gate, RunFacts, Truth, Verdict};
use crate::whatif::timeline::{Timeline, Totals};

/// Judges the pass that is explained with the run that begins with it, and then the other candidates.
/// The verdict is the worst one. `manifest` belongs to the first.
pub(super) fn judge(
    gate: &Gate,
    watch: &FindingsWatch,
    assumed: &Pass,
    explanation: &Explanation<'_>,
    manifest: Option<ManifestPlace>,
    timeline: Option<&Timeline>,
    runs: Option<&Backtest>,
) -> (Vec<Judged>, Verdict) {
    let replay = runs.map(|it| {
        (
            Pass::run(it.replay.input.clone()),
            &it.replay.timeline.totals,
        )
    });
    let replay = replay
        .as_ref()
        .map(|(pass, totals)| RunFacts::new(pass, totals));
    let one = |pass: &Pass, explanation: &Explanation<'_>, totals: Option<&Totals>| {
        let run = totals.map(|totals| RunFacts::new(pass, totals));
        let facts = Facts::of(pass);
        let facts = run.map_or(facts, |run| facts.with_runs(run, replay.unwrap_or(run)));
        let found = watch.expectations(explanation, &facts);
        match runs.and_then(|runs| runs.search.as_ref()) {
            // The expectations were used to choose the settings.
            Some(search) => {
                let names = gate.names();
                let some = Expectation::of_some_setting(&names, search.meets(), tried(search));
                let some = (!names.is_empty()).then_some(some);
                gate.of_change_alone()
                    .judge(&facts, some.into_iter().chain(found))
            }
            None => gate.judge(&facts, found),
        }
    };
    let candidates = runs.map_or(&[][..], |it| &it.candidates);
    let several = runs.filter(|_| candidates.len() > 1);
    let name = |of: &Candidate| several.map(|runs| backtest::name(runs, of));
    let (expectations, mut worst) = one(assumed, explanation, timeline.map(|it| &it.totals));
    let candidate = candidates.first().and_then(name);
    let mut judged = vec![Judged {
        candidate,
        manifest,
        expectations,
    }];
    for other in candidates.iter().skip(1) {
        let pass = Pass::run(other.run.input.clone());
        let explanation = watch.explain(&pass, other.run.rolled_out.as_deref());
        let (expectations, verdict) = one(&pass, &explanation, Some(&other.run.timeline.totals));
        worst = worst.max(verdict);
        let (candidate, manifest) = (name(other), other.manifest.clone());
        judged.push(Judged {
            candidate,
            manifest,
            expectations,
        });
    }
    (judged, worst)
}

/// How many settings were tried, and how they were judged.
fn tried(search: &Found) -> String {
    let Found {
        combinations,
        tried,
        ..
    } = search;
    let of = |truth| {
        tried
            .iter()
            .filter(|own| own.result.is_ok() && own.meets == truth)
            .count()
    };
    let refused = tried.iter().filter(|own| own.result.is_err()).count();
    let counts = [
        (of(Truth::True), ["meets it", "meet it"]),
        (of(Truth::False), ["does not", "do not"]),
        (of(Truth::Unknown), ["may or may not"; 2]),
        (refused, ["cannot be played"; 2]),
        (
            combinations.saturating_sub(tried.len()),
            ["was not tried", "were not tried"],
        ),
    ];
    let counts = counts.into_iter().filter(|(count, _)| *count > 0);
    let counts: Vec<String> = counts
        .map(|(count, [one, several])| {
            format!("{count} {}", if count == 1 { one } else { several })
        })
        .collect();
    format!("of {combinations} settings, {}", counts.join(", "))
}
