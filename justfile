# The few commands that a contributor needs; `just` lists them.

_default:
    @just --list

# everything that has to hold before a change lands
check:
    .ci/run

# the tests, or those of a name: just test vectors
test *NAMES:
    cargo test {{ NAMES }}

# the long forms of tests, which take minutes each
long:
    cargo test --release --test answers --test program -- --ignored --nocapture

# any bytes for each target of fuzz/, or those of a name, for so many seconds: just fuzz 600 selector
fuzz SECONDS='60' *NAMES:
    FUZZ_SECONDS={{ SECONDS }} cargo test --release --test fuzz -- --ignored --nocapture {{ NAMES }}

# format and lint
lint:
    cargo fmt
    cargo clippy --all-targets -- -D warnings

# write anew what is generated: completions, man pages, copies within schema/, the blocks of README and docs/
generate:
    UPDATE_SCHEMA=1 cargo test --test answers schema
    UPDATE_COMPLETIONS=1 cargo test --test program completions
    UPDATE_MAN=1 cargo test --test program man
    TRYCMD=overwrite cargo test --test program readme

# the time and memory of a pass, and of the whole command beside kubectl
bench:
    cargo bench --bench reconcile
    cargo bench --bench live

# pack the archive of a release: just package linux-amd64
package PLATFORM='linux-amd64':
    cargo build --release
    scripts/package target/release/kubectl-hpa {{ PLATFORM }} dist

# install it in an empty folder and try it
check-install:
    cargo build --release
    scripts/check-install target/release/kubectl-hpa
