# SPDX-License-Identifier: MIT
"""What the tests of faults and signals share: jobs on small files, and what must hold
whatever has happened to them."""
import os
import struct
import sys
import zlib

sys.path.insert(0, os.path.join(os.path.abspath(sys.argv[2]), "tests", "cli"))
import harness  # noqa: E402 (its place is told by the command line)

OLD = b"what was here before"

# FILTERCHAIN_TRIALS=all: everything; else a sample that fits into an ordinary test run.
EVERYTHING = os.environ.get("FILTERCHAIN_TRIALS") == "all"


def with_metadata(data, size):
    """A WAV, FLAC or PNG file with a chunk or block of so many bytes more."""
    body = bytes(size)
    if data[:4] == b"RIFF":
        data += b"iXML" + struct.pack("<I", size) + body
        return data[:4] + struct.pack("<I", len(data) - 8) + data[8:]
    if data[:4] == b"fLaC":
        return data[:42] + b"\2" + struct.pack(">I", size)[1:] + body + data[42:]
    chunk = b"zTXt" + body
    return data[:33] + struct.pack(">I", size) + chunk + struct.pack(">I", zlib.crc32(chunk)) + data[33:]


def with_marks(data):
    """An AIFF file with a title and a marker more."""
    mark = struct.pack(">HHI", 1, 1, 100) + b"\3abc"
    data += b"MARK" + struct.pack(">I", len(mark)) + mark + b"NAME\0\0\0\6a name"
    return data[:4] + struct.pack(">I", len(data) - 8) + data[8:]


class Job(harness.Case):
    """An empty folder with inputs of three kinds in it, and an old output or none."""

    def onto_itself(self, arguments):
        """The same job with the input as its output."""
        arguments = [arguments[1] if word == self.target else word for word in arguments]
        os.remove(self.path(self.target))
        self.target = arguments[1]
        self.old = self.read(self.target)
        self.reset()
        return arguments

    def prepare(self, ending, size=3000, old=OLD, metadata=0, to=None):
        """The arguments of a job from in.ENDING to out.ENDING, whose content before is `old`; with so many
        bytes of metadata in the input."""
        source, target = "in." + ending, "out." + (to or ending.replace("mp3", "npy"))
        if ending in ("png", "jpg", "bmp", "tga"):
            rows = [[(x * y) % 251 for x in range(3 * size // 20)] for y in range(size // 20)]
            harness.write_png(self.path("in.png"), rows, 3)
            if ending != "png":
                self.succeed("-i", "in.png", "-o", source)
                os.remove(self.path("in.png"))
            stages = ["-p", "sepconv:[1,2,1]/4", "-p", "gain:0.5"]
        else:
            harness.write_wav(self.path("in.wav"), harness.tone(size, 2), 2, 16000)
            if ending == "mp3":  # silence, which says nowhere how long it is
                self.write(source, (b"\xff\xfb\x90\x64" + bytes(413)) * (size // 100))
                os.remove(self.path("in.wav"))
            elif ending != "wav":
                self.succeed("-i", "in.wav", "-o", source)
                os.remove(self.path("in.wav"))
            stages = ["-p", "conv1d:mask.txt", "-p", "gain:0.5"]
            self.write("mask.txt", "0.25 0.5 0.25\n")
        if to:
            self.write(source, with_marks(self.read(source)))
        if metadata:
            self.write(source, with_metadata(self.read(source), metadata))
        arguments = ["-i", source, *stages, "-o", target, "--device", "cpu", "-j", "2"]
        self.succeed(*arguments)
        self.complete = self.read(target)
        self.target, self.old = target, old
        self.reset()
        return arguments

    def reset(self):
        """Everything as before the job."""
        if self.old is None:
            if os.path.exists(self.path(self.target)):
                os.remove(self.path(self.target))
        else:
            self.write(self.target, self.old)
        self.before = self.files()

    def check(self, status, stderr, what, lines=1):
        """Complete with status 0, or the old content with another and so many lines."""
        expected = sorted({*self.before, self.target}) if status == 0 else self.before
        self.assertEqual(self.files(), expected, f"{what}: status {status}, other files than before: {stderr}")
        if status == 0:
            self.assertEqual(self.read(self.target) == self.complete, True, f"{what}: not complete, but status 0")
            return
        if self.old is not None:
            self.assertEqual(self.read(self.target), self.old, f"{what}: status {status}, the output is touched: {stderr}")
        if lines is not None:
            self.assertEqual(stderr.count("\n"), lines, f"{what}: status {status}, {stderr!r}")
