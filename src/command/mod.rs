//! One file per verb, each a short pipeline over the other modules, without logic of its own.

pub mod apply;
mod complete;
pub mod explain;
mod fail_on;
mod install_links;
pub mod interrupt;
mod list;
mod load;
mod named;
mod output_file;
mod past;
pub mod predict;
mod progress;
mod remember;
mod state;

use std::io::IsTerminal;
use std::num::NonZero;
use std::path::Path;
use std::thread::available_parallelism;
use std::time::Duration;

use terminal_size::{Height, Width, terminal_size_of};

use crate::args::{Cli, ConnectionFlags, Form, Verb, command_line, meant_as_type, states_no_type};
use crate::cluster::signals::Signals;
use crate::cluster::{self, Environment, Session, connect};
use crate::error::{Error, ErrorKind};
use crate::render::layout::Layout;
use crate::render::style::Styles;
use crate::report::page::Page;
use crate::saved::file;
use crate::saved::save::Saved;

/// The answer of a command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    /// For standard output.
    pub text: String,
    /// Warnings and notes, a line each, for standard error.
    pub messages: Vec<String>,
    /// Errors for the parts of the question that have no answer.
    pub errors: Vec<Error>,
    /// The exit code if there is no error, for example if an expectation does not hold. Unless it is 0, it also
    /// takes precedence over the exit code of the errors.
    pub exit_code: u8,
    /// The change that was written to a cluster, or may have been. It is reported even if the text cannot be
    /// printed.
    pub written: Option<String>,
    /// Lines for standard error that a CI runner interprets.
    pub annotations: String,
}

/// Runs the typed command.
pub fn run(cli: &Cli, terminal: &Terminal) -> Result<Answer, Error> {
    match &cli.verb {
        Verb::Explain(args) => {
            let answer = explain::run(args, terminal);
            misread(answer, "explain", &args.names, Some(&args.filenames))
        }
        Verb::Predict(args) => {
            let answer = predict::run(args, terminal);
            misread(answer, "predict", &args.names, Some(&args.filenames))
        }
        Verb::Apply(args) => misread(apply::run(args, terminal), "apply", &args.names, None),
        Verb::InstallLinks(args) => install_links::run(args, &command_line()),
        Verb::Complete { words } => {
            // Even an unreadable word must not fail; it matches nothing.
            let readable: Vec<String> = words
                .iter()
                .map(|word| word.to_string_lossy().into_owned())
                .collect();
            Ok(complete::run(command_line(), &readable))
        }
    }
}

/// Adds to an error what the words that name HPAs were probably meant to be: files, if the verb reads any,
/// types, or the verb itself.
fn misread(
    answer: Result<Answer, Error>,
    verb: &str,
    words: &[String],
    files: Option<&[String]>,
) -> Result<Answer, Error> {
    let file = words
        .iter()
        .filter(|_| files.is_some())
        .find(|word| {
            let path = Path::new(word);
            let may_exist = files.is_some_and(<[String]>::is_empty) && states_no_type(word);
            file::is_listed(path) || (may_exist && path.exists())
        })
        .map(|word| format!("to read {word}, use -f {word}"));
    let is_twice = words.len() > 1 && words.first().is_some_and(|word| word == verb);
    let again =
        is_twice.then(|| format!("the command has its verb already: leave out the second {verb}"));
    let Some(hint) = file.or(again).or_else(|| meant_as_type(words)) else {
        return answer;
    };
    match answer {
        Err(e) => Err(e.hint(hint)),
        Ok(mut answer) => {
            if let Some(e) = answer.errors.iter_mut().find(|e| e.hint.is_none()) {
                e.hint = Some(hint);
            }
            Ok(answer)
        }
    }
}

/// Queries a cluster. Also returns the messages about it, for standard error, and the error if there are warnings and they
/// count as errors: as in kubectl, the answer is printed all the same.
fn connected<T>(
    args: &ConnectionFlags,
    ask: impl AsyncFnOnce(&Session) -> Result<T, Error>,
) -> Result<(T, Vec<String>, Option<Error>), Error> {
    waited(async {
        let session = connect(args, &Environment::of_process(false)).await?;
        let asked = ask(&session).await;
        let messages = messages(&session, args.verbosity);
        let answer = asked.map_err(|mut e| {
            e.notes.splice(0..0, messages.clone());
            e
        })?;
        let warnings = session.warnings();
        let as_errors = args.warnings_as_errors == Some(true) && !warnings.is_empty();
        let error = as_errors.then(|| {
            let (count, s) = (warnings.len(), if warnings.len() == 1 { "" } else { "s" });
            let warned = warnings.join("; ");
            Error::failed(format!("{count} warning{s} received: {warned}"))
        });
        Ok((answer, messages, error))
    })
}

/// Returns the messages about a connection: warnings, and what `-v` requests.
fn messages(session: &Session, verbosity: i32) -> Vec<String> {
    let warnings = session.warnings();
    let warned = session.notices().iter().chain(&warnings);
    warned
        .map(|text| format!("Warning: {text}"))
        .chain(session.notes(verbosity))
        .collect()
}

/// Runs requests to a server to their end.
fn waited<T>(work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        // These threads parse long lists; more of them would not be faster.
        .max_blocking_threads(available_parallelism().map_or(2, NonZero::get))
        .enable_all()
        .build()
        .map_err(|e| Error::failed(format!("failed to start: {e}")))?;
    let answer = runtime.block_on(async {
        // Code that listens during the work reports more.
        const PATIENCE: Duration = Duration::from_secs(1);
        let mut signals = Signals::new(Some(PATIENCE))?;
        tokio::select! {
            answer = work => answer,
            Some(code) = signals.next() => {
                Err(Error { kind: ErrorKind::Signal(code), ..Error::failed("interrupted") })
            }
        }
    });
    // A name lookup may still be running, longer than a user should wait.
    runtime.shutdown_background();
    answer
}

