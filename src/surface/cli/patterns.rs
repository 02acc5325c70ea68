//! `--auto-approve tool:read tool:weather`: values that follow their option as words.
//!
//! `--auto-approve` alone means every tool, and a command's own words may follow it. So only what
//! can be nothing else than a pattern is taken for its value, and is joined to it before the
//! command line is read (spec cycod 119, 372, 373).

use std::ffi::OsString;

const OPTIONS: [&str; 2] = ["--auto-approve", "--auto-deny"];

/// The same words, with each pattern behind its own option: `--auto-approve=tool:read`.
pub(super) fn joined(args: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut joined: Vec<OsString> = Vec::new();
    let mut open = None;
    let mut args = args.into_iter();
    for arg in args.by_ref() {
        if arg == "--" {
            joined.push(arg);
            break;
        }
        let option = OPTIONS.into_iter().find(|option| arg == *option);
        match (option, open) {
            (Some(option), _) => {
                open = Some(Open {
                    option,
                    has_value: false,
                })
            }
            (None, Some(Open { option, has_value })) if is_pattern(&arg) => {
                if !has_value {
                    joined.pop();
                }
                open = Some(Open {
                    option,
                    has_value: true,
                });
                let mut own = OsString::from(option);
                own.push("=");
                own.push(arg);
                joined.push(own);
                continue;
            }
            (None, _) => open = None,
        }
        joined.push(arg);
    }
    joined.extend(args);
    joined
}

/// An option that more values may follow.
#[derive(Clone, Copy)]
struct Open {
    option: &'static str,
    has_value: bool,
}

fn is_pattern(arg: &OsString) -> bool {
    let text = arg.to_string_lossy();
    text.starts_with("tool:") || text == "*" || text == "all"
}
