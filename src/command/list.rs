//! `explain` for several HPAs: the named ones, or all of a namespace or of the cluster, each with its own
//! pass, in one line. A failure for one is reported along with the answers for the others.

use std::cell::RefCell;
use std::collections::HashMap;
use std::future::pending;
use std::mem::take;
use std::ops::ControlFlow;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::oneshot;

use super::fail_on::{FindingsWatch, WatchedPass, counted};
use super::progress::{reading, shown};
use super::state::{options, pass, unanswered, with_remedy, without_target};
use super::{Answer, Terminal, connected, write_saved};
use crate::apimachinery::selector::Selector;
use crate::args::{ConnectionFlags, Explain, MemoryArgs, NamedRequest, Output};
use crate::cluster::Session;
use crate::cluster::fetch::list::fetch_all;
use crate::cluster::observed;
use crate::cluster::progress::Progress;
use crate::cluster::signals::Signals;
use crate::error::{Error, ErrorKind, listed};
use crate::numbers;
use crate::pass::Pass;
use crate::render::markdown::rows;
use crate::render::{page, structured};
use crate::report::Explanation;
use crate::report::expected::expected;
use crate::report::list::{ExplanationList, Row, SPARE, one_by_one, overview, row};
use crate::saved::assemble::{assemble_all, notes_of_input};
use crate::saved::file;
use crate::saved::objects::Objects;
use crate::saved::save::Saved;
use crate::snapshot::Listed;
use crate::snapshot::input::{Input, Options};
use crate::snapshot::right::MissingRight;
use crate::snapshot::selection::Selection;
use crate::whatif::expect::ExpectationVerdict;

/// The list that was requested.
pub(super) struct ListCommand<'a> {
    args: &'a Explain,
    connection: &'a ConnectionFlags,
    selection: Selection,
    options: Options,
    watch: FindingsWatch,
}

impl<'a> ListCommand<'a> {
    /// Reads the arguments.
    pub(super) fn new(args: &'a Explain, request: &'a NamedRequest) -> Result<Self, Error> {
        let MemoryArgs {
            history,
            recommendations,
            observe,
        } = &args.memory;
        let of_one = history
            .as_deref()
            .is_some_and(|history| !["none", "infer"].contains(&history));
        if of_one || !recommendations.is_empty() || observe.is_some() {
            return Err(Error::usage("a stated history belongs to one HPA")
                .hint("name the HPA, or use --history none or --history infer"));
        }
        let watch = FindingsWatch::read(&args.fail_on, &args.ignore)?;
        let NamedRequest { named, connection } = request;
        let options = options(
            (&args.controller, &args.memory),
            connection,
            &args.filenames,
            None,
        );
        let selection = if named.is_empty() {
            let text = args.selector.as_deref().unwrap_or_default();
            let invalid = |e| Error::usage(format!("-l {text:?}: invalid label selector: {e}"));
            Selection::Labels(Selector::parse(text).map_err(invalid)?)
        } else {
            Selection::Named(named.clone())
        };
        Ok(Self {
            args,
            connection,
            selection,
            options,
            watch,
        })
    }

    /// Explains all of the HPAs; the text is for standard output.
    pub(super) fn run(&self, terminal: &Terminal) -> Result<Answer, Error> {
        if !self.args.filenames.is_empty() {
            return self.of(&file::read(&self.args.filenames)?, terminal);
        }
        let (explained, messages, warned) = connected(self.connection, async |session| {
            self.fetch(session, terminal).await
        })?;
        let mut answer = self.tell(explained, messages, terminal)?;
        answer.errors.extend(warned);
        Ok(answer)
    }

