import shlex

from coherence.report.provenance import command


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
