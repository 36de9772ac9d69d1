import re

import pytest

from coherence import analyze, simulate
from coherence.report.folder import SUBFOLDERS, report_files
from coherence.report.ranking import FEW


@pytest.fixture(scope="module")
def reports():
    import pandas as pd

    tables = [
        simulate("rational", n_contexts=30, n_reps=2, rng=seed).assign(model=f"../m{seed}")
        for seed in range(FEW + 1)
    ]
    checks = ["residual_covariance", "monotone_choice", "calibration"]
    many = analyze(pd.concat(tables, ignore_index=True), checks=checks, rng=0)
    return {"one": analyze(tables[0], checks=checks, rng=0), "many": many}


def files_of(report, answers=1000):
    return list(report_files(report.units, report.settings, most_answers=answers))


@pytest.mark.lengthy
@pytest.mark.parametrize("which", ["one", "many"])
def test_every_link_of_every_page_leads_to_a_page_and_place_that_exist(reports, which):
    files = dict(files_of(reports[which]))
    assert len(files) == len(files_of(reports[which]))
    ids = {name: set(re.findall(r'\bid="([^"]+)"', text)) for name, text in files.items()}
    checked = 0
    for name, text in files.items():
        here = name.rpartition("/")[0]
        for href in re.findall(r'href="([^"]*)"', text):
            target, _, anchor = href.partition("#")
            parts = [*filter(None, here.split("/")), *target.split("/")] if target else [name]
            path = re.sub(r"[^/]+/\.\./", "", "/".join(parts))
            assert path in files, (name, href)
            assert not anchor or anchor in ids[path], (name, href)
            checked += 1
    assert checked > 100


@pytest.mark.lengthy
def test_few_units_are_on_one_page_and_many_have_pages_of_their_own(reports):
    one, many = (dict(files_of(reports[which])) for which in ("one", "many"))
    assert not any(name.startswith("units/") for name in one)
    assert "<svg" in one["report.html"]
    assert sum(name.startswith("units/") for name in many) == FEW + 1
    assert len(many["report.html"]) < sum(map(len, many.values())) / 3
    assert files_of(reports["many"])[-1][0] == "report.html"


@pytest.mark.lengthy
def test_names_are_numbers_and_all_of_the_kind_that_a_later_call_removes(reports):
    for name in dict(files_of(reports["many"])):
        folder, _, file = name.rpartition("/")
        assert name == "report.html" or re.fullmatch(SUBFOLDERS[folder], file)


@pytest.mark.lengthy
def test_without_answers_no_page_is_written_and_nothing_links_to_one(reports):
    files = dict(files_of(reports["one"], answers=0))
    assert list(files) == ["report.html"]
    assert "answers/" not in files["report.html"]
    assert files["report.html"] == reports["one"].to_html()


@pytest.mark.lengthy
def test_equal_reports_give_equal_files(reports):
    assert files_of(reports["many"]) == files_of(reports["many"])
