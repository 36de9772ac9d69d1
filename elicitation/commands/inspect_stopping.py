"""A task of Inspect that stops when it knows: ``-T stop_when=sufficiency``.

Inspect asks whether a sample is to run when that holds a slot already, where waiting for others
may never end. So nothing waits here: a look comes as soon as all questions about its first cases
have ended, and what starts later is left out. What was under way is in the log; no look sees it.
"""

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from inspect_ai.util import EarlyStop

from coherence.errors import InputError
from coherence.table.stopping import StoppingPlan
from elicitation.asking.stopping import Look, ending, look_at
from elicitation.commands.inspect_logs import Answered, n_whole_cases, runs_of
from elicitation.models.base import Answer

if TYPE_CHECKING:
    from inspect_ai.dataset import Sample
    from inspect_ai.log import EvalSpec
    from inspect_ai.scorer import SampleScore
    from inspect_ai.solver import TaskState

    Id = int | str


class StopWhenKnown:
    """Looks of a plan as answers come in: an ``EarlyStopping`` of Inspect."""

    def __init__(self, plan: StoppingPlan) -> None:
        self.plan = plan
        self.running: str | None = None

    async def start_task(self, task: "EvalSpec", samples: "list[Sample]", epochs: int) -> str:
        """Take up the samples of a run."""
        if epochs != 1:
            raise InputError(
                f"epochs come one after the other, so that no look would come before the last of "
                f"{epochs}. Use -T reps={epochs} in place of --epochs."
            )
        if task.config.log_samples is False:
            raise InputError("stop_when needs samples in the log. Leave --no-log-samples out.")
        # Calls for a sample do not say whose it is.
        if self.running not in (None, task.model):
            raise InputError(
                f"one task that stops cannot ask {self.running} and {task.model} together. Make a "
                "task for each model, or name the task by its text."
            )
        self.running = task.model
        self.attempts = 1 + (task.config.retry_on_error or 0)
        self.samples = {sample.id: sample for sample in samples}
        self.failed: Counter[Id] = Counter()
        self.answered: dict[Id, Answered] = {}
        self.looks: list[Look] = []
        self.stopped: int | None = None
        return "belief_coherence/sufficiency"

    async def schedule_sample(self, id: "Id", epoch: int) -> EarlyStop | None:
        """Leave a sample out once the plan has stopped."""
        if self.stopped is None:
            return None
        return EarlyStop(id=id, epoch=epoch, reason=ending(self.looks[-1], self.plan.sizes[-1]))

    async def complete_sample(self, id: "Id", epoch: int, scores: "dict[str, SampleScore]") -> None:
        """Take an answer, asked now or in the run that this one goes on with."""
        kept = next((each.score.metadata for each in scores.values() if each.score.metadata), None)
        if kept is None:
            raise InputError("stop_when needs the scorer of the task. Leave --no-score out.")
        self._take(id, Answer(kept["output"], finish_reason=kept["finish_reason"]))

    async def cleanup(self, state: "TaskState") -> None:
        """Take a sample that failed for good as unparsed; Inspect completes none that failed."""
        self.failed[state.sample_id] += not state.scores
        if self.failed[state.sample_id] >= self.attempts:
            self._take(state.sample_id, Answer(""))

    async def complete_task(self) -> dict[str, Any]:
        """Return what the log keeps: the plan, where it stopped, and a line for each look."""
        self.running = None
        looks = [str(look) for look in self.looks]
        return {"plan": str(self.plan), "stopped": self.stopped, "looks": looks}

    def _take(self, id: "Id", answer: Answer) -> None:
        sample, known = self.samples[id], self.samples[id].metadata or {}
        answer = replace(answer, seed=known["seed"], created="")
        self.answered[id] = Answered(known, 0, str(sample.input), answer)
        n_whole = n_whole_cases(self.answered.values())
        for size in map(int, self.plan.sizes[len(self.looks) :]):
            if size > n_whole or self.stopped is not None:
                return
            # As the reader of the log has them: in the order of the plan.
            first = [each for _, each in sorted(self.answered.items()) if each.case < size]
            assert self.running is not None
            look = look_at(runs_of(first, self.running), self.plan, len(self.looks) + 1)
            self.looks.append(look)
            self.stopped = size if look.stops else None
