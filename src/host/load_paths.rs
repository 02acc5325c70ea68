//! Loads modules by name, before or without the search for all others.

use std::sync::Arc;
use std::time::SystemTime;

use super::load_state::{LoadedModule, group_of, key_of, stamps};
use super::{Host, SHUT_DOWN};
use crate::family;
use crate::registry::{Catalog, Entry};
use haft_tool::Problem;

/// Result of loading paths by name.
pub struct Loaded {
    /// The tools that can be called now.
    pub entries: Vec<Arc<Entry>>,
    /// The problems of the other paths. Each message is the loader's exact text.
    pub problems: Vec<Problem>,
}

impl Host {
    /// Loads modules by name and adds their tools to the catalog. It searches for nothing else.
    pub async fn load_paths(&self, paths: &[String]) -> Loaded {
        if self.inner.closing.is_cancelled() {
            let refused = |path: &String| Problem::error(SHUT_DOWN).at(path);
            return Loaded {
                entries: Vec::new(),
                problems: paths.iter().map(refused).collect(),
            };
        }
        let _no_refresh = self.inner.refreshing.lock().await;
        let mut loaded_so_far = self.inner.loaded.lock().await;
        let scan = haft_discover::given(&self.inner.config, paths);
        let mut builder = self.assembly(Catalog::clone(&loaded_so_far.catalog));
        let mut result = Loaded {
            entries: Vec::new(),
            problems: scan.problems,
        };
        let engine = if !loaded_so_far.known.base_is_stale {
            self.base()
        } else {
            self.base().new_generation()
        };
        let (since, candidates) = (SystemTime::now(), scan.candidates);
        let stamps = stamps(&candidates.iter().collect::<Vec<_>>());
        let config = self.config_for_rights();
        let means = self.means(&engine, &config);
        let loaded = family::load(&means, &self.inner.connections, &candidates).await;
        for ((candidate, loaded), stamp) in candidates.into_iter().zip(loaded).zip(stamps) {
            let (entries, problems) = builder.add(&candidate, loaded.clone());
            result.entries.extend(entries);
            result.problems.extend(problems);
            let known = &mut loaded_so_far.known;
            match group_of(&candidate, true) {
                Some(group) => known.others.entry(group).or_default().add(stamp, loaded),
                None => {
                    let module = LoadedModule::new(loaded, since, &engine, None);
                    known.modules.insert(key_of(&candidate), module);
                }
            }
            loaded_so_far.given.push(candidate);
        }
        loaded_so_far.catalog = Arc::new(self.without_rival(builder.finish()));
        let mut loaded_catalog = Catalog::clone(&loaded_so_far.loaded_catalog);
        loaded_catalog
            .entries
            .extend(result.entries.iter().cloned());
        self.swapped(&mut loaded_so_far, loaded_catalog);
        result
    }
}
