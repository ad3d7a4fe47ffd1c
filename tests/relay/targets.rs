//! What the relay answers itself: the browser, its targets, and sessions on them.

use serde_json::{Value, json};
use tabwire_tests::{Client, Relay, ScriptedExtension, tab, target_of};

async fn relay_with(tabs: &[i64]) -> (Relay, ScriptedExtension, Client) {
    let relay = Relay::start(&[]).await;
    let tabs: Vec<Value> = tabs.iter().map(|id| tab(*id)).collect();
    let extension = ScriptedExtension::connect(&relay, &tabs).await;
    let client = Client::connect(&relay).await;
    (relay, extension, client)
}

fn names(messages: &[Value]) -> Vec<&str> {
    messages
        .iter()
        .map(|message| message["method"].as_str().unwrap_or("reply"))
        .collect()
}

fn target_ids(infos: &Value) -> Vec<String> {
    infos
        .as_array()
        .unwrap()
        .iter()
        .map(|info| info["targetId"].as_str().unwrap().to_owned())
        .collect()
}

async fn default_context(client: &mut Client) -> Value {
    client.ok("Target.getBrowserContexts", json!({})).await["defaultBrowserContextId"].clone()
}

#[tokio::test]
async fn the_browsers_version_is_the_one_the_extension_told() {
    let (_relay, extension, mut client) = relay_with(&[1]).await;
    let version = client.ok("Browser.getVersion", json!({})).await;
    assert_eq!(version["product"], "Chrome/156.0.8078.79");
    assert_eq!(version["userAgent"], "Mozilla/5.0 (scripted)");
    assert_eq!(version["protocolVersion"], "1.3");
    assert!(
        version["revision"].is_string() && version["jsVersion"].is_string(),
        "{version}"
    );
    assert_eq!(extension.call_names(), ["listTabs"]);
}

#[tokio::test]
async fn discovery_tells_every_target_before_the_reply_and_then_what_changes() {
    let (_relay, extension, mut client) = relay_with(&[1, 2]).await;
    let told = client
        .through_reply(
            None,
            "Target.setDiscoverTargets",
            json!({ "discover": true }),
        )
        .await;
    assert_eq!(
        names(&told),
        ["Target.targetCreated", "Target.targetCreated", "reply"]
    );
    let info = &told[0]["params"]["targetInfo"];
    assert_eq!(
        (
            &info["targetId"],
            &info["type"],
            &info["url"],
            &info["title"]
        ),
        (
            &json!(target_of(1)),
            &json!("page"),
            &json!("https://example.com/1"),
            &json!("Tab 1")
        )
    );
    assert_eq!(info["attached"], false);
    assert_eq!(info["browserContextId"], default_context(&mut client).await);

    let mut opened = tab(3);
    opened["openerTabId"] = 1.into();
    extension.event("tabCreated", opened).await;
    let created = client.event("Target.targetCreated").await;
    assert_eq!(created["params"]["targetInfo"]["openerId"], target_of(1));
    extension
        .event("tabUpdated", json!({ "tabId": 3, "title": "New title" }))
        .await;
    let changed = client.event("Target.targetInfoChanged").await;
    assert_eq!(
        (
            &changed["params"]["targetInfo"]["title"],
            &changed["params"]["targetInfo"]["targetId"]
        ),
        (&json!("New title"), &json!(target_of(3)))
    );
    extension.event("tabRemoved", json!({ "tabId": 3 })).await;
    assert_eq!(
        client.event("Target.targetDestroyed").await["params"]["targetId"],
        target_of(3)
    );

    client
        .ok("Target.setDiscoverTargets", json!({ "discover": false }))
        .await;
    extension.event("tabRemoved", json!({ "tabId": 2 })).await;
    tabwire_tests::until("the tab is gone", async || {
        (client.ok("Target.getTargets", json!({})).await["targetInfos"]
            .as_array()
            .unwrap()
            .len()
            == 1)
            .then_some(())
    })
    .await;
    assert_eq!(client.said_so_far().await, Vec::<Value>::new());
}

