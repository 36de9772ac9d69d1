"""Answers of two logs put side by side: by their ids, and where all else that both carry agrees.

Ids of samples follow the order of a data set, which may be shuffled: one id may be two cases in two
logs. So what both logs say of a sample (the hash of the document, its target, its input, its
metadata) is compared in every joined row.
"""

import re
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from coherence.decoding.decode import worst
from coherence.errors import InputError, listing
from coherence.importing.cells import as_number
from coherence.importing.log_format import names_of
from coherence.printable import counted
from coherence.table.runs import REFERENCE
from coherence.table.states import folded

MISSING = (None, "")
RECORD, LOG = "record", "log"
"""Columns of answers on their way: the record that a row was read from, and the name of its log."""
HASH = "doc_hash"
"""Field of what identifies a document wherever it stands."""
_OF_SAMPLES = re.compile(rf"{HASH}|input|target(?:\..+)?|(?:metadata|doc)\..+", re.DOTALL)
_Key = tuple[str, str, str, int]
_Pairs = Sequence[tuple[int, int]]  # rows of two tables that are joined


def filled(columns: Mapping[str, Sequence[object]] | pd.DataFrame) -> pd.DataFrame:
    """Return a table of cells as they are; what is missing or an empty text is None."""
    table = pd.DataFrame(columns, dtype=object)
    return table.where(table.notna() & (table != ""), None)


def stacked(parts: Sequence[pd.DataFrame], *, counts: bool) -> pd.DataFrame:
    """Put answers under each other, and number the repetitions of rows that have a context.

    `counts` those that samples gathered into one context are. Raises `InputError` if an answer
    occurs twice.
    """
    rows = filled(pd.concat(parts, ignore_index=True))
    names = ["task", "model", "prompt", "context", "z", "z_state"]
    question = filled(rows.reindex(columns=names))
    reps, known = rows.reindex(columns=["rep"])["rep"], question["context"].notna()
    nth = question.groupby(names, dropna=False, sort=False).cumcount()
    rows["rep"] = reps.mask(known & (reps.isna() | counts), nth)
    keys = _keys(rows)
    answers = question[["prompt", "z", "z_state"]].itertuples(index=False, name=None)
    times = Counter(pair for pair in zip(keys, answers, strict=True) if pair[0])
    twice = [key for (key, _), count in times.items() if key and count > 1]
    if twice:
        _, model, context, rep = twice[0]
        raise InputError(
            f"{len(twice)} answers occur more than once, the first is context {context!r}, "
            f"repetition {rep}, model {model!r}. Leave out the file that repeats them, or import "
            "models that the logs do not name one by one, each with --model."
        )
    return rows


def _keys(answers: pd.DataFrame) -> list[_Key | None]:
    """Return what each answer is known by; None without a context."""
    known = answers.reindex(columns=["task", "model", "context", "rep"]).to_numpy(dtype=object)
    return [
        None if pd.isna(context) else (str(task), str(model), str(context), _whole(rep, context))
        for task, model, context, rep in known
    ]


def _whole(rep: object, context: object) -> int:
    number = as_number(rep)
    # Repetitions are counted; a fraction is some other field, taken for them.
    if number is None or number % 1:
        raise InputError(
            f"rep must be a whole number; received {rep!r} in context {context!r}. "
            "Map another field to rep."
        )
    return int(number)


@dataclass(frozen=True)
class _Field:
    """What two tables of answers say of their samples under one name."""

    name: str
    cells: tuple[Sequence[str | None], Sequence[str | None]]
    pairs: _Pairs
    identifies: bool  # whether every sample has a value of its own in either table

    @cached_property
    def unlike(self) -> _Pairs:
        """The joined rows in which it differs."""
        first, second = self.cells
        return [
            (row, other)
            for row, other in self.pairs
            if first[row] != second[other] and None not in (first[row], second[other])
        ]

    @cached_property
    def tells(self) -> bool:
        """Whether it is the same in all joined rows, and not in every sample."""
        return not self.unlike and len({self.cells[0][row] for row, _ in self.pairs} - {None}) > 1

    def is_wrong(self, *, strict: bool, confirmed: bool) -> bool:
        """Whether it shows that joined rows are of different samples."""
        known = {*self.cells[0]}
        moved = any(self.cells[1][other] in known for _, other in self.unlike)
        if not self.unlike:
            return False
        if self.name == HASH:  # documents that were made otherwise for each log differ in all rows
            return moved or not confirmed or len(self.unlike) < len(self.pairs)
        if strict:  # of labels that the other log has as well
            return not known.isdisjoint({*self.cells[1]} - {None})
        return self.identifies and moved and not confirmed


