//! The release build, and the facts about it that packages state: version, target, C library.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use flate2::read::ZlibDecoder;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::glibc::{self, Glibc, needed, readelf};
use crate::cargo_tools::AUDITABLE;
use crate::error::{During, Error, Result};
use crate::files;
use crate::{command, prerequisites, system_tools, workspace};

/// Facts about the program, kept in `BUILD.json` beside the packages.
#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Facts {
    pub version: String,
    /// Rust's name of the platform.
    pub target: String,
    /// The oldest glibc with which it starts; none on other systems.
    pub glibc: Option<Glibc>,
    /// Names of the shared libraries that it loads.
    pub libraries: Vec<String>,
    /// Number of packages in its audit data; none without such data.
    #[serde(rename = "auditedPackages")]
    pub audited: Option<usize>,
    pub bytes: u64,
}

const RECORD: &str = "BUILD.json";

/// Folder below the results with the two programs.
const PROGRAMS: &str = "work/programs";

/// ELF section in which `cargo auditable` lists the dependencies.
const AUDIT_SECTION: &str = ".dep-v0";

/// Linker script in the place of `libgcc_s.so`. Rust's standard library names that library itself, so
/// `-static-libgcc` has no effect on it.
const STATIC_LIBGCC: &str = "INPUT(-lgcc_eh -lgcc)\n";

/// Makes the release build with audit data, with zlib and libgcc linked statically, for an older glibc.
pub fn build(root: &Path, out: &Path) -> Result<Facts> {
    prerequisites::for_a_build()?;
    let auditable = AUDITABLE.folder()?;
    let mut linking = Vec::new();
    if cfg!(target_os = "linux") {
        let libraries = out.join("work/libraries");
        files::write(&libraries.join("libgcc_s.so"), STATIC_LIBGCC)?;
        let arguments = glibc::link_arguments(&libraries)?;
        linking.extend(
            arguments
                .into_iter()
                .map(|argument| format!("-Clink-arg={argument}")),
        );
    }
    let path = std::env::var("PATH").unwrap_or_default();
    for program in ["haft", system_tools::PROGRAM] {
        let mut cargo = command::cargo(root);
        cargo.env("PATH", format!("{}:{path}", auditable.display()));
        // Read when `libz-sys` is compiled. Minimal images and old systems lack zlib.
        cargo.env("LIBZ_SYS_STATIC", "1");
        cargo.args(["auditable", "rustc", "--locked", "--release"]);
        cargo.args(["--package", "haft", "--bin", program]);
        cargo.arg("--").args(&linking);
        command::run(&mut cargo)?;
    }
    let built = workspace::target_dir(root)?.join("release");
    let facts = keep(
        root,
        out,
        &built.join("haft"),
        &built.join(system_tools::PROGRAM),
    )?;
    glibc::check(facts.glibc)?;
    Ok(facts)
}

/// Takes a program that is built already.
pub fn given(root: &Path, out: &Path, binary: &Path) -> Result<Facts> {
    let tools = binary.with_file_name(system_tools::PROGRAM);
    for program in [binary, &tools] {
        if !program.is_file() {
            return Err(Error::Missing {
                what: format!("`{}` does not exist", program.display()),
                hint: "leave out --binary, or build both programs with `cargo build --release`"
                    .into(),
            });
        }
    }
    keep(root, out, binary, &tools)
}

/// Returns the programs that were kept, haft first.
pub fn kept(out: &Path) -> [PathBuf; 2] {
    ["haft", system_tools::PROGRAM].map(|name| out.join(PROGRAMS).join(name))
}

/// Copies the programs into the folder of the results, without symbols, and records the facts.
fn keep(root: &Path, out: &Path, haft: &Path, tools: &Path) -> Result<Facts> {
    let folder = super::empty(&out.join(PROGRAMS))?;
    for (from, to) in [haft, tools].iter().zip(kept(out)) {
        fs::copy(from, &to).during(|| format!("copy `{}`", from.display()))?;
        command::run(Command::new("strip").arg(&to))?;
    }
    let facts = Facts::look(root, &folder.join("haft"))?;
    facts.check_version(&folder.join("haft"))?;
    let record = serde_json::to_string_pretty(&facts);
    let record = record.map_err(|error| Error::unexpected(error.to_string()))?;
    files::write(&out.join(RECORD), &format!("{record}\n"))?;
    Ok(facts)
}

impl Facts {
    /// Reads what was recorded about the packages of the folder.
    pub fn read(out: &Path) -> Result<Facts> {
        let path = out.join(RECORD);
        if !path.is_file() {
            return Err(Error::Missing {
                what: format!(
                    "`{}` does not exist, so there are no packages",
                    path.display()
                ),
                hint: "make them with `cargo xtask dist`".into(),
            });
        }
        serde_json::from_value(files::read_json(&path)?)
            .map_err(|_| Error::unexpected(format!("`{}` is broken", path.display())))
    }

