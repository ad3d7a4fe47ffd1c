//! What clients want done with downloads, and the downloads that the relay handles for them.

use std::collections::{BTreeMap, VecDeque};

use crate::protocol::ids::{ClientId, SessionId, TabId};

/// `Browser.setDownloadBehavior`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Behavior {
    /// The browser saves files as it does for the person.
    Default,
    Deny,
    Save(Destination),
}

/// Where a client wants its files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Destination {
    pub folder: String,
    pub naming: Naming,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Naming {
    /// `allowAndName`: the download's id. Nobody but the client knows what it is.
    Guid,
    /// `allow`: the name that the page suggests.
    Suggested,
}

/// What one session has asked for. It ends with the session.
#[derive(Debug)]
struct Setting {
    session_id: SessionId,
    client_id: ClientId,
    behavior: Behavior,
    /// Whether this session receives `Browser.downloadWillBegin` and `Browser.downloadProgress`.
    has_events: bool,
}

/// A download that the relay handles for at least one client.
#[derive(Debug)]
pub struct Download {
    tab_id: TabId,
    suggested_name: String,
    deliveries: Vec<Delivery>,
    /// It is saved in Tabwire's folder, because a client wanted the file.
    is_taken: bool,
    /// Chrome has finished, and the file is on its way to the clients.
    is_placing: bool,
    received: u64,
}

/// What one client gets of a download.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    pub client_id: ClientId,
    /// `None`: only its events.
    pub destination: Option<Destination>,
}

impl Download {
    pub fn new(tab_id: TabId, suggested_name: String, deliveries: Vec<Delivery>) -> Self {
        let is_taken = deliveries.iter().any(|each| each.destination.is_some());
        Self {
            tab_id,
            suggested_name,
            deliveries,
            is_taken,
            is_placing: false,
            received: 0,
        }
    }

    pub fn tab_id(&self) -> TabId {
        self.tab_id
    }

    pub fn suggested_name(&self) -> &str {
        &self.suggested_name
    }

    pub fn deliveries(&self) -> &[Delivery] {
        &self.deliveries
    }

    pub fn is_taken(&self) -> bool {
        self.is_taken
    }

    /// How many bytes have arrived.
    pub fn received(&self) -> u64 {
        self.received
    }

    pub fn set_received(&mut self, bytes: u64) {
        self.received = bytes;
    }

    pub fn start_placing(&mut self) {
        self.is_placing = true;
    }

    /// Each file that is being placed belongs to one of the deliveries, so these do not change.
    pub fn is_placing(&self) -> bool {
        self.is_placing
    }

    /// Whether other clients want the file, and do not only watch.
    pub fn is_wanted_by_others(&self, client_id: ClientId) -> bool {
        let mut deliveries = self.deliveries.iter();
        deliveries.any(|each| each.client_id != client_id && each.destination.is_some())
    }

    /// A client does not want it any more. Returns what was dropped.
    pub fn drop_deliveries(&mut self, client_id: ClientId) -> Vec<Delivery> {
        let is_own = |delivery: &mut Delivery| delivery.client_id == client_id;
        self.deliveries.extract_if(.., is_own).collect()
    }
}

/// How many downloads are handled at once. A page can start any number; further ones are left to
/// the browser.
const MAX_DOWNLOADS: usize = 1000;

/// How many downloads that have ended are remembered.
const MAX_ENDED: usize = 200;

/// A download enters when it starts in a tab that a client with a setting uses, and leaves when its
/// file has arrived, it has failed, or nobody wants it any more.
#[derive(Debug, Default)]
pub struct Downloads {
    /// Oldest first: of one client's settings, the last one counts.
    settings: Vec<Setting>,
    map: BTreeMap<String, Download>,
    /// Downloads that have ended. Cancelling one of them is not an error.
    ended: VecDeque<String>,
    /// The extension reports downloads.
    is_watching: bool,
}

impl Downloads {
    // ---- what clients have asked for ----

    /// `has_events`: `None` leaves it as it is.
    pub fn set(
        &mut self,
        session_id: SessionId,
        client_id: ClientId,
        behavior: Behavior,
        has_events: Option<bool>,
    ) {
        let before = self.end_session(session_id);
        let has_events = has_events.unwrap_or(before.is_some_and(|setting| setting.has_events));
        if behavior != Behavior::Default || has_events {
            self.settings.push(Setting {
                session_id,
                client_id,
                behavior,
                has_events,
            });
        }
    }

    fn end_session(&mut self, session_id: SessionId) -> Option<Setting> {
        let mut settings = self.settings.iter();
        let index = settings.position(|setting| setting.session_id == session_id)?;
        Some(self.settings.remove(index))
    }

