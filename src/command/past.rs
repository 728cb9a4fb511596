//! Queries Prometheus for the history of a past pass.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::Terminal;
use super::load::{Query, REPLICA_SETS, line, replica_sets, stated};
use super::progress::shown;
use crate::args::{PrometheusArgs, TimeArgument};
use crate::calendar::Calendar;
use crate::cluster::Session;
use crate::cluster::progress::Progress;
use crate::cluster::prometheus::Prometheus;
use crate::error::Error;
use crate::memory::infer;
use crate::pass::Pass;
use crate::past::{HistoryOrigin, check, check_count, read, record, rewind, span};
use crate::prometheus::answer::QueryAnswer;
use crate::prometheus::grid::Grid;
use crate::prometheus::history::{History, Samples, ValueHistory};
use crate::prometheus::load::{Answered, copies, followed, not_one, several, warnings};
use crate::prometheus::queries::{LoadRequest, MAX_REPLICAS, Purpose, Question, Sampled};
use crate::snapshot::hpa::{Hpa, MetricSource, MetricSpec};
use crate::snapshot::input::Input;
use crate::snapshot::load::LoadQuery;
use crate::snapshot::past::Bounds;

/// The seconds between two samples of a typed query.
const STEP: i64 = 15;

/// Turns the current state into the input of a past pass. Also returns the messages about a connection
/// other than `session`.
pub(super) async fn past(
    query: &Query<'_>,
    typed: TimeArgument,
    session: Option<&Session>,
    input: Input,
    terminal: &Terminal,
) -> Result<(Input, Vec<String>), Error> {
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
    let way = query.connect(session, "--prometheus-match selects fewer series")?;
    let asked = ask(&way, query.typed(), at, &input, terminal).await;
    let rewound = match asked {
        Ok((history, origin)) => {
            let rewound = way.aside(move || rewind(input, &history, at, origin)).await;
            rewound.and_then(|rewound| rewound)
        }
        Err(e) => Err(e),
    };
    query.told(&way, rewound)
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
    let way = query.connect(session, "--prometheus-match selects fewer series")?;
    let asked = ask(&way, query.typed(), input.snapshot.now, &input, terminal).await;
    let ((history, origin), mut messages) = query.told(&way, asked)?;
    let next = infer::next_pass(&input);
    match record(&input, &history, next, origin) {
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
) -> Result<(History, HistoryOrigin), Error> {
    let hpa = &input.snapshot.hpa;
    let stated = stated(&typed.queries, input, &hpa.spec.metrics)?;
    let matching = typed.matching()?;
    // Typed queries come first.
    for ((purpose, _), text) in stated.iter().zip(&typed.queries) {
        let metric = match purpose {
            Purpose::Metric(place) => Some(&hpa.spec.metrics[*place]),
            _ => None,
        };
        if metric.is_none_or(MetricSpec::is_resource) {
            return Err(Error::usage(format!(
                "--query {text}: the record and the usage of each pod are read anyway"
            ))
            .hint("--query is for metrics of Pods, Object and External"));
        }
    }
    let (before, after) = span(input);
    let end = at.checked_add(after).unwrap_or(at).min(read(input).max(at));
    let start = at.minus(before);
    let seconds = end.duration_since(start).as_secs();
    let step = SignedDuration::from_secs(STEP);
    let until = end.checked_add(step).unwrap_or(end);
    let grid = Grid::new(start, until, step)?;
    let progress = Progress::default();
    let asked = async {
        let metrics = &hpa.spec.metrics;
        let wanted = LoadRequest {
            hpa,
            metrics,
            stated: &stated,
            replica_sets: &[],
            matching,
        };
        let (sets, owned) = replica_sets(way, &wanted, seconds, end).await?;
        let samples = wanted.samples(seconds);
        let answers = way.all_at_once(&samples, end, &progress).await?;
        let questions = stated.iter().filter_map(|(purpose, query)| match purpose {
            Purpose::Metric(place) => {
                let of = hpa.spec.metrics[*place].flag_name(&hpa.spec.metrics);
                Some(Question {
                    purpose: *purpose,
                    of,
                    query: query.clone(),
                })
            }
            _ => None,
        });
        let metrics = way.answers(questions.collect(), grid, &progress).await?;
        let sets_query = wanted
            .owned(seconds)
            .map(|query| (REPLICA_SETS.to_owned(), query));
        let of_samples = samples
            .into_iter()
            .map(|(_, of, query)| (of.to_owned(), query));
        let of_metrics = metrics
            .iter()
            .map(|own| (own.question.of.clone(), own.question.query.clone()));
        let queries = sets_query
            .into_iter()
            .chain(of_samples)
            .chain(of_metrics)
            .map(|(of, query)| LoadQuery { of, query })
            .collect();
        let origin = HistoryOrigin {
            source: way.name().to_owned(),
            queries,
            ..HistoryOrigin::default()
        };
        let hpa = hpa.clone();
        let read = move || history(&hpa, &sets, &owned, &answers, &metrics, origin);
        way.aside(read).await?
    };
    shown(asked, || line(&progress), terminal).await
}

/// Returns the history of the pods, the HPA and its metrics, according to the answers. `owned` lists the
/// ReplicaSets in `sets`.
fn history(
    hpa: &Hpa,
    sets: &[String],
    owned: &QueryAnswer,
    answers: &[(Sampled, QueryAnswer)],
    metrics: &[Answered],
    origin: HistoryOrigin,
) -> Result<(History, HistoryOrigin), Error> {
    let all = answers
        .iter()
        .map(|(_, answer)| answer)
        .chain(metrics.iter().map(|own| &own.answer))
        .chain([owned]);
    let of_hpa = answers.iter().filter(|(kind, _)| *kind == Sampled::Hpa);
    let of_usage = answers.iter().filter(|(kind, _)| *kind == Sampled::Usage);
    let followed = followed(of_usage.flat_map(|(_, answer)| &answer.series));
    let hpas = of_hpa
        .flat_map(|(_, answer)| &answer.series)
        .filter(|series| series.labels.get("__name__") == Some(MAX_REPLICAS));
    let warnings = several(hpas)
        .into_iter()
        .chain(followed)
        .chain(warnings(all))
        .collect();
    let history = History {
        metrics: values(&hpa.spec.metrics, metrics)?,
        ..History::read(hpa, sets, answers)
    };
    Ok((history, HistoryOrigin { warnings, ..origin }))
}

/// Returns the values of metrics, by index in the spec.
fn values(
    specs: &[MetricSpec],
    answered: &[Answered],
) -> Result<BTreeMap<usize, Vec<ValueHistory>>, Error> {
    let mut values = BTreeMap::new();
    for Answered {
        question, answer, ..
    } in answered
    {
        let Purpose::Metric(place) = question.purpose else {
            continue;
        };
        let of = &question.of;
        let source = specs[place].source();
        let is_of_pods = matches!(source, MetricSource::Pods(_));
        // As for a load: the total of what the controller adds up is one series.
        let is_told_apart = if is_of_pods {
            copies(&answer.series).is_none()
        } else {
            answer.series.len() <= 1
        };
        if !is_told_apart {
            return Err(not_one(of, &answer.series));
        }
        let series = answer.series.iter().map(|own| {
            let pod = own.labels.get("pod").map(Into::into);
            if is_of_pods && pod.is_none() {
                return Err(Error::failed(format!(
                    "the query for {of} gives a series without the label pod"
                ))
                .hint("--at needs the value of each pod, as with sum by (pod) (...)"));
            }
            let mut samples = Samples::default();
            samples.add(&own.points);
            Ok(ValueHistory { pod, samples })
        });
        values.insert(place, series.collect::<Result<_, _>>()?);
    }
    Ok(values)
}
