"""One run in a study's folder at a time: two would ask, and pay for, the same questions."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from coherence.errors import InputError

NAME = ".running"


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Hold the folder of a study until the block ends, also by a kill."""
    try:
        import fcntl
    except ImportError:  # not on Windows, where nothing is held
        yield
        return
    handle = os.open(folder / NAME, os.O_CREAT | os.O_RDWR, 0o666)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise InputError(
                f"another run of the study is under way in {folder}. Wait for its end, or choose "
                "another folder by --out."
            ) from error
        yield
    finally:
        # The system lets go of the lock with the handle, whatever ends the process.
        os.close(handle)
