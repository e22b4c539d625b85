"""The largest gap in audio while a retrieval takes 5 s: in each direction, for each way in which a provider is slow.

The baseline awaits the tool inside its forwarding loop, as published middle tiers do: behind it nothing moves.
"""

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import uvloop
from aiohttp import web

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.measure import Row, Table, spread
from benchmarks.realtime.played_model import Connection, PlayedModel
from benchmarks.realtime.providers import SlowAsync, SlowBlockingAsync, SlowSync
from gateway.application import create_gateway_application
from gateway.settings import GatewaySettings

SECONDS = 5.0
FRAME = 0.02
TO_MODEL = '{"type":"input_audio_buffer.append","audio":"' + "A" * 1280 + '"}'
TO_CLIENT = '{"type":"response.output_audio.delta","response_id":"resp_audio","delta":"' + "A" * 1280 + '"}'


async def send_frames(send: Any, text: str) -> None:
    while True:
        await send(text)
        await asyncio.sleep(FRAME)


async def gaps(receive: Any, found: list[float]) -> None:
    """Note the milliseconds between one audio frame and the next."""
    before = None
    while True:
        text = await receive()
        if "audio" not in text:
            continue
        now = time.perf_counter()
        if before is not None:
            found.append((now - before) * 1000)
        before = now


async def flow(client: aiohttp.ClientWebSocketResponse, connection: Connection) -> tuple[list[float], list[float]]:
    """Let audio flow both ways around a tool call; returns the gaps towards the client and towards the model."""
    down: list[float] = []
    up: list[float] = []
    work = [
        send_frames(client.send_str, TO_MODEL),
        send_frames(connection.socket.send_str, TO_CLIENT),
        gaps(client.receive_str, down),
        gaps(connection.audio.get, up),
    ]
    tasks = [asyncio.create_task(one) for one in work]
    await asyncio.sleep(0.5)
    await connection.call("resp_call")
    await asyncio.sleep(SECONDS + 1)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return down, up


async def with_gateway(model: PlayedModel, provider: Any, isolation: Any) -> tuple[list[float], list[float]]:
    settings = GatewaySettings(upstream=model.url, isolation=isolation, timeout_seconds=SECONDS + 2, drain_seconds=0.1)
    async with (
        create_gateway_application(provider, settings=settings) as gateway,
        aiohttp.ClientSession() as http,
        http.ws_connect(gateway.url) as client,
    ):
        return await flow(client, await model.connections.get())


@asynccontextmanager
async def middle_tier(model: PlayedModel) -> AsyncIterator[str]:
    """A proxy that awaits the tool where it forwards."""

    async def serve(request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        async with aiohttp.ClientSession() as http, http.ws_connect(model.url) as upstream:
            forward = asyncio.create_task(_forward(socket, upstream))
            async for message in upstream:
                if json.loads(message.data)["type"] == "response.function_call_arguments.done":
                    await asyncio.sleep(SECONDS)
                await socket.send_str(message.data)
            forward.cancel()
        return socket

    application = web.Application()
    application.router.add_get("/", serve)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"ws://127.0.0.1:{runner.addresses[0][1]}/"
    await runner.cleanup()


async def _forward(source: web.WebSocketResponse, target: aiohttp.ClientWebSocketResponse) -> None:
    async for message in source:
        await target.send_str(message.data)


async def measured() -> Table:
    model, rows, worst = PlayedModel(), [], 0.0
    async with model.listening(), middle_tier(model) as url, aiohttp.ClientSession() as http:
        async with http.ws_connect(url) as client:
            base_down, base_up = await flow(client, await model.connections.get())
        providers: tuple[tuple[str, Any, str], ...] = (
            ("async", SlowAsync(SECONDS), "task"),
            ("blocking, in a plain def", SlowSync(SECONDS), "task"),
            ("blocking, in an async def", SlowBlockingAsync(SECONDS), "thread"),
        )
        for name, provider, isolation in providers:
            down, up = await with_gateway(model, provider, isolation)
            rows.append(Row(f"{name}: largest gap to the client", spread([max(down)]), spread([max(base_down)])))
            rows.append(Row(f"{name}: largest gap to the model", spread([max(up)]), spread([max(base_up)])))
            worst = max(worst, *down, *up)
    verdict = f"largest gap {worst:.0f} ms; awaited in the loop, {max(base_down):.0f} ms."
    return Table("Audio while a retrieval takes 5 s", tuple(rows), aim="no gap of the gateway's own.", verdict=verdict)


def main() -> Table:
    return uvloop.run(measured())


if __name__ == "__main__":
    print(main())
