//! Tables of well-known programs: which of their arguments are text and which are code.
//!
//! A value that is one argument of one program cannot become a second command. It can still become
//! code if the program reads that argument as code (`sh -c`, `awk`), starts it as a program (`env`,
//! `xargs`), or has options that run something (`git --upload-pack=…`). The tables here name the
//! programs for which that is so. They are used for commands of YAML tools and of JSON plugins.

/// Stands in a word for text that is not known when the command is judged.
pub(crate) const HOLE: char = '\0';

/// Effect that the text of a hole can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Danger {
    /// The choice of the program that is started.
    Program,
    /// Text that the program runs as code.
    Code,
    /// An option, if it begins with `-`: some options of this program run other programs.
    Option,
    /// The same, or a variable if it holds `=`.
    OptionOrVariable,
}

/// A hole that is more than text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    /// The index of the word.
    pub(crate) word: usize,
    /// The program that makes it so.
    pub(crate) program: String,
    pub(crate) danger: Danger,
}

/// Code for a shell that is an argument of the command, without a hole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Script {
    /// The index of the word with the code.
    pub(crate) code: usize,
    /// The index of the first argument, which the code sees as `$0`.
    pub(crate) args: usize,
}

/// Result of judging a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Judged {
    pub(crate) findings: Vec<Finding>,
    pub(crate) scripts: Vec<Script>,
    /// The index of the file with the code that an interpreter runs.
    pub(crate) file: Option<usize>,
    /// The program that takes code from its standard input.
    pub(crate) reads_code: Option<String>,
    /// The index of a program that is in no table.
    pub(crate) unknown: Option<usize>,
}

/// Judges the words of a command, the first of which is the program.
pub(crate) fn judge(words: &[String]) -> Judged {
    let mut judge = Judge {
        words,
        judged: Judged::default(),
    };
    judge.command(0);
    judge.judged
}

/// Adds holes where `xargs` puts its input: in place of a text, or as the last argument. Returns
/// the indexes of those words.
pub(crate) fn add_input_of_xargs(words: &mut Vec<String>) -> Vec<usize> {
    let mut place: Option<(usize, String)> = None;
    for (index, word) in words.iter().enumerate() {
        if let Some(rest) = word.strip_prefix("-I") {
            let given = match rest {
                "" => words.get(index + 1).cloned(),
                rest => Some(rest.to_owned()),
            };
            place = given.map(|given| (index + 2 - usize::from(!rest.is_empty()), given));
        } else if let Some(rest) = word.strip_prefix("--replace") {
            let given = rest.strip_prefix('=').unwrap_or("{}");
            place = Some((index + 1, given.to_owned()));
        } else if word == "-i" {
            place = Some((index + 1, "{}".to_owned()));
        }
    }
    let Some((from, place)) = place else {
        words.push(HOLE.to_string());
        return vec![words.len() - 1];
    };
    if place.is_empty() || place.contains(HOLE) {
        return (from..words.len()).collect();
    }
    let mut changed = Vec::new();
    for (index, word) in words.iter_mut().enumerate().skip(from) {
        if word.contains(&place) {
            *word = word.replace(&place, "\0");
            changed.push(index);
        }
    }
    changed
}

/// Returns true if a program only writes to its standard output and keeps nothing of its arguments.
pub(crate) fn keeps_nothing(program: &str) -> bool {
    WRITES_OUTPUT_ONLY.contains(&base_name(program))
}

/// Returns true if a variable of that name decides what programs run.
pub(crate) fn is_dangerous_variable(name: &str) -> bool {
    const PREFIXES: [&str; 6] = [
        "LD_",
        "DYLD_",
        "BASH_FUNC_",
        "GIT_CONFIG",
        "BASH_ALIASES",
        "BASH_CMDS",
    ];
    DANGEROUS_VARIABLES.contains(&name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// Returns the last component of a program's path.
pub(crate) fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

const DANGEROUS_VARIABLES: &[&str] = &[
    "BASH_ENV",
    "BASH_LOADABLES_PATH",
    "BASH_XTRACEFD",
    "BASHOPTS",
    "BROWSER",
    "CDPATH",
    "EDITOR",
    "ENV",
    "EXECIGNORE",
    "FCEDIT",
    "FPATH",
    "GIT_ASKPASS",
    "GIT_DIR",
    "GIT_EDITOR",
    "GIT_EXEC_PATH",
    "GIT_EXTERNAL_DIFF",
    "GIT_PAGER",
    "GIT_PROXY_COMMAND",
    "GIT_SEQUENCE_EDITOR",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_TEMPLATE_DIR",
    "IFS",
    "INPUTRC",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "LESSCLOSE",
    "LESSOPEN",
    "LUA_INIT",
    "MAKEFILES",
    "MAKEFLAGS",
    "MANPAGER",
    "NODE_OPTIONS",
    "NODE_PATH",
    "PAGER",
    "PATH",
    "PERL5DB",
    "PERL5LIB",
    "PERL5OPT",
    "PERLLIB",
    "PROMPT_COMMAND",
    "PS0",
    "PS1",
    "PS2",
    "PS3",
    "PS4",
    "PYTHONHOME",
    "PYTHONINSPECT",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "PYTHONWARNINGS",
    "RSYNC_RSH",
    "RUBYLIB",
    "RUBYOPT",
    "RUSTC_WRAPPER",
    "SHELL",
    "SHELLOPTS",
    "SSH_ASKPASS",
    "SUDO_ASKPASS",
    "SUDO_EDITOR",
    "TAR_OPTIONS",
    "VISUAL",
    "ZDOTDIR",
    "_JAVA_OPTIONS",
];

/// Programs whose arguments are a program and its arguments.
struct Wrapper {
    name: &'static str,
    /// The letters of options that take an argument.
    short: &'static str,
    long: &'static [&'static str],
    /// The operands before the program.
    operands: usize,
}

const fn wrapper(
    name: &'static str,
    short: &'static str,
    long: &'static [&'static str],
    operands: usize,
) -> Wrapper {
    Wrapper {
        name,
        short,
        long,
        operands,
    }
}