/// The flags for files to write, as they precede a name.
const SAVE: &str = "--save ";
const JUNIT: &str = "--report junit=";

/// Checks that saving does not overwrite anything that is read. `inputs` are the flags that name files, as they
/// precede a name, each with its file.
fn check_save<'a>(
    path: Option<&str>,
    connection: &ConnectionFlags,
    inputs: impl IntoIterator<Item = (&'static str, &'a String)>,
) -> Result<(), Error> {
    path.map_or(Ok(()), |path| {
        check_written(SAVE, path, "state.json", connection, inputs)
    })
}

/// Checks the same for a file that a flag writes; `example` is a possible name.
fn check_written<'a>(
    flag: &str,
    path: &str,
    example: &str,
    connection: &ConnectionFlags,
    inputs: impl IntoIterator<Item = (&'static str, &'a String)>,
) -> Result<(), Error> {
    if path == "-" {
        return Err(Error::usage(format!(
            "{flag}- is not allowed, because stdout has the answer"
        ))
        .hint(format!("use a file, such as {flag}{example}")));
    }
    let place = Path::new(path);
    let of_connection = cluster::files(connection, &Environment::of_process(false));
    if of_connection
        .iter()
        .any(|file| file::is_same_file(file, place))
    {
        return Err(Error::usage(format!(
            "{flag}{path}: the file describes the connection to a cluster"
        ))
        .hint("write to another file"));
    }
    let is_same = |input: &str| {
        file::reads(input, place) || (input != "-" && file::is_same_file(Path::new(input), place))
    };
    let Some((other, input)) = inputs.into_iter().find(|(_, input)| is_same(input)) else {
        return Ok(());
    };
    let does = if [SAVE, JUNIT].contains(&other) {
        "written"
    } else {
        "read"
    };
    Err(Error::usage(format!(
        "{flag}{path}: the file is also {does} by {other}{input}"
    ))
    .hint("write to another file, outside the directories that are read"))
}

fn write_saved(path: &str, saved: &Saved<'_>) -> Result<(), Error> {
    output_file::replace(path, |out| saved.write(out))
}

/// Returns an environment variable; `None` if it is unset or empty.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Returns the width of a terminal, given its size if that is known.
fn columns(size: Option<(Width, Height)>) -> usize {
    variable("COLUMNS")
        .and_then(|columns| columns.parse().ok())
        .or_else(|| size.map(|(Width(columns), _)| columns.into()))
        // A terminal that does not know its size says 0.
        .filter(|columns| *columns > 0)
        .unwrap_or(80)
}

/// The known properties of the answer's destination.
#[derive(Debug, Clone, Default)]
pub struct Terminal {
    /// The columns; `None` if standard output is not a terminal.
    pub width: Option<usize>,
    /// Whether the terminal shows only ASCII.
    pub ascii: bool,
    /// The columns of standard error if it is a terminal, on which a line can be rewritten.
    pub messages: Option<usize>,
    /// Writes to standard error until the answer is ready; `None` if no one waits.
    pub tell: Option<fn(&str)>,
    /// Writes part of the answer before the rest is ready, on any thread; returns false if the output is
    /// closed.
    pub answer: Option<fn(&str) -> bool>,
    /// Whether a question can be asked: standard input is a terminal as well.
    pub asks: bool,
    /// The form in which the program was run.
    pub form: Form,
}

impl Terminal {
    /// Examines standard output, standard error and the environment. `COLUMNS` takes precedence over the
    /// terminal's own width; if the output is not a terminal, lines may have any length.
    pub fn detect() -> Self {
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
            .into_iter()
            .find_map(variable);
        let ascii = !locale.is_some_and(|locale| {
            let lowercase = locale.to_lowercase();
            lowercase.contains("utf-8") || lowercase.contains("utf8")
        });
        let (stdout, stderr) = (std::io::stdout(), std::io::stderr());
        let width = stdout
            .is_terminal()
            .then(|| columns(terminal_size_of(&stdout)));
        let messages = stderr
            .is_terminal()
            .then(|| columns(terminal_size_of(&stderr)));
        let asks = messages.is_some() && std::io::stdin().is_terminal();
        Self {
            width,
            messages,
            ascii,
            asks,
            ..Self::default()
        }
    }

    fn layout(&self) -> Layout {
        Layout {
            width: self.width,
            styles: Styles::colored(),
            ascii: self.ascii,
            form: self.form.clone(),
        }
    }

    /// Returns a page with the symbols that can be shown.
    fn shown(&self, page: Page) -> Page {
        if self.ascii { page.in_ascii() } else { page }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use super::connected;
    use crate::args::ConnectionFlags;

    #[test]
    fn work_that_hangs_is_not_waited_for() {
        let (release, wait) = channel::<()>();
        let flags = ConnectionFlags {
            server: Some("http://127.0.0.1:1".to_owned()),
            kubeconfig: Some("/dev/null".to_owned()),
            ..ConnectionFlags::default()
        };
        let (answer, ..) = connected(&flags, async move |_| {
            // As the resolver does while a name server is silent.
            tokio::task::spawn_blocking(move || wait.recv_timeout(Duration::from_secs(20)));
            tokio::task::yield_now().await;
            Ok(7)
        })
        .unwrap();
        // Its thread is still there to be told that it may end.
        assert!(answer == 7 && release.send(()).is_ok());
    }
}
