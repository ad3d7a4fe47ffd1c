//! Arguments of browsers that the user cannot add. A second value would take the place of Tabwire's own:
//! the profile could not be recognized, or the extension would not connect.

use super::user_arguments::UserArguments;
use crate::error::Error;

/// The arguments, and what to use instead.
const RESERVED: [(&str, &str); 3] = [
    ("user-data-dir", "--profile DIR"),
    ("remote-debugging-port", "--direct"),
    ("remote-debugging-pipe", "--load-by pipe"),
];

/// The arguments that are never accepted, and the reason.
const REFUSED: [(&str, &str); 1] = [(
    "remote-debugging-address",
    "The debugging port must not be open to other machines.",
)];

/// Those that are accepted only by a browser without the extension.
const REFUSED_WITH_EXTENSION: [&str; 2] = ["disable-extensions", "disable-extensions-except"];
const DISABLES_EXTENSION: &str =
    "It would disable Tabwire's extension too. Leave it out, or use --direct.";

/// Fails if the user's arguments contain one that Tabwire sets or cannot work with. `direct`: the
/// browser needs no extension.
pub fn check(arguments: &[String], direct: bool) -> Result<(), Error> {
    for name in UserArguments::new(arguments).names() {
        if let Some((argument, instead)) = RESERVED.iter().find(|(own, _)| *own == name) {
            return Err(Error::ReservedArgument { argument, instead });
        }
        if let Some((argument, reason)) = REFUSED.iter().find(|(own, _)| *own == name) {
            return Err(Error::RefusedArgument { argument, reason });
        }
        let disables = REFUSED_WITH_EXTENSION.iter().find(|own| **own == name);
        if let Some(argument) = disables.filter(|_| !direct) {
            let reason = DISABLES_EXTENSION;
            return Err(Error::RefusedArgument { argument, reason });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    fn check(arguments: &[&str], direct: bool) -> Result<(), String> {
        let arguments: Vec<String> = arguments.iter().map(|own| (*own).to_owned()).collect();
        super::check(&arguments, direct).map_err(|error| error.to_string())
    }

    #[test]
    fn arguments_that_tabwire_sets_are_rejected_with_what_to_use_instead() {
        for (argument, instead) in [
            ("--user-data-dir=/p", "--profile DIR"),
            ("-user-data-dir=/p", "--profile DIR"),
            ("--remote-debugging-port=9222", "--direct"),
            ("--remote-debugging-pipe", "--load-by pipe"),
            ("--remote-debugging-address=0.0.0.0", "other machines"),
        ] {
            for direct in [false, true] {
                let error = check(&["--lang=de", argument], direct).unwrap_err();
                assert!(error.contains(instead), "{error}");
            }
        }
        let fine = [
            "--user-data-directory",
            "--disable-features=A",
            "--",
            "--user-data-dir",
        ];
        assert_eq!(check(&fine, false), Ok(()));
    }

    #[test]
    fn only_a_browser_without_our_extension_can_disable_extensions() {
        for argument in ["--disable-extensions", "--disable-extensions-except=/a"] {
            let error = check(&[argument], false).unwrap_err();
            assert!(error.contains("disable Tabwire's extension"), "{error}");
            assert_eq!(check(&[argument], true), Ok(()));
        }
    }
}
