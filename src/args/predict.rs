//! The arguments of `predict`: an HPA, and what to assume. The values are parsed in
//! [`crate::whatif`].

use clap::{ArgGroup, Args, ValueEnum};
use jiff::SignedDuration;

use super::{
    ConnectionFlags, ControllerArgs, ExpectArgs, MemoryArgs, PrometheusArgs, RecordedArgs,
    file_name, whole,
};
use crate::numbers::{duration, parse_duration};

/// `predict`.
#[derive(Debug, Args)]
#[command(override_usage = "kubectl hpa predict [OPTIONS] [[TYPE] NAME | TYPE/NAME]")]
#[command(after_help = "\
VALUE is one of these:
  80%             a percentage of the request
  250m, 512Mi     an amount; if the target is a utilization, it needs a unit
                  (write 80 cores as 80000m)
  +20%, -10%, x2  a change to the observed value
  missing         the metric cannot be read
It is usage, as the metrics APIs report it. To change the target, use --target.
(In `kubectl autoscale`, --cpu sets the target.)

Examples:
  # What if the pods used 80% of the CPU they request?
  kubectl hpa predict web --cpu 80%

  # Twice the load, with two pods not ready yet
  kubectl hpa predict web --cpu x2 --unready 2

  # The same usage with other requests, and the target that fits them
  kubectl hpa predict web --request app=cpu=250m

  # A queue of 300 messages and a different maximum
  kubectl hpa predict worker --metric queue_depth=300 --max 30

  # The next ten minutes with a constant load, or a load from a CSV file
  kubectl hpa predict web --for 10m --cpu 160%
  kubectl hpa predict web --trace load.csv

  # The same request, rolled out ten minutes after the start
  kubectl hpa predict web --for 1h --request app=cpu=250m --at 10m

  # What would a manifest have done with a recorded load, and which
  # settings do best?
  kubectl hpa predict web --trace week.csv --hpa web.yaml
  kubectl hpa predict web --trace week.csv --vary target.cpu=50%..80%:5

  # Last week's load, and what another HPA would have done with it
  kubectl hpa predict web --prometheus monitoring/prometheus:9090 \\
    --hpa web.yaml

  # Fail a pipeline if the HPA would be limited or go above 20 replicas
  kubectl hpa predict web -f state.yaml --cpu 90% \\
    --expect 'desired <= 20' --fail-on limited

  # Draw the replicas over the CPU usage
  kubectl hpa predict web --curve cpu
  kubectl hpa predict web --curve cpu -o svg > cpu.svg

  # Test a change of the HPA against the live metrics
  kubectl hpa predict web --hpa web.yaml

  # Test a chart that changes the HPA and the requests of its target
  helm template web charts/web | kubectl hpa predict web --hpa -

  # Test a change against a saved state; this needs no cluster
  kubectl hpa predict web -f state.yaml \\
    --set behavior.scaleDown.stabilizationWindowSeconds=60")]
pub struct Predict {
    /// The HPA, as NAME or NAMESPACE/NAME, or its target, as TYPE/NAME or TYPE NAME (deploy/web);
    /// may be omitted if there is only one HPA in the input or namespace
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,

    /// Read saved objects instead of a cluster: a file, a directory, or - for stdin; repeatable
    #[arg(
        short = 'f',
        long = "filename",
        value_name = "FILE",
        value_parser = file_name,
        conflicts_with = "observe"
    )]
    pub filenames: Vec<String>,

    /// Output format; the default is a report to read
    #[arg(short = 'o', long, value_enum, value_name = "FORMAT")]
    pub output: Option<PredictOutput>,

    /// Draw the replicas over the values of a metric, such as cpu, app=cpu (of a container) or
    /// 'queue_depth{queue=a}'
    #[arg(long, value_name = "[CONTAINER=]METRIC")]
    pub curve: Option<String>,

    /// Save everything that was read, with the load but without the assumptions, to this file, for use
    /// with -f; it cannot be - or a file that is also read
    #[arg(long, value_name = "FILE", value_parser = file_name)]
    pub save: Option<String>,

    #[command(flatten)]
    /// The assumptions.
    pub overrides: Overrides,

    #[command(flatten)]
    /// The passes after the first.
    pub timeline: TimelineArgs,

    #[command(flatten)]
    /// The Prometheus that recorded a load.
    pub prometheus: PrometheusArgs,

    #[command(flatten)]
    /// The load that was recorded.
    pub recorded: RecordedArgs,

    #[command(flatten)]
    /// The expectations for the answer.
    pub expect: ExpectArgs,

    #[command(flatten)]
    /// The controller's history.
    pub memory: MemoryArgs,

    #[command(flatten)]
    /// The controller's settings.
    pub controller: ControllerArgs,

    #[command(flatten)]
    /// How to reach the API server.
    pub connection: ConnectionFlags,
}

