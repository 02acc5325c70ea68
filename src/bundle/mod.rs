//! Bundles of tools for people who do not use a shell: haft and a folder of tools as one `.mcpb`
//! file, which a client installs with one click.
//!
//! The file is a zip with a `manifest.json` (MCPB, version 0.4). The manifest starts the haft in
//! the bundle and names each tool of the bundle on its command line. So the tools are trusted as
//! the user's own: the user who installs the bundle has chosen them.

mod files;
mod manifest;
mod zip;

use std::fs::File;
use std::io;
use std::path::Path;

use haft_tool::{Error, ErrorKind, Tool};

pub(crate) use files::{Files, tool_paths};
pub(crate) use manifest::{About, Platform};

/// Places in the bundle.
const PROGRAM: &str = "server/haft";
const TOOLS: &str = "tools";

/// Writes a bundle. `program` is the haft in it; `tools` are those that it offers.
///
/// # Errors
/// [`ErrorKind::Load`] if a file cannot be read or written. Then there is no new file.
pub(crate) fn write(
    target: &Path,
    program: &Path,
    files: &Files,
    about: &About,
    tools: &[&Tool],
) -> Result<(), Error> {
    let manifest = manifest::text(about, &files.modules(), tools);
    let failed = |why: io::Error| {
        let text = format!("cannot write {}: {why}", target.display());
        Error::new(ErrorKind::Load, text)
    };
    let folder = match target.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    // Renamed at the end, so that no half of a bundle is left.
    let file = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    let mut zip = zip::Writer::new(file.reopen().map_err(failed)?);
    zip.add("manifest.json", false, manifest.as_bytes())
        .map_err(failed)?;
    add_file(&mut zip, PROGRAM, true, program)?;
    for entry in &files.entries {
        let name = format!("{TOOLS}/{}", entry.name);
        add_file(&mut zip, &name, entry.is_executable, &entry.path)?;
    }
    zip.finish().map_err(failed)?;
    let mut permissions = file.as_file().metadata().map_err(failed)?.permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o644);
    file.as_file()
        .set_permissions(permissions)
        .map_err(failed)?;
    file.persist(target).map_err(|error| failed(error.error))?;
    Ok(())
}

fn add_file(
    zip: &mut zip::Writer,
    name: &str,
    is_executable: bool,
    path: &Path,
) -> Result<(), Error> {
    let added = File::open(path).and_then(|file| zip.add(name, is_executable, file));
    added.map_err(|why| {
        let text = format!("cannot put {} into the bundle: {why}", path.display());
        Error::new(ErrorKind::Load, text)
    })
}
