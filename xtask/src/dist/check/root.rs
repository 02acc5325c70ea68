//! A Debian system with the essential packages, for the archive and the Debian package.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::super::glibc::Glibc;
use super::super::{Context, archive, glibc, tree};
use super::{deb_file, exercise, exists, is_gone, put_tool};
use crate::command;
use crate::error::{During, Error, Result};
use crate::files;
use crate::machine::Machine;
use crate::packages;

/// The Debian release with the oldest glibc that the program is linked for (`dist/glibc`): 2.31.
const OLDEST: &str = "bullseye";

/// Line of `/etc/os-release` with the machine's own release.
const SUITE: &str = "VERSION_CODENAME=";

/// Home directory inside.
const HOME: &str = "/home/ada";

/// A system in a folder, in which programs run as root and see nothing else.
struct Root {
    folder: PathBuf,
    /// Code name of the release.
    suite: String,
}

impl Root {
    /// Makes the system, or takes the one of the last time.
    fn ensure(context: &Context) -> Result<Root> {
        let folder = context.out.join("work/root");
        // Written last, so that an incomplete system is not used.
        let done = folder.join("haft-done");
        let suite = if let Ok(suite) = fs::read_to_string(&done) {
            suite
        } else {
            let why = "to make a small Debian system";
            packages::ensure_programs(why, &[("mmdebstrap", "mmdebstrap")])?;
            let suite = bootstrap(&folder, context.facts.glibc)?;
            files::write(&done, &suite)?;
            suite
        };
        let root = Root { folder, suite };
        put_tool(&root.folder.join(HOME.trim_start_matches('/')))?;
        Ok(root)
    }

