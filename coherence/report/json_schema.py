"""The JSON Schema of ``results.json``: what a program may rely on.

Fields may be added under the same ``schema_version``; a field that is described here keeps its name
and its meaning. What is undefined is null.
"""

from collections.abc import Iterable
from typing import Any

from coherence.report.json import SCHEMA_VERSION
from coherence.report.pooling import POOLED
from coherence.report.verdicts import VERDICTS
from coherence.result import Family, Lack, Outcome
from coherence.runs.audit import ANSWERS, STATUSES
from coherence.runs.columns import Column
from coherence.runs.notes import Code, Level
from coherence.statistics.figure_tables import TABLES

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def _text(description: str) -> dict[str, Any]:
    return {"type": "string", "description": description}


def _number(description: str, *, least: float | None = None, most: float | None = None) -> Any:
    """Describe a number that is null where it is undefined."""
    ends = {"minimum": least, "maximum": most}
    return {
        "type": ["number", "null"],
        "description": description,
        **{key: end for key, end in ends.items() if end is not None},
    }


def _count(description: str) -> dict[str, Any]:
    return {"type": "integer", "minimum": 0, "description": description}


def _texts(description: str) -> dict[str, Any]:
    return {"type": "array", "items": {"type": "string"}, "description": description}


def _notes(description: str) -> dict[str, Any]:
    """Describe remarks, each with a sentence for people and what programs read."""
    items = _record(
        "One remark.",
        code={"enum": [str(code) for code in Code], "description": "What it is about."},
        level={
            "enum": [str(level) for level in Level],
            "description": "info; warning for what may mislead; alert for what every p-value and "
            "interval hangs on.",
        },
        checks=_texts("Checks or results that it is about; those without a result of not_run."),
        text=_text("A sentence for people; its wording may change."),
    )
    return {"type": "array", "items": items, "description": description}


def _object(description: str, properties: dict[str, Any], optional: frozenset[str]) -> Any:
    return {
        "type": "object",
        "description": description,
        "properties": properties,
        "required": [name for name in properties if name not in optional],
    }


def _record(description: str, optional: tuple[str, ...] = (), **properties: Any) -> Any:
    return _object(description, properties, frozenset(optional))


def _rows(description: str, **properties: Any) -> Any:
    """Describe a table, one object per row."""
    items = _record("One row.", **properties)
    return {"type": "array", "items": items, "description": description}


def _column(column: Column) -> Any:
    """Describe a declared column."""
    kinds: dict[str, dict[str, Any]] = {
        "label": {"type": "string"},
        "text": {"type": "string"},
        "integer": {"type": "integer", "minimum": 0},
        "number": {"type": ["number", "null"]},
        "positive": {"type": ["number", "null"], "minimum": 0},
        "probability": {"type": ["number", "null"], "minimum": 0, "maximum": 1},
        "boolean": {"type": "boolean"},
    }
    return kinds[column.kind] | {"description": column.meaning}


def _table(description: str, columns: Iterable[Column]) -> Any:
    """Describe a table of declared columns."""
    return _rows(description, **{column.name: _column(column) for column in columns})


def _figures() -> Any:
    """Describe the tables that figures draw."""
    tables = {name: _table(*declared) for name, declared in TABLES.items()}
    return _record("What the figures of the page draw, table by table.", tuple(tables), **tables)


def _result() -> Any:
    """Describe what one check says of one (task, model)."""
    return _record(
        "A test or an estimate.",
        check=_text("The check, with its variant after a colon: monotone_choice:yes/no."),
        null=_text("The hypothesis of the p-value, or what is estimated where there is no test."),
        estimate=_number("The effect, in `unit`; null where undefined, and `reason` says why."),
        origin=_text("Whether its check is published, adapted or ours, with the source."),
        unit=_text("Unit of estimate, low and high."),
        low=_number("Lower end of the interval."),
        high=_number("Upper end of the interval."),
        level=_number("Nominal coverage of the interval.", least=0, most=1),
        interval_method=_text("How the interval was computed; empty without one."),
        pvalue=_number("Null for an estimate, and where the test is undefined.", least=0, most=1),
        family={
            "enum": ["", *map(str, Family)],
            "description": "What it is in the file: the primary test of a task and model; one of "
            " the second tests, corrected among themselves; scores, corrected over "
            "all forecasters; or an estimate.",
        },
        pvalue_holm=_number("Adjusted by Holm over its family.", least=0, most=1),
        pvalue_bh=_number(
            "Adjusted by Benjamini and Hochberg over its family; of the primary test over all "
            "tasks and models of the file.",
            least=0,
            most=1,
        ),
        n_tests=_number("Tests over which it was adjusted; null without a p-value.", least=0),
        also={
            "type": "object",
            "description": "Further estimates from the same data, by name: each with value, low, "
            "high, unit, meaning, and the reason where there is none.",
        },
        outcome={
            "enum": [str(outcome) for outcome in Outcome],
            "description": "How it ended at level .05, after the correction over its family; "
            "`nominal` is a p-value that rejects alone and not after it.",
        },
        verdict=_text("The outcome as a sentence."),
        n_rows=_count("Rows that entered."),
        n_contexts=_count("Contexts that entered."),
        n_dropped=_count("Rows that were left out because a value was missing."),
        reason=_text("Why a number is null or needs a remark; empty otherwise."),
        lack={
            "enum": ["", *map(str, Lack)],
            "description": "What a test without a p-value lacks: cases, "
            "actions or beliefs that vary, or anything left open; empty otherwise.",
        },
        assumptions=_texts("What must hold for the p-value and the interval."),
        settings={
            "type": "object",
            "description": "Every option that shaped the numbers; its keys depend on the check.",
        },
        details={
            "type": "array",
            "items": {"type": "object"},
            "description": "The table behind the estimate; its columns depend on the check.",
        },
    )


