//! The name of a session that nobody has named.

use sys_traits::SystemRandom;
use sys_traits::impls::RealSys;

/// A random UUID.
pub fn new_session_id() -> String {
    let mut bytes = [0; 16];
    // Without randomness the id is no secret; it need not be one.
    let _ = RealSys.sys_random(&mut bytes);
    let [.., version, _, variant, _, _, _, _, _, _, _] = &mut bytes;
    *version = (*version & 0x0f) | 0x40;
    *variant = (*variant & 0x3f) | 0x80;
    let number = u128::from_be_bytes(bytes);
    let hex = format!("{number:032x}");
    let parts = [
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..],
    ];
    parts.join("-")
}
