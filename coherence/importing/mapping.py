"""What the logs asked for, and which field becomes which column: as the user says, else the format.

Logs hold beliefs or actions, told by the tasks that they answer.
"""

import shlex
from collections.abc import Mapping, Sequence

from coherence.errors import InputError, closest
from coherence.importing.log_format import AnswerLog
from coherence.table.schema import COLUMN_NAMES, FEATURE_PREFIX, STATE_PREFIX, is_state
from coherence.table.states import KNOWN_PAIRS, folded

LEFT_OUT = "-"
"""Stands for no field: a column that the format would fill is left out."""
_OF_ACTION = ("action", "raw_action")
# The target of an action log may be the right action, and is not taken for the state.
_FROM_ACTION_LOGS = ("task", "model", "context", "rep", "action", "raw_action", "status")

KNOWN_LABELS = {label: code for pair in KNOWN_PAIRS for code, label in enumerate(pair)}
"""Label of the realised state that everybody understands -> whether it is theta = 1."""


def split_by_task(
    logs: Sequence[AnswerLog], *, belief_tasks: Sequence[str], action_tasks: Sequence[str]
) -> tuple[list[AnswerLog], list[AnswerLog]]:
    """Part logs into those of beliefs and those of actions."""
    tasks = list(dict.fromkeys(log.name for log in logs))
    for option, names in (("belief_task", belief_tasks), ("action_task", action_tasks)):
        for name in names:
            if name not in tasks:
                raise InputError(f"{option}: no log has the task {name!r}. {closest(name, tasks)}")
    both = [name for name in belief_tasks if name in action_tasks]
    if both:
        raise InputError(
            f"task {both[0]!r} is named as belief_task and as action_task. "
            "If one log holds both, map its field: --map action=FIELD."
        )
    # What is not named takes the role that is left, if only one way is possible.
    rest = [name for name in tasks if name not in (*belief_tasks, *action_tasks)]
    beliefs, actions = list(dict.fromkeys(belief_tasks)), list(dict.fromkeys(action_tasks))
    if rest and not beliefs and (actions or len(rest) == 1):
        beliefs = rest
    elif rest and beliefs and not actions and len(rest) == 1:
        actions = rest
    elif rest:
        listed = ", ".join(map(repr, rest))
        raise InputError(
            f"nothing says what {listed} asked for: "
            "name the tasks of beliefs (--belief-task NAME) and of actions (--action-task NAME)."
        )
    if not beliefs:
        raise InputError(
            "there is no task of beliefs. Give its log too; a runs table needs beliefs."
        )
    if len(actions) > 1:
        raise InputError(
            f"there must be one task of actions; received {', '.join(map(repr, actions))}. "
            "Import them into one table each."
        )
    # The first wording is the one whose rows get the actions, so the order is the user's.
    ordered = [log for name in beliefs for log in logs if log.name == name]
    return ordered, [log for log in logs if log.name in actions]


def check_mapping(mapping: Mapping[str, str], logs: Sequence[AnswerLog]) -> None:
    """Raise if a mapped column or field does not exist."""
    names = list(dict.fromkeys(name for log in logs for name in log.field_names))
    # Columns first: a misspelt column is the likelier typo, and its field may exist nowhere.
    for column, field in mapping.items():
        if field == LEFT_OUT:
            continue
        if column not in COLUMN_NAMES and not column.startswith((FEATURE_PREFIX, STATE_PREFIX)):
            raise InputError(
                f"map names {column!r}, which is not a column of the runs table. "
                f"{closest(column, COLUMN_NAMES)}"
            )
        if field not in names:
            raise InputError(
                f"map: no log has the field {field!r} to use as {column!r}. {closest(field, names)}"
            )


