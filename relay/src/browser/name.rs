//! What a launched browser is called. Clients and commands choose a browser by its name, so it must
//! not be the name of another one, such as the user's own.

use std::fs;
use std::path::Path;

use tabwire_home::control::{LaunchOptions, ProfileChoice};
use tabwire_home::{Home, NameFault, Pairings, check_name};

use super::detect;
use super::launched::{Launched, Names, extension_folder};
use crate::error::Error;
use crate::registry::Registry;

/// Chooses what a browser that is launched is called.
pub struct Naming<'a> {
    pub home: &'a Home,
    pub registry: &'a Registry,
    pub browsers: &'a [Launched],
    pub options: &'a LaunchOptions,
}

impl Naming<'_> {
    /// What the user wants, or else what kind of browser it is. Never what another browser is called.
    pub fn names(&self, browser: &detect::Browser) -> Result<Names, Error> {
        let pairings = self.home.pairings()?;
        let is_taken = |name: &str| self.is_taken(&pairings, name);
        let requested = self.options.name.as_deref();
        if self.options.profile != ProfileChoice::Kept || requested.is_some() {
            let name = choose_name(is_taken, requested, &browser.name)?;
            let folder = name.clone();
            return Ok(Names { name, folder });
        }
        let is_folder_taken = |name: &str| self.is_folder_taken(&pairings, name);
        let folder = choose_name(is_folder_taken, None, &browser.name)?;
        // The extension has its own name, whatever this one is.
        let name = if self.options.direct {
            choose_name(is_taken, None, &folder)?
        } else {
            folder.clone()
        };
        Ok(Names { name, folder })
    }

    fn is_taken(&self, pairings: &Pairings, name: &str) -> bool {
        if self.browsers.iter().any(|own| own.has_name(name)) {
            return !self.gives_way();
        }
        // Only the extension of the same profile has had the name before.
        let own = match &self.options.profile {
            ProfileChoice::Temporary => None,
            profile => fs::canonicalize(extension_folder(self.home, profile, name)).ok(),
        };
        pairings.has_name_outside(own.as_deref(), name) || self.registry.has_url_named(name)
    }

    /// Whether the profile that is kept under this name is not for this browser. Which one it gets must
    /// not depend on what other launched browsers are called.
    fn is_folder_taken(&self, pairings: &Pairings, name: &str) -> bool {
        let profile = self.home.launched_folder(name).join("profile");
        let is_open = |own: &Launched| own.program.plan.profile == profile;
        if self.browsers.iter().any(is_open) {
            return !self.gives_way();
        }
        let launched = self.home.launched_folder("");
        let launched = fs::canonicalize(launched).ok();
        let is_launched = |own: &Path| launched.as_ref().is_some_and(|all| own.starts_with(all));
        pairings.has_name_elsewhere(is_launched, name) || self.registry.has_url_named(name)
    }

    /// The one browser is stopped before another one uses its profile.
    fn gives_way(&self) -> bool {
        self.registry.is_one() && self.options.profile == ProfileChoice::Kept
    }
}

/// The requested name if it is free, or else the stem, with a number if it is taken.
pub fn choose_name(
    is_taken: impl Fn(&str) -> bool,
    requested: Option<&str>,
    stem: &str,
) -> Result<String, Error> {
    if let Some(name) = requested {
        // It becomes the name of a folder, and it may come from any program.
        check_name(name)?;
        return if is_taken(name) {
            Err(NameFault::Taken(name.to_owned()).into())
        } else {
            Ok(name.to_owned())
        };
    }
    let numbered = (2..).map(|number| format!("{stem}-{number}"));
    let mut names = std::iter::once(stem.to_owned()).chain(numbered);
    Ok(names.find(|name| !is_taken(name)).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_that_is_taken_gets_a_number_unless_it_was_requested() {
        let taken = ["chrome", "chrome-2"];
        let choose = |requested, stem| choose_name(|name| taken.contains(&name), requested, stem);
        assert_eq!(choose(None, "edge").unwrap(), "edge");
        assert_eq!(choose(None, "chrome").unwrap(), "chrome-3");
        assert_eq!(choose(Some("work"), "chrome").unwrap(), "work");
        assert!(choose(Some("chrome"), "edge").is_err());
        assert!(choose(Some("../../x"), "edge").is_err());
    }
}
