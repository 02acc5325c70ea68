//! What a file name says: a tool module, or why it is none.
//!
//! Only names are judged here; nothing is opened. The reasons end with the way out,
//! because `haft doctor` prints them as they are.

/// Extensions that oh-my-pi discovers by itself. They come first, so that ours never
/// change what its users are used to.
const COMMON: &[&str] = &["ts", "js"];

/// Extensions that only haft discovers.
const MORE: &[&str] = &["mjs", "cjs", "mts", "cts", "tsx"];

/// The module of a folder, in the order of preference.
pub(super) const INDEXES: &[&str] = &[
    "index.ts",
    "index.js",
    "index.mjs",
    "index.cjs",
    "index.mts",
    "index.cts",
    "index.tsx",
];

/// What oh-my-pi takes as the module of a folder that a plugin manifest names.
pub(super) const MANIFEST_INDEXES: &[&str] = &["index.ts", "index.js", "index.mjs", "index.cjs"];

/// What the names of tests end with, before the extension.
const TEST: &str = ".tool-test";

/// What a file name says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Name<'a> {
    /// A module; `key` is its name without the extension.
    Module { key: &'a str, rank: Rank },
    /// No module, for this reason.
    Foreign(&'static str),
    /// Starts with a dot and is no module: not worth a word.
    Hidden,
}

/// Which modules of a folder come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    Common,
    More,
}

pub(super) fn judge(name: &str) -> Name<'_> {
    let Some((key, extension)) = name.rsplit_once('.') else {
        return Name::Foreign(
            "no tool module: modules end in .ts, .js, .mjs, .cjs, .mts, .cts or .tsx",
        );
    };
    let is_module = COMMON.contains(&extension) || MORE.contains(&extension);
    if name.starts_with('.') {
        return match is_module && !key.is_empty() {
            true => Name::Foreign("hidden file: remove the leading dot to load it"),
            false => Name::Hidden,
        };
    }
    if key.ends_with(TEST) && (is_module || extension == "json") {
        return Name::Foreign("the tests of a tool: `haft test` runs them");
    }
    if is_module {
        if key.ends_with(".d") && extension.ends_with("ts") {
            return Name::Foreign("type declarations hold no code; the module beside them counts");
        }
        let rank = if COMMON.contains(&extension) {
            Rank::Common
        } else {
            Rank::More
        };
        return Name::Module { key, rank };
    }
    Name::Foreign(match extension {
        "md" | "json" => {
            "declarative tool file (.md, .json): it cannot be loaded as an executable module; \
             write the tool as a .ts module"
        }
        "sh" | "bash" | "py" => {
            "a script is no tool module: call it from a .ts module, for example with pi.exec"
        }
        "jsx" => "not a module extension here: rename it to .tsx",
        _ if is_module_in_capitals(extension) => {
            "extensions are case-sensitive: write it in lower case"
        }
        _ => "no tool module: modules end in .ts, .js, .mjs, .cjs, .mts, .cts or .tsx",
    })
}

fn is_module_in_capitals(extension: &str) -> bool {
    let mut known = COMMON.iter().chain(MORE);
    known.any(|known| extension.eq_ignore_ascii_case(known))
}
