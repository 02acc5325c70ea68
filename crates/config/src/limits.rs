//! Limits of time and memory, and what a project's file takes away from its own tools.

use std::time::Duration;

use super::declare::{self, Form, Slot, default_settings, settings, whole};
use super::{CustomTools, Isolation, PermissionProfile, parse_duration};
use haft_process::sandbox::{ExceededLimit, TreeLimits};
use haft_tool::error::{Error, ErrorKind};

/// Minimum heap that boots the runtime and one zod module, in MiB.
const LEAST_HEAP_MB: u32 = 32;

/// Limit of the memory of a worker process and its programs on a machine of unknown size.
const DEFAULT_WORKER_MB: u32 = 4096;

const ANY: std::ops::RangeInclusive<u64> = 0..=u32::MAX as u64;
const AT_LEAST_ONE: std::ops::RangeInclusive<u64> = 1..=u32::MAX as u64;

settings! {
    /// Limits of time and memory.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Limits {
        /// Maximum duration of a call: `30s`, `500ms`, `1m30s`. `none`: no limit.
        // A build or a test run may take an hour, and the caller can cancel it.
        pub call_timeout: Option<Duration> = "none" => limit, env "HAFT_CALL_TIMEOUT";
        /// Maximum time to load a tool file: to import a module and to run its factory.
        // A cold import of a big npm tree needs seconds. A file that needs longer hangs, and
        // oh-my-pi's own loader would hang with it.
        pub load_timeout: Duration = "30s", env "HAFT_LOAD_TIMEOUT";
        /// Grace period: the time from the polite stop of a call to the forced one.
        // Time to close a file or kill a child politely. It is short enough that the user does not
        // press Ctrl-C a second time.
        pub grace: Duration = "2s", env "HAFT_GRACE";
        /// Maximum JavaScript memory of one isolate, in MiB. See limits.md.
        // Plenty for tools, and two runaway isolates still fit a small machine.
        pub heap_mb: u32 = "512" => whole(ANY, " of MiB"), env "HAFT_HEAP_MB";
        /// Maximum memory of a worker process together with the programs that its modules start, or
        /// of a program of another tool with what it starts, in MiB; `auto`: three quarters of the machine's memory. See sandbox.md.
        // A build may need most of the machine, and a leak must not end other programs.
        pub worker_mb: u32 = "auto" => worker_mb, env "HAFT_WORKER_MB";
        /// Maximum number of processes that the programs of one worker process are at a time, or a
        /// program of another tool with what it starts. See sandbox.md.
        // A parallel build starts some hundreds.
        pub worker_processes: u32 = "1024" => whole(ANY, ""), env "HAFT_WORKER_PROCESSES";
        /// Maximum number of processors that a worker process uses together with the programs that its
        /// modules start; `all`: no limit. See sandbox.md.
        // A build uses all of them, and the system shares them between processes.
        pub worker_cpus: u32 = "all" => cpus, env "HAFT_WORKER_CPUS";
        /// Maximum number of processors that a program of an executable, a YAML tool, a JSON plugin
        /// or an MCP server uses together with what it starts; `all`: no limit. See sandbox.md.
        pub program_cpus: u32 = "all" => cpus, env "HAFT_PROGRAM_CPUS";
        /// Maximum size of the private `TMPDIR` of a sandbox on the disk, in MiB. See sandbox.md.
        // A build of a large program keeps some hundreds of MiB there.
        pub tmp_mb: u32 = "4096" => whole(ANY, " of MiB"), env "HAFT_TMP_MB";
        /// Maximum number of files that each process of a tool has open at a time.
        // A server with many connections needs some thousands.
        pub program_files: u32 = "16384" => whole(ANY, ""), env "HAFT_PROGRAM_FILES";
        /// Maximum text of a result in KiB; more goes to a file. 0: no limit.
        // About 12,000 tokens. Claude Code puts results of more than 50,000 characters into a file
        // of its own and shows 2 KB of them, so text and notice together stay below 48 KB.
        pub spill_kb: u32 = "46" => whole(ANY, " of KiB"), env "HAFT_SPILL_KB";
        /// True if a program that a module started with `detached: true` and `unref()` outlives
        /// the host.
        pub keep_detached: bool = "true", env "HAFT_KEEP_DETACHED";
    }
}
default_settings!(Limits);

/// Restrictions of a project's configuration for its own tools. It cannot extend their rights.
#[derive(Clone, Debug, PartialEq)]
pub struct Narrowing {
    /// Maximum permissions.
    pub permissions: PermissionProfile,
    /// Maximum limits. A limit that the project does not mention has the largest value.
    pub limits: Limits,
    /// Maximum limits of its executables.
    pub custom_tools: CustomTools,
    /// Minimum separation.
    pub isolation: Isolation,
    /// Profile with the maximum permissions and the minimum separation.
    pub profile: Option<String>,
}

impl Default for Narrowing {
    /// Takes nothing away.
    fn default() -> Self {
        Narrowing {
            permissions: PermissionProfile::everything(),
            limits: Limits::largest(),
            custom_tools: CustomTools::largest(),
            isolation: Isolation::Process,
            profile: None,
        }
    }
}

