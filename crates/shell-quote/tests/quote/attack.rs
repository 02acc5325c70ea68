//! Hostile values in every construct of bash: none of them may ever run.
//!
//! Each construct declares the values that it accepts: any text, whole numbers, or none. Accepted
//! values go through the real bash; the file that each payload tries to create must never exist.
//! `HAFT_SHELL_ATTACKS` sets the number of values; a run of 100,000 takes minutes.
//! `HAFT_SHELL_SEED` chooses other values.

use std::fmt::Write as _;

use haft_shell_quote::{Dialect, Outside, Piece, bash, bash_with};

use crate::Sandbox;

/// Constructs in which any text may replace the `@`.
const TEXT: &[&str] = &[
    "echo @",
    "echo a@b \"@\" '@' $'@' $\"@\"",
    "echo \"$(echo \"@\")\" `echo @`",
    "cat <<< @",
    "cat <<E\n@ $(echo @) ${x:-@}\nE",
    "cat <<'E'\n@ $x `y`\nE",
    "cat <<-'E'\n\t@\n\tE",
    "x=@; echo \"$x\" $x ${x} ${#x} ${x^^} ${x%@} ${x/@/b} ${x@Q} \"${x:-@}\"",
    "x=(@ '@'); echo \"${x[@]}\" ${x[0]} ${#x[@]} ${!x[@]}",
    "for v in @ b; do echo \"$v\"; done",
    "case @ in @) echo a;; *) echo b;; esac",
    "case \"@\" in a*|\"@\") echo;; esac",
    "[[ @ == @ && -n \"@\" && a < @ && ! -f '@' ]]",
    "[[ @ =~ ^a ]]; [[ b =~ @ ]]",
    "[ \"@\" = \"@\" ]; test -n @; [ -f @ -o -n '@' ]",
    "f() { echo \"$1\" \"$@\"; }; f @ '@'",
    "set -- @ \"@\"; shift; echo \"$1\" $#",
    "read -r a b <<< @; echo \"$a\"",
    "echo @ | while IFS= read -r l; do echo \"$l\"; done",
    "mapfile -t m <<< @; echo \"${m[0]}\"",
    "printf '%s\\n' @; printf -- @; printf '%d' @ 2>/dev/null",
    "printf -v p '%s' @; echo \"$p\"",
    "export E=@; local_=@ env true; A=@ true",
    "readonly R=@; declare D=@; declare -r S='@'; declare -x T=\"@\"",
    "(echo @; { echo '@'; }) | cat & wait",
    "! echo @ && true || false",
    "time echo @",
    "echo @ > f; cat < f; echo @ >> f; echo @ &> g; echo @ 2> h",
    "if test -n @; then echo @; elif echo @; then :; else echo @; fi",
    "while echo @; do break; done; until echo '@'; do :; done",
    "select s in @ b; do echo \"$s\"; break; done <<< 1",
    "cd -- @ 2>/dev/null; pwd",
    "type @; command -v @; kill -0 @; umask @; true @",
    "echo {a,@} ~/@ *@*",
    "diff <(echo @) <(echo '@')",
    "cat <(echo @) > >(cat)",
    "n=$(echo @ | wc -l); echo $((n + 1))",
    "n=$(grep -c -- @ /dev/null); echo $((n + 1))",
    "n=${#PWD}; n=$((n + 1)); echo $n @",
    "x=@; d=${x//[!0-9]/}; echo $((10#0$d))",
    "x=@; d=${x%%[!0-9]*}; echo $((1$d))",
    "i=0; for f in a b; do ((i++)); done; echo $i @",
    "awk -v v=@ 'BEGIN { print v }'",
    "awk 'BEGIN { print ENVIRON[\"E\"] }'; E=@ true",
    "sed 's/a/b/' <<< @",
    "bash -c 'printf %s \"$1\"' bash @",
    "sh -c 'for a; do echo \"$a\"; done' sh @ '@'",
    "find . -maxdepth 0 -name @ -o -name '@*'",
    "grep -e @ /dev/null; grep -- @ /dev/null",
    "timeout 5 printf '%s' @",
    "env A=@ B='@' printenv A",
    "echo @ | xargs -0 printf '%s'",
    "f() { local v=@ w=\"$1\"; echo \"$v$w\"; }; f @",
    "trap 'echo end' EXIT; echo @",
    "x=@ y=$x; echo ${x:-$y} ${z:=@} ${z:+@} \"${q:-\"@\"}\"",
    "echo \"${x:-@}\" \"${x:-'@'}\" ${x:-'@'} \"${PWD#@}\" ${PWD%%'@'}",
    "coproc cat; echo @ >/dev/null",
    "# @\necho @ # '@",
    "echo \\@ \"\\@\" x\\\\@",
    "exec 3< <(echo @); cat <&3; exec 3<&-",
    "jobs; echo @ & wait $!; disown -a",
    "getopts ab opt -- @; echo $OPTIND",
    "hash -r; times >/dev/null; echo @",
    "let 'n = 1 + 1'; echo $n @",
    "declare -A m=([k]=@); m[j]='@'; echo \"${m[k]}\" \"${!m[@]}\"",
    "a=(@ b); for i in \"${!a[\u{1}]}\"; do echo \"${a[$i]}\"; done",
    "eval \"$(dircolors -b)\"; i=0; ((i++)); true @",
    ". /dev/null; true @",
    "a=(@); a+=('@'); unset 'a[0]'; echo \"${a[@]:1}\"",
    "python3 -c 'import sys; print(sys.argv[1])' @",
    "perl -e 'print $ARGV[0]' @",
    "bash -s -- @ <<'E'\nprintf %s \"$1\"\nE",
    "sh -s @ <<-'E'\n\tprintf %s \"$1\"\n\tE",
    "bash /dev/stdin @ <<< 'printf %s \"$1\"'",
    "bash -s <<'E'\necho a\nE\necho @",
    ". /dev/stdin <<'E'\ni=0; ((i++))\nE\necho @",
    "env k=@ bash -c 'i=0; ((i++)); printf %s \"$k\"'",
    "bash -euo pipefail -c 'printf %s \"$1\"' bash @",
    "echo 'i=0; ((i++)); printf %s \"$1\"' | bash -s @",
    "n=$(printf %s @ | tr -cd 0-9); echo $((10#0$n))",
    "n=$(stat -c %s -- @ 2>/dev/null); echo $((n + 1))",
    "f() { local d=${1//[!0-9]/}; echo $((10#0$d)); }; f @",
    "args=(log @); printf '%s' \"${args[\u{1}]}\"",
    "k=@ timeout 5 bash -c 'printf %s \"$k\"'",
    "PS4='+ $LINENO: '; set -x; echo @",
    "find . -maxdepth 0 -exec sh -c 'echo \"$1\" \"$2\"' sh {} @ \\;",
    "args=(-n @); args+=('@'); echo \"${args[\u{1}]}\"",
    "f() { echo \"$#\" \"$((${#1} + 1))\"; }; f @",
];

