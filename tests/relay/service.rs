//! `tabwire service` with a faked `systemctl`, so that no service manager of this machine is involved.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;

use tabwire_tests::{Exit, Relay, binary, run};
use tempfile::TempDir;

/// Records its arguments, and runs a relay while the service is started.
const SYSTEMCTL: &str = r#"#!/bin/sh
cd '{folder}'
echo "$*" >> calls
case "$*" in
  *"enable --now"*)
    '{tabwire}' serve --port 0 > /dev/null 2>&1 &
    echo $! > pid ;;
  *"disable --now"*)
    read -r pid < pid && kill "$pid" && : > pid ;;
  *is-active*)
    [ -s pid ] || exit 3 ;;
esac
exit 0
"#;

const CANNOT_CONNECT: &str = "#!/bin/sh\necho 'Failed to connect to bus' >&2\nexit 1\n";

/// A user with a home folder, a search path and a service manager.
struct User {
    folder: TempDir,
    /// Tabwire's home.
    home: PathBuf,
}

impl User {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        fs::create_dir(folder.path().join("bin")).unwrap();
        let home = folder.path().join(".tabwire");
        Self { folder, home }
    }

    fn with_systemctl(script: &str) -> Self {
        let user = Self::new();
        let script = script
            .replace("{folder}", user.folder.path().to_str().unwrap())
            .replace("{tabwire}", binary().to_str().unwrap());
        let systemctl = user.path("bin/systemctl");
        fs::write(&systemctl, script).unwrap();
        fs::set_permissions(&systemctl, fs::Permissions::from_mode(0o755)).unwrap();
        user
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn unit_file(&self) -> PathBuf {
        self.path(".config/systemd/user/tabwire.service")
    }

    fn unit(&self) -> String {
        fs::read_to_string(self.unit_file()).unwrap()
    }

    fn service(&self, arguments: &[&str]) -> Exit {
        let environment = [
            ("PATH", self.path("bin")),
            ("HOME", self.path("")),
            ("XDG_CONFIG_HOME", PathBuf::new()),
        ];
        let environment = environment
            .each_ref()
            .map(|(name, path)| (*name, path.to_str().unwrap()));
        run(
            &self.home,
            &[&["service"], arguments].concat(),
            &environment,
        )
    }

    /// The calls of `systemctl` that change something, since the last time.
    fn calls(&self) -> Vec<String> {
        let calls = fs::read_to_string(self.path("calls")).unwrap_or_default();
        let _ = fs::remove_file(self.path("calls"));
        let is_query =
            |call: &&str| call.contains("show-environment") || call.contains("is-active");
        let changes = calls.lines().filter(|call| !is_query(call));
        changes.map(str::to_owned).collect()
    }
}

/// Stops the relay that the faked manager may still run.
impl Drop for User {
    fn drop(&mut self) {
        self.service(&["uninstall"]);
    }
}

#[test]
fn installs_starts_and_removes_the_service() {
    let user = User::with_systemctl(SYSTEMCTL);
    let exit = user.service(&["status"]);
    assert_eq!(exit.code, Some(1));
    assert!(exit.stdout.contains("tabwire service install"), "{exit:?}");

    let exit = user.service(&["install", "--", "--browsers", "many"]);
    assert_eq!(exit.code, Some(0), "{exit:?}");
    assert!(
        exit.stdout.contains("Started the relay on port"),
        "{exit:?}"
    );
    let command = format!("ExecStart={} serve --browsers many\n", binary().display());
    assert!(user.unit().contains(&command), "{}", user.unit());
    assert!(!user.unit().contains("TABWIRE_HOME"), "{}", user.unit());
    let enable = [
        "--user daemon-reload",
        "--user enable --now tabwire.service",
    ];
    assert_eq!(user.calls(), enable);

    let exit = user.service(&["status", "--json"]);
    assert_eq!(exit.code, Some(0), "{exit:?}");
    let status: serde_json::Value = serde_json::from_str(&exit.stdout).unwrap();
    assert_eq!(
        (&status["installed"], &status["running"]),
        (&true.into(), &true.into())
    );

    let exit = user.service(&["install"]);
    assert!(exit.stdout.contains("systemctl --user restart"), "{exit:?}");
    assert_eq!(
        user.calls(),
        ["--user daemon-reload", "--user enable tabwire.service"]
    );

    let exit = user.service(&["uninstall"]);
    assert_eq!(exit.code, Some(0), "{exit:?}");
    assert!(!user.unit_file().exists());
    let disable = [
        "--user disable --now tabwire.service",
        "--user daemon-reload",
    ];
    assert_eq!(user.calls(), disable);
    assert_eq!(user.service(&["uninstall"]).code, Some(0), "again");
    assert!(user.calls().is_empty());
}

