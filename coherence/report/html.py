"""A report as an HTML page: inline figures, no scripts, nothing loaded from elsewhere.

Task and model names, action labels and raw answers are untrusted. The templates escape every value;
only figures are inserted as markup, and those are rebuilt element by element from a parsed tree.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd
from markupsafe import Markup

from coherence.printable import counted
from coherence.report import wording
from coherence.report.answer_links import AnswerLinks
from coherence.report.document import Table, build_table
from coherence.report.evaluation import EvaluationReport
from coherence.report.figures import evaluation_figures, forest_figures
from coherence.report.json import to_plain
from coherence.report.pages import environment, visible
from coherence.report.pooling import (
    FEW,
    counted_rejections,
    evaluation_key,
    pooled_sentences,
    primary_tests,
)
from coherence.report.provenance import command
from coherence.report.scores import forecast_table, forecasts_alone, score_remarks, scores_sentence
from coherence.report.screen import (
    KEPT,
    has_verdicts,
    headline,
    in_order,
    legend,
    long_table,
    short_table,
    warnings,
)
from coherence.report.view import (
    CHECK,
    HOLM,
    PLAIN_EFFECT,
    PVALUE,
    View,
    interval_column,
    status_groups,
    view,
)
from coherence.result import CheckResult
from coherence.runs.audit import STATED
from coherence.runs.notes import Note

TITLE = "Belief coherence report"
MOST_IN_NOTEBOOK = 6
"""Units that a notebook shows; of more, the page has all."""
RAW_LIMIT = 300  # characters of a raw answer; enough to see why it could not be parsed
_RAW_COLUMNS = ("raw_belief", "raw_z", "raw_action")


def evaluation_page_name(key: str) -> str:
    """Return where the page of one evaluation among many lies, as seen from the report."""
    return f"evaluations/{key}.html"


def render_html(
    evaluations: Sequence[EvaluationReport],
    settings: Mapping[str, Any],
    *,
    links: Mapping[str, AnswerLinks] | None = None,
    split: bool = False,
) -> str:
    """Render a report as a page; `split` leaves what each evaluation says to a page of its own."""
    links, alone = links or {}, forecasts_alone(evaluations)
    keys = [evaluation_key(number) for number in range(1, len(evaluations) + 1)]
    urls = [evaluation_page_name(key) if split else f"#{key}" for key in keys]
    # Said once where they hold for all, and else with the evaluation that they are about.
    first = evaluations[0].alerts if evaluations else ()
    shared = [
        alert for alert in first if all(alert in evaluation.alerts for evaluation in evaluations)
    ]
    shown = []
    # Of many forecasters the table says what there is to say.
    sections = () if alone and len(evaluations) > FEW else evaluations
    for number, evaluation in enumerate(sections, start=1):
        key = evaluation_key(number)
        of_evaluation = links.get(key)
        if split:
            answers = "" if of_evaluation is None else f"answers/{key}.html"
            about = {"page": evaluation_page_name(key), "answers": answers}
            shown.append({"short": True, "key": key, "said": view(evaluation), **about})
        else:
            shown.append(_evaluation_context(evaluation, key, of_evaluation))
    n_results = sum(len(evaluation.results) for evaluation in evaluations)
    # A checkout that was never installed does not know its version.
    version = settings.get("version")
    subtitle = [
        f"{counted(len(evaluations), 'evaluation')} (task · model)",
        counted(n_results, "result"),
    ]
    subtitle += [f"coherence {wording.clean(version)}"] if version not in (None, "unknown") else []
    scores = forecast_table(evaluations)
    return (
        environment()
        .get_template("page.html.j2")
        .render(
            title=TITLE,
            empty=not evaluations,
            question=_question(evaluations),
            subtitle=" · ".join(subtitle),
            scores=scores,
            scored=scores_sentence(evaluations) if scores else "",
            score_remarks=score_remarks(evaluations) if scores else [],
            forecasts_alone=alone,
            counted=counted_rejections(evaluations),
            alerts=list(map(wording.as_shown, shared)),
            short=_short(evaluations) if evaluations else {},
            models=long_table(evaluations, urls) if len(evaluations) > FEW else Table(),
            legend=f"{legend(evaluations)} {KEPT}".lstrip(),
            pooled=pooled_sentences(evaluations),
            folded=len(evaluations) > FEW,
            several=len(primary_tests(evaluations)) > 1,
            answers=[(urls[at], _said_of(evaluations[at], shared)) for at in in_order(evaluations)],
            forests=forest_figures(evaluations) if len(evaluations) > FEW else [],
            evaluations=shown,
            # The number of processes changes no result, and would change the bytes of the page.
            settings=_settings(
                {name: value for name, value in settings.items() if name != "n_jobs"}
            ),
            command=command(settings),
        )
    )


def render_evaluation_page(
    evaluation: EvaluationReport, key: str, links: AnswerLinks | None
) -> str:
    """Render the page of one evaluation among many."""
    return (
        environment()
        .get_template("evaluation_page.html.j2")
        .render(
            title=f"{wording.evaluation_heading(evaluation)} – belief coherence report",
            question=_question([evaluation]),
            evaluation=_evaluation_context(evaluation, key, links),
            short=_short([evaluation]),
        )
    )


def render_notebook(evaluations: Sequence[EvaluationReport]) -> str:
    """Render what a notebook shows: what each evaluation says first, and a table of results."""
    columns = [CHECK, PLAIN_EFFECT, interval_column("interval"), PVALUE, HOLM]
    return (
        environment()
        .get_template("notebook.html.j2")
        .render(
            evaluations=[
                (said, build_table(said.rows, columns))
                for said in map(view, evaluations[:MOST_IN_NOTEBOOK])
            ],
            n_more=len(evaluations) - MOST_IN_NOTEBOOK,
        )
    )


def _said_of(evaluation: EvaluationReport, shared: Sequence[Note]) -> dict[str, Any]:
    """Return what the tests of an evaluation say together, and what is not said of all."""
    alerts = [wording.as_shown(note) for note in evaluation.alerts if note not in shared]
    heading, said = wording.evaluation_heading(evaluation), " ".join(evaluation.conclusion)
    return {"heading": heading, "conclusion": said, "alerts": alerts}


def _question(evaluations: Sequence[EvaluationReport]) -> str:
    """Ask what a page answers, of the kind of belief that it is about."""
    if forecasts_alone(evaluations):
        return "How good are these forecasts?"
    nouns = {wording.belief_noun(evaluation.answering) for evaluation in evaluations}
    if len(nouns) > 1:
        return "Could these beliefs be the ones acted on?"
    return f"Could the {next(iter(nouns), STATED)} be the belief acted on?"


def _evaluation_context(
    evaluation: EvaluationReport, key: str, links: AnswerLinks | None = None
) -> dict[str, Any]:
    """Return what a page shows of an evaluation besides its view: figures, links, unparsed."""
    said = view(evaluation)
    figures, missing_figures = evaluation_figures(evaluation, key)
    unparsed_columns, unparsed = _unparsed(evaluation)
    return {
        "short": False,
        "key": key,
        "said": said,
        "headline": headline(evaluation, said),
        "has_verdict": has_verdicts([evaluation]),
        # Without a verdict all of them stand in the headline.
        "conclusion": said.conclusion[1:] if evaluation.headline.rests_on else (),
        "about": {row.result.check: _about(row.result) for row in said.rows},
        "answers": "" if links is None else links.index(),
        "answer_tables": _tables(evaluation, said, key, links),
        # What varies and the main test stand open, the others are folded.
        "figures": {
            place: [figure for figure in figures if figure.place == place]
            for place in ("overview", "lead", "further")
        },
        "missing_figures": missing_figures,
        "unparsed_columns": unparsed_columns,
        "unparsed": unparsed,
    }


def _short(evaluations: Sequence[EvaluationReport]) -> dict[str, Any]:
    """Return the table of the short report and what stands below it."""
    seen = [(evaluation, view(evaluation)) for evaluation in evaluations]
    legend_ = legend(evaluations) if has_verdicts(evaluations) else ""
    table = short_table(evaluations)
    return {"table": table, "warnings": list(warnings(seen)), "legend": legend_}


def _about(result: CheckResult) -> dict[str, Any]:
    """Return what is said of a check where hypotheses, assumptions and settings are listed."""
    return {
        # Let a narrow column break a name after its underscores and colon only; join escapes.
        "check": Markup("<wbr>").join(re.split(r"(?<=[_:/])", wording.clean(result.check))),
        "null_label": "Estimates" if result.pvalue is None else "Null hypothesis",
        "null": wording.clean(result.null),
        "assumptions": "; ".join(wording.clean(each).rstrip(".") for each in result.assumptions),
        "method": "" if result.interval is None else wording.clean(result.interval.method),
        "settings": ", ".join(f"{name} = {value}" for name, value in _settings(result.settings)),
    }


def _tables(
    evaluation: EvaluationReport, said: View, key: str, links: AnswerLinks | None
) -> list[Table]:
    """Return the tables of counts that follow the results, each with its links."""
    answers = said.answers
    if links is not None and answers.rows:
        # Each count of a status leads to the contexts in which it occurred.
        urls: dict[tuple[str, str], str] = {}
        for number, ((asked, status), contexts) in enumerate(
            status_groups(evaluation).items(), start=1
        ):
            anchor, title = f"{key}-status-{number}", f"Status {status}, {asked}"
            urls[asked, status] = links.group(anchor, title, contexts)
        names = [column.name for column in answers.columns]
        rows = tuple(
            tuple(
                replace(cell, link=urls.get((row[0].text, name), ""))
                for name, cell in zip(names, row, strict=True)
            )
            for row in answers.rows
        )
        answers = replace(answers, rows=rows)
    return [answers] if answers.rows else []


def _unparsed(evaluation: EvaluationReport) -> tuple[list[str], list[list[dict[str, Any]]]]:
    rows = []
    for record in evaluation.unreadable.to_dict("records"):
        cells = []
        for column, value in record.items():
            known = not pd.isna(value)
            text = str(value) if known else wording.NOT_GIVEN
            # The page stays small, and says so where it leaves something out.
            cut = f"cut after {RAW_LIMIT} of {len(text)} characters" * (len(text) > RAW_LIMIT)
            raw = known and column in _RAW_COLUMNS
            cells.append({"text": visible(text[:RAW_LIMIT]), "cut": cut, "raw": raw})
        rows.append(cells)
    return [
        wording.clean(column).replace("_", " ") for column in evaluation.unreadable.columns
    ], rows


def _settings(settings: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return names and values of settings as clean text, by name."""
    shown = []
    for name in sorted(settings):
        value = settings[name]
        if value is None:
            value = wording.NOT_GIVEN
        elif not isinstance(value, str):
            value = json.dumps(to_plain(value), sort_keys=True, ensure_ascii=False)
        shown.append((wording.clean(name), wording.clean(value)))
    return shown
