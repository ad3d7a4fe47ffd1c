//! Child targets of a page: out-of-process frames and workers, as seen by several sessions.

mod auto_attach;
mod barriers;
mod routing;

use serde_json::json;

use super::script::{Script, Session, auto_attach, child_target};

/// Chrome attaches to a frame in tab 1, or in the frame `parent`, and calls its session by this
/// name.
fn attach_frame(script: &mut Script, parent: Option<&str>, name: &str) {
    let params = child_target(name, "iframe", false);
    match parent {
        None => script.cdp_event(1, "Target.attachedToTarget", params),
        Some(parent) => script.child_event(1, parent, "Target.attachedToTarget", params),
    }
}

fn detach_child(script: &mut Script, name: &str) {
    let params = json!({ "sessionId": name });
    script.cdp_event(1, "Target.detachedFromTarget", params);
}

/// Auto-attaches to the children of a session. Returns the sessions of those that exist.
fn auto_attach_to_children(script: &mut Script, parent: &Session) -> Vec<Session> {
    script.send(parent, "Target.setAutoAttach", auto_attach());
    attached_children(script, parent)
}

/// The child sessions that were announced under this session since the client last received
/// messages.
fn attached_children(script: &mut Script, parent: &Session) -> Vec<Session> {
    let received = script.received(parent);
    let attached = received
        .iter()
        .filter(|m| m["method"] == "Target.attachedToTarget" && m["sessionId"] == parent.id);
    attached
        .map(|m| Session {
            client: parent.client,
            id: m["params"]["sessionId"].as_str().unwrap().to_owned(),
        })
        .collect()
}
