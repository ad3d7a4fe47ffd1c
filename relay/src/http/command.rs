//! `POST /command`, with `--debug-http`: one action in the browser per request, for trying things
//! out with `curl`. Each request is a client of its own, which connects, does one thing and
//! disconnects.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::extract::{Extension, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::app::App;
use crate::http::guard::{Admission, Refusal, refusal};
use crate::link::client_link::{client_name, conflict};
use crate::link::local_client::{LocalClient, RequestError, Unfinished};
use crate::registry::clients::{ClientInfo, Clients};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandRequest {
    action: String,
    #[serde(default)]
    payload: Value,
    /// A tab's `id` in the result of `getTabs`.
    tab: Option<String>,
    browser: Option<String>,
}

/// The guard has already checked the token.
pub async fn run(
    State(app): State<Arc<App>>,
    Extension(admission): Extension<Admission>,
    headers: HeaderMap,
    request: Result<Json<CommandRequest>, JsonRejection>,
) -> Response {
    let Json(request) = match request {
        Ok(request) => request,
        Err(rejected) => return refusal(rejected.status(), &rejected.body_text()).into_response(),
    };
    let entry = match app.browser(request.browser.as_deref()).await {
        Ok(entry) => entry,
        Err(refused) => return refused.into_response(),
    };
    let info = ClientInfo {
        name: client_name(&headers),
        names_itself: false,
        process: None,
        peer: None,
        admission,
        identity: None,
        named_browser: request.browser.is_some(),
    };
    let Some(slot) = Clients::take_slot(&entry.connections, info) else {
        return conflict(&entry);
    };
    let limit = app.config.outbox_limit;
    let running = LocalClient::run(slot, entry.hub, limit, |client| {
        Box::pin(async move { perform(client, &request).await })
    });
    match running.await {
        Ok(Ok(result)) => Json(json!({ "result": result })).into_response(),
        Ok(Err(refused)) => refused.into_response(),
        Err(Unfinished::TimedOut) => refusal(
            StatusCode::GATEWAY_TIMEOUT,
            "The page did not finish in time.",
        )
        .into_response(),
        Err(Unfinished::Failed) => {
            refusal(StatusCode::INTERNAL_SERVER_ERROR, "The command failed.").into_response()
        }
    }
}

async fn perform(client: &mut LocalClient, request: &CommandRequest) -> Result<Value, Refusal> {
    let payload = &request.payload;
    match request.action.as_str() {
        "getTabs" => get_tabs(client).await,
        "createTab" => {
            let url = at(payload, "/url").as_str().unwrap_or("about:blank");
            let background = *at(payload, "/active") != true;
            let params = json!({ "url": url, "background": background });
            let created = send(client, None, "Target.createTarget", params).await?;
            Ok(json!({ "id": at(&created, "/targetId") }))
        }
        "closeTab" => on_target(client, request, "Target.closeTarget").await,
        "activateTab" => on_target(client, request, "Target.activateTarget").await,
        "navigate" => {
            let params = json!({ "url": text(payload, "url")? });
            let result = in_tab(client, request, "Page.navigate", params).await?;
            match at(&result, "/errorText").as_str() {
                Some(error) => Err(refusal(StatusCode::BAD_GATEWAY, error)),
                None => Ok(result),
            }
        }
        "evaluate" => evaluate(client, request).await,
        "screenshot" => screenshot(client, request).await,
        "cdp" => {
            let method = text(payload, "method")?.to_owned();
            let params = match at(payload, "/params") {
                Value::Null => json!({}),
                params => params.clone(),
            };
            match request.tab {
                Some(_) => in_tab(client, request, &method, params).await,
                None => send(client, None, &method, params).await,
            }
        }
        other => Err(refusal(
            StatusCode::BAD_REQUEST,
            &format!(
                "Unknown action '{other}'. Use getTabs, createTab, closeTab, activateTab, navigate, evaluate, screenshot or cdp."
            ),
        )),
    }
}

