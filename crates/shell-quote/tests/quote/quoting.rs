//! Values in bash: a program receives each value byte by byte, in every place of a command.
//!
//! Thousands of values with everything that a shell interprets go through the real bash, many in
//! one process. Each place is also run with a plain word; that run gives the expected output.

use haft_shell_quote::{Dialect, Piece, bash, cmd, pwsh};

use crate::Sandbox;

/// Places for a value, marked by `@`. `p` prints its arguments, `c` its input.
const PLACES: &[(&str, &str)] = &[
    ("unquoted", "p @"),
    ("part of a word", "p a@b --x=@"),
    ("double quotes", "p \"a @ b\""),
    ("single quotes", "p 'a @ b'"),
    ("ansi quotes", "p $'a\\t@\\tb'"),
    ("translated quotes", "p $\"a @ b\""),
    ("after a backslash", "p x\\@ \"x\\@\""),
    ("between quotes", "p \"\\\"@\\\"\"'@'@"),
    ("substitution", "p \"$(printf %s. @)\""),
    (
        "nested substitution",
        "p \"$(printf '%s.' \"$(printf %s. \"@\")\")\"",
    ),
    ("backquotes", "p \"`printf %s. \"@\"`\""),
    ("backquotes, single", "p \"`printf %s. '@'`\""),
    (
        "default",
        "p \"${nothing:-@}\" ${nothing:-@} ${nothing:-'@'}",
    ),
    ("default in quotes", "p \"${nothing:-\"@\"}\""),
    ("pattern", "all=@; p \"${all#@}.\" \"${all%\"@\"}.\""),
    ("here-string", "c <<< @"),
    (
        "here-document",
        "c <<EOF\n a @ b\\@\n@\n$(printf %s. @)\n${nothing:-@}\nEOF\n",
    ),
    (
        "quoted here-document",
        "c <<'EOF'\n a @ $HOME `x` \\ \\\\ \\@\n@\nEOF\n",
    ),
    ("odd delimiter, tabs", "c <<-\"E F\"\n\ta @ b\n\t@\n\tE F\n"),
    ("escaped delimiter", "c <<\\EOF; p @\n@\nEOF\n"),
    ("two here-documents", "c <<'A' 3<<B; p x\n@\nA\n@\nB\n"),
    ("comment", "p x # a @ b"),
    ("case", "case @ in @) p yes;; *) p no;; esac"),
    (
        "case in a substitution",
        "p \"$(case x in x) printf %s. @;; esac)\"",
    ),
    ("test", "if [[ a@ == a@ ]]; then p yes; else p no; fi"),
    ("assignment", "v=a@b; p \"$v\""),
    ("array", "v=(@ @); p \"${v[1]}\""),
    ("loop", "for i in @ @; do p \"$i\"; done"),
    ("function", "f() { p @; }; f other"),
    ("braces", "p {a,@}"),
    ("subshell", "(p @; { p \"@\"; })"),
    ("pipe", "printf %s @ | c"),
];

const BITS: &[&str] = &[
    "a",
    " ",
    "\n",
    "\t",
    "'",
    "\"",
    "\\",
    "$",
    "`",
    "$(",
    "(",
    ")",
    "{",
    "}",
    "}}",
    "*",
    "?",
    "[",
    "]",
    "~",
    "!",
    "#",
    ";",
    "&",
    "|",
    "<",
    ">",
    "<<EOF",
    "EOF",
    "\nEOF\n",
    "\nA\n",
    "\nE F\n",
    "\nB\n",
    "$(touch pwned)",
    "`touch pwned`",
    "a[$(touch pwned)]",
    ";touch pwned;",
    "${HOME}",
    "$HOME",
    "-n",
    "--",
    "é",
    "日",
    "\u{a0}",
    "\u{2028}",
    "%s",
    "=",
    "^",
    ",",
    ":",
    "/",
    "\r",
    "..",
    "\\\n",
    "'\\''",
    "$'",
    "{X}",
    "\u{1}",
    "\u{7f}",
];

const PREPARATION: &str =
    "p() { for a; do printf '%s\\0' \"$a\"; done; }\nc() { cat; printf '\\0'; }\n";
const END: &str = "\nprintf '\\1END\\1'\n";

/// Random numbers that are the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit as u64).expect("it is below a usize")
    }

    fn value(&mut self) -> String {
        (0..self.below(9))
            .map(|_| BITS[self.below(BITS.len())])
            .collect()
    }
}

fn place(template: &str, value: &Piece) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for (index, part) in template.split('@').enumerate() {
        if index > 0 {
            pieces.push(value.clone());
        }
        pieces.push(Piece::raw(part));
    }
    pieces.push(Piece::raw(END));
    pieces
}

/// Returns the command with the word as the author's own text.
fn plain(template: &str, word: &str) -> String {
    let pieces = place(template, &Piece::raw(word)).into_iter();
    pieces.map(|piece| piece.text).collect()
}

