//! Files of finished downloads: the relay puts them where clients want them.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tabwire_tests::{Client, Relay, ScriptedExtension, until};

use crate::setup::start_with_live_session;

const GUID: &str = "790c48b4-cee2-4755-b32f-b33ff8ccd4ee";

struct Scene {
    folder: tempfile::TempDir,
    relay: Relay,
    extension: ScriptedExtension,
    client: Client,
}

impl Scene {
    /// A client that wants its files in the folder `wanted`.
    async fn start(behavior: &str) -> Self {
        let (relay, extension, mut client, _session) = start_with_live_session().await;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("wanted");
        let params = json!({ "behavior": behavior, "downloadPath": path, "eventsEnabled": true });
        client.ok("Browser.setDownloadBehavior", params).await;
        Self {
            folder,
            relay,
            extension,
            client,
        }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    /// What Chrome has saved.
    fn write(&self, path: &str, content: &[u8]) -> PathBuf {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    /// A download in tab 1 starts, and Chrome saves it at this path.
    async fn finish_download(&mut self, name: &str, path: &Path, bytes: usize) -> Value {
        self.complete(name, path, bytes).await;
        self.outcome().await
    }

    async fn complete(&mut self, name: &str, path: &Path, bytes: usize) {
        let created = json!({
            "guid": GUID, "tabId": 1, "url": "https://example.com/file", "suggestedFilename": name,
        });
        self.extension.send_event("downloadCreated", created).await;
        self.client.event("Browser.downloadWillBegin").await;
        let changed = json!({
            "guid": GUID, "state": "completed", "receivedBytes": bytes, "totalBytes": bytes,
            "path": path,
        });
        self.extension.send_event("downloadChanged", changed).await;
    }

    /// The last progress of the download.
    async fn outcome(&mut self) -> Value {
        loop {
            let progress = self.client.event("Browser.downloadProgress").await;
            if progress["params"]["state"] != "inProgress" {
                return progress["params"].clone();
            }
        }
    }

    /// What the extension was told to do with the download, in order.
    async fn actions(&self, count: usize) -> Vec<Value> {
        self.extension.until_called("controlDownload", count).await;
        let calls = self.extension.calls("controlDownload");
        let actions = calls.iter().map(|call| call.params()["action"].clone());
        actions.collect()
    }
}

#[tokio::test]
async fn file_is_at_the_id_of_its_download_before_the_client_knows() {
    let mut scene = Scene::start("allowAndName").await;
    let source = scene.write(&format!("Downloads/Tabwire-{GUID}/{GUID}"), b"bytes");
    let params = scene.finish_download("../report.txt", &source, 5).await;
    let file = scene.path("wanted").join(GUID);
    assert_eq!(params["state"], "completed");
    assert_eq!(params["filePath"], file.to_str().unwrap());
    assert_eq!(fs::read(file).unwrap(), b"bytes");
    assert!(!scene.path(&format!("Downloads/Tabwire-{GUID}")).exists());
    assert_eq!(scene.actions(2).await, ["take", "finish"]);
}

#[tokio::test]
async fn file_with_a_hostile_name_stays_in_its_folder() {
    let mut scene = Scene::start("allow").await;
    scene.write("wanted/authorized_keys", b"mine");
    let source = scene.write(&format!("Downloads/Tabwire-{GUID}/{GUID}"), b"bytes");
    let name = "../../.ssh/authorized_keys";
    let params = scene.finish_download(name, &source, 5).await;
    let file = scene.path("wanted/authorized_keys (1)");
    assert_eq!(params["filePath"], file.to_str().unwrap());
    assert_eq!(
        fs::read(scene.path("wanted/authorized_keys")).unwrap(),
        b"mine"
    );
}

#[tokio::test]
async fn file_that_the_person_has_saved_elsewhere_is_copied() {
    let mut scene = Scene::start("allowAndName").await;
    let source = scene.write("Desktop/report.txt", b"bytes");
    let params = scene.finish_download("report.txt", &source, 5).await;
    assert_eq!(params["state"], "completed");
    assert_eq!(fs::read(scene.path("wanted").join(GUID)).unwrap(), b"bytes");
    assert_eq!(fs::read(source).unwrap(), b"bytes");
    assert_eq!(scene.actions(2).await, ["take", "leave"]);
}

#[tokio::test]
async fn client_learns_that_its_file_cannot_be_saved() {
    let mut scene = Scene::start("allowAndName").await;
    scene.write("wanted", b"a file where the folder should be");
    let source = scene.write(&format!("Downloads/Tabwire-{GUID}/{GUID}"), b"bytes");
    let params = scene.finish_download("report.txt", &source, 5).await;
    assert_eq!(params["state"], "canceled");
    assert_eq!(params.get("filePath"), None);
    assert_eq!(scene.actions(2).await, ["take", "cancel"]);
}

#[tokio::test]
async fn cancelling_while_the_file_is_copied_is_too_late() {
    const SIZE: usize = 200 << 20;
    let mut scene = Scene::start("allowAndName").await;
    let source = scene.write("Desktop/large.bin", b"");
    let file = fs::OpenOptions::new().write(true).open(&source).unwrap();
    file.set_len(SIZE as u64).unwrap();
    scene.complete("large.bin", &source, SIZE).await;
    let wanted = scene.path("wanted");
    until("the file is being copied", async || {
        wanted.exists().then_some(())
    })
    .await;
    let params = json!({ "guid": GUID });
    scene.client.ok("Browser.cancelDownload", params).await;
    let outcome = scene.outcome().await;
    assert_eq!(outcome["state"], "completed");
    let copied = fs::metadata(wanted.join(GUID)).unwrap();
    assert_eq!(copied.len(), SIZE as u64);
    assert_eq!(scene.actions(2).await, ["take", "leave"]);
}

#[tokio::test]
async fn folder_of_a_cancelled_download_is_removed_for_an_earlier_relay_too() {
    let scene = Scene::start("allowAndName").await;
    let source = scene.write(&format!("Downloads/Tabwire-{GUID}/{GUID}"), b"");
    fs::remove_file(&source).unwrap();
    let folder = source.parent().unwrap();
    let canceled = json!({ "guid": GUID, "state": "canceled", "path": source });
    scene
        .extension
        .send_event("downloadChanged", canceled)
        .await;
    until("the folder is gone", async || {
        (!folder.exists()).then_some(())
    })
    .await;
    assert!(scene.path("Downloads").exists());
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn large_file_does_not_go_through_memory() {
    const SIZE: usize = 200 << 20;
    let mut scene = Scene::start("allowAndName").await;
    // Not in Tabwire's folder, so that it is copied.
    let source = scene.write("Desktop/large.bin", b"");
    let file = fs::OpenOptions::new().write(true).open(&source).unwrap();
    file.set_len(SIZE as u64).unwrap();
    let params = scene.finish_download("large.bin", &source, SIZE).await;
    assert_eq!(params["state"], "completed");
    let copied = fs::metadata(scene.path("wanted").join(GUID)).unwrap();
    assert_eq!(copied.len(), SIZE as u64);
    let peak = scene.relay.peak_memory();
    assert!(peak <= 40, "the relay has used {peak} MiB");
}
