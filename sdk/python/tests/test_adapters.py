"""Each adapter, driven by its real framework and a fake model.

The model asks for a text, an image and a failure at once; what it gets is compared. Cancellation,
updates and a crash of haft pass through the framework.
"""

# The frameworks leave many types open.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingTypeStubs=false

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, cast

import anthropic
import openai
import pytest
from agents import (
    Agent,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    RunConfig,
    Runner,
)
from langchain.agents import create_agent
from langchain_anthropic import ChatAnthropic
from langchain_openai import ChatOpenAI
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

import haft
from fake_models import FakeModel
from haft import Haft, HaftSync
from support import run

PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
    "+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
DATA_URL = f"data:image/png;base64,{PIXEL}"
THREE = [
    ("greet", {"name": "Ada"}),
    ("picture", {}),
    ("refuse", {}),
    ("odd_name", {"config": "a", "self": "b"}),
]

# Frameworks do not close all of their clients and loops. Those of haft are watched elsewhere.
pytestmark = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)

# Runs one prompt in a framework and returns the last text.
Drive = Callable[[Haft, FakeModel, Callable[[haft.Update], object] | None], Awaitable[Any]]


async def drive_anthropic(tools: Haft, model: FakeModel, on_update: Any) -> str:
    async with anthropic.AsyncAnthropic(api_key="x", base_url=model.url, max_retries=0) as client:
        runner = await _maybe(
            client.beta.messages.tool_runner(
                model="fake",
                max_tokens=100,
                tools=tools.anthropic(on_update=on_update),
                messages=[{"role": "user", "content": "go"}],
            )
        )
        message = await runner.until_done()
        return message.content[0].text


async def _maybe(value: Any) -> Any:
    # The async runner is awaited in newer versions.
    return await value if asyncio.iscoroutine(value) or hasattr(value, "__await__") else value


async def drive_openai_chat(tools: Haft, model: FakeModel, on_update: Any) -> str:
    url = f"{model.url}/v1"
    async with openai.AsyncOpenAI(api_key="x", base_url=url, max_retries=0) as client:
        messages: list[Any] = [{"role": "user", "content": "go"}]
        while True:
            completion = await client.chat.completions.create(
                model="fake", messages=messages, tools=tools.openai()
            )
            messages.append(completion.choices[0].message.to_dict())
            answers = await tools.openai_dispatch(completion, on_update=on_update)
            if not answers:
                return completion.choices[0].message.content or ""
            messages += answers


async def drive_openai_responses(tools: Haft, model: FakeModel, on_update: Any) -> str:
    url = f"{model.url}/v1"
    async with openai.AsyncOpenAI(api_key="x", base_url=url, max_retries=0) as client:
        items: list[Any] = [{"role": "user", "content": "go"}]
        while True:
            response = await client.responses.create(
                model="fake", input=items, tools=tools.openai(api="responses")
            )
            items += [item.to_dict() for item in response.output]
            answers = await tools.openai_dispatch(response, on_update=on_update)
            if not answers:
                return response.output_text
            items += answers


def _agent(kind: Any) -> Drive:
    async def drive(tools: Haft, model: FakeModel, on_update: Any) -> str:
        url = f"{model.url}/v1"
        async with openai.AsyncOpenAI(api_key="x", base_url=url, max_retries=0) as client:
            agent = Agent(
                name="test",
                model=kind(model="fake", openai_client=client),
                tools=cast("Any", tools.openai_agents(on_update=on_update)),
            )
            result = await Runner.run(agent, "go", run_config=RunConfig(tracing_disabled=True))
            return str(result.final_output)

    return drive


async def drive_pydantic_ai(tools: Haft, model: FakeModel, on_update: Any) -> str:
    url = f"{model.url}/v1"
    async with openai.AsyncOpenAI(api_key="x", base_url=url, max_retries=0) as client:
        agent = PydanticAgent(
            OpenAIChatModel("fake", provider=OpenAIProvider(openai_client=client)),
            tools=tools.pydantic_ai(on_update=on_update),
        )
        return (await agent.run("go")).output


async def drive_langchain(tools: Haft, model: FakeModel, on_update: Any) -> str:
    chat = ChatOpenAI(
        model="fake", api_key=cast("Any", "x"), base_url=f"{model.url}/v1", max_retries=0
    )
    agent: Any = create_agent(chat, tools=tools.langchain(on_update=on_update))
    state = await agent.ainvoke({"messages": [{"role": "user", "content": "go"}]})
    return state["messages"][-1].content


DRIVES: dict[str, Drive] = {
    "anthropic": drive_anthropic,
    "openai_chat": drive_openai_chat,
    "openai_responses": drive_openai_responses,
    "openai_agents": _agent(OpenAIResponsesModel),
    "openai_agents_chat": _agent(OpenAIChatCompletionsModel),
    "pydantic_ai": drive_pydantic_ai,
    "langchain": drive_langchain,
}


