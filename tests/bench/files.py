#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What files of sound cost beside the samples: files.py BUILD [--before BUILD] [--size MB] [--rounds N] [--json FILE]

WAV to WAV: a stereo file of 16 bits, of so many megabytes (1000), through gain:0.5 into another one in the same folder. With --before the build of
an earlier commit does the same in turn; the least time of each counts, and what they wrote is compared.
Ogg: how many bytes are read of a file (Vorbis, one minute) while it is only opened (--dry-run), and while it is converted, as parts of its size; by
strace, where it is installed."""
import argparse
import filecmp
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
import wave

import rivals_cpu


def make_wav(path, megabytes):
    """Noise; the same second over and over."""
    second = os.urandom(4 * 48000)
    with wave.open(path, "wb") as file:
        file.setparams((2, 2, 48000, 0, "NONE", ""))
        for _ in range(max(megabytes * 1000000 // len(second), 1)):
            file.writeframesraw(second)


def command(build):
    return os.path.join(os.path.abspath(build), "cli/filterchain")


def copy_wav(builds, folder, megabytes, rounds):
    """Seconds of each build."""
    source, best, outs = os.path.join(folder, "in.wav"), {}, []
    make_wav(source, megabytes)
    for _ in range(rounds):
        for name, build in builds.items():
            out = os.path.join(folder, name + ".wav")
            start = time.perf_counter()
            subprocess.run([command(build), "-i", source, "-p", "gain:0.5", "-o", out, "-q"], check=True)
            best[name] = min(best.get(name, 1e9), time.perf_counter() - start)
            outs.append(out)
    if not all(filecmp.cmp(outs[0], out, shallow=False) for out in set(outs)):
        raise SystemExit("files.py: the builds write different files")
    return {name: round(seconds, 3) for name, seconds in best.items()}


def read_of(path, words):
    """Bytes that a command reads of a file, as a part of its size."""
    with tempfile.NamedTemporaryFile() as log:
        subprocess.run(["strace", "-f", "-y", "-e", "trace=read,pread64,readv,preadv,mmap", "-o", log.name, *words], check=True)
        calls = re.findall(rf"\((?:\d+<{re.escape(path)}>).*\) = (\d+)$", log.read().decode(errors="replace"), re.M)
    return round(sum(map(int, calls)) / os.path.getsize(path), 2)


def read_ogg(build, folder):
    wav, ogg, out = (os.path.join(folder, name) for name in ("minute.wav", "minute.ogg", "again.wav"))
    make_wav(wav, 12)
    subprocess.run([command(build), "-i", wav, "-o", ogg, "-q"], check=True)
    words = [command(build), "-i", ogg, "-p", "gain:0.25", "-o", out, "-q"]
    return {"size": os.path.getsize(ogg), "opened": read_of(ogg, words + ["--dry-run"]), "converted": read_of(ogg, words)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--before", metavar="BUILD")
    parser.add_argument("--size", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", default=None)
    parser.add_argument("--json", metavar="FILE")
    arguments = parser.parse_args()
    builds = {"ours": arguments.build} | ({"before": arguments.before} if arguments.before else {})
    run, result = rivals_cpu.circumstances(os.cpu_count()), {"megabytes": arguments.size}
    rivals_cpu.say(run)
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        result["wav to wav, s"] = copy_wav(builds, folder, arguments.size, arguments.rounds)
        if shutil.which("strace"):
            result["ogg, read of its size"] = read_ogg(arguments.build, folder)
    print(json.dumps(result, indent=1))
    rivals_cpu.store(arguments.json, run, **result)


if __name__ == "__main__":
    main()
