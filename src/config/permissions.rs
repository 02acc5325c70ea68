//! What tools may touch, as the permissions of the runtime that runs them.
//!
//! Only data: the engine turns a profile into its own permission objects, and modules
//! with equal profiles share an isolate, hence `Eq` and `Hash`.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, SeqAccess, Visitor};

/// What tools may touch; one entry for each kind of access.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct PermissionProfile {
    /// Paths that may be read.
    pub read: Permission,
    /// Paths that may be written.
    pub write: Permission,
    /// Hosts (`name` or `name:port`) that may be connected to.
    pub net: Permission,
    /// Environment variables that may be seen.
    pub env: Permission,
    /// Programs that may be started.
    pub run: Permission,
    /// Facts about the system (`hostname`, `osRelease`, …) that may be asked.
    pub sys: Permission,
    /// Native libraries that may be opened.
    pub ffi: Permission,
    /// Hosts that modules may be imported from.
    pub import: Permission,
}

/// How much of one kind of access is granted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Permission {
    /// Everything. The default: tools written for oh-my-pi expect the rights of their user.
    #[default]
    All,
    /// Nothing.
    None,
    /// What the list names.
    List(Vec<String>),
}

impl<'de> Deserialize<'de> for Permission {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Permission;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`all`, `none` or a list of names")
            }

            fn visit_bool<E: de::Error>(self, all: bool) -> Result<Permission, E> {
                Ok(if all {
                    Permission::All
                } else {
                    Permission::None
                })
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Permission, E> {
                match text {
                    "all" | "true" => Ok(Permission::All),
                    "none" | "false" => Ok(Permission::None),
                    _ => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
                }
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Permission, A::Error> {
                let mut names = Vec::new();
                while let Some(name) = list.next_element()? {
                    names.push(name);
                }
                // An empty list grants nothing, and equal grants must be equal values.
                Ok(if names.is_empty() {
                    Permission::None
                } else {
                    Permission::List(names)
                })
            }
        }
        deserializer.deserialize_any(Reader)
    }
}
