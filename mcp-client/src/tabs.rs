//! The browser's tabs as the runner lists them, and as text.

use serde::{Deserialize, Serialize};

const MAX_LISTED_TABS: usize = 30;

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Tab {
    pub index: usize,
    pub target: String,
    pub title: String,
    pub url: String,
    pub in_use: bool,
    /// The tab as one line, as code that returns pages shows it too.
    #[serde(skip_serializing)]
    pub line: String,
}

/// What the runner replies.
#[derive(Deserialize)]
pub struct Tabs {
    pub tabs: Vec<Tab>,
}

/// The text of a reset's response.
pub fn describe(tabs: &[Tab]) -> String {
    let mut lines = vec!["Reconnected; `state` is empty.".to_owned()];
    lines.push(match tabs.iter().find(|tab| tab.in_use) {
        Some(tab) => format!("page: {}", tab.url),
        None => "page: none; code that uses `page` opens a new background tab".to_owned(),
    });
    lines.push(format!("{} pages:", tabs.len()));
    lines.extend(
        tabs.iter()
            .take(MAX_LISTED_TABS)
            .map(|tab| tab.line.clone()),
    );
    if tabs.len() > MAX_LISTED_TABS {
        lines.push(format!(
            "… and {} more: pages()",
            tabs.len() - MAX_LISTED_TABS
        ));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tab(index: usize, in_use: bool) -> Tab {
        let url = format!("https://site/{index}");
        Tab {
            index,
            target: String::new(),
            title: String::new(),
            line: format!("[{index}] {url}"),
            url,
            in_use,
        }
    }

    #[test]
    fn reset_names_the_current_page_and_limits_the_list() {
        let tabs: Vec<Tab> = (0..200).map(|index| tab(index, index == 3)).collect();
        let text = describe(&tabs);
        assert!(text.contains("page: https://site/3\n200 pages:\n[0] https://site/0\n"));
        assert!(text.ends_with("… and 170 more: pages()"));
    }
}
