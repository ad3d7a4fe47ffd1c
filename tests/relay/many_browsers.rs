//! Several browsers at one relay (`--browsers many`): how clients choose one, and that nothing gets
//! from one to another.

use futures_util::future::join_all;
use serde_json::{Value, json};
use tabwire_tests::{
    Client, EXTENSION_ID, Relay, ScriptedExtension, http, run, tab, target_of, until,
};

use crate::setup::{attach, evaluate};

const MANY: &[&str] = &["--browsers", "many", "--client-mode", "multi-client"];

/// A relay with the browsers `chrome` and `chrome-2`. Each has a tab 1, and one of its own.
pub async fn start() -> (Relay, [ScriptedExtension; 2]) {
    let relay = Relay::start(MANY).await;
    let installation = relay.installation();
    let mut extensions = Vec::new();
    for number in [1, 2] {
        let tabs = [tab(1), tab(10 + i64::from(number))];
        let own = installation.with_id(number);
        let extension = ScriptedExtension::open_as(&relay, &own, EXTENSION_ID, &tabs).await;
        let count = number as usize;
        until("the browser is connected", async || {
            (relay.get("/").await["browsers"] == count).then_some(())
        })
        .await;
        extensions.push(extension);
    }
    let Ok(extensions) = extensions.try_into() else {
        panic!("two extensions")
    };
    (relay, extensions)
}

async fn get(relay: &Relay, path: &str) -> http::Response {
    let token = relay.token();
    let separator = if path.contains('?') { '&' } else { '?' };
    http::get(relay.port, &format!("{path}{separator}token={token}"), &[]).await
}

#[tokio::test]
async fn client_has_to_choose_among_several_browsers() {
    let (relay, _extensions) = start().await;
    for path in ["/json/version", "/json/list", "/client-slot"] {
        let response = get(&relay, path).await;
        assert_eq!(response.status, 400, "{path}");
        assert_eq!(response.json()["browsers"], json!(["chrome", "chrome-2"]));
        let response = get(&relay, &format!("{path}?browser=edge")).await;
        assert_eq!(response.status, 404, "{path}");
        assert!(
            response.body.contains("chrome, chrome-2"),
            "{}",
            response.body
        );
    }
    let (_, response) = http::upgrade(relay.port, &relay.cdp_path(), &[]).await;
    assert_eq!(response.status, 400);
    let version = get(&relay, "/json/version?browser=chrome-2").await.json();
    let url = version["webSocketDebuggerUrl"].as_str().unwrap();
    assert!(url.ends_with("&browser=chrome-2"), "{url}");
    let list = get(&relay, "/json/list?browser=chrome-2").await.json();
    let ids: Vec<&Value> = list
        .as_array()
        .unwrap()
        .iter()
        .map(|page| &page["id"])
        .collect();
    assert_eq!(ids, [&json!(target_of(1)), &json!(target_of(12))]);
}

#[tokio::test]
async fn naming_two_browsers_is_an_error_in_json() {
    let (relay, _extensions) = start().await;
    let query = "browser=chrome&browser=chrome-2";
    for path in [
        "/json/version",
        "/json/list",
        "/json/protocol",
        "/client-slot",
    ] {
        let response = get(&relay, &format!("{path}?{query}")).await;
        assert_eq!(response.status, 400, "{path}");
        let error = response.json()["error"].as_str().unwrap().to_owned();
        assert!(error.contains("browser=NAME"), "{path}: {error}");
    }
    let path = format!("{}&{query}", relay.cdp_path());
    let (_, response) = http::upgrade(relay.port, &path, &[]).await;
    assert_eq!(response.status, 400);
    assert!(response.json()["error"].is_string());
}

#[tokio::test]
async fn client_without_a_name_gets_the_only_browser() {
    let (relay, [first, _second]) = start().await;
    first.drop_connection().await;
    until("one browser is left", async || {
        (relay.get("/").await["browsers"] == 1).then_some(())
    })
    .await;
    let mut client = Client::connect(&relay).await;
    let targets = client.ok("Target.getTargets", json!({})).await;
    assert_eq!(targets["targetInfos"][1]["targetId"], target_of(12));
}

#[tokio::test]
async fn no_browser_is_an_error_that_says_what_to_do() {
    let relay = Relay::start(MANY).await;
    let response = get(&relay, "/json/version").await;
    assert_eq!(response.status, 503);
    assert!(
        response.body.contains("install-extension"),
        "{}",
        response.body
    );
}

