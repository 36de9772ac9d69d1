"""Files that are no log, and logs of another shape: breaks if one crashes or passes for one."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coherence import InputError, SchemaError, write_runs
from coherence.importing.log_format import MODULES, format_declaration
from tests.api.importing.conftest import (
    BELIEF,
    GOLDEN,
    HEADER,
    TEXT,
    YES,
    imported,
    write_text,
)

NESTED = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda part: (
        st.lists(part, max_size=4) | st.dictionaries(st.text(max_size=8), part, max_size=4)
    ),
    max_leaves=8,
)


def somewhere(value, draw, replacement):
    """Return a copy of nested JSON in which one part, anywhere, is another value."""
    if not isinstance(value, dict | list) or not value or draw(st.integers(0, 4)) == 0:
        return replacement
    key = draw(st.sampled_from(list(value) if isinstance(value, dict) else range(len(value))))
    changed = value.copy()
    changed[key] = somewhere(value[key], draw, replacement)
    return changed


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.eval", "no zip at all", "no Inspect log.*zip"),
        ("a.json", "{", "no Inspect log"),
        ("a.json", "[1]", "not a log of inspect or lm-eval.*: coherence analyze .*a.json"),
        ("a.json", '{"results": 1}', "no Inspect log"),
        ("a.json", HEADER, "the log has no samples"),
        ("a.json", "[" * 100_000, "not a log of"),
        ("a.jsonl", '{"p": 0.5}\n', "not a log of inspect or lm-eval"),
        ("a.jsonl", '{"p": \n', "line 1 is not JSON"),
        ("a.jsonl", '{"doc_id": 0, "resps": [["a"]]}\n', "line 1 lacks 'doc', 'target'"),
        ("a.eval", "", "empty"),
        ("my a.csv", "p,theta\n1,1\n", "A table needs no import: coherence analyze '.*/my a.csv'"),
    ],
)
def test_what_cannot_be_read_is_said(tmp_path, name, content, message):
    path = write_text(tmp_path / name, content)
    with pytest.raises(InputError, match=message):
        imported(path)


def test_formats_are_told_by_content_and_not_mixed(tmp_path):
    with pytest.raises(InputError, match="is of the format lm-eval, .* of the format inspect"):
        imported(BELIEF, TEXT)
    with pytest.raises(InputError, match="no such file"):
        imported(GOLDEN)
    for name in MODULES:
        form = format_declaration(name)
        broken = tmp_path / f"log{form.endings[0]}"
        broken.write_bytes(b"\xff\xfe\xff")
        with pytest.raises(InputError) as error:
            form.read(broken, max_bytes=100)
        assert "--encoding" not in str(error.value)  # which import does not have


@pytest.mark.lengthy
@pytest.mark.parametrize("golden", [GOLDEN / "inspect_letters.json", YES, TEXT])
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_a_log_of_another_shape_is_refused_or_read_and_never_crashes(
    golden, tmp_path_factory, data
):
    lines = golden.read_text().splitlines() if golden.suffix == ".jsonl" else [golden.read_text()]
    number = data.draw(st.integers(0, len(lines) - 1))
    odd = NESTED | st.sampled_from([10**400, -(2**70), "\ud800", True, [[["nan", "True"]]]])
    lines[number] = json.dumps(somewhere(json.loads(lines[number]), data.draw, data.draw(odd)))
    path = tmp_path_factory.mktemp("odd") / golden.name
    path.write_text("\n".join(lines))
    try:
        damaged = imported(path, mapping={"theta": "-"})
    except (InputError, SchemaError):
        return
    write_runs(damaged.runs, path.with_name("runs.parquet"))
    assert len(damaged.runs) > 0
