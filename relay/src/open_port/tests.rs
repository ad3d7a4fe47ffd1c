//! When the port may be opened, how long it stays open, and what extends it.

use super::*;

fn options(seconds: u32) -> OpenPortOptions {
    OpenPortOptions {
        seconds,
        port: None,
        browser: None,
        without_user_check: false,
    }
}

fn opening(seconds: u32) -> Opening {
    Opening {
        id: 1,
        port: 9222,
        browser: Some("work".to_owned()),
        end: Mutex::new(End::after(seconds)),
        is_closed: AtomicBool::new(false),
    }
}

#[test]
fn time_is_limited() {
    for seconds in [1, 600, MAX_OPEN_SECONDS] {
        assert!(check(&options(seconds), true).is_ok(), "{seconds}");
    }
    for seconds in [0, MAX_OPEN_SECONDS + 1, u32::MAX] {
        let error = check(&options(seconds), true).unwrap_err().to_string();
        assert!(error.contains("8 hours"), "{error}");
    }
}

#[test]
fn standard_port_of_browsers_is_refused() {
    let on_port = |port| OpenPortOptions {
        port: Some(port),
        ..options(600)
    };
    let error = check(&on_port(80), true).unwrap_err().to_string();
    assert!(error.contains("--port"), "{error}");
    for port in [0, 8080, 9222] {
        assert!(check(&on_port(port), true).is_ok(), "{port}");
    }
}

#[test]
fn where_nobody_can_be_identified_the_user_has_to_agree() {
    let error = check(&options(600), false).unwrap_err().to_string();
    assert!(error.contains("--without-user-check"), "{error}");
    let agreed = OpenPortOptions {
        without_user_check: true,
        ..options(600)
    };
    assert!(check(&agreed, false).is_ok());
}

#[tokio::test(start_paused = true)]
async fn ends_with_its_time_or_before_by_the_clock() {
    let opening = opening(600);
    assert!(opening.is_open());
    tokio::time::advance(Duration::from_secs(599)).await;
    assert!(opening.is_open());
    tokio::time::advance(Duration::from_secs(1)).await;
    assert!(!opening.is_open());
    // A machine that slept: its timers have not moved, but the clock has.
    opening.set_end(End {
        until: SystemTime::now() - Duration::from_secs(1),
        ..End::after(600)
    });
    assert!(!opening.is_open());
}

#[test]
fn only_the_same_port_and_browser_are_extended() {
    let opening = opening(600);
    let asked = |port: Option<u16>, browser: Option<&str>| OpenPortOptions {
        port,
        browser: browser.map(str::to_owned),
        ..options(60)
    };
    for (port, browser) in [(None, None), (Some(9222), None), (None, Some("Work"))] {
        assert!(opening.fits(&asked(port, browser)), "{port:?} {browser:?}");
    }
    for (port, browser) in [(Some(9223), None), (None, Some("private"))] {
        assert!(!opening.fits(&asked(port, browser)), "{port:?} {browser:?}");
    }
}