#[tokio::test]
async fn auto_attach_gives_a_session_on_every_page_before_the_reply_and_attaches_no_debugger() {
    let (_relay, extension, mut client) = relay_with(&[1, 2, 3]).await;
    let context = default_context(&mut client).await;
    let params = json!({ "autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true });
    let told = client
        .through_reply(None, "Target.setAutoAttach", params.clone())
        .await;
    assert_eq!(
        names(&told),
        [
            "Target.attachedToTarget",
            "Target.attachedToTarget",
            "Target.attachedToTarget",
            "reply"
        ]
    );
    let mut sessions = Vec::new();
    for (message, id) in told.iter().zip(1..=3) {
        let info = &message["params"]["targetInfo"];
        assert_eq!(
            (&info["targetId"], &info["type"], &info["attached"]),
            (&json!(target_of(id)), &json!("page"), &json!(true))
        );
        assert_eq!(info["browserContextId"], context);
        assert_eq!(message["params"]["waitingForDebugger"], false);
        let session = message["params"]["sessionId"].as_str().unwrap();
        assert!(
            session.len() == 32 && session.bytes().all(|b| b.is_ascii_hexdigit()),
            "{session}"
        );
        sessions.push(session.to_owned());
    }
    let again = client
        .through_reply(None, "Target.setAutoAttach", params)
        .await;
    assert_eq!(
        names(&again),
        ["reply"],
        "what is attached is not attached twice"
    );
    extension.event("tabCreated", tab(4)).await;
    assert_eq!(
        client.event("Target.attachedToTarget").await["params"]["targetInfo"]["targetId"],
        target_of(4)
    );
    sessions.sort();
    sessions.dedup();
    assert_eq!(sessions.len(), 3);
    assert_eq!(extension.call_names(), ["listTabs"]);
    let error = client
        .request("Target.setAutoAttach", json!({ "autoAttach": true }))
        .await
        .unwrap_err();
    assert!(crate::message_of(&error).contains("flatten"), "{error}");
}

#[tokio::test]
async fn a_filter_chooses_between_pages_and_the_tabs_above_them() {
    let (_relay, _extension, mut client) = relay_with(&[1]).await;
    let tabs_only = json!([{ "type": "page", "exclude": true }, {}]);
    let params = json!({ "autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true, "filter": tabs_only });
    let told = client
        .through_reply(None, "Target.setAutoAttach", params)
        .await;
    assert_eq!(names(&told), ["Target.attachedToTarget", "reply"]);
    let above = &told[0]["params"];
    assert_eq!(above["targetInfo"]["type"], "tab");
    assert_ne!(above["targetInfo"]["targetId"], target_of(1));
    let session = above["sessionId"].as_str().unwrap();
    let told = client
        .through_reply(
            Some(session),
            "Target.setAutoAttach",
            json!({ "autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true }),
        )
        .await;
    assert_eq!(names(&told), ["Target.attachedToTarget", "reply"]);
    assert_eq!(
        (
            &told[0]["sessionId"],
            &told[0]["params"]["targetInfo"]["targetId"]
        ),
        (&json!(session), &json!(target_of(1)))
    );
}

#[tokio::test]
async fn targets_are_listed_and_described() {
    let (_relay, _extension, mut client) = relay_with(&[1, 2]).await;
    let infos = client.ok("Target.getTargets", json!({})).await["targetInfos"].clone();
    assert_eq!(target_ids(&infos), [target_of(1), target_of(2)]);
    let described = client
        .ok("Target.getTargetInfo", json!({ "targetId": target_of(2) }))
        .await;
    assert_eq!(described["targetInfo"], infos[1]);
    assert_eq!(
        client.ok("Target.getTargetInfo", json!({})).await["targetInfo"]["type"],
        "browser"
    );
    let session = crate::attach(&mut client, 2).await;
    let own = client
        .ok_in(&session, "Target.getTargetInfo", json!({}))
        .await;
    assert_eq!(
        (
            &own["targetInfo"]["targetId"],
            &own["targetInfo"]["attached"]
        ),
        (&json!(target_of(2)), &json!(true))
    );
    let error = client
        .request("Target.getTargetInfo", json!({ "targetId": "nothing" }))
        .await
        .unwrap_err();
    assert!(crate::message_of(&error).contains("nothing"), "{error}");
}

#[tokio::test]
async fn a_client_attaches_to_a_target_as_often_as_it_likes() {
    let (_relay, extension, mut client) = relay_with(&[1]).await;
    let told = client
        .through_reply(
            None,
            "Target.attachToTarget",
            json!({ "targetId": target_of(1), "flatten": true }),
        )
        .await;
    assert_eq!(names(&told), ["Target.attachedToTarget", "reply"]);
    assert_eq!(
        told[0]["params"]["sessionId"],
        told[1]["result"]["sessionId"]
    );
    let first = told[1]["result"]["sessionId"].as_str().unwrap();
    let second = crate::attach(&mut client, 1).await;
    assert_ne!(first, second);
    for session in [first, &second] {
        client.ok_in(session, "Runtime.evaluate", json!({})).await;
    }
    assert_eq!(extension.calls("attachTab").len(), 1);
    client
        .ok("Target.detachFromTarget", json!({ "sessionId": first }))
        .await;
    assert_eq!(
        client.event("Target.detachedFromTarget").await["params"]["sessionId"],
        first
    );
    client.ok_in(&second, "Runtime.evaluate", json!({})).await;
    assert!(
        extension.calls("detachTab").is_empty(),
        "the second session still uses the tab"
    );
    client
        .ok("Target.detachFromTarget", json!({ "sessionId": second }))
        .await;
    extension.until_called("detachTab", 1).await;
    for params in [
        json!({ "targetId": "nothing", "flatten": true }),
        json!({ "targetId": target_of(1) }),
    ] {
        assert_eq!(
            client
                .request("Target.attachToTarget", params)
                .await
                .unwrap_err()["code"],
            -32000
        );
    }
}

#[tokio::test]
async fn a_session_on_the_browser_itself_can_do_what_the_root_can() {
    let (_relay, _extension, mut client) = relay_with(&[1]).await;
    let session = client.ok("Target.attachToBrowserTarget", json!({})).await["sessionId"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(
        client
            .ok_in(&session, "Browser.getVersion", json!({}))
            .await["product"],
        "Chrome/156.0.8078.79"
    );
    let told = client
        .through_reply(
            Some(&session),
            "Target.setAutoAttach",
            json!({ "autoAttach": true, "waitForDebuggerOnStart": false, "flatten": true }),
        )
        .await;
    assert_eq!(names(&told), ["Target.attachedToTarget", "reply"]);
    assert!(
        told.iter()
            .all(|message| message["sessionId"] == session.as_str()),
        "{told:?}"
    );
}

#[tokio::test]
async fn a_created_target_is_announced_once_whichever_word_of_it_comes_first() {
    for told_first in [false, true] {
        let (_relay, mut extension, mut client) = relay_with(&[1]).await;
        extension.hold("createTab");
        client
            .ok("Target.setDiscoverTargets", json!({ "discover": true }))
            .await;
        client
            .ok(
                "Target.setAutoAttach",
                json!({ "autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true }),
            )
            .await;
        client.said_so_far().await;
        let id = client
            .send(
                None,
                "Target.createTarget",
                json!({ "url": "https://example.com/new" }),
            )
            .await;
        let call = extension.held_call("createTab").await;
        assert_eq!(
            call.params(),
            json!({ "url": "https://example.com/new", "newWindow": false, "active": false }),
            "nothing changes in front of the person"
        );
        if told_first {
            extension.event("tabCreated", tab(9)).await;
        }
        let mut created = tab(9);
        created["attached"] = true.into();
        extension.answer(&call, created).await;
        if !told_first {
            extension.event("tabCreated", tab(9)).await;
        }
        // What comes after this has been heard says that nothing more comes of it.
        extension
            .event("tabUpdated", json!({ "tabId": 1, "title": "the end" }))
            .await;
        client.event("Target.targetInfoChanged").await;
        let attached = client.event("Target.attachedToTarget").await;
        assert_eq!(attached["params"]["targetInfo"]["targetId"], target_of(9));
        assert_eq!(client.reply_to(id).await.unwrap()["targetId"], target_of(9));
        let rest = client.said_so_far().await;
        assert_eq!(
            names(&rest),
            ["Target.targetCreated"],
            "told first: {told_first}"
        );
        let session = attached["params"]["sessionId"].as_str().unwrap();
        client.ok_in(session, "Runtime.evaluate", json!({})).await;
    }
}

#[tokio::test]
async fn the_announcement_of_a_created_target_precedes_the_reply() {
    let (_relay, mut extension, mut client) = relay_with(&[1]).await;
    extension.hold("createTab");
    client
        .ok(
            "Target.setAutoAttach",
            json!({ "autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true }),
        )
        .await;
    let creating = client.through_reply(None, "Target.createTarget", json!({ "url": "" }));
    let answering = async {
        let call = extension.held_call("createTab").await;
        assert_eq!(call.params()["url"], "about:blank");
        extension.answer(&call, tab(9)).await;
    };
    let (told, ()) = tokio::join!(creating, answering);
    assert_eq!(names(&told), ["Target.attachedToTarget", "reply"]);
}

#[tokio::test]
async fn a_target_that_cannot_be_created_is_an_error() {
    let (_relay, mut extension, mut client) = relay_with(&[1]).await;
    extension.hold("createTab");
    let id = client
        .send(
            None,
            "Target.createTarget",
            json!({ "url": "chrome://crash" }),
        )
        .await;
    let call = extension.held_call("createTab").await;
    extension
        .fail(&call, json!("this address is not opened for clients"))
        .await;
    assert!(crate::message_of(&client.reply_to(id).await.unwrap_err()).contains("not opened"));
    let error = client
        .request(
            "Target.createTarget",
            json!({ "url": "about:blank", "browserContextId": "other" }),
        )
        .await
        .unwrap_err();
    assert!(crate::message_of(&error).contains("other"), "{error}");
    for method in [
        "Target.createBrowserContext",
        "Target.disposeBrowserContext",
    ] {
        let error = client
            .request(method, json!({ "browserContextId": "x" }))
            .await
            .unwrap_err();
        assert!(crate::message_of(&error).contains("own profile"), "{error}");
    }
}

#[tokio::test]
async fn a_closed_target_is_detached_and_destroyed_before_the_reply() {
    let (_relay, extension, mut client) = relay_with(&[1, 2]).await;
    client
        .ok("Target.setDiscoverTargets", json!({ "discover": true }))
        .await;
    let session = crate::attach(&mut client, 1).await;
    let told = client
        .through_reply(
            None,
            "Target.closeTarget",
            json!({ "targetId": target_of(1) }),
        )
        .await;
    assert_eq!(
        names(&told),
        [
            "Target.detachedFromTarget",
            "Target.targetDestroyed",
            "reply"
        ]
    );
    assert_eq!(
        told[0]["params"],
        json!({ "sessionId": session, "targetId": target_of(1) })
    );
    assert_eq!(told[2]["result"], json!({ "success": true }));
    extension.event("tabRemoved", json!({ "tabId": 1 })).await;
    assert_eq!(extension.calls("closeTab")[0].tab, Some(1));
    assert_eq!(
        target_ids(&client.ok("Target.getTargets", json!({})).await["targetInfos"]),
        [target_of(2)]
    );
    assert_eq!(client.said_so_far().await, Vec::<Value>::new());
    let error = client
        .request("Target.closeTarget", json!({ "targetId": target_of(1) }))
        .await
        .unwrap_err();
    assert_eq!(error["code"], -32000);
}

#[tokio::test]
async fn there_is_one_browser_context_and_it_keeps_its_id() {
    let relay = Relay::start(&["--client-mode", "multi-client"]).await;
    let _extension = ScriptedExtension::connect(&relay, &[tab(1)]).await;
    let (mut first, mut second) = (Client::connect(&relay).await, Client::connect(&relay).await);
    let contexts = first.ok("Target.getBrowserContexts", json!({})).await;
    assert_eq!(contexts["browserContextIds"], json!([]));
    assert!(
        contexts["defaultBrowserContextId"].is_string(),
        "{contexts}"
    );
    assert_eq!(
        second.ok("Target.getBrowserContexts", json!({})).await,
        contexts
    );
}

#[tokio::test]
async fn browser_close_ends_the_clients_own_connection_and_nothing_else() {
    let relay = Relay::start(&["--client-mode", "multi-client"]).await;
    let extension = ScriptedExtension::connect(&relay, &[tab(1)]).await;
    let (mut leaving, mut staying) = (Client::connect(&relay).await, Client::connect(&relay).await);
    leaving.ok("Browser.close", json!({})).await;
    let (code, reason) = leaving.closed().await.unwrap();
    assert_eq!(code, 1000);
    assert!(reason.contains("browser stays open"), "{reason}");
    relay.until_clients(1).await;
    let session = crate::attach(&mut staying, 1).await;
    staying.ok_in(&session, "Runtime.evaluate", json!({})).await;
    assert!(
        !extension.call_names().iter().any(|name| name == "closeTab"),
        "{:?}",
        extension.call_names()
    );
    assert_eq!(relay.get("/").await["targets"], 1);
}

#[tokio::test]
async fn a_target_is_brought_to_the_front_only_when_that_is_asked() {
    let (_relay, extension, mut client) = relay_with(&[1, 2]).await;
    let session = crate::attach(&mut client, 2).await;
    client.ok_in(&session, "Runtime.evaluate", json!({})).await;
    assert!(extension.calls("activateTab").is_empty());
    client
        .ok("Target.activateTarget", json!({ "targetId": target_of(2) }))
        .await;
    assert_eq!(extension.calls("activateTab")[0].tab, Some(2));
}
