use std::sync::Arc;

use serde_json::Value;
use tabwire_core::ids::ClientId;
use tokio::sync::mpsc;

use super::*;
use crate::config::ClientMode;
use crate::direct::browser::{Browser, Found, Launcher};
use crate::direct::upstream::Limits;
use crate::direct::url::BrowserUrl;
use crate::error::Error;
use crate::link::outbox::{Drain, outbox};
use crate::log::{Log, Observer};
use crate::registry::connections::Connections;

const ID: ClientId = ClientId(1);

/// Nothing answers there.
struct Nowhere;

impl Launcher for Nowhere {
    fn launch(&self) -> std::pin::Pin<Box<dyn Future<Output = Result<Found, Error>> + Send + '_>> {
        let ownership = tabwire_home::control::Ownership::Attached;
        let url = BrowserUrl { port: 1 };
        Box::pin(async move { Ok(Found { url, ownership }) })
    }
}

fn client() -> (Client, Drain) {
    let (outbox, sent) = outbox(1 << 20);
    let connections = Connections::new(
        ClientMode::SingleActive,
        Arc::default(),
        Arc::default(),
        Arc::default(),
    );
    let report = Report {
        client: ID,
        observer: Observer::new(Log::new(), None),
        connections: Arc::new(connections),
    };
    (Client::new(outbox, Link::Lost, report, None), sent)
}

fn request(id: usize) -> String {
    format!(r#"{{"id":{id},"method":"Some.method"}}"#)
}

/// A browser that reads nothing, and for which little can be queued.
async fn busy_browser() -> Upstream {
    let launched = Browser::launch("b".to_owned(), "/p".into(), Arc::new(Nowhere));
    let Ok(browser) = launched.await else {
        panic!("launched");
    };
    let link = LinkId {
        client: ID,
        number: 1,
    };
    let limits = Limits {
        max_message: 1 << 20,
        outbox: 150,
    };
    let (events, _) = mpsc::channel(1);
    Upstream::open(Arc::new(browser), None, link, limits, events)
}

#[tokio::test]
async fn requests_that_the_browser_does_not_read_go_on_waiting() {
    let (mut client, mut sent) = client();
    for id in 1..=4 {
        assert_eq!(client.on_text(request(id), Instant::now()), Asked::Recovery);
    }
    let upstream = busy_browser().await;
    client.link = Link::Restoring {
        upstream,
        pending: 0,
    };
    assert_eq!(client.flush(), Err(Overrun));
    assert_eq!(client.waiting.len(), 2);
    assert_eq!(client.waiting_bytes, 2 * (request(1).len() + 64));
    // The first one was sent, and whether the second one was is unknown.
    client.on_lost();
    let mut failed = Vec::new();
    for _ in 0..2 {
        let reply = sent.next_text().await.expect("a reply");
        let reply: Value = serde_json::from_str(&reply).expect("JSON");
        assert!(reply.get("error").is_some(), "{reply}");
        failed.push(reply["id"].as_i64());
    }
    failed.sort_unstable();
    assert_eq!(failed, [Some(1), Some(2)]);
}

#[test]
fn small_requests_that_wait_count_with_what_they_take() {
    let (mut client, _sent) = client();
    client.on_text(request(1), Instant::now());
    assert_eq!(client.waiting_bytes, request(1).len() + 64);
}
