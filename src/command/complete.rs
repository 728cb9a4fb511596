//! The verb that shells run while a command line is typed: it prints the completions of the last word, in
//! kubectl's protocol for plugins. It never fails, prints nothing on standard error, and ends within two
//! seconds, whatever the cluster does. Follows `plugin_completion.go` of kubectl.

use std::collections::{BTreeSet, HashSet};
use std::fmt::Write;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use clap::Command;

use super::Answer;
use super::named;
use crate::apimachinery::names::shell_word;
use crate::apiserver::convert::hpa_from_json;
use crate::args::{ConnectionFlags, Named, NamedRequest, Typing};
use crate::cluster::fetch::complete as fetch;
use crate::cluster::{self, Environment, Session, connect};
use crate::findings::Code;
use crate::findings::watched::Watched;
use crate::render::style::clean;
use crate::saved::objects::Objects;
use crate::saved::{assemble, file};
use crate::snapshot::hpa::{Hpa, MetricSpec};
use crate::snapshot::input::Options;
use crate::snapshot::pod::Pod;
use crate::snapshot::shared::Shared;
use crate::version::FeatureGate;
use crate::whatif::expect::{metric_fields, pass_fields, run_fields};

/// The time within which a cluster or a file must answer.
const PATIENCE: Duration = Duration::from_millis(1400);

/// The time after which work is abandoned, such as a file that never ends, or a name that is not resolved.
const END: Duration = Duration::from_millis(1700);

/// Add no space after a single candidate, because the word continues.
const NO_SPACE: u8 = 2;
/// Complete no file names.
const NO_FILES: u8 = 4;

/// A candidate and its description.
type Candidate = (String, String);

/// Returns the completions of the last of these words; `command` is the definition of the command line.
pub(super) fn run(mut command: Command, words: &[String]) -> Answer {
    command.build();
    let mut typing = Typing::read(&command, words);
    match typing.last.id.as_deref() {
        Some("names") => typing.settle(|letter| letter == '/'),
        Some("fail_on" | "ignore" | "feature_gates") => typing.settle(|letter| letter == ','),
        Some("pods") => typing.settle(|letter| letter == ':'),
        Some("expect") => typing.settle(|letter| letter == ' ' || letter == '('),
        _ => {}
    }
    let is_file = typing.last.is_file;
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let candidates = candidates(&typing);
        // If this fails, no one waits any more.
        let _ = sender.send((typing, candidates));
    });
    let mut text = String::new();
    let mut directive = if is_file { 0 } else { NO_FILES };
    if let Ok((typing, candidates)) = receiver.recv_timeout(END) {
        let fit = candidates
            .iter()
            .filter(|(name, _)| name.starts_with(&typing.stem));
        for (name, about) in fit.filter(|(name, _)| is_as_typed(name)) {
            if name.ends_with(['=', ':', '.']) {
                directive |= NO_SPACE;
            }
            let about = clean(about.lines().next().unwrap_or_default(), false);
            let tab = if about.is_empty() { "" } else { "\t" };
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{}{name}{tab}{about}", typing.lead);
        }
    }
    let _ = writeln!(text, ":{directive}");
    Answer {
        text,
        ..Answer::default()
    }
}

/// Whether a shell reads a name as it is typed. bash expands what is offered, so another could run a command.
/// Braces, as of `queue{app=a}`, stay as they are unless they hold a list or a range.
fn is_as_typed(name: &str) -> bool {
    let unbraced = name.replace(['{', '}'], "");
    let expands = unbraced != name && (name.contains(',') || name.contains(".."));
    !expands && shell_word(&unbraced) == unbraced
}

/// Returns the candidates, each name once.
fn candidates(typing: &Typing) -> Vec<Candidate> {
    let mut known = typing.last.values.clone();
    known.extend(more(typing).unwrap_or_default());
    let mut offered = HashSet::new();
    known.retain(|(name, _)| offered.insert(name.clone()));
    known
}

