#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Batches: folders, patterns, lists and archives as inputs; patterns, archives and arrays as outputs; what fails,
what is resumed, what is counted."""
import base64
import io
import json
import os
import random
import shutil
import struct
import subprocess
import tarfile
import time
import zlib

import harness


def image(seed, width=8, height=6):
    """A small PNG whose pixels say which it is."""
    pixels = bytes((seed * 31 + i * 7) % 256 for i in range(width * height))
    rows = b"".join(b"\0" + pixels[y * width:(y + 1) * width] for y in range(height))

    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


class Batch(harness.Case):
    def tree(self, names):
        for number, name in enumerate(names):
            os.makedirs(os.path.dirname(self.path(name)) or self.folder, exist_ok=True)
            self.write(name, image(number))

    def outputs(self, folder):
        """Paths below a folder, without the record."""
        return sorted(os.path.relpath(os.path.join(at, name), self.path(folder)) for at, _, names in os.walk(self.path(folder))
                      for name in names if not name.startswith(".filterchain-batch-"))

    def report(self, *arguments, status=0):
        """The files of the report, as pairs of input and output."""
        done = self.run_command(*arguments, "--report", "report.json")
        self.assertEqual(done.returncode, status, done.stderr)
        return [(file["input"], file["output"]) for file in json.loads(self.read("report.json"))["files"]]

    def tar(self, name, members, **options):
        """An archive of (path, content) pairs."""
        with tarfile.open(self.path(name), "w", **options) as archive:
            for path, content in members:
                info = tarfile.TarInfo(path)
                info.size, info.mtime, info.uid = len(content), 1234567, 1000
                archive.addfile(info, io.BytesIO(content))
        return name

    def members(self, name):
        with tarfile.open(self.path(name)) as archive:
            return [(m.name, archive.extractfile(m).read()) for m in archive]


class Streams(Batch):
    def test_an_archive_on_standard_output(self):
        self.tree(["in/b.png", "in/x/a.png"])
        self.write("in/c.png", b"no image")
        done = self.run_command("-i", "in", "-r", "-p", "flip", "-o", "-", "--format", "tar:npy", text=False)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.write("piped.tar", done.stdout)
        self.run_command("-i", "in", "-r", "-p", "flip", "-o", "out.tar", "--format", "npy")
        self.assertEqual(self.read("piped.tar"), self.read("out.tar"))
        self.assertEqual([name for name, _ in self.members("piped.tar")], ["b.npy", "x/a.npy"])
        one = self.run_command("-i", "in/b.png", "-o", "-", "--format", "tar", text=False)
        self.write("one.tar", one.stdout)
        self.assertEqual([name for name, _ in self.members("one.tar")], ["in/b.png"])
        slices = [self.run_command("-i", "in", "-r", "-o", "-", "--format", "tar", "--shard", f"{i}/2", text=False).stdout for i in (0, 1)]
        self.write("slice.tar", slices[1])
        self.assertEqual([name for name, _ in self.members("slice.tar")], [])
        self.write("slice.tar", slices[0])
        self.assertEqual([name for name, _ in self.members("slice.tar")], ["b.png", "x/a.png"])
        for option, value in (("--resume", ()), ("--shard-size", ("5",))):
            self.assertEqual(self.fails(2, "-i", "in", "-r", "-o", "-", "--format", "tar", option, *value),
                             f"standard output takes one archive, written whole, without {option}")

    def test_zarr(self):
        """A folder of chunks, of which the description comes last; as the third version's Python library reads it too."""
        self.tree([f"in/{i}.png" for i in range(5)])
        self.succeed("-i", "in", "-o", "all.zarr")
        self.succeed("-i", "in", "-o", "all.npy")
        about = json.loads(self.read("all.zarr/.zarray"))
        self.assertEqual((about["zarr_format"], about["shape"], about["dtype"], about["compressor"], about["filters"], about["order"]),
                         (2, [5, 6, 8], "|u1", None, None, "C"))
        self.assertEqual(about["chunks"][1:], [6, 8])
        chunk = self.read("all.zarr/0.0.0")
        self.assertEqual(len(chunk), about["chunks"][0] * 48)
        self.assertEqual(chunk[:240], self.read("all.npy")[-240:])
        self.assertEqual(chunk[240:], bytes(len(chunk) - 240))
        self.assertEqual(self.fails(2, "-i", "in", "-o", "all.zarr"), "all.zarr: is there already: remove it, or name another")
        self.assertEqual(self.fails(2, "-i", "in", "-o", "b.zarr", "--resume"), "b.zarr: one array is written whole, without --resume and --shard")

    def test_zarr_of_several_chunks(self):
        self.tree([f"in/{i}.png" for i in range(3)])
        self.succeed("-i", "in", "-p", "resize:1200x1200", "-p", "convert:f32", "-o", "large.zarr")
        self.succeed("-i", "in", "-p", "resize:1200x1200", "-p", "convert:f32", "-o", "large.npy")
        about = json.loads(self.read("large.zarr/.zarray"))
        self.assertEqual((about["shape"], about["chunks"], about["dtype"]), ([3, 1200, 1200], [1, 1200, 1200], "<f4"))
        rows = b"".join(self.read(f"large.zarr/{i}.0.0") for i in range(3))
        self.assertEqual(rows, self.read("large.npy")[256:])

    def test_zarr_that_comes_to_nothing(self):
        self.tree(["in/1.png"])
        self.write("in/2.png", image(2, 9, 9))
        self.assertIn("one array holds equal ones only", self.run_command("-i", "in", "-o", "all.zarr").stderr)
        self.assertEqual(json.loads(self.read("all.zarr/.zarray"))["shape"], [1, 6, 8])
        self.assertNotEqual(self.run_command("-i", "in", "-o", "none/all.zarr", "-p", "crop:99").returncode, 0)
        self.assertEqual([path for path in self.files() if path.startswith("none")], [])


