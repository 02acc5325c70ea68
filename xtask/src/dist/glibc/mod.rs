//! Links the release build so that it starts with an older glibc than that of the machine.
//!
//! A program asks for the newest version of each function that its linker saw, so by itself it needs
//! the glibc of the machine that built it. Here the linker sees *interfaces* instead: shared libraries
//! without code, with the functions that the machine's glibc has for programs linked against version
//! `OLDEST`. `compat.c` has the few that did not exist then. Function versions never leave glibc, so
//! the same program runs with every later one.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command;
use crate::error::{Error, Result};
use crate::files;
use crate::packages;

/// Version of the C library that a program needs: 2.35 is `(2, 35)`.
pub type Glibc = (u32, u32);

/// The oldest glibc with which the program starts: that of Debian 11 and Ubuntu 20.04.
pub const OLDEST: Glibc = (2, 31);

const COMPAT: &str = include_str!("compat.c");

/// Libraries that were merged into `libc.so.6` with version 2.34. Older systems have the functions of
/// threads and of `dlopen` there, so the program has to load them; newer ones have them without content.
const MERGED: [(&str, &str); 2] = [("pthread", "libpthread.so.0"), ("dl", "libdl.so.2")];

/// Version of a symbol: `GLIBC_2.2.5` is `[2, 2, 5]`.
type Version = Vec<u32>;

struct Variable {
    /// Names of one variable have the same address.
    address: u64,
    /// In bytes.
    size: u64,
    /// GNU's linker copies a weak name together with the strong name of the same address.
    weak: bool,
}

/// A function or variable of a library, with its newest version that is old enough.
struct Symbol {
    version: Version,
    variable: Option<Variable>,
}

/// Makes the interfaces in `folder` and returns the arguments of `cc` that link with them.
pub fn link_arguments(folder: &Path) -> Result<Vec<String>> {
    files::make_folder(folder)?;
    let libc = installed("libc.so.6")?;
    let loader = loader(&libc)?;
    for library in [&libc, &installed("libm.so.6")?, &loader] {
        let symbols = symbols(&readelf(library, "--dyn-syms")?);
        let name = file_name(library);
        interface(folder, &name, &name, &symbols)?;
    }
    for (short, name) in MERGED {
        interface(folder, &format!("lib{short}.so"), name, &BTreeMap::new())?;
    }
    let place = |name: &str| folder.join(name).display().to_string();
    // What `-lc` and `-lm` name. `libc_nonshared.a` is the part of glibc that is always linked statically.
    let script = format!(
        "GROUP({} {} AS_NEEDED({}))\n",
        place("libc.so.6"),
        installed("libc_nonshared.a")?.display(),
        place(&file_name(&loader)),
    );
    files::write(&folder.join("libc.so"), &script)?;
    files::write(
        &folder.join("libm.so"),
        &format!("INPUT({})\n", place("libm.so.6")),
    )?;
    let source = folder.join("compat.c");
    files::write(&source, COMPAT)?;
    let mut cc = Command::new("cc");
    cc.args(["-O2", "-fPIC", "-Wall", "-Werror", "-c", "-o"]);
    command::output(cc.arg(folder.join("compat.o")).arg(&source))?;
    let arguments = [
        &format!("-L{}", folder.display()),
        &place("compat.o"),
        "-Wl,--wrap=__libc_start_main",
        "-Wl,--push-state,--no-as-needed",
        "-lpthread",
        "-ldl",
        "-Wl,--pop-state",
    ];
    Ok(arguments.map(str::to_owned).to_vec())
}

/// Fails if the program asks for a newer glibc, so that no package promises too much.
pub fn check(needed: Option<Glibc>) -> Result<()> {
    match needed {
        Some(version) if version > OLDEST => Err(Error::unexpected(format!(
            "the program needs glibc {}.{}; what it needs of versions after {}.{} belongs into \
             xtask/src/dist/glibc/compat.c",
            version.0, version.1, OLDEST.0, OLDEST.1
        ))),
        _ => Ok(()),
    }
}

pub fn readelf(program: &Path, what: &str) -> Result<String> {
    let why = "to see which libraries the program needs";
    packages::ensure_programs(why, &[("readelf", "binutils")])?;
    command::output(Command::new("readelf").args(["--wide", what]).arg(program))
}

/// Returns the library of a line `(NEEDED)  Shared library: [libc.so.6]`.
pub fn needed(line: &str) -> Option<String> {
    let (_, name) = line.split_once("(NEEDED)")?.1.split_once('[')?;
    Some(name.split(']').next()?.to_owned())
}

/// Returns the file of the C library that the compiler links.
fn installed(name: &str) -> Result<PathBuf> {
    let said = command::output(Command::new("cc").arg(format!("-print-file-name={name}")))?;
    let path = PathBuf::from(said.trim());
    if path.is_absolute() {
        return Ok(path);
    }
    Err(Error::Missing {
        what: format!("the compiler does not find `{name}`"),
        hint: "install the C library's development package (Debian: libc6-dev)".into(),
    })
}

