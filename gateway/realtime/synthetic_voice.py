"""Speech from espeak-ng, where it is installed: PCM at the 24 kHz of the realtime protocol."""

import asyncio
import io
import shutil
import wave

RATE = 24_000


def voice_is_installed() -> bool:
    """Say whether espeak-ng can be run."""
    return shutil.which("espeak-ng") is not None


async def speech(text: str, *, chinese: bool) -> bytes:
    """Return the spoken text as 16-bit mono PCM at 24 kHz; empty when espeak-ng fails."""
    command = ["espeak-ng", "--stdout", "-v", "cmn" if chinese else "en", "--", text]
    quiet = asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE, stdin=quiet, stderr=quiet)
    try:
        wav, _ = await process.communicate()
    except asyncio.CancelledError:
        if process.returncode is None:
            process.kill()
            await process.wait()
        raise
    return await asyncio.to_thread(_pcm, wav) if process.returncode == 0 else b""


def _pcm(wav: bytes) -> bytes:
    import numpy
    import soxr

    # A piped WAV has no true length in its header, so the samples are read past what the header claims.
    with wave.open(io.BytesIO(wav)) as sound:
        samples = numpy.frombuffer(sound.readframes(len(wav)), dtype=numpy.int16)
        resampled = soxr.resample(samples, sound.getframerate(), RATE)
    return bytes(resampled.astype(numpy.int16).tobytes())


__all__ = ["RATE", "speech", "voice_is_installed"]
