"""What is remembered within one turn of one session, and forgotten with it."""

from collections import Counter, OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, field

from knowledge_provider import KnowledgeResponse

from .citations import TurnCitations


@dataclass(slots=True)
class Turn:
    """The numbering of a turn's citations, the calls it has made, and what it has already been told."""

    citations: TurnCitations = field(default_factory=TurnCitations)
    calls: int = 0
    answered: dict[Hashable, KnowledgeResponse] = field(default_factory=dict)
    in_flight: Counter[Hashable] = field(default_factory=Counter)


class Turns:
    """The latest turns. A call without a turn id stands alone: it shares nothing with any other."""

    def __init__(self, capacity: int = 1024) -> None:
        self._capacity = capacity
        self._turns: OrderedDict[tuple[str, str, str], Turn] = OrderedDict()

    def __len__(self) -> int:
        return len(self._turns)

    def turn(self, owner_id: str, session_id: str, turn_id: str) -> Turn:
        """Return the state of this turn, new if it is not known."""
        if not turn_id:
            return Turn()
        key = (owner_id, session_id, turn_id)
        turn = self._turns.setdefault(key, Turn())
        self._turns.move_to_end(key)
        while len(self._turns) > self._capacity:
            self._turns.popitem(last=False)
        return turn


__all__ = ["Turn", "Turns"]
