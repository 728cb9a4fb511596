//! `explain`: read the objects or ask the cluster, run one pass, word it.

use jiff::Timestamp;

use super::remember::{learn, open_question, remember, watch};
use super::{Answer, Terminal, check_save, connected, write_saved};
use crate::args::{ConnectionFlags, ControllerArgs, Explain, MemoryArgs, Output};
use crate::cluster::Session;
use crate::cluster::fetch::fetch;
use crate::cluster::observed;
use crate::cluster::observed::ScaleAt;
use crate::engine::decision::{Outcome, UnreadMetric};
use crate::error::Error;
use crate::findings::{Code, Watched};
use crate::memory::states::{self, Chain};
use crate::pass::Pass;
use crate::render::markdown::markdown;
use crate::render::{page, structured};
use crate::report::Explanation;
use crate::report::page::Page;
use crate::saved::assemble::{assemble, save_command};
use crate::saved::file;
use crate::saved::save::Saved;
use crate::snapshot::input::Options;
use crate::snapshot::{Snapshot, Unread};
use crate::whatif::overrides::Assumptions;

/// Makes sure that what is saved is nothing that is read.
pub(super) fn check_files(args: &Explain) -> Result<(), Error> {
    let filenames = args.filenames.iter().map(|input| ("-f", input));
    let history = args.memory.history.iter().map(|input| ("--history", input));
    check_save(args.save.as_deref(), filenames.chain(history))
}

/// Explains the HPA of this name; the text is for standard output.
pub(super) fn run(name: &str, args: &Explain, terminal: &Terminal) -> Result<Answer, Error> {
    check_files(args)?;
    if args.all_namespaces {
        return Err(Error::usage("a resource cannot be retrieved by name across all namespaces"));
    }
    if args.selector.is_some() {
        return Err(Error::usage("name cannot be provided when a selector is specified"));
    }
    let options = Options { name: hpa_name(name)?, ..options(&args.controller, &args.connection) };
    let source = StateSource {
        filenames: &args.filenames,
        memory: &args.memory,
        connection: &args.connection,
        assumptions: None,
    };
    let watch = FindingsWatch::read(&args.fail_on, &args.ignore)?;
    let (pass, mut messages) = source.pass(&options, terminal)?;
    let explanation = Explanation::new(&pass).ignoring(&watch.ignored);
    let text = match args.output {
        Some(Output::Json) => structured::json(&explanation)?,
        Some(Output::Yaml) => structured::yaml(&explanation)?,
        Some(Output::Markdown) => markdown(&Page::new(&explanation, false, terminal.symbols())),
        wide => {
            let wide = wide == Some(Output::Wide);
            let page = Page::new(&explanation, wide, terminal.symbols());
            page::page(&page, &terminal.layout())
        }
    };
    if let Some(path) = &args.save {
        write_saved(path, &Saved::of(&[&pass.input], &[])?)?;
    }
    let unanswered = unanswered(&pass);
    let failed = watch.failed(&explanation);
    messages.extend(failed.iter().map(|watched| format!("found {watched} (--fail-on)")));
    let exit_code = match &unanswered {
        Some(e) => e.kind.exit_code(),
        None if !failed.is_empty() => FOUND,
        None => 0,
    };
    Ok(Answer {
        text,
        messages,
        errors: Vec::from_iter(unanswered),
        exit_code,
        ..Answer::default()
    })
}

/// The exit code if what `--fail-on` names is found.
pub(super) const FOUND: u8 = 3;

/// What is asked about findings.
pub(super) struct FindingsWatch {
    pub(super) fail_on: Vec<Watched>,
    pub(super) ignored: Vec<Code>,
}

impl FindingsWatch {
    /// Reads `--fail-on` and `--ignore`.
    pub(super) fn read(fail_on: &[String], ignore: &[String]) -> Result<Self, Error> {
        let fail_on = fail_on.iter().map(|text| Watched::read(text));
        let ignored = ignore.iter().map(|text| Code::read(text));
        Ok(Self {
            fail_on: fail_on.collect::<Result<_, _>>()?,
            ignored: ignored.collect::<Result<_, _>>()?,
        })
    }

