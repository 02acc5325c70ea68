"""Definitions and dispatch for the `openai` package: chat completions and the Responses API.

Both are plain data, so the package itself is not imported.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from .._types import Image, Result, Text, ToolInfo
from .names import offered


def definitions(
    tools: Iterable[ToolInfo], names: Iterable[str] | None, api: Literal["chat", "responses"]
) -> list[Any]:
    """Returns the definitions for `tools=`."""
    found: list[Any] = []
    for tool in offered(tools, names):
        function = {
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.schema,
            "strict": False,
        }
        is_chat = api == "chat"
        found.append(
            {"type": "function", "function": function}
            if is_chat
            else {"type": "function", **function}
        )
    return found


@dataclass(frozen=True)
class _Call:
    id: str
    name: str
    arguments: str
    is_chat: bool


class Dispatch:
    """The calls of haft's tools in an answer of the model."""

    def __init__(self, tools: Sequence[ToolInfo], response: Any) -> None:
        own = {tool.name: tool.tool.name for tool in offered(tools, None)}
        # What a model wrote instead of JSON is an error for the model, not for the program.
        self._failures: dict[str, Result] = {}
        self._calls: list[_Call] = []
        self.calls: list[tuple[str, dict[str, Any]]] = []
        for call in _calls(response):
            if call.name not in own:
                continue
            self._calls.append(call)
            try:
                arguments: Any = json.loads(call.arguments or "{}")
                if not isinstance(arguments, dict):
                    raise ValueError("the arguments are not an object")
            except ValueError as error:
                text = f"the arguments of `{call.name}` are not valid JSON: {error}"
                self._failures[call.id] = Result([Text(text)], None, is_error=True)
            else:
                self.calls.append((own[call.name], cast("dict[str, Any]", arguments)))

    def answers(self, results: Sequence[Result]) -> list[Any]:
        """Returns the messages or input items for the results of `calls`."""
        left = iter(results)
        messages: list[Any] = []
        images: list[Any] = []
        for call in self._calls:
            result = self._failures.get(call.id) or next(left)
            if call.is_chat:
                messages.append(_chat_message(call, result, images))
            else:
                output = _response_output(result)
                item = {"type": "function_call_output", "call_id": call.id, "output": output}
                messages.append(item)
        if images:
            # A tool message of chat completions cannot have images.
            messages.append({"role": "user", "content": images})
        return messages


def _chat_message(call: _Call, result: Result, images: list[Any]) -> dict[str, Any]:
    text = result.text
    if result.images:
        note = f"[{len(result.images)} image(s) of {call.name} in the next user message]"
        text = f"{text}\n{note}" if text else note
        for image in result.images:
            images.append({"type": "text", "text": f"Image of {call.name} ({call.id}):"})
            images.append({"type": "image_url", "image_url": {"url": image.data_url}})
    return {"role": "tool", "tool_call_id": call.id, "content": _marked(result, text)}


def _response_output(result: Result) -> Any:
    if not result.images:
        return _marked(result, result.text)
    parts: list[dict[str, Any]] = []
    for block in result.content:
        if isinstance(block, Image):
            part = {"type": "input_image", "image_url": block.data_url, "detail": "auto"}
            parts.append(part)
        else:
            parts.append({"type": "input_text", "text": block.text})
    return parts


def _marked(result: Result, text: str) -> str:
    # Neither API has a flag for a failure.
    return f"Error: {text}" if result.is_error and not text.startswith("Error") else text


def _calls(response: Any) -> Iterable[_Call]:
    if (choices := _get(response, "choices")) is not None:
        response = _get(choices[0], "message")
    items = cast("Iterable[Any]", _get(response, "tool_calls") or _get(response, "output") or ())
    if isinstance(response, list | tuple):
        items = cast("Iterable[Any]", response)
    for item in items:
        function = _get(item, "function")
        if function is not None:
            yield _Call(_get(item, "id"), _get(function, "name"), _get(function, "arguments"), True)
        elif _get(item, "type") == "function_call":
            arguments = _get(item, "arguments")
            yield _Call(_get(item, "call_id"), _get(item, "name"), arguments, False)


def _get(value: Any, key: str) -> Any:
    if isinstance(value, Mapping):
        return cast("Mapping[str, Any]", value).get(key)
    return getattr(value, key, None)
