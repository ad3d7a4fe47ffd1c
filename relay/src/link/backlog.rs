//! What waits for clients that do not read, over all clients. It is bounded, so that they cannot
//! exhaust the memory together.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use tokio::sync::watch;

use super::websocket::Close;

/// How much may wait for all clients that do not read. With what the system needs besides, this takes less than
/// 64 MiB of memory.
const LIMIT: usize = 48 << 20;
/// A client whose socket has taken nothing for this long does not read. Parsing a large result can
/// keep a client busy for a while.
const NOT_READING: Duration = Duration::from_secs(1);

const TRY_AGAIN_LATER: u16 = 1013;

pub const TOO_MUCH: &str = "Too much unread data. Read faster, or request less.";

/// What waits for one peer.
pub struct Waiting {
    /// The size of the messages behind those that are being written.
    queued: AtomicUsize,
    /// The size of those that are being written.
    writing: AtomicUsize,
    /// Since when the socket has not taken anything, although something is being written.
    blocked_since: Mutex<Option<Instant>>,
    /// Whether the peer has made room in a full socket.
    was_read: AtomicBool,
    /// How to close the connection at once, dropping what waits.
    abort: watch::Sender<Option<Close>>,
    /// The backlog that this is a part of.
    backlog: Option<Arc<Backlog>>,
}

/// What waits for all clients.
#[derive(Default)]
pub struct Backlog {
    size: AtomicUsize,
    clients: Mutex<Vec<Weak<Waiting>>>,
}

impl Waiting {
    pub fn new(backlog: Option<&Arc<Backlog>>) -> Arc<Self> {
        let waiting = Arc::new(Self {
            queued: AtomicUsize::new(0),
            writing: AtomicUsize::new(0),
            blocked_since: Mutex::new(None),
            was_read: AtomicBool::new(false),
            abort: watch::Sender::new(None),
            backlog: backlog.cloned(),
        });
        if let Some(backlog) = backlog {
            let mut clients = lock(&backlog.clients);
            clients.retain(|client| client.strong_count() > 0);
            clients.push(Arc::downgrade(&waiting));
        }
        waiting
    }

    /// Counts a message that is about to be queued. Returns whether there is room for it. An empty
    /// queue has room for a message of any size: the size was checked when it was received.
    pub fn queue(&self, size: usize, limit: usize) -> bool {
        let before = self.queued.load(Ordering::Relaxed);
        if before > 0 && before + size > limit {
            return false;
        }
        self.queued.fetch_add(size, Ordering::Relaxed);
        if let Some(backlog) = &self.backlog {
            backlog.add(size);
        }
        true
    }

    /// A message has left the queue, and is being written.
    pub fn write(&self, size: usize) {
        self.queued.fetch_sub(size, Ordering::Relaxed);
        self.writing.fetch_add(size, Ordering::Relaxed);
    }

    /// The socket has taken everything that was being written.
    pub fn written(&self) {
        *lock(&self.blocked_since) = None;
        let size = self.writing.swap(0, Ordering::Relaxed);
        self.leave_backlog(size);
    }

    /// The socket has to take what is being written, or what is left of it because the peer has to
    /// read first.
    pub fn on_progress(&self, now: Instant, had_to_wait: bool) {
        *lock(&self.blocked_since) = Some(now);
        if had_to_wait {
            self.was_read.store(true, Ordering::Relaxed);
        }
    }

    /// Whether the peer has made room in a full socket since the last call.
    pub fn has_been_read(&self) -> bool {
        self.was_read.swap(false, Ordering::Relaxed)
    }

    /// The first reason counts.
    pub fn abort(&self, close: Close) {
        self.abort.send_if_modified(|abort| {
            let is_first = abort.is_none();
            abort.get_or_insert(close);
            is_first
        });
    }

    /// The peer has too much to read, or has read nothing for too long.
    pub fn disconnect(&self, reason: &str) {
        tracing::warn!(reason, "a peer does not read its messages; disconnecting");
        self.abort(Close::new(TRY_AGAIN_LATER, reason));
    }

    /// Whether this is a client's.
    pub fn is_clients(&self) -> bool {
        self.backlog.is_some()
    }

    /// How long the socket has not taken anything.
    pub fn blocked_for(&self) -> Duration {
        lock(&self.blocked_since).map_or(Duration::ZERO, |since| since.elapsed())
    }

    pub fn is_aborted(&self) -> bool {
        self.abort.borrow().is_some()
    }

    pub fn closed_with(&self) -> Option<Close> {
        self.abort.borrow().clone()
    }

    /// Resolves when the connection is aborted.
    pub async fn aborted(&self) -> Option<Close> {
        let mut abort = self.abort.subscribe();
        let close = abort.wait_for(Option::is_some).await;
        close.ok().and_then(|close| close.clone())
    }

    pub fn size(&self) -> usize {
        self.queued.load(Ordering::Relaxed) + self.writing.load(Ordering::Relaxed)
    }

    fn reads(&self, now: Instant) -> bool {
        lock(&self.blocked_since).is_none_or(|since| now.duration_since(since) < NOT_READING)
    }

    fn leave_backlog(&self, size: usize) {
        if let Some(backlog) = &self.backlog {
            backlog.size.fetch_sub(size, Ordering::Relaxed);
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.leave_backlog(self.size());
    }
}

impl Backlog {
    fn add(&self, size: usize) {
        if self.size.fetch_add(size, Ordering::Relaxed) + size > LIMIT {
            self.disconnect_idle();
        }
    }

    /// Disconnects clients that do not read, those with the most unread data first, until what waits
    /// for the others is within the limit.
    fn disconnect_idle(&self) {
        let now = Instant::now();
        let clients = lock(&self.clients);
        let mut idle: Vec<_> = clients
            .iter()
            .filter_map(Weak::upgrade)
            .filter(|client| !client.is_aborted() && !client.reads(now))
            .collect();
        idle.sort_by_key(|client| client.size());
        // One that only has to take a single message may just be busy with the last one.
        idle.retain(|client| client.queued.load(Ordering::Relaxed) > 0);
        let mut total: usize = idle.iter().map(|client| client.size()).sum();
        while total > LIMIT
            && let Some(client) = idle.pop()
        {
            total -= client.size();
            client.disconnect(TOO_MUCH);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
