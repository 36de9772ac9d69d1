"""The tables of the paper on whether models act like rational agents, by their numbers.

A table is declared as blocks of columns, each of which names the result of a check that it shows;
the numbers come out of the frame of results, and captions say how they were computed.
"""

import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
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
    in_paper_order,
)
from coherence.report.tables import Cell, Column, PaperTable, spoken_range, text_cell
from coherence.report.wording import format_numbers, format_pvalue

_EXACT = ("low", "high", "pvalue", "pvalue_holm", "n_rows", "n_contexts", "n_dropped")
_KEY = ["procedure", "task", "model", "check"]
_TESTED = "tested"
"""Stands for a procedure in the columns of p-values."""


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
    "kNN CMI, nats",
    "kNN CMI is the information I(A; θ | p) of action A and state θ given the belief p, in nats, "
    "estimated by nearest neighbours; it may fall below 0. Published: with a percentile interval, "
    "of which no error rate is controlled. Repaired: the same estimate, with a p-value from "
    "permuting states between whole contexts of like belief.",
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
                "SD of repetitions",
                "SD is the standard deviation of repeated answers to the reference prompt within "
                "contexts (of computed beliefs, that of the distribution over answers).",
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


def paper_tables(results: PaperResults) -> list[PaperTable]:
    """Build Tables 1 to 5."""
    frame = results.frame()
    return [_Layout(declared, results, frame).table() for declared in TABLES]


def unit_name(task: str, model: str) -> tuple[str, str]:
    """Return what a table calls a task and a model, which may have no name."""
    return task or "all rows", model or "–"


