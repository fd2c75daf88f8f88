#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the tests of a build folder directly, and records the run: for a machine that has
the built tree but no Meson, compiler or headers.

    run_built.py BUILD [--suite S]... [--libs DIR]... [-j N] [-o FILE]

What runs is what Meson wrote down when the tree was configured
(meson-info/intro-tests.json). The tree may lie elsewhere now: paths are rewritten.
Shared libraries that this machine lacks are looked for in the folders of --libs. The
results count as Meson counts them: exit status 77 is skipped, a TAP program is one test.
"""
import argparse
import concurrent.futures
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import results

SKIPPED = 77
TAIL = 4000  # characters of a failed test's output that are shown


class Tree:
    """Where the tree was when it was configured, and where it is now."""

    def __init__(self, build):
        self.build = os.path.realpath(build)
        with open(os.path.join(self.build, "meson-info", "meson-info.json"), encoding="utf-8") as file:
            was = json.load(file)["directories"]
        # The build folder's place in the source tree does not change.
        inside = os.path.relpath(was["build"], was["source"])
        self.source = os.path.normpath(os.path.join(self.build, os.path.relpath(".", inside)))
        self.moves = [(was["build"], self.build), (was["source"], self.source)]

    def here(self, text):
        """A command's word or an environment's value with its paths as they are now."""
        for old, new in self.moves:
            text = re.sub(re.escape(old) + r"(?![^/:])", lambda _, new=new: f"\0{new[1:]}", text)
        return text.replace("\0", "/")

    def tests(self, suites):
        """The tests of these suites, of all when there are none named."""
        with open(os.path.join(self.build, "meson-info", "intro-tests.json"), encoding="utf-8") as file:
            tests = json.load(file)
        for test in tests:
            test["suite"] = sorted(suite.rpartition(":")[2] for suite in test["suite"])
        return [test for test in tests if not suites or set(suites) & set(test["suite"])]


def command_of(tree, test):
    """The words to run; Python scripts run under this Python where theirs is not there."""
    words = [tree.here(word) for word in test["cmd"]]
    if os.path.basename(words[0]).startswith("python") and not shutil.which(words[0]):
        words[0] = sys.executable
    return words


def environment_of(tree, test, libraries):
    """Ours with the test's own; the libraries of --libs come last, so that the tree's are found first."""
    env = {**os.environ, **{key: tree.here(value) for key, value in test["env"].items()}}
    paths = [env.get("LD_LIBRARY_PATH", ""), *libraries]
    if any(paths):
        env["LD_LIBRARY_PATH"] = ":".join(path for path in paths if path)
    return env


def run(words, env, folder, timeout):
    """Exit status (None: out of time) and output. The test is a process group of its own,
    so that what it starts ends with it."""
    try:
        process = subprocess.Popen(words, env=env, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True)
    except OSError as error:
        return -1, str(error)
    try:
        output, _ = process.communicate(timeout=timeout)
        return process.returncode, output
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        return None, f"{output}\nout of time after {timeout:g} s"


def judge(test, status, output):
    """Pass, fail or skip, as Meson would say."""
    if status == SKIPPED:
        return results.SKIP
    if status != 0:
        return results.FAIL
    if test["protocol"] != "tap":
        return results.PASS
    lines = re.findall(r"^(not )?ok\b(.*)$", output, re.M)
    if any(bad and "# TODO" not in rest.upper() for bad, rest in lines):
        return results.FAIL
    if all("# SKIP" in rest.upper() for _, rest in lines):
        return results.SKIP if lines or "# SKIP" in output.upper() else results.FAIL
    return results.PASS


def run_test(tree, test, options):
    """Runs one test; its entry in the record, and what it printed."""
    timeout = test["timeout"] * options.timeout_multiplier if test["timeout"] > 0 else None
    folder = tree.here(test["workdir"]) if test["workdir"] else tree.build
    libraries = [os.path.abspath(folder) for folder in options.libs]
    started = time.monotonic()
    status, output = run(command_of(tree, test), environment_of(tree, test, libraries), folder, timeout)
    entry = {
        "name": test["name"],
        "suites": test["suite"],
        "result": judge(test, status, output),
        "seconds": round(time.monotonic() - started, 3),
    }
    if entry["result"] == results.SKIP:
        entry["reason"] = results.skip_reason(output)
    return entry, status, output


def report(entry, status, output):
    """One line a test, as it ends; of a failed one the end of what it said."""
    print(f"{entry['result'].upper():5} {entry['seconds']:8.2f} s  {'+'.join(entry['suites'])} / {entry['name']}")
    if entry["result"] == results.FAIL:
        print(f"---- exit status {status}\n{output[-TAIL:]}\n----")
    sys.stdout.flush()


def run_all(tree, tests, options):
    """The parallel ones first, then by themselves those that must be."""
    entries = []

    def finish(done):
        report(*done)
        entries.append(done[0])

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        futures = [pool.submit(run_test, tree, test, options) for test in tests if test["is_parallel"]]
        for future in concurrent.futures.as_completed(futures):
            finish(future.result())
    wait_for(options.alone_after)
    for test in tests:
        if not test["is_parallel"]:
            finish(run_test(tree, test, options))
    return entries


def wait_for(process):
    """Until this process is gone, which is no child of ours."""
    while process and os.path.exists(f"/proc/{process}"):
        time.sleep(0.2)


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--suite", action="append", default=[], help="only tests of this suite; may be repeated")
    parser.add_argument("--libs", action="append", default=[], help="a folder of shared libraries; may be repeated")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("-t", "--timeout-multiplier", type=float, default=1)
    parser.add_argument("--alone-after", type=int, metavar="PID", help="what must be alone waits for this process's end")
    parser.add_argument("--commit", help="of the tree, where git cannot tell")
    parser.add_argument("--bench", help="figures of a benchmark: JSON, or an object a line")
    parser.add_argument("-o", "--output", help="the file to write instead of DATE-DEVICE.json beside this script")
    options = parser.parse_args(arguments)
    tree = Tree(options.build)
    commit = options.commit or results.commit(tree.source)
    entries = run_all(tree, tree.tests(options.suite), options)
    command = ["tests/record/run_built.py", *(word for suite in options.suite for word in ("--suite", suite))]
    record = results.make(entries, command, commit, options.bench)
    here = os.path.dirname(os.path.abspath(__file__))
    path = options.output or os.path.join(here, results.file_name(record))
    results.write(record, path)
    return results.say(record, path)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