impl Limits {
    /// Returns the largest possible limits.
    pub(super) fn largest() -> Limits {
        Limits {
            call_timeout: None,
            load_timeout: Duration::MAX,
            grace: Duration::MAX,
            heap_mb: u32::MAX,
            worker_mb: u32::MAX,
            worker_processes: u32::MAX,
            worker_cpus: u32::MAX,
            program_cpus: u32::MAX,
            tmp_mb: u32::MAX,
            program_files: u32::MAX,
            spill_kb: 0,
            keep_detached: true,
        }
    }

    /// Returns the limits with the project's values for those that all tools of a host share.
    #[must_use]
    pub(super) fn shared_with(self, project: &Limits) -> Limits {
        let narrowed = self.narrowed(project);
        Limits {
            spill_kb: narrowed.spill_kb,
            keep_detached: narrowed.keep_detached,
            ..self
        }
    }

    /// Returns the smaller of both values for each limit.
    #[must_use]
    pub(super) fn narrowed(&self, other: &Limits) -> Limits {
        let timeouts = [self.call_timeout, other.call_timeout];
        let spills = [self.spill_kb, other.spill_kb];
        Limits {
            call_timeout: timeouts.into_iter().flatten().min(),
            load_timeout: self.load_timeout.min(other.load_timeout),
            grace: self.grace.min(other.grace),
            heap_mb: self.heap_mb.min(other.heap_mb),
            worker_mb: self.worker_mb.min(other.worker_mb),
            worker_processes: self.worker_processes.min(other.worker_processes),
            worker_cpus: self.worker_cpus.min(other.worker_cpus),
            program_cpus: self.program_cpus.min(other.program_cpus),
            tmp_mb: self.tmp_mb.min(other.tmp_mb),
            program_files: self.program_files.min(other.program_files),
            // 0 means unlimited.
            spill_kb: spills.into_iter().filter(|kb| *kb > 0).min().unwrap_or(0),
            keep_detached: self.keep_detached && other.keep_detached,
        }
    }

    /// Returns the limits of a program that a tool starts, with all that it starts.
    pub fn of_programs(&self) -> haft_process::Limits {
        let TreeLimits {
            memory,
            processes,
            temporary_bytes,
        } = self.of_trees();
        haft_process::Limits {
            processors: Some(self.program_cpus as usize).filter(|_| self.program_cpus < u32::MAX),
            tree_memory: memory,
            processes,
            temporary_bytes,
            open_files: Some(self.program_files.into()),
            ..haft_process::Limits::default()
        }
    }

    /// Returns the limits of a worker process, or of a program, with all that it starts.
    pub fn of_trees(&self) -> TreeLimits {
        TreeLimits {
            memory: Some(u64::from(self.worker_mb) << 20),
            processes: Some(self.worker_processes as usize),
            temporary_bytes: Some(u64::from(self.tmp_mb) << 20),
        }
    }

    /// Fails if no tool could run within the limits.
    pub(super) fn check(&self) -> Result<(), Error> {
        if self.heap_mb < LEAST_HEAP_MB {
            let text = format!(
                "heap_mb {}: the runtime does not boot with so little memory",
                self.heap_mb
            );
            let hint = format!(
                "at least {LEAST_HEAP_MB}; {} is the default",
                Limits::default().heap_mb
            );
            return Err(Error::new(ErrorKind::Usage, text).with_hint(hint));
        }
        Ok(())
    }
}

/// A duration, or `none` for no limit.
fn limit(slot: &mut Option<Duration>) -> Slot<'_> {
    declare::scalar(Form::Text, slot, |text| match text.trim() {
        "none" => Ok(None),
        text => parse_duration(text).map(Some),
    })
}

/// A number of MiB. `auto` is three quarters of the machine's memory.
fn worker_mb(slot: &mut u32) -> Slot<'_> {
    declare::scalar(Form::Text, slot, |text| match text.trim() {
        "auto" => Ok(machine_mb().map_or(DEFAULT_WORKER_MB, |mb| mb / 4 * 3)),
        text => declare::whole_number(text, &ANY, " of MiB"),
    })
}

/// A number of processors. `all` is no limit.
fn cpus(slot: &mut u32) -> Slot<'_> {
    declare::scalar(Form::Text, slot, |text| match text.trim() {
        "all" => Ok(u32::MAX),
        text => declare::whole_number(text, &AT_LEAST_ONE, " of processors"),
    })
}

/// Returns the memory of the machine in MiB, if the system says it.
fn machine_mb() -> Option<u32> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let total = text
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kb: u64 = total.trim().strip_suffix("kB")?.trim().parse().ok()?;
    u32::try_from(kb / 1024).ok()
}

/// Returns which limit a tool exceeded with its programs, and the setting: the end of a sentence.
pub fn exceeded_limit(exceeded: ExceededLimit) -> String {
    let (what, setting, value) = match exceeded {
        ExceededLimit::Memory(bytes) => (
            "it and its programs ran out of memory",
            "worker_mb",
            bytes >> 20,
        ),
        ExceededLimit::Processes(count) => (
            "its programs were too many processes",
            "worker_processes",
            count as u64,
        ),
        ExceededLimit::TemporaryFiles(bytes) => (
            "its private TMPDIR took too much of the disk, and was emptied",
            "tmp_mb",
            bytes >> 20,
        ),
    };
    format!("{what} (`limits.{setting}` is {value})")
}
