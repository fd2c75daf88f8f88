#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reading and writing photographs beside OpenCV, Pillow, libvips and ffmpeg, in one run:

    images.py BUILD [--files N] [--rounds N] [--folder DIR] [--json FILE]

Makes N JPEG photographs (200), a quarter each of 12 and 0.2 megapixels, baseline and progressive, and has each program read
them all in turn, some rounds long. Of each file the best time counts, so that other work on the machine does not; of ffmpeg,
one process for all files of a kind, that of the best round. Ours includes the confined processes that decode, and their
start. All make RGB of 8 bits, in memory. Needs opencv-python-headless, Pillow and NumPy; libvips and ffmpeg where they are."""
import argparse
import ctypes
import ctypes.util
import os
import shutil
import subprocess
import sys
import tempfile
import time

import cv2
import numpy as np
from PIL import Image

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import rivals_cpu  # noqa: E402 - for what a record says of its run

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


# ---- the programs ---------------------------------------------------------------------------


def timed(call, items):
    seconds = []
    for item in items:
        start = time.perf_counter()
        call(item)
        seconds.append(time.perf_counter() - start)
    return seconds


def ours(build, mode, *words):
    done = subprocess.run([os.path.join(build, "tests/bench/bench_images"), mode, os.path.join(build, "media/image/decoder/filterchain-decode"), *words],
                          check=True, capture_output=True, text=True)
    return [float(line.split()[0]) for line in done.stdout.splitlines()]


def quarter(path):
    picture = cv2.imread(path)
    return cv2.resize(picture, (-(-picture.shape[1] // 4), -(-picture.shape[0] // 4)), interpolation=cv2.INTER_AREA)


class Vips:
    """As much of libvips as is wanted here; `there` says whether it is."""

    def __init__(self):
        name = ctypes.util.find_library("vips")
        self.there = name is not None
        if self.there:
            self.lib = ctypes.CDLL(name)
            self.lib.vips_init(b"images.py")
            self.lib.vips_cache_set_max(0)
            for function in ("vips_image_new_from_file", "vips_image_write_to_memory", "vips_image_new_from_memory_copy"):
                getattr(self.lib, function).restype = ctypes.c_void_p

    def to_memory(self, image):
        size = ctypes.c_size_t()
        pixels = self.lib.vips_image_write_to_memory(image, ctypes.byref(size))
        self.lib.g_free(ctypes.c_void_p(pixels))
        self.lib.g_object_unref(image)

    def read(self, path):
        self.to_memory(ctypes.c_void_p(self.lib.vips_image_new_from_file(path.encode(), None)))

    def quarter(self, path):
        image = ctypes.c_void_p()
        self.lib.vips_jpegload(path.encode(), ctypes.byref(image), b"shrink", 4, None)
        self.to_memory(image)

    def picture(self, pixels):
        data = pixels.tobytes()
        return ctypes.c_void_p(self.lib.vips_image_new_from_memory_copy(data, ctypes.c_size_t(len(data)), pixels.shape[1], pixels.shape[0], 3, 0))

    def write(self, image, path, sampling):
        mode = {"420": 1, "444": 2}[sampling]  # VIPS_FOREIGN_SUBSAMPLE_ON, OFF
        self.lib.vips_jpegsave(image, path.encode(), b"Q", 90, b"subsample_mode", mode, None)


def ffmpeg(made):
    """Seconds a file, of each kind by one process."""
    seconds = []
    for paths in made.values():
        pattern = paths[0].replace("-0.jpg", "-%d.jpg")
        start = time.perf_counter()
        subprocess.run(["ffmpeg", "-v", "error", "-threads", "1", "-f", "image2", "-i", pattern, "-pix_fmt", "rgb24", "-f", "null", "-"], check=True)
        seconds += [(time.perf_counter() - start) / len(paths)] * len(paths)
    return seconds


# ---- rows -------------------------------------------------------------------------------------


def best(programs, rounds):
    """For each program the seconds of each file, the best of some rounds; the programs in turn."""
    times = {name: [] for name in programs}
    for _ in range(rounds):
        for name, run in programs.items():
            times[name].append(run())
    return {name: [min(of_file) for of_file in zip(*lists)] for name, lists in times.items()}


def row(work, seconds, reference, target):
    """Means over files; `ratio`: the reference's over ours."""
    means = {name: sum(values) / len(values) * 1e3 for name, values in seconds.items()}
    ratio = means[reference] / means["ours"]
    print(f"{work:34s}" + "".join(f"  {name} {value:7.2f} ms" for name, value in means.items()) + f"  {reference} / ours {ratio:4.2f}", flush=True)
    return {"work": work, "ms": {name: round(value, 4) for name, value in means.items()}, "reference": reference, "ratio": round(ratio, 3),
            "target": target, "met": ratio >= target}


