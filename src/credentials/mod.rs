//! Tokens: those that the user made for others, those of servers that run, and random numbers for them.
//!
//! A token that the user made says which tools its bearer may see and call. What is stored of it does
//! not suffice to use it. Which request has which token is for the surfaces.

mod announcement;
mod capability;
mod secret;
mod store;

pub(crate) use announcement::{Announcement, Running, announce, private_folder, running};
pub(crate) use capability::{Capability, ToolNames};
pub(crate) use secret::{random, random_id, random_token};
pub(crate) use store::{NewToken, TokenStore, id_of};
