//! The file system that tools see: the real one with three limits.
//!
//! - A whole file is read up to a limit. A file without an end (`/dev/zero`, a pipe that is kept
//!   full) would fill the memory from within a system call, where V8 cannot stop it. Reading in
//!   parts is not affected.
//! - Paths that lead into the host's own process are refused (`procfs`).
//! - An isolate has a limited number of open files, so that the others and the host find
//!   descriptors.

#![expect(unsafe_code, reason = "Deno gives descriptors as numbers")]

use std::borrow::Cow;
use std::cell::RefCell;
use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::rc::{Rc, Weak};
use std::sync::Arc;

use async_trait::async_trait;
use deno_runtime::deno_fs::{
    FileSystem, FsDirEntry, FsFileType, FsReadDirRc, OpenOptions, RealFs,
    open_options_for_checked_path,
};
use deno_runtime::deno_io::fs::{File, FsResult, FsStat, FsStatFs};
use deno_runtime::deno_permissions::{CheckedPath, CheckedPathBuf};

use super::extension::too_large;
use super::procfs::{self, Use};
use super::verify::Verifier;

/// The real file system with a limit.
#[derive(Debug)]
pub(super) struct BoundedFiles {
    /// The most bytes that reading a whole file gives.
    limit: u64,
    /// Verifier of the files that become code; `None` if the modules are the user's own.
    verifier: Option<Arc<Verifier>>,
}

