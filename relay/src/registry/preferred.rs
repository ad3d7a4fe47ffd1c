//! Which browser the relay prefers: one that it launched. With `--browsers one`, no other browser may
//! connect; with `many`, it is used by clients that name no browser.

use std::sync::Arc;

use tabwire_home::{PairingId, Pairings};

use super::connections::Connections;
use super::{Entry, Registry, lock};
use crate::config::BrowserMode;

/// When a launched browser takes the place of the one that is connected, with `--browsers one`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Switch {
    /// Also before it is running: no other browser may be used.
    AtOnce,
    /// If it does not start, the other one stays.
    WhenConnected,
}

pub(super) struct Preferred {
    browser: PreferredBrowser,
    /// Whether the pairing was in the list at some time. Only then can it have been removed from it.
    is_listed: bool,
}

enum PreferredBrowser {
    /// It connects with this pairing.
    Extension(PairingId),
    /// It has a debugging port, and this entry.
    Direct(Arc<Connections>),
}

impl Preferred {
    fn pairing(&self) -> Option<&PairingId> {
        match &self.browser {
            PreferredBrowser::Extension(pairing) => Some(pairing),
            PreferredBrowser::Direct(_) => None,
        }
    }

    fn is(&self, entry: &Entry) -> bool {
        match &self.browser {
            PreferredBrowser::Extension(pairing) => {
                entry.connections.pairing().as_ref() == Some(pairing)
            }
            PreferredBrowser::Direct(connections) => Arc::ptr_eq(connections, &entry.connections),
        }
    }
}

impl Registry {
    /// From now on, the browser of this pairing is used. With `--browsers one`, it takes the place of
    /// another one, whose clients are disconnected.
    pub fn prefer(&self, pairing: &PairingId, switch: Switch) {
        if switch == Switch::WhenConnected && self.is_one() && self.has_another(pairing) {
            *lock(&self.expected) = Some(pairing.clone());
            return;
        }
        self.set_preferred(PreferredBrowser::Extension(pairing.clone()));
        if self.is_one() {
            for entry in self.entries() {
                entry.connections.make_way_for(pairing);
            }
        }
    }

    /// As `prefer`, for a browser that was added with `add_direct`.
    pub fn prefer_direct(&self, entry: &Entry) {
        self.set_preferred(PreferredBrowser::Direct(entry.connections.clone()));
    }

    fn set_preferred(&self, browser: PreferredBrowser) {
        *lock(&self.preferred) = Some(Preferred {
            browser,
            is_listed: false,
        });
    }

    /// Whether another browser than that of this pairing is connected, or has clients that wait for it.
    fn has_another(&self, pairing: &PairingId) -> bool {
        self.entries().iter().any(|entry| {
            let connections = &entry.connections;
            let is_used = connections.extension_link().is_some() || connections.client_count() > 0;
            entry.direct.is_some() || (is_used && connections.is_of_another(pairing))
        })
    }

    /// Lets a browser that is connecting take the place of the one that it was launched to replace.
    pub(super) fn switch_if_expected(&self, pairing: Option<&PairingId>) {
        let expected = lock(&self.expected).take_if(|expected| pairing == Some(&*expected));
        let Some(expected) = expected else { return };
        self.set_preferred(PreferredBrowser::Extension(expected));
        let mut entries = self.lock();
        for entry in entries.drain(..) {
            entry.connections.make_way();
        }
        // With a hub of its own, so that nothing of the other browser is taken for this one's.
        entries.push(self.new_entry());
    }

    /// Whether a browser that is launched takes the place of all others.
    pub fn is_one(&self) -> bool {
        self.mode == BrowserMode::One
    }

    /// Disconnects whoever is connected, because the relay is about to launch another browser.
    pub fn make_way(&self) {
        for entry in self.entries() {
            entry.connections.make_way();
        }
    }

    pub fn no_longer_prefer(&self, pairing: &PairingId) {
        lock(&self.preferred).take_if(|preferred| preferred.pairing() == Some(pairing));
        lock(&self.expected).take_if(|expected| expected == pairing);
    }

    pub(super) fn no_longer_prefer_direct(&self, entry: &Entry) {
        lock(&self.preferred).take_if(|preferred| preferred.is(entry));
    }

    pub(super) fn is_preferred(&self, entry: &Entry) -> bool {
        let preferred = lock(&self.preferred);
        preferred.as_ref().is_some_and(|own| own.is(entry))
    }

    /// Whether only a browser with another pairing may connect.
    pub(super) fn prefers_another(&self, pairing: Option<&PairingId>) -> bool {
        let preferred = lock(&self.preferred);
        let wanted = preferred.as_ref().and_then(Preferred::pairing);
        wanted.is_some_and(|wanted| pairing != Some(wanted))
    }

    pub(super) fn check_preferred(&self, pairings: &Pairings) {
        if let Some(preferred) = lock(&self.preferred).as_mut()
            && let Some(pairing) = preferred.pairing()
        {
            let is_listed = pairings.contains(pairing);
            if preferred.is_listed && !is_listed {
                self.preferred_unpaired.notify_one();
            }
            preferred.is_listed = is_listed;
        }
    }
}
