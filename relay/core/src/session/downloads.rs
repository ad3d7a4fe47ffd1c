//! When the extension has to report downloads, and what happens to those that clients give up.

use crate::Core;
use crate::emit::out::{Handled, reply_to};
use crate::model::calls::{Continuation, Note};
use crate::protocol::download::{DownloadAction, DownloadChanged, DownloadState};
use crate::protocol::ids::{Caller, ClientId};
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

    /// The extension could not start or stop reporting downloads. Its client knows that it failed;
    /// for others that have asked for something, it is tried again.
    pub(crate) fn on_watch_failed(&mut self, caller: Caller) {
        let downloads = &mut self.world.downloads;
        downloads.forget_watching();
        downloads.on_session_ended(caller.session_id);
        self.update_download_watch(Continuation::Ignore);
    }

    /// A client does not want this download any more. Nobody else loses the file.
    pub(crate) fn give_up_download(&mut self, caller: Caller, guid: &str) -> Handled {
        let Some(download) = self.world.downloads.get_mut(guid) else {
            return Handled::empty();
        };
        // Too late, as for a download that has ended: its file arrives, and the client learns of it.
        if download.is_placing() {
            return Handled::empty();
        }
        if !download.is_wanted_by_others(caller.client_id) {
            let action = DownloadAction::Cancel;
            let call = Call::ControlDownload { guid, action };
            self.out.call(&call, reply_to(caller, Note::None));
            return Handled::Later;
        }
        let (tab_id, received) = (download.tab_id(), download.received());
        let canceled = DownloadChanged {
            guid: guid.to_owned(),
            state: DownloadState::Canceled,
            received_bytes: received,
            total_bytes: received,
            path: None,
        };
        for delivery in download.drop_deliveries(caller.client_id) {
            self.send_progress(tab_id, &delivery, &canceled, None);
        }
        Handled::empty()
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
}
