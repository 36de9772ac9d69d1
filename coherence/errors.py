"""Errors that a user can act on.

Every message names the parameter or column, the rule, the value received, where it was found, and what to do about it.
The command line prints them in one line and exits with 2.
"""


class CoherenceError(Exception):
    """Base of all errors that this toolkit raises on purpose."""


class InputError(CoherenceError, ValueError):
    """An argument breaks a stated rule."""


class SchemaError(CoherenceError, ValueError):
    """A runs table breaks its schema.

    Parameters
    ----------
    faults : list of str
        One sentence per fault; all faults of the table, not only the first.
    source : str
        Where the table came from, for the message.
    """

    def __init__(self, faults: list[str], source: str = "runs table") -> None:
        self.faults = list(faults)
        count = "1 fault" if len(self.faults) == 1 else f"{len(self.faults)} faults"
        super().__init__(f"{source} has {count}: " + " | ".join(self.faults))


class MissingExtraError(CoherenceError, ImportError):
    """An optional dependency is not installed.

    Parameters
    ----------
    extra : str
        The extra of this distribution that brings it.
    purpose : str
        What it is needed for.
    """

    def __init__(self, extra: str, purpose: str) -> None:
        super().__init__(f"{purpose} needs an extra that is not installed. Run: pip install 'belief-coherence[{extra}]'")
