//! Cache of V8's bytecode for the scripts that `require` runs, kept for the next process.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use deno_core::SourceCodeCacheInfo;
use deno_core::url::Url;
use deno_error::JsErrorBox;

use super::transpile_cache::{Compiled, Key, Kind, LEAST};

/// Returns the bytecode of a script at a URL, or the number under which it is awaited.
type Find = Box<dyn Fn(&Url, &[u16]) -> Result<SourceCodeCacheInfo, JsErrorBox>>;

/// Takes the URL of a script, the number under which its bytecode is awaited, and the bytecode.
type Keep = Box<dyn Fn(Url, u64, &[u8])>;

/// Returns two callbacks: one finds the bytecode of a script, the other stores it when V8 has made
/// it.
pub(super) fn of_scripts(store: Arc<Compiled>) -> (Find, Keep) {
    let awaited: Rc<RefCell<HashMap<u64, Key>>> = Rc::default();
    let (kept, made) = (store.clone(), awaited.clone());
    let find = move |url: &Url, source: &[u16]| {
        if source.len() < LEAST {
            // V8 then compiles the script as usual and does not call `keep`.
            return Err(JsErrorBox::generic("it is too short"));
        }
        let key = Key::of(Kind::Bytecode, &[url.as_str().as_bytes(), &bytes(source)]);
        let (hash, data) = (key.number(), store.find(&key).map(Cow::Owned));
        awaited.borrow_mut().insert(hash, key);
        Ok(SourceCodeCacheInfo { hash, data })
    };
    let keep = move |_: Url, hash: u64, bytecode: &[u8]| {
        if let Some(key) = made.borrow_mut().remove(&hash) {
            kept.keep(&key, bytecode);
        }
    };
    (Box::new(find), Box::new(keep))
}

fn bytes(source: &[u16]) -> Vec<u8> {
    source.iter().flat_map(|unit| unit.to_le_bytes()).collect()
}
