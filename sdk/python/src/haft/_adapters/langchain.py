"""Tools for LangChain and LangGraph (`langchain-core`)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Literal

from langchain_core.tools import BaseTool, ToolException

from .._types import Image, Result, ToolInfo
from .names import Offered, offered


class _Failure(ToolException):
    """Failure of a tool, with its content."""

    def __init__(self, result: Result) -> None:
        super().__init__(result.text or "the tool reported an error")
        self.result = result


class _Tool(BaseTool):
    haft_name: str
    """Name of the tool in haft, which need not be a name that providers accept."""
    # The result of haft is the artifact of the tool message.
    response_format: Literal["content", "content_and_artifact"] = "content_and_artifact"


def async_tools(
    tools: Iterable[ToolInfo],
    names: Iterable[str] | None,
    call: Callable[[str, Mapping[str, Any]], Awaitable[Result]],
) -> list[BaseTool]:
    """Returns tools for `ainvoke` of an agent."""

    class AsyncTool(_Tool):
        # Arguments of a tool may have any name.
        async def _arun(self, /, **arguments: Any) -> Any:
            return _output(await call(self.haft_name, arguments))

        def _run(self, /, **arguments: Any) -> Any:
            raise NotImplementedError(
                f"`{self.name}` belongs to an async Haft; use `ainvoke`, or HaftSync"
            )

    return [AsyncTool(**_fields(tool)) for tool in offered(tools, names)]


def sync_tools(
    tools: Iterable[ToolInfo],
    names: Iterable[str] | None,
    call: Callable[[str, Mapping[str, Any]], Result],
) -> list[BaseTool]:
    """Returns tools for `invoke` of an agent; `ainvoke` runs them on threads."""

    class SyncTool(_Tool):
        def _run(self, /, **arguments: Any) -> Any:
            return _output(call(self.haft_name, arguments))

    return [SyncTool(**_fields(tool)) for tool in offered(tools, names)]


def _fields(tool: Offered) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": tool.description,
        "args_schema": tool.schema,
        "handle_tool_error": _failure_content,
        "haft_name": tool.tool.name,
    }


def _output(result: Result) -> tuple[Any, Result]:
    if result.is_error:
        raise _Failure(result)
    return _content(result), result


def _content(result: Result) -> Any:
    if not result.images:
        return result.text
    return [
        {"type": "image", "base64": block.data, "mime_type": block.mime_type}
        if isinstance(block, Image)
        else {"type": "text", "text": block.text}
        for block in result.content
    ]


def _failure_content(error: ToolException) -> Any:
    return _content(error.result) if isinstance(error, _Failure) else str(error)
