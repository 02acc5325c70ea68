"""Tools of the program: called through haft, by itself, by MCP clients and over HTTP."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import subprocess
import sys
import textwrap
import threading
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Literal

import pytest

import haft
from haft import Haft, HaftSync
from support import TEST_TIMEOUT, run


@haft.tool(approval="read")
async def shout(text: str, mark: Literal["!", "?"] = "!") -> str:
    """Says it loudly.

    Args:
        text: what to say
    """
    await asyncio.sleep(0)
    return text.upper() + mark


@haft.tool
def picture() -> list[haft.Content]:
    """Draws."""
    return [haft.Text("drawn"), haft.Image.of(b"\x89PNG", "image/png")]


@haft.tool
def numbers(count: int, *, ctx: haft.SyncContext) -> dict[str, int]:
    """Counts."""
    for number in range(1, count + 1):
        ctx.update(f"{number} of {count}", {"number": number})
    return {"count": count}


@haft.tool
async def fails(kind: str) -> str:
    """Fails."""
    if kind == "content":
        raise haft.ToolError([haft.Text("look:"), haft.Image.of(b"x", "image/png")], {"n": 1})
    if kind == "empty":
        raise ValueError
    if kind == "value":
        return object()  # pyright: ignore[reportReturnType]
    raise ValueError(f"not {kind}")


@haft.tool
async def asks(ctx: haft.Context) -> list[Any]:
    """Asks."""
    return [
        await ctx.ask.select("Which?", ["a", "b"]),
        await ctx.ask.confirm("Sure?", "Really?"),
        await ctx.ask.input("Name?", "Ada", timeout=30),
        await ctx.ask.editor("Text?", "one\ntwo"),
    ]


@haft.tool
def asks_sync(ctx: haft.SyncContext) -> list[Any]:
    """Asks."""
    return [
        ctx.ask.select("Which?", ["a", "b"]),
        ctx.ask.confirm("Sure?"),
        ctx.ask.input("Name?"),
        ctx.ask.editor("Text?"),
    ]


TOOLS = [shout, picture, numbers, fails, asks, asks_sync]


def test_tools_of_the_program(project: Path) -> None:
    async def main() -> None:
        async with Haft(cwd=project, trust=True, tools=TOOLS) as tools:
            own = {tool.name: tool for tool in tools.tools if tool.name not in ("greet",)}
            assert own["shout"].description == "Says it loudly."
            assert own["shout"].approval == "read"
            assert own["shout"].parameters["properties"]["text"]["description"] == "what to say"
            result = await tools.call("shout", {"text": "hi"})
            assert (result.text, result.details) == ("HI!", {})
            assert (await tools.call("greet", {"name": "Ada"})).text == "Hello, Ada!"
            drawn = await tools.call("picture")
            assert (drawn.text, drawn.images[0].to_bytes()) == ("drawn", b"\x89PNG")
            updates: list[haft.Update] = []
            counted = await tools.call("numbers", {"count": 2}, on_update=updates.append)
            assert [(update.text, update.details) for update in updates] == [
                ("1 of 2", {"number": 1}),
                ("2 of 2", {"number": 2}),
            ]
            assert counted.details == {"count": 2}
            assert json.loads(counted.text) == {"count": 2}
            invalid = await tools.call("shout", {"text": "hi", "mark": "#"})
            assert 'Validation failed for tool "shout"' in invalid.text

            # The functions are functions still.
            assert await shout("x") == "X!"

    run(main())


def test_failures_of_functions(project: Path) -> None:
    async def main() -> None:
        async with Haft(cwd=project, tools=TOOLS) as tools:
            failed = await tools.call("fails", {"kind": "good"})
            assert (failed.is_error, failed.text) == (True, "not good")
            content = await tools.call("fails", {"kind": "content"})
            assert (content.is_error, content.text, content.details) == (True, "look:", {"n": 1})
            assert len(content.images) == 1
            assert (await tools.call("fails", {"kind": "empty"})).text == "ValueError"
            value = await tools.call("fails", {"kind": "value"})
            assert value.text == "a tool returned object, which JSON cannot express"

    run(main())


def test_questions_of_functions(project: Path) -> None:
    def answer(question: haft.Question) -> haft.Answer:
        if isinstance(question, haft.SelectQuestion):
            return question.options[1]
        if isinstance(question, haft.ConfirmQuestion):
            return True
        if isinstance(question, haft.InputQuestion):
            return question.placeholder or "none"
        return question.prefill or "nothing"

    async def main() -> None:
        async with Haft(cwd=project, tools=TOOLS) as tools:
            asked = await tools.call("asks", on_ask=answer)
            assert asked.details == ["b", True, "Ada", "one\ntwo"]
            asked = await tools.call("asks_sync", on_ask=answer)
            assert asked.details == ["b", True, "none", "nothing"]
            nobody = await tools.call("asks")
            assert nobody.details == [None, False, None, None]

    run(main())


def test_cancellation_reaches_functions(project: Path) -> None:
    ended: list[str] = []

    async def waits(ctx: haft.Context) -> str:
        ctx.update("waiting")
        try:
            await asyncio.sleep(TEST_TIMEOUT)
        finally:
            ended.append(f"waits {ctx.cancelled} {ctx.cancel_reason}")
        return "?"

    def waits_sync(ctx: haft.SyncContext) -> str:
        ctx.update("waiting")
        assert ctx.wait_cancelled(TEST_TIMEOUT)
        ended.append(f"waits_sync {ctx.cancelled} {ctx.cancel_reason}")
        ctx.raise_if_cancelled()
        return "?"

    async def asks_forever(ctx: haft.Context) -> str:
        try:
            await ctx.ask.input("Name?")
        finally:
            ended.append("asks_forever")
        return "?"

    async def main() -> None:
        own = [waits, waits_sync, asks_forever]
        async with Haft(cwd=project, tools=own) as tools:
            for name in ("waits", "waits_sync"):
                waiting = asyncio.Event()
                call = tools.call(name, on_update=lambda _, waiting=waiting: waiting.set())
                task = asyncio.create_task(call)
                await waiting.wait()
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
            assert ended == ["waits True cancelled", "waits_sync True cancelled"]
            stopped = await tools.call("waits", timeout=0.1)
            assert (stopped.is_error, stopped.stopped) == (True, "deadline")
            assert len(ended) == 3
            asked = asyncio.Event()

            async def never(_: haft.Question) -> None:
                asked.set()
                await asyncio.sleep(TEST_TIMEOUT)

            task = asyncio.create_task(tools.call("asks_forever", on_ask=never))
            await asked.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert ended[3:] == ["asks_forever"]

    run(main())


def test_registering_again(project: Path) -> None:
    def one() -> str:
        return "1"

    def two() -> str:
        return "2"

    async def main() -> None:
        async with Haft(cwd=project, trust=True, tools=[one]) as tools:
            assert (await tools.call("one")).text == "1"
            assert await tools.register([two]) == ["two"]
            assert "one" not in {tool.name for tool in tools.tools}
            assert (await tools.call("two")).text == "2"
            assert (await tools.call("one")).is_error
            with pytest.raises(haft.RegistrationError, match="two tools of the program"):
                await tools.register([two, two])
            assert await tools.register([]) == []
            # A tool of the program precedes a file.
            await tools.register([haft.tool(name="greet")(one)])
            assert (await tools.call("greet")).text == "1"
            with pytest.raises(haft.RegistrationError):
                await tools.register([_without_schema(one)])

    run(main())


def _without_schema(function: Any) -> Any:
    tool = haft.tool(function)
    tool.parameters = {"type": 5}
    return tool


def test_many_calls_of_functions_at_once(project: Path) -> None:
    meeting = threading.Barrier(32)
    gathered: list[int] = []
    complete = asyncio.Event()

    def meet() -> str:
        meeting.wait(TEST_TIMEOUT)
        return "met"

    async def meet_async(party: int) -> str:
        gathered.append(1)
        if len(gathered) == party:
            complete.set()
        await complete.wait()
        return "met"

    async def main() -> None:
        async with Haft(cwd=project, tools=[meet, meet_async]) as tools:
            calls = [tools.call("meet") for _ in range(32)]
            calls += [tools.call("meet_async", {"party": 64}) for _ in range(64)]
            assert {result.text for result in await asyncio.gather(*calls)} == {"met"}

    run(main())


def test_sync_hosts_run_async_functions(project: Path) -> None:
    loops: list[asyncio.AbstractEventLoop] = []

    async def which() -> str:
        loops.append(asyncio.get_running_loop())
        return "done"

    with HaftSync(cwd=project, tools=[which, shout, asks_sync]) as tools:
        assert tools.call("which").text == "done"
        assert tools.call("shout", {"text": "a"}).text == "A!"
        assert tools.call("which").text == "done"
        assert len(set(loops)) == 1
        answered = tools.call("asks_sync", on_ask=lambda question: question.title)
        assert answered.details == [None, False, "Name?", "Text?"]
    assert loops[0].is_closed()


def test_a_tool_calls_other_tools(project: Path) -> None:
    async def main() -> None:
        async def twice(name: str) -> haft.Result:
            await tools.call("greet", {"name": "Bob"})
            return await tools.call("greet", {"name": name})

        async with Haft(cwd=project, trust=True, tools=[twice]) as tools:
            result = await tools.call("twice", {"name": "Ada"})
            assert (result.text, result.details) == ("Hello, Ada!", {"greeted": "Ada"})

    run(main())


def test_the_end_of_haft_cancels_functions(project: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    ended: list[str] = []

    async def waits(ctx: haft.Context) -> str:
        ctx.update("waiting")
        try:
            await asyncio.sleep(TEST_TIMEOUT)
        finally:
            ended.append(str(ctx.cancel_reason))
        return "?"

    async def main() -> None:
        async with Haft(cwd=project, tools=[waits]) as tools:
            pid = tools.pid
            assert pid is not None
            with pytest.raises(haft.ProcessEndedError):
                await tools.call("waits", on_update=lambda _: os.kill(pid, signal.SIGKILL))
        assert ended == ["haft ended"]
        tools = await Haft(cwd=project, tools=[waits]).start()
        waiting = asyncio.Event()
        call = tools.call("waits", on_update=lambda _: waiting.set())
        task = asyncio.create_task(call)
        await waiting.wait()
        await tools.close()
        result = await task
        assert result.is_error
        assert len(ended) == 2

    run(main())
    assert caplog.records == []


PROGRAM = """
import asyncio, os, sys, haft

