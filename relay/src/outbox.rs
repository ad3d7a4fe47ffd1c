//! What waits to be written to one socket: bounded, so that one that does not read cannot fill the memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, WebSocket};
use futures_util::SinkExt as _;
use futures_util::stream::SplitSink;
use tokio::sync::{mpsc, watch};

/// How long a socket may take to write its last words.
pub const LAST_WORDS: Duration = Duration::from_secs(2);

/// The hub's end.
#[derive(Clone)]
pub struct Outbox {
    queue: mpsc::UnboundedSender<Message>,
    /// Bytes in the queue.
    queued: Arc<AtomicUsize>,
    limit: usize,
    abort: watch::Sender<Option<CloseFrame>>,
}

/// The socket's end.
pub struct Drain {
    queue: mpsc::UnboundedReceiver<Message>,
    queued: Arc<AtomicUsize>,
    abort: watch::Receiver<Option<CloseFrame>>,
}

/// The socket's reader is too slow or dead.
#[derive(Debug, PartialEq, Eq)]
pub struct Overrun;

pub fn outbox(limit: usize) -> (Outbox, Drain) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let (abort, aborted) = watch::channel(None);
    let queued = Arc::new(AtomicUsize::new(0));
    (Outbox { queue: sender, queued: queued.clone(), limit, abort }, Drain { queue: receiver, queued, abort: aborted })
}

impl Outbox {
    /// A message into an empty queue is always taken, however large: its size was checked when it came in.
    pub fn push(&self, text: String) -> Result<(), Overrun> {
        if self.abort.borrow().is_some() {
            // Its end is under way already.
            return Ok(());
        }
        let size = text.len();
        let before = self.queued.fetch_add(size, Ordering::Relaxed);
        if before > 0 && before + size > self.limit {
            self.queued.fetch_sub(size, Ordering::Relaxed);
            return Err(Overrun);
        }
        // A closed queue means that the socket has gone; its link reports that itself.
        let _ = self.queue.send(Message::Text(text.into()));
        Ok(())
    }

    /// Closes after everything that waits is written.
    pub fn close(&self, code: u16, reason: &str) {
        let _ = self.queue.send(Message::Close(Some(close_frame(code, reason))));
    }

    /// Closes at once; what waits is dropped.
    pub fn abort(&self, code: u16, reason: &str) {
        self.abort.send_replace(Some(close_frame(code, reason)));
    }
}

fn close_frame(code: u16, reason: &str) -> CloseFrame {
    // A close frame has room for 123 bytes of reason.
    let end = (0..=reason.len().min(123)).rev().find(|end| reason.is_char_boundary(*end)).unwrap_or(0);
    CloseFrame { code, reason: reason.get(..end).unwrap_or_default().into() }
}

impl Drain {
    /// Writes until the queue is closed, the socket fails, or the link is aborted.
    pub async fn run(mut self, mut socket: SplitSink<WebSocket, Message>) {
        let mut abort = self.abort.clone();
        let last_words = tokio::select! {
            () = self.write(&mut socket) => None,
            aborted = abort.wait_for(Option::is_some) => aborted.ok().and_then(|frame| frame.clone()),
        };
        if let Some(frame) = last_words {
            let _ = tokio::time::timeout(LAST_WORDS, socket.send(Message::Close(Some(frame)))).await;
        }
    }

    /// All that waits goes out together, in one system call where it fits.
    async fn write(&mut self, socket: &mut SplitSink<WebSocket, Message>) {
        while let Some(first) = self.queue.recv().await {
            let mut next = Some(first);
            while let Some(message) = next {
                let size = if let Message::Text(text) = &message { text.len() } else { 0 };
                let is_last = matches!(message, Message::Close(_));
                let sent = socket.feed(message).await;
                self.queued.fetch_sub(size, Ordering::Relaxed);
                if sent.is_err() || is_last {
                    let _ = tokio::time::timeout(LAST_WORDS, socket.flush()).await;
                    return;
                }
                next = self.queue.try_recv().ok();
            }
            if socket.flush().await.is_err() {
                return;
            }
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