def results(model: FakeModel, request: int = 1) -> Any:
    """Returns what the model got as results of its calls, whatever the API."""
    body = model.requests[request]
    if "input" in body:
        items = [item for item in body["input"] if item.get("type") == "function_call_output"]
        return [item["output"] for item in items]
    last = body["messages"][-1]
    if isinstance(last["content"], list) and last["content"][0].get("type") == "tool_result":
        return [
            {key: block[key] for key in ("content", "is_error") if key in block}
            for block in last["content"]
        ]
    at = next(at for at, entry in enumerate(body["messages"]) if entry["role"] == "tool")
    found: list[Any] = []
    for message in body["messages"][at:]:
        content = message["content"]
        if message["role"] == "tool" or not isinstance(content, list):
            found.append(content)
        else:
            found += [part for part in content if part["type"] == "image_url"]
    # Pydantic AI adds a message about its marks.
    return [entry for entry in found if not str(entry).startswith("When a user message")]


IMAGE_BLOCK = {
    "type": "image",
    "source": {"type": "base64", "media_type": "image/png", "data": PIXEL},
}

EXPECTED: dict[str, Any] = {
    "anthropic": [
        {"content": [{"type": "text", "text": "Hello, Ada!"}]},
        {"content": [{"type": "text", "text": "a pixel"}, IMAGE_BLOCK]},
        {"content": [{"type": "text", "text": "not today"}], "is_error": True},
        {"content": [{"type": "text", "text": "a b"}]},
    ],
    "openai_chat": [
        "Hello, Ada!",
        "a pixel\n[1 image(s) of picture in the next user message]",
        "Error: not today",
        "a b",
        {"type": "image_url", "image_url": {"url": DATA_URL}},
    ],
    "openai_responses": [
        "Hello, Ada!",
        [
            {"type": "input_text", "text": "a pixel"},
            {"type": "input_image", "image_url": DATA_URL, "detail": "auto"},
        ],
        "Error: not today",
        "a b",
    ],
    # The SDK leaves images out of the tool messages of chat completions.
    "openai_agents_chat": [
        "Hello, Ada!",
        [{"type": "text", "text": "a pixel"}],
        "Error: not today",
        "a b",
    ],
    # The image follows in a user message, between marks of Pydantic AI.
    "pydantic_ai": [
        "Hello, Ada!",
        '["a pixel","See file 4a5eb7."]',
        '{"error":"not today"}',
        "a b",
        {"type": "image_url", "image_url": {"url": DATA_URL}},
    ],
    "langchain": [
        "Hello, Ada!",
        [
            {"type": "text", "text": "a pixel"},
            {"type": "image_url", "image_url": {"url": DATA_URL}},
        ],
        "not today",
        "a b",
    ],
    "langchain_anthropic": [
        {"content": "Hello, Ada!", "is_error": False},
        {"content": [{"type": "text", "text": "a pixel"}, IMAGE_BLOCK], "is_error": False},
        {"content": "not today", "is_error": True},
        {"content": "a b", "is_error": False},
    ],
    "openai_agents": [
        "Hello, Ada!",
        [
            {"type": "input_text", "text": "a pixel"},
            {"type": "input_image", "image_url": DATA_URL},
        ],
        "Error: not today",
        "a b",
    ],
}


@pytest.mark.parametrize("name", DRIVES)
def test_text_image_and_error(project: Path, name: str) -> None:
    async def main() -> None:
        with FakeModel([THREE, "the end"]) as model:
            async with Haft(cwd=project, trust=True) as tools:
                assert await DRIVES[name](tools, model, None) == "the end"
        assert results(model) == EXPECTED[name]
        definitions = model.requests[0]["tools"]
        assert len(definitions) == 10

    run(main())


@pytest.mark.parametrize("name", DRIVES)
def test_updates_and_cancellation(project: Path, name: str) -> None:
    async def main() -> None:
        with FakeModel([[("count", {"to": 2})], [("wait", {})]]) as model:
            async with Haft(cwd=project, trust=True) as tools:
                seen: list[str] = []
                waiting = asyncio.Event()

                def on_update(update: haft.Update) -> None:
                    seen.append(update.text)
                    if update.text == "waiting":
                        waiting.set()

                before = asyncio.all_tasks()
                task = asyncio.ensure_future(DRIVES[name](tools, model, on_update))
                waits = asyncio.create_task(waiting.wait())
                await asyncio.wait([task, waits], return_when=asyncio.FIRST_COMPLETED)
                assert not task.done(), task.result()
                assert seen == ["1 of 2", "2 of 2", "waiting"]
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                # Some frameworks do not wait for the tasks that they cancel.
                if others := asyncio.all_tasks() - before:
                    await asyncio.wait(others)
                # The call has ended in haft, too.
                assert tools._core.calls.running == {}  # pyright: ignore[reportPrivateUsage]

    run(main())


