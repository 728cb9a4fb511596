use jiff::SignedDuration;
use proptest::prelude::*;

use self::expression::printed;
use super::*;
use crate::apimachinery::quantity::Quantity;
use crate::snapshot::hpa::MetricSpec;

#[path = "../../../tests/common/expression.rs"]
mod expression;

fn parse(text: &str) -> Node {
    Expression::parse(text)
        .unwrap_or_else(|e| panic!("{text}: {e:?}"))
        .root
}

#[test]
fn expressions_are_read_as_they_bind() {
    for text in [
        "20 >= desired",
        "limited",
        "not limited and not stabilized",
        "not desired > 2",
        "not (limited or blocked)",
        "limited and blocked or stale",
        "limited and (blocked or stale)",
        "limited or (blocked or stale)",
        "not not limited",
        "delta != -3",
        "desired < max",
        "metric.cpu.utilization < 80%",
        "metric.cpu.averageValue >= 250m",
        "metric.queue.depth.value < 1e3",
        "metric.a/b:c-d_e.desired > 1",
        "metric.\"\".value < 1",
        "desired < 1E-3",
        "desired - (1 - 2) - 3 > 0",
        "(desired - 1) - 2 > 0",
        "desired + 1 * 2 / 3 > 0",
        "(desired + 1) * 2 / (3 * max) > 0",
        "- 3 < -(desired + 1)",
        "run.settled and not replay.settled",
        "metric.a-b.desired - 1 > 2",
        "metric.cpu.utilization * desired / current <= 60%",
    ] {
        assert_eq!(printed(&parse(text)), text);
    }
    for (text, shown) in [
        ("desired<=20", "desired <= 20"),
        (" desired  ==\n20 ", "desired == 20"),
        ("((limited))", "limited"),
        ("metric.\"cpu\".desired > 1", "metric.cpu.desired > 1"),
        (
            "metric.\"cpu in \\\"a\\\\\".desired>1",
            "metric.\"cpu in \\\"a\\\\\".desired > 1",
        ),
        ("desired<=current*2", "desired <= current * 2"),
        ("desired<=20-3", "desired <= 20 - 3"),
        ("1-2<=desired", "1 - 2 <= desired"),
        ("desired-1 < 1e-3+2", "desired - 1 < 1e-3 + 2"),
        ("((desired)) > ((2))", "desired > 2"),
        ("-desired < - -delta", "-desired < --delta"),
        (
            "not (desired) * 2 > 3 or (limited)",
            "not desired * 2 > 3 or limited",
        ),
        ("((desired > 2) and limited)", "desired > 2 and limited"),
        ("run.short<=1h30m", "run.short <= 1h30m"),
        (
            "run.replicaHours/2 < replay.mean",
            "run.replicaHours / 2 < replay.mean",
        ),
    ] {
        assert_eq!(printed(&parse(text)), shown, "{text}");
    }
    assert_eq!(parse("limited or blocked and not stale"), {
        use PassField::{Blocked, Limited, Stale};
        let flag = |field| Node::Flag(Field::Pass(field));
        let tight = Node::All(vec![flag(Blocked), Node::Not(Box::new(flag(Stale)))]);
        Node::Any(vec![flag(Limited), tight])
    });
}

