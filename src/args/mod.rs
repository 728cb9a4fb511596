//! The command line as typed, and nothing else: no file or terminal is consulted here, and no default
//! depends on one.

mod apply;
mod connection;
mod expect;
mod form;
mod named;
mod predict;
mod prometheus;
mod tips;
mod typing;

use std::str::FromStr;

use clap::builder::Resettable;
use clap::{
    Arg, ArgAction, Args, Command, CommandFactory, Parser, Subcommand, ValueEnum, ValueHint,
};
use jiff::{SignedDuration, Timestamp};

use crate::apimachinery::go;
use crate::apimachinery::names::shell_word;
use crate::flags::Flags;
use crate::numbers::parse_duration;
use crate::version::Version;

pub use apply::{Apply, ApplyOutput, DryRun, How};
pub use connection::ConnectionFlags;
pub use expect::{ExpectArgs, ExpectShorthand, FailOn, Report};
pub use form::Form;
pub(crate) use named::check_namespace;
pub use named::{Named, NamedRequest, Target, meant_as_type, states_no_type};
pub use predict::{Overrides, Predict, PredictOutput, TimelineArgs, Validate};
pub use prometheus::{PrometheusArgs, PrometheusServer, RecordedArgs, TimeArgument};
pub use tips::with_tips;
pub use typing::{LastWord, Typing};

/// Explains what the HorizontalPodAutoscaler controller decides, step by step.
#[derive(Debug, Parser)]
#[command(name = "kubectl-hpa", version, about, long_about = None)]
#[command(disable_help_flag = true, arg_required_else_help = true)]
#[command(after_help = EXIT_CODES)]
pub struct Cli {
    /// The verb.
    #[command(subcommand)]
    pub verb: Verb,
    /// When to use colors; NO_COLOR and CLICOLOR_FORCE are respected
    #[arg(long, value_enum, default_value_t, value_name = "WHEN", global = true)]
    pub color: Color,
    /// Print a summary; `kubectl hpa help VERB` prints all flags and examples
    #[arg(short, long, action = ArgAction::HelpShort, global = true, display_order = 999)]
    pub help: Option<bool>,
}

const EXIT_CODES: &str = "\
Exit codes:
  0  success
  1  no answer, or only part of what was asked for was done
  2  invalid usage or input
  3  an expectation is false, or a finding of --fail-on is there
  4  not certain whether that is so, or whether a change is due
  5  predict: a change is due (with --exit-code)
  6  apply: a precondition does not hold, nothing written
  7  apply: unknown whether the change was written
  8  apply: the server wrote a different number of replicas
  129, 130, 143
     ended by SIGHUP, SIGINT or SIGTERM";

/// Returns the definition of the command line, under the name that most people type, with everything that
/// applies to every verb.
pub fn command_line() -> Command {
    let connection = ConnectionFlags::augment_args(Command::new("connection"));
    Cli::command()
        .bin_name("kubectl hpa")
        .mut_subcommands(|verb| {
            let verb = match verb.get_after_help().cloned() {
                // Examples belong to the long help.
                Some(text) => verb.after_help(Resettable::Reset).after_long_help(text),
                None => verb,
            };
            verb.mut_args(hinted)
                .mut_args(summarized)
                .mut_args(|arg| overridable(arg, &connection))
        })
}

/// Lets shells complete file names where the value name is FILE or DIR.
fn hinted(arg: Arg) -> Arg {
    let names = arg.get_value_names().unwrap_or_default().iter();
    let hints = names
        .flat_map(|name| name.split('|'))
        .find_map(|name| match name {
            "FILE" => Some(ValueHint::AnyPath),
            "DIR" => Some(ValueHint::DirPath),
            _ => None,
        });
    match hints {
        Some(hint) => arg.value_hint(hint),
        None => arg,
    }
}

/// Lets the last of equal connection flags and outputs count, as in kubectl, so that an alias can be overridden.
fn overridable(arg: Arg, connection: &Command) -> Arg {
    let id = arg.get_id().clone();
    let mut of_connection = connection.get_arguments().map(Arg::get_id);
    let is_of_kubectl = id == "output" || of_connection.any(|own| *own == id);
    match arg.get_action() {
        ArgAction::Set if is_of_kubectl => arg.overrides_with(id),
        _ => arg,
    }
}

/// Hides the flags that few users need from a verb's summary: most of those for the connection and the
/// controller. The long help includes them.
fn summarized(arg: Arg) -> Arg {
    const SHOWN: [&str; 3] = ["namespace", "context", "kubeconfig"];
    let heading = arg.get_help_heading().unwrap_or_default();
    let is_rare = heading.starts_with("Connection") || heading.starts_with("Controller");
    let hides = is_rare && !SHOWN.contains(&arg.get_id().as_str());
    arg.hide_short_help(hides)
}

