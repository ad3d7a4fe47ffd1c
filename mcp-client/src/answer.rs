//! What a call gives back, for an agent or a shell.

use serde::{Deserialize, Serialize};

use crate::errors::Error;

#[derive(Debug, Default, Deserialize)]
pub struct Answer {
    #[serde(default)]
    pub text: String,
    #[serde(default)]
    pub images: Vec<Image>,
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

/// Why code did not come to its end, in the words that the agent gets.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub struct Failure {
    pub kind: String,
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// It is the set-up's fault, and no code of the agent's ran.
    #[serde(skip)]
    pub is_environment: bool,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self {
            kind: error.kind().to_owned(),
            message: error.to_string(),
            next: Some(error.next()),
            is_environment: error.is_environment(),
        }
    }
}

impl From<Error> for Answer {
    fn from(error: Error) -> Self {
        Self {
            failure: Some(error.into()),
            ..Self::default()
        }
    }
}

impl Answer {
    /// In bytes.
    pub fn size(&self) -> usize {
        self.text.len()
            + self
                .images
                .iter()
                .map(|image| image.data.len())
                .sum::<usize>()
    }
}

impl Failure {
    pub fn words(&self) -> String {
        let next = self
            .next
            .as_deref()
            .map(|next| format!("\nNext: {next}"))
            .unwrap_or_default();
        format!("Error: {}{next}", self.message)
    }
}