    /// Explains the HPAs of saved objects.
    pub(super) fn of(&self, objects: &Objects, terminal: &Terminal) -> Result<Answer, Error> {
        let namespace = self
            .connection
            .namespace
            .clone()
            .filter(|_| !self.args.all_namespaces);
        let Self {
            options, selection, ..
        } = self;
        let clock = Timestamp::now();
        let mut hpas = Vec::new();
        let (lines, mut end) = self.lines(terminal).unzip();
        let mut closed = None;
        let left_out = assemble_all(
            objects,
            options,
            namespace.as_deref(),
            selection,
            clock,
            |input| {
                hpas.push(self.explained(input, lines.as_ref())?);
                closed = end
                    .as_mut()
                    .filter(|_| !self.needs_all())
                    .and_then(|end| end.try_recv().ok());
                Ok(if closed.is_some() {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                })
            },
        )?;
        drop(lines);
        let unwritten = closed
            .or_else(|| end?.blocking_recv().ok())
            .unwrap_or_default();
        let explained = Explained {
            hpas,
            namespace,
            refused: Vec::new(),
            interrupted: None,
            unwritten,
        };
        // To name one is an error.
        let note = left_out_note(left_out).filter(|_| matches!(selection, Selection::Labels(_)));
        let notes = notes_of_input(objects, None);
        let of_input = notes.iter().map(|it| format!("Note: {it}"));
        self.tell(explained, of_input.chain(note).collect(), terminal)
    }

    /// Begins to write lines as they arrive, if that is requested.
    fn lines(&self, terminal: &Terminal) -> Option<(Sender<String>, oneshot::Receiver<String>)> {
        terminal
            .answer
            .filter(|_| self.args.output == Some(Output::Jsonl))
            .map(written)
    }

    /// Whether everything is read even if no one reads the lines any more.
    fn needs_all(&self) -> bool {
        self.args.save.is_some() || !self.args.fail_on.is_empty()
    }

    /// Queries a cluster, and explains its answers as they arrive. After a signal, it returns those so far.
    pub(super) async fn fetch(
        &self,
        session: &Session,
        terminal: &Terminal,
    ) -> Result<Explained, Error> {
        observed::check(&self.options)?;
        let namespace = (!self.args.all_namespaces).then(|| session.namespace().to_owned());
        let progress = Progress::default();
        let explained = RefCell::new(Vec::new());
        let (lines, mut end) = self.lines(terminal).unzip();
        let explain = |place, it: Listed<_>| {
            let input = it.and_then(|it| observed::input(it, &self.options));
            let hpa = self.explained(input, lines.as_ref());
            explained.borrow_mut().push((place, hpa));
        };
        let fetched = fetch_all(
            session,
            namespace.as_deref(),
            &self.selection,
            &progress,
            &explain,
        );
        let mut signals = Signals::new(None)?;
        // On a terminal, the lines of the answer would mix with the progress.
        let streams = lines.is_some() && terminal.width.is_some();
        let tell = terminal.tell.filter(|_| !streams);
        let quiet = Terminal {
            tell,
            ..terminal.clone()
        };
        let closed = async {
            match &mut end {
                Some(end) if !self.needs_all() => end.await.unwrap_or_default(),
                _ => pending().await,
            }
        };
        let (refused, mut code, closed) = tokio::select! {
            refused = shown(fetched, || reading(&progress), &quiet) => (refused?, None, None),
            code = signals.next() => (Vec::new(), code, None),
            unwritten = closed => (Vec::new(), None, Some(unwritten)),
        };
        drop(lines);
        let unwritten = match (closed, end) {
            (Some(unwritten), _) => unwritten,
            (None, None) => String::new(),
            // Only another signal ends this.
            (None, Some(end)) => tokio::select! {
                unwritten = end => unwritten.unwrap_or_default(),
                again = signals.next() => {
                    // Lines are missing, even if everything was explained.
                    code = code.or(again);
                    String::new()
                }
            },
        };
        let mut placed = explained.into_inner();
        placed.sort_by_key(|(place, _)| *place);
        let hpas = placed.into_iter().map(|(_, hpa)| hpa);
        Ok(Explained {
            hpas: hpas.collect::<Result<_, Error>>()?,
            namespace,
            refused,
            interrupted: code.map(|code| (code, progress.counts())),
            unwritten,
        })
    }

