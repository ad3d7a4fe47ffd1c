//! The messages that wait to be written to one socket. The queue is bounded, so that a peer that
//! does not read cannot exhaust the memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::AsyncWrite;
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use super::websocket::{Close, LARGE_PAYLOAD, Outgoing, SharedText, Writer};

/// How long writing the close frame may take.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);
/// What a queued message takes besides its payload. Without it, empty pongs would not count at all.
const MESSAGE_OVERHEAD: usize = 64;

/// The sending end of the queue.
#[derive(Clone)]
pub struct Outbox {
    queue: mpsc::UnboundedSender<Outgoing>,
    /// The size of everything that has not been written yet.
    queued: Arc<AtomicUsize>,
    limit: usize,
    abort: watch::Sender<Option<Close>>,
}

/// The receiving end of the queue, which writes to the socket.
pub struct Drain {
    queue: mpsc::UnboundedReceiver<Outgoing>,
    queued: Arc<AtomicUsize>,
    abort: watch::Receiver<Option<Close>>,
}

/// The queue is full: the peer is too slow, or dead.
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

fn size(message: &Outgoing) -> usize {
    message.payload_size() + MESSAGE_OVERHEAD
}

impl Outbox {
    pub fn push(&self, text: String) -> Result<(), Overrun> {
        self.queue(Outgoing::Text(text))
    }

    /// Sends a text in memory of another type. A large one is written without a copy.
    pub fn push_shared(&self, text: impl AsRef<str> + Send + 'static) -> Result<(), Overrun> {
        if text.as_ref().len() < LARGE_PAYLOAD {
            return self.push(text.as_ref().to_owned());
        }
        self.queue(Outgoing::Shared(SharedText::new(text)))
    }

    /// Answers a ping, unless the queue is full: a peer that does not read gets no more pongs.
    pub fn pong(&self, payload: Vec<u8>) {
        let _ = self.queue(Outgoing::Pong(payload));
    }

    /// An empty queue accepts a message of any size: the size was checked when the message was
    /// received.
    fn queue(&self, message: Outgoing) -> Result<(), Overrun> {
        if self.abort.borrow().is_some() {
            // The connection is being closed.
            return Ok(());
        }
        let size = size(&message);
        let before = self.queued.fetch_add(size, Ordering::Relaxed);
        if before > 0 && before + size > self.limit {
            self.queued.fetch_sub(size, Ordering::Relaxed);
            return Err(Overrun);
        }
        // Fails if the socket is closed, which its link reports.
        let _ = self.queue.send(message);
        Ok(())
    }

    /// Closes the connection after everything in the queue has been written.
    pub fn close(&self, code: u16, reason: &str) {
        let _ = self.queue.send(Outgoing::Close(Close::new(code, reason)));
    }

    /// Closes the connection now, and drops what is in the queue.
    pub fn abort(&self, code: u16, reason: &str) {
        self.abort.send_replace(Some(Close::new(code, reason)));
    }
}

impl Drain {
    /// Takes the next text message, for a client without a socket. `None`: the connection is
    /// closed.
    pub async fn next_text(&mut self) -> Option<String> {
        let mut abort = self.abort.clone();
        loop {
            let message = tokio::select! {
                message = self.queue.recv() => message?,
                _ = abort.wait_for(Option::is_some) => return None,
            };
            self.queued.fetch_sub(size(&message), Ordering::Relaxed);
            match message {
                Outgoing::Text(text) => return Some(text),
                Outgoing::Shared(text) => return Some(text.as_str().to_owned()),
                Outgoing::Pong(_) => {}
                Outgoing::Close(_) => return None,
            }
        }
    }

    /// Writes until the queue is closed, the socket fails, or the connection is aborted.
    pub async fn run<W: AsyncWrite + Unpin>(mut self, mut writer: Writer<W>) {
        let mut abort = self.abort.clone();
        let close = tokio::select! {
            () = self.write(&mut writer) => None,
            aborted = abort.wait_for(Option::is_some) => aborted.ok().and_then(|close| close.clone()),
        };
        if let Some(close) = close {
            let write_close = async {
                // Finish the frame that is partly written.
                writer.flush().await?;
                writer.put(Outgoing::Close(close));
                writer.flush().await
            };
            let _ = timeout(CLOSE_TIMEOUT, write_close).await;
        }
    }

    /// Returns when no more can be written.
    async fn write<W: AsyncWrite + Unpin>(&mut self, writer: &mut Writer<W>) {
        while let Some(first) = self.queue.recv().await {
            let (mut next, mut written) = (Some(first), 0);
            // Everything in the queue is written together, in one system call if it fits.
            while let Some(message) = next {
                let is_close = matches!(message, Outgoing::Close(_));
                written += size(&message);
                tracing::trace!(?message, "message sent");
                writer.put(message);
                if is_close {
                    let _ = timeout(CLOSE_TIMEOUT, writer.flush()).await;
                    return;
                }
                if writer.is_full() && self.flush(writer, &mut written).await.is_err() {
                    return;
                }
                next = self.queue.try_recv().ok();
            }
            if self.flush(writer, &mut written).await.is_err() {
                return;
            }
        }
    }

    async fn flush<W: AsyncWrite + Unpin>(
        &self,
        writer: &mut Writer<W>,
        written: &mut usize,
    ) -> std::io::Result<()> {
        writer.flush().await?;
        self.queued
            .fetch_sub(std::mem::take(written), Ordering::Relaxed);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_one_large_message_and_nothing_over_the_limit() {
        let (outbox, _drain) = outbox(10);
        assert_eq!(outbox.push("x".repeat(50)), Ok(()));
        assert_eq!(outbox.push("y".to_owned()), Err(Overrun));
    }

    #[test]
    fn counts_empty_pongs() {
        let (outbox, _drain) = outbox(10 * MESSAGE_OVERHEAD);
        for _ in 0..20 {
            outbox.pong(Vec::new());
        }
        assert_eq!(outbox.queued.load(Ordering::Relaxed), 10 * MESSAGE_OVERHEAD);
        assert_eq!(outbox.push(String::new()), Err(Overrun));
    }
}
