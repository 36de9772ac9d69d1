"""What a model was asked stands in the table, and folded on the pages of its answers."""

import coherence
import elicitation
from elicitation import AnswerStore


def test_the_questions_are_on_the_pages_of_answers_and_are_escaped(tmp_path):
    task = elicitation.load_task("asia")
    cases = task.cases(12, seed=0)
    agent = elicitation.agent_for_task("leaky", task, cases)
    with AnswerStore(tmp_path / "answers.sqlite") as store:
        design = elicitation.Design(reps=1)
        runs, _ = elicitation.elicit(agent, task, cases, store, design=design)
    runs["asked"] = runs["asked"].str.replace("Consider", "<b>Consider</b>")
    files = dict(coherence.analyze(runs, checks=["calibration"], rng=1).to_files())
    page = files["answers/evaluation-1-page-1.html"]
    assert page.count("Asked for belief, standard:") == 12
    assert "<b>" not in page
    standard = runs[runs["prompt"].eq("standard") & runs["z"].isna()].iloc[0]
    assert "How probable is it that they have lung cancer?" in standard["asked"]
    for line in (*standard["asked"].splitlines(), *standard["asked_action"].splitlines()):
        shown = line.replace("'", "&#39;").replace("<", "&lt;").replace(">", "&gt;")
        assert shown in page