impl BoundedFiles {
    pub(super) fn new(limit: u64, verifier: Option<Arc<Verifier>>) -> Self {
        BoundedFiles { limit, verifier }
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

fn open(path: &CheckedPath<'_>, mut options: OpenOptions) -> FsResult<fs::File> {
    let what = use_of(options);
    procfs::check(path, what)?;
    if options.create {
        // Deno creates the file, because it knows what creating without writing means. Then it is
        // only opened.
        drop(RealFs.open_sync(path, options)?);
        (options.create, options.create_new, options.truncate) = (false, false, false);
    }
    let file = open_options_for_checked_path(options, path).open(&**path)?;
    procfs::check_opened(file.as_fd(), path, what)?;
    Ok(file)
}

fn write_whole(path: &CheckedPath<'_>, options: OpenOptions, data: &[u8]) -> FsResult<()> {
    let mut file = open(path, options)?;
    if let Some(mode) = options.mode {
        file.set_permissions(fs::Permissions::from_mode(mode))?;
    }
    Ok(file.write_all(data)?)
}

/// Copies a file; source and target are checked when they are open.
fn copy_whole(from: &CheckedPath<'_>, to: &CheckedPath<'_>) -> FsResult<()> {
    let mut source = open(from, OpenOptions::read())?;
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
    let mut target = open(to, OpenOptions::write(true, false, false, Some(mode)))?;
    if target.metadata()?.is_file() {
        target.set_permissions(found.permissions())?;
    }
    io::copy(&mut source, &mut target)?;
    Ok(())
}

/// Limit of the open files of an isolate.
const MAX_OPEN_FILES: usize = 4096;

/// Descriptors of the process's limit that are reserved for the host.
const RESERVED_DESCRIPTORS: u64 = 256;

thread_local! {
    /// The files of this thread's isolate that may be open.
    static OPEN_FILES: RefCell<Vec<Weak<dyn File>>> = const { RefCell::new(Vec::new()) };
}

/// Refuses to open one more file where the isolate holds too many.
fn check_count() -> io::Result<()> {
    OPEN_FILES.with_borrow_mut(|files| {
        let most = max_open_files();
        if files.len() >= most {
            files.retain(|file| file.strong_count() > 0);
        }
        if files.len() < most {
            return Ok(());
        }
        let text = format!("EMFILE: tools hold {most} open files, which is the limit; close some");
        Err(io::Error::other(text))
    })
}

fn max_open_files() -> usize {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let free = limit.current.map_or(u64::MAX, |limit| {
        limit.saturating_sub(RESERVED_DESCRIPTORS) / 2
    });
    usize::try_from(free)
        .unwrap_or(usize::MAX)
        .clamp(16, MAX_OPEN_FILES)
}

/// Registers an opened file, unless its use is refused.
fn opened(file: Rc<dyn File>, path: &Path, what: Use) -> FsResult<Rc<dyn File>> {
    if let Some(descriptor) = file.clone().backing_fd() {
        // SAFETY: the file holds the descriptor open.
        let descriptor = unsafe { BorrowedFd::borrow_raw(descriptor) };
        procfs::check_opened(descriptor, path, what)?;
    }
    OPEN_FILES.with_borrow_mut(|files| files.push(Rc::downgrade(&file)));
    Ok(file)
}

/// Runs `work` on a thread that may block, if the path does not lead into the host's process.
async fn checked_later<T: Send + 'static>(
    path: &CheckedPathBuf,
    what: Use,
    work: impl FnOnce() -> FsResult<T> + Send + 'static,
) -> FsResult<T> {
    let checked = path.to_path_buf();
    let done = tokio::task::spawn_blocking(move || {
        procfs::check(&checked, what)?;
        work()
    });
    done.await.map_err(io::Error::other)?
}

/// Implements the trait by the real file system's functions, with `own` ones in place of some.
macro_rules! real_files {
    (
        $(fn $name:ident($($arg:ident: $type:ty),*) -> $result:ty;)*
        $(async fn $later:ident($($later_arg:ident: $later_type:ty),*) -> $later_result:ty;)*
        own { $($own:item)* }
    ) => {
        #[async_trait(?Send)]
        impl FileSystem for BoundedFiles {
            $(fn $name(&self, $($arg: $type),*) -> $result { RealFs.$name($($arg),*) })*
            $(async fn $later(&self, $($later_arg: $later_type),*) -> $later_result {
                RealFs.$later($($later_arg),*).await
            })*
            $($own)*
        }
    };
}

real_files! {
    fn cwd() -> FsResult<PathBuf>;
    fn tmp_dir() -> FsResult<PathBuf>;
    fn chdir(path: &CheckedPath) -> FsResult<()>;
    fn umask(mask: Option<u32>) -> FsResult<u32>;
    fn mkdir_sync(path: &CheckedPath, recursive: bool, mode: Option<u32>) -> FsResult<()>;
    fn lchmod_sync(path: &CheckedPath, mode: u32) -> FsResult<()>;
    fn lchown_sync(path: &CheckedPath, uid: Option<u32>, gid: Option<u32>) -> FsResult<()>;
    fn remove_sync(path: &CheckedPath, recursive: bool) -> FsResult<()>;
    fn stat_sync(path: &CheckedPath) -> FsResult<FsStat>;
    fn lstat_sync(path: &CheckedPath) -> FsResult<FsStat>;
    fn statfs_sync(path: &CheckedPath, bigint: bool) -> FsResult<FsStatFs>;
    fn realpath_sync(path: &CheckedPath) -> FsResult<PathBuf>;
    fn read_dir_sync(path: &CheckedPath) -> FsResult<Vec<FsDirEntry>>;
    fn rename_sync(from: &CheckedPath, to: &CheckedPath) -> FsResult<()>;
    fn rmdir_sync(path: &CheckedPath) -> FsResult<()>;
    fn link_sync(from: &CheckedPath, to: &CheckedPath) -> FsResult<()>;
    fn symlink_sync(from: &CheckedPath, to: &CheckedPath, kind: Option<FsFileType>) -> FsResult<()>;
    fn read_link_sync(path: &CheckedPath) -> FsResult<PathBuf>;
    fn utime_sync(path: &CheckedPath, a: i64, a_nanos: u32, m: i64, m_nanos: u32) -> FsResult<()>;
    fn lutime_sync(path: &CheckedPath, a: i64, a_nanos: u32, m: i64, m_nanos: u32) -> FsResult<()>;
    fn exists_sync(path: &CheckedPath) -> bool;

    async fn mkdir_async(path: CheckedPathBuf, recursive: bool, mode: Option<u32>) -> FsResult<()>;
    async fn lchmod_async(path: CheckedPathBuf, mode: u32) -> FsResult<()>;
    async fn lchown_async(path: CheckedPathBuf, uid: Option<u32>, gid: Option<u32>) -> FsResult<()>;
    async fn remove_async(path: CheckedPathBuf, recursive: bool) -> FsResult<()>;
    async fn stat_async(path: CheckedPathBuf) -> FsResult<FsStat>;
    async fn lstat_async(path: CheckedPathBuf) -> FsResult<FsStat>;
    async fn statfs_async(path: CheckedPathBuf, bigint: bool) -> FsResult<FsStatFs>;
    async fn realpath_async(path: CheckedPathBuf) -> FsResult<PathBuf>;
    async fn read_dir_async(path: CheckedPathBuf) -> FsResult<FsReadDirRc>;
    async fn rename_async(from: CheckedPathBuf, to: CheckedPathBuf) -> FsResult<()>;
    async fn rmdir_async(path: CheckedPathBuf) -> FsResult<()>;
    async fn link_async(from: CheckedPathBuf, to: CheckedPathBuf) -> FsResult<()>;
    async fn symlink_async(
        from: CheckedPathBuf, to: CheckedPathBuf, kind: Option<FsFileType>
    ) -> FsResult<()>;
    async fn read_link_async(path: CheckedPathBuf) -> FsResult<PathBuf>;
    async fn utime_async(
        path: CheckedPathBuf, a: i64, a_nanos: u32, m: i64, m_nanos: u32
    ) -> FsResult<()>;
    async fn lutime_async(
        path: CheckedPathBuf, a: i64, a_nanos: u32, m: i64, m_nanos: u32
    ) -> FsResult<()>;
    async fn exists_async(path: CheckedPathBuf) -> FsResult<bool>;

    own {
        fn open_sync(&self, path: &CheckedPath, options: OpenOptions) -> FsResult<Rc<dyn File>> {
            check_count()?;
            procfs::check(path, use_of(options))?;
            let file = opened(RealFs.open_sync(path, options)?, path, use_of(options))?;
            self.note_opened(path, options, &file);
            Ok(file)
        }

        async fn open_async<'a>(
            &'a self,
            path: CheckedPathBuf,
            options: OpenOptions,
        ) -> FsResult<Rc<dyn File>> {
            check_count()?;
            let what = use_of(options);
            checked_later(&path, what, || Ok(())).await?;
            let place = path.to_path_buf();
            let file = opened(RealFs.open_async(path, options).await?, &place, what)?;
            self.note_opened(&place, options, &file);
            Ok(file)
        }

        fn write_file_sync(
            &self,
            path: &CheckedPath,
            options: OpenOptions,
            data: &[u8],
        ) -> FsResult<()> {
            write_whole(path, options, data)
        }

        async fn write_file_async<'a>(
            &'a self,
            path: CheckedPathBuf,
            options: OpenOptions,
            data: Box<[u8]>,
        ) -> FsResult<()> {
            let write = move || write_whole(&path.as_checked_path(), options, &data);
            tokio::task::spawn_blocking(write).await.map_err(io::Error::other)?
        }

