//! Differences between the source in the `v8` crate and the source that is built.
//!
//! Each is a named step that finds its place exactly once, so that a new version of the crate whose
//! source has changed there fails before anything is compiled.

use crate::error::{Error, Result};

/// A change of one file of the source.
pub struct SourceDifference {
    pub name: &'static str,
    pub file: &'static str,
    from: &'static str,
    to: &'static str,
    /// The flag of the compiler that the step removes. A compiler that knows it keeps it.
    pub flag: Option<&'static str>,
}

/// A file that the crate leaves out, or that is ours.
pub struct SourceAddition {
    pub file: &'static str,
    pub text: &'static str,
}

pub const DIFFERENCES: [SourceDifference; 4] = [
    SourceDifference {
        name: "a program that tests the library",
        file: "BUILD.gn",
        from: "static_library(\"rusty_v8\") {\n",
        to: "group(\"haft\") {\n  deps = [ \"//haft:self_test\" ]\n}\n\nstatic_library(\"rusty_v8\") {\n",
        flag: None,
    },
    SourceDifference {
        name: "no inlining chain in messages",
        file: "build/config/compiler/BUILD.gn",
        from: "      cflags += [ \"-fdiagnostics-show-inlining-chain\" ]\n",
        to: "",
        flag: Some("-fdiagnostics-show-inlining-chain"),
    },
    SourceDifference {
        name: "no flag for the lifetime of objects",
        file: "build/config/compiler/BUILD.gn",
        from: "      cflags += [ \"-fno-lifetime-dse\" ]\n",
        to: "",
        flag: Some("-fno-lifetime-dse"),
    },
    SourceDifference {
        name: "no traps of sanitizers in a release",
        file: "build/config/sanitizers/sanitizers.gni",
        from: "    if (_condition && !is_ubsan && is_clang) {\n",
        to: "    if (_condition && false && !is_ubsan && is_clang) {\n",
        flag: Some("-fsanitize-ignore-for-ubsan-feature=return"),
    },
];

pub const ADDITIONS: [SourceAddition; 3] = [
    SourceAddition {
        file: "v8/tools/cluster_files.py",
        text: include_str!("cluster_files.py"),
    },
    SourceAddition {
        file: "haft/BUILD.gn",
        text: include_str!("self_test.gn"),
    },
    SourceAddition {
        file: "haft/self_test.cc",
        text: include_str!("self_test.cc"),
    },
];

impl SourceDifference {
    /// Applies the step to the text of its file.
    ///
    /// # Errors
    /// If the place is missing or there several times.
    pub fn apply(&self, text: &str) -> Result<String> {
        match text.matches(self.from).count() {
            1 => Ok(text.replacen(self.from, self.to, 1)),
            count => Err(Error::Missing {
                what: format!(
                    "the step \"{}\" finds its place {count} times in `{}` of the `v8` crate",
                    self.name, self.file
                ),
                hint: "the source has changed: correct xtask/src/v8/source/differences.rs".into(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_changes_its_place_and_nothing_else() {
        let step = &DIFFERENCES[1];
        let text = format!("before\n{}after\n", step.from);
        assert_eq!(step.apply(&text).expect("applied"), "before\nafter\n");
    }

    #[test]
    fn a_step_whose_place_has_changed_fails_and_is_named() {
        for step in &DIFFERENCES {
            for text in [
                String::new(),
                step.from.repeat(2),
                step.from.replace(' ', ""),
            ] {
                let error = step.apply(&text).expect_err("changed").to_string();
                assert!(error.contains(step.name), "{error}");
                assert!(error.contains(step.file), "{error}");
            }
        }
    }
}
