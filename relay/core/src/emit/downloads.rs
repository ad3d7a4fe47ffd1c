//! Downloads: what clients learn of them, and what the extension does with them.

use serde_json::{Value, json};

use crate::Core;
use crate::model::calls::Continuation;
use crate::model::downloads::{Delivery, Download};
use crate::model::target::Target;
use crate::protocol::download::{DownloadAction, DownloadChanged, DownloadState};
use crate::protocol::ids::{ClientId, SessionId, TabId};
use crate::protocol::wire::Call;

impl Core {
    /// Has the extension report downloads as long as a client has asked for something. Returns
    /// whether it was called, and the continuation is used.
    pub(crate) fn update_download_watch(&mut self, then: Continuation) -> bool {
        // The tabs of a browser that is connecting are listed first.
        if !self.world.link.is_ready() {
            return false;
        }
        let changed = self.world.downloads.change_watching();
        if let Some(enabled) = changed {
            self.out.call(&Call::WatchDownloads { enabled }, then);
        }
        changed.is_some()
    }

    pub(crate) fn control_download(&mut self, guid: &str, action: DownloadAction) {
        let call = Call::ControlDownload { guid, action };
        self.out.call(&call, Continuation::Ignore);
    }

    /// A client has left: what only it wanted is stopped.
    pub(crate) fn release_downloads(&mut self, client_id: ClientId) {
        for (guid, download) in self.world.downloads.release_client(client_id) {
            let action = if download.is_taken() {
                DownloadAction::Cancel
            } else {
                DownloadAction::Leave
            };
            self.control_download(&guid, action);
        }
    }

    /// `downloadWillBegin`, for every client of this download.
    pub(crate) fn announce_download(&mut self, download: &Download, params: &Value) {
        let tab = self.world.tabs.get(download.tab_id());
        let params = params.to_string();
        let params = match tab {
            Some(tab) => tab.frame_to_announced(params.into()).into_owned(),
            None => params,
        };
        for delivery in download.deliveries() {
            let (browser, page) = self.download_sessions(delivery.client_id, download.tab_id());
            self.send_events(&browser, "Browser.downloadWillBegin", &params);
            self.send_events(&page, "Page.downloadWillBegin", &params);
        }
    }

    /// `downloadProgress`, for one client of this download.
    pub(crate) fn send_progress(
        &mut self,
        tab_id: TabId,
        delivery: &Delivery,
        progress: &DownloadChanged,
        path: Option<&str>,
    ) {
        let mut params = json!({
            "guid": progress.guid,
            "totalBytes": progress.total_bytes,
            "receivedBytes": progress.received_bytes,
            "state": progress.state.as_str(),
        });
        let (browser, page) = self.download_sessions(delivery.client_id, tab_id);
        self.send_events(&page, "Page.downloadProgress", &params.to_string());
        if let (Some(path), DownloadState::Completed) = (path, progress.state)
            && let Some(object) = params.as_object_mut()
        {
            object.insert("filePath".to_owned(), path.into());
        }
        self.send_events(&browser, "Browser.downloadProgress", &params.to_string());
    }

    fn send_events(&mut self, sessions: &[SessionId], method: &str, params: &str) {
        for session_id in sessions {
            self.send_event(*session_id, method, params);
        }
    }

    /// The sessions of a client that receive the events of the `Browser` and of the `Page` domain
    /// about a download in this tab.
    fn download_sessions(
        &self,
        client_id: ClientId,
        tab_id: TabId,
    ) -> (Vec<SessionId>, Vec<SessionId>) {
        let sessions = &self.world.sessions;
        let is_about_tab = |id: &SessionId| {
            let session = sessions.get(*id);
            // A session on a page receives only what happens there.
            session.is_some_and(|session| session.target().tab_id().is_none_or(|id| id == tab_id))
        };
        let watchers = self.world.downloads.watchers_of(client_id);
        let target = Target::Page(tab_id);
        let page = sessions
            .on(&target)
            .filter(|(_, session)| session.client_id() == client_id && session.has_enabled("Page"));
        (
            watchers.filter(is_about_tab).collect(),
            page.map(|(id, _)| id).collect(),
        )
    }
}
