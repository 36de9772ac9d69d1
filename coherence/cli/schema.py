"""``coherence schema``: print the JSON Schema of the results that ``coherence analyze`` writes."""

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options, of which there are none."""


def run(args: argparse.Namespace) -> int:
    """Print the schema."""
    import json

    from coherence.report.json import results_schema

    print(json.dumps(results_schema(), indent=2))
    return 0
