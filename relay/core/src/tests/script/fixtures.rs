//! Values that scripts send: tabs, frames, execution contexts, and what Playwright sends when it
//! connects.

use serde_json::{Value, json};

use crate::handshake::Browser;

pub fn browser() -> Browser {
    Browser {
        version: "1".to_owned(),
        product: "Chrome/156.0.1.2".to_owned(),
        user_agent: "UA/156".to_owned(),
        brand: "chrome".to_owned(),
    }
}

pub fn tab(id: i64) -> Value {
    json!({ "tabId": id, "url": format!("https://site/{id}"), "title": format!("Tab {id}"), "targetId": format!("T{id}"), "status": "complete" })
}

/// A tab that the extension's debugger is attached to.
pub fn attached_tab(id: i64) -> Value {
    let mut tab = tab(id);
    tab["attached"] = true.into();
    tab
}

/// The frame tree of a tab without child frames.
pub fn main_frame(tab: i64) -> Value {
    json!({ "frame": { "id": format!("T{tab}"), "loaderId": "real-loader", "url": format!("https://site/{tab}") } })
}

/// The frame that `tree_with_child` adds to tab 1.
pub const CHILD_FRAME: &str = "child-frame";

pub fn tree_with_child() -> Value {
    let frame = json!({ "id": CHILD_FRAME, "parentId": "T1", "loaderId": "l", "url": "https://site/child" });
    let mut tree = main_frame(1);
    tree["childFrames"] = json!([{ "frame": frame }]);
    tree
}

/// The parameters of `Runtime.executionContextCreated`. The main world is called "".
pub fn execution_context(id: i64, frame: &str, world: &str) -> Value {
    let aux = json!({ "isDefault": world.is_empty(), "frameId": frame });
    json!({ "context": { "id": id, "uniqueId": format!("u{id}"), "name": world, "origin": "", "auxData": aux } })
}

/// The parameters of `Target.attachedToTarget` for a child target, as Chrome reports it.
pub fn child_target(session: &str, kind: &str, waiting: bool) -> Value {
    let info = json!({ "targetId": format!("target-{session}"), "type": kind });
    json!({ "sessionId": session, "targetInfo": info, "waitingForDebugger": waiting })
}

/// The parameters of `Target.setAutoAttach` as Playwright sends them.
pub fn auto_attach() -> Value {
    json!({ "autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true })
}

/// What Playwright sends to each page when it connects, in its order.
pub fn playwright_init() -> Vec<(&'static str, Value)> {
    let script = json!({ "source": "", "worldName": "utility" });
    let world = json!({ "frameId": "T1", "worldName": "utility" });
    let enabled = json!({ "enabled": true });
    vec![
        ("Page.enable", json!({})),
        ("Page.getFrameTree", json!({})),
        ("Log.enable", json!({})),
        ("Page.setLifecycleEventsEnabled", enabled.clone()),
        ("Runtime.enable", json!({})),
        ("Page.addScriptToEvaluateOnNewDocument", script),
        ("Network.enable", json!({})),
        ("Target.setAutoAttach", auto_attach()),
        ("Emulation.setFocusEmulationEnabled", enabled),
        ("Page.setFontFamilies", json!({ "fontFamilies": {} })),
        ("Emulation.setEmulatedMedia", json!({ "media": "" })),
        ("Inspector.enable", json!({})),
        ("Page.createIsolatedWorld", world),
        ("Runtime.runIfWaitingForDebugger", json!({})),
    ]
}
