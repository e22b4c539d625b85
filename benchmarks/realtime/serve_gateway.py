"""Runs a gateway in a process of its own, in front of the model whose address is given; prints its address."""

import asyncio
import sys
from pathlib import Path

import uvloop

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.realtime.providers import Instant
from gateway.application import create_gateway_application
from gateway.settings import GatewaySettings


async def serve(upstream: str) -> None:
    settings = GatewaySettings(upstream=upstream, max_sessions=1000, max_sessions_per_owner=1000, drain_seconds=0.1)
    async with create_gateway_application(Instant(), settings=settings) as gateway:
        print(gateway.url, flush=True)
        await asyncio.to_thread(sys.stdin.readline)


uvloop.run(serve(sys.argv[1]))
