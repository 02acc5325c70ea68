//! Starts a private copy of a verified program, because the system neither blocks writers nor executes
//! a file without a name.

use std::fs::File;
use std::path::Path;

use super::{NotVerified, Ready, Verified, unreadable};
use crate::regular_files;

/// Verifies the program in an open file that is not a script. The verified bytes are copied to a
/// folder that only this user can write to, and the copy is started.
pub(super) fn ready(
    verified: &Verified,
    path: &Path,
    mut file: File,
) -> Result<Ready, NotVerified> {
    let limit = regular_files::MAX_HASHED_BYTES;
    let bytes = regular_files::read_open(&mut file, limit).map_err(unreadable)?;
    verified.compare(&blake3::hash(&bytes))?;
    let copy = verified.copy(path, &bytes).map_err(NotVerified::Copy)?;
    Ok(Ready {
        file: copy,
        words: vec![path.into()],
        held: None,
    })
}
