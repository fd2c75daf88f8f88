#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Folders of JPEG files on a real GPU: folders.py BUILD SOURCE.

Images together make the bytes of runs one by one; nvJPEG differs from the decoder on the CPU by a few codes, if at all, leaves to it
what it does not decode, and a damaged file gets the same message. Skipped (77) where there is no GPU; the tests of nvJPEG
where it is not installed.
"""
import os
import random
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
import harness  # noqa: E402

HOG = os.path.join(harness.BUILD, "tests", "gpu", "hog")
FILES = 40
SIZES = [(1024, 768), (640, 480)]
CHAIN = ["-p", "resize:256", "-p", "crop:224", "-p", "normalize:imagenet", "-p", "layout:chw"]


class Folders(harness.Case):
    def setUp(self):
        super().setUp()
        os.mkdir(self.path("in"))
        for i in range(FILES):
            width, height = SIZES[i % 5 == 0]
            self.write("small.raw", random.Random(i).randbytes(48 * 36 * 3))
            coding = ":progressive=yes" if i == 7 else ""
            self.succeed("-i", "small.raw", "--raw", "dtype=u8,width=48,height=36,channels=3", "-p", f"resize:{width}x{height}:mode=fill",
                         "-o", f"in/{i:02}.jpg{coding}", "--device", "cpu")

    def run_folder(self, out, *options, chain=(), form="npy"):
        done = self.run_command("-i", "in/", *chain, "-o", f"{out}/", "--format", form, "-v", *options)
        return done

    def outputs(self, out, form="npy"):
        return {name: self.read(f"{out}/{name}") for name in sorted(os.listdir(self.path(out))) if name.endswith(form)}

    def need_nvjpeg(self):
        done = self.run_folder("probe", "--device", "cuda", "--decode", "gpu", chain=CHAIN)
        if "nvJPEG (libnvjpeg.so) was not found" in done.stderr:
            self.skipTest("nvJPEG is not installed")

    def codes(self, out):
        """The samples of each image."""
        return {name[:-4]: [code for row in harness.read_png(self.path(f"{out}/{name}"))[0] for code in row] for name in self.outputs(out, "png")}

    def test_together(self):
        for chain in (CHAIN, ["-p", "gauss:1.5", "-p", "resize:200"], ["-p", "flip", "-p", "gray"]):
            done = self.run_folder("together", "--device", "cuda", "-j", "2", chain=chain)
            self.assertEqual(done.returncode, 0, done.stderr)
            for i in (0, 1, 7, 13, 20, 39):  # each starts the device anew
                self.succeed("-i", f"in/{i:02}.jpg", *chain, "-o", f"alone-{i:02}.npy", "--device", "cuda")
                self.assertEqual(self.read(f"alone-{i:02}.npy"), self.read(f"together/{i:02}.npy"), (chain, i))
            if chain is CHAIN:
                self.assertIn("images together", done.stderr)

    def test_broken(self):
        name = self.path("in/03.jpg")
        with open(name, "r+b") as file:
            file.seek(os.path.getsize(name) // 2)
            file.write(b"\xff\xd3\xff\xd5")
        for decode in ("cpu", "auto"):
            done = self.run_folder(decode, "--device", "cuda", "--decode", decode, chain=CHAIN)
            # Not all that is damaged is noticed by nvJPEG.
            self.assertEqual(done.returncode, 3 if decode == "cpu" or len(self.outputs(decode)) < FILES else 0, done.stderr)
            self.assertGreaterEqual(len(self.outputs(decode)), FILES - 1)
            if done.returncode:
                self.assertIn("in/03.jpg: is damaged", done.stderr)

    def test_nvjpeg(self):
        """Its samples beside those of the CPU; the difference of every image is printed."""
        self.need_nvjpeg()
        plain = ["-p", "crop:200"]
        for out, options in (("cpu", []), ("gpu", ["--decode", "gpu"])):
            done = self.run_folder(out, "--device", "cuda", *options, chain=plain, form="png")
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, "decoded by nvJPEG [0-9.]+, (engines|CUDA)")
        print(re.search("decoded by (.*)", done.stderr)[1], file=sys.stderr)
        cpu, gpu = self.codes("cpu"), self.codes("gpu")
        self.assertEqual(cpu.keys(), gpu.keys())
        self.assertEqual(cpu["07"], gpu["07"], "a progressive file is decoded on the CPU")
        most, mean = 0, 0
        for name in cpu:
            apart = [abs(a - b) for a, b in zip(cpu[name], gpu[name])]
            most, mean = max(most, max(apart)), max(mean, sum(apart) / len(apart))
        print(f"nvJPEG differs by {most} codes at most, {mean:.3f} on average of the worst image", file=sys.stderr)
        self.assertLess(mean, 1)
        self.assertLess(most, 24)

    def test_same_again(self):
        """The same bytes for any number of workers."""
        self.need_nvjpeg()
        for jobs in ("1", "5"):
            done = self.run_folder("jobs" + jobs, "--device", "cuda", "--decode", "gpu", "-j", jobs, chain=CHAIN)
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.outputs("jobs1"), self.outputs("jobs5"))


if __name__ == "__main__":
    if subprocess.run([HOG, "1000000000"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=False).returncode == 77:
        print("skipped: no CUDA device")
        sys.exit(77)
    harness.main()