def rows_of(what, made, seconds, target):
    """Of each kind, and of all."""
    rows, at = [], 0
    for (size, coding), paths in made.items():
        part = {name: values[at:at + len(paths)] for name, values in seconds.items()}
        rows.append(row(f"{what} {size} {coding}", part, "OpenCV", target))
        at += len(paths)
    return rows + [row(f"{what} all of them", seconds, "OpenCV", target)]


def compare_reading(build, made, rounds, vips):
    paths = sum(made.values(), [])
    programs = {"ours": lambda: ours(build, "read", *paths), "OpenCV": lambda: timed(cv2.imread, paths),
                "Pillow": lambda: timed(lambda p: np.asarray(Image.open(p)), paths)}
    if vips.there:
        programs["libvips"] = lambda: timed(vips.read, paths)
    if shutil.which("ffmpeg"):
        programs["ffmpeg"] = lambda: ffmpeg(made)
    return rows_of("read", made, best(programs, rounds), 1)


def compare_quarters(build, made, rounds, vips):
    """OpenCV reads whole and resizes; "OpenCV, reduced" and libvips shrink while they decode, as we do."""
    made = {kind: paths for kind, paths in made.items() if kind[0] == "12 MP"}
    paths = sum(made.values(), [])
    programs = {"ours": lambda: ours(build, "quarter", *paths), "OpenCV": lambda: timed(quarter, paths),
                "OpenCV, reduced": lambda: timed(lambda p: cv2.imread(p, cv2.IMREAD_REDUCED_COLOR_4), paths)}
    if vips.there:
        programs["libvips"] = lambda: timed(vips.quarter, paths)
    return rows_of("read to a quarter", made, best(programs, rounds), 2)


def compare_writing(build, folder, made, rounds, vips):
    rows = []
    outs = [os.path.join(folder, f"out{i}.jpg") for i in range(20)]
    for size in ("12 MP", "0.2 MP"):
        source = made[size, "baseline"][0]
        picture = Image.open(source)
        picture.load()
        pixels = cv2.imread(source)
        image = vips.picture(np.asarray(picture)) if vips.there else None
        for sampling, name, of_cv in ((2, "420", cv2.IMWRITE_JPEG_SAMPLING_FACTOR_420), (0, "444", cv2.IMWRITE_JPEG_SAMPLING_FACTOR_444)):
            how = [cv2.IMWRITE_JPEG_QUALITY, 90, cv2.IMWRITE_JPEG_SAMPLING_FACTOR, of_cv]
            programs = {"ours": lambda: ours(build, "write", *(f"{p}:quality=90:subsampling={name}" for p in outs), source),
                        "OpenCV": lambda: timed(lambda p: cv2.imwrite(p, pixels, how), outs),
                        "Pillow": lambda: timed(lambda p: picture.save(p, quality=90, subsampling=sampling), outs)}
            if vips.there:
                programs["libvips"] = lambda: timed(lambda p: vips.write(image, p, name), outs)
            rows.append(row(f"write {size} {name}", best(programs, rounds), "Pillow", 1))
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--files", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", default=None)
    parser.add_argument("--json", metavar="FILE")
    arguments = parser.parse_args()
    build, vips = os.path.abspath(arguments.build), Vips()
    run = rivals_cpu.circumstances(os.cpu_count())
    rivals_cpu.say(run)
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        made = make(folder, arguments.files)
        rows = (compare_reading(build, made, arguments.rounds, vips) + compare_quarters(build, made, arguments.rounds, vips)
                + compare_writing(build, folder, made, arguments.rounds, vips))
    rivals_cpu.store(arguments.json, run, files=arguments.files, opencv=cv2.__version__, rows=rows)


if __name__ == "__main__":
    main()
