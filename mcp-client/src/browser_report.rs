//! Browsers as an agent sees them: what matters to it, in few characters.

use serde::Serialize;
use serde_json::Value;
use tabwire_home::control::Ownership;
use tabwire_home::{BrowserReport, ClientReport, PairedBrowser, TabInUse};

/// The most tabs that are listed for a client.
const MAX_TABS: usize = 20;
/// The longest address or title, in characters. A `data:` URL can have millions.
const MAX_TEXT: usize = 200;

/// An installed browser.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InstalledBrowser {
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    pub path: String,
    /// `None` if that cannot be known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub running: Option<bool>,
}

/// A browser that is paired or connected.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Known {
    name: String,
    product: String,
    connected: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    ownership: Option<Ownership>,
}

impl Known {
    pub fn list<'a>(
        paired: impl Iterator<Item = &'a PairedBrowser>,
        reports: &[BrowserReport],
    ) -> Vec<Self> {
        let mut known: Vec<Self> = reports
            .iter()
            .map(|report| Self {
                name: report.name.clone(),
                product: report.product.clone(),
                connected: report.connected,
                ownership: report.ownership,
            })
            .collect();
        for browser in paired {
            match known.iter_mut().find(|it| it.name == browser.name) {
                // The relay does not know it while the browser is away.
                Some(known) if known.product.is_empty() => {
                    known.product.clone_from(&browser.product);
                }
                Some(_) => {}
                None => known.push(Self {
                    name: browser.name.clone(),
                    product: browser.product.clone(),
                    connected: false,
                    ownership: None,
                }),
            }
        }
        known.sort_by(|a, b| a.name.cmp(&b.name));
        known
    }
}

#[derive(Debug, Serialize)]
pub struct Status {
    pub relay: Value,
    pub browsers: Vec<Browser>,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Browser {
    name: String,
    product: String,
    tabs: usize,
    /// The user has stopped all agents.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    paused: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    ownership: Option<Ownership>,
    clients: Vec<Client>,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Client {
    /// With its process, if that is known.
    name: String,
    /// `None` where the relay cannot know.
    #[serde(skip_serializing_if = "Option::is_none")]
    tabs_in_use: Option<usize>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tabs: Vec<Tab>,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
struct Tab {
    title: String,
    url: String,
}

/// The browsers that are connected.
pub fn describe(reports: &[BrowserReport]) -> Vec<Browser> {
    let connected = reports.iter().filter(|report| report.connected);
    connected
        .map(|report| Browser {
            name: report.name.clone(),
            product: report.product.clone(),
            tabs: report.tabs,
            paused: report.paused,
            ownership: report.ownership,
            clients: report.clients.iter().map(Client::new).collect(),
        })
        .collect()
}

impl Client {
    fn new(report: &ClientReport) -> Self {
        let tabs = report.tabs.as_deref().unwrap_or_default();
        Self {
            name: report.to_string(),
            tabs_in_use: report.tabs_in_use,
            tabs: tabs.iter().take(MAX_TABS).map(Tab::new).collect(),
        }
    }
}

impl Tab {
    fn new(tab: &TabInUse) -> Self {
        Self {
            title: shortened(&tab.title),
            url: shortened(&tab.url),
        }
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_TEXT) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn report(name: &str, connected: bool, ownership: Option<Ownership>) -> BrowserReport {
        BrowserReport {
            url: None,
            name: name.into(),
            product: if connected {
                "Chrome/1".into()
            } else {
                String::new()
            },
            extension: "0.1.0".into(),
            connected,
            paused: false,
            launches: false,
            ownership,
            tabs: 30,
            clients: Vec::new(),
        }
    }

    fn paired(name: &str) -> PairedBrowser {
        PairedBrowser {
            renamed: false,
            install_id: "id".into(),
            name: name.into(),
            product: "Chrome/2".into(),
            paired: 0,
            last_seen: 0,
        }
    }

    #[test]
    fn known_browsers_are_the_paired_and_the_connected_ones() {
        let reports = [
            report("work", true, Some(Ownership::Launched)),
            report("home", false, None),
        ];
        let paired = [paired("home"), paired("old"), paired("work")];
        assert_eq!(
            json!(Known::list(paired.iter(), &reports)),
            json!([
                { "name": "home", "product": "Chrome/2", "connected": false },
                { "name": "old", "product": "Chrome/2", "connected": false },
                { "name": "work", "product": "Chrome/1", "connected": true, "ownership": "launched" },
            ])
        );
    }

    #[test]
    fn status_stays_short_however_many_tabs_are_in_use() {
        let tab = TabInUse {
            id: "1".into(),
            url: "ü".repeat(1 << 20),
            title: "T".into(),
        };
        let client = ClientReport {
            id: "client-1".into(),
            name: "agent".into(),
            program: Some("node".into()),
            pid: Some(7),
            connected_at: 0,
            tabs_in_use: Some(30),
            tabs: Some(vec![tab; 30]),
        };
        let busy = BrowserReport {
            clients: vec![client],
            ..report("work", true, None)
        };
        let status = json!(describe(&[busy, report("away", false, None)]));
        assert_eq!(status.as_array().unwrap().len(), 1);
        let client = &status[0]["clients"][0];
        assert_eq!(client["name"], "agent (node, process 7)");
        assert_eq!(client["tabsInUse"], 30);
        assert_eq!(client["tabs"].as_array().unwrap().len(), MAX_TABS);
        assert!(status.to_string().len() < 20_000);
    }
}
