//! What an administrator has forbidden in a browser, as its policy files say. Only reads.
//!
//! What each policy does to the extension was measured with Chromium 156; see
//! `docs/troubleshooting.md`. Policies from the cloud and from the registry of Windows are not found
//! here: `chrome://policy` shows them.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::browser::bundle::{EXTENSION_ID, PERMISSIONS};
use crate::browser::detect::catalog::{Kind, Package};
use crate::browser::detect::environment::{Environment, System};

/// What a policy keeps from working.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// The extension is blocked.
    Extension,
    /// It cannot be loaded. Where it is loaded already, it works.
    Loading,
    /// It is switched off where the user has loaded it. Loading it for one run works.
    LoadedByUser,
    /// It cannot be loaded with `--load-extension`.
    LoadingByFlag,
    /// The extension connects, but may not attach the debugger to any tab.
    Debugger,
    /// The browser has no debugging port and no debugging pipe.
    DebuggingPort,
    /// The file cannot be read.
    Unknown,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restriction {
    pub effect: Effect,
    /// As in `chrome://policy`. Empty if the file cannot be read.
    pub policy: &'static str,
    pub file: PathBuf,
}

/// The policies of one browser, with the files that they are from.
#[derive(Default)]
struct Policies {
    values: HashMap<String, (Value, PathBuf)>,
    unreadable: Vec<PathBuf>,
}

pub fn restrictions(environment: &Environment, kind: Kind, package: Package) -> Vec<Restriction> {
    let policies = match environment.system {
        System::Linux => from_folders(&environment.root, linux_folders(kind, package)),
        System::MacOs => from_managed_preferences(environment, bundle_id(kind)),
        System::Windows => Policies::default(),
    };
    policies.restrictions()
}

/// The folders of policy files, relative to the root. A Flatpak sees none of them.
fn linux_folders(kind: Kind, package: Package) -> &'static [&'static str] {
    match (kind, package) {
        (_, Package::Flatpak) => &[],
        (Kind::Chromium, Package::Snap) => &["etc/chromium-browser/policies/managed"],
        // The second folder is that of Ubuntu's and openSUSE's packages.
        (Kind::Chromium, Package::Native) => &[
            "etc/chromium/policies/managed",
            "etc/chromium-browser/policies/managed",
        ],
        // Vivaldi is a build of Chromium without branding of its own here.
        (Kind::Vivaldi, _) => &["etc/chromium/policies/managed"],
        (Kind::Chrome, _) => &["etc/opt/chrome/policies/managed"],
        (Kind::Edge, _) => &["etc/opt/edge/policies/managed"],
        (Kind::Brave, _) => &["etc/brave/policies/managed"],
    }
}

/// All channels of a browser use the same policies.
fn bundle_id(kind: Kind) -> &'static str {
    match kind {
        Kind::Chromium => "org.chromium.Chromium",
        Kind::Brave => "com.brave.Browser",
        Kind::Edge => "com.microsoft.Edge",
        Kind::Vivaldi => "com.vivaldi.Vivaldi",
        Kind::Chrome => "com.google.Chrome",
    }
}

/// Of several files with the same policy, the last one counts. Chromium does not look into subfolders.
fn from_folders(root: &Path, folders: &[&str]) -> Policies {
    let mut policies = Policies::default();
    for folder in folders {
        let Ok(entries) = fs::read_dir(root.join(folder)) else {
            continue;
        };
        let entries = entries.flatten().map(|entry| entry.path());
        let mut files: Vec<PathBuf> = entries.filter(|path| path.is_file()).collect();
        files.sort();
        for file in files {
            let text = fs::read(&file).ok();
            let value = text.and_then(|text| serde_json::from_slice(&text).ok());
            policies.add(file, value);
        }
    }
    policies
}

/// Those of the user, and then those of the computer, which count more.
fn from_managed_preferences(environment: &Environment, bundle_id: &str) -> Policies {
    let folder = environment.root.join("Library/Managed Preferences");
    let name = format!("{bundle_id}.plist");
    let user = environment.folder("HOME");
    let user = user.as_deref().and_then(Path::file_name);
    let mut policies = Policies::default();
    let own = user.map(|user| folder.join(user).join(&name));
    for file in own.into_iter().chain([folder.join(&name)]) {
        if file.exists() {
            let value = plist::Value::from_file(&file).ok();
            policies.add(file, value.as_ref().map(json));
        }
    }
    policies
}

/// Policies have no values of other types.
fn json(value: &plist::Value) -> Value {
    match value {
        plist::Value::Array(items) => items.iter().map(json).collect(),
        plist::Value::Dictionary(fields) => fields
            .iter()
            .map(|(key, value)| (key.clone(), json(value)))
            .collect(),
        plist::Value::Boolean(flag) => Value::Bool(*flag),
        plist::Value::Integer(number) => number.as_signed().into(),
        plist::Value::String(text) => Value::String(text.clone()),
        _ => Value::Null,
    }
}

