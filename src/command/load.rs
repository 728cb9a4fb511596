//! The load that is played: from a table, from Prometheus, or from a file that `--save` wrote.

use http::{HeaderName, header};
use jiff::Timestamp;

use super::progress::shown;
use super::{Terminal, messages};
use crate::apimachinery::names::shell_word;
use crate::args::{ConnectionFlags, PrometheusArgs, PrometheusServer, RecordedArgs, TimelineArgs};
use crate::cluster::progress::Progress;
use crate::cluster::prometheus::{Prometheus, PrometheusAccess};
use crate::cluster::{Environment, Session};
use crate::error::{Error, docs};
use crate::keda;
use crate::prometheus::answer::QueryAnswer;
use crate::prometheus::grid::Grid;
use crate::prometheus::load::{assemble, several, warnings};
use crate::prometheus::queries::{LoadRequest, Purpose};
use crate::prometheus::scraped::{Scraped, interval};
use crate::saved::file;
use crate::secret::Secret;
use crate::snapshot::hpa::{Hpa, MetricSpec};
use crate::snapshot::input::Input;
use crate::snapshot::load::{Load, LoadNote};
use crate::snapshot::pod::Container;
use crate::snapshot::{Scale, Snapshot};
use crate::whatif::overrides::NamedMetric;
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
    args: &'a PrometheusArgs,
}

