#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How long a new user waits: clones the repository's last commit into an empty folder and runs ./bootstrap demo there,
without a compiler cache, until the voice has been filtered.

    first_result.py [--cpu|--gpu] [ROOT]

--cpu leaves nvcc out, as on a machine that has none; --gpu also waits for the second result, after the GPU part, which is
built for FILTERCHAIN_CUDA_ARCH, or sm_90, whether or not there is a GPU. Packages must be installed, since downloading them depends on the
network. Prints the seconds by the clock, and of processor time, which other work on the machine hardly changes: divided by
the number of cores it is what an idle machine takes at least.
"""
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time


def main(root, cpu, gpu):
    arch = {"FILTERCHAIN_CUDA_ARCH": "none" if cpu else os.environ.get("FILTERCHAIN_CUDA_ARCH") or "90"} if cpu or gpu else {}
    environment = {k: v for k, v in os.environ.items() if k != "FILTERCHAIN_CUDA_ARCH"}
    environment.update({"CCACHE_DISABLE": "1"}, **arch)
    with tempfile.TemporaryDirectory() as folder:
        clone = os.path.join(folder, "filterchain")
        subprocess.run(["git", "clone", "-q", "--depth", "1", "file://" + root, clone], check=True)
        begun, used = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
        demo = subprocess.Popen(["./bootstrap", "demo"], cwd=clone, env=environment, text=True, start_new_session=True,
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        line = demo.stdout.readline()
        wall = [time.monotonic() - begun]
        if gpu:
            line = demo.stdout.readline()
            wall.append(time.monotonic() - begun)
        try:
            os.killpg(demo.pid, signal.SIGTERM)  # what follows is the CUDA backend
        except ProcessLookupError:
            pass
        demo.wait()
        now = resource.getrusage(resource.RUSAGE_CHILDREN)
        if not line.startswith("out.wav is") or not os.path.exists(os.path.join(clone, "out.wav")):
            sys.exit("first_result: ./bootstrap demo gave no result")
    print(f"{' and '.join(f'{seconds:.0f} s' for seconds in wall)} to the {'first and the second result' if gpu else 'first result'}; processor time: user {now.ru_utime - used.ru_utime:.0f} s, "
          f"sys {now.ru_stime - used.ru_stime:.0f} s; {len(os.sched_getaffinity(0))} cores")


if __name__ == "__main__":
    words = sys.argv[1:]
    folder = next((word for word in words if not word.startswith("--")), os.path.join(os.path.dirname(__file__), "..", ".."))
    main(os.path.abspath(folder), "--cpu" in words, "--gpu" in words)
