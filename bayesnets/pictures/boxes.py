"""The boxes of a picture: the name of a variable, its states, and how much room these take."""

import textwrap
import unicodedata
from dataclasses import dataclass
from typing import Any

from bayesnets.node import Node
from bayesnets.pictures import style


@dataclass(frozen=True)
class Box:
    """The box of a variable."""

    # name, states: lines of text
    name: tuple[str, ...]
    states: tuple[str, ...]
    # width, height: in points
    width: float
    height: float


def box_of(node: Node) -> Box:
    """Return the box of a node; long texts are wrapped or shortened, and many states counted."""
    shown = [
        textwrap.shorten(printable(state), style.STATE_WRAP, placeholder="…")
        or printable(state)[: style.STATE_WRAP]
        for state in node.states
    ]
    if len(shown) > style.MOST_STATES:
        shown = [*shown[: style.MOST_STATES - 1], f"and {len(shown) - style.MOST_STATES + 1} more"]
    # A state stays on one line; a name breaks after an underscore as it does at a space.
    glued = " · ".join(text.replace(" ", "\xa0") for text in shown)
    states = tuple(
        line.replace("\xa0", " ").strip(" ·")
        for line in textwrap.wrap(glued, style.STATE_WRAP, break_on_hyphens=False)
    )
    breakable = printable(node.name).replace("_", "_ ")
    lines = textwrap.wrap(breakable, style.NAME_WRAP, break_long_words=False)
    pieces = [piece for line in lines for piece in textwrap.wrap(line, style.STATE_WRAP)]
    # A name of nothing but unprintable characters still gets a box.
    name = tuple(piece.replace("_ ", "_") for piece in pieces) or ("?",)
    widest = max(
        [_text_width(line, style.NAME_SIZE, "bold") for line in name]
        + [_text_width(line, style.STATE_SIZE, "normal") for line in states]
    )
    width = max(widest, style.PORT * len(node.parents)) + 2 * style.PADDING
    height = (len(name) * style.NAME_SIZE + len(states) * style.STATE_SIZE) * style.LINE
    return Box(name, states, width, height + 1.4 * style.PADDING)


def _text_width(text: str, size: float, weight: str) -> float:
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    return float(
        text_to_path.get_text_width_height_descent(
            text, FontProperties(size=size, weight=weight), ismath=False
        )[0]
    )


def printable(text: str) -> str:
    """Return text without characters that no font shows, and with any white space as a blank."""
    return "".join(
        " " if character.isspace() else character
        for character in text
        if unicodedata.category(character) not in ("Cc", "Cf", "Cs")
    ).strip()


def draw_box(ax: Any, box: Box, x: float, y: float, *, marked: bool) -> None:
    """Draw a box around a centre; a marked one is set off."""
    from matplotlib.patches import FancyBboxPatch

    corner = (x - box.width / 2, y - box.height / 2)
    fill, edge, width = (
        (style.ACCENT_FILL, style.ACCENT, 2.2) if marked else ("white", style.FAINT, 1.0)
    )
    drawn: dict[str, Any] = {
        "facecolor": fill,
        "edgecolor": edge,
        "linewidth": width,
        "zorder": 4.0,
    }
    rounded = "round,pad=0,rounding_size=4"
    ax.add_patch(FancyBboxPatch(corner, box.width, box.height, boxstyle=rounded, **drawn))
    # Lines of text from the top; each is centred in its own height.
    line_y = y + box.height / 2 - 0.7 * style.PADDING
    for lines, size, colour, weight in (
        (box.name, style.NAME_SIZE, style.INK, "bold"),
        (box.states, style.STATE_SIZE, style.FAINT, "normal"),
    ):
        drawn = {"size": size, "color": colour, "weight": weight, "parse_math": False}
        for line in lines:
            line_y -= size * style.LINE / 2
            middle = {"ha": "center", "va": "center_baseline", "zorder": 5.0}
            ax.text(x, line_y, line, **drawn, **middle)
            line_y -= size * style.LINE / 2
