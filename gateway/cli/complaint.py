"""The one error of the command line: a sentence for a person, printed without a traceback."""


class Complaint(Exception):
    """Raised when a person can mend what is wrong; the message says how."""


__all__ = ["Complaint"]
