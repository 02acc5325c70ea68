//! Effects of commands on their words: builtins of the shell by name, other programs by the tables.

use super::Dialect;
use super::origin::{ANY, INPUT, Rule, TextOrigin};
use super::walk::{CALCULATES, CommandInput, Context, VARIABLE_NAME, Walker};
use super::word::{CommandWord, file_name, identifiers, is_name};
use crate::programs::{self, CodeInput, Danger, HOLE, base_name, judge};

const CHOSEN: &str = "the name of a command, so it would choose what runs; write the name, and give \
                      a list as its arguments: `git \"${list[@]}\"`";

/// Programs that copy text into files that their operands name.
const WRITE_FILES: &[&str] = &[
    "cp", "curl", "dd", "install", "ln", "mv", "rsync", "scp", "sponge", "tee", "wget",
];

/// Shells whose grammar is a part of that of bash.
const KNOWN_SHELLS: &[&str] = &["ash", "bash", "dash", "rbash", "sh"];

impl Walker<'_> {
    /// Judges a simple command.
    pub(super) fn simple(&mut self, words: &[CommandWord], context: &Context<'_>) {
        let Some((first, args)) = words.split_first() else {
            return;
        };
        for word in args {
            self.set_in_word(word, context);
        }
        if !first.has_hole() {
            return self.builtin(words, context);
        }
        let name = base_name(&first.text);
        if !first.text.contains('/') || name.contains(HOLE) {
            return self.refuse(first.line, CHOSEN);
        }
        self.sink(first.origin.clone(), Rule::Never, first.line, CHOSEN);
        self.run_files.push((first.file.clone(), first.line));
        let mut words = words.to_vec();
        words[0].text = name.to_owned();
        self.builtin(&words, context);
    }

    /// Records the variables that an argument like `NAME=…` may set for another program.
    fn set_in_word(&mut self, word: &CommandWord, context: &Context<'_>) {
        for (name, text) in word.variables() {
            if !self.code_variable(name, text, word.line, context) {
                self.facts.assign(name, &word.origin);
            }
        }
    }

    fn never(&mut self, words: &[CommandWord], why: &str) {
        for word in words {
            self.sink(word.origin.clone(), Rule::Never, word.line, why);
        }
    }

    /// Records a number of a builtin. Relatives of bash calculate there, too.
    pub(super) fn operand(&mut self, origin: TextOrigin, line: usize, place: &str) {
        let why = format!("{place}, so it must be a whole number");
        if self.dialect == Dialect::Ksh {
            self.sink(origin, Rule::Number, line, why);
        } else {
            let direct = TextOrigin::of_values(origin.values);
            self.sink(direct, Rule::Operand, line, why);
        }
    }

    fn builtin(&mut self, words: &[CommandWord], context: &Context<'_>) {
        let (first, args) = (&words[0], &words[1..]);
        let (name, line) = (first.text.as_str(), first.line);
        match name {
            "command" | "builtin" | "exec" | "nocorrect" | "noglob" | "-" => {
                let mut rest = args;
                while let Some(word) = rest.first() {
                    match word.text.as_str() {
                        "-v" | "-V" => return,
                        "-a" => rest = rest.get(2..).unwrap_or_default(),
                        text if text.starts_with('-') && !text.contains(HOLE) => rest = &rest[1..],
                        _ => break,
                    }
                }
                self.simple(rest, context);
            }
            "eval" => {
                let why = "`eval`, which runs it; use it as an argument of a command";
                self.never(args, why);
                match args {
                    // The set-up that a program writes.
                    [only] if only.text == "\0" && only.origin.is_own() => {}
                    _ if args.iter().any(CommandWord::has_hole) => self.refuse(line, why),
                    _ => {
                        let code: Vec<&str> = args.iter().map(|word| word.text.as_str()).collect();
                        self.code(&code.join(" "), line, context);
                    }
                }
            }
            "source" | "." => {
                if let Some(file) = args.first() {
                    self.source(file, context);
                }
            }
            "trap" => match args
                .iter()
                .find(|word| word.text == "-" || !is_option(word))
            {
                Some(code) if code.has_hole() => {
                    let why = "`trap`, which runs it; assign it to a variable first, and trap \
                               '… \"$variable\" …'";
                    self.refuse(line, why);
                }
                Some(code) => self.code(&code.text.clone(), line, context),
                None => {}
            },
            "alias" => {
                let why = "an `alias`, which changes what a command is; write a function";
                self.refuse(line, why);
            }
            "hash" | "enable" if args.iter().any(|word| word.text != "-r") => {
                let why = format!("`{name}`, which changes what a command is; leave it out");
                self.refuse(line, why);
            }
            "bind" | "compgen" | "complete" | "compopt" | "fc" | "history" | "shopt" | "coproc"
            | "[[" | "jobs" | "newgrp" | "zmodload" | "autoload" | "emulate" | "setopt"
            | "unsetopt" | "zle" | "functions" => {
                self.never(args, &format!("`{name}`, which may run it"));
            }
            "let" => {
                for word in args {
                    let mut origin = word.origin.clone();
                    origin.spelled.extend(identifiers(&word.text));
                    let why = "`let`, which calculates with it, so it must be a whole number";
                    self.sink(origin, Rule::Number, word.line, why);
                }
            }
            "declare" | "typeset" | "local" | "export" | "readonly" | "integer" | "float" => {
                self.never(args, "a declaration behind another command; write it alone");
            }
            "unset" => {
                for word in args {
                    self.name(word);
                }
            }
            "read" => {
                let (options, names) = split(args, "aditnNpu");
                for (letter, value) in options {
                    match letter {
                        'a' => self.assign_list(value),
                        'p' | 'd' | 'i' => {}
                        't' | 'n' | 'N' | 'u' => {
                            self.operand(value.origin.clone(), value.line, "the options of `read`");
                        }
                        _ => self.never(std::slice::from_ref(value), "the options of `read`"),
                    }
                }
                for name in names {
                    self.assign_input(name);
                }
            }
            "mapfile" | "readarray" => {
                let (options, names) = split(args, "dnOsuCc");
                for (letter, value) in options {
                    match letter {
                        'd' => {}
                        'C' if !value.has_hole() => {
                            let code = format!("{} 0 \"$1\"", value.text);
                            self.code(&code, line, context);
                        }
                        _ => self.never(std::slice::from_ref(value), "the options of `mapfile`"),
                    }
                }
                for name in names {
                    self.assign_list(name);
                }
            }
            "printf" => self.printf(args),
            "test" | "[" => self.test(args),
            "shift" | "ulimit" | "break" | "continue" | "return" | "exit" | "logout" => {
                for word in args {
                    self.operand(word.origin.clone(), word.line, &format!("`{name}`"));
                }
            }
            "wait" => {
                for (index, word) in args.iter().enumerate() {
                    let before = index
                        .checked_sub(1)
                        .map(|before| args[before].text.as_str());
                    if before.is_some_and(|text| text.starts_with('-') && text.ends_with('p')) {
                        self.assign_input(word);
                    } else if word.text.starts_with(['-', HOLE]) {
                        let why = "the options of `wait`";
                        self.sink(word.origin.clone(), Rule::NoOption, line, why);
                    }
                }
            }
            "getopts" => {
                if let Some(name) = args.get(1) {
                    self.assign_input(name);
                }
            }
            "set" => {
                let is_end = |word: &CommandWord| matches!(word.text.as_str(), "--" | "-");
                let end = args.iter().position(is_end).unwrap_or(args.len());
                let why = "the options of the shell; write `set --` before it";
                self.never(&args[..end], why);
            }
            "cd" | "pushd" | "popd" => {
                for word in args {
                    for name in ["PWD", "OLDPWD", "DIRSTACK"] {
                        self.facts.assign(name, &word.origin);
                    }
                }
            }
            "dirs" | "echo" | "print" | "true" | "false" | ":" | "type" | "pwd" | "kill"
            | "umask" | "fg" | "bg" | "disown" | "times" | "caller" | "help" | "suspend" => {}
            _ => self.program(words, context),
        }
    }

    /// Judges `source`, which runs a file, a here-document or the output of a command.
    fn source(&mut self, file: &CommandWord, context: &Context<'_>) {
        let why = "`source`, which runs it; use it as an argument of a command";
        self.sink(file.origin.clone(), Rule::Never, file.line, why);
        self.run_files.push((file.file.clone(), file.line));
        if let Some(input) = CodeInput::of_file("source", &file.text) {
            self.reads_code(&input, file.line, context);
        }
    }

    /// Checks a name of a variable: the shell calculates a subscript in it, even if it is quoted.
    fn name(&mut self, name: &CommandWord) {
        self.sink(name.origin.clone(), Rule::Never, name.line, VARIABLE_NAME);
        self.subscript_in_name(&name.text, name.line);
    }

    pub(super) fn subscript_in_name(&mut self, name: &str, line: usize) {
        if let Some((_, subscript)) = name.split_once('[') {
            let origin = TextOrigin {
                variables: identifiers(subscript).into_iter().collect(),
                ..TextOrigin::default()
            };
            self.sink(origin, Rule::Never, line, VARIABLE_NAME);
        }
    }

    /// Records a name that a command assigns what it reads to.
    fn assign_input(&mut self, name: &CommandWord) {
        self.assign_word(name, &TextOrigin::open());
    }

    fn assign_list(&mut self, name: &CommandWord) {
        self.arrays.insert(name.text.clone());
        self.assign_input(name);
    }

    /// Records a name that a command assigns to, perhaps with a subscript.
    fn assign_word(&mut self, name: &CommandWord, origin: &TextOrigin) {
        self.name(name);
        let plain = name.text.split('[').next().unwrap_or_default();
        if is_name(plain) {
            self.assign(plain, origin, name.line);
        } else {
            self.facts.assign(ANY, origin);
        }
    }

    fn printf(&mut self, args: &[CommandWord]) {
        let (mut name, mut rest) = (None, args);
        if let Some(option) = args.first()
            && let Some(glued) = option.text.strip_prefix("-v")
        {
            let is_glued = !glued.is_empty();
            rest = args.get(2 - usize::from(is_glued)..).unwrap_or_default();
            name = if is_glued {
                Some(CommandWord {
                    text: glued.to_owned(),
                    ..option.clone()
                })
            } else {
                args.get(1).cloned()
            };
        }
        if let Some(name) = name {
            let mut origin = TextOrigin::default();
            rest.iter().for_each(|word| origin.add(&word.origin));
            self.assign_word(&name, &origin);
        }
        let Some((format, values)) = rest.split_first() else {
            return;
        };
        if format.text.starts_with([HOLE, '-']) && format.text != "--" {
            let why = "the format of `printf`, where it must not begin with `-`; \
                       write `printf '%s'` before it";
            self.sink(format.origin.clone(), Rule::NoOption, format.line, why);
        }
        let is_text = |field: &str| field.starts_with(['s', 'b', 'q', '%']) || field.is_empty();
        let is_plain = !format.has_hole() && format.text.split('%').skip(1).all(is_text);
        if self.dialect == Dialect::Ksh && !is_plain {
            for value in values {
                self.sink(value.origin.clone(), Rule::Number, value.line, CALCULATES);
            }
        }
    }

    /// Judges `[` with the words up to `]`.
    fn test(&mut self, args: &[CommandWord]) {
        for (index, word) in args.iter().enumerate() {
            let next = args.get(index + 1);
            let before = index.checked_sub(1).map(|before| &args[before]);
            match word.text.as_str() {
                "-v" | "-R" => {
                    if let Some(next) = next {
                        self.name(next);
                    }
                }
                "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge" => {
                    for side in before.into_iter().chain(next) {
                        self.operand(side.origin.clone(), side.line, "a comparison of numbers");
                    }
                }
                text if (text.starts_with(HOLE) || text.starts_with("-\0"))
                    && next.is_some_and(CommandWord::has_hole) =>
                {
                    let why = "an operator of `test`, so it must not be one; write `[[ … ]]`";
                    self.sink(word.origin.clone(), Rule::NoOption, word.line, why);
                }
                _ => {}
            }
        }
    }

    /// Judges an external program.
    fn program(&mut self, words: &[CommandWord], context: &Context<'_>) {
        let line = words[0].line;
        let mut words = words.to_vec();
        let mut texts: Vec<String> = words.iter().map(|word| word.text.clone()).collect();
        let names = |program| texts.iter().any(|text| base_name(text) == program);
        let (is_xargs, is_find) = (
            names("xargs"),
            ["find", "fd", "fdfind"].into_iter().any(names),
        );
        let mut given = Vec::new();
        if is_xargs {
            given.extend(programs::add_input_of_xargs(&mut texts));
        }
        if is_find {
            given.extend(programs::add_files_of_find(&mut texts));
        }
        words.resize(texts.len(), CommandWord::own(line));
        for (word, text) in words.iter_mut().zip(&texts) {
            word.text.clone_from(text);
        }
        for at in given {
            words[at].origin.add(&TextOrigin::open());
            self.set_in_word(&words[at], context);
        }
        let judged = judge(&texts);
        for finding in &judged.findings {
            let word = &words[finding.word];
            let program = &finding.program;
            let (rule, why) = match finding.danger {
                Danger::Program => {
                    let why = format!("the name of the program that `{program}` runs; write it");
                    self.refuse(word.line, why);
                    continue;
                }
                Danger::Code => (
                    Rule::Never,
                    format!("`{program}`, which runs it as code; {}", way_out(program)),
                ),
                Danger::Option => (
                    Rule::NoOption,
                    format!(
                        "`{program}`, whose options run programs, so it must not begin with `-`; \
                         write `--` before it"
                    ),
                ),
                Danger::OptionOrVariable => (
                    Rule::NoVariable,
                    format!(
                        "`{program}`, so it must not begin with `-` or hold `=`; hand it over by \
                         `environment.variables`"
                    ),
                ),
            };
            self.sink(word.origin.clone(), rule, word.line, why);
        }
        for script in &judged.scripts {
            self.script(&words[script.code], &script.shell, context);
        }
        if let Some(input) = &judged.reads_code {
            self.reads_code(input, line, context);
        }
        if let Some(program) = &judged.unclear {
            let why = format!(
                "`{program}`, whose options are not written in the text, so it may run it as \
                 code; write them, and `--` before the name of a file"
            );
            self.refuse(line, why);
        }
        for (index, word) in words[..judged.program].iter().enumerate() {
            if !word.has_hole() {
                continue;
            }
            for (name, _) in word.variables() {
                if programs::is_dangerous_variable(name) {
                    let why = format!("the variable `{name}`, which decides what programs run");
                    self.sink(word.origin.clone(), Rule::Never, word.line, why);
                }
            }
            if judged.may_set.contains(&index) && !word.text.contains('=') {
                // It may be `NAME=…`.
                self.facts.assign(ANY, &word.origin);
            }
        }
        let run = judged.file.or_else(|| {
            let program = &words[judged.program];
            program.text.contains('/').then_some(judged.program)
        });
        if let Some(file) = run.and_then(|run| words.get(run)) {
            self.run_files.push((file.file.clone(), file.line));
        }
        if WRITE_FILES.contains(&base_name(&texts[judged.program])) {
            for word in &words[judged.program + 1..] {
                let file = word.file.rsplit('=').next().unwrap_or_default();
                self.written_files.insert(file_name(file));
            }
        }
    }

    /// Walks the code of a shell, which is an argument of its command.
    fn script(&mut self, code: &CommandWord, shell: &str, context: &Context<'_>) {
        if !KNOWN_SHELLS.contains(&shell) {
            let why = format!("code for `{shell}`, which haft cannot parse; use `bash`");
            return self.refuse(code.line, why);
        }
        if !code.origin.variables.is_empty() {
            let why = format!("`{shell}`, which runs it as code; {}", way_out(shell));
            return self.refuse(code.line, why);
        }
        // What remains are numbers, and values that the author lists.
        self.code(&code.text.replace(HOLE, "0"), code.line, context);
    }

    /// Judges a program that takes its code from its standard input.
    fn reads_code(&mut self, input: &CodeInput, line: usize, context: &Context<'_>) {
        let program = input.program.as_str();
        let why = format!(
            "the standard input of `{program}`, which runs it as code; {}",
            way_out(program)
        );
        let is_shell = programs::is_shell(program);
        match &context.input {
            _ if !input.is_standard => self.refuse(line, why),
            CommandInput::Inherited => {
                self.sink(TextOrigin::of_variable(INPUT), Rule::Never, line, why);
            }
            CommandInput::Text(text) if is_shell || programs::runs_commands(program) => {
                let code = CommandWord {
                    text: text.clone(),
                    ..CommandWord::own(line)
                };
                self.script(&code, if is_shell { program } else { "bash" }, context);
            }
            CommandInput::Text(_) => {}
            CommandInput::File(file) => {
                self.sink(file.origin.clone(), Rule::Never, line, why);
                self.run_files.push((file.file.clone(), line));
            }
            CommandInput::Open => self.refuse(line, why),
        }
    }
}

