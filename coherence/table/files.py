"""Text files that are replaced whole or not at all, and earlier ones that must not stay."""

import os
import re
from collections.abc import Collection, Iterable
from pathlib import Path


def remove_earlier(
    folder: Path, names: str, kept: Collection[str], inputs: Iterable[str | os.PathLike[str]] = ()
) -> None:
    """Remove what an earlier call of the same command wrote and this one does not.

    Parameters
    ----------
    folder : Path
        Folder of ``--out``.
    names : str
        Regular expression of all names that the command may write there; other files are never
        touched.
    kept : collection of str
        Names that this call writes.
    inputs : iterable of path-like
        Files that this call read, which stay.
    """
    read = {Path(name).resolve() for name in inputs}  # one file may have several names
    for path in folder.iterdir():
        replaced = re.fullmatch(names, path.name) and path.name not in kept
        if replaced and path.is_file() and path.resolve() not in read:
            path.unlink()


def replace_text(path: Path, text: str) -> None:
    """Write a file so that a crash leaves either the old one or the new one.

    Parameters
    ----------
    path : Path
        File, in a folder that can be written to.
    text : str
        All that it will hold.
    """
    # In the same folder: a file can only be renamed at once within its file system.
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_text(text, encoding="utf-8")
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
