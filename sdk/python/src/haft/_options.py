"""Options of a host, and what haft gets of them: flags, and the parameters of `initialize`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast

from ._tools import AnyTool
from ._types import JsonObject, Limits, StrPath

ApprovalMode: TypeAlias = Literal["always-ask", "write", "yolo"]
Isolation: TypeAlias = Literal["process", "sandbox"]
Names: TypeAlias = "str | Iterable[str]"


def _list(given: Names | None) -> list[str]:
    return [given] if isinstance(given, str) else list(given or ())


@dataclass(frozen=True)
class Options:
    """Options of a host, as `Haft` documents them."""

    cwd: StrPath | None = None
    trust: bool = False
    toolset: Names | None = None
    include: Names | None = None
    exclude: Names | None = None
    tools: Sequence[AnyTool] = ()
    paths: Sequence[StrPath] = ()
    reserved_names: Sequence[str] | None = None
    approval_mode: ApprovalMode | None = None
    auto_approve: Names | Literal[True] | None = None
    auto_deny: Names | None = None
    limits: Limits | None = None
    isolation: Isolation | None = None
    system_tools: bool = False
    custom_tools: bool = True
    watch: bool = True
    cache: bool = True
    config: StrPath | None = None
    binary: StrPath | None = None
    env: Mapping[str, str] | None = None
    extra_args: Sequence[str] = ()
    inherit_stderr: bool = False

    def global_flags(self) -> list[str]:
        """Returns haft's global flags for these options."""
        flags: list[str] = []
        if self.config is not None:
            flags += ["--config", os.fspath(self.config)]
        if self.trust:
            flags.append("--trust-project")
        if self.system_tools:
            flags.append("--system-tools")
        if not self.custom_tools:
            flags.append("--no-custom-tools")
        if not self.cache:
            flags.append("--no-cache")
        if self.isolation is not None:
            flags += ["--isolation", self.isolation]
        if self.auto_approve is True:
            flags.append("--auto-approve")
        elif self.auto_approve is not None:
            flags += [f"--auto-approve={_tagged(name)}" for name in _list(self.auto_approve)]
        flags += [f"--auto-deny={_tagged(name)}" for name in _list(self.auto_deny)]
        return [*flags, *self.extra_args]

    def selection_flags(self) -> list[str]:
        """Returns the flags of `haft serve mcp` that select tools."""
        flags: list[str] = []
        for flag, names in (
            ("--toolset", _list(self.toolset)),
            ("--include", _list(self.include)),
            ("--exclude", _list(self.exclude)),
        ):
            for name in names:
                flags += [flag, name]
        return flags

    def initialize(self) -> JsonObject:
        """Returns the parameters of `initialize`."""
        params: JsonObject = {"capabilities": {"approval": True, "ui": True}}
        if self.cwd is not None:
            params["cwd"] = os.path.abspath(os.fspath(self.cwd))  # noqa: PTH100 (keeps links)
        if self.paths:
            params["configuredPaths"] = [os.fspath(path) for path in self.paths]
        for key, given in (
            ("toolsets", self.toolset),
            ("include", self.include),
            ("exclude", self.exclude),
        ):
            if names := _list(given):
                params[key] = names
        if self.reserved_names is not None:
            params["builtInToolNames"] = list(self.reserved_names)
        if self.approval_mode is not None:
            params["approvalMode"] = self.approval_mode
        if self.limits:
            limits: JsonObject = {}
            for key, seconds in (
                ("callTimeoutMs", "call_timeout"),
                ("loadTimeoutMs", "load_timeout"),
            ):
                if seconds in self.limits:
                    limits[key] = milliseconds(cast("float", self.limits[seconds]))
            for key, name in (("heapMb", "heap_mb"), ("spillKb", "spill_kb")):
                if name in self.limits:
                    limits[key] = self.limits[name]
            params["limits"] = limits
        return params


def _tagged(name: str) -> str:
    return name if ":" in name or name == "*" else f"tool:{name}"


def milliseconds(seconds: float) -> int:
    """Converts a time; the shortest is one millisecond."""
    return max(1, round(seconds * 1000))
