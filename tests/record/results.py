# SPDX-License-Identifier: MIT
"""A record of a test run: what ran, on which device, of which commit, with what result.

A record is one JSON object, written by the command that ran the tests:

    date       ISO 8601, UTC
    commit     of the tree, "-dirty" behind it when files had changed; null: not known
    device     {"name", "driver", "count"} of the first GPU, null where there is none
    host       {"cpu", "cores", "system"}
    command    what was run
    passed, failed, skipped
    tests      {"name", "suites", "result", "seconds"} each; a skipped one with its "reason"
    bench      figures of a benchmark, if any
"""
import datetime
import json
import os
import platform
import re
import subprocess

PASS, FAIL, SKIP = "pass", "fail", "skip"


def output_of(*command):
    """What a command prints, or None when it is not there or fails."""
    try:
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True, text=True,
                              timeout=60).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return None


def device():
    """The first GPU as its driver names it, or None."""
    listed = output_of("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader")
    if not listed:
        return None
    lines = listed.splitlines()
    name, _, driver = lines[0].partition(",")
    return {"name": name.strip(), "driver": driver.strip(), "count": len(lines)}


def host():
    """The processor and the system."""
    cpu = platform.processor()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            cpu = next((line.partition(":")[2].strip() for line in file if line.startswith("model name")), cpu)
    except OSError:
        pass
    return {"cpu": cpu, "cores": len(os.sched_getaffinity(0)), "system": platform.platform()}


def commit(folder):
    """The commit that a checkout is at, or None outside of one."""
    head = output_of("git", "-C", folder, "rev-parse", "HEAD")
    if not head:
        return None
    return head + ("-dirty" if output_of("git", "-C", folder, "status", "--porcelain") else "")


def skip_reason(text):
    """Why a test says that it was skipped."""
    found = re.search(r"^(?:skipped: |.*# SKIP )(.+)$", text, re.M | re.I)
    return found.group(1).strip() if found else "no reason given"


def make(tests, command, of_commit, bench_file=None):
    """The record of a run; `tests` as above, in the order they ran."""
    counts = {result: sum(test["result"] == result for test in tests) for result in (PASS, FAIL, SKIP)}
    record = {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "commit": of_commit,
        "device": device(),
        "host": host(),
        "command": command,
        "passed": counts[PASS],
        "failed": counts[FAIL],
        "skipped": counts[SKIP],
        "tests": sorted(tests, key=lambda test: (test["suites"], test["name"])),
    }
    if bench_file:
        # One object a line, as the benchmarks print them, or one in all.
        with open(bench_file, encoding="utf-8") as file:
            text = file.read()
        try:
            record["bench"] = json.loads(text)
        except json.JSONDecodeError:
            record["bench"] = [json.loads(line) for line in text.splitlines() if line.strip()]
    return record


def file_name(record):
    """2025-01-31-nvidia-h200.json, or -cpu where there is no GPU."""
    name = record["device"]["name"] if record["device"] else "cpu"
    return f"{record['date'][:10]}-{re.sub('[^a-z0-9]+', '-', name.lower()).strip('-')}.json"


def write(record, path):
    """Writes a record whole or not at all."""
    temporary = f"{path}.part"
    with open(temporary, "w", encoding="utf-8") as file:
        json.dump(record, file, indent=1)
        file.write("\n")
    os.replace(temporary, path)


def say(record, path):
    """The result in a few lines, and the exit status that goes with it: no test at all is
    a failure."""
    for test in record["tests"]:
        if test["result"] == SKIP:
            print(f"skipped: {test['name']}: {test['reason']}")
    for test in record["tests"]:
        if test["result"] == FAIL:
            print(f"FAILED: {test['name']}")
    gpu = record["device"]
    print(f"recorded in {path}; {gpu['name'] if gpu else 'no GPU'}, commit {record['commit'] or 'not known'}")
    print(f"{record['passed']} passed, {record['failed']} failed, {record['skipped']} skipped")
    return 0 if record["passed"] and not record["failed"] else 1
