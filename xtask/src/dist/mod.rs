//! `cargo xtask dist`: one release build, wrapped for every package manager, in `target/dist`.
//!
//! `program` makes the build and reads what it needs from the system; `tree` lays it out as an
//! installation. Each other module wraps that tree in one format and makes no build of its own.
//! `--check` installs each result from the local files, as a user would, and removes it again
//! (`check`). The results are the same bytes for the same program and commit.

mod archive;
mod check;
mod crates;
mod deb;
mod formula;
mod glibc;
mod npm;
mod oci;
mod program;
mod sbom;
mod sums;
mod tree;
mod wheel;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::{Args, ValueEnum};

use crate::error::{During, Error, Result};
use crate::files;
use crate::{command, workspace};
use program::Facts;

/// Build haft once and wrap it: npm, PyPI, .deb, .tar.zst, container image, crates, Homebrew.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cargo xtask dist                                       everything, into target/dist
  cargo xtask dist --check                               install and remove what is there
  cargo xtask dist --binary target/release/haft --only npm,wheel --quick")]
pub struct Dist {
    /// Build nothing: wrap this program; `haft-system-tools` is beside it
    #[arg(long, value_name = "FILE", conflicts_with = "check")]
    binary: Option<PathBuf>,

    /// Only these formats
    #[arg(long, value_name = "FORMAT", value_delimiter = ',')]
    only: Vec<Format>,

    /// Install each package of `target/dist` from its file, use it and remove it; makes none
    #[arg(long)]
    check: bool,

    /// Compress little, to try the packages
    #[arg(long)]
    quick: bool,
}

/// A kind of package. The order is the one in which they are made: formulas name archives, and
/// checksums come last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// `.tar.zst` with the programs, manual pages, completions and notices
    Archive,
    /// `haft` and the package of this platform for npm
    Npm,
    /// `haft-tools` for PyPI
    Wheel,
    /// Debian package
    Deb,
    /// Container image
    Oci,
    /// Packages for crates.io, which build without Node.js
    Crates,
    /// Software bill of materials (CycloneDX)
    Sbom,
    /// Homebrew formula of the archives in the folder
    Formula,
    /// `SHA256SUMS` of the folder
    Sums,
}

/// Data that the formats share.
pub struct Context {
    /// Root of the checkout.
    pub root: PathBuf,
    /// Folder of the results.
    pub out: PathBuf,
    pub facts: Facts,
    /// Time of all files, in seconds since 1970.
    pub epoch: u64,
    pub quick: bool,
}

impl Dist {
    pub fn run(self) -> Result<()> {
        let root = workspace::root();
        let out = workspace::target_dir(&root)?.join("dist");
        let wanted = self.formats();
        if self.check {
            let context = Context {
                epoch: epoch(&root)?,
                facts: Facts::read(&out)?,
                quick: false,
                root,
                out,
            };
            return check::run(&context, &wanted);
        }
        files::make_folder(&out)?;
        let needs_program = wanted.iter().any(|format| format.needs_program());
        let facts = match (&self.binary, needs_program) {
            (_, false) => Facts::of_source(&root)?,
            (Some(binary), true) => program::given(&root, &out, binary)?,
            (None, true) => program::build(&root, &out)?,
        };
        let context = Context {
            epoch: epoch(&root)?,
            quick: self.quick,
            facts,
            root,
            out,
        };
        if needs_program {
            context.facts.print();
            tree::lay_out(&context)?;
        }
        for format in wanted {
            for made in format.make(&context)? {
                println!("{}", size_and_name(&made)?);
            }
            format.remove_work(&context)?;
        }
        Ok(())
    }

    fn formats(&self) -> Vec<Format> {
        let all = Format::value_variants().iter().copied();
        all.filter(|format| self.only.is_empty() || self.only.contains(format))
            .filter(|format| !self.only.is_empty() || format.is_for_this_system())
            .collect()
    }
}

impl Format {
    /// Returns the name that `--only` takes.
    fn name(self) -> String {
        let value = self.to_possible_value();
        value.map_or(String::new(), |value| value.get_name().to_owned())
    }

    /// Returns true if the format wraps the program; the others describe the sources or the folder.
    fn needs_program(self) -> bool {
        !matches!(
            self,
            Format::Crates | Format::Sbom | Format::Formula | Format::Sums
        )
    }

    fn is_for_this_system(self) -> bool {
        cfg!(target_os = "linux") || !matches!(self, Format::Deb | Format::Oci)
    }

    /// Removes the intermediate files, which hold the program several times.
    fn remove_work(self, context: &Context) -> Result<()> {
        let folder = context.out.join("work").join(self.name());
        match fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(error).during(|| format!("remove `{}`", folder.display()))
            }
            _ => Ok(()),
        }
    }

    /// Makes the packages and returns their files.
    fn make(self, context: &Context) -> Result<Vec<PathBuf>> {
        match self {
            Format::Archive => archive::make(context),
            Format::Npm => npm::make(context),
            Format::Wheel => wheel::make(context),
            Format::Deb => deb::make(context),
            Format::Oci => oci::make(context),
            Format::Crates => crates::make(context),
            Format::Sbom => sbom::make(context),
            Format::Formula => formula::make(context),
            Format::Sums => sums::make(context),
        }
    }
}

impl Context {
    /// Returns an empty folder for the intermediate files of a format.
    pub fn work(&self, name: &str) -> Result<PathBuf> {
        empty(&self.out.join("work").join(name))
    }
}

/// Makes an empty folder in the place of this one.
fn empty(folder: &Path) -> Result<PathBuf> {
    let making = || format!("make `{}`", folder.display());
    if folder.exists() {
        fs::remove_dir_all(folder).during(making)?;
    }
    fs::create_dir_all(folder).during(making)?;
    Ok(folder.to_owned())
}

/// Returns the time of all files: `SOURCE_DATE_EPOCH`, else the time of the commit.
fn epoch(root: &Path) -> Result<u64> {
    let text = match std::env::var("SOURCE_DATE_EPOCH") {
        Ok(text) => text,
        Err(_) => {
            let mut git = Command::new("git");
            git.current_dir(root).args(["log", "-1", "--format=%ct"]);
            command::output(&mut git)?
        }
    };
    let seconds = text.trim().parse();
    seconds.map_err(|_| Error::unexpected(format!("`{}` is not a time in seconds", text.trim())))
}

fn size_and_name(path: &Path) -> Result<String> {
    let size = fs::metadata(path)
        .during(|| format!("read `{}`", path.display()))?
        .len();
    Ok(format!("{:>8.1} MB  {}", size as f64 / 1e6, path.display()))
}