/// Returns the candidates beyond those of the definition; `None` if what was typed before is not understood.
fn more(typing: &Typing) -> Option<Vec<Candidate>> {
    Some(match typing.last.id.as_deref() {
        Some("names") => names(typing)?,
        Some("namespace") => namespaces(typing)?,
        Some("context") => plain(named(typing).contexts),
        Some("cluster") => plain(named(typing).clusters),
        Some("user") => plain(named(typing).users),
        Some("metrics" | "targets") => assigned(&metrics(typing)?),
        Some("curve") => {
            let metrics = metrics(typing)?;
            metrics
                .iter()
                .map(|metric| (told_apart(metric, &metrics), metric.label(&metrics)))
                .collect()
        }
        Some("cpu" | "memory") => measured_containers(typing)?,
        Some("requests") => {
            let containers = containers(&pods(typing).unwrap_or_default(), true);
            let own = containers.iter().map(|name| format!("{name}="));
            let all = std::iter::once(String::new()).chain(own);
            plain(all.flat_map(|of| ["cpu", "memory"].map(|it| format!("{of}{it}="))))
        }
        Some("pods") if typing.lead.is_empty() => {
            plain(pods(typing)?.iter().map(|pod| format!("{}:", pod.name)))
        }
        Some("pods") => assigned(&metrics(typing)?),
        Some("unready" | "missing" | "pending") => {
            plain(pods(typing)?.iter().map(|pod| &*pod.name))
        }
        Some("expect") => expected(typing),
        Some("history") => [
            ("none", "the controller has just started"),
            ("infer", "inferred from the API"),
        ]
        .map(|(name, about)| (name.to_owned(), about.to_owned()))
        .into(),
        Some("fail_on") => plain(Watched::all().map(Watched::as_str)),
        Some("ignore") => plain(Code::ALL.iter().map(|code| code.as_str())),
        Some("reports") => plain(["github", "junit="]),
        Some("feature_gates") => {
            let values = |gate| [format!("{gate}=true"), format!("{gate}=false")];
            plain(FeatureGate::ALL.into_iter().flat_map(values))
        }
        _ => return None,
    })
}

/// Returns candidates without descriptions.
fn plain<T: Into<String>>(names: impl IntoIterator<Item = T>) -> Vec<Candidate> {
    let described = names.into_iter().map(|name| (name.into(), String::new()));
    described.collect()
}

/// Returns an HPA with its target, and the replicas if a controller has reported them.
fn described(hpa: &Hpa) -> Candidate {
    let status = &hpa.status;
    let target = hpa.reference();
    let about = if status.is_empty() {
        target
    } else {
        format!(
            "{}/{} replicas of {target}",
            status.current_replicas, status.desired_replicas
        )
    };
    (hpa.name.clone(), about)
}

/// Asks the cluster, without any message; `None` if there was no response.
fn ask<T>(flags: &ConnectionFlags, question: impl AsyncFnOnce(&Session) -> Option<T>) -> Option<T> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .ok()?;
    let environment = Environment {
        silent: true,
        ..Environment::of_process(true)
    };
    let answer = async {
        let session = connect(flags, &environment).await.ok()?;
        question(&session).await
    };
    let answer = runtime.block_on(async { tokio::time::timeout(PATIENCE, answer).await });
    // A name may still be looked up.
    runtime.shutdown_background();
    answer.ok()?
}

/// Returns the objects in the files of `-f`; `None` without `-f`. Standard input belongs to the shell.
fn read(typing: &Typing) -> Option<Objects> {
    let files: Vec<String> = typing.typed("filenames").map(str::to_owned).collect();
    if files.is_empty() {
        return None;
    }
    let is_open = files.iter().any(|name| name == "-");
    Some(if is_open {
        Objects::default()
    } else {
        file::read(&files).unwrap_or_default()
    })
}