#[test]
fn what_cannot_be_read_is_shown_where_it_is() {
    let pass = "the fields are desired, current, delta, min, max, recommended, failed, missing, \
                warnings, limited, stabilized, blocked, stale; \
                https://github.com/kubectl-hpa/kubectl-hpa/blob/main/docs/expectations.md has those of \
                metrics and runs";
    let percent = "only metric.NAME.utilization is a percentage; write 0.9 for 90% of a number";
    let durations = "durations are such as 10m or 1h30m, and run.atMax, run.short, \
                     run.longestShort, run.unanswered";
    let of_run = "there are run.replicaHours, run.mean, run.lowest, run.highest, run.atMax, \
                  run.short, run.longestShort, run.rescales, run.reversals, run.unanswered, \
                  run.last, run.settled";
    let joined = "conditions are joined with and, or, not and parentheses";
    let numbers = "numbers are such as 20, 1.5, 250m, 512Mi, 80% or 1h30m";
    let of_cpu = "there are metric.cpu.desired, metric.cpu.utilization, metric.cpu.averageValue, \
                  metric.cpu.value";
    let ends = "expected a field or a number, but the expression ends here";
    let no_number = "limited is not a number";
    let by_itself = "it is true or false by itself: limited, or not limited";
    let no_share = "desired is a number, but 80% is a percentage";
    let no_count = "run.short is a duration, but 600 is a number";
    for (text, at, message, hint) in [
        ("", 0, ends, pass),
        ("desired <= ", 11, ends, pass),
        (
            "desird <= 20",
            0,
            "unknown field \"desird\"",
            "did you mean desired?",
        ),
        (
            "limited and Desired > 2",
            12,
            "unknown field \"Desired\"",
            "did you mean desired?",
        ),
        ("desired <= NaN", 11, "unknown field \"NaN\"", pass),
        ("desired < and", 10, "expected a field, not \"and\"", pass),
        (
            "desired and limited",
            0,
            "desired is a number and must be compared",
            "write for instance desired <= 10",
        ),
        (
            "limited or 20",
            11,
            "20 must be compared",
            "write for instance desired <= 20",
        ),
        ("limited == true", 0, no_number, by_itself),
        ("desired < limited", 10, no_number, by_itself),
        ("1 < 2", 0, "both sides are numbers", pass),
        ("desired = 2", 8, "unexpected \"=\"", "write =="),
        ("desired =< 2", 8, "unexpected \"=<\"", "write <="),
        ("desired => 2", 8, "unexpected \"=>\"", "write >="),
        ("desired =! 2", 8, "unexpected \"=!\"", "write !="),
        ("desired <> 2", 8, "unexpected \"<>\"", "write !="),
        ("desired === 2", 8, "unexpected \"===\"", "write =="),
        ("desired !== 2", 8, "unexpected \"!==\"", "write !="),
        ("desired < = 2", 8, "unexpected \"< =\"", "write <="),
        ("desired ≤ 2", 8, "unexpected \"≤\"", "write <="),
        ("limited && blocked", 8, "unexpected \"&&\"", "write and"),
        ("limited || blocked", 8, "unexpected \"||\"", "write or"),
        ("limited & blocked", 8, "unexpected \"&\"", "write and"),
        (
            "metric.cpu.utilization < 0.8",
            25,
            "metric.cpu.utilization is in percent, and 0.8 is a fraction",
            "write 80% for that share, or 0.8% for that percentage",
        ),
        (
            "250m >= metric.cpu.utilization",
            0,
            "metric.cpu.utilization is in percent, and 250m is a fraction",
            "write 25% for that share, or 0.25% for that percentage",
        ),
        ("!limited", 0, "unexpected \"!\"", "write not"),
        (
            "limited blocked",
            8,
            "expected `and`, `or` or the end of the expression, not 'b'",
            joined,
        ),
        (
            "1 < desired < 9",
            12,
            "expected `and`, `or` or the end of the expression, not '<'",
            joined,
        ),
        (
            "limited)",
            7,
            "expected `and`, `or` or the end of the expression, not ')'",
            joined,
        ),
        (
            "(limited",
            8,
            "expected `and`, `or` or `)`, but the expression ends here",
            joined,
        ),
        ("desired <= 20x", 11, "\"20x\" is not a number", numbers),
        ("desired <= 1h2", 11, "\"1h2\" is not a number", numbers),
        ("desired <= 80%", 11, no_share, percent),
        ("80% > desired", 0, no_share, percent),
        (
            "run.mean <= replay.mean * 90%",
            12,
            "run.mean is a number, but replay.mean * 90% is a percentage",
            percent,
        ),
        (
            "metric.cpu.utilization < desired",
            25,
            "metric.cpu.utilization is a percentage, but desired is a number",
            percent,
        ),
        ("run.short < 600", 12, no_count, durations),
        ("600 > run.short", 0, no_count, durations),
        (
            "desired <= 1h",
            11,
            "desired is a number, but 1h is a duration",
            durations,
        ),
        (
            "run.short + 5 < 1h",
            12,
            "5 is a number and cannot be added to run.short, which is a duration",
            durations,
        ),
        (
            "desired * 2 - 1h < 5",
            14,
            "1h is a duration and cannot be subtracted from desired * 2, which is a number",
            durations,
        ),
        (
            "run.short * replay.short < 1h",
            12,
            "replay.short is a duration and cannot be multiplied with run.short, which is a \
             duration",
            durations,
        ),
        (
            "1 < 3 / (run.short)",
            8,
            "(run.short) is a duration and cannot divide 3, which is a number",
            durations,
        ),
        ("limited + 1 > 2", 0, no_number, by_itself),
        (
            "(desired > 2) + 1 > 2",
            0,
            "(desired > 2) is not a number",
            "it is true or false by itself: (desired > 2), or not (desired > 2)",
        ),
        (
            "desired + 1",
            0,
            "desired + 1 is a number and must be compared",
            "write for instance desired + 1 <= 10",
        ),
        (
            "not run.short",
            4,
            "run.short is a duration and must be compared",
            "write for instance run.short <= 10m",
        ),
        (
            "(desired + 1) && limited",
            14,
            "unexpected \"&&\"",
            "write and",
        ),
        ("10m < 1h", 0, "both sides are numbers", pass),
        ("run > 2", 3, "missing field of the run", of_run),
        (
            "limited or run.max > 2",
            15,
            "the run has no field \"max\"",
            of_run,
        ),
        ("desired > -", 11, ends, pass),
        (
            "desired * * 2 > 2",
            10,
            "expected a field or a number, not '*'",
            pass,
        ),
        (
            "desired % 2 == 0",
            8,
            "expected `and`, `or` or the end of the expression, not '%'",
            joined,
        ),
        (
            "metric.cpu.desired/2 > 2",
            11,
            "metric \"cpu\" has no field \"desired/2\"",
            "there are metric.cpu.desired, metric.cpu.utilization, metric.cpu.averageValue, \
             metric.cpu.value; put spaces around - and /",
        ),
        (
            "metric.cpu.utilization < 80%%",
            28,
            "expected `and`, `or` or the end of the expression, not '%'",
            joined,
        ),
        (
            "metric.cpu > 2",
            10,
            "missing field of metric \"cpu\"",
            of_cpu,
        ),
        (
            "limited or metric.cpu.usage > 2",
            22,
            "metric \"cpu\" has no field \"usage\"",
            of_cpu,
        ),
        (
            "metric.prometheus.googleapis.com|x|counter.averageValue < 50k",
            29,
            "metric \"prometheus.googleapis\" has no field \"com\"",
            "put a name with | in quotes: metric.\"NAME\".FIELD; FIELD is one of desired, \
             utilization, averageValue, value",
        ),
        (
            "metric.kafka.lag.valu > 5",
            17,
            "metric \"kafka.lag\" has no field \"valu\"",
            "there are metric.kafka.lag.desired, metric.kafka.lag.utilization, \
             metric.kafka.lag.averageValue, metric.kafka.lag.value",
        ),
        (
            "metric.\"cpu",
            0,
            "the quotes are not closed",
            "write metric.\"NAME\".desired",
        ),
        ("größe > 1", 0, "unknown field \"größe\"", pass),
        (
            "desired > ∞",
            10,
            "expected a field or a number, not '∞'",
            pass,
        ),
    ] {
        let error = Expression::parse(text).unwrap_err();
        let expected = SyntaxError {
            at,
            message: message.to_owned(),
            hint: hint.to_owned(),
        };
        assert_eq!(error, expected, "{text}");
    }
    for deep in [
        "(".repeat(100_000),
        "not ".repeat(100_000),
        "- ".repeat(100_000),
    ] {
        assert_eq!(
            Expression::parse(&deep).unwrap_err().message,
            "nested deeper than 100"
        );
    }
}