    /// Returns the command of a program inside.
    fn command(&self, program: &str, words: &[&str]) -> Command {
        let proc = self.folder.join("proc");
        let mut unshare = Command::new("unshare");
        unshare.args(["--fork", "--pid", "--mount", "--net"]);
        if !Machine::look().root {
            unshare.arg("--map-root-user");
        }
        unshare.arg(format!("--mount-proc={}", proc.display()));
        unshare.arg("chroot").arg(&self.folder);
        unshare
            .args(["/usr/bin/env", "--chdir=/", program])
            .args(words);
        unshare.env_clear();
        unshare.env("PATH", "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
        unshare.env("HOME", HOME).env("LANG", "C.UTF-8");
        unshare
    }

    fn is_without(&self, program: &str) -> bool {
        ["usr/bin", "usr/local/bin", "bin"]
            .iter()
            .all(|folder| !self.folder.join(folder).join(program).exists())
    }

    fn files(&self) -> Result<Vec<PathBuf>> {
        let mut files = Vec::new();
        for folder in ["usr", "etc"] {
            let below = self.folder.join(folder);
            files.extend(
                tree::files(&below)?
                    .into_iter()
                    .map(|file| Path::new(folder).join(file)),
            );
        }
        Ok(files)
    }

    /// Returns an error unless the same files are there as before.
    fn is_as(&self, before: &[PathBuf]) -> Result<()> {
        let after = self.files()?;
        match after.iter().find(|file| !before.contains(file)) {
            None => Ok(()),
            Some(left) => is_gone(&self.folder.join(left)),
        }
    }
}

/// Makes the system, of the oldest release that the program is for if its packages can be had, and
/// returns its code name.
fn bootstrap(folder: &Path, needed: Option<Glibc>) -> Result<String> {
    let make = |suite: &str| {
        super::super::empty(folder)?;
        let mut mmdebstrap = Command::new("mmdebstrap");
        mmdebstrap.args(["--quiet", "--variant=essential", suite]);
        command::run(mmdebstrap.arg(folder))
    };
    let own = machine_suite()?;
    // A program that was not linked by `cargo xtask dist` may need the machine's own release.
    if needed.is_some_and(|version| version <= glibc::OLDEST) {
        match make(OLDEST) {
            Ok(()) => return Ok(OLDEST.to_owned()),
            Err(error) => {
                error.report();
                println!("Debian {OLDEST} cannot be made here; the packages are tried on {own}");
            }
        }
    }
    make(&own)?;
    Ok(own)
}

/// Returns the code name of the machine's Debian.
fn machine_suite() -> Result<String> {
    let text = fs::read_to_string("/etc/os-release").during(|| "read `/etc/os-release`".into())?;
    let name = text.lines().find_map(|line| line.strip_prefix(SUITE));
    name.map(|name| name.trim_matches('"').to_owned())
        .ok_or_else(|| Error::Missing {
            what: "this system has no code name, so it is not Debian".into(),
            hint: "check the packages on Debian or Ubuntu".into(),
        })
}

/// Unpacks an archive without its outermost folder.
pub fn unpack(archive: &Path, to: &Path) -> Result<()> {
    files::make_folder(to)?;
    let mut tar = Command::new("tar");
    tar.args(["--extract", "--use-compress-program=zstd -d --long=27"]);
    tar.args(["--strip-components=1", "--no-same-owner", "--file"]);
    command::output(tar.arg(archive).arg("--directory").arg(to)).map(drop)
}

pub fn archive(context: &Context) -> Result<String> {
    let file = context
        .out
        .join(format!("{}.tar.zst", archive::stem(context)));
    exists(&file)?;
    let root = Root::ensure(context)?;
    let before = root.files()?;
    let prefix = root.folder.join("usr/local");
    unpack(&file, &prefix)?;
    let installed: Vec<PathBuf> = root.files()?;
    let done = exercise(context, HOME, |words| root.command("haft", words));
    for file in installed.iter().filter(|file| !before.contains(file)) {
        let path = root.folder.join(file);
        fs::remove_file(&path).during(|| format!("remove `{}`", path.display()))?;
    }
    done?;
    root.is_as(&before)?;
    Ok(format!(
        "unpacked in Debian {} {}: version, list, two calls; removed",
        root.suite,
        without(&root)
    ))
}

pub fn deb(context: &Context) -> Result<String> {
    let file = deb_file(context)?;
    let root = Root::ensure(context)?;
    let before = root.files()?;
    let inside = root.folder.join("haft.deb");
    fs::copy(&file, &inside).during(|| format!("copy `{}`", file.display()))?;
    command::output(&mut root.command("dpkg", &["--install", "/haft.deb"]))?;
    let done = exercise(context, HOME, |words| root.command("haft", words));
    let verified = command::output(&mut root.command("dpkg", &["--verify", "haft"]));
    command::output(&mut root.command("dpkg", &["--purge", "haft"]))?;
    fs::remove_file(&inside).during(|| format!("remove `{}`", inside.display()))?;
    done?;
    verified?;
    root.is_as(&before)?;
    Ok(format!(
        "dpkg --install in Debian {} {}: version, list, two calls; purged; {}",
        root.suite,
        without(&root),
        lint(&file)?
    ))
}

fn without(root: &Root) -> String {
    let missing = ["cargo", "node", "python3"]
        .into_iter()
        .filter(|name| root.is_without(name));
    format!("without {}", missing.collect::<Vec<_>>().join(", "))
}

/// Returns what lintian says: an error of the package is an error.
fn lint(file: &Path) -> Result<String> {
    if command::on_path("lintian").is_none() {
        return Ok("lintian is not installed (`apt-get install lintian`)".into());
    }
    let mut lintian = Command::new("lintian");
    lintian.args(["--allow-root", "--fail-on", "error", "--suppress-tags"]);
    // The bug that a first upload to Debian closes, and libraries that Rust links statically.
    // Programs are linked for a fixed address on purpose (`build.rs`).
    lintian.arg("initial-upload-closes-no-bugs,embedded-library,hardening-no-pie");
    let said = command::output(lintian.arg(file))?;
    let warnings = said.lines().filter(|line| line.starts_with("W:")).count();
    Ok(format!("lintian: no errors, {warnings} warnings"))
}
