//! A browser with a debugging port, driven by a test: it serves the documents of such a port, and
//! hands every WebSocket to the test.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade};
use axum::extract::{Request, State};
use axum::http::{StatusCode, Uri};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use axum::serve::ListenerExt as _;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::within;

const MAX_MESSAGE: usize = 512 << 20;
const PATH: &str = "/devtools/browser/0b1c";
const PAGE_PATH: &str = "/devtools/page/{id}";

pub struct ScriptedBrowser {
    pub port: u16,
    /// Whether requests are accepted and never answered.
    hangs: Arc<AtomicBool>,
    /// How many of the next WebSockets are refused.
    refusals: Arc<AtomicUsize>,
    product: Arc<Mutex<String>>,
    server: JoinHandle<()>,
    links: mpsc::UnboundedReceiver<BrowserLink>,
}

/// One WebSocket to the browser. Dropping it resets the connection, without a close frame.
#[derive(Debug)]
pub struct BrowserLink {
    /// `/devtools/browser/ID` or `/devtools/page/ID`.
    pub path: String,
    socket: WebSocket,
}

impl ScriptedBrowser {
    /// Listens on a free port.
    pub async fn start() -> Self {
        Self::start_on(0).await
    }

    /// Takes the place of a browser that was stopped.
    pub async fn start_on(port: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", port)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (sender, links) = mpsc::unbounded_channel();
        let upgrade = async move |uri: Uri, upgrade: WebSocketUpgrade| {
            let path = uri.path().to_owned();
            upgrade
                .max_message_size(MAX_MESSAGE)
                .max_frame_size(MAX_MESSAGE)
                .on_upgrade(async move |socket| drop(sender.send(BrowserLink { path, socket })))
        };
        let hangs = Arc::new(AtomicBool::new(false));
        let refusals = Arc::new(AtomicUsize::new(0));
        let product = Arc::new(Mutex::new("Chrome/156.0.1.2".to_owned()));
        let its_product = product.clone();
        let routes = Router::new()
            .route(
                "/json/version",
                get(async move || version(port, &its_product.lock().unwrap()).to_string()),
            )
            .route("/json/list", get(async move || list(port).to_string()))
            .route("/json/protocol", get(async || r#"{"domains" : []}"#))
            .route(PATH, get(upgrade.clone()))
            .route(PAGE_PATH, get(upgrade))
            .layer(from_fn_with_state(hangs.clone(), answer_or_hang))
            .layer(from_fn_with_state(refusals.clone(), accept_or_refuse));
        let listener = listener.tap_io(|stream| stream.set_nodelay(true).unwrap());
        let server = tokio::spawn(async move { axum::serve(listener, routes).await.unwrap() });
        Self {
            port,
            hangs,
            refusals,
            product,
            server,
            links,
        }
    }

    /// From now on accepts connections and answers none, like a process that is suspended.
    pub fn hang(&self) {
        self.hangs.store(true, Ordering::Relaxed);
    }

    /// Refuses this many of the next WebSockets.
    pub fn refuse(&self, number: usize) {
        self.refusals.store(number, Ordering::Relaxed);
    }

    /// What `/json/version` has as its product.
    pub fn set_product(&self, product: &str) {
        product.clone_into(&mut self.product.lock().unwrap());
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The next WebSocket that the relay opens.
    pub async fn link(&mut self) -> BrowserLink {
        let link = within("the relay opens a WebSocket", self.links.recv()).await;
        link.unwrap()
    }

    /// Frees the port. Links stay open until they are dropped. Returns the port.
    pub async fn stop(self) -> u16 {
        self.server.abort();
        let _ = self.server.await;
        self.port
    }
}

impl BrowserLink {
    /// The next message of the client, or of the relay itself.
    pub async fn text(&mut self) -> String {
        loop {
            match within("receive a message", self.socket.recv()).await {
                Some(Ok(Message::Text(text))) => return text.to_string(),
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                other => panic!("not a text message: {other:?}"),
            }
        }
    }

    pub async fn request(&mut self) -> Value {
        serde_json::from_str(&self.text().await).unwrap()
    }

    /// Waits for a request with this method.
    pub async fn expect(&mut self, method: &str) -> Value {
        let request = self.request().await;
        assert_eq!(request["method"], method, "{request}");
        request
    }

    /// Waits for a request with this method, and replies with `{}`.
    pub async fn answer(&mut self, method: &str) -> Value {
        let request = self.expect(method).await;
        self.reply(&request, json!({})).await;
        request
    }

    pub async fn reply(&mut self, request: &Value, result: Value) {
        let mut reply = json!({ "id": request["id"], "result": result });
        if let Some(session) = request.get("sessionId") {
            reply["sessionId"] = session.clone();
        }
        self.send(reply.to_string()).await;
    }

    /// Ignores failures: the relay closes the connection before it has read a message that is too
    /// large.
    pub async fn send(&mut self, text: impl Into<String>) {
        let message = Message::Text(text.into().into());
        let _ = within("send a message", self.socket.send(message)).await;
    }

    /// Announces a page with this session.
    pub async fn attach(&mut self, session: &str, target: &str) {
        let info = json!({ "targetId": target, "type": "page", "title": "", "url": "", "attached": true, "canAccessOpener": false });
        let params =
            json!({ "sessionId": session, "targetInfo": info, "waitingForDebugger": false });
        let event = json!({ "method": "Target.attachedToTarget", "params": params });
        self.send(event.to_string()).await;
    }

    /// Closes the connection with a close frame.
    pub async fn close(mut self) {
        let frame = CloseFrame {
            code: 1000,
            reason: "".into(),
        };
        let _ = self.socket.send(Message::Close(Some(frame))).await;
    }

    /// Waits until the relay closes the connection.
    pub async fn wait_for_close(&mut self) {
        let closing = async {
            while let Some(Ok(message)) = self.socket.recv().await {
                if matches!(message, Message::Close(_)) {
                    return;
                }
            }
        };
        within("the relay closes its WebSocket", closing).await;
    }
}

async fn answer_or_hang(
    State(hangs): State<Arc<AtomicBool>>,
    request: Request,
    next: Next,
) -> Response {
    if hangs.load(Ordering::Relaxed) {
        std::future::pending::<()>().await;
    }
    next.run(request).await
}

async fn accept_or_refuse(
    State(refusals): State<Arc<AtomicUsize>>,
    request: Request,
    next: Next,
) -> Response {
    let less = |number: usize| number.checked_sub(1);
    if request.uri().path().starts_with("/devtools/")
        && refusals
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less)
            .is_ok()
    {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    }
    next.run(request).await
}

fn version(port: u16, product: &str) -> Value {
    json!({
        "Browser": product,
        "Protocol-Version": "1.3",
        "User-Agent": "scripted",
        "webSocketDebuggerUrl": format!("ws://127.0.0.1:{port}{PATH}"),
    })
}

fn list(port: u16) -> Value {
    let target = |id: &str, kind: &str| {
        json!({
            "id": id, "type": kind, "title": "A page", "url": "https://a.test/",
            "devtoolsFrontendUrl": format!("https://x.test/inspector.html?ws=127.0.0.1:{port}/devtools/page/{id}"),
            "webSocketDebuggerUrl": format!("ws://127.0.0.1:{port}/devtools/page/{id}"),
        })
    };
    json!([target("A1", "page"), target("B2", "worker")])
}
