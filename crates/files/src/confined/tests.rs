//! The way in, and all ways out.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};

use tensorfleet_tensor::Code;

use super::*;

/// A directory with a room for clients and a secret beside it.
struct Scene {
    directory: tempfile::TempDir,
}

impl Scene {
    fn new() -> Scene {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir_all(directory.path().join("room/inner")).unwrap();
        fs::create_dir_all(directory.path().join("room-beside")).unwrap();
        for secret in ["secret", "room-beside/secret"] {
            fs::write(directory.path().join(secret), "secret").unwrap();
        }
        fs::write(directory.path().join("room/open"), "open").unwrap();
        Scene { directory }
    }

    fn path(&self, name: &str) -> String {
        format!("{}/{name}", self.directory.path().display())
    }

    /// The room as this kernel confines it, and as one does that cannot.
    fn rooms(&self) -> [ConfinedFileSystem; 2] {
        let room = || ConfinedFileSystem::new([&*self.path("room")]).unwrap();
        let mut without = room();
        for root in std::mem::take(&mut without.directories) {
            let directory = root.directory.without_kernel();
            without.directories.push(Root { names: root.names, directory });
        }
        [room(), without]
    }
}

fn contents(files: &dyn FileSystem, path: &str) -> Result<Vec<u8>> {
    let file = files.open(path)?;
    let mut bytes = vec![0; file.len() as usize];
    file.read_at(0, &mut bytes)?;
    Ok(bytes)
}

#[test]
fn what_is_inside_works() {
    let scene = Scene::new();
    for files in scene.rooms() {
        let path = |name: &str| scene.path(&format!("room/{name}"));
        assert_eq!(contents(&files, &path("open")).unwrap(), b"open");
        assert_eq!(contents(&files, &format!("file://{}", path("./open"))).unwrap(), b"open");
        files.create_dirs(&path("a/b/c")).unwrap();
        let mut file = files.create(&path("a/b/c/one.tmp")).unwrap();
        file.append(b"1").unwrap();
        file.finish().unwrap();
        files.rename(&path("a/b/c/one.tmp"), &path("a/one")).unwrap();
        files.append(&path("a/one")).unwrap().append(b"2").unwrap();
        assert_eq!(contents(&files, &path("a/one")).unwrap(), b"12");
        files.link(&path("a/one"), &path("a/two")).unwrap();
        assert_eq!(files.glob(&path("a/*o*")).unwrap(), [path("a/one"), path("a/two")]);
        assert_eq!(files.glob(&path("*/one")).unwrap(), [path("a/one")]);
        let claim = files.claim(&path("a/lock"), "mine").unwrap();
        let refused = files.claim(&path("a/lock"), "theirs").unwrap_err();
        assert_eq!((refused.code(), refused.message()), (Code::AlreadyExists, "mine"));
        drop(claim);
        files.delete(&path("a/one")).unwrap();
        files.delete(&path("a/two")).unwrap();
        files.delete_dir(&path("a/b/c")).unwrap();
        assert_eq!(files.open(&path("a/one")).unwrap_err().code(), Code::NotFound);
        assert_eq!(files.open(&path("inner")).unwrap_err().code(), Code::FailedPrecondition);
        assert!(files.plain_path(&path("open")).is_none());
        fs::remove_dir_all(path("a")).unwrap();
    }
}

#[test]
fn nothing_leads_out() {
    let scene = Scene::new();
    let inside = |name: &str| scene.path(&format!("room/{name}"));
    symlink(scene.path("secret"), inside("absolute")).unwrap();
    symlink("../secret", inside("relative")).unwrap();
    symlink(scene.path(""), inside("directory")).unwrap();
    symlink("..", inside("up")).unwrap();
    symlink("/proc/self/root", inside("root")).unwrap();
    symlink("/proc/self/cwd", inside("cwd")).unwrap();
    for files in scene.rooms() {
        for path in [
            scene.path("secret"),
            scene.path("room-beside/secret"),
            scene.path("room/../secret"),
            scene.path("room/inner/../../secret"),
            format!("file://{}", scene.path("secret")),
            inside("absolute"),
            inside("relative"),
            inside("directory/secret"),
            inside("up/secret"),
            inside(&format!("root{}", scene.path("secret"))),
            inside("cwd/Cargo.toml"),
            "/etc/passwd".to_owned(),
            "/proc/self/environ".to_owned(),
            "/proc/self/cwd/Cargo.toml".to_owned(),
            "Cargo.toml".to_owned(),
            "s3://bucket/key".to_owned(),
            String::new(),
        ] {
            let denied = |result: Result<()>, what: &str| {
                let error = result.expect_err(&format!("{what} {path}"));
                assert_eq!(error.code(), Code::PermissionDenied, "{what} {path}: {error}");
                assert!(error.message().contains(&path), "{error}");
                assert!(error.message().contains("--fs-root"), "{error}");
            };
            denied(files.open(&path).map(drop), "open");
            // A link that is there is itself inside: it may be removed, and never followed.
            if scene.path("secret") != path && !path.contains("room/") {
                continue;
            }
            denied(files.create(&path).map(drop), "create");
            denied(files.append(&path).map(drop), "append");
        }
        for path in ["directory/new", "up/new", "../new", "inner/../../new"].map(inside) {
            for failed in [
                files.create(&path).map(drop),
                files.create_dir(&path),
                files.claim(&path, "x").map(drop),
                files.rename(&inside("open"), &path),
                files.link(&inside("open"), &path),
            ] {
                assert_eq!(failed.unwrap_err().code(), Code::PermissionDenied, "{path}");
            }
        }
        for path in ["directory/secret", "up/secret", "../secret"].map(inside) {
            for failed in [
                files.delete(&path),
                files.delete_dir(&path),
                files.rename(&path, &inside("stolen")),
                files.link(&path, &inside("stolen")),
            ] {
                assert_eq!(failed.unwrap_err().code(), Code::PermissionDenied, "{path}");
            }
        }
        // A claim follows no link either.
        assert!(files.claim(&inside("relative"), "overwritten").is_err());
        for pattern in ["up/*", "directory/*", "relat*", "../*"].map(inside) {
            let found = files.glob(&pattern).unwrap_or_default();
            assert!(found.is_empty(), "{pattern}: {found:?}");
        }
        assert_eq!(files.glob("/etc/*").unwrap_err().code(), Code::PermissionDenied);
        assert!(files.create_dir(&scene.path("new")).is_err());
        files.create_dir(&scene.path("")).unwrap();
        files.link(&inside("relative"), &inside("again")).unwrap();
        assert!(contents(&files, &inside("again")).is_err());
        files.delete(&inside("again")).unwrap();
    }
    assert_eq!(fs::read(scene.path("secret")).unwrap(), b"secret");
    assert_eq!(fs::read_dir(scene.path("")).unwrap().count(), 3);
}

