"""Training on choices: breaks if it is not repeatable, if a resumed run differs from an unbroken one, or if wrong folders are overwritten."""

import itertools
import json
import shutil

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from coherence.batteries.bets.right_choices import right_roles
from coherence.batteries.bets.scores import score_bets
from coherence.errors import InputError
from elicitation.batteries.bets.items import Item, Items, default_items
from elicitation.batteries.bets.models import (
    SCRATCH,
    lessons_from,
    load_chooser,
    make_value_reader,
    score_choices,
    with_values,
)
from elicitation.batteries.bets.questions import bet_questions, value_questions
from elicitation.models.local.multiple_choice import load_multiple_choice_model
from elicitation.training.finetuning import Lessons, TuningRecipe, fine_tune
from elicitation.training.organisms.chooser import Shape, make_chooser

SMALL = Shape(hidden=16, inner=32, layers=1, heads=2, dropout=0.1)
ORDERS = tuple(itertools.permutations(("red.", "green.", "blue.")))
# The right option is always the green one, wherever it stands.
LESSONS = Lessons(
    ("Which is it?", "Which one?") * 6,
    ORDERS * 2,
    tuple(order.index("green.") for order in ORDERS * 2),
)
# Too slow to reach its goal, so that all three epochs are run.
FAST = TuningRecipe(batch_size=4, learning_rate=1e-5, goal=1.0, max_epochs=3)


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    folder = tmp_path_factory.mktemp("choosers") / "base"
    make_chooser(folder, [*LESSONS.texts, *LESSONS.options[0]], shape=SMALL, seed=3)
    return folder


def weights(folder):
    return load_file(folder / "model.safetensors")


def equal(one, other):
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


class StoppedError(Exception):
    pass


def stop_after(epoch, batch):
    def progress(at_epoch, at_batch, total, loss):
        if (at_epoch, at_batch) == (epoch, batch):
            raise StoppedError

    return progress


def test_the_recipe_is_that_of_the_paper():
    # Tang and Kejriwal, section 4.2.2.
    assert (TuningRecipe().batch_size, TuningRecipe().learning_rate, TuningRecipe().goal) == (32, 5e-5, 0.9)


def test_training_learns_repeats_and_stops_at_the_goal(base, tmp_path):
    recipe = TuningRecipe(batch_size=4, learning_rate=1e-2, goal=0.9, max_epochs=60)
    first = fine_tune(base, tmp_path / "one", LESSONS, LESSONS, recipe=recipe, seed=1, device="cpu")
    assert first["reached"]
    assert first["history"][-1]["dev"] >= 0.9
    assert all(epoch["dev"] < 0.9 for epoch in first["history"][:-1])
    assert first["epochs"] == len(first["history"]) < 60
    second = fine_tune(
        base, tmp_path / "two", LESSONS, LESSONS, recipe=recipe, seed=1, device="cpu"
    )
    assert first["history"] == second["history"]
    assert equal(weights(tmp_path / "one"), weights(tmp_path / "two"))
    third = fine_tune(
        base,
        tmp_path / "three",
        LESSONS,
        LESSONS,
        recipe=TuningRecipe(batch_size=4, learning_rate=1e-2, max_epochs=1),
        seed=2,
        device="cpu",
    )
    assert third["history"][0]["loss"] != first["history"][0]["loss"]
    # What was saved is what was measured, through the ordinary way of asking.
    found = load_multiple_choice_model(tmp_path / "one", device="cpu").option_probabilities(
        LESSONS.texts, LESSONS.options
    )
    assert (
        np.mean([own.argmax() == right for own, right in zip(found, LESSONS.right, strict=True)])
        == first["history"][-1]["dev"]
    )


def test_a_run_that_was_cut_short_ends_with_the_same_weights(base, tmp_path):
    whole = fine_tune(base, tmp_path / "whole", LESSONS, LESSONS, recipe=FAST, seed=5, device="cpu")
    for epoch in (1, 2, 3):
        with pytest.raises(StoppedError):
            fine_tune(
                base,
                tmp_path / "cut",
                LESSONS,
                LESSONS,
                recipe=FAST,
                seed=5,
                device="cpu",
                progress=stop_after(epoch, 2),
            )
        assert (tmp_path / "cut" / "checkpoint").exists() == (epoch > 1)
        assert not (tmp_path / "cut" / "config.json").exists()
    cut = fine_tune(base, tmp_path / "cut", LESSONS, LESSONS, recipe=FAST, seed=5, device="cpu")
    assert cut["history"] == whole["history"]
    assert equal(weights(tmp_path / "whole"), weights(tmp_path / "cut"))
    assert not (tmp_path / "cut" / "checkpoint").exists()