    /// Explains an HPA, and keeps only what the answer needs.
    fn explained(
        &self,
        input: Listed<Input>,
        lines: Option<&Sender<String>>,
    ) -> Result<ListedHpa, Error> {
        let Self { args, watch, .. } = self;
        let pass = input.and_then(|input| pass(input, &args.memory));
        let explained = pass.with(match &pass.result {
            Ok(own) => Ok(Explanation::ignoring(own, &watch.ignored)),
            Err(e) => Err(e.clone()),
        });
        let mut json = String::new();
        let mut cells = None;
        match (args.output, &explained.result) {
            (Some(Output::Json | Output::Yaml), Ok(it)) => json = structured::json(it)?,
            (Some(Output::Jsonl), Ok(it)) => {
                json = structured::json_line(it)?;
                // If no one reads the lines any more, the first unwritten line shows it.
                let _ = lines.map(|lines| lines.send(take(&mut json)));
            }
            (Some(Output::Json | Output::Jsonl | Output::Yaml), Err(_)) => {}
            (wide, _) => cells = Some(row(&explained, wide == Some(Output::Wide))),
        }
        let error = match &pass.result {
            Ok(pass) => unanswered(pass).map(|e| with_remedy(e, &pass.input.notes)),
            Err(e) => Some(e.clone()),
        };
        let result = explained.result.as_ref().ok();
        let watched = result.map(|of| watch.judged(of, Some(explained.key())));
        let without_target = pass.result.as_ref().ok().and_then(without_target);
        let hint = without_target.and_then(|it| it.hint);
        let kept = pass.and_then(|pass| Ok(args.save.is_some().then_some(pass)));
        Ok(ListedHpa {
            json,
            cells,
            watched,
            error,
            hint,
            pass: kept,
        })
    }

    /// Returns the answer.
    pub(super) fn tell(
        &self,
        explained: Explained,
        mut messages: Vec<String>,
        terminal: &Terminal,
    ) -> Result<Answer, Error> {
        let Explained {
            mut hpas,
            namespace,
            refused,
            interrupted,
            unwritten,
        } = explained;
        messages.extend(one_by_one(&refused));
        let text = self.text(&mut hpas, unwritten, terminal)?;
        let is_table = matches!(
            self.args.output,
            None | Some(Output::Wide | Output::Markdown)
        );
        if hpas.is_empty() && interrupted.is_none() && is_table {
            messages.push(match &namespace {
                Some(namespace) => format!("No resources found in {namespace} namespace."),
                None => "No resources found".to_owned(),
            });
        }
        for hpa in &hpas {
            let found = hpa.watched.iter().flat_map(|it| &it.messages);
            messages.extend(found.map(|it| format!("{}: {it}", hpa.pass.key())));
        }
        let watched = hpas.iter().filter_map(|hpa| hpa.watched.as_ref());
        let verdicts = watched.map(|it| it.verdict);
        let all_answered = hpas.iter().all(|hpa| hpa.error.is_none());
        let verdict = counted(
            verdicts.max().unwrap_or(ExpectationVerdict::Holds),
            all_answered,
        );
        let mut exit_code = verdict.exit_code();
        let failed = hpas
            .iter()
            .filter_map(|hpa| Some((hpa.pass.key(), hpa.error.clone()?)));
        let mut errors = grouped(failed);
        messages.extend(without_targets(&hpas));
        match self.args.save.as_ref().map(|path| save_all(path, &hpas)) {
            Some(Ok(warnings)) => messages.extend(warnings),
            Some(Err(e)) => errors.push(e),
            None => {}
        }
        if let Some((code, done)) = interrupted {
            exit_code = code;
            errors.push(interruption(code, done));
        }
        Ok(Answer {
            text,
            messages,
            errors,
            exit_code,
            ..Answer::default()
        })
    }

