"""Style of pictures: readable on white, told apart without colours, settings that are known."""

from itertools import combinations

import pytest
from matplotlib.colors import to_rgb

from bayesnets.pictures import style

ON_WHITE = (*style.THREADS, style.INK, style.FAINT, style.ARROW, style.ACCENT)


def luminance(colour):
    """Relative luminance of a colour by WCAG 2.1."""
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(colour, ground):
    light, dark = sorted((luminance(colour), luminance(ground)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("colour", ON_WHITE)
def test_lines_stand_out_on_white(colour):
    """3 to 1 is what WCAG 2.1 asks of graphics (criterion 1.4.11)."""
    assert contrast(colour, "white") >= 3


@pytest.mark.parametrize("ground", ["white", style.ACCENT_FILL])
@pytest.mark.parametrize("colour", [style.INK, style.FAINT])
def test_text_is_readable_on_every_ground(colour, ground):
    """4.5 to 1 is what it asks of text (criterion 1.4.3)."""
    assert contrast(colour, ground) >= 4.5


def test_no_two_arrows_have_one_colour_and_none_has_that_of_what_is_marked():
    colours = [to_rgb(colour) for colour in (*style.THREADS, style.ACCENT)]
    assert len(colours) == 9
    for first, second in combinations(colours, 2):
        assert max(abs(a - b) for a, b in zip(first, second, strict=True)) > 0.08
