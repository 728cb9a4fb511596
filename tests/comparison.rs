//! What this pass would write beside what the controller last wrote: which items differ, and the
//! reasons that are given, situation by situation. That they are true of a real controller is held
//! by `tests/trajectories.rs`.

mod common;
#[path = "common/written.rs"]
mod written;

use serde_json::Value;
use written::CASES;

fn compared(input: &str) -> Value {
    let input = common::read(input).unwrap_or_else(|e| panic!("{e}: {input}"));
    common::explain(&input).1["comparison"].take()
}

fn texts<'v>(list: &'v Value, field: &str) -> Vec<&'v str> {
    let list = list.as_array().expect("a list").iter();
    list.map(|it| it[field].as_str().expect("a text")).collect()
}

#[test]
fn each_difference_has_its_reason() {
    for case in &CASES {
        let found = compared(&case.input());
        let rows = found["rows"].as_array().expect("rows");
        let differ: Vec<&Value> = rows.iter().filter(|row| row["differs"] == true).collect();
        let names: Vec<&str> = differ.iter().filter_map(|row| row["name"].as_str()).collect();
        let codes = texts(&found["reasons"], "code");
        assert_eq!((&codes[..], &names[..]), (case.codes, case.rows), "{}: {found:#}", case.name);
        assert_eq!(found["differs"], !differ.is_empty(), "{}", case.name);
        for row in rows {
            let because = row["because"].as_array().expect("codes");
            assert_eq!(because.is_empty(), row["differs"] == false, "{}: {row:#}", case.name);
        }
    }
}
