"""The tables of the paper on whether models act like rational agents, by their numbers.

A table is declared as blocks of columns, each of which names the result of a check that it shows;
the numbers come out of the frame of results.
"""

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from coherence.analysis.paper.results import (
    ISOTONIC,
    NOISELESS,
    PUBLISHED,
    REPAIRED,
    SCATTER,
    SINGLE,
    PaperResults,
    collect_results,
    evaluation_names,
    in_paper_order,
)
from coherence.report import document
from coherence.report.files import write_document
from coherence.report.report import Report
from coherence.runs.files import LIST, new_files
from coherence.runs.write import write_runs

_EXACT = ("low", "high", "pvalue", "pvalue_holm", "n_rows", "n_contexts", "n_dropped")
_PVALUE = document.pvalue("pvalue", adjusted="pvalue_holm")
_BOTH = {PUBLISHED: "published", REPAIRED: "repaired"}
_TESTED = {**_BOTH, "p": "p (Holm)"}
Key = tuple[str, str]
"""Task and model."""


class Block(NamedTuple):
    """Neighbouring columns that show one result."""

    check: str  # name of the result; one that ends in a colon stands for every variant that occurs
    heading: str  # what stands above; ``{variant}`` is what follows the colon
    columns: Mapping[str, str] = _TESTED  # procedure, or "p" for the repaired p-value -> heading


class Declared(NamedTuple):
    """A table."""

    title: str
    blocks: tuple[Block, ...]  # from left to right
    caption: str
    with_means: bool = False  # whether rows of means over tasks, and over all, stand at its end


_CMI = (
    "CMI is the information I(A; θ | p) of action A and state θ given the belief p, in nats; it "
    "may fall below 0. Published: estimated by nearest neighbours, with a percentile interval, of "
    "which no error rate is controlled. Repaired: counted in windows of contexts of like belief, "
    "less its mean where states are permuted between whole contexts; p is of this number."
)
_P = " p is that of one test, in brackets adjusted by Holm over those of its model and task."
_MEANS = " Rows of means average the numbers above them and have no interval."

TABLES = (
    Declared(
        "Belief sufficiency",
        (
            Block("cmi", "CMI, nats"),
            Block("predictive_gain", "CatBoost gain given p, %"),
            Block("predictive_gain:features", "CatBoost gain given p and x, %"),
        ),
        f"{_CMI} Gain is the part of the out-of-sample log-loss of the action, in percent, that "
        f"boosted trees save by seeing θ besides p, or besides p and the evidence x.{_P}",
    ),
    Declared(
        "Monotone pairwise choice",
        (Block("monotone_choice:", "{variant}"),),
        "A pair of actions, first/second: published, the percentage of pairs of belief bins in "
        "which the share of the first falls significantly, uncorrected; repaired, the largest drop "
        f"of that share from a bin to a later one, below 0 where it rises everywhere.{_P}",
    ),
    Declared(
        "Prompt consistency",
        (
            Block(SCATTER, "SD of answers", {REPAIRED: ""}),
            Block("prompt_consistency:", "{variant}", _BOTH),
        ),
        "SD is the standard deviation of answers to the reference prompt within contexts: of "
        "repeated ones, which is report noise, or of the computed distribution over answers, which "
        "is none. A prompt: the root-mean-square difference of its beliefs from those of the "
        "reference prompt, published between means of repetitions with their noise, repaired "
        f"between expected beliefs without it.{_MEANS}",
        with_means=True,
    ),
    Declared(
        "Error to the exact posterior by prompt",
        (
            Block(f"{SINGLE}:", "{variant}", {REPAIRED: "single answers"}),
            Block(f"{NOISELESS}:", "{variant}", {REPAIRED: "noise removed"}),
        ),
        "A prompt: the root-mean-square error to the exact posterior of single answers, as it was "
        "published, and of expected answers, without the noise of repetitions (of computed beliefs "
        f"both are that of the expected answer).{_MEANS}",
        with_means=True,
    ),
    Declared(
        "Belief sufficiency after isotonic calibration",
        (Block("cmi", "CMI, nats"), Block(ISOTONIC, "CMI after isotonic calibration, nats")),
        f"{_CMI} After calibration, p is replaced by its isotonic regression on θ, which is fitted "
        f"anew in every permutation and in every resample of an interval.{_P}",
    ),
)


def paper_tables(results: PaperResults) -> list[document.Table]:
    """Build Tables 1 to 5."""
    names = ["procedure", "task", "model", "check"]
    rows = {tuple(row[name] for name in names): row for row in results.frame().to_dict("records")}
    return [_table(at, declared, results, rows) for at, declared in enumerate(TABLES, start=1)]


