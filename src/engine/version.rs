//! What runs the modules, for people who compare machines.

/// For example `V8 15.0.245.2`.
pub fn version() -> String {
    format!("V8 {}", deno_core::v8::VERSION_STRING)
}
