"""16-bit mono PCM from one rate to another, piece by piece."""

from typing import Any


class Resampling:
    """A stream of sound at ``source`` samples a second, wanted at ``target``. Equal rates pass as they are."""

    def __init__(self, source: int, target: int) -> None:
        self._source = source
        self._target = target
        self._stream: Any = None

    def feed(self, pcm: bytes) -> bytes:
        """Return what is ready at the new rate; the filter keeps a few milliseconds back."""
        return self._resampled(pcm, last=False)

    def end(self) -> bytes:
        """Return what was kept back. The next piece begins a new stream."""
        rest = self._resampled(b"", last=True) if self._stream is not None else b""
        self._stream = None
        return rest

    def _resampled(self, pcm: bytes, *, last: bool) -> bytes:
        if self._source == self._target:
            return pcm
        import numpy
        import soxr

        if self._stream is None:
            self._stream = soxr.ResampleStream(self._source, self._target, 1, dtype="int16")
        samples = numpy.frombuffer(pcm, dtype="<i2")
        return bytes(self._stream.resample_chunk(samples, last=last).astype("<i2").tobytes())


__all__ = ["Resampling"]
