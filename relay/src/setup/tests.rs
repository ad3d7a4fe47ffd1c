//! Edits of whole files, as users have them.

use std::path::{Path, PathBuf};

use clap::ValueEnum as _;
use serde_json::{Value, json};

use super::agent::System;
use super::*;

fn server() -> Server {
    Server {
        name: "tabwire".to_owned(),
        command: "tabwire".to_owned(),
        options: Vec::new(),
        home: None,
    }
}

fn with_options(options: &[&str]) -> Server {
    Server {
        options: options.iter().map(|it| (*it).to_owned()).collect(),
        ..server()
    }
}

fn added(agent: Agent, content: &str, server: &Server) -> String {
    edit(agent, content, Change::Add(server)).unwrap().unwrap()
}

fn removed(agent: Agent, content: &str) -> Option<String> {
    edit(agent, content, Change::Remove("tabwire")).unwrap()
}

const VS_CODE: &str = r#"{
	// for work
	"servers": {
		"github": {
			"command": "npx", /* slow */
			"env": { "TOKEN": "${input:token}" },
		},
	},
	"inputs": [{ "id": "token", "type": "promptString" }]
}
"#;

const CODEX: &str = r#"# my settings
model = "o5"   # the fast one

[mcp_servers.github]
command = "npx"
env = { TOKEN = "x" }

[tui]
theme = "dark"
"#;

#[test]
fn json_keeps_comments_order_and_indentation() {
    let entry = "\t\t\"tabwire\": {\n\t\t\t\"type\": \"stdio\",\n\t\t\t\"command\": \"tabwire\",\n\t\t\t\"args\": [\"mcp\"],\n\t\t},\n";
    let edited = added(Agent::VsCode, VS_CODE, &server());
    assert_eq!(
        edited,
        VS_CODE.replace("\t},\n\t\"inputs\"", &format!("{entry}\t}},\n\t\"inputs\""))
    );
    assert_eq!(removed(Agent::VsCode, &edited).unwrap(), VS_CODE);
}

#[test]
fn toml_keeps_comments_and_order() {
    let entry = "[mcp_servers.tabwire]\ncommand = \"tabwire\"\nargs = [\"mcp\"]\n\n";
    let edited = added(Agent::Codex, CODEX, &server());
    assert_eq!(edited, CODEX.replace("[tui]", &format!("{entry}[tui]")));
    assert_eq!(removed(Agent::Codex, &edited).unwrap(), CODEX);
    let inline = "mcp_servers = { github = { command = \"npx\" } } # all\n";
    let edited = added(Agent::Codex, inline, &server());
    assert!(
        edited.starts_with("mcp_servers = { github = { command = \"npx\" }"),
        "{edited}"
    );
    assert!(
        edited.ends_with("# all\n") && edited.contains("tabwire = {"),
        "{edited}"
    );
    assert_eq!(removed(Agent::Codex, &edited).unwrap(), inline);
}

#[test]
fn new_files_have_what_the_agents_write_themselves() {
    let server = Server {
        home: Some("/srv/tabwire".to_owned()),
        ..with_options(&["--browser", "work"])
    };
    let args = json!(["mcp", "--browser", "work"]);
    let entry =
        json!({ "command": "tabwire", "args": args, "env": { "TABWIRE_HOME": "/srv/tabwire" } });
    let mut typed = entry.clone();
    typed["type"] = json!("stdio");
    for (agent, expected) in [
        (
            Agent::ClaudeCode,
            json!({ "mcpServers": { "tabwire": typed } }),
        ),
        (
            Agent::ClaudeDesktop,
            json!({ "mcpServers": { "tabwire": entry } }),
        ),
        (Agent::Cursor, json!({ "mcpServers": { "tabwire": entry } })),
        (Agent::VsCode, json!({ "servers": { "tabwire": typed } })),
        (Agent::Gemini, json!({ "mcpServers": { "tabwire": entry } })),
    ] {
        let text = fragment(agent, &server).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), expected);
        assert!(text.ends_with("}\n"), "{text}");
    }
    let expected = "[mcp_servers.tabwire]\ncommand = \"tabwire\"\nargs = [\"mcp\", \"--browser\", \"work\"]\nenv = { TABWIRE_HOME = \"/srv/tabwire\" }\n";
    assert_eq!(fragment(Agent::Codex, &server).unwrap(), expected);
}

#[test]
fn every_agent_is_set_up_once_and_keeps_what_its_user_added() {
    for agent in Agent::value_variants() {
        let first = added(*agent, "", &with_options(&["--idle", "3"]));
        // Without options, those of the entry stay.
        assert_eq!(edit(*agent, &first, Change::Add(&server())), Ok(None));
        let other = added(*agent, &first, &with_options(&["--idle", "4"]));
        assert!(
            other.contains("\"4\"") && !other.contains("\"3\""),
            "{other}"
        );
        let moved = Server {
            command: "/opt/tabwire".to_owned(),
            ..server()
        };
        let other = added(*agent, &first, &moved);
        assert!(
            other.contains("/opt/tabwire") && other.contains("\"3\""),
            "{other}"
        );
        assert_eq!(removed(*agent, ""), None);
    }
    let disabled = CODEX.replace("[tui]", "[mcp_servers.tabwire]\ncommand = \"/old/tabwire\" # mine\nargs = [\"mcp\"]\nenabled = false\n\n[tui]");
    let edited = added(Agent::Codex, &disabled, &server());
    assert_eq!(edited, disabled.replace("/old/tabwire", "tabwire"));
    let trusted = "{\"mcpServers\": {\"tabwire\": {\"command\": \"/old/tabwire\", \"args\": [\"mcp\"], \"trust\": true}}}";
    let edited = added(Agent::Gemini, trusted, &server());
    assert_eq!(edited, trusted.replace("/old/tabwire", "tabwire"));
}

