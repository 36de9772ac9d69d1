"""A figure as an SVG element that may stand inside a page: no scripts, ids that are its alone.

No figure is registered with pyplot and no setting stays changed.
"""

import io
import re
import warnings
from collections.abc import Callable
from xml.etree import ElementTree

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from coherence.report.wording import clean

# Text stays text, and the salt makes ids that depend on the drawing alone: equal bytes for equal
# data.
_STYLE = {
    "font.family": "sans-serif",
    "font.size": 10.0,
    "svg.fonttype": "none",
    "svg.hashsalt": "coherence",
    "text.usetex": False,
    "path.simplify": True,
    "axes.unicode_minus": True,
}


def render_svg(
    draw: Callable[[Axes], Axes], *, key: str, title: str, size: tuple[float, float] = (5.0, 3.5)
) -> str:
    """Draw one figure and return it as an SVG element for use inside a page.

    Parameters
    ----------
    draw : callable
        Takes an ``ax``.
    key : str
        Prefix of all ids, unique in the page.
    title : str
        What the figure is, for readers who do not see it.
    size : (float, float)
        Width and height in inches; in a page the figure scales with its container.

    Returns
    -------
    str
        ``<svg role="img">...</svg>`` without scripts, style sheets or references to the outside;
        equal bytes for equal data.
    """
    buffer = io.BytesIO()
    # The SVG writer reads these from the global settings, so they are set for this call only.
    with rc_context(_STYLE), warnings.catch_warnings():
        # The page's reader brings the fonts; that this machine lacks a glyph for a label does not
        # matter.
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        figure = Figure(figsize=size, layout="constrained")
        FigureCanvasSVG(figure)
        draw(figure.add_subplot())
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    return _embeddable(ElementTree.fromstring(buffer.getvalue()), key, title)


def _embeddable(root: ElementTree.Element, key: str, title: str) -> str:
    """Make a parsed SVG fit to stand inside HTML: bare names, ids of its own, scalable, titled."""
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag.rpartition("}")[2] in ("metadata", "style"):
                parent.remove(child)
    # Only ids that something refers to are kept: the others repeat from figure to figure, and from
    # line to line.
    referred = set(
        re.findall(
            r"#([^\")\s]+)",
            " ".join(value for element in root.iter() for value in element.attrib.values()),
        )
    )
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        attributes = {name.rpartition("}")[2]: value for name, value in element.attrib.items()}
        if attributes.get("id") not in referred:
            attributes.pop("id", None)
        for name, value in attributes.items():
            if name == "id":
                attributes[name] = f"{key}-{value}"
            elif name == "href":
                attributes[name] = value.replace("#", f"#{key}-", 1)
            elif "url(#" in value:
                attributes[name] = value.replace("url(#", f"url(#{key}-")
        element.attrib.clear()
        element.attrib.update(attributes)
    for name in ("width", "height", "version"):
        root.attrib.pop(name, None)
    root.attrib.update({"role": "img", "aria-labelledby": f"{key}-title"})
    label = ElementTree.Element("title", {"id": f"{key}-title"})
    label.text = clean(title)
    root.insert(0, label)
    return ElementTree.tostring(root, encoding="unicode")
