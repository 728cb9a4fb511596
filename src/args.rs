//! What was typed, and nothing else: no file is read here, no terminal looked at, no default made
//! up that depends on either.

mod apply;
mod connection;
mod expect;
mod form;
mod predict;
mod typing;

use clap::builder::Resettable;
use clap::{
    Arg, ArgAction, Args, Command, CommandFactory, Parser, Subcommand, ValueEnum, ValueHint,
};
use jiff::{SignedDuration, Timestamp};

use crate::apimachinery::go;
use crate::version::Version;

pub use apply::{Apply, ApplyOutput, DryRun, How};
pub use connection::ConnectionFlags;
pub use expect::{ExpectArgs, FailOn, Report};
pub use form::Form;
pub use predict::{Overrides, Predict, PredictOutput, TimelineArgs, Validate};
pub use typing::Typing;

/// Explains what the HorizontalPodAutoscaler controller decides, step by step.
#[derive(Debug, Parser)]
#[command(name = "kubectl-hpa", version, about, long_about = None)]
#[command(disable_help_flag = true, arg_required_else_help = true)]
#[command(after_help = EXIT_CODES)]
pub struct Cli {
    /// The verb.
    #[command(subcommand)]
    pub verb: Verb,
    /// Whether to use colours; NO_COLOR and CLICOLOR_FORCE are honoured
    #[arg(long, value_enum, default_value_t, value_name = "WHEN", global = true)]
    pub color: Color,
    /// Print this summary; `kubectl hpa help VERB` has all flags, and examples
    #[arg(short, long, action = ArgAction::HelpShort, global = true)]
    pub help: Option<bool>,
}

const EXIT_CODES: &str = "\
Exit codes: 0 answer produced, 1 no answer could be had, 2 usage or invalid input, 3 an expectation \
is false, 4 not certain enough to tell, 5 a change is due (with --exit-code), 6 apply: nothing \
written, as something stands against it, 7 apply: not known whether it is written, 8 apply: \
the server wrote another count";

/// The definition of the command line, with the name under which most know it, and what holds for all
/// verbs alike.
pub fn command_line() -> Command {
    Cli::command().bin_name("kubectl hpa").mut_subcommands(|verb| {
        let verb = match verb.get_after_help().cloned() {
            // Examples belong to the long help.
            Some(text) => verb.after_help(Resettable::Reset).after_long_help(text),
            None => verb,
        };
        verb.mut_args(hinted).mut_args(summarized)
    })
}

/// Lets shells complete the names of files where the definition says FILE or DIR.
fn hinted(arg: Arg) -> Arg {
    let names = arg.get_value_names().unwrap_or_default().iter();
    let hints = names.flat_map(|name| name.split('|')).find_map(|name| match name {
        "FILE" => Some(ValueHint::AnyPath),
        "DIR" => Some(ValueHint::DirPath),
        _ => None,
    });
    match hints {
        Some(hint) => arg.value_hint(hint),
        None => arg,
    }
}

/// Leaves out of a verb's summary what few need, which its long help has: most of the flags for
/// connection and controller.
fn summarized(arg: Arg) -> Arg {
    const SHOWN: [&str; 3] = ["namespace", "context", "kubeconfig"];
    let heading = arg.get_help_heading().unwrap_or_default();
    let is_rare = heading.starts_with("Connection") || heading.starts_with("Controller");
    let hides = is_rare && !SHOWN.contains(&arg.get_id().as_str());
    arg.hide_short_help(hides)
}

/// The verb that shells call. No HPA can have this name.
const COMPLETE: &str = "__complete";

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Run the controller's pass once and show the decision with every step
    Explain(Box<Explain>),
    /// Show what the pass would decide if something were otherwise
    Predict(Box<Predict>),
    /// Run the pass once and write its result through the target's scale
    Apply(Box<Apply>),
    /// Make the links through which kubectl finds the other forms and its completions
    InstallLinks(InstallLinks),
    /// Print what the last word of a command line may become
    #[command(name = COMPLETE, hide = true)]
    Complete {
        /// The words after the program's name
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<std::ffi::OsString>,
    },
}

/// `install-links`.
#[derive(Debug, Args)]
#[command(after_help = "\
kubectl runs `kubectl hpa-explain` through an executable of the name kubectl-hpa_explain, and asks \
kubectl_complete-hpa for completions. These are links to the one program. A file that is not one of \
them is never touched.