fn run(sandbox: &Sandbox, shell: &str, text: &str, values: &[String]) -> (String, String) {
    let mut command = sandbox.command(shell);
    command.arg("-c").arg(text);
    for (index, value) in values.iter().enumerate() {
        command.env(format!("__haft_{}", index + 1), value);
    }
    let output = command.output().expect("the shell is on every machine");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("only text went in");
    (text(output.stdout), text(output.stderr))
}

#[test]
fn values_arrive_byte_by_byte_in_every_place() {
    const WORD: &str = "MARKER";
    let sandbox = Sandbox::with_home();
    let mut dice = Dice(42);
    let mut tried = 0;
    for (name, template) in PLACES {
        let mut values: Vec<String> = (0..150).map(|_| dice.value()).collect();
        values.push(String::new());
        tried += values.len();
        let mut pieces = vec![Piece::raw(PREPARATION)];
        for value in &values {
            pieces.extend(place(template, &Piece::guarded(value.as_str(), "X")));
        }
        let quoted = bash(&pieces, Dialect::Bash).unwrap_or_else(|error| panic!("{name}: {error}"));
        let (actual, errors) = run(&sandbox, "bash", &quoted.text, &quoted.values);

        let reference = format!("{PREPARATION}{}", plain(template, WORD));
        let (expected, _) = run(&sandbox, "bash", &reference, &[]);
        let actual: Vec<&str> = actual.split_inclusive("\u{1}END\u{1}").collect();
        for (value, actual) in values.iter().zip(&actual) {
            assert_eq!(expected.replace(WORD, value), *actual, "{name}: {value:?}");
        }
        assert_eq!(actual.len(), values.len(), "{name}");
        assert_eq!(errors, "", "{name}");
        assert!(
            !sandbox.path().join("pwned").exists(),
            "{name}: a value was executed"
        );
    }
    assert!(tried > 4000, "{tried}");
}

/// A shell evaluates values in arithmetic contexts, so only whole numbers are allowed there.
#[test]
fn only_numbers_stand_where_the_shell_calculates() {
    let places = [
        "echo $((@ + 1))",
        "((x = @))",
        "echo $[@]",
        "x=abcdef; echo ${x:@}",
        "a[@]=1",
        "echo ${a[@]}",
        "[[ @ -eq 1 ]]",
        "for ((i=0; i<@; i++)); do :; done",
        "echo \"$((1 + @))\"",
    ];
    let sandbox = Sandbox::with_home();
    for template in places {
        let hostile = Piece::guarded("a[$(touch pwned)]", "X");
        let refused = bash(&place(template, &hostile), Dialect::Bash).expect_err(template);
        assert!(
            refused.to_string().contains("whole number"),
            "{template}: {refused}"
        );
        for number in ["2", "-2"] {
            let pieces = place(template, &Piece::guarded(number, "X"));
            let quoted = bash(&pieces, Dialect::Bash).expect(template);
            let (_, errors) = run(&sandbox, "bash", &quoted.text, &quoted.values);
            // An array has no index -2; the error is bash's own.
            let is_fine = errors.is_empty() || number == "-2" && template.contains("a[");
            assert!(is_fine, "{template} with {number}: {errors}");
        }
    }
}

#[test]
fn what_cannot_be_made_safe_is_refused_by_name() {
    let refusal = |template: &str, value: &str| {
        let pieces = place(template, &Piece::guarded(value, "X"));
        bash(&pieces, Dialect::Bash)
            .expect_err(template)
            .to_string()
    };
    assert_eq!(
        refusal("p `printf \\\"@\\\"`", "v"),
        "the value of `X` cannot stand there: there is a backslash in the backquotes; write `$(…)`"
    );
    assert_eq!(
        refusal("cat <<@\nx\n", "EOF"),
        "the value of `X` cannot stand there: in line 1 it reaches the end of a here-document"
    );
    assert_eq!(
        refusal("p @", "a\0b"),
        "the value of `X` cannot stand there: it has a NUL character"
    );
}

/// The author's own text stays unchanged and contains no value.
#[test]
fn no_value_becomes_source() {
    let value = "$(touch pwned) 'quotes' \"more\"";
    for (name, template) in PLACES {
        let pieces = place(template, &Piece::guarded(value, "X"));
        let quoted = bash(&pieces, Dialect::Bash).expect(name);
        assert!(
            !quoted.text.contains("touch pwned"),
            "{name}: {}",
            quoted.text
        );
        // A comment contains nothing of a value, not even its variable.
        let expected: &[&str] = if *name == "comment" { &[] } else { &[value] };
        assert_eq!(quoted.values, expected, "{name}");
        let raw = bash(&place(template, &Piece::raw("w")), Dialect::Bash).expect(name);
        assert_eq!(raw.text, plain(template, "w"), "{name}");
    }
}

