"""Training on choices: breaks if it differs when repeated, loses an epoch or overwrites a model."""

import itertools
import json
import shutil

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from coherence import InputError
from elicitation import TrainingSet, fine_tune, load_multiple_choice_model
from elicitation.training.finetuning import TuningRecipe
from elicitation.training.loop import make_optimiser, update_weights

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


@pytest.fixture
def stopped(tune):
    """Fine-tune into the folder "cut" until a batch of an epoch, and no further."""

    def stop(epoch, batch):
        def progress(*at):
            if at[:2] == (epoch, batch):
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            tune("cut", progress=progress)

    return stop


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


def test_a_head_may_be_new_but_nothing_else(base, tune, tmp_path):
    def without(name, part):
        folder = shutil.copytree(base, tmp_path / name)
        weights = load_file(base / "model.safetensors")
        kept = {name: values for name, values in weights.items() if part not in name}
        save_file(kept, folder / "model.safetensors", {"format": "pt"})
        return folder

    once = TuningRecipe(batch_size=4, max_epochs=1)
    assert tune("ok", once, start=without("headless", "classifier"))["epochs"] == 1
    hollow = without("hollow", "encoder.layer.0.attention.self.query")
    with pytest.raises(InputError, match=r"lacks weights for bert\.encoder"):
        tune("no", once, start=hollow)


TWO, THREE = ("x", "y"), ("x", "y", "z")
LONG = TrainingSet(("a " * 200,), (TWO,), (0,))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda _: TrainingSet((), (), ()), "one equal length of at least 1"),
        (lambda _: TrainingSet(("a", "b"), (TWO, THREE), (0, 0)), "equally many for all"),
        (lambda _: TrainingSet(("a",), (TWO,), (2,)), "from 0 to 1; received 2 at position 0"),
        (lambda _: TuningRecipe(goal=0), "goal in"),
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


def test_a_run_that_was_cut_short_ends_with_the_same_weights(tune, stopped, tmp_path):
    whole, out = tune("whole"), tmp_path / "cut"
    for epoch in (1, 2, 3):
        stopped(epoch, batch=2)
        assert (out / "checkpoint").exists() == (epoch > 1)
        assert not (out / "config.json").exists()
    # Nothing is pickled.
    assert {file.suffix for file in out.rglob("*") if file.is_file()} == {".safetensors", ".json"}
    assert json.loads((out / "checkpoint" / "state.json").read_text())["epochs"] == 2
    cut = tune("cut")
    assert cut["history"] == whole["history"]
    assert equal(tmp_path / "whole", out)
    assert not (out / "checkpoint").exists()
    # A finished training is taken as it is.
    batches = []
    assert tune("cut", progress=lambda *batch: batches.append(batch)) == cut
    assert batches == []
    with pytest.raises(InputError, match="holds the result of another training"):
        tune("cut", seed=2)
    with pytest.raises(InputError, match="already holds a model or a checkpoint"):
        tune("cut", resume=False)


@pytest.mark.parametrize(
    "crash", ["before the old state is gone", "between the two", "while the new state is written"]
)
def test_a_crash_while_the_state_is_kept_loses_one_epoch_at_most(crash, tune, stopped, tmp_path):
    whole = tune("whole")
    stopped(epoch=2, batch=1)
    last, fresh = tmp_path / "cut" / "checkpoint", tmp_path / "cut" / "checkpoint.new"
    if crash == "between the two":
        last.rename(fresh)
    else:
        shutil.copytree(last, fresh)
        if crash == "before the old state is gone":
            # It is removed file by file; the first to go says that it is complete.
            (last / "state.json").unlink()
            (last / "optimiser.safetensors").unlink()
        else:
            (fresh / "state.json").unlink()
            (fresh / "model.safetensors").write_bytes(b"half")
    epochs = []
    cut = tune("cut", progress=lambda epoch, *_: epochs.append(epoch))
    assert min(epochs) == 2
    assert cut["history"] == whole["history"]
    assert equal(tmp_path / "whole", tmp_path / "cut")
    assert not fresh.exists()


def test_foreign_models_and_checkpoints_are_left_alone(base, tune, stopped, tmp_path):
    shutil.copytree(base, tmp_path / "foreign")
    with pytest.raises(InputError, match="holds a model that was not trained here"):
        tune("foreign")
    assert equal(tmp_path / "foreign", base)
    stopped(epoch=2, batch=1)
    with pytest.raises(InputError, match="checkpoint belongs to another training"):
        tune("cut", seed=2)
    (tmp_path / "cut" / "checkpoint" / "optimiser.safetensors").write_bytes(b"broken")
    with pytest.raises(InputError, match=r"checkpoint cannot be read .*Remove it to begin anew"):
        tune("cut")


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