/// An HPA with metrics of alike names.
fn spec() -> HpaSpec {
    let metrics: Vec<MetricSpec> = serde_json::from_str(
        r#"[
            {"type": "Resource", "resource": {"name": "cpu"}},
            {"type": "ContainerResource", "containerResource": {"name": "cpu", "container": "app"}},
            {"type": "External", "external": {"metric": {"name": "queue",
             "selector": {"matchLabels": {"q": "a"}}}}},
            {"type": "External", "external": {"metric": {"name": "queue",
             "selector": {"matchLabels": {"q": "b"}}}}},
            {"type": "Pods", "pods": {"metric": {"name": "a.b"}}}
        ]"#,
    )
    .unwrap();
    HpaSpec {
        metrics,
        ..HpaSpec::default()
    }
}

#[test]
fn metrics_are_found_by_label_or_by_name_alone() {
    for (name, place) in [
        ("cpu", 0),
        ("cpu in app", 1),
        ("queue{q=a}", 2),
        ("queue{q=b}", 3),
        ("a.b", 4),
    ] {
        let found = fields::find_metric(&spec(), name, MetricField::Desired);
        assert_eq!(found, Ok(place), "{name}");
    }
    let check = |text: &str| Expression::parse(text).unwrap().check(&spec()).unwrap_err();
    let error = check("limited or metric.queue.value > 3");
    assert_eq!(error.at, 11);
    assert_eq!(error.message, "the HPA has 2 metrics \"queue\"");
    assert_eq!(
        error.hint,
        "name one: metric.\"queue{q=a}\".value, metric.\"queue{q=b}\".value"
    );
    let mut twice = spec();
    twice.metrics.push(twice.metrics[0].clone());
    let parsed = Expression::parse("metric.cpu.desired < 3").unwrap();
    let error = parsed.check(&twice).unwrap_err();
    assert_eq!(
        error.hint,
        "they differ only in their targets, so no name means one of them"
    );
    let error = check("metric.cpu.desired < 3 and metric.memory.desired < 3");
    assert_eq!(error.at, 27);
    assert_eq!(error.message, "the HPA has no metric \"memory\"");
    assert_eq!(
        error.hint,
        "it has metric.cpu.desired, metric.\"cpu in app\".desired, \
         metric.\"queue{q=a}\".desired, metric.\"queue{q=b}\".desired, metric.a.b.desired"
    );
}