#[test]
fn links_that_stay_inside_are_followed_where_the_kernel_can_tell() {
    let scene = Scene::new();
    symlink("../open", scene.path("room/inner/link")).unwrap();
    let [by_kernel, without] = scene.rooms();
    if by_kernel.directories.iter().all(|root| root.directory.is_by_kernel()) {
        assert_eq!(contents(&by_kernel, &scene.path("room/inner/link")).unwrap(), b"open");
    }
    assert!(contents(&without, &scene.path("room/inner/link")).is_err());
}

#[test]
fn a_root_may_be_a_link_and_roots_may_be_nested() {
    let scene = Scene::new();
    symlink("room", scene.path("alias")).unwrap();
    let roots = [scene.path("alias"), scene.path("room/inner/")];
    let files = ConfinedFileSystem::new(roots.iter().map(String::as_str)).unwrap();
    for path in ["alias/open", "room/open", "room/inner/../open"] {
        // The innermost root is looked up from, so that `..` leads out of it.
        let found = contents(&files, &scene.path(path));
        assert_eq!(found.is_ok(), !path.contains(".."), "{path}");
    }
    assert!(ConfinedFileSystem::new([&*scene.path("missing")]).is_err());
    assert!(ConfinedFileSystem::new([&*scene.path("secret")]).is_err());
    let error = ConfinedFileSystem::new([]).unwrap().open("/etc/passwd").unwrap_err();
    assert_eq!(error.code(), Code::PermissionDenied);
}

#[test]
fn prefixes_of_object_storage() {
    let files = ConfinedFileSystem::new(["s3://bucket/team/"]).unwrap();
    for path in
        ["s3://bucket/team2/x", "s3://bucket/team/../x", "s3://other/team/x", "gs://bucket/team/x"]
    {
        assert_eq!(files.open(path).unwrap_err().code(), Code::PermissionDenied, "{path}");
    }
    // What is below the prefix is asked of the storage.
    assert_ne!(files.open("s3://bucket/team/x").unwrap_err().code(), Code::PermissionDenied);
}

/// Somebody swaps a directory for a link that leads out, again and again, while files are looked up in
/// it: the secret is never read.
#[test]
fn races_do_not_lead_out() {
    let scene = Scene::new();
    fs::create_dir(scene.path("outside")).unwrap();
    fs::write(scene.path("outside/file"), "secret").unwrap();
    fs::create_dir(scene.path("room/swapped")).unwrap();
    fs::write(scene.path("room/swapped/file"), "inside").unwrap();
    symlink(scene.path("outside"), scene.path("room/link")).unwrap();
    let stop = AtomicBool::new(false);
    let mut read = std::collections::BTreeSet::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let name = |name: &str| scene.path(&format!("room/{name}"));
            while !stop.load(Ordering::Relaxed) {
                for (from, to) in [
                    ("swapped", "aside"),
                    ("link", "swapped"),
                    ("swapped", "link"),
                    ("aside", "swapped"),
                ] {
                    fs::rename(name(from), name(to)).unwrap();
                }
            }
        });
        for files in scene.rooms() {
            for _ in 0..4000 {
                // What goes wrong meanwhile is told in many ways; what counts is what is read.
                if let Ok(bytes) = contents(&files, &scene.path("room/swapped/file")) {
                    read.insert(bytes);
                }
                files.create(&scene.path("room/swapped/made")).ok();
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(read.into_iter().collect::<Vec<_>>(), [b"inside".to_vec()]);
    assert!(fs::metadata(scene.path("outside/made")).is_err());
}
