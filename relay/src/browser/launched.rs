//! A browser that this relay has launched, or is launching: what was asked for, its program, and how
//! clients get to it.

use std::path::PathBuf;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha1::{Digest as _, Sha1};
use tabwire_home::control::{LaunchOptions, ProfileChoice};
use tabwire_home::{Home, PairingId};

use super::launch::Access;
use super::program::{Plan, Program};
use super::watchdog::Watchdog;
use super::{detect, leftovers};
use crate::error::Error;
use crate::registry::Entry;

pub struct Launched {
    /// Distinguishes it from all others that this relay launches.
    pub id: u32,
    pub options: LaunchOptions,
    /// What clients know it as, if that is not its plan's name: an extension keeps the name that it
    /// got first, and the user may rename it.
    pub known_as: Option<String>,
    pub program: Arc<Program>,
    pub backend: Backend,
}

/// How clients get to the browser. `None` until it is started for the first time.
pub enum Backend {
    Extension(Option<PairingId>),
    Direct(Option<Entry>),
}

impl Launched {
    /// A browser that is not started yet.
    pub fn new(
        home: &Home,
        watchdog: &Arc<Watchdog>,
        options: &LaunchOptions,
        Names { name, folder }: Names,
        browser: detect::Browser,
    ) -> Result<Self, Error> {
        let extension = extension_folder(home, &options.profile, &folder);
        let (folder, extension) = match &options.profile {
            ProfileChoice::Temporary => {
                let folder = leftovers::new_folder(home)?;
                let extension = folder.join("extension");
                (folder, extension)
            }
            _ => (home.launched_folder(&folder), extension),
        };
        let extension = Access::Extension {
            folder: extension,
            load_by: options.load_by,
        };
        let (access, backend) = if options.direct {
            (Access::DebuggingPort, Backend::Direct(None))
        } else {
            (extension, Backend::Extension(None))
        };
        let plan = Plan {
            name,
            browser,
            profile: match &options.profile {
                ProfileChoice::Folder(folder) => folder.clone(),
                _ => folder.join("profile"),
            },
            is_users_profile: matches!(options.profile, ProfileChoice::Folder(_)),
            access,
            headless: is_headless(options),
            temporary: (options.profile == ProfileChoice::Temporary).then_some(folder),
            arguments: options.arguments.clone(),
        };
        Ok(Self {
            id: rand::random(),
            known_as: None,
            backend,
            options: options.clone(),
            program: Arc::new(Program::new(plan, watchdog.clone())),
        })
    }

    pub fn name(&self) -> &str {
        self.known_as.as_deref().unwrap_or(&self.program.plan.name)
    }

    /// Whether it is called this, or was before it connected.
    pub fn has_name(&self, name: &str) -> bool {
        is_same(self.name(), name) || is_same(&self.program.plan.name, name)
    }

    pub fn pairing(&self) -> Option<&PairingId> {
        match &self.backend {
            Backend::Extension(pairing) => pairing.as_ref(),
            Backend::Direct(_) => None,
        }
    }

    /// Whether it was never started.
    pub fn is_new(&self) -> bool {
        matches!(
            self.backend,
            Backend::Extension(None) | Backend::Direct(None)
        )
    }

    /// Only one of them can run at a time.
    pub fn shares_profile(&self, other: &Self) -> bool {
        self.program.plan.profile == other.program.plan.profile
    }

    /// Whether the browser is what these options ask for, whatever it is called.
    fn is_like(&self, options: &LaunchOptions, browser: &detect::Browser) -> bool {
        let (own, plan) = (&self.options, &self.program.plan);
        // The same words mean the same browser, although another one may have been installed since.
        let same_program = own.browser == options.browser || plan.browser.path == browser.path;
        same_program
            && own.profile == options.profile
            && plan.headless == is_headless(options)
            && own.direct == options.direct
            && own.arguments == options.arguments
    }

    /// Whether options without a name mean this browser. The profile that is kept depends on the name,
    /// and a temporary one was asked for under that name.
    fn answers_without_name(&self) -> bool {
        self.options.name.is_none() || matches!(self.options.profile, ProfileChoice::Folder(_))
    }
}

/// What a browser is called, and its folder in Tabwire's home. They differ if something else has the
/// name of the folder.
pub struct Names {
    pub name: String,
    pub folder: String,
}

/// Where the extension of a launched browser is. A profile that the user chose gets one of its own: two
/// browsers with the same one could be taken for each other.
pub fn extension_folder(home: &Home, profile: &ProfileChoice, name: &str) -> PathBuf {
    let folder = match profile {
        ProfileChoice::Folder(profile) => {
            let digest = Sha1::digest(profile.as_os_str().as_encoded_bytes());
            let digest = URL_SAFE_NO_PAD.encode(digest);
            // No browser can have this name.
            home.launched_folder("_profiles").join(digest)
        }
        ProfileChoice::Kept | ProfileChoice::Temporary => home.launched_folder(name),
    };
    folder.join("extension")
}

