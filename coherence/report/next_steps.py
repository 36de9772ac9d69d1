"""What to do next, by what was found: each verdict names one of these functions.

More cases are proposed only where more of the same would help, and a command only where it can be
typed as it stands.
"""

from coherence.checks.persons import FEWEST_CASES, FEWEST_OF_STATE
from coherence.checks.scores import ScoresResult
from coherence.inputs import MIN_CONTEXTS
from coherence.report.evaluation import EvaluationReport, Step
from coherence.report.wording import clean
from coherence.result import CheckResult, Outcome
from coherence.runs.notes import Code
from coherence.statistics.report_noise import Reports
from coherence.statistics.sequences import FEWEST_CONTEXTS

MARGIN = 0.05  # proposed where intervals are narrow enough to show it
MOSTLY = 0.5  # of the answers, above which more of the same would not help
SIGNAL = 0.2  # of the plan that a report proposes
ANOTHER_WAY = Step(
    "Another prompt, task or way of answering, under which beliefs and choices vary; more cases "
    "would not help."
)


def next_step(evaluation: EvaluationReport) -> Step:
    """Return what to do next, by what was found; nothing where no test looks for incoherence."""
    if any(note.code is Code.POOLED_MODELS for note in evaluation.notes):
        how = "--model-column NAME" if evaluation.command else "columns={'model': NAME}"
        return Step(f"Name the column of models, whose answers seem to be pooled ({how}).")
    verdict = evaluation.verdict
    first = evaluation.headline.marked and not verdict.of_other_belief
    return (evaluation.headline if first else verdict).next_step(evaluation)


def name_predictions(evaluation: EvaluationReport) -> Step:
    """Ask for the answers that beliefs are confidences in."""
    return Step(
        "Name the answers and the right ones (--prediction COLUMN --gold COLUMN), in place of "
        "--action and --truth."
    )


def look(evaluation: EvaluationReport) -> Step:
    """Send to the page, and to what cases may share."""
    named = bool({"group", "person"} & set(evaluation.rows.names))
    if not evaluation.command:
        shared = "" if named else "; name what cases share (column group)"
        return Step(f"See figures and answers{shared}:", "report.to_html()", on_page=False)
    shared = "" if named else "; name what cases share (--group COLUMN)"
    if evaluation.page:
        return Step(f"See {clean(evaluation.page)}{shared}.", on_page=False)
    return Step(f"See figures and answers{shared}:", f"{evaluation.command} --out report")


def _tests(evaluation: EvaluationReport) -> list[CheckResult]:
    """Return the tests that look for incoherence."""
    tests = (result for result in evaluation.results if result.pvalue is not None)
    return [result for result in tests if not isinstance(result, ScoresResult)]


def look_or_plan(evaluation: EvaluationReport) -> Step:
    """Send to the page where a further test rejects, else to a plan."""
    found = any(result.outcome() is Outcome.REJECTED for result in _tests(evaluation))
    return look(evaluation) if found else plan(evaluation)


def _obstacle(evaluation: EvaluationReport) -> Step | None:
    """Return what has to change before more of the same helps; None where nothing has."""
    if evaluation.unparsed_share > MOSTLY and not evaluation.blanks_alone:
        ask = "Ask in another way: most answers could not be parsed."
        other = " Let answers be computed or forced (answers exact or forced), where the model "
        return Step(f"{ask}{other}allows it." if evaluation.askable else ask)
    return None if _tests(evaluation) else Step(_missing_by_choice(evaluation))


def more_cases(evaluation: EvaluationReport) -> Step:
    """Ask for as many cases as the primary test needs."""
    if (obstacle := _obstacle(evaluation)) is not None:
        return obstacle
    if evaluation.rows.crossed:
        least = f"{FEWEST_OF_STATE} of either truth, or {FEWEST_CASES} with the exact posterior"
        return Step(f"Have persons judge more cases: the test takes {least}.")
    if "group" in evaluation.rows.names:
        return Step("Ask about cases of more groups; or name no group, if these are not a sample.")
    return _ask_more(evaluation)