class Inputs(Batch):
    def test_a_folder(self):
        self.tree(["photos/b.png", "photos/a.png", "photos/x/c.png", "photos/.hidden.png"])
        self.write("photos/notes.txt", "no image")
        self.write("photos/other", "no image")
        self.assertEqual(self.report("-i", "photos", "-o", "out/"),
                         [("photos/a.png", "out/a.png"), ("photos/b.png", "out/b.png")])
        os.symlink("gone.png", self.path("photos/link.png"))
        os.symlink("gone.txt", self.path("photos/link.txt"))
        for pattern in ("photos", "photos/*.png"):
            self.assertEqual(self.fails(3, "-i", pattern, "-o", "out/"), "photos/link.png: cannot be opened: No such file or directory")

    def test_pictures_that_are_not_read(self):
        """They are named: of a folder of photographs none is skipped without a word."""
        self.tree(["p/a.png"])
        made = {"b.gif": (b"GIF89a", "a GIF image"), "c.HEIC": (b"\0\0\0\x18ftypheic", "a HEIC image"), "d.avif": (b"\0\0\0\x18ftypavif", "an AVIF image"),
                "e.jp2": (b"\0\0\0\x0cjP  \r\n\x87\n", "a JPEG 2000 image"), "f.jxl": (b"\0\0\0\x0cJXL \r\n\x87\n", "a JPEG XL image"), "g.ppm": (b"P6 1 1 255\nabc", "a PNM image")}
        for name, (data, _) in made.items():
            self.write("p/" + name, data + bytes(20) if name != "g.ppm" else data)
        self.write("p/notes.txt", "x")
        done = self.run_command("-i", "p", "-o", "o/")
        self.assertEqual(done.returncode, 3)
        for line, (name, (_, what)) in zip(done.stderr.splitlines(), made.items(), strict=True):
            self.assertTrue(line.startswith(f"filterchain: p/{name}: is {what}; convert it to PNG"), line)
        os.mkdir(self.path("j"))
        self.write("j/a.jfif", b"x")
        self.assertEqual(self.fails(1, "-i", "j", "-o", "o/"), "j/a.jfif: is not a JPEG file but text")

    def test_a_folder_and_those_below(self):
        self.tree(["photos/b.png", "photos/x/y/c.png", "photos/x/.h/d.png"])
        self.write("photos/x/notes.txt", "no image")
        os.symlink("..", self.path("photos/x/circle"))
        done = self.run_command("-i", "photos/", "-r", "-o", "out/", "-v")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("2 files skipped: not sound, image or array, or a link to a folder", done.stderr)
        self.assertEqual(self.outputs("out"), ["b.png", "x/y/c.png"])

    def test_a_folder_below_that_cannot_be_read(self):
        """It fails as a file does, and the others go on. Its path is too long for the system, whoever the user is."""
        self.tree(["photos/a.png", "photos/x/b.png"])
        here, deep = os.getcwd(), "d" * 250
        os.chdir(self.path("photos"))
        try:
            for _ in range(17):
                os.mkdir(deep)
                os.chdir(deep)
        finally:
            os.chdir(here)
        for inputs in (("photos", "-r"), ("photos/**/*.png",)):
            done = self.run_command("-i", *inputs, "-o", "out.tar")
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertRegex(done.stderr, r"\Afilterchain: photos/(d{250}/)+: cannot be opened: File name too long\n\Z")
            self.assertEqual([name for name, _ in self.members("out.tar")], ["a.png", "x/b.png"])
        shutil.rmtree(self.path("photos/" + deep))

    def test_a_dry_run(self):
        """Of what a run does: folders that it makes are not missed, and what fails is told with the others."""
        self.tree(["in/b.png", "in/x/a.png", "in/y/a.png"])
        outputs = ("out/{dir}/{stem}.png", "out.tar", "out-{shard:03}.tar", "all.npy")
        for output in outputs:
            done = self.run_command("-i", "in", "-r", "-p", "flip", "-o", output, "--dry-run")
            self.assertEqual((done.returncode, done.stderr), (0, ""), output)
            self.assertEqual(done.stdout.count("flip"), 3, output)
        self.write("in/x/bad.png", b"no image")
        self.write("blocked", "a file")
        for output in outputs:
            done = self.run_command("-i", "in", "-r", "-p", "flip", "-o", output, "--dry-run")
            self.assertEqual(done.returncode, 3, output)
            self.assertRegex(done.stderr, r"\Afilterchain: in/x/bad\.png: .*\n\Z")
            self.assertEqual(done.stdout.count("flip"), 3, output)
        done = self.run_command("-i", "in/b.png", "in/x/a.png", "-p", "flip", "-o", "blocked/{stem}.png", "--dry-run")
        self.assertEqual((done.returncode, done.stderr.count(".png: cannot be created: Not a directory\n")), (1, 2))
        self.assertEqual(self.files(), ["blocked", "in/b.png", "in/x/a.png", "in/x/bad.png", "in/y/a.png"])

    def test_a_folder_without_media(self):
        self.write("notes.txt", "")
        self.assertEqual(self.fails(1, "-i", ".", "-o", "out/"), ".: the folder holds no sound, image or array among its files "
                         "(-r looks in the folders below it too)")
        self.assertEqual(self.fails(1, "-i", "*.jpg", "-o", "out/"), "*.jpg: no file matches this pattern")
        self.assertFalse(os.path.exists(self.path("out")))

    def test_a_file_without_an_extension(self):
        os.mkdir(self.path("photos"))
        self.write("photos/plain", image(9))
        self.write("photos/other", "no image")
        self.assertEqual(self.report("-i", "photos", "-o", "out/{name}.png"), [("photos/plain", "out/plain.png")])

    def test_patterns(self):
        self.tree(["a.png", "p/a.png", "p/q/a.png", "p/q/b.png", "p/q/r/a1.png", "p/q/.x/a.png", "z/a.png"])
        for pattern, found in (("p/**/a*.png", ["p/a.png", "p/q/a.png", "p/q/r/a1.png"]),
                               ("p/**", ["p/a.png", "p/q/a.png", "p/q/b.png", "p/q/r/a1.png"]),
                               ("**/q/*.png", ["p/q/a.png", "p/q/b.png"]),
                               ("?/a.png", ["p/a.png", "z/a.png"]),
                               ("p/q/[b-z].png", ["p/q/b.png"]),
                               (self.path("p") + "/*.png", [self.path("p/a.png")]),
                               ("*.png", ["a.png"])):
            self.assertEqual([i for i, _ in self.report("-i", pattern, "-o", "out/{index}.png")], found, pattern)

    def test_a_name_that_looks_like_a_pattern(self):
        self.tree(["a[1].png", "what*.png"])
        self.succeed("-i", "a[1].png", "what*.png", "-o", "out/")
        self.assertEqual(self.outputs("out"), ["a[1].png", "what*.png"])

    def test_lists(self):
        self.tree(["a.png", "b c.png", "q/'x'.png", "new\nline.png", "co:lon.png"])
        self.write("list.txt", "\ufeffb c.png\r\n\nq/'x'.png\nco:lon.png\n")
        self.write("zero.txt", b"new\nline.png\0a.png\0")
        self.assertEqual([o for _, o in self.report("-i", "@list.txt", "@zero.txt", "-o", "out/")],
                         ["out/b c.png", "out/'x'.png", "out/co\\:lon.png", "out/new\nline.png", "out/a.png"])
        self.assertEqual(self.outputs("out"), ["'x'.png", "a.png", "b c.png", "co:lon.png", "new\nline.png"])
        self.assertEqual(self.fails(1, "-i", "@none", "-o", "out/"), "@none: the list cannot be read: No such file or directory")
        self.write("@at.png", image(1))
        self.assertRegex(self.fails(1, "-i", "@at.png", "-o", "out/"), r"No such file or directory; the file of that name is \./@at\.png\Z")
        os.remove(self.path("@at.png"))
        self.write("empty.txt", "\n")
        self.assertEqual(self.fails(1, "-i", "@empty.txt", "-o", "out/"), "@empty.txt: the list names no file")

    def test_all_kinds_at_once(self):
        self.tree(["a.png", "p/b.png", "q/c.png"])
        self.write("list", "a.png\n")
        self.assertEqual([i for i, _ in self.report("-i", "q/*.png", "@list", "-p", "gain:1", "-i", "p", "-o", "out/")],
                         ["q/c.png", "a.png", "p/b.png"])

    def test_odd_bytes(self):
        name = b"caf\xe9 \"x\".png"
        with open(os.path.join(self.folder.encode(), name), "wb") as file:
            file.write(image(3))
        self.succeed("-i", "*.png", "-o", "out/")
        self.assertIn(name, os.listdir(self.path("out").encode()))

    def test_many_tiny_files(self):
        """Listing, naming and comparing a long list costs little; one file in it is worked on."""
        os.mkdir(self.path("many"))
        for i in range(20000):
            os.link(self.path("many/0.png"), self.path(f"many/{i}.png")) if i else self.write("many/0.png", image(0))
        before = os.times()
        self.succeed("-i", "many", "-p", "gain:1", "-o", "out/", "--shard", "19999/20000")
        self.assertEqual(len(self.outputs("out")), 1)
        after = os.times()
        self.assertLess(after.children_user + after.children_system - before.children_user - before.children_system, 30)


