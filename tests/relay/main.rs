//! The relay as a real process, between a scripted extension and scripted clients.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

mod command_line;
mod faults;
mod files;
mod gate;
mod limits;
mod replies;
mod secrecy;
mod sessions;
mod slots;
mod targets;
mod waking;

use serde_json::{Value, json};
use tabwire_tests::{Client, target_of};

/// A session of this client on the page of a tab.
async fn attach(client: &mut Client, tab: i64) -> String {
    let attached = client
        .ok(
            "Target.attachToTarget",
            json!({ "targetId": target_of(tab), "flatten": true }),
        )
        .await;
    attached["sessionId"].as_str().unwrap().to_owned()
}

/// The session of a tab's page as a library gets it: by auto-attaching to all.
async fn auto_attach(client: &mut Client, tab: i64) -> String {
    client
        .ok(
            "Target.setAutoAttach",
            json!({ "autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true }),
        )
        .await;
    loop {
        let attached = client.event("Target.attachedToTarget").await;
        if attached["params"]["targetInfo"]["targetId"] == target_of(tab) {
            return attached["params"]["sessionId"].as_str().unwrap().to_owned();
        }
    }
}

/// What a command that reaches the scripted browser is answered with.
fn echo(method: &str, params: &Value) -> Value {
    json!({ "echo": method, "params": params })
}

fn message_of(error: &Value) -> &str {
    error["message"]
        .as_str()
        .unwrap_or_else(|| panic!("no message: {error}"))
}
