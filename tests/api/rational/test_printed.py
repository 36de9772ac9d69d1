"""What an agent says of itself. Breaks if it says what it cannot tell."""

import pytest

import coherence


@pytest.fixture(scope="module")
def agent():
    """An agent of noisy reports, with labels that a page must not take for markup."""
    runs = coherence.simulate("noisy", n_contexts=80, n_reps=4, rng=1)
    rows = runs[runs["action"].notna()]
    labels = rows["action"].replace("yes", "<b>yes</b>")
    return coherence.fit_rational_agent(rows["p"], labels, rows["theta"], context=rows["context"])


def test_what_is_printed_are_the_numbers_of_the_agent(agent):
    text = str(agent)
    assert "320 choices in 80 contexts" in text
    assert f"SD {agent.noise['sd'].iloc[0]:.3f} [" in text
    for belief in agent.thresholds["belief"]:
        assert f"at {belief:.3f} [" in text
    assert f"hidden shift: {agent.hidden_shift[0]:.3f} [" in text
    assert f"lasting taste: {agent.taste[0]:.3f}" in text


def test_a_notebook_shows_labels_as_text(agent):
    assert repr(agent) == "<RationalAgent of 320 choices in 80 contexts>"
    page = agent._repr_html_()
    assert "&lt;b&gt;yes&lt;/b&gt; overtakes" in page
    assert "<b>yes" not in page
