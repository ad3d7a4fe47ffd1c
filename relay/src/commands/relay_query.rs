//! Queries that commands send to this home's running relay.

use tabwire_home::{BrowserReport, Home, Token, get_json_with_token};

/// The browsers that have connected, with their clients. `None`: no relay is running, or it does not
/// respond.
pub async fn browsers(home: &Home) -> Option<Vec<BrowserReport>> {
    // Only the relay that owns the home is sent the token.
    let state = home.running_relay()?;
    let token = Token::load(home).ok()?;
    get_json_with_token(state.port, "/browsers", &token)
        .await
        .ok()
}
