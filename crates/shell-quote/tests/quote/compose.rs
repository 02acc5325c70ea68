//! Shapes that are composed: a way by which a value reaches a text, around a place that reads it.
//!
//! `HAFT_SHELL_SEED` chooses other values.

use haft_shell_quote::{Dialect, bash};

use crate::Sandbox;
use crate::attack::{Batch, Dice, PAYLOADS, count, pieces, seed};

/// Ways to a text. `S` is the place, in which `TEXT` becomes the second text; `@` is the value. The
/// third text is the name of the variable, if there is one.
const WAYS: &[(&str, &str, &str)] = &[
    ("k=@\nS", "$k", "k"),
    ("k='@'; l=$k\nS", "${l}", "l"),
    ("export k=@\nS", "${k:-1}", "k"),
    ("read -r k <<< @\nS", "$k", "k"),
    ("read -r k < <(echo @)\nS", "$k", "k"),
    ("for k in 1 @; do\nS\ndone", "$k", "k"),
    ("k=(1 @)\nS", "${k[1]}", "k[1]"),
    ("k=$(echo @)\nS", "$k", "k"),
    ("printf -v k '%s' @\nS", "$k", "k"),
    ("mapfile -t k <<< @\nS", "${k[0]}", "k[0]"),
    (": ${k:=@}\nS", "$k", "k"),
    ("echo @ | while read -r k; do\nS\ndone", "$k", "k"),
    ("set -- @\nS", "$1", ""),
    ("f() {\nS\n}\nf @", "$1", ""),
    ("f() {\nlocal k=\"$*\"\nS\n}; f @", "$k", "k"),
    (
        "[[ x@ =~ x(.*) ]]\nS",
        "${BASH_REMATCH[1]}",
        "BASH_REMATCH[1]",
    ),
    ("getopts a: o -a @\nS", "$OPTARG", "OPTARG"),
    (
        "mkdir -p d; cd d; mkdir -- @ 2>/dev/null; cd -- @ 2>/dev/null; k=${PWD##*/}\nS",
        "$k",
        "k",
    ),
    ("bash -s -- @ <<'END1'\nS\nEND1", "$1", ""),
    ("bash -s @ <<-'END1'\nS\nEND1", "$1", ""),
    ("bash -es @ <<'END1'\nS\nEND1", "$1", ""),
    ("bash /dev/stdin @ <<'END1'\nS\nEND1", "$1", ""),
    ("timeout 9 bash -s @ <<'END1'\nS\nEND1", "$1", ""),
    (
        "find . -maxdepth 0 -exec bash -s @ \\; <<'END1'\nS\nEND1",
        "$1",
        "",
    ),
    ("k=@ bash <<'END1'\nS\nEND1", "$k", "k"),
    ("env k=@ bash <<'END1'\nS\nEND1", "$k", "k"),
    (
        "env -i PATH=\"$PATH\" k=@ bash -s <<'END1'\nS\nEND1",
        "$k",
        "k",
    ),
    (
        "nice -n 1 env k=@ timeout 9 bash <<'END1'\nS\nEND1",
        "$k",
        "k",
    ),
    (
        "runner() { env \"$@\"; }; runner k=@ bash <<'END1'\nS\nEND1",
        "$k",
        "k",
    ),
    ("k=@; . /dev/stdin <<'END1'\nS\nEND1", "$k", "k"),
    ("cat > s <<'END1'\nS\nEND1\nbash s @", "$1", ""),
    ("cat > s <<'END1'\nS\nEND1\n. ./s @", "$1", ""),
    ("cat <<'END1' | bash -s @\nS\nEND1", "$1", ""),
    ("{ bash -s @; } <<'END1'\nS\nEND1", "$1", ""),
    ("exec 3<<'END1'\nS\nEND1\nbash /dev/fd/3 @", "$1", ""),
    ("bash 0<<'END1' -s @\nS\nEND1", "$1", ""),
    ("declare -n r=k; r=@\nS", "$k", "k"),
    (
        "coproc cat; echo @ >&${COPROC[1]}; read -r k <&${COPROC[0]}\nS",
        "$k",
        "k",
    ),
];

