#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the GPU suite of a build folder under each tool of compute-sanitizer, and records it.

    sanitize.py BUILD [--libs DIR]... [-j N] [--tool memcheck]... [--test NAME]... [-o FILE]

A test passes when it succeeds and the tool has nothing to say. Like run_built.py it needs no Meson. Of several
GPUs each has its share of the runs. Of many random trials a seventh is made (FILTERCHAIN_TRIALS=few), and
operators have a second each; benchmarks and tests in Python are left out.
"""
import argparse
import concurrent.futures
import itertools
import os
import re
import sys
import time

import results
import run_built

TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
FOUND = 97  # the exit status when a tool has something to say
QUIET = re.compile(r"(ERROR SUMMARY: 0 errors|RACECHECK SUMMARY: 0 hazards displayed)")


def command_of(tree, test, tool):
    words = run_built.command_of(tree, test)
    if "--seconds" in words:
        words[words.index("--seconds") + 1] = "1"
    # Calls that CUDA refuses are part of some tests.
    quiet = ["--report-api-errors", "no"] if tool == "memcheck" else []
    return ["compute-sanitizer", "--tool", tool, *quiet, "--error-exitcode", str(FOUND), "--target-processes", "all",
            *words]


def gpus():
    """What CUDA_VISIBLE_DEVICES may name, one at a time."""
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    return named.split(",") if named else [str(i) for i in range((results.device() or {"count": 1})["count"])]


def is_fit(test):
    """A program that is ours, no benchmark, and not the one that holds a stream up to show that nothing
    waits for it: the tools do."""
    name = os.path.basename(test["cmd"][0])
    return "gpu" in test["suite"] and not name.startswith(("python", "filterchain-bench", "bench_", "test_gpu_stream"))


def is_asked(test, names):
    return not names or any(name in test["name"] for name in names)


def judge(status, output):
    if status == run_built.SKIPPED:
        return results.SKIP
    return results.PASS if status == 0 and QUIET.search(output) else results.FAIL


def run_test(tree, test, tool, gpu, options):
    entry = {"name": f"{tool}: {test['name']}", "suites": test["suite"]}
    left = options.timeout if options.deadline is None else min(options.timeout, options.end - time.monotonic())
    if left <= 1:
        return {**entry, "result": results.SKIP, "reason": "no time was left for it", "seconds": 0.0}, None, ""
    folder = tree.here(test["workdir"]) if test["workdir"] else tree.build
    libraries = [os.path.abspath(folder) for folder in options.libs]
    env = {**run_built.environment_of(tree, test, libraries), "FILTERCHAIN_TRIALS": "few",
           "CUDA_VISIBLE_DEVICES": gpu}
    started = time.monotonic()
    status, output = run_built.run(command_of(tree, test, tool), env, folder, left)
    entry.update(result=judge(status, output), seconds=round(time.monotonic() - started, 3))
    if status is None and options.deadline is not None:
        entry.update(result=results.SKIP, reason=f"not over after {entry['seconds']:.0f} s")
    elif entry["result"] == results.SKIP:
        entry["reason"] = results.skip_reason(output)
    return entry, status, output


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--libs", action="append", default=[])
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--tool", action="append", choices=TOOLS)
    parser.add_argument("--test", action="append", help="only those whose name contains it")
    parser.add_argument("--timeout", type=float, default=400)
    parser.add_argument("--deadline", type=float, help="seconds for all; what has no time left is told as skipped")
    parser.add_argument("--commit", help="of the tree, where git cannot tell")
    parser.add_argument("-o", "--output", required=True)
    options = parser.parse_args()
    options.end = time.monotonic() + (options.deadline or 0)
    tree = run_built.Tree(options.build)
    tests, entries = [test for test in tree.tests(["gpu"])
                      if is_fit(test) and is_asked(test, options.test)], []
    # The longest first.
    tests.sort(key=lambda test: -test["timeout"])
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        runs = itertools.product(options.tool or TOOLS, tests)
        futures = [pool.submit(run_test, tree, test, tool, gpu, options)
                   for (tool, test), gpu in zip(runs, itertools.cycle(gpus()))]
        for future in concurrent.futures.as_completed(futures):
            run_built.report(*future.result())
            entries.append(future.result()[0])
    record = results.make(entries, ["tests/record/sanitize.py"], options.commit or results.commit(tree.source))
    results.write(record, options.output)
    return results.say(record, options.output)


if __name__ == "__main__":
    sys.exit(main())
