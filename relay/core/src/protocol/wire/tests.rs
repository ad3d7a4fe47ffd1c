//! Every kind of message, as the files in `fixtures/wire/` have it; the extension is tested against the same files.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use super::*;
use crate::protocol::error::CdpError;

const CHILD: &str = "0F1E2D3C4B5A69788796A5B4C3D2E1F0";

/// Every fixture: one that is missing here, or here and not in the folder, fails a test.
const TO_RELAY: &[&str] = &[
    "batch",
    "cdpEvent-child",
    "cdpEvent-page",
    "error-coded",
    "error-text",
    "hello",
    "pong",
    "reply-cdpCommand",
    "reply-empty",
    "reply-listTabs",
    "tabCreated",
    "tabDetached",
    "tabNavigated",
    "tabRemoved",
    "tabReplaced",
    "tabUpdated",
];
const TO_EXTENSION: &[&str] = &[
    "activateTab",
    "attachTab",
    "cdpCommand-child",
    "cdpCommand-page",
    "closeTab",
    "createTab",
    "detachTab",
    "listTabs",
    "ping",
];

#[derive(Deserialize)]
struct Fixture {
    direction: String,
    message: Box<RawValue>,
}

fn folder() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "..", "..", "fixtures", "wire"]
        .iter()
        .collect()
}

