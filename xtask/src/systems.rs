//! `cargo xtask systems`: the packages without V8, checked by the compiler for macOS and Windows.
//!
//! `cargo check` links nothing, so neither a linker nor the files of the other system are needed, only
//! its standard library. The compiler has it if the user added the target (`rustup target add`).
//! Otherwise it is checked from its source with the rustc of Debian, which comes with that source.

use std::collections::BTreeSet;
use std::env;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use clap::Args;

use crate::error::{During, Error, Result};
use crate::files;
use crate::{command, workspace};

/// The systems that CI has no machine for.
const TARGETS: [&str; 2] = ["aarch64-apple-darwin", "x86_64-pc-windows-msvc"];

/// The packages that neither V8 nor a package with V8 is a dependency of.
const PACKAGES: [&str; 6] = [
    "haft-config",
    "haft-discover",
    "haft-process",
    "haft-render",
    "haft-shell-quote",
    "haft-tool",
];

/// Debian's packages with rustc and the source of its standard library.
const DEBIAN: [&str; 2] = ["rustc-web", "rust-web-src"];

/// Beginnings of the names of the libraries that this rustc loads. Its linker is not needed.
const DEBIAN_LIBRARIES: [&str; 9] = [
    "libbsd",
    "libedit",
    "libicu",
    "libllvm",
    "libmd",
    "libstd-rust-web",
    "libtinfo",
    "libxml2",
    "libz3",
];

/// C compiler of the build scripts: it makes empty files, since nothing is linked.
const COMPILER: &str = r#"#!/bin/sh
while [ $# -gt 0 ]; do
    case $1 in
        -o) : >"$2" ;;
        -Fo*) : >"${1#-Fo}" ;;
    esac
    shift
done
"#;

/// Archiver of the build scripts: it makes empty files, too.
const ARCHIVER: &str = r#"#!/bin/sh
for word; do
    case $word in
        [-/][oO][uU][tT]:*) : >"${word#?????}" ;;
        *.a | *.lib) : >"$word" ;;
    esac
done
"#;

/// Check the packages without V8 for macOS and Windows. Nothing is linked or run.
#[derive(Args)]
pub struct Systems {
    /// Check for this target only; may be repeated
    #[arg(long, value_name = "TARGET")]
    target: Vec<String>,
    /// Number of compilers at the same time
    #[arg(long, short, default_value_t = 1)]
    jobs: u32,
}

impl Systems {
    pub fn run(self) -> Result<()> {
        let root = workspace::root();
        let folder = workspace::target_dir(&root)?.join("systems");
        let targets = if self.target.is_empty() {
            TARGETS.map(str::to_owned).to_vec()
        } else {
            self.target
        };
        for target in targets {
            let started = Instant::now();
            let mut cargo = command::cargo(&root);
            cargo.args(["check", "--target", &target]);
            cargo.arg(format!("--jobs={}", self.jobs));
            cargo.env("CARGO_TARGET_DIR", folder.join("build"));
            with_empty_objects(&mut cargo, &folder, &target)?;
            if !has_target(&root, &target)? {
                let rustc = Debian::in_folder(&folder)?;
                rustc.use_in(&mut cargo);
            }
            for package in PACKAGES {
                cargo.args(["--package", package]);
            }
            command::run(&mut cargo)?;
            println!(
                "{target}: {} checked in {} s",
                PACKAGES.join(", "),
                started.elapsed().as_secs()
            );
        }
        Ok(())
    }
}

/// Returns true if our compiler has the standard library of the target.
fn has_target(root: &Path, target: &str) -> Result<bool> {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let mut rustc = Command::new(rustc);
    rustc.current_dir(root).args(["--print", "sysroot"]);
    let sysroot = PathBuf::from(command::output(&mut rustc)?.trim());
    Ok(sysroot
        .join("lib/rustlib")
        .join(target)
        .join("lib")
        .is_dir())
}

/// Lets build scripts "compile" C code without a compiler for the target.
fn with_empty_objects(cargo: &mut Command, folder: &Path, target: &str) -> Result<()> {
    let programs = folder.join("bin");
    files::make_folder(&programs)?;
    let suffix = target.replace('-', "_");
    for (variables, name, script) in [
        (["CC", "CXX"].as_slice(), "cc", COMPILER),
        (["AR"].as_slice(), "ar", ARCHIVER),
    ] {
        let program = programs.join(name);
        fs::write(&program, script)
            .and_then(|()| fs::set_permissions(&program, Permissions::from_mode(0o755)))
            .during(|| format!("write `{}`", program.display()))?;
        for variable in variables {
            cargo.env(format!("{variable}_{suffix}"), &program);
        }
    }
    Ok(())
}

/// Debian's rustc, unpacked into a folder of its own.
struct Debian {
    root: PathBuf,
}

impl Debian {
    /// Downloads and unpacks it if it is not there.
    fn in_folder(folder: &Path) -> Result<Debian> {
        let root = folder.join("debian");
        if root.join("usr/bin/rustc").is_file() {
            return Ok(Debian { root });
        }
        if command::on_path("apt-get").is_none() || command::on_path("dpkg").is_none() {
            return Err(Error::Missing {
                what: "the standard library of the other system is missing".into(),
                hint: format!("run `rustup target add {}`", TARGETS.join(" ")),
            });
        }
        let packages = folder.join("packages");
        for folder in [&packages, &root] {
            files::make_folder(folder)?;
        }
        // Old lists name a rustc that is too old. Without the right to update them they may be new enough.
        let _ = Command::new("apt-get").args(["update", "-qq"]).status();
        let mut download = Command::new("apt-get");
        download.current_dir(&packages).arg("download");
        command::run(download.args(debian_packages()?))?;
        // rustc is unpacked last: it marks a complete folder.
        let mut files: Vec<PathBuf> = fs::read_dir(&packages)
            .during(|| format!("read `{}`", packages.display()))?
            .flatten()
            .map(|entry| entry.path())
            .collect();
        files.sort_by_key(|file| is_rustc(file));
        for file in files {
            command::run(Command::new("dpkg").arg("-x").arg(file).arg(&root))?;
        }
        Ok(Debian { root })
    }

    /// Lets cargo use it, with the standard library from its source.
    fn use_in(&self, cargo: &mut Command) {
        let libraries = format!("usr/lib/{}-linux-gnu", env::consts::ARCH);
        cargo.arg("-Zbuild-std=std,panic_unwind");
        cargo.env("RUSTC_BOOTSTRAP", "1");
        cargo.env("RUSTC", self.root.join("usr/bin/rustc"));
        cargo.env("LD_LIBRARY_PATH", self.root.join(libraries));
    }
}

fn is_rustc(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with("rustc-web_")
}

/// Returns the packages of rustc with the libraries that they depend on, whose names have versions.
fn debian_packages() -> Result<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    let mut waiting: Vec<String> = DEBIAN.map(str::to_owned).to_vec();
    while let Some(package) = waiting.pop() {
        let mut depends = Command::new("apt-cache");
        let text = command::output(depends.args(["depends", "--important", &package]))?;
        let names = text
            .lines()
            .filter_map(|line| line.trim().strip_prefix("Depends: "));
        let wanted = names.filter(|name| {
            let mut libraries = DEBIAN_LIBRARIES.iter();
            libraries.any(|library| name.starts_with(library))
        });
        waiting.extend(
            wanted
                .filter(|name| !found.contains(*name))
                .map(str::to_owned),
        );
        found.insert(package);
    }
    Ok(found)
}
