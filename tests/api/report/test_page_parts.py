import pytest
from jinja2 import UndefinedError

from coherence.report.page_parts import breakable, environment, setting_rows, visible


def test_control_characters_and_overrides_are_seen_and_lines_kept():
    assert visible("a\x1b[31m\u202eb\nc\td") == "a\\x1b[31m\\u202eb\nc\td"
    assert visible("plain") == "plain"


def test_a_name_breaks_after_its_marks_and_stays_text():
    assert breakable("a_b:<i>") == "a_<wbr>b:<wbr>&lt;i&gt;"


def test_templates_escape_and_do_not_forgive():
    template = environment().from_string("{{ x }}")
    assert template.render(x="<b>") == "&lt;b&gt;"
    with pytest.raises(UndefinedError):
        template.render()


def test_settings_are_sorted_and_of_one_line():
    rows = setting_rows({"b": None, "a": [1, "x\ny"], "c": "t\x1b[31m"})
    assert rows == [("a", '[1, "x\\ny"]'), ("b", "–"), ("c", "t")]