#[test]
fn broken_files_are_refused_with_the_line() {
    for (agent, text, line) in [
        (Agent::ClaudeCode, "{\n  \"a\": 1\n  // no\n}", 3),
        (Agent::ClaudeCode, "{\n  \"a\": 1,\n}", 3),
        (Agent::VsCode, "{\n  \"a\": 1\n  \"b\": 2\n}", 2),
        (Agent::Cursor, "{\n  \"a\": {\n", 2),
        (Agent::Gemini, "{}\n{}", 2),
        (Agent::Codex, "a = 1\nb = \n", 2),
        (Agent::Codex, "[a]\n[a]\n", 2),
    ] {
        match edit(agent, text, Change::Add(&server())) {
            Err(Fault::Syntax { line: found, .. }) => assert_eq!(found, line, "{text}"),
            other => panic!("{text}: {other:?}"),
        }
    }
}

#[test]
fn what_is_not_understood_is_left_alone() {
    let other = |text: &str, agent| edit(agent, text, Change::Add(&server())).unwrap_err();
    let name = || "tabwire".to_owned();
    for (agent, text, fault) in [
        (Agent::Gemini, "[]", Fault::NotATable("the file".to_owned())),
        (
            Agent::Gemini,
            r#"{"mcpServers": []}"#,
            Fault::NotATable("'mcpServers'".to_owned()),
        ),
        (
            Agent::Gemini,
            r#"{"mcpServers": {}, "mcpServers": {}}"#,
            Fault::Twice("mcpServers".to_owned()),
        ),
        (
            Agent::Gemini,
            r#"{"mcpServers": {"tabwire": {"command": "npx"}}}"#,
            Fault::OtherServer(name()),
        ),
        (
            Agent::Gemini,
            r#"{"mcpServers": {"tabwire": {"url": "http://x"}}}"#,
            Fault::OtherServer(name()),
        ),
        (
            Agent::Codex,
            "mcp_servers = 1",
            Fault::NotATable("'mcp_servers'".to_owned()),
        ),
        (
            Agent::Codex,
            "[mcp_servers.tabwire]\ncommand = \"npx\"",
            Fault::OtherServer(name()),
        ),
    ] {
        assert_eq!(other(text, agent), fault, "{text}");
    }
    let foreign = r#"{"mcpServers": {"tabwire": {"command": "npx"}}}"#;
    let removal = edit(Agent::Gemini, foreign, Change::Remove("tabwire"));
    assert_eq!(removal, Err(Fault::OtherServer(name())));
}

#[test]
fn line_ends_and_byte_order_marks_stay() {
    let windows = |text: &str| format!("\u{feff}{}", text.replace('\n', "\r\n"));
    for (agent, text) in [(Agent::VsCode, VS_CODE), (Agent::Codex, CODEX)] {
        let edited = added(agent, &windows(text), &server());
        assert_eq!(edited, windows(&added(agent, text, &server())));
    }
}

#[test]
fn files_are_where_each_system_has_them() {
    let folders = |system: System, home: &str| Folders {
        config: system.config(Path::new(home)),
        home: PathBuf::from(home),
        claude: None,
        codex: None,
        gemini: None,
    };
    let file =
        |agent: Agent, system, home| agent.file(&folders(system, home)).display().to_string();
    let (linux, mac) = (System::Linux, System::MacOs);
    for (agent, system, expected) in [
        (Agent::ClaudeCode, linux, "/u/.claude.json"),
        (
            Agent::ClaudeDesktop,
            linux,
            "/u/.config/Claude/claude_desktop_config.json",
        ),
        (
            Agent::ClaudeDesktop,
            mac,
            "/u/Library/Application Support/Claude/claude_desktop_config.json",
        ),
        (
            Agent::ClaudeDesktop,
            System::Windows,
            "/u/AppData/Roaming/Claude/claude_desktop_config.json",
        ),
        (Agent::Cursor, mac, "/u/.cursor/mcp.json"),
        (Agent::VsCode, linux, "/u/.config/Code/User/mcp.json"),
        (
            Agent::VsCode,
            mac,
            "/u/Library/Application Support/Code/User/mcp.json",
        ),
        (
            Agent::VsCode,
            System::Windows,
            "/u/AppData/Roaming/Code/User/mcp.json",
        ),
        (Agent::Codex, System::Windows, "/u/.codex/config.toml"),
        (Agent::Gemini, linux, "/u/.gemini/settings.json"),
    ] {
        assert_eq!(file(agent, system, "/u"), expected);
    }
    let moved = Folders {
        claude: Some("/c".into()),
        codex: Some("/x".into()),
        gemini: Some("/g".into()),
        ..folders(linux, "/u")
    };
    assert_eq!(Agent::ClaudeCode.file(&moved), Path::new("/c/.claude.json"));
    assert_eq!(Agent::Codex.skills(&moved).unwrap(), Path::new("/x/skills"));
    assert_eq!(
        Agent::Gemini.file(&moved),
        Path::new("/g/.gemini/settings.json")
    );
}
