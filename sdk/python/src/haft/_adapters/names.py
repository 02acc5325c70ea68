"""Names and schemas that model providers accept."""

from __future__ import annotations

import fnmatch
import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, cast

from .._types import JsonObject, ToolInfo

MAX_NAME_LENGTH = 64
# Digits at the end of a name that was cut.
HASH_LENGTH = 8


@dataclass(frozen=True)
class Offered:
    """A tool as a provider gets it. `name` is its alias where its own name is not accepted."""

    tool: ToolInfo
    name: str
    description: str
    schema: JsonObject


def offered(tools: Iterable[ToolInfo], names: Iterable[str] | None) -> list[Offered]:
    """Returns the tools that a model may see, or those of them whose names match a pattern.

    A pattern is a name with `*`, `?` or `[abc]` in it.
    """
    patterns = ["*"] if names is None else [names] if isinstance(names, str) else [*names]
    chosen = [
        tool
        for tool in tools
        if tool.is_offered and any(fnmatch.fnmatchcase(tool.name, glob) for glob in patterns)
    ]
    taken = {tool.name for tool in chosen}
    found: list[Offered] = []
    for tool in chosen:
        name = _alias(tool.name)
        while name != tool.name and name in taken:
            name = _hashed(name, tool.name + name)
        taken.add(name)
        found.append(Offered(tool, name, tool.description or tool.label, _schema(tool.parameters)))
    return found


def _alias(name: str) -> str:
    alias = re.sub(r"[^a-zA-Z0-9_-]", "_", name)
    if re.match(r"[0-9-]", alias):
        alias = f"_{alias}"
    return alias if len(alias) <= MAX_NAME_LENGTH else _hashed(alias, name)


def _hashed(alias: str, name: str) -> str:
    digits = hashlib.sha256(name.encode()).hexdigest()[:HASH_LENGTH]
    return f"{alias[: MAX_NAME_LENGTH - HASH_LENGTH - 1]}_{digits}"


def _schema(schema: JsonObject) -> JsonObject:
    """Returns an object schema without a union at its root, which providers refuse.

    It accepts every call that the tool accepts; haft checks the arguments against the tool's own.
    """
    unions = [key for key in ("anyOf", "oneOf", "allOf") if key in schema]
    if not unions:
        return {**schema, "type": "object", "properties": schema.get("properties", {})}
    properties: JsonObject = dict(schema.get("properties", {}))
    required = set[str](schema.get("required", ()))
    for key in unions:
        branches: list[Any] = [_resolved(branch, schema) for branch in schema[key]]
        for branch in branches:
            for name, value in branch.get("properties", {}).items():
                properties[name] = _either(properties.get(name), value)
        of_branches = [set[str](branch.get("required", ())) for branch in branches]
        if of_branches:
            combine = set[str].union if key == "allOf" else set[str].intersection
            required |= combine(*of_branches)
    others = {key: value for key, value in schema.items() if key not in unions}
    others.pop("additionalProperties", None)
    flat: JsonObject = {**others, "type": "object", "properties": properties}
    if required:
        flat["required"] = sorted(required)
    return flat


def _resolved(branch: Any, root: JsonObject) -> JsonObject:
    if not isinstance(branch, dict):
        # `true` accepts everything and has no properties.
        return {}
    schema = cast("JsonObject", branch)
    reference = str(schema.get("$ref", ""))
    if reference.startswith("#/$defs/"):
        definitions: JsonObject = root.get("$defs", {})
        return definitions.get(reference.removeprefix("#/$defs/"), {})
    return schema


def _either(known: Any, value: Any) -> JsonObject:
    if known is None or known == value:
        return value
    branches: list[Any] = known["anyOf"] if list(known) == ["anyOf"] else [known]
    return {"anyOf": [*branches, value]}
