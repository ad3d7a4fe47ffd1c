//! The same from a shell: one run with a worker of its own, which leaves the browser's tabs as they were.

use std::io::{ErrorKind, Write as _};
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
    /// What was to be run could not be read.
    NoCode,
    /// Relay, browser, extension, slot, Node, or the tab that was named.
    NotReady,
    /// The code was ended: time, memory, or Ctrl-C.
    Ended,
    /// The code came to its end, and what it gave could not be written.
    NotWritten,
}

impl Outcome {
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::CodeFailed => 1,
            // As for any other command line that cannot be followed.
            Self::NoCode => 2,
            Self::NotReady => 3,
            Self::Ended => 4,
            Self::NotWritten => 5,
        }
    }

    fn of(failure: Option<&Failure>) -> Self {
        let Some(failure) = failure else {
            return Self::Done;
        };
        match failure.kind.as_str() {
            "unreadable" => Self::NoCode,
            "unwritable" => Self::NotWritten,
            "timeout" | "memory" | "worker" | "cancelled" => Self::Ended,
            _ if failure.is_environment => Self::NotReady,
            _ => Self::CodeFailed,
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
    pub text: Text,
}

/// What the text of an answer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Text {
    /// What was asked for.
    Answer,
    /// Words beside the pictures that were asked for: they go to stderr.
    Notes,
}

/// Where pictures go.
pub enum Images {
    /// Into a folder, under names of their own.
    Into(PathBuf),
    /// The one picture to this file.
    File(PathBuf),
}

/// `interrupted` ends the code before its time; what it opened is closed all the same.
pub async fn run(settings: Settings, run: Run, interrupted: impl Future<Output = ()>) -> Outcome {
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

pub async fn tabs(settings: Settings, as_json: bool) -> Outcome {
    let mut session = Session::new(settings);
    let listed = match session.ready(&Progress::stderr()).await {
        Ok(()) => session.tabs().await,
        Err(error) => Err(error),
    };
    session.finish().await;
    match listed {
        Ok(tabs) if as_json => print_lines(&[json!(tabs).to_string()], Outcome::Done),
        Ok(tabs) => print_lines(
            &tabs.into_iter().map(|tab| tab.line).collect::<Vec<_>>(),
            Outcome::Done,
        ),
        Err(error) => fail(error, as_json),
    }
}

/// The end of a command that has nothing but an error to give.
pub fn fail(error: Error, as_json: bool) -> Outcome {
    let failure = Failure::from(error);
    let outcome = Outcome::of(Some(&failure));
    if as_json {
        return print_lines(
            &[json!({ "ok": false, "error": failure }).to_string()],
            outcome,
        );
    }
    tell(&failure.words());
    outcome
}

/// Prints the answer, and then what of it could not be written.
fn print(run: &Run, answer: Answer) -> Outcome {
    let (files, unwritable) = write_images(&run.images, &answer.images);
    let failures: Vec<Failure> = answer
        .failure
        .into_iter()
        .chain(unwritable.map(Failure::from))
        .collect();
    let outcome = Outcome::of(failures.first());
    if run.json {
        let object = json!({ "ok": failures.is_empty(), "text": answer.text, "images": files, "error": failures.first() });
        return print_lines(&[object.to_string()], outcome);
    }
    let mut lines = Vec::new();
    match run.text {
        _ if answer.text.is_empty() => {}
        Text::Answer => lines.push(answer.text),
        Text::Notes => tell(&answer.text),
    }
    lines.extend(files.iter().map(|file| file.display().to_string()));
    let outcome = print_lines(&lines, outcome);
    for failure in &failures {
        tell(&failure.words());
    }
    outcome
}

/// Writes to stdout. Whoever closes it has read enough, and that is no fault.
fn print_lines(lines: &[String], outcome: Outcome) -> Outcome {
    let mut stdout = std::io::stdout().lock();
    let written = lines
        .iter()
        .try_for_each(|line| writeln!(stdout, "{line}"))
        .and_then(|()| stdout.flush());
    match written {
        Err(reason) if reason.kind() != ErrorKind::BrokenPipe => {
            tell(
                &Failure::from(Error::Unwritable {
                    what: "to stdout".into(),
                    reason,
                })
                .words(),
            );
            Outcome::NotWritten
        }
        _ => outcome,
    }
}

fn tell(words: &str) {
    let _ = writeln!(std::io::stderr(), "{words}");
}

/// The files that were written, and why one was not.
fn write_images(to: &Images, images: &[Image]) -> (Vec<PathBuf>, Option<Error>) {
    let mut files = Vec::new();
    for (index, image) in images.iter().enumerate() {
        match write_image(to, index + 1, image) {
            Ok(file) => files.push(file),
            Err(reason) => {
                let (Images::Into(place) | Images::File(place)) = to;
                return (
                    files,
                    Some(Error::Unwritable {
                        what: format!("a picture to {}", place.display()),
                        reason,
                    }),
                );
            }
        }
    }
    (files, None)
}

fn write_image(to: &Images, number: usize, image: &Image) -> Result<PathBuf, std::io::Error> {
    let bytes = base64::engine::general_purpose::STANDARD
        .decode(&image.data)
        .map_err(std::io::Error::other)?;
    let extension = if image.mime_type == "image/png" {
        "png"
    } else {
        "jpeg"
    };
    match to {
        Images::File(file) => std::fs::write(file, bytes).map(|()| file.clone()),
        Images::Into(folder) => write_new(folder, number, extension, &bytes),
    }
}

/// Writes a picture under the first name that is free: those of earlier runs stay, and a link that somebody laid there is not followed.
fn write_new(
    folder: &Path,
    from: usize,
    extension: &str,
    bytes: &[u8],
) -> Result<PathBuf, std::io::Error> {
    for number in from..from + MOST_PICTURES {
        let name = folder.join(format!("tabwire-{number}.{extension}"));
        match std::fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&name)
        {
            Ok(mut file) => return file.write_all(bytes).map(|()| name),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(std::io::Error::other(format!(
        "{} is full of pictures of earlier runs",
        folder.display()
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exit_code_tells_the_code_from_the_set_up_and_from_the_clock() {
        let of = |error: Error| Outcome::of(Some(&error.into())).exit_code();
        assert_eq!(of(Error::NoExtension), 3);
        assert_eq!(
            of(Error::TimedOut {
                after: Duration::from_secs(1)
            }),
            4
        );
        let thrown = Failure {
            kind: "code".into(),
            message: String::new(),
            next: None,
            is_environment: false,
        };
        assert_eq!(Outcome::of(Some(&thrown)).exit_code(), 1);
        assert_eq!(Outcome::of(None).exit_code(), 0);
    }

    #[test]
    fn pictures_of_earlier_runs_stay() {
        let folder = tempfile::tempdir().unwrap();
        let image = || Image {
            data: "eA==".into(),
            mime_type: "image/png".into(),
        };
        let to = Images::Into(folder.path().to_owned());
        write_images(&to, &[image(), image()]);
        let (names, unwritable) = write_images(&to, &[image()]);
        assert_eq!(names, [folder.path().join("tabwire-3.png")]);
        assert!(unwritable.is_none());
    }
}
