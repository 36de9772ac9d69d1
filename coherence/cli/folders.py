"""Folders for results, shared by the commands.

Made before anything is asked, and looked through for files that nobody may overwrite: hours of work
must not end with that.
"""

import errno
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from coherence.errors import InputError
from coherence.runs.files import earlier_set, new_files, replace_text, require_replaceable

__all__ = ["in_place", "new_files", "no_empty_folders", "prepare_folder", "replace_text"]


def in_place(folder: Path, names: str) -> str:
    """Say whether a set of files takes the place of an earlier one, before it does."""
    return ", in place of those of an earlier call" if earlier_set(folder, names) else ""


@contextmanager
def no_empty_folders(*names: str | os.PathLike[str] | None) -> Iterator[None]:
    """Take away again, if the block fails, what it made of folders and left without a file."""
    given = [Path(name) for name in names if name is not None]
    new = [part for folder in given for part in (folder, *folder.parents) if not part.exists()]
    try:
        yield
    except BaseException:
        for folder in new:  # from the innermost on
            with suppress(OSError):
                folder.rmdir()
        raise


def prepare_folder(
    name: str | os.PathLike[str], option: str = "--out", writes: Iterable[str] = ()
) -> Path:
    """Make the folder of ``--out``, or of another option."""
    folder = Path(name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"{option} must be a folder that can be made; {name} cannot ({error.strerror}). "
            "Choose another."
        ) from error
    # Hours of asking must not end with a folder that takes no file.
    try:
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        # Writing tells what permissions do not: a full disk, a read-only mount.
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise InputError(
            f"{option} must be a folder that can be written to; {name} cannot ({error.strerror}). "
            "Choose another."
        ) from error
    require_replaceable(folder, writes)
    return folder