/// A POSIX shell does not support `$'…'`: the dollar is text there.
#[test]
fn plain_shells_have_their_own_rules() {
    let pieces = [
        Piece::raw("printf '%s,' $'a"),
        Piece::guarded("it's $HOME", "X"),
        Piece::raw("b' "),
        Piece::guarded("c d", "Y"),
    ];
    let quoted = bash(&pieces, Dialect::Sh).expect("nothing is refused");
    let sandbox = Sandbox::with_home();
    let (text, _) = run(&sandbox, "dash", &quoted.text, &quoted.values);
    assert_eq!(text, "$ait's $HOMEb,c d,");
}

/// Splits a command in which `V` is the guarded value.
fn pieces(command: &str, value: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for (nth, part) in command.split('V').enumerate() {
        if nth > 0 {
            pieces.push(Piece::guarded(value, "V"));
        }
        pieces.push(Piece::raw(part));
    }
    pieces
}

/// 69: PowerShell's own rules, place by place; a value that cannot be made safe is refused.
#[test]
fn powershell_by_its_rules() {
    let it = "${env:__haft_1}";
    for (command, value, expected) in [
        ("echo V", "a; b", format!("echo \"{it}\"")),
        ("echo \"x V\"", "$(id)", format!("echo \"x {it}\"")),
        (
            "echo 'x V'",
            "it's \u{2019}",
            "echo 'x it''s \u{2019}\u{2019}'".to_owned(),
        ),
        (
            "echo \u{2018}V\u{2019}",
            "a'",
            "echo \u{2018}a''\u{2019}".to_owned(),
        ),
        ("echo \"$(f V)\"", "x", format!("echo \"$(f \"{it}\")\"")),
        ("# don't\necho V", "x", format!("# don't\necho \"{it}\"")),
        ("<# ' #> echo V", "x", format!("<# ' #> echo \"{it}\"")),
        ("@'\nV\n'@", "a 'b'", "@'\na 'b'\n'@".to_owned()),
        ("@\"\nV\n\"@", "\"@", format!("@\"\n{it}\n\"@")),
        ("${it's} = V", "x; y", format!("${{it's}} = \"{it}\"")),
        ("echo `'V", "x", format!("echo `'\"{it}\"")),
        ("echo `V", "x", format!("echo \"{it}\"")),
    ] {
        let quoted = pwsh(&pieces(command, value)).expect(command);
        assert_eq!(quoted.text, expected, "{command}");
        let is_bound = expected.contains(it);
        assert_eq!(quoted.values.len(), usize::from(is_bound), "{command}");
    }
    for (command, value) in [
        ("echo V", "a\0b"),
        ("@'\nV\n'@", "x\n'@\nid"),
        ("cmd --% V", "& calc"),
        ("echo ${aV}", "x"),
        ("Invoke-Expression V", "x"),
        ("\"V\" | iex", "x"),
        ("i`ex 'V'", "x"),
        ("& V", "x"),
        ("& \"V\" a", "x"),
        (". V", "x"),
        ("[scriptblock]::Create(\"V\")", "x"),
        ("$ExecutionContext.InvokeCommand.ExpandString(V)", "x"),
        ("pwsh -c \"V\"", "x"),
        ("bash -c 'V'", "x"),
    ] {
        assert!(pwsh(&pieces(command, value)).is_err(), "{command}");
    }
}

/// 69: cmd's parsing of a line; the same rules were checked for three thousand values in wine's
/// cmd.
#[test]
fn cmd_by_its_rules() {
    for (command, value, expected) in [
        ("echo V", "plain-1.txt", "echo plain-1.txt"),
        ("echo V", "a & b", "echo \"a & b\""),
        ("echo V", "", "echo \"\""),
        ("echo \"V\"", "a & b", "echo \"a & b\""),
        ("echo \"V x\"", "C:\\", "echo \"C:\\ x\""),
        ("echo \"V\"", "C:\\", "echo \"C:\\\\\""),
        ("echo V", "C:\\a b\\", "echo \"C:\\a b\\\\\""),
        // An escaped quote opens nothing, and a line end closes an open quote.
        ("echo ^\" V", "& calc", "echo ^\" \"& calc\""),
        (
            "echo \"open\necho V",
            "& calc",
            "echo \"open\necho \"& calc\"",
        ),
    ] {
        let quoted = cmd(&pieces(command, value)).expect(command);
        assert_eq!(quoted, expected, "{command}");
    }
    for (command, value) in [
        ("echo V", "a\"b"),
        ("echo V", "%PATH%"),
        ("echo V", "!x!"),
        ("echo V", "a\nb"),
        ("echo ^V", "& calc"),
    ] {
        assert!(cmd(&pieces(command, value)).is_err(), "{command} {value}");
    }
}
