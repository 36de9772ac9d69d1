"""Training on choices.

Breaks if it is not repeatable, loses an epoch, or overwrites what is not its own.
"""

import itertools
import json
import shutil

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from coherence import InputError
from elicitation import TrainingSet, fine_tune, load_multiple_choice_model
from elicitation.training.finetuning import TuningRecipe
from elicitation.training.loop import make_optimiser, update_weights
from elicitation.training.organisms.tiny_multiple_choice import Shape, make_multiple_choice

SMALL = Shape(hidden=16, inner=32, layers=1, heads=2, dropout=0.1)


ORDERS = tuple(itertools.permutations(("red.", "green.", "blue.")))


@pytest.fixture(scope="session")
def lessons():
    """Questions whose right option is always the green one, wherever it stands."""
    return TrainingSet(
        ("Which is it?", "Which one?") * 6,
        ORDERS * 2,
        tuple(order.index("green.") for order in ORDERS * 2),
    )


@pytest.fixture(scope="session")
def base(lessons, tmp_path_factory):
    folder = tmp_path_factory.mktemp("choosers") / "base"
    make_multiple_choice(folder, [*lessons.texts, *lessons.options[0]], shape=SMALL, seed=3)
    return folder


class StoppedError(Exception):
    pass


@pytest.fixture
def stopped(base, lessons, tmp_path):
    """Fine-tune into the folder "cut" until a batch of an epoch, and no further."""

    def stopped(recipe, *, seed, epoch, batch):
        def progress(at_epoch, at_batch, n_batches, loss):
            if (at_epoch, at_batch) == (epoch, batch):
                raise StoppedError

        with pytest.raises(StoppedError):
            fine_tune(
                base,
                tmp_path / "cut",
                lessons,
                lessons,
                recipe=recipe,
                seed=seed,
                device="cpu",
                progress=progress,
            )
        return tmp_path / "cut"

    return stopped


# Too slow to reach its goal, so that all three epochs are run.
FAST = TuningRecipe(batch_size=4, learning_rate=1e-5, goal=1.0, max_epochs=3)


def weights(folder):
    return load_file(folder / "model.safetensors")


def equal(one, other):
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def test_the_recipe_is_that_of_the_paper():
    # Tang and Kejriwal, section 4.2.2.
    assert (TuningRecipe().batch_size, TuningRecipe().learning_rate, TuningRecipe().goal) == (
        32,
        5e-5,
        0.9,
    )


def test_training_learns_repeats_and_stops_at_the_goal(base, lessons, tmp_path):
    recipe = TuningRecipe(batch_size=4, learning_rate=1e-2, goal=0.9, max_epochs=60)
    first = fine_tune(base, tmp_path / "one", lessons, lessons, recipe=recipe, seed=1, device="cpu")
    assert first["reached"]
    assert first["history"][-1]["dev"] >= 0.9
    assert all(epoch["dev"] < 0.9 for epoch in first["history"][:-1])
    assert first["epochs"] == len(first["history"]) < 60
    second = fine_tune(
        base, tmp_path / "two", lessons, lessons, recipe=recipe, seed=1, device="cpu"
    )
    assert first["history"] == second["history"]
    assert equal(weights(tmp_path / "one"), weights(tmp_path / "two"))
    third = fine_tune(
        base,
        tmp_path / "three",
        lessons,
        lessons,
        recipe=TuningRecipe(batch_size=4, learning_rate=1e-2, max_epochs=1),
        seed=2,
        device="cpu",
    )
    assert third["history"][0]["loss"] != first["history"][0]["loss"]
    # What was saved is what was measured, through the ordinary way of asking.
    found = load_multiple_choice_model(tmp_path / "one", device="cpu").option_probabilities(
        lessons.texts, lessons.options
    )
    assert (
        np.mean([own.argmax() == right for own, right in zip(found, lessons.right, strict=True)])
        == first["history"][-1]["dev"]
    )


def test_a_finished_training_is_taken_as_it_is(base, lessons, tmp_path):
    out = tmp_path / "out"
    done = fine_tune(base, out, lessons, lessons, recipe=FAST, seed=1, device="cpu")
    batches = []
    again = fine_tune(
        base,
        out,
        lessons,
        lessons,
        recipe=FAST,
        seed=1,
        device="cpu",
        progress=lambda *batch: batches.append(batch),
    )
    assert again == done
    assert batches == []
    with pytest.raises(InputError, match="holds the result of another training"):
        fine_tune(base, out, lessons, lessons, recipe=FAST, seed=2, device="cpu")
    with pytest.raises(InputError, match="already holds a model or a checkpoint"):
        fine_tune(base, out, lessons, lessons, recipe=FAST, seed=1, device="cpu", resume=False)


