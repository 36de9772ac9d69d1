"""From logs to the runs table: fields become columns, and actions are joined to their beliefs.

A log holds beliefs or actions, told by its task; which field becomes which column the user says,
else the format. An answer is known by task, model, context and repetition. Ids of samples follow
the order of a data set, which may be shuffled: so what both logs say of a sample (the hash of the
document, its target, its input, its metadata) is compared in every sample that is joined. Nothing
is dropped: an action whose belief was not asked keeps its row, without a belief; a belief without
an action stays a belief. Both are counted. The table is then read as a file's is.
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from unicodedata import normalize

import pandas as pd

from coherence.decoding.decode import worst
from coherence.errors import InputError, SchemaError, closest, listing
from coherence.printable import counted
from coherence.runs.cells import Cells, numbers
from coherence.runs.columns import (
    AS_IT_IS,
    COLUMN_NAMES,
    EXACT,
    FEATURE_PREFIX,
    KIND,
    PERCENT,
    RECORDED,
    STATE_PREFIX,
    Naming,
    Scale,
    is_belief,
    is_state,
)
from coherence.runs.formats import ARRAY, FileTable, column_of, inner_suffix, read_array
from coherence.runs.logs import inspect_log, lm_eval
from coherence.runs.logs.answers import (
    SHARE,
    AnswerForm,
    AnswerLog,
    LogFormat,
    Probability,
    answers_of,
    names_of,
    stated_numbers,
)
from coherence.runs.read import examined
from coherence.runs.roles import doubt_percent
from coherence.runs.runs import MEANT, REFERENCE
from coherence.runs.several import state_columns, told_apart
from coherence.runs.states import YES, folded, named_state, typed_option, zero_or_one

LEFT_OUT = "-"
"""Stands for no field: a column that the format would fill is left out."""
# The target of an action log may be the right action, and is not taken for the state; evidence and
# posterior stand in the belief log too, and could only contradict it.
_FROM_ACTION_LOGS = ("task", "model", "context", "rep", "action", "raw_action")
FORMATS = (inspect_log.FORMAT, lm_eval.FORMAT)
RECORD, LOG = "record", "log"
"""Columns of answers on their way: the record that a row was read from, and the name of its log."""
HASH = "doc_hash"
"""Field of what identifies a document wherever it stands."""
_OF_SAMPLES = re.compile(rf"{HASH}|input|target(?:\..+)?|(?:metadata|doc)\..+", re.DOTALL)
_KEY = ["task", "model", "context", "rep"]
"""What an answer is known by."""


def format_of(paths: Sequence[Path]) -> LogFormat:
    """Return the one format of files: fields mean other things in each, and are mapped once."""
    first, *others = map(_format_of, paths)
    for path, other in zip(paths[1:], others, strict=True):
        if other != first:
            raise InputError(
                f"{path} is of the format {other.name}, {paths[0]} of the format {first.name}. "
                "Import files of different formats one by one."
            )
    return first


def _format_of(path: Path) -> LogFormat:
    if not path.is_file():
        raise InputError(f"{path}: no such file. Name the log itself, not its folder.")
    # An empty file has no format of its own to complain about.
    if path.stat().st_size == 0:
        raise InputError(f"{path}: the file is empty (0 bytes). Check the run that wrote it.")
    suffix = inner_suffix(path)
    for form in FORMATS:
        if suffix in form.endings and form.recognises(path):
            return form
    if suffix == ARRAY:
        read_array(path, AS_IT_IS)  # says what is wrong with a table
    raise InputError(
        f"{path} is not a log of {' or '.join(form.name for form in FORMATS)}. A table needs no "
        f"import: coherence analyze {shlex.quote(str(path))}."
    )


@dataclass
class Imported:
    """A runs table and where it came from."""

    # a valid runs table; it may need others with it before a check can be run
    runs: pd.DataFrame
    mapped: list[str]  # one line per log: which field became which column
    # answers of one log without a partner in the other
    unpaired: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # what else the reader should know


def assemble(
    logs: Sequence[AnswerLog],
    form: AnswerForm,
    *,
    belief_tasks: Sequence[str] = (),
    action_tasks: Sequence[str] = (),
    mapping: Mapping[str, str] | None = None,
    model: str | None = None,
) -> Imported:
    """Make a runs table of logs; `mapping` is from columns to fields."""
    mapping = _states_of(mapping or {}, logs)
    beliefs, actions = _split_by_task(logs, belief_tasks, action_tasks)
    named = {log.model for log in logs if log.model is not None}
    # A log without a model's name goes with the others, if they agree on one.
    if model is None and len(named) == 1:
        (model,) = named
    # One wording needs no name: the table's default is the standard prompt.
    several = len({log.name for log in beliefs}) > 1
    mapped, sources = list[str](), dict[str, str]()
    stated, chosen = list[pd.DataFrame](), list[pd.DataFrame]()
    notes = [f"{log.file}: {note}" for log in (*beliefs, *actions) for note in log.notes]
    truths: dict[str, str] = {}  # field of what came true -> its column
    for log in (*beliefs, *actions):
        of_beliefs = log in beliefs
        fields, line = _fields(log, mapping, form.positive, of_beliefs, bool(actions)), None
        if of_beliefs:
            if EXACT in log.fields and EXACT not in {*fields, *mapping}:
                notes.append(
                    f"{log.file}: {EXACT} left out, as it is the posterior of the log's own state. "
                    f"If it is that of {fields['theta']}: --exact {log.fields[EXACT]}"
                )
            sources |= fields
            truths |= {fields[column]: column for column in ("theta", EXACT) if column in fields}
            line, doubts = _line_of(log, fields, form.line)
            notes += doubts
        # The answer first.
        columns = sorted(fields, key=lambda column: not is_belief(column) and column != "action")
        shown = (name if name == fields[name] else f"{name} = {fields[name]}" for name in columns)
        role = "belief" if of_beliefs else "action"
        mapped.append(f"{role} from {log.name} ({log.file}): {', '.join(shown)}")
        prompt = {"prompt": log.name if several else None} if of_beliefs else {}
        known = {"task": beliefs[0].task, "model": log.model or model, **prompt, "context": None}
        rows = filled(answers_of(log, fields, replace(form, line=line)))
        rows = rows.assign(**{name: each for name, each in known.items() if name not in rows})
        # One id may be written in two forms of Unicode.
        ids = [normalize("NFC", id_) if isinstance(id_, str) else id_ for id_ in rows["context"]]
        rows = rows.assign(context=ids, **{LOG: log.name})
        rows[RECORD] = pd.Series([*log.records], rows.index, dtype=object)
        (stated if of_beliefs else chosen).append(rows)
    # Contexts that gather samples make the log's own numbers repeat within them.
    counts = "context" in mapping and "rep" not in mapping
    answers, unpaired = stacked(stated, counts=counts), list[str]()
    check = SampleCheck(mapping.get("context", beliefs[0].fields.get("context", "")), truths)
    # Further logs of beliefs are about the samples of the first.
    first, *others = (part for _, part in answers.groupby(LOG, sort=False))
    notes += [note for part in others for note in check.compare(first, part)]
    if actions:
        answers, unpaired, differ = joined(answers, stacked(chosen, counts=counts), check)
        notes += differ
    table = _as_file(answers.drop(columns=[RECORD, LOG]), form.positive)
    table.attrs[MEANT] = [*sources]  # they are what their names say, also where it is read again
    if "theta" not in {*table, *mapping}:
        fields_of = [n for n in beliefs[0].field_names if n not in beliefs[0].fields.values()]
        near = [name for name in fields_of if name.startswith(("metadata.", "doc."))]
        notes.append(
            "no theta: nothing says what came true; name the field that does: --truth FIELD"
            + f"; samples have {listing(near, 2)}" * bool(near)
        )
    # Wordings and models may be imported one by one, so a table need not allow a check by itself.
    valid, found = examined(FileTable(table), part=True, ours=True, named=Naming(sources))
    if errors := [*found.of_options, *found.of_table]:
        raise SchemaError(errors, ", ".join(log.file for log in logs))
    return Imported(valid.frame(), mapped, unpaired, [*notes, *map(str, valid.notes)])


def _line_of(
    log: AnswerLog, fields: Mapping[str, str], line: Scale | None
) -> tuple[Scale | None, list[str]]:
    """Return the line that the beliefs of a log are on, with notes; refuse what may be another."""
    stated = {column: name for column, name in fields.items() if is_belief(column)}
    # Shares of log-likelihoods are probabilities whatever the question asked for.
    if line is None or any(name.startswith(SHARE) for name in stated.values()):
        return None, []
    cells = [record.get(name) for record in log.records for name in stated.values()]
    n_read, notes = sum(isinstance(cell, Probability) for cell in cells), list[str]()
    if n_read:
        notes = [
            f"{log.file}: {n_read} of {len(cells)} beliefs were read by the side question itself, "
            "and are probabilities whatever the scale"
        ]
    if n_read == len(cells):
        return None, notes
    names = ", ".join(stated.values())
    if line is not PERCENT:
        return line, [*notes, f"{names} was read on the scale {line}: {line.described()}"]
    bare = stated_numbers(log, stated.values())
    error, doubts = doubt_percent(repr(", ".join(stated)), bare, several=len(stated) > 1)
    if error:
        raise InputError(f"{log.file}: {error}")
    return line, [*notes, *(f"{log.file}: {doubt}" for doubt in doubts)]


def _as_file(answers: pd.DataFrame, positive: str | None) -> pd.DataFrame:
    """Lay answers out as a file of objects has them, in the schema's order; theta is 0 or 1."""
    if KIND not in answers:
        known = answers.reindex(columns=["theta", EXACT]).notna().any(axis=1)
        answers[KIND] = known.map({True: RECORDED, False: None})
    places = {name: place for place, name in enumerate(COLUMN_NAMES)}
    of_family = places["p_z_true"]
    names = [name for name in map(str, answers) if name in places or _is_family(name)]
    if "theta" in names and not any(map(is_state, names)):  # of several states labels are needed
        answers["theta"] = _zero_or_one(answers["theta"], positive)
    # What was asked keeps its column even if no answer could be read; what the logs do not have is
    # no column at all.
    return pd.DataFrame(
        {
            name: column_of(answers[name].tolist())
            for name in sorted(names, key=lambda name: places.get(name, of_family))
            if is_belief(name) or name in ("action", "status") or answers[name].notna().any()
        }
    )


