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
    """A figure of one (task, model), or of all."""

    # unique in the report, of letters, digits and hyphens: prefix of ids, and name of a file
    key: str
    # title, caption: what it shows, and how to read it
    title: str
    caption: str
    draw: Callable[..., Any]  # takes an ``ax``
    height: float = 3.5  # inches
    # address -> what a reader who does not see the point is told that it leads to
    names: Mapping[str, str] = field(default_factory=dict)
    width: float = 5.0  # inches; a wide one takes the whole line of a page

    @property
    def size(self) -> tuple[float, float]:
        """Width and height in inches."""
        return self.width, self.height

    @property
    def svg(self) -> Markup:
        """The figure as an SVG element that may stand in a page as it is."""
        # The title element is what a screen reader says in place of the figure.
        title = f"{self.title}. {self.caption}"
        drawn = render_svg(self.draw, key=self.key, title=title, size=self.size, names=self.names)
        # Safe as markup: rebuilt from a parsed tree, whose serialiser escapes all text.
        return Markup(drawn)


def own_scale(scale: Span, scales: Sequence[Span]) -> str:
    """Say in a caption where a figure has another scale than those beside it."""
    widest = max(scales, key=lambda span: span[1] - span[0])
    return "" if scale == widest else " Its axis of shares is not that of the figures beside it."
