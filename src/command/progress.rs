//! Shows the progress of any task that takes longer than a moment: on a terminal in a line that is
//! rewritten and disappears at the end, elsewhere in one plain line. All of it goes to standard error.

use std::time::Duration;

use futures_util::future::{Either, select};
use tokio::pin;
use tokio::time::sleep;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::Terminal;
use crate::cluster::progress::Progress;
use crate::render::style::clean;

/// The time during which nothing is shown.
const MOMENT: Duration = Duration::from_secs(1);

/// The time between two states of the line.
const BETWEEN: Duration = Duration::from_millis(200);

/// Waits for something, and shows its progress, in a line that may hold text from outside.
pub(super) async fn shown<T>(
    work: impl Future<Output = T>,
    line: impl Fn() -> String,
    terminal: &Terminal,
) -> T {
    let Some(tell) = terminal.tell else {
        return work.await;
    };
    pin!(work);
    let mut shown = Line { tell, widest: 0 };
    let mut wait = MOMENT;
    loop {
        let pause = sleep(wait);
        pin!(pause);
        if let Either::Left((done, _)) = select(work.as_mut(), pause).await {
            return done;
        }
        let line = clean(&line(), terminal.ascii);
        let Some(width) = terminal.messages else {
            tell(&format!("{line}\n"));
            return work.await;
        };
        // A terminal may add `^C`, and the cursor takes a column.
        shown.rewrite(within(&line, width.saturating_sub(3)));
        wait = BETWEEN;
    }
}

/// A line of a terminal, which disappears when this is dropped: the work is done, or a signal has ended it.
struct Line {
    tell: fn(&str),
    /// The columns of its widest state so far.
    widest: usize,
}

impl Line {
    fn rewrite(&mut self, line: &str) {
        let width = line.width();
        self.widest = self.widest.max(width);
        let rest = self.widest - width;
        (self.tell)(&format!("\r{line}{:rest$}", ""));
    }
}

/// Returns the part of a line that fits into some columns: the cursor would not return to the start of a line that the
/// terminal has wrapped.
fn within(line: &str, columns: usize) -> &str {
    let mut used = 0;
    let end = line.char_indices().find(|(_, letter)| {
        used += letter.width().unwrap_or(0);
        used > columns
    });
    end.map_or(line, |(end, _)| &line[..end])
}

impl Drop for Line {
    fn drop(&mut self) {
        if self.widest > 0 {
            // The same `^C`.
            let widest = self.widest + 2;
            (self.tell)(&format!("\r{:widest$}\r", ""));
        }
    }
}

/// The progress of a list.
pub(super) fn reading(progress: &Progress) -> String {
    match progress.counts() {
        None => "listing the HPAs".to_owned(),
        Some((done, 1)) => format!("reading 1 HPA: {done} done"),
        Some((done, hpas)) => format!("reading {hpas} HPAs: {done} done"),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::time::Duration;

    use tokio::time::sleep;

    use super::{reading, shown};
    use crate::cluster::progress::Progress;
    use crate::command::Terminal;

    thread_local! {
        static TOLD: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
    }

    /// Returns what is shown while something takes this long.
    fn told(took: Duration, messages: Option<usize>, line: impl Fn() -> String) -> Vec<String> {
        let tell = |text: &str| TOLD.with_borrow_mut(|told| told.push(text.to_owned()));
        let terminal = Terminal {
            messages,
            tell: Some(tell),
            ..Terminal::default()
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build();
        let work = async { sleep(took).await };
        runtime
            .expect("a runtime")
            .block_on(shown(work, line, &terminal));
        TOLD.take()
    }

    #[test]
    fn only_what_takes_long_is_shown_and_nothing_of_it_stays_on_a_terminal() {
        let listing = || reading(&Progress::default());
        let long = Duration::from_millis(1500);
        assert_eq!(told(Duration::from_millis(300), Some(80), listing), [""; 0]);
        let lines = told(long, Some(80), listing);
        let [states @ .., end] = &lines[..] else {
            panic!("nothing was told")
        };
        assert!(states.len() > 1 && states.iter().all(|line| line == "\rlisting the HPAs"));
        assert_eq!(end, "\r                  \r");
        assert_eq!(told(long, None, listing), ["listing the HPAs\n"]);
        let steers = || "watching shop/web\u{1b}]0;x\u{7}".to_owned();
        let lines = told(long, Some(80), steers);
        assert_eq!(lines[0], "\rwatching shop/web^[]0;x\\u{7}");
        let lines = told(long, Some(10), || "läuft seit zwei Minuten".to_owned());
        assert_eq!(lines[0], "\rläuft s");
        assert_eq!(lines.last().expect("an end"), "\r         \r");
        assert_eq!(
            told(long, None, steers),
            ["watching shop/web^[]0;x\\u{7}\n"]
        );
    }
}
