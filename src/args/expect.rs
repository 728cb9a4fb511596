//! The expectations of a pipeline, and the destinations of the result. Expressions are parsed in
//! [`crate::whatif`].

use std::ffi::OsStr;
use std::fmt;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Args, Command, ValueEnum};

/// The expectations of a pipeline for the answer.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Expectations (exit code 3 if one is false, 4 if one is uncertain)")]
pub struct ExpectArgs {
    /// Condition that must hold, such as 'desired <= 20 and not limited' in the first pass, or, with
    /// --for or --trace, 'run.replicaHours <= replay.replicaHours * 0.9' in the run; repeatable
    #[arg(long, value_name = "EXPRESSION", allow_hyphen_values = true)]
    pub expect: Vec<String>,

    /// Condition that must not occur, or the code of a finding, or error, warning or info for all
    /// findings that are at least so severe; comma-separated or repeated
    #[arg(long, value_name = "CONDITION", value_delimiter = ',', value_parser = FailOnParser)]
    pub fail_on: Vec<FailOn>,

    /// Leave out the findings with this code, also for --fail-on; comma-separated or repeated
    #[arg(long, value_name = "CODE", value_delimiter = ',')]
    pub ignore: Vec<String>,

    /// Exit with code 5 if the replicas would change
    #[arg(long)]
    pub exit_code: bool,

    /// Report the expectations as JUnit XML, or as GitHub annotations and a step summary; needs at
    /// least one expectation
    #[arg(long = "report", value_name = "junit=FILE|github", value_parser = report)]
    pub reports: Vec<Report>,
}

/// The conditions on which `predict` may fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FailOn {
    /// A shorthand for an expectation.
    Condition(ExpectShorthand),
    /// A finding: its code, or the minimum severity.
    Finding(String),
}

/// Reads the conditions on which `predict` may fail. The conditions are listed; findings are looked up
/// later.
#[derive(Debug, Clone, Copy)]
struct FailOnParser;

impl TypedValueParser for FailOnParser {
    type Value = FailOn;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<FailOn, clap::Error> {
        let text = StringValueParser::new().parse_ref(command, arg, value)?;
        let condition = ExpectShorthand::from_str(&text, false);
        Ok(condition.map_or(FailOn::Finding(text), FailOn::Condition))
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let values = ExpectShorthand::value_variants()
            .iter()
            .filter_map(ValueEnum::to_possible_value);
        Some(Box::new(values))
    }
}

/// Shorthands for expectations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExpectShorthand {
    /// Fewer replicas
    ScaleDown,
    /// More replicas
    ScaleUp,
    /// Fewer or more replicas
    Change,
    /// Rate limits or bounds change the result
    Limited,
    /// The result is maxReplicas
    Maxed,
    /// A metric cannot be evaluated, or has no value for a pod
    MetricsMissing,
    /// A sample is older than both a minute and twice its window
    Stale,
    /// The controller would send a warning event
    Warnings,
    /// In a run over time: the replicas have not settled at the end
    Unsettled,
    /// In a run over time: maxReplicas is reached at some time
    RunMaxed,
    /// In a run over time: a pass has no answer, because metrics are missing
    Unanswered,
}

/// A report in addition to the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Report {
    /// JUnit XML in this file.
    Junit(String),
    /// GitHub annotations and a step summary.
    Github,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Junit(file) => write!(f, "junit={file}"),
            Self::Github => f.write_str("github"),
        }
    }
}

fn report(text: &str) -> Result<Report, String> {
    match text.split_once('=') {
        Some(("junit", file)) if !file.is_empty() => Ok(Report::Junit(file.to_owned())),
        None if text == "github" => Ok(Report::Github),
        _ => Err("neither junit=FILE nor github".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::{ExpectArgs, ExpectShorthand, FailOn, Report, report};

    #[derive(Parser)]
    struct Typed {
        #[command(flatten)]
        args: ExpectArgs,
    }

    #[test]
    fn each_flag_may_come_more_than_once() {
        let typed = "x --expect limited --fail-on scale-down,metrics-missing --fail-on stale \
                     --expect blocked --report github --report junit=a.xml --exit-code";
        let Typed { args } = Typed::try_parse_from(typed.split_whitespace()).unwrap();
        assert_eq!(args.expect, ["limited", "blocked"]);
        let conditions = [
            ExpectShorthand::ScaleDown,
            ExpectShorthand::MetricsMissing,
            ExpectShorthand::Stale,
        ];
        assert_eq!(args.fail_on, conditions.map(FailOn::Condition));
        assert_eq!(
            args.reports,
            [Report::Github, Report::Junit("a.xml".to_owned())]
        );
        assert!(args.exit_code);
        let Typed { args } = Typed::try_parse_from(["x", "--fail-on", "at-max"]).unwrap();
        assert_eq!(args.fail_on, [FailOn::Finding("at-max".to_owned())]);
        assert!(Typed::try_parse_from(["x", "--report", "sarif=a"]).is_err());
        let negative = ["x", "--expect", "-delta <= 2", "--exit-code"];
        let Typed { args } = Typed::try_parse_from(negative).unwrap();
        assert_eq!(args.expect, ["-delta <= 2"]);
        assert!(args.exit_code);
    }

    #[test]
    fn reports_name_their_file() {
        assert_eq!(
            report("junit=out/a=b.xml"),
            Ok(Report::Junit("out/a=b.xml".to_owned()))
        );
        assert_eq!(report("github"), Ok(Report::Github));
        for wrong in ["", "junit", "junit=", "github=x", "JUnit=x", "sarif=x"] {
            report(wrong).unwrap_err();
        }
    }
}