impl Policies {
    fn add(&mut self, file: PathBuf, value: Option<Value>) {
        let Some(Value::Object(fields)) = value else {
            self.unreadable.push(file);
            return;
        };
        for (name, value) in fields {
            self.values.insert(name, (value, file.clone()));
        }
    }

    fn get(&self, name: &str) -> Option<&Value> {
        self.values.get(name).map(|(value, _)| value)
    }

    fn has(&self, name: &str, item: &str) -> bool {
        self.get(name).is_some_and(|list| contains(list, item))
    }

    fn restrictions(&self) -> Vec<Restriction> {
        let effects = [
            ("ExtensionSettings", self.settings_effect()),
            ("ExtensionInstallBlocklist", self.blocklist_effect()),
            ("ExtensionAllowedTypes", self.allowed_types_effect()),
            ("DeveloperToolsAvailability", self.developer_tools_effect()),
            ("DeveloperToolsDisabled", self.old_developer_tools_effect()),
            (
                "ExtensionDeveloperModeSettings",
                self.is("ExtensionDeveloperModeSettings", &1.into())
                    .then_some(Effect::LoadedByUser),
            ),
            (
                "ExtensionInstallTypeBlocklist",
                self.has("ExtensionInstallTypeBlocklist", "command_line")
                    .then_some(Effect::LoadingByFlag),
            ),
            (
                "RemoteDebuggingAllowed",
                self.is("RemoteDebuggingAllowed", &false.into())
                    .then_some(Effect::DebuggingPort),
            ),
        ];
        let found = effects.into_iter().filter_map(|(policy, effect)| {
            let (_, file) = self.values.get(policy)?;
            Some(Restriction {
                effect: effect?,
                policy,
                file: file.clone(),
            })
        });
        let unreadable = self.unreadable.iter().map(|file| Restriction {
            effect: Effect::Unknown,
            policy: "",
            file: file.clone(),
        });
        found.chain(unreadable).collect()
    }

    fn is(&self, name: &str, value: &Value) -> bool {
        self.get(name) == Some(value)
    }

    /// Whoever blocks all extensions also forbids to load unpacked ones, even those that are allowed.
    fn blocklist_effect(&self) -> Option<Effect> {
        let is_blocked = |id| self.has("ExtensionInstallBlocklist", id);
        // A mode that blocks it is reported with the policy that has it.
        let is_allowed =
            self.has("ExtensionInstallAllowlist", EXTENSION_ID) || self.own_mode().is_some();
        if is_blocked(EXTENSION_ID) || (is_blocked("*") && !is_allowed) {
            Some(Effect::Extension)
        } else {
            is_blocked("*").then_some(Effect::Loading)
        }
    }

    fn settings_effect(&self) -> Option<Effect> {
        // An entry of its own replaces the permissions and hosts of the default, even if it has none.
        let entry = self.own_settings().or_else(|| self.default_settings())?;
        let blocked = entry.get("blocked_permissions");
        let needs_blocked =
            blocked.is_some_and(|list| PERMISSIONS.iter().any(|own| contains(list, own)));
        let blocks_all = self.default_settings().and_then(mode) == Some("blocked");
        let is_blocked = match self.own_mode() {
            Some(mode) => matches!(mode, "blocked" | "removed"),
            None => blocks_all,
        };
        let hosts = entry.get("runtime_blocked_hosts").and_then(Value::as_array);
        if is_blocked || needs_blocked {
            Some(Effect::Extension)
        } else if hosts.is_some_and(|hosts| !hosts.is_empty()) {
            Some(Effect::Debugger)
        } else {
            blocks_all.then_some(Effect::Loading)
        }
    }

    fn default_settings(&self) -> Option<&Value> {
        self.get("ExtensionSettings")?.get("*")
    }

    /// The entry of the extension, which may be one of several with the same settings.
    fn own_settings(&self) -> Option<&Value> {
        let settings = self.get("ExtensionSettings")?.as_object()?;
        let is_own = |ids: &str| ids.split(',').any(|id| id.trim() == EXTENSION_ID);
        let mut entries = settings.iter();
        entries.find_map(|(ids, entry)| is_own(ids).then_some(entry))
    }

    fn own_mode(&self) -> Option<&str> {
        self.own_settings().and_then(mode)
    }

    fn allowed_types_effect(&self) -> Option<Effect> {
        let allowed = self.get("ExtensionAllowedTypes")?;
        (!contains(allowed, "extension")).then_some(Effect::Extension)
    }

    fn developer_tools_effect(&self) -> Option<Effect> {
        self.is("DeveloperToolsAvailability", &2.into())
            .then_some(Effect::Debugger)
    }

    fn old_developer_tools_effect(&self) -> Option<Effect> {
        let is_replaced = self.get("DeveloperToolsAvailability").is_some();
        (!is_replaced && self.is("DeveloperToolsDisabled", &true.into()))
            .then_some(Effect::Debugger)
    }
}

fn mode(entry: &Value) -> Option<&str> {
    entry.get("installation_mode")?.as_str()
}

fn contains(list: &Value, item: &str) -> bool {
    let mut items = list.as_array().into_iter().flatten();
    items.any(|own| own.as_str() == Some(item))
}