/// The verb that shells run. No HPA can have this name.
const COMPLETE: &str = "__complete";

/// The verbs.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Run the controller's algorithm once and explain the decision step by step
    Explain(Box<Explain>),
    /// Show what the controller would decide under different conditions
    Predict(Box<Predict>),
    /// Run the controller's algorithm once and write the result to the target's scale
    Apply(Box<Apply>),
    /// Create the links for `kubectl hpa-VERB` and for completion in kubectl
    InstallLinks(InstallLinks),
    /// Print the completions of the last word of a command line
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
For `kubectl hpa-explain`, kubectl runs an executable named kubectl-hpa_explain, and for completions \
one named kubectl_complete-hpa. This command creates both, and those of the other verbs, as links to \
this program. It never overwrites a file that is not such a link.

Examples:
  # Create the links next to the program
  kubectl hpa install-links

  # Show which links would be created in another directory
  kubectl hpa install-links --dir ~/.local/bin --dry-run")]
pub struct InstallLinks {
    /// Directory for the links (default: where kubectl or the shell found the program)
    #[arg(long, value_name = "DIR")]
    pub dir: Option<std::path::PathBuf>,

    /// Show what would be done, without doing it
    #[arg(long)]
    pub dry_run: bool,
}

/// When to use colors.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// If the output is a terminal that supports them
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// The output formats of `explain`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// The report with every pod, or the list with more columns
    Wide,
    /// GitHub Markdown, for a comment on a pull request
    Markdown,
    /// JSON with a published schema
    Json,
    /// The same, an HPA per line as soon as it is explained
    Jsonl,
    /// YAML with a published schema
    Yaml,
}

/// `explain`.
#[derive(Debug, Args)]
#[command(override_usage = "kubectl hpa explain [OPTIONS] [[TYPE] NAME... | TYPE/NAME...]")]
#[command(after_help = "\
Examples:
  # Explain one HPA, by its name or by its target
  kubectl hpa explain web -n shop
  kubectl hpa explain deploy/web -n shop

  # List two HPAs, those of a namespace, all, or those with a label
  kubectl hpa explain web api -n shop
  kubectl hpa explain -n shop
  kubectl hpa explain -A
  kubectl hpa explain -A -l team=checkout -o wide

  # Save everything the answer is based on, and explain it elsewhere
  kubectl hpa explain web -n shop --save web.json
  kubectl hpa explain web -f web.json

  # Explain objects saved with kubectl; this needs no cluster
  kubectl get hpa,deploy,pods,pods.metrics.k8s.io,events \\
    -o yaml --show-managed-fields > state.yaml
  kubectl hpa explain web -f state.yaml

  # Why did it scale up at noon? Explain that pass from a Prometheus
  kubectl hpa explain web -n shop --at 2026-11-20T12:00:00Z \\
    --prometheus monitoring/prometheus:9090

  # Explain a saved HPA as of a given time, as JSON
  kubectl hpa explain web -f state.yaml \\
    --now 2026-11-21T06:00:00Z -o json")]
pub struct Explain {
    /// HPAs, as NAME or NAMESPACE/NAME, or their targets, as TYPE/NAME or TYPE NAME (deploy/web);
    /// several are listed; if omitted, list all HPAs
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,

    /// List the HPAs of all namespaces, those with the worst findings first
    #[arg(short = 'A', long)]
    pub all_namespaces: bool,

    /// List only HPAs with matching labels, such as team=checkout
    #[arg(short = 'l', long, value_name = "SELECTOR")]
    pub selector: Option<String>,

    /// Read saved objects instead of a cluster: a file, a directory, or - for stdin; repeatable
    #[arg(
        short = 'f',
        long = "filename",
        value_name = "FILE",
        value_parser = file_name,
        conflicts_with = "observe"
    )]
    pub filenames: Vec<String>,

    /// Explain a past pass from the history in a Prometheus: its time (2026-11-21T06:00:00Z), or how long
    /// before now (90m)
    #[arg(long, value_name = "TIME", value_parser = TimeArgument::read, allow_hyphen_values = true)]
    #[arg(conflicts_with_all = ["all_namespaces", "selector", "now"])]
    #[arg(conflicts_with_all = ["history", "recommendations", "observe"])]
    pub at: Option<TimeArgument>,

    /// Output format; the default is a report to read
    #[arg(short = 'o', long, value_enum, value_name = "FORMAT")]
    pub output: Option<Output>,

    /// Save everything the answer is based on to this file, for use with -f; it cannot be - or a file
    /// that is also read
    #[arg(long, value_name = "FILE", value_parser = file_name)]
    pub save: Option<String>,

    /// Exit with code 3 if there is a finding with this code, or one at least as severe as error,
    /// warning or info; comma-separated or repeated
    #[arg(long, value_name = "CODE|SEVERITY", value_delimiter = ',')]
    pub fail_on: Vec<String>,

    /// Leave out the findings with this code, also for --fail-on; comma-separated or repeated
    #[arg(long, value_name = "CODE", value_delimiter = ',')]
    pub ignore: Vec<String>,

    #[command(flatten)]
    /// A history.
    pub prometheus: PrometheusArgs,

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

