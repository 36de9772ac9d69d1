"""Make inspect_*.eval and inspect_letters.json with Inspect itself and its mock model.

Run with inspect_ai 0.3.285 on Python 3.11, from this folder: ``python make_inspect_logs.py``. Two
tasks with 18 samples and two epochs, in the packed format, and a multiple-choice task with 4
samples and one epoch in JSON; some answers are off the form on purpose. The logs are scrubbed:
Inspect's records of the source repository, the files, the arguments, the times, the events and the
random ids are dropped or replaced by fixed words before Inspect's own writer writes the files
again.
"""

import tempfile
from pathlib import Path
from typing import Any

from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.log import EvalLog, read_eval_log, write_eval_log
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import choice, match
from inspect_ai.solver import multiple_choice
from rain_study import CASES, REPS, Case

LOGS = Path(__file__).parents[2] / "tests" / "golden"
_WHEN = "2026-01-05T12:00:00+00:00"


def _sample(case: Case, question: str, **more: Any) -> Sample:
    metadata = {"p_true": case.p_true, "x_humidity": case.humidity, "x_pressure": case.pressure}
    return Sample(
        id=f"evening-{case.number:02d}",
        input=question,
        metadata=metadata,
        **{"target": "Yes" if case.rained else "No", **more},
    )


def _output(text: str) -> ModelOutput:
    output = ModelOutput.from_content("mockllm/model", text)
    output.usage = ModelUsage(
        input_tokens=30, output_tokens=3, total_tokens=33
    )  # left out, Inspect would look for a tokenizer on the web
    return output


def _tasks() -> dict[str, tuple[Task, int, list[str]]]:
    """Task, epochs and answers by the file's name; each epoch runs over all samples."""
    turns = [(rep, case) for rep in range(REPS) for case in CASES]
    letters = [
        _sample(
            case,
            case.evidence,
            choices=["take the umbrella", "leave it"],
            target="A" if case.rained else "B",
        )
        for case in CASES[:4]
    ]
    return {
        "inspect_belief.eval": (
            Task(
                dataset=[_sample(case, case.belief_question) for case in CASES],
                scorer=match(),
                name="rain_belief",
            ),
            REPS,
            [case.belief(rep) for rep, case in turns],
        ),
        "inspect_action.eval": (
            Task(
                dataset=[_sample(case, case.action_question) for case in CASES],
                scorer=match(),
                name="rain_action",
            ),
            REPS,
            [case.action(rep) for rep, case in turns],
        ),
        "inspect_letters.json": (
            Task(dataset=letters, solver=multiple_choice(), scorer=choice(), name="rain_letters"),
            1,
            ["ANSWER: A", "ANSWER: B", "ANSWER: C", "B"],
        ),
    }


def _scrubbed(log: EvalLog) -> EvalLog:
    log.eval.run_id, log.eval.eval_id, log.eval.task_id, log.eval.eval_set_id = (
        "run",
        "eval",
        "task",
        None,
    )
    log.eval.created = log.stats.started_at = log.stats.completed_at = _WHEN
    log.eval.revision, log.eval.task_file, log.eval.model_args = None, None, {}
    log.eval.metadata, log.eval.task_args, log.eval.task_args_passed = None, {}, {}
    log.eval.dataset.location = None
    for sample in log.samples or []:
        sample.uuid, sample.events, sample.attachments, sample.store = (
            f"{sample.id}-{sample.epoch}",
            [],
            {},
            {},
        )
        sample.started_at = sample.completed_at = _WHEN
        sample.total_time = sample.working_time = sample.output.time = 1.0
        sample.events_data = None
        for message in [*sample.messages, *(answer.message for answer in sample.output.choices)]:
            message.id = "message"
        for score in (sample.scores or {}).values():
            score.history = []
    return log


def main() -> None:
    """Run the tasks and write the logs."""
    for name, (task, epochs, answers) in _tasks().items():
        with tempfile.TemporaryDirectory() as folder:
            model = get_model(
                "mockllm/model", custom_outputs=[_output(text) for text in answers], memoize=False
            )
            (done,) = eval(
                task,
                model=model,
                epochs=epochs,
                log_dir=folder,
                max_samples=1,
                max_connections=1,
                display="none",
            )
            log = read_eval_log(done.location)
        if log.status != "success":
            raise SystemExit(f"{name}: {log.error}")
        write_eval_log(_scrubbed(log), str(LOGS / name))


if __name__ == "__main__":
    main()