/// Returns the HPAs of files, in the stated namespace.
fn decoded(objects: &Objects, namespace: Option<&str>) -> Vec<Hpa> {
    let [own, _] = assemble::own_and_neighbours(objects, namespace.unwrap_or("default"));
    let wanted = own.into_iter().filter(|hpa| {
        let stated = hpa.namespace.as_deref();
        namespace.is_none_or(|namespace| stated.is_none_or(|stated| stated == namespace))
    });
    wanted
        .filter_map(|hpa| Some(hpa_from_json(&hpa.json).ok()?.into_hpa()))
        .collect()
}

/// Returns the request in the words of the line and this word.
fn request(typing: &Typing, word: Option<&str>) -> Option<NamedRequest> {
    let words = typing.typed("names").chain(word).map(str::to_owned);
    NamedRequest::read(&words.collect::<Vec<_>>(), &typing.connection()?).ok()
}

/// Returns the possible names: of HPAs, or of the targets of the stated type.
fn names(typing: &Typing) -> Option<Vec<Candidate>> {
    // Any name shows its type and namespace.
    let request = request(typing, Some(&format!("{}x", typing.lead)))?;
    let last = request.named.last()?;
    if typing.verb != "explain" && request.named.len() > 1 {
        return None;
    }
    let hpas = match read(typing) {
        Some(objects) => decoded(&objects, request.connection.namespace.as_deref()),
        None => ask(&request.connection, async |session| {
            let listed = fetch::hpas(session).await.ok()?;
            Some(listed.readable().cloned().collect())
        })?,
    };
    let mut candidates: Vec<Candidate> = match last {
        Named::Hpa(_) => hpas.iter().map(described).collect(),
        Named::Target(target) => {
            let own = hpas.iter().filter(|hpa| {
                let own = &hpa.spec.scale_target_ref;
                target.is_of(own.group(), &own.kind)
            });
            own.map(|hpa| {
                (
                    hpa.spec.scale_target_ref.name.clone(),
                    format!("hpa/{}", hpa.name),
                )
            })
            .collect()
        }
    };
    let is_typed = |name: &str| typing.typed("names").any(|word| word == name);
    candidates.retain(|(name, _)| !is_typed(&format!("{}{name}", typing.lead)));
    Some(candidates)
}

fn namespaces(typing: &Typing) -> Option<Vec<Candidate>> {
    let names = match read(typing) {
        Some(objects) => {
            let mut names: Vec<String> = objects
                .hpas
                .into_iter()
                .filter_map(|hpa| hpa.namespace)
                .collect();
            names.sort();
            names.dedup();
            names
        }
        None => ask(&typing.connection()?, async |session| {
            fetch::namespaces(session).await.ok()
        })?,
    };
    Some(plain(names))
}

fn named(typing: &Typing) -> cluster::KubeconfigNames {
    let file = typing.typed("kubeconfig").last();
    cluster::names(file, &Environment::of_process(true)).unwrap_or_default()
}

/// Returns the HPA in files to which the request refers, if there is exactly one.
fn meant(objects: &Objects, request: &NamedRequest) -> Option<Hpa> {
    let hpas = decoded(objects, request.connection.namespace.as_deref());
    let mut meant = hpas
        .into_iter()
        .filter(|hpa| request.named.first().is_none_or(|it| hpa.is(it)));
    let hpa = meant.next()?;
    meant.next().is_none().then_some(hpa)
}

fn options(request: &NamedRequest) -> Options {
    let (controller, memory) = Default::default();
    super::state::options(
        (&controller, &memory),
        &request.connection,
        &[],
        request.named.first(),
    )
}

/// Returns the metrics of the HPA that the line names.
fn metrics(typing: &Typing) -> Option<Vec<MetricSpec>> {
    let request = request(typing, None)?;
    let hpa = match read(typing) {
        Some(objects) => meant(&objects, &request),
        None => ask(&request.connection, async |session| {
            let name = named::name(session, &options(&request)).await.ok()?;
            fetch::hpa(session, &name).await
        }),
    };
    hpa.map(|hpa| hpa.spec.metrics)
}

