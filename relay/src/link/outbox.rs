//! The messages that wait to be written to one socket. The queue is bounded, so that a peer that
//! does not read cannot exhaust the memory.

use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use futures_util::poll;
use tokio::io::AsyncWrite;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};

use super::backlog::{Backlog, TOO_MUCH, Waiting};
use super::websocket::{Close, LARGE_PAYLOAD, Outgoing, SharedText, Writer};

/// How long a peer may read nothing while something is being written to it.
const READ_TIMEOUT: Duration = Duration::from_secs(7);
/// How long writing the close frame may take, after the rest of the frame that is partly written.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(2_500);
/// A client that does not read has this long in all to start again, and learn why it is disconnected.
const UNREAD_TIMEOUT: Duration = Duration::from_millis(9_500);
/// What a queued message takes besides its payload. Without it, empty pongs would not count at all.
const MESSAGE_OVERHEAD: usize = 64;

/// The sending end of the queue.
#[derive(Clone)]
pub struct Outbox {
    queue: mpsc::UnboundedSender<Outgoing>,
    waiting: Arc<Waiting>,
    limit: usize,
}

/// The receiving end of the queue, which writes to the socket.
pub struct Drain {
    queue: mpsc::UnboundedReceiver<Outgoing>,
    waiting: Arc<Waiting>,
}

/// An outbox with a limit of its own.
pub fn outbox(limit: usize) -> (Outbox, Drain) {
    new(limit, None)
}

/// An outbox that also counts toward what waits for all clients.
pub fn client_outbox(limit: usize, backlog: &Arc<Backlog>) -> (Outbox, Drain) {
    new(limit, Some(backlog))
}

fn new(limit: usize, backlog: Option<&Arc<Backlog>>) -> (Outbox, Drain) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let waiting = Waiting::new(backlog);
    (
        Outbox {
            queue: sender,
            waiting: waiting.clone(),
            limit,
        },
        Drain {
            queue: receiver,
            waiting,
        },
    )
}

fn size(message: &Outgoing) -> usize {
    message.payload_size() + MESSAGE_OVERHEAD
}

impl Outbox {
    /// Disconnects the peer if it has too much to read already.
    pub fn push(&self, text: String) {
        self.queue_text(Outgoing::Text(text));
    }

    /// Sends a text in memory of another type. A large one is written without a copy.
    pub fn push_shared(&self, text: impl AsRef<str> + Send + 'static) {
        if text.as_ref().len() < LARGE_PAYLOAD {
            return self.push(text.as_ref().to_owned());
        }
        self.queue_text(Outgoing::Shared(SharedText::new(text)));
    }

    fn queue_text(&self, message: Outgoing) {
        if !self.queue(message) {
            self.waiting.disconnect(TOO_MUCH);
        }
    }

    /// Answers a ping, unless the queue is full: a peer that does not read gets no more pongs.
    pub fn pong(&self, payload: Vec<u8>) {
        self.queue(Outgoing::Pong(payload));
    }

    /// Asks the peer for a sign of life.
    pub fn ping(&self) {
        self.queue(Outgoing::Ping);
    }

    /// Whether the peer has made room in a full socket since the last call.
    pub fn has_been_read(&self) -> bool {
        self.waiting.has_been_read()
    }

    /// Returns whether there was room for the message.
    fn queue(&self, message: Outgoing) -> bool {
        if self.waiting.is_aborted() {
            // The connection is being closed.
            return true;
        }
        let has_room = self.waiting.queue(size(&message), self.limit);
        if has_room {
            // Fails if the socket is closed, which its link reports.
            let _ = self.queue.send(message);
        }
        has_room
    }

    /// Closes the connection after everything in the queue has been written.
    pub fn close(&self, code: u16, reason: &str) {
        let _ = self.queue.send(Outgoing::Close(Close::new(code, reason)));
    }

    /// Closes the connection now, and drops what is in the queue.
    pub fn abort(&self, code: u16, reason: &str) {
        self.waiting.abort(Close::new(code, reason));
    }