/// Constructs that accept only whole numbers.
const NUMBER: &[&str] = &[
    "echo $((@ + 1))",
    "echo \"$((1 + @))\" \"$(( \"@\" ))\"",
    "echo $[@]",
    "((@)); ((x = @)); ((x = 1 + @, y = 2))",
    "((x[@]++))",
    "for ((i = 0; i < @; i++)); do break; done",
    "for ((i = @; i < 0; i++)); do :; done; for ((; 0; @)); do :; done",
    "x=abcdef; echo ${x:@} ${x:0:@} \"${x:@:1}\" ${@:@} ${x: @}",
    "a[@]=1; echo ${a[@]}",
    "a[\"@\"]=1",
    "a['@']=1",
    "a=([@]=1)",
    "a=([\"@\"]=1 ['@']=2)",
    "a+=([@]=2)",
    "declare -a a=([@]=1)",
    "local_() { local -a a=([@]=1); }; local_",
    "[[ @ -eq 1 ]]",
    "[[ \"@\" -gt 5 ]]",
    "[[ 1 -ne '@' ]]",
    "[[\n\"@\" -le 1 ]]",
    "[[ \"]]\" != x && @ -eq 1 ]]",
    "[[ a$'@' -lt 1 ]]",
    "[[ $(echo @) -ge 2 ]]",
    "time -p [[ @ -eq 1 ]]",
    "! [[ -n x && ( @ -eq 1 || 2 -gt \"@\" ) ]]",
    "let n=@",
    "let \"n = @\" 'm = @'",
    "let n='@'+1",
    "command let n=@; builtin let m=@",
    "declare -i n=@",
    "declare -i n; n=@",
    "f() { local -i n=\"@\"; }; f",
    "typeset -i n; n+=@",
    "declare -i n; read n <<< @",
    "declare -i n; for n in @; do :; done",
    "declare -i n; printf -v n %s @",
    "RANDOM=@",
    "SECONDS=@; OPTIND=@",
    "k=@; echo $((k + 1))",
    "k=@; ((k > 1))",
    "k=@; [[ $k -eq 1 ]]",
    "k='@'; [[ k -eq 1 ]]",
    "k=@; l=$k; m=\"a$l\"; echo $((m))",
    "k=@; echo ${PWD:k}",
    "k=@; a=(1); echo ${a[k]} ${a[$k]}",
    "k=@; a[k]=1",
    "k=@; let k",
    "k=@; for ((; k > 1; )); do break; done",
    "k=@; f() { echo $((k)); }; f",
    "f() { ((k)); }; k=@; f",
    "f() { (( $1 )); }; f @",
    "f() { local n=$1; echo $((n)); }; f '@'",
    "f() { echo $(( $* )); }; f @",
    "f() { g \"$@\"; }; g() { (( $2 )); }; f 1 @",
    "set -- @; (( $1 ))",
    "set -- a \"@\"; shift; echo $(( $1 ))",
    "for v in @ 2; do (( v )); done",
    "set -- @; for v; do ((v)); done",
    "select v in @; do ((v)); break; done <<< 1",
    ": ${v:=@}; ((v))",
    ": ${v=@}; echo $((v))",
    "v=${w:-@}; ((v))",
    "v=${PWD/*/@}; ((v))",
    "read n <<< @; ((n))",
    "read -r a n <<< \"1 @\"; echo $((n))",
    "read -a n <<< @; echo $((n[0]))",
    "read <<< @; echo $((REPLY))",
    "read n <<E\n@\nE\n((n))",
    "echo @ | { read n; echo $((n)); }",
    "echo @ | while read n; do ((s += n)); done",
    "while read n; do ((s += n)); done <<< @",
    "while read n; do ((s += n)); done < <(echo @)",
    "f() { read n; ((n)); }; f <<< @",
    "mapfile -t m <<< @; echo $((m[0]))",
    "mapfile m < <(echo @); ((m))",
    "readarray -t m <<< @; for v in \"${m[@]}\"; do ((v)); done",
    "printf -v n '%s' @; ((n))",
    "n=$(echo @); ((n))",
    "n=`echo @`; echo $((n))",
    "n=$(printf %s @ | cat); ((n))",
    "n=$(cat <<< @); ((n))",
    "n=$(f() { echo @; }; f); ((n))",
    "f() { echo \"$k\"; }; k=@; n=$(f); ((n))",
    "echo $(( $(echo @) + 1 ))",
    "echo @ > f; read n < f; ((n))",
    "echo @ > f; n=$(cat f); ((n))",
    "echo @ | tee f >/dev/null; n=$(<f); ((n))",
    "mkdir -- @ 2>/dev/null; for n in *; do ((n)); done",
    "[[ x@ =~ x(.*) ]]; (( BASH_REMATCH[1] ))",
    "true @; (( _ ))",
    "declare \"v=@\"; ((v))",
    "export v=@; bash -c 'echo $((v))'",
    "v=@ bash -c '((v))'",
    "bash -c 'echo $(( $1 ))' bash @",
    "bash -c 'echo $(( $0 ))' @",
    "echo @ | xargs -n1 bash -c 'echo $(( 1 + $0 ))'",
    "x=@; declare -A m=([x]=1); for k in \"${!m[\u{1}]}\"; do ((k)); done",
    "bash -c '[[ $1 -eq 1 ]]' bash @",
    "eval 'echo $((k))'; k=@; eval 'echo $((k))'",
    "trap '((k))' EXIT; k=@",
    "a=(@); echo $((a[0])); ((a))",
    "declare -A m=([k]=@); echo $((m[k]))",
    "x=@; y=x; echo $((y))",
    "x=@; y='x + 1'; z=$y; ((z))",
    "x=@; read y <<< x; ((y))",
    "x=@; f() { (( $1 )); }; f x",
    "x=@; for y in x; do [[ $y -eq 1 ]]; done",
    "x=@; a=(1 x); echo ${PWD:a[1]}",
    "x=@; y=$(echo x); ((y))",
    "exit @",
    "f() { return @; }; f",
    "while true; do break @; done",
    "ulimit -n @",
    "shift @",
    "n=@; printf '%s' \"${PWD:0:$n}\"",
    "[ @ -eq 1 ]; test 1 -lt \"@\"",
    "coproc { echo @; }; read n <&${COPROC[0]}; ((n))",
    "bash -s -- @ <<'E'\necho $(($1))\nE",
    "bash -euo pipefail -c 'echo $(($1))' bash @",
    "bash -eo pipefail -s @ <<'E'\necho $(($1))\nE",
    "k=@ flock f -c '((k))'",
    "k=@ su -c 'echo $((k))'",
    "echo '((k))' | k=@ bash",
    "printf '((k))' | k=@ bash -s",
    "bash -s @ <<< 'echo $(($1))'",
    "bash -s -- @ <<-'E'\n\t[[ $1 -gt 1 ]]\n\tE",
    "bash /dev/stdin @ <<'E'\n((x = $1))\nE",
    "bash /dev/fd/0 @ <<'E'\n((x = $1))\nE",
    "sh -s a @ <<'E'\necho $(($2))\nE",
    "sudo -u a bash -s @ <<'E'\necho $(($1))\nE",
    "timeout 5 nice bash -s @ <<'E'\necho $(($1))\nE",
    "find . -maxdepth 0 -exec bash -s @ \\; <<'E'\necho $(($1))\nE",
    "k=@ bash <<'E'\n((k))\nE",
    "k=@; . /dev/stdin <<'E'\n((k))\nE",
    "env k=@ bash -c 'echo $((k))'",
    "env -i PATH=\"$PATH\" k=@ bash <<'E'\n((k))\nE",
    "nice env k=@ bash -c '[[ k -gt 1 ]]'",
    "find . -maxdepth 0 -exec env k=@ bash -c '((k))' \\;",
    "echo @ | xargs -I% env k=% bash -c '((k))'",
    "echo @ | timeout 5 xargs -I% env k=% bash -c '((k))'",
    "runner -e k=@ bash -c '((k))'",
    "runner -ek=@ --env=j=@ bash -c '((k)); ((j))'",
    "runner @ bash -c '((k))'",
    "runner --env k=@ -- bash <<'E'\n((k))\nE",
    "k=@; PS4='$((k)) '; set -x; :",
    "env 'PS4=$((k))' k=@ bash -xc :",
    "export k=@; PROMPT_COMMAND='((k))'",
    "mkfifo p; echo @ > p & read n < p; ((n))",
    "cd -- @ 2>/dev/null; n=${PWD##*/}; ((n))",
    "ksh_() { [[ $1 -eq 1 ]]; }; ksh_ @",
    "n=$(stat -c %s @); ((n))",
    "n=$(grep -c @ /dev/null); ((n))",
];

