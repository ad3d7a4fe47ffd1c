//! `?browser=NAME`: which browser a request is about.

use axum::extract::{FromRequestParts, Query};
use axum::http::StatusCode;
use axum::http::request::Parts;
use serde::Deserialize;

use crate::http::entrance::Entrance;
use crate::http::guard::{Refusal, refusal, refusal_with};
use crate::registry::NotFound;

#[derive(Debug, Deserialize)]
pub struct BrowserQuery {
    pub browser: Option<String>,
}

/// An extractor of its own, because errors are JSON on every address.
impl<S: Sync> FromRequestParts<S> for BrowserQuery {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refusal> {
        let Query(mut query) = Query::<Self>::try_from_uri(&parts.uri).map_err(|_| {
            let error = "The address is malformed. Name one browser with browser=NAME, or none.";
            refusal(StatusCode::BAD_REQUEST, error)
        })?;
        let entrance = parts.extensions.get::<Entrance>();
        if let Some(only) = entrance.and_then(Entrance::browser) {
            let asked = query.browser.get_or_insert_with(|| only.to_owned());
            if !asked.eq_ignore_ascii_case(only) {
                let error = format!("This port was opened for '{only}' only.");
                return Err(refusal(StatusCode::FORBIDDEN, &error));
            }
        }
        Ok(query)
    }
}

pub const NO_BROWSER: &str = "No browser connected. Open the browser that has the Tabwire extension, or run `tabwire install-extension` to add it.";

pub fn not_found(reason: &NotFound) -> Refusal {
    let (status, error, names) = match reason {
        NotFound::NoBrowser => (
            StatusCode::SERVICE_UNAVAILABLE,
            NO_BROWSER.to_owned(),
            &Vec::new(),
        ),
        NotFound::Unknown { name, names } => (
            StatusCode::NOT_FOUND,
            format!(
                "No browser is called '{name}'. {}",
                if names.is_empty() {
                    "None has connected yet.".to_owned()
                } else {
                    format!("These have connected: {}.", names.join(", "))
                }
            ),
            names,
        ),
        NotFound::Ambiguous { names } => (
            StatusCode::BAD_REQUEST,
            format!(
                "Several browsers are connected: {}. Choose one with browser=NAME in the address, or with --browser NAME.",
                names.join(", ")
            ),
            names,
        ),
    };
    refusal_with(status, &error, serde_json::json!({ "browsers": names }))
}
