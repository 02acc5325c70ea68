"""Calls of found tools, as asyncio programs and others make them."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

import pytest

import haft
from haft import Haft, HaftSync
from support import TEST_TIMEOUT, run


def test_lists_and_calls(project: Path) -> None:
    async def main() -> None:
        async with Haft(cwd=project, trust=True) as tools:
            assert [tool.name for tool in tools.tools] == [
                *("greet", "picture", "refuse", "count", "wait", "meet", "choose", "questions"),
                *("deploy", "odd.name"),
            ]
            assert await tools.list() == tools.tools
            greet = tools.tools[0]
            assert (greet.description, greet.approval, greet.family) == (
                "The tool greet.",
                "exec",
                "js",
            )
            assert greet.parameters["required"] == ["name"]
            assert tools.problems == []
            assert tools.server["name"] == "haft"

            result = await tools.call("greet", {"name": "Ada", "times": 2})
            assert result.text == "Hello, Ada!Hello, Ada!"
            assert result.details == {"greeted": "Ada"}
            assert not result.is_error
            assert result.raise_for_error() is result

            picture = await tools.call("picture")
            assert picture.text == "a pixel"
            assert picture.images[0].mime_type == "image/png"
            assert picture.images[0].to_bytes().startswith(b"\x89PNG")

            assert await tools.validate("greet", {"name": "Ada"}) is None
            problem = await tools.validate("greet", {})
            assert problem is not None
            assert "name: Invalid input" in problem
            assert len(await tools.refresh()) == 10

    run(main())


def test_a_script_calls_tools(project: Path) -> None:
    script = "(await tools.greet.raw({ name: args.name })).content[0].text"

    async def main() -> None:
        async with Haft(cwd=project, trust=True, approval_mode="yolo") as tools:
            result = await tools.run(script, {"name": "Ada"}, own_time=5)
            assert not result.is_error
            assert result.text == "Hello, Ada!"
            assert result.details["value"] == "Hello, Ada!"
            assert result.details["calls"] == [{"tool": "greet", "state": "done"}]
            found = await tools.search("greet", limit=1, detail="names")
            assert found == "1 of 10 tools:\n\ngreet: The tool greet"
            failed = await tools.run("null.x")
            assert failed.is_error
            assert failed.text.startswith("TypeError: Cannot read properties of null")

    run(main())
    with HaftSync(cwd=project, trust=True, approval_mode="yolo") as tools:
        assert tools.run(script, {"name": "Bob"}).text == "Hello, Bob!"
        assert tools.search().startswith("10 tools:\n")


def test_failures_for_a_model_are_results(project: Path) -> None:
    async def main() -> None:
        async with Haft(cwd=project, trust=True) as tools:
            refused = await tools.call("refuse")
            assert (refused.is_error, refused.text) == (True, "not today")
            with pytest.raises(haft.ToolError, match="not today") as failure:
                refused.raise_for_error()
            assert failure.value.content == [haft.Text("not today")]
            unknown = await tools.call("gret")
            assert unknown.text == "Tool gret not found. Did you mean greet?"
            invalid = await tools.call("greet", {"name": 5})
            assert 'Validation failed for tool "greet"' in invalid.text
            stopped = await tools.call("meet", {"party": 2}, timeout=0.01)
            assert (stopped.is_error, stopped.stopped) == (True, "deadline")

    run(main())


def test_failures_of_haft_are_errors(project: Path) -> None:
    async def main() -> None:
        async with Haft(cwd=project) as tools:
            assert not any(tool.is_offered for tool in tools.tools)
            # The file was not loaded, so it stands for its tools.
            with pytest.raises(haft.RequestError) as failure:
                await tools.call("tools")
            assert failure.value.kind == "untrusted"
            assert failure.value.code == -32002
            assert failure.value.hint is not None
            with pytest.raises(TypeError, match="not JSON serializable"):
                await tools.call("greet", {"name": object()})
            with pytest.raises(haft.HaftError, match="once"):
                await tools.start()
        with pytest.raises(haft.HaftError, match="closed"):
            await tools.call("greet")
        with pytest.raises(haft.HaftError, match="not open"):
            await Haft().call("greet")
        with pytest.raises(haft.RequestError, match="approvalMode"):
            await Haft(approval_mode="often").start()  # pyright: ignore[reportArgumentType]

    run(main())


def test_updates_come_in_order_before_the_result(project: Path) -> None:
    async def main() -> None:
        async with Haft(cwd=project, trust=True) as tools:
            seen: list[str] = []

            async def slowly(update: haft.Update) -> None:
                await asyncio.sleep(0)
                seen.append(update.text)

            result = await tools.call("count", {"to": 3}, on_update=slowly)
            assert (seen, result.text) == (["1 of 3", "2 of 3", "3 of 3"], "done")

    run(main())


def test_cancelling_the_task_ends_the_call(project: Path) -> None:
    async def main() -> None:
        async with Haft(cwd=project, trust=True) as tools:
            waiting = asyncio.Event()
            call = tools.call("wait", on_update=lambda _: waiting.set())
            task = asyncio.create_task(call)
            await waiting.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            # Nothing runs in haft any more.
            assert tools._core.calls.running == {}  # pyright: ignore[reportPrivateUsage]

            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(tools.call("wait"), 0.2)
            # Calls of a group end together.
            with pytest.raises(ValueError, match="my own"):
                await asyncio.gather(tools.call("wait"), _raise(ValueError("my own")))
            assert (await tools.call("greet", {"name": "Ada"})).text == "Hello, Ada!"

    run(main())


async def _raise(error: Exception) -> None:
    raise error


def test_an_exception_of_a_callback_stops_the_call(project: Path) -> None:
    async def main() -> None:
        async with Haft(cwd=project, trust=True) as tools:

            def fails(_: object) -> Any:
                raise KeyError("mine")

            with pytest.raises(KeyError, match="mine"):
                await tools.call("wait", on_update=fails)
            with pytest.raises(KeyError, match="mine"):
                await tools.call("choose", {"names": ["a"]}, on_ask=fails)
            assert tools._core.calls.running == {}  # pyright: ignore[reportPrivateUsage]
            with HaftSync(cwd=project, trust=True) as sync:
                with pytest.raises(KeyError, match="mine"):
                    sync.call("wait", on_update=fails)
                with pytest.raises(KeyError, match="mine"):
                    sync.call("choose", {"names": ["a"]}, on_ask=fails)

    run(main())


def test_many_calls_run_at_once(project: Path) -> None:
    async def main() -> None:
        async with Haft(cwd=project, trust=True) as tools:
            calls = [tools.call("meet", {"party": 64}) for _ in range(64)]
            assert {result.text for result in await asyncio.gather(*calls)} == {"met 64"}

    run(main())


def test_questions_go_to_the_user_of_the_call(project: Path) -> None:
    def of_host(question: haft.Question) -> haft.Answer:
        assert isinstance(question, haft.SelectQuestion)
        return question.options[0]

    async def of_call(question: haft.Question) -> haft.Answer:
        await asyncio.sleep(0)
        if isinstance(question, haft.SelectQuestion):
            return question.options[1]
        if isinstance(question, haft.ConfirmQuestion):
            return question.message == "It cannot be undone."
        if isinstance(question, haft.InputQuestion):
            return question.placeholder
        return question.prefill

    async def main() -> None:
        async with Haft(cwd=project, trust=True, on_ask=of_host) as tools:
            names = {"names": ["Iris", "Juno"]}
            async with tools.events() as events:
                assert (await tools.call("choose", names)).text == "Iris"
                event = await anext(events)
            assert isinstance(event, haft.Notice)
            assert (event.tool, event.message) == ("choose", "The name is Iris")
            assert (await tools.call("choose", names, on_ask=of_call)).text == "Juno"
            async with Haft(cwd=project, trust=True) as silent:
                # The tool knows that it cannot ask.
                assert (await silent.call("choose", names)).text == "nobody to ask"
            answers = await tools.call("questions", on_ask=of_call)
            assert json.loads(answers.text) == [True, "Ada", "one\ntwo"]

    async def withdraws() -> None:
        async with Haft(cwd=project, trust=True) as tools:
            asked, withdrawn = asyncio.Event(), asyncio.Event()

            async def never(_: haft.Question) -> haft.Answer:
                asked.set()
                try:
                    await asyncio.sleep(TEST_TIMEOUT)
                finally:
                    withdrawn.set()
                return None

            names = {"names": ["Iris"]}
            task = asyncio.create_task(tools.call("choose", names, on_ask=never))
            await asked.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await withdrawn.wait()

    run(main())
    run(withdraws())


def test_approval(project: Path) -> None:
    requests: list[haft.ApprovalRequest] = []

    async def approve(request: haft.ApprovalRequest) -> bool:
        requests.append(request)
        return True

    async def main() -> None:
        always: Any = {"cwd": project, "trust": True, "approval_mode": "always-ask"}
        async with Haft(**always) as tools:
            refused = await tools.call("deploy", {"to": "web"})
            assert refused.is_error
            approved = await tools.call("deploy", {"to": "web"}, on_approval=approve)
            assert approved.text == "deployed web"
            (request,) = requests
            assert (request.tool, request.tier, request.arguments) == (
                "deploy",
                "exec",
                {"to": "web"},
            )
            assert request.text.startswith("Allow tool: deploy")
            denied = await tools.call("deploy", {"to": "web"}, on_approval=lambda _: False)
            assert denied.text == "Tool call denied by user: deploy"
        async with Haft(on_approval=approve, **always) as tools:
            assert not (await tools.call("deploy", {"to": "web"})).is_error
        async with Haft(auto_approve="deploy", auto_deny=["greet"], **always) as tools:
            assert not (await tools.call("deploy", {"to": "web"})).is_error
            assert (await tools.call("greet", {"name": "Ada"})).is_error

    run(main())


def test_selection(project: Path, home: Path) -> None:
    config = home / ".config/haft/config.yaml"
    config.parent.mkdir(parents=True)
    config.write_text('toolsets:\n  mild: ["gr*", "{count,wait}", "!wait"]\n  no: ["!greet"]\n')

    async def names(**options: Any) -> list[str]:
        async with Haft(cwd=project, trust=True, **options) as tools:
            return [tool.name for tool in tools.tools]

    async def main() -> None:
        assert await names(toolset="mild") == ["greet", "count"]
        assert await names(toolset=["mild"], include="?ount") == ["count"]
        assert await names(toolset="no") == []
        assert await names(include=["[gp]*", "odd.name"], exclude=["picture"]) == [
            *("greet", "odd.name"),
        ]
        async with Haft(cwd=project, trust=True, exclude="greet") as tools:
            hidden = await tools.call("greet", {"name": "Ada"})
            assert (hidden.is_error, hidden.text) == (True, "Tool greet not found")
            with pytest.raises(haft.RequestError, match="Tool greet not found"):
                await tools.validate("greet")
            assert tools.openai("g*") == []
            assert len(tools.openai(["p*", "?ount"])) == 2
        with pytest.raises(haft.HaftError, match="the configuration has: mild, no"):
            await names(toolset="wild")
        with pytest.raises(haft.HaftError, match=r"`\{a` is not a pattern"):
            await names(include="{a")

    run(main())


def test_changes_are_events(project: Path) -> None:
    async def main() -> None:
        async with Haft(cwd=project, trust=True) as tools, tools.events() as events:
            text = (project / ".omp/tools/tools.ts").read_text()
            changed = text.replace('tool("greet"', 'tool("welcome"')
            (project / ".omp/tools/tools.ts").write_text(changed)
            event = await anext(events)
            assert isinstance(event, haft.ToolsChanged)
            assert (event.added, event.removed) == (["welcome"], ["greet"])
            assert tools.tools[0].name == "welcome"
            ends = asyncio.create_task(_collect(events))
        assert await ends == []

    run(main())


async def _collect(events: haft.EventStream) -> list[haft.Event]:
    return [event async for event in events]


def test_sync(project: Path) -> None:
    with HaftSync(cwd=project, trust=True) as tools, tools.events() as events:
        assert tools.list()[0].name == "greet"
        assert tools.call("greet", {"name": "Ada"}).text == "Hello, Ada!"
        seen: list[str] = []
        tools.call("count", {"to": 2}, on_update=lambda update: seen.append(update.text))
        assert seen == ["1 of 2", "2 of 2"]
        names = {"names": ["Iris", "Juno"]}
        threads: list[int] = []

        def last(question: haft.Question) -> str:
            threads.append(threading.get_ident())
            assert isinstance(question, haft.SelectQuestion)
            return question.options[-1]

        assert tools.call("choose", names, on_ask=last).text == "Juno"
        # Callbacks run on the thread that calls.
        assert threads == [threading.get_ident()]
        assert isinstance(next(events), haft.Notice)
        # Any thread may call.
        results: list[str] = []
        callers = [
            threading.Thread(target=lambda: results.append(tools.call("meet", {"party": 16}).text))
            for _ in range(16)
        ]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join(TEST_TIMEOUT)
        assert results == ["met 16"] * 16
        assert tools.validate("greet", {"name": "Ada"}) is None
        assert len(tools.refresh()) == 10
    with pytest.raises(StopIteration):
        next(events)
    assert isinstance(Haft.sync(cwd=project), HaftSync)
