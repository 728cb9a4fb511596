//! `predict`: what `explain` would say if something were otherwise.

use jiff::Timestamp;

use super::explain::{Pass, bare_name, options};
use super::remember::{look_further, remember, watch};
use super::{Answer, Terminal, connected};
use crate::args::{Output, Predict};
use crate::cluster::fetch::fetch;
use crate::error::Error;
use crate::memory::infer::{self, Chain};
use crate::render::{page, structured};
use crate::report::page::Page;
use crate::report::prediction::Prediction;
use crate::snapshot::assemble::{Options, assemble};
use crate::snapshot::{file, live};
use crate::whatif::overrides::{Assumptions, Candidate};

/// Predicts what one HPA does; the text is for standard output.
pub fn run(args: &Predict, terminal: &Terminal) -> Result<Answer, Error> {
    let mut assumptions = Assumptions::read(&args.overrides)?;
    let name = bare_name(&args.name).to_owned();
    let mut options = Options { name, ..options(&args.controller, &args.connection) };
    if let Some(path) = &args.overrides.hpa {
        if path == "-" && args.filenames.iter().any(|file| file == "-") {
            return Err(Error::usage("standard input can be read once: -f - or --hpa -"));
        }
        let candidate =
            Candidate::find(&file::read(std::slice::from_ref(path))?, &options.name, path)?;
        options.also = candidate.metrics().to_vec();
        assumptions.replace_hpa(candidate);
    }
    let (input, messages) = if args.filenames.is_empty() {
        connected(&args.connection, async |session| {
            let states = watch(&args.memory, session, &options.name, terminal).await?;
            let observed =
                fetch(session, session.namespace(), &options.name, &options.also).await?;
            let mut input = live::input(observed, &options)?;
            input.evidence.seen = infer::seen(&states, Chain::Glimpses);
            remember(&args.memory, &mut input)?;
            look_further(session, &mut input).await;
            Ok(input)
        })?
    } else {
        let mut input = assemble(file::read(&args.filenames)?, &options, Timestamp::now())?;
        remember(&args.memory, &mut input)?;
        (input, Vec::new())
    };
    let observed = Pass::run(input);
    let (input, overrides) = assumptions.apply(observed.input.clone(), &observed.decision)?;
    let assumed = Pass::run(input);
    let prediction = Prediction::new(assumed.explanation(), overrides, &observed.explanation());
    let text = match args.output {
        Some(Output::Json) => structured::json(&prediction)?,
        Some(Output::Yaml) => structured::yaml(&prediction)?,
        wide => {
            let wide = wide == Some(Output::Wide);
            let page = Page::of_prediction(&prediction, wide, terminal.symbols());
            page::page(&page, &terminal.layout())
        }
    };
    Ok(Answer { text, messages, errors: Vec::new() })
}
