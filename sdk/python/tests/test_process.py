"""The ends of haft and of the program: nothing hangs, no process stays, nothing is printed."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest

import haft
from haft import Haft, HaftSync
from support import TEST_TIMEOUT, run


def is_running(pid: int) -> bool:
    """Returns true for a process that exists and is not a zombie."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def wait_for_end(pid: int) -> None:
    """Waits for the end of a process that is not a child, and fails if it does not end."""
    descriptor = os.pidfd_open(pid) if is_running(pid) else None
    if descriptor is not None:
        import select

        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        assert poll.poll(TEST_TIMEOUT * 1000), "the process still runs"
        os.close(descriptor)


def script(text: str, project: Path, *, expect: int = 0) -> subprocess.CompletedProcess[str]:
    """Runs a Python program with development checks, and compares its exit code."""
    source = Path(haft.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-c", textwrap.dedent(text)],
        cwd=project,
        env={**os.environ, "PYTHONPATH": str(source)},
        capture_output=True,
        text=True,
        timeout=TEST_TIMEOUT,
    )
    assert done.returncode == expect, done.stderr
    return done


def test_a_missing_program_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(haft.BinaryNotFoundError, match="names `/nope/haft`, which is not a file"):
        haft.find_binary("/nope/haft")
    (tmp_path / "haft").write_text("")
    with pytest.raises(haft.BinaryNotFoundError, match="not executable"):
        haft.find_binary(tmp_path / "haft")
    monkeypatch.setenv("HAFT_BINARY", "/nope/haft")
    with pytest.raises(haft.BinaryNotFoundError, match="HAFT_BINARY names"):
        HaftSync().start()
    monkeypatch.delenv("HAFT_BINARY")
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    with pytest.raises(haft.BinaryNotFoundError, match="pip install haft-tools"):
        run(Haft().start())


