//! The same from a shell: one run with a worker of its own, which leaves the browser's tabs as they were.

use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine as _;
use serde_json::json;

use crate::Settings;
use crate::answer::{Answer, Failure, Image};
use crate::errors::Error;
use crate::progress::Progress;
use crate::session::Session;

/// A folder with more is not searched on.
const MOST_PICTURES: usize = 10_000;

/// What a run ended with, for the shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Done,
    /// The code threw, or is no code.
    CodeFailed,
    /// Relay, browser, extension, slot, Node, or the tab that was named.
    NotReady,
    /// The code was ended: time, memory, or Ctrl-C.
    Ended,
}

impl Outcome {
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::CodeFailed => 1,
            Self::NotReady => 3,
            Self::Ended => 4,
        }
    }

    fn of(failure: Option<&Failure>) -> Self {
        match failure {
            None => Self::Done,
            Some(failure) if failure.is_environment => Self::NotReady,
            Some(failure) if matches!(failure.kind.as_str(), "timeout" | "memory" | "worker" | "cancelled") => Self::Ended,
            Some(_) => Self::CodeFailed,
        }
    }
}

pub struct Run {
    pub code: String,
    pub timeout: Duration,
    /// The tab to take into use, by number, target id, or a part of its address or title.
    pub tab: Option<String>,
    pub json: bool,
    pub images: Images,
}

/// Where pictures go.
pub enum Images {
    /// Into a folder, under names of their own.
    Into(PathBuf),
    /// The one picture to this file.
    File(PathBuf),
}

/// `interrupted` ends the code before its time; what it opened is closed all the same.
pub async fn run(settings: Settings, run: Run, interrupted: impl Future<Output = ()>) -> Result<Outcome, std::io::Error> {
    let mut session = Session::new(settings);
    let progress = Progress::stderr();
    let answer = tokio::select! {
        answer = execute(&mut session, &run, &progress) => answer.unwrap_or_else(Answer::from),
        () = interrupted => Error::Cancelled.into(),
    };
    session.finish().await;
    print(&run, answer)
}

async fn execute(session: &mut Session, run: &Run, progress: &Progress) -> Result<Answer, Error> {
    session.ready(progress).await?;
    if let Some(tab) = &run.tab {
        session.use_tab(tab).await?;
    }
    Ok(session.execute(&run.code, run.timeout, progress).await)
}

pub async fn tabs(settings: Settings, as_json: bool) -> Result<Outcome, Error> {
    let mut session = Session::new(settings);
    let progress = Progress::stderr();
    session.ready(&progress).await?;
    let tabs = session.tabs().await?;
    session.finish().await;
    if as_json {
        println!("{}", json!(tabs));
    } else {
        for tab in &tabs {
            println!("{}", tab.line);
        }
    }
    Ok(Outcome::Done)
}

fn print(run: &Run, answer: Answer) -> Result<Outcome, std::io::Error> {
    let files = write_images(&run.images, &answer.images)?;
    if run.json {
        println!("{}", json!({ "ok": answer.failure.is_none(), "text": answer.text, "images": files, "error": answer.failure }));
    } else {
        if !answer.text.is_empty() {
            println!("{}", answer.text);
        }
        for file in &files {
            println!("{}", file.display());
        }
        if let Some(failure) = &answer.failure {
            eprintln!("{}", failure.words());
        }
    }
    Ok(Outcome::of(answer.failure.as_ref()))
}

fn write_images(to: &Images, images: &[Image]) -> Result<Vec<PathBuf>, std::io::Error> {
    let write = |(index, image): (usize, &Image)| {
        let bytes = base64::engine::general_purpose::STANDARD.decode(&image.data).map_err(std::io::Error::other)?;
        let extension = if image.mime_type == "image/png" { "png" } else { "jpeg" };
        match to {
            Images::File(file) => std::fs::write(file, bytes).map(|()| file.clone()),
            Images::Into(folder) => write_new(folder, index + 1, extension, &bytes),
        }
    };
    images.iter().enumerate().map(write).collect()
}

/// Writes a picture under the first name that is free: those of earlier runs stay, and a link that somebody laid there is not followed.
fn write_new(folder: &Path, from: usize, extension: &str, bytes: &[u8]) -> Result<PathBuf, std::io::Error> {
    for number in from..from + MOST_PICTURES {
        let name = folder.join(format!("tabwire-{number}.{extension}"));
        match std::fs::OpenOptions::new().write(true).create_new(true).open(&name) {
            Ok(mut file) => return std::io::Write::write_all(&mut file, bytes).map(|()| name),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(std::io::Error::other(format!("{} is full of pictures of earlier runs", folder.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exit_code_tells_the_code_from_the_set_up_and_from_the_clock() {
        let of = |error: Error| Outcome::of(Some(&error.into())).exit_code();
        assert_eq!(of(Error::NoExtension), 3);
        assert_eq!(of(Error::TimedOut { after: Duration::from_secs(1) }), 4);
        let thrown = Failure { kind: "code".into(), message: String::new(), next: None, is_environment: false };
        assert_eq!(Outcome::of(Some(&thrown)).exit_code(), 1);
        assert_eq!(Outcome::of(None).exit_code(), 0);
    }

    #[test]
    fn pictures_of_earlier_runs_stay() {
        let folder = tempfile::tempdir().unwrap();
        let image = || Image { data: "eA==".into(), mime_type: "image/png".into() };
        let to = Images::Into(folder.path().to_owned());
        write_images(&to, &[image(), image()]).unwrap();
        let names: Vec<_> = write_images(&to, &[image()]).unwrap();
        assert_eq!(names, [folder.path().join("tabwire-3.png")]);
    }
}
