"""Which logs hold beliefs and which hold actions, told by the tasks that they answer."""

from collections.abc import Sequence

from coherence.errors import InputError, closest
from coherence.importing.answer_log import AnswerLog


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
