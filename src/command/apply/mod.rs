//! `apply`: runs the pass on fresh data, and writes its result once. Only reads are sent before the write;
//! after it, whatever happens, the answer says whether it took effect.

mod agreed;
mod plan;

use std::cell::Cell;
use std::time::Duration;

use futures_util::future::{Either, select};
use tokio::pin;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep};

use self::agreed::Agreed;
use self::plan::WritePlan;
use super::interrupt::Interrupts;
use super::load::Query;
use super::named::name;
use super::progress::shown;
use super::remember::watch;
use super::state::options;
use super::{Answer, Terminal, connected};
use crate::apply::{ApplyOutcome, Change, Extra, moved};
use crate::args::{Apply, ApplyOutput, DryRun, How, NamedRequest};
use crate::cluster::observed::ScaleAt;
use crate::cluster::write::hpa;
use crate::cluster::write::hpa::{Happened, Read};
use crate::cluster::write::scale;
use crate::cluster::write::settle::{After, Fate, Told, after};
use crate::cluster::write::wait::{WaitEnd, Waited, wait};
use crate::cluster::{Failure, Session};
use crate::error::Error;
use crate::render::style::clean;
use crate::render::{page, structured};
use crate::report::Explanation;
use crate::report::apply::{ApplyResult, question};
use crate::report::page::Page;
use crate::snapshot::input::Options;

/// The time to wait for the response to a write after a signal.
const GRACE: Duration = Duration::from_secs(1);

/// The first pause before starting over, and the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LAST_PAUSE: Duration = Duration::from_secs(5);

/// The number of consecutive requests of a whole run, with one more for a custom kind.
const ROUNDS: u32 = 6;

/// Applies the pass of one HPA; the text is for standard output.
pub fn run(args: &Apply, terminal: &Terminal) -> Result<Answer, Error> {
    let asks = check(args, terminal)?;
    let request = NamedRequest::read(&args.names, &args.connection)?;
    let options = options(
        (&args.controller, &args.memory),
        &request.connection,
        &[],
        request.one("apply")?,
    );
    let query = Query::read(&args.prometheus, Vec::new(), &request.connection)?;
    let (plan, mut messages, warned) = connected(&request.connection, async |session| {
        let interrupts = Interrupts::listen(session)?;
        let name = interrupts.before(name(session, &options)).await??;
        let options = Options {
            name,
            target: None,
            ..options.clone()
        };
        let run = Attempts {
            session,
            args,
            options: &options,
            query: query.as_ref(),
            terminal,
            interrupts,
        };
        run.attempts(asks).await
    })?;
    messages.extend(plan.messages.iter().cloned());
    let explanation = Explanation::new(&plan.pass);
    let page = terminal.shown(Page::of_plan(&explanation, &plan.applied));
    let result = ApplyResult::new(explanation, &plan.applied);
    let text = match args.output {
        Some(ApplyOutput::Json) => structured::json(&result)?,
        Some(ApplyOutput::Yaml) => structured::yaml(&result)?,
        Some(ApplyOutput::Name) => {
            if !plan.is_told {
                messages.extend(page.assuming);
            }
            if plan.applied.result == ApplyOutcome::NothingDue {
                messages.extend(result.lines().into_iter().map(|(_, text)| text));
            }
            let name = result.done(true).map(|line| line + "\n");
            name.unwrap_or_default()
        }
        None => {
            let untold = (!plan.is_told).then_some(&page);
            text(untold, &result, terminal)
        }
    };
    let errors = result.errors().into_iter().chain(warned).collect();
    Ok(Answer {
        text,
        messages,
        errors,
        exit_code: plan.applied.exit_code(),
        written: result.written(),
        ..Answer::default()
    })
}

/// Rejects flags that exclude each other. Returns whether to ask before the write.
fn check(args: &Apply, terminal: &Terminal) -> Result<bool, Error> {
    if args.controller.now.is_some() {
        return Err(
            Error::usage("apply works on the current state and does not accept --now")
                .hint("use it with kubectl hpa explain"),
        );
    }
    let is_dry = args.how.dry_run != DryRun::None;
    if is_dry && args.how.wait.is_some() {
        return Err(Error::usage("--wait and --dry-run exclude each other")
            .hint("a dry run writes nothing to wait for"));
    }
    let asks = !args.how.yes && !is_dry;
    if asks && !terminal.asks {
        return Err(
            Error::usage("cannot ask for confirmation: stdin or stderr is not a terminal")
                .hint("use --yes to write without confirmation, or --dry-run to write nothing"),
        );
    }
    Ok(asks)
}

