//! Browsers that a client needs: launched for it, and again when they have gone. A script plays the program,
//! and a scripted extension the browser.

use rustix::process::{Signal, kill_process_group};
use serde_json::json;
use tabwire_home::control::{self, LaunchOptions, ProfileChoice};
use tabwire_tests::{Client, tab};

use crate::launched_browsers::{Browsers, report};
use crate::launching::{is_running, to_pid, token};
use crate::setup::MULTI_CLIENT;

#[tokio::test]
async fn client_is_connected_while_the_browser_launched_for_it_lists_its_tabs() {
    let browsers = Browsers::on_demand().await;
    let starting = async {
        let extension = browsers.connect(1).await;
        extension.hold("listTabs");
        extension
    };
    let (mut client, mut extension) = tokio::join!(Client::connect(&browsers.relay), starting);
    let list = extension.held_call("listTabs").await;
    let targets = client.send(None, "Target.getTargets", json!({})).await;
    extension.reply(&list, json!({ "tabs": [tab(1)] })).await;
    let targets = client.reply_to(targets).await.unwrap();
    assert_eq!(targets["targetInfos"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn client_that_waits_for_a_launch_that_hangs_gets_the_restarted_browser() {
    let browsers = Browsers::on_demand().await;
    let connecting = Client::connect(&browsers.relay);
    let (mut client, extension) = tokio::join!(connecting, browsers.connect(1));
    browsers.relay.until_extension(true).await;
    let first = browsers.until_started(1).await;
    let (port, token) = (browsers.relay.port, token(&browsers.relay));
    // Clients are connected a moment before the launch has ended. Until then, they would share its outcome.
    let options = LaunchOptions {
        browser: Some(browsers.program.path.display().to_string()),
        ..LaunchOptions::default()
    };
    let same = control::launch(port, &token, &options).await.unwrap();
    assert_eq!((same.pid, same.joined), (first, true));
    kill_process_group(to_pid(first), Signal::KILL).unwrap();
    extension.drop_connection().await;
    browsers.relay.until_extension(false).await;
    let targets = client.send(None, "Target.getTargets", json!({})).await;
    browsers.until_started(2).await;
    let restarting = tokio::spawn(async move { control::restart(port, &token, None).await });
    let third = browsers.until_started(3).await;
    let _extension = browsers.connect(1).await;
    assert_eq!(report(restarting).await.pid, third);
    let targets = client.reply_to(targets).await.unwrap();
    assert_eq!(targets["targetInfos"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn browser_that_was_launched_explicitly_is_launched_again_until_it_is_stopped() {
    let browsers = Browsers::new(MULTI_CLIENT).await;
    let kept = browsers.options(ProfileChoice::Kept, None);
    let (first, extension) = browsers.launch(kept.clone(), 1).await;
    let mut client = Client::connect(&browsers.relay).await;
    kill_process_group(to_pid(first.pid), Signal::KILL).unwrap();
    extension.drop_connection().await;
    browsers.relay.until_extension(false).await;
    assert_eq!(browsers.relay.get("/").await["launches"], true);
    let targets = client.send(None, "Target.getTargets", json!({})).await;
    let second = browsers.until_started(2).await;
    let extension = browsers.connect(1).await;
    let targets = client.reply_to(targets).await.unwrap();
    assert_eq!(targets["targetInfos"].as_array().unwrap().len(), 1);
    // Returns when the launch for the client is over.
    let joined = control::launch(browsers.relay.port, &token(&browsers.relay), &kept).await;
    assert_eq!(joined.unwrap().pid, second);
    kill_process_group(to_pid(second), Signal::KILL).unwrap();
    extension.drop_connection().await;
    browsers.relay.until_extension(false).await;
    let connecting = Client::connect(&browsers.relay);
    let (_client, extension) = tokio::join!(connecting, browsers.connect(1));
    let third = browsers.until_started(3).await;
    browsers.stop(&first.name).await.unwrap();
    extension.drop_connection().await;
    assert!(!is_running(third));
    let mut late = Client::connect(&browsers.relay).await;
    let targets = late.send(None, "Target.getTargets", json!({})).await;
    let error = late.reply_to(targets).await.unwrap_err().to_string();
    assert!(
        error.contains("Launch it again with `tabwire launch`"),
        "{error}"
    );
    assert_eq!(browsers.program.pids().len(), 3);
}
