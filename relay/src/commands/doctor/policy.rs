//! Policies of an administrator that keep the extension, the debugger or debugging ports from
//! working.

use super::Situation;
use super::finding::{Finding, note, problem};
use crate::browser::bundle::EXTENSION_ID;
use crate::browser::detect::{self, Effect, Installation, Restriction};

pub fn check(situation: &Situation) -> Vec<Finding> {
    let restricted: Vec<(&Installation, Vec<Restriction>)> = situation
        .installed
        .iter()
        .map(|browser| {
            let environment = &situation.environment;
            let found = detect::restrictions(environment, browser.kind, browser.package);
            (browser, found)
        })
        .collect();
    // A browser that nothing keeps from working.
    let mut free = restricted.iter().filter(|(_, found)| found.is_empty());
    let free = free.next().map(|(browser, _)| browser.name);
    let mut findings = Vec::new();
    for (browser, found) in &restricted {
        for restriction in found {
            let is_note = !matters(situation, browser, restriction.effect);
            findings.push(describe(browser, restriction, free).note_if(is_note));
        }
    }
    findings
}

/// Whether a policy is in the way: the browser has the extension, none works, or the one that is
/// connected may be this one, and be kept from debugging.
fn matters(situation: &Situation, browser: &Installation, effect: Effect) -> bool {
    let has_extension = browser.profiles.iter().any(|own| own.extension.is_some());
    let others = situation.installed.iter().map(|own| own.kind.name());
    let others: Vec<&str> = others.filter(|name| *name != browser.kind.name()).collect();
    let is_other = |name: &str| others.iter().any(|other| name.starts_with(other));
    let mut connected = situation.connected().filter(|own| own.url.is_none());
    let may_be_this = connected.any(|own| !is_other(&own.name));
    has_extension || !situation.has_connected() || (effect == Effect::Debugger && may_be_this)
}

fn describe(browser: &Installation, restriction: &Restriction, free: Option<&str>) -> Finding {
    let name = browser.name;
    let (policy, file) = (restriction.policy, restriction.file.display());
    let says = format!("{name}: the policy {policy} in {file}");
    let other = free.map_or_else(
        || ", or use a browser without it".to_owned(),
        |free| format!(", or run `tabwire up --browser {free}`"),
    );
    match restriction.effect {
        Effect::Extension => problem(
            format!("{says} blocks the extension."),
            format!("Ask your administrator to allow the extension {EXTENSION_ID}{other}."),
        ),
        Effect::Loading => note(
            format!(
                "{says} forbids loading unpacked extensions. One that is loaded already works."
            ),
            format!("Ask your administrator to lift it{other}."),
        ),
        Effect::LoadedByUser => problem(
            format!("{says} switches off extensions that you load yourself."),
            format!("Run `tabwire up --browser {name}`, which loads the extension in another way."),
        ),
        Effect::LoadingByFlag => note(
            format!("{says} keeps `tabwire up` and `launch` from loading the extension."),
            format!("Run `tabwire up --browser {name} --load-by pipe`."),
        ),
        Effect::Debugger => problem(
            format!(
                "{says} keeps every extension from debugging tabs. Clients see the tabs, but cannot use them."
            ),
            format!("Ask your administrator to lift it{other}."),
        ),
        Effect::DebuggingPort => note(
            format!(
                "{says} forbids debugging ports. The extension works, but `--browser-url`, `launch --direct` and `--load-by pipe` do not."
            ),
            "Use the extension, or ask your administrator to lift it.",
        ),
        Effect::Unknown => note(
            format!("{name}: the policies in {file} cannot be read."),
            "Open chrome://policy in that browser to see what applies.",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::Severity;
    use super::*;
    use crate::browser::detect::{Kind, Package};

    #[test]
    fn each_effect_has_advice_of_its_own() {
        let browser = Installation {
            name: "chrome",
            kind: Kind::Chrome,
            package: Package::Native,
            path: "/usr/bin/google-chrome".into(),
            user_data_dir: None,
            running: None,
            profiles: Vec::new(),
        };
        for (effect, severity, advice) in [
            (Effect::Extension, Severity::Problem, EXTENSION_ID),
            (Effect::Loading, Severity::Note, "--browser chromium"),
            (
                Effect::LoadedByUser,
                Severity::Problem,
                "`tabwire up --browser chrome`",
            ),
            (Effect::LoadingByFlag, Severity::Note, "--load-by pipe"),
            (Effect::Debugger, Severity::Problem, "--browser chromium"),
            (Effect::DebuggingPort, Severity::Note, "Use the extension"),
            (Effect::Unknown, Severity::Note, "chrome://policy"),
        ] {
            let restriction = Restriction {
                effect,
                policy: "SomePolicy",
                file: "/etc/test.json".into(),
            };
            let finding = describe(&browser, &restriction, Some("chromium"));
            assert_eq!(finding.severity, severity, "{effect:?}");
            let fix = finding.fix.unwrap();
            assert!(fix.contains(advice), "{effect:?}: {fix}");
            assert!(finding.text.contains("/etc/test.json"), "{effect:?}");
        }
    }
}
