#![allow(clippy::panic)]
use super::clients::{ClientInfo, ClientSlot, Clients};
use super::*;
use crate::error::Error;
use crate::http::guard::Admission;
use crate::log::Log;
use std::path::PathBuf;
use std::pin::Pin;
use tabwire_home::control::Ownership;
use tabwire_home::{Home, now};

fn connections(mode: ClientMode) -> Arc<Connections> {
    Arc::new(Connections::new(
        mode,
        Arc::default(),
        Arc::default(),
        Arc::default(),
    ))
}

fn take(connections: &Arc<Connections>) -> Option<ClientSlot> {
    let info = ClientInfo {
        name: "a client".to_owned(),
        names_itself: false,
        process: None,
        peer: None,
        admission: Admission::Token { generation: 0 },
        identity: None,
        named_browser: false,
    };
    Clients::take_slot(connections, info)
}

fn identity(install_id: &str) -> Identity {
    Identity {
        install_id: install_id.to_owned(),
        pairing: None,
        name: Some(format!("browser {install_id}")),
    }
}

fn registry(mode: BrowserMode) -> Registry {
    let core = tabwire_core::Config::new(0);
    let limits = direct::Limits {
        max_message: 1 << 20,
        outbox: 1 << 20,
    };
    let observer = Observer::new(Log::new(), None);
    Registry::new((mode, ClientMode::SingleActive), core, limits, observer).0
}

#[test]
fn dropping_a_client_slot_frees_it() {
    let connections = connections(ClientMode::SingleActive);
    let slot = take(&connections).expect("free");
    assert!(take(&connections).is_none());
    let report = connections.clients.report(None, false);
    assert_eq!(report.active_client_id, Some(slot.client.to_string()));
    drop(slot);
    assert!(take(&connections).is_some());
}

#[test]
fn multi_client_has_a_slot_for_everyone() {
    let connections = connections(ClientMode::MultiClient);
    let slots: Vec<_> = (0..5).filter_map(|_| take(&connections)).collect();
    assert_eq!(slots.len(), 5);
    assert!(!connections.clients.report(None, false).busy);
}

#[test]
fn second_browser_gets_the_slot_only_if_the_user_wants_it() {
    let connections = connections(ClientMode::SingleActive);
    let take =
        |id, take_over| Connections::take_extension_slot(&connections, identity(id), take_over);
    let first = take("a", false).unwrap_or_else(|_| panic!("free"));
    assert_eq!(take("b", false).err(), Some(Some("browser a".to_owned())));
    let second = take("b", true).unwrap_or_else(|_| panic!("taken over"));
    // The first one's socket closes later. That must not free the slot of the second.
    drop(first);
    assert_eq!(connections.extension_link(), Some(second.link));
}

#[test]
fn browser_that_connects_again_replaces_its_earlier_connection() {
    let connections = connections(ClientMode::SingleActive);
    let take = || Connections::take_extension_slot(&connections, identity("a"), false);
    let dead = take().unwrap_or_else(|_| panic!("free"));
    let next = take().unwrap_or_else(|_| panic!("replaced"));
    drop(dead);
    assert_eq!(connections.extension_link(), Some(next.link));
}

#[tokio::test]
async fn client_without_a_name_gets_the_only_browser() {
    let registry = registry(BrowserMode::Many);
    assert_eq!(registry.find(None).err(), Some(NotFound::NoBrowser));
    let first = registry
        .take_extension_slot(identity("a"), false)
        .unwrap_or_else(|_| panic!("free"));
    assert!(registry.find(None).is_ok());
    let second = registry
        .take_extension_slot(identity("b"), false)
        .unwrap_or_else(|_| panic!("free"));
    let names = vec!["browser a".to_owned(), "browser b".to_owned()];
    assert_eq!(
        registry.find(None).err(),
        Some(NotFound::Ambiguous {
            names: names.clone()
        })
    );
    let found = registry
        .find(Some("Browser B"))
        .unwrap_or_else(|_| panic!("found"));
    assert_eq!(found.connections.extension_link(), Some(second.1.link));
    let unknown = NotFound::Unknown {
        name: "c".to_owned(),
        names,
    };
    assert_eq!(registry.find(Some("c")).err(), Some(unknown));
    drop(first);
    assert!(registry.find(None).is_ok());
}

