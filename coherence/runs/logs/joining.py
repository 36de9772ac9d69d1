"""Answers of two logs put side by side: by their ids, and where all else that both carry agrees.

Ids of samples follow the order of a data set, which may be shuffled: one id may be two cases in two
logs. So what both logs say of a sample (the hash of the document, its target, its input, its
metadata) is compared in every sample that is joined.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from coherence.decoding.decode import worst
from coherence.errors import InputError, listing
from coherence.printable import counted
from coherence.runs.cells import numbers
from coherence.runs.runs import REFERENCE
from coherence.runs.states import folded, typed_option

RECORD, LOG = "record", "log"
"""Columns of answers on their way: the record that a row was read from, and the name of its log."""
HASH = "doc_hash"
"""Field of what identifies a document wherever it stands."""
_OF_SAMPLES = re.compile(rf"{HASH}|input|target(?:\..+)?|(?:metadata|doc)\..+", re.DOTALL)
_KEY = ["task", "model", "context", "rep"]
"""What an answer is known by."""


def filled(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table of cells as they are; what is missing or an empty text is None."""
    table = table.astype(object)
    return table.where(table.notna() & (table != ""), None)


def stacked(parts: Sequence[pd.DataFrame], *, counts: bool) -> pd.DataFrame:
    """Put answers under each other, and number the repetitions of rows that have a context.

    `counts` those that samples gathered into one context are. Raises `InputError` if an answer
    occurs twice.
    """
    rows = filled(pd.concat(parts, ignore_index=True))
    columns = ["task", "model", "prompt", "context", "z", "z_state"]
    question, known = filled(rows.reindex(columns=[*columns, "rep"])), rows["context"].notna()
    nth = question.groupby(columns, dropna=False, sort=False).cumcount()
    reps = question["rep"].mask(known & (question["rep"].isna() | counts), nth)
    counted_ = pd.Series(numbers(reps).values)
    # A fraction is some other field, taken for repetitions.
    wrong = known & (counted_ % 1 != 0)
    if wrong.any():
        where = f"{reps[wrong].iloc[0]!r} in context {rows['context'][wrong].iloc[0]!r}"
        raise InputError(
            f"rep must be a whole number; received {where}. Name another field: --rep FIELD."
        )
    rows["rep"] = question["rep"] = counted_.astype("Int64").astype(object).where(known, reps)
    twice = question[known & question.astype(str).duplicated()]
    if len(twice):
        first = twice.iloc[0]
        raise InputError(
            f"{len(twice)} answers occur more than once, the first is context "
            f"{str(first['context'])!r}, repetition {first['rep']}, model {first['model']!r}. "
            "Leave out the file that repeats them, or import models that the logs do not name one "
            "by one, each with --model."
        )
    return rows


def _with_keys(answers: pd.DataFrame) -> pd.DataFrame:
    """Return the answers that have a context, by what each is known by."""
    known = answers[answers["context"].notna()]
    columns = [known.reindex(columns=[name])[name].map(str) for name in _KEY]
    return known.set_axis(pd.MultiIndex.from_arrays(columns, names=_KEY))


@dataclass(frozen=True)
class SampleCheck:
    """What tells whether answers that are joined are about the same sample."""

    id_field: str  # whose values are the contexts
    truths: Mapping[str, str]  # field of what came true -> its column

    def compare(self, first: pd.DataFrame, second: pd.DataFrame) -> list[str]:
        """Raise `InputError` where joined rows are of different samples; return what differs.

        Hashes must be the same in each joined row, unless all documents were made anew for the
        other log; truths too, unless that has other labels, as those of the right action. Of other
        fields those tell that name each sample, unless another one of these agrees.
        """
        ours, theirs = self._samples(first), self._samples(second)
        names = sorted(ours.columns.intersection(theirs.columns), key=lambda name: name != HASH)
        one, other = ours[names].align(theirs[names], join="inner", axis=0)
        unlike = (one != other) & one.notna() & other.notna()
        differ = {name: int(unlike[name].sum()) for name in names if unlike[name].any()}
        tell = [name for name in names if name not in differ and one[name].nunique() > 1]
        own = {name for name in names if _identifies(ours[name]) and _identifies(theirs[name])}
        for name, n_unlike in differ.items():
            moved = bool(other[name][unlike[name]].isin(ours[name]).any())
            wrong = moved and name in own and own.isdisjoint(tell)
            if name == HASH:
                wrong = moved or own.isdisjoint(tell) or n_unlike < len(one)
            elif name in self.truths:  # of labels that the other log has as well
                wrong = bool(theirs[name].isin(ours[name].dropna()).any())
            if wrong:
                agree = (by for by in names if by in own or by == HASH)
                by = next((by for by in agree if _joins(by, name, ours, theirs)), None)
                key = unlike.index[unlike[name]][0]
                sides = [_with_keys(side).loc[key] for side in (first, second)]
                of = f"{n_unlike} of {counted(len(one), 'joined answer')}"
                raise InputError(self._mismatch(of, name, sides, by))
        of = " and ".join(listing(table[LOG].unique(), 2) for table in (first, second))
        notes = []
        if differ:
            shown = listing(f"{name} ({n})" for name, n in differ.items())
            notes.append(f"of {counted(len(one), 'joined answer')} of {of} these differ: {shown}")
        if len(one) and not tell:
            notes.append(
                f"{of} were joined by {self.id_field} alone: nothing else that both carry shows "
                "that equal ids are equal samples"
            )
        return notes

    def _samples(self, answers: pd.DataFrame) -> pd.DataFrame:
        """Return what a log says of samples; blanks, case and Unicode form do not count."""
        keyed = _with_keys(answers)
        said = [
            {
                name: folded(value)
                for name, value in record.items()
                if value not in (None, "")
                and name != self.id_field
                and (_OF_SAMPLES.fullmatch(name) or name in self.truths)
            }
            for record in keyed[RECORD]
        ]
        return pd.DataFrame(said, keyed.index, dtype=object)

    def _mismatch(
        self, of: str, name: str, sides: Sequence["pd.Series[Any]"], by: str | None
    ) -> str:
        """Say which joined rows are of different samples, and what joins them where it is known."""
        texts = [str(side[RECORD].get(name)) for side in sides]
        shown = [repr(f"{text[:60]}..." if len(text) > 60 else text) for text in texts]
        said = (
            f"{of} of {sides[0][LOG]} and {sides[1][LOG]} differ in {name}, the first is "
            f"{self.id_field} {sides[0]['context']!r}: {' and '.join(shown)}. "
        )
        if by is not None:
            typed = typed_option("--context", by)
            return f"{said}All values of {by} are there under other ids: {typed} joins by them."
        said += "Ids must name the same samples in both: name one that does, --context FIELD."
        if name in self.truths:
            option = "--truth" if self.truths[name] == "theta" else "--exact"
            said += f" If {name} is something else in {sides[1][LOG]}: {option} FIELD."
        return said


