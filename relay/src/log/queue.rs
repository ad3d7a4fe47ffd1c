//! Text on its way to a file, and the thread that writes it. Whoever adds text never waits for the
//! disk.

use std::io;
use std::ops::ControlFlow;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// How long text waits for more. A write per line would cost more than the line.
pub const BATCH_DELAY: Duration = Duration::from_millis(200);
/// How long the last text may take when the relay ends.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);
/// A larger buffer is freed after use.
const KEPT_CAPACITY: usize = 256 << 10;

/// Where the text goes.
pub trait Sink: Send + 'static {
    /// `lost`: how many lines did not fit into the queue after this text. `Break` ends the writing.
    fn write(&mut self, text: &str, lost: u64) -> ControlFlow<()>;
}

pub struct Queue {
    state: Mutex<State>,
    changed: Condvar,
    limit: usize,
}

#[derive(Default)]
struct State {
    phase: Phase,
    text: String,
    lost: u64,
}

#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Nothing is written, so nothing is kept.
    #[default]
    Off,
    On,
    /// What is left is written.
    Closing,
}

/// The text did not fit.
#[derive(Debug, PartialEq, Eq)]
pub struct Full;

impl Queue {
    pub fn new(limit: usize) -> Self {
        Self {
            state: Mutex::default(),
            changed: Condvar::new(),
            limit,
        }
    }

    /// Starts the thread that writes.
    pub fn start(self: &Arc<Self>, name: &str, delay: Duration, sink: impl Sink) -> io::Result<()> {
        let queue = self.clone();
        self.lock().phase = Phase::On;
        let thread = thread::Builder::new().name(name.to_owned());
        let started = thread.spawn(move || queue.run(delay, sink));
        if let Err(error) = started {
            self.lock().phase = Phase::Off;
            return Err(error);
        }
        Ok(())
    }

    /// Adds what `put` appends to the text. It must not remove anything.
    pub fn push(&self, put: impl FnOnce(&mut String)) {
        let _ = self.try_push(0, put);
    }

    /// `size`: about how much `put` appends. An empty queue accepts any size.
    pub fn try_push(&self, size: usize, put: impl FnOnce(&mut String)) -> Result<(), Full> {
        let mut state = self.lock();
        if state.phase == Phase::Off {
            return Ok(());
        }
        let was_empty = state.text.is_empty();
        if !was_empty && state.text.len() + size >= self.limit {
            state.lost += 1;
            return Err(Full);
        }
        put(&mut state.text);
        drop(state);
        if was_empty {
            self.changed.notify_all();
        }
        Ok(())
    }

    /// Waits until everything is written, but not for long.
    pub fn close(&self) {
        let mut state = self.lock();
        if state.phase == Phase::Off {
            return;
        }
        state.phase = Phase::Closing;
        self.changed.notify_all();
        let is_open = |state: &mut State| state.phase != Phase::Off;
        drop(
            self.changed
                .wait_timeout_while(state, CLOSE_TIMEOUT, is_open),
        );
    }

    fn run(&self, delay: Duration, mut sink: impl Sink) {
        let mut batch = String::new();
        while let Some(lost) = self.take(delay, &mut batch) {
            if sink.write(&batch, lost).is_break() {
                break;
            }
            batch.clear();
            batch.shrink_to(KEPT_CAPACITY);
        }
        let mut state = self.lock();
        state.phase = Phase::Off;
        state.text = String::new();
        self.changed.notify_all();
    }

    /// Takes what is queued, and returns how much was lost after it. `None`: there is no more.
    fn take(&self, delay: Duration, batch: &mut String) -> Option<u64> {
        let wait = |state, condition: fn(&mut State) -> bool| {
            let waited = self.changed.wait_while(state, condition);
            waited.unwrap_or_else(PoisonError::into_inner)
        };
        let state = wait(self.lock(), |state| {
            state.text.is_empty() && state.phase == Phase::On
        });
        let waited = self
            .changed
            .wait_timeout_while(state, delay, |state| state.phase == Phase::On);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if state.text.is_empty() {
            return None;
        }
        std::mem::swap(&mut state.text, batch);
        Some(std::mem::take(&mut state.lost))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    /// Hands each batch to the test, and waits until the test has taken it.
    struct Handover(mpsc::SyncSender<(String, u64)>);

    impl Sink for Handover {
        fn write(&mut self, text: &str, lost: u64) -> ControlFlow<()> {
            match self.0.send((text.to_owned(), lost)) {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            }
        }
    }

    fn start(limit: usize) -> (Arc<Queue>, mpsc::Receiver<(String, u64)>) {
        let queue = Arc::new(Queue::new(limit));
        let (sender, batches) = mpsc::sync_channel(0);
        let sink = Handover(sender);
        queue.start("test", Duration::ZERO, sink).unwrap();
        (queue, batches)
    }

    #[test]
    fn keeps_nothing_before_it_has_started() {
        let queue = Queue::new(100);
        queue.push(|_| panic!("nobody reads it"));
        queue.close();
    }

    #[test]
    fn writes_what_is_left_when_it_is_closed() {
        let queue = Arc::new(Queue::new(100));
        let (sender, batches) = mpsc::sync_channel(9);
        let forever = Duration::from_secs(1_000);
        queue.start("test", forever, Handover(sender)).unwrap();
        queue.push(|text| text.push_str("one "));
        queue.push(|text| text.push_str("two"));
        queue.close();
        assert_eq!(batches.recv(), Ok(("one two".to_owned(), 0)));
        queue.push(|_| panic!("nobody reads it"));
    }

    #[test]
    fn drops_and_counts_what_does_not_fit() {
        let (queue, batches) = start(10);
        let push = |text: &'static str| queue.try_push(text.len(), |all| all.push_str(text));
        // The thread takes the first text and hangs, like a disk that does not respond.
        assert_eq!(push("a text of any size is accepted"), Ok(()));
        while !queue.lock().text.is_empty() {
            thread::yield_now();
        }
        assert_eq!(push("12345"), Ok(()));
        assert_eq!(push("67890"), Err(Full));
        assert_eq!(push("678"), Ok(()));
        assert_eq!(batches.recv().unwrap().1, 0);
        assert_eq!(batches.recv(), Ok(("12345678".to_owned(), 1)));
    }

    #[test]
    fn keeps_nothing_after_its_sink_has_ended() {
        let (queue, batches) = start(10);
        drop(batches);
        queue.push(|text| text.push('x'));
        while queue.lock().phase != Phase::Off {
            thread::yield_now();
        }
        queue.push(|_| panic!("nobody reads it"));
        queue.close();
    }
}
