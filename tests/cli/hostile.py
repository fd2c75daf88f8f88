#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Files of the kinds that image decoders are known to fall for, made here byte by byte: each
is refused with a sentence, or decoded, in bounded time and memory, and never a crash.

Among them those behind CVE-2021-42716 (16-bit PNM), CVE-2021-42715 and CVE-2021-28021 (HDR,
JPEG), CVE-2022-28041 (JPEG), CVE-2023-43898 (PIC), CVE-2023-45661 to -45667 (GIF, flip,
memory that was never written), and files that grow on being unpacked.
"""
import os
import signal
import struct
import subprocess
import threading
import time
import unittest
import zlib

import harness

EVERYTHING = os.environ.get("FILTERCHAIN_TRIALS") == "all"
STRANGER = 12345  # a user id that nobody has
SECONDS, MEGABYTES = (40, 3072) if harness.sanitized() else (10, 1024)


# ---- the files ------------------------------------------------------------------

def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width, height, data, depth=8, colour=0, interlace=0, before=b""):
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlace)) + before
            + chunk(b"IDAT", data) + chunk(b"IEND", b""))


def zeros(count):
    """`count` zero bytes as zlib packs them, without packing them all: one piece again and again."""
    piece = 1 << 20
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    first = packer.compress(bytes(piece)) + packer.flush(zlib.Z_FULL_FLUSH)
    rest = zlib.compressobj(9, zlib.DEFLATED, -15)
    last = rest.compress(bytes(count % piece)) + rest.flush()
    return b"\x78\xda" + first * (count // piece) + last + struct.pack(">HH", count % 65521, 1)


def gif(frames, width=4, height=4, first=b"GIF89a"):
    """Frames of (left, top, width, height, bits of a code, data)."""
    body = first + struct.pack("<HHBBB", width, height, 0x80, 0, 0) + bytes(6)
    for left, top, wide, high, bits, data in frames:
        control = b"\x21\xf9\x04" + bytes([0x0d]) + b"\x0a\0\0\0"
        body += control + b"," + struct.pack("<HHHHB", left, top, wide, high, 0) + bytes([bits, len(data)]) + data + b"\0"
    return body + b";"


def pnm(kind, width, height, most, data):
    return b"P%d\n%d %d\n%d\n" % (kind, width, height, most) + data


def segment(marker, data):
    return bytes([0xFF, marker]) + struct.pack(">H", len(data) + 2) + data


def jpeg(counts, symbols, scan=b"\x2a" * 40, width=64, height=64, sampling=0x11, parts=1, tables=True, frame=0xC0):
    """A frame with this Huffman table, in which the numbers of codes need not fit."""
    parts_of_frame = b"".join(bytes([i + 1, sampling, 0]) for i in range(parts))
    huffman = bytes(counts) + bytes(symbols)
    start = bytes([parts]) + b"".join(bytes([i + 1, 0]) for i in range(parts)) + b"\0\x3f\0"
    return (b"\xff\xd8" + segment(0xDB, b"\0" + bytes([255] * 64))
            + segment(frame, struct.pack(">BHHB", 8, height, width, parts) + parts_of_frame)
            + (segment(0xC4, b"\0" + huffman) + segment(0xC4, b"\x10" + huffman) if tables else b"")
            + segment(0xDA, start) + scan + b"\xff\xd9")


def tga(kind, bits, width, height, data, entries=0, first=0):
    return struct.pack("<BBBHHBHHHHBB", 0, 1 if entries else 0, kind, first, entries, 24 if entries else 0, 0, 0, width, height, bits,
                       0) + data


def bmp(width, height, bits, data=b"", start=54, coding=0, colours=0):
    return b"BM" + struct.pack("<IHHI", start + len(data), 0, 0, start) + struct.pack(
        "<IiiHHIIiiII", 40, width, height, 1, bits, coding, len(data), 0, 0, colours, 0) + data


NOT_READ = {
    "16-bit PGM": pnm(5, 64, 64, 65535, bytes(64 * 64 * 2)),
    "16-bit PPM": pnm(6, 64, 64, 65535, bytes(64 * 64 * 6)),
    "PGM that ends early": pnm(5, 4000, 4000, 255, b"x"),
    "PGM without samples": pnm(5, 100000, 100000, 65535, b""),
    "PGM of absurd size": b"P5\n99999999999 99999999999\n255\n",
    "GIF with frames beyond its edges": gif([(0, 0, 4, 4, 2, b"\x44\x02\x05"), (3, 3, 60000, 60000, 2, b"\x44\x02\x05")]),
    "GIF with many frames": gif([(0, 0, 4, 4, 2, b"\x44\x02\x05")] * 500),
    "GIF with codes of 20 bits": gif([(0, 0, 4, 4, 20, b"\xff" * 255)]),
    "GIF without pixels": gif([(0, 0, 0, 0, 2, b"\x44\x02\x05")], 0, 0),
    "GIF of 60000 x 60000": gif([(0, 0, 60000, 60000, 8, b"\0" * 255)] * 3, 60000, 60000),
    "GIF that ends early": gif([(0, 0, 4, 4, 2, b"\x44\x02\x05")])[:30],
    "GIF87a": gif([(0, 0, 4, 4, 2, b"\x8c\x2d\x99")], first=b"GIF87a"),
    "PSD": b"8BPS\0\1" + bytes(6) + struct.pack(">HIIHH", 4, 60000, 60000, 16, 3) + bytes(12) + struct.pack(">H", 1) + b"\x80" * 100,
    "HDR": b"#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 99999 +X 99999\n" + b"\2\2\x7f\xff" * 40,
    "HDR of the other name": b"#?RGBE\nFORMAT=32-bit_rle_rgbe\n\n-Y 2 +X 9\n" + b"\2\2\0\x09\xff",
    "PIC": b"\x53\x80\xf6\x34" + bytes(84) + b"PICT" + struct.pack(">HHIHH", 60000, 60000, 0, 3, 0) + b"\0\x08\x02\xe0" + b"\xff" * 50,
}

READ = {
    "png": {
        "a size of nothing": png(0, 0, zeros(10)),
        "sides of 2^31": png(1 << 31, 1 << 31, zeros(10)),
        "a palette that is missing": png(8, 8, zeros(72), 8, 3),
        "a palette that is too long": png(8, 8, zeros(72), 8, 3, before=chunk(b"PLTE", bytes(3 * 300))),
        "a palette that is too short": png(8, 8, zlib.compress(b"\0\xff\xff\xff\xff\xff\xff\xff\xff" * 8), 8, 3,
                                           before=chunk(b"PLTE", bytes(3))),
        "transparency before a palette": png(8, 8, zeros(72), 8, 3, before=chunk(b"tRNS", bytes(256)) + chunk(b"PLTE", bytes(3))),
        "a depth of none": png(8, 8, zeros(72), 7, 2),
        "less than it says": png(500, 500, zeros(100)),
        "a filter of none": png(8, 8, zlib.compress((b"\x09" + bytes(8)) * 8)),
        "a bad distance": png(8, 8, b"\x78\x9c\x03\x02\x00\xff\xff\xff\xff\xff"),
        "interlaced and thin": png(1, 1 << 16, zeros(200000), 16, 6, 1),
        "a part of 4 GiB": png(8, 8, zeros(72))[:33] + b"\xff\xff\xff\xf0IDAT" + bytes(50),
        "Apple's own": b"\x89PNG\r\n\x1a\n" + chunk(b"CgBI", b"\x50\0\x20\x02") + png(8, 8, zeros(72))[8:],
    },
    "jpg": {
        "more codes than there are": jpeg([255] * 16, range(256)),
        "codes that are over-full": jpeg([3, 3] + [0] * 14, range(6)),
        "a value of 16 bits at DC": jpeg([0, 2] + [0] * 14, [0x10, 0xFF]),
        "no tables": jpeg([0, 2] + [0] * 14, [0, 1], tables=False),
        "a progressive frame, scanned as another": jpeg([0, 2] + [0] * 14, [0, 0xFF], frame=0xC2),
        "a sampling of 4 x 4": jpeg([0, 2] + [0] * 14, [0, 1], sampling=0x44, parts=3),
        "a sampling of nothing": jpeg([0, 2] + [0] * 14, [0, 1], sampling=0x00),
        "65535 x 65535": jpeg([0, 2] + [0] * 14, [0, 1], width=65535, height=65535),
        "65500 x 1024 of nothing": jpeg([0, 2] + [0] * 14, [0, 1], width=65500, height=1024, parts=3),
        "segments of length 0": b"\xff\xd8" + b"\xff\xe1\0\0" * 1000 + b"\xff\xd9",
        "a scan without a frame": b"\xff\xd8" + segment(0xDA, b"\1\1\0\0\x3f\0") + bytes(100) + b"\xff\xd9",
        "1000 frames": b"\xff\xd8" + segment(0xC0, struct.pack(">BHHB", 8, 8, 8, 1) + b"\1\x11\0") * 1000 + b"\xff\xd9",
        "EXIF that points beyond": b"\xff\xd8" + segment(0xE1, b"Exif\0\0II*\0\xff\xff\xff\x7f") + jpeg([0, 2] + [0] * 14, [0, 1])[2:],
    },
    "bmp": {
        "a height of -2^31": bmp(10, -(1 << 31), 24, bytes(900)),
        "a width of -1": bmp(-1, 10, 24, bytes(900)),
        "pixels before their header": bmp(10, 10, 24, bytes(400), start=2),
        "a palette of 2^31 colours": bmp(10, 10, 8, bytes(900), colours=1 << 31),
        "masks of nothing": bmp(10, 10, 32, bytes(412), coding=3),
        "run lengths": bmp(10, 10, 8, b"\xff\xff" * 50, coding=1),
        "2^30 x 2^30": bmp(1 << 30, 1 << 30, 32, bytes(100)),
    },
    "tga": {
        "an index beyond the palette": tga(1, 8, 4, 4, b"\1\2\3" + b"\xff" * 16, entries=1),
        "a palette that begins behind its end": tga(1, 8, 4, 4, bytes(40), entries=2, first=65535),
        "a run beyond the image": tga(10, 24, 3, 3, b"\xff\1\2\3" * 2),
        "runs that end early": tga(10, 24, 6000, 4000, b"\xff\1\2\3"),
        "65535 x 65535": tga(2, 32, 65535, 65535, bytes(100)),
        "a depth of none": tga(2, 12, 4, 4, bytes(100)),
        "no palette where one is used": tga(9, 8, 4, 4, b"\x8f\0"),
    },
}


class Hostile(harness.Case):
    def run_bounded(self, *arguments, seconds=SECONDS):
        """(status, line) of a run: within so many seconds of processor time and so much memory, of it and its decoder. One
        that stands still uses up neither, and is killed."""
        with open(self.path("stderr"), "w+b") as stderr:
            run = subprocess.Popen([harness.COMMAND, *arguments], cwd=self.folder, env=harness.fixed_environment(),
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=stderr)
            clock = threading.Timer(harness.PATIENCE, os.kill, (run.pid, signal.SIGKILL))
            clock.start()
            os.waitid(os.P_PID, run.pid, os.WEXITED | os.WNOWAIT)
            clock.cancel()  # before the number can be another's
            clock.join()
            _, status, used = os.wait4(run.pid, 0)
            run.returncode = os.waitstatus_to_exitcode(status)
            stderr.seek(0)
            said = stderr.read().decode()
        self.assertLess(used.ru_utime + used.ru_stime, seconds, arguments)
        self.assertLess(used.ru_maxrss >> 10, MEGABYTES, arguments)
        self.assertIn(run.returncode, (0, 1), f"{arguments}: {said}")
        if run.returncode:
            self.assertRegex(said, r"\Afilterchain: [ -~]+\n\Z")
            self.assertEqual([name for name in self.files() if name.startswith("out.")], [])
        else:
            os.remove(self.path(arguments[-1]))
        return run.returncode, said

    def test_kinds_that_are_not_read(self):
        """By their content, by another's name, and when somebody insists that they are something else."""
        for what, content in NOT_READ.items():
            for ending in ("img", "png", "jpg", "bmp", "tga"):
                with self.subTest(what=what, ending=ending):
                    name = self.write("bad." + ending, content)
                    self.assertEqual(self.run_bounded("-i", name, "-o", "out.npy")[0], 1)
                    if ending != "img":
                        self.run_bounded("-i", name, "--in-format", ending, "-o", "out.npy")

    def test_their_names_are_said(self):
        for what, word in (("16-bit PGM", "a PNM image"), ("GIF87a", "a GIF image"), ("PSD", "a Photoshop image"), ("PIC", "a PIC image"),
                           ("HDR", "a Radiance HDR image"), ("HDR of the other name", "a Radiance HDR image")):
            self.assertIn(word, self.fails(1, "-i", self.write("bad.png", NOT_READ[what]), "-o", "out.npy"))

    def test_kinds_that_are_read(self):
        for ending, files in READ.items():
            for what, content in files.items():
                with self.subTest(what=what, ending=ending):
                    name = self.write("bad." + ending, content)
                    self.run_bounded("-i", name, "-o", "out.npy")
                    self.run_bounded("-i", name, "--allow-truncated", "-o", "out.npy")

    def test_a_png_that_grows(self):
        """875 KB that unpack to 900 MB: refused by their size; and refused where the size is a lie."""
        name = self.write("large.png", png(30000, 30000, zeros(30001 * 30000)))
        self.assertLess(os.path.getsize(self.path(name)), 1 << 20)
        _, said = self.run_bounded("-i", name, "-o", "out.npy", seconds=5)
        self.assertIn("30000 x 30000 pixels are more than the limit of 268435456 (--max-pixels sets it)", said)
        name = self.write("lie.png", png(100, 100, zeros(30001 * 30000)))
        self.run_bounded("-i", name, "-o", "out.npy")
        name = self.write("profile.png", png(8, 8, zeros(72), before=chunk(b"iCCP", b"p\0\0" + zeros(1 << 30))))
        for out in ("out.png", "out.jpg"):
            self.assertEqual(self.run_bounded("-i", name, "-o", out)[0], 0)


