import json

import jsonschema


def test_the_schema_is_printed_as_json_and_nothing_else(run):
    status, out, err = run("schema")
    assert (status, err) == (0, "")
    jsonschema.Draft202012Validator.check_schema(json.loads(out))
    assert "evaluations" in json.loads(out)["properties"]
