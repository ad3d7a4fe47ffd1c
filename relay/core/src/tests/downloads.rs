//! Downloads: what clients ask for, what the extension reports, and where the files go.

use serde_json::{Value, json};

use super::script::{Call, ClientId, Messages, Script, Session};
use crate::{Connection, Place, Placed, Placement};

mod sharing;

const GUID: &str = "790c48b4-cee2-4755-b32f-b33ff8ccd4ee";
const SOURCE: &str = "/home/me/Downloads/Tabwire-790c48b4-cee2-4755-b32f-b33ff8ccd4ee/790c48b4-cee2-4755-b32f-b33ff8ccd4ee";

fn behavior(behavior: &str) -> Value {
    json!({ "behavior": behavior, "downloadPath": "/tmp/files", "eventsEnabled": true })
}

impl Script {
    /// Sets what a client wants, and answers the extension's call if there is one.
    #[track_caller]
    fn set_downloads(&mut self, client: ClientId, params: Value) {
        let id = self.send(client, "Browser.setDownloadBehavior", params);
        for call in self.calls() {
            assert_eq!(call.name(), "watchDownloads");
            self.reply(&call, json!({}));
        }
        assert_eq!(self.received(client).result(id), &json!({}));
    }

    fn start_download(&mut self, tab: i64) {
        let params = json!({
            "guid": GUID, "tabId": tab, "frameId": format!("T{tab}"), "url": "https://site/file",
            "suggestedFilename": "report.txt", "totalBytes": 10,
        });
        self.extension_event("downloadCreated", params);
    }

    fn change_download(&mut self, state: &str, bytes: u64) {
        let params = json!({
            "guid": GUID, "state": state, "receivedBytes": bytes, "totalBytes": 10, "path": SOURCE,
        });
        self.extension_event("downloadChanged", params);
    }

    /// Takes the next call, which must be about the download.
    #[track_caller]
    fn next_action(&mut self) -> String {
        let call = self.next_call("controlDownload");
        action(&call)
    }
}

fn action(call: &Call) -> String {
    let params = call.params();
    assert_eq!(params["guid"], GUID);
    params["action"].as_str().unwrap().to_owned()
}

/// A client whose page is live.
fn client_with_page(script: &mut Script) -> (ClientId, Session) {
    let (client, pages) = script.auto_attached_client();
    script.make_live(&pages[0]);
    (client, pages[0].clone())
}