/// Without a display, no window can be shown.
fn is_headless(options: &LaunchOptions) -> bool {
    options.headless || !has_display()
}

/// Whether a window can be shown.
fn has_display() -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    cfg!(target_os = "macos") || is_set("DISPLAY") || is_set("WAYLAND_DISPLAY")
}

/// The browser that these options ask for, if it was launched already. Fails if one of the same name
/// was launched with others.
pub fn find_like(
    browsers: &[Launched],
    options: &LaunchOptions,
    browser: &detect::Browser,
) -> Result<Option<usize>, Error> {
    let Some(name) = options.name.as_deref() else {
        let is_meant = |own: &Launched| own.answers_without_name() && own.is_like(options, browser);
        return Ok(browsers.iter().position(is_meant));
    };
    let is_kept = options.profile == ProfileChoice::Kept;
    // A profile that is kept stays where it is when its browser is renamed.
    let has_folder = |own: &Launched| is_kept && is_same(&own.program.plan.name, name);
    let named = browsers.iter().position(|own| is_same(own.name(), name));
    let named = named.or_else(|| browsers.iter().position(has_folder));
    match named.and_then(|at| browsers.get(at)) {
        Some(own) if !own.is_like(options, browser) => Err(Error::LaunchedOtherwise {
            name: own.name().to_owned(),
        }),
        _ => Ok(named),
    }
}

/// The browser that is to be stopped or restarted.
pub fn find(browsers: &[Launched], which: Which<'_>) -> Result<usize, Error> {
    let name = which.name();
    match (which, browsers) {
        (Which::Only, [_]) => Some(0),
        (Which::Only, _) => None,
        (Which::Named(name), _) => browsers.iter().position(|own| is_same(own.name(), name)),
        (Which::Id(id), _) => browsers.iter().position(|own| own.id == id),
    }
    .ok_or_else(|| Error::NotLaunched {
        name: name.map(str::to_owned),
        launched: browsers.iter().map(|own| own.name().to_owned()).collect(),
    })
}

/// Which launched browser is meant.
#[derive(Debug, Clone, Copy)]
pub enum Which<'a> {
    Only,
    Named(&'a str),
    Id(u32),
}

impl<'a> Which<'a> {
    pub fn named(name: Option<&'a str>) -> Self {
        name.map_or(Self::Only, Self::Named)
    }

    fn name(self) -> Option<&'a str> {
        match self {
            Self::Named(name) => Some(name),
            Self::Only | Self::Id(_) => None,
        }
    }
}

/// Clients and pairings do not distinguish names by their case either.
pub fn is_same(name: &str, other: &str) -> bool {
    name.eq_ignore_ascii_case(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn browser(path: &str) -> detect::Browser {
        detect::Browser {
            name: "chrome".to_owned(),
            kind: None,
            path: PathBuf::from(path),
        }
    }

    fn options(profile: ProfileChoice, name: Option<&str>) -> LaunchOptions {
        LaunchOptions {
            profile,
            name: name.map(str::to_owned),
            headless: true,
            ..LaunchOptions::default()
        }
    }

    #[test]
    fn only_an_equal_request_joins_a_browser() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open_at(folder.path().join("home")).unwrap();
        let watchdog = Arc::new(Watchdog::none());
        let kept = || options(ProfileChoice::Kept, None);
        let launched = |options: &LaunchOptions, name: &str| {
            let (name, folder) = (name.to_owned(), name.to_owned());
            let names = Names { name, folder };
            Launched::new(&home, &watchdog, options, names, browser("/chrome")).unwrap()
        };
        let work = options(ProfileChoice::Folder("/p".into()), Some("work"));
        let browsers = [launched(&kept(), "chrome"), launched(&work, "work")];
        let find = |options: &LaunchOptions, path: &str| {
            let found = find_like(&browsers, options, &browser(path));
            found.map_err(|error| error.to_string())
        };
        assert_eq!(find(&kept(), "/chrome"), Ok(Some(0)));
        assert_eq!(find(&work, "/chrome"), Ok(Some(1)));
        let unnamed = options(work.profile.clone(), None);
        assert_eq!(
            find(&unnamed, "/chrome"),
            Ok(Some(1)),
            "its profile is open"
        );
        let other_program = LaunchOptions {
            browser: Some("/beta".to_owned()),
            ..kept()
        };
        assert_eq!(find(&other_program, "/beta"), Ok(None));
        assert_eq!(
            find(&options(ProfileChoice::Temporary, None), "/chrome"),
            Ok(None)
        );
        for other in [
            options(ProfileChoice::Temporary, Some("Work")),
            LaunchOptions {
                direct: true,
                ..work.clone()
            },
            LaunchOptions {
                arguments: vec!["--a".to_owned()],
                ..work.clone()
            },
        ] {
            let error = find(&other, "/chrome").unwrap_err();
            assert!(
                error.starts_with("'work' is already running with other options."),
                "{error}"
            );
        }
        assert_eq!(
            find(&options(ProfileChoice::Kept, Some("new")), "/chrome"),
            Ok(None)
        );
    }
}
