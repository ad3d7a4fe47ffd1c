//! Connections on `/extension` that have not proven who they are. They wait here, a few at a time,
//! and hold nothing that another connection needs.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

/// How many connections may wait at a time.
const MAX_GUESTS: usize = 8;
/// How many wrong proofs are tolerated, and how often one of them is forgotten.
const WRONG_PROOFS: u32 = 20;
const WRONG_PROOF_INTERVAL: Duration = Duration::from_millis(500);

#[derive(Default)]
pub struct Lobby {
    /// The oldest first.
    guests: Mutex<VecDeque<Arc<Notify>>>,
    wrong_proofs: Mutex<WrongProofs>,
}

/// A connection's place in the lobby. Dropping it frees the place.
pub struct Guest {
    evicted: Arc<Notify>,
    lobby: Arc<Lobby>,
}

impl Lobby {
    /// Always lets the newcomer in. If the lobby is full, the oldest guest has to go: an extension
    /// proves itself within milliseconds, so the one that has waited longest is probably not one.
    pub fn enter(self: &Arc<Self>) -> Guest {
        let evicted = Arc::new(Notify::new());
        let mut guests = lock(&self.guests);
        if guests.len() >= MAX_GUESTS
            && let Some(oldest) = guests.pop_front()
        {
            oldest.notify_one();
        }
        guests.push_back(evicted.clone());
        Guest {
            evicted,
            lobby: self.clone(),
        }
    }

    /// Whether proofs of unknown browsers are checked now. Those of known browsers always are, so
    /// that nobody can keep them out.
    pub fn accepts_strangers(&self) -> bool {
        lock(&self.wrong_proofs).are_few(Instant::now())
    }

    /// Returns whether to log it.
    pub fn on_wrong_proof(&self) -> bool {
        lock(&self.wrong_proofs).add(Instant::now())
    }
}

impl Guest {
    /// Resolves when the place is needed for a newer connection.
    pub async fn evicted(&self) {
        self.evicted.notified().await;
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        lock(&self.lobby.guests).retain(|guest| !Arc::ptr_eq(guest, &self.evicted));
    }
}

/// Counts wrong proofs and forgets one per interval.
#[derive(Default)]
struct WrongProofs {
    count: u32,
    /// When the count was last reduced.
    reduced: Option<Instant>,
}

impl WrongProofs {
    fn are_few(&mut self, now: Instant) -> bool {
        self.forget(now);
        self.count < WRONG_PROOFS
    }

    fn add(&mut self, now: Instant) -> bool {
        self.forget(now);
        self.count = (self.count + 1).min(WRONG_PROOFS);
        self.count < WRONG_PROOFS
    }

    fn forget(&mut self, now: Instant) {
        let reduced = *self.reduced.get_or_insert(now);
        let intervals =
            now.saturating_duration_since(reduced).as_millis() / WRONG_PROOF_INTERVAL.as_millis();
        let intervals = u32::try_from(intervals).unwrap_or(u32::MAX);
        if intervals > 0 {
            self.count = self.count.saturating_sub(intervals);
            self.reduced = Some(now);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn newcomer_takes_the_place_of_the_oldest() {
        let lobby = Arc::new(Lobby::default());
        let guests: Vec<Guest> = (0..=MAX_GUESTS).map(|_| lobby.enter()).collect();
        guests[0].evicted().await;
        let second = tokio::time::timeout(Duration::from_millis(1), guests[1].evicted());
        assert!(second.await.is_err());
        drop(guests);
        assert!(lock(&lobby.guests).is_empty());
    }

    #[test]
    fn strangers_have_to_wait_after_many_wrong_proofs() {
        let (mut wrong, start) = (WrongProofs::default(), Instant::now());
        for _ in 0..100 {
            wrong.add(start);
        }
        assert!(!wrong.are_few(start));
        assert!(wrong.are_few(start + WRONG_PROOF_INTERVAL));
        wrong.add(start + WRONG_PROOF_INTERVAL);
        assert!(!wrong.are_few(start + WRONG_PROOF_INTERVAL));
    }
}