@pytest.mark.parametrize(
    "crash", ["before the old state is gone", "between the two", "while the new state is written"]
)
def test_a_crash_while_the_state_is_kept_loses_one_epoch_at_most(crash, base, tmp_path):
    whole = fine_tune(base, tmp_path / "whole", LESSONS, LESSONS, recipe=FAST, seed=5, device="cpu")
    with pytest.raises(StoppedError):
        fine_tune(
            base,
            tmp_path / "cut",
            LESSONS,
            LESSONS,
            recipe=FAST,
            seed=5,
            device="cpu",
            progress=stop_after(2, 1),
        )
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
        LESSONS,
        LESSONS,
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


def test_nothing_is_pickled(base, tmp_path):
    with pytest.raises(StoppedError):
        fine_tune(
            base,
            tmp_path / "cut",
            LESSONS,
            LESSONS,
            recipe=FAST,
            device="cpu",
            progress=stop_after(2, 1),
        )
    kinds = {file.suffix for file in (tmp_path / "cut").rglob("*") if file.is_file()}
    assert kinds == {".safetensors", ".json"}
    assert json.loads((tmp_path / "cut" / "checkpoint" / "state.json").read_text())["epochs"] == 1


def test_a_finished_training_is_taken_as_it_is(base, tmp_path):
    out = tmp_path / "out"
    done = fine_tune(base, out, LESSONS, LESSONS, recipe=FAST, seed=1, device="cpu")
    assert (
        fine_tune(
            base,
            out,
            LESSONS,
            LESSONS,
            recipe=FAST,
            seed=1,
            device="cpu",
            progress=stop_after(1, 1),
        )
        == done
    )
    with pytest.raises(InputError, match="holds the result of another training"):
        fine_tune(base, out, LESSONS, LESSONS, recipe=FAST, seed=2, device="cpu")
    with pytest.raises(InputError, match="already holds a model or a checkpoint"):
        fine_tune(base, out, LESSONS, LESSONS, recipe=FAST, seed=1, device="cpu", resume=False)


def test_foreign_models_and_checkpoints_are_left_alone(base, tmp_path):
    shutil.copytree(base, tmp_path / "foreign")
    with pytest.raises(InputError, match="holds a model that was not trained here"):
        fine_tune(base, tmp_path / "foreign", LESSONS, LESSONS, recipe=FAST, device="cpu")
    assert equal(weights(tmp_path / "foreign"), weights(base))
    with pytest.raises(StoppedError):
        fine_tune(
            base,
            tmp_path / "cut",
            LESSONS,
            LESSONS,
            recipe=FAST,
            seed=1,
            device="cpu",
            progress=stop_after(2, 1),
        )
    with pytest.raises(InputError, match="checkpoint belongs to another training"):
        fine_tune(base, tmp_path / "cut", LESSONS, LESSONS, recipe=FAST, seed=2, device="cpu")
    (tmp_path / "cut" / "checkpoint" / "optimiser.safetensors").write_bytes(b"broken")
    with pytest.raises(InputError, match=r"checkpoint cannot be read .*Remove it to begin anew"):
        fine_tune(base, tmp_path / "cut", LESSONS, LESSONS, recipe=FAST, seed=1, device="cpu")


def test_a_head_may_be_new_but_nothing_else(base, tmp_path):
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
        fine_tune(headless, tmp_path / "ok", LESSONS, LESSONS, recipe=one, device="cpu")["epochs"]
        == 1
    )
    with pytest.raises(InputError, match=r"lacks weights for bert\.encoder"):
        fine_tune(
            without(tmp_path / "hollow", "encoder.layer.0.attention.self.query"),
            tmp_path / "no",
            LESSONS,
            LESSONS,
            recipe=one,
            device="cpu",
        )


