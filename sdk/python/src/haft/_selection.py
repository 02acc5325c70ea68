"""Selection of tools by toolsets of the configuration and by patterns of names."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ._types import HaftError

# A line of `haft config`: `toolsets.review  git_*, !git_push  FILE:LINE`.
_TOOLSET = re.compile(r"toolsets\.(\S+)\s{2,}(.*?)(?:\s{2,}.*)?$", re.MULTILINE)


class Selection:
    """Toolsets are combined, `include` narrows them, and excluded tools are never selected."""

    def __init__(self, include: Sequence[str] = (), exclude: Sequence[str] = ()) -> None:
        self._toolsets: re.Pattern[str] | None = None
        self._include = any_of(include) if include else None
        self._exclude = list(exclude)
        self._excluded = any_of(exclude)

    def use_toolsets(self, names: Sequence[str], config: str) -> None:
        """Takes toolsets from the output of `haft config`."""
        known = {match[1]: match[2].split(", ") for match in _TOOLSET.finditer(config)}
        globs: list[str] = []
        for name in names:
            if name not in known:
                hint = '`toolsets: {name: ["glob"]}` in config.yaml makes one'
                if known:
                    hint = f"the configuration has: {', '.join(known)}"
                raise HaftError(f"there is no toolset `{name}`\nhint: {hint}")
            globs += known[name]
        self._toolsets = any_of([glob for glob in globs if not glob.startswith("!")])
        self._exclude += [glob[1:] for glob in globs if glob.startswith("!")]
        self._excluded = any_of(self._exclude)

    def takes(self, name: str) -> bool:
        """Returns true if the tool of this name is selected."""
        return (
            (self._toolsets is None or self._toolsets.fullmatch(name) is not None)
            and (self._include is None or self._include.fullmatch(name) is not None)
            and self._excluded.fullmatch(name) is None
        )


def any_of(globs: Sequence[str]) -> re.Pattern[str]:
    """Compiles patterns of names, of which one has to match the whole name."""
    # Without a pattern nothing matches.
    return re.compile("|".join(_translated(glob) for glob in globs) or r"(?!)", re.DOTALL)


def _translated(glob: str) -> str:
    """Translates `*`, `?`, `[abc]`, `[!abc]` and `{one,two}`."""
    translated, at, depth = "", 0, 0
    while at < len(glob):
        char = glob[at]
        close = glob.find("]", at + 2) if char == "[" else -1
        if close > 0:
            negated = glob[at + 1] in "!^"
            inner = re.escape(glob[at + (2 if negated else 1) : close]).replace(r"\-", "-")
            translated += f"[{'^' if negated else ''}{inner}]"
            at = close
        elif char == "{":
            translated, depth = translated + "(?:", depth + 1
        elif char == "}" and depth:
            translated, depth = translated + ")", depth - 1
        elif char == "," and depth:
            translated += "|"
        else:
            translated += {"*": ".*", "?": "."}.get(char) or re.escape(char)
        at += 1
    if depth or ("[" in glob and "]" not in glob):
        raise HaftError(
            f"`{glob}` is not a pattern of tool names\n"
            "hint: a pattern is a name with `*`, `?`, `[abc]` or `{one,two}` in it"
        )
    return f"(?:{translated})"