const WRAPPERS: &[Wrapper] = &[
    wrapper("builtin", "", &[], 0),
    wrapper("busybox", "", &[], 0),
    wrapper("catchsegv", "", &[], 0),
    wrapper("chpst", "uUbeEmdolpfc/n", &[], 0),
    wrapper("chroot", "", &[], 1),
    wrapper(
        "chrt",
        "TPD",
        &["--sched-runtime", "--sched-period", "--sched-deadline"],
        1,
    ),
    wrapper("command", "", &[], 0),
    wrapper("coproc", "", &[], 0),
    wrapper("cpulimit", "lpe", &["--limit"], 0),
    wrapper("dbus-run-session", "", &["--config-file"], 0),
    wrapper("doas", "uCa", &[], 0),
    wrapper("eatmydata", "", &[], 0),
    wrapper("env", "uC", &["--unset", "--chdir"], 0),
    wrapper("exec", "a", &[], 0),
    wrapper("fakeroot", "lsib", &[], 0),
    wrapper("faketime", "f", &[], 1),
    wrapper("firejail", "", &[], 0),
    wrapper("flock", "wE", &["--timeout", "--conflict-exit-code"], 1),
    wrapper("ionice", "cnpPu", &["--class", "--classdata"], 0),
    wrapper("ltrace", "aAeFlnopsSuwx", &[], 0),
    wrapper("nice", "n", &["--adjustment"], 0),
    wrapper("noglob", "", &[], 0),
    wrapper("nohup", "", &[], 0),
    wrapper("nsenter", "tSGW", &["--target", "--setuid", "--setgid"], 0),
    wrapper("perf", "eop", &[], 1),
    wrapper("prlimit", "po", &["--pid", "--output"], 0),
    wrapper("proot", "rbwq", &[], 0),
    wrapper("proxychains", "f", &[], 0),
    wrapper("proxychains4", "f", &[], 0),
    wrapper("rlwrap", "acfHlDgPqsSxz", &[], 0),
    wrapper("runcon", "turl", &[], 1),
    wrapper("setarch", "", &[], 1),
    wrapper("setpriv", "", SETPRIV, 0),
    wrapper("setsid", "", &[], 0),
    wrapper("setuidgid", "", &[], 1),
    wrapper("stdbuf", "ioe", &["--input", "--output", "--error"], 0),
    wrapper("strace", "abeEIoOpPsSuUX", &["--trace", "--output"], 0),
    wrapper(
        "sudo",
        "aCcDghprRtTuU",
        &["--user", "--group", "--host", "--prompt", "--chdir"],
        0,
    ),
    wrapper(
        "systemd-run",
        "EGHMpu",
        &["--unit", "--property", "--setenv"],
        0,
    ),
    wrapper("taskset", "", &[], 1),
    wrapper("time", "fo", &["--format", "--output"], 0),
    wrapper("timeout", "ks", &["--kill-after", "--signal"], 1),
    wrapper("torsocks", "", &[], 0),
    wrapper("toybox", "", &[], 0),
    wrapper("unbuffer", "", &[], 0),
    wrapper(
        "unshare",
        "GRSw",
        &["--root", "--wd", "--setuid", "--setgid"],
        0,
    ),
    wrapper("valgrind", "", &[], 0),
    wrapper("xargs", "adEILnPs", XARGS, 0),
    wrapper("xvfb-run", "efnpsw", &[], 0),
];

const SETPRIV: &[&str] = &[
    "--ambient-caps",
    "--apparmor-profile",
    "--bounding-set",
    "--egid",
    "--euid",
    "--groups",
    "--inh-caps",
    "--pdeathsig",
    "--regid",
    "--reuid",
    "--rgid",
    "--ruid",
    "--securebits",
    "--selinux-label",
];

