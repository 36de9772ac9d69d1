"""A report as strict JSON: equal bytes for equal runs, numbers unrounded, null where undefined."""

import json
import math
import platform
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
import pandas as pd

from coherence.checks.check import check_of
from coherence.printable import table_entries
from coherence.report.evaluation import EvaluationReport
from coherence.report.scores import score_table
from coherence.report.verdicts import VERDICTS
from coherence.report.wording import answering_notes, belief_noun, clean
from coherence.result import Family, Lack, Outcome
from coherence.runs.columns import Column
from coherence.runs.notes import Code, Level
from coherence.runs.runs import ANSWERS, STATUSES, audit_table
from coherence.runs.states import typed_option
from coherence.statistics.figure_tables import TABLES

SCHEMA_VERSION = 4
# How the work was spread over processors changes no number, so it must not change the bytes either.
_NOT_RECORDED = frozenset({"n_jobs"})


def to_plain(value: Any) -> Any:
    """Turn a value into what JSON knows."""
    if value is None or isinstance(value, bool | int | str):
        # str() and int() also take subclasses such as numpy.str_ back to the plain types.
        return str(value) if isinstance(value, str) else value
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, pd.DataFrame):
        return [
            to_plain(dict(zip(value.columns, row, strict=True)))
            for row in value.itertuples(index=False, name=None)
        ]
    if isinstance(value, Mapping):
        return {str(key): to_plain(content) for key, content in value.items()}
    # A set has no order of its own, and equal runs must give equal bytes.
    if isinstance(value, set | frozenset):
        return sorted((to_plain(member) for member in value), key=str)
    if isinstance(value, np.ndarray | pd.Series | pd.Index | pd.api.extensions.ExtensionArray):
        return [to_plain(member) for member in value.tolist()]
    if isinstance(value, list | tuple):
        return [to_plain(member) for member in value]
    # What is left are scalars: missing ones of pandas, and dates, paths and the like.
    return None if pd.isna(value) else str(value)


def _recorded(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in settings.items() if key not in _NOT_RECORDED}


def _evaluation_record(evaluation: EvaluationReport) -> dict[str, Any]:
    results = [
        {
            **result.to_row(),
            "verdict": verdict,
            "origin": check.origin if (check := check_of(result.check)) else "",
            "also": {name: asdict(estimate) for name, estimate in result.also.items()},
            "assumptions": result.assumptions,
            "settings": _recorded(result.settings),
            "details": result.details,
        }
        for result, verdict in zip(evaluation.results, evaluation.verdicts, strict=True)
    ]
    record = {
        "task": evaluation.task,
        "model": evaluation.model,
        "belief": belief_noun(evaluation.answering),
        "verdict": str(evaluation.headline),
        "primary_verdict": str(evaluation.verdict),
        "conclusion": evaluation.conclusion,
        "scatter": None if evaluation.scatter is None else asdict(evaluation.scatter),
        "results": results,
        "notes": [note.record() for note in evaluation.notes],
        "statuses": evaluation.statuses,
        "answers": audit_table(evaluation.statuses),
        "figures": dict(evaluation.figures),
        "figures_missing": dict(evaluation.no_figures),
    }
    # Only where the table tells, so that a report of one that does not is the same as ever.
    way = evaluation.answering
    if way is not None and way.known:
        record["answering"] = {
            "belief_kinds": way.kinds,
            "actions": "probabilities" if way.policies else "chosen",
            "answer_mass": [*way.masses],
            "notes": [note.record() for note in answering_notes(way)],
        }
    return record


def render_json(evaluations: Sequence[EvaluationReport], settings: Mapping[str, Any]) -> str:
    """Render a report as JSON."""
    scores = score_table(evaluations)
    record = {
        "schema_version": SCHEMA_VERSION,
        "settings": _recorded(settings),
        "evaluations": [_evaluation_record(evaluation) for evaluation in evaluations],
    }
    if len(scores):
        record["scores"] = scores
    # ASCII escapes keep even half a surrogate pair from a model's answer writable.
    return json.dumps(to_plain(record), sort_keys=True, indent=2, allow_nan=False) + "\n"


