"""Tools for Pydantic AI (`pydantic-ai`, `pydantic-ai-slim`)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, cast

from pydantic_ai import BinaryContent, Tool, exceptions

from .._types import Image, Result, ToolInfo
from .names import Offered, offered


def async_tools(
    tools: Iterable[ToolInfo],
    names: Iterable[str] | None,
    call: Callable[[str, Mapping[str, Any]], Awaitable[Result]],
) -> list[Tool[Any]]:
    """Returns tools for `Agent(tools=…)` that run on its loop."""

    def make(tool: Offered) -> Callable[..., Any]:
        async def run(**arguments: Any) -> Any:
            return output(await call(tool.tool.name, arguments))

        return run

    return [_tool(tool, make(tool)) for tool in offered(tools, names)]


def sync_tools(
    tools: Iterable[ToolInfo],
    names: Iterable[str] | None,
    call: Callable[[str, Mapping[str, Any]], Result],
) -> list[Tool[Any]]:
    """Returns tools for `Agent(tools=…)` that run on its threads."""

    def make(tool: Offered) -> Callable[..., Any]:
        def run(**arguments: Any) -> Any:
            return output(call(tool.tool.name, arguments))

        return run

    return [_tool(tool, make(tool)) for tool in offered(tools, names)]


def _tool(tool: Offered, function: Callable[..., Any]) -> Tool[Any]:
    make = cast("Callable[..., Tool[Any]]", Tool.from_schema)  # pyright: ignore[reportUnknownMemberType]
    return make(function, tool.name, tool.description, tool.schema)


def output(result: Result) -> Any:
    """Returns what Pydantic AI sends to the model, or raises the failure of the tool."""
    if result.is_error:
        text = result.text or "the tool reported an error"
        # Versions without ToolFailed know only the failure that asks for another try.
        failure = getattr(exceptions, "ToolFailed", exceptions.ModelRetry)
        raise failure(text)
    if not result.images:
        return result.text
    return [
        BinaryContent(data=block.to_bytes(), media_type=block.mime_type)
        if isinstance(block, Image)
        else block.text
        for block in result.content
    ]