Examples:
  # beside the program itself
  kubectl hpa install-links

  # elsewhere, and only say what would be done
  kubectl hpa install-links --dir ~/.local/bin --dry-run")]
pub struct InstallLinks {
    /// Where the links go (default: where kubectl or the shell found the program)
    #[arg(long, value_name = "DIR")]
    pub dir: Option<std::path::PathBuf>,

    /// Only say what would be done
    #[arg(long)]
    pub dry_run: bool,
}

/// When to use colours.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal that shows them
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// The forms of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// The report with every pod, the list with more columns
    Wide,
    /// For a comment on a change, in GitHub's Markdown
    Markdown,
    /// The published contract as JSON
    Json,
    /// The published contract as YAML
    Yaml,
}

/// `explain`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  # explain an HPA of the current context
  kubectl hpa explain web -n shop

  # a line for each HPA of the namespace, of all namespaces, or with a label
  kubectl hpa explain -n shop
  kubectl hpa explain -A
  kubectl hpa explain -A -l team=checkout -o wide

  # keep everything that was used, and explain it again elsewhere
  kubectl hpa explain web -n shop --save web.json
  kubectl hpa explain web -f web.json

  # explain a saved state; no cluster is needed
  kubectl get hpa,deploy,pods,pods.metrics.k8s.io,events \\
    -o yaml --show-managed-fields > state.yaml
  kubectl hpa explain web -f state.yaml

  # the same as JSON, at a stated time
  kubectl hpa explain web -f state.yaml --now 2026-11-21T06:00:00Z -o json")]
pub struct Explain {
    /// The HorizontalPodAutoscaler, as NAME or hpa/NAME; without it, a line for each
    pub name: Option<String>,

    /// The HPAs of all namespaces
    #[arg(short = 'A', long)]
    pub all_namespaces: bool,

    /// Only the HPAs with these labels, such as team=checkout
    #[arg(short = 'l', long, value_name = "SELECTOR")]
    pub selector: Option<String>,

    /// Saved objects instead of a cluster: a file, a folder, or - for standard input; repeatable
    #[arg(short = 'f', long = "filename", value_name = "FILE", conflicts_with = "observe")]
    pub filenames: Vec<String>,

    /// The form of the answer; without it, a report for people
    #[arg(short = 'o', long, value_enum, value_name = "FORMAT")]
    pub output: Option<Output>,

    /// Also write everything that was used to this file, to be read again with -f; not to - (standard
    /// output has the answer), nor to a file that is read
    #[arg(long, value_name = "FILE")]
    pub save: Option<String>,

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

/// What the controller remembers from its earlier passes. Without any of these it is what the input
/// states, else what can be inferred.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "The controller's memory (default: the input's, else inferred)")]
pub struct MemoryArgs {
    /// none: it has just started; infer: by what the API shows; or a file with a ControllerState
    #[arg(long, value_name = "none|infer|FILE")]
    pub history: Option<String>,

    /// A recommendation that it remembers, such as 8@2m for 8 replicas two minutes ago; repeatable
    #[arg(long = "recommendation", value_name = "REPLICAS@AGE", value_parser = recommendation, allow_hyphen_values = true)]
    #[arg(conflicts_with = "history")]
    pub recommendations: Vec<(i32, SignedDuration)>,

    /// Watch the HPA for so long before, to learn what it remembers
    #[arg(long, value_name = "DURATION", value_parser = duration, allow_hyphen_values = true)]
    #[arg(conflicts_with_all = ["history", "recommendations"])]
    pub observe: Option<SignedDuration>,
}

/// Settings of the controller. They go before those that the input states or the controller
/// manager's pod shows.
#[derive(Debug, Clone, Default, Args)]
#[command(
    next_help_heading = "Controller settings (default: the input's, the controller's, or Kubernetes')"
)]
pub struct ControllerArgs {
    /// The controller's clock, such as 2026-11-21T06:00:00Z
    #[arg(long, value_name = "TIME")]
    pub now: Option<Timestamp>,

    /// The version whose rules apply, such as v1.31 (default: the input's, the controller manager's or the server's)
    #[arg(long, value_name = "VERSION")]
    pub kubernetes_version: Option<Version>,

