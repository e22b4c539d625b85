"""Sessions with 50 frames of audio a second each way: what one gateway process adds, and what a session costs.

Clients and model run in this process, the gateway in another, on two cores. Each frame carries the moment at which it
was sent. The baseline of each row is as many sessions connected to the model directly, in the same run.
"""

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import psutil
import uvloop
from aiohttp import web

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.measure import Row, Table, quiet_collector, spread

COUNTS = (1, 50, 100, 200)
SECONDS = 4.0
FRAME = 0.02
FILL = "A" * 1260
PREFIX = '{"type":"input_audio_buffer.append","audio":"'
GATEWAY = Path(__file__).resolve().parent / "realtime" / "serve_gateway.py"


@asynccontextmanager
async def echoing_model() -> AsyncIterator[str]:
    """A model that sends each frame back as a frame of its own, with the same moment in it."""

    async def serve(request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse(compress=False)
        await socket.prepare(request)
        await socket.send_str('{"type":"session.created","session":{"id":"sess"}}')
        async for message in socket:
            if message.data.startswith(PREFIX):
                audio = message.data[len(PREFIX) :]
                await socket.send_str(f'{{"type":"response.output_audio.delta","response_id":"resp","delta":"{audio}')
        return socket

    application = web.Application()
    application.router.add_get("/v1/realtime", serve)
    runner = web.AppRunner(application, shutdown_timeout=0.1, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"ws://127.0.0.1:{runner.addresses[0][1]}/v1/realtime"
    await runner.cleanup()


async def speak(socket: aiohttp.ClientWebSocketResponse, until: float, offset: float) -> None:
    await asyncio.sleep(offset)
    due = time.perf_counter()
    while due < until:
        await socket.send_str(f'{PREFIX}{time.perf_counter():020.9f}{FILL}"}}')
        due += FRAME
        await asyncio.sleep(max(0.0, due - time.perf_counter()))


async def listen(socket: aiohttp.ClientWebSocketResponse, samples: list[float]) -> None:
    async for message in socket:
        at = message.data.find('"delta":"')
        if at >= 0:
            samples.append((time.perf_counter() - float(message.data[at + 9 : at + 29])) * 1000)


async def round_trips(url: str, count: int, gateway: psutil.Process | None) -> tuple[list[float], int]:
    """Return the round trips of all frames, in milliseconds, and the gateway's resident bytes meanwhile."""
    samples: list[float] = []
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http:
        sockets = [await http.ws_connect(url, compress=0) for _ in range(count)]
        listening = [asyncio.create_task(listen(socket, samples)) for socket in sockets]
        until = time.perf_counter() + SECONDS
        offsets = [FRAME * index / count for index in range(count)]
        await asyncio.gather(*(speak(socket, until, offset) for socket, offset in zip(sockets, offsets, strict=True)))
        memory = gateway.memory_info().rss if gateway else 0
        for task in listening:
            task.cancel()
        for socket in sockets:
            await socket.close()
    return samples[count * 25 :], memory


async def measured() -> Table:
    rows, memory = [], {}
    async with echoing_model() as model:
        pipe = asyncio.subprocess.PIPE
        command = (sys.executable, str(GATEWAY), model)
        process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe)
        assert process.stdout is not None
        url = (await process.stdout.readline()).decode().strip()
        watched = psutil.Process(process.pid)
        for count in COUNTS:
            direct, _ = await round_trips(model, count, None)
            before = watched.cpu_times()
            through, memory[count] = await round_trips(url, count, watched)
            after = watched.cpu_times()
            busy = (after.user + after.system - before.user - before.system) / (count * SECONDS / FRAME * 2) * 1e6
            rows.append(Row(f"{count} sessions, {busy:.0f} µs of CPU a frame", spread(through), spread(direct)))
        process.kill()
        await process.wait()
    growth = (memory[COUNTS[-1]] - memory[COUNTS[0]]) / (COUNTS[-1] - COUNTS[0]) / 1024
    added = rows[-1].measured.p50 - (rows[-1].baseline.p50 if rows[-1].baseline else 0)
    verdict = f"{growth:.0f} KiB of memory a session; {added:.2f} ms added at {COUNTS[-1]} sessions (p50)."
    aim = "200 active sessions in one process, a few ms added."
    return Table("Round trip of an audio frame, 50 a second each way", tuple(rows), aim=aim, verdict=verdict)


def main() -> Table:
    with quiet_collector():
        return uvloop.run(measured())


if __name__ == "__main__":
    print(main())
