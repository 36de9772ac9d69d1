import pandas as pd
import pytest

from coherence.batteries import simulate_mixing
from coherence.cli.main import main

THINGS = "item,value,split\n" + "".join(
    f"{name},{value},{split}\n"
    for split in ("train", "dev", "test")
    for value, names in {"high": ("gem", "ship"), "low": ("nail", "sock")}.items()
    for name in (f"a {split} {word}" for word in names)
)


def written(folder):
    return {path.name for path in folder.iterdir()}


@pytest.fixture(scope="session")
def list_of_things():
    """Two things of each value in each split, as a file of them."""
    return THINGS


@pytest.fixture(scope="session")
def questions(tmp_path_factory):
    path = tmp_path_factory.mktemp("bets") / "questions.csv"
    assert main(["bets", "questions", "--out", str(path)]) == 0
    return path


@pytest.fixture(scope="session")
def answers(tmp_path_factory):
    path = tmp_path_factory.mktemp("answers") / "answers.csv"
    table = pd.concat(
        [simulate_mixing(name, n_draws=6, rng=0) for name in ("ideal", "first")], ignore_index=True
    )
    table.loc[table.index[:3], ["answer", "status"]] = [None, "refused"]
    # Models name themselves: markup, terminal commands and path separators must do no harm.
    table["model"] = table["model"].replace("first", "../first\x1b[31m <b>$x$")
    table.to_csv(path, index=False)
    return path
