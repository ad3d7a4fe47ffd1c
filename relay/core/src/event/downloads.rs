//! Downloads in tabs that clients use. The extension reports them; the shell moves their files.

use serde_json::json;

use crate::model::downloads::{Behavior, Delivery, Download, Naming};
use crate::protocol::download::{
    DownloadAction, DownloadChanged, DownloadCreated, DownloadState, safe_file_name,
};
use crate::protocol::ids::{ClientId, TabId};
use crate::{Core, Output, Place, Placed, Placement};

struct Decision {
    deliveries: Vec<Delivery>,
    /// Clients that deny what another one saves. For them, it is canceled at once.
    denied: Vec<Delivery>,
    action: DownloadAction,
}

impl Core {
    /// Every such report is answered with an action: until then the browser does not choose a name
    /// for the file.
    pub(crate) fn on_download_created(&mut self, created: DownloadCreated) {
        let Decision {
            deliveries,
            denied,
            action,
        } = self.decide_download(&created);
        let has_room = self.world.downloads.has_room_for(&created.guid);
        if deliveries.is_empty() || !has_room {
            return self.control_download(&created.guid, DownloadAction::Leave);
        }
        self.control_download(&created.guid, action);
        let tab = self.world.tabs.get(created.tab_id);
        let page_id = tab.map(|tab| tab.page_id().to_string());
        let begin = json!({
            "frameId": created.frame_id.or(page_id).unwrap_or_default(),
            "guid": created.guid,
            "url": created.url,
            "suggestedFilename": created.suggested_filename,
        });
        self.announce_download(created.tab_id, &deliveries, &begin);
        self.announce_download(created.tab_id, &denied, &begin);
        let canceled = DownloadChanged {
            guid: created.guid.clone(),
            state: DownloadState::Canceled,
            received_bytes: 0,
            total_bytes: created.total_bytes,
            path: None,
        };
        for delivery in &denied {
            self.send_progress(created.tab_id, delivery, &canceled, None);
        }
        let download = Download::new(created.tab_id, created.suggested_filename, deliveries);
        let guid = created.guid.clone();
        self.world.downloads.insert(guid, download);
        self.on_download_changed(DownloadChanged {
            guid: created.guid,
            state: DownloadState::InProgress,
            received_bytes: 0,
            total_bytes: created.total_bytes,
            path: None,
        });
    }

    /// What the clients that use the tab want. A file that one of them wants is not denied for
    /// another.
    fn decide_download(&self, created: &DownloadCreated) -> Decision {
        let (mut saving, mut denying, mut watching) = (Vec::new(), Vec::new(), Vec::new());
        for client_id in self.users_of(created.tab_id, created.opener_tab_id) {
            let (kind, destination) = match self.world.downloads.behavior_of(client_id) {
                None => continue,
                Some(Behavior::Default) => (&mut watching, None),
                Some(Behavior::Deny) => (&mut denying, None),
                Some(Behavior::Save(wanted)) => (&mut saving, Some(wanted.clone())),
            };
            kind.push(Delivery {
                client_id,
                destination,
            });
        }
        let (mut deliveries, denied, action) = if !saving.is_empty() {
            (saving, denying, DownloadAction::Take)
        } else if !denying.is_empty() {
            (denying, Vec::new(), DownloadAction::Cancel)
        } else {
            (Vec::new(), Vec::new(), DownloadAction::Watch)
        };
        deliveries.append(&mut watching);
        Decision {
            deliveries,
            denied,
            action,
        }
    }

    /// The clients that use a tab or the tab that opened it, each once. A program may use the tab
    /// with one socket, and say what it wants with another.
    fn users_of(&self, tab_id: TabId, opener: Option<TabId>) -> Vec<ClientId> {
        let mut users = Vec::new();
        for tab_id in [Some(tab_id), opener].into_iter().flatten() {
            let Some(tab) = self.world.tabs.get(tab_id) else {
                continue;
            };
            for (_, session) in self.world.sessions.at(Some(tab_id)) {
                if !tab.is_used_by(session.client_id()) {
                    continue;
                }
                let program = self.world.clients.of_same_program(session.client_id());
                for client_id in program {
                    if !users.contains(&client_id) {
                        users.push(client_id);
                    }
                }
            }
        }
        users
    }

