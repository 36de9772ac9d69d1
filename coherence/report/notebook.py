"""A report in a notebook: for each task and model what is said first, and a table of results."""

from collections.abc import Sequence
from html import escape

from coherence.report.unit import Unit
from coherence.report.wording import alert_sentence, clean, format_effect, format_pvalue

MOST_UNITS = 6
"""Units that are shown; of more, the page of ``to_html`` has all."""
HEADING = ("check", "effect", "interval", "p", "Holm")


def render_notebook(units: Sequence[Unit]) -> str:
    """Render units for a notebook."""
    parts = [_unit(unit) for unit in units[:MOST_UNITS]]
    if len(units) > MOST_UNITS:
        parts.append(f"<p>{len(units) - MOST_UNITS} more; to_html() has all.</p>")
    return "".join(parts) or "<p>The runs table holds no rows to check.</p>"


def _unit(unit: Unit) -> str:
    name = " · ".join(clean(str(part)) for part in (unit.task, unit.model) if part)
    heading = f"<h4>{escape(name or 'all rows')}</h4>"
    said = "".join(f"<p>{escape(clean(sentence))}</p>" for sentence in unit.conclusion)
    said += "".join(
        f"<p><strong>{escape(alert_sentence(alert))}</strong></p>" for alert in unit.alerts
    )
    head = "".join(f'<th scope="col">{word}</th>' for word in HEADING)
    rows = []
    for result in unit.results:
        pvalues = (format_pvalue(result.pvalue), format_pvalue(result.pvalue_holm))
        cells = (clean(result.check), *format_effect(result), *pvalues)
        rows.append("".join(f"<td>{escape(cell)}</td>" for cell in cells))
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return f"{heading}{said}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
