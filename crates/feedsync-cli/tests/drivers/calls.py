"""Checks of calls of a driver, which are printed in the Test Anything Protocol."""

import re
import sys
import traceback
from contextlib import contextmanager

counts = {True: 0, False: 0}


def report(name, failure):
    """Prints the outcome of one call; `failure` is `None` or a text."""
    counts[failure is None] += 1
    print(f"{'ok' if failure is None else 'not ok'} {sum(counts.values())} - {name}", flush=True)
    if failure is not None:
        print(re.sub("^", "    ", failure, flags=re.MULTILINE), flush=True)


@contextmanager
def works(name):
    """The statements must succeed."""
    try:
        yield
    except Exception:
        report(name, traceback.format_exc())
    else:
        report(name, None)


@contextmanager
def refused(name, kind, pattern):
    """The statements must fail with this exception, whose text contains the pattern."""
    try:
        yield
    except kind as error:
        text = f"{error.args!r} {error}"
        report(name, None if re.search(pattern, text) else f"{pattern!r} is not in {text}")
    except Exception:
        report(name, traceback.format_exc())
    else:
        report(name, "the call succeeds")


def end():
    """Prints the counts, and ends the program."""
    print(f"# {counts[True]} of {sum(counts.values())} hold")
    sys.exit(0 if counts[False] == 0 else 1)
