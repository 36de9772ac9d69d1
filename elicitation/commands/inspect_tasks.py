"""Our questions as tasks of Inspect: ``inspect eval belief_coherence/beliefs_and_actions``.

A sample is one question, asked in a context of its own. Inspect asks it, by any of its providers;
the scorer reads the answer as ``coherence elicit`` does, and the log has all that it takes to make
the runs table (``coherence analyze logs/*.eval``).
"""

import json
from typing import Any

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import GenerateConfig
from inspect_ai.scorer import (
    Score,
    Scorer,
    Target,
    mean,
    scorer,
)
from inspect_ai.solver import Generate, Solver, TaskState, solver

# Inspect's own --temperature and --max-tokens have their place on its command line.
_TAKEN = (
    *("target", "contexts", "reps", "prompts", "iterated", "belief", "draws", "seed"),
    *("phrases", "positive", "records", "min_records", "decision", "levels"),
)
# Inspect imports this module at every start: what is heavy waits for a task that is made.


@task(name="belief_coherence/beliefs_and_actions")
def beliefs_and_actions(
    network: str = "asia", task_file: str | None = None, **options: Any
) -> Task:
    """Beliefs under prompt variants, actions, and the questions of iterated expectation.

    Other options are those of ``coherence elicit``, but for what Inspect itself decides on.
    """
    from coherence.errors import InputError, closest
    from elicitation.declarations import from_table
    from elicitation.inspect_logs import belief_samples
    from elicitation.options import AskOptions
    from elicitation.respondents import design_of, plan_of, source_of

    for key in options:
        if key not in _TAKEN:
            raise InputError(f"{key} is unknown. {closest(key, _TAKEN)}")
    if options.get("belief") == "token":
        raise InputError(
            "belief must be verbalised or sampled in Inspect; received 'token'. "
            "coherence elicit reads probabilities of labels."
        )
    is_table = task_file is not None and task_file.lower().endswith((".csv", ".jsonl"))
    subject = {"questions": task_file} if is_table else {"task": task_file or network}
    asked = from_table(AskOptions, {**subject, **options})
    plan = plan_of(asked, source_of(asked), design_of(asked))
    # Whole numbers in the order of the plan: a log may hold them in another order.
    samples = [
        Sample(input=question.text, id=number, metadata=metadata)
        for number, (question, metadata) in enumerate(belief_samples(plan), start=1)
    ]
    room = max(question.request.max_new_tokens for question in plan.questions)
    return Task(
        dataset=MemoryDataset(samples, name="belief_coherence/beliefs_and_actions"),
        solver=answer_once(),
        scorer=reading(),
        config=GenerateConfig(temperature=1.0, max_tokens=room),
    )


@solver(name="belief_coherence/answer_once")
def answer_once() -> Solver:
    """Ask a question, with the seed that ``coherence elicit`` would give it."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        # Each epoch is a further repetition, and needs a seed of its own.
        known = json.loads(state.metadata["question"])
        return await generate(state, seed=known["seed"] + state.epoch - 1)

    return solve


@scorer(metrics=[mean()], name="belief_coherence/reading")
def reading() -> Scorer:
    """Read an answer as ``coherence`` does: 1 where it has a value, else 0."""

    async def score(state: TaskState, target: Target) -> Score:
        from coherence.runs.logs.inspect_log import FINISH_REASONS
        from elicitation.inspect_logs import Replied
        from elicitation.models.base import Answer

        output = state.output
        ended = str(output.stop_reason) if output.choices else ""
        reason = FINISH_REASONS.get(ended, ended) or None
        answer = Answer(output.completion, finish_reason=reason)
        replied = Replied.of(state.metadata, state.input_text, state.epoch - 1, answer)
        read = replied.read().parsed
        return Score(
            value=float(read.value is not None),
            answer=None if read.value is None else str(read.value),
            explanation=read.status,
            # An answer of a run that is gone on with comes back as its score alone.
            metadata={"output": output.completion, "finish_reason": reason},
        )

    return score
