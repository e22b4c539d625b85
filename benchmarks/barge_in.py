"""From speech_started to the provider being cancelled, with 100 sessions that all wait for a retrieval.

The baseline is a bare ``task.cancel()`` of as many waiting tasks in the same loop.
"""

import asyncio
import sys
import time
from pathlib import Path

import aiohttp
import uvloop

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.measure import Row, Table, quiet_collector, spread
from benchmarks.realtime.played_model import PlayedModel
from benchmarks.realtime.providers import SlowAsync
from gateway.application import create_gateway_application
from gateway.settings import GatewaySettings

SESSIONS = 100
ROUNDS = 5


async def bare() -> list[float]:
    """Cancel waiting tasks and return the milliseconds until each of them knew."""
    samples = []

    async def wait(asked: list[float]) -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            samples.append((time.perf_counter() - asked[0]) * 1000)
            raise

    moments: list[list[float]] = [[0.0] for _ in range(SESSIONS)]
    tasks = [asyncio.create_task(wait(moment)) for moment in moments]
    await asyncio.sleep(0)
    for task, moment in zip(tasks, moments, strict=True):
        moment[0] = time.perf_counter()
        task.cancel()
        await asyncio.sleep(0)
    await asyncio.gather(*tasks, return_exceptions=True)
    return samples


async def through_gateway() -> list[float]:
    """Interrupt each session and return the milliseconds until its provider call was cancelled."""
    model = PlayedModel()
    stopped: dict[str, float] = {}
    provider = SlowAsync(60, lambda query: stopped.__setitem__(query, time.perf_counter()))
    samples = []
    async with model.listening(), aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http:
        settings = GatewaySettings(upstream=model.url, drain_seconds=0.1, timeout_seconds=60)
        async with create_gateway_application(provider, settings=settings) as gateway:
            clients = [await http.ws_connect(gateway.url) for _ in range(SESSIONS)]
            connections = [await model.connections.get() for _ in clients]
            for number in range(ROUNDS):
                names = [f"{number}_{index}" for index in range(SESSIONS)]
                for connection, name in zip(connections, names, strict=True):
                    await connection.call(name)
                await asyncio.sleep(0.3)
                for connection, name in zip(connections, names, strict=True):
                    started = time.perf_counter()
                    await connection.send("input_audio_buffer.speech_started", item_id="item", audio_start_ms=0)
                    await connection.until("function_call_output")
                    samples.append((stopped[f"release policy {name}"] - started) * 1000)
                    await connection.send("input_audio_buffer.speech_stopped", item_id="item", audio_end_ms=0)
            for client in clients:
                await client.close()
    return samples


async def measured() -> Table:
    baseline = await bare()
    found = spread(await through_gateway())
    rows = (Row(f"speech_started to cancellation, {SESSIONS} sessions", found, spread(baseline)),)
    return Table("Barge-in", rows, aim="p95 below 5 ms.", verdict=f"p95 {found.p95:.2f} ms.")


def main() -> Table:
    with quiet_collector():
        return uvloop.run(measured())


if __name__ == "__main__":
    print(main())
