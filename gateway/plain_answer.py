"""Pure: whether an answer can be read on the event loop without running any code of the provider's.

A query set, a generator, or a dict that loads its values on access runs the provider's code when it is read; that may
block or never end, so it is read where the provider runs.
"""

from itertools import islice

from knowledge_provider import CitedResult, KnowledgeResponse, KnowledgeResult, Source

_READ_WHOLE = frozenset(
    {str, bytes, int, float, bool, type(None), KnowledgeResult, CitedResult, KnowledgeResponse, Source}
)
_ITEMS = 64
_BUDGET = 4096


def is_plain(answer: object) -> bool:
    """Say whether ``answer`` is made of built-in values and our own models, and of nothing derived from them.

    Of each list and dict 64 items are looked at, as many as `normalize` reads; an answer of more than 4,096 values is
    called not plain, since looking further would cost the loop more than a thread does.
    """
    waiting, left = [answer], _BUDGET
    while waiting:
        value = waiting.pop()
        kind = type(value)
        left -= 1
        if left < 0:
            return False
        if kind is list or kind is tuple:
            waiting.extend(islice(value, _ITEMS))  # type: ignore[call-overload]  # its type was just compared
        elif kind is dict:
            for pair in islice(value.items(), _ITEMS):  # type: ignore[attr-defined]  # its type was just compared
                waiting.extend(pair)
        elif kind not in _READ_WHOLE:
            return False
    return True


__all__ = ["is_plain"]
