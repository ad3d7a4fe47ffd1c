//! The arguments that the user adds for a browser, as Chromium reads them: flags, and after `--` only
//! addresses.

pub struct UserArguments<'a> {
    flags: &'a [String],
    /// With the `--` before them.
    addresses: &'a [String],
}

impl<'a> UserArguments<'a> {
    pub fn new(arguments: &'a [String]) -> Self {
        let end = arguments.iter().position(|argument| argument == "--");
        let (flags, addresses) = arguments.split_at(end.unwrap_or(arguments.len()));
        Self { flags, addresses }
    }

    /// The names of all flags.
    pub fn names(&self) -> impl Iterator<Item = &'a str> {
        self.flags.iter().filter_map(|flag| Some(parse(flag)?.0))
    }

    /// The values of all flags of this name.
    pub fn values_of(&self, name: &str) -> impl Iterator<Item = &'a str> {
        let flags = self.flags.iter().filter_map(|flag| parse(flag));
        flags.filter_map(move |(own, value)| (own == name).then_some(value))
    }

    /// Everything in its order, without the flags of these names.
    pub fn without(&self, names: &[&str]) -> impl Iterator<Item = String> {
        let is_kept = |flag: &&String| parse(flag).is_none_or(|(name, _)| !names.contains(&name));
        let flags = self.flags.iter().filter(is_kept);
        flags.chain(self.addresses).cloned()
    }
}

/// The name and the value of a flag. `None` for an address.
fn parse(argument: &str) -> Option<(&str, &str)> {
    // Chromium accepts one dash, too.
    let flag = argument
        .strip_prefix("--")
        .or_else(|| argument.strip_prefix('-'))?;
    Some(flag.split_once('=').unwrap_or((flag, "")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_end_at_two_dashes() {
        let arguments = ["--a=1=2", "page", "-a", "--b", "--", "--a=3"].map(str::to_owned);
        let own = UserArguments::new(&arguments);
        assert_eq!(own.names().collect::<Vec<_>>(), ["a", "a", "b"]);
        assert_eq!(own.values_of("a").collect::<Vec<_>>(), ["1=2", ""]);
        let kept: Vec<String> = own.without(&["a"]).collect();
        assert_eq!(kept, ["page", "--b", "--", "--a=3"]);
    }
}
