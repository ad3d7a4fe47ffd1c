//! Running code from a shell: one run with its own worker, which leaves the browser's tabs as they
//! were.

use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine as _;
use serde_json::json;
use tabwire_home::on_terminal;

use crate::Settings;
use crate::error::{Audience, Error};
use crate::progress::Progress;
use crate::response::{Failure, Image, Report, Response};
use crate::session::Session;

/// How many file names are tried for one image.
const MAX_IMAGE_FILES: usize = 10_000;

/// How a run ended, for the shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Done,
    /// The code threw or does not compile.
    CodeFailed,
    /// The code could not be read.
    NoCode,
    /// Relay, browser, extension, slot, Node.js or the named tab is unavailable.
    Unavailable,
    /// The code was stopped: timeout, memory, or Ctrl-C.
    Stopped,
    /// The code finished, but its output could not be written.
    NotWritten,
}

impl Outcome {
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::CodeFailed => 1,
            // Like any other unusable command line.
            Self::NoCode => 2,
            Self::Unavailable => 3,
            Self::Stopped => 4,
            Self::NotWritten => 5,
        }
    }

    fn of(failure: Option<&Failure>) -> Self {
        match failure {
            None => Self::Done,
            Some(Failure::Code(_)) => Self::CodeFailed,
            Some(Failure::Other(error)) => match error {
                Error::Unreadable { .. } => Self::NoCode,
                Error::Unwritable { .. } => Self::NotWritten,
                Error::TimedOut { .. }
                | Error::OutOfMemory(_)
                | Error::WorkerExited(_)
                | Error::Cancelled => Self::Stopped,
                _ => Self::Unavailable,
            },
        }
    }
}

pub struct Run {
    pub code: String,
    pub timeout: Duration,
    /// The tab to use, by number, target id, or a part of its address or title.
    pub tab: Option<String>,
    pub json: bool,
    pub images: Images,
    pub text: Text,
}

/// Where the text of a response goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Text {
    /// To stdout: it is the result.
    Result,
    /// To stderr: the images are the result.
    Notes,
}

/// Where images go.
pub enum Images {
    /// Into a folder, under new names.
    Folder(PathBuf),
    /// The only image goes to this file.
    File(PathBuf),
}

/// `interrupted` stops the code early. Tabs that it opened are still closed.
pub async fn run(settings: Settings, run: Run, interrupted: impl Future<Output = ()>) -> Outcome {
    let mut session = Session::new(settings, Audience::ShellUser);
    let progress = Progress::stderr();
    let response = tokio::select! {
        response = execute(&mut session, &run, &progress) => response.unwrap_or_else(Response::from),
        () = interrupted => Error::Cancelled.into(),
    };
    session.finish().await;
    print_response(&run, response)
}

async fn execute(session: &mut Session, run: &Run, progress: &Progress) -> Result<Response, Error> {
    session.prepare(progress).await?;
    if let Some(tab) = &run.tab {
        session.use_tab(tab).await?;
    }
    Ok(session.execute(&run.code, run.timeout, progress).await)
}

pub async fn tabs(settings: Settings, as_json: bool) -> Outcome {
    let mut session = Session::new(settings, Audience::ShellUser);
    let listed = match session.prepare(&Progress::stderr()).await {
        Ok(()) => session.tabs().await,
        Err(error) => Err(error),
    };
    session.finish().await;
    match listed {
        Ok(tabs) if as_json => print_lines(&[json!(tabs).to_string()], Outcome::Done),
        Ok(tabs) => {
            let lines: Vec<String> = tabs.into_iter().map(|tab| tab.line).collect();
            print_lines(&lines, Outcome::Done)
        }
        Err(error) => fail(error, as_json),
    }
}

/// Reports an error that left nothing else to print.
pub fn fail(error: Error, as_json: bool) -> Outcome {
    let failure = Failure::Other(error);
    let (outcome, report) = (Outcome::of(Some(&failure)), report(&failure));
    if as_json {
        let object = json!({ "ok": false, "error": report });
        return print_lines(&[object.to_string()], outcome);
    }
    print_to_stderr(&report.text());
    outcome
}

fn report(failure: &Failure) -> Report {
    failure.report(Audience::ShellUser)
}

