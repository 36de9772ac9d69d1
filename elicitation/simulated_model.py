"""Simulated agents that answer in words: whole sessions without a model, and with known truth.

An agent of `coherence.agents` is given the exact posteriors of a task's cases. Asked one of
the task's questions, it forms its belief, reports it or acts on it as its parameters say, and
writes the answer in the form that was asked for. What a session then finds is what was planted.
"""

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtr

from coherence.agents import ACTIONS, Agent, given_part, named_agent
from coherence.errors import InputError
from elicitation.models.base import Answer, Request, require_requests, require_texts
from elicitation.questions.plan import Design, plan_task
from elicitation.questions.prompts import SAID
from elicitation.questions.tasks import cells_of
from elicitation.spelling.forms import AnswerForm, Distribution
from elicitation.ways import Decision, QuestionSpec

if TYPE_CHECKING:
    from elicitation.questions.tasks import Subject


@dataclass(frozen=True)
class QuestionTruth:
    """What an agent knows when it is asked a question."""

    spec: QuestionSpec  # what the question is about; of those with the same text the first
    case: int  # row of the cases, from 0
    context: str  # the case, whose taste all of its questions share
    theta: float  # realised state, 0 or 1; only a clairvoyant agent makes use of it
    # posterior that the action follows; NaN where the question supposes what the evidence rules out
    exact: float
    spoken: float  # posterior given the part of the evidence that the agent states
    # exact probabilities of the labels of an auxiliary question, else empty
    spread: tuple[float, ...] = ()


def agent_for_task(
    agent: Agent | str,
    task: "Subject",
    cases: pd.DataFrame,
    *,
    decision: Decision = "usual",
    levels: int | None = None,
    costs: str | None = None,
) -> "AgentModel":
    """Make an agent that knows the cases of a task.

    Parameters
    ----------
    agent : Agent or str
        An agent, or the name of one in `coherence.AGENTS`.
    task : Task
        What it will be asked about, with the built-in prompts.
    cases : DataFrame
        The contexts, from `Task.cases`.
    decision, levels, costs : str, int or None, str or None
        What it will be asked besides beliefs, as of `Design`.

    Returns
    -------
    AgentModel
        Ready to answer every question about these cases, and no other.

    Raises
    ------
    InputError
        Unknown agent.

    Examples
    --------
    >>> from elicitation import load_task
    >>> asia = load_task("asia")
    >>> agent_for_task("leaky", asia, asia.cases(20, seed=0)).name
    'leaky'
    """
    if isinstance(agent, str):
        agent = named_agent(agent)
    # By text: a model sees the question and nothing else.
    truths: dict[str, QuestionTruth] = {}
    # What an agent leaves out of what it states belongs to the case, whatever is asked; averages
    # are those over the cases.
    posteriors = cases["p_true"].to_numpy(dtype=np.float64)
    noise = [_generator("unstated", str(context)).normal() for context in cases["context"]]
    stated = [float(p) for p in agent.speak_of(posteriors, np.array(noise), posteriors)]
    cells = cells_of(cases)
    plan = plan_task(task, cases, Design(reps=1))
    sampled = plan_task(task, cases, Design(reps=1, belief="sampled", draws=1))
    questions = [*plan.questions, *sampled.questions]
    if decision != "usual":
        offered: dict[str, Any] = {"decision": decision, "levels": levels, "costs": costs}
        every = Design(**offered, answers="exact", iterated=False)
        questions += [each for each in plan_task(task, cases, every).questions if each.spec.frame]
    if agent.unstated:
        # Evidence with a state of z supposed may be that of another case, which has its own belief.
        questions.sort(key=lambda question: question.spec.role == "conditional")
    for question in questions:
        spec, position = question.spec, question.case
        case = cells[position]
        exact, spoken, spread = float(case["p_true"]), stated[position], tuple[float, ...]()
        if spec.role == "conditional":
            given_z = plan.truth[position][spec.key]["p_true"]
            # As in `coherence.simulate`: what is planted must be the same in words and in numbers.
            if agent.unstated:
                given_z = given_part(*map(np.asarray, (spoken, exact, given_z))).item()
            exact = spoken = (1 - agent.iterated_bias) * given_z + agent.iterated_bias * 0.5
        elif spec.role == "auxiliary":
            spread = tuple(of["p_z_true"] for of in plan.truth[position].values())
        first = truths.setdefault(
            question.text,
            QuestionTruth(
                *(spec, position, str(case["context"]), float(case["theta"])),
                *(exact, spoken, spread),
            ),
        )
        if agent.hidden_signal and first.theta != float(case["theta"]):
            raise InputError(
                f"agent {agent.name!r} sees the state of a case by its words; cases "
                f"{first.context} and {case['context']} have the same words and different states. "
                "Take another agent, or cases that differ."
            )
    return AgentModel(agent, truths)


