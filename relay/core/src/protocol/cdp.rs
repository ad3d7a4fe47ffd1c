//! The envelope of CDP messages between a client and the relay. Parameters and results stay
//! unparsed.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::error::CdpError;
use super::ids::SessionId;

/// A client's request. Borrows from the text it was parsed from.
#[derive(Debug, Clone)]
pub struct Request<'a> {
    pub id: i64,
    pub method: Cow<'a, str>,
    /// The parameters exactly as sent; `{}` if there were none.
    pub params: Cow<'a, str>,
    /// `None` for the client's root session. Not validated here: the router checks whether such a
    /// session exists.
    pub session: Option<Cow<'a, str>>,
}

/// Why a text is not a request. Has the id if it could be read, so that the sender gets a reply.
#[derive(Debug)]
pub struct Malformed {
    pub id: Option<i64>,
    pub error: CdpError,
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    // Empty by default instead of `Option<Cow>`, because serde does not borrow inside an `Option`.
    #[serde(borrow, default)]
    method: Cow<'a, str>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "sessionId")]
    session: Cow<'a, str>,
}

impl<'a> Request<'a> {
    pub fn parse(text: &'a str) -> Result<Self, Malformed> {
        let envelope: Envelope<'a> = match serde_json::from_str(text) {
            // serde also accepts an array with the fields in order.
            Ok(envelope) if text.trim_start().starts_with('{') => envelope,
            Ok(_) => {
                return Err(Malformed {
                    id: None,
                    error: CdpError::InvalidRequest("Message must be an object".into()),
                });
            }
            Err(error) => return Err(Self::explain_malformed(text, &error)),
        };
        let Some(id) = envelope.id.and_then(|id| id.get().parse::<i64>().ok()) else {
            let error = CdpError::InvalidRequest("Message must have integer 'id' property".into());
            return Err(Malformed { id: None, error });
        };
        if envelope.method.is_empty() {
            let error =
                CdpError::InvalidRequest("Message must have string 'method' property".into());
            return Err(Malformed {
                id: Some(id),
                error,
            });
        }
        let params = match read_object(envelope.params) {
            Ok(params) => params,
            Err(error) => {
                return Err(Malformed {
                    id: Some(id),
                    error,
                });
            }
        };
        let session = Some(envelope.session).filter(|session| !session.is_empty());
        Ok(Self {
            id,
            method: envelope.method,
            params: Cow::Borrowed(params),
            session,
        })
    }

    fn explain_malformed(text: &str, error: &serde_json::Error) -> Malformed {
        #[derive(Deserialize)]
        struct IdOnly {
            id: i64,
        }
        if error.is_data() {
            let id = serde_json::from_str::<IdOnly>(text)
                .ok()
                .map(|only| only.id);
            return Malformed {
                id,
                error: CdpError::InvalidRequest(format!("Message is not a CDP request: {error}")),
            };
        }
        Malformed {
            id: None,
            error: CdpError::NotJson(error.to_string()),
        }
    }

    /// Parses the parameters into the fields that a handler needs.
    pub fn read_params<'p, T: Deserialize<'p>>(&'p self) -> Result<T, CdpError> {
        serde_json::from_str(&self.params).map_err(|error| CdpError::InvalidParams {
            method: self.method.to_string(),
            reason: error.to_string(),
        })
    }

    /// A copy that outlives the text, for a request that has to wait.
    pub fn into_owned(self) -> Request<'static> {
        Request {
            id: self.id,
            method: Cow::Owned(self.method.into_owned()),
            params: Cow::Owned(self.params.into_owned()),
            session: self.session.map(|session| Cow::Owned(session.into_owned())),
        }
    }
}

/// The parameters as an object. Languages in which an empty map is an empty list send `[]`. Chrome
/// accepts that for methods without parameters.
fn read_object(params: Option<&RawValue>) -> Result<&str, CdpError> {
    match params.map(RawValue::get) {
        None | Some("null") => Ok("{}"),
        Some(object) if object.starts_with('{') => Ok(object),
        Some(list) if list.starts_with('[') => {
            let inner = list.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
            let is_empty = inner.is_some_and(|inner| inner.trim().is_empty());
            let error = || CdpError::rejected("Invalid parameters: 'params' must be an object");
            is_empty.then_some("{}").ok_or_else(error)
        }
        Some(_) => Err(CdpError::InvalidRequest(
            "Message may have object 'params' property".into(),
        )),
    }
}

/// The part of a method or event name before the dot.
pub fn domain(method: &str) -> &str {
    method.split_once('.').map_or(method, |(domain, _)| domain)
}