/// Whether an expression holds where `limited`, `blocked` and `desired` are as given.
fn truth(text: &str, limited: &Fact, blocked: &Fact, desired: &Fact) -> Truth {
    Expression::parse(text)
        .unwrap()
        .root
        .truth(&|field| match field {
            Field::Pass(PassField::Limited) => limited.clone(),
            Field::Pass(PassField::Blocked) => blocked.clone(),
            Field::Pass(PassField::Desired) => desired.clone(),
            Field::Pass(PassField::Max) => Fact::Count { min: 10, max: 10 },
            other => panic!("{other} is not asked for"),
        })
}

#[test]
fn logic_is_that_of_kleene() {
    use Truth::{False, True, Unknown};
    let fact = |truth| match truth {
        True => Fact::Flag(true),
        False => Fact::Flag(false),
        Unknown => Fact::Unknown("not computed".into()),
    };
    for (a, b, and, or) in [
        (True, True, True, True),
        (True, Unknown, Unknown, True),
        (True, False, False, True),
        (Unknown, True, Unknown, True),
        (Unknown, Unknown, Unknown, Unknown),
        (Unknown, False, False, Unknown),
        (False, True, False, True),
        (False, Unknown, False, Unknown),
        (False, False, False, False),
    ] {
        let of = |text| {
            truth(
                text,
                &fact(a),
                &fact(b),
                &Fact::Unknown("not computed".into()),
            )
        };
        assert_eq!(of("limited and blocked"), and, "{a:?} and {b:?}");
        assert_eq!(of("limited or blocked"), or, "{a:?} or {b:?}");
        assert_eq!(
            of("not (limited and blocked)"),
            of("not limited or not blocked")
        );
    }
    let not = |a| truth("not limited", &fact(a), &fact(a), &fact(a));
    assert_eq!(
        [not(True), not(Unknown), not(False)],
        [False, Unknown, True]
    );
}

#[test]
fn a_range_decides_where_all_of_it_agrees() {
    use Truth::{False, True, Unknown};
    let unknown = Fact::Unknown("not computed".into());
    for (text, min, max, expected) in [
        ("desired < 5", 4, 4, True),
        ("desired < 5", 5, 5, False),
        ("desired < 5", 2, 4, True),
        ("desired < 5", 2, 5, Unknown),
        ("desired < 5", 5, 7, False),
        ("desired <= 5", 2, 5, True),
        ("desired <= 5", 5, 6, Unknown),
        ("desired <= 5", 6, 7, False),
        ("desired > 5", 6, 7, True),
        ("desired > 5", 5, 7, Unknown),
        ("desired > 5", 2, 5, False),
        ("desired >= 5", 5, 7, True),
        ("desired >= 5", 4, 5, Unknown),
        ("desired >= 5", 2, 4, False),
        ("desired == 5", 5, 5, True),
        ("desired == 5", 4, 6, Unknown),
        ("desired == 5", 6, 9, False),
        ("desired != 5", 5, 5, False),
        ("desired != 5", 4, 6, Unknown),
        ("desired != 5", 6, 9, True),
        ("desired == 4500m", 4, 5, Unknown),
        ("desired < 4500m", 4, 4, True),
        ("5 > desired", 2, 4, True),
        ("desired < max", 2, 9, True),
        ("desired < max", 2, 10, Unknown),
        ("max <= desired", 10, 10, True),
        ("desired > 5 or desired <= 5", 4, 6, Unknown),
        ("desired < 1e400", 0, i64::MAX, True),
        ("desired > -1e400", i64::MIN, 0, True),
    ] {
        let desired = Fact::Count { min, max };
        let found = truth(text, &unknown, &unknown, &desired);
        assert_eq!(found, expected, "{text} where it is {min} to {max}");
        assert_eq!(truth(text, &unknown, &unknown, &unknown), Unknown, "{text}");
    }
}

