"""What tests of figures share: tables made by hand, axes, and the artists on them."""

import pytest
from matplotlib.figure import Figure

from coherence import compare, simulate
from tests.api.tables import make_choices, make_pairs


@pytest.fixture
def pairs():
    return make_pairs


@pytest.fixture
def choices():
    return make_choices


@pytest.fixture
def ax():
    return Figure().add_subplot()


@pytest.fixture
def drawn():
    """Return the artists of an axes that bear a gid."""
    return lambda ax, gid: [artist for artist in ax.get_children() if artist.get_gid() == gid]


@pytest.fixture
def ends():
    """Return the points of a line, rounded."""
    return lambda line: [
        (round(float(x), 6), round(float(y), 6))
        for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)
    ]


@pytest.fixture(scope="session")
def asked():
    """Three agents with different flaws, asked about the same cases."""
    names = ("rational", "heaping", "wordbound")
    return {name: simulate(name, n_contexts=100, n_reps=3, rng=3) for name in names}


@pytest.fixture(scope="session")
def compared(asked):
    return compare(asked, effects=["calibration:rmse", "calibration:brier"], rng=1)
