"""Folders for results, shared by the commands.

Made before anything is asked, and cleared of what an earlier call left: it would look like a result
of this one.
"""

import errno
import os
import sys
import tempfile
from pathlib import Path

from coherence.table.file_sets import finish_earlier, new_files
from coherence.table.files import remove_earlier, replace_text

__all__ = ["new_files", "prepare_folder", "remove_earlier", "replace_text"]


def prepare_folder(name: str | os.PathLike[str], option: str = "--out") -> Path:
    """Make the folder of ``--out``, or of another option.

    Parameters
    ----------
    name : path-like
        Folder; it may exist.
    option : str
        The option that named it.

    Returns
    -------
    Path
        The folder, which can be written to.

    Raises
    ------
    InputError
        It cannot be made or written to.
    """
    from coherence.errors import InputError

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
    if finish_earlier(folder):
        print(
            f"{folder}: an earlier call was stopped while its files took their places; done now",
            file=sys.stderr,
        )
    return folder
