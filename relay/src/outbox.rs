//! What waits to be written to one socket: bounded, so that one that does not read cannot fill the memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{mpsc, watch};

use crate::websocket::{Close, Outgoing, Writer};

/// How long a socket may take to write its last words.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// The hub's end.
#[derive(Clone)]
pub struct Outbox {
    queue: mpsc::UnboundedSender<Outgoing>,
    /// Bytes that are not written yet.
    queued: Arc<AtomicUsize>,
    limit: usize,
    abort: watch::Sender<Option<Close>>,
}

/// The socket's end.
pub struct Drain {
    queue: mpsc::UnboundedReceiver<Outgoing>,
    queued: Arc<AtomicUsize>,
    abort: watch::Receiver<Option<Close>>,
}

/// The socket's reader is too slow or dead.
#[derive(Debug, PartialEq, Eq)]
pub struct Overrun;

pub fn outbox(limit: usize) -> (Outbox, Drain) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let (abort, aborted) = watch::channel(None);
    let queued = Arc::new(AtomicUsize::new(0));
    (
        Outbox {
            queue: sender,
            queued: queued.clone(),
            limit,
            abort,
        },
        Drain {
            queue: receiver,
            queued,
            abort: aborted,
        },
    )
}

impl Outbox {
    pub fn push(&self, text: String) -> Result<(), Overrun> {
        self.queue(Outgoing::Text(text))
    }

    /// Answers a ping. One who does not read what it asked for gets no more of it.
    pub fn pong(&self, payload: Vec<u8>) {
        let _ = self.queue(Outgoing::Pong(payload));
    }

    /// A message into an empty queue is always taken, however large: its size was checked when it came in.
    fn queue(&self, message: Outgoing) -> Result<(), Overrun> {
        if self.abort.borrow().is_some() {
            // Its end is under way already.
            return Ok(());
        }
        let size = message.size();
        let before = self.queued.fetch_add(size, Ordering::Relaxed);
        if before > 0 && before + size > self.limit {
            self.queued.fetch_sub(size, Ordering::Relaxed);
            return Err(Overrun);
        }
        // A closed queue means that the socket has gone; its link reports that itself.
        let _ = self.queue.send(message);
        Ok(())
    }

    /// Closes after everything that waits is written.
    pub fn close(&self, code: u16, reason: &str) {
        let _ = self.queue.send(Outgoing::Close(Close::new(code, reason)));
    }

    /// Closes at once; what waits is dropped.
    pub fn abort(&self, code: u16, reason: &str) {
        self.abort.send_replace(Some(Close::new(code, reason)));
    }
}

impl Drain {
    /// Writes until the queue is closed, the socket fails, or the link is aborted.
    pub async fn run(mut self, mut socket: Writer) {
        let mut abort = self.abort.clone();
        let last_words = tokio::select! {
            () = self.write(&mut socket) => None,
            aborted = abort.wait_for(Option::is_some) => aborted.ok().and_then(|close| close.clone()),
        };
        if let Some(close) = last_words {
            let say = async {
                // A message that is half out has to be finished first.
                socket.flush().await?;
                socket.put(Outgoing::Close(close));
                socket.flush().await
            };
            let _ = tokio::time::timeout(LAST_WORDS, say).await;
        }
    }

    /// All that waits goes out together, in one system call where it fits.
    async fn write(&mut self, socket: &mut Writer) {
        while let Some(first) = self.queue.recv().await {
            let (mut next, mut size) = (Some(first), 0);
            while let Some(message) = next {
                let is_last = matches!(message, Outgoing::Close(_));
                size += message.size();
                tracing::trace!(?message, "written");
                socket.put(message);
                if is_last {
                    let _ = tokio::time::timeout(LAST_WORDS, socket.flush()).await;
                    return;
                }
                if socket.is_full() {
                    if socket.flush().await.is_err() {
                        return;
                    }
                    self.queued
                        .fetch_sub(std::mem::take(&mut size), Ordering::Relaxed);
                }
                next = self.queue.try_recv().ok();
            }
            if socket.flush().await.is_err() {
                return;
            }
            self.queued.fetch_sub(size, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_over_its_limit_refuses_more_but_one_large_message_passes() {
        let (outbox, _drain) = outbox(10);
        assert_eq!(outbox.push("x".repeat(50)), Ok(()));
        assert_eq!(outbox.push("y".to_owned()), Err(Overrun));
    }
}
