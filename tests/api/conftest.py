"""What tests of figures share: tables made by hand, axes, and the artists on them."""

import sys

import pytest
from matplotlib.figure import Figure

from tests.api.tables import make_choices, make_pairs


@pytest.fixture(autouse=True)
def no_figure_stays_open():
    """Close what a function without axes has opened: pyplot keeps it, and warns at the 20th."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


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