/// The output formats of `predict`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PredictOutput {
    /// The report with every pod
    Wide,
    /// GitHub Markdown, for a comment on a pull request
    Markdown,
    /// JSON with a published schema
    Json,
    /// YAML with a published schema
    Yaml,
    /// Only the chart of --curve, or of the run over time
    Svg,
}

impl Predict {
    /// Returns the flags of the load of a run and of its times, each with its value.
    pub fn run_flags(&self) -> Vec<(&'static str, String)> {
        let TimelineArgs {
            span,
            trace,
            at,
            ready_after,
            metrics_after,
            ..
        } = &self.timeline;
        let trace = trace.iter().map(|file| ("--trace", file.clone()));
        let times = [
            ("--for", span),
            ("--at", at),
            ("--ready-after", ready_after),
            ("--metrics-after", metrics_after),
        ];
        let timed = times
            .into_iter()
            .filter_map(|(flag, time)| Some((flag, duration((*time)?))));
        trace
            .chain(timed)
            .chain(self.prometheus.flags())
            .chain(self.recorded.flags())
            .collect()
    }
}

/// The passes to simulate after the first.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Over time")]
#[command(group(ArgGroup::new("played").args(["span", "trace", "prometheus", "filenames"]).multiple(true)))]
pub struct TimelineArgs {
    /// Simulate pass after pass for this long (default: until the trace has ended and the replicas
    /// have settled). Without a trace the total load stays constant; the ready pods share it evenly
    #[arg(long = "for", value_name = "DURATION", value_parser = parse_duration)]
    #[arg(allow_hyphen_values = true)]
    pub span: Option<SignedDuration>,

    /// Load over time as CSV, - for stdin: a column "time" (30s, 1m30s, 90 or 2026-11-21T06:00:00Z)
    /// and a column per metric, headed by its name. An amount is the total of all pods; a percentage
    /// is the load at which the pods that are ready at the start use that share of their requests; a
    /// change is relative to the load at the start. A value applies until the next one, unless samples
    /// come regularly: then one that is late is missing. Optional columns say what the cluster did:
    /// "replicas", "ready" (pods) and "spec" (a word where the spec or the version changed). A trace
    /// of another time than now begins at its own time
    #[arg(long, value_name = "FILE", value_parser = file_name, conflicts_with = "prometheus")]
    pub trace: Option<String>,

    /// Try the values of a field in every combination with others, and show the settings that nothing
    /// beats, neither another setting nor the current HPA, in replica-hours, time short and shortfall:
    /// FROM..TO:STEP or a list, such as target.cpu=50%..80%:5 or
    /// behavior.scaleDown.stabilizationWindowSeconds=60,300,600; repeatable
    #[arg(long, value_name = "PATH=RANGE", requires = "played")]
    pub vary: Vec<String>,

    /// When the change of --request, or of the template in --hpa, is rolled out, after the first pass
    /// (default: the pods are changed from the first pass on); the HPA of --hpa applies from the first
    /// pass
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    #[arg(requires = "played", allow_hyphen_values = true)]
    pub at: Option<SignedDuration>,

    /// Time from the creation of a new pod until it is ready (default: as recorded in the trace, or 10s)
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    #[arg(requires = "played", allow_hyphen_values = true)]
    pub ready_after: Option<SignedDuration>,

    /// Time from the creation of a new pod until it has metrics (default: 30s)
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    #[arg(requires = "played", allow_hyphen_values = true)]
    pub metrics_after: Option<SignedDuration>,

    /// Include every pass of each run that is compared in JSON and YAML
    #[arg(long, requires = "played")]
    pub passes: bool,
}

