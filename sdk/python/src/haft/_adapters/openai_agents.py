"""Tools for the OpenAI Agents SDK (`openai-agents`)."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

from agents import FunctionTool, ToolOutputImage, ToolOutputText

from .._types import Image, Result, ToolInfo
from .names import Offered, offered


def agent_tools(
    tools: Iterable[ToolInfo],
    names: Iterable[str] | None,
    call: Callable[[str, Mapping[str, Any]], Awaitable[Result]],
) -> list[FunctionTool]:
    """Returns tools for `Agent(tools=…)`."""
    return [_tool(tool, call) for tool in offered(tools, names)]


def _tool(
    tool: Offered, call: Callable[[str, Mapping[str, Any]], Awaitable[Result]]
) -> FunctionTool:
    async def invoke(_context: Any, arguments: str) -> Any:
        try:
            values = json.loads(arguments or "{}")
        except ValueError as error:
            return f"Error: the arguments are not valid JSON: {error}"
        return output(await call(tool.tool.name, values))

    return FunctionTool(
        name=tool.name,
        description=tool.description,
        params_json_schema=tool.schema,
        on_invoke_tool=invoke,
        strict_json_schema=False,
    )


def output(result: Result) -> Any:
    """Returns what the SDK sends to the model; without a flag for failures the text says it."""
    if not result.images:
        text = result.text
        return f"Error: {text}" if result.is_error and not text.startswith("Error") else text
    return [
        ToolOutputImage(image_url=block.data_url)
        if isinstance(block, Image)
        else ToolOutputText(text=block.text)
        for block in result.content
    ]
