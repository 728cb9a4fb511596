//! `explain`: reads the objects or queries the cluster, runs one pass, and puts it into words.

use std::mem::ManuallyDrop;

use super::fail_on::FindingsWatch;
use super::list::{Explained, ListCommand};
use super::load::Query;
use super::named::names;
use super::past::{narrow, past};
use super::state::{ask, current, options, pass, read_saved, unanswered};
use super::{Answer, Terminal, check_save, connected, waited, write_saved};
use crate::args::{Explain, NamedRequest, Output};
use crate::cluster::Session;
use crate::error::Error;
use crate::pass::Pass;
use crate::render::markdown::markdown;
use crate::render::{page, structured};
use crate::report::Explanation;
use crate::report::page::Page;
use crate::saved::assemble::count;
use crate::saved::file;
use crate::saved::save::Saved;
use crate::snapshot::input::Options;
use crate::whatif::expect::ExpectationVerdict;

/// Checks that `--save` does not name a file that is read.
fn check_files(args: &Explain) -> Result<(), Error> {
    let filenames = args.filenames.iter().map(|input| ("-f ", input));
    let history = args
        .memory
        .history
        .iter()
        .map(|input| ("--history ", input));
    check_save(
        args.save.as_deref(),
        &args.connection,
        filenames.chain(history),
    )
}

/// Explains one HPA in full, or lists several; the text is for standard output.
pub(super) fn run(args: &Explain, terminal: &Terminal) -> Result<Answer, Error> {
    check_files(args)?;
    let request = NamedRequest::read(&args.names, &args.connection)?;
    if !request.named.is_empty() {
        if args.all_namespaces {
            let message = "a resource cannot be retrieved by name across all namespaces";
            return Err(Error::usage(message).hint("drop -A or the name"));
        }
        if args.selector.is_some() {
            let message = "name cannot be provided when a selector is specified";
            return Err(Error::usage(message).hint("drop -l or the name"));
        }
    }
    let at = args.at.map(|time| ("--at", time.to_string()));
    let query = Query::read(&args.prometheus, Vec::from_iter(at), &request.connection)?;
    let [named] = &request.named[..] else {
        if query.is_some() {
            let flag = if args.at.is_some() {
                "--at"
            } else {
                "--prometheus"
            };
            return Err(Error::usage(format!("{flag} is about one HPA")).hint("name it"));
        }
        return ListCommand::new(args, &request)?.run(terminal);
    };
    let one = One {
        args,
        request: &request,
        watch: FindingsWatch::read(&args.fail_on, &args.ignore)?,
        options: options(
            (&args.controller, &args.memory),
            &request.connection,
            &args.filenames,
            Some(named),
        ),
        query,
        terminal,
    };
    if args.filenames.is_empty() {
        one.observe()
    } else {
        one.read()
    }
}

/// The explanation to make, if it is of one HPA.
struct One<'a> {
    args: &'a Explain,
    request: &'a NamedRequest,
    watch: FindingsWatch,
    options: Options,
    query: Option<Query<'a>>,
    terminal: &'a Terminal,
}

/// The HPAs that the name of a target refers to.
enum Matches<'a> {
    /// With the messages about another connection.
    One(Box<Pass>, Vec<String>),
    Several(Box<ListCommand<'a>>, Explained),
}

impl One<'_> {
    /// Reads saved objects.
    fn read(&self) -> Result<Answer, Error> {
        let Self {
            args,
            options,
            terminal,
            ..
        } = self;
        // This happens whether or not the answer needs it.
        if let Some(query) = &self.query {
            waited(async { query.check(None) })?;
        }
        let objects = file::read(&args.filenames)?;
        if options.target.is_some() && count(&objects, options) > 1 {
            return ListCommand::new(args, self.request)?.of(&objects, terminal);
        }
        let input = read_saved(objects, options)?;
        let (pass, messages) = match (&self.query, args.at) {
            (Some(query), Some(at)) => waited(past(query, at, None, input, terminal))?,
            (query, _) => {
                let pass = pass(input, &args.memory)?;
                match query {
                    Some(query) if pass.depends_on_history() => {
                        waited(narrow(query, None, pass, terminal))?
                    }
                    _ => (pass, Vec::new()),
                }
            }
        };
        self.show(pass, messages)
    }

    /// Queries a cluster.
    fn observe(&self) -> Result<Answer, Error> {
        let connection = &self.request.connection;
        let (found, mut messages, warned) =
            connected(connection, async |session| self.ask(session).await)?;
        let mut answer = match found {
            Matches::One(pass, more) => {
                messages.extend(more);
                self.show(*pass, messages)
            }
            Matches::Several(list, explained) => list.tell(explained, messages, self.terminal),
        }?;
        answer.errors.extend(warned);
        Ok(answer)
    }

    async fn ask(&self, session: &Session) -> Result<Matches<'_>, Error> {
        let Self {
            args,
            query,
            terminal,
            ..
        } = self;
        let mut options = self.options.clone();
        if let Some(target) = options.target.take() {
            let names = names(session, Some(&target)).await?;
            let [name] = &names[..] else {
                let list = ListCommand::new(args, self.request)?;
                let explained = list.fetch(session, terminal).await?;
                return Ok(Matches::Several(Box::new(list), explained));
            };
            options.name.clone_from(name);
        }
        if let (Some(query), Some(at)) = (query, args.at) {
            let input = current(session, &options).await?;
            let (pass, messages) = past(query, at, Some(session), input, terminal).await?;
            return Ok(Matches::One(Box::new(pass), messages));
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
        Ok(Matches::One(Box::new(live.pass), live.messages))
    }

    /// Returns the report on one pass.
    fn show(&self, pass: Pass, mut messages: Vec<String>) -> Result<Answer, Error> {
        let Self {
            args,
            watch,
            terminal,
            ..
        } = self;
        // The process ends with the report, which need not wait for the memory of all pods to be freed.
        let kept = ManuallyDrop::new(pass);
        let pass: &Pass = &kept;
        let explanation = Explanation::ignoring(pass, &watch.ignored);
        let watched = watch.judged(&explanation, None);
        let text = match args.output {
            Some(Output::Json) => structured::json(&explanation)?,
            Some(Output::Jsonl) => structured::json_line(&explanation)?,
            Some(Output::Yaml) => structured::yaml(&explanation)?,
            Some(Output::Markdown) => {
                let mut page = Page::new(&explanation, false);
                page.expect(std::slice::from_ref(&watched.judged));
                markdown(&terminal.shown(page))
            }
            output @ (None | Some(Output::Wide)) => {
                let is_wide = output == Some(Output::Wide);
                let page = Page::new(&explanation, is_wide);
                page::page(&terminal.shown(page), &terminal.layout())
            }
        };
        let unsaved = match &args.save {
            Some(path) => write_saved(path, &Saved::of(&[&pass.input], &[])?).err(),
            None => None,
        };
        messages.extend(watched.messages);
        let unanswered = unanswered(pass);
        let exit_code = match (watched.verdict, &unanswered) {
            (ExpectationVerdict::Holds, Some(e)) => e.kind.exit_code(),
            (verdict, _) => verdict.exit_code(),
        };
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
}
