//! The program: parse, run, print, exit code. It decides nothing.

use std::io::Write;
use std::process::ExitCode;

use anstream::{AutoStream, ColorChoice};
use clap::Parser;
use kubectl_hpa::args::{Cli, Color, with_verb};
use kubectl_hpa::command::{self, Answer, Terminal};
use kubectl_hpa::error::Error;
use kubectl_hpa::render::style::{clean, point_at};

fn main() -> ExitCode {
    let cli = Cli::parse_from(with_verb(std::env::args_os().collect()));
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
            report(&[e], &terminal);
            return ExitCode::from(code);
        }
    };
    for message in &messages {
        // Nothing can be done where even this finds no reader.
        let _ = writeln!(anstream::stderr(), "{}", clean(message, terminal.ascii));
    }
    let mut stdout = AutoStream::auto(std::io::stdout().lock());
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        // A reader that has seen enough, such as `head`, is no failure.
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
            let _ = writeln!(anstream::stderr(), "error: failed to write the answer: {e}");
            return ExitCode::from(1);
        }
        _ => {}
    }
    report(&errors, &terminal);
    ExitCode::from(if errors.is_empty() { exit_code } else { exit_code.max(1) })
}

/// Errors, and what to do about them, each once.
fn report(errors: &[Error], terminal: &Terminal) {
    let mut stderr = anstream::stderr().lock();
    let mut hints = Vec::new();
    for e in errors {
        let sort = if e.bare { "" } else { "error: " };
        let _ = writeln!(stderr, "{sort}{}", clean(&e.message, terminal.ascii));
        if let Some((text, place)) = &e.place {
            let _ = writeln!(stderr, "{}", point_at(text, *place, terminal.ascii));
        }
        hints.extend(e.hint.as_ref().filter(|hint| !hints.contains(hint)));
    }
    for hint in hints {
        let _ = writeln!(stderr, "hint: {}", clean(hint, terminal.ascii));
    }
}

fn tell(text: &str) {
    let mut stderr = anstream::stderr();
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
}
