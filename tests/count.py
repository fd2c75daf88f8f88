#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Counts the results in Meson's own logs and ends with "N passed, N failed, N skipped".

    count.py build/meson-logs/testlog.json [...]

A log is a JSON object a line. A skipped test is not a passed one, a log that is not
there or is empty is a failure, and every test that did not pass is named.
"""
import json
import sys

PASSED = {"OK", "EXPECTEDFAIL"}
SKIPPED = {"SKIP", "IGNORED"}


def read_log(path):
    """The results of one log as (name, result) pairs; [] when there is none."""
    try:
        with open(path, encoding="utf-8") as log:
            tests = [json.loads(line) for line in log if line.strip()]
    except (OSError, ValueError) as error:
        print(f"{path}: {error}")
        return []
    return [(test["name"], test["result"]) for test in tests]


def main(paths):
    passed = failed = skipped = 0
    for path in paths:
        results = read_log(path)
        if not results:
            print(f"{path}: no test ran")
            failed += 1
        for name, result in results:
            if result in PASSED:
                passed += 1
                continue
            if result in SKIPPED:
                skipped += 1
            else:
                failed += 1
            print(f"{result}: {name} ({path})")
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 0 if passed and not failed else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
