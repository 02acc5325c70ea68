"""Tools for the tool runner of the `anthropic` package."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, cast

from anthropic.lib.tools import BetaAsyncBuiltinFunctionTool, BetaBuiltinFunctionTool, ToolError

from .._types import Image, Result, ToolInfo
from .names import Offered, offered


def async_tools(
    tools: Iterable[ToolInfo],
    names: Iterable[str] | None,
    call: Callable[[str, Mapping[str, Any]], Awaitable[Result]],
) -> list[BetaAsyncBuiltinFunctionTool]:
    """Returns tools for the tool runner of `AsyncAnthropic`."""

    class Tool(BetaAsyncBuiltinFunctionTool):
        def __init__(self, tool: Offered) -> None:
            self._tool = tool

        def to_dict(self) -> Any:
            return definition(self._tool)

        async def call(self, input: object) -> Any:
            arguments = cast("Mapping[str, Any]", input)
            return blocks(await call(self._tool.tool.name, arguments))

    return [Tool(tool) for tool in offered(tools, names)]


def sync_tools(
    tools: Iterable[ToolInfo],
    names: Iterable[str] | None,
    call: Callable[[str, Mapping[str, Any]], Result],
) -> list[BetaBuiltinFunctionTool]:
    """Returns tools for the tool runner of `Anthropic`."""

    class Tool(BetaBuiltinFunctionTool):
        def __init__(self, tool: Offered) -> None:
            self._tool = tool

        def to_dict(self) -> Any:
            return definition(self._tool)

        def call(self, input: object) -> Any:
            return blocks(call(self._tool.tool.name, cast("Mapping[str, Any]", input)))

    return [Tool(tool) for tool in offered(tools, names)]


def definition(tool: Offered) -> dict[str, Any]:
    """Returns the definition of a tool for the Messages API."""
    return {"name": tool.name, "description": tool.description, "input_schema": tool.schema}


def blocks(result: Result) -> list[dict[str, Any]]:
    """Returns the content blocks of a result, or raises them as an error of the tool."""
    content: list[dict[str, Any]] = []
    for block in result.content:
        if isinstance(block, Image):
            source = {"type": "base64", "media_type": block.mime_type, "data": block.data}
            content.append({"type": "image", "source": source})
        elif block.text:
            # The API refuses empty text blocks.
            content.append({"type": "text", "text": block.text})
    if result.is_error:
        raise ToolError(cast("Any", content or "the tool reported an error"))
    return content