/// Returns the dynamic linker, which `libc.so.6` loads.
fn loader(libc: &Path) -> Result<PathBuf> {
    let dynamic = readelf(libc, "--dynamic")?;
    let name = dynamic
        .lines()
        .filter_map(needed)
        .find(|name| name.starts_with("ld-"));
    match name {
        Some(name) => installed(&name),
        None => Err(Error::unexpected(format!(
            "`{}` names no dynamic linker",
            libc.display()
        ))),
    }
}

fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// Reads a table of readelf: `NUMBER: ADDRESS SIZE TYPE BIND VISIBILITY SECTION NAME@@GLIBC_2.3`.
fn symbols(table: &str) -> BTreeMap<String, Symbol> {
    let mut symbols: BTreeMap<String, Symbol> = BTreeMap::new();
    for line in table.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, address, size, kind, binding, _, section, name, ..] = words[..] else {
            continue;
        };
        let Some((name, version)) = name.split_once('@') else {
            continue;
        };
        let version = version
            .trim_start_matches('@')
            .strip_prefix("GLIBC_")
            .and_then(symbol_version);
        let Some(version) =
            version.filter(|version| version.as_slice() <= [OLDEST.0, OLDEST.1].as_slice())
        else {
            continue;
        };
        let variable = match kind {
            _ if section == "UND" || section == "ABS" => continue,
            "FUNC" | "IFUNC" | "NOTYPE" => None,
            "OBJECT" => Some(Variable {
                address: u64::from_str_radix(address, 16).unwrap_or_default(),
                size: parse_size(size),
                weak: binding == "WEAK",
            }),
            _ => continue,
        };
        let symbol = Symbol { version, variable };
        match symbols.get(name) {
            Some(other) if other.version >= symbol.version => {}
            _ => {
                symbols.insert(name.to_owned(), symbol);
            }
        }
    }
    symbols
}

/// Returns the numbers of a version; none for `GLIBC_PRIVATE`.
fn symbol_version(text: &str) -> Option<Version> {
    text.split('.').map(|number| number.parse().ok()).collect()
}

/// Parses a size, which readelf writes in hexadecimal digits if it is large.
fn parse_size(text: &str) -> u64 {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).unwrap_or_default(),
        None => text.parse().unwrap_or_default(),
    }
}

/// Makes a shared library that has these symbols and no code. `name` is what programs then load.
fn interface(
    folder: &Path,
    file: &str,
    name: &str,
    symbols: &BTreeMap<String, Symbol>,
) -> Result<()> {
    let source = folder.join(format!("{file}.s"));
    let versions = folder.join(format!("{file}.map"));
    files::write(&source, &assembly(symbols))?;
    files::write(&versions, &version_script(symbols))?;
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-nostdlib", "-o"])
        .arg(folder.join(file));
    cc.arg(format!("-Wl,-soname,{name}"));
    if !symbols.is_empty() {
        cc.arg(format!("-Wl,--version-script,{}", versions.display()));
    }
    command::output(cc.arg(&source)).map(drop)
}

fn assembly(symbols: &BTreeMap<String, Symbol>) -> String {
    let mut text = String::from(".section .note.GNU-stack,\"\",%progbits\n.text\n");
    let mut variables: BTreeMap<u64, Vec<(&str, &Variable)>> = BTreeMap::new();
    for (name, symbol) in symbols {
        match &symbol.variable {
            None => {
                let _ = writeln!(
                    text,
                    ".globl \"{name}\"\n.type \"{name}\", %function\n\"{name}\":"
                );
            }
            Some(variable) => {
                let names = variables.entry(variable.address).or_default();
                names.push((name, variable));
            }
        }
    }
    // A program that is linked for a fixed address has a copy of each variable that it uses, under all
    // the names of that variable. So they share an address here as well.
    text.push_str(".byte 0\n.bss\n");
    for names in variables.values() {
        text.push_str(".balign 64\n");
        for (name, Variable { size, weak, .. }) in names {
            let binding = if *weak { ".weak" } else { ".globl" };
            let _ = writeln!(
                text,
                "{binding} \"{name}\"\n.type \"{name}\", %object\n.size \"{name}\", {size}\n\"{name}\":"
            );
        }
        let sizes = names.iter().map(|(_, variable)| variable.size);
        let _ = writeln!(text, ".skip {}", sizes.max().unwrap_or_default().max(1));
    }
    text
}