@dataclass(frozen=True)
class SampleCheck:
    """What tells whether answers that are joined are about the same sample."""

    id_field: str  # whose values are the contexts
    truths: Mapping[str, str]  # field of what came true -> its column

    def compare(self, first: pd.DataFrame, second: pd.DataFrame, pairs: _Pairs) -> list[str]:
        """Raise `InputError` where joined rows are of different samples; return what differs.

        Like hashes, truths must be the same in each joined row, unless the other log has other
        labels, as those of the right action.
        """
        fields = [*self._fields(first, second, pairs)]
        confirmed = any(field.tells and field.identifies for field in fields)
        for field in fields:
            if field.is_wrong(strict=field.name in self.truths, confirmed=confirmed):
                raise InputError(self._mismatch(first, second, field, fields))
        of = " and ".join(listing(table[LOG].unique(), 2) for table in (first, second))
        differ = [f"{field.name} ({len(field.unlike)})" for field in fields if field.unlike]
        notes = []
        if differ:
            joined_ = counted(len(pairs), "joined answer")
            notes.append(f"of {joined_} of {of} these differ: {listing(differ)}")
        if pairs and not any(field.tells for field in fields):
            notes.append(
                f"{of} were joined by {self.id_field} alone: nothing else that both carry shows "
                "that equal ids are equal samples"
            )
        return notes

    def _fields(self, first: pd.DataFrame, second: pd.DataFrame, pairs: _Pairs) -> Iterator[_Field]:
        there = {*names_of(second[RECORD])} - {self.id_field}
        keys = [_keys(table) for table in (first, second)]
        for name in sorted(names_of(first[RECORD]), key=lambda name: name != HASH):
            if name in there and (_OF_SAMPLES.fullmatch(name) or name in self.truths):
                cells = _texts(first, name), _texts(second, name)
                identifies = all(map(_identifies, cells, keys))
                yield _Field(name, cells, pairs, identifies)

    def _mismatch(
        self,
        first: pd.DataFrame,
        second: pd.DataFrame,
        wrong: _Field,
        fields: Sequence[_Field],
    ) -> str:
        """Say which joined rows are of different samples, and what joins them where it is known."""
        row, other = wrong.unlike[0]
        shown = [str(first[RECORD].iloc[row].get(wrong.name))]
        shown += [str(second[RECORD].iloc[other].get(wrong.name))]
        values = " and ".join(repr(f"{text[:60]}..." if len(text) > 60 else text) for text in shown)
        name = first[LOG].iloc[row], second[LOG].iloc[other]
        said = (
            f"{len(wrong.unlike)} of {counted(len(wrong.pairs), 'joined answer')} of {name[0]} and "
            f"{name[1]} differ in {wrong.name}, the first is {self.id_field} "
            f"{first['context'].iloc[row]!r}: {values}. "
        )
        for field in fields:
            cells, others = field.cells
            rows = {cell: row for row, cell in enumerate(cells)}
            if None in others or not {*others} <= {*rows}:
                continue
            pairs = [(rows[cell], row) for row, cell in enumerate(others)]
            agrees = not _Field(wrong.name, wrong.cells, pairs, False).unlike
            if agrees and (field.identifies or field.name == HASH):
                typed = shlex.quote(f"context={field.name}")
                return (
                    f"{said}All values of {field.name} are there under other ids: --map {typed} "
                    "joins by them."
                )
        said += "Ids must name the same samples in both: map one that does, --map context=FIELD."
        if wrong.name in self.truths:
            said += (
                f" If {wrong.name} is something else in {name[1]}, name another field: --map "
                f"{self.truths[wrong.name]}=FIELD."
            )
        return said


