//! Arguments of browsers that Tabwire sets itself. A second value would take the place of its own, and
//! nothing would work: the profile could not be recognized, or the extension would not connect.

use crate::error::Error;

/// The arguments, and what to use instead.
const RESERVED: [(&str, &str); 3] = [
    ("user-data-dir", "--profile DIR"),
    ("remote-debugging-port", "--direct"),
    ("remote-debugging-pipe", "--load-by pipe"),
];

/// Fails if the user's arguments contain one that Tabwire sets.
pub fn check(arguments: &[String]) -> Result<(), Error> {
    // Chromium takes what comes after this for addresses.
    let arguments = arguments.iter().take_while(|argument| *argument != "--");
    for argument in arguments {
        // Chromium accepts one dash, too.
        let name = argument.strip_prefix("--").or(argument.strip_prefix('-'));
        let name = name.map(|name| name.split('=').next().unwrap_or_default());
        let reserved = RESERVED.iter().find(|(own, _)| Some(*own) == name);
        if let Some((argument, instead)) = reserved {
            return Err(Error::ReservedArgument { argument, instead });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_that_tabwire_sets_are_rejected_with_what_to_use_instead() {
        let check = |arguments: &[&str]| {
            let arguments: Vec<String> = arguments.iter().map(|own| (*own).to_owned()).collect();
            check(&arguments).map_err(|error| error.to_string())
        };
        for (argument, instead) in [
            ("--user-data-dir=/p", "--profile DIR"),
            ("-user-data-dir=/p", "--profile DIR"),
            ("--remote-debugging-port=9222", "--direct"),
            ("--remote-debugging-pipe", "--load-by pipe"),
        ] {
            let error = check(&["--lang=de", argument]).unwrap_err();
            assert!(error.contains(instead), "{error}");
        }
        let fine = [
            "--user-data-directory",
            "--disable-features=A",
            "--",
            "--user-data-dir",
        ];
        assert_eq!(check(&fine), Ok(()));
    }
}
