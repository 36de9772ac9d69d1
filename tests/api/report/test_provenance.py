import shlex

from coherence.report.provenance import PACKAGES, command, package_version, versions


def test_the_command_is_what_a_shell_takes_apart_again():
    settings = {
        "file": "my runs; rm -rf.csv",
        "reading": ["--belief=my p", "--percent"],
        "seed": 3,
        "positive": ["not today"],
        "twins": 50,
        "merge_labels": False,
        "checks": ["cmi", "calibration"],
    }
    assert shlex.split(command(settings)) == [
        *("coherence", "analyze", "my runs; rm -rf.csv", "--belief=my p", "--percent"),
        *("--seed", "3", "--twin", "50", "--positive", "not today", "--no-merge-labels"),
        *("--checks", "cmi,calibration"),
    ]


def test_a_table_that_came_from_no_file_is_named_so():
    assert command({}) == "coherence analyze RUNS"


def test_versions_are_of_what_computes_the_numbers():
    found = versions()
    assert set(found) == {"python", *PACKAGES}
    assert set(versions(published=True)) == {*found, "catboost"}
    assert "unknown" not in found.values()
    assert package_version("no-such-package-anywhere") == "unknown"
