"""Why a file could not be read, as extractors say it."""


class Unreadable(Exception):
    """Raised by an extractor: a code for programs, the problem and the remedy in words for people."""

    def __init__(self, code: str, problem: str, remedy: str) -> None:
        super().__init__(problem)
        self.code = code
        self.problem = problem
        self.remedy = remedy


class Enough(Exception):
    """Raised by the segment writer when its bounds are reached: what was read so far is kept."""


__all__ = ["Enough", "Unreadable"]
