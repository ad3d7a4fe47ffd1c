//! Definitions with unusual paths, as the readers of both systems see them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use plist::Value;

use super::*;

/// Everything that means something in a unit, in XML or in a shell.
const AWKWARD: &str = r#"50% of $HOME, "it's" <a&b> \n %h ${X} ü;"#;

fn service(program: &Path, options: &[&str], home: Option<&Path>) -> Service {
    let options: Vec<String> = options.iter().map(|&it| it.to_owned()).collect();
    Service::new(
        program,
        &options,
        home,
        Path::new("/home/ann/.tabwire/relay.out"),
    )
    .unwrap()
}

fn launchd() -> Manager {
    Manager::Launchd { user_id: 501 }
}

#[test]
fn an_ordinary_unit_needs_no_quotes() {
    let service = service(Path::new("/usr/bin/tabwire"), &["--browsers", "many"], None);
    let unit = Manager::Systemd.definition(&service);
    assert!(
        unit.contains("\nExecStart=/usr/bin/tabwire serve --browsers many\n"),
        "{unit}"
    );
    assert!(unit.contains("\nWantedBy=default.target\n"), "{unit}");
    assert!(!unit.contains("Environment"), "{unit}");
    assert!(is_ours(&unit));
}

#[test]
fn a_unit_quotes_what_systemd_would_interpret() {
    let path = PathBuf::from(format!("/opt/{AWKWARD}/tabwire"));
    let unit = Manager::Systemd.definition(&service(&path, &[AWKWARD, ""], Some(&path)));
    let shell = r#"/bin/sh -c "exec \"$$0\" \"$$@\"""#;
    let program = r#""/opt/50%% of $$HOME, \"it's\" <a&b> \\n %%h $${X} ü;/tabwire""#;
    let option = r#""50%% of $$HOME, \"it's\" <a&b> \\n %%h $${X} ü;""#;
    let home = r#""TABWIRE_HOME=/opt/50%% of $HOME, \"it's\" <a&b> \\n %%h ${X} ü;/tabwire""#;
    let command = format!("\nExecStart={shell} {program} serve {option} \"\"\n");
    assert!(unit.contains(&command), "{unit}");
    assert!(unit.contains(&format!("\nEnvironment={home}\n")), "{unit}");
}

/// Reads a line of a unit as systemd.syntax(7) and systemd.service(5) describe it. Fails on what systemd would
/// replace.
fn words(line: &str, dollar: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = line;
    while !rest.is_empty() {
        let quoted = rest.strip_prefix('"');
        let (mut word, mut text) = (String::new(), quoted.unwrap_or(rest));
        loop {
            let (own, meaning) = match text.chars().next() {
                None if quoted.is_none() => break,
                Some(' ') if quoted.is_none() => break,
                Some('"') if quoted.is_some() => break,
                Some('\\') => (2, &text[1..2]),
                Some('%') => (
                    2,
                    text.strip_prefix("%%").map(|_| "%").expect("no specifier"),
                ),
                Some('$') => (
                    dollar.len(),
                    text.strip_prefix(dollar).map(|_| "$").expect("no variable"),
                ),
                Some(c) => (c.len_utf8(), &text[..c.len_utf8()]),
                None => panic!("not closed: {line}"),
            };
            word.push_str(meaning);
            text = &text[own..];
        }
        words.push(word);
        rest = text.trim_start_matches('"').trim_start_matches(' ');
    }
    words
}

/// The value of a setting.
fn setting<'a>(unit: &'a str, name: &str) -> &'a str {
    let mut lines = unit.lines();
    lines.find_map(|line| line.strip_prefix(name)).unwrap()
}

/// Also where systemd itself is not installed.
#[test]
fn command_of_a_unit_starts_the_program_with_its_options() {
    for name in [AWKWARD, "50% %h ü; <a&b>", "plain"] {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join(name);
        fs::create_dir(&folder).unwrap();
        let program = folder.join("tabwire");
        fs::write(&program, "#!/bin/sh\nprintf '%s\\n' \"$0\" \"$@\"\n").unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let options = ["--port", "0", AWKWARD];
        let unit = Manager::Systemd.definition(&service(&program, &options, Some(&folder)));
        let command = words(setting(&unit, "ExecStart="), "$$");
        let output = Command::new(&command[0])
            .args(&command[1..])
            .output()
            .unwrap();
        let expected = [&[program.to_str().unwrap(), "serve"], &options[..]].concat();
        let printed = String::from_utf8(output.stdout).unwrap();
        assert_eq!(printed.lines().collect::<Vec<_>>(), expected, "{unit}");
        let home = words(setting(&unit, "Environment="), "$");
        assert_eq!(home, [format!("TABWIRE_HOME={}", folder.display())]);
    }
}

