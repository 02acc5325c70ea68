//! Built-in tools that start git, in repositories with every configuration that names a program.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use crate::sandbox::Sandbox;
use crate::served::Served;

/// The calls that start git.
const CALLS: [(&str, &str); 4] = [
    ("git-status", "{}"),
    ("git-diff-summary", "{}"),
    ("git-diff-summary", "{\"staged\":true}"),
    ("workspace-info", "{}"),
];

/// Configurations that let git start a program, by git-config(1) and gitattributes(5). `EVIL` is a
/// program that leaves a trace. All files have the filter, the diff driver and the merge driver
/// `evil`, unless the second text says otherwise.
const HOSTILE: &[(&[u8], &[u8])] = &[
    (b"[core]\n\tfsmonitor = EVIL", b""),
    (b"[core]\n\thooksPath = HOOKS", b""),
    (b"[core]\n\tsshCommand = EVIL", b""),
    (b"[core]\n\tgitProxy = EVIL", b""),
    (b"[core]\n\teditor = EVIL", b""),
    (b"[core]\n\tpager = EVIL", b""),
    (b"[core]\n\taskPass = EVIL", b""),
    (b"[core]\n\talternateRefsCommand = EVIL", b""),
    (b"[sequence]\n\teditor = EVIL", b""),
    (b"[credential]\n\thelper = !EVIL", b""),
    (b"[credential \"https://x.example\"]\n\thelper = EVIL", b""),
    (b"[diff]\n\texternal = EVIL", b""),
    (b"[diff]\n\tsubmodule = log", b""),
    (b"[status]\n\tsubmoduleSummary = true", b""),
    (b"[diff \"evil\"]\n\tcommand = EVIL", b""),
    (
        b"[diff \"evil\"]\n\ttextconv = EVIL\n\tcachetextconv = true",
        b"",
    ),
    (
        b"[diff]\n\ttool = evil\n[difftool \"evil\"]\n\tcmd = EVIL\n\tpath = EVIL",
        b"",
    ),
    (
        b"[merge]\n\ttool = evil\n[mergetool \"evil\"]\n\tcmd = EVIL\n\tpath = EVIL",
        b"",
    ),
    (b"[merge \"evil\"]\n\tdriver = EVIL", b""),
    (b"[filter \"evil\"]\n\tclean = EVIL", b""),
    (b"[filter \"evil\"]\n\tclean = EVIL\n\trequired = true", b""),
    (b"[filter \"evil\"]\n\tsmudge = EVIL", b""),
    (b"[filter \"evil\"]\n\tprocess = EVIL", b""),
    (b"[FILTER \"evil\"]\n\tCLEAN = EVIL", b""),
    (b"[filter \"EVIL-2\"]\n\tclean = EVIL", b"* filter=EVIL-2"),
    (b"[filter.evil]\n\tclean = EVIL", b""),
    (b"[filter \"x=y\"]\n\tclean = EVIL", b"* filter=x=y"),
    (
        b"[filter \"x=y.clean=\"]\n\tclean = EVIL",
        b"* filter=x=y.clean=",
    ),
    (b"[filter \"=\"]\n\tprocess = EVIL", b"* filter=="),
    (b"[filter \"x.y\"]\n\tprocess = EVIL", b"* filter=x.y"),
    (b"[filter \"x.clean\"]\n\tclean = EVIL", b"* filter=x.clean"),
    (b"[filter \"\"]\n\tclean = EVIL", b"* filter="),
    (
        b"[filter \"\xc3\xa4\"]\n\tclean = EVIL",
        b"* filter=\xc3\xa4",
    ),
    (
        b"[filter \"\xff\xfe\"]\n\tclean = EVIL",
        b"* filter=\xff\xfe",
    ),
    (
        b"[filter \"a\xe2\x80\xaeb\"]\n\tclean = EVIL",
        b"* filter=a\xe2\x80\xaeb",
    ),
    (
        b"[filter \"a\\\"b\\\\\"]\n\tclean = EVIL",
        b"* filter=a\"b\\",
    ),
    (b"[filter \"%s$x`\"]\n\tclean = EVIL", b"* filter=%s$x`"),
    (b"[gpg]\n\tprogram = EVIL", b""),
    (
        b"[gpg \"ssh\"]\n\tprogram = EVIL\n\tdefaultKeyCommand = EVIL",
        b"",
    ),
    (
        b"[log]\n\tshowSignature = true\n[gpg \"x509\"]\n\tprogram = EVIL",
        b"",
    ),
    (
        b"[pager]\n\tstatus = EVIL\n\tdiff = EVIL\n\tremote = EVIL\n\tconfig = EVIL",
        b"",
    ),
    (b"[interactive]\n\tdiffFilter = EVIL", b""),
    (
        b"[alias]\n\tstatus = !EVIL\n\tdiff = !EVIL\n\tremote = !EVIL\n\trev-parse = !EVIL",
        b"",
    ),
    (
        b"[web]\n\tbrowser = evil\n[browser \"evil\"]\n\tcmd = EVIL",
        b"",
    ),
    (b"[help]\n\tautoCorrect = immediate\n\tbrowser = EVIL", b""),
    (b"[man]\n\tviewer = evil\n[man \"evil\"]\n\tcmd = EVIL", b""),
    (b"[guitool \"evil\"]\n\tcmd = EVIL", b""),
    (b"[instaweb]\n\thttpd = EVIL\n\tbrowser = EVIL", b""),
    (
        b"[sendemail]\n\tsmtpServer = EVIL\n\tsendmailCmd = EVIL\n\ttoCmd = EVIL",
        b"",
    ),
    (b"[imap]\n\ttunnel = EVIL", b""),
    (
        b"[remote \"origin\"]\n\turl = x:y\n\tuploadpack = EVIL\n\treceivepack = EVIL",
        b"",
    ),
    (b"[remote \"origin\"]\n\turl = ext::EVIL", b""),
    (b"[remote \"origin\"]\n\turl = x\n\tvcs = evil", b""),
    (
        b"[core]\n\trepositoryFormatVersion = 1\n[extensions]\n\tpartialClone = origin\n\
          [remote \"origin\"]\n\turl = ext::EVIL\n\tpromisor = true",
        b"",
    ),
    (
        b"[url \"ext::EVIL \"]\n\tinsteadOf = https://x.example/",
        b"",
    ),
    (b"[uploadpack]\n\tpackObjectsHook = EVIL", b""),
    (b"[trailer \"x\"]\n\tcommand = EVIL\n\tcmd = EVIL", b""),
    (
        b"[submodule \"s\"]\n\tupdate = !EVIL\n\turl = ext::EVIL\n\tactive = true",
        b"",
    ),
    (b"[submodule]\n\trecurse = true", b""),
    (b"[init]\n\ttemplateDir = HOOKS", b""),
    (
        b"[hook \"evil\"]\n\tcommand = EVIL\n\tevent = post-index-change",
        b"",
    ),
    (b"[tar \"x\"]\n\tcommand = EVIL", b""),
    (b"[gc]\n\trecentObjectsHook = EVIL\n\tauto = 1", b""),
    (
        b"[lfs \"extension.evil\"]\n\tclean = EVIL\n\tsmudge = EVIL",
        b"",
    ),
    (b"[include]\n\tpath = INCLUDED", b""),
    (b"[includeIf \"gitdir:**\"]\n\tpath = INCLUDED", b""),
    (b"[includeIf \"onbranch:**\"]\n\tpath = INCLUDED", b""),
    (
        b"[includeIf \"hasconfig:remote.*.url:**\"]\n\tpath = INCLUDED\n[remote \"o\"]\n\turl = x",
        b"",
    ),
    (
        b"[core]\n\trepositoryFormatVersion = 1\n[extensions]\n\tworktreeConfig = true",
        b"",
    ),
];

