"""The pages of docs/: all in the nav, links that lead somewhere, a page for every check.

None of this needs the site to be built; `.ci/run` does that, with warnings as errors.
"""

import importlib.util
import re
import runpy
import shlex
from collections import Counter
from pathlib import Path

import pytest

from coherence.checks.check import declarations
from coherence.cli.main import main
from coherence.report.verdicts import VERDICTS

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
READ_IN_THE_REPOSITORY = [
    ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "examples/README.md")
]
FENCE = re.compile(r"^( *)```.*?^\1```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


def load(path):
    """Import a script that is part of no package."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


HOOKS = load(DOCS / "site_hooks.py")


def name_of(page):
    return page.relative_to(ROOT).as_posix()


def prose(page):
    """Return a page without its blocks of code."""
    return FENCE.sub("", page.read_text(encoding="utf-8"))


def anchors(page):
    """Return the anchors that a repository's pages and the site give to headings."""
    seen = Counter()
    for heading in re.findall(r"^#+ +(.*)$", prose(page), re.MULTILINE):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
        slug = re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")
        yield f"{slug}-{seen[slug]}" if seen[slug] else slug
        seen[slug] += 1
    yield from re.findall(r'<a id="([^"]+)">', prose(page))


def test_every_page_is_in_the_nav_once():
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:")[2]
    written = {page.relative_to(DOCS).as_posix() for page in PAGES}
    assert sorted(re.findall(r"([\w/-]+\.md)$", nav, re.MULTILINE)) == sorted(
        written | set(HOOKS.PAGES_FROM_ELSEWHERE.values())
    )


@pytest.mark.parametrize("page", [*PAGES, *READ_IN_THE_REPOSITORY], ids=name_of)
def test_links_lead_somewhere(page):
    for target in LINK.findall(prose(page)):
        if re.match(r"https?://|mailto:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.is_file(), f"{name_of(page)}: {target} is not there"
        assert file.is_relative_to(ROOT)
        if anchor:
            assert anchor in set(anchors(file)), f"{name_of(page)}: {target} has no such heading"


def test_pages_that_are_made_are_what_their_programs_make():
    made = load(DOCS / "for_programs.py").MADE
    made[DOCS / "validity.md"] = load(ROOT / "benchmarks" / "validity" / "page.py").page
    for page, make in made.items():
        assert make() == page.read_text(encoding="utf-8"), f"{page}: run the program that makes it"


def test_a_table_has_a_row_for_every_verdict_and_the_readme_a_line_for_every_mark():
    page = (DOCS / "report.md").read_text(encoding="utf-8")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for each in VERDICTS.values():
        assert f"\n| {f'{each.mark} `{each.code}`: {each.words}'.strip()} |" in page
        assert f"\n- **{each.mark}** " in readme or not each.mark
    beside = re.sub(r"```text\n.*?```", "", readme, flags=re.DOTALL)
    assert len(beside.split()) <= 650  # read in sixty seconds, but for the code


CHECKS = {check.name: check for check in declarations()}
ON_THE_PAGE_OF = {
    "scores": "calibration",
    "predictive_gain": "cmi",
    "prompt_consistency": "iterated_expectation",
}


def page_of_check(check):
    name = check.partition(":")[0]
    return DOCS / "checks" / f"{ON_THE_PAGE_OF.get(name, name)}.md"


@pytest.mark.parametrize("check", sorted(CHECKS))
def test_every_check_has_its_page_which_says_where_it_is_from(check):
    page, overview = page_of_check(check), (DOCS / "checks.md").read_text(encoding="utf-8")
    text, origin = page.read_text(encoding="utf-8"), CHECKS[check].origin
    assert (f"**Origin.** {origin}" if page.stem == check else f"`{check}`: a{origin[1:]}") in text
    tests = any(sentences.rejected for sentences in CHECKS[check].sentences.values())
    assert ("\n**Null.** None " in text) is not tests or check != page.stem
    assert f"(checks/{page.name})" in overview
    assert f"`{check}`" in overview


@pytest.mark.lengthy
@pytest.mark.parametrize("page", sorted((DOCS / "checks").glob("*.md")), ids=name_of)
def test_the_page_of_a_check_shows_what_its_example_prints(page, tmp_path, monkeypatch, capsys):
    text = page.read_text(encoding="utf-8")
    form = r"```python\n((?:(?!```).)*)```\n\n(?:```sh\ncoherence (.*?)```\n\n)?```text\n(.*?)```"
    examples = re.findall(form, text, re.S)
    assert examples
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    for example, typed, shown in examples:
        Path("example.py").write_text(example, encoding="utf-8")
        runpy.run_path("example.py")
        assert not typed or main(shlex.split(typed)) == 0
        said, (whole, cut, _) = capsys.readouterr().out, shown.rstrip().partition("\n    ...")
        assert said[: len(whole) if cut else None].rstrip() == whole


@pytest.mark.lengthy
def test_every_command_of_the_page_of_designs_runs_on_its_tables(tmp_path, monkeypatch, capsys):
    text = (DOCS / "designs.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    Path("tables.py").write_text(re.search(r"```python\n(.*?)```", text, re.S)[1], "utf-8")
    runpy.run_path("tables.py")
    typed = re.findall(r"^coherence (.*)$", text, re.M)
    assert len(typed) == 10
    for command in typed:
        assert main(shlex.split(command)) == 0
        assert "No verdict" not in capsys.readouterr().out


def test_no_page_is_about_a_check_that_is_not_there():
    assert set((DOCS / "checks").glob("*.md")) == set(map(page_of_check, CHECKS))


def test_the_reference_has_every_public_name_once():
    blocks = Counter(
        name
        for _, text in HOOKS.reference_pages().values()
        for name in re.findall(r"^::: (.+)$", text, re.MULTILINE)
    )
    assert set(blocks.values()) == {1}
    import bayesnets
    import coherence
    import elicitation

    for package in (coherence, bayesnets, elicitation):
        for name in package.__all__:
            assert f"{package.__name__}.{name}" in blocks


def test_ten_names_come_first_and_a_wrong_one_proposes_the_nearest():
    import coherence

    rows = re.findall(r"^`(\w+)` +(.*)$", coherence.__doc__, re.MULTILINE)
    assert len(rows) == 10
    assert {name for name, _ in rows} < {*coherence.__all__}
    table = "".join(f"| `{name}` | {what.replace('``', '`')} |\n" for name, what in rows)
    assert f"|---|---|\n{table}\n" in (DOCS / "api.md").read_text(encoding="utf-8")
    with pytest.raises(AttributeError, match="'anlyze'.*'analyze'"):
        coherence.anlyze  # noqa: B018
    for function in (coherence.analyze, coherence.cmi_test, coherence.power):
        with pytest.raises(TypeError, match="rng=3"):
            function([0.1], seed=3)
