//! `explain`: read the objects or ask the cluster, run one pass, word it.

use jiff::Timestamp;

use super::remember::{look_further, remember, watch};
use super::{Answer, Terminal, check_save, connected, list, write_saved};
use crate::args::{ConnectionFlags, ControllerArgs, Explain, MemoryArgs, Output};
use crate::cluster::Session;
use crate::cluster::fetch::fetch;
use crate::cluster::observed;
use crate::cluster::observed::ScaleAt;
use crate::engine;
use crate::engine::decision::{Decision, UnreadMetric};
use crate::error::Error;
use crate::memory::Remembered;
use crate::memory::states::{self, Chain};
use crate::outlook::{Extreme, Outlook};
use crate::render::markdown::markdown;
use crate::render::{page, structured};
use crate::report::Explanation;
use crate::report::page::Page;
use crate::saved::assemble::{assemble, save_command};
use crate::saved::file;
use crate::saved::save::Saved;
use crate::snapshot::input::{Input, Options};
use crate::snapshot::note::Note;
use crate::snapshot::{Snapshot, Unread};
use crate::version::Version;
use crate::whatif::expect::Facts;
use crate::whatif::overrides::Assumptions;

/// Explains the HPA, or all that are asked for; the text is for standard output.
pub fn run(args: &Explain, terminal: &Terminal) -> Result<Answer, Error> {
    let filenames = args.filenames.iter().map(|input| ("-f", input));
    let history = args.memory.history.iter().map(|input| ("--history", input));
    check_save(args.save.as_deref(), filenames.chain(history))?;
    let Some(name) = &args.name else {
        return list::run(args, terminal);
    };
    if args.all_namespaces {
        return Err(Error::usage("a resource cannot be retrieved by name across all namespaces"));
    }
    if args.selector.is_some() {
        return Err(Error::usage("name cannot be provided when a selector is specified"));
    }
    let options = Options { name: hpa_name(name)?, ..options(&args.controller, &args.connection) };
    let source = Source {
        filenames: &args.filenames,
        memory: &args.memory,
        connection: &args.connection,
        assumptions: None,
    };
    let (input, messages) = source.input(&options, terminal)?;
    let pass = Pass::run(input);
    let explanation = pass.explanation();
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
    let unanswered = pass.unanswered();
    let exit_code = unanswered.as_ref().map_or(0, |e| e.kind.exit_code());
    Ok(Answer {
        text,
        messages,
        errors: Vec::from_iter(unanswered),
        exit_code,
        ..Answer::default()
    })
}

/// Where the state of one HPA comes from.
pub(super) struct Source<'a> {
    pub(super) filenames: &'a [String],
    pub(super) memory: &'a MemoryArgs,
    pub(super) connection: &'a ConnectionFlags,
    /// What the answer is given under.
    pub(super) assumptions: Option<&'a Assumptions>,
}

impl Source<'_> {
    /// Reads the files or asks the cluster; with what there is to say about it on standard error.
    pub(super) fn input(
        &self,
        options: &Options,
        terminal: &Terminal,
    ) -> Result<(Input, Vec<String>), Error> {
        if !self.filenames.is_empty() {
            let mut input = assemble(file::read(self.filenames)?, options, Timestamp::now())?;
            remember(self.memory, &mut input)?;
            return Ok((input, Vec::new()));
        }
        connected(self.connection, async |session| {
            Ok(ask(session, self.memory, options, self.assumptions, terminal).await?.input)
        })
    }
}

/// What a cluster says of an HPA.
pub(super) struct Asked {
    pub(super) input: Input,
    /// Where the scale was read.
    pub(super) scale_at: Option<ScaleAt>,
}

