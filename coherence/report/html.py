"""A report as an HTML page: inline figures, no scripts, nothing loaded from elsewhere.

Task and model names, action labels and raw answers are untrusted. The templates escape every value;
only figures are inserted as markup, and those are rebuilt element by element from a parsed tree.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from coherence.report import wording
from coherence.report.answer_links import AnswerLinks
from coherence.report.forest_figures import forest_figures
from coherence.report.movement import little_sentence
from coherence.report.page_parts import environment, setting_rows
from coherence.report.pooling import pooled_sentences
from coherence.report.provenance import command
from coherence.report.ranking import (
    FEW,
    Ranked,
    by_measure,
    counted_rejections,
    is_test,
    rank,
    unit_key,
)
from coherence.report.unit import Unit
from coherence.report.unit_html import effect_cells, question, short_context, unit_context
from coherence.result import LEVEL
from coherence.table.printable import counted

TITLE = "Belief coherence report"
_NO_EFFECT = {
    **{"effect": "not run", "unit": "", "interval": wording.NOT_GIVEN},
    **{"pvalue": wording.NOT_GIVEN, "adjusted": [], "mark": "", "flagged": False},
}


def unit_page_name(key: str) -> str:
    """Return where the page of one unit among many lies, as seen from the report."""
    return f"units/{key}.html"


def _overview_row(row: Ranked, url: str, shared: Collection[str]) -> dict[str, Any]:
    cells = dict(_NO_EFFECT) if row.result is None else effect_cells(row.result)
    return {
        **cells,
        "measure": cells["unit"],
        "component": "" if row.result is None else wording.component_of(row.result),
        "heading": wording.unit_heading(row.unit),
        "url": url,
        "conclusion": " ".join(row.unit.conclusion),
        "alerts": [wording.clean(alert) for alert in row.unit.alerts if alert not in shared],
        "rejected": ", ".join(wording.clean(result.check) for result in row.rejected)
        or f"none of {counted(sum(map(is_test, row.unit.results)), 'test')}",
        "little": little_sentence(row.unit.movement),
    }


def _subtitle(units: Sequence[Unit], settings: Mapping[str, Any]) -> str:
    n_results = sum(len(unit.results) for unit in units)
    # A checkout that was never installed does not know its version.
    version = settings.get("version")
    parts = [
        f"{counted(len(units), 'unit')} (task · model)",
        counted(n_results, "result"),  # a check may have several, one for each pair of actions
    ]
    parts += [f"coherence {wording.clean(version)}"] if version not in (None, "unknown") else []
    return " · ".join(parts)


def render_html(
    units: Sequence[Unit],
    settings: Mapping[str, Any],
    *,
    links: Mapping[str, AnswerLinks] | None = None,
    split: bool = False,
) -> str:
    """Render a report as a page."""
    check, ranked = rank(units)
    links = links or {}

    def url_of(row: Ranked) -> str:
        return unit_page_name(row.key) if split else f"#{row.key}"

    shown = []
    for number, unit in enumerate(units, start=1):
        key = unit_key(number)
        of_unit = links.get(key)
        if split:
            answers = "" if of_unit is None else f"answers/{key}.html"
            shown.append(short_context(unit, key, page=unit_page_name(key), answers=answers))
        else:
            shown.append(unit_context(unit, key, of_unit))
    # Said once where they hold for all, and else with the unit that they are about.
    shared = (
        [alert for alert in units[0].alerts if all(alert in u.alerts for u in units)]
        if units
        else []
    )
    legend = (
        f"Ranked by {wording.clean(check) or 'no test'}, whose effect, interval and p are shown, "
        "the largest first within each unit of measurement, beyond which effects do not compare; "
        f"● rejected after Holm's correction over all tests (p ≤ {LEVEL}); ○ a sign that does not "
        "survive it."
    )
    return (
        environment()
        .get_template("page.html.j2")
        .render(
            title=TITLE,
            question=question(units),
            subtitle=_subtitle(units, settings),
            counted=counted_rejections(units),
            alerts=[wording.clean(alert) for alert in shared],
            legend=legend,
            interval_heading=wording.interval_heading(
                row.result for row in ranked if row.result is not None
            ),
            overview=[
                (measure, [_overview_row(row, url_of(row), shared) for row in of_measure])
                for measure, of_measure in by_measure(ranked)
            ],
            pooled=pooled_sentences(units),
            folded=len(units) > FEW,
            # What fails comes first, whichever test it is that fails.
            answers=[
                _overview_row(row, url_of(row), shared)
                for row in sorted(ranked, key=lambda row: not row.rejected)
            ],
            forests=forest_figures(ranked, url_of) if len(units) > FEW else [],
            units=shown,
            # The number of processes changes no result, and would change the bytes of the page.
            settings=setting_rows(
                {name: value for name, value in settings.items() if name != "n_jobs"}
            ),
            command=command(settings),
        )
    )
