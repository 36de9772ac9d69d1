"""Samples of Inspect that are left out once a plan stops, and the p-value of the log."""

import pandas as pd
import pytest

import coherence
import elicitation
from coherence import InputError
from coherence.table.stopping import StoppingPlan
from elicitation import Answer, AnswerStore, Design, Request
from elicitation.asking.stopping import run_until
from elicitation.commands.inspect_logs import read_inspect_runs

PLAN = {"stop_when": "sufficiency", "looks": 4, "most": 80}
QUESTIONS = {"network": "asia", "reps": 1, "prompts": "standard", "iterated": False}
DESIGN = Design(reps=1, prompts=("standard",), iterated=False)


class Leaky:
    """An agent that acts on what it does not say; every 20th question has no answer."""

    name = fingerprint = "mockllm/model"

    def __init__(self):
        self.task = elicitation.load_task("asia")
        self.cases = self.task.cases(PLAN["most"], seed=0)
        self.agent = elicitation.agent_for_task("leaky", self.task, self.cases)

    def generate(self, requests):
        said = self.agent.generate(requests)
        pairs = zip(said, requests, strict=True)
        return [Answer("") if request.seed % 20 == 0 else each for each, request in pairs]

    def reply(self, messages, tools, tool_choice, config):
        from inspect_ai.model import ModelOutput, ModelUsage

        (said,) = self.generate([Request(messages[0].text, config.seed, 50)])
        if not said.text:
            raise ValueError("no answer")
        output = ModelOutput.from_content("mockllm", said.text)
        output.usage = ModelUsage()
        return output


@pytest.fixture(scope="module")
def of_elicit():
    model = Leaky()
    plan = elicitation.questions.plan.plan_task(model.task, model.cases, DESIGN)
    with AnswerStore(":memory:") as store:

        def ask(part):
            return elicitation.asking.session.run_plan(model, part, store, keep_going=True)

        stopping = StoppingPlan(looks=PLAN["looks"], most=PLAN["most"])
        runs, _, _ = run_until(model, plan, store, stopping, ask=ask, seen=lambda look: None)
    assert runs["arrival"].max() < PLAN["most"]
    return runs


@pytest.mark.lengthy
@pytest.mark.parametrize("options", [{"max_samples": 1}, {"max_samples": 9, "retry_on_error": 1}])
def test_a_log_has_the_table_of_elicit_whatever_was_under_way(of_elicit, run_task, options):
    told = {"task_args": QUESTIONS | PLAN, "outputs": Leaky().reply, "fail_on_error": False}
    log = run_task("beliefs_and_actions", **told, **options)
    stopped = int(of_elicit["arrival"].max())
    assert log.results.early_stopping.metadata["stopped"] == stopped
    if options["max_samples"] == 1:
        assert len(log.samples) == 2 * stopped
    runs, _ = read_inspect_runs([log.location])
    ours = ["created", "finish_reason"]  # the agent gives no reason
    pd.testing.assert_frame_equal(runs.drop(columns=ours), of_elicit.drop(columns=ours))
    found = coherence.analyze(runs, checks=["sufficiency"]).evaluations[0].results[0]
    assert found.settings["stopped"] == stopped


@pytest.mark.lengthy
def test_a_log_that_was_cut_off_ends_before_the_first_case_that_lacks_answers(run_task):
    told = {"task_args": QUESTIONS | PLAN, "outputs": Leaky().reply, "fail_on_error": False}
    log = run_task("beliefs_and_actions", limit=31, **told)
    runs, notes = read_inspect_runs([log.location])
    assert runs["arrival"].max() == 15
    assert "eval-retry asks for the rest" in notes[-1]
    # Epochs would come too late.
    arguments = QUESTIONS | PLAN | {"looks": 2, "most": 4}
    log = run_task("beliefs_and_actions", task_args=arguments, epochs=2)
    assert "Use -T reps=2" in log.error.message


@pytest.mark.parametrize(
    ("arguments", "remedy"),
    [
        ({"evidence": 20}, "looks=5"),
        ({"most": None}, "most 200"),
        ({"contexts": 10}, "Leave it out"),
        ({"decision": "matching"}, "lack actions"),
    ],
)
def test_plans_that_inspect_cannot_keep_are_refused(run_task, arguments, remedy):
    with pytest.raises(InputError, match=remedy):
        run_task("beliefs_and_actions", task_args=QUESTIONS | PLAN | arguments)