    pub fn is_aborted(&self) -> bool {
        self.waiting.is_aborted()
    }

    /// Why the connection was closed at once, if it was.
    pub fn abort_reason(&self) -> Option<String> {
        let reason = self.waiting.closed_with()?.reason().to_owned();
        Some(reason).filter(|reason| !reason.is_empty())
    }
}

/// Why no more can be written.
enum Stopped {
    /// The connection is lost, or nobody sends any more.
    Lost,
    /// A close frame was written.
    Closed,
    /// The peer does not read.
    Stalled,
}

impl Drain {
    /// Takes the next text message, for a client without a socket. `None`: the connection is
    /// closed.
    pub async fn next_text(&mut self) -> Option<String> {
        let waiting = self.waiting.clone();
        loop {
            let message = tokio::select! {
                message = self.queue.recv() => message?,
                _ = waiting.aborted() => return None,
            };
            let size = size(&message);
            let text = match message {
                Outgoing::Text(text) => Some(text),
                Outgoing::Shared(text) => Some(text.as_str().to_owned()),
                Outgoing::Ping | Outgoing::Pong(_) => None,
                Outgoing::Close(_) => return None,
            };
            self.waiting.write(size);
            self.waiting.written();
            if text.is_some() {
                return text;
            }
        }
    }

    /// Writes until the queue is closed, the socket fails, or the connection is closed. Returns whether
    /// a close frame was written.
    pub async fn run<W: AsyncWrite + Unpin>(mut self, writer: &mut Writer<W>) -> bool {
        let waiting = self.waiting.clone();
        let stopped = tokio::select! {
            stopped = self.write(writer) => stopped,
            _ = waiting.aborted() => Stopped::Stalled,
        };
        match stopped {
            Stopped::Lost => return false,
            Stopped::Closed => return true,
            Stopped::Stalled if !waiting.is_aborted() => {
                let seconds = READ_TIMEOUT.as_secs();
                let reason = format!("Nothing was read for {seconds} seconds.");
                waiting.disconnect(&reason);
            }
            Stopped::Stalled => {}
        }
        let patience = if waiting.is_clients() {
            UNREAD_TIMEOUT.saturating_sub(waiting.blocked_for())
        } else {
            Duration::ZERO
        };
        // Frees the memory of what is still in the queue.
        drop(self);
        let Some(close) = waiting.closed_with() else {
            return false;
        };
        let write_close = async {
            // Finish the frame that is partly written.
            writer.flush().await?;
            writer.put(Outgoing::Close(close));
            writer.flush().await
        };
        let patience = patience.max(CLOSE_TIMEOUT);
        matches!(timeout(patience, write_close).await, Ok(Ok(())))
    }

    /// Returns when no more can be written.
    async fn write<W: AsyncWrite + Unpin>(&mut self, writer: &mut Writer<W>) -> Stopped {
        while let Some(first) = self.queue.recv().await {
            let mut next = Some(first);
            // Everything in the queue is written together, in one system call if it fits.
            while let Some(message) = next {
                tracing::trace!(?message, "message sent");
                if matches!(message, Outgoing::Close(_)) {
                    if let Err(stopped) = self.flush(writer).await {
                        return stopped;
                    }
                    writer.put(message);
                    return match timeout(CLOSE_TIMEOUT, writer.flush()).await {
                        Ok(Ok(())) => Stopped::Closed,
                        _ => Stopped::Lost,
                    };
                }
                self.waiting.write(size(&message));
                writer.put(message);
                if writer.is_full()
                    && let Err(stopped) = self.flush(writer).await
                {
                    return stopped;
                }
                next = self.queue.try_recv().ok();
            }
            if let Err(stopped) = self.flush(writer).await {
                return stopped;
            }
        }
        Stopped::Lost
    }

