//! Whether the extension that a profile has loaded is paired, and which paired browser the profile
//! can be. An extension does not know which profile it runs in, so the secret in its folder identifies
//! it.

use serde::Serialize;
use tabwire_home::Pairings;

use super::bundle;
use super::detect::LoadedExtension;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProfilePairing {
    /// `None`: it may have been paired by a code, which leaves no trace in its folder.
    pub paired: Option<bool>,
    /// The browsers that have connected with the folder's secret. Several profiles can have loaded
    /// the same folder.
    pub paired_as: Vec<String>,
}

impl ProfilePairing {
    pub fn of(extension: &LoadedExtension, pairings: &Pairings) -> Self {
        let copy = bundle::present_copy(&extension.folder);
        let browsers = copy.and_then(|copy| pairings.browsers_with(&copy.secret));
        let names = browsers.unwrap_or_default().iter();
        Self {
            paired: match browsers {
                Some(_) => Some(true),
                None if pairings.has_code_browsers() => None,
                None => Some(false),
            },
            paired_as: names.map(|browser| browser.name.clone()).collect(),
        }
    }
}