/// Returns the report, unless it was shown before, and the outcome of the write.
fn text(page: Option<&Page>, result: &ApplyResult<'_>, terminal: &Terminal) -> String {
    let layout = terminal.layout();
    let mut text = page.map_or_else(String::new, |page| page::page(page, &layout));
    let lines = result.lines();
    if let Some(done) = result.done(false) {
        text += &format!("{}{done}\n", if text.is_empty() { "" } else { "\n" });
    } else if !lines.is_empty() {
        text.push('\n');
    }
    text + &page::pairs(&lines, &layout)
}

/// One run of the verb.
struct Attempts<'a> {
    session: &'a Session,
    args: &'a Apply,
    options: &'a Options,
    query: Option<&'a Query<'a>>,
    terminal: &'a Terminal,
    interrupts: Interrupts,
}

impl Attempts<'_> {
    /// Tries until the change is written or rejected, and starts over if something has changed, as often as
    /// allowed. Confirmation takes time, so a yes applies to the change, which is then decided again.
    async fn attempts(&self, asks: bool) -> Result<WritePlan, Error> {
        let mut agreed: Option<Agreed> = None;
        let mut is_told = false;
        let mut again = 0;
        // The HPA is watched once, and not again for each plan.
        let (session, terminal) = (self.session, self.terminal);
        let watched = watch(&self.args.memory, session, &self.options.name, terminal);
        let mut watched = self.interrupts.before(watched).await??;
        loop {
            let mut plan = self.interrupts.before(self.plan(&mut watched)).await??;
            plan.is_told = is_told;
            let writes = plan.applied.result == ApplyOutcome::Planned
                && self.args.how.dry_run != DryRun::Client;
            if let (true, Some(change)) = (writes, plan.applied.change) {
                match &agreed {
                    None if asks => {
                        if self.ask(&plan, change).await? {
                            agreed = Some(Agreed::to(&plan, change));
                            is_told = true;
                            self.session.allow(ROUNDS);
                            continue;
                        }
                        plan.is_told = true;
                        plan.applied.result = ApplyOutcome::Declined;
                    }
                    agreement => match agreement.as_ref().and_then(|it| it.broken(&plan, change)) {
                        Some(how) => {
                            plan.applied.result = ApplyOutcome::Moved {
                                what: how,
                                is_gone: false,
                            };
                            agreed = None;
                        }
                        None => self.write(&mut plan).await?,
                    },
                }
            }
            match &plan.applied.result {
                ApplyOutcome::Moved {
                    what,
                    is_gone: false,
                } if again < self.args.how.retry => {
                    again += 1;
                    let all = self.args.how.retry;
                    let what = clean(what, self.terminal.ascii);
                    self.tell(&format!("{what}: retrying ({again} of {all})\n"));
                    let pause = pause(again);
                    self.interrupts.before(sleep(pause)).await?;
                    self.session.wait(pause);
                    self.session.allow(ROUNDS);
                }
                _ => return Ok(plan),
            }
        }
    }

    fn tell(&self, text: &str) {
        if let Some(tell) = self.terminal.tell {
            tell(text);
        }
    }

    /// Shows the plan and asks whether to write it.
    async fn ask(&self, plan: &WritePlan, change: Change) -> Result<bool, Error> {
        let explanation = Explanation::new(&plan.pass);
        let page = Page::of_plan(&explanation, &plan.applied);
        let page = self.terminal.shown(page);
        self.tell(&page::page(&page, &self.terminal.layout()));
        // Input that was typed before the question was shown does not answer it.
        forget_typed();
        let question = clean(&question(&explanation, change), self.terminal.ascii);
        self.tell(&format!("\n{question} [y/N] "));
        let begun = Instant::now();
        let (sender, answer) = oneshot::channel();
        // If a signal comes first, the thread ends with the program.
        std::thread::spawn(move || {
            let mut line = String::new();
            let read = std::io::stdin().read_line(&mut line).map(|_| line);
            let _ = sender.send(read);
        });
        let line = self
            .interrupts
            .before(answer)
            .await
            .inspect_err(|_| self.tell("\n"))?
            .unwrap_or(Ok(String::new()))
            .map_err(|e| Error::failed(format!("failed to read the answer: {e}")))?;
        if !line.ends_with('\n') {
            self.tell("\n");
        }
        self.session.wait(begun.elapsed());
        Ok(is_yes(&line))
    }

    /// Reads the HPA and the scale again, writes, and does the rest of a reconcile.
    async fn write(&self, plan: &mut WritePlan) -> Result<(), Error> {
        let (Some(at), Some(change)) = (plan.applied.at.clone(), plan.applied.change) else {
            return Ok(());
        };
        let read = match self.interrupts.before(self.unmoved(plan, &at)).await? {
            Ok(read) => read,
            Err(outcome) => {
                plan.applied.result = outcome;
                return Ok(());
            }
        };
        let dry_run = self.args.how.dry_run == DryRun::Server;
        plan.applied.result = if dry_run {
            let asked = scale::dry_run(self.session, &at, change.to);
            match self.interrupts.before(asked).await? {
                Ok(state) => ApplyOutcome::Accepted(state),
                Err(e) => match after(&e) {
                    after @ (After::Gone | After::Conflict) => ApplyOutcome::Moved {
                        what: e.to_string(),
                        is_gone: after == After::Gone,
                    },
                    _ => ApplyOutcome::NotWritten(e.into()),
                },
            }
        } else {
            let written = scale::write(self.session, &at, change.to, self.cut());
            match self.insisting(written).await {
                Fate::Written(state, told) if state.replicas == change.to => {
                    ApplyOutcome::Written(state, told)
                }
                Fate::Written(state, told) => ApplyOutcome::Altered(state, told),
                Fate::Overtaken { what, is_gone } => ApplyOutcome::Moved { what, is_gone },
                Fate::Superseded(message) => ApplyOutcome::Superseded(message),
                Fate::Refused(e) => ApplyOutcome::NotWritten(self.interrupts.refused(e)),
                Fate::Unknown(lost, why) => ApplyOutcome::Unknown(lost, why),
            }
        };
        self.rest(plan, &read, dry_run).await;
        if let (ApplyOutcome::Written(state, _) | ApplyOutcome::Altered(state, _), Some(time)) =
            (&plan.applied.result, self.args.how.wait)
        {
            plan.applied.wait = Some(self.wait(&at, state.replicas, time).await);
        }
        Ok(())
    }

    /// Returns the HPA right before the write, if neither it nor the scale has changed.
    async fn unmoved(&self, plan: &WritePlan, at: &ScaleAt) -> Result<Read, ApplyOutcome> {
        let hpa = &plan.pass.input.snapshot.hpa;
        let (hpa_again, scale_again) = tokio::join!(
            hpa::read_again(self.session, hpa),
            scale::read_again(self.session, at)
        );
        let read = hpa_again.map_err(unseen)?;
        let state = scale_again.map_err(unseen)?;
        match moved([hpa, &read.hpa], [&at.state, &state]) {
            Some(what) => Err(ApplyOutcome::Moved {
                what,
                is_gone: read.hpa.deletion_timestamp.is_some(),
            }),
            None => Ok(read),
        }
    }

    /// Ends soon after the first signal, when the response is no longer waited for.
    async fn cut(&self) {
        self.interrupts.come(1).await;
        sleep(GRACE).await;
    }

    /// Waits for the outcome of a write. A second signal ends the wait.
    async fn insisting<T>(&self, written: impl Future<Output = Fate<T>>) -> Fate<T> {
        let insisted = self.interrupts.come(2);
        pin!(written, insisted);
        match select(written, insisted).await {
            Either::Left((fate, _)) => fate,
            Either::Right(_) => {
                let lost = "interrupted while waiting for the answer".to_owned();
                Fate::Unknown(
                    lost,
                    "interrupted by a second signal while checking".to_owned(),
                )
            }
        }
    }

    /// Writes the status and the event, if requested. Both describe the write as sent, so they are not written
    /// if the server changed it, or if another run may have written it, along with its own event.
    async fn rest(&self, plan: &mut WritePlan, read: &Read, dry_run: bool) {
        let prevented = match &plan.applied.result {
            ApplyOutcome::Written(_, Told::Conflict(_)) => {
                Some("another run may have written the replicas")
            }
            ApplyOutcome::Written(..) => None,
            ApplyOutcome::Accepted(state) if plan.applied.made(state).is_none() => None,
            ApplyOutcome::Accepted(_) | ApplyOutcome::Altered(..) => {
                Some("the server stored a different number of replicas")
            }
            _ => return,
        };
        let How {
            write_status,
            event,
            ..
        } = self.args.how;
        let outcome = &plan.pass.decision.outcome;
        // The gate rejects a plan whose status is requested but unknown.
        if let Some(status) = outcome.status.as_ref().filter(|_| write_status) {
            let write = hpa::write_status(self.session, read, status, dry_run, self.cut());
            plan.applied.status = Some(self.extra(write, prevented).await);
        }
        if let Some(rescale) = outcome.rescale().filter(|_| event) {
            let happened = Happened {
                type_: rescale.type_,
                reason: rescale.reason,
                message: &rescale.message,
                time: plan.pass.input.snapshot.now,
            };
            let send = hpa::send_event(self.session, &read.hpa, happened, dry_run, self.cut());
            plan.applied.event = Some(self.extra(send, prevented).await);
        }
    }

    /// Writes something in addition to the scale, unless something prevents it.
    async fn extra(
        &self,
        written: impl Future<Output = Fate<()>>,
        prevented: Option<&str>,
    ) -> Extra {
        if let Some(why) = prevented {
            return Extra::NotWritten(Error::failed(why));
        }
        match self.insisting(written).await {
            Fate::Written(..) if self.args.how.dry_run == DryRun::Server => Extra::Accepted,
            Fate::Written(..) => Extra::Written,
            Fate::Overtaken { what, .. } => Extra::NotWritten(Error::failed(what)),
            Fate::Refused(e) => Extra::NotWritten(self.interrupts.refused(e)),
            Fate::Superseded(message) => Extra::Unknown(message),
            Fate::Unknown(lost, why) => {
                Extra::Unknown(format!("{lost}: unknown whether it was written: {why}"))
            }
        }
    }

    async fn wait(&self, at: &ScaleAt, replicas: i32, time: Duration) -> Result<Waited, Error> {
        let counts = Cell::new(None);
        let waited = shown(
            wait(self.session, at, replicas, time, &counts),
            || {
                let counts = counts.get().map(|counts| format!(": {counts}"));
                format!("waiting for {}{}", at.name, counts.unwrap_or_default())
            },
            self.terminal,
        );
        let come = self.interrupts.come(1);
        pin!(waited, come);
        let end = match select(waited, come).await {
            Either::Left((ended, _)) => ended?,
            Either::Right((signal, _)) => WaitEnd::Interrupted(signal),
        };
        Ok(Waited {
            end,
            counts: counts.get(),
        })
    }
}

