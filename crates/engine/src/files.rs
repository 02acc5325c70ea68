//! The file system that tools see: the real one with two limits.
//!
//! - A whole file is read up to a limit. A file without an end (`/dev/zero`, a pipe that is kept
//!   full) would fill the memory from within a system call, where V8 cannot stop it. Reading in
//!   parts is not affected.
//! - Where permissions bound reading or writing, the file of an operation is the one whose path was
//!   checked, whatever is renamed meanwhile (`pinned`). Functions that return metadata only (`stat`,
//!   `lstat`, `realpath`, `exists`, `statfs`) are not pinned.

#![expect(unsafe_code, reason = "Deno gives descriptors as numbers")]

use std::borrow::Cow;
use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::BorrowedFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use async_trait::async_trait;
use deno_runtime::deno_fs::{
    FileSystem, FsDirEntry, FsFileType, FsReadDirRc, OpenOptions, RealFs,
    open_options_for_checked_path,
};
use deno_runtime::deno_io::StdFileResourceInner;
use deno_runtime::deno_io::fs::{File, FsError, FsResult, FsStat, FsStatFs};
use deno_runtime::deno_permissions::{CheckedPath, CheckedPathBuf};

use super::extension::too_large;
use super::load_trace;
use super::pinned::{FileBounds, Pin, Use};
use super::verify::Verifier;
use haft_tool::PermissionProfile;

/// The real file system with a limit.
#[derive(Debug)]
pub(super) struct BoundedFiles {
    /// The most bytes that reading a whole file gives.
    limit: u64,
    /// Verifier of the files that become code; `None` if the modules are the user's own.
    verifier: Option<Arc<Verifier>>,
    bounds: FileBounds,
}

impl BoundedFiles {
    pub(super) fn new(
        limit: u64,
        verifier: Option<Arc<Verifier>>,
        permissions: Arc<PermissionProfile>,
    ) -> Self {
        BoundedFiles {
            limit,
            verifier,
            bounds: FileBounds::new(permissions),
        }
    }

    fn note(&self, path: &Path, bytes: &[u8]) {
        if let Some(verifier) = &self.verifier {
            verifier.note_data(path, bytes);
        }
    }

    /// Notifies the verifier of a file that will be read by its descriptor, in parts.
    fn note_opened(&self, path: &Path, options: OpenOptions, file: &Rc<dyn File>) {
        let Some(verifier) = self.verifier.as_ref().filter(|_| options.read) else {
            return;
        };
        let descriptor = file.clone().backing_fd();
        // SAFETY: the file holds the descriptor open.
        let descriptor = descriptor.map(|raw| unsafe { BorrowedFd::borrow_raw(raw) });
        if let Some(Ok(same)) = descriptor.map(|it| it.try_clone_to_owned()) {
            verifier.note_opened(path, &same.into());
        }
    }

    /// Notifies the verifier of a file or a directory that is copied.
    fn note_copied(&self, path: &Path) {
        if let Some(verifier) = &self.verifier {
            verifier.note_copied(path);
        }
    }
}

fn read_whole(mut file: fs::File, limit: u64) -> FsResult<Cow<'static, [u8]>> {
    let size = file.metadata().map_or(0, |metadata| metadata.len());
    if size > limit {
        return Err(too_large(limit).into());
    }
    // The size is only a hint: kernel files report 0, and other files grow meanwhile.
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
    (&mut file).take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(too_large(limit).into());
    }
    Ok(Cow::Owned(bytes))
}

/// Returns the kind of use that opening a file with these options is.
fn use_of(options: OpenOptions) -> Use {
    let writes = options.write || options.append || options.create || options.truncate;
    if writes || options.create_new {
        Use::Write
    } else {
        Use::Read
    }
}

impl FileBounds {
    fn open_file(&self, path: &CheckedPath<'_>, mut options: OpenOptions) -> FsResult<fs::File> {
        let what = use_of(options);
        match self.open(path, options, what)? {
            Some(file) => Ok(file),
            None => {
                if options.create {
                    // Deno creates the file, because it knows what creating without writing means.
                    // Then it is only opened.
                    drop(RealFs.open_sync(path, options)?);
                    (options.create, options.create_new, options.truncate) = (false, false, false);
                }
                Ok(open_options_for_checked_path(options, path).open(&**path)?)
            }
        }
    }

