//! Messages from the extension: events, replies, and frames of several messages.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{CHILD, fixture};
use crate::ids::TabId;
use crate::protocol::download::{DownloadChanged, DownloadCreated, DownloadState};
use crate::protocol::error::CdpError;
use crate::protocol::wire::{
    CdpEvent, LoadStatus, RemoteFrame, TabDetached, TabList, TabNavigated, TabRemoved, TabReplaced,
    TabReport, TabThrottled, parse_frame,
};

/// The text of a fixture's message.
fn text(name: &str) -> String {
    fixture(name).message.get().to_owned()
}

/// Parses the parameters of the event in this fixture, whose method must be this one.
#[track_caller]
pub(super) fn params<T: for<'a> Deserialize<'a>>(name: &str) -> T {
    let text = text(name);
    let method = name.split('-').next().unwrap();
    let messages = parse_frame(&text).unwrap();
    let [message] = messages.as_slice() else {
        panic!("{method} is one message")
    };
    assert_eq!((message.id, message.method.as_ref()), (None, method));
    serde_json::from_str(message.params.unwrap().get()).unwrap()
}

#[test]
fn debugger_event_keeps_params_unparsed_and_names_its_child() {
    let frame = r#"{ "frameId": "A1B2C3D4E5F60718293A4B5C6D7E8F90" }"#;
    for (name, method, params, child) in [
        ("cdpEvent-page", "Page.frameStoppedLoading", frame, ""),
        (
            "cdpEvent-child",
            "Runtime.executionContextsCleared",
            "{}",
            CHILD,
        ),
    ] {
        let text = text(name);
        let messages = parse_frame(&text).unwrap();
        let event: CdpEvent<'_> = serde_json::from_str(messages[0].params.unwrap().get()).unwrap();
        assert_eq!(event.tab_id, TabId(412));
        assert_eq!(event.method, method);
        assert_eq!(event.child_session_id, child);
        assert_eq!(event.params.unwrap().get(), params);
    }
}

fn remote_frame() -> RemoteFrame {
    RemoteFrame {
        target_id: "D1B2C3D4E5F60718293A4B5C6D7E8F93".to_owned(),
        url: "https://ads.example/".to_owned(),
    }
}

#[test]
fn update_has_the_cross_process_frames() {
    let expected = TabReport {
        tab_id: 412,
        frames: Some(vec![remote_frame()]),
        ..TabReport::default()
    };
    assert_eq!(params::<TabReport>("tabUpdated-frames"), expected);
}

#[test]
fn created_tab_has_target_status_and_opener() {
    let expected = TabReport {
        tab_id: 413,
        url: Some("https://example.org/news".to_owned()),
        title: Some("News".to_owned()),
        target_id: Some("B1B2C3D4E5F60718293A4B5C6D7E8F91".to_owned()),
        status: Some(LoadStatus::Loading),
        opener_tab_id: Some(412),
        window_id: Some(7),
        attached: false,
        frames: None,
        restricted: None,
        pdf: None,
    };
    assert_eq!(params::<TabReport>("tabCreated"), expected);
}

#[test]
fn download_names_its_tab_and_where_its_file_is() {
    let guid = "790c48b4-cee2-4755-b32f-b33ff8ccd4ee".to_owned();
    let expected = DownloadCreated {
        guid: guid.clone(),
        tab_id: TabId(412),
        opener_tab_id: None,
        frame_id: Some("A1B2C3D4E5F60718293A4B5C6D7E8F90".to_owned()),
        url: "https://example.org/report".to_owned(),
        suggested_filename: "report.txt".to_owned(),
        total_bytes: 38,
    };
    assert_eq!(params::<DownloadCreated>("downloadCreated"), expected);
    let path = "/home/user/Downloads/Tabwire-790c48b4-cee2-4755-b32f-b33ff8ccd4ee/790c48b4-cee2-4755-b32f-b33ff8ccd4ee";
    let expected = DownloadChanged {
        guid,
        state: DownloadState::Completed,
        received_bytes: 38,
        total_bytes: 38,
        path: Some(path.to_owned()),
    };
    assert_eq!(params::<DownloadChanged>("downloadChanged"), expected);
}

#[test]
fn update_omits_what_did_not_change() {
    let expected = TabReport {
        tab_id: 412,
        url: Some("https://example.org/next".to_owned()),
        status: Some(LoadStatus::Loading),
        ..TabReport::default()
    };
    assert_eq!(params::<TabReport>("tabUpdated"), expected);
}

#[test]
fn update_reports_a_pdf() {
    let expected = TabReport {
        tab_id: 412,
        pdf: Some(true),
        ..TabReport::default()
    };
    assert_eq!(params::<TabReport>("tabUpdated-pdf"), expected);
}

#[test]
fn update_reports_a_restricted_page() {
    let expected = TabReport {
        tab_id: 412,
        url: Some("chrome://settings/".to_owned()),
        status: Some(LoadStatus::Loading),
        restricted: Some(true),
        pdf: None,
        ..TabReport::default()
    };
    assert_eq!(params::<TabReport>("tabUpdated-restricted"), expected);
}

#[test]
fn navigation_reports_whether_the_document_stays_the_same() {
    let navigated: TabNavigated = params("tabNavigated");
    assert_eq!(navigated.tab_id, TabId(412));
    assert_eq!(navigated.url, "https://example.org/#news");
    assert!(navigated.same_document);
}

