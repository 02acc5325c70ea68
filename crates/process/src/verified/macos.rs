//! Starts a private copy of a verified program, because the system neither blocks writers nor executes
//! a file without a name.

use std::fs::File;

use super::image;
use super::{NativeProgram, NotVerified, VerifiedFile, VerifiedProgram, unreadable};
use crate::regular_files;

/// Verifies the program in an open file that is not a script. The verified bytes are copied to a
/// folder that only this user can write to, and the copy is started.
pub(super) fn ready(
    program: &VerifiedProgram,
    verified: &VerifiedFile,
    mut file: File,
) -> Result<NativeProgram, NotVerified> {
    let limit = regular_files::MAX_HASHED_BYTES;
    let bytes = regular_files::read_open(&mut file, limit).map_err(unreadable)?;
    verified.compare(&blake3::hash(&bytes))?;
    let mut copies = image::copy(program, &[(verified, bytes)]).map_err(NotVerified::Copy)?;
    let copy = copies.paths.remove(verified);
    Ok(NativeProgram {
        file: copy.unwrap_or_else(|| verified.path.clone()),
        held: None,
    })
}
