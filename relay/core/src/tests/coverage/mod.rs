//! What the relay does with every method of the published protocol, found out by sending it. The
//! result is the table in `docs/coverage.md`, which this test keeps up to date:
//!
//! ```sh
//! make coverage
//! ```

mod published;
mod table;

use std::path::PathBuf;

use serde_json::{Value, json};

use super::script::{Endpoint, Script, Session};
use published::{Method, published};

/// What happens to a command, as the table calls it. Ordered as the table explains them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Treatment {
    /// Chrome carries it out. A dormant tab wakes.
    Forwarded,
    /// Chrome carries it out in a live tab. A dormant tab answers it, and Chrome receives it when
    /// the tab wakes.
    Deferred,
    /// The extension carries it out with other APIs of Chrome.
    Emulated,
    /// As `Emulated` in a dormant tab. Chrome carries it out in a live one.
    EmulatedWhileDormant,
    /// The relay answers it.
    Synthesized,
    /// It fails, for this reason.
    Refused(String),
}

/// What happens at once when a command is sent.
#[derive(Debug, PartialEq, Eq)]
enum Observed {
    Wakes,
    SentToChrome,
    SentToExtension,
    Answered,
    Failed(String),
}

/// Calls that the extension carries out without the debugger.
const EMULATING: [&str; 7] = [
    "browserCommand",
    "createTab",
    "closeTab",
    "activateTab",
    "watchDownloads",
    "controlDownload",
    "setPermissions",
];

/// Sends a command and looks at what the relay does.
fn observe(script: &mut Script, to: impl Endpoint, method: &Method) -> Observed {
    script.calls();
    script.received(to);
    let id = script.send(to, &method.name, method.params.clone());
    let received = script.received(to);
    let calls = script.calls();
    if received.has_reply(id) && received.reply(id)["error"].is_object() {
        if received.error(id) == "No download item found for the given GUID" {
            // It would be cancelled by the extension.
            return Observed::SentToExtension;
        }
        assert!(calls.is_empty(), "{}: fails and {calls:?}", method.name);
        return Observed::Failed(received.error(id).to_owned());
    }
    // Closing a live tab also sends a command to its page.
    let by_extension = calls.iter().find(|call| EMULATING.contains(&call.name()));
    match by_extension.or(calls.iter().next()) {
        None => {
            received.result(id);
            Observed::Answered
        }
        Some(call) => match call.name() {
            "attachTab" => Observed::Wakes,
            "cdpCommand" => Observed::SentToChrome,
            // The reply came first, and ended the last session of the tab.
            "detachTab" => Observed::Answered,
            _ if by_extension.is_some() => Observed::SentToExtension,
            other => panic!("{}: {other}", method.name),
        },
    }
}

/// The session of a client whose library has sent its defaults. Those are withheld from tabs of the
/// person.
fn initialized_page(script: &mut Script) -> Session {
    let page = script.auto_attached_page();
    script.request(&page, "Runtime.runIfWaitingForDebugger", json!({}));
    page
}

/// What happens to a command in the session of a page.
fn in_a_page(method: &Method) -> Treatment {
    let mut script = Script::with_tabs(1);
    let dormant = initialized_page(&mut script);
    let while_dormant = observe(&mut script, &dormant, method);
    let mut script = Script::with_tabs(1);
    let live = initialized_page(&mut script);
    script.make_live(&live);
    let while_live = observe(&mut script, &live, method);
    match (while_dormant, while_live) {
        // It is about a script that Chrome has once the tab has woken.
        (Observed::Failed(reason), Observed::Failed(_)) if reason == "Script not found" => {
            Treatment::Deferred
        }
        (Observed::Failed(reason), Observed::Failed(same)) if reason == same => {
            Treatment::Refused(without_method(&reason, &method.name))
        }
        (Observed::Wakes, Observed::SentToChrome) => Treatment::Forwarded,
        // No request is paused.
        (Observed::Wakes, Observed::Failed(reason)) if reason == "Invalid InterceptionId." => {
            Treatment::Forwarded
        }
        // Disabling what nobody has enabled.
        (Observed::Answered | Observed::Wakes, Observed::Answered)
            if method.name.ends_with(".disable") =>
        {
            Treatment::Deferred
        }
        (Observed::Answered, Observed::SentToChrome) => Treatment::Deferred,
        (Observed::SentToExtension, Observed::SentToChrome) => Treatment::EmulatedWhileDormant,
        (Observed::SentToExtension, Observed::SentToExtension) => Treatment::Emulated,
        (Observed::Answered, Observed::Answered) => Treatment::Synthesized,
        other => panic!("{}: {other:?}", method.name),
    }
}

