//! Checks npm packages: every package in the lock file must come from the registry and have a hash.
//!
//! npm checks the hashes when it installs, but it would accept a package without one.

use std::path::Path;

use serde_json::Value;

use crate::error::{Error, Result};
use crate::files;

/// The only registry from which packages may come.
const REGISTRY: &str = "https://registry.npmjs.org/";

pub fn check(root: &Path) -> Result<()> {
    let problems = problems(&files::read_json(&root.join("package-lock.json"))?);
    if problems.is_empty() {
        Ok(())
    } else {
        Err(Error::Missing {
            what: format!("package-lock.json: {}", problems.join("; ")),
            hint: "install from the npm registry, and let npm write the lock file".into(),
        })
    }
}

fn problems(lock: &Value) -> Vec<String> {
    let Some(packages) = lock["packages"].as_object() else {
        return vec!["it names no packages".to_owned()];
    };
    let others = packages.iter().filter(|(path, _)| !path.is_empty());
    let problems = others.flat_map(|(path, package)| {
        let resolved = package["resolved"].as_str().unwrap_or_default();
        let integrity = package["integrity"].as_str().unwrap_or_default();
        // A lock file may omit the address. Then npm uses the registry, and the hash decides.
        let from = (!resolved.is_empty() && !resolved.starts_with(REGISTRY))
            .then(|| format!("`{path}` comes from `{resolved}` and not from the registry"));
        let hash = (!integrity.starts_with("sha512-"))
            .then(|| format!("`{path}` has no SHA-512 integrity"));
        from.into_iter().chain(hash)
    });
    problems.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn lock(package: Value) -> Value {
        json!({"packages": {"": {"name": "haft"}, "node_modules/zod": package}})
    }

    #[test]
    fn the_lock_file_of_the_checkout_is_fine() {
        check(&crate::workspace::root()).expect("it is fine");
    }

    #[test]
    fn what_has_no_hash_or_comes_from_elsewhere_is_named() {
        let good = json!({"resolved": "https://registry.npmjs.org/zod/-/zod-4.6.7.tgz", "integrity": "sha512-abc"});
        assert_eq!(problems(&lock(good.clone())), Vec::<String>::new());
        let mut weak = good.clone();
        weak["integrity"] = json!("sha1-abc");
        assert_eq!(
            problems(&lock(weak)),
            ["`node_modules/zod` has no SHA-512 integrity"]
        );
        let mut git = good;
        git["resolved"] = json!("git+ssh://git@github.com/a/zod.git");
        assert_eq!(
            problems(&lock(git)),
            [
                "`node_modules/zod` comes from `git+ssh://git@github.com/a/zod.git` and not from the registry"
            ]
        );
    }
}
