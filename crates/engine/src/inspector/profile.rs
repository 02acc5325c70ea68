//! CPU profiles of an isolate, by V8's profiler.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use deno_core::sourcemap::SourceMap;
use deno_core::{InspectorSessionKind, JsRuntimeInspector, LocalInspectorSession};
use serde_json::{Value, json};

/// Interval of the samples in microseconds. V8's own is a millisecond, longer than most calls.
const SAMPLING_INTERVAL: u32 = 100;

/// Number of the request that stops the profiler.
const STOP: i32 = 4;

/// Returns the source map of a file by the name that V8 knows the file by.
pub(crate) type SourceMaps<'a> = &'a dyn Fn(&str) -> Option<Vec<u8>>;

/// A profiler that runs. V8 samples the thread of the isolate until it is stopped.
pub(crate) struct Profiler {
    session: LocalInspectorSession,
    /// The answer to the request that stops it.
    stopped: Rc<RefCell<Option<Value>>>,
}

impl Profiler {
    /// Starts to profile the isolate of this thread.
    pub(crate) fn start(inspector: Rc<JsRuntimeInspector>) -> Profiler {
        let stopped = Rc::<RefCell<Option<Value>>>::default();
        let answer = stopped.clone();
        let listen = move |message: deno_core::InspectorMsg| {
            if let Ok(mut message) = serde_json::from_str::<Value>(&message.content)
                && message["id"] == STOP
            {
                *answer.borrow_mut() = Some(message["result"]["profile"].take());
            }
        };
        let mut session = JsRuntimeInspector::create_local_session(
            inspector,
            Box::new(listen),
            InspectorSessionKind::NonBlocking {
                wait_for_disconnect: false,
            },
        );
        session.post_message::<()>(1, "Profiler.enable", None);
        let interval = json!({ "interval": SAMPLING_INTERVAL });
        session.post_message(2, "Profiler.setSamplingInterval", Some(interval));
        session.post_message::<()>(3, "Profiler.start", None);
        Profiler { session, stopped }
    }

    /// Stops, and returns the profile as JSON, with the places of the tools' own sources.
    pub(crate) fn stop(mut self, maps: SourceMaps<'_>) -> Result<String, String> {
        self.session.post_message::<()>(STOP, "Profiler.stop", None);
        let stopped = self.stopped.borrow_mut().take();
        let mut profile = stopped.ok_or("V8 has not finished the profile")?;
        place_in_sources(&mut profile, maps);
        Ok(profile.to_string())
    }
}

/// Replaces the places of compiled code with those of its source.
fn place_in_sources(profile: &mut Value, maps: SourceMaps<'_>) {
    let mut known: HashMap<String, Option<Places>> = HashMap::new();
    let nodes = profile["nodes"].as_array_mut();
    for node in nodes.into_iter().flatten() {
        let url = node["callFrame"]["url"].as_str().unwrap_or_default();
        let places = known
            .entry(url.to_owned())
            .or_insert_with_key(|url| Places::of(&maps(url)?));
        if let Some(places) = places {
            places.apply(node);
        }
    }
}

/// The places of one file that was compiled.
struct Places {
    map: SourceMap,
    /// The first source line of each compiled line.
    lines: HashMap<u32, u32>,
}

impl Places {
    fn of(map: &[u8]) -> Option<Places> {
        let map = SourceMap::from_slice(map).ok()?;
        let mut lines = HashMap::new();
        for token in map.tokens() {
            lines
                .entry(token.get_dst_line())
                .or_insert_with(|| token.get_src_line());
        }
        Some(Places { map, lines })
    }

    fn apply(&self, node: &mut Value) {
        let number = |value: &Value| value.as_u64().and_then(|number| u32::try_from(number).ok());
        let frame = &mut node["callFrame"];
        if let (Some(line), Some(column)) =
            (number(&frame["lineNumber"]), number(&frame["columnNumber"]))
            && let Some(token) = self.map.lookup_token(line, column)
        {
            frame["lineNumber"] = token.get_src_line().into();
            frame["columnNumber"] = token.get_src_col().into();
        }
        // Their lines begin with 1, and several may have the same source line.
        let mut ticks: BTreeMap<u32, u64> = BTreeMap::new();
        for tick in node["positionTicks"].as_array().into_iter().flatten() {
            if let Some(line) = number(&tick["line"]) {
                let line = line.saturating_sub(1);
                let line = self.lines.get(&line).copied().unwrap_or(line);
                *ticks.entry(line + 1).or_default() += tick["ticks"].as_u64().unwrap_or_default();
            }
        }
        if !ticks.is_empty() {
            let ticks = ticks.into_iter();
            node["positionTicks"] = ticks
                .map(|(line, ticks)| json!({ "line": line, "ticks": ticks }))
                .collect();
        }
    }
}
