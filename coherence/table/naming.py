"""What a user calls the columns of the runs table: messages about a file speak of its columns."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Naming:
    """Names for messages."""

    # column of the runs table -> column of the file, as for `coherence.read_runs`; columns that are
    # not in it are called alike.
    columns: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, name: str) -> str:
        """Return the name in quotation marks, with that of the runs table where it is another."""
        return repr(self.columns.get(name, name)) + self._meaning(name)

    def plain(self, name: str) -> str:
        """Return the name without quotation marks, for a sentence that begins with it."""
        return self.columns.get(name, name) + self._meaning(name)

    def _meaning(self, name: str) -> str:
        return "" if self.columns.get(name, name) == name else f" (mapped to {name!r})"


AS_IN_RUNS = Naming()
"""The names of the runs table itself."""