/// What `systemd-analyze verify` says about a unit, or `None` if it is not installed.
fn verify(unit: &str) -> Option<(bool, String)> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(systemd::UNIT);
    fs::write(&file, unit).unwrap();
    let output = Command::new("systemd-analyze")
        .args(["verify", "--user", "--man=no"])
        .arg(&file)
        .env("XDG_RUNTIME_DIR", folder.path())
        .output();
    let Ok(output) = output else {
        // Unlike `println!`, this is not hidden while the test succeeds.
        let _ = writeln!(
            io::stderr(),
            "Not verified: systemd-analyze is not installed."
        );
        return None;
    };
    let messages = String::from_utf8_lossy(&output.stderr).into_owned();
    Some((output.status.success(), messages))
}

/// systemd checks that the program exists, so it has to read the path as it is meant.
#[test]
fn systemd_accepts_the_unit() {
    for name in [AWKWARD, "50% %h ü; <a&b>", "plain"] {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join(name);
        fs::create_dir(&folder).unwrap();
        let program = folder.join("tabwire");
        fs::write(&program, "#!/bin/sh\n").unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let unit = Manager::Systemd.definition(&service(&program, &[AWKWARD], Some(&folder)));
        let Some((accepted, messages)) = verify(&unit) else {
            return;
        };
        assert!(accepted && !messages.contains(systemd::UNIT), "{messages}");
    }
    let missing = service(Path::new("/missing 50%/tabwire"), &[], None);
    let (accepted, messages) = verify(&Manager::Systemd.definition(&missing)).unwrap();
    assert!(
        !accepted && messages.contains("/missing 50%/tabwire"),
        "{messages}"
    );
}

#[test]
fn launchd_reads_the_agent_as_it_is_meant() {
    let path = PathBuf::from(format!("/opt/{AWKWARD}/tabwire"));
    let agent = launchd().definition(&service(&path, &["--port", AWKWARD], Some(&path)));
    assert!(is_ours(&agent));
    let agent = Value::from_reader_xml(agent.as_bytes()).unwrap();
    let agent = agent.as_dictionary().unwrap();
    let text = |key| agent.get(key).and_then(Value::as_string);
    assert_eq!(text("Label"), Some("dev.tabwire.relay"));
    assert_eq!(
        text("StandardErrorPath"),
        Some("/home/ann/.tabwire/relay.out")
    );
    let command = agent
        .get("ProgramArguments")
        .and_then(Value::as_array)
        .unwrap();
    let command: Vec<_> = command.iter().filter_map(Value::as_string).collect();
    assert_eq!(
        command,
        [
            path.to_str().unwrap(),
            "serve",
            "--quiet",
            "--port",
            AWKWARD
        ]
    );
    let environment = agent.get("EnvironmentVariables").unwrap();
    let home = environment
        .as_dictionary()
        .unwrap()
        .get("TABWIRE_HOME")
        .unwrap();
    assert_eq!(home.as_string(), path.to_str());
    assert_eq!(agent.get("RunAtLoad"), Some(&Value::Boolean(true)));
}

#[test]
fn an_agent_in_the_default_home_sets_no_variables() {
    let agent = launchd().definition(&service(Path::new("/usr/local/bin/tabwire"), &[], None));
    let agent = Value::from_reader_xml(agent.as_bytes()).unwrap();
    assert_eq!(
        agent.as_dictionary().unwrap().get("EnvironmentVariables"),
        None
    );
}

#[test]
fn control_characters_are_rejected() {
    let log = Path::new("/log");
    for (program, option) in [("/a\nb", "x"), ("/a", "x\u{1b}")] {
        let service = Service::new(Path::new(program), &[option.to_owned()], None, log);
        assert!(matches!(service, Err(Error::ServiceText(_))));
    }
}

#[test]
fn definitions_are_where_each_manager_looks() {
    let home = Path::new("/home/ann");
    let file = Manager::Systemd.file(home, None);
    assert_eq!(
        file,
        Path::new("/home/ann/.config/systemd/user/tabwire.service")
    );
    let file = Manager::Systemd.file(home, Some(Path::new("/config")));
    assert_eq!(file, Path::new("/config/systemd/user/tabwire.service"));
    let file = launchd().file(Path::new("/Users/ann"), Some(Path::new("/config")));
    assert_eq!(
        file,
        Path::new("/Users/ann/Library/LaunchAgents/dev.tabwire.relay.plist")
    );
}

#[test]
fn steps_can_be_pasted_into_a_shell() {
    let file = Path::new("/Users/Ann O'Hara/Library/LaunchAgents/dev.tabwire.relay.plist");
    let steps = launchd().enable(file, true);
    assert_eq!(
        steps.iter().map(Step::to_string).collect::<Vec<_>>(),
        [
            r"launchctl bootstrap gui/501 '/Users/Ann O'\''Hara/Library/LaunchAgents/dev.tabwire.relay.plist'"
        ]
    );
    let steps = Manager::Systemd.enable(file, true);
    assert_eq!(
        steps.iter().map(Step::to_string).collect::<Vec<_>>(),
        [
            "systemctl --user daemon-reload",
            "systemctl --user enable --now tabwire.service"
        ]
    );
}
