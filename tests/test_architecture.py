"""The house stands: arrows run one way, there is no circle, rooms stay few.

Imports are read from the syntax tree, those inside functions and under ``TYPE_CHECKING`` too: an
arrow that is drawn late is an arrow all the same.
"""

import ast
import subprocess
import sys
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("coherence", "bayesnets", "elicitation")
BELOW = {"coherence": set(), "bayesnets": {"coherence"}, "elicitation": {"coherence", "bayesnets"}}
MOST_ROOMS, MOST_LEVELS, MOST_LINES = 16, 8, 700
# Lines that a room may have after `ruff format`; a number here only ever falls.
BUDGET = {
    "coherence": 33_652,
    "coherence/analysis": 3_687,
    "coherence/batteries": 3_943,
    "coherence/checks": 6_066,
    "coherence/cli": 1_595,
    "coherence/decoding": 994,
    "coherence/plots": 1_467,
    "coherence/report": 4_602,
    "coherence/runs": 5_492,
    "coherence/statistics": 3_886,
    "elicitation": 14_286,
    "elicitation/asking": 1_274,
    "elicitation/batteries": 2_184,
    "elicitation/commands": 1_350,
    "elicitation/models": 3_685,
    "elicitation/questions": 1_509,
    "elicitation/spelling": 787,
    "elicitation/training": 1_016,
    "bayesnets": 4_966,
    "benchmarks": 5_933,
    "tests": 25_904,
}
HOMES = {
    "matplotlib": "coherence/*plot* coherence/*figure* coherence/batteries/*/shown.py "
    "bayesnets/pictures/*",
    "catboost": "coherence/statistics/trees.py",
    "sklearn": "coherence/checks/iterated.py bayesnets/records/datasets.py",
    "statsmodels": "coherence/statistics/shares.py bayesnets/records/datasets.py",
    "inspect_ai": "coherence/runs/logs/* elicitation/asking/side_question.py "
    "elicitation/commands/inspect_tasks.py "
    "elicitation/models/hosted/*",
    "pgmpy": "bayesnets/network.py",
    "torch": "elicitation/models/* elicitation/training/*",
    "rich": "coherence/report/screen.py coherence/cli/*",
}


def files() -> list[Path]:
    return [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def imported(path: Path) -> tuple[str, ...]:
    """Return every module that a file names, and where a name may itself be a module, that too."""
    names = []
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path}: relative import"
            known = {f"{node.module}.{alias.name}" for alias in node.names} & modules()
            names += [*known] if known else [node.module]
    return tuple(names)


@cache
def modules() -> frozenset[str]:
    return frozenset(map(name_of, files()))


def arrows() -> Iterator[tuple[str, str]]:
    for path in files():
        for name in imported(path):
            if name in modules() and name != name_of(path):
                yield name_of(path), name


def room_of(module: str) -> str:
    """Return the folder or file at the top of its package that a module belongs to."""
    return ".".join(module.split(".")[:2])


def graph_of(pairs: Iterator[tuple[str, str]] | list[tuple[str, str]]) -> dict[str, set[str]]:
    graph: dict[str, set[str]] = {}
    for user, used in pairs:
        graph.setdefault(user, set()).add(used)
    return graph


def circle_in(graph: dict[str, set[str]]) -> list[str]:
    try:
        tuple(TopologicalSorter(graph).static_order())
    except CycleError as error:
        return list(error.args[1])
    return []


def loaded(code, names):
    """Which of these modules a fresh Python has loaded after some code."""
    code = f"import sys\n{code}\nprint([name for name in {names} if name in sys.modules])"
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True).stdout


MODELS = ("torch", "transformers", "pgmpy")


ANALYSIS = (*MODELS, "catboost", "matplotlib", "sklearn")


@pytest.mark.parametrize(
    ("code", "heavy"),
    [
        *[(f"import {name}; {name}.__all__", (*ANALYSIS, "pandas", "rich")) for name in PACKAGES],
        ("import coherence; coherence.analyze; coherence.simulate", ANALYSIS),
        pytest.param(
            "import elicitation.commands.elicit, elicitation.asking.session",
            (*MODELS, "httpx"),
            marks=pytest.mark.lengthy,
        ),
    ],
)
def test_importing_and_analysing_load_nothing_heavy(code, heavy):
    assert loaded(code, heavy) == "[]\n"


def test_no_import_runs_up():
    up = [
        f"{user} -> {used}"
        for user, used in arrows()
        if (a := user.split(".")[0]) != (b := used.split(".")[0]) and b not in BELOW[a]
    ]
    assert up == []


def test_modules_form_no_circle():
    assert circle_in(graph_of(arrows())) == []


