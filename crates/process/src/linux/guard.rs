//! Table and script of the guard process.

use std::ffi::CStr;
use std::fs::File;
use std::io;

use rustix::fs::{MemfdFlags, memfd_create};

/// Shell script that waits for the end of standard input. Then it kills the processes of the table
/// (descriptor 3, a line `PID START` each) with their sessions and all processes below them. A
/// reused process number has another start time and is skipped.
pub(crate) const GUARD_SCRIPT: &CStr = c"trap '' HUP INT TERM
cd /
read -r end
look() {
    read -r text <\"/proc/$1/stat\" || return 1
    text=${text##*) }
    set -- $text
    parent=$2 session=$4 start=${20}
}
known=' '
while read -r pid since <&3; do
    look \"$pid\" && [ \"$start\" = \"$since\" ] || continue
    kill -STOP \"$pid\"
    known=\"$known$pid \"
done
[ \"$known\" = ' ' ] && exit
more=1
while [ \"$more\" ]; do
    more=
    for folder in /proc/[0-9]*; do
        pid=${folder#/proc/}
        case $known in *\" $pid \"*) continue ;; esac
        look \"$pid\" || continue
        case $known in *\" $parent \"* | *\" $session \"*) ;; *) continue ;; esac
        kill -STOP \"$pid\"
        known=\"$known$pid \" more=1
    done
done
kill -KILL $known
";

/// Makes the table, in memory.
pub(crate) fn table() -> io::Result<File> {
    Ok(memfd_create("haft-children", MemfdFlags::CLOEXEC)?.into())
}