class Outputs(Batch):
    def test_patterns(self):
        self.tree(["in/x/a.b.png", "in/c.png"])
        for pattern, made in (("o/{dir}/{stem}.npy", ["c.npy", "x/a.b.npy"]), ("o/{dir}-{name}", ["-c.png", "x-a.b.png"]),
                              ("o/{ext}/{index:03}.{ext}", ["png/000.png", "png/001.png"]),
                              ("o/{dir}/{dir}/k-{stem}.bmp", ["k-c.bmp", "x/x/k-a.b.bmp"])):
            self.succeed("-i", "in", "-r", "-o", pattern)
            self.assertEqual(self.outputs("o"), made)
            shutil.rmtree(self.path("o"))
        self.succeed("-i", "in/x/../c.png", "in/x/a.b.png", "-o", "o/{dir}/{index}.png")
        self.assertEqual(self.outputs("o"), ["in/x/0.png", "in/x/1.png"])
        self.succeed("-i", "in", "-r", "-o", "o2/", "--format", "bmp")
        self.assertEqual(self.outputs("o2"), ["c.bmp", "x/a.b.bmp"])

    def test_what_is_refused(self):
        self.tree(["p/a.png", "q/a.png"])
        for sentence, *arguments in (
                ("p/a.png and q/a.png would both be written to out/a.npy", "-o", "out/{stem}.npy"),
                ("out/{stme}.npy{stem}: there is no {stme}: there are {name}, {stem}, {ext}, {dir}, {index} and {shard}", "-o", "out/{stme}.npy{stem}"),
                ("out/{stme}.npy: there is no {stme}: there are {name}, {stem}, {ext}, {dir}, {index} and {shard}", "-o", "out/{stme}.npy"),
                ("out/{ext}/: names a folder for each file: name the files too, as in out/{ext}/{name}", "-o", "out/{ext}/"),
                ("{index:99}.png: {index:99}: expected {index:N} or {shard:N} with N at most 18, as in {index:06}", "-o", "{index:99}.png"),
                ("--shard 2/2: numbers begin with 0, so the last one is 1/2", "-o", "out/{dir}.png", "--shard", "2/2"),
                ('--shard: expected I/N, as in 0/8, found "2"', "-o", "out/{dir}.png", "--shard", "2"),
                ('--shard-size: expected a number of samples, or bytes as in 500MB or 2GiB, found "2x"', "-o", "{shard}.tar", "--shard-size", "2x"),
                ("o.tar: several archives need {shard} in their name, as in out-{shard:06}.tar", "-o", "o.tar", "--shard-size", "1"),
                ("--shard-size is for archives: -o 'out-{shard:06}.tar'", "-o", "out/{dir}", "--shard-size", "1"),
                ("{shard}.png: {shard} is for archives (.tar); a file's number is {index}", "-o", "{shard}.png"),
                ("{index}/{shard}.tar: {index} is of one output, and an archive holds several; its number is {shard}",
                 "-o", "{index}/{shard}.tar"),
                ("standard output takes one output, or an archive of all (--format tar, or tar:png of PNG): name a folder (out/), a pattern (out/{stem}.png) or an archive (out.tar)",
                 "-o", "-", "--format", "png")):
            self.assertEqual(self.fails(2, "-i", "?/a.png", *arguments), sentence)
        self.assertEqual(self.files(), ["p/a.png", "q/a.png"])

    def test_an_input_is_not_overwritten_by_another_ones_output(self):
        self.tree(["a.png", "b.png"])
        os.symlink("b.png", self.path("o0.png"))
        self.assertEqual(self.fails(2, "-i", "a.png", "b.png", "-o", "o{index}.png"), "a.png would be written to o0.png, which is b.png")

    def test_onto_the_inputs(self):
        self.tree(["p/a.png", "p/b.png"])
        self.succeed("-i", "p", "-o", "p/")
        self.assertEqual(self.outputs("p"), ["a.png", "b.png"])

    def test_into_the_folder_that_is_read(self):
        self.tree(["a.png", "x/b.png"])
        for _ in range(2):
            self.assertEqual([i for i, _ in self.report("-i", ".", "-r", "-o", "x/out/")], ["./a.png", "./x/b.png"])
        self.assertIn("there are no inputs but", self.fails(1, "-i", "x/**/out/*.png", "-o", "x/out/"))

    def test_one_array(self):
        self.tree(["p/a.png", "p/b.png", "p/c.png"])
        self.write("p/bb.png", image(7, 9, 6))
        line = self.fails(3, "-i", "p", "-o", "all.npy")
        self.assertRegex(line, r"\Ap/bb.png: is \([\d, ]+\) of '\|u1' where the first one is \([\d, ]+\) of '\|u1': one array holds equal ones only\Z")
        data = self.read("all.npy")
        length = struct.unpack("<H", data[8:10])[0]
        self.assertIn(b"'shape': (3, 6, 8), ", data[10:10 + length])
        self.assertEqual((10 + length) % 64, 0)
        self.assertEqual(data[10 + length:], b"".join(bytes((s * 31 + i * 7) % 256 for i in range(48)) for s in range(3)))


