import itertools

import pytest

from elicitation import Lessons, fine_tune
from elicitation.training.organisms.chooser import Shape, make_chooser

SMALL = Shape(hidden=16, inner=32, layers=1, heads=2, dropout=0.1)
ORDERS = tuple(itertools.permutations(("red.", "green.", "blue.")))


@pytest.fixture(scope="session")
def lessons():
    """Questions whose right option is always the green one, wherever it stands."""
    return Lessons(
        ("Which is it?", "Which one?") * 6,
        ORDERS * 2,
        tuple(order.index("green.") for order in ORDERS * 2),
    )


@pytest.fixture(scope="session")
def base(lessons, tmp_path_factory):
    folder = tmp_path_factory.mktemp("choosers") / "base"
    make_chooser(folder, [*lessons.texts, *lessons.options[0]], shape=SMALL, seed=3)
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