@pytest.mark.parametrize("package", PACKAGES)
def test_rooms_form_no_circle_and_few_levels(package):
    pairs = [
        (room_of(user), room_of(used))
        for user, used in arrows()
        if user.startswith(f"{package}.") and used.startswith(f"{package}.")
    ]
    graph = graph_of([pair for pair in pairs if pair[0] != pair[1]])
    assert circle_in(graph) == []
    levels: dict[str, int] = {}
    for room in TopologicalSorter(graph).static_order():
        levels[room] = 1 + max((levels[used] for used in graph.get(room, ())), default=0)
    assert max(levels.values()) <= MOST_LEVELS, levels


def lines_of(path: Path) -> int:
    return path.read_text(encoding="utf-8").count("\n")


@pytest.mark.parametrize("room", BUDGET)
def test_a_room_keeps_its_budget_of_lines(room):
    lines = sum(map(lines_of, (ROOT / room).rglob("*.py")))
    assert lines <= BUDGET[room], (
        f"{room}/ has {lines} lines and may have {BUDGET[room]}: whoever needs more says what goes"
    )


def test_every_room_has_a_budget():
    rooms = {
        f"{package}/{init.parent.name}"
        for package in ("coherence", "elicitation")
        for init in (ROOT / package).glob("*/__init__.py")
    }
    assert rooms == {room for room in BUDGET if "/" in room}


def test_no_module_is_long():
    assert [name_of(path) for path in files() if lines_of(path) > MOST_LINES] == []


def test_coherence_has_few_rooms():
    rooms = {
        path.name
        for path in (ROOT / "coherence").iterdir()
        if (path.suffix == ".py" and path.stem != "__init__") or (path / "__init__.py").exists()
    }
    assert len(rooms) <= MOST_ROOMS, sorted(rooms)


@pytest.mark.parametrize("library", HOMES)
def test_heavy_libraries_stay_in_their_rooms(library):
    users = [
        path.relative_to(ROOT).as_posix()
        for path in files()
        if any(name.split(".")[0] == library for name in imported(path))
    ]
    homes = HOMES[library].split()
    strays = [user for user in users if not any(fnmatch(user, home) for home in homes)]
    assert strays == []
    assert users, f"nothing imports {library}: strike its line"


OTHER_WORDS = {"calibration", "scores", "stakes", "threshold", "matching"}
"""Names of checks that are words for other things too, and count where a module imports them."""
STILL_BY_NAME = {"coherence.report.scores"}
"""Modules that still do; nothing is added."""


def of_reports() -> Iterator[tuple[str, ast.Module]]:
    for path in files():
        name = name_of(path)
        if name.startswith("coherence.") and not name.startswith("coherence.analysis.paper"):
            yield name, tree_of(path)


def compared_or_keys(tree: ast.Module) -> Iterator[ast.expr]:
    """Yield what is compared with something, a key of a table, or looked up in one."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            for side in (node.left, *node.comparators):
                yield from side.elts if isinstance(side, ast.Tuple | ast.Set) else [side]
        elif isinstance(node, ast.Subscript):
            yield node.slice
        elif isinstance(node, ast.Dict):
            yield from filter(None, node.keys)
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "get":
            yield from node.args[:1]


def test_no_check_is_told_by_its_name():
    """Breaks if a room tells results apart by the name of their check: what is particular to a
    check it declares, and its results have a class of their own."""
    from coherence.checks import CHECKS

    told = set()
    for module, tree in of_reports():
        if module.startswith("coherence.checks"):
            continue
        imported = {
            alias.asname or alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith("coherence.checks.")
            for alias in node.names
            if alias.name == "NAME"
        }
        for node in compared_or_keys(tree):
            text = node.value if isinstance(node, ast.Constant) else None
            check, colon, _ = text.partition(":") if isinstance(text, str) else ("", "", "")
            named = check in CHECKS and (colon or check not in OTHER_WORDS)
            if named or (isinstance(node, ast.Name) and node.id in imported):
                told.add(module)
    assert told <= STILL_BY_NAME


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_exists(package):
    module = __import__(package)
    assert len(set(module.__all__)) == len(module.__all__)
    for name in module.__all__:
        assert getattr(module, name) is not None
    with pytest.raises(AttributeError, match="nothing"):
        _ = module.nothing


@pytest.mark.lengthy
def test_nothing_is_unused():
    """Breaks if something is left that only tests use; pyproject names what others call."""
    pytest.importorskip("vulture")
    command = [sys.executable, "-m", "vulture", "elicitation", "bayesnets"]
    assert subprocess.run(command, capture_output=True, text=True, cwd=ROOT).stdout == ""
