# SPDX-License-Identifier: MIT
"""What the tests of the command share: running it, making small files, reading them back.

A test file is run as `python3 FILE.py BUILD_FOLDER SOURCE_FOLDER`. Everything is
written with the standard library, so that the tests need nothing else, and nothing of
ours reads or writes the files that judge us.
"""
import array
import ast
import json
import math
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import unittest
import wave
import zlib

BUILD = os.path.abspath(sys.argv[1])
SOURCE = os.path.abspath(sys.argv[2])
COMMAND = os.path.join(BUILD, "cli", "filterchain")
# Seconds. What takes longer hangs, on a busy machine too; SOON is for what must be quick for any input.
PATIENCE, SOON = 600, 100


def fixed_environment():
    """Ours, without what would change what the command does, or would be changed by it."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("FILTERCHAIN_")}
    return {**kept, "LC_ALL": "C.UTF-8", "FILTERCHAIN_NO_CACHE": "1"}


def without_delays(said):
    """Without the warnings about plugins that took a second to open, as any may on a busy machine."""
    pattern = r"filterchain: warning: waited for [^\n]*, which took long to open\n"
    return re.sub(pattern, "", said) if isinstance(said, str) else re.sub(pattern.encode(), b"", said)


def sanitized():
    """Was the build made with a sanitizer?"""
    with open(os.path.join(BUILD, "meson-info", "intro-buildoptions.json"), encoding="utf-8") as file:
        return any(o["name"] == "b_sanitize" and o["value"] not in ("none", []) for o in json.load(file))


class Case(unittest.TestCase):
    """A test in an empty folder of its own."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="filterchain-test-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, content):
        """Writes text or bytes to a file of the folder and returns its name."""
        data = content.encode() if isinstance(content, str) else content
        with open(self.path(name), "wb") as file:
            file.write(data)
        return name

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def run_command(self, *arguments, **options):
        """Runs filterchain in the folder; text unless asked otherwise by text=False."""
        settings = {"text": True, "timeout": PATIENCE, "stdin": subprocess.DEVNULL, "env": fixed_environment(), **options}
        if "input" in settings:
            del settings["stdin"]
        done = subprocess.run([COMMAND, *arguments], cwd=self.folder, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, check=False, **settings)
        done.stderr = without_delays(done.stderr)
        return done

    def succeed(self, *arguments, **options):
        """Runs filterchain, which must succeed and say nothing on stderr; its stdout."""
        done = self.run_command(*arguments, **options)
        self.assertEqual((done.returncode, done.stderr), (0, "" if options.get("text", True) else b""), arguments)
        return done.stdout

    def fails(self, status, *arguments, **options):
        """Runs filterchain, which must end with this status, one line on stderr and nothing
        on stdout; the line, without "filterchain: "."""
        done = self.run_command(*arguments, **options)
        self.assertEqual(done.returncode, status, f"{arguments}: {done.stderr}")
        self.assertEqual(done.stdout, "", arguments)
        self.assertRegex(done.stderr, r"\Afilterchain: [^\n]+\n\Z", arguments)
        return done.stderr[len("filterchain: "):-1]

    def files(self):
        """Every path below the folder."""
        return sorted(os.path.relpath(os.path.join(folder, name), self.folder)
                      for folder, _, names in os.walk(self.folder) for name in names)


def operators():
    """What `filterchain inspect --json` says of every operator there is."""
    def ask(*arguments):
        return json.loads(subprocess.run([COMMAND, *arguments, "--json"], stdout=subprocess.PIPE, check=True,
                                         env=fixed_environment()).stdout)
    names = [op["name"] for op in ask("list")["operators"]]
    return ask("inspect", *names) if names else []


# ---- sound --------------------------------------------------------------------

def formats():
    """`filterchain formats --json`."""
    return subprocess.run([COMMAND, "formats", "--json"], capture_output=True, text=True, check=True, env=fixed_environment()).stdout


