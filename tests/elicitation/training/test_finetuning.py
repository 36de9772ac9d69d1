"""Training on choices: breaks if it differs when repeated or overwrites a model."""

import itertools
import shutil

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from coherence import InputError
from elicitation.models.local.multiple_choice import load_multiple_choice_model
from elicitation.training.finetuning import (
    TrainingSet,
    TuningRecipe,
    fine_tune,
    make_optimiser,
    update_weights,
)

from ..tiny_choosers import make_multiple_choice

ORDERS = tuple(itertools.permutations(("red.", "green.", "blue.")))
# The right option is always the green one, wherever it stands.
RIGHT = tuple(order.index("green.") for order in ORDERS * 2)
LESSONS = TrainingSet(("Which is it?", "Which one?") * 6, ORDERS * 2, RIGHT)
# Too slow to reach its goal, so that all three epochs are run.
FAST = TuningRecipe(batch_size=4, learning_rate=1e-5, goal=1.0, max_epochs=3)


@pytest.fixture(scope="session")
def base(tmp_path_factory):
    folder = tmp_path_factory.mktemp("choosers") / "base"
    make_multiple_choice(folder, [*LESSONS.texts, *LESSONS.options[0]], dropout=0.1, seed=3)
    return folder


@pytest.fixture
def tune(base, tmp_path):
    def tune_into(name, recipe=FAST, *, seed=5, start=base, **options):
        out = tmp_path / name
        return fine_tune(start, out, LESSONS, LESSONS, recipe=recipe, seed=seed, device="cpu",
                         **options)  # fmt: skip

    return tune_into


def equal(one, other):
    one, other = (load_file(folder / "model.safetensors") for folder in (one, other))
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def test_training_learns_repeats_and_stops_at_the_goal(tune, tmp_path):
    usual = TuningRecipe()  # Tang and Kejriwal, section 4.2.2
    assert (usual.batch_size, usual.learning_rate, usual.goal) == (32, 5e-5, 0.9)
    recipe = TuningRecipe(batch_size=4, learning_rate=1e-2, goal=0.9, max_epochs=60)
    first, second = (tune(name, recipe, seed=1) for name in ("one", "two"))
    assert first["reached"]
    assert first["history"][-1]["dev"] >= 0.9
    assert all(epoch["dev"] < 0.9 for epoch in first["history"][:-1])
    assert first["epochs"] == len(first["history"]) < 60
    assert first["history"] == second["history"]
    assert equal(tmp_path / "one", tmp_path / "two")
    once = TuningRecipe(batch_size=4, learning_rate=1e-2, max_epochs=1)
    assert tune("three", once, seed=2)["history"][0]["loss"] != first["history"][0]["loss"]
    # What was saved is what was measured, through the ordinary way of asking.
    model = load_multiple_choice_model(tmp_path / "one", device="cpu")
    scores = model.pair_scores(LESSONS.pairs()).reshape(len(RIGHT), -1)
    assert np.mean(scores.argmax(axis=1) == np.array(RIGHT)) == first["history"][-1]["dev"]


LONG = TrainingSet(("a " * 200,), (("x", "y"),), (0,))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda _: fine_tune("/nowhere", "/tmp/x", LESSONS, LESSONS), "Give a folder written by"),
        (lambda base: fine_tune(base, "/tmp/x", LONG, LONG, device="cpu"), "the 128 of the model"),
        (
            lambda base: load_multiple_choice_model(base).pair_scores(LONG.pairs()),
            "exceeds the 128 of model base",
        ),
    ],
)
def test_bad_calls_are_refused_with_the_parameter(make, message, base):
    with pytest.raises(InputError, match=message):
        make(base)


def test_a_training_is_whole_or_not_there_and_takes_no_other_folder(base, tune, tmp_path):
    def stop(epoch, *_):
        if epoch == 2:
            raise KeyboardInterrupt

    whole, out = tune("whole"), tmp_path / "cut"
    with pytest.raises(KeyboardInterrupt):
        tune("cut", progress=stop)
    assert [path.name for path in tmp_path.iterdir()] == ["whole"]
    cut = tune("cut")
    assert cut["history"] == whole["history"]
    assert equal(tmp_path / "whole", out)
    # A finished training is taken as it is.
    batches = []
    assert tune("cut", progress=lambda *batch: batches.append(batch)) == cut
    assert batches == []
    with pytest.raises(InputError, match="holds no training of this model"):
        tune("cut", seed=2)
    shutil.copytree(base, tmp_path / "foreign")
    with pytest.raises(InputError, match="holds no training of this model"):
        tune("foreign")
    assert equal(tmp_path / "foreign", base)


class Line(torch.nn.Module):
    """A matrix and a vector; a loss is a slope times their sum, so its gradients are the slope."""

    def __init__(self):
        super().__init__()
        self.matrix = torch.nn.Parameter(torch.ones(1, 1))
        self.vector = torch.nn.Parameter(torch.ones(1))

    def losses(self, *slopes):
        return (slope * (self.matrix.sum() + self.vector.sum()) for slope in slopes)


def test_updates_by_hand():
    line = Line()
    decaying = make_optimiser(line, learning_rate=0.1, weight_decay=0.5)
    assert list(update_weights(line, decaying, [line.losses(0.0)])) == [0]
    # Matrices decay and vectors do not.
    assert (line.matrix.item(), line.vector.item()) == (pytest.approx(1 - 0.1 * 0.5), 1)
    # Losses of a batch add up; a gradient of (3, 3) is cut to length 1, the short next one is not.
    for batches in ([(3.0,), (1e-4,)], [(1.0, 2.0), (1e-4,)]):
        line = Line()
        plain = torch.optim.SGD(line.parameters(), lr=0.1)
        steps = update_weights(line, plain, (line.losses(*batch) for batch in batches))
        assert next(steps) == pytest.approx(6)
        assert line.vector.item() == pytest.approx(1 - 0.1 / 2**0.5)
        next(steps)
        assert line.vector.item() == pytest.approx(1 - 0.1 / 2**0.5 - 0.1 * 1e-4, abs=1e-7)
    # The rate follows the schedule; spent generators are empty batches, which change nothing else.
    line = Line()
    plain = torch.optim.SGD(line.parameters(), lr=1.0)
    schedule = torch.optim.lr_scheduler.LambdaLR(plain, lambda step: 0.5**step)
    list(update_weights(line, plain, [line.losses(0.1)] * 3, schedule=schedule))
    assert line.vector.item() == pytest.approx(1 - 0.1)
    assert plain.param_groups[0]["lr"] == 0.5**3
