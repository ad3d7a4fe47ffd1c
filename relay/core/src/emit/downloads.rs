//! Downloads: the events that clients receive, and the actions that the extension does.

use serde_json::{Value, json};

use crate::Core;
use crate::model::calls::Continuation;
use crate::model::downloads::Delivery;
use crate::model::target::Target;
use crate::protocol::download::{DownloadAction, DownloadChanged, DownloadState};
use crate::protocol::ids::{ClientId, SessionId, TabId};
use crate::protocol::wire::Call;

impl Core {
    pub(crate) fn control_download(&mut self, guid: &str, action: DownloadAction) {
        let call = Call::ControlDownload { guid, action };
        self.out.call(&call, Continuation::Ignore);
    }

    /// `downloadWillBegin`, for these clients.
    pub(crate) fn announce_download(
        &mut self,
        tab_id: TabId,
        deliveries: &[Delivery],
        params: &Value,
    ) {
        let tab = self.world.tabs.get(tab_id);
        let params = params.to_string();
        let params = match tab {
            Some(tab) => tab.frame_to_announced(params.into()).into_owned(),
            None => params,
        };
        for delivery in deliveries {
            let (browser, page) = self.download_sessions(delivery.client_id, tab_id);
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
