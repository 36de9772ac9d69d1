"""The report of a study. Breaks if it says more than its tables hold, or hides what is missing."""

import json
import re
import shutil

import pandas as pd
import pytest

from coherence import analyze, compare
from coherence.cli.main import main


@pytest.fixture(scope="module")
def asked(small, tmp_path_factory):
    """The small study, asked and reported once for all."""
    place = tmp_path_factory.mktemp("asked")
    (place / "study.toml").write_text(small, encoding="utf-8")
    assert main(["study", "run", str(place / "study.toml")]) == 0
    return place / "study"


@pytest.fixture
def folder(asked, tmp_path):
    """A copy of it, beside the file that `write` writes."""
    return shutil.copytree(asked, tmp_path / "study")


def tables(folder):
    paths = sorted((folder / "runs").glob("*.parquet"))
    return pd.concat([pd.read_parquet(path) for path in paths], ignore_index=True)


@pytest.mark.lengthy
def test_results_are_those_of_the_tables(folder):
    runs = tables(folder)
    expected = analyze(runs, checks=["residual_covariance"], rng=0).results
    found = pd.read_parquet(folder / "report" / "results.parquet")
    pd.testing.assert_frame_equal(found, expected, check_dtype=False)
    assert len(found) == 4
    units = json.loads((folder / "report" / "results.json").read_text(encoding="utf-8"))["units"]
    assert {(unit["task"], unit["model"]) for unit in units} == {
        ("asia", "leaky"),
        ("asia", "steady"),
        ("cancer, few", "leaky"),
        ("cancer, few", "steady"),
    }
    compared = pd.read_parquet(folder / "compare" / "estimates.parquet")
    again = compare(runs, rng=0).estimates
    pd.testing.assert_frame_equal(compared, again, check_dtype=False)


@pytest.mark.lengthy
def test_links_of_the_page_lead_somewhere(folder):
    page = (folder / "study.html").read_text(encoding="utf-8")
    links = re.findall(r'href="([^"]+)"', page)
    assert {"report/report.html", "compare/compare.html", "paper/paper.md"} <= set(links)
    assert len(links) == 3 + 4
    for link in links:
        assert (folder / link).is_file(), link
    assert "Not finished" not in page


@pytest.mark.lengthy
def test_what_is_not_finished_is_named_and_left_out(folder, write, small, capsys):
    more = small.replace("[[tasks]]", '[[models]]\nmodel = "nowhere"\n\n[[tasks]]', 1)
    assert main(["study", "report", str(write(more))]) == 0
    page = (folder / "study.html").read_text(encoding="utf-8")
    assert "without nowhere on asia, nowhere on cancer, few" in page
    assert set(pd.read_parquet(folder / "report" / "results.parquet")["model"]) == {
        "leaky",
        "steady",
    }


@pytest.mark.lengthy
def test_what_cannot_be_compared_does_not_cost_the_report(write, small, tmp_path):
    """A task of four cases keeps the others comparable; of an earlier comparison nothing stays."""
    one = small.replace("contexts = 10", "contexts = 4")
    assert main(["study", "run", str(write(one))]) == 0
    folder = tmp_path / "study"
    page = (folder / "study.html").read_text(encoding="utf-8")
    assert "not compared: task &#39;cancer, few&#39;: runs must have at least 10 common" in page
    assert set(pd.read_parquet(folder / "compare" / "estimates.parquet")["task"]) == {"asia"}
    none = one.replace("contexts = 12", "contexts = 4")
    assert main(["study", "run", str(write(none))]) == 0
    page = (folder / "study.html").read_text(encoding="utf-8")
    assert "Models were not compared: task &#39;asia&#39;: runs must have" in page
    assert "compare.html" not in page
    assert not (folder / "compare").exists()


@pytest.mark.lengthy
def test_a_model_that_lacks_one_task_is_compared_in_the_others(write, small, folder, capsys):
    """Its answers on one task were lost, say: the page says so, and the rest stands."""
    (lost,) = (folder / "runs").glob("cancer*steady*.parquet")
    for path in (folder / "runs").glob(f"{lost.stem}*"):
        path.unlink()
    assert main(["study", "report", str(write(small))]) == 0
    page = (folder / "study.html").read_text(encoding="utf-8")
    assert "without steady on cancer, few" in page
    assert "task &#39;cancer, few&#39;: not asked of &#39;steady&#39;" in page
    assert set(pd.read_parquet(folder / "compare" / "estimates.parquet")["task"]) == {"asia"}
