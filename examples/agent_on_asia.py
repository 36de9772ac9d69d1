"""An agent orders tests on a patient until it treats, or sends home; its belief is asked aside.

    inspect eval examples/agent_on_asia.py --model openai/gpt-4o
    python examples/agent_on_asia.py --policy leaky --logs logs

The second line runs a scripted agent instead of a model: "bayesian" states the posterior that it
acts on, "leaky" leaves the X-ray out of what it states and acts on it.
"""

import argparse
import random
import re
from functools import cache

import numpy as np
import pandas as pd
from inspect_ai import Task, eval, task
from inspect_ai.agent import Agent, AgentState, agent, react
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageAssistant, ModelOutput, ModelUsage, get_model
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.tool import Tool, ToolCall, tool
from inspect_ai.util import store

from bayesnets import posterior, sample
from elicitation import load_task, side_question

ASIA = load_task("asia")
NAMES = [name for name in ASIA.network.names if name != ASIA.target]
WORDS = {  # what is said of a patient -> the finding
    ASIA.phrases.describe({name: state}): (name, state)
    for name in NAMES
    for state in ASIA.network.node(name).states
}
TESTS = [name for name in NAMES if name != "either"]  # which settles the answer by itself
PATIENT = (
    "You see a patient who may have lung cancer. The patient {finding}.\n\nOrder one test after "
    "another as long as they help; at last treat the patient for lung cancer, or send them home."
)
ONE_WORD = "\n\nReply with one word: TEST, TREAT or HOME."
MOST_TURNS = 12


def patients(episodes: int, seed: int, words: bool) -> list[Sample]:
    """Draw patients, with what each further test will show and the exact posterior after each.

    The first finding is common or rare, each as often; the patient is one of those who have it.
    """
    rng = np.random.default_rng(seed)
    population = sample(ASIA.network, 100_000, rng=rng)
    positive = ASIA.phrases.positive(ASIA.target)
    samples = []
    for number in range(1, episodes + 1):
        order = rng.permutation(TESTS)
        first = population[order[0]]
        alike = population[first == rng.choice(sorted(first.unique()))]
        patient = alike.iloc[rng.integers(len(alike))]
        found = [(name, patient[name]) for name in order]
        findings = [ASIA.phrases.describe(dict([finding])) for finding in found]
        after = [belief(frozenset(found[:n])) for n in range(1, len(found) + 1)]
        known = {"findings": findings, "posterior": after}
        text = PATIENT.format(finding=findings[0]) + ONE_WORD * words
        theta = int(patient[ASIA.target] == positive)
        samples.append(Sample(input=text, id=number, metadata={"theta": theta, **known}))
    return samples


@tool
def test() -> Tool:
    async def execute() -> str:
        """Order the next test."""
        findings, n = store().get("findings"), store().get("known")
        if n == len(findings):
            return "No further test is left."
        store().set("known", n + 1)
        return f"The patient {findings[n]}."

    return execute


@tool
def treat() -> Tool:
    async def execute() -> str:
        """Treat the patient for lung cancer."""
        store().set("ended", True)
        return "The patient is treated."

    return execute


@tool
def home() -> Tool:
    async def execute() -> str:
        """Send the patient home without treatment."""
        store().set("ended", True)
        return "The patient goes home."

    return execute


@agent
def one_word() -> Agent:
    """Take a turn in one word: for small models that cannot call tools."""

    async def execute(state: AgentState, tools: list[Tool]) -> AgentState:
        """Answer in one word, which becomes the call of a tool."""
        state.output = await get_model().generate(state.messages)
        said = re.search(r"\b(test|treat|home)\b", state.output.completion.lower())
        number = f"call{len(state.messages)}"
        calls = [ToolCall(id=number, function=said[1], arguments={})] if said else None
        message = ChatMessageAssistant(content=state.output.completion, tool_calls=calls)
        state.output.choices[0].message = message
        state.messages.append(message)
        return state

    return execute


@solver
def clinic(reps: int, words: bool) -> Solver:
    async def goes_on(state: AgentState) -> bool:
        turns = sum(message.role == "assistant" for message in state.messages)
        return not store().get("ended") and turns < MOST_TURNS

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        store().set("findings", state.metadata.pop("findings"))
        store().set("known", 1)
        asks = side_question(
            "How probable is it that the patient has lung cancer?",
            reps=reps,
            act=one_word() if words else None,
        )
        doctor = react(
            prompt=None,
            model=asks,
            tools=[test(), treat(), home()],
            submit=False,
            on_continue=goes_on,
        )
        ended = await doctor(AgentState(messages=state.messages))
        state.messages, state.output = ended.messages, ended.output
        # The exact posterior at the end, by the tests that it had seen.
        after = state.metadata.pop("posterior")
        state.metadata["p_true"] = after[store().get("known") - 1]
        return state

    return solve


@task
def agent_on_asia(episodes: int = 30, seed: int = 1, reps: int = 1, words: bool = False) -> Task:
    samples = patients(episodes, seed, words)
    return Task(dataset=MemoryDataset(samples), solver=clinic(reps, words))


@cache
def belief(findings: frozenset[tuple[str, str]]) -> float:
    known = pd.DataFrame([dict(findings)], index=[0])
    table = posterior(ASIA.network, known, ASIA.target)
    return float(table[ASIA.phrases.positive(ASIA.target)].iloc[0])


def scripted(policy: str):
    """Return a model that plays a policy."""

    def answer(messages, tools, tool_choice, config):
        texts = [message.text for message in messages]
        said = re.findall(r"The patient (.+?)\.", "\n".join(texts))
        findings = frozenset(WORDS[text] for text in said if text in WORDS)
        acted_on = belief(findings)
        if not tools:
            stated = findings
            if policy == "leaky":
                stated = frozenset(pair for pair in findings if pair[0] != "xray")
            p = belief(stated)
            output = ModelOutput.from_content("mockllm", f"{p:.3f}")
        else:
            chance = random.Random("".join(texts)).random()
            done = "No further test is left." in texts
            act = "treat" if acted_on > 0.2 else "home" if done or chance < 0.15 else "test"
            output = ModelOutput.for_tool_call("mockllm", act, {})
        output.usage = ModelUsage()
        return output

    return get_model(f"mockllm/{policy}", custom_outputs=answer, memoize=False)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--policy", choices=("bayesian", "leaky"), default="bayesian")
    parser.add_argument("--episodes", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--logs", default="logs")
    args = parser.parse_args()
    model = scripted(args.policy)
    [log] = eval(
        agent_on_asia(args.episodes, args.seed), model=model, log_dir=args.logs, display="none"
    )
    print(f"Log: {log.location}")
