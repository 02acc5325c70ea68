//! Walk over the words of a command by the tables.

use super::tables::*;
use super::{
    CodeInput, Danger, Finding, HOLE, Judged, ShellScript, base_name, is_dangerous_variable, judge,
};

/// Judgement of one command.
pub(super) struct Judge<'a> {
    pub(super) words: &'a [String],
    pub(super) judged: Judged,
}

impl Judge<'_> {
    fn find(&mut self, word: usize, program: &str, danger: Danger) {
        self.judged.findings.push(Finding {
            word,
            program: program.to_owned(),
            danger,
        });
    }

    fn has_hole(&self, word: usize) -> bool {
        self.words.get(word).is_some_and(|word| word.contains(HOLE))
    }

    /// Returns true if a word names the standard input.
    fn is_input(&self, word: usize) -> bool {
        let word = self.words.get(word).map(String::as_str);
        word.is_some_and(|word| word == "-" || CodeInput::of_file("", word).is_some())
    }

    /// Marks each hole from a word on.
    fn find_all(&mut self, from: usize, program: &str, danger: Danger) {
        for word in from..self.words.len() {
            if self.has_hole(word) {
                self.find(word, program, danger);
            }
        }
    }

    /// Judges the command that begins at a word.
    pub(super) fn command(&mut self, at: usize) {
        let Some(word) = self.words.get(at) else {
            return;
        };
        if word.contains(HOLE) {
            return self.find(at, "the command", Danger::Program);
        }
        self.judged.program = at;
        let name = base_name(word);
        let plain = without_version(name);
        if let Some(wrapper) = WRAPPERS.iter().find(|known| known.name == name) {
            return self.wrapper(at, wrapper);
        }
        if SHELLS.contains(plain) {
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
            _ if ALL_CODE.contains(name) => {
                self.find_all(at + 1, name, Danger::Code);
                if RUN_COMMANDS.contains(name) {
                    for index in at + 1..self.words.len() {
                        if !self.words[index].starts_with('-') {
                            self.add_script(index, "sh");
                        }
                    }
                }
                self.judged
                    .reads_code
                    .get_or_insert_with(|| CodeInput::standard(name));
            }
            _ if OPTIONS_RUN.contains(name) => {
                self.code_options(at);
                self.options(at, Danger::Option);
                self.nested(at);
                if RUN_PACKAGES.contains(name) {
                    let first = (at + 1..self.words.len())
                        .find(|index| !self.words[*index].starts_with('-'));
                    if let Some(first) = first.filter(|first| self.words[*first].contains(HOLE)) {
                        self.find(first, name, Danger::Program);
                    }
                }
            }
            _ if PLAIN.contains(name) => {}
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
            let is_one = SHELLS.contains(name)
                || INTERPRETERS.iter().any(|known| known.name == name)
                || matches!(name, "eval" | "env" | "xargs" | "sudo");
            if is_one && !self.words[index].contains(HOLE) {
                self.judged.may_set = at + 1..index;
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
                if word == option && self.has_hole(index + 1) {
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
            let is_text = index > at + 1 && TEXT_OPTIONS.contains(self.words[index - 1].as_str());
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
                if is_split {
                    self.judged.unclear = Some(wrapper.name.to_owned());
                    return self.find_all(index, wrapper.name, Danger::Code);
                }
                if is_code {
                    self.add_script(index + 1, "sh");
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
                    self.find(index, wrapper.name, Danger::Code);
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
                self.add_script(index + 1, "sh");
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
        let (mut index, mut is_code, mut is_input) = (at + 1, false, false);
        while let Some(word) = self
            .words
            .get(index)
            .filter(|it| it.starts_with(['-', '+']))
        {
            index += 1;
            if matches!(word.as_str(), "-" | "--") {
                break;
            }
            let mut values = usize::from(matches!(word.as_str(), "--rcfile" | "--init-file"));
            if !word.starts_with("--") {
                is_code |= word.starts_with('-') && word.contains('c');
                is_input |= word.starts_with('-') && word.contains('s');
                values = word.matches(['o', 'O']).count();
            }
            is_code |= word.starts_with("--command");
            let own = index - 1..(index + values).min(self.words.len());
            if own.clone().any(|index| self.has_hole(index)) {
                own.filter(|index| self.has_hole(*index))
                    .collect::<Vec<_>>()
                    .into_iter()
                    .for_each(|index| self.find(index, &name, Danger::Code));
                self.judged.unclear = Some(name);
                return;
            }
            index += values;
        }
        let is_option = |word: &String| word.starts_with(HOLE) && !word.contains('/');
        match self.words.get(index) {
            Some(word) if is_option(word) && !self.words[index - 1].starts_with('-') => {
                self.find_all(index, &name, Danger::Code);
                self.judged.file = Some(index);
                self.judged.unclear = Some(name);
            }
            Some(word) if is_code => {
                if word.contains(HOLE) {
                    self.find(index, &name, Danger::Code);
                }
                self.add_script(index, &name);
            }
            Some(word) if !is_input => {
                if word.contains(HOLE) {
                    self.find(index, &name, Danger::Code);
                }
                self.judged.file = Some(index);
                self.judged.reads_code = CodeInput::of_file(&name, word);
            }
            _ => self.judged.reads_code = Some(CodeInput::standard(&name)),
        }
    }

    fn add_script(&mut self, code: usize, shell: &str) {
        self.judged.scripts.push(ShellScript {
            code,
            shell: without_version(shell).to_owned(),
        });
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
                self.judged.reads_code = Some(CodeInput::standard(known.name));
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
                    if self.has_hole(index) {
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
                    let has_hole = self.has_hole(value);
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
            None => self.judged.reads_code = Some(CodeInput::standard(known.name)),
            Some(word) if word.contains(HOLE) => {
                self.judged.file = Some(index);
                self.find(index, known.name, Danger::Code);
            }
            Some(_) if known.name == "perl" && reads_lines => {
                self.find_all(index, known.name, Danger::Code);
            }
            Some(word) => {
                self.judged.file = Some(index);
                self.judged.reads_code = CodeInput::of_file(known.name, word);
            }
        }
    }

    fn code(&mut self, known: &Interpreter, word: usize) {
        if self.has_hole(word) {
            self.find(word, known.name, Danger::Code);
        }
    }

    fn awk(&mut self, at: usize) {
        let (mut index, mut has_file, mut options) = (at + 1, false, true);
        while let Some(word) = self.words.get(index) {
            if word == "--" {
                options = false;
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
            let is_glued = ['f', 'e', 'E'].into_iter().any(is_plain) && word.len() > 2;
            has_file |= is_glued || word.starts_with("--file=") || word.starts_with("--source=");
            if is_code && matches!(word.as_str(), "-f" | "-e" | "-i" | "-l" | "-E")
                || word == "--source"
                || word == "--file"
            {
                has_file |= !matches!(word.as_str(), "-i" | "-l");
                index += 1;
                if self.has_hole(index) {
                    return self.find(index, "awk", Danger::Code);
                }
                if self.is_input(index) {
                    self.judged.reads_code = Some(CodeInput::standard("awk"));
                }
            }
            index += 1;
        }
        let is_leading = |word: &String| word.starts_with(HOLE);
        if !has_file && self.has_hole(index) {
            self.find(index, "awk", Danger::Code);
        } else if has_file && options && self.words.get(index).is_some_and(is_leading) {
            self.find(index, "awk", Danger::Option);
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
                    if self.has_hole(index) {
                        return self.find(index, "sed", Danger::Code);
                    }
                    if self.is_input(index) && self.words[index - 1].ends_with('f') {
                        self.judged.reads_code = Some(CodeInput::standard("sed"));
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
            let has_hole = self.has_hole(value);
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
            self.judged.reads_code = Some(CodeInput::standard(&name));
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
                self.add_inner(judge(&self.words[index + 1..end]), index + 1);
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

    /// Adds what was judged of the words from an index on.
    fn add_inner(&mut self, inner: Judged, from: usize) {
        for mut finding in inner.findings {
            finding.word += from;
            self.judged.findings.push(finding);
        }
        for mut script in inner.scripts {
            script.code += from;
            self.judged.scripts.push(script);
        }
        self.judged.program = from + inner.program;
        self.judged.may_set = from + inner.may_set.start..from + inner.may_set.end;
        self.judged.file = inner.file.map(|file| from + file).or(self.judged.file);
        self.judged.reads_code = inner.reads_code.or(self.judged.reads_code.take());
        self.judged.unclear = inner.unclear.or(self.judged.unclear.take());
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