/// Asks a cluster for everything about one HPA.
pub(super) async fn ask(
    session: &Session,
    memory: &MemoryArgs,
    options: &Options,
    assumptions: Option<&Assumptions>,
    terminal: &Terminal,
) -> Result<Asked, Error> {
    let states = watch(memory, session, &options.name, terminal).await?;
    let mut observed = fetch(session, session.namespace(), &options.name, &options.also).await?;
    let scale_at = observed.scale_at.take();
    let mut input = observed::input(observed, options)?;
    let Snapshot { hpa, controller, .. } = &input.snapshot;
    input.evidence.seen = states::seen(hpa, controller, &states, &[], Chain::Glimpses);
    remember(memory, &mut input)?;
    look_further(session, &mut input, scale_at.as_ref(), assumptions).await;
    Ok(Asked { input, scale_at })
}

/// A pass that was run, with what it ran on.
#[derive(Debug)]
pub(super) struct Pass {
    pub(super) input: Input,
    pub(super) remembered: Remembered,
    pub(super) decision: Decision,
    pub(super) outlook: Outlook,
    /// The pass at the time of the newest sample, where that may be the right one.
    pub(super) elsewhen: Option<Box<Self>>,
}

impl Pass {
    pub(super) fn run(input: Input) -> Self {
        let remembered = Remembered::of(&input);
        Self::with(input, remembered)
    }

    pub(super) fn with(mut input: Input, remembered: Remembered) -> Self {
        let decision = engine::reconcile(&input.snapshot, &remembered.likely);
        let mut outlook = Outlook::new(&input.snapshot, &remembered, &decision);
        let time = input.clock_doubt.and_then(|doubt| doubt.alternative());
        let elsewhen = time.map(|time| Self::at(time, &input));
        if let Some(Self { decision, outlook: other, .. }) = &elsewhen {
            let replicas = decision.replicas_after();
            let likely = replicas.map(|it| Extreme { replicas: it, steps: decision.trace.clone() });
            outlook.extremes.extend(other.extremes.iter().cloned().chain(likely));
        }
        let newest = Version::newest();
        if input.snapshot.controller.version.minor() < newest.minor() {
            let newer = engine::reconcile_in(&newest, &input.snapshot, &remembered.likely);
            let replicas = newer.replicas_after();
            let replicas = replicas.filter(|_| replicas != decision.replicas_after());
            let differ = |replicas| Note::NewerRulesDiffer { version: newest, replicas };
            input.notes.extend(replicas.map(differ));
        }
        Self { input, remembered, decision, outlook, elsewhen: elsewhen.map(Box::new) }
    }

    /// The same pass at another time, about which there is no doubt.
    fn at(time: Timestamp, input: &Input) -> Self {
        let mut input = input.clone();
        input.snapshot.now = time;
        input.clock_doubt = None;
        Self::run(input)
    }

    /// Why there is no answer, where what decides is not known here.
    pub(super) fn unanswered(&self) -> Option<Error> {
        let Decision { outcome, .. } = &self.decision;
        let hpa = &self.input.snapshot.hpa;
        let lacking =
            outcome.lacking(&hpa.spec).filter(|_| self.outlook.is_unanswered(&self.decision))?;
        let message = format!("no answer: {lacking}");
        let missing = |unread: &UnreadMetric| matches!(unread.why, Unread::Missing { .. });
        Some(match outcome.unread.iter().any(missing) {
            true => Error::usage(message).hint(save_command(hpa)),
            false => Error::failed(message),
        })
    }

    /// Asks something of the facts, which are those of both times where the clock is in doubt.
    pub(super) fn with_facts<T>(&self, ask: impl FnOnce(&Facts<'_>) -> T) -> T {
        let Some(elsewhen) = &self.elsewhen else { return ask(&self.facts()) };
        let other = elsewhen.facts();
        ask(&self.facts().or(&other))
    }

    fn facts(&self) -> Facts<'_> {
        Facts::new(&self.input.snapshot, &self.remembered, &self.decision, &self.outlook)
    }

    pub(super) fn explanation(&self) -> Explanation<'_> {
        Explanation::new(&self.input, &self.remembered, &self.decision, &self.outlook)
    }
}

/// What the command line says beside the objects, the HPA's name aside.
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
