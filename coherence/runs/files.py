"""Files that are replaced whole or not at all, and sets of them under a list of their digests.

A set is written into a hidden folder inside the one it is for, and its files then take their places
one by one: each is whole, or as it was. ``files.sha256`` names every file with its digest. While
files move it names those of both sets, so that ``sha256sum -c files.sha256`` tells a set that a
kill left half replaced, and the next call may replace either. Only a file that the list names, and
that still is what was written, is replaced or removed: a name says nothing about who made a file.
"""

import errno
import hashlib
import os
import re
import secrets
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import MappingProxyType

from coherence.errors import InputError, WriteError

LIST = "files.sha256"
"""The list of a folder's sets, as ``sha256sum`` writes and reads it, with a comment on top."""
# What a disk, a quota or a mount says no with; other errors come from what was to be written.
_REFUSALS = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO}
_STAGE = ".coherence-unfinished-"
_LINE = re.compile(r"([0-9a-f]{64}) [ *](?!/)(.+)")
_REMEDY = "Name another, or move it away."
_TOP = f"# written by coherence: check with sha256sum -c {LIST}"


def require_new(
    path: Path, written: Path | None = None, *, option: str = "--out", remedy: str = _REMEDY
) -> None:
    """Raise `InputError` where a file is there; `written` may take the place of one equal to it."""
    if os.path.lexists(path) and (written is None or _digest(path) != _digest(written)):
        differs = "" if written is None else ", and differs from what would be written"
        raise InputError(f"{option} must be a new file; {path} exists{differs}. {remedy}")


@contextmanager
def replacing(path: Path, *, keep: bool = False, option: str = "--out") -> Iterator[Path]:
    """Give a file to write to, which then takes the place of another in one step.

    With `keep` another file that is there is kept, and an error; `option` names the file there.
    """
    named = f"path ({option})" if keep else "path"
    if path.is_dir():
        raise InputError(f"{named} must be a file to write; {path} is a folder. Name a file in it.")
    hidden = f".{path.stem[:40]}.{secrets.token_hex(4)}.part{path.suffix}"
    temporary = path.absolute().with_name(hidden)
    try:
        temporary.touch(exist_ok=False)
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise InputError(
            f"{named} must lie in a folder that can be written to; {path} does not: {reason}. "
            "Create the folder, or choose another."
        ) from error
    try:
        with _refusals_said(str(path)):
            yield temporary
            if keep:
                require_new(path, temporary, option=option)
            _settle(temporary)
            os.replace(temporary, path)  # one step, as both lie in one folder
    finally:
        temporary.unlink(missing_ok=True)


