//! The arguments of `apply`: an HPA, and how to write the decision.

use std::time::Duration;

use clap::builder::NonEmptyStringValueParser;
use clap::{Arg, Args, ValueEnum};
use jiff::SignedDuration;

use super::connection::CONNECTION;
use super::{ConnectionFlags, ControllerArgs, MemoryArgs, PrometheusArgs, whole};
use crate::numbers::{NoDuration, parse_duration};

/// `apply`.
#[derive(Debug, Args)]
#[command(override_usage = "kubectl hpa apply [OPTIONS] <[TYPE] NAME | TYPE/NAME>")]
// `apply` reads no files and works on the current state; --now is accepted only to explain that.
#[command(mut_arg("now", |arg| arg.hide(true)))]
#[command(mut_arg("namespace", |arg| arg.help("Namespace of the HPA")))]
#[command(mut_args(without_files))]
#[command(after_help = "\
Examples:
  # Show what would be written, ask for confirmation, and write it
  kubectl hpa apply web -n shop

  # Write without asking, and wait until the replicas are ready
  kubectl hpa apply web -n shop --yes --wait=2m

  # Only show what would be written, or have the server check it
  kubectl hpa apply web -n shop --dry-run=client
  kubectl hpa apply web -n shop --dry-run=server

  # Write only if there are 4 replicas; retry if HPA or target change
  kubectl hpa apply web -n shop --yes --current-replicas=4 --retry=3

  # While no controller runs, also write the status and send the event
  kubectl hpa apply web -n shop --yes --write-status --event")]
pub struct Apply {
    /// The HPA, as NAME or NAMESPACE/NAME, or its target, as TYPE/NAME or TYPE NAME (deploy/web)
    #[arg(value_name = "NAME", required = true)]
    pub names: Vec<String>,

    /// Output format; the default is the plan and its result
    #[arg(short = 'o', long, value_enum, value_name = "FORMAT")]
    pub output: Option<ApplyOutput>,

    #[command(flatten)]
    /// The options for writing the decision.
    pub how: How,

    #[command(flatten)]
    /// The controller's history.
    pub memory: MemoryArgs,

    #[command(flatten)]
    /// A history of the passes before now.
    pub prometheus: PrometheusArgs,

    #[command(flatten)]
    /// The controller's settings.
    pub controller: ControllerArgs,

    #[command(flatten)]
    /// How to reach the API server.
    pub connection: ConnectionFlags,
}

/// The options for writing the decision.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Writing")]
pub struct How {
    /// Write without asking for confirmation; required unless stdin and stderr are terminals
    #[arg(short = 'y', long)]
    pub yes: bool,

    /// client: only show what would be sent; server: submit it to the API server without persisting
    /// it
    #[arg(long, value_enum, default_value_t, value_name = "none|client|server")]
    #[arg(hide_possible_values = true, hide_default_value = true)]
    pub dry_run: DryRun,

    /// Write only if the target has this many replicas
    #[arg(long, value_name = "N", value_parser = whole::<i32>, allow_negative_numbers = true)]
    pub current_replicas: Option<i32>,

    /// Write only if the target has this resourceVersion
    #[arg(long, value_name = "VERSION", value_parser = NonEmptyStringValueParser::new())]
    pub resource_version: Option<String>,

    /// Retry up to N times if the HPA or its target changes before the write
    #[arg(long, value_name = "N", value_parser = whole::<u32>, allow_negative_numbers = true)]
    #[arg(default_value_t = 0, hide_default_value = true)]
    pub retry: u32,

    /// Ignore past recommendations; rate limits and bounds still apply
    #[arg(long)]
    pub ignore_stabilization: bool,

    /// Write even if the answer is not certain; the output says what is uncertain
    #[arg(long)]
    pub force_uncertain: bool,

    /// Also write the status of the HPA; nothing is written if a controller manager may hold the lease
    #[arg(long)]
    pub write_status: bool,

    /// With --write-status: write it even if a controller manager holds the lease or might hold it
    #[arg(long, requires = "write_status")]
    pub force_write_status: bool,

    /// Also send the controller's event about the HPA, with kubectl-hpa as its source
    #[arg(long)]
    pub event: bool,

    /// Wait until the replicas are ready or something else rescales the target (default 5m)
    #[arg(long, value_name = "TIMEOUT", value_parser = timeout)]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "5m")]
    pub wait: Option<Duration>,
}

/// Whether a write takes effect.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum DryRun {
    /// Write
    #[default]
    None,
    /// Send nothing
    Client,
    /// Submit the request without persisting it
    Server,
}

/// The output formats of `apply`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ApplyOutput {
    /// The name of the target if it is scaled, such as deployment.apps/web
    Name,
    /// JSON with a published schema
    Json,
    /// YAML with a published schema
    Yaml,
}

fn without_files(arg: Arg) -> Arg {
    match arg.get_help_heading() {
        Some(CONNECTION) => arg.help_heading("Connection (as in kubectl)"),
        _ => arg,
    }
}

fn timeout(text: &str) -> Result<Duration, NoDuration> {
    parse_duration(text).map(SignedDuration::unsigned_abs)
}