fn is_option(word: &CommandWord) -> bool {
    word.text.starts_with('-')
}

/// Splits arguments into options with their values, and operands.
fn split<'a>(
    args: &'a [CommandWord],
    with_value: &str,
) -> (Vec<(char, &'a CommandWord)>, &'a [CommandWord]) {
    let (mut options, mut index) = (Vec::new(), 0);
    while let Some(word) = args.get(index) {
        if word.text == "--" {
            index += 1;
            break;
        }
        if !is_option(word) || word.text.len() < 2 {
            break;
        }
        index += 1;
        let letters = word.text.char_indices().skip(1);
        for (at, letter) in letters {
            if letter == HOLE {
                options.push((letter, word));
                break;
            }
            if with_value.contains(letter) {
                if at + 1 < word.text.len() {
                    options.push((letter, word));
                } else if let Some(value) = args.get(index) {
                    options.push((letter, value));
                    index += 1;
                }
                break;
            }
        }
    }
    (options, &args[index..])
}

fn way_out(program: &str) -> &'static str {
    match program {
        "sh" | "bash" | "dash" | "zsh" | "ksh" | "ash" => {
            "give it to the code as an argument: sh -c '… \"$1\" …' sh {X}, or write the code as \
             a here-document: sh -s -- {X} <<'END'"
        }
        "awk" => "give it as a variable of the environment, and use ENVIRON",
        "ssh" => "hand it over by `input`",
        "xargs" | "parallel" | "python" | "perl" | "ruby" | "node" | "php" => {
            "give it to the code as an argument"
        }
        _ => "hand it over by `input` or `environment.variables`",
    }
}
