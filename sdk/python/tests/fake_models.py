"""A model on the loopback that speaks Anthropic's Messages and both APIs of OpenAI.

It answers with the turns it is given: tool calls, then a text. The requests are kept, so that a
test can see what a model sees.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, TypeAlias

Turn: TypeAlias = "str | Sequence[tuple[str, dict[str, Any]]]"


class FakeModel:
    """An HTTP server with one conversation."""

    def __init__(self, turns: Sequence[Turn]) -> None:
        self.turns = list(turns)
        self.requests: list[dict[str, Any]] = []
        model = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                request = json.loads(body)
                model.requests.append(request)
                turn = model.turns[len(model.requests) - 1]
                answers = {
                    "/v1/messages": _message,
                    "/v1/chat/completions": _completion,
                    "/v1/responses": _response,
                }
                answer = answers[self.path.split("?")[0]](turn, len(model.requests))
                text = json.dumps(answer).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def url(self) -> str:
        """Address of the server, without a path."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> FakeModel:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _message(turn: Turn, number: int) -> dict[str, Any]:
    is_text = isinstance(turn, str)
    content: list[dict[str, Any]] = (
        [{"type": "text", "text": turn}]
        if isinstance(turn, str)
        else [
            {"type": "tool_use", "id": f"call_{number}_{at}", "name": name, "input": arguments}
            for at, (name, arguments) in enumerate(turn)
        ]
    )
    return {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": "fake",
        "content": content,
        "stop_reason": "end_turn" if is_text else "tool_use",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


def _completion(turn: Turn, number: int) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": None}
    if isinstance(turn, str):
        message["content"] = turn
    else:
        message["tool_calls"] = [
            {
                "id": f"call_{number}_{at}",
                "type": "function",
                "function": {"name": name, "arguments": json.dumps(arguments)},
            }
            for at, (name, arguments) in enumerate(turn)
        ]
    reason = "stop" if isinstance(turn, str) else "tool_calls"
    return {
        "id": f"chat_{number}",
        "object": "chat.completion",
        "created": 1,
        "model": "fake",
        "choices": [{"index": 0, "message": message, "finish_reason": reason, "logprobs": None}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }


def _response(turn: Turn, number: int) -> dict[str, Any]:
    if isinstance(turn, str):
        text: dict[str, Any] = {
            "type": "output_text",
            "text": turn,
            "annotations": [],
            "logprobs": [],
        }
        output: list[dict[str, Any]] = [
            {
                "id": f"msg_{number}",
                "type": "message",
                "role": "assistant",
                "status": "completed",
                "content": [text],
            }
        ]
    else:
        output = [
            {
                "id": f"fc_{number}_{at}",
                "type": "function_call",
                "call_id": f"call_{number}_{at}",
                "name": name,
                "arguments": json.dumps(arguments),
                "status": "completed",
            }
            for at, (name, arguments) in enumerate(turn)
        ]
    return {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": 1,
        "model": "fake",
        "status": "completed",
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "temperature": 1.0,
        "top_p": 1.0,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "usage": {
            "input_tokens": 1,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": 1,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 2,
        },
    }
