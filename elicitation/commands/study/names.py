"""Names of models, tasks and batteries: what they make of files, and which are too alike."""

import re
import unicodedata
from collections.abc import Iterable


def file_stem(*names: str) -> str:
    """Return the name of a file for names from outside, which may hold anything."""
    return "--".join(re.sub(r"[^A-Za-z0-9._-]", "_", name).lstrip(".") or "_" for name in names)


def repeated(section: str, names: Iterable[str]) -> list[str]:
    """Return a fault for each name that another entry has, or that makes the same file."""
    faults: list[str] = []
    seen: dict[str, str] = {}
    for name in names:
        # File systems that do not tell capitals apart would lose one of two files, and readers of
        # a table cannot tell two ways of writing one letter apart.
        keys = {file_stem(name).casefold(), unicodedata.normalize("NFKC", name).casefold()}
        if earlier := [seen[key] for key in keys if key in seen]:
            how = "repeats an earlier one" if name in earlier else f"is too like {earlier[0]!r}"
            faults.append(f"[[{section}]] name {name!r} {how}. Give each a name of its own.")
        seen |= dict.fromkeys(keys, name)
    return faults