/// Constructs that accept no value at all.
const NEVER: &[&str] = &[
    "eval @",
    "eval \"echo @\"",
    "eval 'echo @'",
    "x=@; eval \"$x\"",
    "command eval @; builtin eval @",
    "source @",
    ". <(echo @)",
    "source /dev/stdin <<< @",
    "echo @ > s; . ./s",
    "echo @ > s; bash s",
    "echo @ > s; chmod +x s; ./s",
    "trap @ EXIT",
    "trap 'echo @' EXIT",
    "trap \"echo @\" EXIT",
    "alias a=@",
    "PS4=@; set -x; :",
    "PROMPT_COMMAND=@",
    "IFS=@",
    "BASH_ENV=@ bash -c :",
    "ENV=@ sh -c :",
    "PATH=@",
    "export PATH=@:$PATH",
    "LD_PRELOAD=@ true",
    "for PATH in @; do :; done",
    "read PS4 <<< @",
    "x=@; echo ${x@P}",
    "x=(@); echo ${x[0]@P}",
    "x=@; echo ${!x}",
    "x=@; echo ${!x:-a}",
    "declare -n r=@; echo $r",
    "f() { local -n r=$1; echo $r; }; f @",
    "declare \"@=1\"",
    "export @; readonly @",
    "declare -a \"x=(@)\"",
    "declare -a x; declare x=@",
    "declare -a x=@",
    "unset @",
    "unset 'a[@]'",
    "unset \"a[@]\"",
    "read @ <<< 1",
    "read 'a[@]' <<< 1",
    "read -a @ <<< 1",
    "mapfile @ <<< 1",
    "mapfile -C @ -c 1 m <<< 1",
    "printf -v @ x",
    "printf -v 'a[@]' x",
    "printf -v\"a[@]\" x",
    "test -v @",
    "[ -v 'a[@]' ]",
    "[[ -v @ ]]",
    "[[ -v a[@] ]]",
    "[[ -R @ ]]",
    "wait -p @",
    "getopts a @",
    "compgen -W @",
    "compgen -C @",
    "complete -C @ x",
    "bind -x @",
    "enable -f @ x",
    "hash -p @ ls",
    "shopt -s @",
    "set @",
    "set -o @",
    "exec @",
    "@ a",
    "\"@\"/b c",
    "command @ a",
    "x=@; $x",
    "\"$x\" a; x=@",
    "set -- @; \"$@\"",
    "f() { \"$@\"; }; f @",
    "f() { \"$@\"; }; f eval @",
    "f() { timeout 1 \"$@\"; }; f bash -c @",
    "f() { command \"$@\"; }; f eval @",
    "@() { :; }",
    "make >& @",
    "echo a >& @",
    "echo 1>&@",
    "cat <&@",
    "bash -c @",
    "bash -c 'echo @'",
    "bash -c \"echo @\"",
    "sh -ec 'echo @'",
    "bash -O extglob -c \"@\"",
    "bash <<< @",
    "bash <<E\n@\nE",
    "bash <<'E'\n@\nE",
    "echo @ | bash",
    "echo @ | cat | sh -s",
    "{ bash; } <<< @",
    "f() { sh; }; f <<< @",
    "echo @ | tee >(sh) >/dev/null",
    "exec 3> >(sh); echo @ >&3",
    "echo @ | { cat; sh; }",
    "bash <(echo @)",
    "bash @",
    "bash --rcfile @ -i",
    "env -S @",
    "env @",
    "env bash -c @",
    "env LD_PRELOAD=@ true",
    "nice -n 5 sh -c @",
    "timeout 5 @",
    "timeout -s KILL 5 bash -c @",
    "nohup @",
    "setsid sh -c @",
    "stdbuf -oL sh -c @",
    "xargs @ < /dev/null",
    "echo a | xargs sh -c @",
    "echo @ | xargs -I% sh -c 'echo %'",
    "echo @ | xargs sh -c",
    "find . -maxdepth 0 -exec sh -c @ \\;",
    "find . -maxdepth 0 -exec @ \\;",
    "find . -maxdepth 0 -exec sh -c 'echo @' \\;",
    "awk @",
    "awk \"BEGIN { print @ }\"",
    "awk 'BEGIN { x = \"@\" }'",
    "awk -f <(echo @)",
    "sed @ <<< a",
    "sed 's/a/@/' <<< a",
    "sed -e \"s/a/@/\" <<< a",
    "sed -f <(echo @) <<< a",
    "perl -e @",
    "perl -ne 'print' @",
    "perl -M@ -e 1",
    "python3 -c @",
    "python3 -c 'print(\"@\")'",
    "echo @ | python3",
    "python3 - <<E\n@\nE",
    "ssh host @",
    "ssh -o @ host",
    "ssh host bash <<< @",
    "sudo sh -c @",
    "su -c @",
    "ed @",
    "x=`bash -c @`; echo $(sh -c @)",
    "if bash -c @; then :; fi",
    "history -s @",
    "fc -s @",
    "jobs -x @",
    "coproc bash -c @",
    "cat <<@\nx\n",
    "docker run x sh -c @",
    "cmd=(bash -c); cmd+=(@); \"${cmd[\u{1}]}\"",
    "cmd=(@ a); \"${cmd[\u{1}]}\"",
    "cmd=(a); cmd=(@); \"${cmd[\u{1}]}\"",
    "cmd=(a b); cmd[0]=@; \"${cmd[\u{1}]}\"",
    "cmd=(a b); read -a cmd <<< @; \"${cmd[\u{1}]}\"",
    "cmd=(eval); \"${cmd[\u{1}]}\" @",
    "git -c @ status",
    "git clone --upload-pack=@ x y",
    "tar -I @ -cf a b; tar --checkpoint-action=@ -cf a b",
    "rsync -e @ a b",
    "split --filter=@ a",
    "make CC=@",
    "make -f @",
    "npx @",
    "tmux new @",
    "BASH_ALIASES[x]=@; BASH_CMDS[x]=@",
    "run() { \"$@\"; }; run echo @ '@'",
    "cmd=(printf '%s'); cmd+=(@); \"${cmd[\u{1}]}\"",
    "cmd=(echo -n '@'); \"${cmd[\u{1}]}\" @",
    "declare -n r=n; r=@; ((n))",
    "declare -i n; declare -n r=n; r=@",
    "f() { local -n out=$1; out=@; }; f n; ((n))",
    "bash -s -- @ <<'E'\neval \"$1\"\nE",
    "bash -s -- @ <<E\neval \"\\$1\"\nE",
    "bash -s @ < <(cat)",
    "cat <<'E' | bash -s -- @\neval \"$1\"\nE",
    "{ bash -s -- @; } <<'E'\necho a\nE",
    "bash /dev/fd/3 @ 3<<'E'\neval \"$1\"\nE",
    "bash -s @ 3<<'E' < f\neval \"$1\"\nE\necho @ > f",
    "exec < <(echo @); bash",
    "exec 0< <(echo @); bash -s",
    "bash 0<&3 3< <(echo @)",
    "cmd=eval; $cmd @",
    "cmd='bash -c'; $cmd @",
    "cmd=(echo); cmd=eval; \"${cmd[\u{1}]}\" @",
    "x=eval; sudo $x @",
    "retry() { shift; \"$@\"; }; retry 3 eval @",
    "f() { set -- eval \"$2\"; \"$@\"; }; f a @",
    "alias x=eval; x @",
    "hash -p /bin/bash x; x -c @",
    "cat > s <<'E'\neval \"$1\"\nE\nbash s @",
    "printf 'eval \"$1\"' > s; chmod +x s; ./s @",
    "cp /dev/stdin s <<< @; sudo ./s",
    "t=$(mktemp); echo @ > \"$t\"; bash \"$t\"",
    "zsh -c 'echo $1' zsh @",
    "fish -c 'echo $argv' @",
    "code='((k))'; k=@; eval \"$code\"",
    "x='$((k))'; k=@; echo \"${x@P}\"",
    "code='echo $((k))'; k=@ bash -c \"$code\"",
    "env PS4=@ bash -xc :",
    "runner -e PS4=@ bash -xc :",
    "systemd-run -E LD_PRELOAD=@ true",
    "for PS4 in @; do set -x; :; done",
    "printf -v PS4 %s @",
    "find . -name @ -exec sh -c 'echo {}' \\;",
    "ls | xargs -I{} bash -c 'echo {} @'",
    "hyperfine @",
    "wc() { cat; }; n=$(echo @ | wc -l); ((n))",
    "echo @ | entr -s 'echo /_'",
    "bash -euo pipefail -c @",
    "bash -es @ <<'E'\neval \"$1\"\nE",
    "bash -s 0<<'E' @\neval \"$1\"\nE",
    "o=-c; bash $o @",
    "o=-c; bash \"$o\" 'eval \"$1\"' bash @",
    "env -S 'bash -c' 'eval \"$1\"' bash @",
    "flock f -c 'eval \"$k\"' & k=@",
    "k=@ watch 'eval \"$k\"'",
    "c=bash; k=@ $c -c 'eval \"$k\"'",
];