        fn copy_file_sync(&self, from: &CheckedPath, to: &CheckedPath) -> FsResult<()> {
            self.note_copied(from);
            copy_whole(from, to)
        }

        async fn copy_file_async(&self, from: CheckedPathBuf, to: CheckedPathBuf) -> FsResult<()> {
            self.note_copied(&from);
            let copy = move || copy_whole(&from.as_checked_path(), &to.as_checked_path());
            tokio::task::spawn_blocking(copy).await.map_err(io::Error::other)?
        }

        fn cp_sync(&self, from: &CheckedPath, to: &CheckedPath) -> FsResult<()> {
            procfs::check_copy(from, to)?;
            self.note_copied(from);
            RealFs.cp_sync(from, to)
        }

        async fn cp_async(&self, from: CheckedPathBuf, to: CheckedPathBuf) -> FsResult<()> {
            let (source, target) = (from.to_path_buf(), to.to_path_buf());
            let check = move || Ok(procfs::check_copy(&source, &target)?);
            checked_later(&from, Use::Read, check).await?;
            self.note_copied(&from);
            RealFs.cp_async(from, to).await
        }

        fn truncate_sync(&self, path: &CheckedPath, length: u64) -> FsResult<()> {
            procfs::check(path, Use::Write)?;
            RealFs.truncate_sync(path, length)
        }

        async fn truncate_async(&self, path: CheckedPathBuf, length: u64) -> FsResult<()> {
            checked_later(&path, Use::Write, || Ok(())).await?;
            RealFs.truncate_async(path, length).await
        }

        fn chmod_sync(&self, path: &CheckedPath, mode: u32) -> FsResult<()> {
            procfs::check(path, Use::Write)?;
            RealFs.chmod_sync(path, mode)
        }

        async fn chmod_async(&self, path: CheckedPathBuf, mode: u32) -> FsResult<()> {
            checked_later(&path, Use::Write, || Ok(())).await?;
            RealFs.chmod_async(path, mode).await
        }

        fn chown_sync(
            &self,
            path: &CheckedPath,
            uid: Option<u32>,
            gid: Option<u32>,
        ) -> FsResult<()> {
            procfs::check(path, Use::Write)?;
            RealFs.chown_sync(path, uid, gid)
        }

        async fn chown_async(
            &self,
            path: CheckedPathBuf,
            uid: Option<u32>,
            gid: Option<u32>,
        ) -> FsResult<()> {
            checked_later(&path, Use::Write, || Ok(())).await?;
            RealFs.chown_async(path, uid, gid).await
        }

        fn read_file_sync(
            &self,
            path: &CheckedPath,
            options: OpenOptions,
        ) -> FsResult<Cow<'static, [u8]>> {
            let bytes = read_whole(open(path, options)?, self.limit)?;
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
            let (limit, place) = (self.limit, path.to_path_buf());
            let read = move || read_whole(open(&path.as_checked_path(), options)?, limit);
            let done = tokio::task::spawn_blocking(read).await;
            let bytes = done.map_err(std::io::Error::other)??;
            self.note(&place, &bytes);
            Ok(bytes)
        }
    }
}
