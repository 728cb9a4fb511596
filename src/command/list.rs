//! `explain` for several HPAs: those that are named, or every one of a namespace, or of all of them,
//! each with its own pass, in a line. What cannot be had for one is reported with the answers for the others.

use std::cell::RefCell;

use jiff::Timestamp;

use super::fail_on::{FOUND, FindingsWatch};
use super::progress::{reading, shown};
use super::remember::remember;
use super::state::{options, unanswered};
use super::{Answer, Terminal, connected, write_saved};
use crate::apimachinery::selector::Selector;
use crate::args::{ConnectionFlags, Explain, MemoryArgs, Output, Request};
use crate::cluster::Session;
use crate::cluster::fetch::list::{Progress, fetch_all};
use crate::cluster::observed;
use crate::error::Error;
use crate::pass::Pass;
use crate::render::markdown::rows;
use crate::render::{page, structured};
use crate::report::Explanation;
use crate::report::list::{ExplanationList, one_by_one, overview};
use crate::saved::assemble::assemble_all;
use crate::saved::file;
use crate::saved::objects::Objects;
use crate::saved::save::Saved;
use crate::snapshot::Listed;
use crate::snapshot::input::{Input, Options};
use crate::snapshot::right::MissingRight;
use crate::snapshot::selection::Selection;

/// A list as it is asked for.
pub(super) struct List<'a> {
    args: &'a Explain,
    connection: &'a ConnectionFlags,
    selection: Selection,
    options: Options,
    watch: FindingsWatch,
}

impl<'a> List<'a> {
    /// Reads what is asked for.
    pub(super) fn new(args: &'a Explain, request: &'a Request) -> Result<Self, Error> {
        let MemoryArgs { history, recommendations, observe } = &args.memory;
        let of_one =
            history.as_deref().is_some_and(|history| !["none", "infer"].contains(&history));
        if of_one || !recommendations.is_empty() || observe.is_some() {
            return Err(Error::usage("a stated history belongs to one HPA")
                .hint("name the HPA, or use --history none or --history infer"));
        }
        let watch = FindingsWatch::read(&args.fail_on, &args.ignore)?;
        let Request { named, connection } = request;
        let options = options(&args.controller, connection, None);
        let selection = match named.is_empty() {
            true => {
                let selector = Selector::parse(args.selector.as_deref().unwrap_or_default());
                let invalid = |e| Error::usage(format!("invalid label selector: {e}"));
                Selection::Labels(selector.map_err(invalid)?)
            }
            false => Selection::Named(named.clone()),
        };
        Ok(Self { args, connection, selection, options, watch })
    }

    /// Explains all of them; the text is for standard output.
    pub(super) fn run(&self, terminal: &Terminal) -> Result<Answer, Error> {
        if !self.args.filenames.is_empty() {
            return self.of(&file::read(&self.args.filenames)?, terminal);
        }
        let (inputs, messages) =
            connected(self.connection, async |session| self.fetch(session, terminal).await)?;
        self.explain(inputs, messages, terminal)
    }

    /// Explains those of saved objects.
    pub(super) fn of(&self, objects: &Objects, terminal: &Terminal) -> Result<Answer, Error> {
        let namespace = self.connection.namespace.clone().filter(|_| !self.args.all_namespaces);
        let Self { options, selection, .. } = self;
        let clock = Timestamp::now();
        let inputs = assemble_all(objects, options, namespace.as_deref(), selection, clock)?;
        self.explain(Inputs { inputs, namespace, refused: Vec::new() }, Vec::new(), terminal)
    }

    /// Asks a cluster.
    pub(super) async fn fetch(
        &self,
        session: &Session,
        terminal: &Terminal,
    ) -> Result<Inputs, Error> {
        observed::check(&self.options)?;
        let namespace = (!self.args.all_namespaces).then(|| session.namespace().to_owned());
        let progress = Progress::default();
        let inputs = RefCell::new(Vec::new());
        let keep = |place, it: Listed<_>| {
            let input = it.and_then(|it| observed::input(it, &self.options));
            inputs.borrow_mut().push((place, input));
        };
        let selection = &self.selection;
        let fetched = fetch_all(session, namespace.as_deref(), selection, &progress, &keep);
        let refused = shown(fetched, || reading(&progress), terminal).await?;
        let mut inputs = inputs.into_inner();
        inputs.sort_by_key(|(place, _)| *place);
        let inputs = inputs.into_iter().map(|(_, input)| input).collect();
        Ok(Inputs { inputs, namespace, refused })
    }

