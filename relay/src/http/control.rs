//! `POST /launch`, `/stop` and `/restart`: what `tabwire` and agents ask a running relay to do with
//! browsers. And `/open-port` and `/close-port`. The guard has checked the token.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use tabwire_home::NameFault;
use tabwire_home::control::{BrowserChoice, LaunchOptions, LaunchReport, RefusalKind, Stopped};
use tabwire_home::open_port::{ClosedPort, OpenPortOptions};

use crate::app::{App, on_its_own};
use crate::browser::launched::Which;
use crate::error::Error;
use crate::http::browser_query::not_found;
use crate::http::guard::{Refusal, refusal, refusal_with};
use crate::open_port::{Closing, OpenFault, OpenPort};

/// An object, and not an array of its values, which serde would accept, too: an empty one would launch
/// a browser.
type Body = Result<Json<Map<String, Value>>, JsonRejection>;

pub async fn launch(State(app): State<Arc<App>>, options: Body) -> Response {
    match read::<LaunchOptions>(options) {
        Ok(options) => {
            respond(on_its_own(async move { app.launcher.launch(&options).await }).await)
        }
        Err(rejected) => rejected.into_response(),
    }
}

pub async fn restart(State(app): State<Arc<App>>, choice: Body) -> Response {
    match read::<BrowserChoice>(choice) {
        Ok(choice) => {
            respond(on_its_own(async move { app.launcher.restart(which(&choice)).await }).await)
        }
        Err(rejected) => rejected.into_response(),
    }
}

pub async fn stop(State(app): State<Arc<App>>, choice: Body) -> Response {
    let choice = match read::<BrowserChoice>(choice) {
        Ok(choice) => choice,
        Err(rejected) => return rejected.into_response(),
    };
    if choice.relay {
        app.stop_requested.notify_one();
        return Json(Stopped::relay()).into_response();
    }
    let stopping = async move {
        match &choice.launching {
            Some(options) => app.launcher.interrupt(options).await,
            None => app.launcher.stop(which(&choice)).await,
        }
    };
    match on_its_own(stopping).await {
        Ok(stopped) => Json(stopped).into_response(),
        Err(error) => fail(&error),
    }
}

pub async fn open_port(State(app): State<Arc<App>>, options: Body) -> Response {
    let options = match read::<OpenPortOptions>(options) {
        Ok(options) => options,
        Err(rejected) => return rejected.into_response(),
    };
    match OpenPort::open(&app, &options).await {
        Ok(opened) => Json(opened).into_response(),
        Err(OpenFault::NoBrowser(reason)) => not_found(&reason).into_response(),
        Err(OpenFault::Error(error)) => fail(&error),
    }
}

pub async fn close_port(State(app): State<Arc<App>>) -> Json<ClosedPort> {
    let port = OpenPort::close(&app, Closing::Command).await;
    Json(ClosedPort { port })
}

fn which(choice: &BrowserChoice) -> Which<'_> {
    match choice.id {
        Some(id) => Which::Id(id),
        None => Which::named(choice.name.as_deref()),
    }
}

fn respond(outcome: Result<LaunchReport, Error>) -> Response {
    match outcome {
        Ok(report) => Json(report).into_response(),
        Err(error) => fail(&error),
    }
}

fn fail(error: &Error) -> Response {
    let error = error.root();
    let status = match error {
        Error::UnknownBrowser(_) | Error::NotLaunched { .. } => StatusCode::NOT_FOUND,
        Error::BrowserName(NameFault::Taken(_))
        | Error::RestartAttached { .. }
        | Error::AttachedClosed { .. }
        | Error::ProfileInUse { .. }
        | Error::ProfileWithoutPort { .. }
        | Error::LaunchedOtherwise { .. }
        | Error::OnlyBrowserUrl { .. }
        | Error::OpenPortDiffers { .. }
        | Error::PortInUse { .. } => StatusCode::CONFLICT,
        Error::BrowserName(_)
        | Error::ReservedArgument { .. }
        | Error::RefusedArgument { .. }
        | Error::OpenPortTime { .. }
        | Error::OpenPortUnchecked => StatusCode::BAD_REQUEST,
        _ => StatusCode::SERVICE_UNAVAILABLE,
    };
    let kind = match error {
        Error::UnknownBrowser(_) => RefusalKind::UnknownBrowser,
        Error::NotLaunched { .. } => RefusalKind::NotLaunched,
        _ => RefusalKind::Other,
    };
    refusal_with(status, &error.to_string(), json!({ "kind": kind })).into_response()
}

fn read<T: DeserializeOwned>(body: Body) -> Result<T, Refusal> {
    let Json(fields) =
        body.map_err(|rejected| refusal(rejected.status(), &rejected.body_text()))?;
    serde_json::from_value(Value::Object(fields)).map_err(|error| {
        let error = format!("The body of the request is not valid: {error}.");
        refusal(StatusCode::UNPROCESSABLE_ENTITY, &error)
    })
}
