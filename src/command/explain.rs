//! `explain`: read the objects or ask the cluster, run one pass, word it.

use std::fs;

use jiff::Timestamp;

use super::{Answer, Terminal};
use crate::args::{ControllerArgs, Explain, Output};
use crate::cluster::fetch::fetch;
use crate::cluster::{Environment, connect};
use crate::engine;
use crate::error::Error;
use crate::memory::Remembered;
use crate::render::{page, structured};
use crate::report::Explanation;
use crate::report::page::Page;
use crate::snapshot::assemble::{Input, Options, assemble};
use crate::snapshot::objects::Flags;
use crate::snapshot::{file, live, save};

/// Explains the HPA; the text is for standard output.
pub fn run(args: &Explain, terminal: &Terminal) -> Result<Answer, Error> {
    let (input, messages) = if args.filenames.is_empty() {
        live(args)?
    } else {
        let objects = file::read(&args.filenames)?;
        (assemble(objects, &options(args), Timestamp::now())?, Vec::new())
    };
    let remembered = Remembered::of(&input);
    let decision = engine::reconcile(&input.snapshot, &remembered.likely);
    let extremes = engine::at_bounds(&input.snapshot, &remembered, &decision);
    let explanation = Explanation::new(&input, &remembered, &decision, &extremes);
    let text = match args.output {
        Some(Output::Json) => structured::json(&explanation)?,
        Some(Output::Yaml) => structured::yaml(&explanation)?,
        wide => {
            let wide = wide == Some(Output::Wide);
            let page = Page::new(&explanation, wide, terminal.symbols());
            page::page(&page, &terminal.layout())
        }
    };
    if let Some(path) = &args.save {
        let saved = save::to_json(&input.snapshot, input.stated_memory.as_ref())?;
        fs::write(path, saved)
            .map_err(|e| Error::failed(format!("failed to write {path}: {e}")))?;
    }
    Ok(Answer { text, messages })
}

/// Asks the cluster; with what there is to say about it on standard error.
fn live(args: &Explain) -> Result<(Input, Vec<String>), Error> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| Error::failed(format!("failed to start: {e}")))?;
    runtime.block_on(async {
        let session = connect(&args.connection, &Environment::of_process(false)).await?;
        let observed = fetch(&session, session.namespace(), bare_name(&args.name)).await?;
        let warnings = session.warnings();
        if args.connection.warnings_as_errors == Some(true) && !warnings.is_empty() {
            let (count, s) = (warnings.len(), if warnings.len() == 1 { "" } else { "s" });
            let warned = warnings.join("; ");
            return Err(Error::failed(format!("{count} warning{s} received: {warned}")));
        }
        let warned = session.notices().iter().chain(&warnings);
        let mut messages: Vec<String> = warned.map(|text| format!("Warning: {text}")).collect();
        if args.connection.verbosity > 0 {
            messages.extend(session.notes());
        }
        Ok((live::input(observed, &options(args))?, messages))
    })
}

fn options(args: &Explain) -> Options {
    let ControllerArgs {
        now,
        tolerance,
        downscale_stabilization,
        cpu_initialization_period,
        initial_readiness_delay,
        sync_period,
        ref feature_gates,
    } = args.controller;
    Options {
        name: bare_name(&args.name).to_owned(),
        namespace: args.connection.namespace.clone(),
        now,
        flags: Flags {
            tolerance,
            downscale_stabilization,
            cpu_initialization_period,
            initial_readiness_delay,
            sync_period,
        },
        gates: feature_gates.iter().cloned().collect(),
    }
}

/// The name of an HPA that may be typed as kubectl takes it: `web`, `hpa/web`,
/// `horizontalpodautoscalers.autoscaling/web`.
fn bare_name(typed: &str) -> &str {
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