    /// Returns the list in the requested format. JSON lines follow the line that could not be written.
    fn text(
        &self,
        hpas: &mut [ListedHpa],
        unwritten: String,
        terminal: &Terminal,
    ) -> Result<String, Error> {
        match self.args.output {
            Some(Output::Json) => listed_json(hpas),
            Some(Output::Jsonl) => Ok(hpas.iter().fold(unwritten, |text, hpa| text + &hpa.json)),
            Some(Output::Yaml) => structured::yaml_of(listed_json(hpas)?),
            _ if hpas.is_empty() => Ok(String::new()),
            output @ (None | Some(Output::Wide | Output::Markdown)) => {
                let cells = hpas.iter_mut().filter_map(|hpa| hpa.cells.take()).collect();
                let is_wide = output == Some(Output::Wide);
                let overview = overview(cells, self.args.all_namespaces, is_wide);
                if output != Some(Output::Markdown) {
                    return Ok(page::rows(&overview, &SPARE, &terminal.layout()));
                }
                let watched = hpas.iter().filter_map(|hpa| hpa.watched.as_ref());
                let expected = expected(&Vec::from_iter(watched.map(|it| it.judged.clone())));
                Ok(rows(&overview, expected.as_ref()))
            }
        }
    }
}

/// Returns the error for a list that a signal ended, with the number of HPAs that were explained, and of
/// all.
fn interruption(code: u8, done: Option<(usize, usize)>) -> Error {
    let message = match done {
        Some((done, all)) => format!("interrupted: {done} of {all} HPAs were explained"),
        None => "interrupted before the HPAs were listed".to_owned(),
    };
    Error {
        kind: ErrorKind::Signal(code),
        ..Error::failed(message)
    }
}

/// Returns the note about neighbours in a saved state.
fn left_out_note(count: usize) -> Option<String> {
    let hpas = numbers::count(count, "HPA");
    (count > 0).then(|| format!("Note: left out {hpas}: the ControllerState belongs to others"))
}

/// Names the HPAs whose targets the input lacks, with what a pass of the first of them needs.
fn without_targets(hpas: &[ListedHpa]) -> Option<String> {
    let all = hpas
        .iter()
        .filter_map(|hpa| Some((hpa.pass.key(), hpa.hint.as_ref()?)));
    let (keys, hints): (Vec<String>, Vec<&String>) = all.unzip();
    let hint = hints.first()?;
    Some(format!("hint: {}: {hint}", listed(&keys)))
}

/// Returns one error for all HPAs with the same fault, with the hint of the first of them and the longest time of retries.
fn grouped(failed: impl Iterator<Item = (String, Error)>) -> Vec<Error> {
    let mut groups: Vec<(Vec<String>, Duration, Error)> = Vec::new();
    let mut places = HashMap::new();
    for (key, e) in failed {
        let untimed = || (e.message.clone(), Duration::ZERO);
        let (fault, took) = e.retried.as_deref().cloned().unwrap_or_else(untimed);
        let place = *places.entry((e.kind, fault)).or_insert(groups.len());
        match groups.get_mut(place) {
            Some((keys, longest, first)) => {
                keys.push(key);
                if took > *longest {
                    (*longest, first.message) = (took, e.message);
                }
            }
            None => groups.push((vec![key], took, e)),
        }
    }
    let named = groups.into_iter();
    named.map(|(keys, _, e)| e.within(listed(&keys))).collect()
}

/// The explained HPAs, and what limited the list.
pub(super) struct Explained {
    hpas: Vec<ListedHpa>,
    /// The namespace, if it was only one.
    namespace: Option<String>,
    /// The rights that lists lacked.
    refused: Vec<MissingRight>,
    /// The exit code for the signal that ended the list, with the number of HPAs explained, and of all, if they
    /// had been listed.
    interrupted: Option<(u8, Option<(usize, usize)>)>,
    /// The first line that could not be written.
    unwritten: String,
}

