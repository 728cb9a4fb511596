//! What `predict` is asked: an HPA, and what is to be taken for otherwise. The values are read in
//! [`crate::whatif`], which knows what they can be.

use clap::Args;

use super::{ConnectionFlags, ControllerArgs, ExpectArgs, MemoryArgs, Output};

/// `predict`.
#[derive(Debug, Args)]
#[command(after_help = "\
VALUE is a share of the request (80%), an amount (250m, 512Mi), a change of what was observed
(+20%, -10%, x2), or missing: then the metric cannot be read. It is what is used, as the metrics
APIs report it; the target is --target. (With `kubectl autoscale`, --cpu is the target.)

Examples:
  # what if the pods used 80 % of the CPU that they request
  kubectl hpa predict web --cpu 80%

  # twice the load, and half of the pods not ready yet
  kubectl hpa predict web --cpu x2 --unready 2

  # a queue of 300 messages, with another maximum
  kubectl hpa predict worker --metric queue_depth=300 --max 30

  # fail a pipeline where it would be limited, or go beyond 20
  kubectl hpa predict web -f state.yaml --cpu 90% --expect 'desired <= 20' --fail-on limited

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
    pub output: Option<Output>,

    #[command(flatten)]
    /// What is otherwise.
    pub overrides: Overrides,

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

    /// The replicas that there are: further pods are as the average of those that count
    #[arg(long, value_name = "N")]
    pub replicas: Option<i32>,

    /// So many pods, or the pod of this name, are not ready and never were; repeatable
    #[arg(long, value_name = "N|POD")]
    pub unready: Vec<String>,

    /// So many pods, or the pod of this name, have no metrics; repeatable
    #[arg(long, value_name = "N|POD")]
    pub missing: Vec<String>,

    /// So many pods, or the pod of this name, do not run yet; repeatable
    #[arg(long, value_name = "N|POD")]
    pub pending: Vec<String>,

    /// The lower bound, spec.minReplicas
    #[arg(long, value_name = "N")]
    pub min: Option<i32>,

    /// The upper bound, spec.maxReplicas
    #[arg(long, value_name = "N")]
    pub max: Option<i32>,

    /// The target of a metric, such as cpu=70% or queue_depth=30; repeatable
    #[arg(long = "target", value_name = "METRIC=VALUE")]
    pub targets: Vec<String>,

    /// A field of the spec, such as behavior.scaleDown.stabilizationWindowSeconds=60; null unsets it;
    /// repeatable
    #[arg(long = "set", value_name = "PATH=VALUE")]
    pub fields: Vec<String>,

    /// A manifest that the HPA is replaced with, - for standard input
    #[arg(long, value_name = "FILE")]
    pub hpa: Option<String>,
}
