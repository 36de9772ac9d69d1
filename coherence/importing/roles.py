"""Which logs hold beliefs, which hold actions, and which of their fields become which columns."""

from collections.abc import Mapping, Sequence

from coherence.errors import InputError, closest
from coherence.importing.answer_log import AnswerLog
from coherence.importing.states import positive_state
from coherence.table.schema import COLUMN_NAMES, FEATURE_PREFIX

LEFT_OUT = "-"
"""Stands for no field: a column that the format would fill is left out."""
# The target of an action log may be the right action, and is not taken for the state.
_OF_ACTION = ("action", "raw_action")
_FROM_ACTION_LOGS = ("task", "model", "context", "rep", "action", "raw_action", "status")


def assign_roles(
    logs: Sequence[AnswerLog], *, belief_tasks: Sequence[str], action_tasks: Sequence[str]
) -> tuple[list[AnswerLog], list[AnswerLog]]:
    """Part logs into those of beliefs and those of actions.

    Parameters
    ----------
    logs : sequence of AnswerLog
        All logs.
    belief_tasks, action_tasks : sequence of str
        Names of tasks. If one of the two is empty, the tasks that the other does not name take its
        place; if both are, there must be one task only, and it is of beliefs.

    Returns
    -------
    tuple of two lists
        Logs of beliefs, in the order of `belief_tasks`, and logs of actions.

    Raises
    ------
    InputError
        A name is unknown or has both roles, a task has none, or there is no belief or more than one
        action task.
    """
    tasks = list(dict.fromkeys(log.name for log in logs))
    for option, names in (("belief_task", belief_tasks), ("action_task", action_tasks)):
        for name in names:
            if name not in tasks:
                raise InputError(f"{option}: no log has the task {name!r}. {closest(name, tasks)}")
    both = [name for name in belief_tasks if name in action_tasks]
    if both:
        raise InputError(
            f"task {both[0]!r} is named as belief_task and as action_task. If one log holds both, map its field: --map action=FIELD."
        )
    rest = [name for name in tasks if name not in (*belief_tasks, *action_tasks)]
    beliefs, actions = list(dict.fromkeys(belief_tasks)), list(dict.fromkeys(action_tasks))
    if rest and not beliefs and (actions or len(rest) == 1):
        beliefs = rest
    elif rest and beliefs and not actions and len(rest) == 1:
        actions = rest
    elif rest:
        listed = ", ".join(map(repr, rest))
        raise InputError(
            f"nothing says what {listed} asked for: name the tasks of beliefs (--belief-task NAME) and of actions (--action-task NAME)."
        )
    if not beliefs:
        raise InputError(
            "there is no task of beliefs. Give its log too; a runs table needs beliefs."
        )
    if len(actions) > 1:
        raise InputError(
            f"there must be one task of actions; received {', '.join(map(repr, actions))}. Import them into one table each."
        )
    ordered = [log for name in beliefs for log in logs if log.name == name]
    return ordered, [log for log in logs if log.name in actions]


def check_mapping(mapping: Mapping[str, str], logs: Sequence[AnswerLog]) -> None:
    """Raise if a mapped column or field does not exist.

    Parameters
    ----------
    mapping : mapping of str to str
        Column of the runs table -> field.
    logs : sequence of AnswerLog
        All logs.

    Raises
    ------
    InputError
        The column is none of the runs table, or no log has the field; the message names the nearest
        one.
    """
    names = list(dict.fromkeys(name for log in logs for name in log.field_names()))
    for column, field in mapping.items():
        if field == LEFT_OUT:
            continue
        if column not in COLUMN_NAMES and not column.startswith((FEATURE_PREFIX, "p_")):
            raise InputError(
                f"map names {column!r}, which is no column of the runs table. {closest(column, COLUMN_NAMES)}"
            )
        if field not in names:
            raise InputError(
                f"map: no log has the field {field!r} to use as {column!r}. {closest(field, names)}"
            )


def belief_fields(
    log: AnswerLog, mapping: Mapping[str, str], positive: str | None, *, with_action: bool
) -> dict[str, str]:
    """Return column -> field for a log of beliefs.

    Parameters
    ----------
    log : AnswerLog
        The log.
    mapping : mapping of str to str
        The user's wishes, which come first.
    positive : str or None
        State whose probability p is.
    with_action : bool
        Whether a mapped action is meant for this log, because no log of actions is there.

    Returns
    -------
    dict
        With ``p``, or one ``p_<state>`` per state.

    Raises
    ------
    InputError
        Nothing says where the belief is, or a mapped field is missing from this log.
    """
    fields = {column: field for column, field in log.fields.items() if column != "answer"}
    mine = _found(
        log, mapping, [column for column in mapping if with_action or column not in _OF_ACTION]
    )
    if any(is_belief(column) for column in mine):
        fields = {
            column: field
            for column, field in fields.items()
            if not is_belief(column) and column != "answer_mass"
        }
    elif log.states:
        state = positive_state(log.states, positive)
        shares = (
            {f"p_{name}": f"probability.{name}" for name in log.states}
            if state is None
            else {"p": f"probability.{state}"}
        )
        clash = [column for column in shares if column in COLUMN_NAMES and column != "p"]
        if clash:
            raise InputError(
                f"{log.file}: state {clash[0][2:]!r} would make the column {clash[0]!r}, which means something else. Name --positive LABEL."
            )
        fields |= shares
    elif "answer" in log.fields and not log.states_scored:
        fields["p"] = log.fields["answer"]
    fields = {
        column: field
        for column, field in (fields | mine).items()
        if field != LEFT_OUT and (with_action or column not in _OF_ACTION)
    }
    if not any(is_belief(column) for column in fields):
        raise InputError(
            f"{log.file}: nothing says which field holds the belief. {closest('probability', log.field_names())} Map it: --map p=FIELD."
        )
    return fields


def action_fields(log: AnswerLog, mapping: Mapping[str, str]) -> dict[str, str]:
    """Return column -> field for a log of actions.

    Parameters
    ----------
    log : AnswerLog
        The log.
    mapping : mapping of str to str
        The user's wishes, which come first.

    Returns
    -------
    dict
        With ``action``.

    Raises
    ------
    InputError
        Nothing says where the action is, or a mapped field is missing from this log.
    """
    fields = {column: field for column, field in log.fields.items() if column in _FROM_ACTION_LOGS}
    if "answer" in log.fields:
        fields["action"] = log.fields["answer"]
    fields |= _found(log, mapping, [column for column in mapping if not is_belief(column)])
    fields = {column: field for column, field in fields.items() if field != LEFT_OUT}
    if "action" not in fields:
        raise InputError(
            f"{log.file}: nothing says which field holds the action. {closest('action', log.field_names())} Map it: --map action=FIELD."
        )
    return fields


def is_belief(column: str) -> bool:
    """Whether a column holds the stated belief: ``p`` or ``p_<state>``."""
    return column == "p" or (column.startswith("p_") and column not in COLUMN_NAMES)


def _found(log: AnswerLog, mapping: Mapping[str, str], columns: Sequence[str]) -> dict[str, str]:
    """Return the part of a mapping that a log can serve; an answer and its context must not go missing from one of several logs."""
    names = (*log.field_names(), LEFT_OUT)
    for column in columns:
        if mapping[column] not in names and (is_belief(column) or column in ("action", "context")):
            raise InputError(
                f"{log.file}: no field {mapping[column]!r} to use as {column!r}. {closest(mapping[column], names[:-1])}"
            )
    return {column: mapping[column] for column in columns if mapping[column] in names}
