//! `haft mcp login` and `logout`.

use super::connect::{connect, find, page};
use crate::surface::cli::context::CommandContext;
use crate::surface::cli::exit::{Failure, SUCCESS};
use crate::surface::cli::open;
use crate::surface::terminal::say;
use haft_mcp::TokenPlace;
use haft_tool::{Error, ErrorKind, terminal_text};

/// Log in to an MCP server in the browser
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  haft mcp login github
  haft mcp login intranet --client-id haft-cli   a client that was registered by hand

The tokens are in the system's keyring, or in a file that only you can read, and go to this server
only.")]
pub(super) struct Login {
    /// Name of the server
    name: String,

    /// Id of the client, for a server that registers none by itself
    #[arg(long, value_name = "ID")]
    client_id: Option<String>,

    /// Print the address of the page, and do not open it
    #[arg(long)]
    no_browser: bool,
}

/// Forget the login to an MCP server
#[derive(clap::Args)]
pub(super) struct Logout {
    /// Name of the server
    name: String,
}

impl Login {
    pub(super) async fn run(&self, session: &mut CommandContext<'_>) -> Result<u8, Failure> {
        let server = find(session, &self.name).await?;
        let browser = session.host.config().browser.clone();
        let browser = browser.filter(|_| !self.no_browser);
        let open = |page: &url::Url| {
            say(&terminal_text!("Log in on this page:\n{page}\n"));
            if let Some(words) = browser.clone() {
                let page = page.to_string();
                // The page is printed, too, so it does not matter whether that works.
                tokio::spawn(async move { open::show(&words, &page).await });
            }
        };
        let logged_in = server.log_in(self.client_id.clone(), &open);
        let logged_in = tokio::select! {
            logged_in = logged_in => logged_in,
            () = session.signals.next() => Err("it was cancelled".to_owned()),
        };
        let place = logged_in.map_err(|why| {
            let text = format!("no login to `{}`: {why}", self.name);
            Error::new(ErrorKind::Denied, text)
        })?;
        let place = match place {
            TokenPlace::Keyring => "the system's keyring",
            TokenPlace::File => "a file that only you can read",
        };
        let name = &self.name;
        session.out.print_line(&terminal_text!(
            "logged in to `{name}`; its tokens are in {place}"
        ))?;
        session.out.flush()?;
        let found = connect(&server).await;
        match &found.result {
            Ok(()) => session.out.print(&page(&found))?,
            Err(why) => say(&terminal_text!("{}: {why}\n", self.name)),
        }
        Ok(SUCCESS)
    }
}

impl Logout {
    pub(super) async fn run(&self, session: &mut CommandContext<'_>) -> Result<u8, Failure> {
        let server = find(session, &self.name).await?;
        let was_there = server.log_out().await.map_err(|error| {
            let text = format!("the login cannot be removed: {error}");
            Error::new(ErrorKind::Internal, text)
        })?;
        let text = if was_there {
            "logged out of"
        } else {
            "there is no login to"
        };
        session
            .out
            .print_line(&terminal_text!("{text} `{}`", self.name))?;
        Ok(SUCCESS)
    }
}
