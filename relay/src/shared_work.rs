//! Work that several may need at the same time. It is done once, and whoever asked meanwhile gets its
//! outcome, also if it failed: otherwise each of them would wait for an attempt of its own.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::Error;

pub struct SharedWork<T> {
    /// Held by whoever does the work.
    working: tokio::sync::Mutex<()>,
    last: Mutex<Last<T>>,
}

struct Last<T> {
    /// How often the work was finished.
    finished: u64,
    outcome: Option<Result<T, Arc<Error>>>,
}

impl<T: Clone> SharedWork<T> {
    /// Does the work, unless somebody is doing it already. If whoever does it gives up, the next one
    /// does it.
    pub async fn run(&self, work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        let before = self.last().finished;
        let _working = self.working.lock().await;
        if let Some(outcome) = self.finished_since(before) {
            return outcome.map_err(Error::Shared);
        }
        let outcome = work.await.map_err(Arc::new);
        let mut last = self.last();
        last.finished += 1;
        last.outcome = Some(outcome.clone());
        outcome.map_err(Error::Shared)
    }

    fn finished_since(&self, before: u64) -> Option<Result<T, Arc<Error>>> {
        let last = self.last();
        last.outcome.clone().filter(|_| last.finished > before)
    }

    fn last(&self) -> MutexGuard<'_, Last<T>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Default for SharedWork<T> {
    fn default() -> Self {
        Self {
            working: tokio::sync::Mutex::default(),
            last: Mutex::new(Last {
                finished: 0,
                outcome: None,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::time::Duration;

    #[tokio::test(start_paused = true)]
    async fn whoever_asks_meanwhile_gets_the_same_outcome() {
        let (shared, done) = (SharedWork::default(), Cell::new(0));
        let work = || {
            shared.run(async {
                tokio::time::sleep(Duration::from_secs(15)).await;
                done.set(done.get() + 1);
                if done.get() == 1 {
                    return Err(Error::BrowserStopped);
                }
                Ok(done.get())
            })
        };
        let (one, two, three) = tokio::join!(work(), work(), work());
        assert!(one.is_err() && two.is_err() && three.is_err());
        assert_eq!(done.get(), 1);
        assert_eq!(work().await.ok(), Some(2), "nobody was working any more");
    }

    #[tokio::test(start_paused = true)]
    async fn work_that_was_given_up_is_done_by_the_next() {
        let shared = SharedWork::default();
        let never = shared.run(std::future::pending::<Result<u8, Error>>());
        let next = shared.run(async { Ok(1) });
        let first = async {
            tokio::time::timeout(Duration::from_secs(1), never)
                .await
                .is_err()
        };
        let (is_given_up, next) = tokio::join!(first, next);
        assert!(is_given_up);
        assert_eq!(next.ok(), Some(1));
    }
}
