//! YAML as a tree in which every node knows its place.
//!
//! No ready-made YAML deserializer: a file must show all its problems at once, a scalar must keep
//! its own text (`0755`, `1.0`, `no`), and an unknown key must not make a tool invalid.

mod build;
mod de;
mod node;
mod repair;

pub(super) use build::{Broken, parse};
pub(super) use de::from_node;
pub(super) use node::{Entry, Node, Scalar, Value};
pub(super) use repair::repair;
