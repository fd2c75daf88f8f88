#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What FLAC and Ogg say in comments and pictures: all of it between them, and what another file has no place for is named. Files are
put together and taken apart here, block by block and page by page."""
import base64
import struct
import unittest

import harness

FRAMES = 3000
RATE = 48000
IMAGE = struct.pack(">II9sI1sIIIII", 3, 9, b"image/png", 1, b"a", 1, 1, 24, 0, 5) + b"bytes"
FIELDS = [b"TITLE=A title", b"ARTIST=first", b"composer=Somebody", b"ARTIST=second", b"REPLAYGAIN_TRACK_GAIN=-3.2 dB",
          "PERFORMER=Zo\u00eb".encode(), b"Bad\xff=\xfe\x1b[2J", b"no name", b"EMPTY=", b"ENCODER=theirs"]
NAMED = "picture, composer, REPLAYGAIN_TRACK_GAIN, PERFORMER, texts"
LOST = "metadata of the input that is left out: "


def body_of(fields, vendor=b"us"):
    return struct.pack("<I", len(vendor)) + vendor + struct.pack("<I", len(fields)) + b"".join(struct.pack("<I", len(f)) + f for f in fields)


def fields_of(body):
    at, found = 4 + struct.unpack("<I", body[:4])[0], []
    count, = struct.unpack("<I", body[at:at + 4])
    at += 4
    for _ in range(count):
        size, = struct.unpack("<I", body[at:at + 4])
        found.append(body[at + 4:at + 4 + size])
        assert len(found[-1]) == size
        at += 4 + size
    return found, body[at:]


# ---- FLAC -----------------------------------------------------------------------

def flac_of(blocks, rest):
    heads = [struct.pack(">I", len(body) | kind << 24 | (i == len(blocks) - 1) << 31) for i, (kind, body) in enumerate(blocks)]
    return b"fLaC" + b"".join(head + body for head, (_, body) in zip(heads, blocks)) + rest


# ---- Ogg -----------------------------------------------------------------------------

TABLE = []
for byte in range(256):
    total = byte << 24
    for _ in range(8):
        total = total << 1 ^ (0x104c11db7 if total >> 31 else 0)
    TABLE.append(total)


def sum_of(data):
    total = 0
    for byte in data:
        total = (total << 8 & 0xffffffff) ^ TABLE[total >> 24 ^ byte]
    return total


def pages_of(data):
    """Flags, position, number, sizes and content of each page; sums and marks are as they must be."""
    found = []
    while data:
        mark, flags, position, _, number, total, count = struct.unpack("<4sxBqIIIB", data[:27])
        sizes = data[27:27 + count]
        end = 27 + count + sum(sizes)
        assert mark == b"OggS" and total == sum_of(data[:22] + bytes(4) + data[26:end]), number
        found.append((flags, position, number, sizes, data[27 + count:end]))
        data = data[end:]
    return found


def packets_of(data, count):
    """The first packets, and the pages behind them."""
    packets, pages = [b""], pages_of(data)
    for i, (flags, position, number, sizes, content) in enumerate(pages):
        assert number == i and (flags & 1) == (packets[-1] != b"") and (flags & 2) == (2 if i == 0 else 0)
        assert len(packets) > count or position == (0 if any(size < 255 for size in sizes) else -1)
        for size in sizes:
            packets[-1] += content[:size]
            content = content[size:]
            if size < 255:
                packets.append(b"")
        if len(packets) > count:
            assert len(packets) == count + 1 and not packets[-1]
            return packets[:count], pages[i + 1:]
    raise AssertionError("the headers do not end")


def ogg_of(packets, pages, serial=7):
    """A page or more for each packet, then these."""
    made = []
    for i, packet in enumerate(packets):
        sizes = bytes([255] * (len(packet) // 255) + [len(packet) % 255])
        for at in range(0, len(sizes), 255):
            some = sizes[at:at + 255]
            flags, position = (2 if i == 0 else 0) | (1 if at else 0), 0 if some[-1] < 255 else -1
            made.append((flags, position, 0, some, packet[at * 255:at * 255 + sum(some)]))
    data = b""
    for number, (flags, position, _, sizes, content) in enumerate(made + pages):
        page = struct.pack("<4sxBqIIIB", b"OggS", flags, position, serial, number, 0, len(sizes)) + sizes + content
        data += page[:22] + struct.pack("<I", sum_of(page)) + page[26:]
    return data


MAGIC = {"ogg": (b"\3vorbis", 3), "opus": (b"OpusTags", 2)}


def said_in(name, data):
    """The fields of a file, and its pictures."""
    if name == "flac":
        blocks, _ = harness.flac_blocks(data)
        bodies = [body for kind, body in blocks if kind == 4]
        assert len(bodies) == 1
        return fields_of(bodies[0])[0], [body for kind, body in blocks if kind == 6]
    magic, count = MAGIC["opus" if b"OpusHead" in data[:60] else "ogg"]  # what came as Opus goes as that into .ogg
    packets, _ = packets_of(data, count)
    assert packets[1].startswith(magic)
    fields, rest = fields_of(packets[1][len(magic):])
    assert rest == (b"\1" if count == 3 else b"")
    head = b"METADATA_BLOCK_PICTURE="
    return [f for f in fields if not f.startswith(head)], [base64.b64decode(f[len(head):]) for f in fields if f.startswith(head)]


class Comments(harness.Case):
    def make(self, name, body, pictures=(), others=(), serial=7):
        """A file with these bytes for its comments."""
        harness.write_wav(self.path("made.wav"), [i * 7919 % 2011 - 1000 for i in range(FRAMES)], rate=RATE)
        self.succeed("-i", "made.wav", "-o", "made." + name)
        data = self.read("made." + name)
        if name == "flac":
            blocks, rest = harness.flac_blocks(data)
            blocks = [(kind, old if kind != 4 else body) for kind, old in blocks] + [(6, picture) for picture in pictures] + list(others)
            return flac_of(blocks, rest)
        magic, count = MAGIC[name]
        packets, pages = packets_of(data, count)
        packets[1] = magic + body + (b"\1" if name == "ogg" else b"")
        return ogg_of(packets, pages, serial)

    def with_fields(self, name, fields, pictures=(), others=()):
        if name != "flac":
            fields = fields + [b"METADATA_BLOCK_PICTURE=" + base64.b64encode(picture) for picture in pictures]
        return self.make(name, body_of(fields), pictures, others)

    def copied(self, data, out, *stages, piped=False):
        """What a copy says, in a line each."""
        self.write("in", data)
        arguments = ["-i", "-" if piped else "in", "-o", out] + [word for stage in stages for word in ("-p", stage)]
        done = self.run_command(*arguments, input=data if piped else None, text=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        prefix = f"filterchain: warning: {out}: "
        lines = done.stderr.decode().splitlines()
        for line in lines:
            self.assertTrue(line.startswith(prefix), line)
        return [line[len(prefix):] for line in lines]

    def test_all_of_it(self):
        """Between FLAC, Vorbis and Opus, by name and from a pipe, in order, whatever it is."""
        for name in ("flac", "ogg", "opus"):
            data = self.with_fields(name, FIELDS, [IMAGE, IMAGE])
            for out in ("flac", "ogg", "opus"):
                for piped in (False, True):
                    with self.subTest(name=name, out=out, piped=piped):
                        self.assertEqual(self.copied(data, "out." + out, piped=piped), [])
                        self.assertEqual(said_in(out, self.read("out." + out)), (FIELDS, [IMAGE, IMAGE]))
                        self.succeed("-i", "out." + out, "-o", "check.npy")

    def test_what_is_left_out(self):
        """Each name once."""
        ways = {"wav": NAMED, "caf": "picture, texts", "aiff": NAMED + ", ENCODER", "w64": NAMED,
                "au": "picture, TITLE, ARTIST, composer, REPLAYGAIN_TRACK_GAIN, PERFORMER, texts, ENCODER"}
        for name in ("flac", "ogg", "opus"):
            data = self.with_fields(name, FIELDS, [IMAGE])
            for out, lost in ways.items():
                for piped in (False, True):
                    with self.subTest(name=name, out=out, piped=piped):
                        self.assertEqual(self.copied(data, "out." + out, piped=piped), [LOST + lost])
            self.copied(data, "out.wav")
            made = self.read("out.wav")
            for text in (b"A title", b"first", b"second", b"theirs"):
                self.assertIn(text, made)

    def test_blocks(self):
        """Of those that Ogg has no place for the names are told; one that nobody has heard of is kept in FLAC."""
        others = [(2, b"prog\1\2\3"), (77, b"new")]
        data = self.with_fields("flac", [], [IMAGE], others)
        self.assertEqual(self.copied(data, "out.ogg"), [LOST + "application data, blocks of unknown kind"])
        self.assertEqual(said_in("ogg", self.read("out.ogg")), ([], [IMAGE]))
        self.assertEqual(self.copied(data, "out.wav"), [LOST + "picture, application data, blocks of unknown kind"])
        self.assertEqual(self.copied(data, "out.flac"), [])
        self.assertEqual(set(harness.flac_blocks(self.read("out.flac"))[0]) & {(6, IMAGE), *others}, {(6, IMAGE), *others})

    def test_without_any(self):
        """What libsndfile writes by itself is as it was."""
        for name in ("flac", "ogg", "opus"):
            data = self.with_fields(name, [])
            for out in ("flac", "ogg", "opus", "wav"):
                self.assertEqual(self.copied(data, "out." + out), [])

    def test_the_library(self):
        """The name ahead of the fields is of the encoder that made the samples."""
        for name in ("flac", "ogg", "opus"):
            for out, word in (("flac", b"libFLAC"), ("ogg", b"libVorbis"), ("opus", b"libopus")):
                self.copied(self.with_fields(name, [b"A=b"]), "out." + out)
                data = self.read("out." + out)
                self.assertIn(word if name + out != "opusogg" else b"libopus", data)
                self.assertNotIn(b"\2\0\0\0us", data)

    def test_the_program(self):
        """That is not libsndfile, which names itself ahead of it in Vorbis: there and back it is the user's."""
        texts = b"INFOISFT\x08\0\0\0My prog\0"
        harness.write_wav(self.path("made.wav"), [0] * FRAMES, rate=RATE)
        data = self.read("made.wav") + b"LIST" + struct.pack("<I", len(texts)) + texts
        self.write("made.wav", data[:4] + struct.pack("<I", len(data) - 8) + data[8:])
        for name in ("ogg", "opus", "flac"):
            self.succeed("-i", "made.wav", "-o", "there." + name)
            for out, word in (("wav", b"ISFT"), ("caf", b"software\0")):
                self.succeed("-i", "there." + name, "-o", "back." + out)
                self.assertRegex(self.read("back." + out), word + b"[^M]{0,4}My prog")
        self.assertEqual(self.copied(self.with_fields("ogg", [b"ENCODER=libsndfile"]), "out.wav"), [])
        self.assertNotIn(b"ISFT", self.read("out.wav"))
        self.assertEqual(self.copied(self.with_fields("ogg", [b"ENCODER=libsndfile", b"A=b"]), "out.opus"), [])
        self.assertEqual(said_in("opus", self.read("out.opus"))[0], [b"A=b"])

    def test_a_part(self):
        """Times and channels that a field speaks of are not those of another sound."""
        places = [b"CHAPTER001=00:00:00.010", b"CHAPTER001NAME=x", b"cuesheet=TRACK 01 AUDIO"]
        seats = [b"WAVEFORMATEXTENSIBLE_CHANNEL_MASK=0x4"]
        stays = [b"TITLE=t", b"CHAPTERS=some"]
        self.write("two.txt", "1\n1\n")
        for name in ("flac", "ogg"):
            data = self.with_fields(name, places + seats + stays)
            for stage, said, left in (("gain:1", None, places + seats + stays), ("crop:start=100", "CHAPTER001, CHAPTER001NAME, cuesheet", seats + stays),
                                      ("matrix:two.txt:axis=channel", "WAVEFORMATEXTENSIBLE_CHANNEL_MASK", places + stays)):
                with self.subTest(name=name, stage=stage):
                    self.assertEqual(self.copied(data, "out." + name, stage), [LOST + said] if said else [])
                    self.assertEqual(said_in(name, self.read("out." + name)), (left, []))

    def test_channel_layout(self):
        """A channel elsewhere than in the middle goes over as it is said; WAV has a place for it, AU has none."""
        field = b"WAVEFORMATEXTENSIBLE_CHANNEL_MASK=0x1"
        for name in ("flac", "ogg", "opus"):
            data = self.with_fields(name, [b"TITLE=t", field])
            for out in ("flac", "ogg", "opus"):
                self.assertEqual(self.copied(data, "out." + out), [])
                self.assertEqual(said_in(out, self.read("out." + out)), ([b"TITLE=t", field], []))
            self.assertEqual(self.copied(data, "out.wav"), [])
            self.assertEqual(self.read("out.wav")[40:44], b"\1\0\0\0")
            self.assertEqual(self.copied(data, "out.au"), [LOST + "TITLE, channel mask"])

    def test_large(self):
        """Of more pages than one, and behind what a pipe holds."""
        large = struct.pack(">II9sI1sIIIII", 3, 9, b"image/png", 1, b"a", 1, 1, 24, 0, 300000) + bytes(range(250)) * 1200
        fields = [b"TITLE=t", b"LYRICS=" + b"la " * 30000, b"LAST=one"]
        for name in ("flac", "ogg", "opus"):
            data = self.with_fields(name, fields, [large])
            for out in ("flac", "ogg", "opus"):
                for piped in (False, True):
                    with self.subTest(name=name, out=out, piped=piped):
                        self.assertEqual(self.copied(data, "out." + out, piped=piped), [])
                        self.assertEqual(said_in(out, self.read("out." + out)), (fields, [large]))
            self.assertEqual(self.copied(data, "out.wav", piped=True), [LOST + "picture, LYRICS, LAST"])

    def test_the_same_again(self):
        """A copy of a copy in FLAC is the copy, and equal runs give equal files."""
        for out in ("flac", "ogg", "opus"):
            data = self.with_fields("flac", FIELDS, [IMAGE])
            self.copied(data, "one." + out)
            self.copied(data, "two." + out)
            self.assertEqual(self.read("one." + out), self.read("two." + out))
        self.copied(self.read("one.flac"), "three.flac")
        self.assertEqual(self.read("one.flac"), self.read("three.flac"))

    def test_other_streams(self):
        """Beside the first or behind it: what they say is not said of its sound."""
        for name in ("ogg", "opus"):
            one, two = (self.make(name, body_of([b"TITLE=" + title]), serial=serial) for serial, title in enumerate((b"first", b"second")))
            pages = [[b"OggS" + page for page in data.split(b"OggS")[1:]] for data in (one, two)]
            for data, what in ((b"".join(page for pair in zip(*pages) for page in reversed(pair)), "side by side"), (one + two, "one after another")):
                for piped in (False, True):
                    self.write("in", data)
                    done = self.run_command("-i", "-" if piped else "in", "-o", "out." + name, text=False, **({"input": data} if piped else {}))
                    self.assertEqual(done.returncode, 0)
                    self.assertRegex(done.stderr, f"holds streams {what}; the first is read, and".encode())
                    self.assertEqual(said_in(name, self.read("out." + name))[0], [b"TITLE=second" if what == "side by side" else b"TITLE=first"])

    def test_into_a_pipe(self):
        """FLAC and Ogg go there as they are made."""
        for name in ("flac", "ogg", "opus"):
            self.write("in", self.with_fields(name, FIELDS, [IMAGE]))
            done = self.run_command("-i", "in", "-o", "-", "--format", name, text=False)
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            self.assertEqual(said_in(name, done.stdout), (FIELDS, [IMAGE]))

    def test_damaged(self):
        """Lengths and counts that reach too far: an error, or what is there with a word."""
        good = body_of([b"TITLE=t", b"A=b"])
        for name in ("flac", "ogg", "opus"):
            for at in list(range(0, 4)) + list(range(6, 10)) + list(range(10, 14)) + list(range(21, 25)):
                for value in (1, 0x7f, 0xff):
                    data = self.make(name, good[:at] + bytes([good[at] ^ value]) + good[at + 1:])
                    self.write("in", data)
                    for out in ("out.flac", "out.ogg", "out.wav"):
                        done = self.run_command("-i", "in", "-o", out, timeout=harness.SOON)
                        self.assertIn(done.returncode, (0, 1), (name, at, value, done.stderr))
                        self.assertIn(done.stderr.count("\n"), range(0, 3))
                        if done.returncode == 0 and out != "out.wav":
                            said_in(out[4:], self.read(out))

    def test_a_count_that_is_too_large(self):
        """The decoders accept it; the comments that exist are copied, and the rest is warned of."""
        body = body_of([b"TITLE=t", b"A=b"])
        for name in ("flac", "ogg"):
            self.write("in", self.make(name, body[:6] + b"\3" + body[7:]))
            done = self.run_command("-i", "in", "-o", "out.flac")
            self.assertEqual(done.returncode, 0)
            self.assertRegex(done.stderr, rf"\Afilterchain: warning: out\.flac: {LOST}damaged (blocks|comments)\n\Z")
            self.assertEqual(said_in("flac", self.read("out.flac"))[0], [b"TITLE=t", b"A=b"])

    def test_many_names(self):
        """They are not all told, nor looked for among each other for minutes."""
        fields = [b"N%d=x" % i for i in range(200000)]
        data = self.with_fields("opus", fields)
        said, = self.copied(data, "out.wav")
        self.assertLess(len(said), 2300)
        self.assertTrue(said.endswith(", and more"))
        said, = self.copied(data, "out.flac")  # of which libFLAC reads half
        self.assertTrue(said.startswith(LOST + "N100000, N100001, "), said)
        self.assertEqual(said_in("flac", self.read("out.flac"))[0], fields[:100000])
        self.succeed("-i", "out.flac", "-o", "check.npy")


if __name__ == "__main__":
    harness.main()
