import os

os.environ.setdefault(
    "OMP_WAIT_POLICY", "PASSIVE"
)  # threads that spin slow a shared machine down many times over

import pytest


@pytest.fixture(scope="session")
def asia():
    from elicitation.session.plan import Task

    return Task.load("asia")


@pytest.fixture(scope="session")
def cases(asia):
    return asia.cases(12, seed=0)


@pytest.fixture(scope="session")
def model_folder(asia, tmp_path_factory):
    """A very small model, taught for seconds: mostly it gets the form of answers right."""
    from elicitation.training.organisms.reader import Recipe, train_reader

    folder = tmp_path_factory.mktemp("models") / "tiny"
    batch = (("belief", 8), ("conditional", 4), ("decision", 4), ("auxiliary", 4))
    train_reader(
        folder,
        asia,
        recipe=Recipe(
            steps=250,
            hidden=32,
            inner=64,
            layers=1,
            heads=2,
            learning_rate=1e-2,
            batch=batch,
            threads=1,
        ),
    )
    return folder


@pytest.fixture(scope="session")
def model(model_folder):
    from elicitation.models.local.causal import load_causal_model

    return load_causal_model(model_folder, batch_size=8)
