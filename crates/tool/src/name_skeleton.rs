//! Skeleton of a name: what people and models see of it.
//!
//! Two names with the same skeleton look alike, so only one of them may be the name of a tool. The
//! table is that of Unicode Technical Standard 39.

use unicode_normalization::UnicodeNormalization;
use unicode_security::confusable_detection::skeleton;

use crate::visible;

/// Returns the skeleton of `name`: compatible forms of letters become the usual ones, invisible
/// characters disappear, and letters that look alike become the same.
pub fn name_skeleton(name: &str) -> String {
    let visible = name.nfkc().filter(|c| !visible::is_harmful(*c));
    let visible: String = visible.collect();
    skeleton(visible.trim()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_look_alike_have_one_skeleton() {
        let alike = [
            // Cyrillic, Greek, mathematical and fullwidth letters, digits, and nothing visible.
            ("bash", "b\u{430}sh"),
            ("run_code", "run_c\u{3bf}de"),
            ("run_code", "\u{1d42b}un_code"),
            ("run_code", "\u{ff52}\u{ff55}\u{ff4e}_code"),
            ("git_log", "git_1og"),
            ("search_tools", "search\u{200b}_tools"),
            ("search_tools", "search_tools\u{3000}"),
            ("grep", "\u{202e}grep"),
            ("modern", "rnodern"),
        ];
        for (name, other) in alike {
            assert_eq!(name_skeleton(name), name_skeleton(other), "{name} {other}");
        }
    }

    #[test]
    fn other_names_have_others() {
        let names = [
            "run_code",
            "run-code",
            "Run_Code",
            "runcode",
            "run_codes",
            "größe",
            "gr\u{f6}sse",
        ];
        let mut skeletons: Vec<String> = names.iter().map(|name| name_skeleton(name)).collect();
        skeletons.sort();
        skeletons.dedup();
        assert_eq!(skeletons.len(), names.len());
    }
}