/// What happens to a command in the session of the browser.
fn in_the_browser(method: &Method) -> Treatment {
    let mut script = Script::with_tabs(1);
    let client = script.connect_client();
    let mut method = method.clone();
    if method.name == "Target.detachFromTarget" {
        let page = script.attach_to_target(client, "T1");
        method.params = json!({ "sessionId": page.id });
    }
    match observe(&mut script, client, &method) {
        Observed::Failed(reason) => Treatment::Refused(without_method(&reason, &method.name)),
        Observed::SentToExtension => Treatment::Emulated,
        Observed::Answered => Treatment::Synthesized,
        other => panic!("{}: {other:?}", method.name),
    }
}

/// The reason in an error, without the name of the method and without the advice.
fn without_method(message: &str, method: &str) -> String {
    let prefixes = [
        format!("'{method}' wasn't found: "),
        format!("'{method}' wasn't found"),
        format!("{method}: "),
    ];
    let mut reasons = prefixes.iter().map(|prefix| message.strip_prefix(prefix));
    let reason = reasons.find_map(|reason| reason);
    let reason = reason.unwrap_or_else(|| panic!("{method} is not named: {message}"));
    let advice = [". A browser that", ". Send ", ". Use "];
    let end = advice.iter().filter_map(|advice| reason.find(advice)).min();
    reason[..end.unwrap_or(reason.len())].to_owned()
}

fn documentation() -> PathBuf {
    PathBuf::from(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/coverage.md"
    ))
}

const BEGIN: &str = "<!-- coverage: begin -->\n\n";
const END: &str = "\n<!-- coverage: end -->";

#[test]
fn documented_table_is_up_to_date() {
    let methods = published();
    assert!(methods.len() > 600, "{}", methods.len());
    let table = table::render(&methods);
    let file = documentation();
    let text = std::fs::read_to_string(&file).unwrap();
    let (before, rest) = text.split_once(BEGIN).unwrap();
    let (current, after) = rest.split_once(END).unwrap();
    if std::env::var_os("TABWIRE_WRITE_COVERAGE").is_some() {
        std::fs::write(&file, [before, BEGIN, &table, END, after].concat()).unwrap();
    } else {
        assert!(current == table, "Run `make coverage` to write the table.");
    }
}

#[test]
fn forwards_and_refuses_what_it_should() {
    let treatment = |name: &str| {
        let methods = published();
        let method = methods.iter().find(|method| method.name == name);
        in_a_page(method.unwrap())
    };
    assert_eq!(treatment("Runtime.evaluate"), Treatment::Forwarded);
    assert_eq!(treatment("Network.enable"), Treatment::Deferred);
    assert_eq!(treatment("Browser.getWindowForTarget"), Treatment::Emulated);
    assert_eq!(treatment("Target.getTargets"), Treatment::Synthesized);
    assert!(matches!(treatment("Profiler.start"), Treatment::Refused(_)));
}

/// A value for a parameter that the relay looks at, by the name of the parameter.
fn known_value(method: &str, parameter: &str) -> Option<Value> {
    match (method, parameter) {
        (_, "targetId" | "frameId") => Some(json!("T1")),
        (_, "flatten" | "autoAttach" | "discover") => Some(json!(true)),
        ("Target.createTarget", "url") => Some(json!("https://site/new")),
        ("Browser.grantPermissions", "permissions") => Some(json!(["geolocation"])),
        ("Browser.setPermission", "permission") => Some(json!({ "name": "geolocation" })),
        ("Browser.setPermission", "setting") => Some(json!("granted")),
        _ => None,
    }
}