    fn truncate(&self, path: &CheckedPath<'_>, length: u64) -> FsResult<()> {
        // A link as the last part is not followed.
        let pinned = self.pin(path, Use::Write, Pin::Entry)?;
        RealFs.truncate_sync(&pinned.checked(), length)
    }

    fn make_folder(
        &self,
        path: &CheckedPath<'_>,
        recursive: bool,
        mode: Option<u32>,
    ) -> FsResult<()> {
        if recursive && self.make_folders(path, mode)? {
            return Ok(());
        }
        let pinned = self.pin(path, Use::Write, Pin::Entry)?;
        RealFs.mkdir_sync(&pinned.checked(), recursive, mode)
    }

    fn write_whole(
        &self,
        path: &CheckedPath<'_>,
        options: OpenOptions,
        data: &[u8],
    ) -> FsResult<()> {
        let mut file = self.open_file(path, options)?;
        if let Some(mode) = options.mode {
            file.set_permissions(fs::Permissions::from_mode(mode))?;
        }
        Ok(file.write_all(data)?)
    }

    /// Copies a file; source and target are checked when they are open.
    fn copy_whole(&self, from: &CheckedPath<'_>, to: &CheckedPath<'_>) -> FsResult<()> {
        let mut source = self.open_file(from, OpenOptions::read())?;
        let found = source.metadata()?;
        let invalid = |text: &str| io::Error::new(io::ErrorKind::InvalidInput, text.to_owned());
        if !found.is_file() {
            return Err(invalid("the source path is not a regular file").into());
        }
        let id = |found: &fs::Metadata| (found.dev(), found.ino());
        if fs::metadata(&**to).is_ok_and(|target| id(&target) == id(&found)) {
            return Err(invalid("Source and destination paths refer to the same file").into());
        }
        let mode = found.permissions().mode();
        let options = OpenOptions::write(true, false, false, Some(mode));
        let mut target = self.open_file(to, options)?;
        if target.metadata()?.is_file() {
            target.set_permissions(found.permissions())?;
        }
        io::copy(&mut source, &mut target)?;
        Ok(())
    }
}

/// Runs `work` on a thread that may block.
async fn later<T: Send + 'static>(
    work: impl FnOnce() -> FsResult<T> + Send + 'static,
) -> FsResult<T> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(io::Error::other)?
}

/// Implements the trait by the real file system's functions: those of the first list with the path
/// that they get, those of the second one with a path that is pinned for a use, those of the third one
/// with two entries that are pinned.
macro_rules! real_files {
    (
        $(fn $name:ident($($arg:ident: $type:ty),*) -> $result:ty;)*
        $(async fn $later:ident($($later_arg:ident: $later_type:ty),*) -> $later_result:ty;)*
        $(
            pinned $use:ident $pin:ident
            fn $pinned:ident, $pinned_later:ident(path $(, $more:ident: $more_type:ty)*);
        )*
        $(pair fn $pair:ident, $pair_later:ident(from, to);)*
        own { $($own:item)* }
    ) => {
        #[async_trait(?Send)]
        impl FileSystem for BoundedFiles {
            $(fn $name(&self, $($arg: $type),*) -> $result { RealFs.$name($($arg),*) })*
            $(async fn $later(&self, $($later_arg: $later_type),*) -> $later_result {
                RealFs.$later($($later_arg),*).await
            })*
            $(
                fn $pinned(&self, path: &CheckedPath $(, $more: $more_type)*) -> FsResult<()> {
                    let pinned = self.bounds.pin(path, Use::$use, Pin::$pin)?;
                    RealFs.$pinned(&pinned.checked() $(, $more)*)
                }

                async fn $pinned_later(
                    &self,
                    path: CheckedPathBuf
                    $(, $more: $more_type)*
                ) -> FsResult<()> {
                    let bounds = self.bounds.clone();
                    later(move || {
                        let path = path.as_checked_path();
                        let pinned = bounds.pin(&path, Use::$use, Pin::$pin)?;
                        RealFs.$pinned(&pinned.checked() $(, $more)*)
                    })
                    .await
                }
            )*
            $(
                fn $pair(&self, from: &CheckedPath, to: &CheckedPath) -> FsResult<()> {
                    let [from, to] = self.bounds.pin_both(from, to)?;
                    RealFs.$pair(&from.checked(), &to.checked())
                }

                async fn $pair_later(&self, from: CheckedPathBuf, to: CheckedPathBuf) -> FsResult<()> {
                    let bounds = self.bounds.clone();
                    later(move || {
                        let (from, to) = (from.as_checked_path(), to.as_checked_path());
                        let [from, to] = bounds.pin_both(&from, &to)?;
                        RealFs.$pair(&from.checked(), &to.checked())
                    })
                    .await
                }
            )*
            $($own)*
        }
    };
}

