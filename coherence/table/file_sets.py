"""Sets of files that take the place of an earlier set together.

All of a set is written into a hidden folder inside the one it is for. When everything is there, one
rename says so; then its files move to their places, and those of the earlier set that the new one
does not have go last. A call that is killed before that rename leaves the old set as it was; what
one that is killed after it leaves is finished by the next call. ``files.sha256``, moved last, lists
every file with its digest: ``sha256sum -c files.sha256`` tells a whole set from a mixed one.

Only a file that this list names, and that still is what was written, is replaced or removed: a name
says nothing about who made a file. The list says on top what the rest of it digests to, by which it
is told from a list of the same name that somebody else made.
"""

import errno
import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import MappingProxyType

from coherence.errors import InputError, WriteError
from coherence.table.files import held_folder, refusals_said, replacing, settle, sweep

LIST = "files.sha256"
"""The list of a folder's sets, as ``sha256sum`` writes and reads it, with a comment on top."""
_UNFINISHED, _FINISHED = ".coherence-unfinished-", ".coherence-finished-"
_EARLIER = ".earlier.json"
_LINE = re.compile(r"([0-9a-f]{64}) [ *](.+)")
_TOP = re.compile(r"# run ([0-9a-f]{16}): .*")


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
        slash; what of an earlier set matches and is not written now is removed.
    inputs : iterable of path-like
        Files that this call read, which stay as they are.

    Yields
    ------
    Path
        An empty folder in the same file system.

    Raises
    ------
    InputError
        A folder, or a file that no earlier call wrote, bears the name of a file of the set.
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
    new = {name: _digest(stage / name) for name in kept}
    for name in kept:
        _require_place(folder, name)
        # Answers that are scored where they lie are written again as they are.
        if (folder / name).resolve() in read and _digest(folder / name) != new[name]:
            raise InputError(
                f"{folder / name} was read, and would be overwritten by a file of that name. "
                "Write to another folder."
            )
    require_replaceable(folder, new, new)
    listed = _listed(folder)
    # What was read stays, and stays whoever's it was.
    read_here = {name for name in (*new, *listed) if (folder / name).resolve() in read}
    ours = set(earlier_set(folder, names))
    earlier = {name: listed[name] for name in sorted(ours - new.keys() - read_here)}
    still = {
        name: digest
        for name, digest in listed.items()
        # One that was changed since is no longer of a set that is being replaced.
        if (folder / name).is_file() and (name in ours & read_here or not re.fullmatch(names, name))
    }
    written_now = {name: new[name] for name in new if name in listed or name not in read_here}
    listing = _listing(still | written_now)
    if listing:
        (stage / LIST).write_text(listing, encoding="utf-8")
    elif listed:
        earlier[LIST] = _digest(folder / LIST)
    (stage / _EARLIER).write_text(json.dumps(earlier), encoding="utf-8")
    for path in (path for path in stage.rglob("*") if path.is_file()):
        settle(path)
    done = stage.with_name(stage.name.replace(_UNFINISHED, _FINISHED, 1))
    stage.rename(done)  # from here on the new set counts
    return done


def _require_place(folder: Path, name: str) -> None:
    """Raise where something stands in the way of a file that is no file itself."""
    place = folder / name
    above = place.parent
    # A link that leads nowhere is there, though what it leads to is not.
    if place.is_dir() or (os.path.lexists(above) and not above.is_dir()):
        raise InputError(
            f"{place} must be a file to write, in a folder; something else is there"
            f"{f' ({above} is a link that leads nowhere)' if above.is_symlink() else ''}. "
            "Move it away."
        )


