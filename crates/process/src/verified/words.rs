//! Words of a project's command, and the files of the project that they name.
//!
//! A word names a file as a whole (`server.js`), behind an option (`--import=./hook.mjs`), or inside
//! of a text (`sh -c "./run.sh && ls"`). Each such file becomes a part of the word, for which the
//! path of the verified copy is put in at the start.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use super::{NotVerified, ProjectScope, VerifiedFile};
use crate::system;

/// Characters that end a path inside of a text: those of shells, of options and of lists.
const DELIMITERS: &[char] = &[
    ' ', '\t', '\n', '\r', '"', '\'', '`', '=', ':', ',', ';', '|', '&', '<', '>', '(', ')', '[',
    ']', '{', '}', '$', '\\', '@', '!', '?', '*',
];

/// Endings of the names of files that an interpreter runs.
const CODE_EXTENSIONS: [&str; 37] = [
    "awk", "bash", "cjs", "class", "clj", "cts", "ex", "exs", "fish", "groovy", "jar", "jl", "js",
    "jsx", "ksh", "lua", "mjs", "mk", "mts", "nu", "phar", "php", "pl", "ps1", "py", "r", "rb",
    "rkt", "scm", "sed", "sh", "so", "tcl", "ts", "tsx", "wasm", "zsh",
];

/// Names of files, in lower case, with commands for programs that build, run or start others.
const CODE_NAMES: [&str; 13] = [
    "compose.yaml",
    "compose.yml",
    "docker-compose.yaml",
    "docker-compose.yml",
    "dockerfile",
    "gemfile",
    "gnumakefile",
    "justfile",
    "makefile",
    "package.json",
    "rakefile",
    "taskfile.yaml",
    "taskfile.yml",
];

/// Use of a file that a word names.
#[derive(Clone, Copy, PartialEq)]
enum FileUse {
    /// It is the program.
    Program,
    /// It becomes code.
    Code,
    /// It becomes code if it looks like code.
    Argument,
}

/// A word of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandWord {
    /// Each file that it names may become code.
    Code(String),
    /// An argument of a program. A file that it names is code if it looks like code, and data
    /// otherwise.
    Argument(String),
    /// A value. Files that it names are data.
    Data(String),
}

impl CommandWord {
    /// Returns the text.
    pub fn text(&self) -> &str {
        match self {
            CommandWord::Code(text) | CommandWord::Argument(text) | CommandWord::Data(text) => text,
        }
    }
}

/// A word with the files of the project that it names.
#[derive(Clone, Debug)]
pub(super) struct ProgramWord {
    pub(super) parts: Vec<WordPart>,
    /// The word as it was written.
    written: CommandWord,
}

/// Part of a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum WordPart {
    Text(OsString),
    /// A file of the project.
    File(VerifiedFile),
}

impl ProgramWord {
    pub(super) fn file(file: VerifiedFile) -> ProgramWord {
        ProgramWord {
            written: CommandWord::Code(file.path.display().to_string()),
            parts: vec![WordPart::File(file)],
        }
    }

    pub(super) fn data(text: OsString) -> ProgramWord {
        ProgramWord {
            written: CommandWord::Data(text.to_string_lossy().into_owned()),
            parts: vec![WordPart::Text(text)],
        }
    }

    /// Text of a word with one part, or the path of its file.
    pub(super) fn text(&self) -> &OsStr {
        match self.parts.first() {
            Some(WordPart::Text(text)) => text,
            Some(WordPart::File(file)) => file.path.as_os_str(),
            None => OsStr::new(""),
        }
    }

    pub(super) fn files(&self) -> impl Iterator<Item = &VerifiedFile> {
        self.parts.iter().filter_map(|part| match part {
            WordPart::Text(_) => None,
            WordPart::File(file) => Some(file),
        })
    }

    /// Word with a line feed for each file, whose hash is known.
    pub(super) fn without_files(&self) -> CommandWord {
        let texts = self.parts.iter().map(|part| match part {
            WordPart::Text(text) => text.to_string_lossy(),
            WordPart::File(_) => "\n".into(),
        });
        let text = texts.collect();
        match self.written {
            CommandWord::Code(_) => CommandWord::Code(text),
            CommandWord::Argument(_) => CommandWord::Argument(text),
            CommandWord::Data(_) => CommandWord::Data(text),
        }
    }

    /// Word with the path that `place` returns for each file.
    pub(super) fn with_paths(
        &self,
        place: impl Fn(&VerifiedFile) -> PathBuf,
    ) -> Result<OsString, NotVerified> {
        let mut filled = OsString::new();
        for part in &self.parts {
            match part {
                WordPart::Text(text) => filled.push(text),
                WordPart::File(file) => {
                    let path = place(file);
                    // In a text of several parts, these characters have a meaning.
                    let is_plain = path.to_str().is_some_and(|path| !path.contains(DELIMITERS));
                    if self.parts.len() > 1 && !is_plain {
                        let text = format!(
                            "a path with special characters cannot stand inside of a text: {}",
                            path.display()
                        );
                        return Err(NotVerified::Unreadable(text));
                    }
                    filled.push(path);
                }
            }
        }
        Ok(filled)
    }
}