const XARGS: &[&str] = &[
    "--arg-file",
    "--delimiter",
    "--max-args",
    "--max-chars",
    "--max-procs",
];

/// Programs that run a text or a file.
struct Interpreter {
    name: &'static str,
    /// The letters of options that code follows.
    code: &'static str,
    long_code: &'static [&'static str],
    /// The letters of options that take another argument.
    args: &'static str,
    /// The letters among them whose argument is loaded as code.
    loads: &'static str,
}

const fn interpreter(
    name: &'static str,
    code: &'static str,
    long_code: &'static [&'static str],
    args: &'static str,
    loads: &'static str,
) -> Interpreter {
    Interpreter {
        name,
        code,
        long_code,
        args,
        loads,
    }
}

const SHELLS: &[&str] = &[
    "ash", "bash", "csh", "dash", "fish", "ksh", "ksh93", "mksh", "rbash", "sh", "tcsh", "yash",
    "zsh",
];

const INTERPRETERS: &[Interpreter] = &[
    interpreter("bun", "ep", &["--eval", "--print"], "r", "r"),
    interpreter("deno", "", &[], "cL", "c"),
    interpreter("elixir", "e", &["--eval"], "r", "r"),
    interpreter("erl", "", &["-eval"], "", ""),
    interpreter("groovy", "e", &[], "", ""),
    interpreter("guile", "c", &[], "lLe", "l"),
    interpreter("java", "", &[], "", ""),
    interpreter("julia", "eE", &["--eval", "--print"], "L", "L"),
    interpreter("lua", "e", &[], "l", "l"),
    interpreter("luajit", "e", &[], "l", "l"),
    interpreter("node", "ep", &["--eval", "--print"], "r", "r"),
    interpreter("nodejs", "ep", &["--eval", "--print"], "r", "r"),
    interpreter("osascript", "e", &[], "l", ""),
    interpreter("perl", "eE", &[], "IMm", "IMm"),
    interpreter("php", "rBRE", &["--run"], "cdfzFSt", "cdfzF"),
    interpreter("pypy", "c", &[], "WXmQ", "m"),
    interpreter("python", "c", &[], "WXmQ", "m"),
    interpreter("racket", "e", &["--eval"], "tlfr", "tlfr"),
    interpreter("Rscript", "e", &[], "", ""),
    interpreter("ruby", "e", &[], "rICEFTW", "rI"),
    interpreter("scala", "e", &[], "", ""),
    interpreter("tclsh", "", &[], "", ""),
    interpreter("tsx", "ep", &["--eval"], "r", "r"),
    interpreter("ts-node", "ep", &["--eval"], "r", "r"),
    interpreter("wish", "", &[], "", ""),
];

/// Programs in whose arguments everything may be code.
const ALL_CODE: &[&str] = &[
    "alias",
    "at",
    "batch",
    "bind",
    "compgen",
    "complete",
    "crontab",
    "dc",
    "ed",
    "emacs",
    "eval",
    "ex",
    "expect",
    "fc",
    "ftp",
    "gdb",
    "ghci",
    "gnome-terminal",
    "gnuplot",
    "iex",
    "irb",
    "jshell",
    "konsole",
    "lftp",
    "lldb",
    "m4",
    "mail",
    "mailx",
    "mariadb",
    "mongosh",
    "mutt",
    "mysql",
    "nvim",
    "octave",
    "parallel",
    "powershell",
    "psql",
    "pwsh",
    "red",
    "rsh",
    "runuser",
    "sbcl",
    "screen",
    "script",
    "socat",
    "source",
    "sqlite3",
    "su",
    "swift",
    "telnet",
    "tmux",
    "trap",
    "vi",
    "view",
    "vim",
    "vimdiff",
    "watch",
    "xterm",
];

/// Programs with options that run other programs or load code.
const OPTIONS_RUN: &[&str] = &[
    "7z",
    "bunx",
    "pnpx",
    "ack",
    "ag",
    "ansible",
    "ansible-playbook",
    "apt",
    "apt-get",
    "bsdtar",
    "c++",
    "cargo",
    "cc",
    "clang",
    "clang++",
    "cmake",
    "convert",
    "cpio",
    "ctags",
    "curl",
    "dnf",
    "docker",
    "dpkg",
    "fd",
    "fdfind",
    "ffmpeg",
    "g++",
    "gcc",
    "gem",
    "gh",
    "git",
    "go",
    "gpg",
    "gradle",
    "helm",
    "hg",
    "ip",
    "javac",
    "journalctl",
    "kubectl",
    "latex",
    "ld",
    "less",
    "man",
    "magick",
    "more",
    "mvn",
    "nc",
    "ncat",
    "ninja",
    "nmap",
    "npm",
    "npx",
    "openssl",
    "pandoc",
    "patch",
    "pdflatex",
    "pip",
    "pip3",
    "pnpm",
    "podman",
    "poetry",
    "pytest",
    "rg",
    "rpm",
    "rsync",
    "rustc",
    "scp",
    "sftp",
    "sort",
    "split",
    "svn",
    "systemctl",
    "tar",
    "tcpdump",
    "terraform",
    "tshark",
    "tsc",
    "uv",
    "uvx",
    "wget",
    "xelatex",
    "yarn",
    "yum",
    "zip",
];

