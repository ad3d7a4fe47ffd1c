//! What a session intercepts with `Fetch.enable`, and which paused requests match.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use crate::protocol::methods::event::Event;
use crate::protocol::url_pattern;

/// What one session requested with `Fetch.enable`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interception {
    patterns: Vec<Pattern>,
    handles_auth: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Pattern {
    /// Exactly as the client sent it.
    text: String,
    url: String,
    kind: Option<String>,
    stage: Stage,
}

/// When a request is paused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
pub enum Stage {
    #[default]
    Request,
    Response,
    /// Requested by `handleAuthRequests`, never by a pattern.
    #[serde(skip)]
    Auth,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct EnableParams<'a> {
    #[serde(borrow)]
    patterns: Option<Vec<&'a RawValue>>,
    #[serde(default)]
    handle_auth_requests: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PatternFields {
    url_pattern: Option<String>,
    resource_type: Option<String>,
    #[serde(default)]
    request_stage: Stage,
}

impl Pattern {
    fn parse(text: &str) -> serde_json::Result<Self> {
        let fields: PatternFields = serde_json::from_str(text)?;
        Ok(Self {
            text: text.to_owned(),
            url: fields.url_pattern.unwrap_or_else(|| "*".to_owned()),
            kind: fields.resource_type,
            stage: fields.request_stage,
        })
    }

    fn matches(&self, pause: &Pause) -> bool {
        self.kind.as_ref().is_none_or(|kind| *kind == pause.kind)
            && url_pattern::matches(&self.url, &pause.url)
    }
}

impl Interception {
    /// Parses the parameters of `Fetch.enable`.
    pub fn parse(params: &str) -> serde_json::Result<Self> {
        let params: EnableParams<'_> = serde_json::from_str(params)?;
        let texts = params.patterns.map_or_else(
            || vec!["{}"],
            |patterns| patterns.into_iter().map(RawValue::get).collect(),
        );
        let patterns = texts.into_iter().map(Pattern::parse);
        Ok(Self {
            patterns: patterns.collect::<serde_json::Result<_>>()?,
            handles_auth: params.handle_auth_requests,
        })
    }

    /// The parameters of one `Fetch.enable` that covers all of these; `None` if there are none.
    pub fn merge<'a>(all: impl Iterator<Item = &'a Self>) -> Option<String> {
        let (mut texts, mut handles_auth, mut is_any) = (Vec::new(), false, false);
        for one in all {
            is_any = true;
            handles_auth |= one.handles_auth;
            for pattern in &one.patterns {
                if !texts.contains(&pattern.text.as_str()) {
                    texts.push(&pattern.text);
                }
            }
        }
        let patterns = texts.join(",");
        is_any
            .then(|| format!(r#"{{"patterns":[{patterns}],"handleAuthRequests":{handles_auth}}}"#))
    }

    /// Whether this session would see a pause if it had the browser to itself.
    pub fn matches(&self, pause: &Pause) -> bool {
        let mut matching = self.patterns.iter().filter(|p| p.matches(pause));
        match pause.stage {
            Stage::Auth => self.handles_auth && matching.next().is_some(),
            stage => matching.any(|pattern| pattern.stage == stage),
        }
    }
}

/// A parsed `Fetch.requestPaused` or `Fetch.authRequired`.
#[derive(Debug)]
pub struct Pause {
    pub request_id: String,
    /// The same request's id in `Network` events.
    pub network_id: Option<String>,
    pub stage: Stage,
    url: String,
    kind: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PauseParams {
    request_id: String,
    network_id: Option<String>,
    request: PausedRequest,
    resource_type: String,
    response_status_code: Option<IgnoredAny>,
    response_error_reason: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct PausedRequest {
    url: String,
}

impl Pause {
    pub fn parse(method: &str, params: &str) -> Option<Self> {
        let params: PauseParams = serde_json::from_str(params).ok()?;
        let has_response =
            params.response_status_code.is_some() || params.response_error_reason.is_some();
        let stage = match Event::classify(method) {
            Event::AuthRequired => Stage::Auth,
            _ if has_response => Stage::Response,
            _ => Stage::Request,
        };
        Some(Self {
            request_id: params.request_id,
            network_id: params.network_id,
            stage,
            url: params.request.url,
            kind: params.resource_type,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merges_patterns_of_several_sessions_without_duplicates() {
        let all = [
            r#"{"patterns":[{"urlPattern":"*"}]}"#,
            r#"{"patterns":[{"urlPattern":"*"},{"urlPattern":"a"}],"handleAuthRequests":true}"#,
        ];
        let all = all.map(|params| Interception::parse(params).unwrap());
        assert_eq!(
            Interception::merge(all.iter()).unwrap(),
            r#"{"patterns":[{"urlPattern":"*"},{"urlPattern":"a"}],"handleAuthRequests":true}"#
        );
        assert_eq!(Interception::merge([].into_iter()), None);
    }
}
