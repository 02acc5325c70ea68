//! Renames a tool in its file's text and changes nothing else.

use std::path::Path;

use super::opened::open;

/// Returns the text with the new name; `None` if its `name:` cannot be replaced in place.
pub(crate) fn renamed(path: &Path, text: &str, name: &str) -> Option<String> {
    let tree = open(path, text.to_owned()).tree?;
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    let line = format!("name: {name}\n");
    let place = |line: u32| usize::try_from(line).ok()?.checked_sub(1);
    match tree.entries().iter().find(|entry| entry.key == "name") {
        Some(entry) => {
            let at = place(entry.place.line)?;
            *lines.get_mut(at)? = line;
        }
        None => {
            let first = tree.entries().first()?;
            lines.insert(place(first.place.line)?, line);
        }
    }
    let text = lines.concat();
    // The replacement fails for a name over several lines and for a file in braces: check the
    // result.
    let after = open(path, text.clone());
    let is_same = after.name == name
        && after.tree.is_some_and(|after| {
            let others = |node: &super::super::yaml::Node| -> Vec<_> {
                let entries = node.entries().iter().filter(|entry| entry.key != "name");
                entries
                    .map(|entry| (entry.key.clone(), entry.value.to_datum()))
                    .collect()
            };
            others(&after) == others(&tree)
        });
    is_same.then_some(text)
}