/// Options of such programs whose argument is a program, code, or a configuration that names one.
const CODE_OPTIONS: &[(&[&str], &[&str])] = &[
    (
        &["git"],
        &[
            "-c",
            "--config",
            "--config-env",
            "--exec-path",
            "--upload-pack",
            "--receive-pack",
            "--exec",
            "--open-files-in-pager",
            "--template",
        ],
    ),
    (
        &["tar", "bsdtar", "cpio"],
        &[
            "-I",
            "-F",
            "--use-compress-program",
            "--checkpoint-action",
            "--to-command",
            "--info-script",
            "--new-volume-script",
            "--rsh-command",
            "--rmt-command",
        ],
    ),
    (&["rsync"], &["-e", "--rsh", "--rsync-path"]),
    (&["scp", "sftp"], &["-S", "-o", "-F", "-J", "-D", "-b"]),
    (&["sort"], &["--compress-program"]),
    (&["split"], &["--filter"]),
    (&["rg"], &["--pre", "--hostname-bin"]),
    (&["fd", "fdfind"], &["-x", "-X", "--exec", "--exec-batch"]),
    (&["curl"], &["-K", "--config"]),
    (&["wget"], &["-e", "--execute", "--use-askpass", "--config"]),
    (&["zip"], &["-TT", "--unzip-command"]),
    (&["man"], &["-P", "--pager", "-H", "--html"]),
    (&["tcpdump"], &["-z"]),
    (&["nmap"], &["--script"]),
    (&["make", "gmake"], &["-f", "--file", "--eval", "-I", "-C"]),
    (
        &["gcc", "g++", "cc", "clang"],
        &["-wrapper", "-B", "-specs"],
    ),
    (&["docker", "podman"], &["--entrypoint"]),
    (&["npm", "npx", "pnpm"], &["--script-shell", "-c", "--call"]),
    (&["gpg"], &["--exec-path", "--options"]),
    (
        &["nc", "ncat"],
        &["-e", "-c", "--exec", "--sh-exec", "--lua-exec"],
    ),
];

/// Programs that fetch and run what their first operand names.
const RUN_PACKAGES: &[&str] = &["bunx", "npx", "pnpx", "uvx"];

/// Options after which the next word is never an option.
const TEXT_OPTIONS: &[&str] = &[
    "-m",
    "--message",
    "-name",
    "-iname",
    "-path",
    "-ipath",
    "-H",
    "--header",
    "-d",
    "--data",
    "--data-raw",
    "--data-urlencode",
    "--json",
];

/// Programs that write only to their standard output.
const WRITES_OUTPUT_ONLY: &[&str] = &[
    "[",
    "ag",
    "awk",
    "base64",
    "basename",
    "cat",
    "cd",
    "cmp",
    "column",
    "comm",
    "cut",
    "date",
    "df",
    "diff",
    "dig",
    "dirname",
    "du",
    "echo",
    "egrep",
    "exit",
    "expr",
    "false",
    "fgrep",
    "file",
    "find",
    "fold",
    "free",
    "getent",
    "grep",
    "head",
    "hexdump",
    "host",
    "hostname",
    "id",
    "jq",
    "kill",
    "ls",
    "md5sum",
    "nl",
    "nslookup",
    "od",
    "paste",
    "pgrep",
    "ping",
    "printenv",
    "printf",
    "ps",
    "pwd",
    "readlink",
    "realpath",
    "return",
    "rev",
    "rg",
    "sed",
    "seq",
    "sha1sum",
    "sha256sum",
    "sha512sum",
    "shift",
    "sleep",
    "sort",
    "stat",
    "strings",
    "tac",
    "tail",
    "test",
    "tr",
    "tree",
    "true",
    "type",
    "uname",
    "uniq",
    "uptime",
    "wc",
    "which",
    "who",
    "whoami",
    "xmllint",
    "xxd",
    "yq",
    ":",
];

