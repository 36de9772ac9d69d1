"""Our questions as tasks of Inspect: ``inspect eval belief_coherence/beliefs_and_actions``.

A sample is one question, asked in a context of its own. Inspect asks it, by any of its providers;
the scorer reads the answer as ``coherence elicit`` does, and the log has all that it takes to make
the runs table (``coherence analyze logs/*.eval``).
"""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import GenerateConfig
from inspect_ai.scorer import (
    Metric,
    SampleScore,
    Score,
    Scorer,
    Target,
    mean,
    metric,
    scorer,
)
from inspect_ai.solver import Generate, Solver, TaskState, solver

# Inspect imports this module at every start: what is heavy waits for a task that is made.
if TYPE_CHECKING:
    from elicitation.commands.inspect_samples import Asked


@task(name="belief_coherence/beliefs_and_actions")
def beliefs_and_actions(
    network: str = "asia",
    task_file: str | None = None,
    target: str | None = None,
    contexts: int | None = None,
    reps: int = 5,
    prompts: str | Sequence[str] = ("standard", "mse", "absolute", "bayes"),
    iterated: bool = True,
    belief: str = "verbalised",
    draws: int = 20,
    seed: int = 0,
    phrases: str | None = None,
    positive: str | None = None,
    records: str | None = None,
    min_records: int | None = None,
) -> Task:
    """Beliefs under prompt variants, actions, and the questions of iterated expectation."""
    from argparse import Namespace

    from coherence.errors import InputError
    from elicitation.commands.elicit_options import design_of, plan_of, source_of
    from elicitation.commands.inspect_samples import BELIEFS, belief_samples

    if belief not in ("verbalised", "sampled"):
        raise InputError(
            f"belief must be verbalised or sampled in Inspect; received {belief!r}. "
            "coherence elicit reads probabilities of labels."
        )
    for name, value in (("contexts", contexts), ("reps", reps), ("draws", draws), ("seed", seed)):
        if value is not None and not isinstance(value, int):
            raise InputError(f"{name} must be a whole number; received {value!r}.")
    if not isinstance(iterated, bool):
        raise InputError(f"iterated must be true or false; received {iterated!r}.")
    if not prompts:
        raise InputError("prompts must name a wording, such as standard; received none.")
    is_table = task_file is not None and task_file.lower().endswith((".csv", ".jsonl"))
    args = Namespace(
        command="elicit",
        task=None if is_table else task_file or network,
        questions=task_file if is_table else None,
        target=target,
        contexts=contexts,
        reps=reps,
        prompts=prompts if isinstance(prompts, str) else ",".join(prompts),
        no_lie=not iterated,
        belief=belief,
        draws=draws,
        seed=seed,
        phrases=phrases,
        positive=positive,
        records=records,
        min_records=min_records,
        # Inspect's own --temperature and --max-tokens have their place on its command line.
        temperature=1.0,
        max_new_tokens=None,
        answers="drawn",
        min_mass=0.0,
    )
    plan = plan_of(args, source_of(args), design_of(args))
    return _task(BELIEFS, belief_samples(plan), temperature=1.0)


@task(name="belief_coherence/bets")
def bets(
    items: str | None = None,
    chance: float | None = None,
    stake: float | None = None,
    payout: float | None = None,
    seed: int = 0,
) -> Task:
    """Questions on values, bets and ladders; parameters as the options of ``coherence bets``."""
    from argparse import Namespace

    from elicitation.batteries.bets.words import ROOM
    from elicitation.commands.bets_questions import scored_questions
    from elicitation.commands.inspect_samples import BETS, bet_samples

    terms = Namespace(items=items, chance=chance, stake=stake, payout=payout)
    samples = bet_samples(scored_questions(terms), seed=seed, max_new_tokens=ROOM)
    return _task(BETS, samples, temperature=0.0)


@task(name="belief_coherence/mixing")
def mixing(draws: int = 100, seed: int = 0) -> Task:
    """Draws at given rates; parameters as the options of ``coherence mix``."""
    from coherence.errors import InputError
    from elicitation.commands.inspect_samples import MIXING, mixing_samples

    if draws < 1 or seed < 0:
        raise InputError(
            f"draws must be at least 1 and seed at least 0; received {draws} and {seed}."
        )
    return _task(MIXING, mixing_samples(draws=draws, seed=seed), temperature=1.0)


def _task(name: str, samples: "Sequence[Asked]", *, temperature: float) -> Task:
    # Whole numbers in the order of the plan: a log may hold them in another order.
    dataset = [
        Sample(input=asked.text, id=number, metadata=asked.metadata)
        for number, asked in enumerate(samples, start=1)
    ]
    room = max(asked.max_new_tokens for asked in samples)
    return Task(
        dataset=MemoryDataset(dataset, name=name),
        solver=answer_once(),
        scorer=reading(name),
        config=GenerateConfig(temperature=temperature, max_tokens=room),
    )


@solver(name="belief_coherence/answer_once")
def answer_once() -> Solver:
    """Ask a question, with the seed that ``coherence elicit`` would give it."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        # Each epoch is a further repetition, and needs a seed of its own.
        return await generate(state, seed=state.metadata["seed"] + state.epoch - 1)

    return solve


@metric(name="belief_coherence/rmse")
def rmse() -> Metric:
    """Square root of a mean: of squared errors, of those answers that have one."""

    def compute(scores: list[SampleScore]) -> float:
        values = [score.score.as_float() for score in scores]
        known = [value for value in values if not math.isnan(value)]
        return math.sqrt(math.fsum(known) / len(known)) if known else math.nan

    return compute


@scorer(metrics={"parsed": [mean()], "squared_error": [rmse()]}, name="belief_coherence/reading")
def reading(battery: str) -> Scorer:
    """Read an answer as ``coherence`` does: whether it has a value, and its error to `p_true`."""

    async def score(state: TaskState, target: Target) -> Score:
        from coherence.importing.inspect_log import FINISH_REASONS
        from elicitation.commands.inspect_samples import read_sample

        output = state.output
        ended = str(output.stop_reason) if output.choices else ""
        reason = FINISH_REASONS.get(ended, ended) or None
        value, status = read_sample(
            battery, state.metadata, state.input_text, output.completion, reason
        )
        return Score(
            value={
                "parsed": float(value is not None),
                "squared_error": _squared_error(value, state.metadata),
            },
            answer=None if value is None else str(value),
            explanation=status,
        )

    return score


def _squared_error(value: object, metadata: dict[str, Any]) -> float:
    """Return NaN where there is no error: of an action, or where the truth is not known."""
    truth = metadata.get("p_true")
    is_belief = metadata.get("kind") in ("belief", "conditional")
    if not is_belief or not isinstance(value, float) or truth is None:
        return math.nan
    return float((value - truth) ** 2)
