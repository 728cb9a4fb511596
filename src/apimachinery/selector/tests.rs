//! Tables after upstream's grammar, validations and messages, and properties that hold for all.

use proptest::prelude::*;

use super::*;
use crate::apimachinery::json::decode;

const NAME: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and \
    end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used \
    for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, \
    '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or \
    'my_value',  or '12345', regex used for validation is \
    '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const INTEGER: &str = "for 'Gt', 'Lt' operators, the value must be an integer";
const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric \
    characters, '-' or '.', and must start and end with an alphanumeric character (e.g. \
    'example.com', regex used for validation is \
    '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

fn selector(text: &str) -> Selector {
    Selector::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn error(text: &str) -> String {
    Selector::parse(text).expect_err(text).to_string()
}

fn label_selector(json: &str) -> LabelSelector {
    decode(json).unwrap()
}

#[test]
fn selectors_print_as_upstream() {
    let cases = [
        ("", ""),
        ("  ", ""),
        ("x=a,y=b,z=c", "x=a,y=b,z=c"),
        ("z=c, y = b ,x=a", "x=a,y=b,z=c"),
        ("x==a", "x==a"),
        ("x!=a", "x!=a"),
        ("x=", "x="),
        ("x= ,z= ", "x=,z="),
        ("x", "x"),
        ("\rx", "x"),
        ("! x", "!x"),
        ("x>1,z<5", "x>1,z<5"),
        ("x in (b,a,b)", "x in (a,b)"),
        ("x notin\n\t( b )", "x notin (b)"),
        ("x in ()", "x in ()"),
        ("x in (,)", "x in ()"),
        ("x in (a,)", "x in (,a)"),
        ("x in (,a)", "x in (,a)"),
        ("x in (a,,b)", "x in (,a,b)"),
        ("in in (in,notin)", "in in (in,notin)"),
        ("notin=in", "notin=in"),
        ("!in", "!in"),
        ("b,a=2,a=1", "a=2,a=1,b"),
        (
            "0.1.2.domain/99 notin (10.10.100.1, tick.tack.clock)",
            "0.1.2.domain/99 notin (10.10.100.1,tick.tack.clock)",
        ),
        // A NUL ends the text, except right after a token.
        ("x \0 y", "x"),
        ("x=\0a\0,y", "x=a,y"),
    ];
    for (text, printed) in cases {
        assert_eq!(selector(text).to_string(), printed, "{text}");
    }
}

#[test]
fn syntax_errors_read_as_upstream() {
    let cases = [
        ("app=web=x", "found '=', expected: ',' or 'end of string'"),
        ("x==a==b", "found '==', expected: ',' or 'end of string'"),
        ("!x=a", "found '=', expected: ',' or 'end of string'"),
        ("!x in (a)", "found 'in', expected: ',' or 'end of string'"),
        ("x=a b", "found 'b', expected: ',' or 'end of string'"),
        ("x,", "found '', expected: identifier after ','"),
        ("x,=", "found '=', expected: identifier after ','"),
        (
            ",x",
            "found ',', expected: !, identifier, or 'end of string'",
        ),
        (
            "=a",
            "found '=', expected: !, identifier, or 'end of string'",
        ),
        (
            "!",
            "unable to parse requirement: found '', expected: identifier",
        ),
        (
            "!!x",
            "unable to parse requirement: found '!', expected: identifier",
        ),
        (
            "x=(",
            "unable to parse requirement: found '(', expected: identifier",
        ),
        (
            "x==!a",
            "unable to parse requirement: found '!', expected: identifier",
        ),
        (
            "x y",
            "unable to parse requirement: found 'y', expected: in, notin, =, ==, !=, gt, lt",
        ),
        (
            "x(",
            "unable to parse requirement: found '(', expected: in, notin, =, ==, !=, gt, lt",
        ),
        (
            "x in a",
            "unable to parse requirement: found 'a' expected: '('",
        ),
        (
            "x in",
            "unable to parse requirement: found '' expected: '('",
        ),
        (
            "x in (",
            "unable to parse requirement: found '', expected: ',', ')' or identifier",
        ),
        (
            "x in (=",
            "unable to parse requirement: found '=', expected: ',', ')' or identifier",
        ),
        (
            "x in (a",
            "unable to parse requirement: found '', expected: ',' or ')'",
        ),
        (
            "x in (a b)",
            "unable to parse requirement: found 'b', expected: ',' or ')'",
        ),
        (
            "x in (a,",
            "unable to parse requirement: found '', expected: ',', or identifier",
        ),
        (
            "x in (,=",
            "unable to parse requirement: found '=', expected: ',', or identifier",
        ),
    ];
    for (text, message) in cases {
        assert_eq!(error(text), message, "{text}");
    }
}

#[test]
fn faulty_keys_and_values_read_as_upstream() {
    let long = "a".repeat(64);
    let longer = format!("{}/a", "a".repeat(254));
    let unable = "unable to parse requirement: ";
    let of_key =
        |key: &str, faults: &str| format!("{unable}<nil>: Invalid value: \"{key}\": {faults}");
    let of_x = |value: &str, faults: &str| {
        format!("{unable}values[0][x]: Invalid value: \"{value}\": {faults}")
    };
    let cases = [
        ("-x".to_owned(), of_key("-x", &format!("name part {NAME}"))),
        (
            "x/".to_owned(),
            of_key(
                "x/",
                &format!("name part must be non-empty; name part {NAME}"),
            ),
        ),
        (
            "/x".to_owned(),
            of_key("/x", "prefix part must be non-empty"),
        ),
        (
            "A_/x".to_owned(),
            of_key("A_/x", &format!("prefix part {SUBDOMAIN}")),
        ),
        (
            "a/b/c".to_owned(),
            of_key(
                "a/b/c",
                &format!(
                    "a valid label key {NAME} with an optional DNS subdomain prefix and '/' (e.g. \
                     'example.com/MyName')"
                ),
            ),
        ),
        (
            long.clone(),
            of_key(&long, "name part must be no more than 63 bytes"),
        ),
        (
            longer.clone(),
            of_key(&longer, "prefix part must be no more than 253 bytes"),
        ),
        ("x=a||y".to_owned(), of_x("a||y", VALUE)),
        ("x=é\u{7f}\"".to_owned(), of_x("é\\x7f\\\"", VALUE)),
        (
            format!("x={long}"),
            of_x(&long, "must be no more than 63 bytes"),
        ),
        (
            format!("x={long}-"),
            of_x(
                &format!("{long}-"),
                &format!("must be no more than 63 bytes; {VALUE}"),
            ),
        ),
        (
            "x<a".to_owned(),
            format!("{unable}values[0]: Invalid value: \"a\": {INTEGER}"),
        ),
        (
            "x>".to_owned(),
            format!("{unable}values[0]: Invalid value: \"\": {INTEGER}"),
        ),
        ("x>-1".to_owned(), of_x("-1", VALUE)),
        (
            "x>-".to_owned(),
            format!(
                "{unable}[values[0]: Invalid value: \"-\": {INTEGER}, values[0][x]: \
                 Invalid value: \"-\": {VALUE}]"
            ),
        ),
        (
            "x in (_,a,-)".to_owned(),
            format!(
                "{unable}[values[0][x]: Invalid value: \"-\": {VALUE}, \
                 values[1][x]: Invalid value: \"_\": {VALUE}]"
            ),
        ),
    ];
    for (text, message) in cases {
        assert_eq!(error(&text), message, "{text}");
    }
}

#[test]
fn selectors_match_as_upstream() {
    let labels: Labels = [("x", "foo"), ("y", "baz"), ("n", "2"), ("empty", "")]
        .into_iter()
        .collect();
    let matching = [
        "",
        "x",
        "!z",
        "x=foo",
        "x==foo",
        "x=foo,y=baz",
        "x in (foo,bar)",
        "x notin (bar)",
        "z notin (a)",
        "x!=bar",
        "z!=a",
        "n>1",
        "n<3",
        "empty=",
        "empty in ()",
        "z notin ()",
    ];
    let other = [
        "z",
        "!x",
        "x=bar",
        "x=foo,y=bar",
        "x in (bar)",
        "x notin (foo)",
        "x!=foo",
        "z=",
        "z in ()",
        "n>2",
        "n<2",
        "x>1",
        "z>1",
        "z<1",
        "empty>0",
        "empty!=",
    ];
    for text in matching {
        assert!(selector(text).matches(&labels), "{text}");
    }
    for text in other {
        assert!(!selector(text).matches(&labels), "{text}");
    }
    assert!(Selector::default().matches(&Labels::default()));
    assert!(Selector::default().is_empty());
    assert!(!selector("x").is_empty());
}

#[test]
fn labels_of_which_some_are_missing_may_match() {
    let labels: Labels = [("x", "foo")].into_iter().collect();
    for (text, want) in [
        ("", true),
        ("x=foo", true),
        ("x=foo,y=baz", true),
        ("y in (a,b)", true),
        ("y", true),
        ("x=bar", false),
        ("x!=foo,y=baz", false),
        ("!x", false),
    ] {
        assert_eq!(selector(text).may_match(&labels), want, "{text}");
    }
}

#[test]
fn an_example_has_the_labels_that_are_required() {
    let example = selector("a=1,b==2,c in (4,3),d,!e,f!=5,g notin (6),h>7").example();
    let labels: Vec<_> = example.iter().collect();
    assert_eq!(labels, [("a", "1"), ("b", "2"), ("c", "3"), ("d", "")]);
}

#[test]
fn scale_selectors_are_normalized_as_by_the_client() {
    let cases = [
        ("", Ok("")),
        ("y == b, x=a", Ok("x=a,y=b")),
        ("x in (b,a),!y,z", Ok("x in (a,b),!y,z")),
        ("x=a,x=b", Ok("x=b")),
        ("x in (a),x=b", Ok("x=b,x in (a)")),
        ("x!=a", Err("\"!=\" is not a valid label selector operator")),
        ("x>1", Err("\"gt\" isn't supported in label selectors")),
        ("x<1", Err("\"lt\" isn't supported in label selectors")),
    ];
    for (text, expected) in cases {
        let normalized = selector(text).normalized();
        let printed = normalized
            .as_ref()
            .map(ToString::to_string)
            .map_err(ToString::to_string);
        assert_eq!(
            printed,
            expected.map(str::to_owned).map_err(str::to_owned),
            "{text}"
        );
    }
}

#[test]
fn label_selectors_become_selectors() {
    let cases = [
        ("{}", Ok(String::new())),
        (
            r#"{"matchLabels": {"b": "2", "a": "1"}, "matchExpressions": [
                {"key": "a", "operator": "In", "values": ["y", "x"]},
                {"key": "c", "operator": "Exists"},
                {"key": "0", "operator": "DoesNotExist"},
                {"key": "d", "operator": "NotIn", "values": ["v"]}
            ]}"#,
            Ok("!0,a=1,a in (x,y),b=2,c,d notin (v)".to_owned()),
        ),
        (
            r#"{"matchExpressions":[{"key":"a","operator":"in"}]}"#,
            Err(r#""in" is not a valid label selector operator"#.to_owned()),
        ),
        (
            r#"{"matchExpressions":[{"key":"a"}]}"#,
            Err(r#""" is not a valid label selector operator"#.to_owned()),
        ),
        (
            r#"{"matchExpressions":[{"key":"a","operator":"In"}]}"#,
            Err(
                "values: Invalid value: null: for 'in', 'notin' operators, values set can't be \
                 empty"
                    .to_owned(),
            ),
        ),
        (
            r#"{"matchExpressions":[{"key":"a","operator":"Exists","values":["b","<"]}]}"#,
            Err(format!(
                "[values: Invalid value: [\"b\",\"\\u003c\"]: values set must be empty for \
                 exists and does not exist, values[1][a]: Invalid value: \"<\": {VALUE}]"
            )),
        ),
        (
            r#"{"matchLabels":{"a b":"-"}}"#,
            Err(format!(
                "[key: Invalid value: \"a b\": name part {NAME}, \
                 values[0][a b]: Invalid value: \"-\": {VALUE}]"
            )),
        ),
    ];
    for (json, expected) in cases {
        let made = label_selector(json).to_selector();
        assert_eq!(
            made.map(|s| s.to_string()).map_err(|e| e.to_string()),
            expected,
            "{json}"
        );
    }
}

#[test]
fn label_selectors_read_and_write_json() {
    let json = concat!(
        r#"{"matchLabels":{"a":"1"},"matchExpressions":[{"key":"k","operator":"In","#,
        r#""values":["x"]},{"key":"l","operator":"Exists"}]}"#
    );
    assert_eq!(serde_json::to_string(&label_selector(json)).unwrap(), json);
    assert_eq!(
        serde_json::to_string(&LabelSelector::default()).unwrap(),
        "{}"
    );
    let nulls = r#"{"matchLabels":null,"matchExpressions":null}"#;
    assert_eq!(label_selector(nulls), LabelSelector::default());
    let deeper = label_selector(
        r#"{"matchLabels": {"a": null}, "matchExpressions": [
            null,
            {"key": null, "operator": null, "values": [null]}
        ]}"#,
    );
    assert_eq!(deeper.match_labels["a"], "");
    assert_eq!(
        deeper.match_expressions[0],
        LabelSelectorRequirement::default()
    );
    assert_eq!(deeper.match_expressions[1].values, [""]);
}