/// Parts of hostile values; `C` is the canary's path.
pub(crate) const PAYLOADS: &[&str] = &[
    "a[$(touch C)]",
    "a[`touch C`]",
    "a[$(touch C)]=1",
    "1+a[$(touch C)]",
    "PATH[$(touch C)]",
    "a[\"$(touch C)\"]",
    "-va[$(touch C)]",
    "-v a[$(touch C)]",
    "x[0$(touch C)]",
    "([$(touch C)]=1)",
    "(1 [$(touch C)]=2)",
    "$(touch C)",
    "`touch C`",
    "${x:=$(touch C)}",
    "${x[$(touch C)]}",
    "${x@P}$(touch C)",
    "$((a[$(touch C)]))",
    "<(touch C)",
    ";touch C;",
    "&touch C&",
    "|touch C",
    "||touch C||",
    "\ntouch C\n",
    "';touch C;'",
    "\";touch C;\"",
    "'\"$(touch C)\"'",
    "\");touch C;(\"",
    "'$(touch C)'",
    "$'\\x24(touch C)'",
    "\\$(touch C)",
    "\\\\$(touch C)",
    "}$(touch C)",
    "]$(touch C)",
    "))$(touch C)",
    "]];touch C;[[ a",
    ")) ;touch C; ((1",
    "\nE\ntouch C\n",
    "\n\tE\ntouch C\n",
    "x;touch C #",
    "touch C",
    "eval touch C",
    "system(\"touch C\")",
    "BEGIN{system(\"touch C\")}",
    "1e touch C",
    "/e;1e touch C\ns/",
    "--expression=1e touch C",
    "-e1etouch C",
    "--checkpoint-action=exec=touch C",
    "-oProxyCommand=touch C",
    "-exec touch C ;",
    "__haft_1",
    "__haft_1[$(touch C)]",
    "@",
    "*",
    "-c touch C",
    "-S touch C",
    "x=$(touch C)",
    "PATH=$(touch C)",
    "a=b[$(touch C)]",
    "import os; os.system('touch C')",
    "!touch C",
    "touch C|",
    "{touch,C}",
    "~$(touch C)",
    "%(touch C)T",
    "%n$(touch C)",
    "0x$(touch C)",
    "16#a[$(touch C)]",
    "9a[$(touch C)]",
    "-1-a[$(touch C)]",
];

