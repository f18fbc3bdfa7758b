"""The official Python SDK as a client: sdk.py HARNESS PROJECT legacy|auto|2026-07-28"""

import asyncio
import pathlib
import sys

import anyio
from mcp import Client, MCPError, StdioServerParameters
from mcp.types import ToolListChangedNotification

HARNESS, PROJECT, MODE = sys.argv[1:]
NEW_TOOL = "---\nscript: |\n  def run(args):\n    return {\"new\": True}\n---\nIs new.\n"


async def main() -> None:
    changed = anyio.Event()

    async def on_message(message: object) -> None:
        if isinstance(message, ToolListChangedNotification):
            changed.set()

    server = StdioServerParameters(command=HARNESS, args=["--project", PROJECT, "mcp"])
    async with Client(server, mode=MODE, message_handler=on_message) as client:
        modern = client.protocol_version == "2026-07-28"
        assert modern == (MODE != "legacy"), client.protocol_version
        # A pinned revision is not asked for, so the SDK knows nothing of the server.
        assert MODE == "2026-07-28" or client.server_capabilities.tools.list_changed

        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert list(tools) == ["add_one", "count_up", "guarded", "read_artifact", "wait_long"], list(tools)
        assert tools["add_one"].output_schema["type"] == "object"
        hints = tools["add_one"].annotations
        assert hints.read_only_hint is True and hints.destructive_hint is False, hints
        assert hints.idempotent_hint is True and hints.open_world_hint is False, hints

        result = await client.call_tool("add_one", {"n": 41})
        assert result.structured_content == {"n": 42} and not result.is_error, result
        refused = await client.call_tool("guarded", {})
        assert refused.is_error and "not today" in refused.content[0].text, refused
        unfit = await client.call_tool("add_one", {"n": "x"})
        assert unfit.is_error and "accepted: n (integer, required)" in unfit.content[0].text, unfit
        try:
            unknown = await client.call_tool("nothing", {})
            raise AssertionError(unknown)
        except MCPError as error:
            assert error.code == -32602, error

        steps = []

        async def on_progress(progress: float, total: float | None, message: str | None) -> None:
            steps.append((progress, total, message))

        await client.call_tool("count_up", {}, progress_callback=on_progress)
        assert steps == [(0.5, 1.0, "half"), (1.0, 1.0, "all")], steps

        # A scope that gives up makes the SDK cancel the request; the tool takes one call at a time, so the next needs the place.
        for _ in range(2):
            with anyio.move_on_after(0.5) as scope:
                await client.call_tool("wait_long", {"seconds": 600})
            assert scope.cancelled_caught
        with anyio.fail_after(10):
            assert not (await client.call_tool("wait_long", {"seconds": 0})).is_error

        async def one(n: int) -> None:
            assert (await client.call_tool("add_one", {"n": n})).structured_content == {"n": n + 1}

        await asyncio.gather(*(one(n) for n in range(300)))

        path = pathlib.Path(PROJECT, ".harness/tools/new_tool.md")
        with anyio.fail_after(20):
            if modern:
                async with client.listen(tools_list_changed=True) as subscription:
                    path.write_text(NEW_TOOL)
                    async for _ in subscription:
                        break
            else:
                path.write_text(NEW_TOOL)
                await changed.wait()
        assert "new_tool" in [tool.name for tool in (await client.list_tools()).tools]
        assert (await client.call_tool("new_tool", {})).structured_content == {"new": True}
        path.unlink()
    print("done", MODE)


asyncio.run(main())
