"""From logs to the runs table: fields become columns, and actions are joined to their beliefs.

A log holds beliefs or actions, told by its task; which field becomes which column the user says,
else the format. An answer is known by task, model, context and repetition. Nothing is dropped: an
action whose belief was not asked keeps its row, without a belief; a belief without an action stays
a belief. Both are counted. The table is then read as a file's is.
"""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from unicodedata import normalize

import pandas as pd

from coherence.errors import InputError, SchemaError, closest, listing
from coherence.runs.cells import Cells
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
from coherence.runs.formats import ARRAY, FileTable, column_of
from coherence.runs.logs import inspect_log, lm_eval
from coherence.runs.logs.answers import AnswerForm, Probability, answers_of, stated_numbers
from coherence.runs.logs.joining import (
    LOG,
    RECORD,
    SampleCheck,
    compare_prompts,
    filled,
    joined,
    stacked,
)
from coherence.runs.logs.log_format import SHARE, AnswerLog, LogFormat, names_of
from coherence.runs.read import examined
from coherence.runs.roles import judge_percentages
from coherence.runs.runs import MEANT
from coherence.runs.several import state_columns, told_apart
from coherence.runs.states import YES, folded, named_state, zero_or_one
from coherence.runs.text_files import inner_suffix, read_array

LEFT_OUT = "-"
"""Stands for no field: a column that the format would fill is left out."""
_OF_ACTION = ("action", "raw_action")
# The target of an action log may be the right action, and is not taken for the state; evidence and
# posterior stand in the belief log too, and could only contradict it.
_FROM_ACTION_LOGS = ("task", "model", "context", "rep", *_OF_ACTION)


FORMATS = (inspect_log.FORMAT, lm_eval.FORMAT)


def format_of(paths: Sequence[Path]) -> LogFormat:
    """Return the one format of files: fields mean other things in each, and are mapped once."""
    first, *others = found = [_format_of(path) for path in paths]
    for path, other in zip(paths[1:], others, strict=True):
        if other != first:
            raise InputError(
                f"{path} is of the format {other.name}, {paths[0]} of the format {first.name}. "
                "Import files of different formats one by one."
            )
    return found[0]


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
    truths: dict[str, str] = {}  # field of what came true -> its column
    notes = [f"{log.file}: {note}" for log in (*beliefs, *actions) for note in log.notes]
    for log in (*beliefs, *actions):
        of_beliefs = log in beliefs
        fields, line = _fields(log, mapping, form.positive, of_beliefs, bool(actions)), None
        if of_beliefs:
            if EXACT in log.fields and EXACT not in fields and EXACT not in mapping:
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
        rows = answers_of(log, fields, replace(form, line=line))
        prompt = {"prompt": log.name if several else None} if of_beliefs else {}
        known = _known(rows, log, task=beliefs[0].task, model=log.model or model, **prompt)
        (stated if of_beliefs else chosen).append(known)
    # Contexts that gather samples make the log's own numbers repeat within them.
    counts = "context" in mapping and "rep" not in mapping
    answers, unpaired = stacked(stated, counts=counts), list[str]()
    id_field = mapping.get("context", beliefs[0].fields.get("context", ""))
    check = SampleCheck(id_field, truths)
    notes += compare_prompts(answers, check)
    if actions:
        answers, unpaired, differ = joined(answers, stacked(chosen, counts=counts), check)
        notes += differ
    table = _as_file(answers.drop(columns=[RECORD, LOG]), form.positive)
    table.attrs[MEANT] = [*sources]  # they are what their names say, also where it is read again
    if "theta" not in {*table, *mapping}:
        notes.append(_no_truth(beliefs[0]))
    # Wordings and models may be imported one by one, so a table need not allow a check by itself.
    valid, found = examined(FileTable(table), part=True, ours=True, named=Naming(sources))
    if errors := [*found.of_options, *found.of_table]:
        raise SchemaError(errors, ", ".join(log.file for log in logs))
    return Imported(valid.frame(), mapped, unpaired, [*notes, *map(str, valid.notes)])