class ClosedJpeg(harness.Case):
    """Coded data that cannot be all: a picture is had, but only when asked for, and with a warning."""

    def setUp(self):
        super().setUp()
        harness.write_png(self.path("in.png"), [[x * y % 256 for x in range(64 * 3)] for y in range(48)], 3)
        self.succeed("-i", "in.png", "-o", "in.jpg")

    def refused(self, data):
        self.write("bad.jpg", data)
        self.assertRegex(self.fails(1, "-i", "bad.jpg", "-o", "out.npy"),
                         r"\Abad\.jpg: is (cut off|damaged): .*; --allow-truncated uses the readable part\Z")
        done = self.run_command("-i", "bad.jpg", "-o", "out.npy", "--allow-truncated")
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stderr, r"warning: bad\.jpg: is (cut off|damaged): .*; the readable part is used")

    def test_more_rows_than_there_is_data_for(self):
        data = bytearray(self.read("in.jpg"))
        at = data.index(b"\xff\xc0") + 5
        self.assertEqual(data[at:at + 2], struct.pack(">H", 48))
        data[at:at + 2] = struct.pack(">H", 9000)
        self.refused(bytes(data))

    def test_restarts_that_are_missing(self):
        data = self.read("in.jpg")
        at = data.index(b"\xff\xda")
        self.refused(data[:at] + b"\xff\xdd\0\4\0\4" + data[at:])


