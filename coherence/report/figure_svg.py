"""A figure as an SVG element that may stand inside a page: no scripts, ids that are its alone.

No figure is registered with pyplot and no setting stays changed.
"""

import io
import re
from collections.abc import Callable
from xml.etree import ElementTree

from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from coherence.plots.style import figure_style
from coherence.report.wording import clean


def render_svg(
    draw: Callable[..., Axes],
    *,
    key: str,
    title: str,
    size: tuple[float, float] = (5.0, 3.5),
) -> str:
    """Draw one figure and return it as an SVG element for use inside a page."""
    buffer = io.BytesIO()
    with figure_style():
        figure = Figure(figsize=size, layout="constrained")
        canvas = FigureCanvasSVG(figure)
        draw(ax=figure.add_subplot())
        # What `savefig(transparent=True)` does, which would draw everything twice.
        for patch in (figure.patch, *(ax.patch for ax in figure.axes)):
            patch.set(facecolor="none", edgecolor="none")
        canvas.print_svg(buffer, metadata={"Date": None})
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
            elif name == "href" and value.startswith("#"):
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