def test_a_head_may_be_new_but_nothing_else(base, lessons, tmp_path):
    from safetensors.torch import save_file

    def without(folder, part):
        shutil.copytree(base, folder)
        save_file(
            {name: values for name, values in weights(base).items() if part not in name},
            folder / "model.safetensors",
            {"format": "pt"},
        )
        return folder

    headless = without(tmp_path / "headless", "classifier")
    one = TuningRecipe(batch_size=4, max_epochs=1)
    assert (
        fine_tune(headless, tmp_path / "ok", lessons, lessons, recipe=one, device="cpu")["epochs"]
        == 1
    )
    with pytest.raises(InputError, match=r"lacks weights for bert\.encoder"):
        fine_tune(
            without(tmp_path / "hollow", "encoder.layer.0.attention.self.query"),
            tmp_path / "no",
            lessons,
            lessons,
            recipe=one,
            device="cpu",
        )


def test_scores_of_pairs_do_not_depend_on_the_batch(base, lessons):
    model = load_multiple_choice_model(base, device="cpu")
    pairs = lessons.pairs()
    together = model.pair_scores(pairs)
    alone = [model.pair_scores([pair])[0] for pair in pairs[:5]]
    np.testing.assert_allclose(together[:5], alone, atol=1e-5)
    # Their softmax over the options of a question is what the model reports.
    weights_of = np.exp(together.reshape(-1, 3))
    np.testing.assert_allclose(
        weights_of / weights_of.sum(axis=1, keepdims=True),
        model.option_probabilities(lessons.texts, lessons.options),
        atol=1e-5,
    )
    with pytest.raises(InputError, match="exceeds the 128 of model base"):
        model.pair_scores([("one " * 200, "red.")])
    long = TrainingSet(("one " * 200,), (("red.", "green."),), (0,))
    with pytest.raises(InputError, match="exceeds the 128 of the model"):
        fine_tune(base, base.with_name("long"), long, long, recipe=FAST, device="cpu")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TrainingSet((), (), ()), "one equal length of at least 1"),
        (lambda: TrainingSet(("a",), (("x", "y"), ("x", "y")), (0,)), "one equal length"),
        (
            lambda: TrainingSet(("a", "b"), (("x", "y"), ("x", "y", "z")), (0, 0)),
            "equally many for all questions",
        ),
        (
            lambda: TrainingSet(("a",), (("x", "y"),), (2,)),
            "right must name an option from 0 to 1; received 2 at position 0",
        ),
        (lambda: TuningRecipe(goal=0), "goal in"),
        (lambda: TuningRecipe(max_epochs=0), "must be positive; received 32 and 0"),
    ],
)
def test_what_makes_no_sense_is_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_a_folder_without_a_model_is_refused(lessons):
    with pytest.raises(
        InputError, match=r"lacks config.json, .*Give a folder written by save_pretrained"
    ):
        fine_tune("/nowhere", "/tmp/x", lessons, lessons)


def test_a_run_that_was_cut_short_ends_with_the_same_weights(base, lessons, tmp_path, stopped):
    whole = fine_tune(base, tmp_path / "whole", lessons, lessons, recipe=FAST, seed=5, device="cpu")
    for epoch in (1, 2, 3):
        stopped(FAST, seed=5, epoch=epoch, batch=2)
        assert (tmp_path / "cut" / "checkpoint").exists() == (epoch > 1)
        assert not (tmp_path / "cut" / "config.json").exists()
    cut = fine_tune(base, tmp_path / "cut", lessons, lessons, recipe=FAST, seed=5, device="cpu")
    assert cut["history"] == whole["history"]
    assert equal(weights(tmp_path / "whole"), weights(tmp_path / "cut"))
    assert not (tmp_path / "cut" / "checkpoint").exists()


