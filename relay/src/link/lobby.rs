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

    /// A proof was wrong. Returns whether to send the reason, and to log it. Every proof is checked,
    /// however many were wrong before, so that nobody can keep a browser out.
    pub fn answers_wrong_proof(&self) -> bool {
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
    /// Returns whether there are few of them.
    fn add(&mut self, now: Instant) -> bool {
        self.forget(now);
        let are_few = self.count < WRONG_PROOFS;
        self.count = (self.count + 1).min(WRONG_PROOFS);
        are_few
    }

    fn forget(&mut self, now: Instant) {
        let reduced = *self.reduced.get_or_insert(now);
        let intervals =
            now.saturating_duration_since(reduced).as_millis() / WRONG_PROOF_INTERVAL.as_millis();
        let intervals = u32::try_from(intervals).unwrap_or(u32::MAX);
        if intervals > 0 {
            self.count = self.count.saturating_sub(intervals);
            self.reduced = Some(reduced + WRONG_PROOF_INTERVAL * intervals);
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
    fn many_wrong_proofs_are_not_answered_until_some_are_forgotten() {
        let (mut wrong, start) = (WrongProofs::default(), Instant::now());
        let answered = (0..100).filter(|_| wrong.add(start)).count();
        assert_eq!(answered, WRONG_PROOFS as usize);
        let later = start + WRONG_PROOF_INTERVAL;
        assert!(wrong.add(later));
        assert!(!wrong.add(later));
    }
}