const BITS: &[&str] = &[
    "a", "1", "-", " ", "\n", "\t", "'", "\"", "\\", "$", "`", "(", ")", "[", "]", "{", "}", "=",
    ";", "&", "|", "<", ">", "#", "!", "*", "?", "~", "%", "+", ",", ":", "@", "EOF", "é",
    "\u{a0}",
];

/// Random numbers that are the same in every run.
pub(crate) struct Dice {
    pub(crate) state: u64,
    pub(crate) offset: usize,
}

impl Dice {
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        usize::try_from(self.state % limit as u64).expect("it is below a usize")
    }

    /// Returns a payload, alone or among characters that a shell interprets.
    pub(crate) fn value(&mut self, nth: usize, canary: &str) -> String {
        // Each construct begins with another payload.
        let payload = PAYLOADS[(nth + self.offset) % PAYLOADS.len()].replace('C', canary);
        if nth < PAYLOADS.len() {
            return payload;
        }
        let mut value = String::new();
        for _ in 0..self.below(4) {
            value.push_str(BITS[self.below(BITS.len())]);
        }
        value.push_str(&payload);
        for _ in 0..self.below(4) {
            value.push_str(BITS[self.below(BITS.len())]);
        }
        value
    }
}

pub(crate) fn pieces(template: &str, value: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    // `$@` and `[@]` belong to bash.
    let marked = template
        .replace("\"$@\"", "\"$\u{1}\"")
        .replace("${@:", "${\u{1}:")
        .replace("${x[@]", "${x[\u{1}]")
        .replace("${#x[@]", "${#x[\u{1}]")
        .replace("${!x[@]", "${!x[\u{1}]")
        .replace("${!m[@]", "${!m[\u{1}]")
        .replace("\"${m[@]}\"", "\"${m[\u{1}]}\"")
        .replace("\"${a[@]", "\"${a[\u{1}]");
    let marked = marked
        .replace("{x@Q}", "{x\u{1}Q}")
        .replace("@P}", "\u{1}P}");
    for (index, part) in marked.split('@').enumerate() {
        if index > 0 {
            pieces.push(Piece::guarded(value, "X"));
        }
        pieces.push(Piece::raw(part.replace('\u{1}', "@")));
    }
    pieces
}

