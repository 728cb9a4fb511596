//! Decides whether to retry a GET, and how long to wait first. Nothing is sent here, and a retry of a write
//! is allowed only if the server says that it did not act (429). The policy is narrower than kube's, which
//! retries for minutes, and follows client-go's `with_retry.go` in what it considers transient.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use tokio::time::Instant;

use super::status::ApiStatus;

/// The number of tries of one GET, including the first.
pub(crate) const TRIES: u32 = 4;
/// The longest wait that a server may ask for. A server that asks for more is not asked again.
pub(crate) const LONGEST: Duration = Duration::from_secs(10);
/// The maximum time of all waits of a session: hundreds of requests may each be asked to wait.
pub(crate) const IN_ALL: Duration = Duration::from_secs(30);

/// The reason why a request is not sent again although the server asked for that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unwaited {
    /// The server asked to wait for this many seconds.
    Long(u32),
    /// All waits of the session together would be too long.
    InAll,
}

/// The time that a session has waited. Waits at the same time count once.
#[derive(Debug, Default)]
pub(crate) struct TotalWait {
    until: Option<Instant>,
    in_all: Duration,
}

impl TotalWait {
    /// Counts a wait that begins now; returns false if the total would be too long.
    pub(crate) fn take(&mut self, now: Instant, wait: Duration) -> bool {
        let begin = self.until.map_or(now, |until| until.max(now));
        let more = (now + wait).saturating_duration_since(begin);
        if self.in_all + more > IN_ALL {
            return false;
        }
        self.in_all += more;
        self.until = Some(begin + more);
        true
    }
}

/// The outcome of one try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The server answered without success, and may have said when to retry.
    Answered(u16, Option<Duration>),
    /// The connection broke before an answer.
    Lost,
}

/// The patience that applies to a request.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Patience {
    /// This program's: retries even if the server does not ask for it.
    Own,
    /// The same, except that these failures are answers.
    Unless(fn(&ApiStatus) -> bool),
    /// The controller's, for answers that go into its conditions: a failure is its answer, unless the server asks to
    /// retry.
    Controllers,
    /// The policy for a write: retries only if the server asks for it and says that it did not act (429).
    OfWrite,
}

/// Returns the wait before the next try; `None` to give up. `tries` is the number of tries so far.
pub(crate) fn wait(ending: Ending, tries: u32, patience: Patience) -> Option<Duration> {
    if tries >= TRIES {
        return None;
    }
    match (ending, patience) {
        (Ending::Lost | Ending::Answered(500.., _), Patience::OfWrite) => None,
        (Ending::Answered(429 | 500.., Some(asked)), _) => Some(asked).filter(|it| *it <= LONGEST),
        (Ending::Answered(503 | 504, None), Patience::Own | Patience::Unless(_))
        | (Ending::Lost, _) => Some(backoff(tries)),
        (Ending::Answered(..), _) => None,
    }
}

/// Returns a random wait up to 0.25 s, 0.5 s, 1 s, so that clients do not return all at once.
fn backoff(tries: u32) -> Duration {
    let share = RandomState::new().hash_one(tries) % 1000;
    let most = Duration::from_millis(250) * 2_u32.pow(tries.saturating_sub(1));
    most * u32::try_from(share).unwrap_or_default() / 1000
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::Instant;

    use super::{Ending, Patience, TotalWait, wait};

    #[test]
    fn waits_have_a_limit_in_all_and_count_once_at_the_same_time() {
        let begun = Instant::now();
        let at = |seconds| begun + Duration::from_secs(seconds);
        let mut waited = TotalWait::default();
        let mut take = |now, seconds| waited.take(at(now), Duration::from_secs(seconds));
        // Ten at once are ten seconds, and three later ones are as many again.
        assert!((0..10).all(|_| take(0, 10)));
        assert!(take(5, 10) && take(5, 5) && take(10, 5));
        // Nothing counts while nothing waits.
        assert!(take(100, 10) && take(105, 10));
        // That was all.
        assert!(!take(106, 10) && !take(200, 1));
        assert!(take(200, 0));
    }

    #[test]
    fn only_transient_failures_are_tried_again() {
        let asked = |seconds| Some(Duration::from_secs(seconds));
        for (ending, tries, own, controllers, of_write) in [
            (Ending::Answered(429, asked(1)), 1, true, true, true),
            (Ending::Answered(429, None), 1, false, false, false),
            (Ending::Answered(500, asked(1)), 3, true, true, false),
            (Ending::Answered(500, None), 1, false, false, false),
            (Ending::Answered(503, None), 1, true, false, false),
            (Ending::Answered(504, None), 1, true, false, false),
            (Ending::Answered(503, asked(1)), 4, false, false, false),
            (Ending::Answered(404, asked(1)), 1, false, false, false),
            (Ending::Lost, 1, true, true, false),
            (Ending::Lost, 4, false, false, false),
        ] {
            let again = |patience| wait(ending, tries, patience).is_some();
            assert_eq!(again(Patience::Own), own, "{ending:?} {tries}");
            assert_eq!(again(Patience::Unless(|_| false)), own, "{ending:?}");
            assert_eq!(again(Patience::Controllers), controllers, "{ending:?}");
            assert_eq!(again(Patience::OfWrite), of_write, "{ending:?}");
        }
    }

    #[test]
    fn waits_have_bounds() {
        let own = |ending, tries| wait(ending, tries, Patience::Own);
        for (seconds, waits) in [(0, true), (10, true), (11, false), (3600, false)] {
            let asked = Duration::from_secs(seconds);
            for code in [429, 500, 503] {
                let wait = own(Ending::Answered(code, Some(asked)), 1);
                assert_eq!(wait, waits.then_some(asked), "{code} {seconds}");
            }
        }
        for (tries, most) in [(1, 250), (2, 500), (3, 1000)] {
            let wait = own(Ending::Lost, tries);
            assert!(wait < Some(Duration::from_millis(most)), "{tries}");
        }
    }
}
