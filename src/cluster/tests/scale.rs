//! A write among other writers and on a network that loses, delays and cuts: whatever happens in between,
//! the replicas in the end are ours at the state that was read, or theirs, and the report is true.

use std::cell::RefCell;
use std::future::poll_fn;
use std::task::Poll;

use futures_util::FutureExt;
use proptest::prelude::*;

use super::wait_for_nothing;
use crate::cluster::observed::ScaleState;
use crate::cluster::write::scale::{Scales, settled};
use crate::cluster::write::settle::{Fate, Told};
use crate::cluster::{ApiStatus, Failure, FailureKind};
use crate::snapshot::written::FIELD_MANAGER;

/// What others do between two of our requests.
#[derive(Debug, Clone, Copy)]
enum Other {
    Nothing,
    /// Sets the replicas, perhaps to what we want.
    Sets(i32),
    /// Writes something else, such as the status.
    Touches,
    /// Deletes the target and creates another of the same name.
    Recreates,
}

/// What the network and the server do to a write.
#[derive(Debug, Clone, Copy)]
enum Way {
    Answered,
    /// It is executed, and the answer is lost.
    LostAfter,
    /// Something on the way sends it twice, and returns the second answer, which is a conflict.
    Twice,
    /// It never arrives.
    LostBefore,
    /// It arrives before this many later requests, or at the end.
    Delayed(u8),
    /// The server itself answers 500, and has executed it, or does so later or at the end.
    Fails(Option<u8>),
    /// 504: the server may still execute it.
    TimesOut(u8),
    /// 200 with the replicas at the state from before; it has been executed, or is later or at the end.
    Unproven(Option<u8>),
    /// 403.
    Denied,
    /// The user interrupts; it has been executed, or arrives later.
    Interrupted(bool, u8),
    NoConnection,
}

/// One of our requests: what others do before it, its fate if it is a write, and whether it fails if it
/// is a read.
#[derive(Debug, Clone, Copy)]
struct Step {
    other: Other,
    way: Way,
    unreadable: bool,
}

/// A request that nothing disturbs.
const CALM: Step = Step {
    other: Other::Nothing,
    way: Way::Answered,
    unreadable: false,
};