def replace_text(path: Path, text: str) -> None:
    """Write a file so that a crash leaves either the old one or the new one."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


@contextmanager
def new_files(
    folder: Path, names: str, inputs: Iterable[str | os.PathLike[str]] = ()
) -> Iterator[Path]:
    """Give a folder to write a set of files into, which then takes the place of the earlier set."""
    with (
        _refusals_said(str(folder)),
        tempfile.TemporaryDirectory(dir=folder, prefix=_STAGE, ignore_cleanup_errors=True) as stage,
    ):
        yield Path(stage)
        _take_places(folder, Path(stage), names, {Path(name).resolve() for name in inputs})


def _take_places(folder: Path, stage: Path, names: str, read: set[Path]) -> None:
    """Move the files of a set, the pages of the report last, and remove what it has no more."""
    written = [path for path in stage.rglob("*") if path.is_file()]
    new = {path.relative_to(stage).as_posix(): _digest(path) for path in written}
    for path in written:
        _settle(path)
    listed = _listed(folder)
    was_read = {name for name in (*new, *listed) if (folder / name).resolve() in read}
    require_replaceable(folder, new, new)
    earlier = {*earlier_set(folder, names)}
    gone = earlier - new.keys() - was_read
    # One that was changed since is no longer of a set that is being replaced.
    kept = {
        name: digests
        for name, digests in listed.items()
        if (folder / name).is_file() and (name in earlier - gone or not re.fullmatch(names, name))
    }
    # What was read and nobody listed stays its owner's.
    ours = {name: {new[name]} for name in new if name in listed or name not in was_read}
    both = {name: listed.get(name, set()) | ours.get(name, set()) for name in listed | ours}
    try:
        for name in new:
            (folder / name).parent.mkdir(exist_ok=True)
        _write_list(folder, stage, both)
        for name in sorted(new, key=lambda name: (name.endswith((".html", ".md")), name)):
            os.replace(stage / name, folder / name)
        for name in gone:
            if not (folder / name).parent.is_symlink():
                (folder / name).unlink()
            if "/" in name:
                with suppress(OSError):  # other files are in it
                    (folder / name).parent.rmdir()
        _write_list(folder, stage, kept | ours)
    except OSError as error:
        raise WriteError(
            f"{folder} cannot take all files of the set ({error.strerror or error}), and may have "
            "those of two. Remove what is in the way, and call again."
        ) from error


def require_replaceable(
    folder: Path, names: Iterable[str], digests: Mapping[str, str] = MappingProxyType({})
) -> None:
    """Raise `InputError` where files to be written would take the place of others than ours."""
    names, listed = list(names), _listed(folder)
    if names and os.path.lexists(folder / LIST) and not listed:
        raise InputError(
            f"{folder / LIST} must be the list that an earlier call wrote there; it is another "
            "file of that name. Move it away, or write to another folder."
        )
    strange = [
        name
        for name in names
        if os.path.lexists(folder / name)
        and _digest(folder / name) not in {*listed.get(name, ()), digests.get(name)}
    ]
    if strange:
        was = "changed since" if strange[0] in listed else "not written by"
        raise InputError(
            f"{folder / strange[0]} would be overwritten, and was {was} an earlier call. "
            "Move it away, or write to another folder."
        )


def earlier_set(folder: Path, names: str) -> list[str]:
    """Return the files of an earlier set that are there as they were written."""
    return sorted(
        name
        for name, digests in _listed(folder).items()
        if re.fullmatch(names, name) and _digest(folder / name) in digests
    )


def _write_list(folder: Path, stage: Path, digests: Mapping[str, set[str]]) -> None:
    """Replace the list; what a kill leaves half written goes with the folder of its set."""
    lines = [f"{digest}  {name}\n" for name in sorted(digests) for digest in sorted(digests[name])]
    if lines:
        new = stage / LIST
        new.write_text(f"{_TOP}\n{''.join(lines)}", encoding="utf-8")
        _settle(new)
        os.replace(new, folder / LIST)
    else:
        (folder / LIST).unlink(missing_ok=True)


def _listed(folder: Path) -> dict[str, set[str]]:
    """Read the list that an earlier call wrote; empty where there is none, or another's."""
    try:
        top, *lines = (folder / LIST).read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return {}
    listed: dict[str, set[str]] = {}
    for match in map(_LINE.fullmatch, lines) if top == _TOP else ():
        # A folder may come from elsewhere: nothing outside it is replaced or removed.
        if match and ".." not in match[2].split("/"):
            listed.setdefault(match[2], set()).add(match[1])
    return listed


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


def _settle(path: Path) -> None:
    """Bring a file to the disk: some file systems say only now that there is no room."""
    with path.open("rb+") as written:
        os.fsync(written.fileno())


@contextmanager
def _refusals_said(where: str) -> Iterator[None]:
    """Turn what a disk says no with into a `WriteError` that says what is unchanged."""
    try:
        yield
    except OSError as error:
        if error.errno not in _REFUSALS or isinstance(error, WriteError):
            raise
        raise WriteError(
            f"{where} cannot be written: {os.strerror(error.errno)}. What was there before is "
            "unchanged. Make room, or choose another place, and call again."
        ) from error