/// Prints the response, then what could not be written.
fn print_response(run: &Run, response: Response) -> Outcome {
    let (files, unwritable) = write_images(&run.images, &response.images);
    let failures: Vec<Failure> = response
        .failure
        .into_iter()
        .chain(unwritable.map(Failure::Other))
        .collect();
    let outcome = Outcome::of(failures.first());
    let reports: Vec<Report> = failures.iter().map(report).collect();
    if run.json {
        let object = json!({ "ok": reports.is_empty(), "text": response.text, "images": files, "error": reports.first() });
        return print_lines(&[object.to_string()], outcome);
    }
    let mut lines = Vec::new();
    match run.text {
        _ if response.text.is_empty() => {}
        Text::Result => lines.push(response.text),
        Text::Notes => print_to_stderr(&response.text),
    }
    lines.extend(files.iter().map(|file| file.display().to_string()));
    let outcome = print_lines(&lines, outcome);
    for report in &reports {
        print_to_stderr(&report.text());
    }
    outcome
}

/// Writes to stdout. A reader that closes the pipe early is not an error.
fn print_lines(lines: &[String], outcome: Outcome) -> Outcome {
    let mut stdout = io::stdout().lock();
    let written = lines
        .iter()
        .try_for_each(|line| {
            let line = on_terminal(&stdout, line);
            writeln!(stdout, "{line}")
        })
        .and_then(|()| stdout.flush());
    match written {
        Err(reason) if reason.kind() != ErrorKind::BrokenPipe => {
            let error = Error::Unwritable {
                what: "to stdout".into(),
                reason,
            };
            print_to_stderr(&report(&Failure::Other(error)).text());
            Outcome::NotWritten
        }
        _ => outcome,
    }
}

fn print_to_stderr(text: &str) {
    let mut stderr = io::stderr();
    let text = on_terminal(&stderr, text);
    let _ = writeln!(stderr, "{text}");
}

/// Returns the files that were written, and the error of the first that was not.
fn write_images(to: &Images, images: &[Image]) -> (Vec<PathBuf>, Option<Error>) {
    let mut files = Vec::new();
    for (index, image) in images.iter().enumerate() {
        match write_image(to, index + 1, image) {
            Ok(file) => files.push(file),
            Err(reason) => {
                let (Images::Folder(place) | Images::File(place)) = to;
                let what = format!("an image to {}", place.display());
                return (files, Some(Error::Unwritable { what, reason }));
            }
        }
    }
    (files, None)
}

fn write_image(to: &Images, number: usize, image: &Image) -> io::Result<PathBuf> {
    let bytes = base64::engine::general_purpose::STANDARD
        .decode(&image.data)
        .map_err(io::Error::other)?;
    let extension = match image.mime_type.as_str() {
        "image/png" => "png",
        _ => "jpeg",
    };
    match to {
        Images::File(file) => std::fs::write(file, bytes).map(|()| file.clone()),
        Images::Folder(folder) => write_new(folder, number, extension, &bytes),
    }
}

/// Writes an image under the first free name. Never overwrites a file and never follows a link that
/// somebody put there.
fn write_new(folder: &Path, from: usize, extension: &str, bytes: &[u8]) -> io::Result<PathBuf> {
    for number in from..from + MAX_IMAGE_FILES {
        let name = folder.join(format!("tabwire-{number}.{extension}"));
        let mut options = std::fs::OpenOptions::new();
        match options.write(true).create_new(true).open(&name) {
            Ok(mut file) => return file.write_all(bytes).map(|()| name),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other("too many images from earlier runs"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_code_distinguishes_code_set_up_and_timeout() {
        let exit_code = |failure: Failure| Outcome::of(Some(&failure)).exit_code();
        assert_eq!(exit_code(Failure::Other(Error::NoExtension)), 3);
        let after = Duration::from_secs(1);
        assert_eq!(exit_code(Failure::Other(Error::TimedOut { after })), 4);
        let thrown = Report {
            kind: "code".into(),
            message: String::new(),
            next: None,
        };
        assert_eq!(exit_code(Failure::Code(thrown)), 1);
        assert_eq!(Outcome::of(None).exit_code(), 0);
    }

    #[test]
    fn keeps_images_from_earlier_runs() {
        let folder = tempfile::tempdir().unwrap();
        let image = || Image {
            data: "eA==".into(),
            mime_type: "image/png".into(),
        };
        let to = Images::Folder(folder.path().to_owned());
        write_images(&to, &[image(), image()]);
        let (names, unwritable) = write_images(&to, &[image()]);
        assert_eq!(names, [folder.path().join("tabwire-3.png")]);
        assert!(unwritable.is_none());
    }
}
