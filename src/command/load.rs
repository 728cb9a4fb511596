//! The load that is played: from a table, from Prometheus, or from a file that `--save` wrote.

use http::{HeaderName, header};
use jiff::Timestamp;

use super::progress::shown;
use super::{Terminal, messages};
use crate::args::{ConnectionFlags, PrometheusArgs, PrometheusServer, RecordedArgs, TimelineArgs};
use crate::cluster::progress::Progress;
use crate::cluster::prometheus::{Prometheus, PrometheusAccess};
use crate::cluster::{Environment, Session};
use crate::error::{Error, docs};
use crate::prometheus::answer::QueryAnswer;
use crate::prometheus::copies::several;
use crate::prometheus::grid::Grid;
use crate::prometheus::load::{assemble, warnings};
use crate::prometheus::queries::LoadRequest;
use crate::prometheus::scraped::{Scraped, interval};
use crate::saved::file;
use crate::secret::Secret;
use crate::snapshot::hpa::{Hpa, MetricSpec};
use crate::snapshot::input::Input;
use crate::snapshot::load::Load;
use crate::whatif::queried::{check_asked, check_pods, metrics, request, stated};
use crate::whatif::timeline::read_csv;

/// The table of `--trace`.
pub(super) fn table(args: &TimelineArgs) -> Result<Option<Load>, Error> {
    let Some(path) = &args.trace else {
        return Ok(None);
    };
    let (bytes, origin) = file::read_table(path.as_ref())?;
    read_csv(&bytes, &origin).map(Some)
}

/// The query to Prometheus, read before anything is sent.
pub(super) struct Query<'a> {
    access: PrometheusAccess,
    /// The flags, with the queries that were typed.
    pub(super) args: &'a PrometheusArgs,
}