#[tokio::test]
async fn each_browser_has_a_slot_of_its_own() {
    let relay = Relay::start(&["--browsers", "many"]).await;
    let installation = relay.installation();
    let mut extensions = Vec::new();
    for number in [1, 2] {
        let own = installation.with_id(number);
        let extension = ScriptedExtension::open_as(&relay, &own, EXTENSION_ID, &[tab(1)]).await;
        extension.until_called("listTabs", 1).await;
        extensions.push(extension);
    }
    let path = |name: &str| format!("{}&browser={name}", relay.cdp_path());
    let (_first, response) = http::upgrade(relay.port, &path("chrome"), &[]).await;
    assert_eq!(response.status, 101);
    let (_, response) = http::upgrade(relay.port, &path("chrome"), &[]).await;
    assert_eq!(response.status, 409);
    let (_second, response) = http::upgrade(relay.port, &path("chrome-2"), &[]).await;
    assert_eq!(response.status, 101);
    let slot = relay.get("/client-slot?browser=chrome-2").await;
    assert_eq!(
        (&slot["busy"], &slot["browser"]),
        (&json!(true), &json!("chrome-2"))
    );
}

/// Two browsers with the same tab ids, two clients each. Every message carries the name of its
/// browser.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_crosses_between_browsers() {
    const ROUNDS: usize = 300;
    let (relay, extensions) = start().await;
    let clients = ["chrome", "chrome-2"]
        .into_iter()
        .flat_map(|name| [name, name]);
    let clients = join_all(clients.map(async |name| {
        let mut client = Client::connect_to(&relay, name).await;
        let session = attach(&mut client, 1).await;
        evaluate(&mut client, &session).await;
        client.ok_in(&session, "Log.enable", json!({})).await;
        client.drain().await;
        (client, session, name)
    }))
    .await;
    let events = async {
        for round in 0..ROUNDS {
            for (extension, name) in extensions.iter().zip(["chrome", "chrome-2"]) {
                let params = json!({ "entry": { "source": name, "round": round } });
                extension.send_cdp_event(1, "Log.entryAdded", params).await;
            }
        }
    };
    let work = join_all(
        clients
            .into_iter()
            .map(async |(mut client, session, name)| {
                for round in 0..ROUNDS {
                    let params = json!({ "expression": format!("{name} {round}") });
                    let result = client
                        .ok_in(&session, "Runtime.evaluate", params.clone())
                        .await;
                    assert_eq!(result["params"], params);
                    let entry = client.event_in(&session, "Log.entryAdded").await;
                    let expected = json!({ "source": name, "round": round });
                    assert_eq!(entry["params"]["entry"], expected);
                }
            }),
    );
    tokio::join!(events, work);
    let expressions = |extension: &ScriptedExtension| {
        let calls = extension.calls("Runtime.evaluate").into_iter();
        calls
            .filter_map(|call| call.params()["expression"].as_str().map(str::to_owned))
            .collect::<Vec<_>>()
    };
    for (extension, foreign) in extensions.iter().zip(["chrome-2 ", "chrome "]) {
        let crossed = expressions(extension)
            .iter()
            .filter(|text| text.starts_with(foreign))
            .count();
        assert_eq!(crossed, 0);
    }
}

#[tokio::test]
async fn unpaired_browser_is_gone() {
    let (relay, [_first, second]) = start().await;
    run(&relay.home(), &["unpair", "chrome"], &[]);
    until("it is gone", async || {
        let names = get(&relay, "/browsers").await.json();
        (names.as_array().unwrap().len() == 1).then_some(())
    })
    .await;
    let response = get(&relay, "/client-slot?browser=chrome").await;
    assert_eq!(response.status, 404);
    drop(second);
}

#[tokio::test]
async fn status_without_a_browser_is_not_an_error() {
    let relay = Relay::start(MANY).await;
    let exit = run(&relay.home(), &["status"], &[]);
    assert_eq!(exit.code, Some(0), "{exit:?}");
    assert!(exit.stdout.contains("not connected"), "{exit:?}");
}

#[tokio::test]
async fn commands_take_a_browser_by_name() {
    let (relay, _extensions) = start().await;
    let exit = run(&relay.home(), &["cdp-url", "--browser", "chrome-2"], &[]);
    assert!(
        exit.stdout.trim().ends_with("&browser=chrome-2"),
        "{exit:?}"
    );
    let exit = run(
        &relay.home(),
        &["cdp-url"],
        &[("TABWIRE_BROWSER", "chrome")],
    );
    assert!(exit.stdout.trim().ends_with("&browser=chrome"), "{exit:?}");
    let exit = run(&relay.home(), &["cdp-url", "--browser", "a&b"], &[]);
    assert_eq!(exit.code, Some(2), "{exit:?}");
    let exit = run(&relay.home(), &["status"], &[]);
    for name in ["chrome (", "chrome-2 ("] {
        assert!(exit.stdout.contains(name), "{exit:?}");
    }
}
