"""The tests in the source package of `aiocouch` for Python, which are the calls of its documentation.

    python suite.py DIRECTORY FILE...

DIRECTORY has the tests. The address and the login of an administrator are in `COUCHDB_HOST`, `COUCHDB_USER` and
`COUCHDB_PASS`. Tests of what the hub does differently must fail as listed here.
"""

import os
import re
import sys

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from calls import end, report

FAILURES = {
    # The database of a new user is for that user: `_security` names the creator.
    "test_database.py::test_get_security": r"assert \['anna'\] is None",
    "test_document.py::test_security_document_context_manager": r"assert \['anna'\] is None",
    # Revisions are those of the hub; those that are not hexadecimal are in the order of their texts.
    "test_document.py::test_list_revs": r"assert \['1-.*'\] == \['1-806db366b",
    "test_document.py::test_list_conflicts": r"assert \['1-zzz",
    # For those who may not use a database, it does not exist.
    "test_privileges.py::test_get_missing_privileges": "NotFoundError",
    "test_privileges.py::test_get_valid_privileges": "NotFoundError",
    # Names of users are small letters, digits and a few signs.
    "test_connection.py::test_utf8_basic_authentication": "ForbiddenError",
    # There is one shard.
    "test_server.py::test_create_with_param": "assert 1 == 16",
}


class Outcomes:
    """Reports each test once; a test fails if its preparation or its end fails."""

    def __init__(self):
        self.left = dict(FAILURES)
        self.failure = None

    def pytest_runtest_logreport(self, report):
        if report.failed and self.failure is None:
            self.failure = report.longreprtext
        if report.when == "teardown":
            self.compare(report.nodeid.removeprefix("tests/"))
            self.failure = None

    def compare(self, name):
        pattern = self.left.pop(name, None)
        if pattern is None:
            report(name, self.failure)
        elif self.failure is None:
            report(f"{name} fails", "it succeeds")
        else:
            is_expected = re.search(pattern, self.failure)
            report(f"{name} fails", None if is_expected else f"{pattern!r} is not in\n{self.failure}")


directory, *files = sys.argv[1:]
os.chdir(directory)
outcomes = Outcomes()
options = ["-W", "ignore", "-p", "no:cacheprovider", "-p", "no:terminal"]
status = pytest.main([*options, *(f"tests/{file}" for file in files)], plugins=[outcomes])
if status not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
    report("pytest", str(status))
for name in outcomes.left:
    if name.split("::")[0] in files:
        report(name, "there is no such test")
end()
