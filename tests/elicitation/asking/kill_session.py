"""Kill a session at random moments until it is done, and compare it with one that nobody disturbed.

    python tests/elicitation/asking/kill_session.py --kills 200 --seed 0

Every life of the session is a process of its own (a fork, so that the moment of the kill falls into
the work and not into the imports), ended by SIGKILL at a random moment between its start and a
little more than it takes for a few answers. The model is simulated: it draws its answers from the
seed of the request, takes a moment for each, and notes every request in a file.
"""

import argparse
import os
import signal
import sqlite3
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from elicitation import Answer, AnswerStore, Design, plan_own_questions, run_plan

N_CONTEXTS, REPS = 50, 5  # as many as a design has by itself
N_QUESTIONS = N_CONTEXTS * REPS * 2
BATCH = 2
OPTIONS = ("wait", "treat", "refer")


class Simulated:
    """Answers from the seed of each request, and notes in a file what it was asked."""

    name, fingerprint = "simulated", "simulated"

    def __init__(self, log, seconds):
        self.log, self.seconds = log, seconds

    def generate(self, requests):
        answers = []
        for request in requests:
            time.sleep(self.seconds)
            with open(self.log, "a") as log:
                log.write(f"{request.seed}\n")
            rng = np.random.default_rng(request.seed)
            hundredths = int(rng.integers(101))
            belief = f"No: {1 - hundredths / 100:.2f}\nYes: {hundredths / 100:.2f}"
            answers.append(
                Answer(
                    str(rng.choice(OPTIONS)) if "options" in request.text else belief,
                    float(rng.normal()),
                    4,
                )
            )
        return answers

    def form_probabilities(self, texts, form):
        """Known by itself; the last digits depend on the neighbours, as those of a network do."""
        time.sleep(self.seconds * len(texts))
        with open(self.log, "a") as log:
            log.writelines(f"{text!r}\n" for text in texts)
        spread = []
        for text in texts:
            rng = np.random.default_rng(list(text.encode()))
            shares = rng.dirichlet(np.ones(len(form.parts[0].outcomes))) * 0.7
            shares[0] *= 1 + 1e-13 * sum(map(len, texts))
            names = form.parts[0].outcomes
            spread.append((dict(zip(names, shares.tolist(), strict=True)),))
        return spread


def plan(answers):
    """Return the plan of a session with `N_QUESTIONS` questions; exact ones have no repetition."""
    table = pd.DataFrame({"context": [f"c{i}" for i in range(N_CONTEXTS)]})
    table["belief_question"] = [f"Case {i}: how probable is it?" for i in range(N_CONTEXTS)]
    table["action_question"] = [f"Case {i}: what do you do?" for i in range(N_CONTEXTS)]
    table["options"] = [OPTIONS] * N_CONTEXTS
    return plan_own_questions(table, Design(prompts=("standard",), answers=answers))


def live(folder, seconds, answers="drawn"):
    """Run the session to its end in this process."""
    with AnswerStore(folder / "answers.sqlite") as store:
        runs, _ = run_plan(
            Simulated(folder / "asked.txt", seconds), plan(answers), store, batch_size=BATCH
        )
    runs.drop(columns="created").to_parquet(folder / "runs.parquet")


def start(folder, seconds, answers):
    """Start a life of the session; return the process id."""
    child = os.fork()
    if child == 0:
        try:
            live(folder, seconds, answers)
            os._exit(0)
        except BaseException as error:
            (folder / "error.txt").write_text(repr(error))
            os._exit(1)
    return child


def torment(folder, answers, *, kills, rng, seconds=0.004):
    """Kill lives of a session, at most `kills` of them, then let one live.

    Return how many kills struck and how many lives ended by themselves.
    """
    struck = ended = 0
    for _ in range(kills):
        child = start(folder, seconds, answers)
        # From before the store is open to after a few batches.
        time.sleep(float(rng.uniform(0, 9 * BATCH * seconds)))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        struck += os.WIFSIGNALED(status)
        ended += os.WIFEXITED(status)
    for _ in range(2):  # the last life, and one that finds all done
        _, status = os.waitpid(start(folder, seconds, answers), 0)
        assert os.waitstatus_to_exitcode(status) == 0, (folder / "error.txt").read_text()
    return struck, ended


def together(folder, answers, *, n=2, seconds=0.002):
    """Let several processes work on one store at once."""
    children = [start(folder, seconds, answers) for _ in range(n)]
    for child in children:
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 0, (folder / "error.txt").read_text()


def verdict(folder, undisturbed):
    """Return what is in the store, and whether the table is that of an undisturbed session."""
    database = sqlite3.connect(folder / "answers.sqlite")
    answers, keys = database.execute("SELECT count(*), count(DISTINCT key) FROM answers").fetchone()
    intact = database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    database.close()
    equal = pd.read_parquet(folder / "runs.parquet").equals(
        pd.read_parquet(undisturbed / "runs.parquet")
    )
    asked = len((folder / "asked.txt").read_text().splitlines())
    return {
        "answers": answers,
        "twice": answers - keys,
        "intact": intact,
        "equal": equal,
        "asked": asked,
    }


def main():
    """Run the experiment and print one line of a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--answers", default="drawn", choices=("drawn", "forced", "exact"))
    parser.add_argument(
        "--processes",
        type=int,
        default=0,
        help="instead of kills: so many processes at once on one store",
    )
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder, undisturbed = Path(name) / "killed", Path(name) / "undisturbed"
        folder.mkdir()
        undisturbed.mkdir()
        live(undisturbed, 0.0, args.answers)
        struck = ended = 0
        if args.processes:
            together(folder, args.answers, n=args.processes)
        else:
            struck, ended = torment(
                folder, args.answers, kills=args.kills, rng=np.random.default_rng(args.seed)
            )
        outcome = verdict(folder, undisturbed)
    print(
        f"kills={struck} ended_before_the_kill={ended} "
        f"questions={N_QUESTIONS // (REPS if args.answers == 'exact' else 1)} "
        + " ".join(f"{key}={value}" for key, value in outcome.items())
    )


if __name__ == "__main__":
    main()
