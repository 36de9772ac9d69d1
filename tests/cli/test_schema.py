import json

from coherence.cli.main import main
from coherence.report.json_schema import results_schema


def test_the_schema_is_printed_as_json_and_nothing_else(capsys):
    assert main(["schema"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out) == results_schema()
    assert err == ""
