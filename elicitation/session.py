"""A session: the whole grid of questions put to a model, resumable at any moment, ending in a runs table.

Every answer goes to the store before it counts. A session that is started again with the same arguments finds what it has and asks the rest, so an
interruption costs at most one batch, and a finished session costs no question at all.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from bayesnets import Network, Phrases, load_network, load_phrases, sample_cases
from coherence.errors import InputError
from elicitation.decode import OK
from elicitation.models.base import Model
from elicitation.prompts import BELIEF
from elicitation.questions import number_draws, plan_questions
from elicitation.runs import assemble_runs, decode_answer
from elicitation.store import AnswerStore, Draw, StoredAnswer

Progress = Callable[[int, int], None]
"""Called with the number of answers at hand and the number needed; once at the start and after every batch."""


@dataclass(frozen=True)
class Task:
    """What is asked about: a network, its words, and a variable of it.

    Parameters
    ----------
    name : str
        Value of the `task` column.
    network : Network
        Source of cases and truth.
    phrases : Phrases
        The network in words.
    target : str
        The variable asked about; a belief is the probability of its positive state.
    """

    name: str
    network: Network
    phrases: Phrases
    target: str

    @classmethod
    def load(cls, name: str, *, target: str | None = None) -> "Task":
        """Load a network of the catalogue with its words.

        Parameters
        ----------
        name : str
            Name in the catalogue.
        target : str or None
            The variable asked about; None takes the one that the words name as usual.

        Returns
        -------
        Task
            Named after the network, and after the target where that is not the usual one.
        """
        network = load_network(name)
        phrases = load_phrases(name, network)
        usual = phrases.default_target
        chosen = usual if target is None else target
        return cls(name if chosen == usual else f"{name}:{chosen}", network, phrases, chosen)

    def cases(self, n: int, *, seed: int) -> pd.DataFrame:
        """Draw the contexts of a session.

        Parameters
        ----------
        n : int
            Number of contexts, positive.
        seed : int
            At least 0.

        Returns
        -------
        DataFrame
            As from ``bayesnets.sample_cases``.
        """
        if n < 1 or seed < 0:
            raise InputError(f"contexts must be positive and seed at least 0; received {n} and {seed}.")
        return sample_cases(self.network, self.target, n, target_state=self.phrases.positive(self.target), rng=np.random.default_rng(seed))


@dataclass(frozen=True)
class Tally:
    """What a session did.

    Parameters
    ----------
    asked, reused : int
        Answers that the model gave now, and that the store had.
    readable : int
        Answers with status `ok`, of all.
    """

    asked: int
    reused: int
    readable: int

    @property
    def total(self) -> int:
        """All answers of the session."""
        return self.asked + self.reused


def elicit(
    model: Model,
    task: Task,
    cases: pd.DataFrame,
    store: AnswerStore,
    *,
    reps: int = 5,
    prompts: Sequence[str] = tuple(BELIEF),
    iterated: bool = True,
    temperature: float = 1.0,
    max_new_tokens: int | None = None,
    batch_size: int = 64,
    seed: int = 0,
    progress: Progress | None = None,
) -> tuple[pd.DataFrame, Tally]:
    """Ask a model for its beliefs and, in separate contexts, for its actions.

    Parameters
    ----------
    model : Model
        Who is asked.
    task : Task
        What about.
    cases : DataFrame
        The contexts, from `Task.cases`.
    store : AnswerStore
        Where answers are kept and found.
    reps : int
        Draws per question, positive.
    prompts : sequence of str
        Framings of the belief question, with "standard".
    iterated : bool
        Whether to ask the two questions of the law of iterated expectation.
    temperature : float
        At least 0.
    max_new_tokens : int or None
        Cut of every answer; None takes what a readable answer needs at most.
    batch_size : int
        Questions per call of the model and per transaction, positive.
    seed : int
        Base seed of the draws, at least 0.
    progress : callable, optional
        See `Progress`.

    Returns
    -------
    runs : DataFrame
        The runs table.
    tally : Tally
        How many answers were asked for now, found, and readable.

    Raises
    ------
    InputError
        An option is outside its range.
    CoherenceError
        The store failed; what it holds is kept.
    """
    if not temperature >= 0 or seed < 0:
        raise InputError(f"temperature and seed must be at least 0; received {temperature} and {seed}.")
    if batch_size < 1 or (max_new_tokens is not None and max_new_tokens < 1):
        raise InputError(f"batch_size and max_new_tokens must be positive; received {batch_size} and {max_new_tokens}.")
    questions = plan_questions(cases, task.phrases, task.target, reps=reps, prompts=prompts, iterated=iterated)
    draws = number_draws(questions, seed=seed, temperature=temperature, max_new_tokens=max_new_tokens)
    answers, asked = ask(model, draws, store, batch_size=batch_size, progress=progress)
    runs = assemble_runs(cases, questions, answers, network=task.network, phrases=task.phrases, target=task.target, task=task.name, model=model.name)
    readable = sum(decode_answer(question, answer.text).status == OK for question, answer in zip(questions, answers, strict=True))
    return runs, Tally(asked, len(questions) - asked, readable)


def ask(
    model: Model, draws: Sequence[Draw], store: AnswerStore, *, batch_size: int = 64, progress: Progress | None = None
) -> tuple[list[StoredAnswer], int]:
    """Have every draw answered, from the store where it can be.

    Parameters
    ----------
    model : Model
        Who is asked.
    draws : sequence of Draw
        In any order; equal draws are asked once.
    store : AnswerStore
        Where answers are kept and found.
    batch_size : int
        Draws per call of the model and per transaction.
    progress : callable, optional
        See `Progress`.

    Returns
    -------
    answers : list of StoredAnswer
        One per draw, in order.
    asked : int
        How many the model gave now.
    """
    keys = [draw.key(model.fingerprint) for draw in draws]
    needed = dict(zip(keys, draws, strict=True))
    found = store.get(needed)
    # Long texts first: if memory does not suffice, that shows at once; and texts of similar length pad each other least.
    missing = sorted((key for key in needed if key not in found), key=lambda key: (-len(needed[key].request.text), key))
    if progress:
        progress(len(found), len(needed))
    for start in range(0, len(missing), batch_size):
        portion = missing[start : start + batch_size]
        batch = [needed[key] for key in portion]
        store.put(batch, model.generate([draw.request for draw in batch]), model=model.name, fingerprint=model.fingerprint)
        # Read back what the store holds: another process may have been first with some of these.
        found |= store.get(portion)
        if progress:
            progress(len(found), len(needed))
    return [found[key] for key in keys], len(missing)