def _table(
    number: int, declared: Declared, results: PaperResults, rows: Mapping[Any, Mapping[Any, Any]]
) -> document.Table:
    """Build one table: a line for each evaluation, then means."""
    columns, makers = [document.label("task"), document.label("model")], []
    for block, check, group in _expanded(declared.blocks, dict.fromkeys(key[3] for key in rows)):
        for procedure, heading in block.columns.items():
            name, kind = f"{check}.{procedure}", document.Kind.NUMBER
            make = partial(_cell, results, rows, procedure, check)
            if procedure == "p":
                name, kind, make = "", document.Kind.PVALUE, partial(_tested, rows, check)
            columns.append(document.Column(name, heading, kind, group=group))
            makers.append(make)
    first = next(iter(results.reports.values()))
    evaluations = [(evaluation.task, evaluation.model) for evaluation in first.evaluations]
    cells = {key: [make(*key) for make in makers] for key in evaluations}
    lines = [(*_named(*key), *of) for key, of in cells.items()]
    for names, keys in _averaged(evaluations) if declared.with_means else ():
        lines.append((*_named(*names), *map(_mean, zip(*map(cells.get, keys), strict=True))))
    return document.Table(
        tuple(columns),
        tuple(lines),
        title=declared.title,
        caption=f"{declared.caption} 95% intervals in brackets; {RESULTS} holds their methods.",
        name=f"table{number}",
        label=f"Table {number}",
        n_last=len(lines) - len(evaluations),
    )


def _named(task: str, model: str) -> tuple[document.Cell, document.Cell]:
    shown = evaluation_names(task, model)
    return document.Cell(shown[0], {"": shown[0]}), document.Cell(shown[1], {"": shown[1]})


def _expanded(blocks: Sequence[Block], checks: Iterable[str]) -> Iterator[tuple[Block, str, str]]:
    """Yield blocks with the name of a result and a heading, those of a variant together."""
    varying = [block for block in blocks if block.check.endswith(":")]
    yield from ((block, block.check, block.heading) for block in blocks if block not in varying)
    known = {block.check for block in varying}
    parts = (check.partition(":") for check in checks)
    for variant in in_paper_order(name for check, _, name in parts if f"{check}:" in known):
        for block in varying:
            yield block, f"{block.check}{variant}", block.heading.format(variant=variant)


def _cell(
    results: PaperResults,
    rows: Mapping[Any, Any],
    procedure: str,
    check: str,
    task: str,
    model: str,
) -> document.Cell:
    """Show a number with its interval, or why there is none."""
    row = rows.get((procedure, task, model, check))
    if row is None:
        report = results.reports.get(procedure)
        absent = (
            evaluation.absent(check, check.partition(":")[0])
            for evaluation in (report.evaluations if report else ())
            if (evaluation.task, evaluation.model) == (task, model)
        )
        return document.Cell("not run", note=next(absent, "") or NOT_RUN)
    exact = {"": row["estimate"]} | {name: row[name] for name in _EXACT}
    if math.isnan(row["estimate"]):
        return document.Cell("undefined", exact, row["reason"])
    numbers = [row["estimate"], row["low"], row["high"]]
    percent = row["unit"] == "fraction of bin pairs"
    return document.Cell(document.with_ends(numbers, percent=percent), exact, row["reason"])


def _tested(rows: Mapping[Any, Any], check: str, task: str, model: str) -> document.Cell:
    """Show the p-value of the repaired test, Holm's in brackets."""
    row = rows.get((REPAIRED, task, model, check))
    return document.Cell(document.MISSING) if row is None else _PVALUE.cell(row)


def _averaged(evaluations: Sequence[Key]) -> Iterator[tuple[Key, list[Key]]]:
    """Yield names and evaluations of each row of means: over tasks of a model, over all."""
    models = list(dict.fromkeys(model for _, model in evaluations))
    for model in models:
        of_model = [evaluation for evaluation in evaluations if evaluation[1] == model]
        if len(of_model) > 1:
            yield ("mean over tasks", model), of_model
    if len(models) > 1:
        yield ("mean over all", "all"), list(evaluations)


def _mean(cells: Sequence[document.Cell]) -> document.Cell:
    """Average the numbers of a column; without any, the first cell says why."""
    numbers: list[Any] = [cell.values.get("", math.nan) for cell in cells]
    known = [number for number in numbers if not math.isnan(number)]
    if not known:
        return document.Cell(cells[0].text, note=cells[0].note)
    mean = math.fsum(known) / len(known)
    few = f"Mean of the {len(known)} of {len(cells)} that have a number."
    return document.Cell(
        document.with_ends([mean]), {"": mean}, few if len(known) < len(cells) else ""
    )


NOT_RUN = "Not asked for, or no row has what it needs; --published adds published procedures."
RESULTS = "results.parquet"
_EARLIER = r"table[1-5]\.(md|tex|csv)|figure[12](-published)?(-\d+)?\.(svg|pdf)"


def write_paper(report: Report, folder: str | os.PathLike[str], **how: Any) -> list[Path]:
    """Write Tables 1 to 5 and Figures 1 and 2 of the paper, tasks and models side by side.

    `how` are the keywords of `coherence.analysis.paper.results.collect_results`: `runs`, the table
    that the report was made of, `published`, `n_jobs`, `rng` and `progress`.
    """
    # Drawing loads matplotlib, which whoever imports this need not have loaded.
    from coherence.analysis.paper.figures import write_paper_figures

    results = collect_results(report, **how)
    home = Path(folder)
    home.mkdir(parents=True, exist_ok=True)
    with new_files(home, _EARLIER) as new:
        write_runs(results.frame(), new / RESULTS)
        figures = write_paper_figures(results, new)
        written = write_document(new, "Tables and figures", paper_tables(results), figures)
    return [*(home / path.name for path in written), home / RESULTS, home / LIST]