/// Programs that take arguments as text, and change files or the system at most.
const PLAIN: &[&str] = &[
    "b2sum",
    "bunzip2",
    "bzip2",
    "chgrp",
    "chmod",
    "chown",
    "cksum",
    "clear",
    "cp",
    "csplit",
    "dd",
    "eslint",
    "factor",
    "flake8",
    "gunzip",
    "gzip",
    "install",
    "iconv",
    "jc",
    "join",
    "lint",
    "ln",
    "locate",
    "logger",
    "lsof",
    "mkdir",
    "mkfifo",
    "mktemp",
    "mv",
    "mypy",
    "netstat",
    "notify-send",
    "numfmt",
    "paste",
    "pbcopy",
    "pkill",
    "prettier",
    "printf",
    "rm",
    "rmdir",
    "ruff",
    "rustfmt",
    "say",
    "shellcheck",
    "shuf",
    "ss",
    "sum",
    "sync",
    "tee",
    "touch",
    "traceroute",
    "truncate",
    "unlink",
    "unzip",
    "wl-copy",
    "xclip",
    "xz",
    "zcat",
    "zgrep",
    "zstd",
    "black",
    "bat",
    "cloc",
    "delta",
    "gofmt",
    "hyperfine",
    "jsonlint",
    "markdownlint",
    "nproc",
    "sha224sum",
    "sha384sum",
    "tokei",
    "whois",
    "yamllint",
    "yes",
];

struct Judge<'a> {
    words: &'a [String],
    judged: Judged,
}