DIALECT = "https://json-schema.org/draft/2020-12/schema"
_NUMBER = {"type": ["number", "null"]}
_KINDS: dict[str, dict[str, Any]] = {
    "label": {"type": "string"},
    "text": {"type": "string"},
    "texts": {"type": "array", "items": {"type": "string"}},
    "integer": {"type": "integer", "minimum": 0},
    "number": _NUMBER,
    "positive": _NUMBER | {"minimum": 0},
    "probability": _NUMBER | {"minimum": 0, "maximum": 1},
    "of_two": _NUMBER | {"minimum": 0, "maximum": 2},
    "boolean": {"type": "boolean"},
    "object": {"type": "object"},
    "objects": {"type": "array", "items": {"type": "object"}},
    "named_texts": {"type": "object", "additionalProperties": {"type": "string"}},
    "named_counts": {"type": "object", "additionalProperties": {"type": "integer"}},
    "seed": {"type": ["integer", "null"]},
    "prompt": {"type": ["string", "null"]},
    "version": {"const": SCHEMA_VERSION},
    "verdict": {"enum": list(VERDICTS)},
    "code": {"enum": [str(code) for code in Code]},
    "level": {"enum": [str(level) for level in Level]},
    "family": {"enum": ["", *map(str, Family)]},
    "outcome": {"enum": [str(outcome) for outcome in Outcome]},
    "lack": {"enum": ["", *map(str, Lack)]},
    "actions": {"enum": ["probabilities", "chosen"]},
    "asked": {"enum": ["belief alone", "action", "level"]},
}
"""Kind of a field -> its schema."""
NOTE = """
One remark.
code code  What it is about.
level level  info; warning for what may mislead; alert for what every p-value and interval hangs on.
checks texts  Checks or results that it is about; those without a result of not_run.
text text  A sentence for people; its wording may change.
"""
RESULT = """
A test or an estimate.
check text  The check, with its variant after a colon: monotone_choice:yes/no.
null text  The hypothesis of the p-value, or what is estimated where there is no test.
estimate number  The effect, in `unit`; null where undefined, and `reason` says why.
origin text  Whether its check is published, adapted or ours, with the source.
unit text  Unit of estimate, low and high.
low number  Lower end of the interval.
high number  Upper end of the interval.
level probability  Nominal coverage of the interval.
interval_method text  How the interval was computed; empty without one.
pvalue probability  Null for an estimate, and where the test is undefined.
family family  What it is in the file: the primary test of a task and model; one of the second
    tests, corrected among themselves; scores, corrected over all forecasters; or an estimate.
pvalue_holm probability  Adjusted by Holm over its family.
pvalue_bh probability  Adjusted by Benjamini and Hochberg over its family; of the primary test over
    all tasks and models of the file.
n_tests positive  Tests over which it was adjusted; null without a p-value.
also object  Further estimates from the same data, by name: each with value, low, high, unit,
    meaning, and the reason where there is none.
outcome outcome  How it ended at level .05, after the correction over its family; `nominal` is a
    p-value that rejects alone and not after it.
verdict text  The outcome as a sentence.
n_rows integer  Rows that entered.
n_contexts integer  Contexts that entered.
n_dropped integer  Rows that were left out because a value was missing.
reason text  Why a number is null or needs a remark; empty otherwise.
lack lack  What a test without a p-value lacks: cases, actions or beliefs that vary, or anything
    left open; empty otherwise.
assumptions texts  What must hold for the p-value and the interval.
settings object  Every option that shaped the numbers; its keys depend on the check.
details objects  The table behind the estimate; its columns depend on the check.
"""
MASS = """
One row.
of asked  What the rows ask for.
rows integer  Rows in which it is known.
median positive  Over these rows.
smallest positive  Over these rows.
"""
OF_MASS = (
    "Probability that the model put on answers of the form asked for; of a row with an action the "
    "smaller of its two answers."
)
ANSWERING = """
How the answers were elicited; only where the table tells.
belief_kinds named_counts  Kind of belief, and its rows.
actions actions  What actions are.
"""
SCATTER = """
How far reports of equal evidence lie apart; null where that was not asked.
sd positive  Pooled standard deviation within groups.
bias positive  Bias of a sum of choice times state that such noise gives, in standard errors; null
    where it is not known.
n_groups integer  Groups with at least two beliefs.
across text  What differs within a group: repetitions, persons or wordings.
"""
EVALUATION = """
All checks of one task and model.
task text  As in the runs table; empty where it has none.
model text  As in the runs table; empty where it has none.
belief text  What the beliefs are, such as stated belief.
verdict verdict  What is said first.
primary_verdict verdict  The verdict of a table without stakes, which may stand beside it.
conclusion texts  The verdict in a sentence, and what the further tests say.
figures_missing named_texts  Name of a table of figures that is not there, and why.
"""
SCORES = """
One row.
task text  As in the runs table; empty where it has none.
model text  As in the runs table; empty where it has none.
prompt text  Prompt of the forecasts.
n_contexts integer  Cases.
n_rows integer  Forecasts.
n_states integer  States that the forecasts are over.
brier of_two  Mean squared error; over three states and more their sum.
rmse probability  Distance to the exact posterior, where that is known.
brier_low number  Low end of the 95% interval of the Brier score.
brier_high number  High end of the 95% interval of the Brier score.
rmse_low number  Low end of the 95% interval of the distance.
rmse_high number  High end of the 95% interval of the distance.
miscalibration positive  MCB; brier is MCB - DSC + UNC.
discrimination positive  DSC.
uncertainty positive  UNC.
pvalue probability  Of calibration: level and slope, against redrawn outcomes.
pvalue_holm probability  By Holm over all tests of the file.
reason text  Why a number is null; empty otherwise.
"""
OF_SCORES = (
    "Scores of forecasts, within a task the best Brier score first; only where forecasts were "
    "scored."
)
DATA = """
The table that was analysed.
rows integer  Rows.
columns integer  Columns, under the names of the runs table.
fingerprint text  SHA-256 of all values, rows in their order, columns by name.
"""
SETTINGS = """
How the analysis was run.
version text  Of the program.
versions named_texts  Of Python and of the packages that compute the numbers.
file text  File as it was named to the command.
reading texts  Options of the command that say how the file is read.
checks texts  Checks that were asked for.
published boolean  Whether procedures were as published.
strict boolean  Whether repaired answers were left out.
seed seed  Null where a generator was given.
positive texts  States that were named as the one that `p` is the probability of.
reference prompt  Wording that was asked for.
state text  What choices are compared with: auto, exact or realised.
margin number  Largest difference that counts as none; only where one was given.
"""
REPORT = """
Results of `coherence analyze`: strict JSON, unrounded, null where undefined. Fields may be added;
    those described here stay.
schema_version version  Of this description.
"""


