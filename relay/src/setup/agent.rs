//! The agents that can be set up: where their files are on each system, and what they look like. Checked against
//! the files that Claude Code 2.1, Codex 0.169 and Gemini CLI 0.61 write themselves, and the documentation of the others.

use std::env;
use std::path::{Path, PathBuf};

use clap::ValueEnum;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Agent {
    ClaudeCode,
    ClaudeDesktop,
    Cursor,
    #[value(name = "vscode")]
    VsCode,
    Codex,
    Gemini,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum System {
    Linux,
    MacOs,
    /// As data: Tabwire itself does not run there yet.
    #[cfg_attr(not(test), expect(dead_code))]
    Windows,
}

/// How an agent writes its list of servers.
#[derive(Debug, Clone, Copy)]
pub enum Format {
    Json(JsonFormat),
    /// Tables in `mcp_servers`.
    Toml,
}

#[derive(Debug, Clone, Copy)]
pub struct JsonFormat {
    /// The key of the object with all servers.
    pub servers: &'static str,
    /// Whether an entry says that it is started as a program.
    pub has_type: bool,
    /// Whether the agent accepts comments and trailing commas.
    pub lenient: bool,
}

/// The folders of a user that agents keep their files in.
#[derive(Debug, Clone)]
pub struct Folders {
    pub home: PathBuf,
    /// `XDG_CONFIG_HOME`, `Application Support` or `%APPDATA%`.
    pub config: PathBuf,
    pub claude: Option<PathBuf>,
    pub codex: Option<PathBuf>,
    pub gemini: Option<PathBuf>,
}

impl System {
    pub const fn current() -> Self {
        if cfg!(target_os = "macos") {
            Self::MacOs
        } else {
            Self::Linux
        }
    }

    /// Where programs keep their settings unless a variable says otherwise.
    pub fn config(self, home: &Path) -> PathBuf {
        match self {
            Self::Linux => home.join(".config"),
            Self::MacOs => home.join("Library").join("Application Support"),
            Self::Windows => home.join("AppData").join("Roaming"),
        }
    }
}

impl Folders {
    /// Those of the user who runs this, or nothing if there is no home folder.
    pub fn current() -> Option<Self> {
        let system = System::current();
        let home = env::home_dir().filter(|home| home.is_absolute())?;
        let xdg = variable("XDG_CONFIG_HOME").filter(|_| system == System::Linux);
        Some(Self {
            config: xdg.unwrap_or_else(|| system.config(&home)),
            home,
            claude: variable("CLAUDE_CONFIG_DIR"),
            codex: variable("CODEX_HOME"),
            gemini: variable("GEMINI_CLI_HOME"),
        })
    }

    fn codex(&self) -> PathBuf {
        let folder = self.codex.clone();
        folder.unwrap_or_else(|| self.home.join(".codex"))
    }

    fn gemini(&self) -> PathBuf {
        // The variable replaces the home folder.
        self.gemini.as_ref().unwrap_or(&self.home).join(".gemini")
    }
}

fn variable(name: &str) -> Option<PathBuf> {
    let path = env::var_os(name).map(PathBuf::from);
    path.filter(|path| path.is_absolute())
}

impl Agent {
    pub fn title(self) -> &'static str {
        match self {
            Self::ClaudeCode => "Claude Code",
            Self::ClaudeDesktop => "Claude Desktop",
            Self::Cursor => "Cursor",
            Self::VsCode => "VS Code",
            Self::Codex => "Codex",
            Self::Gemini => "Gemini CLI",
        }
    }

    /// As on the command line.
    pub fn id(self) -> String {
        let value = self.to_possible_value();
        value.map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// The file with the servers for all projects of the user.
    pub fn file(self, folders: &Folders) -> PathBuf {
        match self {
            Self::ClaudeCode => match &folders.claude {
                Some(folder) => folder.join(".claude.json"),
                None => folders.home.join(".claude.json"),
            },
            Self::ClaudeDesktop => {
                let folder = folders.config.join("Claude");
                folder.join("claude_desktop_config.json")
            }
            Self::Cursor => folders.home.join(".cursor").join("mcp.json"),
            Self::VsCode => folders.config.join("Code").join("User").join("mcp.json"),
            Self::Codex => folders.codex().join("config.toml"),
            Self::Gemini => folders.gemini().join("settings.json"),
        }
    }

    /// Where the agent looks for skills, if it does.
    pub fn skills(self, folders: &Folders) -> Option<PathBuf> {
        let folder = match self {
            Self::ClaudeCode => match &folders.claude {
                Some(folder) => folder.clone(),
                None => folders.home.join(".claude"),
            },
            Self::Codex => folders.codex(),
            Self::Gemini => folders.gemini(),
            Self::ClaudeDesktop | Self::Cursor | Self::VsCode => return None,
        };
        Some(folder.join("skills"))
    }

    /// Whether it exists on this machine, judging by the folder of its file.
    pub fn is_installed(self, folders: &Folders) -> bool {
        let file = self.file(folders);
        // Its folder is the home folder, which always exists.
        let by_file = self == Self::ClaudeCode && folders.claude.is_none();
        file.exists() || (!by_file && file.parent().is_some_and(Path::is_dir))
    }

    /// Programs with a window are not started by a shell, so they may have another search path.
    pub fn has_shell_path(self) -> bool {
        matches!(self, Self::ClaudeCode | Self::Codex | Self::Gemini)
    }

    pub fn format(self) -> Format {
        let json = |servers, has_type, lenient| {
            Format::Json(JsonFormat {
                servers,
                has_type,
                lenient,
            })
        };
        match self {
            Self::ClaudeCode => json("mcpServers", true, false),
            Self::ClaudeDesktop => json("mcpServers", false, false),
            Self::Cursor | Self::Gemini => json("mcpServers", false, true),
            Self::VsCode => json("servers", true, true),
            Self::Codex => Format::Toml,
        }
    }

    /// How the agent notices the change.
    pub fn next_step(self) -> &'static str {
        match self {
            Self::ClaudeCode | Self::Codex | Self::Gemini => "New sessions of it use the change.",
            Self::ClaudeDesktop => "Quit it and start it again to use the change.",
            Self::Cursor => "Check the list of MCP servers in its settings.",
            Self::VsCode => {
                "It notices the change by itself, and asks whether you trust the server."
            }
        }
    }
}
