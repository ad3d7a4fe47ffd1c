//! `tabwire screenshot`: writes an image of a tab to a file.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde_json::json;
use tabwire_mcp::exec::{Images, Run, Text};

use crate::commands::session::{SHORT_TIMEOUT, SessionOptions};
use crate::error::Error;

#[derive(Debug, Clone, Args)]
pub struct ScreenshotOptions {
    #[command(flatten)]
    pub session: SessionOptions,
    /// The tab: its number in `tabwire tabs`, its target id, or a part of its address or title. Not
    /// needed if there is only one
    #[arg(default_value = "", hide_default_value = true)]
    pub tab: String,
    /// File to write to: .png, .jpg or .jpeg [default: a new PNG in the current folder]
    #[arg(short, long, value_name = "FILE", value_parser = image_file)]
    pub output: Option<ImageFile>,
    /// Capture the whole page, not only the visible part
    #[arg(long)]
    pub full_page: bool,
    /// Draw the refs of `tabwire snapshot` over the elements
    #[arg(long)]
    pub labels: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// A path and the image format that its extension implies.
#[derive(Debug, Clone)]
pub struct ImageFile {
    path: PathBuf,
    format: ImageFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ImageFormat {
    Png,
    Jpeg,
}

impl ImageFormat {
    /// Playwright's name for it.
    fn name(self) -> &'static str {
        match self {
            Self::Png => "png",
            Self::Jpeg => "jpeg",
        }
    }
}

pub async fn run(options: &ScreenshotOptions) -> Result<ExitCode, Error> {
    let (format, images) = match &options.output {
        Some(output) => (output.format, Images::File(output.path.clone())),
        None => (ImageFormat::Png, Images::Folder(".".into())),
    };
    let arguments =
        json!({ "fullPage": options.full_page, "labels": options.labels, "type": format.name() });
    let run = Run {
        code: format!("await screenshot({arguments})"),
        timeout: SHORT_TIMEOUT,
        tab: Some(options.tab.clone()),
        json: options.json,
        images,
        text: Text::Notes,
    };
    options.session.run("tabwire screenshot", run).await
}

fn image_file(text: &str) -> Result<ImageFile, String> {
    let path = PathBuf::from(text);
    let extension = path
        .extension()
        .map(|extension| extension.to_string_lossy().to_lowercase());
    let format = match extension.as_deref() {
        None | Some("png") => ImageFormat::Png,
        Some("jpg" | "jpeg") => ImageFormat::Jpeg,
        Some(_) => return Err("must end in .png, .jpg or .jpeg".to_owned()),
    };
    Ok(ImageFile { path, format })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn image_format_follows_the_file_name() {
        for (name, format) in [
            ("a.png", ImageFormat::Png),
            ("a.JPG", ImageFormat::Jpeg),
            ("b/a.jpeg", ImageFormat::Jpeg),
            ("a", ImageFormat::Png),
        ] {
            assert_eq!(image_file(name).unwrap().format, format, "{name}");
        }
        assert!(image_file("a.webp").is_err());
    }
}