/// The controller's history from its earlier passes. Without these flags, the input's history is used;
/// without that, the history is inferred.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "History of the controller (default: from the input, or inferred)")]
pub struct MemoryArgs {
    /// none: the controller has just started; infer: infer its history from the API; FILE: read it
    /// from a ControllerState
    #[arg(long, value_name = "none|infer|FILE", value_parser = file_name)]
    pub history: Option<String>,

    /// A past recommendation, such as 8@2m for 8 replicas two minutes ago; repeatable
    #[arg(long = "recommendation", value_name = "REPLICAS@AGE", value_parser = recommendation, allow_hyphen_values = true)]
    #[arg(conflicts_with = "history")]
    pub recommendations: Vec<(i32, SignedDuration)>,

    /// Watch the HPA this long first, to learn what the controller remembers
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, allow_hyphen_values = true)]
    #[arg(conflicts_with_all = ["history", "recommendations"])]
    pub observe: Option<SignedDuration>,
}

impl MemoryArgs {
    /// Returns the flags as typed, with their values quoted for a shell.
    pub fn typed(&self) -> impl Iterator<Item = (String, String)> {
        let history = self.history.iter();
        let histories = history.map(|from| ("--history", shell_word(from)));
        let recommendations = self.recommendations.iter().map(|(replicas, age)| {
            let age_text = go::duration(*age);
            ("--recommendation", format!("{replicas}@{age_text}"))
        });
        let observed = self.observe.map(|time| ("--observe", go::duration(time)));
        let all = histories.chain(recommendations).chain(observed);
        all.map(|(flag, value)| (flag.to_owned(), value))
    }

    /// Whether a history is stated.
    pub fn is_stated(&self) -> bool {
        self.history.is_some() || !self.recommendations.is_empty() || self.observe.is_some()
    }
}

/// Settings of the controller. They override those of the input and of the controller manager's pod.
#[derive(Debug, Clone, Default, Args)]
#[command(
    next_help_heading = "Controller settings (default: input, controller manager's pod, or as listed)"
)]
pub struct ControllerArgs {
    /// Time of the controller's clock, such as 2026-11-21T06:00:00Z
    #[arg(long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    pub now: Option<Timestamp>,

    /// Kubernetes version whose rules apply, such as v1.31 (default: the version of the input, the
    /// controller manager or the server)
    #[arg(long, value_name = "VERSION")]
    pub kubernetes_version: Option<Version>,

    /// The flags of the controller.
    #[command(flatten)]
    pub flags: Flags,

    /// Feature gates, such as HPAScaleToZero=true; comma-separated or repeated
    #[arg(long, value_name = "GATE=BOOL", value_delimiter = ',', value_parser = gate)]
    pub feature_gates: Vec<(String, bool)>,
}

impl ControllerArgs {
    /// Returns the flags as typed, with their values quoted for a shell.
    pub fn typed(&self) -> impl Iterator<Item = (String, String)> {
        let now = self.now.map(|now| ("--now", now.to_string()));
        let version = self
            .kubernetes_version
            .as_ref()
            .map(|version| ("--kubernetes-version", shell_word(&version.named())));
        let gates = self
            .feature_gates
            .iter()
            .map(|(gate, on)| ("--feature-gates", shell_word(&format!("{gate}={on}"))));
        let all = now.into_iter().chain(version).chain(gates);
        all.map(|(flag, value)| (flag.to_owned(), value))
            .chain(self.flags.typed())
    }
}

fn recommendation(text: &str) -> Result<(i32, SignedDuration), String> {
    let (replicas, age) = text
        .split_once('@')
        .ok_or("not of the form REPLICAS@AGE, such as 8@2m")?;
    let replicas = match replicas.parse::<i32>() {
        Ok(count) if count >= 0 && !replicas.starts_with('+') => count,
        _ => return Err(format!("{replicas:?} is not a number of replicas")),
    };
    Ok((replicas, parse_duration(age).map_err(|e| e.to_string())?))
}

fn time(text: &str) -> Result<Timestamp, String> {
    text.parse()
        .map_err(|_| "not a time with its zone, such as 2026-11-21T06:00:00Z".to_owned())
}

/// A name of a file, `-` included.
fn file_name(text: &str) -> Result<String, String> {
    if text.is_empty() {
        return Err("the name of the file is empty".to_owned());
    }
    Ok(text.to_owned())
}