def _texts(answers: pd.DataFrame, name: str) -> list[str | None]:
    """Return a field of every record, as far as blanks, case and Unicode form do not count."""
    values = (record.get(name) for record in answers[RECORD])
    return [None if value in MISSING else folded(value) for value in values]


def _identifies(cells: Sequence[str | None], keys: Sequence[_Key | None]) -> bool:
    pairs = {(cell, key[2]) for cell, key in zip(cells, keys, strict=True) if key}
    of_cells, of_ids = ({pair[at] for pair in pairs} for at in (0, 1))
    return None not in of_cells and 1 < len(of_cells) == len(pairs) == len(of_ids)


def compare_prompts(answers: pd.DataFrame, check: SampleCheck) -> list[str]:
    """Compare the samples of further logs of beliefs with those of the first of them."""
    plain = answers[answers["z"].isna()] if "z" in answers else answers
    first, *others = (part for _, part in plain.groupby(LOG, sort=False))
    row_of = {key: row for row, key in enumerate(_keys(first)) if key}
    notes = []
    for part in others:
        pairs = [(row_of[key], row) for row, key in enumerate(_keys(part)) if key in row_of]
        notes += check.compare(first, part, pairs) if pairs else []
    return notes


def joined(
    beliefs: pd.DataFrame, actions: pd.DataFrame, check: SampleCheck
) -> tuple[pd.DataFrame, list[str], list[str]]:
    """Put actions onto the belief rows of the reference prompt.

    Return the rows, which answers have no partner, and what differs in joined ones.
    """
    keys, row_of = _keys(beliefs), {key: row for row, key in enumerate(_keys(actions))}
    if None in row_of or None in keys:
        raise InputError(
            "beliefs and actions are joined by their samples, and some answers have no context. "
            "Map one in both: --map context=FIELD."
        )
    reference = REFERENCE if REFERENCE in {*beliefs["prompt"]} else beliefs["prompt"][0]
    # Other prompts and rows given z ask for the belief alone.
    asks = beliefs["prompt"].map(lambda prompt: prompt == reference)
    asks &= beliefs["z"].isna() if "z" in beliefs else True
    asked = [key if asks_it else None for key, asks_it in zip(keys, asks, strict=True)]
    partners = [row_of.get(key) for key in asked]
    # A belief that is missing is unparsed too; a row of its own keeps the action.
    rest = {key: row for key, row in row_of.items() if key not in {*asked}}
    alone = [key for key in asked if key and key not in row_of]
    lines = [
        f"{what} ({len(unpaired)}): "
        + listing(f"{key[2]} repetition {key[3]}" for key in unpaired if key)
        for unpaired, what in (
            (alone, "beliefs without an action"),
            ([*rest], "actions without a belief, each a row that is at best unparsed"),
        )
        if unpaired
    ]
    # Nothing joined at all is a wrong key, not a study with holes.
    if len(rest) == len(row_of):
        raise InputError(
            f"no answer of the action log belongs to one of the belief log. {'; '.join(lines)}. "
            "Map what they share: --map context=FIELD."
        )
    pairs = [(row, partner) for row, partner in enumerate(partners) if partner is not None]
    notes = check.compare(beliefs, actions, pairs)
    chosen = actions.reindex([-1 if partner is None else partner for partner in partners])
    # Where both logs have a column, the belief log's value stands unless it is missing.
    rows = beliefs.combine_first(chosen.set_axis(beliefs.index))
    rows["status"] = [
        worst([str(status), *([] if pd.isna(other) else [str(other)])])
        for status, other in zip(beliefs["status"], chosen["status"], strict=True)
    ]
    more = actions.iloc[[*rest.values()]]
    statuses = [worst(["unparsed", str(status)]) for status in more["status"]]
    more = more.assign(prompt=reference, status=statuses)
    return filled(pd.concat([rows, more], ignore_index=True)), lines, notes