class Failures(Batch):
    def setUp(self):
        super().setUp()
        self.tree([f"p/{i}.png" for i in range(6)])
        self.write("p/3.png", "no image")
        self.write("p/5.png", image(5)[:60])

    def test_a_list_of_them(self):
        done = self.run_command("-i", "p", "-o", "out/", "--failed", "failed.jsonl")
        self.assertEqual((done.returncode, done.stderr.count("\n")), (3, 2))
        self.assertEqual(self.outputs("out"), ["0.png", "1.png", "2.png", "4.png"])
        failed = [json.loads(line) for line in self.read("failed.jsonl").splitlines()]
        self.assertEqual([(f["path"], f["stage"]) for f in failed], [("p/3.png", "read"), ("p/5.png", "read")])
        self.assertEqual(failed[0]["error"], "p/3.png: is not a PNG file but text")

    def test_a_name_that_is_no_text(self):
        name = b"p/ca\xe9\n\xc2\x9b\"4.png"
        with open(os.path.join(self.folder.encode(), name), "wb") as file:
            file.write(b"no image")
        done = self.run_command("-i", "p", "-o", "out/", "--failed", "failed.jsonl", "--report", "r.json")
        failed = [json.loads(line) for line in self.read("failed.jsonl").decode().splitlines()]
        self.assertEqual([base64.b64decode(f["path_base64"]) for f in failed if "path_base64" in f], [name])
        self.assertEqual({f["stage"] for f in failed}, {"read"})
        self.assertTrue(all(line.count("/") == 1 for line in done.stderr.splitlines()), done.stderr)
        inputs = [f["input_base64"] for f in json.loads(self.read("r.json").decode())["files"] if "input_base64" in f]
        self.assertEqual([base64.b64decode(text) for text in inputs], [name])

    def test_an_operator(self):
        self.write("k.txt", "1 2 1")
        done = self.run_command("-i", "p/[01].png", "-p", "crop:width=100", "-o", "out/", "--failed", "-")
        self.assertEqual(done.returncode, 1)
        self.assertEqual([json.loads(line)["stage"] for line in done.stdout.splitlines()], ["crop", "crop"])

    def test_none(self):
        self.succeed("-i", "p/[012].png", "-o", "out/", "--failed", "failed.jsonl")
        self.assertEqual(self.read("failed.jsonl"), b"")

    def test_not_over_an_input(self):
        self.assertEqual(self.fails(2, "-i", "p", "-o", "out/", "--failed", "p/0.png"), "--failed would overwrite p/0.png")

    def test_totals(self):
        self.write("p/notes.txt", "no image")
        os.mkfifo(self.path("p/pipe.png"))
        self.run_command("-i", "p", "-o", "out/", "--report", "r.json")
        report = json.loads(self.read("r.json"))
        totals = report["totals"]
        self.assertEqual([totals[key] for key in ("done", "failed", "resumed", "skipped")], [4, 2, 0, 2])
        self.assertEqual(totals["bytes"], sum(os.path.getsize(self.path(f"p/{i}.png")) for i in range(6)))
        self.assertGreater(totals["files_per_second"], 0)
        self.assertEqual(sorted(f["input"] for f in report["slowest"]), ["p/0.png", "p/1.png", "p/2.png", "p/4.png"])

    def test_progress(self):
        done = self.run_command("-i", "p", "-o", "out/", "--progress", "json", "-j", "2")
        lines = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
        self.assertEqual([line["part"] for line in lines], [1, 2, 3, 4, 5, 6])
        self.assertEqual((lines[-1]["parts"], lines[-1]["failed"], lines[-1]["left"]), (6, 2, 0))
        self.assertGreater(lines[-1]["files_per_second"], 0)
        self.assertGreater(lines[-1]["mb_per_second"], 0)