    /// Explains what was read.
    pub(super) fn explain(
        &self,
        inputs: Inputs,
        mut messages: Vec<String>,
        terminal: &Terminal,
    ) -> Result<Answer, Error> {
        let Self { args, watch, .. } = self;
        let Inputs { inputs, namespace, refused } = inputs;
        messages.extend(one_by_one(&refused));
        let run = |mut input: Input| {
            remember(&args.memory, &mut input)?;
            Ok(Pass::run(input))
        };
        let passes: Vec<Listed<Pass>> =
            inputs.into_iter().map(|listed| listed.and_then(run)).collect();
        let explained = passes.iter().map(|listed| Listed {
            namespace: listed.namespace.clone(),
            name: listed.name.clone(),
            reference: listed.reference.clone(),
            result: match &listed.result {
                Ok(pass) => Ok(Explanation::new(pass).ignoring(&watch.ignored)),
                Err(e) => Err(e.clone()),
            },
        });
        let list = ExplanationList(explained.collect());
        let text = match args.output {
            Some(Output::Json) => structured::json(&list)?,
            Some(Output::Yaml) => structured::yaml(&list)?,
            _ if passes.is_empty() => {
                messages.push(match &namespace {
                    Some(namespace) => format!("No resources found in {namespace} namespace."),
                    None => "No resources found".to_owned(),
                });
                String::new()
            }
            Some(Output::Markdown) => rows(&overview(&list, args.all_namespaces, false)),
            wide => {
                let wide = wide == Some(Output::Wide);
                let layout = terminal.layout();
                // Targets mostly have the names of their HPAs.
                let spare = (!wide).then_some("REFERENCE");
                page::rows(&overview(&list, args.all_namespaces, wide), spare, &layout)
            }
        };
        let mut exit_code = 0;
        for listed in &list.0 {
            let failed = listed.result.as_ref().map(|it| watch.failed(it)).unwrap_or_default();
            if !failed.is_empty() {
                exit_code = FOUND;
                messages.push(format!("{}: found {} (--fail-on)", listed.key(), failed.join(", ")));
            }
        }
        if let Some(path) = &args.save {
            messages.extend(save_all(path, &passes)?);
        }
        let errors = passes.iter().filter_map(|listed| {
            let e = match &listed.result {
                Ok(pass) => unanswered(pass)?,
                Err(e) => e.clone(),
            };
            let message = format!("{}: {}", listed.key(), e.message);
            Some(Error { message, bare: false, ..e })
        });
        Ok(Answer { text, messages, errors: errors.collect(), exit_code, ..Answer::default() })
    }
}

/// What there is to explain, and the namespace that was looked in where it is one.
pub(super) struct Inputs {
    inputs: Vec<Listed<Input>>,
    namespace: Option<String>,
    /// The rights that lists lacked.
    refused: Vec<MissingRight>,
}

/// Writes everything that was used. What could not be explained is not in it, and the messages say
/// so.
fn save_all(path: &str, passes: &[Listed<Pass>]) -> Result<Vec<String>, Error> {
    let explained = passes.iter().filter_map(|it| it.result.as_ref().ok());
    let inputs: Vec<&Input> = explained.map(|pass| &pass.input).collect();
    if inputs.is_empty() {
        return Ok(vec![format!("Warning: nothing to save to {path}")]);
    }
    write_saved(path, &Saved::of(&inputs, &[])?)?;
    let missing = passes.iter().filter(|listed| listed.result.is_err());
    Ok(missing.map(|it| format!("Warning: {} was not saved to {path}", it.key())).collect())
}