async fn get_tabs(client: &mut LocalClient) -> Result<Value, Refusal> {
    let targets = send(client, None, "Target.getTargets", json!({})).await?;
    let pages = at(&targets, "/targetInfos")
        .as_array()
        .into_iter()
        .flatten();
    let tabs = pages
        .filter(|target| *at(target, "/type") == "page")
        .map(|page| json!({ "id": at(page, "/targetId"), "url": at(page, "/url"), "title": at(page, "/title") }));
    Ok(tabs.collect())
}

async fn evaluate(client: &mut LocalClient, request: &CommandRequest) -> Result<Value, Refusal> {
    let params = json!({
        "expression": text(&request.payload, "expression")?,
        "returnByValue": true,
        "awaitPromise": true,
    });
    let result = in_tab(client, request, "Runtime.evaluate", params).await?;
    let exception = at(&result, "/exceptionDetails");
    if exception.is_null() {
        return Ok(at(&result, "/result/value").clone());
    }
    let description = at(exception, "/exception/description").as_str();
    let text = description.or(at(exception, "/text").as_str());
    Err(refusal(
        StatusCode::BAD_GATEWAY,
        text.unwrap_or("The expression threw an exception."),
    ))
}

async fn screenshot(client: &mut LocalClient, request: &CommandRequest) -> Result<Value, Refusal> {
    let format = at(&request.payload, "/format").as_str().unwrap_or("png");
    let beyond = *at(&request.payload, "/fullPage") == true;
    let params = json!({ "format": format, "captureBeyondViewport": beyond });
    let result = in_tab(client, request, "Page.captureScreenshot", params).await?;
    Ok(json!({ "mimeType": format!("image/{format}"), "data": at(&result, "/data") }))
}

/// Sends a command that names the tab's target.
async fn on_target(
    client: &mut LocalClient,
    request: &CommandRequest,
    method: &str,
) -> Result<Value, Refusal> {
    let params = json!({ "targetId": tab(request)? });
    send(client, None, method, params).await
}

/// Sends a command to the tab's page.
async fn in_tab(
    client: &mut LocalClient,
    request: &CommandRequest,
    method: &str,
    params: Value,
) -> Result<Value, Refusal> {
    let attach = json!({ "targetId": tab(request)?, "flatten": true });
    let attached = send(client, None, "Target.attachToTarget", attach).await?;
    send(client, at(&attached, "/sessionId").as_str(), method, params).await
}

async fn send(
    client: &mut LocalClient,
    session: Option<&str>,
    method: &str,
    params: Value,
) -> Result<Value, Refusal> {
    client
        .request(session, method, params)
        .await
        .map_err(|error| match error {
            RequestError::Cdp { message } => {
                let is_unknown = message.contains("No target with given id");
                let status = if is_unknown {
                    StatusCode::NOT_FOUND
                } else {
                    StatusCode::BAD_GATEWAY
                };
                refusal(status, &message)
            }
            RequestError::Disconnected => refusal(
                StatusCode::SERVICE_UNAVAILABLE,
                "The relay has closed the connection.",
            ),
        })
}

/// The value at this JSON pointer, or null.
fn at<'a>(value: &'a Value, pointer: &str) -> &'a Value {
    value.pointer(pointer).unwrap_or(&Value::Null)
}

fn tab(request: &CommandRequest) -> Result<&str, Refusal> {
    let missing = "This action needs `tab`: the `id` of a tab, from the action getTabs.";
    let tab = request.tab.as_deref();
    tab.ok_or_else(|| refusal(StatusCode::BAD_REQUEST, missing))
}

fn text<'a>(payload: &'a Value, field: &str) -> Result<&'a str, Refusal> {
    at(payload, &format!("/{field}")).as_str().ok_or_else(|| {
        let error = format!("This action needs `payload.{field}`, a string.");
        refusal(StatusCode::BAD_REQUEST, &error)
    })
}
