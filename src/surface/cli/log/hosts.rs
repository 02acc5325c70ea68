//! `haft log --hosts`: the log of this machine and those of other hosts, merged by time.

use std::collections::{HashMap, HashSet};

use futures::FutureExt;
use futures::future::{join_all, select_all};
use tokio::time::sleep;

use super::{Args, Entry, FOLLOW_INTERVAL};
use crate::audit::{Ended, Event, Filter, Line, LogFolder, Tail};
use crate::surface::cli::context::CommandContext;
use crate::surface::cli::exit::{CANCELLED, Failure, SUCCESS};
use crate::surface::terminal::say;
use haft_nats::{AddedHistory, HistoryEntry, HistoryNews, HistoryQuestion, machine_name};
use haft_tool::{Error, TerminalText, terminal_text};

/// Number of lines that are remembered while the logs are followed, so that none is shown twice.
const MAX_REMEMBERED: usize = 100_000;

/// Entries of several logs, each line once.
#[derive(Default)]
struct Merged {
    entries: Vec<Entry>,
    /// The lines so far: the call, and whether it has ended.
    known: HashSet<(String, bool)>,
}

impl Merged {
    fn add(&mut self, entry: Entry) {
        if self.known.len() >= MAX_REMEMBERED {
            self.known.clear();
        }
        let is_end = matches!(entry.line.event, Event::Call(_));
        let call = entry.line.event.call();
        // This machine may have a host, or a host may have two remotes.
        if call.is_some_and(|call| self.known.insert((call.run.clone(), is_end))) {
            self.entries.push(entry);
        }
    }

    /// Returns the entries that were added, newest first.
    fn take(&mut self, filter: &Filter) -> Vec<Entry> {
        let mut entries = std::mem::take(&mut self.entries);
        entries.sort_by(|a, b| (&b.line.at, b.line.n).cmp(&(&a.line.at, a.line.n)));
        let mut ended = HashSet::new();
        entries.retain(|entry| filter.takes(&entry.line, &entry.of, &mut ended));
        entries
    }
}

/// Shows the newest calls of all hosts, and goes on if that is wanted.
pub(super) async fn show(
    args: &Args,
    folder: &LogFolder,
    session: &mut CommandContext<'_>,
) -> Result<u8, Failure> {
    let remotes = session.host.remote_hosts_or_all(args.remote.as_deref())?;
    let filter = Filter {
        only_calls: true,
        call: args.call.clone(),
        ..args.filter()
    };
    let here = machine_name();
    let (of_this_machine, newest) = args.newest(&filter, folder)?;
    // Before the hosts are asked, so that nothing is missing between the two.
    let mut news = Vec::new();
    if args.follow {
        for remote in &remotes {
            news.push(remote.follow_history().await?);
        }
    }
    let question = question(args);
    let asked = join_all(remotes.iter().map(|remote| remote.history(&question))).await;
    let (mut merged, mut last_lines) = (Merged::default(), HashMap::new());
    let (mut failures, mut has_answer) = (Vec::new(), false);
    for (remote, answer) in remotes.iter().zip(asked) {
        let (found, silent) = match answer {
            Ok(answer) => answer,
            Err(error) => {
                failures.push((remote.name(), error));
                continue;
            }
        };
        has_answer = true;
        for host in silent {
            warn(&terminal_text!("the host `{host}` did not answer"));
        }
        for log in found.logs {
            let name = &log.host.name;
            if let Some(problem) = &log.problem {
                let problem = TerminalText::from_line(problem);
                warn(&terminal_text!("the host `{name}`: {problem}"));
            }
            for entry in log.entries.into_iter().filter_map(|it| received(name, it)) {
                let last: &mut u64 = last_lines.entry(log.host.id.clone()).or_default();
                *last = (*last).max(entry.line.n);
                merged.add(entry);
            }
        }
    }
    for (name, error) in failures {
        if !has_answer {
            return Err(error.into());
        }
        warn(&terminal_text!("the remote `{name}`: {}", error.message()));
    }
    for entry in of_this_machine {
        merged.add(Entry {
            of: here.clone(),
            ..entry
        });
    }
    let mut entries = merged.take(&filter);
    if args.lines > 0 {
        entries.truncate(args.lines);
    }
    entries.reverse();
    if let Some(call) = &args.call {
        if entries.is_empty() {
            return Err(args.unknown(call));
        }
        return args.print_whole(&entries, session.out);
    }
    args.print(&entries, true, session.out)?;
    if !args.follow {
        if entries.is_empty() && !args.json {
            say(&"no host has recorded a call that would be shown\n".into());
        }
        return Ok(SUCCESS);
    }
    let mut tail = Tail::after(folder, newest);
    loop {
        tokio::select! {
            () = session.signals.next() => return Ok(CANCELLED),
            added = next(&mut news) => {
                let AddedHistory { host, entries, missed } = added?;
                let name = &host.name;
                if missed > 0 {
                    warn(&terminal_text!("{missed} calls of the host `{name}` are not shown: too many at once"));
                }
                let last = last_lines.get(&host.id).copied().unwrap_or_default();
                let new = entries.into_iter().filter(|entry| entry.n > last);
                new.filter_map(|entry| received(name, entry)).for_each(|entry| merged.add(entry));
            }
            () = sleep(FOLLOW_INTERVAL) => {
                for entry in args.added(&mut tail)? {
                    merged.add(Entry { of: here.clone(), ..entry });
                }
            }
        }
        let mut entries = merged.take(&filter);
        entries.reverse();
        args.print(&entries, false, session.out)?;
    }
}

/// Returns the question that the flags ask.
fn question(args: &Args) -> HistoryQuestion {
    HistoryQuestion {
        limit: args.lines,
        follow: args.follow,
        tool: args.tool.as_ref().map(|tool| tool.text.clone()),
        host: args.host.as_ref().map(|host| host.text.clone()),
        since: args.since.clone(),
        trace: args.trace.clone(),
        // A page can begin after the end of a call: only the whole shows what has not ended.
        outcome: (args.outcome)
            .filter(|ended| *ended != Ended::Unfinished)
            .map(|ended| ended.as_str().to_owned()),
        call: args.call.clone(),
        ..HistoryQuestion::default()
    }
}

/// Reads an entry of another host. Hosts are not believed: what cannot be read is dropped.
fn received(host: &str, entry: HistoryEntry) -> Option<Entry> {
    let text = entry.line.get();
    let line: Line = serde_json::from_str(text).ok()?;
    Some(Entry {
        text: text.to_owned(),
        line,
        of: host.to_owned(),
        is_running: entry.is_running,
    })
}

/// Waits for what a host adds to its log.
async fn next(news: &mut [HistoryNews]) -> Result<AddedHistory, Error> {
    let waiting = news.iter_mut().map(|news| news.next().boxed());
    let (added, ..) = select_all(waiting).await;
    added.map_err(Error::from)
}

fn warn(text: &TerminalText) {
    say(&terminal_text!("warning: {text}\n"));
}
