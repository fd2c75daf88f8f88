#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`filterchain formats`, and the options of files: every format that is listed as written is written, with
each of its options, and read again if it is listed as read."""
import json
import os
import unittest

import harness

FORMATS = json.loads(harness.formats())["formats"]


def values_of(option):
    """Some that its description allows."""
    text = option["values"]
    if ".." in text:
        return [text.split("..")[0], text.split("..")[1], option["standard"]]
    return text.split("|") if "|" in text else [option["standard"]]


class Formats(harness.Case):
    def setUp(self):
        super().setUp()
        harness.write_png(self.path("in.png"), [[(x * 7 + y * 3) % 256 for x in range(40 * 3)] for y in range(30)], 3)
        harness.write_wav(self.path("in.wav"), harness.tone(4800, 1, 48000), 1, 48000)

    def source_for(self, entry):
        """An input of the kind that the format holds, by trying."""
        for source in ("in.png", "in.wav"):
            if self.run_command("-i", source, "-o", "try." + entry["extensions"].split()[0]).returncode == 0:
                return source
        return self.fail(f"{entry['name']} is listed as written, and is not")

    def test_text(self):
        text = self.succeed("formats")
        for entry in FORMATS:
            self.assertRegex(text, rf"(?m)^{entry['name']} +\S")
            for library in (entry["read_by"], entry["written_by"]):
                self.assertIn(library or "", text)
            for option in entry["input_options"] + entry["output_options"]:
                self.assertIn(f":{option['key']}={option['values']} ({option['standard']})", text)

    def test_each_is_written_and_read(self):
        for entry in FORMATS:
            if not entry["written_by"]:
                continue
            with self.subTest(format=entry["name"]):
                self.source_for(entry)
                if entry["read_by"] and entry["name"] != "raw":
                    self.succeed("-i", "try." + entry["extensions"].split()[0], "-o", "again.npy")

    def test_each_option(self):
        for entry in FORMATS:
            ending = entry["extensions"].split()[0]
            for option in entry["output_options"]:
                source = self.source_for(entry)
                for value in values_of(option):
                    with self.subTest(format=entry["name"], key=option["key"], value=value):
                        self.succeed("-i", source, "-o", f"out.{ending}:{option['key']}={value}")
                        self.assertTrue(os.path.getsize(self.path("out." + ending)))
            for option in entry["input_options"] if entry["name"] != "raw" else []:
                self.source_for(entry)
                for value in values_of(option):
                    with self.subTest(format=entry["name"], key=option["key"], value=value):
                        self.succeed("-i", f"try.{ending}:{option['key']}={value}", "-o", "out.npy")

    def test_raw_layouts_as_options(self):
        """Behind the name what --raw says for all inputs."""
        self.write("x.raw", bytes(range(240)))
        for layout in ("dtype=i16,channels=2,rate=8000", "dtype=u8,width=8,height=10,channels=3,layout=planar", "dtype=f32,rate=1,length=60,endian=big"):
            self.succeed("-i", "x.raw", "--raw", layout, "-o", "a.npy")
            self.succeed("-i", "x.raw:" + layout.replace(",", ":"), "-o", "b.npy")
            self.assertEqual(self.read("a.npy"), self.read("b.npy"))
            self.assertGreater(len(self.read("a.npy")), 300)
        self.assertIn("rate is missing", self.fails(2, "-i", "x.raw:dtype=u8", "-o", "c.npy"))
        self.write("text.raw", "all of this is text\n")
        self.succeed("-i", "text.raw:dtype=u8:rate=8000", "-o", "c.npy")

    def test_unknown_options(self):
        self.assertRegex(self.fails(2, "-i", "in.png", "-o", "out.png:quality=85"),
                         r'\Aout\.png: no option "quality" of PNG: there is level ')
        self.assertRegex(self.fails(2, "-i", "in.png", "-o", "out.png:level=12"), r'\Aout\.png: level: expected 0\.\.9, found "12"')
        self.assertRegex(self.fails(2, "-i", "in.png:scale=1/2", "-o", "out.png"), r'\Ain\.png: no option "scale" of PNG')
        self.assertEqual(sorted(self.files()), ["in.png", "in.wav"])

    def test_bit_rates(self):
        for ending, least, most in (("opus", "6k", "256k"), ("mp3", "32k", "320k")):
            if not any(entry["name"] == ending and entry["written_by"] for entry in FORMATS):
                continue
            self.assertLess(*(self.size_at(f"{ending}:bitrate={rate}") for rate in (least, most)))
            for beyond in ("1", "999k"):
                said = self.fails(2, "-i", "in.wav", "-o", f"no.{ending}:bitrate={beyond}")
                self.assertIn(f"takes {least} to {most} for this sound", said)
                self.assertNotIn("no." + ending, self.files())

    def size_at(self, ending):
        self.succeed("-i", "in.wav", "-o", "rate." + ending)
        return os.path.getsize(self.path("rate." + ending.split(":")[0]))

    def test_names_with_colons(self):
        self.assertIn("written \\:", self.fails(2, "-i", "in.wav", "-o", "12:30.wav"))
        self.succeed("-i", "in.wav", "-o", "12\\:30.wav")
        self.succeed("-i", "12:30.wav", "-o", "'12:31.wav'")
        self.assertEqual(self.read("12:30.wav"), self.read("12:31.wav"))
        os.mkdir(self.path("folder"))
        self.succeed("-i", "12:30.wav", "-i", "12:31.wav", "-o", "folder")
        self.assertEqual(sorted(os.listdir(self.path("folder"))), ["12:30.wav", "12:31.wav"])

    def test_options_of_a_batch(self):
        self.succeed("-i", "in.png", "-o", "in.jpg")
        self.succeed("-i", "in.png", "-o", "two.jpg")
        os.mkdir(self.path("folder"))
        self.succeed("-i", "in.jpg:scale=1/2", "-i", "two.jpg", "-o", "folder:quality=10")
        self.assertEqual(sorted(os.listdir(self.path("folder"))), ["in.jpg", "two.jpg"])
        self.assertLess(os.path.getsize(self.path("folder/two.jpg")), os.path.getsize(self.path("two.jpg")))

    def test_onto_the_input(self):
        self.succeed("-i", "in.png", "-o", "in.jpg")
        before = self.read("in.jpg")
        self.succeed("-i", "in.jpg", "-o", "in.jpg:quality=20")
        self.assertLess(len(self.read("in.jpg")), len(before))

    def test_a_part_of_the_size(self):
        self.succeed("-i", "in.png", "-o", "in.jpg")
        self.assertIn("20 x 15", self.succeed("-i", "in.jpg:scale=1/2", "-o", "out.png", "--dry-run"))
        self.succeed("-i", "in.jpg:scale=1/2", "-o", "out.png")
        rows, channels = harness.read_png(self.path("out.png"))
        self.assertEqual((len(rows), len(rows[0]), channels), (15, 20 * 3, 3))

    def test_progressive_at_a_part_of_the_size(self):
        """Of a progressive file not all is read; the picture is that of a baseline file with the same coefficients,
        but at a quarter and of a high quality, where the last bits of brightness are left out."""
        for subsampling in ("444", "422", "420"):
            for scale, quality in (("1", 92), ("1/2", 92), ("1/4", 80), ("1/4", 85), ("1/8", 92)):
                for progressive in ("yes", "no"):
                    self.succeed("-i", "in.png", "-p", "resize:173x121", "-p", "noise:4", "-o", f"{progressive}.jpg:quality={quality}:subsampling={subsampling}:progressive={progressive}")
                    self.succeed("-i", f"{progressive}.jpg:scale={scale}", "-o", f"{progressive}.npy")
                differences = [abs(a - b) for a, b in zip(self.read("yes.npy"), self.read("no.npy"))]
                near = (scale, quality) == ("1/4", 85)
                self.assertLessEqual(max(differences), 5 if near else 0, (subsampling, scale))
                self.assertLessEqual(sum(differences) / len(differences), 0.7 if near else 0)
                self.assertEqual(near, any(differences))

    def test_as_small_as_resize_allows(self):
        """scale=auto: only ahead of a resize to a size of its own, and never below that size."""
        self.succeed("-i", "in.png", "-p", "resize:400x300", "-o", "in.jpg")
        for stages, size in ((("resize:50",), "100 x 75"), (("resize:70x40",), "100 x 75"), (("resize:110x80", "flip"), "200 x 150"),
                             (("resize:210",), "400 x 300"), (("resize:scale=0.1",), "400 x 300"), (("crop:30",), "400 x 300"),
                             (("flip", "resize:50"), "400 x 300"), (("resize:50x200",), "400 x 300"), ((), "400 x 300")):
            words = [word for stage in stages for word in ("-p", stage)]
            plan = self.succeed("-i", "in.jpg:scale=auto", *words, "-o", "auto.npy", "--dry-run")
            self.assertIn(f"in.jpg:scale=auto: image u8, {size} x 3 ch", plan, stages)
            self.succeed("-i", "in.jpg:scale=auto", *words, "-o", "auto.npy")
            part = {"400 x 300": "1", "200 x 150": "1/2", "100 x 75": "1/4"}[size]
            self.succeed("-i", f"in.jpg:scale={part}", *words, "-o", "named.npy")
            self.assertEqual(self.read("auto.npy"), self.read("named.npy"), stages)
        told = self.run_command("-v", "-i", "in.jpg:scale=auto", "-p", "resize:50", "-o", "auto.npy").stderr
        self.assertIn("in.jpg: is read at 1/4 of its size", told)

    def test_the_decoder_is_named(self):
        decoder = next(entry["read_by"] for entry in FORMATS if entry["name"] == "jpg")
        self.assertIn(f"JPEG by {decoder}", self.succeed("--version"))
        self.succeed("-i", "in.png", "-o", "out.png", "--report", "report.json")
        self.assertEqual(json.loads(self.read("report.json"))["jpeg"], decoder)

    def test_no_operands(self):
        self.assertIn("no operand", self.fails(2, "formats", "png"))


if __name__ == "__main__":
    harness.main()
