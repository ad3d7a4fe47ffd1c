//! The commands that simulated clients send.

use serde_json::{Value, json};

use crate::tests::script::playwright_init;

pub type Command = (&'static str, Value);

/// Command `n` on the root session of a client. `target` is an existing page or an unknown one, `frame`
/// one of its cross-process frames, if it has any.
pub fn root_command(n: usize, target: &str, frame: &str) -> Command {
    let auto_attach = json!({ "autoAttach": true, "flatten": true });
    match n {
        0 | 1 => ("Target.setAutoAttach", auto_attach),
        2 => ("Target.setDiscoverTargets", json!({ "discover": true })),
        3 => (
            "Target.attachToTarget",
            json!({ "targetId": target, "flatten": true }),
        ),
        4 => ("Target.createTarget", json!({ "url": "about:blank" })),
        5 => ("Target.closeTarget", json!({ "targetId": target })),
        6 => ("Storage.getCookies", json!({})),
        7 => {
            let mut params = auto_attach;
            params["filter"] = json!([{ "type": "page", "exclude": true }, {}]);
            ("Target.setAutoAttach", params)
        }
        8..=10 => download_command(n),
        11 => (
            "Browser.setPermission",
            json!({ "permission": { "name": "camera" }, "setting": "granted" }),
        ),
        12 => ("Browser.resetPermissions", json!({})),
        13 | 14 => (
            "Target.attachToTarget",
            json!({ "targetId": frame, "flatten": true }),
        ),
        15 => ("Target.attachToBrowserTarget", json!({})),
        16 => ("Browser.close", json!({})),
        _ => ("Browser.getVersion", json!({})),
    }
}

fn download_command(n: usize) -> Command {
    let behavior = if n == 8 { "allow" } else { "allowAndName" };
    let params = json!({ "behavior": behavior, "downloadPath": "/files", "eventsEnabled": true });
    match n {
        8 | 9 => ("Browser.setDownloadBehavior", params),
        _ => ("Browser.cancelDownload", json!({ "guid": "download-0" })),
    }
}

/// Command `n` on the session of a page. `context` is an execution context that the session has
/// received, if any, and `paused` a request that was paused for it.
pub fn session_command(n: usize, context: i64, paused: Option<&str>) -> Command {
    if let 0..=5 | 18 = n {
        let expression = if n == 18 { "new UtilityScript()" } else { "1" };
        let params = json!({ "contextId": context, "expression": expression });
        return ("Runtime.evaluate", params);
    }
    match n {
        6 => (
            "Runtime.callFunctionOn",
            json!({ "executionContextId": context }),
        ),
        7 => ("Page.captureScreenshot", json!({})),
        8 => ("Page.navigate", json!({ "url": "https://x" })),
        // Without a session id, a session detaches itself.
        9 => ("Target.detachFromTarget", json!({})),
        10 => ("Runtime.disable", json!({})),
        11 => ("Page.disable", json!({})),
        12 => (
            "Page.createIsolatedWorld",
            json!({ "frameId": "T1", "worldName": "w" }),
        ),
        13..=21 => state_command(n),
        22..=25 => fetch_command(n, paused.unwrap_or("none")),
        26 | 27 => (
            "Input.dispatchMouseEvent",
            json!({ "type": "mousePressed", "x": 1, "y": 1 }),
        ),
        28 => ("Page.handleJavaScriptDialog", json!({ "accept": true })),
        29 => (
            "Debugger.setBreakpointByUrl",
            json!({ "lineNumber": 1, "url": "x" }),
        ),
        30 => ("Debugger.enable", json!({})),
        31 => ("Debugger.disable", json!({})),
        _ => init_command(n),
    }
}

/// A command that changes what the relay keeps of a session.
fn state_command(n: usize) -> Command {
    let run_helper =
        json!({ "objectId": "tabwire.helper.1", "arguments": [{ "value": "prepare()" }] });
    match n {
        13 => (
            "Page.removeScriptToEvaluateOnNewDocument",
            json!({ "identifier": "tabwire.1" }),
        ),
        14 => ("Emulation.setEmulatedMedia", json!({ "media": "print" })),
        15 => ("Page.startScreencast", json!({})),
        16 => ("Page.stopScreencast", json!({})),
        17 => (
            "Page.addScriptToEvaluateOnNewDocument",
            json!({ "source": "prepare()" }),
        ),
        19 => ("Runtime.callFunctionOn", run_helper),
        20 => (
            "Emulation.setDeviceMetricsOverride",
            json!({ "width": 800, "height": 600, "deviceScaleFactor": 1, "mobile": false }),
        ),
        _ => ("Emulation.clearDeviceMetricsOverride", json!({})),
    }
}

fn fetch_command(n: usize, paused: &str) -> Command {
    match n {
        22 => ("Fetch.enable", json!({})),
        23 => ("Fetch.disable", json!({})),
        24 => ("Fetch.continueRequest", json!({ "requestId": paused })),
        _ => (
            "Fetch.failRequest",
            json!({ "requestId": paused, "errorReason": "Failed" }),
        ),
    }
}

fn init_command(n: usize) -> Command {
    let mut init = playwright_init();
    init.swap_remove(n % init.len())
}

/// Whether a command does something each time that Chrome receives it, so that it must receive it
/// once. The relay repeats others to restore and to undo them.
pub fn acts((method, params): &Command) -> bool {
    match *method {
        "Runtime.evaluate" => params["expression"] == "1",
        "Runtime.callFunctionOn" => params["objectId"].is_null(),
        method => matches!(
            method,
            "Page.captureScreenshot" | "Page.navigate" | "Input.dispatchMouseEvent"
        ),
    }
}
