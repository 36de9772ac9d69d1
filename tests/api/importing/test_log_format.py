"""Breaks if a format is known in one place and not in another."""

import pytest

from coherence import InputError
from coherence.importing.log_format import MODULES, LogFormat, detect_format, format_declaration


@pytest.mark.parametrize("name", MODULES)
def test_every_format_declares_itself(name, tmp_path):
    form = format_declaration(name)
    assert isinstance(form, LogFormat)
    assert form.endings
    assert all(ending == ending.lower() and ending.startswith(".") for ending in form.endings)
    broken = tmp_path / f"log{form.endings[0]}"
    broken.write_bytes(b"\xff\xfe\xff")
    with pytest.raises(InputError):
        form.read(broken, max_bytes=100)


def test_an_ending_that_no_format_has_is_an_error_that_lists_all(tmp_path):
    with pytest.raises(InputError, match="must be .*not '.docx'") as error:
        detect_format(tmp_path / "log.docx")
    for name in MODULES:
        assert all(ending in str(error.value) for ending in format_declaration(name).endings)
