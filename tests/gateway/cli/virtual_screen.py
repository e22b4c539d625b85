"""A screen that nobody sees, drawn into a file."""

import asyncio
import os
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import numpy

from tests.gateway.web.browser import installed


@asynccontextmanager
async def virtual_screen(folder: Path) -> AsyncIterator[str]:
    """An X server that draws into a file in ``folder``; gives the display's name."""
    reading, writing = os.pipe()
    command = [installed("Xvfb"), "-displayfd", str(writing), "-screen", "0", "1280x900x24", "-fbdir", str(folder)]
    quiet = asyncio.subprocess.DEVNULL
    server = await asyncio.create_subprocess_exec(*command, pass_fds=(writing,), stdout=quiet, stderr=quiet)
    os.close(writing)
    try:
        number = await asyncio.wait_for(asyncio.to_thread(os.read, reading, 16), 60)
        yield f":{int(number)}"
    finally:
        os.close(reading)
        server.terminate()
        await server.wait()


def picture(framebuffer: Path) -> numpy.ndarray[tuple[int, ...], numpy.dtype[numpy.uint8]]:
    """What the virtual screen shows: an X window dump, as rows of pixels of three colours."""
    raw = framebuffer.read_bytes()
    fields = struct.unpack(">25I", raw[:100])
    header, width, height, bytes_per_line, colours = fields[0], fields[4], fields[5], fields[12], fields[19]
    start = header + colours * 12
    lines = numpy.frombuffer(raw[start : start + bytes_per_line * height], dtype=numpy.uint8)
    return lines.reshape(height, -1, 4)[:, :width, 2::-1]