/// Returns the outcome if a read right before the write fails.
fn unseen(failure: Failure) -> ApplyOutcome {
    if failure.is_gone() {
        ApplyOutcome::Moved {
            what: failure.to_string(),
            is_gone: true,
        }
    } else {
        ApplyOutcome::NotWritten(failure.into())
    }
}

/// Returns the pause before starting over, which grows: the change of the objects may need time, and so may
/// a busy server.
fn pause(again: u32) -> Duration {
    (FIRST_PAUSE * 2_u32.pow(again.min(8) - 1)).min(LAST_PAUSE)
}

/// Discards input that was typed and not read yet.
#[cfg(unix)]
fn forget_typed() {
    // If this fails, it is not a terminal.
    let _ = rustix::termios::tcflush(std::io::stdin(), rustix::termios::QueueSelector::IFlush);
}

#[cfg(not(unix))]
fn forget_typed() {}

/// Whether an answer is a yes.
fn is_yes(line: &str) -> bool {
    matches!(line.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}

#[cfg(test)]
mod tests {
    use super::{FIRST_PAUSE, LAST_PAUSE, is_yes, pause};

    #[test]
    fn the_pauses_between_attempts_grow_up_to_a_limit() {
        let pauses: Vec<_> = (1..=100).map(pause).collect();
        assert_eq!((pauses[0], pauses[99]), (FIRST_PAUSE, LAST_PAUSE));
        for pair in pauses.windows(2) {
            assert!(pair[1] == (pair[0] * 2).min(LAST_PAUSE), "{pair:?}");
        }
    }

    #[test]
    fn only_a_yes_is_one() {
        for (line, want) in [
            ("y\n", true),
            ("Yes\r\n", true),
            ("", false),
            ("\n", false),
            ("n\n", false),
            ("yep", false),
        ] {
            assert_eq!(is_yes(line), want, "{line:?}");
        }
    }
}