    /// What is found of `--fail-on`.
    pub(super) fn failed(&self, explanation: &Explanation<'_>) -> Vec<&'static str> {
        let found = self.fail_on.iter().filter(|watched| explanation.has(**watched));
        found.map(|watched| watched.as_str()).collect()
    }
}

/// Where the state of one HPA comes from.
pub(super) struct StateSource<'a> {
    pub(super) filenames: &'a [String],
    pub(super) memory: &'a MemoryArgs,
    pub(super) connection: &'a ConnectionFlags,
    /// What the answer is given under.
    pub(super) assumptions: Option<&'a Assumptions>,
}

impl StateSource<'_> {
    /// Runs a pass over the files, or over what the cluster answers; with messages for standard error.
    pub(super) fn pass(
        &self,
        options: &Options,
        terminal: &Terminal,
    ) -> Result<(Pass, Vec<String>), Error> {
        if !self.filenames.is_empty() {
            let mut input = assemble(file::read(self.filenames)?, options, Timestamp::now())?;
            remember(self.memory, &mut input)?;
            return Ok((Pass::run(input), Vec::new()));
        }
        connected(self.connection, async |session| {
            Ok(ask(session, self.memory, options, self.assumptions, terminal).await?.pass)
        })
    }
}

/// A pass over what a cluster answers.
pub(super) struct Live {
    pub(super) pass: Pass,
    /// Where the scale was read.
    pub(super) scale_at: Option<ScaleAt>,
}

/// Asks a cluster for everything about one HPA: first what every pass needs, then, pass after pass, what
/// the answer turns out to depend on.
pub(super) async fn ask(
    session: &Session,
    memory: &MemoryArgs,
    options: &Options,
    assumptions: Option<&Assumptions>,
    terminal: &Terminal,
) -> Result<Live, Error> {
    let states = watch(memory, session, &options.name, terminal).await?;
    let mut observed = fetch(session, session.namespace(), &options.name, &options.also).await?;
    let scale_at = observed.scale_at.take();
    let mut input = observed::input(observed, options)?;
    let Snapshot { hpa, controller, .. } = &input.snapshot;
    input.evidence.seen = states::seen(hpa, controller, &states, &[], Chain::Glimpses);
    remember(memory, &mut input)?;
    let mut pass = Pass::run(input);
    let mut asked = Vec::new();
    while let Some(question) = open_question(&pass, assumptions, &asked) {
        let mut input = pass.input;
        learn(session, question, &mut input, scale_at.as_ref()).await;
        asked.push(question);
        pass = Pass::run(input);
    }
    Ok(Live { pass, scale_at })
}

/// Why there is no answer, where what decides is not known here.
pub(super) fn unanswered(pass: &Pass) -> Option<Error> {
    let Outcome { unread, .. } = &pass.decision.outcome;
    let hpa = &pass.input.snapshot.hpa;
    let lacking = pass.decision.outcome.lacking(&hpa.spec).filter(|_| pass.is_unanswered())?;
    let message = format!("no answer: {lacking}");
    let missing = |unread: &UnreadMetric| matches!(unread.why, Unread::Missing { .. });
    Some(match unread.iter().any(missing) {
        true => Error::usage(message).hint(save_command(hpa)),
        false => Error::failed(message),
    })
}

/// What the command line says besides the objects, the HPA's name aside.
pub(super) fn options(args: &ControllerArgs, connection: &ConnectionFlags) -> Options {
    Options {
        name: String::new(),
        namespace: connection.namespace.clone(),
        now: args.now,
        version: args.kubernetes_version.clone(),
        flags: args.flags,
        gates: args.feature_gates.iter().cloned().collect(),
        also: Vec::new(),
    }
}

/// The name of the HPA that is asked for. In a path these two would lead to another object; any other
/// name is sought, so that those that there are can be told.
pub(super) fn hpa_name(typed: &str) -> Result<String, Error> {
    match bare_name(typed) {
        name @ ("." | "..") => {
            Err(Error::usage(format!("invalid resource name {name:?}: may not be '{name}'")))
        }
        name => Ok(name.to_owned()),
    }
}

/// The name of an HPA that may be typed as kubectl takes it: `web`, `hpa/web`,
/// `horizontalpodautoscalers.autoscaling/web`.
pub(super) fn bare_name(typed: &str) -> &str {
    match typed.split_once('/') {
        Some((resource, name)) => {
            let resource = resource.split('.').next().unwrap_or(resource);
            match resource {
                "hpa" | "horizontalpodautoscaler" | "horizontalpodautoscalers" => name,
                _ => typed,
            }
        }
        None => typed,
    }
}