def _is_family(name: str) -> bool:
    return is_state(name) or name.startswith(FEATURE_PREFIX)


def _zero_or_one(cells: Cells, positive: str | None) -> Cells:
    """Turn labels of the realised state into 1 for the positive one and 0 for the others."""
    labels = cells.map(str, na_action="ignore")
    seen = [*labels.dropna().unique()]
    codes = zero_or_one(seen, positive, name="theta") if seen else ()
    if codes is None:
        shown = listing((repr(label[:40]) for label in seen), 6)
        raise InputError(
            f"theta has the labels {shown}, and nothing says whose probability p is. "
            "Name that label (--positive LABEL), or name another field as --truth."
        )
    return labels.map(dict(zip(seen, codes, strict=True))).astype("Int64").astype(object)


def _split_by_task(
    logs: Sequence[AnswerLog], belief_tasks: Sequence[str], action_tasks: Sequence[str]
) -> tuple[list[AnswerLog], list[AnswerLog]]:
    """Part logs into those of beliefs and those of actions."""
    tasks = [*dict.fromkeys(log.name for log in logs)]
    for option, names in (("belief_task", belief_tasks), ("action_task", action_tasks)):
        if unknown := [name for name in names if name not in tasks]:
            raise InputError(
                f"{option}: no log has the task {unknown[0]!r}. {closest(unknown[0], tasks)}"
            )
    if both := {*belief_tasks} & {*action_tasks}:
        raise InputError(
            f"task {min(both)!r} is named as belief_task and as action_task. "
            "If one log holds both, name its field: --action FIELD."
        )
    # What is not named takes the role that is left, if only one way is possible.
    rest = [name for name in tasks if name not in (*belief_tasks, *action_tasks)]
    beliefs, actions = [*belief_tasks] or rest, [*action_tasks] or (rest if belief_tasks else [])
    if len(rest) > 1 and all({"action", "answer"} <= {*log.fields} for log in logs):
        raise InputError(
            f"{listing(map(repr, rest))} hold beliefs and actions each, and one import is of one "
            "task. Import each log by itself (--out, a table each), and analyse the tables one by "
            "one, or together in Python: coherence.analyze(pandas.concat(tables))."
        )
    if rest and ((belief_tasks and action_tasks) or (len(rest) > 1 and not action_tasks)):
        raise InputError(
            f"nothing says what {', '.join(map(repr, rest))} asked for: "
            "name the tasks of beliefs (--belief-task NAME) and of actions (--action-task NAME)."
        )
    if not beliefs or len(actions) > 1:
        raise InputError(
            "there must be a task of beliefs, and one of actions at most; received "
            f"{listing(map(repr, beliefs)) or 'none'} and {listing(map(repr, actions))}. Give the "
            "log of beliefs too; import several tasks of actions into one table each."
        )
    # The first wording is the one whose rows get the actions, so the order is the user's.
    ordered = [log for name in dict.fromkeys(beliefs) for log in logs if log.name == name]
    return ordered, [log for log in logs if log.name in actions]


