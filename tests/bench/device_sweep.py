#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Does --device auto choose well? device_sweep.py BUILD [options], on a machine with a GPU.

    device_sweep.py build                     1 s to 1 h of sound, 64 x 64 to 16384 x 16384 images
    device_sweep.py build --quick             without the largest of either
    device_sweep.py build --only images       or sounds
    device_sweep.py build --json FILE         the figures as JSON too

Every file goes through every chain by --device cpu and --device cuda in turns, a process each as a
user starts them; what counts is the least time. Then --dry-run tells what auto chooses: it is right
when that takes no more than 1.2 times the better. Exit status 1 when it is wrong anywhere.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import wave

import numpy as np

RATE = 48000
SECONDS = [1, 10, 60, 600, 3600]
SIDES = [64, 512, 2048, 4096, 8192, 16384]
ALLOWED = 1.2

SOUND_CHAINS = {
    "gain": ["gain:0.5"],
    "31 taps": ["conv1d:{taps31}"],
    "1023 taps": ["conv1d:{taps1023}"],
    "ten operators": ["conv1d:{taps31}", "gain:0.5", "clip:0.9", "conv1d:{taps1023}", "gain:2", "winstat:15",
                      "gain:0.5", "conv1d:{taps31}", "clip:0.9", "gain:0.9"],
}
IMAGE_CHAINS = {
    "gain": ["gain:0.5"],
    "sepconv 5": ["sepconv:[1,4,6,4,1]/16"],
    "conv2d 7 x 7": ["conv2d:{dense7}"],
    "ten operators": ["sepconv:[1,4,6,4,1]/16", "gain:0.5", "conv2d:{dense7}", "winstat:window=15x15", "gain:2",
                      "sepconv:{taps31}", "clip:200", "conv2d:{dense7}", "gain:0.5", "sepconv:[1,2,1]/4"],
}


def write_mask(folder, name, values):
    path = os.path.join(folder, name + ".txt")
    np.savetxt(path, values)
    return path


def write_sound(path, seconds, noise):
    with wave.open(path, "wb") as file:
        file.setnchannels(2)
        file.setsampwidth(2)
        file.setframerate(RATE)
        for _ in range(seconds // 10):
            file.writeframes(noise.tobytes())
        file.writeframes(noise[:seconds % 10 * RATE].tobytes())


def write_image(path, side, random):
    np.save(path, (random.random((side, side), dtype=np.float32) * 255))


def command(program, source, chain, masks, target, *more):
    words = [program, "-q", "-i", source, "-o", target, *more]
    for stage in chain:
        words += ["-p", stage.format(**masks)]
    return words


def seconds_of(words):
    start = time.perf_counter()
    subprocess.run(words, check=True)
    return time.perf_counter() - start


def chosen(words):
    plan = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
    return ("cuda" if plan["device"].startswith("cuda") else "cpu"), plan


def judge(program, name, source, chains, masks, target, repeats):
    for title, chain in chains.items():
        least = {"cpu": float("inf"), "cuda": float("inf")}
        for _ in range(repeats):
            for device in least:
                words = command(program, source, chain, masks, target, "--device", device)
                least[device] = min(least[device], seconds_of(words))
        auto, plan = chosen(command(program, source, chain, masks, target, "--dry-run", "--json"))
        ratio = least[auto] / min(least.values())
        row = {"signal": name, "chain": title, "cpu_s": least["cpu"], "cuda_s": least["cuda"], "auto": auto,
               "ratio": ratio, "right": ratio <= ALLOWED, "reason": plan.get("reason")}
        print(f"{name:<18}{title:<16}{least['cpu']:9.3f}{least['cuda']:9.3f}  {auto:<5}{ratio:6.2f}  "
              f"{'' if row['right'] else 'WRONG: '}{row['reason']}", flush=True)
        yield row


def sweep(program, folder, quick, repeats, only):
    random = np.random.default_rng(20261121)
    masks = {f"taps{n}": write_mask(folder, f"taps{n}", np.hanning(n + 2)[1:-1] / (n / 2)) for n in (31, 1023)}
    masks["dense7"] = write_mask(folder, "dense7", random.random((7, 7)) / 25)
    noise = random.integers(-20000, 20000, (10 * RATE, 2), dtype=np.int16)
    print(f"{'signal':<18}{'chain':<16}{'cpu s':>9}{'cuda s':>9}  auto  ratio")
    for seconds in [] if only == "images" else SECONDS[:-1] if quick else SECONDS:
        source, target = os.path.join(folder, "in.wav"), os.path.join(folder, "out.wav")
        write_sound(source, seconds, noise)
        yield from judge(program, f"{seconds} s stereo i16", source, SOUND_CHAINS, masks, target, repeats)
    for side in [] if only == "sounds" else SIDES[:-1] if quick else SIDES:
        source, target = os.path.join(folder, "in.npy"), os.path.join(folder, "out.npy")
        write_image(source, side, random)
        yield from judge(program, f"{side}^2 f32", source, IMAGE_CHAINS, masks, target, repeats)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", choices=["images", "sounds"])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--folder", help="for the files, some 4 GB (default: a temporary one)")
    parser.add_argument("--json")
    arguments = parser.parse_args()
    program = os.path.join(os.path.realpath(arguments.build), "cli", "filterchain")
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        rows = list(sweep(program, folder, arguments.quick, arguments.repeats, arguments.only))
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)
    wrong = sum(not row["right"] for row in rows)
    print(f"{len(rows) - wrong} of {len(rows)} right")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
