"""Sets of files that take the place of an earlier set together.

All of a set is written into a hidden folder inside the one it is for. When everything is there, one
rename says so; then its files move to their places, and those of the earlier set that the new one
does not have go last. A call that is killed before that rename leaves the old set as it was; what
one that is killed after it leaves is finished by the next call. ``files.sha256``, moved last, lists
every file with its digest: ``sha256sum -c files.sha256`` tells a whole set from a mixed one.
"""

import errno
import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from coherence.errors import InputError, WriteError
from coherence.table.files import (
    earlier_files,
    held_folder,
    refusals_said,
    replacing,
    settle,
    sweep,
)

LIST = "files.sha256"
"""The list of a folder's sets, as ``sha256sum`` writes and reads it, with a comment on top."""
_UNFINISHED, _FINISHED = ".coherence-unfinished-", ".coherence-finished-"
_EARLIER = ".earlier.json"
_LINE = re.compile(r"([0-9a-f]{64}) [ *](.+)")


@contextmanager
def new_files(
    folder: Path, names: str, inputs: Iterable[str | os.PathLike[str]] = ()
) -> Iterator[Path]:
    """Give a folder to write a set of files into, which then takes the place of the earlier set.

    Parameters
    ----------
    folder : Path
        An existing folder.
    names : str
        Regular expression of all that the command may write there, those in subfolders with a
        slash; what matches and is not written now is removed.
    inputs : iterable of path-like
        Files that this call read, which stay as they are.

    Yields
    ------
    Path
        An empty folder in the same file system.

    Raises
    ------
    InputError
        A folder bears the name of a file of the set.
    WriteError
        The disk is full, or failed; what was there before is unchanged.
    """
    finish_earlier(folder)
    with ExitStack() as held:
        with held_folder(folder, wait=True), refusals_said(str(folder)):
            stage = Path(tempfile.mkdtemp(dir=folder, prefix=_UNFINISHED))
            held.callback(shutil.rmtree, stage, ignore_errors=True)
            held.enter_context(held_folder(stage))
        with refusals_said(str(folder)):
            yield stage
        with held_folder(folder, wait=True):
            with refusals_said(str(folder)):
                done = _complete(folder, stage, names, inputs)
            _move(done, folder)


def _complete(
    folder: Path, stage: Path, names: str, inputs: Iterable[str | os.PathLike[str]]
) -> Path:
    """Bring a set to the disk with what is to be done with it, and rename its folder."""
    written = sorted(path for path in stage.rglob("*") if path.is_file())
    kept = [path.relative_to(stage).as_posix() for path in written]
    read = {Path(name).resolve() for name in inputs}
    for name in kept:
        place = folder / name
        # Answers that are scored where they lie are written again as they are.
        if place.resolve() in read and place.read_bytes() != (stage / name).read_bytes():
            raise InputError(
                f"{place} was read, and would be overwritten by a file of that name. "
                "Write to another folder."
            )
        if place.is_dir() or (place.parent.exists() and not place.parent.is_dir()):
            raise InputError(
                f"{place} must be a file to write, in a folder; something else is there. "
                "Move it away."
            )
    earlier = earlier_files(folder, names, kept, inputs)
    (stage / _EARLIER).write_text(json.dumps(earlier), encoding="utf-8")
    listing = _listing(folder, stage, kept, earlier)
    if listing:
        (stage / LIST).write_text(listing, encoding="utf-8")
    else:
        (stage / _EARLIER).write_text(json.dumps([*earlier, LIST]), encoding="utf-8")
    for path in (path for path in stage.rglob("*") if path.is_file()):
        settle(path)
    done = stage.with_name(stage.name.replace(_UNFINISHED, _FINISHED, 1))
    stage.rename(done)  # from here on the new set counts
    return done


def finish_earlier(folder: Path) -> bool:
    """Finish or remove what a killed call left; what a living process writes is left alone.

    Parameters
    ----------
    folder : Path
        Folder of a set; it may not exist.

    Returns
    -------
    bool
        Whether a set was finished.
    """
    finished = False
    if not folder.is_dir():
        return finished
    with suppress(OSError), held_folder(folder, wait=True):
        # Oldest first: the last set that was complete has the last word.
        left = [entry for entry in folder.iterdir() if entry.name.startswith(_FINISHED)]
        for done in sorted(left, key=lambda entry: entry.stat().st_mtime):
            _move(done, folder)
            finished = True
        sweep(folder, _UNFINISHED, "")
    return finished


def mixed_files(folder: Path) -> list[str]:
    """Return what in a folder does not belong to the set that its list names.

    Parameters
    ----------
    folder : Path
        Folder of a set.

    Returns
    -------
    list of str
        Files that are listed and are not there, or are others than those that were written.
    """
    return [name for name, digest in _listed(folder).items() if _digest(folder / name) != digest]


def _move(done: Path, folder: Path) -> None:
    """Put every file in its place, remove what the set before it had more, and forget the rest."""
    files = [path for path in done.rglob("*") if path.is_file()]
    try:
        for path in sorted(files):
            if path.name not in (_EARLIER, LIST):
                _put(path, folder / path.relative_to(done))
        for name in _names_in(done / _EARLIER):
            (folder / name).unlink(missing_ok=True)
            if "/" in name:
                with suppress(OSError):  # other files are in it
                    (folder / name).parent.rmdir()
        # Last: until then the list is that of the earlier set, and tells that they are mixed.
        if done / LIST in files:
            _put(done / LIST, folder / LIST)
    except OSError as error:
        raise WriteError(
            f"{folder} has files of two sets: those of the later one cannot all take their places "
            f"({error.strerror}). They are kept in {done}; mend that, and the next call that "
            "writes there puts them in their places."
        ) from error
    shutil.rmtree(done, ignore_errors=True)


def _put(path: Path, target: Path) -> None:
    target.parent.mkdir(exist_ok=True)
    try:
        os.replace(path, target)
    except OSError as error:
        if error.errno != errno.EXDEV:  # a subfolder may lie in another file system
            raise
        with replacing(target) as temporary:
            shutil.copyfile(path, temporary)


def _names_in(file: Path) -> list[str]:
    try:
        names = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    # A folder may come from elsewhere: nothing outside it is removed.
    return [name for name in names if ".." not in name.split("/") and not name.startswith("/")]


def _listing(folder: Path, stage: Path, kept: list[str], earlier: list[str]) -> str:
    """Write the list: this set's files, and those of other sets that are there; "" for none."""
    others = {
        name: digest
        for name, digest in _listed(folder).items()
        if name not in earlier and (folder / name).is_file()
    }
    digests = {name: _digest(stage / name) for name in kept}
    lines = [f"{digest}  {name}\n" for name, digest in sorted((others | digests).items())]
    if not lines:
        return ""
    run = hashlib.sha256("".join(lines).encode()).hexdigest()[:16]
    return f"# run {run}: check with sha256sum -c {LIST}\n" + "".join(lines)


def _listed(folder: Path) -> dict[str, str]:
    try:
        lines = (folder / LIST).read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return {}
    matches = filter(None, map(_LINE.fullmatch, lines))
    return {match[2]: match[1] for match in matches}


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""
