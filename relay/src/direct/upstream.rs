//! One client's WebSocket to the browser. A task of its own opens it, writes what is queued, and
//! reports what arrives until it is lost or dropped.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt as _, StreamExt as _};
use tabwire_core::ids::ClientId;
use tokio::net::TcpStream;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{sleep, timeout};
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

use super::browser::Browser;
use super::port;
use super::runtime::StrongSignal;

/// How long opening a socket may take.
const OPEN_TIMEOUT: Duration = Duration::from_secs(5);
/// How long the last messages and the close frame may take.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);
/// It is filled with zeros before every read, so a larger one costs more per message. A smaller one
/// takes more reads for a screenshot.
const READ_BUFFER: usize = 64 << 10;
const WRITE_BUFFER: usize = 32 << 10;
/// What a queued message takes besides its payload.
const MESSAGE_OVERHEAD: usize = 64;

type Socket = WebSocketStream<TcpStream>;

/// Identifies a socket among all those that a client has had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkId {
    pub client: ClientId,
    pub number: u64,
}

pub enum Event {
    Opened(LinkId),
    Text(LinkId, Utf8Bytes),
    Lost(LinkId, Loss),
}

/// How a socket was lost, with the reason in words.
#[derive(Debug)]
pub struct Loss {
    pub signal: StrongSignal,
    pub reason: String,
}

#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub max_message: usize,
    /// How much may be queued for a peer that does not read.
    pub outbox: usize,
}

/// The browser does not read.
#[derive(Debug, PartialEq, Eq)]
pub struct Overrun;

/// The sending end of a socket. Dropping it closes the socket, after what is queued.
pub struct Upstream {
    pub link: LinkId,
    queue: mpsc::UnboundedSender<String>,
    queued: Arc<AtomicUsize>,
    limit: usize,
    /// Dropping it notifies the task that nobody waits for it.
    _dropped: oneshot::Sender<()>,
}

impl Upstream {
    pub fn open(
        browser: Arc<Browser>,
        target: Option<&str>,
        link: LinkId,
        limits: Limits,
        events: mpsc::Sender<Event>,
    ) -> Self {
        let path = target.map(|id| format!("/devtools/page/{id}"));
        let (queue, messages) = mpsc::unbounded_channel();
        let (dropped, owner) = oneshot::channel();
        let queued = Arc::new(AtomicUsize::new(0));
        let drain = Drain {
            messages,
            queued: queued.clone(),
        };
        tokio::spawn(async move {
            let running = run((&browser, path), link, limits.max_message, drain, &events);
            let abandoned = async {
                let _ = owner.await;
                sleep(CLOSE_TIMEOUT).await;
            };
            let lost = tokio::select! {
                lost = running => lost,
                () = abandoned => None,
            };
            if let Some(loss) = lost {
                let _ = events.send(Event::Lost(link, loss)).await;
            }
        });
        Self {
            link,
            queue,
            queued,
            limit: limits.outbox,
            _dropped: dropped,
        }
    }

    /// An empty queue accepts a message of any size.
    pub fn push(&self, text: String) -> Result<(), Overrun> {
        let size = text.len() + MESSAGE_OVERHEAD;
        let before = self.queued.fetch_add(size, Ordering::Relaxed);
        if before > 0 && before + size > self.limit {
            return Err(Overrun);
        }
        // Fails if the socket is lost, which its task reports.
        let _ = self.queue.send(text);
        Ok(())
    }
}

/// The receiving end of the queue.
struct Drain {
    messages: mpsc::UnboundedReceiver<String>,
    queued: Arc<AtomicUsize>,
}

/// Returns `None` when the owner has dropped the socket.
async fn run(
    address: (&Browser, Option<String>),
    link: LinkId,
    max_message: usize,
    drain: Drain,
    events: &mpsc::Sender<Event>,
) -> Option<Loss> {
    let opening = timeout(OPEN_TIMEOUT, open(address, max_message));
    let not_opened = |reason| Loss {
        signal: StrongSignal::NotOpened,
        reason,
    };
    let socket = match opening.await {
        Ok(Ok(socket)) => socket,
        Ok(Err(reason)) => return Some(not_opened(reason)),
        Err(_) => return Some(not_opened("it did not respond in time".to_owned())),
    };
    let _ = events.send(Event::Opened(link)).await;
    let (sink, stream) = socket.split();
    tokio::select! {
        loss = read(stream, link, events) => Some(loss),
        written = write(sink, drain) => written,
    }
}

/// `path`: of a target's socket; `None` for the browser's.
async fn open(
    (browser, path): (&Browser, Option<String>),
    max_message: usize,
) -> Result<Socket, String> {
    let url = browser.url();
    let path = if let Some(path) = path {
        path
    } else {
        let version = port::version(url).await;
        let version = version.map_err(|fault| fault.to_string())?;
        version.websocket_path().unwrap_or_default().to_owned()
    };
    let stream = port::connect(url)
        .await
        .map_err(|fault| fault.to_string())?;
    let config = WebSocketConfig::default()
        .read_buffer_size(READ_BUFFER)
        .write_buffer_size(WRITE_BUFFER)
        .max_message_size(Some(max_message))
        .max_frame_size(Some(max_message));
    let address = format!("ws://127.0.0.1:{}{path}", url.port);
    let opened = client_async_with_config(address, stream, Some(config)).await;
    let (socket, _) = opened.map_err(|error| error.to_string())?;
    // A browser sends nothing before it is asked, so nothing is lost that was read together with
    // the handshake. A socket that continues the handshake's buffer reads every message in two
    // parts.
    let stream = socket.into_inner();
    port::check_owner(&stream).map_err(|fault| fault.to_string())?;
    Ok(WebSocketStream::from_raw_socket(stream, Role::Client, Some(config)).await)
}

async fn read(mut stream: SplitStream<Socket>, link: LinkId, events: &mpsc::Sender<Event>) -> Loss {
    loop {
        match stream.next().await {
            Some(Ok(Message::Text(text))) => {
                tracing::trace!(text = text.as_str(), "message received from the browser");
                // Nothing is read while the hub is busy, which slows down a browser that floods it.
                let _ = events.send(Event::Text(link, text)).await;
            }
            Some(Ok(Message::Close(_))) | None => {
                return Loss {
                    signal: StrongSignal::Closed,
                    reason: "the browser closed the connection".to_owned(),
                };
            }
            // Pings are answered by the library.
            Some(Ok(_)) => {}
            Some(Err(error)) => {
                return Loss {
                    signal: StrongSignal::Failed,
                    reason: error.to_string(),
                };
            }
        }
    }
}

/// Returns `None` when the owner has dropped the socket, and it is closed.
async fn write(mut sink: SplitSink<Socket, Message>, mut drain: Drain) -> Option<Loss> {
    let failed = |error: tokio_tungstenite::tungstenite::Error| {
        Some(Loss {
            signal: StrongSignal::Failed,
            reason: error.to_string(),
        })
    };
    while let Some(first) = drain.messages.recv().await {
        let (mut next, mut written) = (Some(first), 0);
        // Everything in the queue is written together.
        while let Some(text) = next {
            written += text.len() + MESSAGE_OVERHEAD;
            if let Err(error) = sink.feed(Message::text(text)).await {
                return failed(error);
            }
            next = drain.messages.try_recv().ok();
        }
        if let Err(error) = sink.flush().await {
            return failed(error);
        }
        drain.queued.fetch_sub(written, Ordering::Relaxed);
    }
    let _ = timeout(CLOSE_TIMEOUT, sink.close()).await;
    None
}
