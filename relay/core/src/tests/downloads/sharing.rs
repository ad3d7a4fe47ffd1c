//! Downloads that several clients want, deny or watch, and an extension that cannot watch.

use serde_json::{Value, json};

use super::{GUID, SOURCE, action, behavior, client_with_page, states};
use crate::Placed;
use crate::tests::script::{ClientId, Script};

const PROGRESS: &str = "Browser.downloadProgress";

/// Two clients that use the same tab, with these behaviors, and a download that has started there.
fn shared_download(behaviors: [Value; 2]) -> (Script, [ClientId; 2]) {
    let mut script = Script::with_tabs(1);
    let (first, _) = client_with_page(&mut script);
    let (second, pages) = script.auto_attached_client();
    script.send(&pages[0], "Runtime.evaluate", json!({}));
    script.answer_calls();
    let clients = [first, second];
    for (client, params) in clients.into_iter().zip(behaviors) {
        script.set_downloads(client, params);
    }
    script.start_download(1);
    (script, clients)
}

fn watch() -> Value {
    json!({ "behavior": "default", "eventsEnabled": true })
}

fn deny() -> Value {
    json!({ "behavior": "deny", "eventsEnabled": true })
}

#[test]
fn two_clients_of_a_tab_both_get_the_file() {
    let mut script = Script::with_tabs(1);
    let (first, _) = client_with_page(&mut script);
    let (second, pages) = script.auto_attached_client();
    script.send(&pages[0], "Runtime.evaluate", json!({}));
    script.answer_calls();
    script.set_downloads(first, behavior("allowAndName"));
    script.set_downloads(second, behavior("allow"));
    script.start_download(1);
    script.change_download("completed", 10);
    let placements = script.placements();
    let names: Vec<_> = placements[0].places.iter().map(|p| &p.name).collect();
    assert_eq!(names, [GUID, "report.txt"]);
    script.received_by_all();
    script.place_files(Placed {
        guid: GUID.to_owned(),
        files: vec![Ok("/a".to_owned()), Err("full".to_owned())],
        is_source_kept: true,
    });
    for (client, state) in [(first, "completed"), (second, "canceled")] {
        let received = script.received(client);
        assert_eq!(states(&received, "Browser.downloadProgress"), [state]);
    }
    let calls = script.calls();
    let last = calls.iter().last().unwrap();
    assert_eq!(action(last), "leave", "the person's file stays");
}

#[test]
fn client_that_cancels_leaves_the_file_to_the_other() {
    let (mut script, [first, second]) =
        shared_download([behavior("allowAndName"), behavior("allow")]);
    script.calls();
    script.received_by_all();
    let cancel = json!({ "guid": GUID });
    let id = script.send(first, "Browser.cancelDownload", cancel);
    assert!(script.calls().is_empty(), "it goes on for the other");
    let received = script.received(first);
    assert_eq!(received.result(id), &json!({}));
    assert_eq!(states(&received, PROGRESS), ["canceled"]);
    assert!(script.received(second).is_empty());
    script.change_download("completed", 10);
    let placements = script.placements();
    assert_eq!(placements[0].places.len(), 1);
    script.place_files(Placed {
        guid: GUID.to_owned(),
        files: vec![Ok("/tmp/files/report.txt".to_owned())],
        is_source_kept: false,
    });
    assert_eq!(script.next_action(), "finish");
    assert_eq!(states(&script.received(second), PROGRESS), ["completed"]);
    assert!(script.received(first).is_empty());
}

#[test]
fn client_that_cancels_too_late_gets_its_file() {
    let (mut script, clients) = shared_download([behavior("allowAndName"), behavior("allow")]);
    script.change_download("completed", 10);
    script.calls();
    script.received_by_all();
    script.request(
        clients[0],
        "Browser.cancelDownload",
        json!({ "guid": GUID }),
    );
    assert!(script.calls().is_empty());
    script.place_files(Placed {
        guid: GUID.to_owned(),
        files: vec![Ok("/a".to_owned()), Ok("/b".to_owned())],
        is_source_kept: false,
    });
    for (client, path) in clients.into_iter().zip(["/a", "/b"]) {
        let received = script.received(client);
        let progress = received.event(PROGRESS);
        assert_eq!(
            (&progress["state"], &progress["filePath"]),
            (&json!("completed"), &json!(path))
        );
    }
}

