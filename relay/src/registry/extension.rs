//! The extension's slot of one browser: who holds it, and who takes it over.

use std::sync::{Arc, PoisonError};

use tabwire_home::PairingId;

use super::connections::Connections;
use crate::link::outbox::Outbox;

/// The close code for a browser that is replaced by another one, or that finds another one connected.
pub const SLOT_TAKEN: u16 = 4409;

/// Which browser an extension has proven to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    pub install_id: String,
    /// `None` with `--allow-unpaired`.
    pub pairing: Option<PairingId>,
    /// `None` until the browser has introduced itself for the first time.
    pub name: Option<String>,
}

/// The connected extension. `link` distinguishes it from earlier ones.
pub(super) struct Holder {
    pub link: u64,
    /// `None` until the browser has introduced itself.
    pub outbox: Option<Outbox>,
    /// The connection that this one replaces, and why. It is closed when this one is open, so that
    /// clients do not find the browser gone in between.
    replaced: Option<(Outbox, &'static str)>,
}

impl Holder {
    /// Closes the connection that this one replaces.
    pub fn abort_replaced(mut self) {
        self.take_place();
    }

    fn take_place(&mut self) {
        if let Some((replaced, reason)) = self.replaced.take() {
            replaced.abort(SLOT_TAKEN, reason);
        }
    }

    /// Closes the connection, and the one that it was to replace.
    pub fn abort(self, code: u16, reason: &str) {
        let replaced = self.replaced.map(|(outbox, _)| outbox);
        for outbox in self.outbox.into_iter().chain(replaced) {
            outbox.abort(code, reason);
        }
    }
}

/// The browser of these connections, and its extension if it is connected.
#[derive(Default)]
pub(super) struct Extension {
    /// Stays when the extension disconnects.
    pub identity: Option<Identity>,
    pub holder: Option<Holder>,
}

/// The extension's right to be connected. Dropping it frees the slot.
pub struct ExtensionSlot {
    pub link: u64,
    connections: Arc<Connections>,
}

impl Extension {
    /// Takes the slot if it is free, if its holder is an earlier connection of the same browser, or
    /// if the user wants this browser instead. Otherwise returns the holder's name.
    pub fn take(
        &mut self,
        identity: Identity,
        take_over: bool,
        link: u64,
    ) -> Result<(), Option<String>> {
        let current = self.identity.as_ref();
        let is_same = current.is_some_and(|own| own.install_id == identity.install_id);
        if self.holder.is_some() && !is_same && !take_over {
            return Err(current.and_then(|own| own.name.clone()));
        }
        let reason = if is_same {
            "This browser has connected again."
        } else {
            "Another browser has replaced this one."
        };
        let replaced = self.holder.take().and_then(|holder| {
            let earlier = holder.replaced.map(|(outbox, _)| outbox);
            let outbox = holder.outbox.or(earlier)?;
            Some((outbox, reason))
        });
        self.identity = Some(identity);
        self.holder = Some(Holder {
            link,
            outbox: None,
            replaced,
        });
        Ok(())
    }
}

impl ExtensionSlot {
    pub(super) fn new(link: u64, connections: Arc<Connections>) -> Self {
        Self { link, connections }
    }

    /// The socket is open, and the browser has introduced itself. `false` if another connection has
    /// taken the slot in the meantime.
    pub fn open(&self, name: &str, outbox: Outbox) -> bool {
        let mut extension = self
            .connections
            .extension
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let Extension { identity, holder } = &mut *extension;
        let own = holder.as_mut().filter(|holder| holder.link == self.link);
        if let (Some(holder), Some(identity)) = (own, identity) {
            holder.outbox = Some(outbox);
            holder.take_place();
            identity.name = Some(name.to_owned());
            return true;
        }
        false
    }
}

impl Drop for ExtensionSlot {
    fn drop(&mut self) {
        self.connections.free_extension_slot(self.link);
    }
}
