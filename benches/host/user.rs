//! The host of a user who has a home directory and nothing else, and calls of its tools.

use std::path::Path;

use haft::config::Env;
use haft::{Call, Config, Flags, Host};
use serde_json::value::RawValue;

/// A host that was started in `cwd`.
pub fn host(home: &Path, cwd: &Path, flags: Flags) -> Host {
    let env = Env {
        home: Some(home.to_owned()),
        current_dir: Some(cwd.to_owned()),
        ..Env::default()
    };
    Host::new(Config::resolve_with(flags, &env).expect("a configuration"))
}

/// A host that was started in the current directory, whose tools are those of `module`.
pub fn host_of(module: &str, flags: Flags) -> Host {
    let here = std::env::current_dir().expect("there is a current directory");
    let flags = Flags {
        tools: vec![module.to_owned()],
        ..flags
    };
    host(&here.join("home"), &here, flags)
}

pub fn call(number: usize, tool: &str, arguments: &RawValue) -> Call {
    Call {
        id: format!("call-{number}"),
        tool: tool.to_owned(),
        arguments: arguments.to_owned(),
    }
}

pub fn json(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).expect("it is JSON")
}