@haft.tool(approval="read")
async def shout(text: str, ctx: haft.Context) -> str:
    "Says it loudly."
    print("this is not a message")
    ctx.update("taking breath")
    return text.upper()

@haft.tool
def crash() -> None:
    "Ends the program."
    os._exit(3)
"""


@contextmanager
def program(text: str, project: Path) -> Generator[subprocess.Popen[str], None, None]:
    """Runs a program, and ends it."""
    source = Path(haft.__file__).parents[1]
    child = subprocess.Popen(
        [sys.executable, "-X", "dev", "-c", PROGRAM + textwrap.dedent(text)],
        cwd=project,
        env={**os.environ, "PYTHONPATH": str(source)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with child:
        try:
            yield child
        finally:
            child.kill()


class Client:
    """An MCP client on the standard streams of a program."""

    def __init__(self, child: subprocess.Popen[str]) -> None:
        assert child.stdin is not None
        assert child.stdout is not None
        self._stdin: IO[str] = child.stdin
        self._stdout: IO[str] = child.stdout
        self._id = 0
        self.notifications: list[Any] = []
        info = {"name": "test", "version": "1"}
        self.request(
            "initialize",
            {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info},
        )
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def _send(self, message: Any) -> None:
        self._stdin.write(json.dumps(message) + "\n")
        self._stdin.flush()

    def request(self, method: str, params: Any) -> Any:
        self._id += 1
        self._send({"jsonrpc": "2.0", "id": self._id, "method": method, "params": params})
        for line in self._stdout:
            message = json.loads(line)
            if message.get("id") == self._id:
                return message.get("result", message.get("error"))
            self.notifications.append(message)
        raise AssertionError("the server ended")


def test_mcp(project: Path) -> None:
    text = "sys.exit(haft.mcp([shout, crash], trust=True, exclude=['refuse']))"
    with program(text, project) as child:
        client = Client(child)
        names = {tool["name"] for tool in client.request("tools/list", {})["tools"]}
        assert {"shout", "crash", "greet"} <= names
        assert "refuse" not in names
        params = {"name": "shout", "arguments": {"text": "hi"}, "_meta": {"progressToken": 1}}
        result = client.request("tools/call", params)
        assert result["content"] == [{"type": "text", "text": "HI"}]
        progress = [
            message["params"].get("message")
            for message in client.notifications
            if message["method"] == "notifications/progress"
        ]
        assert progress == ["taking breath"]
        params = {"name": "greet", "arguments": {"name": "Ada"}}
        assert client.request("tools/call", params)["content"][0]["text"] == "Hello, Ada!"
        assert child.stdin is not None
        child.stdin.close()
        assert child.wait(TEST_TIMEOUT) == 0
        assert child.stderr is not None
        assert child.stderr.read() == "this is not a message\n"


def test_the_end_of_an_mcp_program(project: Path) -> None:
    # A program that dies in a call: the client gets an answer, and haft goes on without it.
    with program("haft.mcp([shout, crash], trust=True)", project) as child:
        client = Client(child)
        result = client.request("tools/call", {"name": "crash", "arguments": {}})
        assert result["isError"] is True
        assert child.wait(TEST_TIMEOUT) == 3
        # Its tools vanish as soon as haft has noticed.
        names = {"shout"}
        while "shout" in names:
            names = {tool["name"] for tool in client.request("tools/list", {})["tools"]}
        assert "greet" in names
        assert "crash" not in names
    # SIGTERM ends both.
    with program("sys.exit(haft.mcp([shout]))", project) as child:
        Client(child)
        child.terminate()
        assert child.stdout is not None
        assert child.stdout.read() == ""
        assert child.wait(TEST_TIMEOUT) in (0, 143, -signal.SIGTERM)
    # A cancelled task ends haft.
    text = """
    async def main():
        task = asyncio.create_task(haft.mcp_async([shout]))
        await asyncio.sleep(0.5)
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            print("cancelled")

    asyncio.run(main())
    """
    with program(text, project) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        assert (child.stdout.read(), child.stderr.read()) == ("cancelled\n", "")
        assert child.wait(TEST_TIMEOUT) == 0


def test_serve(project: Path) -> None:
    text = """
    sys.exit(haft.serve([shout], listen="127.0.0.1:0", trust=True, extra_args=["--no-token"]))
    """
    with program(text, project) as child:
        assert child.stderr is not None
        for line in child.stderr:
            if line.startswith("listening on "):
                address = line.split()[2]
                break
        else:
            raise AssertionError("haft did not listen")
        listing = json.load(urllib.request.urlopen(f"{address}/api/tools"))
        names = {tool["name"] for tool in listing["tools"]}
        assert {"shout", "greet"} <= names
        child.terminate()
        assert child.wait(TEST_TIMEOUT) in (0, 143, -signal.SIGTERM)
