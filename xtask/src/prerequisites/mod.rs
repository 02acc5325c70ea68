//! Prerequisites of a build of haft, checked in the order of their price.
//!
//! A missing prerequisite is installed if this program may do that (a package as root, node
//! modules, the V8 archive). Otherwise the task stops with one sentence and the one command that
//! helps.

mod chromium;
mod judges;
mod libclang;
mod mcp_servers;
mod nats_server;
mod node;
mod node_modules;

use crate::command;
use crate::error::Result;
use crate::machine::Machine;
use crate::{packages, v8, workspace};

/// Ensures everything that a build of haft needs.
pub fn for_a_build() -> Result<()> {
    let machine = Machine::look();
    node::ensure()?;
    c_toolchain(&machine)?;
    libclang::ensure(&machine)?;
    v8::ensure()?;
    node_modules::ensure(&workspace::root())
}

/// Ensures what bundles the JavaScript alone.
pub fn for_a_bundle() -> Result<()> {
    node::ensure()?;
    node_modules::ensure(&workspace::root())
}

/// Ensures what shows the page in a browser.
pub fn for_the_page() -> Result<()> {
    for_a_bundle()?;
    chromium::ensure(&Machine::look())
}

/// Ensures the additional prerequisites of the tests.
pub fn for_the_tests() -> Result<()> {
    for_a_build()?;
    chromium::ensure(&Machine::look())?;
    packages::ensure_programs("to test the proxy of sandboxes", &[("curl", "curl")])?;
    let keyring = [
        ("dbus-daemon", "dbus-daemon"),
        ("gnome-keyring-daemon", "gnome-keyring"),
    ];
    packages::ensure_programs("to test logins", &keyring)?;
    judges::ensure(&workspace::root())?;
    mcp_servers::ensure(&workspace::root())?;
    nats_server::ensure(&workspace::root())
}

/// Ensures the compiler and `make`, with which some crates build their C sources.
fn c_toolchain(machine: &Machine) -> Result<()> {
    let here = |names: &[&str]| names.iter().any(|name| command::on_path(name).is_some());
    let compiler = std::env::var_os("CC").is_some() || here(&["cc", "gcc", "clang"]);
    if compiler && here(&["make", "gmake"]) {
        return Ok(());
    }
    let why = "for the crates that build C code of their own";
    packages::ensure(why, &["build-essential".into()], machine)
}
