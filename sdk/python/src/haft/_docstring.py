"""Parses docstrings in the styles of Google, NumPy and Sphinx: the text and the parameters."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, field

# Sections of Google's and NumPy's styles. Those about the result stay out of the description.
_PARAMETERS = frozenset(
    {"args", "arguments", "parameters", "params", "attributes", "fields"}
    | {"keyword args", "keyword arguments", "other parameters"}
)
_SECTIONS = _PARAMETERS | {
    *("returns", "return", "yields", "yield", "raises", "raise", "warns", "warnings", "warning"),
    *("example", "examples", "note", "notes", "see also", "references", "todo"),
}
_SPHINX_PARAMETER = re.compile(
    r":(?:param|parameter|arg|argument|ivar)\s+(?:[^:]*\s)?(\w+):\s*(.*)"
)
_SPHINX_OTHER = re.compile(r":(?:\w+)(?:\s[^:]*)?:")
_GOOGLE_PARAMETER = re.compile(r"\*{0,2}(\w+)\s*(?:\([^)]*\))?:\s*(.*)")
_NUMPY_PARAMETER = re.compile(r"\*{0,2}(\w+(?:\s*,\s*\w+)*)\s*(?::.*)?$")


@dataclass
class Docstring:
    """Text of a docstring before its sections, and the descriptions of the parameters."""

    text: str = ""
    parameters: dict[str, str] = field(default_factory=dict[str, str])


def parse(docstring: str | None) -> Docstring:
    """Parses a docstring; without one, everything is empty."""
    if not docstring:
        return Docstring()
    lines = inspect.cleandoc(docstring).splitlines()
    parsed = Docstring()
    text: list[str] = []
    at, in_text = 0, True
    while at < len(lines):
        line = lines[at]
        if heading := _heading(lines, at):
            name, is_numpy = heading
            at += 2 if is_numpy else 1
            body, at = _body(lines, at, is_numpy)
            in_text = False
            if name in _PARAMETERS:
                parsed.parameters.update(_numpy(body) if is_numpy else _google(body))
        elif match := _SPHINX_PARAMETER.match(line):
            continued, at = _indented(lines, at + 1)
            parsed.parameters[match[1]] = _joined([match[2], *continued])
            in_text = False
        elif _SPHINX_OTHER.match(line):
            _, at = _indented(lines, at + 1)
            in_text = False
        else:
            if in_text:
                text.append(line)
            at += 1
    parsed.text = "\n".join(text).strip()
    return parsed


def _heading(lines: list[str], at: int) -> tuple[str, bool] | None:
    line = lines[at]
    if not line or line[0].isspace():
        return None
    if line.endswith(":") and line[:-1].lower() in _SECTIONS:
        return line[:-1].lower(), False
    underline = lines[at + 1] if at + 1 < len(lines) else ""
    if line.lower() in _SECTIONS and underline and set(underline) == {"-"}:
        return line.lower(), True
    return None


def _body(lines: list[str], at: int, is_numpy: bool) -> tuple[list[str], int]:
    body: list[str] = []
    while at < len(lines) and not _heading(lines, at):
        # A section in Google's style ends where the indentation ends.
        if not is_numpy and lines[at] and not lines[at][0].isspace():
            break
        body.append(lines[at])
        at += 1
    return body, at


def _indented(lines: list[str], at: int) -> tuple[list[str], int]:
    taken: list[str] = []
    while at < len(lines) and lines[at][:1].isspace():
        taken.append(lines[at])
        at += 1
    return taken, at


def _google(body: list[str]) -> dict[str, str]:
    indents = [len(line) - len(line.lstrip()) for line in body if line.strip()]
    first = min(indents, default=0)
    found: dict[str, list[str]] = {}
    name = None
    for line in body:
        is_start = len(line) - len(line.lstrip()) == first
        match = _GOOGLE_PARAMETER.match(line.strip()) if is_start else None
        if match:
            name = match[1]
            found[name] = [match[2]]
        elif name is not None:
            found[name].append(line)
    return {name: _joined(text) for name, text in found.items()}


def _numpy(body: list[str]) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    names: list[str] = []
    for line in body:
        match = _NUMPY_PARAMETER.match(line) if line and not line[0].isspace() else None
        if match:
            names = [name.strip() for name in match[1].split(",")]
            for name in names:
                found[name] = []
        else:
            for name in names:
                found[name].append(line)
    return {name: _joined(text) for name, text in found.items()}


def _joined(lines: list[str]) -> str:
    return " ".join(line.strip() for line in lines if line.strip())
