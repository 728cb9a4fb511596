//! The man pages in `man/` are generated from the definition of the command line.
//! `UPDATE_MAN=1 cargo test --test program man` regenerates them. The program does not contain the
//! generator.

use std::path::Path;
use std::process::Command;
use std::{env, fs, io};

use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};
use kubectl_hpa::args::command_line;

const SOURCE: &str = concat!("kubectl-hpa ", env!("CARGO_PKG_VERSION"));

/// Returns a page for the whole program and one per verb, by their file names.
fn pages() -> Vec<(String, Vec<u8>)> {
    let mut root = command_line().disable_help_subcommand(true);
    root.build();
    let verbs = root.get_subcommands().filter(|verb| !verb.is_hide_set());
    let verbs = verbs.map(|verb| (format!("kubectl-hpa-{}", verb.get_name()), verb.clone()));
    let all = [("kubectl-hpa".to_owned(), root.clone())]
        .into_iter()
        .chain(verbs);
    all.map(|(name, command)| {
        (
            format!("{name}.1"),
            page(&name, command).expect("memory does not fail"),
        )
    })
    .collect()
}

/// Returns a page with a one-line usage and with examples that keep their newlines: the generator would
/// list every flag in the usage, and fill the examples.
fn page(name: &str, mut command: clap::Command) -> io::Result<Vec<u8>> {
    let usage = command
        .render_usage()
        .to_string()
        .replacen("Usage: ", "", 1);
    let examples = command
        .get_after_long_help()
        .or(command.get_after_help())
        .cloned();
    let subcommands = command.get_subcommands().next().is_some();
    // What a summary leaves out is documented here.
    let command = command.mut_args(|arg| arg.hide_short_help(false));
    let man = Man::new(command).title(name).section("1").source(SOURCE);
    let mut text = Vec::new();
    man.render_title(&mut text)?;
    man.render_name_section(&mut text)?;
    let mut roff = Roff::new();
    roff.control("SH", ["SYNOPSIS"]).text([roman(usage)]);
    roff.to_writer(&mut text)?;
    man.render_description_section(&mut text)?;
    man.render_options_section(&mut text)?;
    if subcommands {
        man.render_subcommands_section(&mut text)?;
    }
    if let Some(examples) = examples {
        let text_of = examples.to_string();
        let (notes, examples) = match text_of.split_once("Examples:\n") {
            Some((notes, examples)) => (notes, examples),
            None => (&*text_of, ""),
        };
        let mut roff = Roff::new();
        for (title, lines) in [("NOTES", notes), ("EXAMPLES", examples)] {
            if lines.trim().is_empty() {
                continue;
            }
            roff.control("SH", [title]);
            let mut fills = true;
            for line in lines.lines() {
                // Indented lines, and blank ones among them, are not filled.
                let fill = !line.starts_with("  ") && (fills || !line.is_empty());
                if fill != fills {
                    roff.control(if fill { "fi" } else { "nf" }, []);
                    fills = fill;
                }
                roff.text([roman(line.strip_prefix("  ").unwrap_or(line))]);
            }
            if !fills {
                roff.control("fi", []);
            }
        }
        roff.to_writer(&mut text)?;
    }
    Ok(text)
}

#[test]
fn man_pages_are_up_to_date() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("man");
    let update = env::var_os("UPDATE_MAN").is_some();
    let pages = pages();
    for (name, text) in &pages {
        let path = directory.join(name);
        if update {
            fs::create_dir_all(&directory).unwrap();
            fs::write(&path, text).unwrap();
        }
        let committed = fs::read(&path).unwrap_or_default();
        assert!(
            committed == *text,
            "man/{name} is out of date: UPDATE_MAN=1 cargo test --test program man"
        );
    }
    let there = fs::read_dir(&directory).unwrap().count();
    assert_eq!(
        there,
        pages.len(),
        "man/ holds a page of a verb that is gone"
    );
}

#[test]
fn man_reads_them() {
    for (name, _) in pages() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("man")
            .join(&name);
        let output = Command::new("man")
            .args(["--warnings", "-l"])
            .arg(path)
            .env("MANWIDTH", "80")
            .output();
        // Machines without man have nothing to prove here.
        let Ok(output) = output else { return };
        let (text, warnings) = (
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr),
        );
        assert!(
            output.status.success() && warnings.is_empty(),
            "{name}: {warnings}"
        );
        assert!(
            text.contains("SYNOPSIS") && text.contains("--color"),
            "{name}: {text}"
        );
        let words = text.contains("Address of the API server");
        assert_eq!(words, text.contains("--server"), "{name}: {text}");
    }
}
