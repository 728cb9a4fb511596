//! The program: parse, run, print, exit code. It decides nothing.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ffi::OsString;
use std::io::Write;
use std::process::{ExitCode, exit};

use anstream::{AutoStream, ColorChoice};
use anyhow::anyhow;
use clap::FromArgMatches;
use kubectl_hpa::args::{Cli, Color, Form, command_line, with_tips};
use kubectl_hpa::command::interrupt::on_signal;
use kubectl_hpa::command::{self, Answer, Terminal};
use kubectl_hpa::error::Error;
use kubectl_hpa::render::runner;
use kubectl_hpa::render::style::{bounded, clean, folded, point_at};
use kubectl_hpa::saved::file::plain;
use mimalloc::MiMalloc;

/// The same on each platform; `Cargo.toml` says why.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    let path = std::env::var_os("PATH");
    let (form, arguments) = Form::read(std::env::args_os().collect(), path.as_deref());
    let cli = match parse(arguments) {
        Ok(cli) => cli,
        Err(e) => return usage(&e, &form),
    };
    match cli.color {
        Color::Auto => {}
        Color::Always => ColorChoice::Always.write_global(),
        Color::Never => ColorChoice::Never.write_global(),
    }
    on_signal(|signal| {
        tell("error: interrupted\n");
        exit(signal.into())
    });
    let part = |text: &str| matches!(answer(text), Ok(Heard::Whole));
    let terminal = Terminal {
        tell: Some(tell),
        answer: Some(part),
        form,
        ..Terminal::detect()
    };
    let Answer {
        text,
        messages,
        errors,
        exit_code,
        written,
        annotations,
    } = match command::run(&cli, &terminal) {
        Ok(answer) => answer,
        Err(e) => {
            let code = e.kind.exit_code();
            report(&[e], &terminal);
            return ExitCode::from(code);
        }
    };
    for message in &messages {
        tell_wrapped(message, &terminal);
    }
    // Annotations are commands of our own to the runner, so they are not escaped.
    let mut stderr = anstream::stderr();
    let _ = stderr
        .write_all(bounded(&annotations).as_bytes())
        .and_then(|()| stderr.flush());
    let code = if errors.is_empty() {
        exit_code
    } else {
        exit_code.max(1)
    };
    // Writing the answer may block forever; a signal must still report the write.
    on_signal({
        let written = written.clone();
        move |signal| {
            let Some(written) = &written else {
                exit(signal.into())
            };
            tell(&format!("{}\n", clean(written, terminal.ascii)));
            exit(code.into())
        }
    });
    let heard = answer(&text);
    // Errors, such as from a write, are printed whether or not the answer is.
    report(&errors, &terminal);
    match (heard, written) {
        (Ok(Heard::Whole), _) | (Ok(Heard::Enough), None) => {}
        (Err(e), None) => return unheard(&e),
        // The code remains the write's, because anyone who sees another one may write again.
        (heard, Some(written)) => {
            if let Err(e) = heard {
                unheard(&e);
            }
            tell(&format!("{}\n", clean(&written, terminal.ascii)));
        }
    }
    ExitCode::from(code)
}

/// Parses the command line. An error repeats parts of it, so they are escaped first.
fn parse(arguments: Vec<OsString>) -> Result<Cli, clap::Error> {
    let escaped = arguments
        .iter()
        .map(|word| clean(&word.to_string_lossy(), false).into())
        .collect();
    parse_as_typed(arguments).map_err(|e| match parse_as_typed(escaped) {
        Err(same) if same.kind() == e.kind() => same,
        _ => e,
    })
}

fn parse_as_typed(arguments: Vec<OsString>) -> Result<Cli, clap::Error> {
    let mut definition = command_line();
    let matches = definition
        .try_get_matches_from_mut(arguments)
        .map_err(|e| with_tips(e, &definition))?;
    Cli::from_arg_matches(&matches).map_err(|e| e.format(&mut definition))
}

/// Prints help, the version, or a usage error.
fn usage(e: &clap::Error, form: &Form) -> ExitCode {
    let plain = e.render().to_string();
    let safe: String = plain.split_inclusive('\n').map(escaped).collect();
    let text = if safe == plain {
        e.render().ansi().to_string()
    } else {
        safe
    };
    let text = form.speak(&text);
    if !e.use_stderr() {
        return answer(&text).map_or_else(|e| unheard(&e), |_| ExitCode::SUCCESS);
    }
    let width = Terminal::detect().messages;
    tell(&width.map_or(text.clone(), |width| folded(&text, width)));
    ExitCode::from(2)
}

/// Returns a line with its end, safe to show.
fn escaped(line: &str) -> String {
    let (text, end) = line
        .strip_suffix('\n')
        .map_or((line, ""), |text| (text, "\n"));
    format!("{}{end}", clean(text, false))
}

/// How much of an answer was read.
enum Heard {
    Whole,
    /// The reader has seen enough, such as `head`, which is not a failure.
    Enough,
}

/// Writes to standard output.
fn answer(text: &str) -> anyhow::Result<Heard> {
    // Another thread may still have the output, and may wait for its reader.
    if text.is_empty() {
        return Ok(Heard::Whole);
    }
    let mut stdout = AutoStream::auto(std::io::stdout().lock());
    match stdout
        .write_all(harmless(text).as_bytes())
        .and_then(|()| stdout.flush())
    {
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => Ok(Heard::Enough),
        written => written
            .map(|()| Heard::Whole)
            .map_err(|e| anyhow!("failed to write the answer: {}", plain(&e))),
    }
}

/// Reports that there is an answer, but no reader.
fn unheard(e: &anyhow::Error) -> ExitCode {
    tell(&format!("error: {e}\n"));
    ExitCode::from(1)
}

/// Returns text that is safe in a log, from which a pipeline runner may read commands.
fn harmless(text: &str) -> Cow<'_, str> {
    let is_set = |name: &&str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    if runner::VARIABLES.iter().any(is_set) {
        runner::disarmed(text)
    } else {
        text.into()
    }
}

/// Writes to standard error, in lines of a limited length. If even this has no reader, nothing can be done.
fn tell(text: &str) {
    let mut stderr = anstream::stderr();
    let text = bounded(text);
    let _ = stderr
        .write_all(harmless(&text).as_bytes())
        .and_then(|()| stderr.flush());
}

/// Writes a message to standard error, in lines that fit a terminal.
fn tell_wrapped(message: &str, terminal: &Terminal) {
    let message = clean(&terminal.form.speak(message), terminal.ascii);
    let message = match terminal.messages {
        Some(width) => folded(&message, width),
        None => message,
    };
    tell(&format!("{message}\n"));
}

/// Prints errors, and what to do about them, each once.
fn report(errors: &[Error], terminal: &Terminal) {
    let (mut hints, mut known) = (Vec::new(), HashSet::new());
    for e in errors {
        for note in &e.notes {
            tell_wrapped(note, terminal);
        }
        let sort = if e.bare { "" } else { "error: " };
        tell_wrapped(&format!("{sort}{}", e.message), terminal);
        if let Some((text, place)) = &e.place {
            tell(&format!("{}\n", point_at(text, *place, terminal.ascii)));
        }
        hints.extend(e.hint.as_ref().filter(|hint| known.insert(*hint)));
    }
    for hint in hints {
        tell_wrapped(&format!("hint: {hint}"), terminal);
    }
}