pub fn reply(id: i64, session: Option<SessionId>, result: &str) -> String {
    let mut text = String::with_capacity(result.len() + 96);
    let _ = write!(text, "{{\"id\":{id},\"result\":");
    text.push_str(result);
    close_with_session(&mut text, session);
    text
}

pub fn error_reply(id: Option<i64>, session: Option<&str>, error: &CdpError) -> String {
    #[derive(Serialize)]
    struct Body<'a> {
        code: i64,
        message: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        data: Option<&'a str>,
    }
    let data = if let CdpError::Chrome { data, .. } = error {
        data.as_deref()
    } else {
        None
    };
    let body = serde_json::to_string(&Body {
        code: error.code(),
        message: error.to_string(),
        data,
    })
    .unwrap_or_default();
    let mut text = String::from("{");
    if let Some(id) = id {
        let _ = write!(text, "\"id\":{id},");
    }
    let _ = write!(text, "\"error\":{body}");
    if let Some(session) = session {
        let _ = write!(text, ",\"sessionId\":{}", serde_json::Value::from(session));
    }
    text.push('}');
    text
}

pub fn event(session: Option<SessionId>, method: &str, params: &str) -> String {
    let mut text = String::with_capacity(method.len() + params.len() + 96);
    // Method names normally need no escaping, but the extension's messages are not trusted.
    if method
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || b == b'.')
    {
        text.push_str("{\"method\":\"");
        text.push_str(method);
        text.push_str("\",\"params\":");
    } else {
        let _ = write!(
            text,
            "{{\"method\":{},\"params\":",
            serde_json::Value::from(method)
        );
    }
    text.push_str(params);
    close_with_session(&mut text, session);
    text
}

fn close_with_session(text: &mut String, session: Option<SessionId>) {
    if let Some(session) = session {
        let _ = write!(text, ",\"sessionId\":\"{session}\"");
    }
    text.push('}');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code_of(text: &str) -> (Option<i64>, i64) {
        let malformed = Request::parse(text).expect_err(text);
        (malformed.id, malformed.error.code())
    }

    #[test]
    fn keeps_parameters_byte_for_byte() {
        let request = Request::parse(
            r#"{"id":7,"method":"Page.navigate","params":{"url" : "a\u0041"},"sessionId":"S"}"#,
        )
        .unwrap();
        assert_eq!(request.id, 7);
        assert_eq!(request.method, "Page.navigate");
        assert_eq!(request.params, r#"{"url" : "a\u0041"}"#);
        assert_eq!(request.session.as_deref(), Some("S"));
    }

    #[test]
    fn malformed_requests_get_the_matching_error_code() {
        assert_eq!(code_of("nonsense"), (None, -32700));
        assert_eq!(code_of(""), (None, -32700));
        assert_eq!(code_of(r#"{"id":1,"method":"#), (None, -32700));
        assert_eq!(code_of("null"), (None, -32600));
        assert_eq!(code_of(r#"[1,"Page.enable"]"#), (None, -32600));
        assert_eq!(code_of(r#"{"method":"Page.enable"}"#), (None, -32600));
        assert_eq!(
            code_of(r#"{"id":"1","method":"Page.enable"}"#),
            (None, -32600)
        );
        assert_eq!(code_of(r#"{"id":5}"#), (Some(5), -32600));
        assert_eq!(code_of(r#"{"id":5,"method":3}"#), (Some(5), -32600));
        let with_params = |params| {
            code_of(&format!(
                r#"{{"id":5,"method":"Page.enable","params":{params}}}"#
            ))
        };
        for (params, code) in [
            ("5", -32600),
            (r#""x""#, -32600),
            ("[1]", -32602),
            ("[[]]", -32602),
            ("[{}]", -32602),
        ] {
            assert_eq!(with_params(params), (Some(5), code), "{params}");
        }
    }

    #[test]
    fn takes_an_empty_list_of_parameters_for_none() {
        for params in ["[]", "[ ]", "{}", "null"] {
            let text = format!(r#"{{"id":5,"method":"Page.enable","params":{params}}}"#);
            assert_eq!(Request::parse(&text).unwrap().params, "{}", "{params}");
        }
    }

    #[test]
    fn accepts_any_nesting_depth() {
        let depth = 100_000;
        let text = format!(
            r#"{{"id":1,"method":"X.y","params":{{"a":{}{}}}}}"#,
            "[".repeat(depth),
            "]".repeat(depth)
        );
        assert!(Request::parse(&text).is_ok());
    }
}
