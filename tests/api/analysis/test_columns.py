"""Names of one's own for columns, wherever a table is taken: one mapping, and the same numbers."""

import pandas as pd
import pytest

import coherence
from coherence import InputError, analyze, read_runs, simulate

NAMES = {"p": "confidence", "action": "choice", "theta": "outcome", "context": "case"}
OPTION_NAMES = {"belief": "confidence", "action": "choice", "truth": "outcome", "context": "case"}
BACK = {theirs: ours for ours, theirs in NAMES.items()}
CHECKS = ["sufficiency"]


def answers(agent):
    runs = simulate(agent, n_contexts=40, n_reps=2, rng=1)
    plain = runs[runs["z"].isna() & (runs["prompt"] == "standard")]
    return plain[[*NAMES, "rep"]].rename(columns=NAMES).reset_index(drop=True)


@pytest.fixture(scope="module")
def mine():
    return answers("leaky")


def numbers(report):
    return report.results[["check", "estimate", "pvalue"]]


@pytest.mark.parametrize("columns", [NAMES, OPTION_NAMES])
def test_a_frame_is_taken_under_its_own_names(mine, columns, tmp_path):
    before, options = mine.copy(), {"checks": CHECKS, "rng": 1}
    report = analyze(mine, columns=columns, **options)
    plain = analyze(mine.rename(columns=BACK), **options)
    pd.testing.assert_frame_equal(numbers(report), numbers(plain))
    pd.testing.assert_frame_equal(mine, before)
    assert set(report.settings["reading"]) == {
        f"--{option}={name}" for option, name in OPTION_NAMES.items()
    }
    mine.to_csv(tmp_path / "mine.csv", index=False)
    of_file = analyze(tmp_path / "mine.csv", columns=columns, **options)
    pd.testing.assert_frame_equal(numbers(of_file), numbers(plain))
    runs = read_runs(mine, columns=columns)
    pd.testing.assert_frame_equal(numbers(analyze(runs, **options)), numbers(plain))
    assert analyze(mine.set_index("case"), columns=columns, **options).evaluations


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"belief": "confidense"}, "no column 'confidense'.*Closest name found: 'confidence'"),
        ({"believe": "confidence"}, "columns maps to 'believe'.*'belief'"),
        ({"p": "confidence", "belief": "rep"}, "names 'p' twice"),
        ({"belief": 3}, "received 3"),
        ("confidence", "columns must map"),
    ],
)
def test_what_is_wrong_is_said_in_the_owners_names(mine, columns, said):
    with pytest.raises(InputError, match=said):
        analyze(mine, columns=columns)
    with pytest.raises(coherence.SchemaError, match=r"'confidence' \(mapped to 'p'\)"):
        analyze(mine.assign(confidence=mine["confidence"] * 100), columns=NAMES)


def test_a_frame_is_read_with_the_options_of_a_file(mine):
    table = mine.assign(confidence=1 + 6 * mine["confidence"], kind="used")
    table.loc[0, "confidence"] = -99
    more = pd.concat([table, table.assign(kind="other")], ignore_index=True)
    options = {"where": 'kind == "used"', "missing": ["-99"], "scale": "1..7"}
    runs = read_runs(more, columns=NAMES, **options)
    assert len(runs) == len(mine)
    assert runs["p"].isna().sum() == 1
    assert runs["p"][1:].to_numpy() == pytest.approx(mine["confidence"][1:].to_numpy())
    with pytest.raises(InputError, match="sep says how a file is written"):
        read_runs(mine, columns=NAMES, sep=";")
