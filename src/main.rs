//! The program: parse, run, print, exit code. It decides nothing.

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use anstream::{AutoStream, ColorChoice};
use anyhow::Context;
use clap::FromArgMatches;
use kubectl_hpa::args::{Cli, Color, Form, command_line};
use kubectl_hpa::command::{self, Answer, Terminal};
use kubectl_hpa::error::Error;
use kubectl_hpa::render::style::{clean, point_at};

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
    let terminal = Terminal { tell: Some(tell), ..Terminal::detect() };
    let Answer { text, messages, errors, exit_code } = match command::run(&cli, &terminal) {
        Ok(answer) => answer,
        Err(e) => {
            let code = e.kind.exit_code();
            report(&[e], &form, &terminal);
            return ExitCode::from(code);
        }
    };
    for message in &messages {
        // Nothing can be done where even this finds no reader.
        let _ = writeln!(anstream::stderr(), "{}", clean(message, terminal.ascii));
    }
    let heard = answer(&text);
    // What went wrong, such as with a write, is told whether or not the answer is.
    report(&errors, &form, &terminal);
    if let Err(e) = heard {
        return unheard(&e);
    }
    ExitCode::from(if errors.is_empty() { exit_code } else { exit_code.max(1) })
}

fn parse(arguments: Vec<OsString>) -> Result<Cli, clap::Error> {
    let mut definition = command_line();
    let matches = definition.try_get_matches_from_mut(arguments)?;
    Cli::from_arg_matches(&matches).map_err(|e| e.format(&mut definition))
}

/// Help, the version, or what is wrong with what was typed.
fn usage(e: &clap::Error, form: &Form) -> ExitCode {
    let text = form.speak(&e.render().ansi().to_string());
    if !e.use_stderr() {
        return answer(&text).map_or_else(|e| unheard(&e), |()| ExitCode::SUCCESS);
    }
    tell(&text);
    ExitCode::from(2)
}

/// Writes to standard output. A reader that has seen enough, such as `head`, is no failure.
fn answer(text: &str) -> anyhow::Result<()> {
    let mut stdout = AutoStream::auto(std::io::stdout().lock());
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        written => written.context("failed to write the answer"),
    }
}

/// There is an answer, and nobody gets it.
fn unheard(e: &anyhow::Error) -> ExitCode {
    let _ = writeln!(anstream::stderr(), "error: {e:#}");
    ExitCode::from(1)
}

/// Errors, and what to do about them, each once.
fn report(errors: &[Error], form: &Form, terminal: &Terminal) {
    let mut stderr = anstream::stderr().lock();
    let mut hints = Vec::new();
    for e in errors {
        for note in &e.notes {
            let _ = writeln!(stderr, "{}", clean(note, terminal.ascii));
        }
        let sort = if e.bare { "" } else { "error: " };
        let _ = writeln!(stderr, "{sort}{}", clean(&form.speak(&e.message), terminal.ascii));
        if let Some((text, place)) = &e.place {
            let _ = writeln!(stderr, "{}", point_at(text, *place, terminal.ascii));
        }
        hints.extend(e.hint.as_ref().filter(|hint| !hints.contains(hint)));
    }
    for hint in hints {
        let _ = writeln!(stderr, "hint: {}", clean(&form.speak(hint), terminal.ascii));
    }
}

fn tell(text: &str) {
    let mut stderr = anstream::stderr();
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
}
