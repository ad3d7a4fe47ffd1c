//! Secrets that an agent may type but never sees. The user keeps them in a file or in the environment;
//! they reach the worker over its pipe, never as an argument.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use crate::error::Error;

/// The environment variable of a secret, before its name.
const VARIABLE: &str = "TABWIRE_SECRET_";
/// Anything shorter would also be masked in text that has nothing to do with it.
const MIN_LENGTH: usize = 4;

/// By name.
#[derive(Clone, Default)]
pub struct Secrets(BTreeMap<String, String>);

impl Secrets {
    /// Those of the file, and those of the environment, which take precedence.
    pub fn load(file: Option<&Path>) -> Result<Self, Error> {
        let mut secrets = match file {
            Some(file) => read(file)?,
            None => BTreeMap::new(),
        };
        for variable in variables() {
            let place = variable.to_string_lossy().into_owned();
            let name = place.strip_prefix(VARIABLE).unwrap_or_default().to_owned();
            let value = std::env::var(&variable).unwrap_or_default();
            let failed = |reason| Error::Secrets { place, reason };
            check(&name, &value).map_err(failed)?;
            secrets.insert(name, value);
        }
        Ok(Self(secrets))
    }

    /// For the worker only.
    pub fn reveal(&self) -> &BTreeMap<String, String> {
        &self.0
    }
}

/// The variables of the environment that no other process needs.
pub fn variables() -> impl Iterator<Item = OsString> {
    let names = std::env::vars_os().map(|(name, _)| name);
    names.filter(|name| name.as_bytes().starts_with(VARIABLE.as_bytes()))
}

fn read(file: &Path) -> Result<BTreeMap<String, String>, Error> {
    let failed = |reason: String| Error::Secrets {
        place: file.display().to_string(),
        reason,
    };
    let metadata = fs::metadata(file).map_err(|error| failed(error.to_string()))?;
    let is_open = metadata.permissions().mode() & 0o077 != 0;
    if is_open || metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err(failed(format!(
            "other users can read or change it. Run `chmod 600 '{}'`",
            file.display()
        )));
    }
    let text = fs::read_to_string(file).map_err(|error| failed(error.to_string()))?;
    parse(&text).map_err(failed)
}

/// Lines of `NAME=value`. Empty lines and those that start with `#` do not count; quotes around a value
/// are removed.
fn parse(text: &str) -> Result<BTreeMap<String, String>, String> {
    let mut secrets = BTreeMap::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        // The line itself may contain a secret, so it is never part of an error.
        let number = index + 1;
        let (name, value) = line
            .split_once('=')
            .ok_or_else(|| format!("line {number} is not NAME=value"))?;
        let (name, value) = (name.trim(), unquoted(value.trim()));
        check(name, value).map_err(|reason| format!("line {number}: {reason}"))?;
        secrets.insert(name.to_owned(), value.to_owned());
    }
    Ok(secrets)
}

fn unquoted(value: &str) -> &str {
    let inner = |quote| value.strip_prefix(quote)?.strip_suffix(quote);
    inner('"').or_else(|| inner('\'')).unwrap_or(value)
}

fn check(name: &str, value: &str) -> Result<(), String> {
    let is_valid = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if name.is_empty() || !name.bytes().all(is_valid) {
        return Err("a name has letters, digits and underscores".to_owned());
    }
    if value.chars().count() < MIN_LENGTH {
        return Err(format!(
            "{name} is shorter than {MIN_LENGTH} characters, so it cannot be masked"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_names_and_values() {
        let text = "# mail\nPASSWORD = \"correct horse\"\n\nPIN='12=34'\nTOKEN=a#b c\n";
        let secrets = parse(text).unwrap();
        let expected = [
            ("PASSWORD", "correct horse"),
            ("PIN", "12=34"),
            ("TOKEN", "a#b c"),
        ];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(secrets, BTreeMap::from(expected));
    }

    #[test]
    fn errors_name_the_line_and_not_its_content() {
        for (text, expected) in [
            ("A=long enough\nhunter2", "line 2 is not NAME=value"),
            ("A B=hunter2", "line 1: a name has"),
            ("PIN=123", "line 1: PIN is shorter than 4 characters"),
        ] {
            let reason = parse(text).unwrap_err();
            assert!(reason.contains(expected), "{reason}");
            assert!(!reason.contains("hunter2"), "{reason}");
        }
    }

    #[test]
    fn refuses_a_file_that_others_can_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("secrets");
        fs::write(&file, "A=long enough").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        let error = read(&file).unwrap_err();
        assert!(error.to_string().contains("chmod 600"), "{error}");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(read(&file).unwrap()["A"], "long enough");
    }
}