fn gate(text: &str) -> Result<(String, bool), String> {
    let (name, value) = text
        .split_once('=')
        .ok_or("not of the form GATE=true or GATE=false")?;
    let on = match value {
        "true" => true,
        "false" => false,
        _ => return Err(format!("{value:?} is neither true nor false")),
    };
    Ok((name.to_owned(), on))
}

/// A whole number from 0.
fn whole<T: FromStr>(text: &str) -> Result<T, String> {
    let (sign, digits) = text
        .strip_prefix('-')
        .map_or(("", text), |digits| ("-", digits));
    let is_whole = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    match sign {
        _ if !is_whole => Err("not a whole number, such as 10".to_owned()),
        "-" => Err("must not be negative".to_owned()),
        _ => text.parse().map_err(|_| "too large".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::{command_line, gate, recommendation};

    /// In 80 columns, five more than the text has in a manual page.
    #[test]
    fn no_command_to_paste_is_broken_by_the_terminal() {
        for verb in command_line().get_subcommands() {
            let text = verb.get_after_long_help().map(ToString::to_string);
            let text = text.unwrap_or_default();
            let examples = text.split_once("Examples:").unwrap_or_default().1;
            for line in examples.lines() {
                assert!(line.len() <= 73, "{line}");
            }
            for heading in verb.get_arguments().filter_map(clap::Arg::get_help_heading) {
                assert!(heading.len() < 80, "{heading}");
            }
        }
    }

    #[test]
    fn the_command_line_is_consistent() {
        command_line().debug_assert();
    }

    #[test]
    fn the_last_of_equal_flags_counts() {
        for verb in ["explain", "predict", "apply"] {
            let typed = format!("kubectl-hpa {verb} web -n a -o yaml -n b --output=json");
            let matches = command_line().try_get_matches_from(typed.split(' '));
            let matches = matches.unwrap();
            let (_, verb) = matches.subcommand().unwrap();
            assert_eq!(verb.get_one::<String>("namespace").unwrap(), "b");
        }
    }

    #[test]
    fn values_of_the_wrong_form_are_errors_in_our_words() {
        for (flag, value, want) in [
            ("--max", "3.5", "not a whole number, such as 10"),
            ("--min", "-", "not a whole number, such as 10"),
            ("--min", "99999999999", "too large"),
            ("-v", "x", "not a whole number, such as 10"),
            ("-v", "99999999999", "too large"),
            (
                "--now",
                "yesterday",
                "not a time with its zone, such as 2026-11-21T06:00:00Z",
            ),
            (
                "--now",
                "2026-11-21",
                "not a time with its zone, such as 2026-11-21T06:00:00Z",
            ),
            (
                "--now",
                "-10m",
                "not a time with its zone, such as 2026-11-21T06:00:00Z",
            ),
            (
                "-f",
                "",
                "'--filename <FILE>': the name of the file is empty",
            ),
            ("--hpa", "", "'--hpa <FILE>': the name of the file is empty"),
            (
                "--trace",
                "",
                "'--trace <FILE>': the name of the file is empty",
            ),
            (
                "--history",
                "",
                "'--history <none|infer|FILE>': the name of the file is empty",
            ),
            (
                "--save",
                "",
                "'--save <FILE>': the name of the file is empty",
            ),
            ("--tolerance", "-1", "not a fraction"),
            ("--sync-period", "-15s", "must not be negative"),
            ("--observe", "-1m", "must not be negative"),
            ("--recommendation", "-8@2m", "not a number of replicas"),
        ] {
            let e = command_line()
                .try_get_matches_from(["kubectl-hpa", "predict", "web", flag, value])
                .expect_err("invalid");
            assert!(e.to_string().contains(want), "{flag} {value}: {e}");
        }
    }

    #[test]
    fn numbers_are_not_negative() {
        for (flag, value, want) in [
            ("--retry", "-1", "must not be negative"),
            ("--retry", "99999999999", "too large"),
            ("--retry", "x", "not a whole number"),
            ("--current-replicas", "-1", "must not be negative"),
            ("--current-replicas", "", "not a whole number"),
        ] {
            let e = command_line()
                .try_get_matches_from(["kubectl-hpa", "apply", "web", flag, value])
                .expect_err("invalid");
            assert!(e.to_string().contains(want), "{flag} {value}: {e}");
        }
    }

    #[test]
    fn values_are_checked() {
        assert_eq!(
            recommendation("8@2m").map(|(_, age)| age.as_secs()),
            Ok(120)
        );
        assert!(recommendation("+8@2m").is_err() && recommendation("8").is_err());
        assert_eq!(
            gate("HPAScaleToZero=true"),
            Ok(("HPAScaleToZero".to_owned(), true))
        );
        assert!(gate("HPAScaleToZero").is_err() && gate("HPAScaleToZero=yes").is_err());
    }
}