/// Files of the project `root` that the words of a command name, which starts in
/// `folder`. The first word is the program.
pub fn project_files(root: &Path, folder: &Path, words: &[CommandWord]) -> Vec<PathBuf> {
    let alias = root.to_owned();
    let scope = ProjectScope {
        root: root.canonicalize().unwrap_or_else(|_| alias.clone()),
        alias: Some(alias),
        folder: folder.to_owned(),
    };
    // Each file that is found has a hash here, so none is refused.
    let any = |path: &Path| {
        let hash = blake3::Hash::from_bytes([0; blake3::OUT_LEN]);
        path.is_file().then_some(hash)
    };
    let named = words.iter().enumerate().flat_map(|(index, word)| {
        let word = scope.parse(word, index == 0, &any).ok();
        let files = word.iter().flat_map(ProgramWord::files);
        files.map(|file| file.path.clone()).collect::<Vec<_>>()
    });
    named.collect()
}

impl ProjectScope {
    /// Word with the files of the project that it names.
    pub(super) fn parse(
        &self,
        written: &CommandWord,
        is_program: bool,
        digest: &dyn Fn(&Path) -> Option<blake3::Hash>,
    ) -> Result<ProgramWord, NotVerified> {
        let text = written.text();
        let use_of_files = match written {
            CommandWord::Data(text) => return Ok(ProgramWord::data(text.into())),
            CommandWord::Code(_) if is_program => FileUse::Program,
            CommandWord::Code(_) => FileUse::Code,
            CommandWord::Argument(_) => FileUse::Argument,
        };
        let mut word = ProgramWord {
            parts: Vec::new(),
            written: written.clone(),
        };
        // A program without a slash is looked up on the path.
        if is_program && !text.contains('/') {
            return Ok(ProgramWord::data(text.into()));
        }
        if let Some(file) = self.named_file(text, use_of_files, digest)? {
            word.parts.push(WordPart::File(file));
            return Ok(word);
        }
        if is_program {
            word.parts.push(WordPart::Text(text.into()));
            return Ok(word);
        }
        let mut begin = 0;
        for token in text.split(DELIMITERS) {
            let start = token.as_ptr().addr() - text.as_ptr().addr();
            // The value of an option may follow its letter at once: `-r./hook.js`.
            let glued = token.strip_prefix('-').and_then(|rest| {
                let letter = rest.chars().next()?;
                Some(start + 1 + letter.len_utf8())
            });
            for from in [Some(start), glued].into_iter().flatten() {
                let end = start + token.len();
                let Some(file) = self.named_file(&text[from..end], use_of_files, digest)? else {
                    continue;
                };
                word.parts.push(WordPart::Text(text[begin..from].into()));
                word.parts.push(WordPart::File(file));
                begin = end;
                break;
            }
        }
        word.parts.push(WordPart::Text(text[begin..].into()));
        Ok(word)
    }

    /// File of the project that a text names.
    fn named_file(
        &self,
        text: &str,
        use_of_file: FileUse,
        digest: &dyn Fn(&Path) -> Option<blake3::Hash>,
    ) -> Result<Option<VerifiedFile>, NotVerified> {
        if text.is_empty() || text.contains('\0') {
            return Ok(None);
        }
        let path = without_dots(&self.folder.join(text));
        let file = |path: &Path, digest: blake3::Hash| VerifiedFile {
            path: path.to_owned(),
            digest: *digest.as_bytes(),
        };
        let Ok(real) = path.canonicalize() else {
            // A trusted file may be missing for a moment.
            let path = self.real(&path);
            return Ok(digest(&path).map(|digest| file(&path, digest)));
        };
        if !real.is_file() || use_of_file == FileUse::Argument && !may_be_code(&real) {
            return Ok(None);
        }
        if self.contains(&real) {
            let digest = digest(&real).ok_or_else(|| NotVerified::Unlisted(real.clone()))?;
            return Ok(Some(file(&real, digest)));
        }
        // A virtual environment of Python links to the interpreter of the machine.
        if self.contains(&path) && use_of_file != FileUse::Program {
            return Err(NotVerified::LeadsOut(path));
        }
        Ok(None)
    }
}

/// Returns true if a file is likely to be run: by its mode, its name or its first bytes.
fn may_be_code(path: &Path) -> bool {
    let extension = path.extension().and_then(OsStr::to_str);
    let extension = extension.map(str::to_lowercase);
    let name = path.file_name().and_then(OsStr::to_str);
    let name = name.map(str::to_lowercase);
    if extension.is_some_and(|extension| CODE_EXTENSIONS.contains(&&*extension))
        || name.is_some_and(|name| CODE_NAMES.contains(&&*name))
    {
        return true;
    }
    let is_program = path
        .metadata()
        .is_ok_and(|found| system::is_program(path, &found));
    let mut start = [0; 2];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut start));
    is_program || read.is_ok() && start == *b"#!"
}

/// Removes `.` and `..` from a path, which are often written in commands.
fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            // `..` of a link is another folder than its text says.
            Component::ParentDir if plain.is_symlink() || plain.ends_with("..") => {
                plain.push("..");
            }
            Component::ParentDir => drop(plain.pop()),
            part => plain.push(part),
        }
    }
    plain
}