/// Returns the shortest name with which flags can refer to a metric: its name, unless several metrics have
/// it.
fn told_apart(metric: &MetricSpec, all: &[MetricSpec]) -> String {
    let is_one = all
        .iter()
        .filter(|other| other.name() == metric.name())
        .count()
        == 1;
    match metric.container() {
        None if is_one => metric.name().to_owned(),
        _ => metric.flag_name(all),
    }
}

/// Returns the metrics under the names of the overrides.
fn assigned(metrics: &[MetricSpec]) -> Vec<Candidate> {
    metrics
        .iter()
        .map(|metric| {
            let name = told_apart(metric, metrics);
            (format!("{name}="), metric.label(metrics))
        })
        .collect()
}

/// Returns the containers whose usage counts: those with a ContainerResource metric, and those of the pods
/// if there is a Resource metric.
fn measured_containers(typing: &Typing) -> Option<Vec<Candidate>> {
    let metrics = metrics(typing)?;
    let mut candidates: Vec<Candidate> = Vec::new();
    let mut needs_others = false;
    for metric in &metrics {
        if Some(metric.name()) != typing.last.id.as_deref() {
            continue;
        }
        match metric.container() {
            Some(name) => candidates.push((format!("{name}="), metric.label(&metrics))),
            None => needs_others = true,
        }
    }
    if needs_others {
        let others = containers(&pods(typing).unwrap_or_default(), false);
        candidates.extend(plain(others.iter().map(|name| format!("{name}="))));
    }
    Some(candidates)
}

/// Returns the containers of some pods; with `starting`, also those that only run at the start.
fn containers(pods: &[Shared<Pod>], starting: bool) -> BTreeSet<Box<str>> {
    pods.iter()
        .flat_map(|pod| pod.running(starting))
        .map(|own| own.name.clone())
        .collect()
}

/// Returns the pods of the target of the HPA that the line names. In files, these are all pods of its
/// namespace.
fn pods(typing: &Typing) -> Option<Vec<Shared<Pod>>> {
    let request = request(typing, None)?;
    Some(match read(typing) {
        Some(objects) => {
            let hpa = meant(&objects, &request)?;
            let mut pods = objects.pods;
            pods.retain(|pod| {
                let namespace = pod.namespace.as_deref();
                namespace.is_none_or(|own| own == hpa.namespace)
            });
            pods
        }
        None => ask(&request.connection, async |session| {
            let name = named::name(session, &options(&request)).await.ok()?;
            fetch::pods(session, &name).await
        })?,
    })
}

/// Returns the fields of expectations; those of metrics and runs only once it is clear that one is wanted.
fn expected(typing: &Typing) -> Vec<Candidate> {
    const METRIC: &str = "metric.";
    let stem = &typing.stem;
    let metrics = if stem.starts_with(METRIC) {
        metrics(typing).unwrap_or_default()
    } else {
        Vec::new()
    };
    let of_metrics = metrics
        .iter()
        .flat_map(|metric| metric_fields(metric.name()));
    let of_runs = run_fields().filter(|_| stem.contains('.'));
    let mut fields: Vec<String> = pass_fields()
        .chain(of_metrics)
        .chain(of_runs)
        .map(|field| field.to_string())
        .collect();
    if metrics.is_empty() {
        fields.push(METRIC.to_owned());
    }
    if !stem.contains('.') {
        fields.extend(["run.", "replay."].map(str::to_owned));
    }
    plain(fields)
}

#[cfg(test)]
mod tests {
    use super::run;
    use crate::args::command_line;

    fn completed(line: &str) -> String {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        run(command_line(), &words).text
    }