def require_replaceable(
    folder: Path, names: Iterable[str], digests: Mapping[str, str] = MappingProxyType({})
) -> None:
    """Raise where files to be written would take the place of files that are not ours.

    Parameters
    ----------
    folder : Path
        Folder of a set; it may not exist.
    names : iterable of str
        Files that will be written there.
    digests : mapping of str to str
        What they will digest to, where it is known: what is equal already may stand there, whoever
        wrote it.

    Raises
    ------
    InputError
        No earlier call wrote what is there, or it was changed since.
    """
    names, listed = list(names), _listed(folder)
    if names and os.path.lexists(folder / LIST) and not listed:
        raise InputError(
            f"{folder / LIST} must be the list that an earlier call wrote there; it is another "
            "file of that name, or was changed since. Move it away, or write to another folder."
        )
    strange = [
        name
        for name in names
        if os.path.lexists(folder / name)
        and _digest(folder / name) not in (listed.get(name), digests.get(name))
    ]
    if strange:
        first, more = strange[0], f" (and {len(strange) - 1} more)" if len(strange) > 1 else ""
        was = "changed since" if first in listed else "not written by"
        raise InputError(
            f"{folder / first}{more} would be overwritten, and was {was} an earlier call. "
            "Move it away, or write to another folder."
        )


def earlier_set(folder: Path, names: str) -> list[str]:
    """Return the files of an earlier set that are there as they were written.

    Parameters
    ----------
    folder : Path
        Folder of a set; it may not exist.
    names : str
        Regular expression of the names of the set.

    Returns
    -------
    list of str
        Paths inside the folder, sorted.
    """
    return sorted(
        name
        for name, digest in _listed(folder).items()
        if re.fullmatch(names, name) and _digest(folder / name) == digest
    )


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
        Files that are listed and are not there, or are others than those that were written; the
        list itself where it is not as it was written.
    """
    if os.path.lexists(folder / LIST) and not _listed(folder):
        return [LIST]
    return [name for name, digest in _listed(folder).items() if _digest(folder / name) != digest]


def _move(done: Path, folder: Path) -> None:
    """Put every file in its place, remove what the set before it had more, and forget the rest."""
    files, listed = [path for path in done.rglob("*") if path.is_file()], _listed(folder)
    for path in files:
        name = path.relative_to(done).as_posix()
        digest = "" if path.name in (_EARLIER, LIST) else _digest(folder / name)
        # Where a killed call is finished later, somebody may have changed what stands there.
        if digest not in ("", listed.get(name), _digest(path)):
            raise WriteError(
                f"{folder / name} was changed after the call that was to replace it was killed. "
                f"What that call made is kept in {done}. Move the file away, and the next call "
                "puts it in its place."
            )
    try:
        for path in sorted(files):
            if path.name not in (_EARLIER, LIST):
                _put(path, folder / path.relative_to(done))
        for name, digest in _files_in(done / _EARLIER).items():
            elsewhere = (folder / name).parent.is_symlink()
            if elsewhere or _digest(folder / name) != digest:
                continue  # somebody's, who put it there between a kill and this call
            (folder / name).unlink()
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


def _files_in(file: Path) -> dict[str, str]:
    try:
        digests = dict(json.loads(file.read_text(encoding="utf-8")))
    except (OSError, TypeError, ValueError):
        return {}
    # A folder may come from elsewhere: nothing outside it is removed.
    return {
        name: digest
        for name, digest in digests.items()
        if ".." not in name.split("/") and not name.startswith("/")
    }


def _listing(digests: dict[str, str]) -> str:
    """Write the list; "" of no files."""
    lines = [f"{digest}  {name}\n" for name, digest in sorted(digests.items())]
    if not lines:
        return ""
    return f"# run {_run(lines)}: check with sha256sum -c {LIST}\n" + "".join(lines)


def _run(lines: Iterable[str]) -> str:
    return hashlib.sha256("".join(lines).encode()).hexdigest()[:16]


def _listed(folder: Path) -> dict[str, str]:
    """Read the list that an earlier call wrote; empty where there is none, or another's."""
    try:
        top, *lines = (folder / LIST).read_text(encoding="utf-8").splitlines(keepends=True)
    except (OSError, ValueError):
        return {}
    said = _TOP.fullmatch(top.rstrip("\n"))
    if not said or said[1] != _run(lines):
        return {}
    matches = filter(None, (_LINE.fullmatch(line.rstrip("\n")) for line in lines))
    return {match[2]: match[1] for match in matches}


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""