def test_scores_of_pairs_do_not_depend_on_the_batch(base):
    model = load_multiple_choice_model(base, device="cpu")
    pairs = LESSONS.pairs()
    together = model.pair_scores(pairs)
    alone = [model.pair_scores([pair])[0] for pair in pairs[:5]]
    np.testing.assert_allclose(together[:5], alone, atol=1e-5)
    # Their softmax over the options of a question is what the model reports.
    weights_of = np.exp(together.reshape(-1, 3))
    np.testing.assert_allclose(
        weights_of / weights_of.sum(axis=1, keepdims=True),
        model.option_probabilities(LESSONS.texts, LESSONS.options),
        atol=1e-5,
    )
    with pytest.raises(InputError, match="exceeds the 128 of model base"):
        model.pair_scores([("one " * 200, "red.")])
    long = Lessons(("one " * 200,), (("red.", "green."),), (0,))
    with pytest.raises(InputError, match="exceeds the 128 of the model"):
        fine_tune(base, base.with_name("long"), long, long, recipe=FAST, device="cpu")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Lessons((), (), ()), "one equal length of at least 1"),
        (lambda: Lessons(("a",), (("x", "y"), ("x", "y")), (0,)), "one equal length"),
        (
            lambda: Lessons(("a", "b"), (("x", "y"), ("x", "y", "z")), (0, 0)),
            "equally many for all questions",
        ),
        (
            lambda: Lessons(("a",), (("x", "y"),), (2,)),
            "right must name an option from 0 to 1; received 2 at position 0",
        ),
        (lambda: TuningRecipe(goal=0), "goal in"),
        (lambda: TuningRecipe(max_epochs=0), "must be positive; received 32 and 0"),
        (
            lambda: fine_tune("/nowhere", "/tmp/x", LESSONS, LESSONS),
            "model must be a folder with config.json",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_multiple_choice_models_answer_bets(base, tmp_path):
    """A very small model taught the values of six things answers questions about them rightly, and its scores are logistic in its logits."""
    items = Items(tuple(Item(name, value, "test", price) for value, price, names in (
        ("high", 100, ("gold", "silver", "copper")), ("low", 1, ("sand", "mud", "dust"))) for name in names))  # fmt: skip
    record = make_value_reader(
        tmp_path / "values", items, shape=Shape(hidden=32, inner=64, layers=1, heads=2)
    )
    assert record["history"][-1]["dev"] > 0.6
    model = load_chooser(tmp_path / "values", device="cpu")
    questions = value_questions(items, splits=["test"])
    table = score_choices(model, questions)
    logits = np.log(
        table[["score_a", "score_b", "score_c"]] / (1 - table[["score_a", "score_b", "score_c"]])
    ).to_numpy()
    weights_of = np.exp(logits)
    np.testing.assert_allclose(
        table[["prob_a", "prob_b", "prob_c"]],
        weights_of / weights_of.sum(axis=1, keepdims=True),
        rtol=1e-5,
    )
    assert not list(tmp_path.glob("*.random"))
    with pytest.raises(InputError, match="'none' is none of question boolean-expensive-test-001"):
        lessons_from(questions, ["none"] * len(questions))


@pytest.mark.slow
@pytest.mark.parametrize("modality", ["coin", "dice", "card"])
def test_a_model_from_scratch_learns_bets_and_applies_them_to_other_things(modality, tmp_path):
    items = default_items()
    make_value_reader(tmp_path / "values", items)
    lessons = {}
    for split in ("train", "dev"):
        questions = bet_questions(items, splits=[split], modalities=[modality])
        lessons[split] = lessons_from(questions, right_roles(questions))
    record = fine_tune(
        tmp_path / "values",
        tmp_path / "out",
        with_values(lessons["train"], items),
        lessons["dev"],
        recipe=SCRATCH,
        device="cpu",
    )
    assert record["reached"]
    assert record["seconds"] < 300
    questions = bet_questions(items, splits=["dev", "test"], modalities=[modality])
    accuracy = score_bets(
        questions, score_choices(load_chooser(tmp_path / "out", device="cpu"), questions)
    ).accuracy
    assert accuracy.set_index("truth").loc["correct", "accuracy"] >= 0.8
