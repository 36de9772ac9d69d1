"""The finished analysis: one `Report` over the `EvaluationReport` of every (task, model).

A plain record that hands its evaluations to the renderers. They are imported when they are called:
a program that wants the numbers alone loads neither matplotlib nor rich.
"""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from coherence.checks.sufficiency_result import Sufficiency
from coherence.errors import InputError
from coherence.printable import counted
from coherence.report import MOST_CONTEXTS
from coherence.report.evaluation import EvaluationReport
from coherence.report.wording import belief_noun
from coherence.result import CheckResult

BRIEF = ("task", "model", "check", "estimate", "low", "high", "pvalue", "pvalue_holm")


def _result_row(
    evaluation: EvaluationReport | None, result: CheckResult, verdict: str
) -> dict[str, Any]:
    scatter = evaluation and evaluation.scatter
    return {
        "task": evaluation.task if evaluation else "",
        "model": evaluation.model if evaluation else "",
        "belief": belief_noun(evaluation.answering) if evaluation else "",
        **result.to_row(),
        "scatter_sd": scatter.sd if scatter else math.nan,
        "verdict": verdict,
        # Keys differ by check; one JSON column keeps the table rectangular.
        "settings": json.dumps(dict(result.settings), sort_keys=True, default=str),
    }


@dataclass(frozen=True, repr=False)
class Report:
    """Every check of every evaluation.

    Parameters
    ----------
    evaluations : tuple of EvaluationReport
        Sorted by task and model.
    settings : mapping
        Seed, version, checks asked for, published or not. Nothing that varies between equal runs.
    """

    evaluations: tuple[EvaluationReport, ...]
    settings: Mapping[str, Any]

    @property
    def results(self) -> pd.DataFrame:
        """One row per evaluation and check.

        Columns ``task``, ``model``, ``belief`` (its kind), the fields of `CheckResult.to_row`,
        ``scatter_sd`` (of reports of equal evidence), ``verdict``, ``settings``. Effect,
        interval and p come first: a notebook leaves out the middle of a wide table.
        """
        rows = [
            _result_row(evaluation, result, verdict)
            for evaluation in self.evaluations
            for result, verdict in zip(evaluation.results, evaluation.verdicts, strict=True)
        ]
        # A report without a check has the same columns, so that a program that selects them need
        # not ask first.
        nothing = CheckResult("", "", math.nan, "", None, None, 0, 0)
        table = pd.DataFrame(rows or [_result_row(None, nothing, "")]).iloc[: len(rows)]
        first = [*BRIEF, "unit", "outcome"]
        return table[[*first, *(name for name in table.columns if name not in first)]]

    @property
    def verdicts(self) -> pd.DataFrame:
        """One row for each model on a task: the answer to whether its belief is acted on.

        Columns ``task``, ``model``, ``verdict`` (a code of `coherence.report.verdicts.VERDICTS`),
        ``primary_verdict`` (beside one on stakes; else the same), ``estimate``, ``low``, ``high``
        (difference in the probability ``component`` at equal belief), ``pvalue`` of the primary
        test, ``pvalue_bh`` over all rows, ``hidden_share`` and ``plain_average`` with their ends,
        and the verdict as a ``sentence``.
        """
        from coherence.report.effects import verdict_table

        return verdict_table(self.evaluations)

    @property
    def scores(self) -> pd.DataFrame:
        """One row for each model and prompt whose forecasts were scored, the best first.

        Columns ``task``, ``model``, ``prompt``, ``n_contexts``, ``n_rows``, ``n_states``,
        ``brier`` with the ends of its interval (of three states and more the sum over them), its
        parts ``miscalibration``, ``discrimination`` and ``uncertainty``, ``pvalue`` and
        ``pvalue_holm`` of calibration, ``rmse`` to the exact posterior with the ends of its
        interval, where that is known, and ``reason`` where a number is missing.
        """
        from coherence.report.scores import score_table

        return score_table(self.evaluations)

    def to_html(self) -> str:
        """Return a self-contained HTML page."""
        from coherence.report.page import render_html

        return render_html(self.evaluations, self.settings)

    def to_files(self, *, answers: int | None = None) -> Iterator[tuple[str, str]]:
        """Render the page, and beside it pages of evaluations and of answers that it links to.

        Parameters
        ----------
        answers : int, optional
            Contexts of each evaluation whose answers are written; 0 for none, None for 1000.

        Yields
        ------
        name, text : str
            Path inside a folder, with "/", and a complete HTML document; ``report.html`` last.
            Names are made of numbers, never of text of the table.
        """
        from coherence.report.files import report_files

        most = MOST_CONTEXTS if answers is None else answers
        yield from report_files(self.evaluations, self.settings, most_answers=most)

    @property
    def primary(self) -> Sufficiency:
        """Result of the primary test, of a report of one evaluation; `InputError` of others."""
        named = {at: found for at, each in enumerate(self.evaluations) if (found := each.primary)}
        if len(self.evaluations) == len(named) == 1:
            return named[0]
        remedy = "Run the check sufficiency."
        if named:
            remedy = f"Take one, such as report.evaluations[{min(named)}].primary."
        raise InputError(
            "report must be of one evaluation with the primary test; received "
            f"{counted(len(self.evaluations), 'evaluation')}, {len(named)} with it. {remedy}"
        )

    def plot(self, **options: Any) -> Any:
        """Draw the main test of one model, by `plot_state_shares`; of several, `plot_forest`."""
        from coherence.plots import plot_forest

        tested = [each.primary.check for each in self.evaluations if each.primary]
        if len(self.evaluations) == len(tested) == 1:
            return self.primary.plot(**options)
        return plot_forest(self.results, **{"check": tested[0] if tested else None} | options)

    def to_markdown(self, *others: "Report") -> str:
        """Return the table of the screen, with columns of other reports beside it, as Markdown."""
        from coherence.report.files import render_markdown

        return render_markdown(self._beside(others))

    def to_latex(self, *others: "Report") -> str:
        """Return the same table as LaTeX."""
        from coherence.report.files import render_latex

        return render_latex(self._beside(others))

    def _beside(self, others: "tuple[Report, ...]") -> Any:
        from coherence.report.findings import screen_table

        return screen_table([each for one in (self, *others) for each in one.evaluations])

    def to_json(self) -> str:
        """Return the report as JSON text, equal bytes for equal runs."""
        from coherence.report.json import render_json

        return render_json(self.evaluations, self.settings)

    def __repr__(self) -> str:
        """Return a line; `print` shows the table, and a notebook the results."""
        n_results = sum(len(evaluation.results) for evaluation in self.evaluations)
        return f"<Report: evaluations {len(self.evaluations)}, results {n_results}>"

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        from coherence.report.page import render_notebook

        return render_notebook(self.evaluations)

    def __str__(self) -> str:
        """Return the text of the terminal: everything where a screen holds it, else the tests."""
        from coherence.report.screen import render_report

        more = "report.results, or report.to_html()"
        return render_report(self.evaluations, more=more)
