"""Files that are replaced whole or not at all.

What is being written lies beside its place under a hidden name and is locked by its writer. The
system lets go of the lock however a process ends, so that the next call knows remains by it.
"""

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from types import ModuleType

from coherence.errors import InputError, WriteError

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # pragma: no cover - Windows has no such locks
    fcntl = None

# What a disk, a quota or a mount says no with; other errors come from what was to be written.
_REFUSALS = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO}


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a file to write to, which then takes the place of another in one step.

    Parameters
    ----------
    path : Path
        What is to be replaced, or made.

    Yields
    ------
    Path
        An empty file in the same folder, with the same ending.

    Raises
    ------
    InputError
        The path is a folder, or its folder does not exist or cannot be written to.
    WriteError
        The disk is full, or failed; what was there before is unchanged.
    """
    if path.is_dir():
        raise InputError(f"path must be a file to write; {path} is a folder. Name a file in it.")
    start, end = f".{path.stem[:40]}.", f".part{path.suffix}"
    try:
        sweep(path.absolute().parent, start, end)
        handle, name = tempfile.mkstemp(dir=path.absolute().parent, prefix=start, suffix=end)
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise InputError(
            f"path must lie in a folder that can be written to; {path} does not: {reason}. "
            "Create the folder, or choose another."
        ) from error
    temporary = Path(name)
    try:
        with held(handle), refusals_said(str(path)):
            yield temporary
            settle(temporary)
            # In one step on one file system, which is why it lies in the same folder.
            os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def replace_text(path: Path, text: str) -> None:
    """Write a file so that a crash leaves either the old one or the new one.

    Parameters
    ----------
    path : Path
        File, in a folder that can be written to.
    text : str
        All that it will hold.
    """
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def settle(path: Path) -> None:
    """Bring a file to the disk, with the permissions that any other new file gets.

    Parameters
    ----------
    path : Path
        Written.
    """
    # Some file systems say only now that there is no room.
    with path.open("rb+") as written:
        os.fsync(written.fileno())
    mask = os.umask(0)
    os.umask(mask)
    path.chmod(0o666 & ~mask)  # mkstemp makes private files


@contextmanager
def refusals_said(where: str) -> Iterator[None]:
    """Turn what a disk says no with into an error that says what is unchanged.

    Parameters
    ----------
    where : str
        What is being written, for the message.

    Yields
    ------
    None
        For the block that writes.

    Raises
    ------
    WriteError
        In place of the disk's.
    """
    try:
        yield
    except OSError as error:
        if error.errno not in _REFUSALS or isinstance(error, WriteError):
            raise
        raise WriteError(
            f"{where} cannot be written: {os.strerror(error.errno)}. What was there before is "
            "unchanged. Make room, or choose another place, and call again."
        ) from error


@contextmanager
def held(handle: int, *, wait: bool = False) -> Iterator[bool]:
    """Lock an open file or folder for a block, or until its process ends, however it ends.

    Parameters
    ----------
    handle : int
        Of the open file, which is closed after the block.
    wait : bool
        Whether to wait for another process that holds it.

    Yields
    ------
    bool
        False where another process holds it.
    """
    if fcntl is None:  # pragma: no cover - Windows renames no file that is open
        os.close(handle)
        yield True
        return
    try:
        free = True
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except OSError as error:
            # A file system without locks: whoever works there works alone.
            free = error.errno not in (errno.EWOULDBLOCK, errno.EACCES)
        yield free
    finally:
        os.close(handle)


def held_folder(folder: Path, *, wait: bool = False) -> AbstractContextManager[bool]:
    """Lock a folder, or a file, by its path; see `held`.

    Parameters
    ----------
    folder : Path
        Which exists.
    wait : bool
        Whether to wait for another process that holds it.

    Returns
    -------
    context manager
        Of a bool: False where another process holds it.
    """
    if fcntl is None:  # pragma: no cover - Windows opens no folder
        return nullcontext(True)
    return held(os.open(folder, os.O_RDONLY), wait=wait)


def sweep(folder: Path, start: str, end: str) -> None:
    """Remove remains of calls that were killed; what a living process writes is left alone.

    Parameters
    ----------
    folder : Path
        Where they lie.
    start, end : str
        Of their names.
    """
    for entry in folder.iterdir():
        if not (entry.name.startswith(start) and entry.name.endswith(end)):
            continue
        with suppress(OSError), held_folder(entry) as abandoned:
            if abandoned and entry.is_dir():
                shutil.rmtree(entry, ignore_errors=True)
            elif abandoned:
                entry.unlink(missing_ok=True)