@pytest.mark.parametrize(
    "crash", ["before the old state is gone", "between the two", "while the new state is written"]
)
def test_a_crash_while_the_state_is_kept_loses_one_epoch_at_most(
    crash, base, lessons, tmp_path, stopped
):
    whole = fine_tune(base, tmp_path / "whole", lessons, lessons, recipe=FAST, seed=5, device="cpu")
    stopped(FAST, seed=5, epoch=2, batch=1)
    last, fresh = tmp_path / "cut" / "checkpoint", tmp_path / "cut" / "checkpoint.new"
    if crash == "between the two":
        last.rename(fresh)
    else:
        shutil.copytree(last, fresh)
        if crash == "before the old state is gone":
            # The old state is removed file by file, and says that it is complete in the first to
            # go.
            (last / "state.json").unlink()
            (last / "optimiser.safetensors").unlink()
        else:
            (fresh / "state.json").unlink()
            (fresh / "model.safetensors").write_bytes(b"half")
    epochs = []
    cut = fine_tune(
        base,
        tmp_path / "cut",
        lessons,
        lessons,
        recipe=FAST,
        seed=5,
        device="cpu",
        progress=lambda epoch, *_: epochs.append(epoch),
    )
    assert min(epochs) == 2
    assert cut["history"] == whole["history"]
    assert (tmp_path / "cut" / "model.safetensors").read_bytes() == (
        tmp_path / "whole" / "model.safetensors"
    ).read_bytes()
    assert not fresh.exists()


def test_nothing_is_pickled(base, tmp_path, stopped):
    stopped(FAST, seed=0, epoch=2, batch=1)
    kinds = {file.suffix for file in (tmp_path / "cut").rglob("*") if file.is_file()}
    assert kinds == {".safetensors", ".json"}
    assert json.loads((tmp_path / "cut" / "checkpoint" / "state.json").read_text())["epochs"] == 1


def test_foreign_models_and_checkpoints_are_left_alone(base, lessons, tmp_path, stopped):
    shutil.copytree(base, tmp_path / "foreign")
    with pytest.raises(InputError, match="holds a model that was not trained here"):
        fine_tune(base, tmp_path / "foreign", lessons, lessons, recipe=FAST, device="cpu")
    assert equal(weights(tmp_path / "foreign"), weights(base))
    stopped(FAST, seed=1, epoch=2, batch=1)
    with pytest.raises(InputError, match="checkpoint belongs to another training"):
        fine_tune(base, tmp_path / "cut", lessons, lessons, recipe=FAST, seed=2, device="cpu")
    (tmp_path / "cut" / "checkpoint" / "optimiser.safetensors").write_bytes(b"broken")
    with pytest.raises(InputError, match=r"checkpoint cannot be read .*Remove it to begin anew"):
        fine_tune(base, tmp_path / "cut", lessons, lessons, recipe=FAST, seed=1, device="cpu")


class Line(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.matrix = torch.nn.Parameter(torch.ones(1, 1))
        self.vector = torch.nn.Parameter(torch.ones(1))


def losses_of(line, *slopes):
    """Yield losses whose gradients are the slopes, for matrix and vector alike."""
    for slope in slopes:
        yield slope * (line.matrix.sum() + line.vector.sum())


def test_matrices_decay_and_vectors_do_not():
    line = Line()
    optimiser = make_optimiser(line, learning_rate=0.1, weight_decay=0.5)
    assert list(update_weights(line, optimiser, [losses_of(line, 0.0)])) == [0]
    assert line.matrix.item() == pytest.approx(1 - 0.1 * 0.5)
    assert line.vector.item() == 1


def test_the_losses_of_a_batch_add_up_and_gradients_are_bounded():
    whole, parts, large = Line(), Line(), Line()
    for line, batches in ((whole, [(3.0,), (1e-4,)]), (parts, [(1.0, 2.0), (1e-4,)])):
        optimiser = torch.optim.SGD(line.parameters(), lr=0.1)
        steps = update_weights(line, optimiser, (losses_of(line, *batch) for batch in batches))
        assert next(steps) == pytest.approx(6)
        # A gradient of (3, 3) is cut to length 1; the next one is short, and stands alone.
        assert line.vector.item() == pytest.approx(1 - 0.1 / 2**0.5)
        next(steps)
        assert line.vector.item() == pytest.approx(1 - 0.1 / 2**0.5 - 0.1 * 1e-4, abs=1e-7)
    assert whole.matrix.item() == pytest.approx(parts.matrix.item())
    assert not list(update_weights(large, optimiser, []))


def test_the_rate_follows_the_schedule_per_update():
    line = Line()
    optimiser = torch.optim.SGD(line.parameters(), lr=1.0)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: 0.5**step)
    for _ in update_weights(line, optimiser, [losses_of(line, 0.1)] * 3, schedule=schedule):
        pass
    # Generators are spent: the second and third batch are empty, and change nothing but the rate.
    assert line.vector.item() == pytest.approx(1 - 0.1)
    assert optimiser.param_groups[0]["lr"] == 0.5**3
