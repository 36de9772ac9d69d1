"""The tables of the paper on whether models act like rational agents, by their numbers.

A table is declared as blocks of columns, each of which names the result of a check that it shows;
the numbers come out of the frame of results, and captions say how they were computed.
"""

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from coherence.analysis.paper.results import (
    ISOTONIC,
    NOISELESS,
    PUBLISHED,
    REPAIRED,
    SCATTER,
    SINGLE,
    PaperResults,
    as_sentence,
    collect_results,
    evaluation_names,
    in_paper_order,
)
from coherence.decoding.decode import PARSED
from coherence.printable import numbered
from coherence.report.document import (
    MISSING,
    Cell,
    Column,
    Kind,
    Row,
    Table,
    build_table,
    label,
    pvalue,
    spoken_range,
    with_ends,
)
from coherence.report.evaluation import EvaluationReport
from coherence.report.files import write_document
from coherence.report.report import Report
from coherence.runs.files import LIST, new_files
from coherence.runs.runs import Runs
from coherence.runs.write import write_runs
from coherence.statistics.parallel import Progress
from coherence.statistics.resample import Seed

_EXACT = ("low", "high", "pvalue", "pvalue_holm", "n_rows", "n_contexts", "n_dropped")
_KEY = ["procedure", "task", "model", "check"]
Key = tuple[str, str]
"""Task and model."""
_PVALUE = pvalue("pvalue", adjusted="pvalue_holm")


@dataclass(frozen=True)
class Block:
    """Neighbouring columns that show one result: as published, as repaired, and its p-value."""

    check: str  # name of the result; one that ends in a colon stands for every variant that occurs
    heading: str  # what stands above; ``{variant}`` is what follows the colon
    says: str  # what the number is, a sentence of the caption
    repaired_heading: str = "repaired"  # what stands above the repaired number, or the only one
    published: bool = True  # whether there is a published procedure that differs
    tested: bool = True  # whether the repaired result has a p-value
    # whether the published number is a share to be shown in percent
    published_percent: bool = False


@dataclass(frozen=True)
class Declared:
    """A table."""

    number: int  # in the paper
    title: str  # what it shows
    blocks: tuple[Block, ...]  # from left to right
    with_means: bool = False  # whether rows of means over tasks, and over all, stand at its end


_RAW = Block(
    "cmi",
    "CMI, nats",
    "CMI is the information I(A; θ | p) of action A and state θ given the belief p, in nats; it "
    "may fall below 0. Published: estimated by nearest neighbours, with a percentile interval, of "
    "which no error rate is controlled. Repaired: counted in windows of contexts of like belief, "
    "less its mean where states are permuted between whole contexts; p is of this number.",
)
_GAIN = (
    "the part of the out-of-sample log-loss of the action, in percent, that boosted trees save by "
    "seeing θ besides {given}"
)

TABLES = (
    Declared(
        1,
        "Belief sufficiency",
        (
            _RAW,
            Block(
                "predictive_gain",
                "CatBoost gain given p, %",
                f"Gain given p is {_GAIN.format(given='p')}.",
            ),
            Block(
                "predictive_gain:features",
                "CatBoost gain given p and x, %",
                f"Gain given p and x is {_GAIN.format(given='p and the evidence x')}.",
            ),
        ),
    ),
    Declared(
        2,
        "Monotone pairwise choice",
        (
            Block(
                "monotone_choice:",
                "{variant}",
                "A pair of actions, first/second: published, the percentage of pairs of belief "
                "bins in which the share of the first falls significantly, uncorrected; repaired, "
                "the largest drop of that share from a bin to a later one, below 0 where it rises "
                "everywhere.",
                published_percent=True,
            ),
        ),
    ),
    Declared(
        3,
        "Prompt consistency",
        (
            Block(
                SCATTER,
                "SD of answers",
                "SD is the standard deviation of answers to the reference prompt within contexts: "
                "of repeated ones, which is report noise, or of the computed distribution over "
                "answers, which is none.",
                repaired_heading="",
                published=False,
                tested=False,
            ),
            Block(
                "prompt_consistency:",
                "{variant}",
                "A prompt: the root-mean-square difference of its beliefs from those of the "
                "reference prompt, published between means of repetitions with their noise, "
                "repaired between expected beliefs without it.",
                tested=False,
            ),
        ),
        with_means=True,
    ),
    Declared(
        4,
        "Error to the exact posterior by prompt",
        (
            Block(
                f"{SINGLE}:",
                "{variant}",
                "A prompt: the root-mean-square error to the exact posterior of single answers, as "
                "it was published, and of expected answers, without the noise of repetitions (of "
                "computed beliefs both are that of the expected answer).",
                repaired_heading="single answers",
                published=False,
                tested=False,
            ),
            Block(
                f"{NOISELESS}:",
                "{variant}",
                "",
                repaired_heading="noise removed",
                published=False,
                tested=False,
            ),
        ),
        with_means=True,
    ),
    Declared(
        5,
        "Belief sufficiency after isotonic calibration",
        (
            _RAW,
            Block(
                ISOTONIC,
                "CMI after isotonic calibration, nats",
                "After calibration, p is replaced by its isotonic regression on θ, which is fitted "
                "anew in every permutation and in every resample of an interval.",
            ),
        ),
    ),
)


