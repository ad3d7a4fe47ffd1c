//! The guard of the open port. The listener has checked that the peer is a process of the relay's own user.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::Response;

use super::program::admit_program;
use super::{Admission, Refusal, refusal, refuse, refuse_unknown_owner};
use crate::http::entrance::Entrance;
use crate::open_port::Opening;

pub async fn check(
    State(opening): State<Arc<Opening>>,
    mut request: Request,
    next: Next,
) -> Response {
    match admit(&opening, &request) {
        Ok(()) => {
            let extensions = request.extensions_mut();
            extensions.insert(Admission::OpenPort(opening.id));
            extensions.insert(Entrance::open(opening.port, opening.browser.clone()));
            next.run(request).await
        }
        Err(refused) => refuse(&request, refused),
    }
}

fn admit(opening: &Opening, request: &Request) -> Result<(), Refusal> {
    refuse_unknown_owner(request.extensions())?;
    // A connection can outlive the time.
    if !opening.is_open() {
        let error = "The open port is closed. Open it again with `tabwire open-port`.";
        return Err(refusal(StatusCode::FORBIDDEN, error));
    }
    let (method, uri, headers) = (request.method(), request.uri(), request.headers());
    admit_program(opening.port, method, uri, headers)
}