/// Launches nothing.
struct AnyPort;

impl direct::Launcher for AnyPort {
    fn launch(&self) -> Pin<Box<dyn Future<Output = Result<direct::Found, Error>> + Send + '_>> {
        let found = direct::Found {
            url: direct::BrowserUrl { port: 1 },
            ownership: Ownership::Launched,
        };
        Box::pin(async move { Ok(found) })
    }
}

async fn add_direct(registry: &Registry, name: &str) -> Entry {
    let launched =
        direct::Browser::launch(name.to_owned(), PathBuf::new(), Arc::new(AnyPort)).await;
    registry.add_direct(Arc::new(launched.unwrap_or_else(|_| panic!("launched"))))
}

#[tokio::test]
async fn client_without_a_name_gets_a_launched_browser_with_a_debugging_port() {
    let registry = registry(BrowserMode::Many);
    let _other = registry
        .take_extension_slot(identity("a"), false)
        .unwrap_or_else(|_| panic!("free"));
    let entry = add_direct(&registry, "chrome").await;
    assert!(registry.find(None).is_err(), "it could be either");
    registry.prefer_direct(&entry);
    let found = registry.find(None).unwrap_or_else(|_| panic!("preferred"));
    assert!(Arc::ptr_eq(&found.connections, &entry.connections));
    registry.remove_direct(&entry).await;
    let found = registry.find(None).unwrap_or_else(|_| panic!("the other"));
    assert!(!Arc::ptr_eq(&found.connections, &entry.connections));
}

/// A browser with a pairing of its own.
fn paired(home: &Home, install_id: &str) -> Identity {
    let folder = home.path().join(install_id);
    let pair = |pairings: &mut Pairings| pairings.pair_folder(&folder, None, None, now());
    let (pairing, _) = home
        .update_pairings(pair)
        .unwrap_or_else(|_| panic!("paired"));
    Identity {
        pairing: Some(pairing),
        ..identity(install_id)
    }
}

#[tokio::test]
async fn browser_stays_until_the_one_that_replaces_it_has_connected() {
    let folder = tempfile::tempdir().unwrap_or_else(|_| panic!("a folder"));
    let home = Home::open_at(folder.path().join("home")).unwrap_or_else(|_| panic!("a home"));
    let registry = registry(BrowserMode::One);
    let (old, new) = (paired(&home, "old"), paired(&home, "new"));
    let pairing = new.pairing.clone().unwrap_or_else(|| panic!("paired"));
    let (entry, slot) = registry
        .take_extension_slot(old.clone(), false)
        .unwrap_or_else(|_| panic!("free"));
    registry.prefer(&pairing, Switch::WhenConnected);
    assert_eq!(entry.connections.extension_link(), Some(slot.link));
    // The launch has failed.
    registry.no_longer_prefer(&pairing);
    assert!(registry.take_extension_slot(new.clone(), false).is_err());

    registry.prefer(&pairing, Switch::WhenConnected);
    let (_, new_slot) = registry
        .take_extension_slot(new, false)
        .unwrap_or_else(|_| panic!("expected"));
    assert_eq!(entry.connections.extension_link(), None);
    drop(slot);
    let found = registry.find(None).unwrap_or_else(|_| panic!("one"));
    assert_eq!(found.connections.extension_link(), Some(new_slot.link));
    assert!(
        registry.take_extension_slot(old, false).is_err(),
        "replaced"
    );
}

#[test]
fn tab_group_of_a_client_is_the_name_that_it_chose_without_its_version() {
    let connections = connections(ClientMode::MultiClient);
    for (name, names_itself, expected) in [
        ("claude-code 2.1.0", true, Some("claude-code")),
        ("my agent", true, Some("my agent")),
        ("7", true, Some("7")),
        ("Playwright/1.65.0 (x64)", false, None),
    ] {
        let info = ClientInfo {
            name: name.to_owned(),
            names_itself,
            process: None,
            peer: None,
            admission: Admission::Token { generation: 0 },
            identity: None,
            named_browser: false,
        };
        let slot = Clients::take_slot(&connections, info).unwrap();
        let group = connections.clients.group_of(slot.client);
        assert_eq!(group.as_deref(), expected, "{name}");
    }
}
