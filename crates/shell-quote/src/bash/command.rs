//! Effects of commands on their words: builtins of the shell by name, other programs by the tables.

use super::taint::{ALL, ANY, ARGUMENTS, OUTPUT, Rule, Sources, input_of, output_of};
use super::walk::{Call, Context, Walker, has_hole};
use super::word::{View, identifiers, is_name};
use crate::programs::{self, Danger, HOLE, base_name, judge};

const NAME: &str = "the name of a variable, which the shell evaluates";

impl Walker<'_> {
    /// Judges a simple command, its words in order.
    pub(super) fn simple(&mut self, words: Vec<View>, context: &Context<'_>) {
        let Some(first) = words.first() else {
            return;
        };
        if first.is_all_arguments
            && let Some(function) = &context.function
        {
            self.forwarders.push(function.clone());
            return;
        }
        if let Some(name) = &first.all_of
            && let Some(elements) = self.lists.get(name)
        {
            // The list begins with the command, and the script may append to it later.
            let mut all = elements.clone();
            self.list_commands.insert(name.clone());
            all.push(View {
                text: HOLE.to_string(),
                sources: Sources::of_name(name),
                is_all_arguments: false,
                ..first.clone()
            });
            all.extend(words[1..].iter().cloned());
            if all.first().is_some_and(|first| !has_hole(first)) {
                return self.simple(all, context);
            }
        }
        let first = &words[0];
        if has_hole(first) || first.text.contains('/') {
            self.runs_file(first);
        }
        if has_hole(first) {
            let why = "the name of a command, so it would choose what runs";
            self.sink(first.sources.clone(), Rule::Never, first.line, why);
            self.keep(&words, context);
            return;
        }
        let output = Sources::of_name(&output_of(&first.text));
        self.meet(&output);
        let keeps = self.builtin(&words, context);
        self.calls.push(Call {
            keeps,
            words,
            stdin: context.stdin.clone(),
        });
    }

    /// Judges the collected calls, once all functions are known.
    pub(super) fn finish_calls(&mut self) {
        let calls = std::mem::take(&mut self.calls);
        for call in &calls {
            let name = &call.words[0].text;
            if self.functions.contains(name) {
                self.facts.assign(&input_of(name), &call.stdin);
                for word in &call.words[1..] {
                    self.facts.assign(ARGUMENTS, &word.sources);
                }
                if self.forwarders.contains(name) {
                    let inner = Context::nowhere(call.stdin.clone());
                    // A function that forwards to itself ends here: calls are not collected again.
                    self.simple(call.words[1..].to_vec(), &inner);
                }
            } else if call.keeps {
                let mut kept = call.stdin.clone();
                call.words.iter().for_each(|word| kept.add(&word.sources));
                self.facts.assign(OUTPUT, &kept);
            }
        }
        // Commands of forwarders may be functions, too.
        for call in std::mem::take(&mut self.calls) {
            self.facts
                .assign(&input_of(&call.words[0].text), &call.stdin);
            for word in &call.words {
                self.facts.assign(ARGUMENTS, &word.sources);
            }
        }
    }

    /// Judges running a file, which the script itself may have written.
    fn runs_file(&mut self, word: &View) {
        let sources = Sources::of_name(&word.file);
        let why = "a file that the script writes and runs; use `input` or an argument instead";
        self.sink(sources, Rule::Never, word.line, why);
    }

    fn keep(&mut self, words: &[View], context: &Context<'_>) {
        let mut kept = context.stdin.clone();
        words.iter().for_each(|word| kept.add(&word.sources));
        self.facts.assign(OUTPUT, &kept);
        self.facts.assign(ARGUMENTS, &kept);
    }

    fn never(&mut self, words: &[View], why: &str) {
        for word in words {
            self.sink(word.sources.clone(), Rule::Never, word.line, why);
        }
    }

    /// Judges a command; returns true if it may keep what it is given.
    fn builtin(&mut self, words: &[View], context: &Context<'_>) -> bool {
        let (first, args) = (&words[0], &words[1..]);
        let line = first.line;
        let all = |words: &[View]| {
            let mut sources = Sources::default();
            words.iter().for_each(|word| sources.add(&word.sources));
            sources
        };
        match first.text.as_str() {
            "command" | "builtin" | "exec" | "nocorrect" | "noglob" | "-" => {
                let mut rest = args;
                while let Some(word) = rest.first() {
                    match word.text.as_str() {
                        "-v" | "-V" => return false,
                        "-a" => rest = rest.get(2..).unwrap_or_default(),
                        text if text.starts_with('-') && !text.contains(HOLE) => rest = &rest[1..],
                        _ => break,
                    }
                }
                match rest.first() {
                    Some(word) if has_hole(word) => {
                        if word.is_all_arguments
                            && let Some(function) = &context.function
                        {
                            self.forwarders.push(function.clone());
                            return false;
                        }
                        let why = "the name of a command, so it would choose what runs";
                        self.sink(word.sources.clone(), Rule::Never, word.line, why);
                        true
                    }
                    Some(_) => {
                        let rest = rest.to_vec();
                        self.builtin(&rest, context)
                    }
                    None => false,
                }
            }
            "eval" => {
                let why = "`eval`, which runs it; use it as an argument of a command";
                self.never(args, why);
                if args.iter().any(has_hole) {
                    // The code may assign any variable.
                    if all(args) != Sources::default() {
                        self.facts.assign(ANY, &Sources::of_name(ALL));
                    }
                } else {
                    let code: Vec<&str> = args.iter().map(|word| word.text.as_str()).collect();
                    self.code(&code.join(" "), line, context);
                }
                false
            }
            "source" | "." => {
                let why = "`source`, which runs it; use it as an argument of a command";
                self.never(args, why);
                if let Some(file) = args.first() {
                    self.runs_file(file);
                    self.facts.assign(ANY, &Sources::of_name(&file.file));
                }
                if args
                    .first()
                    .is_some_and(|file| file.text.starts_with("/dev/"))
                {
                    self.sink(context.stdin.clone(), Rule::Never, line, why);
                }
                false
            }
            "trap" => {
                self.never(args, "`trap`, which runs it; assign it to a variable first, and trap '… \"$variable\" …'");
                let code = args.iter().find(|word| !word.text.starts_with('-'));
                if let Some(code) = code
                    && !has_hole(code)
                {
                    let code = code.text.clone();
                    self.code(&code, line, context);
                }
                false
            }
            "alias" | "bind" | "compgen" | "complete" | "compopt" | "enable" | "fc" | "hash"
            | "history" | "shopt" | "coproc" | "[[" | "jobs" | "newgrp" | "zmodload"
            | "autoload" | "emulate" | "setopt" | "unsetopt" | "zle" | "functions" => {
                let why = format!("`{}`, which may run it", first.text);
                self.never(args, &why);
                false
            }
            "let" => {
                for word in args {
                    let mut sources = word.sources.clone();
                    sources.names.extend(identifiers(&word.text));
                    let why = "`let`, which calculates with it, so it must be a whole number";
                    self.sink(sources, Rule::Number, word.line, why);
                }
                false
            }
            "declare" | "typeset" | "local" | "export" | "readonly" | "integer" | "float" => {
                self.never(args, "a declaration behind another command; write it alone");
                false
            }
            "unset" => {
                for word in args {
                    self.sink(word.sources.clone(), Rule::Never, word.line, NAME);
                    self.name_with_subscript(word);
                }
                false
            }
            "read" => {
                let (options, names) = split(args, "aditnNpu");
                let stdin = context.stdin.clone().and(&Sources::of_name(OUTPUT));
                let mut is_named = !names.is_empty();
                for (letter, value) in options {
                    match letter {
                        'a' => {
                            is_named = true;
                            self.assigned(value, &stdin);
                            self.facts.arrays.insert(value.text.clone());
                        }
                        'p' | 'd' | 'i' => {}
                        't' | 'n' | 'N' | 'u' => {
                            let why = "the options of `read`, so it must be a whole number";
                            self.sink(value.sources.direct(), Rule::Operand, value.line, why);
                        }
                        _ => self.sink(
                            value.sources.clone(),
                            Rule::Never,
                            value.line,
                            "the options of `read`",
                        ),
                    }
                }
                for name in names {
                    self.assigned(name, &stdin);
                }
                if !is_named {
                    self.facts.assign("REPLY", &stdin);
                }
                false
            }
            "mapfile" | "readarray" => {
                let (options, names) = split(args, "dnOsuCc");
                let stdin = context.stdin.clone().and(&Sources::of_name(OUTPUT));
                for (letter, value) in options {
                    match letter {
                        'd' => {}
                        'C' if !has_hole(value) => {
                            self.facts.assign(ARGUMENTS, &stdin);
                            let code = format!("{} 0 \"$1\"", value.text);
                            self.code(&code, line, context);
                        }
                        _ => self.sink(
                            value.sources.clone(),
                            Rule::Never,
                            value.line,
                            "the options of `mapfile`",
                        ),
                    }
                }
                for name in names {
                    self.assigned(name, &stdin);
                    self.facts.arrays.insert(name.text.clone());
                }
                self.facts.assign("MAPFILE", &stdin);
                false
            }
            "printf" => {
                self.printf(args);
                false
            }
            "test" | "[" => {
                self.test(args);
                false
            }
            "shift" | "ulimit" | "break" | "continue" | "return" | "exit" | "logout" => {
                for word in args {
                    let why = format!("`{}`, so it must be a whole number", first.text);
                    self.sink(word.sources.direct(), Rule::Operand, word.line, &why);
                }
                false
            }
            "wait" => {
                for pair in args.windows(2) {
                    if pair[0].text.starts_with('-') && pair[0].text.ends_with('p') {
                        self.sink(pair[1].sources.clone(), Rule::Never, line, NAME);
                    }
                }
                for word in args {
                    if word.text.starts_with('-') || word.text.starts_with(HOLE) {
                        self.sink(
                            word.sources.clone(),
                            Rule::NoOption,
                            line,
                            "the options of `wait`",
                        );
                    }
                }
                false
            }
            "getopts" => {
                if let Some(name) = args.get(1) {
                    self.sink(name.sources.clone(), Rule::Never, line, NAME);
                }
                self.facts.assign(ARGUMENTS, &all(args));
                false
            }
            "set" => {
                let end = args
                    .iter()
                    .position(|word| word.text == "--" || word.text == "-");
                for word in &args[..end.unwrap_or(args.len())] {
                    let why = "the options of the shell; write `set --` before it";
                    self.sink(word.sources.clone(), Rule::Never, word.line, why);
                }
                self.facts.assign(ARGUMENTS, &all(args));
                false
            }
            "cd" | "pushd" | "popd" | "dirs" | "echo" | "print" | "true" | "false" | ":"
            | "type" | "pwd" | "kill" | "umask" | "fg" | "bg" | "disown" | "times" | "caller"
            | "help" | "suspend" => false,
            _ => self.program(words, context),
        }
    }

    /// Records a name that a command assigns to, perhaps with a subscript.
    fn assigned(&mut self, name: &View, sources: &Sources) {
        self.sink(name.sources.clone(), Rule::Never, name.line, NAME);
        self.name_with_subscript(name);
        let plain = name.text.split('[').next().unwrap_or_default();
        if is_name(plain) {
            self.assign_name(plain, sources, name.line);
            if self.facts.integers.contains(plain) {
                let why = "a place where the shell calculates, so it must be a whole number";
                self.sink(sources.clone(), Rule::Number, name.line, why);
            }
        } else {
            self.facts.assign(ANY, sources)
        }
    }

    /// Checks the name in `unset 'a[$i]'`: the shell calculates its subscript again.
    fn name_with_subscript(&mut self, name: &View) {
        if let Some((_, subscript)) = name.text.split_once('[') {
            let names = identifiers(subscript).into_iter().collect();
            let sources = Sources {
                names,
                ..Sources::default()
            };
            self.sink(sources, Rule::Never, name.line, NAME);
        }
    }

    fn printf(&mut self, args: &[View]) {
        let mut rest = args;
        if let Some(option) = rest.first()
            && option.text.starts_with("-v")
        {
            let name = match option.text.len() {
                2 => {
                    rest = rest.get(2..).unwrap_or_default();
                    args.get(1).cloned()
                }
                _ => {
                    rest = &rest[1..];
                    Some(View {
                        text: option.text[2..].to_owned(),
                        ..option.clone()
                    })
                }
            };
            let mut sources = Sources::default();
            rest.iter().for_each(|word| sources.add(&word.sources));
            if let Some(name) = name {
                self.assigned(&name, &sources);
            }
        }
        if let Some(format) = rest.first()
            && format.text.starts_with([HOLE, '-'])
            && format.text != "--"
        {
            let why = "the format of `printf`, where it must not begin with `-`; \
                       write `printf '%s'` before it";
            self.sink(format.sources.clone(), Rule::NoOption, format.line, why);
        }
    }

    /// Judges `[` with the words up to `]`.
    fn test(&mut self, args: &[View]) {
        for (index, word) in args.iter().enumerate() {
            let next = args.get(index + 1);
            let before = index.checked_sub(1).map(|before| &args[before]);
            match word.text.as_str() {
                "-v" | "-R" => {
                    if let Some(next) = next {
                        self.sink(next.sources.clone(), Rule::Never, next.line, NAME);
                        self.name_with_subscript(next);
                    }
                }
                "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge" => {
                    for side in before.into_iter().chain(next) {
                        let why = "a comparison of numbers, so it must be a whole number";
                        self.sink(side.sources.direct(), Rule::Operand, side.line, why);
                    }
                }
                text if (text.starts_with(HOLE) || text.starts_with("-\0"))
                    && next.is_some_and(has_hole) =>
                {
                    let why = "an operator of `test`, so it must not be one; write `[[ … ]]`";
                    self.sink(word.sources.clone(), Rule::NoOption, word.line, why);
                }
                _ => {}
            }
        }
    }

    /// Judges an external program; returns true if it may keep what it is given.
    fn program(&mut self, words: &[View], context: &Context<'_>) -> bool {
        let name = words[0].text.clone();
        let mut texts: Vec<String> = words.iter().map(|word| word.text.clone()).collect();
        let mut sources: Vec<Sources> = words.iter().map(|word| word.sources.clone()).collect();
        if base_name(&name) == "xargs" {
            let changed = programs::add_input_of_xargs(&mut texts);
            sources.resize(texts.len(), Sources::default());
            changed
                .iter()
                .for_each(|word| sources[*word].add(&context.stdin));
        }
        let judged = judge(&texts);
        let line = words[0].line;
        for finding in judged.findings {
            let word = words.get(finding.word);
            if let (Danger::Program, Some(word), Some(function)) =
                (finding.danger, word, &context.function)
                && word.is_all_arguments
            {
                self.forwarders.push(function.clone());
                continue;
            }
            let program = &finding.program;
            let (rule, why) = match finding.danger {
                Danger::Program => (
                    Rule::Never,
                    format!("the name of the program that `{program}` runs; write the name"),
                ),
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
            let line = word.map_or(line, |word| word.line);
            self.sink(sources[finding.word].clone(), rule, line, &why);
        }
        for script in judged.scripts {
            let mut args = Sources::default();
            sources[script.args.min(sources.len())..]
                .iter()
                .for_each(|source| args.add(source));
            self.facts.assign(ARGUMENTS, &args);
            let code = texts[script.code].clone();
            self.code(&code, line, context);
        }
        if let Some(file) = judged.file.and_then(|file| words.get(file)) {
            self.runs_file(file);
        }
        if base_name(&name) == "tee" {
            for file in &words[1..] {
                self.facts.assign(&file.file, &context.stdin);
            }
        }
        if let Some(program) = judged.reads_code {
            let why = format!(
                "the standard input of `{program}`, which runs it as code; {}",
                way_out(&program)
            );
            self.sink(context.stdin.clone(), Rule::Never, line, &why);
        }
        !programs::keeps_nothing(&name)
    }
}

/// Splits arguments into options with their values, and operands.
fn split<'a>(args: &'a [View], with_value: &str) -> (Vec<(char, &'a View)>, &'a [View]) {
    let (mut options, mut index) = (Vec::new(), 0);
    while let Some(word) = args.get(index) {
        if word.text == "--" {
            index += 1;
            break;
        }
        if !word.text.starts_with('-') || word.text.len() < 2 {
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
            "give it to the code as an argument: sh -c '… \"$1\" …' sh {X}"
        }
        "awk" => "give it as a variable of the environment, and use ENVIRON",
        "ssh" => "hand it over by `input`",
        "xargs" | "parallel" => "give it to the code as an argument",
        "python" | "perl" | "ruby" | "node" | "php" => "give it to the code as an argument",
        _ => "hand it over by `input` or `environment.variables`",
    }
}