/// Places that read a text again: `TEXT` is the text, `NAME` the name of its variable.
const PLACES: &[&str] = &[
    ": $((TEXT))",
    ": $((NAME + 1))",
    "((TEXT))",
    "((x = NAME))",
    "[[ TEXT -gt 1 ]]",
    "[[ NAME -eq 1 ]]",
    "let \"x = TEXT\"",
    "let NAME",
    "a=(1); : ${a[TEXT]}",
    "a[TEXT]=1",
    "a=([TEXT]=1)",
    "x=abc; : \"${x:TEXT}\"",
    "x=abc; : \"${x:0:NAME}\"",
    "declare -i x=\"TEXT\"",
    "declare -i x; x=TEXT",
    "for ((i = TEXT; i < 1; i++)); do :; done",
    "eval \"TEXT\"",
    "eval \": TEXT\"",
    "bash -c \"TEXT\"",
    "bash -c 'eval \"$1\"' bash \"TEXT\"",
    "bash -c ': $(($1))' bash \"TEXT\"",
    "x=\"TEXT\" bash -c ': $((x))'",
    "env x=\"TEXT\" bash -c '((x))'",
    "unset \"a[TEXT]\"",
    "unset \"TEXT\"",
    "printf -v \"TEXT\" x",
    "printf -v \"a[TEXT]\" x",
    "read \"TEXT\" <<< 1",
    "[ -v \"TEXT\" ]",
    "test -v \"a[TEXT]\"",
    "[[ -v TEXT ]]",
    "[[ -v a[TEXT] ]]",
    "declare \"TEXT=1\"",
    "declare -n r=\"TEXT\"; : \"$r\"",
    "x=\"TEXT\"; : \"${!x}\"",
    "x=\"TEXT\"; : \"${x@P}\"",
    "PS4=\"TEXT\"; set -x; :",
    "x=\"TEXT\"; PS4='$((x)) '; set -x; :",
    "BASH_ENV=<(echo \"TEXT\") bash -c :",
    "trap \"TEXT\" EXIT; exit 0",
    "source <(echo \"TEXT\")",
    "bash <<< \"TEXT\"",
    "echo \"TEXT\" | sh",
    "echo \"TEXT\" > s2; . ./s2",
    "\"TEXT\"",
    "TEXT",
    "c=eval; $c \"TEXT\"",
    "command eval \"TEXT\"",
    "find . -maxdepth 0 -exec sh -c \"TEXT\" \\;",
    "echo \"TEXT\" | xargs -0 -I% sh -c '%'",
    "echo \"TEXT\" | xargs -0 sh -c",
    "awk \"TEXT\" /dev/null",
    "wait -p \"TEXT\" 2>/dev/null",
    "mapfile -C \"TEXT\" -c 1 x <<< 1",
    "echo a >& \"TEXT\"",
    "alias q='eval'; shopt -s expand_aliases\nq \"TEXT\"",
];

/// Places that only pass a text on.
const HARMLESS: &[&str] = &[
    "printf '%s\\n' \"TEXT\"",
    "[ \"TEXT\" = a ] || :",
    "[[ \"TEXT\" == a* ]] || :",
    "case \"TEXT\" in a) :;; esac",
    "x=\"TEXT\"; : \"${#x}\" $((${#x} + 1))",
    "cat <<< \"TEXT\"",
    "echo \"TEXT\" | sed 's/a/b/'",
    "x=\"TEXT\"; d=${x//[!0-9]/}; : $((10#0$d))",
    "bash -c ': \"$1\"' bash \"TEXT\"",
    "grep -c -- \"TEXT\" /dev/null || :",
];

fn shape(way: &(&str, &str, &str), place: &str) -> Option<String> {
    let (around, text, name) = way;
    if place.contains("NAME") && name.is_empty() {
        return None;
    }
    let place = place.replace("TEXT", text).replace("NAME", name);
    Some(around.replace('S', &place))
}

/// No value runs in any shape, whether it is refused or taken.
#[test]
fn composed_shapes_never_run_a_value() {
    let sandbox = Sandbox::with_home();
    let canary = sandbox.path().join("pwned");
    let text = canary.display().to_string();
    let mut dice = Dice {
        state: seed() + 23,
        offset: 0,
    };
    let each = (count() / (WAYS.len() * PLACES.len())).max(1);
    for way in WAYS {
        let mut batch = Batch::default();
        let mut taken: Vec<String> = Vec::new();
        for place in PLACES {
            let Some(shape) = shape(way, place) else {
                continue;
            };
            dice.offset = dice.below(PAYLOADS.len());
            for nth in 0..each {
                let value = dice.value(nth, &text);
                if let Ok(quoted) = bash(&pieces(&shape, &value), Dialect::Bash) {
                    batch.add(&quoted.text, &quoted.values);
                    taken.push(format!("{shape}\nwith {value:?}"));
                }
            }
        }
        batch.run(&sandbox, way.0);
        assert!(
            !canary.exists(),
            "a value was run by one of: {}",
            taken.join("\n---\n")
        );
    }
}

/// Text that is only passed on is taken, whatever way it comes, unless the way itself is refused.
#[test]
fn composed_shapes_pass_text_on() {
    for way in WAYS {
        let is_way = bash(
            &pieces(&shape(way, ":").expect("no name"), "x"),
            Dialect::Bash,
        )
        .is_ok();
        for place in HARMLESS {
            let shape = shape(way, place).expect("no name");
            let taken = bash(&pieces(&shape, "a[$(id)] b"), Dialect::Bash);
            assert_eq!(taken.is_ok(), is_way, "{shape}: {taken:?}");
        }
    }
}