class Resume(Batch):
    def setUp(self):
        super().setUp()
        self.tree([f"p/{i}.png" for i in range(6)])

    def test_what_is_there_is_left(self):
        command = ["-i", "p", "-p", "gain:0.5", "-o", "out/"]
        self.succeed(*command)
        before = self.read("out/1.png")
        os.remove(self.path("out/2.png"))
        self.write("p/9.png", image(9))
        self.write("out/1.png", "still here")
        self.assertEqual([i for i, _ in self.report(*command, "--resume")], ["p/2.png", "p/9.png"])
        self.assertEqual(self.read("out/1.png"), b"still here")
        self.succeed(*command)
        self.assertEqual(self.read("out/1.png"), before)

    def test_a_decoder_that_cannot_be(self):
        """Nothing is written for it."""
        self.assertRegex(self.fails(2, "-i", "p", "-o", "out/", "--decode", "gpu", "--device", "cpu"), "add --device cuda")
        self.assertFalse(os.path.exists(self.path("out")))
        self.assertEqual(self.fails(2, "-i", "p/0.png", "-o", "one.png", "--decode", "auto"),
                         "--decode is for a batch: name several inputs, a folder or an archive")

    def test_another_chain_is_noticed(self):
        self.write("mask.txt", "0.25 0.5 0.25")
        command = ["-i", "p", "-p", "sepconv:mask.txt", "-o", "out/"]
        self.succeed(*command)
        self.assertRegex(self.fails(2, "-i", "p", "-p", "gain:0.25", "-o", "out/", "--resume"),
                         r"\Aout/.filterchain-batch-[0-9a-f]{12}: belongs to another batch \(-p sepconv:mask.txt -o out/\): "
                         "name another output, or leave out --resume to start from the beginning\\Z")
        # Another decoder makes other samples.
        self.fails(2, *command, "--resume", "--decode", "auto")
        self.succeed(*command, "--resume")
        self.write("mask.txt", "0.5 0.25 0.25")
        self.fails(2, *command, "--resume")

    def test_outputs_of_before_are_not_taken(self):
        """Left by another chain, and then a run that ended early."""
        self.succeed("-i", "p", "-p", "gain:0.25", "-o", "out/")
        self.write("p/0.png", "no image")
        time.sleep(0.02)
        self.run_command("-i", "p/[0]*.png", "-p", "gain:0.5", "-o", "out/")
        self.write("p/0.png", image(0))
        self.succeed("-i", "p", "-p", "gain:0.5", "-o", "out/", "--resume")
        self.succeed("-i", "p", "-p", "gain:0.5", "-o", "out2/")
        for i in range(6):
            self.assertEqual(self.read(f"out/{i}.png"), self.read(f"out2/{i}.png"))

    def test_files_named_one_by_one(self):
        command = ["-i", "p/0.png", "p/1.png", "-o", "out/", "--resume"]
        self.succeed(*command)
        self.assertEqual(self.report(*command), [])

    def test_shards_of_the_list(self):
        for part in range(3):
            self.succeed("-i", "p", "-o", "out/{index}.png", "--shard", f"{part}/3")
            self.assertEqual(len(self.outputs("out")), 2 * part + 2)
        self.assertEqual(self.outputs("out"), [f"{i}.png" for i in range(6)])

    def killed(self, command, folder):
        """Runs it to its end by way of 20 kills at random moments; how many of them met it at work. All begins again when a
        run ends sooner than it is killed. If none before had left it a part of the work, it was quicker than the first one:
        kills then come earlier, but late enough for work to have begun."""
        begun = time.monotonic()
        self.succeed(*command)
        worked = time.monotonic()
        self.succeed(*command, "--resume")
        least = min(0.6 * (worked - begun), 2 * (time.monotonic() - worked))
        within = 0.6 * (worked - begun)
        made = lambda: {name: self.read(f"{folder}/{name}") for name in self.outputs(folder)}  # noqa: E731
        want = made()
        shutil.rmtree(self.path(folder))
        met, fresh, chance = 0, True, random.Random(7)
        for kill in range(100):
            if kill >= 20 and met > 3:
                break
            process = subprocess.Popen([harness.COMMAND, *command, "--resume"], cwd=self.folder, env=harness.fixed_environment(),
                                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(chance.random() * within)
            process.kill()
            if process.wait() != 0:
                met, fresh = met + 1, False
                continue
            self.assertEqual(made(), want)
            if kill < 80:
                within = max(within * 0.7, least) if fresh else within
                shutil.rmtree(self.path(folder))
                fresh = True
        self.succeed(*command, "--resume")
        self.assertEqual(made(), want)
        return met

    def test_killed_at_any_point(self):
        for i in range(40):
            self.write(f"p/{i:03}.png", image(i, 300, 200))
        self.assertGreater(self.killed(["-i", "p", "-p", "gain:0.5", "-o", "out/", "-j", "2"], "out"), 3)

    def test_killed_while_archives_are_written(self):
        for i in range(40):
            self.write(f"p/{i:03}.png", image(i, 300, 200))
        self.assertGreater(self.killed(["-i", "p", "-p", "gain:0.5", "-o", "out/a-{shard:03}.tar", "--shard-size", "20kB", "-j", "2"], "out"), 3)

    def test_killed_over_archives(self):
        self.tar("in.tar", [m for i in range(60) for m in ((f"x/{i:03}.png", image(i, 200, 100)), (f"x/{i:03}.json", b"%d" % i))])
        self.assertGreater(self.killed(["-i", "in.tar", "-p", "gain:0.5", "-o", "out/a-{shard:03}.tar", "--shard-size", "7"], "out"), 3)


class Preview(Batch):
    def test_pairs(self):
        os.mkdir(self.path("p"))
        for i in range(9):
            harness.write_png(self.path(f"p/{i}.png"), [[20 * i + 10] * 400 * 3 for _ in range(300)], 3)
        self.succeed("-i", "p", "-p", "gain:0.5", "--preview", "3", "sheet.png")
        rows, channels = harness.read_png(self.path("sheet.png"))
        self.assertEqual((channels, len(rows), len(rows[0]) // 3), (3, 16 + 2 * 272, 16 + 2 * (2 * 256 + 4 + 16)))
        for number, i in enumerate((0, 3, 6)):
            left, top = 16 + number % 2 * 532, 16 + number // 2 * 272
            middle = rows[top + 128]
            self.assertEqual(middle[(left + 128) * 3:(left + 129) * 3], [20 * i + 10] * 3)
            self.assertEqual(middle[(left + 388) * 3:(left + 389) * 3], [10 * i + 5] * 3)
            self.assertEqual(rows[top + 20][left * 3], 32)  # 4 : 3 within a square
        self.assertEqual(self.files(), [f"p/{i}.png" for i in range(9)] + ["sheet.png"])

    def test_of_an_archive(self):
        self.tar("in.tar", [("a.txt", b"x"), ("b.png", image(1)), ("c.png", b"no image"), ("d.png", image(2))])
        done = self.run_command("-i", "in.tar", "-p", "gain:0.5", "--preview", "9", "sheet.png", "-o", "out.tar")
        self.assertEqual((done.returncode, done.stderr), (0, "filterchain: warning: in.tar/c.png: is not a PNG file but text\n"))
        self.assertEqual(self.files(), ["in.tar", "sheet.png"])

    def test_a_file_that_an_operator_refuses_is_named(self):
        self.tree(["p/a.png"])
        self.write("p/b.png", image(2, 20, 20))
        done = self.run_command("-i", "p", "-p", "crop:9", "--preview", "2", "s.png")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r"\Afilterchain: warning: p/a\.png: crop: the image is 8 x 6, smaller than [^\n]+\n\Z")

    def test_what_is_refused(self):
        self.tree(["p/a.png"])
        self.assertEqual(self.fails(2, "-i", "p", "--preview", "x", "s.png"), '--preview: expected a number and a picture, as in 16 sheet.png, found "x"')
        for option in ("--report", "--failed"):
            self.assertEqual(self.fails(2, "-i", "p", "--preview", "2", "s.png", option, "r.json"),
                             f"--preview draws a picture and does nothing else: leave out {option}")
        for option in ("--json", "--resume", "--dry-run"):
            self.assertEqual(self.fails(2, "-i", "p", "--preview", "2", "s.png", option),
                             f"--preview draws a picture and does nothing else: leave out {option}")
        self.assertEqual(self.files(), ["p/a.png"])
        self.assertEqual(self.fails(2, "-i", "p", "--preview", "2"), "--preview needs two values: N OUT.png")
        self.assertEqual(self.fails(2, "-i", "p", "--preview", "2", "p/a.png"), "--preview would overwrite p/a.png")
        self.assertEqual(self.fails(2, "-i", "p", "--preview", "0", "s.png"), "--preview: shows 1 to 4096 pairs")


class Archives(Batch):
    def samples(self, count=5):
        return [m for i in range(count) for m in ((f"train/{i:03}.png", image(i)), (f"train/{i:03}.seg.png", image(i + 50)),
                                                  (f"train/{i:03}.json", b'{"i":%d}' % i))]

    def test_through(self):
        self.tar("in.tar", self.samples())
        self.succeed("-i", "in.tar", "-o", "out.tar", "--format", "bmp")
        made = self.members("out.tar")
        self.assertEqual([name for name, _ in made], [name.replace(".png", ".bmp") for name, _ in self.samples()])
        self.assertEqual([c for n, c in made if n.endswith("json")], [c for n, c in self.samples() if n.endswith("json")])
        with tarfile.open(self.path("out.tar")) as archive:
            self.assertEqual({(m.mtime, m.uid, m.gid, m.uname, m.mode) for m in archive}, {(0, 0, 0, "", 0o644)})
        self.succeed("-i", "in.tar", "-o", "again.tar", "--format", "bmp", "-j", "3")
        self.assertEqual(self.read("out.tar"), self.read("again.tar"))

    def test_formats_of_archives(self):
        """ustar, pax and GNU, with names that do not fit into a header."""
        members = [("d/" * 60 + "a" * 90 + ".png", image(1)), ("é" * 80 + ".txt", b"x"), ("s" * 150 + "/" + "b" * 99 + ".png", image(2))]
        for number, form in enumerate((tarfile.PAX_FORMAT, tarfile.GNU_FORMAT)):
            self.tar("in.tar", members, format=form)
            self.succeed("-i", "in.tar", "-o", f"out{number}.tar")
            self.assertEqual([name for name, _ in self.members(f"out{number}.tar")], [name for name, _ in members])
        self.assertEqual(self.read("out0.tar"), self.read("out1.tar"))

    def test_from_a_pipe(self):
        self.tar("in.tar", self.samples())
        self.succeed("-i", "in.tar", "-o", "one/")
        self.succeed("-i", "-", "-o", "two/", input=self.read("in.tar"), text=False)
        self.assertEqual(self.outputs("one"), sorted(name for name, _ in self.samples()))
        for name in self.outputs("one"):
            self.assertEqual(self.read("one/" + name), self.read("two/" + name))
        self.tar("more.tar", [("other.png", image(7))])
        self.succeed("-i", "-", "-o", "both/", input=self.read("in.tar") + self.read("more.tar"), text=False)
        self.assertEqual(self.outputs("both"), sorted(["other.png"] + [name for name, _ in self.samples()]))
        self.succeed("-i", "-", "-o", "{shard}.tar", "--shard-size", "2", input=self.read("in.tar"), text=False)
        self.assertEqual([len(self.members(f"{i}.tar")) for i in range(3)], [6, 6, 3])

    def test_sizes(self):
        self.tar("in.tar", self.samples(20))
        self.succeed("-i", "in.tar", "-o", "{shard:04}.tar", "--shard-size", "20kB")
        made = [n for n in self.files() if n.startswith("0")]
        self.assertGreater(len(made), 2)
        for name in made:
            self.assertLessEqual(os.path.getsize(self.path(name)), 20000)
            keys = [member.split(".")[0] for member, _ in self.members(name)]
            self.assertTrue(all(keys.count(key) == 3 for key in keys), keys)
        self.assertEqual([n for name in made for n, _ in self.members(name)], [n for n, _ in self.samples(20)])

    def test_large_members_are_passed_over(self):
        big = os.urandom(300000)
        self.tar("in.tar", [(f"{i}.bin" if i % 2 else f"{i}.png", big if i % 2 else image(i)) for i in range(9)])
        self.succeed("-i", "in.tar", "-o", "o/", "--shard", "2/4")
        self.assertEqual(self.outputs("o"), ["2.png", "6.png"])

    def test_a_sample_with_a_bad_member_is_left_out(self):
        members = self.samples()
        members[4] = (members[4][0], b"no image")
        self.tar("in.tar", members)
        line = self.fails(3, "-i", "in.tar", "-o", "out.tar", "--failed", "f.jsonl")
        self.assertEqual(line, "in.tar/train/001.seg.png: is not a PNG file but text")
        self.assertEqual([n for n, _ in self.members("out.tar")], [n for n, _ in members if "001" not in n])
        self.assertEqual(json.loads(self.read("f.jsonl"))["path"], "in.tar/train/001.seg.png")
        self.assertEqual(self.fails(3, "-i", "in.tar", "-o", "out.tar", "--resume"),
                         "1 input failed in an earlier run and is missing in the archives that are there already (what that run wrote to --failed names it); leave out --resume to begin anew")
        done = self.run_command("-i", "in.tar", "-o", "out.tar", "--resume", "--json", "-q")
        totals = json.loads(done.stdout)["totals"]
        self.assertEqual((done.returncode, totals["failed"], totals["failed_earlier"]), (3, 1, 1))

    def test_parts(self):
        self.tar("in.tar", self.samples(7))
        names = []
        for part in range(2):
            self.succeed("-i", "in.tar", "-o", "o-{shard}.tar", "--shard-size", "2", "--shard", f"{part}/2")
        for i in range(4):
            names += [n for n, _ in self.members(f"o-{i}.tar")]
        self.assertEqual(sorted(names), sorted(n for n, _ in self.samples(7)))

    def test_damaged_archives(self):
        self.tar("in.tar", self.samples())
        whole = self.read("in.tar")
        self.write("cut.tar", whole[:3000])
        line = self.fails(3, "-i", "cut.tar", "-o", "c/")
        self.assertEqual(line, "cut.tar: is cut off at byte 3000")
        self.write("bad.tar", whole[:1024] + b"x" * 512 + whole[1536:])
        self.assertRegex(self.fails(3, "-i", "bad.tar", "-o", "b/"), r"\Abad.tar: the header at byte \d+ is damaged\Z")
        huge = bytearray(whole[:512])
        huge[124:136] = b"\x80\0\0\0\x7f\xff\xff\xff\xff\xff\xff\xff"
        huge[148:156] = b" " * 8
        huge[148:156] = b"%06o\0 " % sum(huge)
        self.write("huge.tar", bytes(huge) + whole[512:])
        done = self.run_command("-i", "huge.tar", "-o", "h/")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.write("no.tar", "text")
        self.assertEqual(self.fails(1, "-i", "no.tar", "-o", "n/"), "no.tar: is not a tar archive (ustar, pax or GNU) but text")

    def test_one_without_members(self):
        """As an output is of which all inputs failed."""
        self.write("bad.png", "text")
        ours = self.run_command("-i", "bad.png", "-o", "-", "--format", "tar", text=False).stdout
        for archive in (bytes(10240), ours):
            self.write("none.tar", archive)
            self.tar("some.tar", [("a.png", image(1))])
            done = self.run_command("-i", "none.tar", "some.tar", "-o", "o/")
            self.assertEqual((done.returncode, done.stderr), (0, "filterchain: warning: none.tar: is an archive without members\n"))
            self.assertEqual(self.outputs("o"), ["a.png"])
            done = self.run_command("-i", "-", "-o", "-", "--format", "tar", input=archive, text=False)
            self.assertEqual((done.returncode, done.stdout), (0, bytes(1024)), done.stderr)

    def test_no_archive_in_a_pipe(self):
        for data, sentence in ((b"hello\n", " but text"), (b"\x1f\x8b\x08\0" + bytes(600), " but compressed with gzip; unpack it first"), (b"\1\2\3" * 99, "")):
            for output in (("-o", "-", "--format", "tar"), ("-o", "x.tar"), ("-o", "x-{shard}.tar")):
                done = self.run_command("-i", "-", *output, input=data, text=False)
                self.assertEqual((done.returncode, done.stderr.decode()),
                                 (1, f"filterchain: standard input is not a tar archive (ustar, pax or GNU){sentence}\n"))

    def test_members_without_an_extension(self):
        """What is copied is not given that of the pictures."""
        self.tar("in.tar", [("a/1.png", image(1)), ("a/README", b"text"), ("a/.hidden", b"x"), ("a/1.json", b"{}")])
        self.succeed("-i", "in.tar", "-o", "o/{dir}/{index}-{stem}.bmp")
        self.assertEqual(self.outputs("o"), ["a/0-1.bmp", "a/1-README", "a/2-.hidden", "a/3-1.json"])

    def test_links_are_counted(self):
        with tarfile.open(self.path("in.tar"), "w", format=tarfile.GNU_FORMAT) as archive:
            for path, kind, target in (("d", tarfile.DIRTYPE, ""), ("l.png", tarfile.SYMTYPE, "a.png"), ("h.png", tarfile.LNKTYPE, "a.png"),
                                       ("p", tarfile.FIFOTYPE, ""), ("long.png", tarfile.SYMTYPE, "a" * 200)):
                info = tarfile.TarInfo(path)
                info.type, info.linkname = kind, target
                archive.addfile(info)
        done = self.run_command("-i", "in.tar", "-o", "o/", "-v", "--report", "r.json")
        self.assertIn("4 files skipped: not sound, image or array, or a link or device in an archive", done.stderr)
        self.assertEqual(json.loads(self.read("r.json"))["totals"]["skipped"], 4)

    def test_sparse_members(self):
        """As GNU tar makes them, in each of its forms; those behind them are read."""
        with open(self.path("holes.png"), "wb") as file:
            for i in range(30): # more than a header has room for
                file.seek(i << 20)
                file.write(image(1))
        self.write("z.png", image(2))
        for form in ("gnu", "0.0", "0.1", "1.0"):
            options = ["--format=gnu"] if form == "gnu" else ["--format=pax", f"--sparse-version={form}"]
            subprocess.run(["tar", "-C", self.folder, "--sparse", *options, "-cf", self.path("in.tar"), "holes.png", "z.png"], check=True)
            shutil.rmtree(self.path("o"), ignore_errors=True)
            line = self.fails(3, "-i", "in.tar", "-o", "o/", "--failed", "f.jsonl")
            self.assertEqual(line, "in.tar/holes.png: is stored without its holes, which is not read: pack it without --sparse", form)
            self.assertEqual(json.loads(self.read("f.jsonl"))["path"], "in.tar/holes.png")
            self.assertEqual(self.outputs("o"), ["z.png"])

    def test_members_of_one_name(self):
        """Would overwrite each other where the archive is unpacked, and readers of WebDataset refuse them in one sample."""
        self.tree(["p/a.png", "q/a.png"])
        self.write("p/a.bmp", b"")
        for arguments, sentence in ((("-i", "p", "q"), "p/a.png and q/a.png would both be written to a.png in x.tar"),
                                    (("-i", "p", "--format", "npy"), "p/a.bmp and p/a.png would both be written to a.npy in x.tar")):
            self.assertEqual(self.fails(2, *arguments, "-o", "x.tar"), sentence)
        self.assertFalse(os.path.exists(self.path("x.tar")))
        self.tar("in.tar", [("a.png", image(1)), ("a.tif", image(2)), ("b.png", image(3))])
        self.assertEqual(self.fails(3, "-i", "in.tar", "-o", "x.tar", "--format", "npy"),
                         "in.tar/a.tif: a.npy: two members of one sample have this name")
        self.assertEqual([n for n, _ in self.members("x.tar")], ["b.npy"])

    def test_names_that_climb_out(self):
        self.tar("in.tar", [("../../up.png", image(1)), ("/abs.png", image(2)), ("a/../b.txt", b"x")])
        self.succeed("-i", "in.tar", "-o", "o/deep/")
        self.assertEqual(self.outputs("o"), ["deep/a/b.txt", "deep/abs.png", "deep/up.png"])
        self.succeed("-i", "in.tar", "-o", "x.tar")
        self.assertEqual([n for n, _ in self.members("x.tar")], ["up.png", "abs.png", "a/b.txt"])
        self.tar("dots.tar", [("...png", image(1))])
        self.succeed("-i", "dots.tar", "-o", "p/deep/{stem}/x.png")
        self.assertEqual(self.outputs("p"), ["deep/__/x.png"])

    def test_a_member_without_a_place(self):
        """One whose folder cannot be made fails alone."""
        self.tar("in.tar", [("a/b.png", image(1)), ("c.png", image(2))])
        os.mkdir(self.path("o"))
        self.write("o/a", "a file")
        self.assertIn("the folder cannot be created", self.fails(3, "-i", "in.tar", "-o", "o/"))
        self.assertEqual(self.outputs("o"), ["a", "c.png"])

    def test_a_size_that_no_file_has(self):
        self.tar("in.tar", [("a.png", image(1))], format=tarfile.PAX_FORMAT, pax_headers={})
        info = tarfile.TarInfo("a.txt")
        info.pax_headers = {"size": str(2**63 - 1)}
        head = info.tobuf(tarfile.PAX_FORMAT)
        self.write("huge.tar", head + bytes(5 << 20))
        for output in ("o/", "all.npy"):
            done = self.run_command("-i", "huge.tar", "-o", output)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertNotIn("runtime error", done.stderr)


if __name__ == "__main__":
    harness.main()
