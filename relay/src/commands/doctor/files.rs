//! The home's files: the token, and what a relay that was killed has left behind.

use std::fs;
use std::path::Path;

use tabwire_home::{Error, FileFault, Home, Token, TokenFault};

use super::Situation;
use super::finding::{Finding, note, ok, problem};
use super::relay::capitalized;
use super::repair::Repair;
use crate::browser::{leftovers, profile};
use crate::shell::quoted;

pub fn check(situation: &Situation) -> Vec<Finding> {
    let home = &situation.home;
    let is_running = situation.running.is_some();
    let mut findings = vec![check_token(home, is_running)];
    if !is_running {
        findings.extend(check_stale_files(home));
        findings.extend(check_leftovers(home));
    }
    findings
}

fn check_token(home: &Home, is_running: bool) -> Finding {
    let file = home.auth_token_file();
    if fs::symlink_metadata(&file).is_err() {
        return ok("There is no token yet. The first relay creates it.");
    }
    let Err(error) = Token::load(home) else {
        return ok("The token is usable.");
    };
    let fix = format!("Run `rm {}`.", quoted(&file));
    let finding = problem(error.to_string(), fix);
    // Anything else in its place is not ours to remove, and a relay replaces a removed one itself.
    let is_ours = matches!(
        error,
        Error::Token {
            fault: TokenFault::Malformed | TokenFault::File(FileFault::SymbolicLink),
            ..
        }
    );
    if is_ours && !is_running {
        finding.with_repair(Repair::ReplaceToken)
    } else {
        finding
    }
}

fn check_stale_files(home: &Home) -> Option<Finding> {
    let files = [home.cdp_url_file(), home.state_file()];
    if !files.iter().any(|file| file.exists()) {
        return None;
    }
    let relay = home.last_relay();
    let relay = relay.map_or_else(|| "A relay".to_owned(), capitalized);
    let text = format!("{relay} was killed and left files behind.");
    Some(note(text, "The next relay removes them.").with_repair(Repair::RemoveStaleFiles))
}

/// The folders of temporary browsers that a process should have removed before it ended.
fn check_leftovers(home: &Home) -> Vec<Finding> {
    let left = leftovers::without_owner(home);
    left.map(|folder| describe(&folder)).collect()
}

fn describe(folder: &Path) -> Finding {
    let fix = "The next relay removes it.";
    match user_of(folder) {
        Some(pid) => note(
            format!(
                "A browser of a relay that was killed is still running (process {pid}), with the temporary profile in {}.",
                folder.display()
            ),
            format!("Start a relay, which stops it, or run `kill {pid}`."),
        ),
        None => note(
            format!(
                "A temporary profile was left behind in {}.",
                folder.display()
            ),
            fix,
        )
        .with_repair(Repair::RemoveTemporary(folder.to_owned())),
    }
}

/// The browser that uses a temporary folder.
pub fn user_of(folder: &Path) -> Option<u32> {
    profile::open_by(&folder.join("profile"))
}
