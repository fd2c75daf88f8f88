#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the fuzz targets of a build and says what came of it, as a table and as JSON.

    run.py BUILD [--seconds N] [--executions E] [--seed S] [--jobs J] [--json FILE] [--keep FOLDER] [TARGET...]

Every target starts from its seeds and gets N seconds, or E executions if those take less. Executions, coverage (edges and
features) and findings; each finding is a file in --keep (default: findings/ in the
build folder), ready for `BUILD/tests/fuzz/replay_TARGET FILE`. Exit status 1 if there
are any, or if a target did not run.
"""
import argparse
import concurrent.futures
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
LIMITS = ["-timeout=100", "-rss_limit_mb=2560", "-malloc_limit_mb=2048"]
ENVIRONMENT = {"ASAN_OPTIONS": "detect_leaks=1:allocator_may_return_null=1",
               "LSAN_OPTIONS": "print_suppressions=0:suppressions=" + os.path.join(HERE, "leaks.txt"),
               "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1"}
MOST = {"image": 4096, "audio": 8192, "cache": 2048, "operators": 2048, "chain": 1024, "table": 2048, "npy": 4096, "report": 2048, "tar": 16384}


def targets_of(build):
    """Names of the targets that were built."""
    paths = glob.glob(os.path.join(build, "tests", "fuzz", "fuzz_*"))
    return sorted(os.path.basename(path)[len("fuzz_"):] for path in paths if os.access(path, os.X_OK) and os.path.isfile(path))


def number(pattern, text, default=0):
    """The last number that a pattern finds."""
    found = re.findall(pattern, text)
    return int(found[-1]) if found else default


def in_place():
    """Words before a command that has its memory at the same addresses every time, of which libFuzzer's choices are a function
    too; none where that is not allowed."""
    words = ["setarch", "-R"]
    try:
        return words if subprocess.run([*words, "true"], stderr=subprocess.DEVNULL, check=False).returncode == 0 else []
    except OSError:
        return []


def run_target(build, name, args, keep):
    """One target for as long as is asked, from its seeds, in a corpus of its own that is thrown away."""
    seeds = os.path.join(HERE, "seeds", name)
    words = os.path.join(HERE, "dicts", name + ".dict")
    before = set(os.listdir(keep))
    corpus = tempfile.mkdtemp(prefix="filterchain-fuzz-")
    command = [os.path.join(build, "tests", "fuzz", "fuzz_" + name), f"-max_total_time={args.seconds}", f"-runs={args.executions}", f"-seed={args.seed}", "-print_final_stats=1",
               f"-max_len={MOST.get(name, 4096)}", f"-artifact_prefix={keep}/{name}-", *LIMITS, corpus, seeds]
    if os.path.exists(words):
        command.insert(1, f"-dict={words}")
    if args.seed:
        command = in_place() + command
    environment = {**os.environ, **ENVIRONMENT, "TMPDIR": corpus}
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment, check=False)
    shutil.rmtree(corpus, ignore_errors=True)
    log = done.stdout.decode(errors="replace")
    findings = sorted(set(os.listdir(keep)) - before)
    findings = [name_ for name_ in findings if name_.startswith(name + "-")]
    result = {"target": name, "seconds": args.seconds, "executions": number(r"number_of_executed_units:\s+(\d+)", log),
              "edges": number(r"cov: (\d+)", log), "features": number(r"ft: (\d+)", log),
              "peak_mb": number(r"peak_rss_mb:\s+(\d+)", log), "status": done.returncode,
              "findings": [os.path.join(keep, name_) for name_ in findings]}
    if done.returncode != 0:
        with open(os.path.join(keep, name + ".log"), "w", encoding="utf-8") as file:
            file.write(log)
        result["log"] = log[-4000:]
    return result


def table(results):
    """The results as lines of text."""
    yield f"{'target':<10} {'executions':>11} {'edges':>7} {'features':>9} {'peak MB':>8}  findings"
    for r in results:
        said = ", ".join(os.path.basename(path) for path in r["findings"]) or ("none" if r["status"] == 0 else "did not run")
        yield f"{r['target']:<10} {r['executions']:>11} {r['edges']:>7} {r['features']:>9} {r['peak_mb']:>8}  {said}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("targets", nargs="*")
    parser.add_argument("--seconds", type=int, default=20, help="for each target")
    parser.add_argument("--executions", type=int, default=-1, help="of each target at most (default: as many as there is time for)")
    parser.add_argument("--seed", type=int, default=0, help="of the changes that are tried (default: another each time)")
    parser.add_argument("--jobs", type=int, default=1, help="targets at a time")
    parser.add_argument("--json", help="file for the results")
    parser.add_argument("--keep", help="folder for findings")
    args = parser.parse_intermixed_args()
    keep = os.path.abspath(args.keep or os.path.join(args.build, "findings"))
    os.makedirs(keep, exist_ok=True)
    names = args.targets or targets_of(args.build)
    if not names:
        sys.exit(f"{args.build}: no fuzz targets; configure with -Dfuzz=true")
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        results = list(pool.map(lambda name: run_target(args.build, name, args, keep), names))
    print("\n".join(table(results)))
    for r in results:
        if "log" in r:
            print(f"\n---- {r['target']} (status {r['status']})\n{r['log']}")
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)
            file.write("\n")
    return 1 if any(r["status"] or r["findings"] or not r["executions"] for r in results) else 0


if __name__ == "__main__":
    sys.exit(main())