def test_the_program_of_the_wheel_precedes_the_path(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for folder in ("scripts", "path"):
        (tmp_path / folder).mkdir()
        program = tmp_path / folder / "haft"
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
    monkeypatch.delenv("HAFT_BINARY", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    assert haft.find_binary() == str(tmp_path / "path/haft")

    def get_path(*_: str, **__: str) -> str:
        return str(tmp_path / "scripts")

    monkeypatch.setattr("sysconfig.get_path", get_path)
    assert haft.find_binary() == str(tmp_path / "scripts/haft")
    monkeypatch.setenv("HAFT_BINARY", str(tmp_path / "path/haft"))
    assert haft.find_binary() == str(tmp_path / "path/haft")


def test_wrong_options_are_errors_with_the_text_of_haft(tmp_path: Path) -> None:
    with pytest.raises(haft.ProcessEndedError) as failure:
        HaftSync(config=tmp_path / "missing.yaml").start()
    assert failure.value.returncode == 2
    assert "missing.yaml" in str(failure.value)
    assert failure.value.stderr in str(failure.value)
    with pytest.raises(haft.ProcessEndedError, match="exit code 0"):
        HaftSync(binary="/bin/true").start()


def test_a_crash_is_an_error_of_every_call(project: Path) -> None:
    async def main() -> None:
        async with Haft(cwd=project, trust=True) as tools:
            assert tools.pid is not None
            waiting = asyncio.Event()
            calls = [tools.call("wait", on_update=lambda _: waiting.set()) for _ in range(8)]
            tasks = [asyncio.create_task(call) for call in calls]
            events = asyncio.create_task(anext(tools.events(), None))
            await waiting.wait()
            os.kill(tools.pid, signal.SIGKILL)
            for task in tasks:
                with pytest.raises(haft.ProcessEndedError, match="signal SIGKILL") as failure:
                    await task
                assert failure.value.returncode == -signal.SIGKILL
            assert await events is None
            with pytest.raises(haft.ProcessEndedError):
                await tools.call("greet", {"name": "Ada"})

    run(main())
    with HaftSync(cwd=project, trust=True) as tools:
        pid = tools.pid
        assert pid is not None
        with pytest.raises(haft.ProcessEndedError, match="signal SIGKILL"):
            tools.call("wait", on_update=lambda _: os.kill(pid, signal.SIGKILL))


def test_closing_ends_calls_and_the_process(project: Path) -> None:
    async def main() -> int:
        tools = await Haft(cwd=project, trust=True).start()
        waiting = asyncio.Event()
        task = asyncio.create_task(tools.call("wait", on_update=lambda _: waiting.set()))
        await waiting.wait()
        await tools.close()
        result = await task
        assert (result.text, result.is_error) == ("asked to stop", False)
        await tools.close()
        assert tools.pid is not None
        return tools.pid

    assert not is_running(run(main()))


def test_a_host_that_was_not_closed_leaves_no_process(project: Path) -> None:
    tools = HaftSync(cwd=project, trust=True).start()
    pid = tools.pid
    assert pid is not None
    holder = [tools]
    del tools
    with pytest.warns(ResourceWarning, match="a HaftSync was not closed"):
        holder.clear()
    wait_for_end(pid)
    done = script(
        """
        import haft
        tools = haft.HaftSync(trust=True).start()
        print(tools.pid, tools.call("greet", {"name": "Ada"}).text)
        """,
        project,
    )
    assert done.stderr == ""
    pid_text, text = done.stdout.strip().split(" ", 1)
    assert text == "Hello, Ada!"
    assert not is_running(int(pid_text))


def test_a_loop_that_ends_early_is_silent(project: Path) -> None:
    done = script(
        """
        import asyncio, haft

        async def main():
            tools = await haft.Haft(trust=True).start()
            waiting = asyncio.Event()
            global task
            task = asyncio.create_task(tools.call("wait", on_update=lambda _: waiting.set()))
            await waiting.wait()
            return tools

        # asyncio.run cancels the task; the host outlives the loop.
        tools = asyncio.run(main())
        assert task.cancelled()

        async def again():
            print((await tools.call("greet", {"name": "Ada"})).text)
            await tools.close()

        asyncio.run(again())

        async def fails():
            async with haft.Haft(trust=True) as tools:
                raise SystemExit(3)

        asyncio.run(fails())
        """,
        project,
        expect=3,
    )
    assert (done.stdout, done.stderr) == ("Hello, Ada!\n", "")


def test_a_loop_that_is_closed_around_a_call_is_silent(project: Path) -> None:
    done = script(
        """
        import asyncio, haft

        loop = asyncio.new_event_loop()
        tools = loop.run_until_complete(haft.Haft(trust=True).start())
        call = tools.call("wait", on_update=lambda _: loop.stop())
        coroutine = call
        loop.call_soon(lambda: None)

        async def main():
            await call

        steps = main()
        # Without a task: the coroutine is closed by hand, in the middle.
        asyncio._set_running_loop(loop)
        try:
            steps.send(None)
        finally:
            asyncio._set_running_loop(None)
        steps.close()
        loop.run_until_complete(tools.close())
        loop.close()
        print("done")
        """,
        project,
    )
    assert (done.stdout, done.stderr) == ("done\n", "")


def test_keyboard_interrupt(project: Path) -> None:
    for body in (
        """
        with haft.HaftSync(trust=True) as tools:
            print(tools.pid, flush=True)
            interrupt = lambda _: os.kill(os.getpid(), signal.SIGINT)
            try:
                tools.call("wait", on_update=interrupt)
            except KeyboardInterrupt:
                # haft does not get the Ctrl-C of the terminal: the host goes on.
                print(tools.call("greet", {"name": "Ada"}).text, flush=True)
                raise
        """,
        """
        async def main():
            async with haft.Haft(trust=True) as tools:
                print(tools.pid, flush=True)
                interrupt = lambda _: os.kill(os.getpid(), signal.SIGINT)
                try:
                    await tools.call("wait", on_update=interrupt)
                except asyncio.CancelledError:
                    print((await tools.call("greet", {"name": "Ada"})).text, flush=True)
                    raise

        asyncio.run(main())
        """,
    ):
        # Programs that a shell starts in the background ignore the signal.
        handled = "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        text = "import asyncio, haft, os, signal\n" + handled + textwrap.dedent(body)
        if sys.version_info < (3, 11) and "asyncio.run" in body:
            # asyncio.run does not turn SIGINT into a cancellation there.
            continue
        done = script(text, project, expect=-signal.SIGINT)
        pid, greeting = done.stdout.splitlines()
        assert greeting == "Hello, Ada!"
        assert done.stderr.rstrip().endswith("KeyboardInterrupt")
        assert "never" not in done.stderr
        assert not is_running(int(pid))


def test_fork(project: Path) -> None:
    done = script(
        """
        import os, sys, haft, warnings
        warnings.simplefilter("ignore", DeprecationWarning)
        tools = haft.HaftSync(trust=True).start()
        child = os.fork()
        if child == 0:
            try:
                tools.call("greet", {"name": "Ada"})
            except haft.HaftError as error:
                print(error, flush=True)
            # The pipes of the parent's haft are not open here.
            links = [os.path.realpath(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd")]
            print(sum("pipe:" in link for link in links), flush=True)
            with haft.HaftSync(trust=True) as own:
                print(own.call("greet", {"name": "Bob"}).text, flush=True)
            sys.exit(5)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 5
        print(tools.call("greet", {"name": "Ada"}).text)
        tools.close()
        """,
        project,
    )
    lines = done.stdout.splitlines()
    assert lines[0] == "this Haft was opened before a fork; open one in the new process"
    # Standard output and standard error of this test, and the pipe of haft's standard error.
    assert int(lines[1]) <= 3
    assert lines[2:] == ["Hello, Bob!", "Hello, Ada!"]
    assert done.stderr == ""


def counts() -> tuple[int, int]:
    """Counts the threads and the open descriptors of this process."""
    return threading.active_count(), len(list(Path("/proc/self/fd").iterdir()))


def test_threads_and_descriptors_do_not_pile_up(project: Path) -> None:
    def once() -> None:
        with HaftSync(cwd=project, trust=True) as tools:
            tools.call("greet", {"name": "Ada"})

    def settled() -> tuple[int, int]:
        gc.collect()
        # The last thread may be about to end.
        for thread in threading.enumerate():
            if thread.name.startswith("haft-"):
                thread.join(TEST_TIMEOUT)
        return counts()

    once()
    before = settled()
    for _ in range(5):
        once()
    assert settled() == before
