//! What the user data directories of faked machines say: profiles, and whether a browser is running.

use std::fs;

use super::Machine;

const LOCAL_STATE: &str = r#"{"profile":{"info_cache":{
    "Profile 10":{"name":"Guest room"},"Profile 2":{"name":"Work","user_name":"ann@example.com"},
    "Default":{"name":"Ann"},"Profile 3":{}}},"browser":{}}"#;

#[test]
fn lists_profiles_by_name_and_folder() {
    for (machine, program, user_data) in [
        (
            Machine::linux(),
            "usr/bin/chromium",
            "home/ann/.config/chromium",
        ),
        (
            Machine::linux(),
            "snap/bin/chromium",
            "home/ann/snap/chromium/common/chromium",
        ),
        (
            Machine::linux(),
            "var/lib/flatpak/exports/bin/com.microsoft.Edge",
            "home/ann/.var/app/com.microsoft.Edge/config/microsoft-edge",
        ),
        (
            Machine::macos(),
            "Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
            "Users/ann/Library/Application Support/Google/Chrome",
        ),
        (
            Machine::windows(),
            "Program Files/Google/Chrome/Application/chrome.exe",
            "Users/ann/AppData/Local/Google/Chrome/User Data",
        ),
    ] {
        machine.program(program);
        assert!(machine.only().profiles.is_empty(), "never started");
        machine.write(&format!("{user_data}/Local State"), LOCAL_STATE);
        let browser = machine.only();
        assert_eq!(browser.user_data_dir, Some(machine.path(user_data)));
        let profiles = browser.profiles.iter();
        let profiles: Vec<_> = profiles.map(|p| (&p.folder[..], &p.name[..])).collect();
        assert_eq!(
            profiles,
            [
                ("Default", "Ann"),
                ("Profile 2", "Work"),
                ("Profile 3", "Profile 3"),
                ("Profile 10", "Guest room"),
            ]
        );
    }
}

#[test]
fn an_unreadable_local_state_lists_no_profiles() {
    let machine = Machine::linux();
    machine.program("usr/bin/chromium");
    for text in ["", "{", "[]", r#"{"profile":{"info_cache":[]}}"#] {
        machine.write("home/ann/.config/chromium/Local State", text);
        assert!(machine.only().profiles.is_empty(), "{text}");
    }
}

#[test]
fn variables_move_the_user_data_directory_on_linux() {
    let mut machine = Machine::linux();
    machine.program("usr/bin/google-chrome");
    for (variable, expected) in [
        ("XDG_CONFIG_HOME", "xdg/google-chrome"),
        ("CHROME_CONFIG_HOME", "chrome-config/google-chrome"),
        ("CHROME_USER_DATA_DIR", "chrome-data"),
    ] {
        let value = expected.split('/').next().unwrap();
        let value = machine.path(value).into();
        machine.environment.variables.insert(variable, value);
        let expected = Some(machine.path(expected));
        assert_eq!(machine.only().user_data_dir, expected, "{variable}");
    }
}

#[test]
fn the_lock_says_whether_a_browser_is_running() {
    for (machine, program, user_data) in [
        (
            Machine::linux(),
            "usr/bin/chromium",
            "home/ann/.config/chromium",
        ),
        (
            Machine::macos(),
            "Applications/Vivaldi.app/Contents/MacOS/Vivaldi",
            "Users/ann/Library/Application Support/Vivaldi",
        ),
    ] {
        machine.program(program);
        assert_eq!(machine.running(), Some(false));
        let lock = format!("{user_data}/SingletonLock");
        machine.link(&lock, "desk-1-4242");
        assert_eq!(machine.running(), Some(false), "nobody listens");
        fs::remove_file(machine.path(&lock)).unwrap();
        let socket = machine.path("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        let link = format!("{user_data}/SingletonSocket");
        machine.link(&link, socket.to_str().unwrap());
        for (target, expected) in [
            ("desk-1-4242", Some(true)),
            ("desk-1-17", Some(false)),
            ("other-4242", None),
            ("nonsense", None),
        ] {
            machine.link(&lock, target);
            assert_eq!(machine.running(), expected, "{target}");
            fs::remove_file(machine.path(&lock)).unwrap();
        }
    }
}

#[test]
fn whether_a_flatpak_is_running_is_unknown() {
    let machine = Machine::linux();
    machine.program("var/lib/flatpak/exports/bin/com.google.Chrome");
    assert_eq!(machine.running(), Some(false));
    let user_data = "home/ann/.var/app/com.google.Chrome/config/google-chrome";
    machine.link(&format!("{user_data}/SingletonLock"), "desk-1-4242");
    assert_eq!(machine.running(), None);
}

#[test]
fn a_lock_file_says_that_a_browser_is_running_on_windows() {
    let machine = Machine::windows();
    machine.program("Program Files/Google/Chrome/Application/chrome.exe");
    assert_eq!(machine.running(), Some(false));
    machine.write(
        "Users/ann/AppData/Local/Google/Chrome/User Data/lockfile",
        "",
    );
    assert_eq!(machine.running(), Some(true));
}
