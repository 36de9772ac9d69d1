"""The headline effects of an analysis, read back from its ``results.json``.

What other programs take of a report: every estimate that is a number, with its interval, test and
null, the verdict of its evaluation, and what the numbers hang on (version, seed, data). A file may
come from anyone: what is not there is an error that names the file.
"""

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coherence.errors import InputError
from coherence.report.json import SCHEMA_VERSION
from coherence.result import Family

RESULTS = "results.json"


@dataclass(frozen=True)
class Effect:
    """One estimate of an evaluation, a model on a task."""

    model: str
    task: str
    name: str  # of the result; with a point and a name behind it, of a further estimate of its data
    estimate: float
    low: float  # NaN, like `high`, where there is no interval
    high: float
    level: float
    interval_method: str
    pvalue: float  # NaN where there is no test
    null: str  # of the test; without one what is estimated
    unit: str
    component: str  # which of several effects it is
    tested: str  # what p is of, where that is more than the component
    n_contexts: int
    is_primary: bool


@dataclass(frozen=True)
class Evaluation:
    """What a report says of a model on a task."""

    model: str
    task: str
    verdict: str  # a code of `coherence.report.verdicts.Verdict`
    sentence: str
    effects: tuple[Effect, ...]

    @property
    def primary(self) -> Effect | None:
        """The effect of the primary test."""
        return next((effect for effect in self.effects if effect.is_primary), None)


@dataclass(frozen=True)
class Findings:
    """What other programs take of a report."""

    version: str
    seed: str  # empty where none was given
    fingerprint: str  # of the data
    evaluations: tuple[Evaluation, ...]

    @property
    def models(self) -> dict[str, list[Evaluation]]:
        """Model -> its evaluations."""
        models: dict[str, list[Evaluation]] = {}
        for evaluation in self.evaluations:
            models.setdefault(evaluation.model, []).append(evaluation)
        return models


def results_file(path: str | os.PathLike[str]) -> Path:
    """Return the file of results that a folder of a report holds, or the file itself."""
    file = Path(path) / RESULTS if Path(path).is_dir() else Path(path)
    if not file.is_file():
        raise InputError(
            f"{path} must be a folder that 'coherence analyze --out' wrote, or its {RESULTS}; "
            f"there is no {file}. Run: coherence analyze RUNS --out DIR."
        )
    return file


def read_findings(file: Path) -> Findings:
    """Read what a file of results holds."""
    try:
        record = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:  # JSON and UTF-8 alike
        raise InputError(
            f"{file} must be the JSON that 'coherence analyze --out' wrote; it is none ({error}). "
            f"Name the folder of a report, or its {RESULTS}."
        ) from error
    version = record.get("schema_version") if isinstance(record, dict) else None
    if version != SCHEMA_VERSION:
        raise InputError(
            f"{file} must have the schema_version {SCHEMA_VERSION}; received {version!r}. "
            "Run 'coherence analyze RUNS --out DIR' again, with this version."
        )
    try:
        return findings(record)
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        raise InputError(
            f"{file} must hold what 'coherence schema' describes; it lacks or changes {error}. "
            "Run 'coherence analyze RUNS --out DIR' again."
        ) from error


def findings(record: Mapping[str, Any]) -> Findings:
    """Take the headline effects out of a record of results."""
    settings = record["settings"]
    seed = settings.get("seed")
    return Findings(
        version=str(settings.get("version", "unknown")),
        seed="" if seed is None else str(seed),
        fingerprint=str(settings.get("data", {}).get("fingerprint", "")),
        evaluations=tuple(map(_evaluation, record["evaluations"])),
    )


def _evaluation(record: Mapping[str, Any]) -> Evaluation:
    model, task = (str(record[name] or name) for name in ("model", "task"))
    effects = []
    for result in record["results"]:
        # Parts repeat the effect of the primary test.
        if result["family"] == Family.PART:
            continue
        about: dict[str, Any] = {
            "model": model,
            "task": task,
            "level": _number(result["level"]),
            "interval_method": str(result["interval_method"]),
            "n_contexts": int(result["n_contexts"]),
        }
        effects.append(
            Effect(
                name=str(result["check"]),
                estimate=_number(result["estimate"]),
                low=_number(result["low"]),
                high=_number(result["high"]),
                pvalue=_number(result["pvalue"]),
                null=str(result["null"]),
                unit=str(result["unit"]),
                component=str(result["settings"].get("component", "")),
                tested=str(result["settings"].get("tested", "")),
                is_primary=result["family"] == Family.PRIMARY,
                **about,
            )
        )
        effects += [
            Effect(
                name=f"{result['check']}.{name}",
                estimate=_number(further["value"]),
                low=_number(further["low"]),
                high=_number(further["high"]),
                pvalue=math.nan,
                null=str(further["meaning"]),
                unit=str(further["unit"]),
                component="",
                tested="",
                is_primary=False,
                **about | {"interval_method": ""},
            )
            for name, further in result["also"].items()
        ]
    said = record["conclusion"]
    return Evaluation(
        model=model,
        task=task,
        verdict=str(record["verdict"]),
        sentence=str(said[0]) if said else "",
        effects=tuple(effect for effect in effects if math.isfinite(effect.estimate)),
    )


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)