struct Repository(Sandbox);

impl Repository {
    fn new() -> Repository {
        let sandbox = Sandbox::with_home();
        let trace = sandbox.path().join("trace");
        let script = format!("#!/bin/sh\necho ran >> {}\ncat\n", trace.display());
        let evil = sandbox.write("evil", &script);
        let hook = sandbox.write("hooks/post-index-change", &script);
        for path in [&evil, &hook] {
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("a file of ours");
        }
        let included = "[filter \"evil\"]\n\tclean = EVIL\n[core]\n\tfsmonitor = EVIL\n";
        let included = included.replace("EVIL", &evil.display().to_string());
        sandbox.write("included", &included);
        let made = sandbox.sh(
            "git init -q -b main p && cd p && git config user.name a && git config user.email a@b \
             && echo one > a.txt && echo one > b.txt && git add . && git commit -qm one \
             && echo two > a.txt && echo two > b.txt && git add b.txt && echo three > b.txt \
             && cp .git/config ../config && cp ../included .git/config.worktree",
        );
        assert_eq!(made.code, 0, "{}", made.output);
        Repository(sandbox)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Gives the repository a configuration.
    fn configure(&self, config: &[u8], attributes: &[u8]) {
        let text = config.to_vec();
        let text = [
            ("EVIL", "evil"),
            ("HOOKS", "hooks"),
            ("INCLUDED", "included"),
        ]
        .into_iter()
        .fold(text, |text, (word, name)| {
            let path = self.path(name).display().to_string();
            replace(&text, word.as_bytes(), path.as_bytes())
        });
        let own = fs::read(self.path("config")).expect("a file of ours");
        let all = [&own[..], b"\n", &text, b"\n"].concat();
        fs::write(self.path("p/.git/config"), all).expect("a file of ours");
        let attributes = match attributes {
            b"" => &b"* filter=evil diff=evil merge=evil"[..],
            attributes => attributes,
        };
        fs::write(self.path("p/.git/info/attributes"), attributes).expect("a file of ours");
    }

    fn serve(&self) -> Served {
        let mut haft = self.0.haft();
        haft.args(["--cwd", "p", "serve", "rest", "--listen", "127.0.0.1:0"]);
        Served::start(&mut haft)
    }

    fn call(&self, line: &str) -> String {
        self.0.sh(&format!("haft --builtin-tools {line}")).output
    }
}

/// Replaces a word that is not part of another one.
fn replace(text: &[u8], word: &[u8], with: &[u8]) -> Vec<u8> {
    let mut replaced = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.windows(word.len()).position(|part| part == word) {
        let after = &rest[at + word.len()..];
        let is_name = after.first() == Some(&b'-');
        replaced.extend(&rest[..at]);
        replaced.extend(if is_name { word } else { with });
        rest = after;
    }
    replaced.extend(rest);
    replaced
}

#[test]
fn no_program_of_a_hostile_configuration_runs() {
    let repository = Repository::new();
    let served = repository.serve();
    for (config, attributes) in HOSTILE {
        let shown = String::from_utf8_lossy(config);
        repository.configure(config, attributes);
        for (tool, arguments) in CALLS {
            let reply = served.post(&format!("/api/tools/{tool}/call"), arguments);
            assert!(
                !repository.path("trace").exists(),
                "{tool} with {shown}: {}",
                reply.body
            );
        }
    }
}

/// The traps work: git itself runs into them.
#[test]
fn git_itself_runs_the_programs_of_a_hostile_configuration() {
    let repository = Repository::new();
    for (config, attributes) in HOSTILE {
        let shown = String::from_utf8_lossy(config);
        let is_named = attributes.is_empty() || attributes.ends_with(b"filter=x=y");
        if !is_named || !shown.starts_with("[filter ") || !shown.contains("clean = EVIL") {
            continue;
        }
        repository.configure(config, attributes);
        let ran = repository.0.sh("cd p && git status");
        let trace = repository.path("trace");
        assert!(trace.exists(), "{shown}: {}", ran.output);
        fs::remove_file(trace).expect("a file of ours");
    }
}

/// The results are those of git in an ordinary repository.
#[test]
fn the_results_are_those_of_git() {
    let repository = Repository::new();
    repository.configure(b"[filter \"x=y\"]\n\tclean = EVIL", b"* filter=x=y");
    assert_eq!(
        repository.call("--cwd p call git-status"),
        " M a.txt\nMM b.txt\n"
    );
    let diff = repository.call("--cwd p call git-diff-summary");
    assert!(diff.contains("2 files changed"), "{diff}");
}

/// The sandbox of the project's tools bounds a user's own filter, too.
#[test]
fn git_runs_in_the_sandbox_of_the_project() {
    let mut repository = Repository::new();
    repository.0.profile_of_the_project_is_configured();
    repository.0.isolation_is_configured();
    repository.0.write("home/.ssh/id", "SECRET\n");
    let copied = repository.path("p/copied");
    let filter = repository.0.write(
        "bin/filter",
        &format!(
            "#!/bin/sh\ncat \"$HOME/.ssh/id\" >> {} 2>/dev/null\necho ran >> {}\ncat\n",
            copied.display(),
            repository.path("p/ran").display()
        ),
    );
    fs::set_permissions(&filter, fs::Permissions::from_mode(0o755)).expect("a file of ours");
    let path = std::env::var("PATH").unwrap_or_default();
    let bin = repository.path("bin");
    let haft = PathBuf::from(env!("CARGO_BIN_EXE_haft"));
    let folder = haft.parent().expect("a folder").display().to_string();
    repository
        .0
        .set("PATH", format!("{}:{folder}:{path}", bin.display()));
    repository
        .0
        .write("home/.gitconfig", "[filter \"own\"]\n\tclean = filter\n");
    repository.configure(b"", b"* filter=own");
    repository.call("--cwd p call git-status");
    assert!(
        repository.path("p/ran").exists(),
        "a filter of the user's own runs"
    );
    let copied = fs::read_to_string(copied).unwrap_or_default();
    assert!(!copied.contains("SECRET"), "{copied}");
}

/// Repositories that lie in part outside of the project are read in the sandbox, too.
#[test]
fn linked_repositories_are_read_in_the_sandbox() {
    let mut repository = Repository::new();
    repository.0.profile_of_the_project_is_configured();
    repository.0.isolation_is_configured();
    let made = repository.0.sh(
        "cd p && git worktree add -q ../w && cd .. && echo new > w/new.txt \
         && mkdir -p p/sub/deep && echo new > p/sub/deep/new.txt \
         && git clone -q --shared p s && echo new > s/new.txt \
         && git -c protocol.file.allow=always -C s submodule --quiet add \"$CASE/p\" m 2>&1 \
         && echo new > s/m/new.txt",
    );
    assert_eq!(made.code, 0, "{}", made.output);
    for (folder, expected) in [
        ("w", "?? new.txt\n"),
        ("p/sub/deep", "?? sub/\n"),
        ("s", "?? new.txt\n"),
        ("s/m", "?? new.txt\n"),
    ] {
        let status = repository.call(&format!("--cwd {folder} call git-status"));
        assert!(status.contains(expected), "{folder}: {status}");
    }
}

/// A `.git` file does not open a folder that does not lead back to it.
#[test]
fn a_link_to_a_foreign_repository_opens_nothing() {
    let mut repository = Repository::new();
    repository.0.profile_of_the_project_is_configured();
    repository.0.isolation_is_configured();
    let made = repository.0.sh(
        "git init -q home/private && cd home/private && git commit -q --allow-empty -m x \
         && git checkout -qb secret-branch && cd ../.. && mkdir q \
         && echo \"gitdir: $CASE/home/private/.git\" > q/.git",
    );
    assert_eq!(made.code, 0, "{}", made.output);
    let info = repository.call("--cwd q call workspace-info");
    assert!(!info.contains("secret-branch"), "{info}");
}