def _ask_more(evaluation: EvaluationReport) -> Step:
    fewest = FEWEST_CONTEXTS if evaluation.primary else MIN_CONTEXTS
    most = max(result.n_contexts for result in evaluation.results)
    need = f": tests need {fewest}, and see little below 60" if most < fewest else ""
    return Step(f"Ask about more cases{need}." if most else "")  # they would lack what all lack


def vary(evaluation: EvaluationReport) -> Step:
    """Ask for what lets beliefs and choices vary."""
    if (first := _too_little(evaluation)) is not None:
        return first
    if missing := _missing_by_choice(evaluation):
        return Step(missing)
    return ANOTHER_WAY


def _too_little(evaluation: EvaluationReport) -> Step | None:
    """Return what to do where there are too few cases for anything; None where there are enough."""
    if (obstacle := _obstacle(evaluation)) is not None:
        return obstacle
    if evaluation.rows.crossed:
        return Step()
    few = max(result.n_contexts for result in evaluation.results) < MIN_CONTEXTS
    return _ask_more(evaluation) if few else None


def vary_if_still(evaluation: EvaluationReport) -> Step:
    """Return nothing but where little varies: how many cases an effect takes is not asked."""
    if (first := _too_little(evaluation)) is not None:
        return first
    return ANOTHER_WAY if evaluation.variation and evaluation.variation.little else Step()


def sharper(evaluation: EvaluationReport) -> Step:
    """Ask for reports that leave less unsaid: those of more cases would leave as much."""
    noisy = evaluation.primary is not None and evaluation.primary.reports == Reports.DIFFER
    ask = "Ask each case more often" if noisy else "Ask for beliefs in finer steps"
    return Step(f"{ask}, or let answers be computed; more cases alone would help little.")


def plan(evaluation: EvaluationReport) -> Step:
    """Send to a margin where one could be shown, else to a plan of further cases."""
    if evaluation.settled_by_choice:
        return Step("Ask for an answer in every case, so that no truth follows from the choice.")
    if (first := _too_little(evaluation)) is not None:
        return first
    if evaluation.variation and evaluation.variation.little:
        return ANOTHER_WAY
    if evaluation.primary is not None and evaluation.primary.hides_all:
        return sharper(evaluation)
    averages = (result.also.get("plain_average") for result in evaluation.results)
    narrow = any(average and average.high - average.low < 2 * MARGIN for average in averages)
    if not narrow or evaluation.margin is not None:
        return _power(evaluation)
    text = f"Are effects shown to lie within {100 * MARGIN:.0f} points?"
    if evaluation.command:
        return Step(text, f"{evaluation.command} --margin {MARGIN}")
    return Step(text, f"coherence.analyze(runs, margin={MARGIN})")


def _missing_by_choice(evaluation: EvaluationReport) -> str:
    """Ask for what rows of other actions lack, where those with belief and truth have one."""
    table = evaluation.rows.table
    truths = [name for name in ("theta", "p_true") if name in table]
    if not {"p", "action"} <= set(table) or not truths:
        return ""
    told, known = table["p"].notna(), table[truths].notna().any(axis=1)
    if not table.loc[told & known, "action"].nunique() == 1 < table["action"].nunique():
        return ""
    if table.loc[told, "action"].nunique() == 1:
        return "Ask for the belief of the others too."
    return "Add the truth of the others (of predictions: an answer in every case)."


def _power(evaluation: EvaluationReport) -> Step:
    """Send to a plan for a simulated agent: as many cases, twice and four times as many."""
    primary = evaluation.primary
    if primary is None or primary.settled or primary.action is None or primary.n_persons:
        return Step()
    text = "How many cases would show a smaller effect?"
    cases = [primary.n_contexts * times for times in (1, 2, 4)]
    n_reps, realised = round(primary.n_rows / primary.n_contexts), primary.state == "realised"
    if not evaluation.command:
        state = ', state="realised"' * realised
        return Step(text, f'coherence.power("rational", {cases}, {n_reps}, {SIGNAL:g}{state})')
    words = f"--cases {','.join(map(str, cases))} --reps {n_reps} --signal {SIGNAL:g}"
    return Step(text, f"coherence power {words}{' --state realised' * realised}")