def paper_tables(results: PaperResults) -> list[Table]:
    """Build Tables 1 to 5."""
    frame = results.frame()
    rows = {tuple(str(row[name]) for name in _KEY): row for row in frame.to_dict("records")}
    return [_table(declared, results, frame, rows) for declared in TABLES]


def _named(task: str, model: str) -> Row:
    return dict(zip(("task", "model"), evaluation_names(task, model), strict=True))


def _table(
    declared: Declared, results: PaperResults, frame: pd.DataFrame, rows: Mapping[Any, Row]
) -> Table:
    """Build one table: a line for each evaluation, then means."""
    blocks = list(_expanded(declared.blocks, list(dict.fromkeys(frame["check"]))))
    columns = [label("task"), label("model")]
    for block, check, group in blocks:
        ways = [(REPAIRED, block.repaired_heading, False)]
        if block.published:
            ways.insert(0, (PUBLISHED, "published", block.published_percent))
        for procedure, heading, percent in ways:
            make = partial(_cell, results, rows, procedure, check, percent)
            columns.append(Column(f"{check}.{procedure}", heading, group=group, make=make))
        if block.tested:
            make = partial(_tested, rows, check)
            columns.append(Column("", "p (Holm)", Kind.PVALUE, group=group, make=make))
    evaluations = [(evaluation.task, evaluation.model) for evaluation in results.evaluations]
    lines = build_table([{**_named(*key), "key": key} for key in evaluations], columns)
    cells = dict(zip(evaluations, lines.rows, strict=True))
    means = [
        (
            *(column.cell(names) for column in columns[:2]),
            *map(_mean, zip(*(cells[key][2:] for key in of), strict=True)),
        )
        for names, of in (_averaged(evaluations) if declared.with_means else ())
    ]
    # In the order of the columns, the published numbers first.
    order = {check: at for at, (_, check, _) in enumerate(blocks)}
    shown = frame[frame["check"].isin(order)]
    shown = shown.assign(at=shown["check"].map(order)).sort_values(
        ["procedure", "at"], kind="stable", ignore_index=True
    )
    return replace(
        lines,
        name=f"table{declared.number}",
        label=f"Table {declared.number}",
        title=declared.title,
        caption=" ".join(_caption(declared, blocks, shown, results.evaluations)),
        rows=(*lines.rows, *means),
        n_last=len(means),
    )


def _expanded(blocks: Sequence[Block], named: Sequence[str]) -> Iterator[tuple[Block, str, str]]:
    """Yield every block with the name of its result and its heading.

    Neighbouring blocks with variants alternate, so that what belongs to a prompt stands together.
    """
    varying = [block for block in blocks if block.check.endswith(":")]
    for block in blocks:
        if block not in varying:
            yield block, block.check, block.heading
    variants = list(
        dict.fromkeys(
            name.removeprefix(block.check)
            for block in varying
            for name in named
            if name.startswith(block.check)
        )
    )
    of_prompts = not any(block.check == "monotone_choice:" for block in varying)
    for variant in in_paper_order(variants) if of_prompts else variants:
        for block in varying:
            yield block, f"{block.check}{variant}", block.heading.format(variant=variant)


def _cell(
    results: PaperResults,
    rows: Mapping[Any, Row],
    procedure: str,
    check: str,
    percent: bool,
    line: Row,
) -> Cell:
    """Show a number with its interval, or say why there is none."""
    task, model = line["key"]
    row = rows.get((procedure, task, model, check))
    if row is None:
        return Cell("not run", note=results.why_absent(procedure, task, model, check))
    exact = {"": row["estimate"]} | {name: row[name] for name in _EXACT}
    note = as_sentence(row["reason"])
    if math.isnan(row["estimate"]):
        return Cell("undefined", exact, note)
    return Cell(with_ends([row["estimate"], row["low"], row["high"]], percent=percent), exact, note)