#[test]
fn only_client_that_cancels_too_late_gets_its_file() {
    let mut script = Script::with_tabs(1);
    let (client, _) = client_with_page(&mut script);
    script.set_downloads(client, behavior("allowAndName"));
    script.start_download(1);
    script.change_download("completed", 10);
    script.calls();
    script.received_by_all();
    let id = script.send(client, "Browser.cancelDownload", json!({ "guid": GUID }));
    assert!(script.calls().is_empty(), "Chrome is done with it");
    assert_eq!(script.received(client).result(id), &json!({}));
    // Whatever the extension reports now, the file is on its way.
    script.change_download("canceled", 10);
    script.change_download("completed", 10);
    assert!(script.received(client).is_empty());
    assert_eq!(script.placements().len(), 1);
    script.place_files(Placed {
        guid: GUID.to_owned(),
        files: vec![Ok("/tmp/files/report".to_owned())],
        is_source_kept: false,
    });
    assert_eq!(script.next_action(), "finish");
    assert_eq!(states(&script.received(client), PROGRESS), ["completed"]);
}

#[test]
fn folder_is_removed_although_nobody_waits_for_the_download() {
    let mut script = Script::with_tabs(1);
    let (client, _) = client_with_page(&mut script);
    script.set_downloads(client, behavior("allowAndName"));
    script.start_download(1);
    script.disconnect(client);
    script.calls();
    script.change_download("inProgress", 3);
    assert!(script.placements().is_empty());
    script.change_download("canceled", 3);
    let placements = script.placements();
    assert_eq!(placements.len(), 1);
    assert_eq!(
        (placements[0].guid.as_str(), placements[0].source.as_str()),
        (GUID, SOURCE)
    );
    assert!(placements[0].places.is_empty());
}

#[test]
fn client_that_only_watches_does_not_keep_a_cancelled_download() {
    let (mut script, [first, second]) = shared_download([behavior("allow"), watch()]);
    script.calls();
    script.received_by_all();
    script.send(first, "Browser.cancelDownload", json!({ "guid": GUID }));
    assert_eq!(script.next_action(), "cancel");
    script.change_download("canceled", 3);
    assert_eq!(states(&script.received(second), PROGRESS), ["canceled"]);
}

#[test]
fn client_that_watches_learns_that_another_denies() {
    let (mut script, clients) = shared_download([deny(), watch()]);
    assert_eq!(script.next_action(), "cancel");
    script.change_download("canceled", 0);
    for client in clients {
        let received = script.received(client);
        assert!(received.has_event("Browser.downloadWillBegin"));
        assert_eq!(states(&received, PROGRESS), ["inProgress", "canceled"]);
    }
}

#[test]
fn download_that_another_saves_is_cancelled_for_a_client_that_denies() {
    let (mut script, [first, second]) = shared_download([behavior("allow"), deny()]);
    assert_eq!(script.next_action(), "take");
    let received = script.received(second);
    assert!(received.has_event("Browser.downloadWillBegin"));
    assert_eq!(states(&received, PROGRESS), ["canceled"]);
    assert_eq!(states(&script.received(first), PROGRESS), ["inProgress"]);
    script.change_download("completed", 10);
    assert!(script.received(second).is_empty());
    assert_eq!(script.placements()[0].places.len(), 1);
}

#[test]
fn watching_that_failed_is_tried_again() {
    let mut script = Script::with_tabs(1);
    let (first, second) = (script.connect_client(), script.connect_client());
    let set = "Browser.setDownloadBehavior";
    let id = script.send(first, set, behavior("allow"));
    let call = script.next_call("watchDownloads");
    script.reply_error(&call, json!("no downloads"));
    assert_eq!(script.received(first).error(id), "no downloads");
    assert!(script.calls().is_empty(), "nobody wants it any more");
    let id = script.send(second, set, behavior("allow"));
    let call = script.next_call("watchDownloads");
    assert_eq!(call.params(), &json!({ "enabled": true }));
    script.reply(&call, json!({}));
    assert_eq!(script.received(second).result(id), &json!({}));
}

#[test]
fn watching_that_failed_for_one_client_is_tried_again_for_the_other() {
    let mut script = Script::with_tabs(1);
    let (first, second) = (script.connect_client(), script.connect_client());
    let set = "Browser.setDownloadBehavior";
    script.send(first, set, behavior("allow"));
    script.send(second, set, behavior("allow"));
    let call = script.next_call("watchDownloads");
    script.reply_error(&call, json!("no downloads"));
    let call = script.next_call("watchDownloads");
    assert_eq!(call.params(), &json!({ "enabled": true }));
}
