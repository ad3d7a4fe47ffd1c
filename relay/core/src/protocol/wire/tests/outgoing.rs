//! Messages to the extension.

use serde_json::{Value, json};

use super::{CHILD, fixture};
use crate::ids::{CallId, ChildId, TabId};
use crate::protocol::download::DownloadAction;
use crate::protocol::wire::{Call, PING};

const TAB: TabId = TabId(412);

#[track_caller]
pub(super) fn assert_text(name: &str, text: &str) {
    let expected: Value = serde_json::from_str(fixture(name).message.get()).unwrap();
    let written: Value = serde_json::from_str(text).unwrap();
    assert_eq!(written, expected, "{name}");
}

#[test]
fn calls_match_their_fixtures() {
    let tab = TAB;
    let create = Call::CreateTab {
        url: r#"https://example.org/a?b="c""#,
        new_window: false,
        active: false,
        attach: true,
        window: None,
        group: None,
    };
    let create_in_group = Call::CreateTab {
        url: "https://example.org/",
        new_window: false,
        active: false,
        attach: true,
        window: None,
        group: Some("claude-code"),
    };
    let place = r#"{"left":33,"top":44,"width":640,"height":480}"#;
    let create_window = Call::CreateTab {
        url: "about:blank",
        new_window: true,
        active: false,
        attach: true,
        window: Some(serde_json::from_str(place).unwrap()),
        group: None,
    };
    let window_of_tab = Call::BrowserCommand {
        method: "Browser.getWindowForTarget",
        params: "{}",
        tab: Some(tab),
    };
    let take_download = Call::ControlDownload {
        guid: "790c48b4-cee2-4755-b32f-b33ff8ccd4ee",
        action: DownloadAction::Take,
    };
    let rules = r#"[{"type":"location","pattern":"https://example.org/*","setting":"allow"}]"#;
    for (name, id, call) in [
        ("listTabs", 1, Call::ListTabs(true)),
        ("listTabs-focus", 16, Call::ListTabs(false)),
        ("attachTab", 2, Call::AttachTab { tab }),
        ("detachTab", 3, Call::DetachTab { tab }),
        ("createTab", 4, create),
        ("closeTab", 5, Call::CloseTab { tab }),
        ("activateTab", 6, Call::ActivateTab { tab }),
        ("browserCommand", 10, window_of_tab),
        ("createTab-window", 11, create_window),
        ("watchDownloads", 12, Call::WatchDownloads { enabled: true }),
        ("controlDownload", 13, take_download),
        ("setPermissions", 14, Call::SetPermissions { rules }),
        ("createTab-group", 15, create_in_group),
    ] {
        assert_text(name, &call.to_text(CallId(id)));
    }
    assert_text("ping", PING);
}

#[test]
fn cdp_commands_match_their_fixtures() {
    let evaluate = Call::CdpCommand {
        tab: TAB,
        method: "Runtime.evaluate",
        params: r#"{"expression":"1 + 1"}"#,
        child: None,
    };
    let frame_tree = Call::CdpCommand {
        tab: TAB,
        method: "Page.getFrameTree",
        params: "{}",
        child: Some(&ChildId::new(CHILD)),
    };
    assert_text("cdpCommand-page", &evaluate.to_text(CallId(8)));
    assert_text("cdpCommand-child", &frame_tree.to_text(CallId(9)));
}

#[test]
fn escapes_the_method_name_of_a_client() {
    let hostile = r#"x","tabId":1,"y":""#;
    let call = Call::CdpCommand {
        tab: TAB,
        method: hostile,
        params: "{}",
        child: None,
    };
    let written: Value = serde_json::from_str(&call.to_text(CallId(1))).unwrap();
    let expected = json!({ "tabId": 412, "method": hostile, "params": {} });
    assert_eq!(written["params"], expected);
}
