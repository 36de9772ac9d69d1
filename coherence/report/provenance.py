"""How a report can be got again: the command, the versions, the data."""

import platform
import shlex
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from coherence.report.wording import clean
from coherence.runs.states import typed_option

PACKAGES = ("numpy", "scipy", "pandas")
"""Packages whose versions may move a number in its last digits."""


def package_version(package: str) -> str:
    """Return the version of a package; "unknown" for a source tree that was not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"


def versions(*, published: bool = False) -> dict[str, str]:
    """Return the versions of Python and of what computes the numbers."""
    return {"python": platform.python_version()} | {
        name: package_version(name) for name in (*PACKAGES, *["catboost"] * published)
    }


def command(settings: Mapping[str, Any], files: Sequence[str] = ()) -> str:
    """Write the command that gives a report again."""
    read = files or [settings.get("file") or "RUNS"]
    words = ["coherence analyze", *(shlex.quote(clean(file)) for file in read)]
    words += [shlex.quote(clean(word)) for word in settings.get("reading", ())]
    if settings.get("seed") is not None:
        words.append(f"--seed {clean(settings['seed'])}")
    if settings.get("strict"):
        words.append("--strict")
    if settings.get("published"):
        words.append("--published")
    for label in settings.get("positive", ()):
        words.append(typed_option("--positive", clean(label)))
    if settings.get("reference") is not None:
        words.append(f"--reference {shlex.quote(clean(settings['reference']))}")
    if settings.get("state", "auto") != "auto":
        words.append(f"--state {clean(settings['state'])}")
    if settings.get("margin") is not None:
        words.append(f"--margin {settings['margin']:g}")
    checks = settings.get("checks")
    if checks:
        names = checks if isinstance(checks, str) else ",".join(map(str, checks))
        words.append(f"--checks {clean(names)}")
    return " ".join(words)
