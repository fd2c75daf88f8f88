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

# Everything; a sample under a sanitizer, which takes its time, but with FILTERCHAIN_TRIALS=all.
ASKED = os.environ.get("FILTERCHAIN_TRIALS") == "all"
EVERYTHING = ASKED or not harness.sanitized()


def with_metadata(data, size):
    """A WAV, FLAC or PNG file with a chunk or picture of so many bytes more, or two texts."""
    body = bytes(size)
    if data[:4] == b"RIFF":
        data += b"iXML" + struct.pack("<I", size) + body
        return data[:4] + struct.pack("<I", len(data) - 8) + data[8:]
    if data[:4] == b"fLaC":
        picture = struct.pack(">II9s6I", 3, 9, b"image/png", 0, 1, 1, 24, 0, size) + body
        return data[:42] + b"\6" + struct.pack(">I", len(picture))[1:] + picture + data[42:]
    texts = [b"tEXt" + keyword + b"\0" + b"x" * size for keyword in (b"Author", b"Comment")]
    chunks = b"".join(struct.pack(">I", len(text) - 4) + text + struct.pack(">I", zlib.crc32(text)) for text in texts)
    return data[:33] + chunks + data[33:]


def with_texts(data):
    """An AIFF file with a title more."""
    data += b"NAME\0\0\0\6a name"
    return data[:4] + struct.pack(">I", len(data) - 8) + data[8:]


def in_columns(data):
    """A .npy file that says of its elements that they stand in another order."""
    return data.replace(b"'fortran_order': False,", b"'fortran_order': True, ", 1)


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

    def make_mask(self, name, taps):
        """So many numbers, and few that are not 0, as text, as an array or as a sound."""
        values = [0.25, 0.5, 0.25] + [0] * (taps - 3)
        if name.endswith("txt"):
            self.write(name, "".join(f"{value:.5f}\n" for value in values))
        else:
            self.write("mask.raw", struct.pack(f"<{taps}d", *values))
            self.succeed("-i", "mask.raw", "--raw", "dtype=f64,rate=16000,channels=1", "-o", name)
            os.remove(self.path("mask.raw"))
        return name

    def make_flac(self):
        """The input as FLAC."""
        self.succeed("-i", "in.wav", "-o", "in.flac")
        return self.read("in.flac")

    def prepare(self, ending, size=3000, old=OLD, metadata=0, to=None, columns=False, mask=None, stages=()):
        """The arguments of a job from in.ENDING to out.ENDING, whose content before is `old`; with so many
        bytes of metadata in the input, or an array in columns; with 60000 numbers in a mask of this name, and more stages."""
        source, target = "in." + ending, "out." + (to or ending.replace("mp3", "npy"))
        if ending in ("png", "jpg", "webp", "tiff", "bmp", "tga"):
            height = size // 20 if size < 20000 else 60  # rows that take much memory by themselves
            rows = [[(x * y) % 251 for x in range(3 * (size * size // 400 // height))] for y in range(height)]
            harness.write_png(self.path("in.png"), rows, 3)
            if ending != "png":
                self.succeed("-i", "in.png", "-o", source)
                os.remove(self.path("in.png"))
            chain = ["sepconv:[1,2,1]/4", "gain:0.5", *stages]
        else:
            harness.write_wav(self.path("in.wav"), harness.tone(size, 2), 2, 16000)
            if ending == "mp3":  # silence, which says nowhere how long it is
                self.write(source, (b"\xff\xfb\x90\x64" + bytes(413)) * (size // 100))
                os.remove(self.path("in.wav"))
            elif ending != "wav":
                made = "in.wav"
                if metadata and ending == "opus":  # which has pictures as FLAC does
                    made = self.write("in.flac", with_metadata(self.make_flac(), metadata))
                self.succeed("-i", made, "-o", source)
                for name in {made, "in.wav"}:
                    os.remove(self.path(name))
            mask = self.make_mask(mask, 60000) if mask else self.write("mask.txt", "0.25 0.5 0.25\n")
            chain = ["conv1d:" + mask, "gain:0.5", *stages]
        if to and ending == "aiff":
            self.write(source, with_texts(self.read(source)))
        if columns:
            self.write(source, in_columns(self.read(source)))
        if metadata and ending != "opus":
            self.write(source, with_metadata(self.read(source), metadata))
        words = [word for stage in chain for word in ("-p", stage)]
        arguments = ["-i", source, *words, "-o", target, "--device", "cpu", "-j", "2"]
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

    def lacks_room(self, made):
        """Behind the tags of Opus libsndfile leaves some, where it has memory for that; all else is there."""
        return made[:4] == b"OggS" and made[28:32] == b"Opus" and made[-2000:] == self.complete[-2000:]

    def same_picture(self, made):
        """libtiff packs other strips where it has less memory; the samples are the same."""
        if not self.target.endswith(".tiff"):
            return False
        arrays = []
        for content in (made, self.complete):
            self.write("check.tiff", content)
            self.succeed("-i", "check.tiff", "-o", "check.npy")
            arrays.append(self.read("check.npy"))
        os.remove(self.path("check.tiff"))
        os.remove(self.path("check.npy"))
        return arrays[0] == arrays[1]

    def check(self, status, stderr, what, lines=1):
        """Complete with status 0, or the old content with another and so many lines."""
        expected = sorted({*self.before, self.target}) if status == 0 else self.before
        self.assertEqual(self.files(), expected, f"{what}: status {status}, other files than before: {stderr}")
        if status == 0:
            made = self.read(self.target)
            self.assertTrue(made == self.complete or self.lacks_room(made) or self.same_picture(made), f"{what}: not complete, but status 0")
            return
        if self.old is not None:
            self.assertEqual(self.read(self.target), self.old, f"{what}: status {status}, the output is touched: {stderr}")
        if lines is not None:
            self.assertEqual(stderr.count("\n"), lines, f"{what}: status {status}, {stderr!r}")
