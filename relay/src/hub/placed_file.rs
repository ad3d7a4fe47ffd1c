//! Puts the file of a finished download where clients want it. Chrome saves it in a folder of its own
//! inside the person's download folder, because an extension cannot save files anywhere else. From
//! there it is moved; a file in any other place is the person's and is copied.
//!
//! Never replaces a file, never follows a link that stands where the file should go, and removes no
//! folder but that of the download, when it is empty.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rustix::fs::OFlags;
use tabwire_core::{Place, Placed, Placement};

/// The extension saves each download in a folder whose name is this and the download's id. No folder of
/// the person's has such a name.
const FOLDER_START: &str = "Tabwire-";

/// How many names are tried for a file: `report.txt`, `report (1).txt`, …
const MAX_NAMES: u32 = 10_000;

/// The ending of a file that is not complete, as Chrome's own. Clients that look for new files in a
/// folder ignore it.
const UNFINISHED: &str = "crdownload";

/// How often it is tried to remove the folder of a cancelled download. Chrome removes what it has
/// of the file a moment later, and may only be about to create the folder.
const TIDY_ATTEMPTS: u32 = 20;
const TIDY_INTERVAL: Duration = Duration::from_millis(100);

/// Places files on another thread. The core waits for the outcome, so there is one even if that
/// fails.
pub async fn place_on_thread(placement: Placement, place: fn(&Placement) -> Placed) -> Placed {
    let placement = Arc::new(placement);
    let shared = placement.clone();
    let placing = tokio::task::spawn_blocking(move || place(&shared));
    placing.await.unwrap_or_else(|error| Placed {
        guid: placement.guid.clone(),
        files: vec![Err(error.to_string()); placement.places.len()],
        // It may be the person's file, so nothing is removed.
        is_source_kept: true,
    })
}

/// Takes as long as copying the file, if it has to be copied.
pub fn place(placement: &Placement) -> Placed {
    let source = Path::new(&placement.source);
    let is_own = is_in_own_folder(source, &placement.guid);
    if is_own && placement.places.is_empty() {
        remove_empty_folder(source, TIDY_ATTEMPTS);
    }
    let files = put_all(source, is_own, placement);
    if is_own && files.iter().any(Result::is_ok) {
        // If this fails, a file stays in the person's download folder.
        if let Err(error) = fs::remove_file(source) {
            tracing::warn!(path = placement.source, %error, "cannot remove a download");
        }
        remove_empty_folder(source, 1);
    }
    Placed {
        guid: placement.guid.clone(),
        files,
        is_source_kept: !is_own,
    }
}

fn put_all(source: &Path, is_own: bool, placement: &Placement) -> Vec<Result<String, String>> {
    let places = &placement.places;
    // Two clients may want the file under its id in the same folder. Then it is one file for both, as in
    // Chrome.
    let ids: Vec<_> = places.iter().map(identify).collect();
    let first_of = |index: usize| {
        let id = ids.get(index)?.as_ref()?;
        let mut earlier = ids.iter().take(index);
        earlier.position(|other| other.as_ref() == Some(id))
    };
    let last = (0..places.len()).rfind(|index| first_of(*index).is_none());
    let mut files: Vec<Result<String, String>> = Vec::new();
    for (index, wanted) in places.iter().enumerate() {
        let first = first_of(index).and_then(|first| files.get(first).cloned());
        // Otherwise clients must not share a file: what one writes into it, the other would read.
        let can_link = is_own && last == Some(index);
        let file = match first {
            Some(file) => file.map(|_| Path::new(&wanted.folder).join(&wanted.name)),
            None => put(source, can_link, &placement.guid, wanted)
                .map_err(|error| format!("{}: {error}", wanted.folder)),
        };
        files.push(file.map(|path| path.to_string_lossy().into_owned()));
    }
    files
}

/// The folder and the name of a place, however its path is written. `None` if its file cannot be the same
/// as that of another place.
fn identify(place: &Place) -> Option<(u64, u64, &str)> {
    if place.is_numbered {
        return None;
    }
    // If this fails, putting the file there fails for the same reason.
    fs::create_dir_all(&place.folder).ok()?;
    let folder = fs::metadata(&place.folder).ok()?;
    Some((folder.dev(), folder.ino(), &place.name))
}

/// Removes the folder of a download, unless something is in it.
fn remove_empty_folder(source: &Path, attempts: u32) {
    let Some(folder) = source.parent() else {
        return;
    };
    for attempt in 1..=attempts {
        match fs::remove_dir(folder) {
            Err(error) if attempt < attempts && may_change(error.kind()) => {
                thread::sleep(TIDY_INTERVAL);
            }
            _ => return,
        }
    }
}