    /// Returns the facts for formats that need no program.
    pub fn of_source(root: &Path) -> Result<Facts> {
        Ok(Facts {
            version: workspace::package_field(root, "version")?,
            target: workspace::host_target()?,
            glibc: None,
            libraries: Vec::new(),
            audited: None,
            bytes: 0,
        })
    }

    fn look(root: &Path, program: &Path) -> Result<Facts> {
        let mut facts = Facts::of_source(root)?;
        facts.bytes = fs::metadata(program)
            .during(|| format!("read `{}`", program.display()))?
            .len();
        if cfg!(target_os = "linux") {
            let dynamic = readelf(program, "--dynamic")?;
            facts.libraries = dynamic.lines().filter_map(needed).collect();
            let versions = readelf(program, "--version-info")?;
            facts.glibc = newest_glibc(&versions);
            facts.audited = audited(program)?;
        }
        Ok(facts)
    }

    /// Compares with what the program says, so that an old build is not wrapped as a new version.
    fn check_version(&self, program: &Path) -> Result<()> {
        let said = command::output(Command::new(program).arg("--version"))?;
        if said.trim() == format!("haft {}", self.version) {
            return Ok(());
        }
        Err(Error::unexpected(format!(
            "the program says `{}`, but Cargo.toml has version {}",
            said.trim(),
            self.version
        )))
    }

    pub fn print(&self) {
        println!(
            "haft {} for {}, {:.1} MB",
            self.version,
            self.target,
            self.bytes as f64 / 1e6
        );
        if let Some((major, minor)) = self.glibc {
            println!(
                "needs glibc {major}.{minor} and {}",
                self.libraries.join(", ")
            );
        }
        match self.audited {
            Some(packages) => println!("audit data: {packages} packages"),
            None => println!("audit data: none; `cargo xtask dist` without --binary adds it"),
        }
    }

    /// Returns the processor as `x86_64` or `aarch64`.
    pub fn processor(&self) -> &str {
        self.target.split('-').next().unwrap_or_default()
    }

    /// Returns the name that Debian and OCI have for the processor.
    pub fn architecture(&self) -> &str {
        match self.processor() {
            "x86_64" => "amd64",
            "aarch64" => "arm64",
            other => other,
        }
    }

    pub fn is_linux(&self) -> bool {
        self.target.contains("-linux-")
    }

    pub fn is_macos(&self) -> bool {
        self.target.contains("-apple-")
    }
}

/// Returns the newest version of glibc that a symbol of the program asks for.
pub fn newest_glibc(versions: &str) -> Option<Glibc> {
    let words = versions.split_whitespace();
    let versions = words.filter_map(|word| glibc_version(word.strip_prefix("GLIBC_")?));
    versions.max()
}

fn glibc_version(text: &str) -> Option<Glibc> {
    let mut numbers = text.split('.').map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// Returns how many packages the program's audit data lists.
fn audited(program: &Path) -> Result<Option<usize>> {
    if !readelf(program, "--section-headers")?.contains(AUDIT_SECTION) {
        return Ok(None);
    }
    let reading = || format!("read the audit data of `{}`", program.display());
    let folder = tempfile::tempdir().during(reading)?;
    let section = folder.path().join("section");
    let mut objcopy = Command::new("objcopy");
    objcopy.arg(format!(
        "--dump-section={AUDIT_SECTION}={}",
        section.display()
    ));
    objcopy.arg(program).arg(folder.path().join("rest"));
    command::output(&mut objcopy)?;
    let mut text = String::new();
    let packed = fs::read(&section).during(reading)?;
    ZlibDecoder::new(packed.as_slice())
        .read_to_string(&mut text)
        .during(reading)?;
    let data: Value = serde_json::from_str(&text)
        .map_err(|error| Error::unexpected(format!("the audit data is not JSON: {error}")))?;
    Ok(data["packages"].as_array().map(Vec::len))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_of_readelf_are_understood() {
        assert_eq!(
            needed(" 0x0000000000000001 (NEEDED)             Shared library: [libm.so.6]"),
            Some("libm.so.6".into())
        );
        assert_eq!(needed(" 0x000000000000000c (INIT)  0x1000"), None);
        let versions =
            "  0x0010:   Name: GLIBC_2.9  Flags: none\n  Name: GLIBC_2.35\n GLIBC_PRIVATE";
        assert_eq!(newest_glibc(versions), Some((2, 35)));
        assert_eq!(newest_glibc("nothing"), None);
    }
}