fn version_script(symbols: &BTreeMap<String, Symbol>) -> String {
    let mut versions: BTreeMap<&Version, Vec<&str>> = BTreeMap::new();
    for (name, symbol) in symbols {
        versions.entry(&symbol.version).or_default().push(name);
    }
    let mut text = String::new();
    for (version, names) in versions {
        let numbers: Vec<String> = version.iter().map(u32::to_string).collect();
        let _ = write!(text, "GLIBC_{} {{ global:", numbers.join("."));
        for name in names {
            let _ = write!(text, " \"{name}\";");
        }
        text.push_str(" };\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::program::newest_glibc;
    use super::*;

    /// Lines of `readelf --wide --dyn-syms` for glibc 2.36.
    const TABLE: &str = "
   Num:    Value          Size Type    Bind   Vis      Ndx Name
     6: 0000000000000000     0 FUNC    GLOBAL DEFAULT  UND __tls_get_addr@GLIBC_2.3 (41)
   402: 0000000000000000     0 OBJECT  GLOBAL DEFAULT  ABS GLIBC_2.31
   403: 0000000000014fed    16 FUNC    GLOBAL DEFAULT   16 _dl_find_object@@GLIBC_2.35
   404: 0000000000089380    16 FUNC    GLOBAL DEFAULT   16 pthread_create@GLIBC_2.2.5
   405: 0000000000089380    16 FUNC    GLOBAL DEFAULT   16 pthread_create@@GLIBC_2.34
   406: 0000000000099380    16 IFUNC   GLOBAL DEFAULT   16 memcpy@@GLIBC_2.14
   407: 0000000000099390    16 FUNC    GLOBAL DEFAULT   16 memcpy@GLIBC_2.2.5
   408: 00000000001dd320     8 OBJECT  WEAK   DEFAULT   36 environ@@GLIBC_2.2.5
   409: 00000000001dd320     8 OBJECT  GLOBAL DEFAULT   36 __environ@@GLIBC_2.2.5
   410: 00000000001dd330  0x1a0 OBJECT  GLOBAL DEFAULT   36 secret@@GLIBC_PRIVATE
";

    #[test]
    fn an_interface_has_the_newest_version_that_is_old_enough() {
        assert_eq!(
            version_script(&symbols(TABLE)),
            "GLIBC_2.2.5 { global: \"__environ\"; \"environ\"; \"pthread_create\"; };\n\
             GLIBC_2.14 { global: \"memcpy\"; };\n"
        );
    }

    #[test]
    fn the_names_of_a_variable_share_its_address() {
        let text = assembly(&symbols(TABLE));
        let (_, variables) = text.split_once(".bss\n").expect("a section of variables");
        assert_eq!(variables.matches(".skip 8").count(), 1);
        assert!(
            variables.contains("\"__environ\":\n.weak \"environ\""),
            "{variables}"
        );
    }

    /// Uses what differs between versions: a constructor, a variable with two names, `stat`, a thread.
    const PROGRAM: &str = r#"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
extern char **environ;
static int constructed;
__attribute__((constructor)) static void construct(void) { constructed = 1; }
static void *work(void *text) { return strdup(text); }
int main(void) {
  struct stat facts;
  pthread_t thread;
  void *answer;
  setenv("GREETING", "hello", 1);
  if (stat("/", &facts) || !S_ISDIR(facts.st_mode) || stat("/missing", &facts) != -1) return 1;
  if (pthread_create(&thread, NULL, work, getenv("GREETING")) || pthread_join(thread, &answer)) return 2;
  if (environ == NULL) return 3;
  printf("%s %d\n", (char *)answer, constructed);
  return 0;
}
"#;

    #[cfg(target_os = "linux")]
    #[test]
    fn a_linked_program_runs_and_needs_no_newer_library() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let source = folder.path().join("program.c");
        let program = folder.path().join("program");
        fs::write(&source, PROGRAM).expect("a folder of ours");
        let arguments = link_arguments(&folder.path().join("libraries")).expect("glibc is here");
        let mut cc = Command::new("cc");
        cc.args(["-no-pie", "-o"])
            .arg(&program)
            .arg(&source)
            .args(arguments);
        command::output(&mut cc).expect("it is linked");
        let said = command::output(&mut Command::new(&program)).expect("it runs");
        assert_eq!(said, "hello 1\n");
        let versions = readelf(&program, "--version-info").expect("a program");
        check(newest_glibc(&versions)).expect("it needs an old library");
        let dynamic = readelf(&program, "--dynamic").expect("a program");
        let libraries: Vec<String> = dynamic.lines().filter_map(needed).collect();
        assert!(
            libraries.contains(&"libpthread.so.0".to_owned()),
            "{libraries:?}"
        );
    }

    #[test]
    fn a_program_that_needs_a_newer_library_is_refused() {
        check(Some(OLDEST)).expect("it is old enough");
        let error = check(Some((2, 35))).expect_err("it is too new");
        assert!(error.to_string().contains("needs glibc 2.35"), "{error}");
    }
}
