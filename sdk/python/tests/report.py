"""Runs the tests and prints "ok - ..." or "not ok - ..." for each, like the other end-to-end tests.
usage: python3 -m tests.report [NAME...]"""

from __future__ import annotations

import sys
import unittest
from typing import Any, List


class Lines(unittest.TestResult):
    def _say(self, word: str, test: unittest.TestCase, reason: str = "") -> None:
        name = test.id().rpartition(".")[2].replace("test_", "", 1).replace("_", " ")
        print(f"{word} - sdk/python: {name}", flush=True)
        for line in reason.splitlines():
            print(f"#   {line}", flush=True)

    def addSuccess(self, test: unittest.TestCase) -> None:
        super().addSuccess(test)
        self._say("ok", test)

    def addFailure(self, test: unittest.TestCase, err: Any) -> None:
        super().addFailure(test, err)
        self._say("not ok", test, self.failures[-1][1])

    def addError(self, test: unittest.TestCase, err: Any) -> None:
        super().addError(test, err)
        self._say("not ok", test, self.errors[-1][1])

    def addSubTest(self, test: unittest.TestCase, subtest: unittest.TestCase, err: Any) -> None:
        super().addSubTest(test, subtest, err)
        if err is not None:
            self._say("not ok", test, (self.failures + self.errors)[-1][1])

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:
        super().addSkip(test, reason)
        self._say("ok", test, "skipped: " + reason)


def main(names: List[str]) -> int:
    loader = unittest.TestLoader()
    parts = ("protocol", "failures", "life", "slots", "client", "security", "worker")
    known = [f"tests.test_{part}" for part in parts]
    result = Lines()
    loader.loadTestsFromNames(names or known).run(result)
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
