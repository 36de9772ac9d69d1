"""Whether beliefs move when only the usual tokenization of each number is kept.

    python benchmarks/tokenizations.py

Trains readers whose tokenizer has tokens of several digits, and compares their distributions over
all numbers, summed over every token sequence, with the part on the usual tokenization alone. On
SmolLM2, whose digits are single tokens, that part is .999992 and no belief moves. Here beliefs move
by .0011 at most after 300 steps and by .0036 after 60: all sequences are followed.
"""

import tempfile
from pathlib import Path

import numpy as np

from elicitation.models.local.causal import load_causal_model
from elicitation.questions.plan import Design, plan_task
from elicitation.questions.tasks import Task
from elicitation.spelling.forms import AnswerForm
from elicitation.training.organisms import tokenizer
from elicitation.training.organisms.curriculum import Recipe
from elicitation.training.organisms.tiny_causal import train_tiny_causal

BATCH = (("belief", 8), ("conditional", 4), ("decision", 4), ("auxiliary", 4))


def compare(task: Task, folder: Path, steps: int) -> str:
    """Train a reader, and say how far its beliefs move."""
    recipe = Recipe(steps=steps, hidden=32, inner=64, layers=2, heads=2, learning_rate=1e-2,
                    batch=BATCH)  # fmt: skip
    train_tiny_causal(folder, task, recipe=recipe, n_cases=0)
    model = load_causal_model(folder, device="cpu", dtype="float32", threads=1)
    part = AnswerForm("lines", ("No", "Yes")).parts[0]
    numbers = np.array([float(spelling.outcome) for spelling in part.spellings])
    questions = plan_task(task, task.cases(30, seed=1), Design(reps=1)).questions
    texts = dict.fromkeys(q.text for q in questions if q.spec.role == "belief")
    moves, shares = [], []
    for text in list(texts)[:40]:
        start = model.encode([text], answer=part.prefill)[0]
        read = model.spelling_masses([start], part.spellings, tolerance=1e-7, itemised=True)
        every, usual = np.zeros(len(numbers)), np.zeros(len(numbers))
        for item in read.parts:
            spelt = part.prefill + part.spellings[item.spelling].text.decode()
            tokens = tuple(model.encode([text], answer=spelt)[0][len(start) :])
            every[item.spelling] += item.mass
            # The token that decides is the last one, or comes after it.
            usual[item.spelling] += item.mass * (item.tokens in (tokens, tokens[:-1]))
        moves.append(abs(every @ numbers / every.sum() - usual @ numbers / usual.sum()))
        shares.append(usual.sum() / every.sum())
    return (
        f"{steps} steps: the usual tokenization carries {min(shares):.4f} or more of the mass; "
        f"beliefs move by {max(moves):.4f} at most, {np.median(moves):.4f} in the median"
    )


def main() -> None:
    """Compare readers of two lengths of training."""
    tokenizer._PIECES = tokenizer._PIECES.replace("[0-9]|", "[0-9]{1,3}|", 1)
    task = Task.load("asia")
    with tempfile.TemporaryDirectory() as folder:
        for steps in (300, 60):
            print(compare(task, Path(folder) / str(steps), steps), flush=True)


if __name__ == "__main__":
    main()
