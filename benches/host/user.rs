//! The host of a user who has a home directory and nothing else.

use std::path::Path;

use haft::config::Env;
use haft::{Config, Flags, Host};

/// A host that was started in `cwd`.
pub fn host(home: &Path, cwd: &Path, flags: Flags) -> Host {
    let env = Env {
        home: Some(home.to_owned()),
        current_dir: Some(cwd.to_owned()),
        ..Env::default()
    };
    Host::new(Config::resolve_with(flags, &env).expect("a configuration"))
}
