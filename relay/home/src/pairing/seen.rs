//! What happens to the list of paired browsers when one connects: its record, its name if it is new,
//! and which old records are forgotten for it.

use super::{MAX_NAME, Origin, PairedBrowser, Pairing, PairingId, Pairings, check_name};

/// Removing and loading the extension again makes another browser. The ones that were not seen for
/// the longest time are forgotten.
pub(super) const MAX_BROWSERS: usize = 32;

/// What only a running relay knows about browsers.
#[derive(Debug, Default)]
pub struct InUse {
    /// The installation ids of the browsers that are connected.
    pub connected: Vec<String>,
    /// The names of browsers that are not paired, because they have a debugging port of their own.
    pub names: Vec<String>,
}

impl InUse {
    fn has_name(&self, name: &str) -> bool {
        self.names.iter().any(|own| own.eq_ignore_ascii_case(name))
    }
}

impl Pairings {
    /// Records that a browser has connected, and returns its name. `brand` is what a new one is
    /// named after. `None`: it may not connect after all, because something has changed since its
    /// proof.
    pub fn record_seen(
        &mut self,
        id: &PairingId,
        install_id: &str,
        (brand, product): (&str, &str),
        in_use: &InUse,
        now: u64,
    ) -> Option<String> {
        let pairing = self.pairings.iter().find(|pairing| pairing.id == *id)?;
        let may_connect = pairing.has(install_id) || pairing.accepts_new_browsers(now);
        if !may_connect || !self.is_paired(id, install_id) {
            return None;
        }
        let known = self.take_browser(install_id);
        let free_name = self.free_name(id, brand, in_use);
        // A code that its browser has left must not admit another one.
        self.pairings.retain(|p| {
            p.id == *id || p.origin != Origin::Code || !p.browsers.is_empty() || !p.used
        });
        let pairing = self.pairings.iter_mut().find(|pairing| pairing.id == *id)?;
        let browser = PairedBrowser {
            product: product.to_owned(),
            last_seen: now,
            ..known.unwrap_or_else(|| PairedBrowser {
                install_id: install_id.to_owned(),
                name: free_name,
                product: String::new(),
                paired: now,
                last_seen: now,
                renamed: false,
            })
        };
        let name = browser.name.clone();
        pairing.used = true;
        pairing.browsers.push(browser);
        pairing.browsers.sort_by_key(|browser| browser.last_seen);
        pairing.forget_oldest(install_id, in_use);
        Some(name)
    }

    /// The name that the user chose for this pairing, or the browser's brand, with a number if it
    /// is taken.
    fn free_name(&self, id: &PairingId, brand: &str, in_use: &InUse) -> String {
        let chosen = self
            .pairings
            .iter()
            .find(|p| p.id == *id)
            .and_then(|p| p.name.as_deref());
        let stem = chosen
            .or((check_name(brand).is_ok()).then_some(brand))
            .unwrap_or("browser");
        let numbered = (2..).map(|number| {
            let suffix = format!("-{number}");
            let length = stem.len().min(MAX_NAME - suffix.len());
            format!("{}{suffix}", stem.get(..length).unwrap_or_default())
        });
        std::iter::once(stem.to_owned())
            .chain(numbered)
            .find(|name| self.named(name).is_none() && !in_use.has_name(name))
            .unwrap_or_default()
    }
}

impl Pairing {
    /// Keeps the list short. A browser that the user named, or that is connected, stays however long
    /// the list is.
    fn forget_oldest(&mut self, newest: &str, in_use: &InUse) {
        let mut surplus = self.browsers.len().saturating_sub(MAX_BROWSERS);
        let named = self.name.as_deref();
        self.browsers.retain(|browser| {
            let is_kept = browser.renamed
                || named == Some(&browser.name)
                || browser.install_id == newest
                || in_use.connected.contains(&browser.install_id);
            if surplus == 0 || is_kept {
                return true;
            }
            surplus -= 1;
            false
        });
    }
}
