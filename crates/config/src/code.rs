//! Limits of code mode: what one script may take.

use std::time::Duration;

use super::declare::{default_settings, settings, timeout, whole};

/// Smallest heap in which a script starts, in MiB.
const MIN_HEAP_MB: u64 = 16;
/// Largest heap, in MiB: what one isolate may have.
const MAX_HEAP_MB: u64 = 4096;

settings! {
    /// Limits of a script in code mode.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct CodeSettings {
        /// Maximum time of the script itself. Waits for tools and people do not count.
        pub own_time: Duration = "30s" => timeout, env "HAFT_CODE_OWN_TIME";
        /// Maximum number of calls.
        pub calls: u32 = "256" => whole(1..=100_000, " of calls"), env "HAFT_CODE_CALLS";
        /// Maximum number of calls that run at once; others wait.
        pub calls_at_once: u32 = "32" => whole(1..=1_000, " of calls"),
            env "HAFT_CODE_CALLS_AT_ONCE";
        /// Maximum memory in MiB.
        pub heap_mb: u32 = "128" => whole(MIN_HEAP_MB..=MAX_HEAP_MB, " of MiB"),
            env "HAFT_CODE_HEAP_MB";
        /// Maximum length of the result in tokens, counted as four bytes each; more goes to a file.
        pub output_tokens: u32 = "10000" => whole(100..=1_000_000, " of tokens"),
            env "HAFT_CODE_OUTPUT_TOKENS";
    }
}
default_settings!(CodeSettings);
