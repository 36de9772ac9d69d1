"""Tables of a paper out of the frame of its results: which number goes where, and the captions."""

import math
from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import pandas as pd

from coherence.analysis.paper.declared import TABLES, Block, Declared
from coherence.analysis.paper.results import PUBLISHED, REPAIRED, PaperResults, as_sentence
from coherence.analysis.paper.supplement import ISOTONIC, in_paper_order
from coherence.report.tables.cells import Cell, Column, PaperTable, spoken_range, text_cell
from coherence.report.wording import format_numbers, format_pvalue

_EXACT = ("low", "high", "pvalue", "pvalue_holm", "n_rows", "n_contexts", "n_dropped")
_ABSENT = "not run"
_PERCENT = 100.0
_KEY = ["procedure", "task", "model", "check"]


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
        self.blocks = list(self._expanded(frame))

    def _expanded(self, frame: pd.DataFrame) -> Iterator[tuple[Block, str, str]]:
        """Yield every block with the name of its result and its variant.

        Neighbouring blocks with variants alternate, so that what belongs to a prompt stands
        together.
        """
        named = list(dict.fromkeys(frame["check"]))
        variants: dict[str, None] = {}
        for block in self.declared.blocks:
            if block.check.endswith(":"):
                found = [name.removeprefix(block.check) for name in named]
                of_block = [
                    variant
                    for variant, name in zip(found, named, strict=True)
                    if name.startswith(block.check)
                ]
                variants |= dict.fromkeys(of_block)
            else:
                yield block, block.check, ""
        pairs = self.declared.blocks[0].check == "monotone_choice:"
        for variant in variants if pairs else in_paper_order(list(variants)):
            for block in self.declared.blocks:
                if block.check.endswith(":"):
                    yield block, f"{block.check}{variant}", variant

    def table(self) -> PaperTable:
        """Return the finished table."""
        rows = [self._row(task, model) for task, model in self.units]
        means = list(self._means()) if self.declared.with_means else []
        names = (Column("task", "task", number=False), Column("model", "model", number=False))
        return PaperTable(
            name=f"table{self.declared.number}",
            label=f"Table {self.declared.number}",
            title=self.declared.title,
            caption=" ".join(self._caption()),
            columns=(*names, *self._columns()),
            rows=(*rows, *means),
            n_last=len(means),
        )

    def _columns(self) -> Iterator[Column]:
        for block, check, variant in self.blocks:
            group = block.heading.format(variant=variant)
            if block.published:
                yield Column(f"{check}.{PUBLISHED}", "published", group)
            key = f"{check}.{REPAIRED}"
            yield Column(key, block.repaired_heading, group)
            if block.tested:
                yield Column("", "p (Holm)", group)

    def _row(self, task: str, model: str) -> tuple[Cell, ...]:
        cells = [text_cell(name) for name in unit_name(task, model)]
        for block, check, _ in self.blocks:
            if block.published:
                percent = block.published_percent
                cells.append(self._cell(PUBLISHED, task, model, check, percent=percent))
            cells.append(self._cell(REPAIRED, task, model, check))
            if block.tested:
                cells.append(self._tested(task, model, check))
        return tuple(cells)

    def _cell(
        self, procedure: str, task: str, model: str, check: str, *, percent: bool = False
    ) -> Cell:
        row = self.rows.get((procedure, task, model, check))
        if row is None:
            return Cell(_ABSENT, note=self.results.why_absent(procedure, task, model, check))
        exact = {"": row["statistic"]} | {name: row[name] for name in _EXACT}
        note = as_sentence(row["reason"])
        if math.isnan(row["statistic"]):
            return Cell("undefined", exact, note)
        scale = _PERCENT if percent else 1.0
        ends = [] if math.isnan(row["low"]) else [row["low"], row["high"]]
        if percent:
            numbers = [f"{scale * value:.1f}%" for value in (row["statistic"], *ends)]
        else:
            numbers = format_numbers([row["statistic"], *ends])
        text = f"{numbers[0]} [{numbers[1]}, {numbers[2]}]" if ends else numbers[0]
        return Cell(text, exact, note)

    def _tested(self, task: str, model: str, check: str) -> Cell:
        row = self.rows.get((REPAIRED, task, model, check))
        if row is None:
            return Cell("–")
        adjusted = math.nan if math.isnan(row["pvalue"]) else row["pvalue_holm"]
        text = format_pvalue(row["pvalue"])
        return Cell(text if math.isnan(adjusted) else f"{text} ({format_pvalue(adjusted)})")

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
        for block, check, _ in self.blocks:
            for procedure in (PUBLISHED, REPAIRED) if block.published else (REPAIRED,):
                rows = [self.rows.get((procedure, *unit, check)) for unit in units]
                known = [row["statistic"] for row in rows if row is not None]
                known = [value for value in known if not math.isnan(value)]
                if not known:
                    # As the cells above, which say why.
                    above = self._cell(procedure, *units[0], check)
                    cells.append(Cell(above.text, note=above.note))
                    continue
                mean = math.fsum(known) / len(known)
                few = f"Mean of the {len(known)} of {len(units)} that have a number."
                note = few if len(known) < len(units) else ""
                cells.append(Cell(format_numbers([mean])[0], {"": mean}, note))
        return tuple(cells)

    def _caption(self) -> Iterator[str]:
        yield from (block.says for block in self.declared.blocks if block.says)
        yield from self._intervals()
        if any(block.tested for block in self.declared.blocks):
            yield from self._tests()
        if self.declared.with_means:
            yield "Rows of means average the numbers above them and have no interval."
        yield _counted([self._used(unit) for unit in self.units])

    def _shown(self, procedure: str) -> list[dict[Hashable, Any]]:
        keys = [(procedure, *unit, check) for _, check, _ in self.blocks for unit in self.units]
        return [self.rows[key] for key in keys if key in self.rows]

    def _intervals(self) -> Iterator[str]:
        """Say how the intervals in brackets were computed, as their results have it."""
        for procedure in (PUBLISHED, REPAIRED):
            methods = dict.fromkeys(
                (row["level"], row["interval_method"])
                for row in self._shown(procedure)
                if not math.isnan(row["low"])
            )
            if methods:
                listed = "; ".join(f"{level:.0%}, {method}" for level, method in methods)
                plain = not any(block.published for block in self.declared.blocks)
                of_which = "" if plain else f" of the {procedure} numbers"
                yield f"Intervals{of_which} in brackets: {listed}."

    def _tests(self) -> list[str]:
        """Say over how many tests Holm's p-values are adjusted, each family in a sentence."""
        sentences = []
        for block, check, _ in self.blocks:
            rows = [self.rows.get((REPAIRED, *unit, check)) for unit in self.units]
            sizes = [row["n_tests"] for row in rows if row and not math.isnan(row["n_tests"])]
            if sizes and check == ISOTONIC:
                sentences.append(
                    f"{block.heading}: adjusted over {int(sizes[0])} tests, those of the report "
                    "and of this column."
                )
            elif sizes:
                sentences.append(
                    f"p is that of one test, in brackets adjusted by Holm over all {int(sizes[0])} "
                    "tests of the report."
                )
        return list(dict.fromkeys(sentences))

    def _used(self, unit: tuple[str, str]) -> tuple[int, int, list[int]]:
        """Rows read and unreadable of the fullest column, and contexts of all columns."""
        found = [
            self.rows[(procedure, *unit, check)]
            for procedure in (PUBLISHED, REPAIRED)
            for _, check, _ in self.blocks
            if (procedure, *unit, check) in self.rows
        ]
        found = [row for row in found if not math.isnan(row["statistic"])]
        if not found:
            return 0, 0, []
        fullest = max(found, key=lambda row: row["n_rows"] + row["n_dropped"])
        contexts = [int(row["n_contexts"]) for row in found]
        return int(fullest["n_rows"]), int(fullest["n_dropped"]), contexts


def _counted(used: Sequence[tuple[int, int, list[int]]]) -> str:
    """Say how many contexts there are, and how many answers could not be read."""
    contexts = [n for _, _, of_unit in used for n in of_unit]
    if not contexts:
        return "No cell has a number."
    n = spoken_range(contexts)
    entered, unread = sum(rows for rows, _, _ in used), sum(rows for _, rows, _ in used)
    return (
        f"A number comes from {n} contexts; {entered} rows entered the fullest column, and "
        f"{unread} that were asked had no readable answer and were left out."
    )
