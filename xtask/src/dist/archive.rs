//! `haft-VERSION-TARGET.tar.zst`: the installation as one folder, for every Linux or macOS.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Context, tree};
use crate::command;
use crate::error::Result;
use crate::packages;

/// Levels of zstd. The window of `--long` spans the parts of the program that repeat; every zstd
/// since 1.3.2 unpacks it.
const BEST: [&str; 3] = ["-19", "--long=27", "-T0"];
const QUICK: [&str; 3] = ["-3", "--long=27", "-T0"];

/// Returns the name of the archive without its extension, which is also its folder.
pub fn stem(context: &Context) -> String {
    format!("haft-{}-{}", context.facts.version, context.facts.target)
}

pub fn make(context: &Context) -> Result<Vec<PathBuf>> {
    packages::ensure_programs("to compress the archive", &[("zstd", "zstd")])?;
    let work = context.work("archive")?;
    tree::copy(&tree::folder(context), &work.join(stem(context)))?;
    let tar = work.join("haft.tar");
    pack(context, &work, &stem(context), &tar)?;
    let made = context.out.join(format!("{}.tar.zst", stem(context)));
    let mut zstd = Command::new("zstd");
    zstd.args(["--quiet", "--force"]);
    zstd.args(if context.quick { QUICK } else { BEST });
    command::output(zstd.arg(&tar).arg("-o").arg(&made))?;
    Ok(vec![made])
}

/// Packs an entry of a folder so that the same content gives the same bytes.
pub fn pack(context: &Context, folder: &Path, entry: &str, to: &Path) -> Result<()> {
    let mut tar = Command::new("tar");
    tar.args(["--create", "--format=gnu", "--sort=name", "--numeric-owner"]);
    tar.args(["--owner=0", "--group=0"]);
    tar.arg(format!("--mtime=@{}", context.epoch));
    tar.arg("--directory").arg(folder).arg("--file").arg(to);
    command::output(tar.arg(entry)).map(drop)
}