@pytest.mark.parametrize("name", DRIVES)
def test_a_crash_of_haft_is_an_error(project: Path, name: str) -> None:
    async def main() -> None:
        with FakeModel([[("wait", {})], "the end"]) as model:
            async with Haft(cwd=project, trust=True) as tools:
                pid = tools.pid
                assert pid is not None
                try:
                    await DRIVES[name](tools, model, lambda _: os.kill(pid, signal.SIGKILL))
                except Exception as error:
                    text = repr(error)
                else:
                    # The framework reports exceptions of tools to the model.
                    text = str(results(model))
                assert "haft ended (signal SIGKILL)" in text

    run(main())


def test_sync_frameworks(project: Path) -> None:
    with HaftSync(cwd=project, trust=True) as tools:
        with FakeModel([THREE, "the end"]) as model:
            client = anthropic.Anthropic(api_key="x", base_url=model.url, max_retries=0)
            with client:
                runner = client.beta.messages.tool_runner(
                    model="fake",
                    max_tokens=100,
                    tools=tools.anthropic(),
                    messages=[{"role": "user", "content": "go"}],
                )
                assert cast("Any", runner.until_done()).content[0].text == "the end"
            assert results(model) == EXPECTED["anthropic"]
        with FakeModel([THREE, "the end"]) as model:
            url = f"{model.url}/v1"
            with openai.OpenAI(api_key="x", base_url=url, max_retries=0) as chat:
                messages: list[Any] = [{"role": "user", "content": "go"}]
                completion = chat.chat.completions.create(
                    model="fake", messages=messages, tools=tools.openai()
                )
                messages.append(completion.choices[0].message.to_dict())
                messages += tools.openai_dispatch(completion)
                completion = chat.chat.completions.create(
                    model="fake", messages=messages, tools=tools.openai()
                )
                assert tools.openai_dispatch(completion) == []
            assert results(model) == EXPECTED["openai_chat"]
        with FakeModel([THREE, "the end"]) as model:
            langchain_chat = ChatOpenAI(
                model="fake", api_key=cast("Any", "x"), base_url=f"{model.url}/v1", max_retries=0
            )
            agent: Any = create_agent(langchain_chat, tools=tools.langchain())
            state = agent.invoke({"messages": [{"role": "user", "content": "go"}]})
            assert state["messages"][-1].content == "the end"
            assert results(model) == EXPECTED["langchain"]
        with FakeModel([THREE, "the end"]) as model:
            provider = OpenAIProvider(base_url=f"{model.url}/v1", api_key="x")
            pydantic = PydanticAgent(
                OpenAIChatModel("fake", provider=provider), tools=tools.pydantic_ai()
            )
            assert pydantic.run_sync("go").output == "the end"
            assert results(model) == EXPECTED["pydantic_ai"]


def test_langchain_with_anthropic(project: Path) -> None:
    async def main() -> None:
        with FakeModel([THREE, "the end"]) as model:
            async with Haft(cwd=project, trust=True) as tools:
                chat = cast("Any", ChatAnthropic)(
                    model="fake", api_key="x", base_url=model.url, max_retries=0
                )
                agent: Any = create_agent(chat, tools=tools.langchain())
                state = await agent.ainvoke({"messages": [{"role": "user", "content": "go"}]})
                assert state["messages"][-1].content == "the end"
                artifact = state["messages"][3].artifact
                assert isinstance(artifact, haft.Result)
                assert artifact.images[0].data == PIXEL
        assert results(model) == EXPECTED["langchain_anthropic"]

    run(main())


def test_names_and_schemas_for_providers() -> None:
    from haft._adapters.names import offered

    def tool(name: str, schema: dict[str, Any], **more: Any) -> haft.ToolInfo:
        value = {"name": name, "inputSchema": schema, **more}
        return haft.ToolInfo.from_json(cast("Any", value))

    union = {
        "oneOf": [
            {
                "type": "object",
                "properties": {"kind": {"const": "a"}, "x": {"type": "number"}},
                "required": ["kind", "x"],
            },
            {"$ref": "#/$defs/B"},
        ],
        "$defs": {
            "B": {"type": "object", "properties": {"kind": {"const": "b"}}, "required": ["kind"]}
        },
    }
    tools = [
        tool("git.log", {}),
        tool("git_log", {"type": "object", "properties": {}}),
        tool("1st", {"type": "object"}),
        tool("x" * 80, {"type": "object"}),
        tool("either", union),
        tool("hidden", {}, hidden=True),
        tool("strange", {}, trusted=False),
    ]
    found = {entry.tool.name: entry for entry in offered(tools, None)}
    assert [entry.name for entry in found.values()] == [
        *("git_log_08de8080", "git_log", "_1st", f"{'x' * 55}_d929cdee", "either"),
    ]
    assert found["either"].schema == {
        "type": "object",
        "properties": {
            "kind": {"anyOf": [{"const": "a"}, {"const": "b"}]},
            "x": {"type": "number"},
        },
        "required": ["kind"],
        "$defs": union["$defs"],
    }
    assert found["git.log"].schema == {"type": "object", "properties": {}}
    assert [entry.name for entry in offered(tools, ["git_*", "1st"])] == ["git_log", "_1st"]
    assert [entry.tool.name for entry in offered(tools, "git?log")] == ["git.log", "git_log"]