def belief_fields(
    log: AnswerLog, mapping: Mapping[str, str], positive: str | None, *, with_action: bool
) -> dict[str, str]:
    """Return column -> field for a log of beliefs."""
    fields = {column: field for column, field in log.fields.items() if column != "answer"}
    wanted = [column for column in mapping if with_action or column not in _OF_ACTION]
    mapped = _mapped(log, mapping, wanted)
    if any(map(is_belief, mapped)):
        fields = {
            column: field
            for column, field in fields.items()
            if not is_belief(column) and column != "answer_mass"
        }
    elif log.states:
        # With a positive state the belief is one number, else one column per state.
        state = positive_state(log.states, positive)
        if state is None and len(log.states) == 1:
            raise InputError(
                f"{log.file}: one continuation was scored, {log.states[0]!r}, and nothing says "
                "whether it is the state whose probability p is. If it is: --positive "
                f"{shlex.quote(log.states[0])}."
            )
        shares = (
            {f"p_{name}": f"probability.{name}" for name in log.states}
            if state is None
            else {"p": f"probability.{state}"}
        )
        # A state called 'true' would fill p_true, the exact posterior.
        clash = [column for column in shares if column in COLUMN_NAMES and column != "p"]
        if clash:
            raise InputError(
                f"{log.file}: state {clash[0][2:]!r} would make the column {clash[0]!r}, "
                "which means something else. Name --positive LABEL."
            )
        fields |= shares
    elif "answer" in log.fields and not log.states_scored:
        fields["p"] = log.fields["answer"]
    fields = {
        column: field
        for column, field in (fields | mapped).items()
        if field != LEFT_OUT and (with_action or column not in _OF_ACTION)
    }
    if not any(map(is_belief, fields)):
        raise InputError(
            f"{log.file}: nothing says which field holds the belief. "
            f"{closest('probability', log.field_names)} Map it: --map p=FIELD."
        )
    return fields


def action_fields(log: AnswerLog, mapping: Mapping[str, str]) -> dict[str, str]:
    """Return column -> field for a log of actions."""
    # Evidence and posterior stand in the belief log too; from here they could only contradict it.
    fields = {column: field for column, field in log.fields.items() if column in _FROM_ACTION_LOGS}
    if "answer" in log.fields:
        fields["action"] = log.fields["answer"]
    fields |= _mapped(log, mapping, [column for column in mapping if not is_belief(column)])
    fields = {column: field for column, field in fields.items() if field != LEFT_OUT}
    if "action" not in fields:
        raise InputError(
            f"{log.file}: nothing says which field holds the action. "
            f"{closest('action', log.field_names)} Map it: --map action=FIELD."
        )
    return fields


def positive_state(states: Sequence[str], positive: str | None) -> str | None:
    """Return the state whose probability p is."""
    if positive is not None:
        named = [state for state in states if folded(state) == folded(positive)]
        if not named:
            raise InputError(
                f"positive must be one of the states that were scored; received {positive!r}. "
                f"{closest(positive, states)}"
            )
        return named[0]
    # Yes alone, or against one other: of three, the belief in Yes would leave two unsaid.
    likely = [state for state in states if KNOWN_LABELS.get(folded(state)) == 1]
    return likely[0] if len(likely) == 1 and len(states) <= 2 else None


def is_belief(column: str) -> bool:
    """Whether a column holds the stated belief: ``p`` or ``p_<state>``."""
    return column == "p" or is_state(column)


def _mapped(log: AnswerLog, mapping: Mapping[str, str], columns: Sequence[str]) -> dict[str, str]:
    """Return the part of a mapping that a log can serve."""
    names = log.field_names
    known = {column: mapping[column] for column in columns if mapping[column] in (*names, LEFT_OUT)}
    for column in columns:
        # Of several logs one may lack a fact, but not the answer nor what it is joined by.
        if column not in known and (is_belief(column) or column in ("action", "context")):
            raise InputError(
                f"{log.file}: no field {mapping[column]!r} to use as {column!r}. "
                f"{closest(mapping[column], names)}"
            )
    return known
