//! The console blocks of the README and of docs/ run as tests: what they show is what the program
//! prints.

use trycmd::TestCases;

/// Its blocks play a week eleven times, which takes longer than all others together. `pictures` shows the first of them.
const WEEKS: &str = "docs/backtest.md";

fn blocks() -> TestCases {
    let blocks = TestCases::new();
    blocks.env("LC_ALL", "C.UTF-8");
    blocks
}

#[test]
fn console_blocks_show_what_the_program_prints() {
    blocks().case("README.md").case("docs/*.md").skip(WEEKS);
}

#[test]
#[ignore = "plays weeks: cargo test --release --test program -- --ignored"]
fn console_blocks_of_a_week_show_what_the_program_prints() {
    blocks().case(WEEKS);
}
