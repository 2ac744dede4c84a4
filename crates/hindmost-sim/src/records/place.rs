//! The files of a run while they are written: temporary names, renaming, and removal if the run fails.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Adds the path to an error.
fn at(path: &Path) -> impl FnOnce(io::Error) -> io::Error + '_ {
    move |error| io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// The state that all [`Place`]s of this process share. Runs in several threads share the folder of their policy, and a
/// run that fails must not remove it while another one creates its own folder in it.
#[derive(Default)]
struct Shared {
    /// Folders that were created and do not contain a complete file yet.
    made: BTreeSet<PathBuf>,
    /// Files that are being written.
    parts: BTreeSet<PathBuf>,
}

static SHARED: Mutex<Shared> = Mutex::new(Shared { made: BTreeSet::new(), parts: BTreeSet::new() });

fn shared() -> MutexGuard<'static, Shared> {
    SHARED.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    /// Creates a folder and its parents, and remembers which of them are new.
    fn make_folder(&mut self, folder: &Path) -> io::Result<()> {
        let mut made = fs::create_dir(folder);
        if let (Err(error), Some(parent)) = (&made, folder.parent())
            && error.kind() == io::ErrorKind::NotFound
            && !parent.as_os_str().is_empty()
        {
            self.make_folder(parent)?;
            made = fs::create_dir(folder);
        }
        match made {
            Ok(()) => {
                self.made.insert(folder.to_path_buf());
                Ok(())
            }
            Err(_) if folder.is_dir() => Ok(()),
            Err(error) => Err(at(folder)(error)),
        }
    }

    /// Creates a temporary file in the folder of its target. Several runs may have the same label and seed, if a policy
    /// is named twice: each gets its own temporary file, and all write the same content.
    fn make_part(&mut self, target: PathBuf) -> io::Result<(PartFile, Part)> {
        if target.is_dir() {
            return Err(at(&target)(io::ErrorKind::IsADirectory.into()));
        }
        let mut path = with_ending(&target, ".part");
        let mut number = 1u32;
        while self.parts.contains(&path) {
            number += 1;
            path = with_ending(&target, &format!(".{number}.part"));
        }
        let file = File::create(&path).map_err(at(&path))?;
        self.parts.insert(path.clone());
        Ok((PartFile { file, path: path.clone() }, Part { path, target }))
    }
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// A file under its temporary name.
struct Part {
    path: PathBuf,
    target: PathBuf,
}

/// The folder of a run and its incomplete files. Removes them if it is dropped before they are complete.
pub(super) struct Place {
    folder: PathBuf,
    parts: Vec<Part>,
}

impl Place {
    /// Creates the folder and a file for each name.
    pub(super) fn open<const N: usize>(
        folder: PathBuf,
        names: [&str; N],
        extension: &str,
    ) -> io::Result<(Place, [PartFile; N])> {
        let mut place = Place { folder, parts: Vec::new() };
        let files = place.make(names, extension);
        // The place must not be dropped while `Shared` is locked.
        files.map(|files| (place, files))
    }

    fn make<const N: usize>(&mut self, names: [&str; N], extension: &str) -> io::Result<[PartFile; N]> {
        let mut shared = shared();
        shared.make_folder(&self.folder)?;
        let mut files = Vec::with_capacity(N);
        for name in names {
            let (file, part) = shared.make_part(self.folder.join(format!("{name}.{extension}")))?;
            files.push(file);
            self.parts.push(part);
        }
        files.try_into().map_err(|_| io::Error::other("internal error, please report it: a file is missing"))
    }

    /// Renames the files to their final names; they must be written and closed. The first file is renamed last, so if
    /// it exists, all files exist.
    pub(super) fn keep(mut self) -> io::Result<()> {
        while let Some(part) = self.parts.last() {
            fs::rename(&part.path, &part.target).map_err(at(&part.target))?;
            shared().parts.remove(&part.path);
            self.parts.pop();
        }
        let mut shared = shared();
        for folder in self.folder.ancestors() {
            shared.made.remove(folder);
        }
        Ok(())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut shared = shared();
        for part in &self.parts {
            // A failure cannot be reported from here.
            let _ = fs::remove_file(&part.path);
            shared.parts.remove(&part.path);
        }
        for folder in self.folder.ancestors() {
            // Removal fails if another run still has files in the folder; the last run that fails removes the folder.
            if shared.made.contains(folder) && fs::remove_dir(folder).is_ok() {
                shared.made.remove(folder);
            }
        }
    }
}

/// A file whose errors contain its path.
pub(super) struct PartFile {
    file: File,
    path: PathBuf,
}

impl PartFile {
    /// Returns the path of the file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Waits until the content is on the disk. Some file systems report only then that they are full, and the final
    /// name must not exist before the content.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync_all().map_err(at(&self.path))
    }
}

impl Write for PartFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes).map_err(at(&self.path))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush().map_err(at(&self.path))
    }
}
