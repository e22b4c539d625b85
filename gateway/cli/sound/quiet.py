"""ALSA and PortAudio write to standard error by themselves, into whatever is on the screen."""

import contextlib
import os
import sys
from collections.abc import Iterator


@contextlib.contextmanager
def quiet_libraries() -> Iterator[None]:
    """Let nothing but Python write to standard error; what Python writes goes where it went before."""
    was = sys.stderr, sys.__stderr__
    kept = os.dup(2)
    try:
        with os.fdopen(os.dup(2), "w", encoding="utf-8", errors="replace", buffering=1) as ours:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, 2)
            os.close(nowhere)
            sys.stderr = sys.__stderr__ = ours  # type: ignore[misc]
            try:
                yield
            finally:
                sys.stderr, sys.__stderr__ = was  # type: ignore[misc]
    finally:
        os.dup2(kept, 2)
        os.close(kept)


__all__ = ["quiet_libraries"]