def tone(count, channels=1, rate=16000):
    """Interleaved 16-bit samples: a chirp, other in every channel, with a click."""
    samples = array.array("h")
    for i in range(count):
        for channel in range(channels):
            t = i / rate
            value = 9000 * math.sin(2 * math.pi * (200 + 900 * t + 50 * channel) * t)
            samples.append(int(value) + (12000 if i == count // 2 else 0))
    return samples


def flac_blocks(data):
    """The metadata blocks of a FLAC file, each its kind and its content, and what follows them."""
    at, found, last = 4, [], False
    while not last:
        last, kind, size = data[at] > 127, data[at] & 127, int.from_bytes(data[at + 1:at + 4], "big")
        found.append((kind, data[at + 4:at + 4 + size]))
        at += 4 + size
    return found, data[at:]


def write_wav(path, samples, channels=1, rate=16000):
    with wave.open(path, "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(struct.pack(f"<{len(samples)}h", *samples))


def open_wav_header(channels=1, rate=16000):
    """Of 16-bit samples that go on to the end of the file."""
    return (b"RIFF\xff\xff\xff\xffWAVEfmt " + struct.pack("<IHHIIHH", 16, 1, channels, rate, rate * 2 * channels, 2 * channels, 16)
            + b"data\xff\xff\xff\xff")


def read_wav(path):
    """(samples, channels, rate) of a 16-bit WAV file, plain or extensible."""
    with open(path, "rb") as file:
        data = file.read()
    assert data[:4] == b"RIFF" and data[8:12] == b"WAVE" and struct.unpack("<I", data[4:8])[0] == len(data) - 8
    at, chunks = 12, {}
    while at < len(data):
        kind, length = struct.unpack("<4sI", data[at:at + 8])
        chunks[kind] = data[at + 8:at + 8 + length]
        at += 8 + length + length % 2
    tag, channels, rate, _, _, bits = struct.unpack("<HHIIHH", chunks[b"fmt "][:16])
    assert tag in (1, 0xFFFE) and bits == 16, (tag, bits)
    samples = chunks[b"data"]
    return list(struct.unpack(f"<{len(samples) // 2}h", samples)), channels, rate


# ---- arrays -------------------------------------------------------------------

def write_npy(path, shape, values):
    """An array of f32."""
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({', '.join(map(str, shape))},), }}".encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\0" + struct.pack("<H", len(header)) + header)
        file.write(struct.pack(f"<{len(values)}f", *values))


def read_npy(path):
    """(shape, values) of an array of f32 in C order."""
    with open(path, "rb") as file:
        data = file.read()
    length = struct.unpack("<H", data[8:10])[0]
    header = ast.literal_eval(data[10:10 + length].decode())
    assert header["descr"] == "<f4" and not header["fortran_order"], header
    return header["shape"], list(struct.unpack(f"<{(len(data) - length - 10) // 4}f", data[10 + length:]))


# ---- images -------------------------------------------------------------------

def write_png(path, rows, channels):
    """8-bit rows of width * channels values."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    colour = {1: 0, 2: 4, 3: 2, 4: 6}[channels]
    header = struct.pack(">IIBBBBB", len(rows[0]) // channels, len(rows), 8, colour, 0, 0, 0)
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header))
        file.write(chunk(b"IDAT", zlib.compress(b"".join(b"\0" + bytes(row) for row in rows))) + chunk(b"IEND", b""))


def unfilter(kind, row, above, step):
    """Undoes one of PNG's five row filters in place."""
    for i in range(len(row)):
        left = row[i - step] if i >= step else 0
        corner = above[i - step] if i >= step else 0
        if kind == 4:
            guess = left + above[i] - corner
            gaps = [(abs(guess - value), order, value) for order, value in enumerate((left, above[i], corner))]
            add = min(gaps)[2]
        else:
            add = (0, left, above[i], (left + above[i]) // 2)[kind]
        row[i] = (row[i] + add) & 255


def read_png(path):
    """(rows, channels) of an 8-bit PNG without palette or interlace."""
    with open(path, "rb") as file:
        data = file.read()
    assert data[:8] == b"\x89PNG\r\n\x1a\n", "no PNG"
    at, packed, header = 8, b"", None
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + length]
        assert struct.unpack(">I", data[at + 8 + length:at + 12 + length])[0] == zlib.crc32(kind + body), kind
        header = struct.unpack(">IIBBBBB", body) if kind == b"IHDR" else header
        packed += body if kind == b"IDAT" else b""
        at += 12 + length
    width, height, depth, colour, *_ = header
    channels = {0: 1, 4: 2, 2: 3, 6: 4}[colour]
    assert depth == 8, depth
    flat, stride, rows, above = zlib.decompress(packed), width * channels, [], bytearray(width * channels)
    for y in range(height):
        start = y * (stride + 1)
        row = bytearray(flat[start + 1:start + 1 + stride])
        unfilter(flat[start], row, above, channels)
        rows.append(list(row))
        above = row
    return rows, channels


def main():
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)  # nohup, or a shell's `&`, has had it ignored, also by what we start
    unittest.main(argv=sys.argv[:1], verbosity=2)
