//! The arguments with which a client wants to start its browser.

use std::path::PathBuf;

const PROFILE: &str = "--user-data-dir=";
const PIPE: &str = "--remote-debugging-pipe";
const NO_SANDBOX: &str = "--no-sandbox";

pub struct BrowserArguments(Vec<String>);

impl BrowserArguments {
    pub fn new(arguments: &[String]) -> Self {
        Self(arguments.to_vec())
    }

    /// The folder of the profile, if the client names one. The browser uses the last one, too.
    pub fn profile(&self) -> Option<PathBuf> {
        let mut profiles = self.0.iter().filter_map(|own| own.strip_prefix(PROFILE));
        profiles.next_back().map(PathBuf::from)
    }

    pub fn is_headless(&self) -> bool {
        let mut arguments = self.0.iter();
        arguments.any(|own| own == "--headless" || own.starts_with("--headless="))
    }

    pub fn set_profile(&mut self, profile: &std::path::Path) {
        self.insert(format!("{PROFILE}{}", profile.display()));
    }

    /// Adds what a browser needs that is used over a pipe.
    pub fn complete(mut self, is_root: bool) -> Vec<String> {
        if !self.has(PIPE) {
            self.insert(PIPE.to_owned());
        }
        // Chromium refuses to run as root with its sandbox.
        if is_root && !self.has(NO_SANDBOX) {
            self.insert(NO_SANDBOX.to_owned());
        }
        self.0
    }

    fn has(&self, switch: &str) -> bool {
        // Some clients add a value, such as `--remote-debugging-pipe=JSON`.
        let mut names = self.0.iter().filter_map(|own| own.split('=').next());
        names.any(|name| name == switch)
    }

    /// At the start, because the client's last argument may be the address of a page.
    fn insert(&mut self, argument: String) {
        self.0.insert(0, argument);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(words: &[&str]) -> BrowserArguments {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        BrowserArguments::new(&words)
    }

    #[test]
    fn reads_profile_and_mode() {
        let own = arguments(&[
            "--user-data-dir=/a",
            "--headless=new",
            "--user-data-dir=/b c",
        ]);
        assert_eq!(own.profile(), Some(PathBuf::from("/b c")));
        assert!(own.is_headless());
        let own = arguments(&["--headless-like", "about:blank"]);
        assert_eq!(own.profile(), None);
        assert!(!own.is_headless());
    }

    #[test]
    fn adds_only_what_is_missing() {
        let given = ["--remote-debugging-pipe", "--no-sandbox", "about:blank"];
        assert_eq!(arguments(&given).complete(true), given);
        let completed = arguments(&["about:blank"]).complete(true);
        assert_eq!(
            completed,
            ["--no-sandbox", "--remote-debugging-pipe", "about:blank"]
        );
        let completed = arguments(&[]).complete(false);
        assert_eq!(completed, ["--remote-debugging-pipe"]);
    }
}