def _states_of(mapping: Mapping[str, str], logs: Sequence[AnswerLog]) -> dict[str, str]:
    """Return fields by column, of beliefs A,B each by its state; raise if no log has one."""
    names = names_of(dict.fromkeys(log.field_names) for log in logs)
    fields = dict(mapping)
    several = [part.strip() for part in fields.get("p", "").split(",")]
    if len(several) > 1 and fields["p"] not in names:
        columns = state_columns(several, pd.Series(told_apart(several)[0]))
        del fields["p"]
        fields |= {state: name for name, state in columns.items()}
    for column, name in fields.items():
        if column == "status":
            raise InputError("status is that of reading the answers. Leave it out.")
        if name not in (*names, LEFT_OUT):
            raise InputError(
                f"no log has the field {name!r} to use as {column!r}. {closest(name, names)}"
            )
    return fields


def _fields(
    log: AnswerLog,
    mapping: Mapping[str, str],
    positive: str | None,
    of_beliefs: bool,
    has_actions: bool,
) -> dict[str, str]:
    """Return column -> field: as the user says where the log can serve it, else as the format.

    A log of `of_beliefs` has no action where another one has.
    """
    fields, wanted = dict(log.fields), dict(mapping)
    answer = fields.pop("answer", None)
    if not of_beliefs:
        fields = {column: fields[column] for column in _FROM_ACTION_LOGS if column in fields}
        fields |= {} if answer is None else {"action": answer}
        wanted = {column: name for column, name in mapping.items() if not is_belief(column)}
    elif any(map(is_belief, mapping)):
        for column in [column for column in fields if is_belief(column)] + ["answer_mass"]:
            fields.pop(column, None)
    elif log.states:
        fields |= _shares(log, positive)
    elif answer is not None and answer not in log.labels:
        fields["p"] = answer
    if of_beliefs and mapping.get("theta", LEFT_OUT) not in (LEFT_OUT, fields.get("theta")):
        fields.pop(EXACT, None)  # it is the posterior of another state
    unwanted = {"action", "raw_action"} if of_beliefs and has_actions else set()
    names = (*log.field_names, LEFT_OUT)
    wanted = {column: name for column, name in wanted.items() if column not in unwanted}
    for column, name in wanted.items():
        # Of several logs one may lack a fact, but not the answer nor what it is joined by.
        needed = is_belief(column) or column in ("action", "context")
        if needed and name not in names:
            raise InputError(
                f"{log.file}: no field {name!r} to use as {column!r}. {closest(name, names)}"
            )
        if is_belief(column) and name in log.grades:
            raise InputError(
                f"{log.file}: {name} says how right an answer is, and is no belief; received it to "
                f"use as {column!r}. Name the answer, such as --belief resps, where need be with "
                "--belief-pattern."
            )
    fields |= {column: name for column, name in wanted.items() if name in names}
    fields = {c: name for c, name in fields.items() if name != LEFT_OUT and c not in unwanted}
    if any(map(is_belief, fields)) if of_beliefs else "action" in fields:
        return fields
    role, near = ("belief", "probability") if of_beliefs else ("action", "action")
    # Shares of choices that differ between documents are beliefs in nothing.
    held = [name for name in log.field_names if not name.startswith(SHARE)]
    raise InputError(
        f"{log.file}: nothing says which field holds the {role}. {closest(near, held)} "
        f"Name it: --{role} FIELD."
    )


