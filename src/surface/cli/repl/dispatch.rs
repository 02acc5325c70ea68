//! Dispatcher of the repl's lines.

use super::commands::{self, Does};
use super::line::Line;
use super::state::Shell;
use super::{help, history, session};
use crate::surface::cli::call_session::folder;
use crate::surface::cli::exit::Failure;
use crate::surface::cli::{list, show, watch};
use haft_tool::{Error, ErrorKind, TerminalText, terminal_text};
use haft_tool::{SessionEvent, suggest};

/// Number of lines that `/history` shows.
const LINES: usize = 20;

/// Next step of the repl after a line.
pub(super) enum Next {
    Line,
    Leave,
}

impl Shell<'_, '_> {
    /// Runs `line`, and reports its errors.
    pub(super) async fn obey(&mut self, line: &str) -> Result<Next, Failure> {
        self.session.signals.forget();
        let done = match Line::read(line) {
            Line::Empty => Ok(Next::Line),
            Line::Command { name, words, rest } => self.command(name, &words, rest).await,
            Line::Call { tool, arguments } => {
                let called = self.call(tool, arguments).await;
                called.map(|()| Next::Line)
            }
        };
        Ok(self.settle(done)?.unwrap_or(Next::Line))
    }

    async fn command(&mut self, name: &str, words: &[String], rest: &str) -> Result<Next, Failure> {
        match commands::get(name)?.does {
            Does::Run => self.run_code(rest).await?,
            Does::Quit => return Ok(Next::Leave),
            Does::Help => {
                let page = help::page(words, self.session.out.ink())?;
                self.print(&page)?;
            }
            Does::History => self.history(words)?,
            Does::List => self.list(&words.join(" ")).await?,
            Does::Show => self.show(words).await?,
            Does::Problems => {
                let catalog = self.session.catalog().await?;
                let page = list::problems(&catalog, self.session);
                let page = page.part(|page| page.trim_start_matches('\n'));
                self.print(&if page.is_empty() {
                    "nothing is wrong\n".into()
                } else {
                    page
                })?;
            }
            Does::Refresh => {
                self.ready().await?;
                let page = match self.refresh().await? {
                    Some(reload) => watch::page(&reload, self.session, self.session.out.ink()),
                    None => "nothing is different\n".into(),
                };
                self.print(&page)?;
            }
            Does::Approve => {
                self.ready().await?;
                let catalog = self.session.catalog().await?;
                self.approving.change(words, &catalog)?;
                self.go_by_rules();
                let page = self.approving.page();
                self.print(&page)?;
            }
            Does::Session => self.of_session(words).await?,
        }
        Ok(Next::Line)
    }

    async fn list(&mut self, filter: &str) -> Result<(), Failure> {
        self.ready().await?;
        let catalog = self.session.catalog().await?;
        let wanted = filter.to_lowercase();
        let has = |text: &str| text.to_lowercase().contains(&wanted);
        let tools: Vec<_> = catalog
            .tools()
            .filter(|tool| has(&tool.name) || has(&tool.description))
            .collect();
        let page = match tools.is_empty() {
            true if filter.is_empty() => "no tools found\n".into(),
            true => terminal_text!("no tool has `{filter}` in it\n"),
            false => list::tools(tools.into_iter(), self.session),
        };
        self.print(&page)
    }

    async fn show(&mut self, words: &[String]) -> Result<(), Failure> {
        self.ready().await?;
        let Some(name) = words.first() else {
            return self.list("").await;
        };
        let entry = self.session.tool(name).await?;
        let pin = show::pin(&entry, self.session).await?;
        let page = show::page(&entry, pin.as_ref(), self.session);
        self.print(&page)
    }

    async fn of_session(&mut self, words: &[String]) -> Result<(), Failure> {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let event = {
            let (config, ink) = (self.session.host.config(), self.session.err);
            match words.as_slice() {
                [] => {
                    let width = self.session.out.width();
                    let ink = self.session.out.ink();
                    let page = self.conversation.page(self.session.home(), width, ink);
                    return self.print(&page);
                }
                ["list"] => {
                    let names = session::names(&folder(config));
                    let names = names.iter().map(|name| terminal_text!("{name}\n"));
                    let page: TerminalText = names.collect();
                    return self.print(&page);
                }
                ["switch", to] => self.conversation.switch(to, config, ink)?,
                ["new"] => self.conversation.begin(None, config, ink)?,
                ["new", name] => self.conversation.begin(Some(name), config, ink)?,
                ["branch", entry] => self.conversation.branch(entry)?,
                [what, ..] => return Err(wrong_use(what).into()),
            }
        };
        self.ready().await?;
        self.change_session(event).await
    }

    async fn change_session(&mut self, event: SessionEvent) -> Result<(), Failure> {
        self.conversation.kept.attach(&self.session.host);
        self.remember();
        self.emit(event).await?;
        let width = self.session.out.width();
        let ink = self.session.out.ink();
        let page = self.conversation.page(self.session.home(), width, ink);
        self.print(&page)
    }

    fn history(&mut self, words: &[String]) -> Result<(), Failure> {
        let count = match words.first() {
            None => LINES,
            Some(word) => word.parse().map_err(|_| {
                let text = format!("`{word}` is not a number of lines");
                Error::new(ErrorKind::Usage, text).with_hint("as in `/history 50`")
            })?,
        };
        let file = history::file(self.session.host.config())?;
        let lines = history::newest(&file, count).into_iter();
        let page: TerminalText = lines
            .map(|(number, line)| {
                let line = TerminalText::from_message(&line).replacing("\n", "\n       ");
                terminal_text!("{number:>5}  {line}\n")
            })
            .collect();
        self.print(&page)
    }
}

fn wrong_use(what: &str) -> Error {
    let known = commands::OF_SESSION.iter().map(|(name, _)| *name);
    let is_known = known.clone().any(|name| name == what);
    let text = if is_known {
        format!("`/session {what}` wants one word behind it")
    } else {
        format!("`/session {what}` means nothing")
    };
    let error = Error::new(ErrorKind::Usage, text);
    match suggest(what, known).filter(|_| !is_known) {
        Some(near) => error.with_hint(format!("did you mean `/session {near}`?")),
        None => error.with_hint("`/help session` says what there is"),
    }
}
