"""The options of a computation, shared by the commands that run one: its seed and its processes."""

import argparse


def add_seed(parser: argparse.ArgumentParser, says: str = "equal seeds give equal numbers") -> None:
    """Declare ``--seed``.

    Parameters
    ----------
    parser : argparse.ArgumentParser
        Parser of the command.
    says : str
        What a seed promises there.
    """
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help=f"seed; {says} (default: 0)"
    )


def add_jobs(parser: argparse.ArgumentParser, what: str = "processes") -> None:
    """Declare ``--n-jobs``.

    Parameters
    ----------
    parser : argparse.ArgumentParser
        Parser of the command.
    what : str
        What is computed by several processes.
    """
    parser.add_argument(
        "--n-jobs",
        type=int,
        default=1,
        metavar="N",
        help=f"{what}; -1 for one per processor (default: 1)",
    )


def require_seed(args: argparse.Namespace) -> None:
    """Refuse a negative seed, for which numpy has words about entropy.

    Parameters
    ----------
    args : argparse.Namespace
        Options, among them that of `add_seed`.

    Raises
    ------
    InputError
        The seed is negative.
    """
    from coherence.errors import InputError

    if args.seed < 0:
        raise InputError(f"--seed must be at least 0; received {args.seed}.")
