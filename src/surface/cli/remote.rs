//! Trust in what other hosts offer (`haft trust remote:NAME`).

use super::context::CommandContext;
use super::exit::{Failure, SUCCESS};
use super::mcp;
use super::trust_question::agreed;
use haft_tool::{Error, ErrorKind, terminal_text};

/// Shows what the hosts offer that is not trusted, asks, and trusts it.
pub(super) async fn trust_hosts(
    name: &str,
    is_agreed: bool,
    session: &mut CommandContext<'_>,
) -> Result<u8, Failure> {
    let hosts = session.host.remote_hosts(name)?;
    if let Err(failure) = hosts.list().await {
        let text = format!("the remote `{name}` cannot be reached: {}", failure.message);
        return Err(Error::new(ErrorKind::Unavailable, text).into());
    }
    let changes = mcp::changes_page(&hosts.changes());
    if changes.is_empty() {
        // What they offer at first is trusted.
        hosts.trust().map_err(|error| not_stored(&error))?;
        session
            .out
            .print_line(&terminal_text!("trusted: the tools of `{name}`"))?;
        return Ok(SUCCESS);
    }
    session.out.print_line(&terminal_text!("{name}"))?;
    session.out.print(&changes)?;
    session.out.flush()?;
    if !is_agreed {
        let question = "Models see these descriptions, and calls run on these hosts. Trust them? \
                        [y/N] ";
        agreed(name, &format!("remote:{name}"), question).await?;
    }
    hosts.trust().map_err(|error| not_stored(&error))?;
    session
        .out
        .print_line(&terminal_text!("trusted: the tools of `{name}`"))?;
    Ok(SUCCESS)
}

fn not_stored(error: &std::io::Error) -> Error {
    let text = format!("cannot store the trust: {error}");
    Error::new(ErrorKind::Internal, text)
}
