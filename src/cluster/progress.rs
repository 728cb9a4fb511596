//! The progress of many answers.

use std::cell::Cell;

/// The progress of many answers, such as those for the HPAs of a list.
#[derive(Debug, Default)]
pub struct Progress {
    done: Cell<usize>,
    all: Cell<usize>,
}

impl Progress {
    /// Returns the number of answers so far, and the total; `None` until any are expected.
    pub fn counts(&self) -> Option<(usize, usize)> {
        Some((self.done.get(), self.all.get())).filter(|(_, all)| *all > 0)
    }

    /// Adds answers to the expected ones.
    pub(super) fn expect(&self, more: usize) {
        self.all.set(self.all.get() + more);
    }

    /// Counts an answer.
    pub(super) fn step(&self) {
        self.done.set(self.done.get() + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::Progress;

    #[test]
    fn progress_never_counts_past_its_end() {
        let progress = Progress::default();
        assert_eq!(progress.counts(), None);
        progress.expect(2);
        progress.step();
        progress.step();
        progress.expect(1);
        assert_eq!(progress.counts(), Some((2, 3)));
    }
}