#[test]
fn a_home_of_its_own_is_part_of_the_service() {
    let mut user = User::with_systemctl(CANNOT_CONNECT);
    user.home = user.path("my 100% home");
    let exit = user.service(&["install"]);
    assert_eq!(exit.code, Some(0), "{exit:?}");
    let home = user.home.display().to_string().replace('%', "%%");
    let environment = format!("Environment=\"TABWIRE_HOME={home}\"\n");
    assert!(user.unit().contains(&environment), "{}", user.unit());
}

#[tokio::test]
async fn does_not_compete_with_a_relay_that_is_running() {
    let mut user = User::with_systemctl(SYSTEMCTL);
    let relay = Relay::start(&[]).await;
    user.home = relay.home();
    let exit = user.service(&["install"]);
    assert_eq!(exit.code, Some(0), "{exit:?}");
    assert!(exit.stdout.contains("next login"), "{exit:?}");
    assert!(exit.stdout.contains(&relay.pid().to_string()), "{exit:?}");
    assert_eq!(
        user.calls(),
        ["--user daemon-reload", "--user enable tabwire.service"]
    );
}

#[test]
fn prints_the_commands_when_the_manager_cannot_be_used() {
    for user in [User::new(), User::with_systemctl(CANNOT_CONNECT)] {
        let exit = user.service(&["install"]);
        assert_eq!(exit.code, Some(0), "{exit:?}");
        for command in [
            "systemctl --user daemon-reload",
            "systemctl --user enable --now tabwire.service",
        ] {
            assert!(exit.stdout.contains(command), "{exit:?}");
        }
        let exit = user.service(&["status"]);
        assert_eq!(exit.code, Some(1));
        assert!(exit.stdout.contains("not known"), "{exit:?}");
        // The user has run those commands, and `enable` made this link.
        let link = user.path(".config/systemd/user/default.target.wants/tabwire.service");
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        symlink(user.unit_file(), &link).unwrap();
        assert_eq!(user.service(&["uninstall"]).code, Some(0));
        assert!(!user.unit_file().exists() && !link.is_symlink());
    }
}

#[test]
fn reports_why_the_manager_refuses() {
    let user = User::with_systemctl(
        "#!/bin/sh\ncase \"$*\" in *enable*) echo 'Unit is masked.' >&2; exit 1;; *active*) exit 3;; esac\n",
    );
    let exit = user.service(&["install"]);
    assert_eq!(exit.code, Some(1));
    for part in [
        "systemctl --user enable --now tabwire.service",
        "Unit is masked",
    ] {
        assert!(exit.stderr.contains(part), "{exit:?}");
    }
}

#[test]
fn leaves_a_unit_of_the_user_alone() {
    let user = User::with_systemctl(SYSTEMCTL);
    fs::create_dir_all(user.unit_file().parent().unwrap()).unwrap();
    fs::write(user.unit_file(), "[Service]\nExecStart=/bin/true\n").unwrap();
    for action in ["install", "uninstall"] {
        let exit = user.service(&[action]);
        assert_eq!(exit.code, Some(1));
        assert!(exit.stderr.contains("was not written by"), "{exit:?}");
    }
    assert_eq!(user.unit(), "[Service]\nExecStart=/bin/true\n");
    assert!(user.calls().is_empty());
}

#[test]
fn rejects_options_that_serve_does_not_have() {
    let user = User::with_systemctl(SYSTEMCTL);
    let exit = user.service(&["install", "--", "--prot", "1"]);
    assert_eq!(exit.code, Some(2));
    assert!(exit.stderr.contains("--port"), "{exit:?}");
    assert!(!user.unit_file().exists());
}

#[test]
fn rejects_options_that_fail_later() {
    let user = User::with_systemctl(SYSTEMCTL);
    for (options, next_step) in [
        (["--record", "/tmp/x"], "Run `tabwire serve --record FILE`"),
        (["--launch", "./chromium"], "Use a full path"),
        (["--launch", "nosuch"], "Run `tabwire browsers`"),
    ] {
        let exit = user.service(&[&["install", "--"][..], &options].concat());
        assert_ne!(exit.code, Some(0));
        assert!(exit.stderr.contains(next_step), "{}", exit.stderr);
        assert!(!user.unit_file().exists());
    }
}
