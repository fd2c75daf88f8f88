#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""filterchain beside its rivals on the CPU, in one run: rivals_cpu.py BUILD [options].

    rivals_cpu.py build                      everything
    rivals_cpu.py build --only fir,start     some groups: fir sep box dense memory start
    rivals_cpu.py build --json FILE          the figures as JSON too

Every row runs the rival and us in turns on the same data, compares the answers and prints the
least time of either, their ratio and the target. Needs sox, ffmpeg, NumPy, SciPy and OpenCV
(Debian: sox ffmpeg python3-numpy python3-scipy python3-opencv); rows whose rival is not there
are named and left out. Exit status 1 when two answers differ, never for a slow one.
"""
import argparse
import datetime
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np

from library import AUDIO, IMAGE, Library, text_of

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "record"))
import results  # noqa: E402 - the recorder's, found by the line above


class Table:
    def __init__(self):
        self.rows, self.wrong = [], 0
        print(f"{'work':<44}{'rival':<22}{'ours':>10}{'theirs':>10}{'ratio':>8}{'target':>8}")

    def add(self, work, rival, ours, theirs, target, same=True):
        ratio = theirs / ours
        self.rows.append({"work": work, "rival": rival, "ours_s": ours, "theirs_s": theirs,
                          "ratio": round(ratio, 3), "target": target, "met": ratio >= target, "same": bool(same)})
        self.wrong += not same
        note = "" if same else "  ANSWERS DIFFER"
        print(f"{work:<44}{rival:<22}{ours * 1e3:8.1f}ms{theirs * 1e3:8.1f}ms{ratio:8.2f}{target:8.2f}"
              f"  {'met' if ratio >= target else 'not met'}{note}", flush=True)


def in_turns(jobs, repeats):
    """The least time of each job, which take turns: what slows one down slows all."""
    least = [float("inf")] * len(jobs)
    for _ in range(repeats):
        for i, job in enumerate(jobs):
            start = time.perf_counter()
            job()
            least[i] = min(least[i], time.perf_counter() - start)
    return least


def close(a, b, allowed):
    a, b = a.astype(np.float64), b.astype(np.float64)
    return float(np.abs(a - b).max()) <= allowed


# ---- file to file --------------------------------------------------------------------------

def shell(*words):
    return lambda: subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def samples_of(path):
    import scipy.io.wavfile
    return scipy.io.wavfile.read(path)[1]


def low_pass(taps, seed=1):
    mask = np.random.default_rng(seed).normal(size=taps) * np.hanning(taps + 2)[1:-1]
    return mask / np.abs(mask).sum()


def fir_files(table, args, folder):
    """10 minutes of stereo, 48 kHz, 16 bits: pink enough, and loud enough to show errors."""
    import scipy.io.wavfile
    source, out, sox_out, ff_out = (os.path.join(folder, n) for n in ("in.wav", "out.wav", "sox.wav", "ff.wav"))
    rng = np.random.default_rng(5)
    sound = np.cumsum(rng.normal(size=(args.seconds * 48000, 2)).astype(np.float32), axis=0)
    sound = np.sin(sound * 0.3) * 0.5
    scipy.io.wavfile.write(source, 48000, (sound * 32767).astype(np.int16))
    for taps in (31, 127, 1023, 16383):
        mask, ir = os.path.join(folder, "mask.txt"), os.path.join(folder, "ir.wav")
        values = low_pass(taps)
        np.savetxt(mask, values, "%.9g")
        scipy.io.wavfile.write(ir, 48000, np.stack([values, values], 1).astype(np.float32))
        ours = shell(args.command, "--device", "cpu", "-j", str(args.threads), "-i", source, "-p",
                     f"conv1d:{mask}", "-o", out)
        jobs, names = [ours], []
        if shutil.which("sox"):
            jobs.append(shell("sox", "-D", source, sox_out, "fir", mask))
            names.append(("sox fir", sox_out, 3))
        if shutil.which("ffmpeg"):
            # One impulse response a channel; 5.1 doubles the result.
            jobs.append(shell("ffmpeg", "-y", "-i", source, "-i", ir, "-filter_complex",
                              "[0][1]afir=gtype=none:irfmt=input:wet=0.5", "-c:a", "pcm_s16le", ff_out))
            names.append(("ffmpeg afir", ff_out, 2))
        times = in_turns(jobs, args.repeats)
        mine = samples_of(out).astype(np.int32)
        for (name, path, target), seconds in zip(names, times[1:]):
            theirs = samples_of(path).astype(np.int32)
            # ffmpeg does not take the delay out: its output lags by half a mask.
            lag = (taps - 1) // 2 if name == "ffmpeg afir" else 0
            count = min(len(mine), len(theirs) - lag)
            same = close(mine[taps:count - taps], theirs[lag + taps:lag + count - taps], 2)
            table.add(f"{args.seconds} s stereo 16-bit WAV, {taps} taps", name, times[0], seconds, target, same)
    copy = in_turns([lambda: shutil.copyfile(source, out)], args.repeats)[0]
    print(f"  (a plain copy of the file: {copy * 1e3:.0f} ms)")


def start(table, args, folder):
    import scipy.io.wavfile
    source, out, mask = (os.path.join(folder, n) for n in ("1s.wav", "1o.wav", "m.txt"))
    scipy.io.wavfile.write(source, 48000, np.zeros((48000, 1), np.int16))
    np.savetxt(mask, low_pass(127), "%.9g")
    jobs = [shell(args.command, "-i", source, "-p", f"conv1d:{mask}", "-o", out)]
    if shutil.which("sox"):
        jobs.append(shell("sox", source, out, "fir", mask))
    times = in_turns(jobs, 5 * args.repeats)
    # The target is 12 ms, not a ratio.
    table.add("start to finish, 1 s WAV, 127 taps", "the limit of 12 ms", times[0], 0.012, 1)
    if len(times) > 1:
        table.add("start to finish, 1 s WAV, 127 taps", "sox fir", times[0], times[1], 0.5)


# ---- in memory -------------------------------------------------------------------------------

def images(table, args, work, chain, rival, dtype, channels, target, allowed):
    import cv2
    cv2.setNumThreads(args.threads)
    shape = (args.side, args.side) + ((channels,) if channels > 1 else ())
    rng = np.random.default_rng(7)
    source = rng.integers(0, 256, shape).astype(dtype) if dtype == "uint8" else rng.random(shape, np.float32)
    mine, theirs = np.empty_like(source), np.empty_like(source)
    handle = args.engine.chain(chain)
    ours_s, theirs_s = in_turns([lambda: args.engine.run(handle, source, mine, IMAGE),
                                 lambda: rival(cv2, source, theirs)], args.repeats)
    table.add(work, "OpenCV", ours_s, theirs_s, target, close(mine, theirs, allowed))


def sep(table, args, _):
    for dtype, channels, allowed in (("float32", 1, 1e-5), ("uint8", 3, 1)):
        for k in (3, 7, 15, 31):
            x = np.arange(k) - k // 2
            mask = np.exp(-0.5 * (x / (0.25 * k)) ** 2)
            mask = (mask / mask.sum()).astype(np.float32)
            kind = "f32" if channels == 1 else "u8 RGB"
            images(table, args, f"sepconv {args.side}^2 {kind}, k = {k}", f"sepconv:{text_of(mask)}:border=reflect101",
                   lambda cv2, a, b, m=mask: cv2.sepFilter2D(a, -1, m, m, dst=b), dtype, channels, 1.5, allowed)


def box(table, args, _):
    for k in (3, 15, 63, 255):
        images(table, args, f"box {args.side}^2 f32, k = {k}", f"winstat:{k}x{k}:stat=mean:border=reflect101",
               lambda cv2, a, b, k=k: cv2.blur(a, (k, k), dst=b), "float32", 1, 2, 1e-4)


def dense(table, args, _):
    mask = (np.random.default_rng(9).random((7, 7)) / 49).astype(np.float32)
    images(table, args, f"conv2d {args.side}^2 f32, 7 x 7", f"conv2d:{text_of(mask)}:flip=no:border=reflect101",
           lambda cv2, a, b: cv2.filter2D(a, -1, mask, dst=b), "float32", 1, 1.2, 1e-4)


def memory(table, args, _):
    import scipy.ndimage
    import scipy.signal
    count = args.seconds * 48000
    source = np.random.default_rng(3).normal(size=(count, 1)).astype(np.float32)
    mine = np.empty_like(source)
    for taps in (31, 127, 1023):
        mask = low_pass(taps).astype(np.float32)
        handle = args.engine.chain(f"conv1d:{text_of(mask)}:border=zero")
        rivals = [("SciPy oaconvolve", lambda m=mask: scipy.signal.oaconvolve(source[:, 0], m, "same"))]
        if taps < 1000:
            rivals.append(("SciPy ndimage", lambda m=mask: scipy.ndimage.convolve1d(source[:, 0], m, mode="constant")))
        jobs = [lambda: args.engine.run(handle, source, mine, AUDIO)] + [job for _, job in rivals]
        times = in_turns(jobs, max(2, args.repeats // 2))
        for (name, job), seconds in zip(rivals, times[1:]):
            table.add(f"FIR of {count / 1e6:.1f} M samples, {taps} taps", name, times[0], seconds, 5,
                      close(mine[:, 0], job(), 1e-5))


GROUPS = {"fir": fir_files, "start": start, "sep": sep, "box": box, "dense": dense, "memory": memory}


def circumstances(threads):
    """What every record says of its run."""
    return {"date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"), "commit": results.commit(HERE),
            "machine": results.host()["cpu"], "threads": threads, "load": round(os.getloadavg()[0], 1)}


def say(run):
    print(f"{run['machine']}, {run['threads']} threads of {os.cpu_count()}; load {run['load']}")


def store(path, run, **figures):
    """As a record, if there is a path."""
    if path:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(run | figures, file, indent=1)
            file.write("\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("build")
    parser.add_argument("--only", default=",".join(GROUPS), help="groups, with commas")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=int, default=600, help="of sound")
    parser.add_argument("--side", type=int, default=4096, help="of images")
    parser.add_argument("--folder", default="/dev/shm" if os.path.isdir("/dev/shm") else None,
                        help="for the files; the default is memory, where there is such a folder: a disk would "
                             "be most of what is measured")
    parser.add_argument("--json", metavar="FILE")
    args = parser.parse_args()
    args.build = os.path.abspath(args.build)
    args.command = os.path.join(args.build, "cli", "filterchain")
    args.engine = Library(args.build, args.threads)
    run = circumstances(args.threads)
    say(run)
    table = Table()
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        for name in args.only.split(","):
            try:
                GROUPS[name](table, args, folder)
            except ImportError as missing:
                print(f"{name}: left out, {missing}")
    met = sum(row["met"] for row in table.rows)
    print(f"{met} of {len(table.rows)} targets met, {table.wrong} answers differ")
    store(args.json, run, folder=args.folder, rows=table.rows)
    return 1 if table.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
