"""Search for the program `haft`."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from pathlib import Path

from ._types import BinaryNotFoundError, StrPath

NAME = "haft.exe" if sys.platform == "win32" else "haft"


def find_binary(binary: StrPath | None = None) -> str:
    """Returns the path of the program `haft`.

    The order: the argument, the variable `HAFT_BINARY`, the program that the wheel installed,
    `PATH`.

    Raises:
        BinaryNotFoundError: there is no such file, or it is not executable.
    """
    given = os.fspath(binary) if binary is not None else os.environ.get("HAFT_BINARY")
    if given:
        source = "the argument `binary`" if binary is not None else "HAFT_BINARY"
        return _checked(given, source)
    looked_at = installed_places()
    for path in looked_at:
        if _is_executable(path):
            return str(path)
    if on_path := shutil.which("haft"):
        return on_path
    places = ", ".join(str(path) for path in looked_at)
    raise BinaryNotFoundError(
        f"the program `haft` was not found: not in PATH, and not in {places}\n"
        "hint: `pip install haft-tools` brings it for Linux; HAFT_BINARY names another one"
    )


def installed_places() -> list[Path]:
    """Returns the paths where pip or uv put the program of this package's wheel."""
    package = Path(__file__).parent
    folders = [
        Path(sysconfig.get_path("scripts")),
        # `python` of an environment that is not activated.
        Path(sys.executable).parent,
        Path(sysconfig.get_path("scripts", scheme=_user_scheme())),
        # `pip install --target`, and `--prefix`: PREFIX/lib/python3.x/site-packages/haft.
        package.parent / "bin",
        *(folder / "bin" for folder in list(package.parents)[3:4]),
        package / "bin",
    ]
    return list(dict.fromkeys(folder / NAME for folder in folders))


def _user_scheme() -> str:
    return sysconfig.get_preferred_scheme("user")


def _is_executable(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def _checked(given: str, source: str) -> str:
    # A plain name is looked up in PATH, as a shell does.
    if os.sep not in given and (found := shutil.which(given)):
        return found
    path = Path(given).expanduser()
    if not path.is_file():
        raise BinaryNotFoundError(f"{source} names `{given}`, which is not a file")
    if not os.access(path, os.X_OK):
        raise BinaryNotFoundError(f"{source} names `{given}`, which is not executable")
    return str(path)
