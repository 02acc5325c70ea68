//! The tables of programs, options and variables.

/// Words in one text, with spaces between them.
pub(super) struct WordList(&'static str);

impl WordList {
    pub(super) fn contains(&self, word: &str) -> bool {
        self.0.split(' ').any(|known| known == word)
    }
}

pub(super) const DANGEROUS_VARIABLES: WordList = WordList(
    "BASH_ENV BASH_LOADABLES_PATH BASH_XTRACEFD BASHOPTS BROWSER CDPATH EDITOR ENV EXECIGNORE \
     FCEDIT FPATH GIT_ASKPASS GIT_DIR GIT_EDITOR GIT_EXEC_PATH GIT_EXTERNAL_DIFF GIT_PAGER \
     GIT_PROXY_COMMAND GIT_SEQUENCE_EDITOR GIT_SSH GIT_SSH_COMMAND GIT_TEMPLATE_DIR IFS INPUTRC \
     JAVA_TOOL_OPTIONS JDK_JAVA_OPTIONS LESSCLOSE LESSOPEN LUA_INIT MAKEFILES MAKEFLAGS MANPAGER \
     NODE_OPTIONS NODE_PATH PAGER PATH PERL5DB PERL5LIB PERL5OPT PERLLIB PROMPT_COMMAND PS0 PS1 PS2 \
     PS3 PS4 PYTHONHOME PYTHONINSPECT PYTHONPATH PYTHONSTARTUP PYTHONWARNINGS RSYNC_RSH RUBYLIB \
     RUBYOPT RUSTC_WRAPPER SHELL SHELLOPTS SSH_ASKPASS SUDO_ASKPASS SUDO_EDITOR TAR_OPTIONS VISUAL \
     ZDOTDIR _JAVA_OPTIONS",
);

/// Programs whose arguments are a program and its arguments.
pub(super) struct Wrapper {
    pub(super) name: &'static str,
    /// The letters of options that take an argument.
    pub(super) short: &'static str,
    pub(super) long: &'static [&'static str],
    /// The operands before the program.
    pub(super) operands: usize,
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

pub(super) const WRAPPERS: &[Wrapper] = &[
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
    wrapper("dumb-init", "r", &[], 0),
    wrapper("eatmydata", "", &[], 0),
    wrapper("env", "uC", &["--unset", "--chdir"], 0),
    wrapper("envdir", "", &[], 1),
    wrapper("exec", "a", &[], 0),
    wrapper("fakeroot", "lsib", &[], 0),
    wrapper("faketime", "f", &[], 1),
    wrapper("firejail", "", &[], 0),
    wrapper("flock", "wE", &["--timeout", "--conflict-exit-code"], 1),
    wrapper("gosu", "", &[], 1),
    wrapper("ionice", "cnpPu", &["--class", "--classdata"], 0),
    wrapper("ltrace", "aAeFlnopsSuwx", &[], 0),
    wrapper("nice", "n", &["--adjustment"], 0),
    wrapper("noglob", "", &[], 0),
    wrapper("nohup", "", &[], 0),
    wrapper("nsenter", "tSGW", &["--target", "--setuid", "--setgid"], 0),
    wrapper("perf", "eop", &[], 1),
    wrapper("pkexec", "", &["--user"], 0),
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
    wrapper("su-exec", "", &[], 1),
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
    wrapper("tini", "eps", &[], 0),
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
pub(super) struct Interpreter {
    pub(super) name: &'static str,
    /// The letters of options that code follows.
    pub(super) code: &'static str,
    pub(super) long_code: &'static [&'static str],
    /// The letters of options that take another argument.
    pub(super) args: &'static str,
    /// The letters among them whose argument is loaded as code.
    pub(super) loads: &'static str,
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

pub(super) const SHELLS: WordList =
    WordList("ash bash csh dash fish ksh ksh93 mksh rbash sh tcsh yash zsh");

pub(super) const INTERPRETERS: &[Interpreter] = &[
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
pub(super) const ALL_CODE: WordList = WordList(
    "R alias at batch bind compgen complete crontab dc ed emacs entr eval ex expect fc ftp gdb ghci \
     gnome-terminal gnuplot hyperfine iex ipython irb jshell konsole lftp lldb m4 mail mailx \
     mariadb mongosh mutt mysql nix-shell nvim octave parallel powershell psql pwsh red rsh runuser \
     rush sbcl screen script sem socat source sqlite3 su swift telnet tmux trap vi view vim vimdiff \
     watch xterm",
);

/// Programs among them that give their arguments or their input to a shell.
pub(super) const RUN_COMMANDS: WordList = WordList(
    "at batch entr expect gnome-terminal hyperfine konsole nix-shell parallel rsh runuser rush \
     screen script sem su tmux watch xterm",
);

/// Programs with options that run other programs or load code.
pub(super) const OPTIONS_RUN: WordList = WordList(
    "7z ack ag ansible ansible-playbook apt apt-get bat black bsdtar bunx c++ cargo cc clang \
     clang++ cloc cmake convert cpio ctags curl delta dnf docker dpkg eslint fd fdfind ffmpeg \
     flake8 g++ gcc gem gh git go gpg gradle helm hg install ip javac journalctl kubectl latex ld \
     less magick man markdownlint more mvn mypy nc ncat ninja nmap npm npx openssl pandoc patch \
     pdflatex pip pip3 pnpm pnpx podman poetry prettier pytest rg rpm rsync rustc scp sftp sort \
     split svn systemctl tar tcpdump terraform tsc tshark uv uvx wget xelatex yarn yum zip",
);

/// Options of such programs whose argument is a program, code, or a configuration that names one.
pub(super) const CODE_OPTIONS: &[(&[&str], &[&str])] = &[
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
pub(super) const RUN_PACKAGES: WordList = WordList("bunx npx pnpx uvx");

/// Options after which the next word is never an option.
pub(super) const TEXT_OPTIONS: WordList = WordList(
    "-m --message -name -iname -path -ipath -H --header -d --data --data-raw --data-urlencode \
     --json",
);

/// Programs that take arguments as text, and change files or the system at most.
pub(super) const PLAIN: WordList = WordList(
    ": [ awk b2sum base64 basename bunzip2 bzip2 cat cd chgrp chmod chown cksum clear cmp column \
     comm cp csplit cut date dd df diff dig dirname du echo egrep exit expr factor false fgrep file \
     find fold free getent gofmt grep gunzip gzip head hexdump host hostname iconv id jc join jq \
     jsonlint kill lint ln locate logger ls lsof md5sum mkdir mkfifo mktemp mv netstat nl \
     notify-send nproc nslookup numfmt od paste pbcopy pgrep ping pkill printenv printf ps pwd \
     readlink realpath return rev rm rmdir ruff rustfmt say sed seq sha1sum sha224sum sha256sum \
     sha384sum sha512sum shellcheck shift shuf sleep ss stat strings sum sync tac tail tee test \
     tokei touch tr traceroute tree true truncate type uname uniq unlink unzip uptime wc which who \
     whoami whois wl-copy xclip xmllint xxd xz yamllint yes yq zcat zgrep zstd",
);