fn fixture(name: &str) -> Fixture {
    let text = fs::read_to_string(folder().join(format!("{name}.json"))).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// The text of a message as it comes in.
fn incoming(name: &str) -> String {
    fixture(name).message.get().to_owned()
}

/// Reads an event's parameters out of its fixture.
fn params<T: for<'a> Deserialize<'a>>(name: &str, method: &str) -> T {
    let text = incoming(name);
    let messages = parse_frame(&text).unwrap();
    let [message] = messages.as_slice() else {
        panic!("{name} is one message")
    };
    assert_eq!((message.id, message.method.as_ref()), (None, method));
    serde_json::from_str(message.params.unwrap().get()).unwrap()
}

#[track_caller]
fn assert_written(name: &str, text: &str) {
    let expected: Value = serde_json::from_str(fixture(name).message.get()).unwrap();
    assert_eq!(serde_json::from_str::<Value>(text).unwrap(), expected);
}

#[test]
fn every_fixture_is_checked_here_and_goes_the_way_it_says() {
    let in_folder: BTreeSet<String> = fs::read_dir(folder())
        .unwrap()
        .map(|entry| {
            entry
                .unwrap()
                .path()
                .file_stem()
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    let checked: BTreeSet<String> = TO_RELAY
        .iter()
        .chain(TO_EXTENSION)
        .map(|name| (*name).to_owned())
        .collect();
    assert_eq!(in_folder, checked);
    for (names, direction) in [(TO_RELAY, "to-relay"), (TO_EXTENSION, "to-extension")] {
        for name in names {
            assert_eq!(fixture(name).direction, direction, "{name}");
        }
    }
}

// ---- to the extension ----

#[test]
fn calls_are_written_as_in_their_fixtures() {
    let tab = TabId(412);
    let child = ChildId::new(CHILD);
    let create = Call::CreateTab {
        url: r#"https://example.org/a?b="c""#,
        new_window: false,
        active: false,
    };
    let evaluate = Call::CdpCommand {
        tab,
        method: "Runtime.evaluate",
        params: r#"{"expression":"1 + 1"}"#,
        child: None,
    };
    let frame_tree = Call::CdpCommand {
        tab,
        method: "Page.getFrameTree",
        params: "{}",
        child: Some(&child),
    };
    assert_written("listTabs", &Call::ListTabs.to_text(CallId(1)));
    assert_written("attachTab", &Call::AttachTab { tab }.to_text(CallId(2)));
    assert_written("detachTab", &Call::DetachTab { tab }.to_text(CallId(3)));
    assert_written("createTab", &create.to_text(CallId(4)));
    assert_written("closeTab", &Call::CloseTab { tab }.to_text(CallId(5)));
    assert_written("activateTab", &Call::ActivateTab { tab }.to_text(CallId(6)));
    assert_written("cdpCommand-page", &evaluate.to_text(CallId(8)));
    assert_written("cdpCommand-child", &frame_tree.to_text(CallId(9)));
    assert_written("ping", PING);
}

#[test]
fn a_method_name_of_a_client_cannot_break_out_of_its_string() {
    let hostile = r#"x","tabId":1,"y":""#;
    let text = Call::CdpCommand {
        tab: TabId(412),
        method: hostile,
        params: "{}",
        child: None,
    }
    .to_text(CallId(1));
    let written: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        written["params"],
        serde_json::json!({ "tabId": 412, "method": hostile, "params": {} })
    );
}

// ---- from the extension ----

#[test]
fn hello_says_who_the_extension_is() {
    let hello: Hello = params("hello", "hello");
    let user_agent = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36";
    let expected = Hello {
        protocol: PROTOCOL,
        version: "0.1.0".to_owned(),
        browser: "Chrome/156.0.8078.79".to_owned(),
        user_agent: user_agent.to_owned(),
        install_id: "6f1f3c0e-7a54-4c1e-9d53-0b5a8a6f2d11".to_owned(),
    };
    assert_eq!(hello, expected);
}

#[test]
fn a_debugger_event_keeps_its_parameters_unread_and_names_its_child() {
    for (name, method, event_params, child) in [
        (
            "cdpEvent-page",
            "Page.frameStoppedLoading",
            r#"{ "frameId": "A1B2C3D4E5F60718293A4B5C6D7E8F90" }"#,
            "",
        ),
        (
            "cdpEvent-child",
            "Runtime.executionContextsCleared",
            "{}",
            CHILD,
        ),
    ] {
        let text = incoming(name);
        let messages = parse_frame(&text).unwrap();
        let event: CdpEvent<'_> = serde_json::from_str(messages[0].params.unwrap().get()).unwrap();
        assert_eq!(
            (
                event.tab_id,
                event.method.as_ref(),
                event.child_session_id.as_ref()
            ),
            (TabId(412), method, child)
        );
        assert_eq!(event.params.unwrap().get(), event_params);
    }
}

#[test]
fn a_tab_that_appeared_comes_with_target_status_and_opener() {
    let created: TabReport = params("tabCreated", "tabCreated");
    let expected = TabReport {
        tab_id: 413,
        url: Some("https://example.org/news".to_owned()),
        title: Some("News".to_owned()),
        target_id: Some("B1B2C3D4E5F60718293A4B5C6D7E8F91".to_owned()),
        status: Some(LoadStatus::Loading),
        opener_tab_id: Some(412),
        window_id: Some(7),
        attached: false,
    };
    assert_eq!(created, expected);
}

#[test]
fn an_update_leaves_open_what_did_not_change() {
    let updated: TabReport = params("tabUpdated", "tabUpdated");
    let url = Some("https://example.org/next".to_owned());
    assert_eq!(
        updated,
        TabReport {
            tab_id: 412,
            url,
            status: Some(LoadStatus::Loading),
            ..TabReport::default()
        }
    );
}

#[test]
fn a_navigation_says_whether_the_document_is_the_same() {
    let navigated: TabNavigated = params("tabNavigated", "tabNavigated");
    assert_eq!(
        (
            navigated.tab_id,
            navigated.url.as_str(),
            navigated.same_document
        ),
        (TabId(412), "https://example.org/#news", true)
    );
}

#[test]
fn a_tab_that_goes_is_named() {
    assert_eq!(
        params::<TabRemoved>("tabRemoved", "tabRemoved").tab_id,
        TabId(412)
    );
    let detached: TabDetached = params("tabDetached", "tabDetached");
    assert_eq!(
        (detached.tab_id, detached.reason.as_str()),
        (TabId(412), "canceled_by_user")
    );
}

#[test]
fn a_replaced_tab_names_the_old_and_describes_the_new() {
    let replaced: TabReplaced = params("tabReplaced", "tabReplaced");
    assert_eq!(replaced.removed_tab_id, TabId(412));
    let expected = TabReport {
        tab_id: 414,
        url: Some("https://example.org/prerendered".to_owned()),
        title: Some("Prerendered".to_owned()),
        target_id: Some("C1B2C3D4E5F60718293A4B5C6D7E8F92".to_owned()),
        status: Some(LoadStatus::Complete),
        opener_tab_id: None,
        window_id: Some(7),
        attached: false,
    };
    assert_eq!(replaced.added, expected);
}

#[test]
fn pong_has_no_parameters() {
    let text = incoming("pong");
    let messages = parse_frame(&text).unwrap();
    assert_eq!(
        (messages.len(), messages[0].id, messages[0].method.as_ref()),
        (1, None, "pong")
    );
    assert!(messages[0].params.is_none());
}

#[test]
fn a_reply_carries_its_calls_id_and_result() {
    for (name, id, result) in [
        ("reply-empty", 2, "{}"),
        (
            "reply-cdpCommand",
            8,
            r#"{ "result": { "type": "number", "value": 2, "description": "2" } }"#,
        ),
    ] {
        let text = incoming(name);
        let messages = parse_frame(&text).unwrap();
        assert_eq!(
            (messages[0].id, messages[0].result.unwrap().get()),
            (Some(id), result)
        );
        assert!(messages[0].error.is_none());
    }
}

#[test]
fn an_error_reply_is_plain_text_or_chromes_code_and_words() {
    let plain = CdpError::Chrome {
        code: -32000,
        message: "No tab with id: 412.".to_owned(),
        data: None,
    };
    let coded = CdpError::Chrome {
        code: -32601,
        message: "'Browser.getVersion' wasn't found".to_owned(),
        data: None,
    };
    for (name, id, expected) in [("error-text", 2, plain), ("error-coded", 8, coded)] {
        let text = incoming(name);
        let messages = parse_frame(&text).unwrap();
        assert_eq!(messages[0].id, Some(id));
        assert!(messages[0].result.is_none());
        assert_eq!(
            CdpError::from_extension(messages[0].error.unwrap()),
            expected
        );
    }
}

#[test]
fn the_list_of_tabs_is_read_from_its_reply() {
    let text = incoming("reply-listTabs");
    let messages = parse_frame(&text).unwrap();
    assert_eq!(messages[0].id, Some(1));
    let list: TabList = serde_json::from_str(messages[0].result.unwrap().get()).unwrap();
    let expected = [
        TabReport {
            tab_id: 412,
            url: Some("https://example.org/".to_owned()),
            title: Some("Example".to_owned()),
            target_id: Some("A1B2C3D4E5F60718293A4B5C6D7E8F90".to_owned()),
            status: Some(LoadStatus::Complete),
            opener_tab_id: None,
            window_id: Some(7),
            attached: true,
        },
        TabReport {
            tab_id: 415,
            url: Some("about:blank".to_owned()),
            title: Some(String::new()),
            status: Some(LoadStatus::Unloaded),
            window_id: Some(8),
            ..TabReport::default()
        },
    ];
    assert_eq!(list.into_tabs(), expected);
}

#[test]
fn the_oldest_form_of_the_list_is_bare_and_says_id() {
    let list: TabList =
        serde_json::from_str(r#"[{"id":3,"url":"https://example.org/","title":"Example"}]"#)
            .unwrap();
    let (url, title) = (
        Some("https://example.org/".to_owned()),
        Some("Example".to_owned()),
    );
    assert_eq!(
        list.into_tabs(),
        [TabReport {
            tab_id: 3,
            url,
            title,
            ..TabReport::default()
        }]
    );
}

#[test]
fn a_frame_of_several_messages_keeps_their_order() {
    let text = incoming("batch");
    let messages = parse_frame(&text).unwrap();
    let read: Vec<_> = messages
        .iter()
        .map(|message| (message.method.as_ref(), message.params.map(RawValue::get)))
        .collect();
    let requests: Vec<_> = read
        .iter()
        .filter_map(|(_, params)| *params)
        .map(|params| params.contains(r#""1.2""#))
        .collect();
    assert_eq!(
        read.iter().map(|(method, _)| *method).collect::<Vec<_>>(),
        ["cdpEvent", "cdpEvent", "pong"]
    );
    assert_eq!(requests, [true, false]);
}

#[test]
fn what_is_not_json_is_an_error_and_what_is_no_message_is_passed_over() {
    for text in ["", "[", "nonsense"] {
        assert!(parse_frame(text).is_err(), "{text}");
    }
    for text in ["null", "7", "[7]", r#"{"id":-1}"#, r#"{"id":"1"}"#] {
        assert!(
            parse_frame(text).is_ok_and(|messages| messages.is_empty()),
            "{text}"
        );
    }
}
