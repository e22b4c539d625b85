"""16-bit mono PCM from one sampling rate to another, as a stream: no clicks where one chunk meets the next."""

from typing import Any


class RateConverter:
    """Converts chunk by chunk. The resampling library is loaded with the first chunk, not before."""

    def __init__(self, source_rate: int, target_rate: int) -> None:
        self._rates = (source_rate, target_rate)
        self._stream: Any = None
        self._odd = b""

    def convert(self, pcm: bytes) -> bytes:
        """Return what can be said of the audio so far; a few milliseconds stay behind until more comes."""
        data = self._odd + pcm
        whole = len(data) - len(data) % 2
        self._odd = data[whole:]
        return self._resampled(data[:whole], last=False) if whole else b""

    def rest(self) -> bytes:
        """Return what stayed behind, and begin anew."""
        if self._stream is None:
            return b""
        tail = self._resampled(b"", last=True)
        self._stream, self._odd = None, b""
        return tail

    def _resampled(self, pcm: bytes, *, last: bool) -> bytes:
        import numpy
        import soxr

        if self._stream is None:
            self._stream = soxr.ResampleStream(*self._rates, 1, dtype="int16", quality="MQ")
        samples = numpy.frombuffer(pcm, dtype=numpy.int16)
        return bytes(self._stream.resample_chunk(samples, last=last).tobytes())


__all__ = ["RateConverter"]
