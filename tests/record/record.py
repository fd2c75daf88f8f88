#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the test suite and records it in tests/record/DATE-DEVICE.json.

    record.py BUILD [--suite S]... [--log testlog.json] [--commit C] [--bench FILE] [-o FILE]

With --log nothing is run: the results are read from a log that `meson test` left.
Where there is only a built tree and no Meson, see run_built.py.
"""
import argparse
import json
import os
import subprocess
import sys

import results

MESON = {"OK": results.PASS, "EXPECTEDFAIL": results.PASS, "SKIP": results.SKIP, "IGNORED": results.SKIP}


def run_meson(build, suites):
    """Runs the tests; the log they leave, which is none of an earlier run."""
    log = os.path.join(build, "meson-logs", "testlog.json")
    if os.path.exists(log):
        os.remove(log)
    command = ["meson", "test", "-C", build, "--print-errorlogs"]
    for suite in suites:
        command += ["--suite", suite]
    subprocess.run(command, check=False)
    return log, command


def read_log(path):
    """The tests in a log of Meson's: a JSON object a line."""
    with open(path, encoding="utf-8") as file:
        return [read_test(json.loads(line)) for line in file if line.strip()]


def read_test(entry):
    """One test; Meson names it "project:suite / name"."""
    suites, _, name = entry["name"].rpartition(" / ")
    test = {
        "name": name,
        "suites": sorted(suite.rpartition(":")[2] for suite in suites.split("+") if suite),
        "result": MESON.get(entry["result"], results.FAIL),
        "seconds": round(entry.get("duration", 0), 3),
    }
    if test["result"] == results.SKIP:
        test["reason"] = results.skip_reason((entry.get("stdout") or "") + "\n" + (entry.get("stderr") or ""))
    return test


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?", default="build")
    parser.add_argument("--suite", action="append", default=[])
    parser.add_argument("--log", help="read this log instead of running the tests")
    parser.add_argument("--commit")
    parser.add_argument("--bench", help="figures of a benchmark: JSON, or an object a line")
    parser.add_argument("-o", "--output", help="the file to write instead of DATE-DEVICE.json beside this script")
    options = parser.parse_args(arguments)
    here = os.path.dirname(os.path.abspath(__file__))
    # Asked for first: the record itself is a change.
    commit = options.commit or results.commit(here)
    log, command = (options.log, ["read", options.log]) if options.log else run_meson(options.build, options.suite)
    try:
        tests = read_log(log)
    except (OSError, ValueError, KeyError) as error:
        print(f"{log}: {error}", file=sys.stderr)
        return 1
    record = results.make(tests, command, commit, options.bench)
    path = options.output or os.path.join(here, results.file_name(record))
    results.write(record, path)
    return results.say(record, path)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