    pub fn on_session_ended(&mut self, session_id: SessionId) {
        self.end_session(session_id);
    }

    /// What a client wants. `None` if it has not asked for anything.
    pub fn behavior_of(&self, client_id: ClientId) -> Option<&Behavior> {
        let mut settings = self.settings.iter().rev();
        let last = settings.find(|setting| setting.client_id == client_id);
        last.map(|setting| &setting.behavior)
    }

    /// The sessions of a client that receive the events of the `Browser` domain.
    pub fn watchers_of(&self, client_id: ClientId) -> impl Iterator<Item = SessionId> {
        let settings = self.settings.iter();
        settings
            .filter(move |setting| setting.client_id == client_id && setting.has_events)
            .map(|setting| setting.session_id)
    }

    /// Whether nobody has asked for anything.
    pub fn is_unset(&self) -> bool {
        self.settings.is_empty()
    }

    /// Whether the extension has to start or stop reporting downloads. From then on it does.
    pub fn change_watching(&mut self) -> Option<bool> {
        let wanted = !self.settings.is_empty();
        (std::mem::replace(&mut self.is_watching, wanted) != wanted).then_some(wanted)
    }

    /// A new connection of the extension, which reports nothing yet.
    pub fn forget_watching(&mut self) {
        self.is_watching = false;
    }

    // ---- downloads ----

    pub fn insert(&mut self, guid: String, download: Download) {
        self.map.insert(guid, download);
    }

    /// Whether one more download can be handled.
    pub fn has_room_for(&self, guid: &str) -> bool {
        self.map.len() < MAX_DOWNLOADS && !self.map.contains_key(guid)
    }

    pub fn get(&self, guid: &str) -> Option<&Download> {
        self.map.get(guid)
    }

    pub fn get_mut(&mut self, guid: &str) -> Option<&mut Download> {
        self.map.get_mut(guid)
    }

    pub fn remove(&mut self, guid: &str) -> Option<Download> {
        let removed = self.map.remove(guid)?;
        self.ended.push_back(guid.to_owned());
        if self.ended.len() > MAX_ENDED {
            self.ended.pop_front();
        }
        Some(removed)
    }

    pub fn has_ended(&self, guid: &str) -> bool {
        self.ended.iter().any(|ended| ended == guid)
    }

    /// The downloads whose files Chrome is still receiving.
    pub fn unfinished(&self) -> Vec<String> {
        let unfinished = self.map.iter().filter(|(_, download)| !download.is_placing);
        unfinished.map(|(guid, _)| guid.clone()).collect()
    }

    /// A client has left. A file that it wanted under its own name, in a folder of its choice, still
    /// arrives there. Returns the downloads that nobody wants any more.
    pub fn release_client(&mut self, client_id: ClientId) -> Vec<(String, Download)> {
        let mut unwanted = Vec::new();
        for guid in self.unfinished() {
            let Some(download) = self.map.get_mut(&guid) else {
                continue;
            };
            download.deliveries.retain(|delivery| {
                let destination = delivery.destination.as_ref();
                delivery.client_id != client_id
                    || destination.is_some_and(|wanted| wanted.naming == Naming::Suggested)
            });
            if download.deliveries.is_empty()
                && let Some(download) = self.remove(&guid)
            {
                unwanted.push((guid, download));
            }
        }
        unwanted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::ids::IdSource;

    fn save(naming: Naming) -> Behavior {
        Behavior::Save(Destination {
            folder: "/tmp/files".to_owned(),
            naming,
        })
    }

    #[test]
    fn last_setting_of_a_client_counts_and_ends_with_its_session() {
        let mut downloads = Downloads::default();
        let mut ids = IdSource::new(1);
        let (client, root, page) = (ClientId(1), ids.session(), ids.session());
        assert_eq!(downloads.change_watching(), None);
        downloads.set(root, client, save(Naming::Guid), Some(true));
        assert_eq!(downloads.change_watching(), Some(true));
        downloads.set(page, client, Behavior::Deny, None);
        assert_eq!(downloads.behavior_of(client), Some(&Behavior::Deny));
        assert_eq!(downloads.behavior_of(ClientId(2)), None);
        assert_eq!(downloads.watchers_of(client).collect::<Vec<_>>(), [root]);
        downloads.on_session_ended(page);
        assert_eq!(downloads.behavior_of(client), Some(&save(Naming::Guid)));
        assert_eq!(downloads.change_watching(), None);
        downloads.set(root, client, Behavior::Default, Some(false));
        assert_eq!(downloads.change_watching(), Some(false));
        assert!(downloads.is_unset());
    }
}