def _known(rows: pd.DataFrame, log: AnswerLog, **known: str | None) -> pd.DataFrame:
    """Return answers with what they are known by, and the records that they were read from."""
    cells: dict[str, Any] = {**known, "context": None, **filled(rows), LOG: log.name}
    table = pd.DataFrame({**cells, RECORD: [*log.records]}, rows.index, dtype=object)
    # One id may be written in two forms of Unicode.
    ids = [normalize("NFC", each) if isinstance(each, str) else each for each in table["context"]]
    return table.assign(context=ids)


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
    if line is not PERCENT:
        names = ", ".join(stated.values())
        return line, [*notes, f"{names} was read on the scale {line}: {line.described()}"]
    tallies = {column: stated_numbers(log, name) for column, name in stated.items()}
    errors, doubts = judge_percentages(tallies)
    if errors:
        raise InputError.all_at_once(log.file, errors)
    return line, [*notes, *(f"{log.file}: {doubt}" for doubt in doubts)]


def _no_truth(log: AnswerLog) -> str:
    """Say that a table has no theta, and which fields may hold it."""
    named = [
        name
        for name in log.field_names
        if name.startswith(("metadata.", "doc.")) and name not in log.fields.values()
    ]
    return (
        "no theta: nothing says what came true; name the field that does: --truth FIELD"
        + f"; samples have {listing(named, 2)}" * bool(named)
    )


def _as_file(answers: pd.DataFrame, positive: str | None) -> pd.DataFrame:
    """Lay answers out as a file of objects has them, in the schema's order; theta is 0 or 1."""
    if KIND not in answers:
        known = answers.reindex(columns=["theta", EXACT]).notna().any(axis=1)
        answers[KIND] = known.map({True: RECORDED, False: None})
    names = [name for name in map(str, answers) if name in COLUMN_NAMES or _is_family(name)]
    if "theta" in names and not any(map(is_state, names)):  # of several states labels are needed
        answers["theta"] = _zero_or_one(answers["theta"], positive)
    # What was asked keeps its column even if no answer could be read; what the logs do not have is
    # no column at all.
    return pd.DataFrame(
        {
            name: column_of(answers[name].tolist())
            for name in sorted(names, key=_place)
            if is_belief(name) or name in ("action", "status") or answers[name].notna().any()
        }
    )


def _is_family(name: str) -> bool:
    return is_state(name) or name.startswith(FEATURE_PREFIX)


def _place(name: str) -> int:
    return COLUMN_NAMES.index("p_z_true" if _is_family(name) else name)


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
        columns = state_columns(several, pd.Series(told_apart(several)))
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
    fields = {column: name for column, name in log.fields.items() if column != "answer"}
    answer, own_belief = log.fields.get("answer"), any(map(is_belief, mapping))
    if not of_beliefs:
        fields = {column: name for column, name in fields.items() if column in _FROM_ACTION_LOGS}
        fields |= {} if answer is None else {"action": answer}
    elif own_belief:
        without = [column for column in fields if is_belief(column)] + ["answer_mass"]
        fields = {column: name for column, name in fields.items() if column not in without}
    elif log.states:
        fields |= _shares(log, positive)
    elif answer is not None and answer not in log.labels:
        fields["p"] = answer
    if of_beliefs and mapping.get("theta", LEFT_OUT) not in (LEFT_OUT, fields.get("theta")):
        fields.pop(EXACT, None)  # it is the posterior of another state
    names = (*log.field_names, LEFT_OUT)
    unwanted = set(_OF_ACTION) if of_beliefs and has_actions else set()
    wanted = {
        column: name
        for column, name in mapping.items()
        if column not in unwanted and (of_beliefs or not is_belief(column))
    }
    for column, name in wanted.items():
        # Of several logs one may lack a fact, but not the answer nor what it is joined by.
        if name not in names and (is_belief(column) or column in ("action", "context")):
            raise InputError(
                f"{log.file}: no field {name!r} to use as {column!r}. {closest(name, names)}"
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
    states = log.states
    if positive is not None:
        state = named_state(states, positive, name="the states that were scored")
        return {"p": f"{SHARE}{state}"}
    # Yes against one other: of three, the belief in Yes would leave two unsaid.
    likely = [state for state in states if folded(state) in YES]
    if len(likely) == 1 and len(states) == 2:
        return {"p": f"{SHARE}{likely[0]}"}
    shares = {f"{STATE_PREFIX}{name}": f"{SHARE}{name}" for name in states}
    # A state called 'true' would fill p_true, the exact posterior.
    if clash := [column for column in shares if column in COLUMN_NAMES]:
        raise InputError(
            f"{log.file}: state {clash[0][2:]!r} would make the column {clash[0]!r}, "
            "which means something else. Name --positive LABEL."
        )
    return shares