/// Whether an expression holds where run.short, run.mean, desired and delta are as given.
fn computed(text: &str) -> (Truth, Option<UnknownOperandCause>) {
    let facts = |field: &Field| match field.to_string().as_str() {
        "run.short" => {
            let length = SignedDuration::from_mins(15);
            Fact::Duration {
                min: length,
                max: length,
            }
        }
        "run.longestShort" => Fact::Duration {
            min: SignedDuration::from_mins(5),
            max: SignedDuration::from_mins(10),
        },
        "run.mean" => Fact::Fraction {
            numerator: 10,
            denominator: 3,
        },
        "metric.cpu.utilization" => Fact::Count { min: 60, max: 60 },
        "desired" => Fact::Count { min: 4, max: 6 },
        "delta" => Fact::Count { min: -2, max: 3 },
        "max" => Fact::Count { min: 10, max: 10 },
        _ => Fact::Unknown("not computed".into()),
    };
    let expression = Expression::parse(text).unwrap_or_else(|e| panic!("{text}: {e:?}"));
    (expression.root.truth(&facts), expression.root.lack(&facts))
}

#[test]
fn arithmetic_is_exact_and_keeps_bounds() {
    use Truth::{False, True, Unknown};
    for (text, expected) in [
        ("max == 2 + 2 * 4", True),
        ("max == (2 + 3) * 2", True),
        ("max == 20 - 5 - 5", True),
        ("max == 20 - (15 - 5)", True),
        ("max == 100 / 5 / 2", True),
        ("max == 7 * 10 / 7", True),
        ("max == -(-10)", True),
        ("-max == - 10", True),
        // None of which holds in floating point.
        ("max * 0.1 + 0.2 == 1.2", True),
        ("0.1 * max / max + 0.2 == 0.3", True),
        ("run.mean * 3 == max", True),
        (
            "run.mean * 9007199254740993 > max * 3002399751580331 - 1 + 0.999999999",
            True,
        ),
        ("max * 1e30 + 1 > max * 1e30", True),
        // A range, and negative factors.
        ("desired + 1 <= 7", True),
        ("desired * 2 <= 12", True),
        ("desired * 2 <= 11", Unknown),
        ("-desired <= -4", True),
        ("desired * -1 >= -5", Unknown),
        ("desired * -1 > -4", False),
        ("delta * -2 <= 4", True),
        ("delta * -2 < 4", Unknown),
        ("delta * delta <= 9", True),
        ("delta * delta >= -6", True),
        ("max / desired <= 2.5", True),
        ("max / desired >= 1.7", Unknown),
        ("max / -desired >= -2.5", True),
        // 10m is a duration where it has to be one.
        ("run.short == 10m + 5m", True),
        ("run.short == 15m", True),
        ("15m == run.short", True),
        ("run.short > 0", True),
        ("run.short == 7.5m * 2", True),
        ("run.short * 2 <= 0.5h", True),
        ("run.short / 10m == 1.5", True),
        ("run.short / 10m == 1500m", True),
        ("run.short * 100m == 90s", True),
        ("1h / run.short == 4", True),
        ("(run.short + 5m) / 2 == 10m", True),
        ("max * 10m == 100m", True),
        ("max * 10m == 1h40m", True),
        ("max * 6m == run.short * 4", True),
        ("max > 10m", True),
        ("max == 10000m", True),
        ("-10m < run.short", True),
        // A duration within bounds.
        ("run.longestShort <= 10m", True),
        ("run.longestShort < 10m", Unknown),
        ("run.longestShort < 5m", False),
        ("run.longestShort * 2 <= run.short", Unknown),
        ("run.longestShort + 5m <= run.short", True),
        // Percentages.
        ("metric.cpu.utilization == 60", True),
        ("metric.cpu.utilization * 1.5 == 90%", True),
        ("metric.cpu.utilization + 20 == 80%", True),
        ("metric.cpu.utilization / 120% == 0.5", True),
        ("max * metric.cpu.utilization / 30% == 20", True),
        ("current + 1 > 0", Unknown),
    ] {
        assert_eq!(computed(text), (expected, None), "{text}");
    }
    for (text, lack) in [
        ("max / 0 > 1", UnknownOperandCause::Zero),
        ("max / (max - 10) > 1", UnknownOperandCause::Zero),
        ("1 < max / delta", UnknownOperandCause::Zero),
        ("run.short / 0s > 1", UnknownOperandCause::Zero),
        ("max > 1e2000000000", UnknownOperandCause::Length),
        (
            "not max * 1e30000 * 1e30000 * 1e30000 > 1",
            UnknownOperandCause::Length,
        ),
    ] {
        assert_eq!(computed(text), (Unknown, Some(lack)), "{text}");
    }
    assert_eq!(
        computed("max / 0 > 1 and max < 2"),
        (False, Some(UnknownOperandCause::Zero))
    );
}