class AgentModel:
    """A simulated agent as a model, see `agent_for_task`; `truths` go by the text asked.

    A request's seed and text determine its answer. Temperature 0 silences the agent's noise; at
    every other temperature it has its own.
    """

    def __init__(self, agent: Agent, truths: Mapping[str, QuestionTruth]) -> None:
        self.agent, self._truths = agent, dict(truths)
        self.name = agent.name
        # Whether all that it states of a case is one number.
        self.repeats_itself = bool(agent.grid) and not agent.scatters
        # All that an answer depends on: other cases, or another truth, are another agent.
        facts = [
            [
                text,
                of.spec.facts | {"case": of.case, "rep": 0, "text": text},
                *(of.context, of.theta, of.exact, of.spread, of.spoken),
            ]
            for text, of in sorted(self._truths.items())
        ]
        own = asdict(agent)
        if own["heeds"] == 1:  # came later, and answers of stores that exist are not asked again
            del own["heeds"]
        identity = json.dumps(["agent", own, facts], sort_keys=True)
        self.fingerprint = hashlib.sha256(identity.encode()).hexdigest()

    def generate(self, requests: Sequence[Request]) -> list[Answer]:
        """Answer every request, as `Model`; a character is a token.

        Raises `InputError` for a text that the agent does not know.
        """
        require_requests(requests)
        answers = []
        for request in requests:
            # Cut like the answer of a model that has used up its tokens.
            text = self._say(self._find(request.text), _noise(request))[: request.max_new_tokens]
            answers.append(Answer(text, None, len(text)))
        return answers

    answer_kinds = ("labels", "lines", "number", "decision", "choice")

    def distributions(
        self, questions: Sequence[tuple[str, AnswerForm]]
    ) -> Iterator[tuple[int, Distribution]]:
        """Return the agent's own probabilities of its answers, as `DistributionModel`.

        Labels are No and Yes; nothing has probability where the agent would answer in no form.
        Raises `InputError` for other labels, or a text that the agent does not know.
        """
        require_texts([text for text, _ in questions], "questions")
        for position, (text, form) in enumerate(questions):
            yield position, Distribution(self._spread(self._find(text), form))

    def _spread(self, truth: QuestionTruth, form: AnswerForm) -> tuple[dict[str, float], ...]:
        spec = truth.spec
        if form.kind == "labels":
            if sorted(form.labels) != ["No", "Yes"]:
                raise InputError(
                    "labels must be No and Yes for a simulated agent; "
                    f"received {', '.join(form.labels)}."
                )
            # Without the noise of a report: what a model's probabilities would show.
            yes = float(self._believe(truth)[0])
            return ({label: yes if label == "Yes" else 1 - yes for label in form.labels},)
        if spec.role == "auxiliary":
            return tuple(
                {f"{share:.2f}": 1.0} for share, _ in zip(truth.spread, form.parts, strict=False)
            )
        if math.isnan(truth.exact):
            return ({},)
        if spec.role == SAID:  # it knows what the costs ask for
            return ({_number(float(spec.level or 0)): 1.0},)
        if spec.is_offer:
            first, second = spec.lines
            chance = self._takes_first(truth)
            return ({first: chance, second: 1 - chance},)
        belief = self._believe(truth)
        if spec.role == "decision":
            theta, acted_on = np.array([truth.theta]), self._act_on(truth)
            policies = self.agent.policies(acted_on, theta, self._taste(truth))
            return ({_decision(a, acted_on): float(p[0]) for a, p in policies.items()},)
        spread: dict[str, float] = {}
        reports = report_probabilities(self.agent, float(belief[0]), spec.key or "standard")
        for stated, share in reports.items():
            # The first of two lines is that of No.
            name = _number(stated if form.kind == "number" else 1 - float(_number(stated)))
            spread[name] = spread.get(name, 0.0) + share
        return (spread,)

    def _find(self, text: str) -> QuestionTruth:
        if text not in self._truths:
            raise InputError(
                f"agent {self.name} knows the questions of its cases alone; "
                f"received {text[:80]!r}. Make it from the cases that are asked."
            )
        return self._truths[text]

    def _believe(self, truth: QuestionTruth) -> NDArray[np.float64]:
        # Certainty has infinite log-odds, and stays certainty.
        with np.errstate(divide="ignore", over="ignore"):
            return self.agent.believe(np.array([truth.spoken]))

    def _act_on(self, truth: QuestionTruth) -> NDArray[np.float64]:
        with np.errstate(divide="ignore", over="ignore"):
            return self.agent.act_on(np.array([truth.spoken]), np.array([truth.exact]))

    def _say(self, truth: QuestionTruth, rng: np.random.Generator) -> str:
        spec = truth.spec
        if spec.role == "auxiliary":
            return "\n".join(
                f"{label}: {share:.2f}"
                for label, share in zip(spec.lines, truth.spread, strict=True)
            )
        # A posterior given the impossible does not exist; a number would be made up.
        if math.isnan(truth.exact):
            return "I cannot say: this is ruled out by what is known."
        if spec.role == SAID:
            return _number(float(spec.level or 0))
        if spec.is_offer:
            return spec.lines[0 if rng.random() < self._takes_first(truth) else 1]
        belief = self._believe(truth)
        if spec.role == "decision":
            theta, acted_on = np.array([truth.theta]), self._act_on(truth)
            action = self.agent.choose(acted_on, theta, self._taste(truth), rng)[0]
            return _decision(str(action), acted_on)
        stated = float(self.agent.report(belief, spec.key or "standard", rng)[0])
        # A sampled belief is a rate over draws, each of which is Yes with the belief's probability.
        if spec.is_choice:
            return "Yes" if rng.random() < stated else "No"
        if spec.form == "number":
            return _number(stated)
        # The complement of the rounded number: the two lines must add up to one.
        return f"No: {_number(1 - float(_number(stated)))}\nYes: {_number(stated)}"

    def _takes_first(self, truth: QuestionTruth) -> float:
        """Return the probability of the first of two options that are offered."""
        spec, belief, theta = truth.spec, self._act_on(truth), np.array([truth.theta])
        if spec.frame == "complement":
            belief, theta = 1 - belief, 1 - theta
        level, lottery = np.array([spec.level]), spec.role == "matching"
        chance = float(
            self.agent.takes(belief, theta, self._taste(truth), level, lottery=lottery)[0]
        )
        return chance if spec.order in ("event", "act") else 1 - chance

    def _taste(self, truth: QuestionTruth) -> NDArray[np.float64]:
        # A taste belongs to the case: repetitions share it, as in the runs that
        # `coherence.simulate` draws.
        draws = _generator("taste", truth.context).normal(size=(1, len(ACTIONS)))
        return draws * self.agent.taste