pub(crate) fn count() -> usize {
    let asked = std::env::var("HAFT_SHELL_ATTACKS").ok();
    asked.and_then(|count| count.parse().ok()).unwrap_or(2_000)
}

/// Returns the number that the values depend on.
pub(crate) fn seed() -> u64 {
    let asked = std::env::var("HAFT_SHELL_SEED").ok();
    asked.and_then(|seed| seed.parse().ok()).unwrap_or(17)
}

/// Accepted commands that one bash runs together.
#[derive(Default)]
pub(crate) struct Batch {
    text: String,
    size: usize,
}

impl Batch {
    pub(crate) fn add(&mut self, text: &str, values: &[String]) {
        self.text.push_str("(\n");
        for (index, value) in values.iter().enumerate() {
            let value = value.replace('\'', "'\\''");
            let _ = writeln!(self.text, "export __haft_{}='{value}'", index + 1);
        }
        let _ = write!(self.text, "{text}\n) </dev/null >/dev/null 2>&1\n");
        self.size += 1;
    }

    /// Runs the batch to its end in a folder of its own.
    pub(crate) fn run(&mut self, sandbox: &Sandbox, what: &str) {
        if self.size == 0 {
            return;
        }
        let folder = sandbox.path().join("work");
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir(&folder).expect("the folder is new");
        self.text.push_str("echo end-of-batch\n");
        let script = sandbox.path().join("batch.sh");
        std::fs::write(&script, &self.text).expect("the folder is writable");
        let mut command = sandbox.command("timeout");
        command
            .arg("120")
            .arg("bash")
            .arg(&script)
            .current_dir(&folder);
        let output = command.output().expect("bash is on every machine");
        let said = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(said.ends_with("end-of-batch\n"), "{what}: {errors}");
        self.text.clear();
        self.size = 0;
    }
}

