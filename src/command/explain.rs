//! `explain`: reads the objects or asks the cluster, runs one pass, and puts it into words.

use std::mem::ManuallyDrop;

use jiff::Timestamp;

use super::fail_on::{FOUND, FindingsWatch};
use super::list::{Explained, List};
use super::load::Query;
use super::named::names;
use super::state::{ask, current, options, pass, read_saved, unanswered};
use super::{Answer, Terminal, check_save, connected, waited, write_saved};
use crate::args::{Explain, Output, Request};
use crate::error::Error;
use crate::pass::Pass;
use crate::render::markdown::markdown;
use crate::render::{page, structured};
use crate::report::Explanation;
use crate::report::page::Page;
use crate::saved::assemble::{assemble, count};
use crate::saved::file;
use crate::saved::save::Saved;
use crate::snapshot::input::Options;

/// Makes sure that `--save` does not name a file that is read.
fn check_files(args: &Explain) -> Result<(), Error> {
    let filenames = args.filenames.iter().map(|input| ("-f", input));
    let history = args.memory.history.iter().map(|input| ("--history", input));
    check_save(
        args.save.as_deref(),
        &args.connection,
        filenames.chain(history),
    )
}

/// Explains one HPA in full, or lists several; the text is for standard output.
pub(super) fn run(args: &Explain, terminal: &Terminal) -> Result<Answer, Error> {
    check_files(args)?;
    let request = Request::read(&args.names, &args.connection)?;
    if !request.named.is_empty() {
        if args.all_namespaces {
            let message = "a resource cannot be retrieved by name across all namespaces";
            return Err(Error::usage(message));
        }
        if args.selector.is_some() {
            return Err(Error::usage(
                "name cannot be provided when a selector is specified",
            ));
        }
    }
    let typed = [("--at", args.at.is_some())];
    let query = Query::read(&args.prometheus, &typed, &request.connection)?;
    let past = args.at.zip(query.as_ref());
    let [named] = &request.named[..] else {
        if query.is_some() {
            let flag = if past.is_some() {
                "--at"
            } else {
                "--prometheus"
            };
            return Err(Error::usage(format!("{flag} is about one HPA")).hint("name it"));
        }
        return List::new(args, &request)?.run(terminal);
    };
    let watch = FindingsWatch::read(&args.fail_on, &args.ignore)?;
    let options = options(
        &args.controller,
        &request.connection,
        &args.filenames,
        Some(named),
    );
    if !args.filenames.is_empty() {
        // Whether or not the answer needs it.
        if let Some(query) = &query {
            query.check(None)?;
        }
        let objects = file::read(&args.filenames)?;
        return if options.target.is_some() && count(&objects, &options) > 1 {
            List::new(args, &request)?.of(&objects, terminal)
        } else {
            let (pass, messages) = match (past, &query) {
                (None, None) => (
                    pass(read_saved(objects, &options)?, &args.memory)?,
                    Vec::new(),
                ),
                (None, Some(query)) => {
                    let pass = pass(read_saved(objects, &options)?, &args.memory)?;
                    if pass.depends_on_history() {
                        waited(super::past::narrow(query, None, pass, terminal))?
                    } else {
                        (pass, Vec::new())
                    }
                }
                (Some((at, query)), _) => {
                    let input = assemble(objects, &options, Timestamp::now())?;
                    let rewound = waited(super::past::past(query, at, None, input, terminal))?;
                    (Pass::run(rewound.0), rewound.1)
                }
            };
            one(pass, args, &watch, messages, terminal)
        };
    }
    let (found, messages) = connected(&request.connection, async |session| {
        let options = match &options.target {
            None => options.clone(),
            Some(target) => match &names(session, Some(target)).await?[..] {
                [name] => Options {
                    name: name.clone(),
                    target: None,
                    ..options.clone()
                },
                _ => {
                    let list = List::new(args, &request)?;
                    let explained = list.fetch(session, terminal).await?;
                    return Ok(Found::Several(Box::new(list), explained));
                }
            },
        };
        if let Some((at, query)) = past {
            let input = current(session, &options).await?;
            let (input, more) =
                super::past::past(query, at, Some(session), input, terminal).await?;
            return Ok(Found::One(Box::new(Pass::run(input)), more));
        }
        let live = ask(
            session,
            &args.memory,
            &options,
            None,
            query.as_ref(),
            terminal,
        )
        .await?;
        Ok(Found::One(Box::new(live.pass), live.messages))
    })?;
    match found {
        Found::One(pass, more) => {
            let messages = messages.into_iter().chain(more).collect();
            one(*pass, args, &watch, messages, terminal)
        }
        Found::Several(list, explained) => list.tell(explained, messages, terminal),
    }
}

/// What a target's name leads to.
enum Found<'a> {
    /// With the messages about another connection.
    One(Box<Pass>, Vec<String>),
    Several(Box<List<'a>>, Explained),
}

/// The report on one pass.
fn one(
    pass: Pass,
    args: &Explain,
    watch: &FindingsWatch,
    mut messages: Vec<String>,
    terminal: &Terminal,
) -> Result<Answer, Error> {
    // The process ends with the report, which need not wait for the memory of all pods to be freed.
    let pass = ManuallyDrop::new(pass);
    let pass: &Pass = &pass;
    let explanation = Explanation::new(pass).ignoring(&watch.ignored);
    let text = match args.output {
        Some(Output::Json) => structured::json(&explanation)?,
        Some(Output::Jsonl) => structured::json_line(&explanation)?,
        Some(Output::Yaml) => structured::yaml(&explanation)?,
        Some(Output::Markdown) => {
            let mut page = Page::new(&explanation, false, terminal.symbols());
            page.expect(&[watch.judged(pass, &explanation, None)]);
            markdown(&page)
        }
        wide => {
            let wide = wide == Some(Output::Wide);
            let page = Page::new(&explanation, wide, terminal.symbols());
            page::page(&page, &terminal.layout())
        }
    };
    let unsaved = match &args.save {
        Some(path) => write_saved(path, &Saved::of(&[&pass.input], &[])?).err(),
        None => None,
    };
    let unanswered = unanswered(pass);
    let failed = watch.failed(&explanation);
    let exit_code = match &unanswered {
        Some(e) => e.kind.exit_code(),
        None if failed.is_some() => FOUND,
        None => 0,
    };
    messages.extend(failed);
    let mut errors = Vec::from_iter(unanswered);
    // The answer may have taken long.
    errors.extend(unsaved);
    Ok(Answer {
        text,
        messages,
        errors,
        exit_code,
        ..Answer::default()
    })
}
