//! A browser that this relay has launched, or is launching: what was asked for, its program, and how
//! clients get to it.

use std::sync::Arc;

use tabwire_home::control::{LaunchOptions, ProfileChoice};
use tabwire_home::{Home, PairingId};

use super::launch::{self, Access};
use super::program::{Plan, Program};
use super::watchdog::Watchdog;
use super::{detect, leftovers};
use crate::error::Error;
use crate::registry::Entry;

pub struct Launched {
    pub options: LaunchOptions,
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
        name: String,
        browser: detect::Browser,
    ) -> Result<Self, Error> {
        let folder = match &options.profile {
            ProfileChoice::Temporary => leftovers::new_folder(home)?,
            _ => home.launched_folder(&name),
        };
        let extension = Access::Extension {
            folder: folder.join("extension"),
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
            access,
            headless: is_headless(options),
            temporary: (options.profile == ProfileChoice::Temporary).then_some(folder),
            arguments: options.arguments.clone(),
        };
        Ok(Self {
            backend,
            options: options.clone(),
            program: Arc::new(Program::new(plan, watchdog.clone())),
        })
    }

    pub fn name(&self) -> &str {
        &self.program.plan.name
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

/// Without a display, no window can be shown.
fn is_headless(options: &LaunchOptions) -> bool {
    options.headless || !launch::has_display()
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
    let named = browsers.iter().position(|own| is_same(own.name(), name));
    match named.and_then(|at| browsers.get(at)) {
        Some(own) if !own.is_like(options, browser) => Err(Error::LaunchedOtherwise {
            name: own.name().to_owned(),
        }),
        _ => Ok(named),
    }
}

/// The browser of this name, or else the only one.
pub fn find(browsers: &[Launched], name: Option<&str>) -> Result<usize, Error> {
    match (name, browsers) {
        (Some(name), _) => browsers.iter().position(|own| is_same(own.name(), name)),
        (None, [_]) => Some(0),
        (None, _) => None,
    }
    .ok_or_else(|| Error::NotLaunched {
        name: name.map(str::to_owned),
        launched: browsers.iter().map(|own| own.name().to_owned()).collect(),
    })
}

/// Clients and pairings do not distinguish names by their case either.
pub fn is_same(name: &str, other: &str) -> bool {
    name.eq_ignore_ascii_case(other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

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
            let (name, browser) = (name.to_owned(), browser("/chrome"));
            Launched::new(&home, &watchdog, options, name, browser).unwrap()
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
