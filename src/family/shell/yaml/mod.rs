//! YAML as a tree in which every node knows its place.
//!
//! Not `serde`: a file must show all its problems at once, a scalar must keep its own text (`0755`,
//! `1.0`, `no`), and an unknown key must not make a tool invalid. This module does not depend on
//! tools.

mod build;
mod node;
mod repair;

pub(super) use build::{Broken, parse};
pub(super) use node::{Entry, Node, Scalar, Value};
pub(super) use repair::repair;