    pub(crate) fn on_download_changed(&mut self, changed: DownloadChanged) {
        let Some(download) = self.world.downloads.get_mut(&changed.guid) else {
            // Nobody waits for it any more, or its relay was another one.
            if changed.state == DownloadState::Canceled {
                self.remove_download_folder(changed);
            }
            return;
        };
        // Chrome is done with it.
        if download.is_placing() {
            return;
        }
        download.set_received(changed.received_bytes);
        match changed.state {
            DownloadState::InProgress => self.send_progress_to_all(&changed),
            DownloadState::Canceled => {
                self.send_progress_to_all(&changed);
                self.world.downloads.remove(&changed.guid);
                self.remove_download_folder(changed);
            }
            DownloadState::Completed if download.is_taken() => self.place_file(changed),
            DownloadState::Completed => {
                self.send_progress_to_all(&changed);
                self.world.downloads.remove(&changed.guid);
            }
        }
    }

    /// Has the shell remove the folder of a canceled download, if it is Tabwire's.
    fn remove_download_folder(&mut self, canceled: DownloadChanged) {
        if let Some(source) = canceled.path {
            self.out.push(Output::PlaceFile(Placement {
                guid: canceled.guid,
                source,
                places: Vec::new(),
            }));
        }
    }

    fn send_progress_to_all(&mut self, changed: &DownloadChanged) {
        let download = self.world.downloads.get(&changed.guid);
        let Some((tab_id, deliveries)) =
            download.map(|download| (download.tab_id(), download.deliveries().to_vec()))
        else {
            return;
        };
        for delivery in &deliveries {
            self.send_progress(tab_id, delivery, changed, changed.path.as_deref());
        }
    }

    /// Chrome has the whole file. Clients learn of it when it is where they want it.
    fn place_file(&mut self, changed: DownloadChanged) {
        let (guid, source) = (changed.guid, changed.path.unwrap_or_default());
        let Some(download) = self.world.downloads.get_mut(&guid) else {
            return;
        };
        download.start_placing();
        let name = safe_file_name(download.suggested_name());
        let wanted = download.deliveries().iter();
        let wanted = wanted.filter_map(|delivery| delivery.destination.as_ref());
        let places = wanted.map(|destination| Place {
            folder: destination.folder.clone(),
            name: match destination.naming {
                Naming::Guid => safe_file_name(&guid),
                Naming::Suggested => name.clone(),
            },
            is_numbered: destination.naming == Naming::Suggested,
        });
        let places = places.collect();
        self.out.push(Output::PlaceFile(Placement {
            guid,
            source,
            places,
        }));
    }

    pub(crate) fn on_file_placed(&mut self, placed: Placed) {
        let Some(download) = self.world.downloads.remove(&placed.guid) else {
            return;
        };
        let action = if placed.is_source_kept {
            DownloadAction::Leave
        } else if placed.files.iter().any(Result::is_ok) {
            DownloadAction::Finish
        } else {
            // Nobody has it, so nothing of it stays behind in the person's folder.
            DownloadAction::Cancel
        };
        self.control_download(&placed.guid, action);
        let mut files = placed.files.into_iter();
        for delivery in download.deliveries() {
            let file = match delivery.destination {
                Some(_) => files.next(),
                None => None,
            };
            let state = match &file {
                Some(Err(reason)) => {
                    tracing::warn!(client = %delivery.client_id, reason, "a download was lost");
                    DownloadState::Canceled
                }
                _ => DownloadState::Completed,
            };
            let changed = DownloadChanged {
                guid: placed.guid.clone(),
                state,
                received_bytes: download.received(),
                total_bytes: download.received(),
                path: file.and_then(Result::ok),
            };
            let path = changed.path.as_deref();
            self.send_progress(download.tab_id(), delivery, &changed, path);
        }
    }

    /// The extension is gone. It cancels what it was downloading for clients.
    pub(crate) fn fail_downloads(&mut self) {
        self.world.downloads.forget_watching();
        for guid in self.world.downloads.unfinished() {
            let download = self.world.downloads.get(&guid);
            let received_bytes = download.map_or(0, Download::received);
            self.on_download_changed(DownloadChanged {
                guid,
                state: DownloadState::Canceled,
                received_bytes,
                total_bytes: received_bytes,
                path: None,
            });
        }
    }
}