#[test]
fn a_value_that_is_computed_with_keeps_its_name() {
    for (text, is_plain) in [
        ("run.short < 1h", true),
        ("1h > run.short", true),
        ("desired <= 20 - 3", true),
        ("desired < max", true),
        ("not (desired > 2 and desired < 9)", true),
        ("run.short * 10m < 1h", false),
        ("run.atMax + 10m < 20m", false),
        ("-desired < 3", false),
        ("desired < desired * 2", false),
        ("desired < 9 or 2 * desired < 3", false),
    ] {
        let expression = Expression::parse(text).unwrap();
        let is = expression.root.lone_fields() == expression.fields.len();
        assert_eq!(is, is_plain, "{text}");
    }
}

#[test]
fn a_false_expectation_goes_before_an_unknown_one_and_that_before_a_change() {
    use Truth::{False, True, Unknown};
    for (truths, unchanged, code) in [
        (&[][..], None, 0),
        (&[True], None, 0),
        (&[True, Unknown], None, 4),
        (&[Unknown, False, True], None, 3),
        (&[], Some(True), 0),
        (&[], Some(False), 5),
        (&[], Some(Unknown), 4),
        (&[True], Some(False), 5),
        (&[Unknown], Some(False), 4),
        (&[False], Some(Unknown), 3),
    ] {
        let expectations: Vec<Expectation> = truths
            .iter()
            .map(|truth| Expectation::without_fields(String::new(), *truth, None))
            .collect();
        let verdict = ExpectationVerdict::of(&expectations, unchanged);
        assert_eq!(
            verdict.exit_code(),
            code,
            "{truths:?}, unchanged: {unchanged:?}"
        );
    }
}

#[test]
fn shorthands_are_expressions_under_the_names_that_are_typed() {
    use clap::ValueEnum;
    for shorthand in ExpectShorthand::value_variants() {
        let (name, text) = meaning(*shorthand);
        parse(text);
        let typed = shorthand.to_possible_value().unwrap();
        assert_eq!(typed.get_name(), name);
    }
    let args = ExpectArgs {
        fail_on: ExpectShorthand::value_variants()
            .iter()
            .copied()
            .map(FailOn::Condition)
            .collect(),
        ..ExpectArgs::default()
    };
    let gate = Gate::new(&args).unwrap();
    assert_eq!(gate.expected.len(), ExpectShorthand::value_variants().len());
    gate.check(&HpaSpec::default()).unwrap();
}

#[test]
fn an_error_says_where_in_which_expression() {
    let expect = |text: &str| ExpectArgs {
        expect: vec![text.to_owned()],
        ..ExpectArgs::default()
    };
    let error = Gate::new(&expect("limited and desird > 2")).unwrap_err();
    assert_eq!(error.kind.exit_code(), 2);
    assert_eq!(
        error.message,
        "failed to read an expectation: unknown field \"desird\""
    );
    assert_eq!(error.place, Some(("limited and desird > 2".to_owned(), 12)));
    let gate = Gate::new(&expect("metric.rps.desired > 2")).unwrap();
    let error = gate.check(&spec()).unwrap_err();
    assert_eq!(error.kind.exit_code(), 2);
    assert_eq!(error.place, Some(("metric.rps.desired > 2".to_owned(), 0)));
}