impl Judge<'_> {
    fn find(&mut self, word: usize, program: &str, danger: Danger) {
        self.judged.findings.push(Finding {
            word,
            program: program.to_owned(),
            danger,
        });
    }

    /// Marks each hole from a word on.
    fn find_all(&mut self, from: usize, program: &str, danger: Danger) {
        for word in from..self.words.len() {
            if self.words[word].contains(HOLE) {
                self.find(word, program, danger);
            }
        }
    }

    /// Judges the command that begins at a word.
    fn command(&mut self, at: usize) {
        let Some(word) = self.words.get(at) else {
            return;
        };
        if word.contains(HOLE) {
            return self.find(at, "the command", Danger::Program);
        }
        let name = base_name(word);
        let plain = without_version(name);
        if let Some(wrapper) = WRAPPERS.iter().find(|known| known.name == name) {
            return self.wrapper(at, wrapper);
        }
        if SHELLS.contains(&plain) {
            return self.shell(at);
        }
        if let Some(known) = INTERPRETERS.iter().find(|known| known.name == plain) {
            return self.interpreter(at, known);
        }
        match name {
            "awk" | "gawk" | "mawk" | "nawk" => self.awk(at),
            "sed" | "gsed" => self.sed(at),
            "ssh" | "autossh" | "mosh" => self.ssh(at),
            "find" => self.file_search(at),
            "make" | "gmake" => {
                self.code_options(at);
                // `make` expands `$(shell …)` in a variable.
                for index in at + 1..self.words.len() {
                    let word = &self.words[index];
                    if word
                        .find('=')
                        .zip(word.find(HOLE))
                        .is_some_and(|(sign, hole)| sign < hole)
                    {
                        self.find(index, "make", Danger::Code);
                    }
                }
                self.options(at, Danger::OptionOrVariable);
            }
            _ if ALL_CODE.contains(&name) => {
                self.find_all(at + 1, name, Danger::Code);
                self.judged
                    .reads_code
                    .get_or_insert_with(|| name.to_owned());
            }
            _ if OPTIONS_RUN.contains(&name) => {
                self.code_options(at);
                self.options(at, Danger::Option);
                self.nested(at);
                if RUN_PACKAGES.contains(&name) {
                    let first = (at + 1..self.words.len())
                        .find(|index| !self.words[*index].starts_with('-'));
                    if let Some(first) = first.filter(|first| self.words[*first].contains(HOLE)) {
                        self.find(first, name, Danger::Program);
                    }
                }
            }
            _ if PLAIN.contains(&name) || WRITES_OUTPUT_ONLY.contains(&name) => {}
            _ => {
                self.judged.unknown.get_or_insert(at);
                self.nested(at);
            }
        }
    }

    /// Searches for a shell or interpreter among the arguments of a program that may start it.
    fn nested(&mut self, at: usize) {
        for index in at + 1..self.words.len() {
            let name = without_version(base_name(&self.words[index]));
            let is_one = SHELLS.contains(&name)
                || INTERPRETERS.iter().any(|known| known.name == name)
                || matches!(name, "eval" | "env" | "xargs" | "sudo");
            if is_one && !self.words[index].contains(HOLE) {
                return self.command(index);
            }
        }
    }

    /// Marks holes in the arguments of options that run something.
    fn code_options(&mut self, at: usize) {
        let name = base_name(&self.words[at]).to_owned();
        let known = CODE_OPTIONS
            .iter()
            .filter(|(programs, _)| programs.contains(&name.as_str()));
        for option in known.flat_map(|(_, options)| options.iter()) {
            for index in at + 1..self.words.len() {
                let word = &self.words[index];
                let next = self.words.get(index + 1);
                if word == option && next.is_some_and(|next| next.contains(HOLE)) {
                    self.find(index + 1, &name, Danger::Code);
                }
                let rest = word.strip_prefix(option);
                let is_glued = rest.is_some_and(|rest| {
                    if option.starts_with("--") {
                        rest.starts_with('=')
                    } else {
                        !rest.is_empty()
                    }
                });
                if is_glued && word.contains(HOLE) {
                    self.find(index, &name, Danger::Code);
                }
            }
        }
    }

    /// Marks holes that may be taken for options.
    fn options(&mut self, at: usize, danger: Danger) {
        let name = base_name(&self.words[at]).to_owned();
        for index in at + 1..self.words.len() {
            let word = &self.words[index];
            if word == "--" && danger == Danger::Option {
                return;
            }
            let is_text = index > at + 1 && TEXT_OPTIONS.contains(&self.words[index - 1].as_str());
            let is_leading = word.starts_with(HOLE) || word.starts_with("-\0");
            let is_variable =
                danger == Danger::OptionOrVariable && word.contains(HOLE) && !word.starts_with('-');
            if !is_text && (is_leading || is_variable) {
                self.find(index, &name, danger);
            }
        }
    }

    fn wrapper(&mut self, at: usize, wrapper: &Wrapper) {
        let takes_variables = matches!(wrapper.name, "env" | "sudo" | "doas" | "systemd-run");
        let (mut index, mut operands, mut options) = (at + 1, wrapper.operands, true);
        while let Some(word) = self.words.get(index) {
            if options && word == "--" {
                options = false;
                index += 1;
                continue;
            }
            if options && word.starts_with('-') && word.len() > 1 {
                let is_split = wrapper.name == "env"
                    && (word.starts_with("--split-string")
                        || !word.starts_with("--") && word.contains('S'));
                let is_code =
                    wrapper.name == "flock" && (word == "-c" || word.starts_with("--command"));
                let is_replaced = wrapper.name == "xargs"
                    && (word.starts_with("-I")
                        || word.starts_with("-i")
                        || word.starts_with("--replace"));
                if is_split || is_code {
                    return self.find_all(index, wrapper.name, Danger::Code);
                }
                if word.starts_with("-\0") || is_replaced && word.contains(HOLE) {
                    return self.find(index, wrapper.name, Danger::Program);
                }
                let takes = if word.starts_with("--") {
                    wrapper.long.contains(&word.as_str())
                } else {
                    word.chars()
                        .next_back()
                        .is_some_and(|last| wrapper.short.contains(last))
                };
                index += if takes { 2 } else { 1 };
                continue;
            }
            if takes_variables && let Some((name, value)) = word.split_once('=') {
                if name.contains(HOLE) || value.contains(HOLE) && is_dangerous_variable(name) {
                    return self.find(index, wrapper.name, Danger::Code);
                }
                index += 1;
                continue;
            }
            if operands > 0 {
                if word.starts_with(HOLE) && options {
                    self.find(index, wrapper.name, Danger::Option);
                }
                operands -= 1;
                index += 1;
                continue;
            }
            if wrapper.name == "flock" && word == "-c" {
                return self.find_all(index, wrapper.name, Danger::Code);
            }
            if word.contains(HOLE) {
                return self.find(index, wrapper.name, Danger::Program);
            }
            // `sudo bash`: the code may come from the input.
            return self.command(index);
        }
    }

    fn shell(&mut self, at: usize) {
        let name = base_name(&self.words[at]).to_owned();
        let (mut index, mut is_code) = (at + 1, false);
        while let Some(word) = self.words.get(index) {
            match word.as_str() {
                "--" | "-" if !is_code => {
                    index += 1;
                    if word == "-" || self.words.get(index).is_none() {
                        self.judged.reads_code = Some(name);
                        return;
                    }
                    break;
                }
                "--" => {
                    index += 1;
                    break;
                }
                "-s" => {
                    self.judged.reads_code = Some(name);
                    return;
                }
                "--rcfile" | "--init-file" | "-o" | "+o" | "-O" | "+O" => {
                    if self
                        .words
                        .get(index + 1)
                        .is_some_and(|word| word.contains(HOLE))
                    {
                        return self.find(index + 1, &name, Danger::Code);
                    }
                    index += 2;
                }
                _ if word.starts_with(['-', '+']) => {
                    if word.contains(HOLE) {
                        return self.find(index, &name, Danger::Code);
                    }
                    is_code |= !word.starts_with("--") && word.contains('c')
                        || word.starts_with("--command");
                    index += 1;
                }
                _ => break,
            }
        }
        match self.words.get(index) {
            None => self.judged.reads_code = Some(name),
            Some(word) if word.contains(HOLE) => {
                if !is_code {
                    self.judged.file = Some(index);
                }
                self.find(index, &name, Danger::Code);
            }
            Some(_) if is_code => self.judged.scripts.push(Script {
                code: index,
                args: index + 1,
            }),
            Some(word) if word == "/dev/stdin" => self.judged.reads_code = Some(name),
            Some(_) => self.judged.file = Some(index),
        }
    }

    fn interpreter(&mut self, at: usize, known: &Interpreter) {
        let (mut index, mut has_code, mut reads_lines) = (at + 1, false, false);
        if matches!(known.name, "deno" | "bun")
            && let Some(word) = self.words.get(index)
        {
            match word.as_str() {
                "eval" => return self.find_all(index + 1, known.name, Danger::Code),
                "run" | "test" | "x" | "bench" | "task" => index += 1,
                _ => {}
            }
        }
        while let Some(word) = self.words.get(index) {
            if word == "--" {
                index += 1;
                break;
            }
            if word == "-" {
                self.judged.reads_code = Some(known.name.to_owned());
                return;
            }
            if !word.starts_with('-') {
                break;
            }
            let long = word.split('=').next().unwrap_or_default();
            if known.long_code.contains(&long) {
                let code = if word.contains('=') { index } else { index + 1 };
                self.code(known, code);
                has_code = true;
                index = code + 1;
                continue;
            }
            if word.starts_with("--") || known.name == "java" {
                let loads = matches!(
                    long,
                    "--require" | "--import" | "--loader" | "--experimental-loader"
                );
                if word.contains(HOLE) {
                    return self.find(index, known.name, Danger::Code);
                }
                let takes = loads || matches!(long, "-cp" | "-classpath" | "--class-path" | "-jar");
                if takes && !word.contains('=') {
                    index += 1;
                    let next = self.words.get(index);
                    if next.is_some_and(|next| next.contains(HOLE)) {
                        return self.find(index, known.name, Danger::Code);
                    }
                    if long == "-jar" {
                        return;
                    }
                }
                index += 1;
                continue;
            }
            let mut next = index + 1;
            for (at, letter) in word.char_indices().skip(1) {
                let is_last = at + letter.len_utf8() == word.len();
                if letter == HOLE {
                    return self.find(index, known.name, Danger::Code);
                }
                reads_lines |= known.name == "perl" && matches!(letter, 'n' | 'p');
                if known.code.contains(letter) {
                    let code = if is_last { index + 1 } else { index };
                    self.code(known, code);
                    has_code = true;
                    next = code + 1;
                    break;
                }
                if known.args.contains(letter) {
                    let value = if is_last { index + 1 } else { index };
                    let has_hole = self.words.get(value).is_some_and(|it| it.contains(HOLE));
                    if has_hole && known.loads.contains(letter) {
                        return self.find(value, known.name, Danger::Code);
                    }
                    next = value + 1;
                    if letter == 'm' && matches!(known.name, "python" | "pypy") {
                        return;
                    }
                    break;
                }
            }
            index = next;
        }
        if has_code {
            // `<>` in Perl opens `command|` as a command.
            let opens = |code: &String| code.contains("<>") || code.contains("ARGV");
            if known.name == "perl"
                && (reads_lines
                    || self.words[at..index.min(self.words.len())]
                        .iter()
                        .any(opens))
            {
                self.find_all(index, known.name, Danger::Code);
            }
            return;
        }
        match self.words.get(index) {
            None => self.judged.reads_code = Some(known.name.to_owned()),
            Some(word) if word.contains(HOLE) => {
                self.judged.file = Some(index);
                self.find(index, known.name, Danger::Code);
            }
            Some(word) if word == "/dev/stdin" => {
                self.judged.reads_code = Some(known.name.to_owned());
            }
            Some(_) if known.name == "perl" && reads_lines => {
                self.find_all(index, known.name, Danger::Code);
            }
            Some(_) => self.judged.file = Some(index),
        }
    }

    fn code(&mut self, known: &Interpreter, word: usize) {
        if self.words.get(word).is_some_and(|text| text.contains(HOLE)) {
            self.find(word, known.name, Danger::Code);
        }
    }

    fn awk(&mut self, at: usize) {
        let (mut index, mut has_file) = (at + 1, false);
        while let Some(word) = self.words.get(index) {
            if word == "--" {
                index += 1;
                break;
            }
            if !word.starts_with('-') || word == "-" {
                break;
            }
            let is_plain = |letter: char| word.starts_with(&format!("-{letter}"));
            if is_plain('v') || is_plain('F') {
                index += if word.len() == 2 { 2 } else { 1 };
                continue;
            }
            let is_code = !word.starts_with("--") || word.starts_with("--source");
            if word.contains(HOLE) {
                return self.find(index, "awk", Danger::Code);
            }
            if is_code && matches!(word.as_str(), "-f" | "-e" | "-i" | "-l" | "-E")
                || word == "--source"
                || word == "--file"
            {
                has_file |= !matches!(word.as_str(), "-i" | "-l");
                index += 1;
                let next = self.words.get(index);
                if next.is_some_and(|next| next.contains(HOLE)) {
                    return self.find(index, "awk", Danger::Code);
                }
                if next.is_some_and(|next| next == "-" || next == "/dev/stdin") {
                    self.judged.reads_code = Some("awk".to_owned());
                }
            }
            index += 1;
        }
        if !has_file
            && self
                .words
                .get(index)
                .is_some_and(|word| word.contains(HOLE))
        {
            self.find(index, "awk", Danger::Code);
        }
    }

    fn sed(&mut self, at: usize) {
        let (mut has_code, mut options) = (false, true);
        let mut index = at + 1;
        // GNU sed takes options behind operands, too.
        let given = self.words[at + 1..].iter().any(|word| {
            let is_short = word.starts_with('-') && !word.starts_with("--");
            is_short && word.contains(['e', 'f'])
                || word.starts_with("--expression")
                || word.starts_with("--file")
        });
        while let Some(word) = self.words.get(index) {
            if options && word == "--" {
                options = false;
            } else if options && word.starts_with('-') && word.len() > 1 {
                if word.contains(HOLE) {
                    return self.find(index, "sed", Danger::Code);
                }
                let takes = matches!(word.as_str(), "--expression" | "--file")
                    || !word.starts_with("--") && word.ends_with(['e', 'f']);
                if takes {
                    index += 1;
                    let next = self.words.get(index);
                    if next.is_some_and(|next| next.contains(HOLE)) {
                        return self.find(index, "sed", Danger::Code);
                    }
                    if next.is_some_and(|next| next == "-" || next == "/dev/stdin")
                        && self.words[index - 1].ends_with('f')
                    {
                        self.judged.reads_code = Some("sed".to_owned());
                    }
                } else if matches!(word.as_str(), "-l" | "--line-length") {
                    index += 1;
                }
            } else if !given && !has_code {
                has_code = true;
                if word.contains(HOLE) {
                    self.find(index, "sed", Danger::Code);
                }
            } else if options && word.starts_with(HOLE) {
                self.find(index, "sed", Danger::Option);
            }
            index += 1;
        }
    }

    fn ssh(&mut self, at: usize) {
        let name = base_name(&self.words[at]).to_owned();
        let mut index = at + 1;
        while let Some(word) = self.words.get(index) {
            if word == "--" {
                index += 1;
                break;
            }
            if !word.starts_with('-') {
                break;
            }
            let letter = word.chars().nth(1).unwrap_or_default();
            let takes = "BbcDEeFIiJLlmOopQRSWw".contains(letter);
            let value = if takes && word.len() == 2 {
                index + 1
            } else {
                index
            };
            let has_hole = self
                .words
                .get(value)
                .is_some_and(|word| word.contains(HOLE));
            // Configuration may name programs; a jump host is put into one.
            if has_hole && !"lpib".contains(letter) {
                return self.find(value, &name, Danger::Code);
            }
            index = value + 1;
        }
        if self
            .words
            .get(index)
            .is_some_and(|word| word.starts_with(HOLE))
        {
            self.find(index, &name, Danger::Option);
        }
        let remote = &self.words[(index + 1).min(self.words.len())..];
        if remote.iter().any(|word| word.contains(HOLE)) {
            return self.find_all(index + 1, &name, Danger::Code);
        }
        let words: Vec<String> = remote
            .iter()
            .flat_map(|word| word.split_whitespace())
            .map(str::to_owned)
            .collect();
        // Without a command it is a login shell.
        if words.is_empty() || judge(&words).reads_code.is_some() {
            self.judged.reads_code = Some(name);
        }
    }

    fn file_search(&mut self, at: usize) {
        let mut index = at + 1;
        while let Some(word) = self.words.get(index) {
            if matches!(word.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir") {
                let end = self.words[index..]
                    .iter()
                    .position(|word| word == ";" || word == "+" || word == "\\;");
                let end = end.map_or(self.words.len(), |end| index + end);
                let inner = judge(&self.words[index + 1..end]);
                let from = index + 1;
                for mut finding in inner.findings {
                    finding.word += from;
                    self.judged.findings.push(finding);
                }
                self.judged
                    .scripts
                    .extend(inner.scripts.iter().map(|script| Script {
                        code: script.code + from,
                        args: script.args + from,
                    }));
                index = end;
            } else if word.starts_with(HOLE) || word.starts_with("-\0") {
                let before = self.words[index - 1].as_str();
                let is_value = index > at + 1 && before.starts_with('-') && !before.contains(HOLE);
                if !is_value {
                    self.find(index, "find", Danger::Option);
                }
            }
            index += 1;
        }
    }
}

/// `python3.12` is `python`.
fn without_version(name: &str) -> &str {
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    if plain.is_empty() || name.starts_with("ksh") {
        return name;
    }
    plain
}