/// The assumptions, as typed.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "What if")]
#[command(group(ArgGroup::new("manifests").args(["hpa", "filenames"]).multiple(true)))]
pub struct Overrides {
    /// CPU usage of the pods, or of one container in each; repeatable
    #[arg(long, value_name = "[CONTAINER=]VALUE", allow_hyphen_values = true)]
    pub cpu: Vec<String>,

    /// Memory usage of the pods, or of one container in each; repeatable
    #[arg(long, value_name = "[CONTAINER=]VALUE", allow_hyphen_values = true)]
    pub memory: Vec<String>,

    /// Request of the pods, or of one container in each, such as cpu=250m or app=memory=+20%, while
    /// they use what they do now; repeatable
    #[arg(long = "request", value_name = "[CONTAINER=]RESOURCE=VALUE")]
    pub requests: Vec<String>,

    /// Value of a metric: per pod for Pods metrics, the total for Object and External metrics, even if
    /// their target is an average; repeatable
    #[arg(
        long = "metric",
        value_name = "NAME[{SELECTOR}]=VALUE",
        allow_hyphen_values = true
    )]
    pub metrics: Vec<String>,

    /// Value of a metric for one pod, or for one container in it, such as web-1:cpu=300m or
    /// web-1:app=cpu=300m; repeatable
    #[arg(long = "pod", value_name = "POD:[CONTAINER=]METRIC=VALUE")]
    pub pods: Vec<String>,

    /// Current replicas, or a change such as +2; added pods get the average usage of the counted ones
    #[arg(long, value_name = "N|+N|-N", allow_hyphen_values = true)]
    pub replicas: Option<String>,

    /// This many pods, or the named pod, have never been ready; repeatable
    #[arg(long, value_name = "N|POD", allow_negative_numbers = true)]
    pub unready: Vec<String>,

    /// This many pods, or the named pod, have no metrics; repeatable
    #[arg(long, value_name = "N|POD", allow_negative_numbers = true)]
    pub missing: Vec<String>,

    /// This many pods, or the named pod, are pending; repeatable
    #[arg(long, value_name = "N|POD", allow_negative_numbers = true)]
    pub pending: Vec<String>,

    /// Lower bound of the replicas (spec.minReplicas)
    #[arg(long, value_name = "N", value_parser = bound, allow_negative_numbers = true)]
    pub min: Option<i32>,

    /// Upper bound of the replicas (spec.maxReplicas)
    #[arg(long, value_name = "N", value_parser = bound, allow_negative_numbers = true)]
    pub max: Option<i32>,

    /// Target of a metric, such as cpu=70% or queue_depth=30; repeatable
    #[arg(long = "target", value_name = "METRIC=VALUE")]
    pub targets: Vec<String>,

    /// Set a field of the spec, such as behavior.scaleDown.stabilizationWindowSeconds=60; null unsets
    /// it; repeatable
    #[arg(long = "set", value_name = "PATH=VALUE")]
    pub fields: Vec<String>,

    /// Replace the HPA with the one in these manifests (for a ScaledObject, the one that KEDA creates), and
    /// the pods with those of its target's template: a file, a directory, or - for stdin, as `helm
    /// template` and `kustomize build` print them; in a run over time (such as --for) repeatable, to compare
    /// several candidates
    #[arg(long, value_name = "FILE", value_parser = file_name)]
    pub hpa: Vec<String>,

    /// How to treat unknown fields of manifests (the files of --hpa, and the objects of -f that have no
    /// uid): strict (or true) rejects them, warn ignores them with a note, ignore (or false) ignores them
    /// silently
    #[arg(
        long,
        value_enum,
        value_name = "HOW",
        default_value_t,
        hide_possible_values = true
    )]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "strict")]
    #[arg(requires = "manifests")]
    pub validate: Validate,
}

/// How to treat unknown fields of a manifest, with the values of kubectl's `--validate`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Validate {
    /// An unknown field is an error
    #[default]
    #[value(alias = "true")]
    Strict,
    /// An unknown field is ignored with a note
    Warn,
    /// An unknown field is ignored silently
    #[value(alias = "false")]
    Ignore,
}

/// Reads a bound of the spec. `+2` is rejected, because it looks like a change.
fn bound(text: &str) -> Result<i32, String> {
    if text.starts_with('+') {
        return Err("a bound cannot be changed by an amount: give the new number".to_owned());
    }
    // For a negative number, the API server reports the fault.
    whole(text).or_else(|e| text.parse().map_err(|_| e))
}