fn states(received: &Messages, method: &str) -> Vec<String> {
    let states = received.events(method).map(|params| &params["state"]);
    states
        .map(|state| state.as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn client_learns_of_a_download_when_its_file_is_in_place() {
    let mut script = Script::with_tabs(1);
    let (client, _) = client_with_page(&mut script);
    script.set_downloads(client, behavior("allowAndName"));
    script.start_download(1);
    assert_eq!(script.next_action(), "take");
    let received = script.received(client);
    let begin = received.event("Browser.downloadWillBegin");
    let expected = json!({
        "frameId": "T1", "guid": GUID, "url": "https://site/file", "suggestedFilename": "report.txt",
    });
    assert_eq!(begin, &expected);
    script.change_download("inProgress", 5);
    script.change_download("completed", 10);
    let received = script.received(client);
    assert_eq!(
        states(&received, "Browser.downloadProgress"),
        ["inProgress"]
    );
    let expected = Placement {
        guid: GUID.to_owned(),
        source: SOURCE.to_owned(),
        places: vec![Place {
            folder: "/tmp/files".to_owned(),
            name: GUID.to_owned(),
            is_numbered: false,
        }],
    };
    assert_eq!(script.placements(), [expected]);
    let path = format!("/tmp/files/{GUID}");
    script.place_files(Placed {
        guid: GUID.to_owned(),
        files: vec![Ok(path.clone())],
        is_source_kept: false,
    });
    assert_eq!(script.next_action(), "finish");
    let received = script.received(client);
    let expected = json!({
        "guid": GUID, "totalBytes": 10, "receivedBytes": 10, "state": "completed", "filePath": path,
    });
    let progress = received.event("Browser.downloadProgress");
    assert_eq!(progress, &expected);
}

#[test]
fn sockets_of_one_program_share_what_it_wants() {
    let mut script = Script::with_tabs(1);
    let browser = script.connect_client();
    script.set_downloads(browser, behavior("allowAndName"));
    let page = script.connect_client_of(browser, Connection::Target("T1"));
    let other = script.connect_client();
    script.set_downloads(other, behavior("allow"));
    script.send(
        page,
        "Runtime.evaluate",
        json!({ "expression": "location" }),
    );
    while !script.is_live(1) {
        script.answer_calls();
    }
    script.next_call("cdpCommand");
    script.start_download(1);
    assert_eq!(script.next_action(), "take");
    let received = script.received(browser);
    received.event("Browser.downloadWillBegin");
    assert!(
        !script
            .received(other)
            .has_event("Browser.downloadWillBegin")
    );
}

#[test]
fn folder_of_chromedriver_is_the_one_of_the_user() {
    let mut script = Script::with_tabs(1);
    let (client, _) = client_with_page(&mut script);
    let params = json!({ "behavior": "allow", "downloadPath": ".", "eventsEnabled": true });
    script.set_downloads(client, params);
    script.start_download(1);
    assert_eq!(script.next_action(), "watch");
}

#[test]
fn file_under_its_own_name_cannot_leave_its_folder() {
    let mut script = Script::with_tabs(1);
    let (client, _) = client_with_page(&mut script);
    script.set_downloads(client, behavior("allow"));
    let params = json!({
        "guid": GUID, "tabId": 1, "url": "x", "suggestedFilename": "../../.ssh/authorized_keys",
    });
    script.extension_event("downloadCreated", params);
    script.change_download("completed", 10);
    let placements = script.placements();
    let place = &placements[0].places[0];
    assert_eq!(
        (place.name.as_str(), place.is_numbered),
        ("authorized_keys", true)
    );
}

#[test]
fn file_that_cannot_be_placed_is_a_cancelled_download() {
    let mut script = Script::with_tabs(1);
    let (client, _) = client_with_page(&mut script);
    script.set_downloads(client, behavior("allow"));
    script.start_download(1);
    script.change_download("completed", 10);
    script.calls();
    script.received(client);
    script.place_files(Placed {
        guid: GUID.to_owned(),
        files: vec![Err("no space".to_owned())],
        is_source_kept: false,
    });
    assert_eq!(script.next_action(), "cancel");
    let received = script.received(client);
    assert_eq!(states(&received, "Browser.downloadProgress"), ["canceled"]);
}

#[test]
fn persons_downloads_are_left_alone() {
    let mut script = Script::with_tabs(2);
    let (client, _) = client_with_page(&mut script);
    // In a tab that a client uses without a word about downloads.
    script.start_download(1);
    assert_eq!(script.next_action(), "leave");
    // In a tab that no client uses.
    script.set_downloads(client, behavior("allowAndName"));
    script.start_download(2);
    assert_eq!(script.next_action(), "leave");
    script.change_download("completed", 10);
    assert!(script.placements().is_empty());
    assert!(script.received(client).is_empty());
}

#[test]
fn download_of_an_unused_popup_belongs_to_whoever_uses_its_opener() {
    let mut script = Script::with_tabs(2);
    let (client, _) = client_with_page(&mut script);
    script.set_downloads(client, behavior("allowAndName"));
    let params = json!({
        "guid": GUID, "tabId": 2, "openerTabId": 1, "url": "x", "suggestedFilename": "a",
    });
    script.extension_event("downloadCreated", params);
    assert_eq!(script.next_action(), "take");
    let received = script.received(client);
    let begin = received.event("Browser.downloadWillBegin");
    assert_eq!(begin["frameId"], "T2");
}

#[test]
fn denied_download_is_cancelled() {
    let mut script = Script::with_tabs(1);
    let (client, _) = client_with_page(&mut script);
    let deny = json!({ "behavior": "deny", "eventsEnabled": true });
    script.set_downloads(client, deny);
    script.start_download(1);
    assert_eq!(script.next_action(), "cancel");
    script.change_download("canceled", 0);
    let received = script.received(client);
    assert!(received.has_event("Browser.downloadWillBegin"));
    let expected = ["inProgress", "canceled"];
    assert_eq!(states(&received, "Browser.downloadProgress"), expected);
}

#[test]
fn default_behavior_with_events_only_watches() {
    let mut script = Script::with_tabs(1);
    let (client, _) = client_with_page(&mut script);
    let watch = json!({ "behavior": "default", "eventsEnabled": true });
    script.set_downloads(client, watch);
    script.start_download(1);
    assert_eq!(script.next_action(), "watch");
    script.change_download("completed", 10);
    assert!(script.placements().is_empty());
    let received = script.received(client);
    let last = received.events("Browser.downloadProgress").last().unwrap();
    assert_eq!(last["filePath"], SOURCE);
    assert!(script.calls().is_empty());
}

#[test]
fn client_cancels_its_own_downloads_only() {
    let mut script = Script::with_tabs(1);
    let (client, _) = client_with_page(&mut script);
    let other = script.connect_client();
    script.set_downloads(client, behavior("allowAndName"));
    script.start_download(1);
    script.calls();
    let cancel = json!({ "guid": GUID });
    let error = script.request_error(other, "Browser.cancelDownload", cancel.clone());
    let message = "No download item found for the given GUID".to_owned();
    assert_eq!(error, (-32602, message));
    script.received(client);
    let id = script.send(client, "Browser.cancelDownload", cancel.clone());
    let call = script.next_call("controlDownload");
    assert_eq!(action(&call), "cancel");
    script.change_download("canceled", 3);
    script.reply(&call, json!({}));
    let received = script.received(client);
    assert_eq!(received.result(id), &json!({}));
    assert_eq!(states(&received, "Browser.downloadProgress"), ["canceled"]);
    let placements = script.placements();
    assert_eq!(placements[0].source, SOURCE, "its folder is tidied up");
    assert_eq!(placements[0].places, []);
    // As on Chrome's own port, cancelling twice is not an error.
    let again = script.request(client, "Browser.cancelDownload", cancel);
    assert_eq!(again, json!({}));
}

#[test]
fn page_session_receives_its_own_downloads() {
    let mut script = Script::with_tabs(2);
    let (_, pages) = script.auto_attached_client();
    script.send(&pages[0], "Page.enable", json!({}));
    script.make_live(&pages[0]);
    let params = json!({ "behavior": "allow", "downloadPath": "/tmp/files" });
    let id = script.send(&pages[0], "Page.setDownloadBehavior", params.clone());
    script.answer_calls();
    assert_eq!(script.received(&pages[0]).result(id), &json!({}));
    script.start_download(1);
    let received = script.received(&pages[0]);
    assert!(received.has_event("Page.downloadWillBegin"));
    assert!(!received.has_event("Browser.downloadWillBegin"));
    // The dormant page is not woken by it.
    script.calls();
    script.send(&pages[1], "Page.setDownloadBehavior", params);
    assert!(script.calls().is_empty());
    assert!(!script.is_live(2));
}

#[test]
fn rejects_what_cannot_be_done() {
    let mut script = Script::with_tabs(1);
    let client = script.connect_client();
    for (params, message) in [
        (json!({ "behavior": "allow" }), "downloadPath not provided"),
        (
            json!({ "behavior": "allow", "downloadPath": "files" }),
            "downloadPath 'files' is not an absolute path on the machine that runs the relay",
        ),
        (
            json!({ "behavior": "ask" }),
            "Unknown download behavior 'ask'. Use deny, allow, allowAndName or default.",
        ),
        (
            json!({ "behavior": "deny", "browserContextId": "nope" }),
            "Failed to find browser context for id nope",
        ),
    ] {
        let error = script.request_error(client, "Browser.setDownloadBehavior", params);
        assert_eq!(error, (-32602, message.to_owned()));
    }
    assert!(script.calls().is_empty());
}

#[test]
fn extension_watches_only_while_a_client_wants_it() {
    let mut script = Script::with_tabs(1);
    let (first, second) = (script.connect_client(), script.connect_client());
    let id = script.send(first, "Browser.setDownloadBehavior", behavior("allow"));
    let watch = script.next_call("watchDownloads");
    assert_eq!(watch.params(), &json!({ "enabled": true }));
    assert!(!script.received(first).has_reply(id), "nothing is missed");
    script.reply(&watch, json!({}));
    assert!(script.received(first).has_reply(id));
    script.request(second, "Browser.setDownloadBehavior", behavior("deny"));
    script.disconnect(first);
    assert!(script.calls().is_empty());
    let default = json!({ "behavior": "default" });
    script.send(second, "Browser.setDownloadBehavior", default);
    let watch = script.next_call("watchDownloads");
    assert_eq!(watch.params(), &json!({ "enabled": false }));
}

#[test]
fn extension_that_connects_again_watches_again() {
    let mut script = Script::with_tabs(1);
    let (client, _) = client_with_page(&mut script);
    script.set_downloads(client, behavior("allowAndName"));
    script.start_download(1);
    script.received(client);
    script.disconnect_extension();
    let received = script.received(client);
    assert_eq!(states(&received, "Browser.downloadProgress"), ["canceled"]);
    script.calls();
    script.connect_browser(vec![super::script::tab(1)]);
    let watch = script.next_call("watchDownloads");
    assert_eq!(watch.params(), &json!({ "enabled": true }));
}

#[test]
fn leaving_client_cancels_what_only_it_could_find() {
    let mut script = Script::with_tabs(1);
    let (client, _) = client_with_page(&mut script);
    script.set_downloads(client, behavior("allowAndName"));
    script.start_download(1);
    script.calls();
    script.disconnect(client);
    let calls = script.calls();
    let control = calls.iter().find(|call| call.name() == "controlDownload");
    assert_eq!(action(control.unwrap()), "cancel");
    assert!(script.is_idle());
}

#[test]
fn file_in_a_chosen_folder_arrives_after_its_client_has_left() {
    let mut script = Script::with_tabs(1);
    let (client, _) = client_with_page(&mut script);
    script.set_downloads(client, behavior("allow"));
    script.start_download(1);
    script.calls();
    script.disconnect(client);
    assert!(!script.calls().has_call("controlDownload"));
    script.change_download("completed", 10);
    assert_eq!(script.placements().len(), 1);
    script.place_files(Placed {
        guid: GUID.to_owned(),
        files: vec![Ok("/tmp/files/report.txt".to_owned())],
        is_source_kept: false,
    });
    assert_eq!(script.next_action(), "finish");
    assert!(script.is_idle());
}