/// Number of commands that one bash runs.
const BATCH: usize = 100;

/// Tries `count` values on the constructs; returns the number of accepted ones.
fn attack(constructs: &[&str], count: usize, seed: u64) -> usize {
    let sandbox = Sandbox::with_home();
    let canary = sandbox.path().join("pwned");
    let canary_text = canary.display().to_string();
    let mut dice = Dice {
        state: seed,
        offset: 0,
    };
    let each = count.div_ceil(constructs.len());
    let mut accepted = 0;
    for construct in constructs {
        let mut batch = Batch::default();
        dice.offset = dice.below(PAYLOADS.len());
        for nth in 0..each {
            let value = dice.value(nth, &canary_text);
            if let Ok(quoted) = bash(&pieces(construct, &value), Dialect::Bash) {
                batch.add(&quoted.text, &quoted.values);
                accepted += 1;
            }
            if batch.size == BATCH || nth + 1 == each {
                batch.run(&sandbox, construct);
                assert!(!canary.exists(), "a value was run by: {construct}");
            }
        }
    }
    accepted
}

/// Tries every payload, because refusals start no process.
fn all_payloads(constructs: &[&str]) -> usize {
    (count() / 4).max(constructs.len() * PAYLOADS.len())
}

#[test]
fn text_is_never_run() {
    let accepted = attack(TEXT, count() / 2, seed());
    // A few are refused because they begin with `-`.
    assert!(accepted >= count() / 2 - count() / 50, "{accepted}");
}

#[test]
fn only_whole_numbers_are_calculated_with() {
    assert_eq!(attack(NUMBER, all_payloads(NUMBER), seed() + 1), 0);
    for construct in NUMBER {
        let refused = bash(&pieces(construct, "a[$(id)]"), Dialect::Bash);
        let why = refused.expect_err(construct).to_string();
        assert!(why.contains("whole number"), "{construct}: {why}");
        for value in ["1.5", "0x1f", "a", "1+1", " 1", "--1", "10#1"] {
            let refused = bash(&pieces(construct, value), Dialect::Bash);
            assert!(refused.is_err(), "{construct} with {value:?}");
        }
        for value in ["0", "7", "-7", "123456789"] {
            let quoted = bash(&pieces(construct, value), Dialect::Bash);
            quoted.unwrap_or_else(|error| panic!("{construct} with {value}: {error}"));
        }
    }
}

#[test]
fn some_places_take_no_value() {
    assert_eq!(attack(NEVER, all_payloads(NEVER), seed() + 2), 0);
    for construct in NEVER {
        for value in ["", "1", "a", "-"] {
            let refused = bash(&pieces(construct, value), Dialect::Bash);
            let why = refused.expect_err(construct).to_string();
            assert!(why.contains("cannot stand there"), "{construct}: {why}");
        }
    }
}

