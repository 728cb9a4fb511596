//! What `apply` is asked: an HPA, and how its pass is to be written.

use std::time::Duration;

use clap::builder::NonEmptyStringValueParser;
use clap::{Arg, Args, ValueEnum};
use jiff::SignedDuration;

use super::connection::CONNECTION;
use super::{ConnectionFlags, ControllerArgs, MemoryArgs};

/// `apply`.
#[derive(Debug, Args)]
// It takes no files and works on the present; who states a time is told so.
#[command(mut_arg("now", |arg| arg.hide(true)))]
#[command(mut_arg("namespace", |arg| arg.help("The namespace")))]
#[command(mut_args(without_files))]
#[command(after_help = "\
Examples:
  # show what the pass would write, ask, and write it
  kubectl hpa apply web -n shop

  # write it without a question, and wait until the replicas are ready
  kubectl hpa apply web -n shop --yes --wait=2m

  # only show it; let the API server and its webhooks judge it
  kubectl hpa apply web -n shop --dry-run=client
  kubectl hpa apply web -n shop --dry-run=server

  # only if there are 4 replicas, starting over where HPA or target move meanwhile
  kubectl hpa apply web -n shop --yes --current-replicas=4 --retry=3

  # while no controller runs: write the status and send the event as well
  kubectl hpa apply web -n shop --yes --write-status --event")]
pub struct Apply {
    /// The HorizontalPodAutoscaler, as NAME or hpa/NAME
    pub name: String,

    /// The form of the answer; without it, the plan and what came of it
    #[arg(short = 'o', long, value_enum, value_name = "FORMAT")]
    pub output: Option<ApplyOutput>,

    #[command(flatten)]
    /// How it is written.
    pub how: How,

    #[command(flatten)]
    /// What the controller remembers.
    pub memory: MemoryArgs,

    #[command(flatten)]
    /// The controller's settings.
    pub controller: ControllerArgs,

    #[command(flatten)]
    /// How to reach the API server.
    pub connection: ConnectionFlags,
}

/// How a pass is written.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Writing")]
pub struct How {
    /// Write without asking; needed where nobody can be asked
    #[arg(short = 'y', long)]
    pub yes: bool,

    /// client: send nothing; server: let the API server judge it without keeping it
    #[arg(long, value_enum, default_value_t, value_name = "none|client|server")]
    #[arg(hide_possible_values = true, hide_default_value = true)]
    pub dry_run: DryRun,

    /// Only if the target has so many replicas
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i32).range(0..))]
    pub current_replicas: Option<i32>,

    /// Only if the target has this resourceVersion
    #[arg(long, value_name = "VERSION", value_parser = NonEmptyStringValueParser::new())]
    pub resource_version: Option<String>,

    /// Start over so often where the HPA or its target has moved between reading and writing
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub retry: u32,

    /// Take no past recommendation into account; rate limits and bounds hold
    #[arg(long)]
    pub ignore_stabilization: bool,

    /// Write an answer that is not certain, too; what is uncertain is named
    #[arg(long)]
    pub force_uncertain: bool,

    /// Also write the status of the HPA, where no controller manager holds its lease
    #[arg(long)]
    pub write_status: bool,

    /// Write the status also where a controller manager holds its lease, or may
    #[arg(long, requires = "write_status")]
    pub force_write_status: bool,

    /// Also send the controller's event about the HPA, from kubectl-hpa
    #[arg(long)]
    pub event: bool,

    /// Wait until the replicas are ready, or somebody else changes their count (default 5m)
    #[arg(long, value_name = "TIMEOUT", value_parser = timeout)]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "5m")]
    pub wait: Option<Duration>,
}

/// What is kept of a write.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum DryRun {
    /// It is written
    #[default]
    None,
    /// Nothing is sent
    Client,
    /// The API server says what it would do
    Server,
}

/// The forms of what `apply` did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ApplyOutput {
    /// The target, as in deployment.apps/web
    Name,
    /// The published contract as JSON
    Json,
    /// The published contract as YAML
    Yaml,
}

fn without_files(arg: Arg) -> Arg {
    match arg.get_help_heading() {
        Some(CONNECTION) => arg.help_heading("Connection (as in kubectl)"),
        _ => arg,
    }
}

fn timeout(text: &str) -> Result<Duration, String> {
    super::duration(text).map(SignedDuration::unsigned_abs)
}