impl<'a> Query<'a> {
    /// Reads the flags, and the files that they name; `None` without `--prometheus`. `more` are other flags
    /// that require it.
    pub(super) fn read(
        args: &'a PrometheusArgs,
        more: Vec<(&'static str, String)>,
        flags: &ConnectionFlags,
    ) -> Result<Option<Self>, Error> {
        args.check(more)?;
        let Some(server) = &args.prometheus else {
            return Ok(None);
        };
        let server = PrometheusServer::read(server)?;
        let headers: Vec<_> = args
            .headers
            .iter()
            .map(|text| header(text))
            .collect::<Result<_, _>>()?;
        let twice = headers
            .iter()
            .enumerate()
            .find(|(place, (name, _))| headers[..*place].iter().any(|(other, _)| other == name));
        if let Some((_, (name, _))) = twice {
            return Err(Error::usage(format!(
                "--prometheus-header {name}: given more than once"
            )));
        }
        if let PrometheusServer::Service {
            namespace, service, ..
        } = &server
        {
            let typed = [
                ("--prometheus-header", !headers.is_empty()),
                ("--prometheus-ca", args.authority.is_some()),
            ];
            if let Some((flag, _)) = typed.iter().find(|(_, is_typed)| *is_typed) {
                return Err(Error::usage(format!(
                    "--prometheus {namespace}/{service}: {flag} is only for an address"
                ))
                .hint("give its address: --prometheus URL"));
            }
        }
        let access = PrometheusAccess {
            server,
            headers,
            authority: args.authority.clone(),
            flags: flags.clone(),
        };
        Ok(Some(Self { access, args }))
    }

    /// Requests the load of an HPA, and of the metrics that only candidates have. Also returns the messages
    /// about a connection other than `session`.
    pub(super) async fn load(
        &self,
        recorded: &RecordedArgs,
        session: Option<&Session>,
        input: &Input,
        also: &[MetricSpec],
        terminal: &Terminal,
    ) -> Result<(Load, Vec<String>), Error> {
        let less = "use a longer --step, or a later --since";
        self.ask(session, less, async |way| {
            ask(way, self.args, recorded, input, also, terminal).await
        })
        .await
    }

    /// Queries the server. Also returns the messages about a connection other than `session`. `less` names the
    /// flags for a smaller query.
    pub(super) async fn ask<T>(
        &self,
        session: Option<&Session>,
        less: &'static str,
        ask: impl AsyncFnOnce(&Prometheus) -> Result<T, Error>,
    ) -> Result<(T, Vec<String>), Error> {
        let way = self.connect(session, less)?;
        let asked = ask(&way).await;
        let notes = match self.access.server {
            PrometheusServer::Service { .. } => Vec::new(),
            PrometheusServer::Url(_) => messages(&way.session, self.access.flags.verbosity),
        };
        match asked {
            Ok(answer) => Ok((answer, notes)),
            Err(e) => Err(Error { notes, ..e }),
        }
    }

    /// Checks that a connection to the server is possible, without sending a query.
    pub(super) fn check(&self, session: Option<&Session>) -> Result<(), Error> {
        self.connect(session, "").map(drop)
    }

    fn connect(&self, session: Option<&Session>, less: &'static str) -> Result<Prometheus, Error> {
        let env = Environment::of_process(false);
        self.access.connect(session, &env, less)
    }
}

async fn ask(
    way: &Prometheus,
    typed: &PrometheusArgs,
    args: &RecordedArgs,
    input: &Input,
    also: &[MetricSpec],
    terminal: &Terminal,
) -> Result<Load, Error> {
    let snapshot = &input.snapshot;
    let (since, until, step) = args.span(snapshot.now)?;
    let grid = Grid::new(since, until, step)?;
    check_pods(snapshot)?;
    let metrics = metrics(snapshot, also);
    let stated = stated(&typed.queries, input, &metrics)?;
    let matching = typed.matching()?;
    check_asked(&metrics, &stated)?;
    let hpa = &snapshot.hpa;
    let wanted = LoadRequest {
        hpa,
        metrics: &metrics,
        stated: &stated,
        replica_sets: &[],
        matching,
    };
    let end = grid.last();
    let seconds = grid.count * grid.step;
    let progress = Progress::default();
    let mut first = Vec::from(wanted.scrapes(seconds));
    first.push(wanted.copies(seconds));
    first.extend(wanted.owned(seconds));
    let asked = async {
        let answers = way.all_at_once(&first, end, &progress).await?;
        let has_own = metrics.len() > stated.len();
        if has_own && answers.iter().all(|answer| answer.series.is_empty()) {
            return Err(nothing(way, &wanted, seconds, end).await?);
        }
        let [usage, state] = [0, 1].map(|place: usize| answers[place].number().and_then(interval));
        let scraped = Scraped { usage, state };
        let sets = answers.get(3).map_or(Ok(Vec::new()), names)?;
        let wanted = LoadRequest {
            replica_sets: &sets,
            ..wanted.clone()
        };
        let questions = wanted.questions(scraped, grid.step);
        let answered = way.answers(questions, grid, &progress).await?;
        let (metrics, name) = (metrics.clone(), way.name.clone());
        let min = hpa.spec.min_replicas;
        let requested: Vec<_> = metrics.iter().map(|spec| request(snapshot, spec)).collect();
        way.aside(move || {
            let mut load = assemble(&metrics, grid, &answered, &name, min, &requested)?;
            let notes = notes(&load, &metrics, grid.step, scraped, &answers);
            load.notes.splice(0..0, notes);
            Ok::<_, Error>(load)
        })
        .await?
    };
    let mut load = shown(asked, || line(&progress), terminal).await?;
    load.queries.splice(0..0, first);
    Ok(load)
}

/// Says how a load was sampled, with the warnings in the answers before it.
fn notes(
    load: &Load,
    metrics: &[MetricSpec],
    step: i64,
    scraped: Scraped,
    answers: &[QueryAnswer],
) -> Vec<String> {
    let is_rate = |spec: &MetricSpec| spec.is_resource() && spec.name() == "cpu";
    let sampled = scraped.sampling(step, metrics.iter().any(is_rate));
    let copies = answers.get(2);
    let several = copies.and_then(|copies| several(copies.series.iter()));
    let warned = warnings(answers.iter())
        .into_iter()
        .filter(|note| !load.notes.contains(note));
    [sampled].into_iter().chain(several).chain(warned).collect()
}

/// Returns the error if a server has no series of the HPA, its target and its containers.
async fn nothing(
    way: &Prometheus,
    wanted: &LoadRequest<'_>,
    seconds: i64,
    end: Timestamp,
) -> Result<Error, Error> {
    let Hpa {
        name, namespace, ..
    } = wanted.hpa;
    let any = way.at_once(&wanted.any(seconds), end).await?;
    let with = match wanted.matching {
        "" => String::new(),
        matching => format!(" with --prometheus-match '{matching}'"),
    };
    let of = if any.series.is_empty() {
        format!("any pod of the namespace {namespace}{with}")
    } else {
        format!("the HPA {name} and its pods in the namespace {namespace}{with}")
    };
    let hint = match (any.series.is_empty(), wanted.matching) {
        (true, "") => &format!(
            "check the server and the time; the label namespace has to be the pod's \
             (honorLabels: true), see {}",
            docs("prometheus.md")
        ),
        (false, "") => "check the name of the HPA and the time; -v 1 prints the queries",
        _ => "check its label and its value; without it, all series count",
    };
    Ok(Error::failed(format!("Prometheus has no series of {of}")).hint(hint))
}

/// The maximum total length of the names of ReplicaSets in a query: it is part of a URL.
const MOST_OF_NAMES: usize = 60_000;

/// Returns the ReplicaSets in an answer.
pub(super) fn names(answer: &QueryAnswer) -> Result<Vec<String>, Error> {
    let found = answer
        .series
        .iter()
        .filter_map(|own| own.labels.get("replicaset"));
    if found.clone().map(str::len).sum::<usize>() > MOST_OF_NAMES {
        let count = found.count();
        let message = format!("the target had {count} ReplicaSets, too many for a query");
        return Err(Error::failed(message).hint("ask for less time: a later --since"));
    }
    let mut names: Vec<String> = found.map(str::to_owned).collect();
    names.sort_unstable();
    Ok(names)
}

/// Returns the line that shows the progress.
pub(super) fn line(progress: &Progress) -> String {
    match progress.counts() {
        None => "asking Prometheus".to_owned(),
        Some((done, all)) => format!("asking Prometheus: {done} of {all} requests"),
    }
}

/// Reads a header whose value is in a file.
fn header(text: &str) -> Result<(HeaderName, Secret), Error> {
    let (name, path): (HeaderName, &str) = text
        .split_once("=@")
        .filter(|(_, path)| !path.is_empty())
        .and_then(|(name, path)| Some((name.parse().ok()?, path)))
        .ok_or_else(|| {
            // The value itself may have been typed, and must not be shown.
            Error::usage("--prometheus-header: not of the form NAME=@FILE").hint(
                "such as Authorization=@token; the value is in the file, not on the command line",
            )
        })?;
    let of_connection = [
        header::HOST,
        header::CONNECTION,
        header::CONTENT_LENGTH,
        header::TRANSFER_ENCODING,
        header::ACCEPT_ENCODING,
    ];
    if of_connection.contains(&name) {
        return Err(Error::usage(format!(
            "--prometheus-header {name}: belongs to the connection"
        )));
    }
    let (bytes, shown) = file::read_header(path.as_ref())
        .map_err(|e| e.within(format_args!("--prometheus-header {name}")))?;
    let read = String::from_utf8(bytes).unwrap_or_default();
    let value = read.trim();
    let is_sendable = !value.is_empty() && value.bytes().all(|c| (b' '..0x7f).contains(&c));
    if !is_sendable {
        return Err(Error::usage(format!(
            "--prometheus-header {name}=@{shown}: not one line of text"
        )));
    }
    let is_bare = name == header::AUTHORIZATION && !value.contains(' ');
    let secret = if is_bare {
        format!("Bearer {value}")
    } else {
        value.to_owned()
    };
    Ok((name, Secret::new(secret)))
}