const NUMBERS: [PassField; 4] = [
    PassField::Desired,
    PassField::Delta,
    PassField::Max,
    PassField::Failed,
];
const FLAGS: [PassField; 3] = [PassField::Limited, PassField::Stale, PassField::Blocked];

fn metric_field(fields: &'static [MetricField]) -> impl Strategy<Value = Field> {
    let name = prop_oneof!["[a-z./:_-]{0,6}", any::<String>()];
    (name, prop::sample::select(fields)).prop_map(|(name, field)| Field::Metric(name, field))
}

fn run_field(fields: &'static [RunField]) -> impl Strategy<Value = Field> {
    let of = prop::sample::select(&[RunOf::Judged, RunOf::Replay]);
    (of, prop::sample::select(fields)).prop_map(|(of, field)| Field::Run(of, field))
}

fn number() -> impl Strategy<Value = Operand> {
    prop_oneof!["-?[0-9]{1,3}", "[0-9]\\.[0-9]{1,3}(m|k|Ki|e2)?", "[0-9]m"].prop_map(literal)
}

fn literal(text: String) -> Operand {
    let quantity = Quantity::parse(text.trim_end_matches('%')).unwrap();
    Operand::Number(Number { text, quantity })
}

/// Numbers with all kinds of arithmetic.
fn numbers() -> impl Strategy<Value = Operand> {
    use MetricField::{AverageValue, Desired, Value};
    let leaf = prop_oneof![
        number(),
        prop::sample::select(&NUMBERS).prop_map(|it| Operand::Field(Field::Pass(it))),
        metric_field(&[Desired, AverageValue, Value]).prop_map(Operand::Field),
        run_field(&[RunField::Mean, RunField::Rescales]).prop_map(Operand::Field),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        let chain = |signs: &'static [Sign]| {
            let next = (prop::sample::select(signs), inner.clone());
            (inner.clone(), prop::collection::vec(next, 1..4))
                .prop_map(|(first, rest)| Operand::Chain(Box::new(first), rest))
        };
        prop_oneof![
            chain(&[Sign::Plus, Sign::Minus]),
            chain(&[Sign::Times, Sign::Over]),
            inner
                .clone()
                .prop_map(|inner| Operand::Negative(Box::new(inner))),
        ]
    })
}

fn durations() -> impl Strategy<Value = Operand> {
    let text = prop_oneof!["[0-9]{1,3}(s|h|ms)", "[0-9]h[0-9]{1,2}m"];
    let typed = text.prop_map(|text| {
        let duration = crate::apimachinery::go::parse_duration(&text).unwrap();
        Operand::Duration { text, duration }
    });
    let leaf = prop_oneof![
        typed,
        run_field(&[RunField::Short, RunField::AtMax]).prop_map(Operand::Field)
    ];
    leaf.prop_recursive(3, 8, 3, |inner| {
        let sign = prop::sample::select(&[Sign::Plus, Sign::Minus]);
        let sum = prop::collection::vec((sign, inner.clone()), 1..3);
        let sign = prop::sample::select(&[Sign::Times, Sign::Over]);
        // What ends in m may be a duration here, too.
        let factor = "[1-9][0-9]?(\\.[0-9])?".prop_map(literal);
        let product = prop::collection::vec((sign, factor), 1..3);
        (inner, prop_oneof![sum, product])
            .prop_map(|(first, rest)| Operand::Chain(Box::new(first), rest))
    })
}

fn percentages() -> impl Strategy<Value = Operand> {
    prop_oneof![
        metric_field(&[MetricField::Utilization]).prop_map(Operand::Field),
        "[1-9][0-9]?%?".prop_map(literal),
        "0\\.[0-9]%".prop_map(literal),
    ]
}

fn has_field(operand: &Operand) -> bool {
    match operand {
        Operand::Field(_) => true,
        Operand::Number(_) | Operand::Duration { .. } => false,
        Operand::Negative(inner) => has_field(inner),
        Operand::Chain(first, rest) => {
            has_field(first) || rest.iter().any(|(_, next)| has_field(next))
        }
    }
}

