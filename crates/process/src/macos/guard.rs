//! Table and script of the guard process.

use std::ffi::CStr;
use std::fs::File;
use std::io;

/// Shell script that waits for the end of standard input. Then it kills the processes of the table
/// (descriptor 3, a line `PID START` each) with their groups and all processes below them. A process
/// that is not our child, or does not lead its group, has a reused number and is skipped.
pub(crate) const GUARD_SCRIPT: &CStr = c"trap '' HUP INT TERM
cd /
read -r end
known=' '
while read -r pid start <&3; do
    set -- $(ps -o ppid= -o pgid= -p \"$pid\")
    [ \"$2\" = \"$pid\" ] || continue
    [ \"$1\" = 1 ] || [ \"$1\" = \"$PPID\" ] || continue
    kill -STOP \"$pid\"
    known=\"$known$pid \"
done
[ \"$known\" = ' ' ] && exit
more=1
while [ \"$more\" ]; do
    more=
    while read -r pid parent group; do
        case $known in *\" $pid \"*) continue ;; esac
        case $known in *\" $parent \"* | *\" $group \"*) ;; *) continue ;; esac
        kill -STOP \"$pid\"
        known=\"$known$pid \" more=1
    done <<END
$(ps -axo pid=,ppid=,pgid=)
END
done
kill -KILL $known
";

/// Makes the table, in a file without a name.
pub(crate) fn table() -> io::Result<File> {
    tempfile::tempfile()
}
