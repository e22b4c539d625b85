"""From the model's finished arguments to the output of the call, with a provider that answers at once.

The baseline is a client that answers the same call itself, over the same kind of socket, with nothing in between.
"""

import asyncio
import json
import sys
import time
from pathlib import Path

import aiohttp
import uvloop

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.measure import Row, Table, quiet_collector, spread
from benchmarks.realtime.played_model import Connection, PlayedModel
from benchmarks.realtime.providers import RESULT, Instant
from gateway.application import create_gateway_application
from gateway.settings import GatewaySettings

TURNS = 500


async def turns(connection: Connection, *, follow_up: bool) -> list[float]:
    """Play turns and return the milliseconds from the call to its output."""
    samples = []
    for number in range(TURNS):
        await connection.send("conversation.item.added", item={"type": "message", "id": f"user_{number}"})
        started = time.perf_counter()
        await connection.call(f"resp_{number}")
        await connection.until("function_call_output")
        samples.append((time.perf_counter() - started) * 1000)
        if follow_up:
            await connection.end_follow_up(f"resp_{number}")
    return samples[20:]


async def answer_by_hand(socket: aiohttp.ClientWebSocketResponse) -> None:
    async for message in socket:
        event = json.loads(message.data)
        if event["type"] == "response.function_call_arguments.done":
            item = {"type": "function_call_output", "call_id": event["call_id"], "output": json.dumps(RESULT)}
            await socket.send_str(json.dumps({"type": "conversation.item.create", "item": item}))


async def drain(socket: aiohttp.ClientWebSocketResponse) -> None:
    async for _ in socket:
        pass


async def measured() -> Table:
    model = PlayedModel()
    async with model.listening(), aiohttp.ClientSession() as http:
        async with http.ws_connect(model.url) as socket:
            answering = asyncio.create_task(answer_by_hand(socket))
            direct = await turns(await model.connections.get(), follow_up=False)
            answering.cancel()
        settings = GatewaySettings(upstream=model.url, drain_seconds=0.1, max_calls_per_turn=10_000)
        async with (
            create_gateway_application(Instant(), settings=settings) as gateway,
            http.ws_connect(gateway.url) as socket,
        ):
            draining = asyncio.create_task(drain(socket))
            through = await turns(await model.connections.get(), follow_up=True)
            draining.cancel()
    found = spread(through)
    verdict = f"p95 {found.p95:.2f} ms."
    rows = (Row("call to output, through the gateway beside a client that answers itself", found, spread(direct)),)
    return Table("Turn overhead on loopback", rows, aim="p95 below 5 ms.", verdict=verdict)


def main() -> Table:
    with quiet_collector():
        return uvloop.run(measured())


if __name__ == "__main__":
    print(main())
