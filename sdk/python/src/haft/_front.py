"""Options of a host, and what `Haft` and `HaftSync` share."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, Literal, TypeVar, cast

from ._calls import Item, PendingCall
from ._core import Core
from ._options import ApprovalMode, Isolation, Names, Options, milliseconds
from ._tools import AnyTool
from ._types import JsonObject, Limits, OnApproval, OnAsk, Problem, StrPath, ToolInfo

# Events that wait for a slow reader; then the oldest are dropped.
MAX_EVENTS = 1000

A = TypeVar("A")
U = TypeVar("U")
P = TypeVar("P")


class Front(Generic[U, A, P]):
    """The part that `Haft` and `HaftSync` share: options, and what does not wait."""

    def __init__(
        self,
        *,
        cwd: StrPath | None = None,
        trust: bool = False,
        toolset: Names | None = None,
        include: Names | None = None,
        exclude: Names | None = None,
        tools: Sequence[AnyTool] = (),
        paths: Sequence[StrPath] = (),
        on_ask: A | None = None,
        on_approval: P | None = None,
        approval_mode: ApprovalMode | None = None,
        auto_approve: Names | Literal[True] | None = None,
        auto_deny: Names | None = None,
        limits: Limits | None = None,
        isolation: Isolation | None = None,
        system_tools: bool = False,
        custom_tools: bool = True,
        reserved_names: Sequence[str] | None = None,
        watch: bool = True,
        cache: bool = True,
        config: StrPath | None = None,
        binary: StrPath | None = None,
        env: Mapping[str, str] | None = None,
        extra_args: Sequence[str] = (),
        inherit_stderr: bool = False,
    ) -> None:
        """Describes a host; it starts at `start()` or in a `with` block.

        Args:
            cwd: the project's directory; the working directory without it.
            trust: run the tools that the project brings, without `haft trust`.
            toolset: names of `toolsets` of the configuration.
            include: patterns of tool names (`git_*`); others are not offered.
            exclude: patterns of tool names that are not offered.
            tools: functions and tools of the program.
            paths: more tool files and directories.
            on_ask: answers the questions of tools; a call may have its own.
            on_approval: approves or denies calls; a call may have its own.
            approval_mode: which calls need an approval: "always-ask", "write" or "yolo".
            auto_approve: names and tags of tools that run without a question; True means all.
            auto_deny: names and tags of tools that are refused.
            limits: time and memory.
            isolation: "process" or "sandbox".
            system_tools: offer bash, file_read, file_write, file_edit, glob and grep.
            custom_tools: offer Kodelet's tools.
            reserved_names: names that no tool may take.
            watch: watch the tools' files.
            cache: use what haft remembers about modules.
            config: a configuration file instead of the user's.
            binary: the program `haft`; without it HAFT_BINARY, the program of the wheel, PATH.
            env: the environment of haft instead of the program's.
            extra_args: more global flags of haft.
            inherit_stderr: haft's standard error is the program's; otherwise its lines go to the
                logger `haft`, at level INFO.
        """
        options = Options(
            cwd=cwd,
            trust=trust,
            toolset=toolset,
            include=include,
            exclude=exclude,
            tools=tuple(tools),
            paths=paths,
            reserved_names=reserved_names,
            approval_mode=approval_mode,
            auto_approve=auto_approve,
            auto_deny=auto_deny,
            limits=limits,
            isolation=isolation,
            system_tools=system_tools,
            custom_tools=custom_tools,
            watch=watch,
            cache=cache,
            config=config,
            binary=binary,
            env=env,
            extra_args=extra_args,
            inherit_stderr=inherit_stderr,
        )
        self._core = Core(options)
        self._core.calls.on_ask = cast("OnAsk | None", on_ask)
        self._core.calls.on_approval = cast("OnApproval | None", on_approval)
        self._on_ask = on_ask
        self._on_approval = on_approval
        self._finalizer = weakref.finalize(self, _abandon, self._core, type(self).__name__)
        # At exit the core ends haft, in an orderly way.
        self._finalizer.atexit = False
        self._prepare()

    def _prepare(self) -> None:
        """Completes the construction."""

    @property
    def tools(self) -> list[ToolInfo]:
        """The tools, as of the last `list()`, `refresh()` or change of files."""
        return list(self._core.tools)

    @property
    def problems(self) -> list[Problem]:
        """Problems of other tools."""
        return list(self._core.problems)

    @property
    def server(self) -> JsonObject:
        """Facts about haft: name, version, protocol, cwd."""
        return dict(self._core.server)

    @property
    def pid(self) -> int | None:
        """Process id of haft."""
        return None if self._core.process is None else self._core.process.popen.pid

    def _begin(
        self,
        method: str,
        name: str,
        arguments: Mapping[str, Any] | None,
        post: Callable[[Item], None],
        timeout: float | None,
        on_update: U | None,
        on_ask: A | None,
        on_approval: P | None,
    ) -> PendingCall:
        return self._core.calls.begin(
            self._core.connection,
            name,
            arguments,
            method=method,
            post=post,
            timeout=timeout,
            wants_updates=on_update is not None,
            can_ask=on_ask is not None,
            can_approve=on_approval is not None,
        )


def script(
    code: str,
    args: Mapping[str, Any] | None,
    own_time: float | None,
    max_output_tokens: int | None,
) -> dict[str, Any]:
    """Returns the parameters of a script."""
    params: dict[str, Any] = {"code": code}
    if args is not None:
        params["args"] = dict(args)
    if own_time is not None:
        params["ownTimeMs"] = milliseconds(own_time)
    if max_output_tokens is not None:
        params["maxOutputTokens"] = max_output_tokens
    return params


def _abandon(core: Core, name: str) -> None:
    if core.process is not None and core.process.popen.returncode is None:
        warnings.warn(f"a {name} was not closed", ResourceWarning, stacklevel=2)
    core.kill()