fn may_change(reason: ErrorKind) -> bool {
    matches!(reason, ErrorKind::DirectoryNotEmpty | ErrorKind::NotFound)
}

/// Whether the extension chose this path. Chrome may have added a number.
fn is_in_own_folder(source: &Path, guid: &str) -> bool {
    let name = source.file_name().and_then(|name| name.to_str());
    let folder = source.parent().and_then(Path::file_name);
    folder.is_some_and(|folder| folder == format!("{FOLDER_START}{guid}").as_str())
        && !guid.is_empty()
        && name.is_some_and(|name| name.starts_with(guid))
}

fn put(source: &Path, can_link: bool, guid: &str, wanted: &Place) -> io::Result<PathBuf> {
    if !fs::symlink_metadata(source)?.is_file() {
        return Err(io::Error::other("the download is not a file"));
    }
    let folder = Path::new(&wanted.folder);
    fs::create_dir_all(folder)?;
    // A second name for the file costs nothing. The person's file must not get one: whoever changes
    // it there would change it here.
    if can_link
        && let Some(path) = link(source, folder, wanted).or_else(|error| {
            if is_final(&error) {
                Err(error)
            } else {
                Ok(None)
            }
        })?
    {
        return Ok(path);
    }
    copy(source, guid, folder, wanted)
}

/// Whether a copy would fail for the same reason.
fn is_final(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::AlreadyExists | ErrorKind::NotFound | ErrorKind::InvalidInput
    )
}

/// Gives a file a name in this folder, the first one that is free.
fn link(source: &Path, folder: &Path, wanted: &Place) -> io::Result<Option<PathBuf>> {
    let names = if wanted.is_numbered { MAX_NAMES } else { 1 };
    for number in 0..names {
        let path = folder.join(numbered(&wanted.name, number)?);
        match fs::hard_link(source, &path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            linked => return linked.map(|()| Some(path)),
        }
    }
    Err(ErrorKind::AlreadyExists.into())
}

/// Copies the file to the folder under a name that shows that it is not complete. Then it gets its
/// own name.
fn copy(source: &Path, guid: &str, folder: &Path, wanted: &Place) -> io::Result<PathBuf> {
    let unfinished = folder.join(format!("{}.{UNFINISHED}", plain(guid)?));
    // Fails if there is anything at this path, also a link to nowhere. It is not ours to remove then.
    let file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&unfinished)?;
    let copied = copy_to(source, file);
    let placed = copied.and_then(|()| match link(&unfinished, folder, wanted) {
        Ok(Some(path)) => Ok(path),
        Err(error) if is_final(&error) => Err(error),
        _ => rename_unlinkable(&unfinished, folder, wanted),
    });
    // It is gone if it was renamed.
    let _ = fs::remove_file(&unfinished);
    placed
}

fn copy_to(source: &Path, mut to: File) -> io::Result<()> {
    let no_follow = i32::try_from(OFlags::NOFOLLOW.bits()).unwrap_or_default();
    let mut from = OpenOptions::new()
        .read(true)
        .custom_flags(no_follow)
        .open(source)?;
    io::copy(&mut from, &mut to)?;
    Ok(())
}

/// For file systems where a file has one name only. The name is reserved with an empty file.
fn rename_unlinkable(from: &Path, folder: &Path, wanted: &Place) -> io::Result<PathBuf> {
    let names = if wanted.is_numbered { MAX_NAMES } else { 1 };
    for number in 0..names {
        let path = folder.join(numbered(&wanted.name, number)?);
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
            Ok(_) => {
                return fs::rename(from, &path)
                    // An empty file must not pass for the download.
                    .inspect_err(|_| drop(fs::remove_file(&path)))
                    .map(|()| path);
            }
        }
    }
    Err(ErrorKind::AlreadyExists.into())
}

/// `report.txt`, then `report (1).txt`, as Chrome does it.
fn numbered(name: &str, number: u32) -> io::Result<String> {
    let name = plain(name)?;
    if number == 0 {
        return Ok(name.to_owned());
    }
    let (stem, ending) = match name.rfind('.') {
        Some(dot) if dot > 0 => name.split_at(dot),
        _ => (name, ""),
    };
    Ok(format!("{stem} ({number}){ending}"))
}

/// A name that cannot lead out of its folder.
fn plain(name: &str) -> io::Result<&str> {
    let is_plain = Path::new(name).file_name() == Some(name.as_ref());
    if is_plain {
        Ok(name)
    } else {
        Err(io::Error::new(ErrorKind::InvalidInput, "not a file name"))
    }
}

#[cfg(test)]
mod tests;