/// Writes lines until their sender is gone or the output is closed, and then returns the line that could
/// not be written, if any. It has a separate thread: a reader, such as a pager, may be as slow as it likes
/// while the time of requests continues. Lines that wait take no more memory than any other output.
fn written(answer: fn(&str) -> bool) -> (Sender<String>, oneshot::Receiver<String>) {
    let (sender, lines) = channel::<String>();
    let (ended, end) = oneshot::channel();
    thread::spawn(move || {
        let unwritten = lines.into_iter().find(|line| !answer(line));
        // An interrupted caller does not wait for it.
        let _ = ended.send(unwritten.unwrap_or_default());
    });
    (sender, end)
}

/// The part of the answer about an HPA.
struct ListedHpa {
    /// The explanation, if the format is JSON or made of it, unless it has been printed.
    json: String,
    /// The row of the table.
    cells: Option<Row>,
    /// The verdict on `--fail-on`, if there is an answer.
    watched: Option<WatchedPass>,
    /// The reason why there is no answer.
    error: Option<Error>,
    /// The input that a pass still needs, if the target is missing. This does not count as a failure: an
    /// accepted manifest suffices.
    hint: Option<String>,
    /// The pass, if it will be saved.
    pass: Listed<Option<Pass>>,
}

/// Returns an `ExplanationList` with the JSON that was written for each HPA in place of its empty list.
fn listed_json(hpas: &[ListedHpa]) -> Result<String, Error> {
    let frame = structured::json(&ExplanationList::new(hpas.iter().map(|hpa| &hpa.pass)))?;
    let written = hpas.iter().map(|hpa| hpa.json.trim_end());
    let items = written.filter(|item| !item.is_empty());
    let (head, tail) = frame.split_once("[]").unwrap_or((&frame, ""));
    let mut text = head.to_owned();
    for (place, item) in items.enumerate() {
        text += if place == 0 { "[\n    " } else { ",\n    " };
        text += &item.replace('\n', "\n    ");
    }
    text += if text.len() == head.len() {
        "[]"
    } else {
        "\n  ]"
    };
    Ok(text + tail)
}

/// Writes everything that was used, except for HPAs that could not be explained, which the messages name.
fn save_all(path: &str, hpas: &[ListedHpa]) -> Result<Vec<String>, Error> {
    let explained = hpas
        .iter()
        .filter_map(|hpa| hpa.pass.result.as_ref().ok()?.as_ref());
    let inputs: Vec<&Input> = explained.map(|pass| &pass.input).collect();
    if inputs.is_empty() {
        return Ok(vec![format!("Warning: nothing to save to {path}")]);
    }
    write_saved(path, &Saved::of(&inputs, &[])?)?;
    let missing = hpas.iter().filter(|hpa| hpa.pass.result.is_err());
    Ok(missing
        .map(|hpa| format!("Warning: {} was not saved to {path}", hpa.pass.key()))
        .collect())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::grouped;
    use crate::error::Error;

    #[test]
    fn what_is_wrong_with_several_hpas_is_said_once() {
        let none = |name: &str| Error::usage("no answer: no pods").hint(format!("predict {name}"));
        let retried = |seconds: u64| Error {
            retried: Some(("busy".to_owned(), Duration::from_secs(seconds)).into()),
            ..Error::failed(format!("busy for {seconds}s"))
        };
        let failed = [
            ("shop/api", none("api")),
            ("shop/db", Error::failed("no answer: no pods")),
            ("shop/web", none("web")),
            ("shop/work", Error::usage("db.yaml: invalid")),
            ("test/api", retried(1)),
            ("test/db", retried(3)),
            ("test/web", retried(2)),
        ];
        let found = grouped(failed.map(|(key, e)| (key.to_owned(), e)).into_iter());
        let found: Vec<(&str, Option<&str>)> = found
            .iter()
            .map(|e| (&*e.message, e.hint.as_deref()))
            .collect();
        let expected = [
            (
                "shop/api, shop/web: no answer: no pods",
                Some("predict api"),
            ),
            ("shop/db: no answer: no pods", None),
            ("shop/work: db.yaml: invalid", None),
            ("test/api, test/db, test/web: busy for 3s", None),
        ];
        assert_eq!(found, expected);
    }
}
