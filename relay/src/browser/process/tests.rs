use super::*;
use rustix::process::Signal;
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

fn start(arguments: &[&str]) -> Child {
    start_program(Path::new("sh"), "sleep 60 & wait", arguments)
}

fn start_program(program: &Path, script: &str, arguments: &[&str]) -> Child {
    Command::new(program)
        .args(["-c", script, "sh"])
        .args(arguments)
        .stdin(Stdio::piped())
        .process_group(0)
        .spawn()
        .unwrap()
}

/// A program of its own for a test: a copy of the shell.
fn program_in(folder: &Path) -> PathBuf {
    let program = folder.canonicalize().unwrap().join("browser");
    // Not with `fs::copy`: a process that another test starts meanwhile would hold the file open
    // for writing, and the kernel would refuse to execute it.
    let copied = Command::new("cp").arg("/bin/sh").arg(&program).status();
    assert!(copied.unwrap().success());
    program
}

/// Waits until the kernel shows the arguments of a process that was just started.
fn wait_until_running(process: &LaunchedProcess) {
    while !process.is_running() {
        std::thread::sleep(POLL_INTERVAL);
    }
}

fn kill(process: &LaunchedProcess, mut child: Child) {
    process.group().unwrap().signal(Signal::KILL);
    child.wait().unwrap();
}

#[tokio::test]
async fn stops_only_the_browser_that_was_launched() {
    let mut child = start(&["--user-data-dir=/p", "--headless=new"]);
    let pid = child.id();
    let own = |profile: &str, headless| LaunchedProcess::new(pid, PathBuf::from(profile), headless);
    wait_until_running(&own("/p", true));
    assert!(!own("/other", true).is_running());
    own("/other", true).stop().await;
    assert!(child.try_wait().unwrap().is_none(), "another profile");
    let earlier = LaunchedProcess {
        identity: ProcessIdentity {
            pid,
            started: Some("1".to_owned()),
        },
        ..own("/p", true)
    };
    assert!(!earlier.is_running());
    let stopping = own("/p", true);
    tokio::join!(stopping.stop(), async {
        tokio::task::spawn_blocking(move || child.wait())
            .await
            .unwrap()
            .unwrap();
    });
}

#[tokio::test]
async fn browser_is_stopped_although_the_script_that_started_it_is_gone() {
    let browser = "sh -c 'sleep 60 & wait' sh";
    let script = format!("{browser} --user-data-dir=/p & read line");
    let mut leader = start_program(Path::new("sh"), &script, &["--user-data-dir=/p"]);
    let own = LaunchedProcess::new(leader.id(), PathBuf::from("/p"), false);
    let other = LaunchedProcess::new(leader.id(), PathBuf::from("/other"), false);
    let members = || own.group().unwrap().members();
    let is_browser = |pid: &u32| *pid != own.pid() && own.is_browser(*pid);
    while !members().iter().any(is_browser) {
        std::thread::sleep(POLL_INTERVAL);
    }
    drop(leader.stdin.take());
    leader.wait().unwrap();
    assert!(!own.is_running() && own.is_left() && !other.is_left());
    other.stop().await;
    assert!(!members().is_empty(), "another profile");
    own.stop().await;
    assert!(members().is_empty() && !own.is_left());
}

#[test]
fn browser_with_a_window_is_not_taken_for_a_headless_one() {
    let child = start(&["--user-data-dir=/p"]);
    let headless = LaunchedProcess::new(child.id(), PathBuf::from("/p"), true);
    let own = LaunchedProcess {
        headless: false,
        ..headless.clone()
    };
    wait_until_running(&own);
    assert!(!headless.is_running());
    kill(&own, child);
}

#[tokio::test]
async fn another_program_with_the_same_arguments_is_not_stopped() {
    let mut child = start(&["--user-data-dir=/p"]);
    let mut own = LaunchedProcess::new(child.id(), PathBuf::from("/p"), false);
    wait_until_running(&own);
    let other = LaunchedProcess {
        executable: Some(PathBuf::from("/usr/lib/chromium/chromium")),
        ..own.clone()
    };
    assert!(!other.is_running());
    other.stop().await;
    assert!(child.try_wait().unwrap().is_none());
    assert!(own.note_executable() && own.is_running());
    kill(&own, child);
}

#[test]
fn script_may_become_the_browser_until_it_is_ready() {
    let folder = tempfile::tempdir().unwrap();
    let program = program_in(folder.path());
    let script = format!("read line; exec {} -c 'read line' sh $1", program.display());
    let mut child = start_program(Path::new("sh"), &script, &["--user-data-dir=/p"]);
    let mut own = LaunchedProcess::new(child.id(), PathBuf::from("/p"), false);
    wait_until_running(&own);
    child.stdin.as_mut().unwrap().write_all(b"go\n").unwrap();
    while executable(own.pid()).as_ref() != Some(&program) {
        std::thread::sleep(POLL_INTERVAL);
    }
    wait_until_running(&own);
    assert!(own.note_executable(), "it was unknown before");
    assert_eq!(own.executable.as_ref(), Some(&program));
    assert!(!own.note_executable(), "it is known already");
    kill(&own, child);
}

#[test]
fn upgraded_browser_is_still_recognized() {
    let folder = tempfile::tempdir().unwrap();
    let program = program_in(folder.path());
    let child = start_program(&program, "sleep 60 & wait", &["--user-data-dir=/p"]);
    let mut own = LaunchedProcess::new(child.id(), PathBuf::from("/p"), false);
    wait_until_running(&own);
    own.note_executable();
    std::fs::remove_file(&program).unwrap();
    assert!(own.is_running());
    let text = serde_json::to_string(&own).unwrap();
    assert_eq!(serde_json::from_str::<LaunchedProcess>(&text).unwrap(), own);
    kill(&own, child);
}

#[test]
fn process_that_has_exited_is_not_alive() {
    let mut child = start(&[]);
    let process = ProcessIdentity::of(child.id());
    assert!(process.is_alive());
    child.kill().unwrap();
    // Its parent has not waited for it, so its id is still taken.
    #[cfg(target_os = "linux")]
    while process.is_alive() {
        std::thread::sleep(POLL_INTERVAL);
    }
    child.wait().unwrap();
    assert!(!process.is_alive());
    assert!(!ProcessIdentity::of(child.id()).is_alive());
}

#[tokio::test]
async fn browser_in_another_session_is_stopped_with_the_script_that_started_it() {
    let folder = tempfile::tempdir().unwrap();
    let profile = folder.path().join("profile");
    let argument = format!("--user-data-dir={}", profile.display());
    let mut script = start(&[&argument]);
    let mut own = LaunchedProcess::new(script.id(), profile.clone(), false);
    wait_until_running(&own);
    let (mut browser, _listener) = profile_holder::tests::open(&profile);
    while !own.is_browser(browser.id()) {
        std::thread::sleep(POLL_INTERVAL);
    }
    let mut other = LaunchedProcess::new(script.id(), PathBuf::from("/other"), false);
    assert!(!other.note_executable());
    assert!(own.note_executable());
    // As the watchdog gets it.
    let text = serde_json::to_string(&own).unwrap();
    let own: LaunchedProcess = serde_json::from_str(&text).unwrap();
    let waiting = tokio::task::spawn_blocking(move || script.wait());
    own.stop_child().await;
    waiting.await.unwrap().unwrap();
    assert!(browser.try_wait().unwrap().is_some());
}