    #[test]
    fn every_place_that_is_completed_is_one_of_the_command_line() {
        let source = include_str!("complete.rs")
            .split("#[cfg(test)]")
            .next()
            .unwrap();
        let root = command_line();
        let defined: Vec<&str> = root
            .get_subcommands()
            .flat_map(|verb| verb.get_arguments().map(|arg| arg.get_id().as_str()))
            .collect();
        let named = source
            .lines()
            .filter_map(|line| line.trim().strip_prefix("Some(\""));
        let named = named.map(|line| line.split(')').next().unwrap());
        let named = named
            .flat_map(|names| names.split('|'))
            .map(|name| name.trim().trim_matches('"'));
        let named: Vec<&str> = named.collect();
        assert!(named.len() > 15, "{named:?}");
        for name in named {
            assert!(defined.contains(&name), "{name}");
        }
    }

    #[test]
    fn files_tell_of_their_hpas() {
        for (line, text) in [
            (
                "explain -f examples/nginx ",
                "nginx-deployment\tDeployment/nginx-deployment\n:4\n",
            ),
            ("explain -f examples/shop ca", "cart\tDeployment/cart\n:4\n"),
            (
                "explain -f examples/shop hpa/ca",
                "hpa/cart\tDeployment/cart\n:4\n",
            ),
            ("explain -f examples/shop -n sh", "shop\n:4\n"),
            (
                "explain -f examples/shop deploy/ca",
                "deploy/cart\thpa/cart\n:4\n",
            ),
            ("explain -f examples/shop deploy ca", "cart\thpa/cart\n:4\n"),
            (
                "explain -f examples/shop shop/ca",
                "shop/cart\tDeployment/cart\n:4\n",
            ),
            ("explain -f examples/shop sts ", ":4\n"),
            ("explain -f examples/shop cart c", ":4\n"),
            ("predict -f examples/shop deploy ca", "cart\thpa/cart\n:4\n"),
            ("predict -f examples/shop cart ", ":4\n"),
            ("predict -f examples/nginx --metric ", "cpu=\tcpu\n:6\n"),
            ("predict -f examples/nginx --cpu ", "nginx=\n:6\n"),
            ("predict -f examples/nginx --memory ", ":4\n"),
            (
                "predict -f examples/nginx --request ",
                "cpu=\nmemory=\nnginx=cpu=\nnginx=memory=\n:6\n",
            ),
            (
                "predict -f examples/nginx --request nginx=m",
                "nginx=memory=\n:6\n",
            ),
            (
                "predict deploy/cart -f examples/shop --metric ",
                "cpu=\tcpu\n:6\n",
            ),
            ("predict cart -f examples/shop --metric ", "cpu=\tcpu\n:6\n"),
            (
                "predict cart -f examples/shop --target=c",
                "cpu=\tcpu\n:6\n",
            ),
            (
                "predict cart -f examples/shop --expect metric.cpu.d",
                "metric.cpu.desired\n:4\n",
            ),
            (
                "predict cart -f examples/shop --expect=desired<=3andm",
                ":4\n",
            ),
            (
                "predict cart -f examples/shop --fail-on limited,max",
                "limited,maxed\tThe result is maxReplicas\n:4\n",
            ),
            (
                "predict web --fail-on limited,sus",
                "limited,suspect-unit\n:4\n",
            ),
            ("explain web --fail-on warn", "warning\n:4\n"),
            (
                "explain web --ignore rate-limited,at-",
                "rate-limited,at-max\nrate-limited,at-min\n:4\n",
            ),
            (
                "predict nginx-deployment -f examples/nginx --missing nginx-deployment-596d9ffddd-6",
                "nginx-deployment-596d9ffddd-6lrhv\n:4\n",
            ),
            // Those of its own namespace.
            (
                "predict cart -f examples/shop -f examples/nginx --missing n",
                ":4\n",
            ),
            ("predict cart -f - --metric ", ":4\n"),
            ("predict cart -f no-such-file --metric ", ":4\n"),
            (
                "explain -o j",
                "json\tJSON with a published schema\njsonl\tThe same, an HPA per line as soon as it is explained\n:4\n",
            ),
            ("explain -f ex", ":0\n"),
            (
                "expl",
                "explain\tRun the controller's algorithm once and explain the decision step by step\n:4\n",
            ),
        ] {
            assert_eq!(completed(line), text, "{line}");
        }
    }
}
