"""A session of questions of one's own, put to a simulated model that takes a moment for each.

Its answers follow from the seeds of the requests, and those in a form from the texts; the last
digits of the latter depend on their neighbours, as those of a network do.
"""

import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd

from elicitation import Answer, AnswerStore, Design, Distribution
from elicitation.asking.session import run_plan
from elicitation.questions.plan import plan_own_questions

N_CONTEXTS, REPS = 50, 5  # as many as a design has by itself
BATCH = 2
OPTIONS = ("wait", "treat", "refer")


class Simulated:
    """Answers from the seed of each request; notes in a file what it was asked."""

    name, fingerprint = "simulated", "simulated"

    def __init__(self, log, seconds):
        self.log, self.seconds = log, seconds

    def note(self, asked):
        time.sleep(self.seconds * len(asked))
        with self.log.open("a") as log:
            log.writelines(f"{each!r}\n" for each in asked)

    def generate(self, requests):
        answers = []
        for request in requests:
            self.note([request.seed])
            rng = np.random.default_rng(request.seed)
            hundredths = int(rng.integers(101))
            belief = f"No: {1 - hundredths / 100:.2f}\nYes: {hundredths / 100:.2f}"
            action = str(rng.choice(OPTIONS))
            text = action if "options" in request.text else belief
            answers.append(Answer(text, float(rng.normal()), 4))
        return answers

    answer_kinds = ("lines", "choice")

    def distributions(self, questions):
        texts = [text for text, _ in questions]
        self.note(texts)
        for position, (text, form) in enumerate(questions):
            names = form.parts[0].outcomes
            shares = np.random.default_rng(list(text.encode())).dirichlet(np.ones(len(names))) * 0.7
            # The last digits depend on the neighbours.
            shares[0] *= 1 + 1e-13 * sum(map(len, texts))
            yield position, Distribution((dict(zip(names, shares.tolist(), strict=True)),))


def live(folder: Path, answers: str, seconds: float = 0.0) -> None:
    """Run the session in this process."""
    table = pd.DataFrame({"context": [f"c{i}" for i in range(N_CONTEXTS)]})
    table["belief_question"] = [f"Case {i}: how probable is it?" for i in range(N_CONTEXTS)]
    table["action_question"] = [f"Case {i}: what do you do?" for i in range(N_CONTEXTS)]
    table["options"] = [OPTIONS] * N_CONTEXTS
    plan = plan_own_questions(table, Design(prompts=("standard",), answers=answers))
    model = Simulated(folder / ".asked", seconds)
    with AnswerStore(folder / "answers.sqlite") as store:
        runs, _ = run_plan(model, plan, store, batch_size=BATCH)
    runs.drop(columns="created").to_csv(folder / "runs.csv", index=False)


if __name__ == "__main__":
    live(Path(sys.argv[1]), sys.argv[2], float(sys.argv[3]))