def _identifies(cells: "pd.Series[str]") -> bool:
    """Tell whether every context has a value of its own."""
    context = cells.index.get_level_values("context")
    pairs = pd.DataFrame({"context": context, "cell": cells.to_numpy()}).drop_duplicates()
    unique = all(pairs[name].is_unique for name in pairs)
    return bool(pairs.notna().all(axis=None) and len(pairs) > 1) and unique


def _joins(by: str, name: str, ours: pd.DataFrame, theirs: pd.DataFrame) -> bool:
    """Tell whether rows that are joined by a field agree in one in which those of ids do not."""
    if not theirs[by].isin(ours[by].dropna()).all():
        return False
    known = ours.drop_duplicates(by).set_index(by, drop=False)[name]
    cells, others = known.reindex(theirs[by]).to_numpy(), theirs[name].to_numpy()
    return bool((pd.isna(cells) | pd.isna(others) | (cells == others)).all())


def compare_prompts(answers: pd.DataFrame, check: SampleCheck) -> list[str]:
    """Compare the samples of further logs of beliefs with those of the first of them."""
    plain = answers[answers["z"].isna()] if "z" in answers else answers
    first, *others = (part for _, part in plain.groupby(LOG, sort=False))
    return [note for part in others for note in check.compare(first, part)]


def joined(
    beliefs: pd.DataFrame, actions: pd.DataFrame, check: SampleCheck
) -> tuple[pd.DataFrame, list[str], list[str]]:
    """Put actions onto the belief rows of the reference prompt.

    Return the rows, which answers have no partner, and what differs in joined ones.
    """
    if beliefs["context"].isna().any() or actions["context"].isna().any():
        raise InputError(
            "beliefs and actions are joined by their samples, and some answers have no context. "
            "Name one in both: --context FIELD."
        )
    reference = REFERENCE if REFERENCE in {*beliefs["prompt"]} else beliefs["prompt"][0]
    # Other prompts and rows given z ask for the belief alone.
    asks = beliefs["prompt"].map(lambda prompt: prompt == reference)
    asks &= beliefs["z"].isna() if "z" in beliefs else True
    asked, chosen = _with_keys(beliefs[asks]), _with_keys(actions)
    # A belief that is missing is unparsed too; a row of its own keeps the action.
    alone, rest = (
        a.index.difference(b.index, sort=False) for a, b in ((asked, chosen), (chosen, asked))
    )
    lines = [
        f"{what} ({len(keys)}): " + listing(f"{key[2]} repetition {key[3]}" for key in keys)
        for keys, what in (
            (alone, "beliefs without an action"),
            (rest, "actions without a belief, each a row that is at best unparsed"),
        )
        if len(keys)
    ]
    # Nothing joined at all is a wrong key, not a study with holes.
    if len(rest) == len(chosen):
        raise InputError(
            f"no answer of the action log belongs to one of the belief log. {'; '.join(lines)}. "
            "Name what they share: --context FIELD."
        )
    notes = check.compare(beliefs[asks], actions)
    partners = chosen.reindex(asked.index).set_axis(beliefs.index[asks]).reindex(beliefs.index)
    # Where both logs have a column, the belief log's value stands unless it is missing.
    rows = beliefs.combine_first(partners)
    rows["status"] = [
        worst([str(status)] if pd.isna(other) else [str(status), str(other)])
        for status, other in zip(beliefs["status"], partners["status"], strict=True)
    ]
    more = chosen.loc[rest].assign(prompt=reference)
    more["status"] = [worst(["unparsed", str(status)]) for status in more["status"]]
    return filled(pd.concat([rows, more], ignore_index=True)), lines, notes
