//! Queries Prometheus for the history of a past pass.

use jiff::{SignedDuration, Timestamp};

use super::Terminal;
use super::load::{Query, line, names};
use super::progress::shown;
use crate::args::{PrometheusArgs, TimeArgument};
use crate::calendar::Calendar;
use crate::cluster::Session;
use crate::cluster::progress::Progress;
use crate::cluster::prometheus::Prometheus;
use crate::error::Error;
use crate::memory::infer;
use crate::pass::Pass;
use crate::past::answers::{notes, values};
use crate::past::{check, check_count, read, record, rewind, span};
use crate::prometheus::answer::QueryAnswer;
use crate::prometheus::grid::Grid;
use crate::prometheus::history::History;
use crate::prometheus::queries::{LoadRequest, Purpose, Question, Sampled};
use crate::snapshot::input::Input;
use crate::snapshot::load::LoadQuery;
use crate::snapshot::past::Bounds;
use crate::whatif::queried::stated;

/// The time between two samples of a typed query.
const STEP: SignedDuration = SignedDuration::from_secs(15);

/// The flags for a smaller query.
const LESS: &str = "--prometheus-match selects fewer series";

/// Runs a past pass, from the current state. Also returns the messages about a connection other than `session`.
pub(super) async fn past(
    query: &Query<'_>,
    typed: TimeArgument,
    session: Option<&Session>,
    input: Input,
    terminal: &Terminal,
) -> Result<(Pass, Vec<String>), Error> {
    let now = read(&input);
    let at = typed.before(now)?;
    if at > now {
        return Err(Error::usage(format!(
            "--at {at} is later than {now}, when the HPA was read"
        ))
        .hint("without --at, the next pass is explained"));
    }
    check(&input)?;
    check_count(&input)?;
    let (input, messages) = query
        .ask(session, LESS, async |way| {
            let history = ask(way, query.args, at, &input, terminal).await?;
            way.aside(move || rewind(input, &history, at)).await?
        })
        .await?;
    Ok((Pass::run(input), messages))
}

/// Narrows the possible memories of a pass by the history of the passes before it. Also returns the
/// messages, including the reason why a history is not used.
pub(super) async fn narrow(
    query: &Query<'_>,
    session: Option<&Session>,
    pass: Pass,
    terminal: &Terminal,
) -> Result<(Pass, Vec<String>), Error> {
    let mut input = pass.input;
    check(&input)?;
    let (history, mut messages) = query
        .ask(session, LESS, async |way| {
            ask(way, query.args, input.snapshot.now, &input, terminal).await
        })
        .await?;
    let next = infer::next_pass(&input);
    match record(&input, &history, next) {
        Ok(past)
            if past
                .passes
                .iter()
                .all(|pass| pass.recommended == Bounds::UNKNOWN) =>
        {
            let target = input.snapshot.hpa.reference();
            messages.push(format!(
                "Note: Prometheus has no samples of {target} and its pods that tell of passes \
                 before now; the bounds are those of the API alone"
            ));
        }
        Ok(past) => {
            messages.extend(past.warnings.iter().map(|it| format!("Note: {it}")));
            input.evidence.recorded = Some(past);
        }
        Err(e) => messages.push(format!("Note: {e}; the bounds are those of the API alone")),
    }
    Ok((Pass::run(input), messages))
}

async fn ask(
    way: &Prometheus,
    typed: &PrometheusArgs,
    at: Timestamp,
    input: &Input,
    terminal: &Terminal,
) -> Result<History, Error> {
    let hpa = &input.snapshot.hpa;
    let metrics = &hpa.spec.metrics;
    let stated = stated(&typed.queries, input, metrics)?;
    let matching = typed.matching()?;
    // Typed queries come first.
    for ((purpose, _), text) in stated.iter().zip(&typed.queries) {
        let is_read = match purpose {
            Purpose::Metric(place) => metrics[*place].is_resource(),
            _ => true,
        };
        if is_read {
            return Err(Error::usage(format!(
                "--query {text}: the record and the usage of each pod are read anyway"
            ))
            .hint("--query is for metrics of Pods, Object and External"));
        }
    }
    let wanted = LoadRequest {
        hpa,
        metrics,
        stated: &stated,
        replica_sets: &[],
        matching,
    };
    let (before, after) = span(input);
    let start = at.minus(before);
    let latest = read(input).max(at);
    let end = at.checked_add(after).unwrap_or(at).min(latest);
    // A later time would repeat the last values.
    let until = end.checked_add(STEP).unwrap_or(end).min(latest);
    let grid = Grid::new(start, until, STEP)?;
    let progress = Progress::default();
    let asked = history(way, &wanted, (start, end), grid, &progress);
    shown(asked, || line(&progress), terminal).await
}

/// Queries the history of the pods, the HPA and its metrics between two times.
async fn history(
    way: &Prometheus,
    wanted: &LoadRequest<'_>,
    (start, end): (Timestamp, Timestamp),
    grid: Grid,
    progress: &Progress,
) -> Result<History, Error> {
    let seconds = end.duration_since(start).as_secs();
    let owned = wanted.owned(seconds);
    let owners = match &owned {
        Some(query) => way.at_once(query, end).await?,
        None => QueryAnswer::default(),
    };
    let sets = names(&owners)?;
    let (kinds, samples): (Vec<Sampled>, Vec<LoadQuery>) =
        wanted.samples(seconds).into_iter().unzip();
    let found = way.all_at_once(&samples, end, progress).await?;
    let answers: Vec<_> = kinds.into_iter().zip(found).collect();
    let questions = wanted.stated.iter().filter_map(|(purpose, query)| {
        let Purpose::Metric(place) = purpose else {
            return None;
        };
        Some(Question {
            purpose: *purpose,
            asked: LoadQuery::new(
                wanted.metrics[*place].flag_name(wanted.metrics),
                query.clone(),
            ),
        })
    });
    let metrics = way.answers(questions.collect(), grid, progress).await?;
    let asked = metrics.iter().map(|own| own.question.asked.clone());
    let queries = owned.into_iter().chain(samples).chain(asked).collect();
    let (hpa, source) = (wanted.hpa.clone(), way.name.clone());
    way.aside(move || {
        Ok(History {
            source,
            queries,
            warnings: notes(&owners, &answers, &metrics),
            metrics: values(&hpa, &metrics)?,
            ..History::read(&hpa, &sets, &answers)
        })
    })
    .await?
}