fn node() -> impl Strategy<Value = Node> {
    let operator = prop::sample::select(vec![
        ComparisonOperator::Equal,
        ComparisonOperator::NotEqual,
        ComparisonOperator::AtMost,
        ComparisonOperator::AtLeast,
        ComparisonOperator::Less,
        ComparisonOperator::Greater,
    ]);
    let sides = prop_oneof![
        (numbers(), numbers()),
        (durations(), durations()),
        (percentages(), percentages()),
    ];
    let sides = sides.prop_filter("a field", |(left, right)| {
        has_field(left) || has_field(right)
    });
    let compare = (sides, operator)
        .prop_map(|((left, right), sign)| Node::Compare(Box::new(left), sign, Box::new(right)));
    let flag = prop::sample::select(&FLAGS).prop_map(|field| Node::Flag(Field::Pass(field)));
    prop_oneof![compare, flag].prop_recursive(5, 32, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 2..4).prop_map(Node::Any),
            prop::collection::vec(inner.clone(), 2..4).prop_map(Node::All),
            inner.prop_map(|inner| Node::Not(Box::new(inner))),
        ]
    })
}

/// What is known of a field: for each of the fields in turn, whether it is known, how wide its range
/// is and where.
#[derive(Debug, Clone)]
struct World {
    known: Vec<bool>,
    places: Vec<i8>,
    widths: Vec<u8>,
    more: Vec<u8>,
}

impl World {
    fn fact(&self, field: &Field, wider: bool) -> Fact {
        let text = field.to_string();
        let place = text.bytes().map(usize::from).sum::<usize>() % self.known.len();
        let more = self.more[place];
        if !self.known[place] || (wider && more % 4 == 3) {
            return Fact::Unknown("not computed".into());
        }
        let at = i64::from(self.places[place]);
        if FLAGS.iter().any(|flag| *field == Field::Pass(*flag)) {
            return Fact::Flag(at >= 0);
        }
        let more = if wider { i64::from(more) } else { 0 };
        Fact::Count {
            min: at - more,
            max: at + i64::from(self.widths[place]) + more / 2,
        }
    }
}

fn world() -> impl Strategy<Value = World> {
    use prop::collection::vec;
    (
        vec(any::<bool>(), 7),
        vec(-9..9_i8, 7),
        vec(prop_oneof![Just(0), 0..9_u8], 7),
        vec(0..9_u8, 7),
    )
        .prop_map(|(known, places, widths, more)| World {
            known,
            places,
            widths,
            more,
        })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_printed_reads_back(node in node()) {
        let text = printed(&node);
        let read = Expression::parse(&text);
        prop_assert_eq!(read.map(|expression| expression.root), Ok(node), "{}", text);
    }

    #[test]
    fn knowing_less_never_turns_an_answer(node in node(), world in world()) {
        let narrow = node.truth(&|field| world.fact(field, false));
        let wide = node.truth(&|field| world.fact(field, true));
        prop_assert!(wide == Truth::Unknown || wide == narrow, "{node:?}: {narrow:?}, then {wide:?}");
    }

    #[test]
    fn a_range_has_the_results_of_all_its_points(
        operand in numbers(),
        world in world(),
        at in prop::collection::vec(0..9_i64, 7),
    ) {
        let known = World { known: vec![true; 7], more: vec![0; 7], ..world };
        let point = |field: &Field| match known.fact(field, false) {
            Fact::Count { min, max } => {
                let n = min + at[field.to_string().len() % 7] % (max - min + 1);
                Fact::Count { min: n, max: n }
            }
            other => other,
        };
        if let Ok(range) = operand.range(&|field| known.fact(field, false)) {
            let point = operand.range(&point);
            prop_assert!(
                matches!(&point, Ok(at) if at.min == at.max && range.min <= at.min && at.max <= range.max),
                "{operand:?}: {point:?} is outside of {range:?}"
            );
        }
    }

    #[test]
    fn no_text_makes_the_parser_panic(
        text in prop_oneof![
            any::<String>(),
            "(desired|limited|metric\\.|\"|\\\\|and|or|not|\\(|\\)|<|==|=|20|80%|ö| |run\\.short|10m|1h|\\+|-|\\*|/){0,12}",
        ]
    ) {
        match Expression::parse(&text) {
            Ok(expression) => {
                let shown = printed(&expression.root);
                prop_assert_eq!(Expression::parse(&shown).unwrap().root, expression.root);
            }
            Err(e) => prop_assert!(text.is_char_boundary(e.at), "{} in {text:?}", e.at),
        }
    }
}