/// Options that run programs are refused as values; every other value arrives.
#[test]
fn values_do_not_become_options_that_run_programs() {
    for construct in [
        "git log @",
        "git fetch origin @",
        "tar -cf a.tar @",
        "find @ -name a",
        "rsync a @",
        "ssh @ uptime",
        "curl @",
        "sort @",
        "rg pattern @",
        "printf @ x",
    ] {
        for value in [
            "--upload-pack=touch pwned",
            "-oProxyCommand=x",
            "-va[$(id)]",
            "-",
        ] {
            let refused = bash(&pieces(construct, value), Dialect::Bash);
            let why = refused.expect_err(construct).to_string();
            assert!(
                why.contains("must not begin with `-`"),
                "{construct}: {why}"
            );
        }
        for value in ["main", "a -b", "", "https://host/x?a=b&c=$(id)"] {
            let quoted = bash(&pieces(construct, value), Dialect::Bash);
            quoted.unwrap_or_else(|error| panic!("{construct} with {value}: {error}"));
        }
    }
    for construct in [
        "git log -- @",
        "git commit -m @",
        "tar -cf a.tar -- @",
        "echo @",
    ] {
        let quoted = bash(&pieces(construct, "--exec=x"), Dialect::Bash);
        quoted.unwrap_or_else(|error| panic!("{construct}: {error}"));
    }
}

/// A value that the author's own definition restricts to numbers cannot inject code.
#[test]
fn numbers_may_stand_in_code() {
    for construct in [
        "awk 'NR == @'",
        "sed -n '@p'",
        "bash -c 'echo @'",
        "python3 -c 'print(@)'",
    ] {
        let pieces: Vec<Piece> = pieces(construct, "-5.5")
            .into_iter()
            .map(|piece| match piece.guarded {
                Some(_) => piece.fixed(),
                None => piece,
            })
            .collect();
        bash(&pieces, Dialect::Bash).unwrap_or_else(|error| panic!("{construct}: {error}"));
    }
}

/// Variables of the environment and the standard input are values, too.
#[test]
fn values_outside_of_the_text_count() {
    let outside = |variable: Option<&str>, text: &str| {
        [Outside {
            variable: variable.map(str::to_owned),
            name: "X".to_owned(),
            text: text.to_owned(),
            is_fixed: false,
        }]
    };
    for (variable, command) in [
        (Some("N"), "echo $((N + 1))"),
        (Some("N"), "[[ $N -gt 1 ]]"),
        (Some("N"), "f() { local n=$N; ((n)); }; f"),
        (Some("N"), "bash -c '((N))'"),
        (None, "read n; ((n))"),
        (None, "mapfile -t m; echo $((m[0]))"),
        (None, "n=$(cat); ((n))"),
        (None, "while read -r n; do ((s += n)); done"),
    ] {
        let text = [Piece::raw(command)];
        let refused = bash_with(&text, Dialect::Bash, &outside(variable, "a[$(id)]"));
        assert!(refused.is_err(), "{command}");
        let taken = bash_with(&text, Dialect::Bash, &outside(variable, "7"));
        taken.unwrap_or_else(|error| panic!("{command}: {error}"));
    }
    for (variable, command) in [
        (Some("N"), "eval \"$N\""),
        (Some("N"), "bash -c \"$N\""),
        (Some("N"), "$N"),
        (None, "bash"),
        (None, "cat | sh"),
        (None, "source /dev/stdin"),
    ] {
        let text = [Piece::raw(command)];
        let refused = bash_with(&text, Dialect::Bash, &outside(variable, "a"));
        assert!(refused.is_err(), "{command}");
    }
    for (variable, command) in [(Some("N"), "echo \"$N\""), (None, "cat; jq .a")] {
        let text = [Piece::raw(command)];
        let taken = bash_with(&text, Dialect::Bash, &outside(variable, "$(id)"));
        assert_eq!(taken.expect(command).text, command);
    }
}

/// A command that cannot be parsed has no safe places for values.
#[test]
fn a_command_that_is_not_clear_is_refused() {
    for construct in ["echo @ )", "if true; then echo @", "echo \"@", "echo $(@"] {
        let refused = bash(&pieces(construct, "v"), Dialect::Bash);
        let why = refused.expect_err(construct).to_string();
        assert!(why.contains("cannot"), "{construct}: {why}");
        let plain = [Piece::raw(construct.replace('@', "v"))];
        assert!(bash(&plain, Dialect::Bash).is_ok(), "{construct}");
    }
    let deep = format!("echo {}@{}", "$(echo ".repeat(5_000), ")".repeat(5_000));
    assert!(bash(&pieces(&deep, "v"), Dialect::Bash).is_err());
}
