"""When to look something up while the user is still speaking. Pure: it is told the words and the time, and waits for
nothing.
"""

import re
from dataclasses import dataclass, field

from .similarity import content_words

# Words, or single characters where words are not spaced: what a recognizer may still revise.
_CHARACTERS = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7af"
_UNIT = re.compile(rf"[{_CHARACTERS}]|[^\s{_CHARACTERS}]+")
MAX_QUERY_CHARACTERS = 500


@dataclass(slots=True)
class PrefetchPlanner:
    """Proposes a query when the words of the user have settled. Times are seconds on any one clock.

    A word is settled ``settle_seconds`` after it last changed. The whole utterance is proposed when all of it has
    settled: that is a pause, or the end. ``while_speaking`` also proposes what has settled so far, in the middle of a
    sentence, each time ``new_words`` more have come. A turn has ``calls_per_turn`` proposals.
    """

    settle_seconds: float = 0.4
    min_content_words: int = 3
    calls_per_turn: int = 3
    while_speaking: bool = False
    new_words: int = 3
    _text: str = ""
    _units: list[tuple[str, int]] = field(default_factory=list)
    _changed_at: list[float] = field(default_factory=list)
    _proposed: str = ""
    _calls: int = 0

    def new_turn(self) -> None:
        """Forget the words: the next ones belong to something else."""
        self._text, self._proposed, self._calls = "", "", 0
        self._units, self._changed_at = [], []

    def hear(self, text: str, now: float) -> None:
        """Take the transcript of the turn as it stands; its last words may still change."""
        units = [(match.group(), match.end()) for match in _UNIT.finditer(text)]
        kept = 0
        for old, new in zip(self._units, units, strict=False):
            if old != new:
                break
            kept += 1
        self._changed_at = self._changed_at[:kept] + [now] * (len(units) - kept)
        self._text, self._units = text, units

    def finish(self, now: float) -> None:
        """The user has stopped speaking, or the transcript is final: nothing will change any more."""
        self._changed_at = [now - self.settle_seconds] * len(self._units)

    def due(self, now: float) -> str | None:
        """Return the query to look up now, once, or None."""
        settled = self._settled(now)
        whole = settled == len(self._units)
        if not whole and not self.while_speaking:
            return None
        text = self._text[: self._units[settled - 1][1]].strip() if settled else ""
        if self._calls >= self.calls_per_turn - (not whole) or len(text) > MAX_QUERY_CHARACTERS:
            return None  # the last call of a turn is kept for the whole of it
        words = content_words(text)
        wanted = 1 if whole else self.new_words
        if words < self.min_content_words or words - content_words(self._proposed) < wanted:
            return None
        self._proposed = text
        self._calls += 1
        return text

    def wake_at(self, now: float) -> float | None:
        """Return when to ask `due` again if no more words come, or None when time alone changes nothing."""
        if self._calls >= self.calls_per_turn:
            return None
        pending = [moment + self.settle_seconds for moment in self._changed_at if moment + self.settle_seconds > now]
        if not pending:
            return None
        return min(pending) if self.while_speaking else max(pending)

    def _settled(self, now: float) -> int:
        count = 0
        for moment in self._changed_at:
            if moment + self.settle_seconds > now + 1e-6:
                break
            count += 1
        return count


__all__ = ["PrefetchPlanner"]