class Limits(harness.Case):
    """Each is named in the error that it makes."""

    def test_pixels(self):
        harness.write_png(self.path("in.png"), [[0] * 100] * 100, 1)
        self.assertEqual(self.fails(1, "-i", "in.png", "--max-pixels", "9999", "-o", "out.png"),
                         "in.png: 100 x 100 pixels are more than the limit of 9999 (--max-pixels sets it)")
        self.succeed("-i", "in.png", "--max-pixels", "10000", "-o", "out.png")

    def test_pixels_that_a_chain_makes(self):
        """A few zeros too many are refused before anything is allocated, whatever stage makes them."""
        harness.write_png(self.path("in.png"), [[9] * 30] * 20, 1)
        for stages in (("-p", "resize:1000000x1000000"), ("-p", "pad:1000000x1000000"), ("-p", "resize:1000000x1000000", "-p", "gain:2")):
            for output in ("out.png", "out.tif"):
                self.assertEqual(self.fails(1, "-i", "in.png", *stages, "-o", output, timeout=harness.SOON),
                                 f"{output}: 1000000 x 1000000 pixels, 1 TB of samples, are more than the limit of 268435456 pixels (--max-pixels 1000000000000 allows it)")
        said = self.fails(1, "-i", "in.png", "-p", "resize:20000x20000", "-o", "out.png", "--dry-run")
        self.assertIn("out.png: 20000 x 20000 pixels, 400 MB of samples, are more than the limit", said)
        self.assertEqual(self.fails(1, "-i", "in.png", "--max-pixels", "600", "-p", "resize:20000x20000", "-o", "out.png"),
                         "out.png: 20000 x 20000 pixels, 400 MB of samples, are more than the limit of 268435456 pixels (--max-pixels 400000000 allows it)")
        self.run_and_check("-i", "in.png", "--max-pixels", "400000000", "-p", "resize:20000x20000", "-o", "out.png", "--dry-run")
        self.run_and_check("-i", "in.png", "--max-pixels", "600", "-p", "resize:40x40", "-o", "out.png")
        for output, title in (("out.bmp", "BMP"), ("out.tga", "TGA")):
            self.assertEqual(self.fails(2, "-i", "in.png", "--max-pixels", "4000000000", "-p", "resize:60000x60000", "-o", output, timeout=harness.SOON),
                             f"{output}: {title} holds 536870881 pixels, not 60000 x 60000; use .npy")
        # The header counts: 122 bytes of a BMP beside 4 x 16385 x 32766, and the sum is an int.
        self.assertEqual(self.fails(2, "-i", "in.png", "--max-pixels", "4000000000", "-p", "resize:16385x32766", "-o", "out.bmp", "--dry-run"),
                         "out.bmp: BMP holds 536870881 pixels, not 16385 x 32766; use .npy")
        self.run_and_check("-i", "in.png", "-p", "pad:1000000x1000000", "-p", "crop:8x8", "-o", "out.png")

    def test_pixels_of_a_planar_array(self):
        """A picture may be as large as what it is made from, in whatever order the axes are."""
        shape = (3, 17000, 17000)
        with open(self.path("in.npy"), "wb") as file:
            header = str({"descr": "|u1", "fortran_order": False, "shape": shape}).ljust(117) + "\n"
            file.write(b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header.encode())
            file.truncate(10 + len(header) + shape[0] * shape[1] * shape[2])
        self.run_and_check("-i", "in.npy", "-p", "layout:hwc", "-o", "out.png", "--dry-run")
        self.assertIn("are more than the limit of 268435456 pixels",
                      self.fails(1, "-i", "in.npy", "-p", "layout:hwc", "-p", "resize:30000x30000", "-o", "out.png", "--dry-run"))

    def test_pixels_of_a_preview(self):
        """Drawn from an array in memory, and bounded like a picture that is encoded."""
        os.mkdir(self.path("p"))
        harness.write_png(self.path("p/a.png"), [[9] * 90] * 20, 3)
        for stages, size in ((("-p", "resize:1000000x1000000"), "3 TB"), (("-p", "resize:1000000x1000000", "-p", "layout:chw"), "3 TB")):
            done = self.run_command("-i", "p", *stages, "--preview", "1", "s.png")
            self.assertEqual((done.returncode, done.stderr),
                             (1, f"filterchain: warning: p/a.png: 1000000 x 1000000 pixels, {size} of samples, are more than the limit of 268435456 pixels "
                                 "(--max-pixels 1000000000000 allows it)\nfilterchain: s.png: there is nothing to show\n"))

    def run_and_check(self, *arguments):
        done = self.run_command(*arguments)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_channels(self):
        self.write("in.raw", bytes(100))
        self.assertRegex(self.fails(2, "-i", "in.raw", "--raw", "dtype=u8,rate=8000,channels=65536", "-o", "out.npy"),
                         r'channels: expected 1\.\.65535, found "65536"')
        harness.write_wav(self.path("in.wav"), [0] * 8)
        data = bytearray(self.read("in.wav"))
        data[22:24], data[32:34] = struct.pack("<H", 60000), struct.pack("<H", 60000 * 2 % 65536)
        self.write("in.wav", bytes(data))
        self.assertRegex(self.fails(1, "-i", "in.wav", "-o", "out.npy"), r"\Ain\.wav: .*channel")

    def start_large(self, *more, **options):
        """A run on an image that takes a while."""
        if not os.path.exists(self.path("in.png")):
            side = 3000
            noise = os.urandom(1 << 20) * (side * side // (1 << 20) + 2)
            rows = b"".join(b"\0" + noise[y * side:(y + 1) * side] for y in range(side))
            self.write("in.png", png(side, side, zlib.compress(rows, 1)))
        return subprocess.Popen([harness.COMMAND, "-i", "in.png", *more, "-p", "stats", "-q"], cwd=self.folder,
                                env=harness.fixed_environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, **options)

    def test_the_decoders_time(self):
        """What the kernel does to a child that has used up its time: the run ends with a sentence."""
        for _ in range(20):  # until the child is met at work
            run = self.start_large()
            killed = self.signal_child_of(run, signal.SIGKILL)
            said = run.communicate(timeout=harness.PATIENCE)[1].decode()
            if killed and run.returncode:
                self.assertRegex(said, r"\Afilterchain: in\.png: decoding was stopped at the limit of \d+ s of processor time\n\Z")
                self.assertEqual(self.files(), ["in.png"])
                return
        self.skipTest("the child was too quick to be met")

    @unittest.skipUnless(EVERYTHING, "takes half a minute: FILTERCHAIN_TRIALS=all")
    def test_a_decoder_that_stands_still(self):
        """It uses up none of its time: the clock ends it."""
        for _ in range(20):
            run = self.start_large()
            stopped = self.signal_child_of(run, signal.SIGSTOP)
            said = run.communicate(timeout=harness.PATIENCE)[1].decode()
            if stopped and run.returncode:
                self.assertRegex(said, r"\Afilterchain: in\.png: decoding was stopped at the limit of \d+ s of processor time\n\Z")
                return
        self.skipTest("the child was too quick to be met")

    def test_signals_are_the_commands(self):
        """A terminal sends Ctrl-C to the child too: that goes on, and the command says what happened."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            met = 0
            for _ in range(20):
                run = self.start_large()
                met += self.signal_child_of(run, number)
                self.assertEqual((run.communicate(timeout=harness.PATIENCE)[1], run.returncode), (b"", 0), number)
                if met:
                    break
        if not met:
            self.skipTest("the child was too quick to be met")

    def test_what_the_decoder_may_do(self):
        """Looked at from outside while it decodes: it has no system calls, no files but the helper's socket, no new
        rights, and limits on what is left."""
        if harness.sanitized():
            self.skipTest("a sanitizer's runtime needs system calls")
        if not os.path.exists(f"/proc/self/task/{os.getpid()}/children"):
            self.skipTest("/proc does not tell the children here")
        for inputs in ((), ("-i", "in.png", "-i", "in.png")):
            status, limits, files, _ = self.meet_confined(2, *inputs)
            self.assertIn("NoNewPrivs:\t1", status)
            if files is not None:
                self.assertIn(files, ([], ["0"]))
            for line in (r"Max cpu time +1[0-9] +1[0-9] +seconds", r"Max file size +0 +0 ", r"Max core file size +0 +0 "):
                self.assertRegex(limits, line)

    def test_nobody_may_look_into_the_decoder(self):
        """Not even whoever started it can attach to it or take its memory: it belongs to the kernel."""
        if harness.sanitized() or not os.path.exists(f"/proc/self/task/{os.getpid()}/children"):
            self.skipTest("no decoder to be seen here")
        user, options = os.geteuid(), {}
        if user == 0:  # to whom all belongs
            user, options = STRANGER, {"user": STRANGER, "group": STRANGER, "extra_groups": []}
            os.chmod(self.folder, 0o755)
            try:
                if self.run_command("--version", **options).returncode:
                    self.skipTest("the build is closed to others")
            except OSError:
                self.skipTest("nobody else is known in this user namespace")
        for inputs in ((), ("-i", "in.png", "-i", "in.png")):
            owners = self.meet_confined(2, *inputs, **options)[3]
            self.assertEqual((len(owners), user in owners), (2, False))

    def meet_confined(self, depth, *inputs, **options):
        """What confined_below reports of a decoder at work."""
        for _ in range(100):
            run, seen = self.start_large(*inputs, **options), None
            while run.poll() is None and not seen:
                seen = self.confined_below(run.pid, depth)
            run.communicate(timeout=harness.PATIENCE)
            if seen:
                return seen
        return self.fail("no confined decoder was met at work")

    @staticmethod
    def text_of(path):
        with open(path, encoding="ascii") as file:
            return file.read()

    def confined_below(self, pid, depth):
        """(status, limits, descriptors, owners) of a confined process so many generations down, or None. Only the
        superuser sees the descriptors; the owners are those of the processes from the first generation on."""
        try:
            for child in self.text_of(f"/proc/{pid}/task/{pid}/children").split():
                if depth > 1:
                    found = self.confined_below(child, depth - 1)
                    if found:
                        return (*found[:3], [os.stat(f"/proc/{child}/fd").st_uid, *found[3]])
                    continue
                texts = [self.text_of(f"/proc/{child}/{name}") for name in ("status", "limits")]
                files = sorted(os.listdir(f"/proc/{child}/fd")) if os.geteuid() == 0 else None
                over = "State:\tZ" in self.text_of(f"/proc/{child}/status")  # of which none are listed
                if not over and ("Seccomp:\t2" in texts[0] or "Seccomp:\t1" in texts[0]):
                    return (*texts, files, [os.stat(f"/proc/{child}/fd").st_uid])
        except OSError:
            pass
        return None

    def signal_child_of(self, run, number):
        """To the process that decodes, which is a child of the helper's."""
        while run.poll() is None:
            try:
                children = self.text_of(f"/proc/{run.pid}/task/{run.pid}/children").split()
                for child in children:
                    children = self.text_of(f"/proc/{child}/task/{child}/children").split()
            except OSError:
                continue
            if children and run.poll() is None:
                try:
                    time.sleep(0.01)
                    os.kill(int(children[0]), number)
                    return True
                except ProcessLookupError:
                    return False
        return False


if __name__ == "__main__":
    harness.main()
