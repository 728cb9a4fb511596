//! What `predict` is asked: an HPA, and what is to be taken for otherwise. The values are read in
//! [`crate::whatif`], which knows what they can be.

use clap::{ArgGroup, Args, ValueEnum};
use jiff::SignedDuration;

use super::{ConnectionFlags, ControllerArgs, ExpectArgs, MemoryArgs, duration};

/// `predict`.
#[derive(Debug, Args)]
#[command(after_help = "\
VALUE is a share of the request (80%), an amount (250m, 512Mi), a change of what was observed
(+20%, -10%, x2), or missing: then the metric cannot be read. It is what is used, as the metrics
APIs report it; the target is --target. (With `kubectl autoscale`, --cpu is the target.)
Where the target is a utilization, an amount has a unit: 80 cores are 80000m.

Examples:
  # what if the pods used 80 % of the CPU that they request
  kubectl hpa predict web --cpu 80%

  # twice the load, and half of the pods not ready yet
  kubectl hpa predict web --cpu x2 --unready 2

  # a queue of 300 messages, with another maximum
  kubectl hpa predict worker --metric queue_depth=300 --max 30

  # the next ten minutes with this load; and with that of a table of times and values
  kubectl hpa predict web --for 10m --cpu 160%
  kubectl hpa predict web --trace load.csv

  # fail a pipeline where it would be limited, or go beyond 20
  kubectl hpa predict web -f state.yaml --cpu 90% --expect 'desired <= 20' --fail-on limited

  # at which CPU it adds, removes, or meets its bounds, as a chart
  kubectl hpa predict web --curve cpu
  kubectl hpa predict web --curve cpu -o svg > cpu.svg

  # review a change of the HPA against the live metrics
  kubectl hpa predict web --hpa web.yaml

  # the same of a saved state; no cluster is needed
  kubectl hpa predict web -f state.yaml --set behavior.scaleDown.stabilizationWindowSeconds=60")]
pub struct Predict {
    /// The HorizontalPodAutoscaler, as NAME or hpa/NAME
    pub name: String,

    /// Saved objects instead of a cluster: a file, a folder, or - for standard input; repeatable
    #[arg(short = 'f', long = "filename", value_name = "FILE", conflicts_with = "observe")]
    pub filenames: Vec<String>,

    /// The form of the answer; without it, a report for people
    #[arg(short = 'o', long, value_enum, value_name = "FORMAT")]
    pub output: Option<PredictOutput>,

    /// Draw the replicas over the values of a metric, such as cpu, app=cpu for a container, or
    /// 'queue_depth{queue=a}'
    #[arg(long, value_name = "[CONTAINER=]METRIC")]
    pub curve: Option<String>,

    /// Also write everything that was read to this file, without what is assumed, to be read again
    /// with -f; not to - (standard output has the answer), nor to a file that is read
    #[arg(long, value_name = "FILE")]
    pub save: Option<String>,

    #[command(flatten)]
    /// What is otherwise.
    pub overrides: Overrides,

    #[command(flatten)]
    /// What follows.
    pub timeline: TimelineArgs,

    #[command(flatten)]
    /// What is expected of the answer.
    pub expect: ExpectArgs,

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

/// The forms of the answer of `predict`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PredictOutput {
    /// The report with every pod
    Wide,
    /// For a comment on a change, in GitHub's Markdown
    Markdown,
    /// The published contract as JSON
    Json,
    /// The published contract as YAML
    Yaml,
    /// The chart alone, of --curve or --for
    Svg,
}

/// What is to be played after the pass.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "As time goes on")]
#[command(group(ArgGroup::new("played").args(["span", "trace"]).multiple(true)))]
pub struct TimelineArgs {
    /// Play pass after pass for this long (default: to the end of the trace, and on until the
    /// replicas settle). The load stays as it is: what the pods use together is shared evenly by
    /// those that are ready
    #[arg(long = "for", value_name = "DURATION", value_parser = duration)]
    #[arg(allow_hyphen_values = true)]
    pub span: Option<SignedDuration>,

