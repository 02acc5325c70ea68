//! Tests of the installation, with scripts in place of the built programs.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use super::*;

const HAFT: &str = r#"#!/bin/sh
case "$1" in
  completions) echo "completions for $2" ;;
  manual) echo ".TH haft" > "$2/haft.1"; echo ".TH haft-list" > "$2/haft-list.1" ;;
esac
"#;

const SYSTEM_TOOLS: &str = "#!/bin/sh\nprintf 'bash\\nfile-read\\n'\n";

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        let place = Place(tempfile::tempdir().expect("a temporary folder"));
        fs::create_dir(place.path("built")).expect("a folder of ours");
        place.program("haft", HAFT);
        place.program("haft-system-tools", SYSTEM_TOOLS);
        place
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn program(&self, name: &str, script: &str) {
        let path = self.path("built").join(name);
        fs::write(&path, script).expect("a folder of ours");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a file of ours");
    }

    fn install(&self) -> Result<()> {
        let install = Install {
            prefix: self.path("prefix"),
            debug: false,
            from: Some(self.path("built")),
        };
        install.run()
    }

    fn found(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut folders = vec![self.path("prefix")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).expect("a folder of ours").flatten() {
                if entry.path().is_dir() {
                    folders.push(entry.path());
                } else {
                    let path = entry.path();
                    let below = path.strip_prefix(self.path("prefix")).expect("below");
                    found.push(below.display().to_string());
                }
            }
        }
        found.sort();
        found
    }
}

const INSTALLED: [&str; 9] = [
    "bin/haft",
    "libexec/haft/bash",
    "libexec/haft/file-read",
    "share/bash-completion/completions/haft",
    "share/doc/haft/THIRD_PARTY_NOTICES.txt",
    "share/fish/vendor_completions.d/haft.fish",
    "share/man/man1/haft-list.1",
    "share/man/man1/haft.1",
    "share/zsh/site-functions/_haft",
];

/// ikigai 50: the system tools are in `PREFIX/libexec/haft`.
#[test]
fn everything_goes_where_it_is_looked_for() {
    let place = Place::new();
    place.install().expect("it can be installed");
    assert_eq!(place.found(), INSTALLED);
    let completions = fs::read_to_string(place.path("prefix/share/zsh/site-functions/_haft"));
    assert_eq!(completions.expect("there"), "completions for zsh\n");
    let of = |path: &str| fs::metadata(place.path("prefix").join(path)).expect("there");
    assert_eq!(of("bin/haft").mode() & 0o777, 0o755);
    assert_eq!(of("share/man/man1/haft.1").mode() & 0o777, 0o644);
    assert_eq!(
        of("libexec/haft/bash").ino(),
        of("libexec/haft/file-read").ino()
    );
}

#[test]
fn a_second_installation_replaces_the_first() {
    let place = Place::new();
    place.install().expect("it can be installed");
    let newer = format!("{SYSTEM_TOOLS}# newer\n");
    place.program("haft-system-tools", &newer);
    // Held open, as by a running program, which still reads the old file.
    let mut running = fs::File::open(place.path("prefix/libexec/haft/file-read")).expect("there");
    place.install().expect("it can be installed again");
    assert_eq!(place.found(), INSTALLED);
    for name in ["bash", "file-read"] {
        let installed = fs::read_to_string(place.path("prefix/libexec/haft").join(name));
        assert_eq!(installed.expect("there"), newer);
    }
    let mut old = String::new();
    std::io::Read::read_to_string(&mut running, &mut old).expect("open");
    assert_eq!(old, SYSTEM_TOOLS);
}

#[test]
fn a_prefix_that_cannot_be_written_is_said_before_anything_is_built() {
    let place = Place::new();
    fs::write(place.path("prefix"), "a file").expect("a folder of ours");
    let error = place.install().expect_err("a file is in the way");
    let Error::Missing { what, hint } = error else {
        panic!("not a sentence for a person: {error:?}");
    };
    assert!(
        what.starts_with("nothing can be installed below `"),
        "{what}"
    );
    assert_eq!(
        hint,
        "a file is in the way: move it, or choose another prefix"
    );
}

#[test]
fn programs_that_are_not_there_are_named() {
    let place = Place::new();
    fs::remove_file(place.path("built/haft-system-tools")).expect("a file of ours");
    let error = place.install().expect_err("one is missing").to_string();
    assert!(
        error.ends_with("built/haft-system-tools` does not exist"),
        "{error}"
    );
}