def _decision(action: str, belief: NDArray[np.float64]) -> str:
    if action == "defer":
        return f"Can decide: No\nDecision: {'Yes' if belief[0] >= 0.5 else 'No'}"
    return f"Can decide: Yes\nDecision: {action.capitalize()}"


def report_probabilities(agent: Agent, belief: float, prompt: str) -> dict[float, float]:
    """Return what an agent may say its belief is under a prompt, with the probabilities."""
    mean = float(replace(agent, report_noise=0.0).report(np.array([belief]), prompt, _noiseless)[0])
    if not agent.report_noise:
        return {mean: 1.0}
    if not agent.grid:
        raise InputError(
            f"agent {agent.name!r} has noisy reports on no grid, whose probabilities cannot be "
            "listed. Give it a grid, or draw its answers."
        )
    mean = belief + (agent.prompt_shift if prompt == "bayes" else 0.0)
    # Where one number ends and the next begins; the outermost take all that is beyond.
    edges = np.arange(0.5, 1 / agent.grid, 1) * agent.grid
    middles = np.concatenate([[0.0], (edges[1:] + edges[:-1]) / 2, [1.0]])
    still = replace(agent, report_noise=1e-300)
    stated = still.report(middles, "standard", _noiseless).tolist()
    shares = np.diff(ndtr((np.array([-np.inf, *edges, np.inf]) - mean) / agent.report_noise))
    probabilities: dict[float, float] = {}
    for number, share in zip(stated, shares.tolist(), strict=True):
        probabilities[number] = probabilities.get(number, 0.0) + share
    return probabilities


def _number(value: float) -> str:
    """Write a probability with two decimals where they suffice, else four."""
    text = f"{value:.4f}"
    return text[:-2] if text.endswith("00") else text


def _generator(*parts: Any) -> np.random.Generator:
    # Philox keyed by a digest: the same numbers on every machine, whatever was drawn before.
    digest = hashlib.sha256(json.dumps(parts).encode()).digest()
    return np.random.Generator(np.random.Philox(key=int.from_bytes(digest[:8], "big")))


class _ZeroNoise(np.random.Generator):
    """A generator whose noise is always at its middle."""

    # Equal shocks to all utilities leave their order as it is, so their value does not matter.

    def gumbel(self, *_: Any, size: Any = None, **__: Any) -> Any:
        return np.zeros(size)

    def normal(self, *_: Any, size: Any = None, **__: Any) -> Any:
        return np.zeros(size)

    def random(self, *_: Any, **__: Any) -> Any:
        return 0.5


_noiseless = _ZeroNoise(np.random.Philox(key=0))


def _noise(request: Request) -> np.random.Generator:
    return (
        _noiseless if request.temperature == 0 else _generator("answer", request.seed, request.text)
    )
