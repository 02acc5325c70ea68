//! Clang's library, which `bindgen` loads while the SQLite crate is built.
//!
//! It is searched in the same places as by `bindgen`: `LIBCLANG_PATH`, the output of `llvm-config`,
//! the library folders of the system. Without it the build panics after some minutes.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command;
use crate::error::Result;
use crate::machine::Machine;
use crate::packages;

pub fn ensure(machine: &Machine) -> Result<()> {
    // macOS has it in Xcode's command line tools, where a C compiler is found too.
    if cfg!(not(target_os = "linux")) || is_here() {
        return Ok(());
    }
    packages::ensure(
        "for the crates whose C bindings bindgen makes",
        &["libclang-dev".into()],
        machine,
    )
}

fn is_here() -> bool {
    if let Some(named) = env::var_os("LIBCLANG_PATH").map(PathBuf::from) {
        // Bindgen accepts the file itself or its folder.
        return named.is_file() || holds(&named);
    }
    folders().iter().any(|folder| holds(folder))
}

fn folders() -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = [
        "/usr/lib",
        "/usr/lib64",
        "/usr/local/lib",
        "/usr/local/lib64",
    ]
    .map(PathBuf::from)
    .into();
    if let Some(path) = env::var_os("LD_LIBRARY_PATH") {
        folders.extend(env::split_paths(&path));
    }
    let llvm_config = env::var_os("LLVM_CONFIG_PATH").unwrap_or_else(|| "llvm-config".into());
    if let Ok(said) = command::output(Command::new(llvm_config).arg("--libdir")) {
        folders.push(PathBuf::from(said.trim()));
    }
    for parent in ["/usr/lib", "/usr/lib64", "/usr/local"] {
        // Debian: `/usr/lib/x86_64-linux-gnu`, `/usr/lib/llvm-19/lib`; Fedora: `/usr/lib64/llvm19/lib64`.
        for folder in below(Path::new(parent)) {
            folders.extend([folder.join("lib"), folder.join("lib64"), folder]);
        }
    }
    folders
}

fn holds(folder: &Path) -> bool {
    let names = fs::read_dir(folder).into_iter().flatten().flatten();
    names
        .into_iter()
        .any(|entry| is_libclang(&entry.file_name().to_string_lossy()))
}

/// `libclang-cpp` is another library, with no C interface.
fn is_libclang(name: &str) -> bool {
    (name.starts_with("libclang.so") || name.starts_with("libclang-"))
        && name.contains(".so")
        && !name.contains("-cpp.")
}

fn below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_is_known_by_its_name() {
        for name in [
            "libclang.so",
            "libclang.so.1",
            "libclang-14.so",
            "libclang-22.so.1",
        ] {
            assert!(is_libclang(name), "{name}");
        }
        for name in [
            "libclang-cpp.so.14",
            "libclang.a",
            "libclangAST.so",
            "libLLVM.so",
        ] {
            assert!(!is_libclang(name), "{name}");
        }
    }

    #[test]
    fn a_folder_without_it_does_not_hold_it() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        assert!(!holds(folder.path()));
        fs::write(folder.path().join("libclang-19.so.1"), "").expect("written");
        assert!(holds(folder.path()));
    }
}
