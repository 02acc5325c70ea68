//! The file system as tools get it: the real one, except that a whole file is read up to a limit.
//!
//! A file without an end (`/dev/zero`, a pipe that somebody keeps filling) would fill the memory of
//! everybody from within a system call, where V8 cannot stop it. Reading in parts is not affected.

use std::borrow::Cow;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use async_trait::async_trait;
use deno_runtime::deno_fs::{
    FileSystem, FsDirEntry, FsFileType, FsReadDirRc, OpenOptions, RealFs,
    open_options_for_checked_path,
};
use deno_runtime::deno_io::fs::{File, FsResult, FsStat, FsStatFs};
use deno_runtime::deno_permissions::{CheckedPath, CheckedPathBuf};

use super::extension::too_large;
use super::verify::Verifier;

/// The real file system with a limit.
#[derive(Debug)]
pub(super) struct BoundedFiles {
    /// The most bytes that reading a whole file gives.
    limit: u64,
    /// What checks the files that become code; `None`: the modules are the user's own.
    verifier: Option<Arc<Verifier>>,
}

impl BoundedFiles {
    pub(super) fn new(limit: u64, verifier: Option<Arc<Verifier>>) -> Self {
        BoundedFiles { limit, verifier }
    }
}

fn check(verifier: Option<&Arc<Verifier>>, path: &Path, bytes: &[u8]) -> FsResult<()> {
    match verifier.map(|verifier| verifier.check_data(path, bytes)) {
        Some(Err(refusal)) => Err(std::io::Error::other(refusal.to_string()).into()),
        _ => Ok(()),
    }
}

fn read_whole(mut file: fs::File, limit: u64) -> FsResult<Cow<'static, [u8]>> {
    let size = file.metadata().map_or(0, |metadata| metadata.len());
    if size > limit {
        return Err(too_large(limit).into());
    }
    // What the size promises is a hint: files of the kernel say 0, others grow meanwhile.
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
    (&mut file).take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(too_large(limit).into());
    }
    Ok(Cow::Owned(bytes))
}

fn open(path: &CheckedPath<'_>, mut options: OpenOptions) -> FsResult<fs::File> {
    if options.create {
        // Made by Deno, which knows what creating without writing means; then only opened.
        drop(RealFs.open_sync(path, options)?);
        (options.create, options.create_new, options.truncate) = (false, false, false);
    }
    Ok(open_options_for_checked_path(options, path).open(&**path)?)
}

/// The real file system's functions, and `own` ones in place of some.
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
    fn open_sync(path: &CheckedPath, options: OpenOptions) -> FsResult<Rc<dyn File>>;
    fn mkdir_sync(path: &CheckedPath, recursive: bool, mode: Option<u32>) -> FsResult<()>;
    fn chmod_sync(path: &CheckedPath, mode: u32) -> FsResult<()>;
    fn chown_sync(path: &CheckedPath, uid: Option<u32>, gid: Option<u32>) -> FsResult<()>;
    fn lchmod_sync(path: &CheckedPath, mode: u32) -> FsResult<()>;
    fn lchown_sync(path: &CheckedPath, uid: Option<u32>, gid: Option<u32>) -> FsResult<()>;
    fn remove_sync(path: &CheckedPath, recursive: bool) -> FsResult<()>;
    fn copy_file_sync(from: &CheckedPath, to: &CheckedPath) -> FsResult<()>;
    fn cp_sync(from: &CheckedPath, to: &CheckedPath) -> FsResult<()>;
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
    fn truncate_sync(path: &CheckedPath, length: u64) -> FsResult<()>;
    fn utime_sync(path: &CheckedPath, a: i64, a_nanos: u32, m: i64, m_nanos: u32) -> FsResult<()>;
    fn lutime_sync(path: &CheckedPath, a: i64, a_nanos: u32, m: i64, m_nanos: u32) -> FsResult<()>;
    fn write_file_sync(path: &CheckedPath, options: OpenOptions, data: &[u8]) -> FsResult<()>;
    fn exists_sync(path: &CheckedPath) -> bool;

    async fn open_async(path: CheckedPathBuf, options: OpenOptions) -> FsResult<Rc<dyn File>>;
    async fn mkdir_async(path: CheckedPathBuf, recursive: bool, mode: Option<u32>) -> FsResult<()>;
    async fn chmod_async(path: CheckedPathBuf, mode: u32) -> FsResult<()>;
    async fn chown_async(path: CheckedPathBuf, uid: Option<u32>, gid: Option<u32>) -> FsResult<()>;
    async fn lchmod_async(path: CheckedPathBuf, mode: u32) -> FsResult<()>;
    async fn lchown_async(path: CheckedPathBuf, uid: Option<u32>, gid: Option<u32>) -> FsResult<()>;
    async fn remove_async(path: CheckedPathBuf, recursive: bool) -> FsResult<()>;
    async fn copy_file_async(from: CheckedPathBuf, to: CheckedPathBuf) -> FsResult<()>;
    async fn cp_async(from: CheckedPathBuf, to: CheckedPathBuf) -> FsResult<()>;
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
    async fn truncate_async(path: CheckedPathBuf, length: u64) -> FsResult<()>;
    async fn utime_async(
        path: CheckedPathBuf, a: i64, a_nanos: u32, m: i64, m_nanos: u32
    ) -> FsResult<()>;
    async fn lutime_async(
        path: CheckedPathBuf, a: i64, a_nanos: u32, m: i64, m_nanos: u32
    ) -> FsResult<()>;
    async fn write_file_async(
        path: CheckedPathBuf, options: OpenOptions, data: Box<[u8]>
    ) -> FsResult<()>;
    async fn exists_async(path: CheckedPathBuf) -> FsResult<bool>;

    own {
        fn read_file_sync(
            &self,
            path: &CheckedPath,
            options: OpenOptions,
        ) -> FsResult<Cow<'static, [u8]>> {
            let bytes = read_whole(open(path, options)?, self.limit)?;
            check(self.verifier.as_ref(), path, &bytes)?;
            Ok(bytes)
        }

        // Opening blocks, too: a pipe waits for its other end.
        async fn read_file_async<'a>(
            &'a self,
            path: CheckedPathBuf,
            options: OpenOptions,
        ) -> FsResult<Cow<'static, [u8]>> {
            let (limit, verifier) = (self.limit, self.verifier.clone());
            let read = move || {
                let bytes = read_whole(open(&path.as_checked_path(), options)?, limit)?;
                check(verifier.as_ref(), &path, &bytes)?;
                Ok(bytes)
            };
            let done = tokio::task::spawn_blocking(read).await;
            done.map_err(std::io::Error::other)?
        }
    }
}
