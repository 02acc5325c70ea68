//! Output of `build.rs`: the V8 snapshot, the sources beside it, the tables of host packages.

include!(concat!(env!("OUT_DIR"), "/generated.rs"));

/// Snapshot of Deno's runtime, our runtime and zod.
pub static SNAPSHOT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/snapshot.bin"));