def _answering() -> Any:
    """Describe how the answers were elicited."""
    mass = _rows(
        "Probability that the model put on answers of the form asked for; of a row with an action "
        "the smaller of its two answers.",
        of={"enum": ["belief alone", "action", "level"], "description": "What the rows ask for."},
        rows=_count("Rows in which it is known."),
        median=_number("Over these rows.", least=0),
        smallest=_number("Over these rows.", least=0),
    )
    return _record(
        "How the answers were elicited; only where the table tells.",
        belief_kinds={
            "type": "object",
            "additionalProperties": {"type": "integer"},
            "description": "Kind of belief, and its rows.",
        },
        actions={"enum": ["probabilities", "chosen"], "description": "What actions are."},
        answer_mass=mass,
        notes=_notes("The same in words."),
    )


def _evaluation() -> Any:
    """Describe all that is known of one (task, model)."""
    scatter = _record(
        "How far reports of equal evidence lie apart; null where that was not asked.",
        sd=_number("Pooled standard deviation within groups.", least=0),
        bias=_number(
            "Bias of a sum of choice times state that such noise gives, in standard errors; null "
            "where it is not known.",
            least=0,
        ),
        n_groups=_count("Groups with at least two beliefs."),
        across=_text("What differs within a group: repetitions, persons or wordings."),
    )
    return _record(
        "All checks of one task and model.",
        ("answering",),
        task=_text("As in the runs table; empty where it has none."),
        model=_text("As in the runs table; empty where it has none."),
        belief=_text("What the beliefs are, such as stated belief."),
        verdict={"enum": list(VERDICTS), "description": "What is said first."},
        primary_verdict={
            "enum": list(VERDICTS),
            "description": "The verdict of a table without stakes, which may stand beside it.",
        },
        conclusion=_texts("The verdict in a sentence, and what the further tests say."),
        cautions=_notes("What may mislead tests."),
        scatter=scatter | {"type": ["object", "null"]},
        results={"type": "array", "items": _result(), "description": "In the order of checks."},
        notes=_notes("What was left out and why, what was assumed."),
        statuses=_table("Rows by question and status.", STATUSES),
        answers=_table("What became of the answers, by question.", ANSWERS),
        figures=_figures(),
        figures_missing={
            "type": "object",
            "additionalProperties": {"type": "string"},
            "description": "Name of a table of figures that is not there, and why.",
        },
        answering=_answering(),
    )


def _scores() -> Any:
    """Describe the scores of forecasts."""
    ends = {
        f"{name}_{end}": _number(f"{end.capitalize()} end of the 95% interval of the {score}.")
        for name, score in (("brier", "Brier score"), ("rmse", "distance"))
        for end in ("low", "high")
    }
    return _rows(
        "Scores of forecasts, within a task the best Brier score first; only where forecasts "
        "were scored.",
        task=_text("As in the runs table; empty where it has none."),
        model=_text("As in the runs table; empty where it has none."),
        prompt=_text("Prompt of the forecasts."),
        n_contexts=_count("Cases."),
        n_rows=_count("Forecasts."),
        n_states=_count("States that the forecasts are over."),
        brier=_number("Mean squared error; over three states and more their sum.", least=0, most=2),
        rmse=_number("Distance to the exact posterior, where that is known.", least=0, most=1),
        **ends,
        miscalibration=_number("MCB; brier is MCB - DSC + UNC.", least=0),
        discrimination=_number("DSC.", least=0),
        uncertainty=_number("UNC.", least=0),
        pvalue=_number(
            "Of calibration: level and slope, against redrawn outcomes.", least=0, most=1
        ),
        pvalue_holm=_number("By Holm over all tests of the file.", least=0, most=1),
        reason=_text("Why a number is null; empty otherwise."),
    )


def results_schema() -> dict[str, Any]:
    """Describe ``results.json`` as JSON Schema."""
    described = _record(
        "Results of `coherence analyze`: strict JSON, unrounded, null where undefined. Fields may "
        "be added; those described here stay.",
        ("scores",),
        scores=_scores(),
        schema_version={"const": SCHEMA_VERSION, "description": "Of this description."},
        settings=_record(
            "How the analysis was run.",
            ("margin", "versions", "data", "file", "reading"),
            version=_text("Of the program."),
            versions={
                "type": "object",
                "additionalProperties": {"type": "string"},
                "description": "Of Python and of the packages that compute the numbers.",
            },
            data=_record(
                "The table that was analysed.",
                rows=_count("Rows."),
                columns=_count("Columns, under the names of the runs table."),
                fingerprint=_text("SHA-256 of all values, rows in their order, columns by name."),
            ),
            file=_text("File as it was named to the command."),
            reading=_texts("Options of the command that say how the file is read."),
            checks=_texts("Checks that were asked for."),
            published={"type": "boolean", "description": "Whether procedures were as published."},
            strict={"type": "boolean", "description": "Whether repaired answers were left out."},
            seed={"type": ["integer", "null"], "description": "Null where a generator was given."},
            positive=_texts("States that were named as the one that `p` is the probability of."),
            reference={"type": ["string", "null"], "description": "Wording that was asked for."},
            state=_text("What choices are compared with: auto, exact or realised."),
            margin=_number("Largest difference that counts as none; only where one was given."),
        ),
        pooled=_table("Effects of a model over three tasks or more.", POOLED),
        evaluations={
            "type": "array",
            "items": _evaluation(),
            "description": "Sorted by task and model.",
        },
    )
    return {"$schema": DIALECT, "title": "Results of coherence analyze", **described}
