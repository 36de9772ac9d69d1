"""Checkpoints: breaks if a resumed training ends otherwise, or takes what is not its own."""

import json
import shutil

import pytest
import torch
from safetensors.torch import load_file

from coherence import InputError
from elicitation import fine_tune
from elicitation.training.finetuning import TuningRecipe

# Too slow to reach its goal, so that all three epochs are run.
# Too slow to reach its goal, so that all three epochs are run.
FAST = TuningRecipe(batch_size=4, learning_rate=1e-5, goal=1.0, max_epochs=3)


def weights(folder):
    return load_file(folder / "model.safetensors")


def equal(one, other):
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


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
