//! What a call returns, before it is rendered for an agent or a shell.

use serde::{Deserialize, Serialize};

use crate::error::{Audience, Error};

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Response {
    #[serde(default)]
    pub text: String,
    #[serde(default)]
    pub images: Vec<Image>,
    /// Whether the code returned a value, even if it is empty.
    #[serde(default)]
    pub has_value: bool,
    #[serde(skip)]
    pub failure: Option<Failure>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Image {
    /// Base64.
    pub data: String,
    pub mime_type: String,
}

#[derive(Debug)]
pub enum Failure {
    /// The code threw or does not compile. The runner explains it.
    Code(Report),
    Other(Error),
}

/// A failure as its reader gets it.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub struct Report {
    pub kind: String,
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

impl Response {
    pub fn text(text: String) -> Self {
        Self {
            text,
            ..Self::default()
        }
    }

    /// In bytes.
    pub fn size(&self) -> usize {
        let images = self.images.iter().map(|image| image.data.len());
        self.text.len() + images.sum::<usize>()
    }
}

impl From<Error> for Response {
    fn from(error: Error) -> Self {
        Self {
            failure: Some(Failure::Other(error)),
            ..Self::default()
        }
    }
}

impl Failure {
    pub fn report(&self, audience: Audience) -> Report {
        match self {
            Self::Code(report) => report.clone(),
            Self::Other(error) => Report {
                kind: error.kind().to_owned(),
                message: error.to_string(),
                next: Some(error.remedy(audience)),
            },
        }
    }
}

impl Report {
    pub fn text(&self) -> String {
        let next = self.next.as_deref();
        let next = next.map(|next| format!("\nNext: {next}"));
        format!("Error: {}{}", self.message, next.unwrap_or_default())
    }
}
