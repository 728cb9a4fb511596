//! The console blocks of the README and of docs/ run as tests: what they show is what the program
//! prints.

#[test]
fn console_blocks_show_what_the_program_prints() {
    trycmd::TestCases::new()
        .env("LC_ALL", "C.UTF-8")
        .case("README.md")
        .case("docs/*.md");
}
