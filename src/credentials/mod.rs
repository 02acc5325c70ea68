//! Tokens that the user made for others, tokens of running servers, and random numbers for both.
//!
//! A token that the user made limits the tools that its bearer may see and call. Its stored form
//! does not suffice to use it. The surfaces determine which token a request has.

mod announcement;
mod capability;
mod secret;
mod store;

pub(crate) use announcement::{Announcement, Running, announce, running};
pub(crate) use capability::Capability;
pub(crate) use secret::{random, random_id, random_token};
pub(crate) use store::{NewToken, StoredTokens, TokenStore, id_of};
