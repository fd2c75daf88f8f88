#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reading and writing photographs beside OpenCV and Pillow, in one run:

    images.py BUILD [--files N] [--rounds N] [--folder DIR]

Makes N JPEG photographs (200), a quarter each of 12 and 0.2 megapixels, baseline and progressive, and
reads them all by each program in turn, five times. Of each file the best time counts, so that other work on the machine does not.
Ours includes the confined processes that decode, and their start. Needs opencv-python-headless, Pillow and NumPy."""
import argparse
import os
import subprocess
import tempfile
import time

import cv2
import numpy as np
from PIL import Image

KINDS = [("12 MP", 4000, 3000), ("0.2 MP", 512, 384)]


def photograph(width, height, seed):
    """Soft shapes, edges and the noise of a sensor: about 2 bits a pixel at quality 90."""
    random = np.random.default_rng(seed)
    soft = random.normal(size=(height // 64 + 2, width // 64 + 2, 3))
    soft = (soft - soft.min()) / (soft.max() - soft.min()) * 255
    picture = np.asarray(Image.fromarray(soft.astype(np.uint8)).resize((width, height), Image.BICUBIC)).astype(np.float32)
    y, x = np.mgrid[:height, :width]
    picture += 30 * ((x // 37 + y // 53) % 2)[..., None]
    return Image.fromarray((picture + random.normal(scale=4, size=picture.shape)).clip(0, 255).astype(np.uint8))


def make(folder, files):
    """{(size, coding): paths}; a few pictures of each kind, each several times."""
    made = {}
    for size, width, height in KINDS:
        for coding in ("baseline", "progressive"):
            paths = []
            for i in range(files // 4):
                path = os.path.join(folder, f"{size.replace(' ', '')}-{coding}-{i}.jpg")
                if i < 3:
                    photograph(width, height, i).save(path, quality=90, progressive=coding == "progressive")
                else:
                    os.link(paths[i % 3], path)
                paths.append(path)
            made[size, coding] = paths
    return made


def ours(build, mode, *words):
    done = subprocess.run([os.path.join(build, "tests/bench/bench_images"), mode, os.path.join(build, "media/image/decoder/filterchain-decode"), *words],
                          check=True, capture_output=True, text=True)
    return [float(line.split()[0]) for line in done.stdout.splitlines()]


def timed(call, items):
    seconds = []
    for item in items:
        start = time.perf_counter()
        call(item)
        seconds.append(time.perf_counter() - start)
    return seconds


def quarter(path):
    picture = cv2.imread(path)
    return cv2.resize(picture, (-(-picture.shape[1] // 4), -(-picture.shape[0] // 4)), interpolation=cv2.INTER_AREA)


def reduced(path):
    return cv2.imread(path, cv2.IMREAD_REDUCED_COLOR_4)


def report(what, seconds, reference):
    """`seconds`: for each program those of each file."""
    means = {name: sum(values) / len(values) for name, values in seconds.items()}
    print(f"{what:30s}" + "".join(f"  {name} {value * 1e3:7.2f} ms ({means[reference] / value:4.2f}x)" for name, value in means.items()),
          flush=True)


def best(programs, rounds):
    """For each program the seconds of each file, the best of some rounds; the programs in turn."""
    times = {name: [] for name in programs}
    for _ in range(rounds):
        for name, run in programs.items():
            times[name].append(run())
    return {name: [min(of_file) for of_file in zip(*lists)] for name, lists in times.items()}


def report_kinds(what, made, seconds):
    """Of each kind, and of all."""
    at = 0
    for (size, coding), paths in made.items():
        report(f"{what} {size} {coding}", {name: values[at:at + len(paths)] for name, values in seconds.items()}, "OpenCV")
        at += len(paths)
    report(f"{what} all", seconds, "OpenCV")


def compare_reading(build, made, rounds):
    paths = sum(made.values(), [])
    report_kinds("read", made, best({"OpenCV": lambda: timed(cv2.imread, paths),
                                     "Pillow": lambda: timed(lambda p: np.asarray(Image.open(p)), paths),
                                     "ours": lambda: ours(build, "read", *paths)}, rounds))
    large = {kind: of_kind for kind, of_kind in made.items() if kind[0] == "12 MP"}
    paths = sum(large.values(), [])
    report_kinds("read to 1/4", large, best({"OpenCV": lambda: timed(quarter, paths),
                                             "OpenCV reduced": lambda: timed(reduced, paths),
                                             "ours": lambda: ours(build, "quarter", *paths)}, rounds))


def compare_writing(build, folder, made, rounds):
    for size in ("12 MP", "0.2 MP"):
        source = made[size, "baseline"][0]
        picture = Image.open(source)
        picture.load()
        pixels = cv2.imread(source)
        count = 20
        outs = [os.path.join(folder, f"out{i}.jpg") for i in range(count)]
        for sampling, name in ((2, "420"), (0, "444")):
            seconds = best({"Pillow": lambda: timed(lambda p: picture.save(p, quality=90, subsampling=sampling), outs),
                            "OpenCV": lambda: timed(lambda p: cv2.imwrite(p, pixels, [cv2.IMWRITE_JPEG_QUALITY, 90]), outs),
                            "ours": lambda: ours(build, "write", *(f"{p}:quality=90:subsampling={name}" for p in outs), source)}, rounds)
            report(f"write {size} q90 {name}", seconds, "Pillow")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--files", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", default=None)
    arguments = parser.parse_args()
    print(f"OpenCV {cv2.__version__}, Pillow {Image.__version__ if hasattr(Image, '__version__') else ''}, {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        made = make(folder, arguments.files)
        compare_reading(os.path.abspath(arguments.build), made, arguments.rounds)
        compare_writing(os.path.abspath(arguments.build), folder, made, arguments.rounds)


if __name__ == "__main__":
    main()
