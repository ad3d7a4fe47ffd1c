//! Downloads in the protocol between relay and extension, and the names of their files.

use serde::Deserialize;

use super::ids::TabId;

/// A download has started in a tab that an agent uses, or in a popup of one. The extension waits for
/// a [`DownloadAction`].
#[derive(Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct DownloadCreated {
    pub guid: String,
    pub tab_id: TabId,
    /// The tab whose page opened this one: a popup belongs to whoever uses its opener.
    pub opener_tab_id: Option<TabId>,
    /// Chrome's id of the frame. Missing if the debugger did not report the download.
    pub frame_id: Option<String>,
    pub url: String,
    #[serde(default)]
    pub suggested_filename: String,
    #[serde(default)]
    pub total_bytes: u64,
}

#[derive(Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct DownloadChanged {
    pub guid: String,
    pub state: DownloadState,
    #[serde(default)]
    pub received_bytes: u64,
    #[serde(default)]
    pub total_bytes: u64,
    /// Where Chrome has put the file, or would have.
    pub path: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum DownloadState {
    InProgress,
    Completed,
    Canceled,
}

impl DownloadState {
    /// As in `Browser.downloadProgress`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InProgress => "inProgress",
            Self::Completed => "completed",
            Self::Canceled => "canceled",
        }
    }
}

/// What the extension does with a download.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DownloadAction {
    /// Save it in Tabwire's folder and report its progress.
    Take,
    /// Save it where the person's browser saves files, and report its progress.
    Watch,
    /// It is the person's: forget it.
    Leave,
    /// Stop it, and remove its file and its entry in the browser's list.
    Cancel,
    /// The relay has moved the file: remove the entry in the browser's list.
    Finish,
}

impl DownloadAction {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Take => "take",
            Self::Watch => "watch",
            Self::Leave => "leave",
            Self::Cancel => "cancel",
            Self::Finish => "finish",
        }
    }
}

/// Leaves room for a number and for the ending of an unfinished file.
const MAX_NAME_BYTES: usize = 200;

/// The longest ending that is kept when a name is cut.
const MAX_ENDING_BYTES: usize = 20;

/// A file name that stays in its folder, whatever the web page has suggested. Chrome has cleaned it
/// up already; a file is never placed on trust in that.
pub fn safe_file_name(suggested: &str) -> String {
    let base = suggested.rsplit(['/', '\\']).next().unwrap_or_default();
    let is_unsafe = |c: char| c.is_control() || "<>:\"|?*".contains(c);
    let cleaned = base.replace(is_unsafe, "_");
    // Not a hidden file, and no name that other systems shorten.
    let name = cleaned.trim_matches(['.', ' ']);
    if name.is_empty() {
        return "download".to_owned();
    }
    let ending = name.rfind('.').map_or("", |dot| name.split_at(dot).1);
    let ending = if ending.len() > MAX_ENDING_BYTES {
        ""
    } else {
        ending
    };
    let stem = name.strip_suffix(ending).unwrap_or(name);
    let room = MAX_NAME_BYTES - ending.len();
    let cut = (0..=room.min(stem.len()))
        .rev()
        .find(|end| stem.is_char_boundary(*end));
    let stem = cut.map_or("", |end| stem.split_at(end).0);
    format!("{stem}{ending}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_stay_in_their_folder() {
        for (suggested, safe) in [
            ("report.txt", "report.txt"),
            ("../../etc/passwd", "passwd"),
            ("..\\..\\boot.ini", "boot.ini"),
            ("/", "download"),
            ("..", "download"),
            ("", "download"),
            (".bashrc", "bashrc"),
            ("a:b|c?.txt", "a_b_c_.txt"),
            ("line\nbreak\0.txt", "line_break_.txt"),
            ("Preis €.txt", "Preis €.txt"),
        ] {
            assert_eq!(safe_file_name(suggested), safe, "{suggested:?}");
        }
    }

    #[test]
    fn long_names_are_cut_and_keep_their_ending() {
        let name = safe_file_name(&format!("{}.tar.gz", "ü".repeat(300)));
        assert!(
            name.len() <= MAX_NAME_BYTES && name.ends_with("ü.gz"),
            "{name}"
        );
        let endless = safe_file_name(&format!("a.{}", "b".repeat(300)));
        assert_eq!(endless.len(), MAX_NAME_BYTES);
    }
}
