//! What a launched browser is called. Clients and commands choose a browser by its name, so it must
//! not be the name of another one, such as the user's own.

use tabwire_home::{NameFault, check_name};

use crate::error::Error;

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
