"""A document as an HTML page: inline figures, no scripts, nothing loaded from elsewhere.

Names of tasks and models, labels of actions and raw answers are untrusted. The templates escape
every value; only figures are inserted as markup, and those are rebuilt element by element from a
parsed tree.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any
from xml.etree import ElementTree

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from coherence.printable import capitalised, counted
from coherence.report.document import Figure, Part
from coherence.report.evaluation import EvaluationReport
from coherence.report.findings import document_of, head, results_table
from coherence.report.scores import forecasts_alone
from coherence.report.wording import ALERT, belief_noun, clean
from coherence.runs.runs import STATED

TITLE = "Belief coherence report"
MOST_IN_NOTEBOOK = 6
"""Evaluations that a notebook shows; of more, the page has all."""


@cache
def environment() -> Environment:
    """Return the templates, which escape what is no markup already."""
    # Undefined names raise: a misspelt one would print nothing, and nobody would notice.
    made = Environment(
        loader=PackageLoader("coherence", "report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals["ALERT"] = ALERT
    made.filters |= {"clean": clean, "svg": render_svg, "kind": lambda part: type(part).__name__}
    made.filters["capital"] = lambda text: capitalised(str(text))
    return made


def render_parts(parts: Sequence[Part]) -> str:
    """Return parts below each other as HTML, to be shown in a page."""
    return str(vars(environment().get_template("parts.html.j2").module)["show"](parts))


def render_page(
    title: str, parts: Sequence[Part], *, heading: str = "", subtitle: str = "", back: str = ""
) -> str:
    """Return a self-contained page; `back` is where it leads back to."""
    return (
        environment()
        .get_template("page.html.j2")
        .render(title=title, heading=heading or title, subtitle=subtitle, parts=parts, back=back)
    )


def render_html(
    evaluations: Sequence[EvaluationReport],
    settings: Mapping[str, Any] | None,
    *,
    title: str = TITLE,
    back: str = "",
    **places: Any,
) -> str:
    """Return the page of a report, or of one of its evaluations; `places` as in `document_of`."""
    front, details = document_of(evaluations, settings, page=True, **places)
    n_results = sum(len(evaluation.results) for evaluation in evaluations)
    subtitle = [f"{counted(len(evaluations), 'evaluation')} (task · model)"]
    subtitle.append(counted(n_results, "result"))
    # A checkout that was never installed does not know its version.
    version = (settings or {}).get("version")
    subtitle += [f"coherence {clean(version)}"] if version not in (None, "unknown") else []
    parts, about = [*front, *details], " · ".join(subtitle)
    return render_page(title, parts, heading=_question(evaluations), subtitle=about, back=back)


def render_notebook(evaluations: Sequence[EvaluationReport]) -> str:
    """Return what a notebook shows: what each evaluation says first, and its results."""
    if not evaluations:
        return render_parts(document_of(evaluations)[0])
    shown = evaluations[:MOST_IN_NOTEBOOK]
    parts = [part for each in shown for part in (*head(each, page=True), results_table(each))]
    n_more = len(evaluations) - len(shown)
    return render_parts(parts) + f"<p>{n_more} more; to_html() has all.</p>" * (n_more > 0)


def _question(evaluations: Sequence[EvaluationReport]) -> str:
    """Ask what a page answers, of the kind of belief that it is about."""
    if forecasts_alone(evaluations):
        return "How good are these forecasts?"
    nouns = {belief_noun(evaluation.answering) for evaluation in evaluations}
    if len(nouns) > 1:
        return "Could these beliefs be the ones acted on?"
    return f"Could the {next(iter(nouns), STATED)} be the belief acted on?"


def render_svg(figure: Figure) -> Markup:
    """Return a figure as an SVG element that may stand in a page as it is."""
    from coherence.plots.style import svg_of  # draws, which a page of tables does not

    root = ElementTree.fromstring(svg_of(figure.draw, size=figure.size))
    # The title element is what a screen reader says in place of the figure.
    title = f"{figure.title}. {figure.caption}"
    # Safe as markup: rebuilt from a parsed tree, whose serialiser escapes all text.
    return Markup(_embeddable(root, figure.key, title))


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