def _shares(log: AnswerLog, positive: str | None) -> dict[str, str]:
    """Return the shares of scored states: with a positive state one number, else a column each."""
    # Yes against one other: of three, the belief in Yes would leave two unsaid.
    likely = [state for state in log.states if folded(state) in YES]
    if positive is not None:
        likely = [named_state(log.states, positive, name="the states that were scored")]
    if len(likely) == 1 and (positive is not None or len(log.states) == 2):
        return {"p": f"{SHARE}{likely[0]}"}
    shares = {f"{STATE_PREFIX}{name}": f"{SHARE}{name}" for name in log.states}
    # A state called 'true' would fill p_true, the exact posterior.
    if clash := [column for column in shares if column in COLUMN_NAMES]:
        raise InputError(
            f"{log.file}: state {clash[0][2:]!r} would make the column {clash[0]!r}, "
            "which means something else. Name --positive LABEL."
        )
    return shares


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
    columns = ["task", "model", "prompt", "context"]
    question, known = filled(rows.reindex(columns=[*columns, "rep"])), rows["context"].notna()
    nth = question.groupby(columns, dropna=False, sort=False).cumcount()
    reps = question["rep"].mask(known & (question["rep"].isna() | counts), nth)
    numbered = pd.Series(numbers(reps).values)
    # A fraction is some other field, taken for repetitions.
    wrong = known & (numbered % 1 != 0)
    if wrong.any():
        where = f"{reps[wrong].iloc[0]!r} in context {rows['context'][wrong].iloc[0]!r}"
        raise InputError(
            f"rep must be a whole number; received {where}. Name another field: --rep FIELD."
        )
    rows["rep"] = question["rep"] = numbered.astype("Int64").astype(object).where(known, reps)
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
        for name, n_unlike in [*differ.items()]:
            moved = bool(other[name][unlike[name]].isin(ours[name]).any())
            wrong = moved and name in own and own.isdisjoint(tell)
            if name == HASH:
                wrong = moved or own.isdisjoint(tell) or n_unlike < len(one)
            elif name in self.truths:  # of labels that the other log has as well
                wrong = bool(theirs[name].isin(ours[name].dropna()).any())
                if not wrong:  # of other labels, as those of actions, nothing can be said
                    del differ[name]
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
    asks = beliefs["prompt"].map(lambda prompt: prompt == reference)  # others ask for it alone
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
    # So is an action that is missing where it was asked for.
    others = partners["status"].where(~asks | partners["status"].notna(), "unparsed")
    rows["status"] = [
        worst([str(status)] if pd.isna(other) else [str(status), str(other)])
        for status, other in zip(beliefs["status"], others, strict=True)
    ]
    more = chosen.loc[rest].assign(prompt=reference)
    more["status"] = [worst(["unparsed", str(status)]) for status in more["status"]]
    return filled(pd.concat([rows, more], ignore_index=True)), lines, notes
