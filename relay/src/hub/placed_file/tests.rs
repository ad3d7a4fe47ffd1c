//! Real files in a folder of their own.

use std::os::unix::fs::{MetadataExt, symlink};

use super::*;

const GUID: &str = "790c48b4-cee2-4755-b32f-b33ff8ccd4ee";

struct Scene {
    folder: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn write(&self, path: &str, content: &str) -> PathBuf {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    /// A download that Chrome has saved in Tabwire's folder.
    fn download(&self) -> PathBuf {
        self.write(&format!("Downloads/Tabwire-{GUID}/{GUID}"), "bytes")
    }

    fn place_at(&self, source: &Path, names: &[(&str, bool)]) -> Placed {
        let wanted = names.iter().map(|(name, is_numbered)| Place {
            folder: self.path("wanted").to_str().unwrap().to_owned(),
            name: (*name).to_owned(),
            is_numbered: *is_numbered,
        });
        Self::place_in(source, wanted)
    }

    fn place_in(source: &Path, places: impl Iterator<Item = Place>) -> Placed {
        place(&Placement {
            guid: GUID.to_owned(),
            source: source.to_str().unwrap().to_owned(),
            places: places.collect(),
        })
    }

    fn wanted(&self) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(self.path("wanted"))
            .map(|files| {
                files
                    .map(|file| file.unwrap().file_name().into_string().unwrap())
                    .collect()
            })
            .unwrap_or_default();
        names.sort();
        names
    }
}

#[test]
fn moves_a_download_and_leaves_no_folder_behind() {
    let scene = Scene::new();
    let source = scene.download();
    let placed = scene.place_at(&source, &[(GUID, false)]);
    let path = scene.path("wanted").join(GUID);
    assert_eq!(placed.files, [Ok(path.to_str().unwrap().to_owned())]);
    assert!(!placed.is_source_kept);
    assert_eq!(fs::read_to_string(path).unwrap(), "bytes");
    assert!(!scene.path(&format!("Downloads/Tabwire-{GUID}")).exists());
    assert!(scene.path("Downloads").exists());
}

#[test]
fn cancelled_download_leaves_no_folder_behind() {
    let scene = Scene::new();
    let part = scene.write(&format!("Downloads/Tabwire-{GUID}/{GUID}.crdownload"), "by");
    let source = scene.path(&format!("Downloads/Tabwire-{GUID}/{GUID}"));
    let chrome = thread::spawn(move || {
        thread::sleep(TIDY_INTERVAL);
        fs::remove_file(part).unwrap();
    });
    assert_eq!(scene.place_at(&source, &[]).files, []);
    chrome.join().unwrap();
    assert!(!scene.path(&format!("Downloads/Tabwire-{GUID}")).exists());
}

#[test]
fn folder_that_appears_after_the_cancellation_is_removed() {
    let scene = Scene::new();
    let folder = scene.path(&format!("Downloads/Tabwire-{GUID}"));
    let late = folder.clone();
    let chrome = thread::spawn(move || {
        thread::sleep(TIDY_INTERVAL);
        fs::create_dir_all(late).unwrap();
    });
    assert_eq!(scene.place_at(&folder.join(GUID), &[]).files, []);
    chrome.join().unwrap();
    assert!(!folder.exists());
}

#[test]
fn several_clients_get_a_file_each() {
    let scene = Scene::new();
    let source = scene.download();
    let placed = scene.place_at(&source, &[(GUID, false), ("report.txt", true)]);
    assert!(placed.files.iter().all(Result::is_ok), "{placed:?}");
    assert_eq!(scene.wanted(), [GUID, "report.txt"]);
    let inodes = [GUID, "report.txt"]
        .map(|name| fs::metadata(scene.path("wanted").join(name)).unwrap().ino());
    assert_ne!(
        inodes[0], inodes[1],
        "what one writes, the other does not read"
    );
    assert!(!source.exists());
}

#[test]
fn clients_that_want_the_same_file_share_it() {
    let scene = Scene::new();
    fs::create_dir(scene.path("wanted")).unwrap();
    symlink(scene.path("wanted"), scene.path("link")).unwrap();
    let folders = ["wanted", "wanted/", "other/../wanted", "link", "other"];
    fs::create_dir(scene.path("other")).unwrap();
    let source = scene.download();
    let placed = Scene::place_in(
        &source,
        folders.iter().map(|folder| Place {
            folder: scene.path(folder).to_str().unwrap().to_owned(),
            name: GUID.to_owned(),
            is_numbered: false,
        }),
    );
    for (folder, file) in folders.iter().zip(placed.files) {
        let path = scene.path(folder).join(GUID);
        assert_eq!(file.as_deref(), Ok(path.to_str().unwrap()));
        assert_eq!(fs::read_to_string(path).unwrap(), "bytes");
    }
    assert_eq!(scene.wanted(), [GUID]);
    assert!(!source.exists());
}

