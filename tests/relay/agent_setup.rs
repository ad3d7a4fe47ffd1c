//! `tabwire setup` in temporary home folders, with files as the agents write them.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tabwire_tests::{Exit, binary, run};
use tempfile::TempDir;

const AGENTS: [(&str, &str); 6] = [
    ("claude-code", ".claude.json"),
    (
        "claude-desktop",
        ".config/Claude/claude_desktop_config.json",
    ),
    ("cursor", ".cursor/mcp.json"),
    ("vscode", ".config/Code/User/mcp.json"),
    ("codex", ".codex/config.toml"),
    ("gemini", ".gemini/settings.json"),
];

/// A user with a home folder and a search path.
struct User(TempDir);

impl User {
    fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn write(&self, path: &str, content: &str) -> PathBuf {
        let file = self.path(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, content).unwrap();
        file
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    /// Runs `tabwire setup` with the default home.
    fn setup(&self, arguments: &[&str]) -> Exit {
        self.setup_in(&self.path(".tabwire"), arguments)
    }

    fn setup_in(&self, home: &Path, arguments: &[&str]) -> Exit {
        let arguments = [&["setup"], arguments].concat();
        let (user, bin) = (self.path(""), self.path("bin"));
        let config = self.path(".config");
        let text = |path: &PathBuf| path.to_str().unwrap().to_owned();
        let environment = [
            ("HOME", text(&user)),
            ("PATH", text(&bin)),
            ("XDG_CONFIG_HOME", text(&config)),
            ("CLAUDE_CONFIG_DIR", String::new()),
            ("CODEX_HOME", String::new()),
            ("GEMINI_CLI_HOME", String::new()),
        ];
        let environment: Vec<(&str, &str)> = environment
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        run(home, &arguments, &environment)
    }
}

fn succeeds(exit: Exit) -> String {
    assert_eq!(exit.code, Some(0), "{}{}", exit.stdout, exit.stderr);
    exit.stdout
}

fn fails(exit: Exit, expected: &str) {
    assert_eq!(exit.code, Some(1), "{}", exit.stdout);
    assert!(exit.stderr.contains(expected), "{}", exit.stderr);
}

/// The agents' files are on other paths on macOS; the unit tests have those.
#[test]
#[cfg(target_os = "linux")]
fn sets_up_each_agent_and_removes_itself_again() {
    let user = User::new();
    for (agent, file) in AGENTS {
        let shown = succeeds(user.setup(&[agent, "--yes"]));
        assert!(shown.contains("(new file)\n+ "), "{shown}");
        assert!(!shown.contains('\x1b'), "{shown}");
        let written = user.read(file);
        let program = binary().display().to_string();
        assert!(written.contains(&program), "{written}");
        let mode = fs::metadata(user.path(file)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let again = succeeds(user.setup(&[agent, "--yes"]));
        assert!(again.contains("is already set up"), "{again}");
        assert_eq!(user.read(file), written);
    }
    let list = succeeds(user.setup(&["--list", "--json"]));
    let list: Value = serde_json::from_str(&list).unwrap();
    let states: Vec<_> = list
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["state"])
        .collect();
    assert_eq!(states, vec!["set up"; AGENTS.len()]);
    for (agent, file) in AGENTS {
        let shown = succeeds(user.setup(&[agent, "--remove", "--yes"]));
        assert!(shown.contains("no longer starts Tabwire"), "{shown}");
        assert!(!user.read(file).contains("tabwire"), "{}", user.read(file));
        let again = succeeds(user.setup(&[agent, "--remove", "--yes"]));
        assert!(again.contains("nothing to remove"), "{again}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn lists_agents_that_are_not_set_up_or_not_there() {
    let user = User::new();
    user.write(".codex/config.toml", "");
    user.write(".cursor/mcp.json", "{");
    let list = succeeds(user.setup(&["--list"]));
    for (agent, state) in [
        ("codex", "not set up"),
        ("cursor", "unreadable"),
        ("gemini", "not found"),
    ] {
        let line = list.lines().find(|line| line.contains(agent)).unwrap();
        assert!(line.contains(state), "{line}");
    }
}

#[test]
fn changes_nothing_without_an_answer() {
    let user = User::new();
    fails(user.setup(&["gemini"]), "Add --yes");
    assert!(!user.path(".gemini").exists());
    let printed = user.setup(&["codex", "--print", "--", "--browser", "work"]);
    assert!(
        printed.stderr.contains(".codex/config.toml"),
        "{}",
        printed.stderr
    );
    let lines = succeeds(printed);
    let expected = format!(
        "[mcp_servers.tabwire]\ncommand = \"{}\"\nargs = [\"mcp\", \"--browser\", \"work\"]\n",
        binary().display()
    );
    assert_eq!(lines, expected);
    assert!(!user.path(".codex").exists());
}

#[test]
fn leaves_a_broken_file_alone_and_names_its_line() {
    let user = User::new();
    for (agent, file, broken) in [
        ("claude-code", ".claude.json", "{\n  // comment\n}"),
        ("gemini", ".gemini/settings.json", "{\n  \"a\" 1\n}"),
        ("codex", ".codex/config.toml", "a = 1\nb =\n"),
    ] {
        user.write(file, broken);
        fails(user.setup(&[agent, "--yes"]), "in line 2: ");
        assert_eq!(user.read(file), broken);
    }
    user.write(
        ".claude.json",
        r#"{"mcpServers": {"tabwire": {"command": "npx"}}}"#,
    );
    fails(user.setup(&["claude-code", "--yes"]), "--as NAME");
    succeeds(user.setup(&["claude-code", "--yes", "--as", "tabwire-2"]));
    let servers: Value = serde_json::from_str(&user.read(".claude.json")).unwrap();
    assert_eq!(servers["mcpServers"]["tabwire"]["command"], "npx");
    assert_eq!(servers["mcpServers"]["tabwire-2"]["args"], json!(["mcp"]));
}

#[test]
fn writes_through_a_link_and_keeps_the_mode() {
    let user = User::new();
    let real = user.write("dotfiles/gemini.json", "{}\n");
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    fs::create_dir(user.path(".gemini")).unwrap();
    symlink(&real, user.path(".gemini/settings.json")).unwrap();
    let shown = succeeds(user.setup(&["gemini", "--yes"]));
    let note = format!(
        "The change goes to {}",
        fs::canonicalize(&real).unwrap().display()
    );
    assert!(shown.contains(&note), "{shown}");
    assert!(user.path(".gemini/settings.json").is_symlink());
    assert!(fs::read_to_string(&real).unwrap().contains("tabwire"));
    let mode = fs::metadata(&real).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
    let left: Vec<_> = fs::read_dir(user.path("dotfiles")).unwrap().collect();
    assert_eq!(left.len(), 1, "a temporary file is left");
}

#[test]
fn refuses_links_to_nowhere_and_files_that_are_read_only() {
    let user = User::new();
    fs::create_dir(user.path(".gemini")).unwrap();
    let file = user.path(".gemini/settings.json");
    symlink(user.path("nowhere"), &file).unwrap();
    fails(user.setup(&["gemini", "--yes"]), "Cannot read");
    assert!(!user.path("nowhere").exists());
    fs::remove_file(&file).unwrap();
    fs::write(&file, "{}").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o400)).unwrap();
    fails(user.setup(&["gemini", "--yes"]), "is read-only");
    assert_eq!(fs::read_to_string(&file).unwrap(), "{}");
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    fails(user.setup(&["gemini", "--yes"]), "not a regular file");
}

#[test]
fn passes_on_checked_options_and_the_home() {
    let user = User::new();
    let secrets = user.write("secrets", "PASSWORD=correct horse\n");
    fs::set_permissions(&secrets, fs::Permissions::from_mode(0o600)).unwrap();
    let secrets = secrets.to_str().unwrap();
    let home = user.path("other");
    succeeds(user.setup_in(&home, &["gemini", "--yes", "--", "--secrets", secrets]));
    let settings: Value = serde_json::from_str(&user.read(".gemini/settings.json")).unwrap();
    let entry = &settings["mcpServers"]["tabwire"];
    assert_eq!(entry["args"], json!(["mcp", "--secrets", secrets]));
    assert_eq!(entry["env"]["TABWIRE_HOME"], home.to_str().unwrap());
    succeeds(user.setup(&["gemini", "--yes", "--", "--files=a folder"]));
    let settings: Value = serde_json::from_str(&user.read(".gemini/settings.json")).unwrap();
    let folder = std::env::current_dir().unwrap().join("a folder");
    let files = format!("--files={}", folder.display());
    let args = &settings["mcpServers"]["tabwire"]["args"];
    assert_eq!(*args, json!(["mcp", files]), "agents run in other folders");
    let wrong = user.setup(&["gemini", "--yes", "--", "--idel", "3"]);
    assert_eq!(wrong.code, Some(2), "{}", wrong.stderr);
    fails(
        user.setup(&["gemini", "--yes", "--", "--secrets", "/missing"]),
        "/missing",
    );
    fails(
        user.setup(&["gemini", "--yes", "--", "--install"]),
        "--install",
    );
}

#[test]
fn the_name_is_enough_where_the_shell_finds_it() {
    let user = User::new();
    fs::create_dir(user.path("bin")).unwrap();
    symlink(binary(), user.path("bin/tabwire")).unwrap();
    let command = |agent: &str, key: &str| {
        let printed = succeeds(user.setup(&[agent, "--print"]));
        let printed: Value = serde_json::from_str(&printed).unwrap();
        printed[key]["tabwire"]["command"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert_eq!(command("claude-code", "mcpServers"), "tabwire");
    let link = user.path("bin/tabwire");
    assert_eq!(command("vscode", "servers"), link.to_str().unwrap());
}

#[test]
fn installs_and_removes_the_skill() {
    let user = User::new();
    let skill = ".claude/skills/tabwire/SKILL.md";
    succeeds(user.setup(&["claude-code", "--skill", "--yes"]));
    assert!(user.read(skill).starts_with("---\nname: tabwire\n"));
    let again = succeeds(user.setup(&["claude-code", "--skill", "--yes"]));
    assert!(again.contains("already set up"), "{again}");
    succeeds(user.setup(&["claude-code", "--remove", "--yes"]));
    assert!(!user.path(".claude/skills/tabwire").exists());
    user.write(skill, "---\nname: my-tabwire\n---\n");
    fails(
        user.setup(&["claude-code", "--skill", "--yes"]),
        "not Tabwire's skill",
    );
    succeeds(user.setup(&["claude-code", "--remove", "--yes"]));
    assert!(user.path(skill).exists());
    fails(user.setup(&["cursor", "--skill", "--yes"]), "--skill");
}
