"""A figure of a report before it is drawn: what draws it, its title and caption, where it links to.

Pages turn it into SVG, `coherence analyze --figures` into files; both draw the same.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup

from coherence.plots.scales import Span
from coherence.report.figure_svg import render_svg


@dataclass(frozen=True)
class Figure:
    """A figure of one (task, model), or of all.

    Parameters
    ----------
    key : str
        Unique in the report, of letters, digits and hyphens: prefix of ids, and name of a file.
    title, caption : str
        What it shows, and how to read it.
    draw : callable
        Takes an ``ax``.
    height : float
        Inches; all figures are 5 wide.
    names : mapping
        Address -> what a reader who does not see the point is told that it leads to.
    """

    key: str
    title: str
    caption: str
    draw: Callable[..., Any]
    height: float = 3.5
    names: Mapping[str, str] = field(default_factory=dict)

    @property
    def size(self) -> tuple[float, float]:
        """Width and height in inches."""
        return 5.0, self.height

    @property
    def svg(self) -> Markup:
        """The figure as an SVG element that may stand in a page as it is."""
        # The title element is what a screen reader says in place of the figure.
        title = f"{self.title}. {self.caption}"
        drawn = render_svg(self.draw, key=self.key, title=title, size=self.size, names=self.names)
        # Safe as markup: rebuilt from a parsed tree, whose serialiser escapes all text.
        return Markup(drawn)


def own_scale(scale: Span, scales: Sequence[Span]) -> str:
    """Say in a caption where a figure has another scale than those beside it.

    Parameters
    ----------
    scale : (float, float)
        Of the figure.
    scales : sequence of (float, float)
        Of all, from `coherence.plots.scales.shared_spans`.

    Returns
    -------
    str
        A sentence after a space; empty where most have the scale of this one.
    """
    widest = max(scales, key=lambda span: span[1] - span[0])
    return "" if scale == widest else " Its axis of shares is not that of the figures beside it."