def _record(table: str, *optional: str, **more: Any) -> dict[str, Any]:
    """Describe an object by a table of its fields, and more of them."""
    described, *fields = table_entries(table)
    properties = {}
    for field in fields:
        (name, kind), meaning = field.partition("  ")[0].split(" "), field.partition("  ")[2]
        properties[name] = _KINDS[kind] | {"description": meaning}
    properties |= more
    required = [name for name in properties if name not in optional]
    about = {"type": "object", "description": described}
    return about | {"properties": properties, "required": required}


def _rows(description: str, items: dict[str, Any]) -> dict[str, Any]:
    """Describe a table, one object per row."""
    return {"type": "array", "items": items, "description": description}


def _table(description: str, columns: Iterable[Column]) -> dict[str, Any]:
    """Describe a table of declared columns."""
    fields = {each.name: _KINDS[each.kind] | {"description": each.meaning} for each in columns}
    return _rows(description, _record("One row.", **fields))


def results_schema() -> dict[str, Any]:
    """Describe ``results.json`` as JSON Schema."""
    tables = {name: _table(*declared) for name, declared in TABLES.items()}
    note = _record(NOTE)
    answering = _record(
        ANSWERING,
        answer_mass=_rows(OF_MASS, _record(MASS)),
        notes=_rows("The same in words.", note),
    )
    evaluation = _record(
        EVALUATION,
        "answering",
        scatter=_record(SCATTER) | {"type": ["object", "null"]},
        results=_rows("In the order of checks.", _record(RESULT)),
        notes=_rows("What was left out and why, what was assumed.", note),
        statuses=_table("Rows by question and status.", STATUSES),
        answers=_table("What became of the answers, by question.", ANSWERS),
        figures=_record("What the figures of the page draw, table by table.", *tables, **tables),
        answering=answering,
    )
    described = _record(
        REPORT,
        "scores",
        scores=_rows(OF_SCORES, _record(SCORES)),
        settings=_record(
            SETTINGS, "margin", "versions", "data", "file", "reading", data=_record(DATA)
        ),
        evaluations=_rows("Sorted by task and model.", evaluation),
    )
    return {"$schema": DIALECT, "title": "Results of coherence analyze", **described}


# How a report can be got again

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
