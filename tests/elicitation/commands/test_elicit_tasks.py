"""Own networks from the command line: breaks if a file does not become a runs table."""

import pandas as pd
import pytest

from bayesnets import load_network, write_network
from coherence.cli.main import main


@pytest.fixture
def network(tmp_path):
    file = tmp_path / "clinic.bif"
    write_network(load_network("asia"), file)
    return file


def elicit(network, out, *words):
    words = ["--agent", "rational", "--task", str(network), *words, "--out", str(out)]
    return main(["elicit", "--contexts", "6", "--reps", "1", *words])


def test_a_network_and_its_words_become_a_runs_table(network, tmp_path, capsys):
    words, out = tmp_path / "clinic.toml", tmp_path / "runs.csv"
    begin = ["networks", "phrases", str(network), "--target", "lung", "--out", str(words)]
    assert main(begin) == 0
    text = words.read_text(encoding="utf-8").replace('"a person"', '"a visitor"')
    words.write_text(text, encoding="utf-8")
    assert main(begin) == 2  # words written by hand are not lost
    assert "must be a new file" in capsys.readouterr().err
    assert words.read_text(encoding="utf-8") == text
    assert elicit(network, out, "--phrases", str(words)) == 0
    assert "plain words" not in capsys.readouterr().err
    runs = pd.read_csv(out)
    assert set(runs["task"]) == {"asia"}
    assert runs["p_true"].notna().all()
    assert elicit(network, out, "--target", "smoke") == 0
    assert "plain words made of the names in" in capsys.readouterr().err
    assert set(pd.read_csv(out)["task"]) == {"asia:smoke"}


def test_a_data_set_takes_fewer_records(tmp_path):
    tables = []
    for least in ("100", "30"):
        out = tmp_path / f"{least}.csv"
        assert elicit("breast_cancer", out, "--set", f"min_records={least}", "--no-lie") == 0
        tables.append(pd.read_csv(out))
    assert set(tables[0]["context"]) != set(tables[1]["context"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["asia", "--phrases", "a.toml"], "--phrases goes with a network of your own"),
        (["randhie", "--set", "records=a.csv"], "--records goes with a network of your own"),
        (
            ["asia", "--set", "min_records=50"],
            "the network 'asia' of the catalogue has none behind it",
        ),
        (["absent.bif", "--target", "x"], "network file must be a readable file"),
        (["asia.biff"], "A network of your own is a file"),
    ],
)
def test_what_does_not_go_together_is_one_line(words, message, tmp_path, capsys):
    assert elicit(words[0], tmp_path / "out.csv", *words[1:]) == 2
    errors = capsys.readouterr().err.splitlines()
    assert message in errors[-1]
    assert not (tmp_path / "out.csv").exists()