#[test]
fn folders_of_the_person_stay() {
    let scene = Scene::new();
    for folder in ["Downloads/Tabwire", "Downloads/Tabwire-mine"] {
        fs::create_dir_all(scene.path(folder)).unwrap();
        let source = scene.path(folder).join(GUID);
        scene.place_at(&source, &[]);
        assert!(scene.path(folder).exists());
        // A file there is the person's, too.
        fs::write(&source, "bytes").unwrap();
        let placed = scene.place_at(&source, &[("report.txt", true)]);
        assert!(placed.is_source_kept && source.exists(), "{placed:?}");
    }
    let source = scene.download();
    let other = scene.write(&format!("Downloads/Tabwire-{GUID}/notes.txt"), "mine");
    scene.place_at(&source, &[(GUID, false)]);
    assert!(!source.exists() && other.exists());
}

#[tokio::test]
async fn placing_that_panics_has_an_outcome() {
    let place = || Place {
        folder: "/nowhere".to_owned(),
        name: "report.txt".to_owned(),
        is_numbered: true,
    };
    let placement = Placement {
        guid: GUID.to_owned(),
        source: "/nowhere/report.txt".to_owned(),
        places: vec![place(), place()],
    };
    let placed = place_on_thread(placement, |_| panic!("a bug")).await;
    assert_eq!(placed.guid, GUID);
    assert_eq!(placed.files.len(), 2);
    assert!(placed.files.iter().all(Result::is_err) && placed.is_source_kept);
}

#[test]
fn numbers_a_file_instead_of_replacing_one() {
    let scene = Scene::new();
    scene.write("wanted/report.txt", "mine");
    scene.write("outside", "mine too");
    symlink(scene.path("outside"), scene.path("wanted/report (1).txt")).unwrap();
    symlink(scene.path("nowhere"), scene.path("wanted/report (2).txt")).unwrap();
    let placed = scene.place_at(&scene.download(), &[("report.txt", true)]);
    let path = scene.path("wanted/report (3).txt");
    assert_eq!(placed.files, [Ok(path.to_str().unwrap().to_owned())]);
    for (path, content) in [("wanted/report.txt", "mine"), ("outside", "mine too")] {
        assert_eq!(fs::read_to_string(scene.path(path)).unwrap(), content);
    }
    assert!(!scene.path("nowhere").exists());
}

#[test]
fn a_taken_id_is_an_error_and_the_download_stays() {
    let scene = Scene::new();
    scene.write(&format!("wanted/{GUID}"), "mine");
    let source = scene.download();
    let placed = scene.place_at(&source, &[(GUID, false)]);
    assert!(placed.files[0].is_err());
    assert!(source.exists());
    let kept = fs::read_to_string(scene.path("wanted").join(GUID)).unwrap();
    assert_eq!(kept, "mine");
}

#[test]
fn copies_a_file_that_is_not_in_its_own_folder() {
    let scene = Scene::new();
    let source = scene.write("Documents/report.txt", "bytes");
    let placed = scene.place_at(&source, &[("report.txt", true)]);
    assert!(placed.is_source_kept);
    let copied = fs::metadata(scene.path("wanted/report.txt")).unwrap();
    assert_eq!(fs::read_to_string(&source).unwrap(), "bytes");
    assert_ne!(copied.ino(), fs::metadata(&source).unwrap().ino());
    assert_eq!(scene.wanted(), ["report.txt"]);
}

#[test]
fn never_follows_a_link_in_place_of_the_download() {
    let scene = Scene::new();
    let secret = scene.write("secret", "token");
    let source = scene.path(&format!("Downloads/Tabwire-{GUID}/{GUID}"));
    fs::create_dir_all(source.parent().unwrap()).unwrap();
    symlink(secret, &source).unwrap();
    let placed = scene.place_at(&source, &[(GUID, false)]);
    assert!(placed.files[0].is_err());
    assert!(scene.wanted().is_empty());
}

#[test]
fn a_name_cannot_lead_out_of_the_folder() {
    let scene = Scene::new();
    let source = scene.download();
    for name in ["../escaped", "a/b", "..", "", "/etc/x"] {
        let placed = scene.place_at(&source, &[(name, true)]);
        assert!(placed.files[0].is_err(), "{name}");
    }
    assert!(source.exists() && !scene.path("escaped").exists());
    assert!(scene.wanted().is_empty());
}

#[test]
fn a_folder_that_cannot_be_created_is_an_error() {
    let scene = Scene::new();
    scene.write("wanted", "a file");
    let placed = scene.place_at(&scene.download(), &[(GUID, false)]);
    assert!(placed.files[0].is_err());
}

#[test]
fn a_file_with_the_name_of_an_unfinished_one_stays() {
    let scene = Scene::new();
    let source = scene.write("Elsewhere/report.txt", "bytes");
    let theirs = scene.write(&format!("wanted/{GUID}.crdownload"), "theirs");
    let placed = scene.place_at(&source, &[("report.txt", true)]);
    assert!(placed.files[0].is_err());
    assert_eq!(fs::read_to_string(theirs).unwrap(), "theirs");
    assert_eq!(scene.wanted(), [format!("{GUID}.crdownload")]);
}

#[test]
fn a_name_that_cannot_be_used_is_not_left_empty() {
    let scene = Scene::new();
    let missing = scene.path("wanted/missing");
    let wanted = Place {
        folder: String::new(),
        name: "report.txt".to_owned(),
        is_numbered: true,
    };
    fs::create_dir(scene.path("wanted")).unwrap();
    assert!(rename_unlinkable(&missing, &scene.path("wanted"), &wanted).is_err());
    assert!(scene.wanted().is_empty());
}
