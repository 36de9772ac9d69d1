import pytest

from coherence import InputError
from coherence.importing.log_format import AnswerLog
from coherence.importing.mapping import split_by_task


def logs(*tasks):
    return [AnswerLog(f"{task}.jsonl", task, None, (), {}) for task in tasks]


def split(tasks, belief=(), action=()):
    parts = split_by_task(logs(*tasks), belief_tasks=belief, action_tasks=action)
    return tuple([log.name for log in part] for part in parts)


@pytest.mark.parametrize(
    ("belief", "action", "expected"),
    [
        (["b", "c"], ["a"], (["b", "c"], ["a"])),
        (["c", "b"], ["a"], (["c", "b"], ["a"])),
        ([], ["a"], (["b", "c"], ["a"])),
        (["b", "c"], [], (["b", "c"], ["a"])),
        (["b", "a", "c"], [], (["b", "a", "c"], [])),
    ],
)
def test_tasks_that_are_not_named_take_the_role_that_is_left(belief, action, expected):
    assert split(["a", "b", "c"], belief, action) == expected


def test_a_task_alone_is_of_beliefs_and_its_files_stay_together():
    assert split(["a"]) == (["a"], [])
    assert split(["a", "a", "b"], ["a"]) == (["a", "a"], ["b"])


@pytest.mark.parametrize(
    ("belief", "action", "message"),
    [
        ([], [], "nothing says what 'a', 'b', 'c' asked for"),
        (["a"], [], "nothing says what 'b', 'c' asked for"),
        (["a"], ["b"], "nothing says what 'c' asked for"),
        ([], ["a", "b", "c"], "there is no task of beliefs"),
        (["a"], ["b", "c"], "one task of actions; received 'b', 'c'"),
        (["a", "b"], ["b", "c"], "task 'b' is named as belief_task and as action_task"),
        (["d"], [], "belief_task: no log has the task 'd'"),
        (["a"], ["d"], "action_task: no log has the task 'd'"),
    ],
)
def test_roles_that_are_not_clear_are_asked_for(belief, action, message):
    with pytest.raises(InputError, match=message):
        split(["a", "b", "c"], belief, action)