impl<'a> Query<'a> {
    /// Reads the flags, and the files that they name; `None` without `--prometheus`. `more` are other flags
    /// that require it, and whether each is typed.
    pub(super) fn read(
        args: &'a PrometheusArgs,
        more: &[(&'static str, bool)],
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
            PrometheusServer::Url(_) => messages(way.session(), self.access.flags.verbosity),
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

    /// Returns the queries that were typed.
    pub(super) fn typed(&self) -> &PrometheusArgs {
        self.args
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
        let (metrics, name) = (metrics.clone(), way.name().to_owned());
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

/// Returns the average request of a pod for a metric, as its containers state it.
fn request(snapshot: &Snapshot, spec: &MetricSpec) -> Option<f64> {
    let of_metric = |own: &&Container| spec.container().is_none_or(|name| *own.name == *name);
    let pods = || snapshot.unended_pods();
    let containers = pods().flat_map(|pod| pod.running(false));
    let amounts = containers
        .filter(of_metric)
        .filter_map(|own| own.requests.get(spec.name()));
    let milli: f64 = amounts.map(|amount| amount.milli_value() as f64).sum();
    (milli > 0.0).then(|| milli / 1000.0 / pods().count() as f64)
}

/// Says how a load was sampled, with the warnings in the answers before it.
fn notes(
    load: &Load,
    metrics: &[MetricSpec],
    step: i64,
    scraped: Scraped,
    answers: &[QueryAnswer],
) -> Vec<LoadNote> {
    let is_rate = |spec: &MetricSpec| spec.is_resource() && spec.name() == "cpu";
    let sampled = if metrics.iter().any(is_rate) {
        LoadNote::Sampled {
            step,
            scrape: scraped.usage,
        }
    } else {
        LoadNote::SampledAsIs { step }
    };
    let copies = answers.get(2);
    let several = copies.and_then(|copies| several(copies.series.iter()));
    let warned = warnings(answers.iter())
        .into_iter()
        .filter(|note| !load.notes.contains(note));
    [sampled].into_iter().chain(several).chain(warned).collect()
}

/// Checks that there are pods to share the load of a resource, which the input may lack, and a template for
/// them.
fn check_pods(snapshot: &Snapshot) -> Result<(), Error> {
    let mut read = snapshot.hpa.spec.metrics.iter().zip(&snapshot.metrics);
    let lacks_usage = read.any(|(spec, answer)| spec.is_resource() && answer.is_missing());
    let Some(scale) = snapshot
        .scale
        .as_ref()
        .ok()
        .filter(|scale| scale.spec_replicas > 0)
    else {
        return Ok(());
    };
    if !lacks_usage || !snapshot.pods.is_empty() {
        return Ok(());
    }
    let (target, namespace) = (&snapshot.hpa.spec.scale_target_ref, &snapshot.hpa.namespace);
    let message = format!("the input has no pods of {}/{}", target.kind, target.name);
    let hint = format!(
        "the load is shared among them; add what this prints with another -f: kubectl get pods -n \
         {namespace} -l {} -o yaml",
        shell_word(scale.selector.as_str())
    );
    Err(Error::usage(message).hint(hint))
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

/// Checks that a metric has a query; if none has one, no request is needed to say so.
fn check_asked(metrics: &[MetricSpec], stated: &[(Purpose, String)]) -> Result<(), Error> {
    let has_default =
        |spec: &MetricSpec| spec.is_resource() && ["cpu", "memory"].contains(&spec.name());
    let is_metric = |(purpose, _): &(Purpose, String)| matches!(purpose, Purpose::Metric(_));
    match metrics.first() {
        Some(first) if !metrics.iter().any(has_default) && !stated.iter().any(is_metric) => {
            let name = first.flag_name(metrics);
            Err(Error::usage(format!(
                "neither cAdvisor nor kube-state-metrics has {name}"
            ))
            .hint(format!(
                "--query '{name}=PROMQL' gives its total, such as sum(...)"
            )))
        }
        _ => Ok(()),
    }
}

/// Returns the line that shows the progress.
pub(super) fn line(progress: &Progress) -> String {
    match progress.counts() {
        None => "asking Prometheus".to_owned(),
        Some((done, all)) => format!("asking Prometheus: {done} of {all} requests"),
    }
}

/// Returns the metrics of the HPA, and the other ones of candidates; of several based on the same usage,
/// the first.
fn metrics(snapshot: &Snapshot, also: &[MetricSpec]) -> Vec<MetricSpec> {
    let mut metrics: Vec<MetricSpec> = Vec::new();
    for spec in snapshot.hpa.spec.metrics.iter().chain(also) {
        if metrics
            .iter()
            .all(|other| other.id() != spec.id() && !spec.shares_usage(other))
        {
            metrics.push(spec.clone());
        }
    }
    metrics
}

/// Returns each typed query with its metric, whose name ends at the first `=` that leaves a valid name.
pub(super) fn stated(
    queries: &[String],
    input: &Input,
    metrics: &[MetricSpec],
) -> Result<Vec<(Purpose, String)>, Error> {
    let snapshot = &input.snapshot;
    let mut hpa = snapshot.hpa.clone();
    hpa.spec.metrics = metrics.to_vec();
    let all = Snapshot::new(hpa, Scale::new(0, ""), snapshot.now);
    let mut stated: Vec<(Purpose, String)> = Vec::new();
    for text in queries {
        let form = || Error::usage(format!("--query {text}: not of the form METRIC=PROMQL"));
        let mut failed = None;
        let ends = text.match_indices('=').map(|(at, _)| at);
        let found = ends.take(MOST_ENDS).find_map(|at| {
            let (name, query) = (&text[..at], text[at + 1..].trim());
            let purpose = match name {
                "replicas" => Ok(Purpose::Replicas),
                "ready" => Ok(Purpose::Ready),
                name => NamedMetric::read(name, "--query")
                    .and_then(|named| named.place(&all))
                    .map(Purpose::Metric),
            };
            match purpose {
                Ok(purpose) => Some((purpose, query)),
                Err(e) => {
                    failed.get_or_insert(e);
                    None
                }
            }
        });
        let (purpose, query) = found.ok_or_else(|| match failed {
            Some(e) => e.within(format_args!("--query {text}")),
            None => form(),
        })?;
        if query.is_empty() {
            return Err(form().hint("PROMQL is such as sum(rabbitmq_queue_messages)"));
        }
        if stated.iter().any(|(own, _)| *own == purpose) {
            return Err(Error::usage(format!(
                "--query {text}: there is another query for it"
            )));
        }
        stated.push((purpose, query.to_owned()));
    }
    // KEDA's own queries are known.
    let owner = snapshot.hpa.scaled_object();
    let object = owner.and_then(|owner| {
        let mut objects = input.surroundings.scaled_objects.iter();
        objects.find(|object| object.metadata.name == owner.name)
    });
    for (place, spec) in metrics.iter().enumerate() {
        let purpose = Purpose::Metric(place);
        let query = object.and_then(|object| keda::prometheus_query(object, spec));
        if let Some(query) = query.filter(|_| stated.iter().all(|(own, _)| *own != purpose)) {
            stated.push((purpose, query.to_owned()));
        }
    }
    Ok(stated)
}

/// The number of `=` that are tried as the end of a name; a container and a selector need fewer.
const MOST_ENDS: usize = 16;

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

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use serde_json::json;

    use super::request;
    use crate::build;
    use crate::saved;
    use crate::snapshot::input::Options;

    #[test]
    fn the_average_request_of_the_pods_that_the_target_has() {
        let spec = json!({"metrics": [build::resource("cpu", &build::utilization(50))]});
        let of = |cpu: &str| json!({"spec": {"containers": [build::requesting("app", cpu)]}});
        let foreign = json!({"metadata": {"labels": {"app": "batch"}}});
        let ended = json!({"status": {"phase": "Failed"}});
        for (changes, want) in [
            (vec![of("300m")], Some(0.2)),
            (vec![of("300m"), build::with(of("9"), &foreign)], Some(0.2)),
            (vec![of("300m"), build::with(of("9"), &ended)], Some(0.2)),
            (
                vec![json!({"spec": {"containers": [{"name": "app", "resources": null}]}})],
                Some(0.05),
            ),
        ] {
            let others = changes.iter().zip(["web-2", "web-3"]);
            let others = others.map(|(change, name)| build::with(build::pod(name), change));
            let items = [build::hpa(&spec), build::scale(2), build::pod("web-1")];
            let text = build::list(items.into_iter().chain(others));
            let input = saved::read(&text, &Options::default(), Timestamp::UNIX_EPOCH);
            let snapshot = input.expect("an input").snapshot;
            assert_eq!(
                request(&snapshot, &snapshot.hpa.spec.metrics[0]),
                want,
                "{text}"
            );
        }
    }
}
