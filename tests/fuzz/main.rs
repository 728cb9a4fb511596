//! The targets of `fuzz/` on stable Rust: a short run of each with inputs that are always the same, and
//! a long one that continues with new inputs. A failure is written to a file, as are
//! the seeds for cargo-fuzz.
#![allow(clippy::print_stdout, reason = "the long run says what it did")]

mod mutate;
mod seeds;
#[path = "../../fuzz/src/lib.rs"]
mod targets;

use std::any::Any;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::thread;
use std::time::{Duration, Instant};

use mutate::Corpus;

/// A short test and a long one of each target, with the number of inputs that the short one tries in
/// addition to some seeds.
macro_rules! targets {
    ($($name:ident: $count:literal,)+) => {
        $(
            mod $name {
                use super::{long, seeds, short, targets, with_stack};

                const NAME: &str = stringify!($name);

                #[test]
                fn some() {
                    with_stack(|| short(NAME, &seeds::$name(), targets::$name, $count));
                }

                #[test]
                #[ignore = "FUZZ_SECONDS: cargo test --release --test fuzz -- --ignored"]
                fn many() {
                    with_stack(|| long(NAME, &seeds::$name(), targets::$name));
                }
            }
        )+
    };
}

targets! {
    answers: 10,
    document: 100,
    duration: 5000,
    expression: 5000,
    hpa: 300,
    kubeconfig: 60,
    predict: 30,
    prometheus: 1000,
    quantity: 5000,
    range: 3000,
    scaled_object: 1000,
    selector: 2000,
    snapshot: 12,
    text: 500,
    trace: 1000,
}

type Target = fn(&[u8]);

/// Runs with the stack size of a program; a test's is smaller.
fn with_stack(run: impl FnOnce() + Send) {
    thread::scope(|scope| {
        let thread = thread::Builder::new()
            .stack_size(8 << 20)
            .spawn_scoped(scope, run);
        if let Err(panic) = thread.expect("a thread").join() {
            panic::resume_unwind(panic);
        }
    });
}

/// Runs the first inputs of a target.
fn short(name: &str, corpus: &Corpus, target: Target, count: u64) {
    let seeds = corpus.seeds();
    let mut failures = Failures::new(name, target);
    let some = usize::try_from(count / 2).expect("a few").min(seeds.len());
    for seed in seeds.iter().step_by(seeds.len() / some) {
        failures.run(seed);
    }
    for number in 0..count {
        failures.run(&corpus.input(number));
    }
    failures.assert_none();
}

/// Runs inputs of a target for the configured number of seconds, from the configured number on; or the one
/// in a file.
fn long(name: &str, corpus: &Corpus, target: Target) {
    if let Some(file) = std::env::var_os("FUZZ_INPUT") {
        return target(&fs::read(file).expect("the file of FUZZ_INPUT"));
    }
    let number = |variable| {
        std::env::var(variable)
            .ok()
            .and_then(|text| text.parse().ok())
    };
    let end = Duration::from_secs(number("FUZZ_SECONDS").unwrap_or(60));
    let first = number("FUZZ_FROM").unwrap_or(0);
    let mut failures = Failures::new(name, target);
    write_seeds(&failures.directory.join("seeds"), corpus);
    for seed in corpus.seeds() {
        failures.run(seed);
    }
    let begun = Instant::now();
    let (mut next, mut time, mut told) = (first, Duration::ZERO, Duration::ZERO);
    let mut slowest = (Duration::ZERO, first);
    while time < end {
        failures.run(&corpus.input(next));
        let before = std::mem::replace(&mut time, begun.elapsed());
        slowest = slowest.max((time - before, next));
        next += 1;
        if time > told + Duration::from_secs(60) {
            println!("{name}: at number {next} after {time:.0?}");
            told = time;
        }
    }
    let (count, (longest, slow)) = (next - first, slowest);
    println!(
        "{name}: numbers {first} to {next} are {count} inputs in {time:.0?}; {slow} took {longest:.1?}"
    );
    failures.assert_none();
}

/// The places at which a target panics.
struct Failures<'n> {
    name: &'n str,
    target: Target,
    /// The directory for their inputs.
    directory: PathBuf,
    /// With the number of failures, and the shortest input.
    places: BTreeMap<String, (u64, Vec<u8>, String)>,
}

impl<'n> Failures<'n> {
    fn new(name: &'n str, target: Target) -> Self {
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join("fuzz")
            .join(name);
        Self {
            name,
            target,
            directory,
            places: BTreeMap::new(),
        }
    }

    fn run(&mut self, input: &[u8]) {
        let Some((place, said)) = panic_of(|| (self.target)(input)) else {
            return;
        };
        let (count, shortest, saying) = self.places.entry(place).or_default();
        if *count == 0 || input.len() < shortest.len() {
            (*shortest, *saying) = (input.to_vec(), said);
        }
        *count += 1;
    }

    fn assert_none(&self) {
        fs::create_dir_all(&self.directory).expect("a directory below target/");
        let tell = |(place, (count, input, said)): (&String, &(u64, Vec<u8>, String))| {
            let file = self.directory.join(place.replace(['/', '\\', ':'], "-"));
            fs::write(&file, input).expect("a file below target/");
            let said: String = said.chars().take(2000).collect();
            let file = file.display();
            format!(
                "{} panics at {place} on {count} inputs, such as {file}: {said}",
                self.name
            )
        };
        let told: Vec<String> = self.places.iter().map(tell).collect();
        assert!(told.is_empty(), "{}", told.join("\n"));
    }
}

thread_local! {
    /// The last panic while a target runs.
    static PANIC: RefCell<Option<(String, String)>> = const { RefCell::new(None) };
}

/// Returns where something panics, and its message.
fn panic_of(run: impl FnOnce()) -> Option<(String, String)> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            PANIC.with_borrow_mut(|panic| match panic {
                Some(panic) => {
                    let place = info.location().map(ToString::to_string).unwrap_or_default();
                    *panic = (place, said(info.payload()));
                }
                None => usual(info),
            });
        }));
    });
    PANIC.set(Some(Default::default()));
    let ran = panic::catch_unwind(AssertUnwindSafe(run));
    PANIC.take().filter(|_| ran.is_err())
}

fn said(payload: &dyn Any) -> String {
    let text = payload.downcast_ref::<String>().cloned();
    text.or_else(|| payload.downcast_ref::<&str>().map(ToString::to_string))
        .unwrap_or_default()
}

/// Writes the seeds as cargo-fuzz expects them.
fn write_seeds(directory: &Path, corpus: &Corpus) {
    fs::create_dir_all(directory).expect("a directory below target/");
    for (place, seed) in corpus.seeds().iter().enumerate() {
        fs::write(directory.join(place.to_string()), seed).expect("a file below target/");
    }
}