real_files! {
    fn cwd() -> FsResult<PathBuf>;
    fn tmp_dir() -> FsResult<PathBuf>;
    fn umask(mask: Option<u32>) -> FsResult<u32>;
    fn stat_sync(path: &CheckedPath) -> FsResult<FsStat>;
    fn lstat_sync(path: &CheckedPath) -> FsResult<FsStat>;
    fn statfs_sync(path: &CheckedPath, bigint: bool) -> FsResult<FsStatFs>;
    fn realpath_sync(path: &CheckedPath) -> FsResult<PathBuf>;
    // Deno asks for unlimited permissions to make a link.
    fn symlink_sync(from: &CheckedPath, to: &CheckedPath, kind: Option<FsFileType>) -> FsResult<()>;
    fn exists_sync(path: &CheckedPath) -> bool;

    async fn stat_async(path: CheckedPathBuf) -> FsResult<FsStat>;
    async fn lstat_async(path: CheckedPathBuf) -> FsResult<FsStat>;
    async fn statfs_async(path: CheckedPathBuf, bigint: bool) -> FsResult<FsStatFs>;
    async fn realpath_async(path: CheckedPathBuf) -> FsResult<PathBuf>;
    async fn symlink_async(
        from: CheckedPathBuf, to: CheckedPathBuf, kind: Option<FsFileType>
    ) -> FsResult<()>;
    async fn exists_async(path: CheckedPathBuf) -> FsResult<bool>;

    pinned Write Target fn chmod_sync, chmod_async(path, mode: u32);
    pinned Write Target fn chown_sync, chown_async(path, uid: Option<u32>, gid: Option<u32>);
    pinned Write Entry fn lchmod_sync, lchmod_async(path, mode: u32);
    pinned Write Entry fn lchown_sync, lchown_async(path, uid: Option<u32>, gid: Option<u32>);
    pinned Write Entry fn remove_sync, remove_async(path, recursive: bool);
    pinned Write Entry fn rmdir_sync, rmdir_async(path);
    pinned Write Target fn utime_sync, utime_async(
        path, a: i64, a_nanos: u32, m: i64, m_nanos: u32
    );
    pinned Write Entry fn lutime_sync, lutime_async(
        path, a: i64, a_nanos: u32, m: i64, m_nanos: u32
    );
    pair fn rename_sync, rename_async(from, to);
    pair fn link_sync, link_async(from, to);

    own {
        fn chdir(&self, path: &CheckedPath) -> FsResult<()> {
            load_trace::mark_side_effects("it changes the working directory");
            RealFs.chdir(path)
        }

        fn open_sync(&self, path: &CheckedPath, options: OpenOptions) -> FsResult<Rc<dyn File>> {
            let what = use_of(options);
            let file: Rc<dyn File> = match self.bounds.open(path, options, what)? {
                Some(file) => Rc::new(StdFileResourceInner::file(file, Some(path.to_path_buf()))),
                None => RealFs.open_sync(path, options)?,
            };
            self.note_opened(path, options, &file);
            Ok(file)
        }

        async fn open_async<'a>(
            &'a self,
            path: CheckedPathBuf,
            options: OpenOptions,
        ) -> FsResult<Rc<dyn File>> {
            let what = use_of(options);
            let place = path.to_path_buf();
            let (bounds, checked) = (self.bounds.clone(), path.clone());
            let pinned = later(move || {
                let path = checked.as_checked_path();
                bounds.open(&path, options, what)
            });
            let file: Rc<dyn File> = match pinned.await? {
                Some(file) => Rc::new(StdFileResourceInner::file(file, Some(place.clone()))),
                None => RealFs.open_async(path, options).await?,
            };
            self.note_opened(&place, options, &file);
            Ok(file)
        }

        fn truncate_sync(&self, path: &CheckedPath, length: u64) -> FsResult<()> {
            self.bounds.truncate(path, length)
        }

        async fn truncate_async(&self, path: CheckedPathBuf, length: u64) -> FsResult<()> {
            let bounds = self.bounds.clone();
            later(move || bounds.truncate(&path.as_checked_path(), length)).await
        }

        fn mkdir_sync(
            &self,
            path: &CheckedPath,
            recursive: bool,
            mode: Option<u32>,
        ) -> FsResult<()> {
            self.bounds.make_folder(path, recursive, mode)
        }

        async fn mkdir_async(
            &self,
            path: CheckedPathBuf,
            recursive: bool,
            mode: Option<u32>,
        ) -> FsResult<()> {
            let bounds = self.bounds.clone();
            later(move || bounds.make_folder(&path.as_checked_path(), recursive, mode)).await
        }

        fn read_dir_sync(&self, path: &CheckedPath) -> FsResult<Vec<FsDirEntry>> {
            let pinned = self.bounds.pin(path, Use::Read, Pin::Target)?;
            RealFs.read_dir_sync(&pinned.checked())
        }

        async fn read_dir_async(&self, path: CheckedPathBuf) -> FsResult<FsReadDirRc> {
            let bounds = self.bounds.clone();
            let pin = move || bounds.pin(&path.as_checked_path(), Use::Read, Pin::Target);
            let pinned = later(pin).await?;
            RealFs.read_dir_async(pinned.checked().into_owned()).await
        }

        fn read_link_sync(&self, path: &CheckedPath) -> FsResult<PathBuf> {
            let pinned = self.bounds.pin(path, Use::Read, Pin::Entry)?;
            RealFs.read_link_sync(&pinned.checked())
        }

        async fn read_link_async(&self, path: CheckedPathBuf) -> FsResult<PathBuf> {
            let bounds = self.bounds.clone();
            later(move || {
                let pinned = bounds.pin(&path.as_checked_path(), Use::Read, Pin::Entry)?;
                RealFs.read_link_sync(&pinned.checked())
            })
            .await
        }

        fn write_file_sync(
            &self,
            path: &CheckedPath,
            options: OpenOptions,
            data: &[u8],
        ) -> FsResult<()> {
            self.bounds.write_whole(path, options, data)
        }

        async fn write_file_async<'a>(
            &'a self,
            path: CheckedPathBuf,
            options: OpenOptions,
            data: Box<[u8]>,
        ) -> FsResult<()> {
            let bounds = self.bounds.clone();
            later(move || bounds.write_whole(&path.as_checked_path(), options, &data)).await
        }

        fn copy_file_sync(&self, from: &CheckedPath, to: &CheckedPath) -> FsResult<()> {
            self.note_copied(from);
            self.bounds.copy_whole(from, to)
        }

        async fn copy_file_async(&self, from: CheckedPathBuf, to: CheckedPathBuf) -> FsResult<()> {
            self.note_copied(&from);
            let bounds = self.bounds.clone();
            later(move || bounds.copy_whole(&from.as_checked_path(), &to.as_checked_path())).await
        }

        // No operation of Deno copies folders through these two: `fs.cp` copies file by file.
        fn cp_sync(&self, _from: &CheckedPath, _to: &CheckedPath) -> FsResult<()> {
            Err(FsError::NotSupported)
        }

        async fn cp_async(&self, _from: CheckedPathBuf, _to: CheckedPathBuf) -> FsResult<()> {
            Err(FsError::NotSupported)
        }

        fn read_file_sync(
            &self,
            path: &CheckedPath,
            options: OpenOptions,
        ) -> FsResult<Cow<'static, [u8]>> {
            let bytes = read_whole(self.bounds.open_file(path, options)?, self.limit)?;
            self.note(path, &bytes);
            Ok(bytes)
        }

        // Runs on a thread that may block, because opening blocks, too: a pipe waits for its other
        // end.
        async fn read_file_async<'a>(
            &'a self,
            path: CheckedPathBuf,
            options: OpenOptions,
        ) -> FsResult<Cow<'static, [u8]>> {
            let (limit, place, bounds) = (self.limit, path.to_path_buf(), self.bounds.clone());
            let read = move || {
                let file = bounds.open_file(&path.as_checked_path(), options)?;
                read_whole(file, limit)
            };
            let bytes = later(read).await?;
            self.note(&place, &bytes);
            Ok(bytes)
        }
    }
}
