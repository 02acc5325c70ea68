//! `SHA256SUMS` of all packages in the folder, in the format of `sha256sum`.

use std::path::{Path, PathBuf};

use super::Context;
use crate::error::Result;
use crate::files;

/// Name of the list.
pub const NAME: &str = "SHA256SUMS";

pub fn make(context: &Context) -> Result<Vec<PathBuf>> {
    let mut lines = Vec::new();
    for name in names(&context.out)? {
        lines.push(format!(
            "{}  {name}\n",
            files::sha256(&context.out.join(&name))?
        ));
    }
    let made = context.out.join(NAME);
    files::write(&made, &lines.concat())?;
    Ok(vec![made])
}

/// Returns the names of the packages in the folder.
pub fn names(folder: &Path) -> Result<Vec<String>> {
    let files = files::entries(folder)?.into_iter();
    let names = files.filter(|path| path.is_file()).filter_map(|path| {
        let name = path.file_name()?.to_string_lossy().into_owned();
        (name != NAME).then_some(name)
    });
    Ok(names.collect())
}
