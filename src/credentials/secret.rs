//! Random numbers from the system, as bytes and as text.

/// Returns bytes that cannot be guessed.
pub(crate) fn random<const LENGTH: usize>() -> [u8; LENGTH] {
    let mut bytes = [0; LENGTH];
    // The system's own source. aws-lc takes 50 ms for its first bytes, at each start of a server.
    let filled = getrandom::fill(&mut bytes);
    filled.expect("the system has random bytes, or nothing that is secret works");
    bytes
}

/// Returns bytes as lower-case hexadecimal text.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns an id of 128 random bits, which cannot be guessed.
pub(crate) fn random_id() -> String {
    hex(&random::<16>())
}

/// Returns a token of 256 random bits.
pub(crate) fn random_token() -> String {
    hex(&random::<32>())
}
