//! `?browser=NAME`: which browser a request is about.

use axum::http::StatusCode;
use serde::Deserialize;

use crate::http::guard::{Refusal, refusal_with};
use crate::registry::NotFound;

#[derive(Debug, Deserialize)]
pub struct BrowserQuery {
    pub browser: Option<String>,
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
