//! Permissions of sites: which ones a client wants, and what Chrome's content settings have to be
//! for that. The extension sets them, without a debugger.

use serde::Deserialize;

use crate::Core;
use crate::emit::out::{Handled, HandlerResult};
use crate::model::permissions::{Change, Forgotten, Rule};
use crate::protocol::cdp::Request;
use crate::protocol::error::CdpError;
use crate::protocol::ids::Caller;
use crate::protocol::methods::permissions::{
    self, ALL_ORIGINS, CONTENT_SETTINGS, Coverage, pattern_of,
};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Grant {
    permissions: Vec<String>,
    origin: Option<String>,
    browser_context_id: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Set {
    permission: Descriptor,
    setting: String,
    origin: Option<String>,
    embedded_origin: Option<String>,
    browser_context_id: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Descriptor {
    name: String,
    #[serde(default)]
    user_visible_only: bool,
    #[serde(default)]
    allow_without_sanitization: bool,
    #[serde(default)]
    pan_tilt_zoom: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Reset {
    browser_context_id: Option<String>,
}

impl Core {
    /// `Browser.grantPermissions`: grants these permissions to an origin, and rejects the others
    /// there. Without an origin, the others stay as they are: rejecting them everywhere would
    /// take the camera from a call that the person is in.
    pub(crate) fn grant_permissions(
        &mut self,
        caller: Caller,
        request: &Request<'_>,
    ) -> HandlerResult {
        let grant: Grant = request.read_params()?;
        self.check_optional_context(grant.browser_context_id.as_deref())?;
        let patterns = patterns_of(grant.origin.as_deref())?;
        let granted = granted_settings(&request.method, &grant.permissions)?;
        if grant.origin.is_none() && grant.permissions.is_empty() {
            return Err(CdpError::Refused(format!(
                "{}: rejecting all permissions on every site would change what the user is doing elsewhere. Pass an origin.",
                request.method
            )));
        }
        let mut rules = Vec::new();
        for kind in CONTENT_SETTINGS {
            let setting = if granted.contains(kind) {
                "allow"
            } else {
                "block"
            };
            if setting == "allow" || grant.origin.is_some() {
                rules.extend(rules_for(kind, setting, &patterns));
            }
        }
        let change = Change {
            // Another call for the same origin replaces this one.
            forgotten: Forgotten::Patterns(patterns),
            set: rules,
        };
        self.change_permissions(caller, change)
    }

    /// `Browser.setPermission`: one permission, and nothing else.
    pub(crate) fn set_permission(
        &mut self,
        caller: Caller,
        request: &Request<'_>,
    ) -> HandlerResult {
        let set: Set = request.read_params()?;
        self.check_optional_context(set.browser_context_id.as_deref())?;
        let setting = match set.setting.as_str() {
            "granted" => "allow",
            "denied" => "block",
            "prompt" => "ask",
            other => {
                let message = format!("Unknown permission setting: {other}");
                return Err(CdpError::rejected(message));
            }
        };
        let patterns = patterns_of(set.origin.as_deref())?;
        // Chrome ignores it without an origin.
        if let (Some(origin), Some(embedded)) = (&set.origin, &set.embedded_origin)
            && pattern_of(origin) != pattern_of(embedded)
        {
            return Err(CdpError::Refused(format!(
                "{}: 'embeddedOrigin' is not supported: Chrome gives an embedded page the permissions of the site that embeds it. Leave it out.",
                request.method
            )));
        }
        let name = &set.permission.name;
        match coverage_of(&set.permission)? {
            Coverage::Setting(kind) => {
                let rules = rules_for(kind, setting, &patterns).collect();
                let change = Change {
                    forgotten: Forgotten::Nothing,
                    set: rules,
                };
                self.change_permissions(caller, change)
            }
            Coverage::AlwaysGranted if setting == "allow" => Ok(Handled::empty()),
            _ => Err(permissions::uncovered(&request.method, name)),
        }
    }

    /// `Browser.resetPermissions`: everything is as before this client came. Rules of other clients
    /// stay.
    pub(crate) fn reset_permissions(
        &mut self,
        caller: Caller,
        request: &Request<'_>,
    ) -> HandlerResult {
        let reset: Reset = request.read_params()?;
        self.check_optional_context(reset.browser_context_id.as_deref())?;
        let change = Change {
            forgotten: Forgotten::Everything,
            set: Vec::new(),
        };
        self.change_permissions(caller, change)
    }
}

/// The content settings that these permissions need. All of them are checked before anything is
/// changed.
fn granted_settings(method: &str, names: &[String]) -> Result<Vec<&'static str>, CdpError> {
    let mut settings = Vec::new();
    for name in names {
        match permissions::of_type(name) {
            Some(Coverage::Setting(setting)) => settings.push(setting),
            Some(Coverage::AlwaysGranted) => {}
            Some(Coverage::Uncovered) => return Err(permissions::uncovered(method, name)),
            None => {
                let message = format!("Unknown permission type: {name}");
                return Err(CdpError::rejected(message));
            }
        }
    }
    Ok(settings)
}

/// Some names mean another permission with an option.
fn coverage_of(descriptor: &Descriptor) -> Result<Coverage, CdpError> {
    let name = descriptor.name.as_str();
    match name {
        "push" if !descriptor.user_visible_only => Err(CdpError::rejected(
            "Push Permission without userVisibleOnly:true isn't supported",
        )),
        "camera" if descriptor.pan_tilt_zoom => Ok(Coverage::Uncovered),
        "clipboard-write" if descriptor.allow_without_sanitization => {
            Ok(Coverage::Setting("clipboard"))
        }
        _ => permissions::of_descriptor(name).ok_or_else(|| {
            CdpError::rejected(format!("Invalid PermissionDescriptor name: {name}"))
        }),
    }
}

fn patterns_of(origin: Option<&str>) -> Result<Vec<String>, CdpError> {
    let Some(origin) = origin else {
        return Ok(ALL_ORIGINS.map(str::to_owned).to_vec());
    };
    if let Some(pattern) = pattern_of(origin) {
        return Ok(vec![pattern]);
    }
    Err(if origin.to_ascii_lowercase().starts_with("file:") {
        let reason = "Permissions of file: pages cannot be changed: Chrome has no content settings for all files. Serve the page from a local server.";
        CdpError::Refused(reason.to_owned())
    } else {
        CdpError::rejected("Permission can't be granted to opaque origins.")
    })
}

fn rules_for(
    kind: &'static str,
    setting: &'static str,
    patterns: &[String],
) -> impl Iterator<Item = Rule> {
    patterns.iter().map(move |pattern| Rule {
        kind,
        pattern: pattern.clone(),
        setting,
    })
}
