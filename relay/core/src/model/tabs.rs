//! All tabs of the browser, by id.

use std::collections::BTreeMap;

use super::tab::Tab;
use super::target::Target;
use crate::protocol::ids::{ClientId, TabId, TargetId};

/// A tab enters with the extension's list or `tabCreated`. It leaves with `tabRemoved`, with a
/// later list that does not have it, or with `closeTab`.
#[derive(Default)]
pub struct Tabs {
    map: BTreeMap<TabId, Tab>,
}

impl Tabs {
    pub fn insert(&mut self, tab: Tab) {
        self.map.insert(tab.id(), tab);
    }

    pub fn remove(&mut self, id: TabId) -> Option<Tab> {
        self.map.remove(&id)
    }

    pub fn get(&self, id: TabId) -> Option<&Tab> {
        self.map.get(&id)
    }

    pub fn get_mut(&mut self, id: TabId) -> Option<&mut Tab> {
        self.map.get_mut(&id)
    }

    pub fn contains(&self, id: TabId) -> bool {
        self.map.contains_key(&id)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Tab> {
        self.map.values()
    }

    pub fn ids(&self) -> Vec<TabId> {
        self.map.keys().copied().collect()
    }

    /// A client with this identity has connected, perhaps again.
    pub fn recognize(&mut self, client_id: ClientId, identity: &str) {
        for tab in self.map.values_mut() {
            tab.recognize(client_id, identity);
        }
    }

    /// The tabs that the person took back from clients can be used again.
    pub fn forget_releases(&mut self) {
        self.map.values_mut().for_each(Tab::forget_releases);
    }

    pub fn len(&self) -> usize {
        self.map.len()
    }

    /// The page or `tab` target with this DevTools id.
    pub fn find_target(&self, id: &str) -> Option<Target> {
        let is = |target_id: &TargetId| target_id.as_str() == id;
        self.iter().find_map(|tab| {
            if is(tab.page_id()) {
                Some(Target::Page(tab.id()))
            } else if is(tab.tab_target_id()) {
                Some(Target::Tab(tab.id()))
            } else {
                None
            }
        })
    }

    /// The child targets with this DevTools id. A worker that several tabs share is a child of
    /// each.
    pub fn find_children<'t>(&'t self, id: &'t str) -> impl Iterator<Item = Target> + 't {
        self.iter().flat_map(move |tab| {
            let children = tab.children();
            let with_id = children.filter(move |(_, child)| child.target_id().as_str() == id);
            with_id.map(|(child_id, _)| Target::Child(tab.id(), child_id.clone()))
        })
    }
}
