//! Who uses which tabs, and how many there are: what `GET /`, `/client-slot` and the popup show.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;

use tabwire_core::PageSummary;
use tabwire_core::handshake::{self, ClientStatus, OpenPortStatus, Status};
use tabwire_core::ids::ClientId;
use tabwire_home::TabInUse;

use super::Hub;
use crate::log::{Peer, Way};

/// The sockets of one program, as the popup shows them.
#[derive(Default)]
struct Program {
    name: String,
    tabs: BTreeSet<i64>,
}

impl Hub {
    /// For `GET /`.
    pub(super) fn publish_counts(&self) {
        let is_ready = self.core.browser().is_some();
        self.connections
            .paused
            .store(self.core.is_paused(), Ordering::Relaxed);
        self.connections.pages.store(
            if is_ready { self.core.page_count() } else { 0 },
            Ordering::Relaxed,
        );
        let extension_ready = &self.connections.extension_ready;
        if extension_ready.swap(is_ready, Ordering::Release) != is_ready {
            self.connections.on_progress();
        }
    }

    pub(super) fn publish_usage(&mut self) {
        let in_use = self.core.tabs_in_use();
        let clients = &self.connections.clients;
        let mut programs = BTreeMap::<ClientId, Program>::new();
        for client in self.clients.keys() {
            let tabs = in_use.get(client);
            let described = tabs.into_iter().flatten().filter_map(|tab| {
                let PageSummary { id, url, title, .. } = self.core.page(*tab)?;
                Some(TabInUse {
                    id: id.to_string(),
                    url,
                    title,
                })
            });
            clients.set_tabs(*client, described.collect());
            let program = programs.entry(clients.program_of(*client)).or_default();
            program.name = clients.display_name(*client).unwrap_or_default();
            program
                .tabs
                .extend(tabs.into_iter().flatten().map(|tab| tab.0));
        }
        self.send_status(&programs);
    }

    /// Sends the extension what its popup shows, if that has changed.
    fn send_status(&mut self, programs: &BTreeMap<ClientId, Program>) {
        let Some(name) = self.connections.browser_name() else {
            return;
        };
        let Some(extension) = self
            .extension
            .as_mut()
            .filter(|_| self.core.browser().is_some())
        else {
            return;
        };
        let clients = programs.values().map(|program| ClientStatus {
            name: &program.name,
            tabs: program.tabs.iter().copied().collect(),
        });
        let open_port = self.connections.open_port();
        let status = Status {
            name: &name,
            clients: clients.collect(),
            open_port: open_port.map(|open| OpenPortStatus {
                port: open.port,
                until: open.until,
            }),
        };
        let text = handshake::message("status", &status);
        if text != extension.status {
            extension.status.clone_from(&text);
            let connections = &self.connections;
            self.observer
                .message(connections, Way::Sent, Peer::Extension, &text);
            // An extension that does not read is closed when the core has something to send.
            extension.outbox.push(text);
        }
    }
}