    /// The load over time, - for standard input: CSV with a column "time" (30s, 1m30s, 90 or
    /// 2026-11-21T06:00:00Z) and one for each metric, by its name. An amount is that of all pods
    /// together; a share, what the pods there are use of their requests, so that more pods use less;
    /// a change is one of what there is at the start. A value holds until the next
    #[arg(long, value_name = "FILE")]
    pub trace: Option<String>,

    /// How long after its creation a new pod is ready
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "10s")]
    #[arg(requires = "played", allow_hyphen_values = true)]
    pub ready_after: SignedDuration,

    /// How long after its creation a new pod has metrics
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "30s")]
    #[arg(requires = "played", allow_hyphen_values = true)]
    pub metrics_after: SignedDuration,
}

/// What is to be taken for otherwise, as it was typed.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "What if")]
pub struct Overrides {
    /// The CPU that the pods use, or one container in each; repeatable
    #[arg(long, value_name = "[CONTAINER=]VALUE", allow_hyphen_values = true)]
    pub cpu: Vec<String>,

    /// The memory that the pods use, or one container in each; repeatable
    #[arg(long, value_name = "[CONTAINER=]VALUE", allow_hyphen_values = true)]
    pub memory: Vec<String>,

    /// What a metric says: for each pod, or in all for Object and External metrics (there also where
    /// the target is an average); repeatable
    #[arg(long = "metric", value_name = "NAME[{SELECTOR}]=VALUE", allow_hyphen_values = true)]
    pub metrics: Vec<String>,

    /// What a metric says of one pod, such as web-1:cpu=300m; repeatable
    #[arg(long = "pod", value_name = "POD:METRIC=VALUE")]
    pub pods: Vec<String>,

    /// Current replicas, or a change of them such as +2; added pods get the average usage of the
    /// counted ones
    #[arg(long, value_name = "N|+N|-N", allow_hyphen_values = true)]
    pub replicas: Option<String>,

    /// So many pods, or the pod of this name, are not ready and never were; repeatable
    #[arg(long, value_name = "N|POD", allow_negative_numbers = true)]
    pub unready: Vec<String>,

    /// So many pods, or the pod of this name, have no metrics; repeatable
    #[arg(long, value_name = "N|POD", allow_negative_numbers = true)]
    pub missing: Vec<String>,

    /// So many pods, or the pod of this name, do not run yet; repeatable
    #[arg(long, value_name = "N|POD", allow_negative_numbers = true)]
    pub pending: Vec<String>,

    /// The lower bound, spec.minReplicas
    #[arg(long, value_name = "N", value_parser = bound, allow_negative_numbers = true)]
    pub min: Option<i32>,

    /// The upper bound, spec.maxReplicas
    #[arg(long, value_name = "N", value_parser = bound, allow_negative_numbers = true)]
    pub max: Option<i32>,

    /// The target of a metric, such as cpu=70% or queue_depth=30; repeatable
    #[arg(long = "target", value_name = "METRIC=VALUE")]
    pub targets: Vec<String>,

    /// A field of the spec, such as behavior.scaleDown.stabilizationWindowSeconds=60; null unsets it;
    /// repeatable
    #[arg(long = "set", value_name = "PATH=VALUE")]
    pub fields: Vec<String>,

    /// Replace the HPA with this manifest, - for standard input
    #[arg(long, value_name = "FILE")]
    pub hpa: Option<String>,

    /// What to do about fields of that manifest which its version does not have: strict (or true)
    /// refuses them, warn ignores them with a note, ignore (or false) ignores them
    #[arg(long, value_enum, value_name = "HOW", default_value_t, hide_possible_values = true)]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "strict")]
    #[arg(requires = "hpa")]
    pub validate: Validate,
}

/// How strict the fields of a manifest are, as kubectl's `--validate` has it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Validate {
    /// An unknown field is an error
    #[default]
    #[value(alias = "true")]
    Strict,
    /// An unknown field is noted
    Warn,
    /// An unknown field is ignored
    #[value(alias = "false")]
    Ignore,
}

/// A bound of the spec, which is not taken for a change of it.
fn bound(text: &str) -> Result<i32, String> {
    if text.starts_with('+') {
        return Err("a bound is not stated as a change: type the new number".to_owned());
    }
    text.parse().map_err(|e: std::num::ParseIntError| e.to_string())
}