    async fn flush<W: AsyncWrite + Unpin>(&self, writer: &mut Writer<W>) -> Result<(), Stopped> {
        let mut had_to_wait = false;
        while !writer.is_flushed() {
            self.waiting
                .on_progress(Instant::now().into_std(), had_to_wait);
            let mut write = pin!(writer.write_some());
            let at_once = poll!(write.as_mut());
            had_to_wait = at_once.is_pending();
            let written = match at_once {
                Poll::Ready(written) => Ok(written),
                Poll::Pending => timeout(READ_TIMEOUT, write).await,
            };
            match written {
                Ok(Ok(())) => {}
                Ok(Err(_)) => return Err(Stopped::Lost),
                Err(_) => return Err(Stopped::Stalled),
            }
        }
        self.waiting.written();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt as _, duplex};
    use tokio::time::sleep;

    #[test]
    fn accepts_one_large_message_and_nothing_over_the_limit() {
        let (outbox, _drain) = outbox(10);
        outbox.push("x".repeat(50));
        assert_eq!(outbox.abort_reason(), None);
        outbox.push("y".to_owned());
        assert!(outbox.abort_reason().is_some());
    }

    #[test]
    fn counts_empty_pongs() {
        let (outbox, _drain) = outbox(10 * MESSAGE_OVERHEAD);
        for _ in 0..20 {
            outbox.pong(Vec::new());
        }
        assert_eq!(outbox.waiting.size(), 10 * MESSAGE_OVERHEAD);
        assert_eq!(outbox.abort_reason(), None);
        outbox.push(String::new());
        assert!(outbox.abort_reason().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn peer_that_reads_nothing_is_disconnected_and_can_read_why() {
        let (outbox, drain) = outbox(1 << 20);
        let (mut peer, socket) = duplex(1 << 10);
        outbox.push("x".repeat(10 << 10));
        let started = Instant::now();
        let writing = async { drain.run(&mut Writer::new(socket)).await };
        let reading = async {
            while outbox.abort_reason().is_none() {
                sleep(Duration::from_millis(100)).await;
            }
            let mut received = Vec::new();
            let _ = peer.read_to_end(&mut received).await;
            received
        };
        let (is_close_written, received) = tokio::join!(writing, reading);
        assert!(is_close_written);
        assert!(started.elapsed() < Duration::from_secs(8));
        assert!(received.ends_with(b"Nothing was read for 7 seconds."));
    }

    #[tokio::test(start_paused = true)]
    async fn slow_reader_is_not_disconnected() {
        let (outbox, drain) = outbox(1 << 20);
        let (mut peer, socket) = duplex(1 << 10);
        outbox.push("x".repeat(10 << 10));
        outbox.close(1000, "");
        let reading = async {
            let mut buffer = [0; 1 << 10];
            while let Ok(1..) = peer.read(&mut buffer).await {
                sleep(Duration::from_secs(2)).await;
            }
        };
        let mut writer = Writer::new(socket);
        let writing = async {
            let is_close_written = drain.run(&mut writer).await;
            drop(writer);
            is_close_written
        };
        assert!(tokio::join!(writing, reading).0);
        assert_eq!(outbox.abort_reason(), None);
        assert!(outbox.has_been_read());
    }

    #[tokio::test]
    async fn the_client_with_the_most_unread_data_is_disconnected() {
        const MIB: usize = 1 << 20;
        let backlog = Arc::default();
        let clients = [15, 25, 10].map(|size| {
            let (outbox, drain) = client_outbox(256 * MIB, &backlog);
            outbox.push("x".repeat(size * MIB));
            (outbox, drain)
        });
        let [(small, _), (large, _), (reading, _)] = &clients;
        let aborted = || [small, large, reading].map(|client| client.abort_reason().is_some());
        for client in [small, large] {
            let long_ago = std::time::Instant::now().checked_sub(Duration::from_secs(2));
            client.waiting.on_progress(long_ago.unwrap(), false);
        }
        // What waits for one that reads does not count.
        reading.push("x".repeat(50 * MIB));
        assert_eq!(aborted(), [false, false, false]);
        small.push("x".repeat(20 * MIB));
        assert_eq!(aborted(), [true, false, false]);
    }
}
