//! What a machine must have before haft can be built, made sure of in the order of its price.
//!
//! What is missing is got when that is ours to do (a package as root, node modules, the V8
//! archive), else the chore stops with one sentence and the one command that helps.

mod chromium;
mod judges;
mod libclang;
mod node;
mod node_modules;
pub mod packages;

use crate::command;
use crate::error::Result;
use crate::machine::Machine;
use crate::{v8, workspace};

/// Everything that a build of haft needs.
pub fn for_a_build() -> Result<()> {
    let machine = Machine::look();
    node::ensure()?;
    c_toolchain(&machine)?;
    libclang::ensure(&machine)?;
    v8::ensure()?;
    node_modules::ensure(&workspace::root())
}

/// What the tests need besides.
pub fn for_the_tests() -> Result<()> {
    for_a_build()?;
    chromium::ensure(&Machine::look())?;
    judges::ensure(&workspace::root())
}

/// The compiler and `make`, with which some crates build the C that they carry.
fn c_toolchain(machine: &Machine) -> Result<()> {
    let here = |names: &[&str]| names.iter().any(|name| command::on_path(name).is_some());
    let compiler = std::env::var_os("CC").is_some() || here(&["cc", "gcc", "clang"]);
    if compiler && here(&["make", "gmake"]) {
        return Ok(());
    }
    let why = "for the crates that build C code of their own";
    packages::ensure(why, &["build-essential".into()], machine)
}