fn other() -> impl Strategy<Value = Other> {
    prop_oneof![
        6 => Just(Other::Nothing),
        2 => (0..6_i32).prop_map(Other::Sets),
        1 => Just(Other::Touches),
        1 => Just(Other::Recreates),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let way = prop_oneof![
        2 => Just(Way::Answered),
        1 => Just(Way::LostAfter),
        1 => Just(Way::Twice),
        1 => Just(Way::LostBefore),
        2 => (0..4_u8).prop_map(Way::Delayed),
        2 => prop::option::of(0..6_u8).prop_map(Way::Fails),
        1 => (0..4_u8).prop_map(Way::TimesOut),
        2 => prop::option::of(0..6_u8).prop_map(Way::Unproven),
        1 => Just(Way::Denied),
        1 => (any::<bool>(), 0..4_u8).prop_map(|(acts, later)| Way::Interrupted(acts, later)),
        1 => Just(Way::NoConnection),
    ];
    let unreadable = prop_oneof![8 => Just(false), 1 => Just(true)];
    (other(), way, unreadable).prop_map(|(other, way, unreadable)| Step {
        other,
        way,
        unreadable,
    })
}

/// The server, with everything in flight to it.
struct World {
    now: ScaleState,
    owner: String,
    steps: std::vec::IntoIter<Step>,
    /// Our writes that have not arrived, and before how many more requests they do.
    under_way: Vec<(ScaleState, i32, u8)>,
    /// The state that each of our executed writes replaced.
    done: Vec<ScaleState>,
    /// Whether the last change of the replicas was ours.
    ours: bool,
    sent: usize,
    /// How many requests had been sent when the user interrupted.
    cut: Option<usize>,
    shows_owner: bool,
}

impl World {
    fn moves(&mut self) {
        let version: u64 = self.now.resource_version.parse().expect("a number");
        self.now.resource_version = (version + 1).to_string();
    }

    fn interrupt(&mut self) {
        self.cut = self.cut.or(Some(self.sent));
    }

    /// Executes a write.
    fn act(&mut self, from: &ScaleState, to: i32) -> Result<ScaleState, Failure> {
        if (&from.uid, &from.resource_version) != (&self.now.uid, &self.now.resource_version) {
            return Err(failure(409));
        }
        self.done.push(self.now.clone());
        if self.now.replicas != to {
            (self.ours, self.owner) = (true, FIELD_MANAGER.to_owned());
        }
        self.now.replicas = to;
        self.moves();
        Ok(self.now.clone())
    }

    /// Lets others act, and writes in flight arrive, before the next request.
    fn next(&mut self) -> Step {
        let step = self.steps.next().unwrap_or(CALM);
        self.arrive(false);
        match step.other {
            Other::Nothing => {}
            Other::Sets(replicas) => {
                if self.now.replicas != replicas {
                    (self.ours, self.owner) = (false, "other".to_owned());
                    self.now.replicas = replicas;
                    self.moves();
                }
            }
            Other::Touches => self.moves(),
            Other::Recreates => {
                self.now.uid.push('x');
                self.moves();
                self.ours = false;
                "other".clone_into(&mut self.owner);
            }
        }
        step
    }

    fn arrive(&mut self, all: bool) {
        for (from, to, later) in std::mem::take(&mut self.under_way) {
            match later.checked_sub(1) {
                Some(later) if !all => self.under_way.push((from, to, later)),
                _ => drop(self.act(&from, to)),
            }
        }
    }
}

fn failure(code: u16) -> Failure {
    let status = ApiStatus {
        code,
        from_server: true,
        ..ApiStatus::default()
    };
    Failure::of(status, "/scale")
}

fn lost() -> Failure {
    Failure::of(FailureKind::Lost("EOF".to_owned()), "/scale")
}

impl Scales for RefCell<World> {
    async fn read(&self) -> Result<ScaleState, Failure> {
        let mut world = self.borrow_mut();
        let step = world.next();
        if let Way::Interrupted(..) = step.way {
            world.interrupt();
        }
        if step.unreadable {
            Err(lost())
        } else {
            Ok(world.now.clone())
        }
    }

    async fn put(&self, from: &ScaleState, to: i32) -> Result<ScaleState, Failure> {
        let way = {
            let mut world = self.borrow_mut();
            world.sent += 1;
            world.next().way
        };
        let act = || self.borrow_mut().act(from, to);
        let later = |later| self.borrow_mut().under_way.push((from.clone(), to, later));
        let late = |requests, failure| {
            later(requests);
            Err(failure)
        };
        let unproven = ScaleState {
            replicas: to,
            ..from.clone()
        };
        match way {
            Way::Answered => act(),
            Way::LostAfter => act().and_then(|_| Err(lost())),
            Way::Twice => act().and_then(|_| act()),
            Way::LostBefore => Err(lost()),
            Way::Delayed(requests) => late(requests, lost()),
            Way::Fails(None) => act().and_then(|_| Err(failure(500))),
            Way::Fails(Some(requests)) => late(requests, failure(500)),
            Way::TimesOut(requests) => late(requests, failure(504)),
            Way::Unproven(None) => act().map(|_| unproven),
            Way::Unproven(Some(requests)) => {
                later(requests);
                Ok(unproven)
            }
            Way::Denied => Err(failure(403)),
            Way::Interrupted(acts, requests) => {
                if acts {
                    drop(act());
                } else {
                    later(requests);
                }
                self.borrow_mut().interrupt();
                std::future::pending().await
            }
            Way::NoConnection => Err(Failure::of(FailureKind::Refused, "/scale")),
        }
    }

    fn unproven(&self, cause: &str) -> Failure {
        Failure::of(FailureKind::Body(cause.to_owned()), "/scale")
    }

    async fn owner(&self) -> Option<String> {
        let world = self.borrow();
        world.shows_owner.then(|| world.owner.clone())
    }
}

/// Returns a world with 2 replicas in which these steps happen.
fn world(steps: Vec<Step>, shows_owner: bool) -> RefCell<World> {
    let now = ScaleState {
        uid: "u".to_owned(),
        resource_version: "7".to_owned(),
        replicas: 2,
    };
    RefCell::new(World {
        now,
        owner: "other".to_owned(),
        steps: steps.into_iter(),
        under_way: Vec::new(),
        done: Vec::new(),
        ours: false,
        sent: 0,
        cut: None,
        shows_owner,
    })
}

/// Writes the replicas over a state, and returns the outcome.
fn write(
    world: &RefCell<World>,
    from: &ScaleState,
    to: i32,
    cut: impl Future<Output = ()>,
) -> Fate<ScaleState> {
    wait_for_nothing(settled(world, from, to, cut))
}

/// Who did it shows only if the server says who owns the replicas.
#[test]
fn a_write_that_someone_else_overtook_is_told_with_the_owner() {
    for (shows_owner, by) in [(true, ", last set by other"), (false, "")] {
        let steps = vec![
            Step {
                way: Way::LostBefore,
                ..CALM
            },
            Step {
                other: Other::Sets(4),
                ..CALM
            },
        ];
        let world = world(steps, shows_owner);
        let from = world.borrow().now.clone();
        let Fate::Superseded(what) = write(&world, &from, 5, std::future::pending()) else {
            panic!("it was overtaken")
        };
        let now = format!("; the target now has 4 replicas{by}: the write can no longer");
        assert!(what.contains(&now), "{what}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_overwritten_blindly_and_what_is_told_holds(
        steps in prop::collection::vec(step(), 0..9),
        between in prop::collection::vec(other(), 2),
        to in 0..6_i32,
        shows_owner in any::<bool>(),
    ) {
        let calm = |other| Step { other, ..CALM };
        let steps: Vec<Step> = between.into_iter().map(calm).chain(steps).collect();
        let world = world(steps, shows_owner);
        // As the command does: read, decide, read again, and write only if nothing has changed.
        let read = || world.read().now_or_never().expect("at once").expect("calm");
        let (decided_on, again) = (read(), read());
        if decided_on != again || decided_on.replicas == to {
            return Ok(());
        }
        let cut = poll_fn(|_| if world.borrow().cut.is_some() { Poll::Ready(()) } else { Poll::Pending });
        let fate = write(&world, &decided_on, to, cut);
        let (told_at, told_ours) = (world.borrow().done.len(), world.borrow().ours);
        world.borrow_mut().arrive(true);
        let world = world.into_inner();

        prop_assert!(world.sent <= 2, "sent {} times", world.sent);
        prop_assert!(world.done.len() <= 1, "done twice");
        prop_assert!(world.cut.is_none_or(|sent| sent == world.sent), "sent after an interrupt");
        // Our writes have only replaced the state that the decision is based on.
        prop_assert!(world.done.iter().all(|met| *met == decided_on));
        prop_assert!(!world.ours || world.now.replicas == to);
        match fate {
            Fate::Written(state, Told::Reading(_, false)) => {
                prop_assert_eq!(state.replicas, to);
                prop_assert_eq!(world.done.len(), told_at);
            }
            Fate::Written(..) => prop_assert_eq!((told_at, told_ours), (1, true)),
            Fate::Refused(_) => prop_assert_eq!(world.done.len(), 0),
            // Nothing shows that someone else overwrote a write that was sent twice.
            Fate::Overtaken { .. } => prop_assert!(world.done.is_empty() || !told_ours),
            // It has not arrived, and no longer can.
            Fate::Superseded(_) => {
                prop_assert!(!told_ours);
                prop_assert_eq!(world.done.len(), told_at);
            }
            Fate::Unknown(..) => {}
        }
    }
}
