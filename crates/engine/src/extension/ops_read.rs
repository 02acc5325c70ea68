//! Reads whole files by their descriptor, up to a size limit.
//!
//! `/dev/zero` has no end, and V8 can neither stop Deno's reading nor limit the memory that it
//! fills. Files that are opened by their path are read in `engine::files`, under the same limit.

use std::borrow::Cow;
use std::cell::RefCell;
use std::io;
use std::path::Path;
use std::rc::Rc;

use deno_core::{BufMutView, OpState, op2};
use deno_runtime::deno_fs::FileSystemRc;
use deno_runtime::deno_io::FdTable;
use deno_runtime::deno_io::fs::{File, FsError};
use deno_runtime::deno_permissions::{CheckedPath, OpenAccessKind, PermissionsContainer};

use super::host::host_of;

/// Limits of the bytes that are read at once; the smaller one is for files of unknown size.
const PIECE: u64 = 64 << 10;
const MAX_PIECE_BYTES: u64 = 8 << 20;

/// Name of the function that asks for the permission.
const EXISTS: &str = "node:fs.exists()";

/// `EBADF` has this number on every Unix. The build script, which compiles this too, has no libc.
const EBADF: i32 = 9;

/// Returns the error for a file that holds more than `limit` bytes.
pub fn too_large(limit: u64) -> io::Error {
    let megabytes = limit >> 20;
    let text = format!(
        "the file is larger than {megabytes} MB, the most that a tool may hold in buffers; \
         read it in parts, for example with fs.createReadStream"
    );
    io::Error::new(io::ErrorKind::FileTooLarge, text)
}

/// Replaces `op_node_fs_read_file_sync`.
#[op2]
#[buffer]
pub fn op_haft_read_file_sync(state: &mut OpState, fd: i32) -> Result<Vec<u8>, FsError> {
    let (file, limit) = file_and_limit(state, fd)?;
    let size = file.clone().stat_sync().map_or(0, |stat| stat.size);
    let mut piece = vec![0; piece_for(size, limit)?];
    let mut bytes = Vec::new();
    loop {
        match file.clone().read_sync(&mut piece)? {
            0 => {
                note(state, &file, &bytes);
                return Ok(bytes);
            }
            read => append(&mut bytes, &piece[..read], limit)?,
        }
    }
}

/// Replaces `op_node_fs_read_file`.
#[op2]
#[buffer]
pub async fn op_haft_read_file(state: Rc<RefCell<OpState>>, fd: i32) -> Result<Vec<u8>, FsError> {
    let (file, limit) = file_and_limit(&state.borrow(), fd)?;
    let size = file.clone().stat_async().await.map_or(0, |stat| stat.size);
    let mut piece = BufMutView::new(piece_for(size, limit)?);
    let mut bytes = Vec::new();
    loop {
        let (read, filled) = file.clone().read_byob(piece).await?;
        piece = filled;
        match read {
            0 => {
                note(&state.borrow(), &file, &bytes);
                return Ok(bytes);
            }
            read => append(&mut bytes, &piece[..read], limit)?,
        }
    }
}

/// Replaces `op_node_fs_exists_sync`: a path that the tool may not read looks missing, as in Node, where
/// `existsSync` never throws. Packages look for many files that they can do without.
#[op2(fast)]
pub fn op_haft_exists_sync(state: &mut OpState, #[string] path: &str) -> bool {
    let Some(path) = readable(state, path) else {
        return false;
    };
    state.borrow::<FileSystemRc>().exists_sync(&path)
}

/// Replaces `op_node_fs_exists` in the same way.
#[op2]
pub async fn op_haft_exists(state: Rc<RefCell<OpState>>, #[string] path: String) -> bool {
    let (files, path) = {
        let mut state = state.borrow_mut();
        let path = readable(&mut state, &path).map(CheckedPath::into_owned);
        (state.borrow::<FileSystemRc>().clone(), path)
    };
    match path {
        Some(path) => files.exists_async(path).await.unwrap_or_default(),
        None => false,
    }
}

/// Returns the path if the tool may read it, after the user was asked where that is possible.
fn readable<'a>(state: &mut OpState, path: &'a str) -> Option<CheckedPath<'a>> {
    let permissions = state.borrow_mut::<PermissionsContainer>();
    let path = Cow::Borrowed(Path::new(path));
    let checked = permissions.check_open(path, OpenAccessKind::ReadNoFollow, Some(EXISTS));
    checked.ok()
}

/// Notifies the host that a file was read as a whole.
fn note(state: &OpState, file: &Rc<dyn File>, bytes: &[u8]) {
    let named = file.maybe_path().map(Path::to_owned);
    // Deno does not keep the path of a file that is read by its handle; the system does.
    let path = named.or_else(|| {
        let fd = file.clone().backing_fd()?;
        std::fs::read_link(format!("/proc/self/fd/{fd}")).ok()
    });
    if let Some(path) = path {
        host_of(state).note_data(&path, bytes);
    }
}

fn file_and_limit(state: &OpState, fd: i32) -> Result<(Rc<dyn File>, u64), FsError> {
    let limit = host_of(state).most_bytes_of_a_file();
    let file = state.borrow::<FdTable>().get(fd).cloned();
    let closed = || io::Error::from_raw_os_error(EBADF);
    Ok((file.ok_or_else(closed)?, limit))
}

/// Returns the size of the buffer: one byte more than the file, so that its end shows at once.
fn piece_for(size: u64, limit: u64) -> io::Result<usize> {
    if size > limit {
        return Err(too_large(limit));
    }
    let piece = (size + 1).clamp(PIECE, MAX_PIECE_BYTES);
    Ok(usize::try_from(piece).expect("a few megabytes"))
}

fn append(bytes: &mut Vec<u8>, more: &[u8], limit: u64) -> io::Result<()> {
    if (bytes.len() + more.len()) as u64 > limit {
        return Err(too_large(limit));
    }
    bytes.extend_from_slice(more);
    Ok(())
}
