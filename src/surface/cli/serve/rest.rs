//! `haft serve rest`: serves only the REST interface.

use axum::Router;

use super::How;
use super::web;
use crate::surface::cli::exit::Failure;
use crate::surface::cli::flags::Globals;
use crate::surface::rpc::Descriptor;
use crate::surface::{page, rest};
use haft_tool::CallerScope;

/// Serve the tools over REST, with events and an OpenAPI description
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  haft serve rest
  curl --oauth2-bearer \"$(haft open --token)\" http://127.0.0.1:4238/api/tools
  curl --oauth2-bearer \"$(haft open --token)\" http://127.0.0.1:4238/api/tools/greet/call \\
    -H 'Content-Type: application/json' -d '{\"arguments\": {\"name\": \"Ada\"}}'")]
pub(super) struct Args {
    #[command(flatten)]
    how: How,
}

impl Args {
    /// Serves REST. `earlier` has the flags that were typed before `rest`, `program` is
    /// the descriptor of a program that is served too.
    pub(super) async fn run(
        &self,
        globals: &Globals,
        earlier: &How,
        program: Option<Descriptor>,
    ) -> Result<u8, Failure> {
        let how = earlier.followed_by(&self.how);
        let flags = how.over(globals.flags())?;
        let surface = ("rest", CallerScope::user());
        web::run(globals, flags, how.inspect, surface, program, with_page).await
    }
}

/// Returns a router for REST, sessions and the web page.
fn with_page(web: &web::Web) -> Router {
    router(
        web,
        rest::rest(&web.host, &web.stop, web.sharing.clone()).router,
    )
}

/// Returns a router for the routes of REST, sessions and the web page. The page itself needs no token;
/// it prompts for one.
pub(super) fn router(web: &web::Web, api: Router) -> Router {
    let sessions = rest::sessions_router(&web.sessions, &web.stop);
    web.for_clients(api.merge(sessions)).merge(page::router())
}