def _tested(rows: Mapping[Any, Row], check: str, line: Row) -> Cell:
    """Show the p-value of the repaired test, Holm's in brackets."""
    row = rows.get((REPAIRED, *line["key"], check))
    return Cell(MISSING) if row is None else _PVALUE.cell(row)


def _averaged(evaluations: Sequence[Key]) -> Iterator[tuple[Row, list[Key]]]:
    """Yield names and evaluations of each row of means: over tasks of a model, over all."""
    models = list(dict.fromkeys(model for _, model in evaluations))
    for model in models:
        of_model = [evaluation for evaluation in evaluations if evaluation[1] == model]
        if len(of_model) > 1:
            yield _named("mean over tasks", model), of_model
    if len(models) > 1:
        yield _named("mean over all", "all"), list(evaluations)


def _mean(cells: Sequence[Cell]) -> Cell:
    """Average the numbers of a column; without any, the first cell says why."""
    numbers = [float(cell.values.get("", math.nan)) for cell in cells]  # type: ignore[arg-type]
    known = [number for number in numbers if not math.isnan(number)]
    if not known:
        return Cell(cells[0].text, note=cells[0].note)
    mean = math.fsum(known) / len(known)
    few = f"Mean of the {len(known)} of {len(cells)} that have a number."
    return Cell(with_ends([mean]), {"": mean}, few if len(known) < len(cells) else "")


def _caption(
    declared: Declared,
    blocks: Sequence[tuple[Block, str, str]],
    shown: pd.DataFrame,
    evaluations: Sequence[EvaluationReport],
) -> Iterator[str]:
    yield from (block.says for block in declared.blocks if block.says)
    for procedure in (PUBLISHED, REPAIRED):
        numbers = shown[shown["procedure"] == procedure].dropna(subset="low")
        methods = numbers[["level", "interval_method"]].drop_duplicates()
        if len(methods):
            listed = "; ".join(f"{level:.0%}, {method}" for level, method in methods.to_numpy())
            both = any(block.published for block in declared.blocks)
            of_which = f" of the {procedure} numbers" if both else ""
            yield f"Intervals{of_which} in brackets: {listed}."
    repaired = shown[shown["procedure"] == REPAIRED]
    if any(block.tested for block in declared.blocks) and repaired["pvalue_holm"].notna().any():
        yield (
            "p is that of one test, in brackets adjusted by Holm over the further tests of its "
            "model and task; where there are no brackets it stands alone."
        )
    if declared.with_means:
        yield "Rows of means average the numbers above them and have no interval."
    numbers = shown.dropna(subset="estimate")
    if numbers.empty:
        yield "No cell has a number."
        return
    contexts = spoken_range(numbers["n_contexts"].astype(int).tolist())
    statuses = pd.concat([evaluation.statuses for evaluation in evaluations])
    n_unparsed = int(statuses.loc[~statuses["status"].isin(PARSED), "rows"].sum())
    yield (
        f"A number comes from {contexts} contexts. Of {int(statuses['rows'].sum())} rows under all "
        f"prompts {n_unparsed} {numbered(n_unparsed, 'lacks', 'lack')} a parsed answer."
    )


_EARLIER = r"table[1-5]\.(md|tex|csv)|figure[12](-published)?(-\d+)?\.(svg|pdf)"
RESULTS = "results.parquet"


def write_paper(
    report: Report,
    folder: str | os.PathLike[str],
    *,
    runs: Runs | pd.DataFrame,
    published: bool = False,
    n_jobs: int = 1,
    rng: Seed = None,
    progress: Progress | None = None,
) -> list[Path]:
    """Write Tables 1 to 5 and Figures 1 and 2 of the paper, tasks and models side by side."""
    # Drawing loads matplotlib, which whoever imports this need not have loaded.
    from coherence.analysis.paper.figures import write_paper_figures

    how: dict[str, Any] = {"n_jobs": n_jobs, "rng": rng, "progress": progress}
    results = collect_results(report, runs, published=published, **how)
    home = Path(folder)
    home.mkdir(parents=True, exist_ok=True)
    with new_files(home, _EARLIER) as new:
        write_runs(results.frame(), new / RESULTS)
        figures = write_paper_figures(results, new)
        written = write_document(new, "Tables and figures", paper_tables(results), figures)
    return [*(home / path.name for path in written), home / RESULTS, home / LIST]
