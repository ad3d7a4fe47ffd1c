//! What `tabwire doctor` reports: one finding per fact, with what to do about it.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::repair::Repair;
use crate::shell::quoted;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    Ok,
    /// Worth knowing.
    Note,
    Problem,
    /// Was one of the others until `--fix` repaired it.
    Fixed,
}

impl Severity {
    pub fn label(self) -> &'static str {
        match self {
            Self::Ok => "ok      ",
            Self::Note => "note    ",
            Self::Problem => "problem ",
            Self::Fixed => "fixed   ",
        }
    }
}

#[derive(Debug, Serialize)]
pub struct Finding {
    pub severity: Severity,
    pub text: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
    /// What `--fix` does about it.
    #[serde(skip)]
    pub repair: Option<Repair>,
}

pub fn ok(text: impl Into<String>) -> Finding {
    Finding {
        severity: Severity::Ok,
        text: text.into(),
        fix: None,
        repair: None,
    }
}

pub fn note(text: impl Into<String>, fix: impl Into<String>) -> Finding {
    Finding {
        severity: Severity::Note,
        fix: Some(fix.into()),
        ..ok(text)
    }
}

pub fn problem(text: impl Into<String>, fix: impl Into<String>) -> Finding {
    Finding {
        severity: Severity::Problem,
        ..note(text, fix)
    }
}

impl Finding {
    pub fn with_repair(self, repair: Repair) -> Self {
        Self {
            repair: Some(repair),
            ..self
        }
    }

    /// For what matters less because a browser works anyway.
    pub fn note_if(mut self, is_note: bool) -> Self {
        if is_note && self.severity == Severity::Problem {
            self.severity = Severity::Note;
        }
        self
    }
}

/// The command that writes the extension to a folder. `default` is the folder that it takes if none
/// is named.
pub fn install_command(folder: &Path, default: PathBuf, port: Option<u16>) -> String {
    let to = (folder != default).then(|| format!(" --to {}", quoted(folder)));
    let port = port.filter(|port| *port != tabwire_home::DEFAULT_PORT);
    let port = port.map(|port| format!(" --port {port}"));
    format!(
        "tabwire install-extension{}{}",
        to.unwrap_or_default(),
        port.unwrap_or_default()
    )
}
