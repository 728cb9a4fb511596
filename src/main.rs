//! The program: parse, run, print, exit code. It decides nothing.

use std::io::Write;
use std::process::ExitCode;

use anstream::{AutoStream, ColorChoice};
use clap::Parser;
use kubectl_hpa::args::{Cli, Color, with_verb};
use kubectl_hpa::command::{self, Terminal};
use kubectl_hpa::render::style::clean;

fn main() -> ExitCode {
    let cli = Cli::parse_from(with_verb(std::env::args_os().collect()));
    match cli.color {
        Color::Auto => {}
        Color::Always => ColorChoice::Always.write_global(),
        Color::Never => ColorChoice::Never.write_global(),
    }
    let terminal = Terminal::detect();
    let answer = match command::run(&cli, &terminal) {
        Ok(answer) => answer,
        Err(e) => {
            let mut stderr = anstream::stderr().lock();
            // Nothing can be done where even the error finds no reader.
            let sort = if e.bare { "" } else { "error: " };
            let _ = writeln!(stderr, "{sort}{}", clean(&e.message, terminal.ascii));
            if let Some(hint) = &e.hint {
                let _ = writeln!(stderr, "hint: {}", clean(hint, terminal.ascii));
            }
            return ExitCode::from(e.kind.exit_code());
        }
    };
    for message in &answer.messages {
        let _ = writeln!(anstream::stderr(), "{}", clean(message, terminal.ascii));
    }
    let mut stdout = AutoStream::auto(std::io::stdout().lock());
    match stdout.write_all(answer.text.as_bytes()).and_then(|()| stdout.flush()) {
        // A reader that has seen enough, such as `head`, is no failure.
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
            let _ = writeln!(anstream::stderr(), "error: failed to write the answer: {e}");
            ExitCode::from(1)
        }
        _ => ExitCode::SUCCESS,
    }
}