    /// Ratios this close to 1 change nothing (default 0.1)
    #[arg(long, value_name = "SHARE", value_parser = tolerance, allow_hyphen_values = true)]
    pub tolerance: Option<f64>,

    /// How long recommendations hold against scaling down (default 5m)
    #[arg(long, value_name = "DURATION", value_parser = duration, allow_hyphen_values = true)]
    pub downscale_stabilization: Option<SignedDuration>,

    /// How long after its start a pod's CPU may be that of its start (default 5m)
    #[arg(long, value_name = "DURATION", value_parser = duration, allow_hyphen_values = true)]
    pub cpu_initialization_period: Option<SignedDuration>,

    /// How soon after its start a pod turns ready for the first time (default 30s)
    #[arg(long, value_name = "DURATION", value_parser = duration, allow_hyphen_values = true)]
    pub initial_readiness_delay: Option<SignedDuration>,

    /// The time between two passes (default 15s)
    #[arg(long, value_name = "DURATION", value_parser = duration, allow_hyphen_values = true)]
    pub sync_period: Option<SignedDuration>,

    /// Feature gates, such as HPAScaleToZero=true; separated by commas or repeated
    #[arg(long, value_name = "GATE=BOOL", value_delimiter = ',', value_parser = gate)]
    pub feature_gates: Vec<(String, bool)>,
}

fn tolerance(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(share) if share.is_finite() && share >= 0.0 && !text.starts_with('+') => Ok(share),
        _ => Err("not a share such as 0.1".to_owned()),
    }
}

fn duration(text: &str) -> Result<SignedDuration, String> {
    match go::duration_or_seconds(text) {
        Some(duration) if !duration.is_negative() => Ok(duration),
        Some(_) => Err("must not be negative".to_owned()),
        None => Err("not a duration such as 5m, 1m30s, or 90 for seconds".to_owned()),
    }
}

fn recommendation(text: &str) -> Result<(i32, SignedDuration), String> {
    let (replicas, age) =
        text.split_once('@').ok_or("not of the form REPLICAS@AGE, such as 8@2m")?;
    let replicas = match replicas.parse::<i32>() {
        Ok(count) if count >= 0 && !replicas.starts_with('+') => count,
        _ => return Err(format!("{replicas:?} is not a count of replicas")),
    };
    Ok((replicas, duration(age)?))
}

fn gate(text: &str) -> Result<(String, bool), String> {
    let (name, value) = text.split_once('=').ok_or("not of the form GATE=true or GATE=false")?;
    let on = match value {
        "true" => true,
        "false" => false,
        _ => return Err(format!("{value:?} is neither true nor false")),
    };
    Ok((name.to_owned(), on))
}

#[cfg(test)]
mod tests {
    use super::{command_line, duration, gate, recommendation, tolerance};

    #[test]
    fn the_command_line_is_consistent() {
        command_line().debug_assert();
    }

    #[test]
    fn negative_values_are_told_for_what_they_are() {
        for (flag, value, want) in [
            ("--tolerance", "-1", "not a share"),
            ("--sync-period", "-15s", "must not be negative"),
            ("--observe", "-1m", "must not be negative"),
            ("--recommendation", "-8@2m", "not a count of replicas"),
        ] {
            let e = command_line()
                .try_get_matches_from(["kubectl-hpa", "explain", "web", flag, value])
                .expect_err("it is none");
            assert!(e.to_string().contains(want), "{flag} {value}: {e}");
        }
    }

    #[test]
    fn values_are_checked() {
        assert_eq!(tolerance("0.05"), Ok(0.05));
        assert!(tolerance("-1").is_err() && tolerance("NaN").is_err() && tolerance("x").is_err());
        assert_eq!(duration("1m30s").map(|d| d.as_secs()), Ok(90));
        assert!(duration("-1s").is_err() && duration("5x").is_err());
        assert_eq!(duration("600").map(|d| d.as_secs()), Ok(600));
        assert_eq!(duration("1.5").map(|d| d.as_millis()), Ok(1500));
        assert!(recommendation("+8@2m").is_err() && tolerance("+0.1").is_err());
        assert_eq!(gate("HPAScaleToZero=true"), Ok(("HPAScaleToZero".to_owned(), true)));
        assert!(gate("HPAScaleToZero").is_err() && gate("HPAScaleToZero=yes").is_err());
    }
}