#[test]
fn removed_or_detached_tab_is_identified() {
    let removed: TabRemoved = params("tabRemoved");
    assert_eq!(removed.tab_id, TabId(412));
    let detached: TabDetached = params("tabDetached");
    assert_eq!(detached.tab_id, TabId(412));
    assert_eq!(detached.reason, "canceled_by_user");
}

#[test]
fn replaced_tab_identifies_the_old_tab_and_describes_the_new_one() {
    let replaced: TabReplaced = params("tabReplaced");
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
        frames: None,
        restricted: None,
        pdf: None,
    };
    assert_eq!(replaced.added, expected);
}

#[test]
fn throttled_tab_has_a_rate_and_its_cause() {
    let (tab_id, child_session_id) = (TabId(412), String::new());
    let started = TabThrottled {
        tab_id,
        child_session_id: child_session_id.clone(),
        rate: 8,
        lag_ms: 640,
        events_per_second: 5_120,
    };
    assert_eq!(params::<TabThrottled>("tabThrottled"), started);
    let ended = TabThrottled {
        tab_id,
        child_session_id,
        rate: 1,
        lag_ms: 0,
        events_per_second: 0,
    };
    assert_eq!(params::<TabThrottled>("tabThrottled-end"), ended);
}

#[test]
fn some_events_have_no_parameters() {
    for name in ["pong", "pause", "resume", "closePort"] {
        let text = text(name);
        let messages = parse_frame(&text).unwrap();
        assert_eq!(messages.len(), 1);
        assert_eq!(messages[0].id, None);
        assert_eq!(messages[0].method, name);
        assert!(messages[0].params.is_none());
    }
}

#[test]
fn reply_has_the_id_and_result_of_its_call() {
    let evaluated = r#"{ "result": { "type": "number", "value": 2, "description": "2" } }"#;
    for (name, id, result) in [("reply-empty", 2, "{}"), ("reply-cdpCommand", 8, evaluated)] {
        let text = text(name);
        let messages = parse_frame(&text).unwrap();
        assert_eq!(messages[0].id, Some(id));
        assert_eq!(messages[0].result.unwrap().get(), result);
        assert!(messages[0].error.is_none());
    }
}

#[test]
fn error_is_plain_text_or_chromes_code_and_message() {
    for (name, id, code, message) in [
        ("error-text", 2, -32000, "No tab with id: 412."),
        (
            "error-coded",
            8,
            -32601,
            "'Browser.getVersion' wasn't found",
        ),
    ] {
        let text = text(name);
        let messages = parse_frame(&text).unwrap();
        assert_eq!(messages[0].id, Some(id));
        assert!(messages[0].result.is_none());
        let expected = CdpError::Chrome {
            code,
            message: message.to_owned(),
            data: None,
        };
        let error = CdpError::from_extension(messages[0].error.unwrap());
        assert_eq!(error, expected);
    }
}

#[test]
fn list_of_tabs_reports_rules_for_permissions() {
    for (name, expected) in [
        ("reply-listTabs", false),
        ("reply-listTabs-permissions", true),
    ] {
        let text = text(name);
        let messages = parse_frame(&text).unwrap();
        let list: TabList = serde_json::from_str(messages[0].result.unwrap().get()).unwrap();
        assert_eq!(list.has_permissions(), expected, "{name}");
    }
}

#[test]
fn list_of_tabs_reports_that_the_person_has_stopped_clients() {
    for (name, expected) in [("reply-listTabs", false), ("reply-listTabs-paused", true)] {
        let text = text(name);
        let messages = parse_frame(&text).unwrap();
        let list: TabList = serde_json::from_str(messages[0].result.unwrap().get()).unwrap();
        assert_eq!(list.is_paused(), expected, "{name}");
    }
}

#[test]
fn parses_the_list_of_tabs() {
    let text = text("reply-listTabs");
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
            frames: Some(vec![remote_frame()]),
            restricted: None,
            pdf: None,
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
fn parses_the_oldest_form_of_the_list() {
    let list = r#"[{"id":3,"url":"https://example.org/","title":"Example"}]"#;
    let list: TabList = serde_json::from_str(list).unwrap();
    let expected = TabReport {
        tab_id: 3,
        url: Some("https://example.org/".to_owned()),
        title: Some("Example".to_owned()),
        ..TabReport::default()
    };
    assert_eq!(list.into_tabs(), [expected]);
}

#[test]
fn messages_in_one_frame_keep_their_order() {
    let text = text("batch");
    let messages = parse_frame(&text).unwrap();
    let methods: Vec<_> = messages.iter().map(|m| m.method.as_ref()).collect();
    assert_eq!(methods, ["cdpEvent", "cdpEvent", "pong"]);
    let params = messages.iter().filter_map(|m| m.params.map(RawValue::get));
    let is_first: Vec<_> = params.map(|params| params.contains(r#""1.2""#)).collect();
    assert_eq!(is_first, [true, false]);
}

#[test]
fn rejects_invalid_json_and_skips_json_that_is_no_message() {
    for text in ["", "[", "nonsense"] {
        assert!(parse_frame(text).is_err(), "{text}");
    }
    for text in ["null", "7", "[7]", r#"{"id":-1}"#, r#"{"id":"1"}"#] {
        let messages = parse_frame(text).unwrap();
        assert!(messages.is_empty(), "{text}");
    }
}
