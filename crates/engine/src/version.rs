//! Version of the JavaScript engine, for users who compare machines.

/// Returns for example `V8 15.0.245.2`.
pub fn version() -> String {
    format!("V8 {}", deno_core::v8::VERSION_STRING)
}