class _Layout:
    """A table while it is built."""

    def __init__(self, declared: Declared, results: PaperResults, frame: pd.DataFrame) -> None:
        self.declared, self.results = declared, results
        self.units = [(unit.task, unit.model) for unit in results.units]
        self.rows: dict[tuple[str, ...], dict[Hashable, Any]] = {
            tuple(str(row[name]) for name in _KEY): row for row in frame.to_dict("records")
        }
        self.blocks = list(self._expanded(list(dict.fromkeys(frame["check"]))))
        self.columns = list(self._columns())
        checks = [check for _, check, _ in self.blocks]
        keys = [
            (procedure, *unit, check)
            for procedure, check, unit in product((PUBLISHED, REPAIRED), checks, self.units)
        ]
        self.shown = pd.DataFrame(
            [self.rows[key] for key in keys if key in self.rows], columns=frame.columns
        )

    def _expanded(self, named: Sequence[str]) -> Iterator[tuple[Block, str, str]]:
        """Yield every block with the name of its result and its heading.

        Neighbouring blocks with variants alternate, so that what belongs to a prompt stands
        together.
        """
        varying = [block for block in self.declared.blocks if block.check.endswith(":")]
        for block in self.declared.blocks:
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

    def _columns(self) -> Iterator[tuple[str, str, bool, Column]]:
        """Yield procedure, result, and whether it is in percent, of every column of numbers."""
        for block, check, group in self.blocks:
            if block.published:
                column = Column(f"{check}.{PUBLISHED}", "published", group)
                yield PUBLISHED, check, block.published_percent, column
            column = Column(f"{check}.{REPAIRED}", block.repaired_heading, group)
            yield REPAIRED, check, False, column
            if block.tested:
                yield _TESTED, check, False, Column("", "p (Holm)", group)

    def table(self) -> PaperTable:
        """Return the finished table."""
        rows = [
            (
                *map(text_cell, unit_name(*unit)),
                *(
                    self._cell(procedure, check, percent, unit)
                    for procedure, check, percent, _ in self.columns
                ),
            )
            for unit in self.units
        ]
        means = list(self._means()) if self.declared.with_means else []
        names = (Column("task", "task", number=False), Column("model", "model", number=False))
        return PaperTable(
            name=f"table{self.declared.number}",
            label=f"Table {self.declared.number}",
            title=self.declared.title,
            caption=" ".join(self._caption()),
            columns=(*names, *(column for *_, column in self.columns)),
            rows=(*rows, *means),
            n_last=len(means),
        )

    def _cell(self, procedure: str, check: str, percent: bool, unit: tuple[str, str]) -> Cell:
        if procedure == _TESTED:
            return self._tested(check, unit)
        row = self.rows.get((procedure, *unit, check))
        if row is None:
            return Cell("not run", note=self.results.why_absent(procedure, *unit, check))
        exact = {"": row["statistic"]} | {name: row[name] for name in _EXACT}
        note = as_sentence(row["reason"])
        if math.isnan(row["statistic"]):
            return Cell("undefined", exact, note)
        numbers = [row["statistic"]]
        if not math.isnan(row["low"]):
            numbers += [row["low"], row["high"]]
        texts = [f"{100 * n:.1f}%" for n in numbers] if percent else format_numbers(numbers)
        return Cell(f"{texts[0]} [{texts[1]}, {texts[2]}]" if texts[1:] else texts[0], exact, note)

    def _tested(self, check: str, unit: tuple[str, str]) -> Cell:
        row = self.rows.get((REPAIRED, *unit, check))
        if row is None:
            return Cell("–")
        text = format_pvalue(row["pvalue"])
        adjusted = not math.isnan(row["pvalue"]) and not math.isnan(row["pvalue_holm"])
        return Cell(f"{text} ({format_pvalue(row['pvalue_holm'])})" if adjusted else text)

    def _means(self) -> Iterator[tuple[Cell, ...]]:
        """Yield the mean over tasks of every model, and over all units."""
        tasks = list(dict.fromkeys(task for task, _ in self.units))
        models = list(dict.fromkeys(model for _, model in self.units))
        if len(tasks) > 1:
            for model in models:
                of_model = [unit for unit in self.units if unit[1] == model]
                if len(of_model) > 1:
                    yield self._mean("mean over tasks", unit_name("", model)[1], of_model)
        if len(models) > 1:
            yield self._mean("mean over all", "all", self.units)

    def _mean(self, label: str, model: str, units: Sequence[tuple[str, str]]) -> tuple[Cell, ...]:
        cells = [text_cell(label), text_cell(model)]
        for procedure, check, percent, _ in self.columns:
            rows = [self.rows.get((procedure, *unit, check)) for unit in units]
            known = [row["statistic"] for row in rows if row and not math.isnan(row["statistic"])]
            if not known:
                # As the cells above, which say why.
                above = self._cell(procedure, check, percent, units[0])
                cells.append(Cell(above.text, note=above.note))
                continue
            mean = math.fsum(known) / len(known)
            few = f"Mean of the {len(known)} of {len(units)} that have a number."
            note = few if len(known) < len(units) else ""
            cells.append(Cell(format_numbers([mean])[0], {"": mean}, note))
        return tuple(cells)

    def _caption(self) -> Iterator[str]:
        blocks = self.declared.blocks
        yield from (block.says for block in blocks if block.says)
        for procedure in (PUBLISHED, REPAIRED):
            shown = self.shown[self.shown["procedure"] == procedure].dropna(subset="low")
            methods = shown[["level", "interval_method"]].drop_duplicates()
            if len(methods):
                listed = "; ".join(f"{level:.0%}, {method}" for level, method in methods.to_numpy())
                of_which = (
                    f" of the {procedure} numbers" if any(b.published for b in blocks) else ""
                )
                yield f"Intervals{of_which} in brackets: {listed}."
        if any(block.tested for block in blocks):
            yield from self._tests()
        if self.declared.with_means:
            yield "Rows of means average the numbers above them and have no interval."
        yield self._counted()

    def _tests(self) -> list[str]:
        """Say over how many tests Holm's p-values are adjusted, each family in a sentence."""
        sentences = []
        repaired = self.shown[self.shown["procedure"] == REPAIRED].dropna(subset="n_tests")
        for check, n_tests in repaired.drop_duplicates("check")[["check", "n_tests"]].to_numpy():
            if check == ISOTONIC:
                heading = next(group for _, name, group in self.blocks if name == check)
                sentences.append(
                    f"{heading}: adjusted over {n_tests:.0f} tests, those of the report "
                    "and of this column."
                )
            else:
                sentences.append(
                    f"p is that of one test, in brackets adjusted by Holm over all {n_tests:.0f} "
                    "tests of the report."
                )
        return list(dict.fromkeys(sentences))

    def _counted(self) -> str:
        """Say how many contexts there are, and how many answers could not be read."""
        numbers = self.shown.dropna(subset="statistic")
        if numbers.empty:
            return "No cell has a number."
        # The column of a unit that the most answers were asked for.
        asked = (numbers["n_rows"] + numbers["n_dropped"]).groupby(
            [numbers["task"], numbers["model"]]
        )
        fullest = numbers.loc[asked.idxmax()]
        n = spoken_range(numbers["n_contexts"].astype(int).tolist())
        return (
            f"A number comes from {n} contexts; {fullest['n_rows'].sum():.0f} rows entered the "
            f"fullest column, and {fullest['n_dropped'].sum():.0f} that were asked had no parsed "
            "answer and were left out."
        )