#[test]
fn label_selectors_print_like_go() {
    let full = r#"{"matchLabels": {"k2": "v2", "k": "v"}, "matchExpressions": [
        {"key": "a", "operator": "In", "values": ["y", "x"]},
        {"key": "b", "operator": "Exists"}
    ]}"#;
    let cases = [
        (None, "nil"),
        (
            Some("{}"),
            "&LabelSelector{MatchLabels:map[string]string{},\
             MatchExpressions:[]LabelSelectorRequirement{},}",
        ),
        (
            Some(r#"{"matchLabels":{"queue":"w"}}"#),
            "&LabelSelector{MatchLabels:map[string]string{queue: w,},\
             MatchExpressions:[]LabelSelectorRequirement{},}",
        ),
        (
            Some(full),
            "&LabelSelector{MatchLabels:map[string]string{k: v,k2: v2,},\
             MatchExpressions:[]LabelSelectorRequirement{\
             LabelSelectorRequirement{Key:a,Operator:In,Values:[y x],},\
             LabelSelectorRequirement{Key:b,Operator:Exists,Values:[],},},}",
        ),
    ];
    for (json, text) in cases {
        let selector = json.map(label_selector);
        assert_eq!(LabelSelector::go_string(selector.as_ref()), text);
    }
}

#[test]
fn labels_are_a_map() {
    let twice = serde_json::from_str::<Labels>(r#"{"b":"1","a":"x","b":"1"}"#).unwrap_err();
    assert!(twice.to_string().starts_with("duplicate field `b`"));
    let labels: Labels = decode(r#"{"b":"3","n":null,"a":"x"}"#).unwrap();
    assert_eq!(
        labels.iter().collect::<Vec<_>>(),
        [("a", "x"), ("b", "3"), ("n", "")]
    );
    assert_eq!(
        (labels.get("b"), labels.get("n"), labels.get("c")),
        (Some("3"), Some(""), None)
    );
    assert_eq!(
        serde_json::to_string(&labels).unwrap(),
        r#"{"a":"x","b":"3","n":""}"#
    );
    assert_eq!(format!("{labels:?}"), r#"{"a": "x", "b": "3", "n": ""}"#);
    assert_eq!(
        labels,
        [("n", ""), ("b", "0"), ("a", "x"), ("b", "3")]
            .into_iter()
            .collect()
    );
    let none: Labels = decode("null").unwrap();
    assert!(none.is_empty() && !labels.is_empty());
    let other = serde_json::from_str::<Labels>("1").unwrap_err().to_string();
    assert!(other.contains("expected a map of labels"), "{other}");
    let by_value: Labels = serde_json::from_value(serde_json::json!({"a": "x"})).unwrap();
    assert_eq!(by_value.get("a"), Some("x"));
    assert!(serde_json::from_str::<Labels>("[]").is_err());
}

fn words() -> impl Strategy<Value = Vec<&'static str>> {
    let word = prop::sample::select(vec![
        "a", "b", "in", "notin", "1", "-", "x/y", " ", "=", "==", "!=", "!", "(", ")", ",", "<",
        ">", "\0", "\n", "é",
    ]);
    prop::collection::vec(word, 0..12)
}

fn valid() -> impl Strategy<Value = String> {
    let requirement = prop_oneof![
        "[ab]{1,2} ?(=|==|!=) ?[xy]{0,2}",
        "[ab]{1,2} (in|notin) \\((,|[xy]{1,2},){0,3}[xy]{0,1}\\)",
        "!?[ab]{1,2}",
        "[ab][<>][0-9]{1,3}",
    ];
    prop::collection::vec(requirement, 0..5).prop_map(|all| all.join(","))
}

fn some_labels() -> impl Strategy<Value = Labels> {
    prop::collection::vec(("[ab]{1,2}", "[xy]{0,2}|[0-9]{1,3}"), 0..4)
        .prop_map(|pairs| pairs.into_iter().collect())
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "\\PC*", words in words()) {
        let _ = Selector::parse(&text);
        let _ = Selector::parse(&words.concat());
    }

    #[test]
    fn printing_and_reading_keeps_the_selector(text in valid()) {
        let selector = Selector::parse(&text).unwrap();
        prop_assert_eq!(Selector::parse(&selector.to_string()).unwrap(), selector);
    }

    #[test]
    fn normalizing_keeps_what_matches(text in valid(), labels in some_labels()) {
        let selector = Selector::parse(&text).unwrap();
        // Values for one key displace each other.
        let equalities = text.matches('=').count();
        if let (Ok(normalized), 0..=1) = (selector.normalized(), equalities) {
            prop_assert_eq!(normalized.matches(&labels), selector.matches(&labels));
            prop_assert_eq!(normalized.normalized().unwrap(), normalized);
        }
    }

    #[test]
    fn labels_are_those_of_a_map(
        pairs in prop::collection::vec(("[a-c]{0,2}", "[a-c]{0,2}"), 0..6),
    ) {
        let labels: Labels = pairs.clone().into_iter().collect();
        let map: std::collections::BTreeMap<String, String> = pairs.into_iter().collect();
        prop_assert!(labels.iter().eq(map.iter().map(|(key, value)| (&**key, &**value))));
        for (key, value) in &map {
            prop_assert_eq!(labels.get(key), Some(&**value));
        }
        let read: Labels = serde_json::from_str(&serde_json::to_string(&labels).unwrap()).unwrap();
        prop_assert_eq!(read, labels);
    }
}
