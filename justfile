# The commands that a contributor needs; `just` lists them.

_default:
    @just --list

# run every check that must pass before a change lands
check:
    .ci/run

# run all tests, or those that match a name: just test vectors
test *NAMES:
    cargo test {{ NAMES }}

# run the long tests, which take minutes each
long:
    cargo test --release --test answers --test program -- --ignored --nocapture

# fuzz each target, or those that match a name, for SECONDS: just fuzz 600 selector
fuzz SECONDS='60' *NAMES:
    FUZZ_SECONDS={{ SECONDS }} cargo test --release --test fuzz -- --ignored --nocapture {{ NAMES }}

# look for changes to the code that no test notices: just mutants src/engine/behavior.rs
mutants FILES:
    cargo mutants -f '{{ FILES }}'

# format and lint
lint:
    cargo fmt --all
    cargo clippy --workspace --all-targets -- -D warnings

# regenerate completions, man pages, pictures, docs/findings.md and docs/advice.md, tables of docs/fidelity.md, copies in schema/, and the console blocks of README and docs/
generate:
    UPDATE_SCHEMA=1 cargo test --test answers schema
    UPDATE_FINDINGS=1 cargo test --test answers findings
    UPDATE_FIDELITY=1 cargo test --test answers fidelity
    UPDATE_COMPLETIONS=1 cargo test --test program completions
    UPDATE_MAN=1 cargo test --test program man
    UPDATE_PICTURES=1 cargo test --test program pictures
    TRYCMD=overwrite cargo test --test program readme -- --include-ignored

# measure the time and memory of a pass, and of the whole command compared with kubectl
bench:
    cargo bench -p kubectl-hpa-bench
    cargo bench --bench live

# build a release archive: just package linux-amd64
package PLATFORM='linux-amd64':
    cargo build --release
    scripts/package target/release/kubectl-hpa {{ PLATFORM }} dist

# install the release in an empty directory and try it
check-install:
    cargo build --release
    scripts/check-install target/release/kubectl-hpa
