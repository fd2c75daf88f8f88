#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a sound file says of places in it, when the chain keeps but a part: moved, or left out with a word.
Files are put together and taken apart here, chunk by chunk."""
import itertools
import re
import struct
import unittest
import zlib

import harness

FRAMES = 1000
LOST = "metadata of the input that is left out: "


def chunk(kind, body, big=False):
    return kind + struct.pack(">I" if big else "<I", len(body)) + body + b"\0" * (len(body) % 2)


def wav(*chunks, rate=8000):
    fmt = chunk(b"fmt ", struct.pack("<HHIIHH", 1, 1, rate, 2 * rate, 2, 16))
    body = b"WAVE" + fmt + b"".join(chunks) + chunk(b"data", struct.pack(f"<{FRAMES}h", *range(FRAMES)))
    return b"RIFF" + struct.pack("<I", len(body)) + body


def aiff(*chunks, rate=b"\x40\x0b\xfa\0\0\0\0\0\0\0"):  # 8000 as 80 bits
    body = b"AIFF" + chunk(b"COMM", struct.pack(">HIH", 1, FRAMES, 16) + rate, True) + b"".join(chunks)
    body += chunk(b"SSND", bytes(8) + struct.pack(f">{FRAMES}h", *range(FRAMES)), True)
    return b"FORM" + struct.pack(">I", len(body)) + body


def chunks_of(data):
    big, at, found = data[:4] == b"FORM", 12, {}
    while at + 8 <= len(data):
        kind, length = struct.unpack(">4sI" if big else "<4sI", data[at:at + 8])
        found[kind if kind != b"LIST" else data[at + 8:at + 12]] = data[at + 8:at + 8 + length]
        at += 8 + length + length % 2
    return found


def cues(*places):
    """Cue points 1, 2, ..."""
    return struct.pack("<I", len(places)) + b"".join(
        struct.pack("<II4sIII", i + 1, place, b"data", 0, 0, place) for i, place in enumerate(places))


def cue_places(body):
    points = struct.unpack(f"<{(len(body) - 4) // 4}I", body[4:])
    assert struct.unpack("<I", body[:4])[0] == len(points) // 6
    return [(points[i], points[i + 1], points[i + 5]) for i in range(0, len(points), 6)]


def loops(*pairs):
    head = struct.pack("<9I", 1, 2, 3, 60, 0, 0, 0, len(pairs), 4)
    return head + b"".join(struct.pack("<6I", i + 1, 0, a, b, 0, 0) for i, (a, b) in enumerate(pairs)) + b"data"


def labels(*names):
    return b"adtl" + b"".join(chunk(b"labl", struct.pack("<I", i + 1) + name + b"\0") for i, name in enumerate(names))


def bext(reference):
    return struct.pack("<256s32s32s10s8sQ256x", b"take", b"us", b"ref", b"2026-01-01", b"10:00:00", reference)


def cart(*timers):
    entries = b"".join(struct.pack("<4sI", b"MRK ", at) for at in timers)
    return bytes(684) + entries + bytes(64 - len(entries)) + bytes(1300)


class Directories:
    """A TIFF structure, as a file or as EXIF data: directories of fields, which are put together and taken apart here."""
    SIZES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 7: 1, 10: 8, 13: 4}
    POINTERS = {0x8769, 0x8825, 0xa005}

    def __init__(self, order="<"):
        self.order = order
        self.data = (b"II" if order == "<" else b"MM") + struct.pack(order + "HI", 42, 0)

    def pack(self, kind, *values):
        return struct.pack(f"{self.order}{len(values)}{'H' if kind == 3 else 'I'}", *values)

    def put(self, body):
        self.data += bytes(len(self.data) % 2) + body
        return len(self.data) - len(body)

    def directory(self, fields, next_one=0):
        """Of {tag: (type, bytes)}; returns its offset."""
        entries = b""
        for tag, (kind, body) in sorted(fields.items()):
            place = body.ljust(4, b"\0") if len(body) <= 4 else struct.pack(self.order + "I", self.put(body))
            entries += struct.pack(self.order + "HHI", tag, kind, len(body) // self.SIZES[kind]) + place
        return self.put(struct.pack(self.order + "H", len(fields)) + entries + struct.pack(self.order + "I", next_one))

    def end(self, fields, next_one=0):
        at = self.directory(fields, next_one)
        return self.data[:4] + struct.pack(self.order + "I", at) + self.data[8:]

    @classmethod
    def read(cls, data, at=None):
        """{tag: bytes, or for another directory such a table}."""
        order = "<" if data[:2] == b"II" else ">"
        at = struct.unpack(order + "I", data[4:8])[0] if at is None else at
        fields = {}
        for i in range(struct.unpack_from(order + "H", data, at)[0]):
            tag, kind, count, place = struct.unpack_from(order + "HHII", data, at + 2 + 12 * i)
            size = cls.SIZES[kind] * count
            fields[tag] = cls.read(data, place) if tag in cls.POINTERS else data[place:place + size] if size > 4 else data[
                at + 10 + 12 * i:at + 10 + 12 * i + size]
        assert list(fields) == sorted(fields), fields
        return fields


def exif_in(data):
    """EXIF data of a file."""
    if data[:2] == b"\xff\xd8":
        at = data.index(b"Exif\0\0") + 6
        return data[at:at - 8 + struct.unpack_from(">H", data, at - 8)[0]]
    at = data.index(b"eXIf" if data[:4] == b"\x89PNG" else b"EXIF") + 4
    if data[:4] == b"\x89PNG":
        return data[at:at + struct.unpack_from(">I", data, at - 8)[0]]
    return data[at + 4:at + 4 + struct.unpack_from("<I", data, at)[0]]


class Tiff(harness.Case):
    TEXTS = {0x010d: b"A title\0", 0x010e: b"Described\0", 0x010f: b"Maker\0", 0x0110: b"M1\0", 0x0131: b"Program\0",
             0x0132: b"2026:01:02 03:04:05\0", 0x013b: b"Painter\0", 0x8298: b"(c)\0"}

    def setUp(self):
        super().setUp()
        if "tiff" not in self.succeed("formats"):
            self.skipTest("a build without TIFF")

    def exif(self, order):
        """What a camera writes: with an orientation, a resolution and a thumbnail."""
        made = Directories(order)
        interop = made.directory({1: (2, b"R98\0")})
        exif = made.directory({0x829a: (5, made.pack(4, 1, 125)), 0x9003: (2, b"2026:02:03 04:05:06\0"), 0x927c: (7, b"note of a maker"),
                               0xa002: (4, made.pack(4, 8)), 0xa003: (4, made.pack(4, 4)), 0xa005: (4, made.pack(4, interop))})
        gps = made.directory({1: (2, b"N\0"), 2: (5, made.pack(4, 1, 1, 2, 1, 7, 2))})
        fields = {tag: (2, text) for tag, text in self.TEXTS.items()}
        fields |= {0x0112: (3, made.pack(3, 6)), 0x011a: (5, made.pack(4, 300, 1)), 0x011b: (5, made.pack(4, 200, 1)),
                   0x0128: (3, made.pack(3, 2)), 0x0213: (3, made.pack(3, 1)), 0x8769: (4, made.pack(4, exif)), 0x8825: (13, made.pack(4, gps))}
        return made.end(fields, made.directory({0x0103: (3, made.pack(3, 6))}))

    def check(self, fields, order, turned=True):
        """The fields that exif() has, of a picture that was turned upright."""
        pack = Directories(order).pack
        for tag, text in self.TEXTS.items():
            self.assertEqual(fields[tag], text)
        exif = fields[0x8769]
        self.assertEqual((exif[0x829a], exif[0x9003], exif[0x927c]), (pack(4, 1, 125), b"2026:02:03 04:05:06\0", b"note of a maker"))
        self.assertEqual((exif[0xa002], exif[0xa003], exif[0xa005]), (pack(4, 4), pack(4, 8), {1: b"R98\0"}))
        self.assertEqual(fields[0x8825], {1: b"N\0", 2: pack(4, 1, 1, 2, 1, 7, 2)})
        self.assertIn(fields.get(0x0112), (None, pack(3, 1)))

    def copied(self, name, out, said=""):
        done = self.run_command("-i", name, "-o", out)
        self.assertEqual((done.returncode, done.stderr), (0, said and f"filterchain: warning: {out}: {LOST}{said}\n"))
        return self.read(out)

    def pixels(self, name):
        self.succeed("-q", "-i", name, "-o", "pixels.npy")
        return self.read("pixels.npy")

    def test_exif(self):
        """Into TIFF, with the fields of a camera and author where TIFF readers look for them, and out of it into every format."""
        harness.write_png(self.path("plain.png"), [bytes(range(9 * y, 9 * y + 8)) for y in range(4)], 1)
        self.succeed("-i", "plain.png", "-o", "plain.jpg")
        plain = self.read("plain.jpg")
        for order in "<>":
            exif = b"Exif\0\0" + self.exif(order)
            self.write("in.jpg", plain[:2] + b"\xff\xe1" + struct.pack(">H", 2 + len(exif)) + exif + plain[2:])
            made = Directories.read(self.copied("in.jpg", "out.tif", "thumbnail"))
            self.check(made, order)
            pack = Directories(order).pack
            self.assertEqual((made[0x0100], made[0x0101], made[0x011a], made[0x011b]), (pack(3, 4), pack(3, 8), pack(4, 200, 1), pack(4, 300, 1)))
            self.assertNotIn(0x0213, made)  # how the JPEG was coded
            self.assertEqual(self.pixels("out.tif"), self.pixels("in.jpg"))
            for out in ("out.png", "out.jpg") + (("out.webp:lossless",) if "webp" in self.succeed("formats") else ()):
                said = "resolution" if "webp" in out else ""
                name = out.partition(":")[0]
                done = self.run_command("-i", "out.tif", "-o", out)
                self.assertEqual((done.returncode, done.stderr), (0, said and f"filterchain: warning: {name}: {LOST}{said}\n"))
                block = exif_in(self.read(name))
                self.assertLess(len(block), len(exif))
                self.check(Directories.read(block), order)
            again = Directories.read(self.copied("out.tif", "again.tif"))
            self.check(again, order)
            self.assertEqual((again[0x011a], again[0x011b]), (made[0x011a], made[0x011b]))
            self.assertEqual(self.pixels("again.tif"), self.pixels("in.jpg"))

    def test_texts_of_png(self):
        """Those that EXIF has too go into TIFF and JPEG; the rest is named."""
        harness.write_png(self.path("plain.png"), [b"12", b"34"], 1)
        plain = self.read("plain.png")
        texts = [b"Title\0A title", b"Description\0Described", b"Software\0Program", b"Author\0Zo\xeb"]
        for exif in (b"", self.exif(">")):
            chunks = [b"tEXt" + text for text in texts] + [b"iTXtCopyright\0\0\0\0\0\xc2\xa9"] + ([b"eXIf" + exif] if exif else [])
            body = b"".join(struct.pack(">I", len(one) - 4) + one + struct.pack(">I", zlib.crc32(one)) for one in chunks)
            self.write("in.png", plain[:33] + body + plain[33:])
            for out in ("out.tif", "out.jpg"):
                data = self.copied("in.png", out, "thumbnail" if exif and out == "out.tif" else "")
                made = Directories.read(data if out == "out.tif" else exif_in(data))
                if exif:
                    self.check(made, ">")
                else:
                    self.assertEqual([made[tag] for tag in (0x010d, 0x010e, 0x0131, 0x013b, 0x8298)],
                                     [b"A title\0", b"Described\0", b"Program\0", "Zo\u00eb\0".encode(), "\u00a9\0".encode()])
            self.copied("in.png", "out.bmp", "texts, EXIF" if exif else "texts")
        self.write("in.png", plain[:33] + struct.pack(">I", 9) + b"tEXtMood\0calm" + struct.pack(">I", zlib.crc32(b"tEXtMood\0calm")) + plain[33:])
        self.copied("in.png", "out.tif", "texts")

    def test_one_description(self):
        """A comment is the description of a TIFF file that has no other."""
        harness.write_png(self.path("plain.png"), [b"12", b"34"], 1)
        plain = self.read("plain.png")
        for text, said in ((b"", ""), (b"a comment", ""), (b"another", "comment")):
            one = b"tEXtComment\0a comment"
            body = struct.pack(">I", len(one) - 4) + one + struct.pack(">I", zlib.crc32(one))
            if text:
                one = b"tEXtDescription\0" + text
                body += struct.pack(">I", len(one) - 4) + one + struct.pack(">I", zlib.crc32(one))
            self.write("in.png", plain[:33] + body + plain[33:])
            made = Directories.read(self.copied("in.png", "out.tif", said))
            self.assertEqual(made[0x010e], (text or b"a comment") + b"\0")

    def image(self, fields, order="<"):
        """A file of one pixel."""
        made = Directories(order)
        numbers = {256: 1, 257: 1, 258: 8, 259: 1, 262: 1, 277: 1, 278: 1, 279: 1, 273: made.put(b"\x80")}
        return made.end({tag: (3, made.pack(3, value)) for tag, value in numbers.items()} | fields)

    def test_odd_directories(self):
        """A directory that points to itself, to nothing or beyond the end; values that overlap are more than the file."""
        pack = Directories().pack
        loop = self.image({0x8769: (4, pack(4, 8)), 0x010f: (2, b"Maker\0")})
        own = struct.unpack("<I", loop[4:8])[0]
        for at, found in ((own, True), (0, False), (7, False), (len(loop) - 1, False), (len(loop) + 9, False), (0xffffffff, False)):
            self.write("in.tif", loop.replace(struct.pack("<HHII", 0x8769, 4, 1, 8), struct.pack("<HHII", 0x8769, 4, 1, at)))
            made = Directories.read(exif_in(self.copied("in.tif", "out.png")))
            self.assertEqual((made[0x010f], 0x8769 in made), (b"Maker\0", found))
        many = Directories()
        text = many.put(b"x" * 5000)
        entries = b"".join(struct.pack("<HHII", tag, 2, 5000, text) for tag in range(40000, 40100))
        whole = self.image({})
        at = struct.unpack("<I", whole[4:8])[0]
        rest = whole[at + 2:at + 2 + 12 * 9]
        head = many.data + struct.pack("<H", 109) + rest + entries + bytes(4)
        self.write("in.tif", head[:4] + struct.pack("<I", text + 5000) + head[8:])
        self.copied("in.tif", "out.png", "EXIF")

    def test_fields_without_a_place_are_named(self):
        fields = {33723: (7, b"a caption of the press"), 34377: (7, b"8BIM of Photoshop"), 33550: (5, bytes(16)), 34735: (3, b"geo!"), 65000: (4, b"1234")}
        self.write("in.tif", self.image(fields))
        for out in ("out.png", "out.tif"):
            self.copied("in.tif", out, "GeoTIFF, IPTC, Photoshop, TIFF field 65000")


class Wav(harness.Case):
    def filtered(self, data, *stages, said="", out="out.wav"):
        """The chunks of what a chain makes of a file; what it says on the way."""
        self.write("in.wav", data)
        arguments = [word for stage in stages for word in ("-p", stage)]
        done = self.run_command("-i", "in.wav", "-o", out, *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, said and f"filterchain: warning: {out}: {said}\n")
        return chunks_of(self.read(out))

    def rich(self):
        return wav(chunk(b"bext", bext(5 << 32)), chunk(b"cart", cart(100, 700)),
                   chunk(b"cue ", cues(50, 200, 500, 1000)), chunk(b"smpl", loops((60, 80), (210, 400), (300, 499))),
                   chunk(b"LIST", labels(b"one", b"two!", b"three", b"four")),
                   chunk(b"plst", struct.pack("<7I", 2, 1, 10, 1, 2, 10, 1)))

    def test_untouched(self):
        """Whatever is wrong with what a file says, it is said again of the whole of it."""
        data = wav(chunk(b"cue ", cues(5, 5000)), chunk(b"smpl", loops((900, 1200))))
        for stages in ([], ["gain:1"], ["conv1d:[0,1,0]"], ["stft:frame=64:hop=16:out=re,im", "istft:frame=64:hop=16:length=1000"]):
            before = chunks_of(data)
            after = self.filtered(data, *stages)
            self.assertEqual((after[b"cue "], after[b"smpl"]), (before[b"cue "], before[b"smpl"]), stages)

    def test_a_part(self):
        """What counts samples is left out, and named in one warning, where the chain has moved them; the rest goes over, and the time
        of day is that of the first sample."""
        self.write("half.txt", "0.5 0.5\n")
        for stage, lead in (("crop:start=100:length=400", 100), ("crop:length=300", 0), ("conv1d:[1,2,3,4]:mode=valid", 0),
                            ("matrix:half.txt:block=2:axis=x", 0)):
            after = self.filtered(self.rich(), stage, said=LOST + "cue, smpl, labels, plst")
            self.assertEqual(set(after), {b"fmt ", b"data", b"bext", b"cart"}, stage)
            self.assertEqual(after[b"bext"], bext((5 << 32) + lead))
        after = self.filtered(self.rich(), "gain:1")
        self.assertEqual(after[b"cue "], cues(50, 200, 500, 1000))

    def test_into_others(self):
        """Texts go over, of bext too; the rest is named."""
        self.assertEqual(self.filtered(self.rich(), out="out.aiff",
                                       said=LOST + "cart, cue, smpl, labels, plst, ORIGINATOR, ORIGINATOR_REFERENCE, ORIGINATION_DATE, "
                                       "ORIGINATION_TIME, TIME_REFERENCE")[b"ANNO"], b"take")
        self.filtered(self.rich(), out="out.flac", said=LOST + "cart, cue, smpl, labels, plst")
        for text in (b"DESCRIPTION=take", b"ORIGINATOR=us", b"ORIGINATION_DATE=2026-01-01"):
            self.assertIn(text, self.read("out.flac"))

    def test_bext_there_and_back(self):
        """Its texts go into comments and CAF, and back; the time reference is that of the first frame that is kept."""
        whole = bytearray(bext(5 << 32) + b"A=PCM,F=8000\r\n\0")
        whole[346] = 1  # the version
        for middle in ("flac", "ogg", "caf", "mp3"):
            for stages, lead in (((), 0), (("crop:start=100:length=400",), 100), (("crop:length=300",), 0)):
                self.filtered(wav(chunk(b"bext", bytes(whole))), *stages, out="out." + middle)
                for name in ("back.wav", "back.w64"):
                    self.succeed("-q", "-i", "out." + middle, "-o", name)
                expected = bytes(whole[:338]) + struct.pack("<Q", (5 << 32) + lead) + bytes(whole[346:])
                back = chunks_of(self.read("back.wav"))
                self.assertEqual((back[b"bext"], back.get(b"INFO", b"").count(b"take")), (expected, 0), (middle, stages))
                self.assertIn(expected, self.read("back.w64"))
        self.filtered(wav(chunk(b"bext", bytes(whole))), "resample:rate=4000", said=LOST + "TIME_REFERENCE", out="out.flac")
        whole[348] = whole[412] = 1
        self.filtered(wav(chunk(b"bext", bytes(whole))), said=LOST + "UMID, loudness", out="out.flac")

    def test_what_bext_cannot_hold(self):
        """A text that is too long, and a time that cannot be read, are named; a long description goes into a comment."""
        self.filtered(wav(chunk(b"bext", bext(7))), out="out.flac")
        data = self.read("out.flac")
        for name, value, said in ((b"ORIGINATOR=us", b"us" * 17, "ORIGINATOR"), (b"TIME_REFERENCE=7", b"noon", "TIME_REFERENCE"),
                                  (b"DESCRIPTION=take", b"take" * 65, "")):
            at = data.index(name)
            key = name[:name.index(b"=") + 1]
            body = data[:at - 4] + struct.pack("<I", len(key + value)) + key + value + data[at + len(name):]
            more = len(key + value) - len(name)
            start = next(place for place in self.blocks(data) if place[1] == 4)[0]
            size = int.from_bytes(body[start + 1:start + 4], "big") + more
            self.write("in.flac", body[:start + 1] + size.to_bytes(3, "big") + body[start + 4:])
            done = self.run_command("-i", "in.flac", "-o", "out.wav")
            self.assertEqual((done.returncode, done.stderr), (0, said and f"filterchain: warning: out.wav: {LOST}{said}\n"))
            made = chunks_of(self.read("out.wav"))
            self.assertEqual(made[b"bext"][320:330], b"2026-01-01")
            self.assertEqual(value in made.get(b"INFO", b""), not said)

    @staticmethod
    def blocks(data):
        """Offset and kind of each block of a FLAC file."""
        at, found = 4, []
        while not found or not data[found[-1][0]] & 128:
            found.append((at, data[at] & 127))
            at += 4 + int.from_bytes(data[at + 1:at + 4], "big")
        return found

    def test_more_chunks_than_are_looked_at(self):
        """Behind the samples they are left out with a word, ahead of them nothing is found."""
        many = chunk(b"abcd", b"12") * 5000
        plain = wav()
        data = plain + many
        self.write("in.wav", data[:4] + struct.pack("<I", len(data) - 8) + data[8:])
        done = self.run_command("-i", "in.wav", "-o", "out.wav")
        self.assertEqual((done.returncode, done.stderr), (0, f"filterchain: warning: out.wav: {LOST}chunks beyond the first 4096\n"))
        self.write("in.wav", wav(many))
        self.assertEqual(self.fails(1, "-i", "in.wav", "-o", "out.wav"), "in.wav: holds more than 4096 chunks ahead of its samples")

    def test_damaged(self):
        """Counts beyond the end, entries that are cut off, and sizes that lead out."""
        for kind, body in ((b"cue ", b"\xff" * 30), (b"cue ", b"\1"), (b"smpl", b"\xff" * 40), (b"plst", b"\xff" * 9),
                           (b"LIST", b"adtllabl\xff\xff\xff\xff\1\0\0\0"), (b"LIST", b"adtlltxt\x05\0\0\0\1\0\0\0\1"), (b"LIST", b"adtllabl"), (b"bext", b"short"),
                           (b"cart", b"short")):
            self.write("in.wav", wav(chunk(kind, body)))
            done = self.run_command("-i", "in.wav", "-o", "out.wav", "-p", "crop:start=3")
            self.assertEqual(done.returncode, 0, (kind, done.stderr))

    def test_a_chunk_without_a_name(self):
        """It goes over like any other, and what follows it; what cannot be a chunk is told."""
        data = wav(chunk(b"a\x01\x80z", b"odd"), chunk(b"iXML", b"<x/>"))
        self.assertEqual(self.filtered(data, "gain:1"), chunks_of(data))
        self.succeed("-i", "-", "-o", "piped.wav", "-p", "gain:1", input=data, text=False)
        self.assertEqual(self.read("piped.wav"), self.read("out.wav"))
        data += chunk(b"\x02\xffcd", b"odd") + chunk(b"cart", cart(5))
        data = data[:4] + struct.pack("<I", len(data) - 8) + data[8:]
        self.assertEqual(self.filtered(data, "gain:1"), chunks_of(data))
        self.filtered(data + chunk(b"   \n", b"odd"), "gain:1", out="out.flac",
                      said=LOST + "0x6101807a, iXML, 0x02ff6364, cart, 0x2020200a")
        self.write("filled.wav", wav(chunk(b"iXML", b"<x/>")) + bytes(4096))
        self.succeed("-i", "filled.wav", "-o", "out.wav")

    def test_lists_of_other_kinds(self):
        """Words where others have sizes, and texts without the byte that makes them even: they go over as they are."""
        odd = b"INFOINAM\5\0\0\0four\0IART\3\0\0\0me\0ICMT\6\0\0\0hello\0"
        for body in (b"UFAP" + chunk(b"abcd", b"hello!"), b"UFAPbma\0" + bytes(9), b"wavl" + chunk(b"slnt", bytes(4)), odd):
            for data in (wav(chunk(b"LIST", body)), wav() + chunk(b"LIST", body)):
                data = data[:4] + struct.pack("<I", len(data) - 8) + data[8:]
                self.assertEqual(self.filtered(data, "gain:1"), chunks_of(data))
                self.run_command("-i", "in.wav", "-o", "out.flac")
                for word in (b"TITLE=four", b"ARTIST=me", b"COMMENT=hello"):
                    self.assertEqual(word in self.read("out.flac"), body.startswith(b"INFO"))

    def test_a_large_front_in_a_pipe(self):
        """Not all of it is seen ahead, and what is behind may lead libsndfile astray: it is kept in a file, with all its chunks."""
        endless = b"adtl" + b"ltx1" + struct.pack("<I", 0xfffffff4) + bytes(16)
        for more in (chunk(b"abcd", b"odd"), chunk(b"\1\2\3\4", b"odd"), chunk(b"LIST", endless)):
            data = self.read(self.write("in.wav", wav(chunk(b"iXML", bytes(70000)), more)))
            done = self.run_command("-i", "-", "-p", "gain:1", "-o", "piped.wav", input=data, text=False, timeout=harness.SOON)
            self.assertEqual(done.returncode, 0, done.stderr)
            whole, piped = chunks_of(data), chunks_of(self.read("piped.wav"))
            self.assertEqual(piped[b"data"], whole[b"data"])
            if endless not in whole.values():
                self.assertEqual((piped, done.stderr), (whole, b""))

    def test_big_endian_and_damaged(self):
        """Counts and sizes beyond the end, entries that are cut off."""
        for kind, body in ((b"cue ", b"\0\0\1\0" * 9), (b"cue ", b"\xff" * 30), (b"cue ", b"\1"), (b"smpl", b"\xff" * 41), (b"plst", b"\xff" * 9),
                           (b"LIST", b"adtllabl\0\0\0\1\0\0\0\1"), (b"LIST", b"adtllabl\xff\xff\xff\xff\1\0\0\0"), (b"LIST", b"adtlltxt\0\0\0\5\1\0\0\0\1"),
                           (b"LIST", b"ad"), (b"bext", bytes(346) + b"\1"), (b"cart", bytes(682))):
            body = b"WAVE" + chunk(b"fmt ", struct.pack(">HHIIHH", 1, 1, 8000, 16000, 2, 16), True) + chunk(kind, body, True) + \
                chunk(b"data", bytes(200), True)
            self.write("in.wav", b"RIFX" + struct.pack(">I", len(body)) + body)
            for out in ("out.wav", "out.aiff"):
                done = self.run_command("-i", "in.wav", "-o", out, "-p", "crop:start=3")
                self.assertEqual(done.returncode, 0, (kind, done.stderr))


class Aiff(harness.Case):
    def test_a_part(self):
        marks = struct.pack(">H", 1) + struct.pack(">HI6p", 1, 50, b"start")
        instrument = struct.pack(">6bh6h", 60, 0, 0, 127, 1, 127, 0, 1, 2, 7, 1, 1, 2)
        self.write("in.aiff", aiff(chunk(b"MARK", marks, True), chunk(b"INST", instrument, True), chunk(b"NAME", b"A title ", True)))
        for stage, said in (("gain:1", ""), ("crop:start=100", f"filterchain: warning: out.aiff: {LOST}MARK, INST\n")):
            done = self.run_command("-i", "in.aiff", "-o", "out.aiff", "-p", stage)
            self.assertEqual((done.returncode, done.stderr), (0, said))
            after = chunks_of(self.read("out.aiff"))
            self.assertEqual((after.get(b"MARK"), after[b"NAME"]), (None if said else marks, b"A title "))

    def test_comments(self):
        """As sox writes them; one about a marker is no comment of the sound."""
        texts = ((0, b"said of it "), (3, b"of a marker"))
        body = struct.pack(">H", len(texts)) + b"".join(
            struct.pack(">IHH", 0xe728a67a, marker, len(text)) + text + b"\0" * (len(text) % 2) for marker, text in texts)
        self.write("in.aiff", aiff(chunk(b"COMT", body, True)))
        self.succeed("-i", "in.aiff", "-o", "out.flac")
        self.assertIn(b"COMMENT=said of it ", self.read("out.flac"))
        self.assertNotIn(b"of a marker", self.read("out.flac"))
        self.succeed("-i", "in.aiff", "-o", "out.aiff")
        self.assertEqual(chunks_of(self.read("out.aiff"))[b"COMT"], body)

    def test_damaged(self):
        for kind, body in ((b"MARK", b"\xff\xff\0\1\0\0\0\1\xff"), (b"COMT", b"\xff\xff\0\0\0\0\0\1\xff\xff"), (b"INST", b"a")):
            self.write("in.aiff", aiff(chunk(kind, body, True)))
            done = self.run_command("-i", "in.aiff", "-o", "out.aiff", "-p", "crop:start=3")
            self.assertIn(done.returncode, (0, 1), (kind, done.stderr))  # libsndfile refuses some


def caf(*chunks):
    body = b"caff" + struct.pack(">HH", 1, 0)
    for kind, content in ((b"desc", struct.pack(">d4s5I", 8000, b"lpcm", 0, 2, 1, 1, 16)), *chunks,
                          (b"data", bytes(4) + struct.pack(f">{FRAMES}h", *range(FRAMES)))):
        body += kind + struct.pack(">q", len(content)) + content
    return body


def caf_chunks(data):
    at, found = 8, {}
    while at + 12 <= len(data):
        kind, length = struct.unpack(">4sq", data[at:at + 12])
        found[kind] = data[at + 12:at + 12 + length]
        at += 12 + length
    return found


def caf_mark(number, frame):
    return struct.pack(">IdI8sI", 0, frame, number, b"", 0)


def caf_marks(*frames):
    return struct.pack(">II", 0, len(frames)) + b"".join(caf_mark(*mark) for mark in frames)


def caf_regions(*regions):
    return struct.pack(">II", 0, len(regions)) + b"".join(
        struct.pack(">III", i + 1, 0, len(marks)) + b"".join(caf_mark(*mark) for mark in marks)
        for i, marks in enumerate(regions))


class Caf(harness.Case):
    def test_a_part(self):
        marks = caf_marks((1, 50), (2, 200.5))
        self.write("in.caf", caf((b"mark", marks), (b"regn", caf_regions([(4, 20), (5, 300)]))))
        for stage, said in (("gain:1", ""), ("crop:start=100", f"filterchain: warning: out.caf: {LOST}mark, regn\n")):
            done = self.run_command("-i", "in.caf", "-o", "out.caf", "-p", stage)
            self.assertEqual((done.returncode, done.stderr), (0, said))
            self.assertEqual(caf_chunks(self.read("out.caf")).get(b"mark"), None if said else marks)

    def test_an_odd_number_of_bytes(self):
        """No byte makes them even there: what follows them is found."""
        self.write("in.caf", caf((b"uuid", b"y" * 16)).replace(struct.pack(">5I", 0, 2, 1, 1, 16), struct.pack(">5I", 0, 1, 1, 1, 8)))
        self.succeed("-i", "in.caf", "-p", "crop:length=333", "-o", "out.caf")
        self.succeed("-i", "out.caf", "-p", "gain:1", "-o", "again.caf")
        for name in ("out.caf", "again.caf"):
            after = caf_chunks(self.read(name))
            self.assertEqual((after[b"uuid"], len(after[b"data"])), (b"y" * 16, 4 + 333))

    def test_damaged(self):
        for kind, body in ((b"mark", b"\xff" * 40), (b"regn", b"\xff" * 40), (b"mark", b"\0"), (b"regn", caf_regions([])[:11])):
            self.write("in.caf", caf((kind, body)))
            done = self.run_command("-i", "in.caf", "-o", "out.caf", "-p", "crop:start=3")
            self.assertEqual(done.returncode, 0, (kind, done.stderr))


def sheet(end, *tracks, cd=False):
    """A cue sheet of tracks: a place, and points of a number and a place from there on."""
    body = b"1234567890123".ljust(128, b"\0") + struct.pack(">QB258xB", 88200 if cd else 0, 128 * cd, len(tracks) + 1)
    for number, (place, *points) in tracks:
        body += struct.pack(">QB12sB13xB", place, number, b"CODE%08d" % number, 0, len(points))
        body += b"".join(struct.pack(">QB3x", at, point) for point, at in points)
    return body + struct.pack(">QB12xx13xB", end, 170 if cd else 255, 0)


class Texts(harness.Case):
    def test_in_no_encoding(self):
        """FLAC, Ogg and CAF have UTF-8; libsndfile frees a text twice that is none. Elsewhere the bytes are kept."""
        for name, stored in ((b"Zo\xeb", "Zo\u00eb"), ("Zo\u00eb".encode(), "Zo\u00eb"), (b"\xff\xfe\x80", "\u00ff\u00fe\u20ac"),
                             (b"\x93a\x94 \x80 \x96 \x92\x81\x9f", "\u201ca\u201d \u20ac \u2013 \u2019\x81\u0178")):
            self.write("in.aiff", aiff(chunk(b"NAME", b"A title", True), chunk(b"AUTH", name, True)))
            for ending in ("flac", "ogg"):
                self.succeed("-i", "in.aiff", "-o", "out." + ending)
                data = self.read("out." + ending)
                for text in ("A title", stored):
                    self.assertIn(b"=" + text.encode(), data)
            self.succeed("-i", "in.aiff", "-o", "out.caf")
            self.assertIn(b"artist\0" + stored.encode() + b"\0", self.read("out.caf"))
            self.succeed("-i", "in.aiff", "-o", "out.wav")
            self.assertIn(name, self.read("out.wav"))


    def both_ways(self, data, out):
        """What comes of it by name, and of it through a pipe, which must be the same; what is said, without the name."""
        ending = self.write("in." + {b"RIFF": "wav", b"FORM": "aiff", b"caff": "caf"}[data[:4]], data)
        done = self.run_command("-i", ending, "-o", out)
        self.assertEqual(done.returncode, 0, done.stderr)
        made = self.read(out)
        piped = self.run_command("-i", "-", "-o", out, input=data, text=False)
        self.assertEqual((piped.returncode, piped.stderr.decode()), (0, done.stderr.replace(ending, "standard input")))
        self.assertEqual(self.read(out), made)
        return made, done.stderr.replace("filterchain: warning: " + out + ": ", "").strip()

    def test_long_ones(self):
        """libsndfile leaves out long ones and all behind them, or refuses the file."""
        for length in (100, 2046, 2047, 5000, 9000, 15000):
            text = b"".join(b"%d, " % i for i in range(length))[:length]
            riff = wav(chunk(b"LIST", b"INFO" + chunk(b"ICMT", text) + chunk(b"INAM", b"A title\0") + chunk(b"IPRD", b"An album")))
            form = aiff(chunk(b"ANNO", text, True), chunk(b"NAME", b"A title", True))
            both = caf((b"info", struct.pack(">I", 2) + b"comments\0" + text + b"\0title\0A title\0"))
            for data in (riff, form, both):
                for out in ("out.wav", "out.aiff", "out.caf", "out.flac", "out.ogg", "out.w64"):
                    made, said = self.both_ways(data, out)
                    self.assertEqual((made.count(text), made.count(b"A title")), (1, 1), (data[:4], length, out))
                    album = data is riff and out == "out.aiff"
                    self.assertEqual(said, LOST + "ALBUM" if album else "")
                self.succeed("-i", "out.aiff", "-o", "back.wav")
                self.assertIn(text, self.read("back.wav"))

    def test_comments_that_reach_too_far(self):
        """In a pipe libsndfile reads on behind them, among the samples."""
        for body in (struct.pack(">HIHH", 1, 0, 0, 900) + b"far", struct.pack(">HIHH3sx", 2, 0, 0, 3, b"odd") + struct.pack(">IHH2s", 0, 0, 2, b"ok"),
                     struct.pack(">HIHH", 1, 0, 0, 9000) + bytes(9000)):
            self.both_ways(aiff(chunk(b"COMT", body, True)), "out.wav")
            self.assertEqual(chunks_of(self.read("out.wav"))[b"data"], struct.pack(f"<{FRAMES}h", *range(FRAMES)))


class ForeignTexts(harness.Case):
    """Texts that other programs write under names of their own."""

    def copied(self, name, data, out, said=""):
        done = self.run_command("-i", self.write(name, data), "-o", out)
        self.assertEqual((done.returncode, done.stderr), (0, said))
        return self.read(out)

    def test_annotation(self):
        """AU's, which goes into a comment; its own writer here has none."""
        sound = struct.pack(f">{FRAMES}h", *range(FRAMES))
        for text, begins in ((b"who said it\0", 36), (b"\0\0\0\0", 28), (b"", 24), (b"no end", 30)):
            file = b".snd" + struct.pack(">IIIII", begins, len(sound), 3, 8000, 1) + text + sound
            word = text.rstrip(b"\0")
            lost = f"filterchain: warning: out.au: {LOST}COMMENT\n" if word else ""
            self.assertEqual(self.copied("in.au", file, "out.au", lost)[24:], sound)
            made = self.copied("in.au", file, "out.wav")
            self.assertEqual(b"ICMT" in made, bool(word))
            self.assertIn(word, made)
            self.assertIn(b"comment=" + word if word else b"", self.copied("in.au", file, "out.flac").replace(b"COMMENT", b"comment"))

    def test_track_number(self):
        body = b"INFO" + chunk(b"IPRT", b"5\0")
        self.assertIn(b"TRACKNUMBER=5", self.copied("in.wav", wav(chunk(b"LIST", body)), "out.flac").upper())

    def test_of_a_caf_file(self):
        """The program, and speakers that are where they are anyway."""
        for channels, tag in ((1, 100 << 16 | 1), (2, 101 << 16 | 2)):
            form = struct.pack(">d4sIIIII", 8000, b"lpcm", 0, 2 * channels, 1, channels, 16)
            pieces = ((b"desc", form), (b"chan", struct.pack(">III", tag, 0, 0)), (b"info", struct.pack(">I", 1) + b"encoder\0somebody\0"),
                      (b"data", bytes(4) + bytes(200 * channels)))
            file = b"caff\0\1\0\0" + b"".join(kind + struct.pack(">q", len(body)) + body for kind, body in pieces)
            for ending in ("flac", "wav", "ogg"):
                self.assertIn(b"somebody", self.copied("in.caf", file, "out." + ending))


class Mpeg(harness.Case):
    """Of an ID3 tag texts and pictures go over; the rest is named."""
    FRAMES = [(b"TIT2", b"\0a title"), (b"APIC", b"\0image/png\0\3\0" + bytes(300)), (b"TCOM", b"\0us"), (b"APIC", b"\0image/png\0\4\0x")]

    def tagged(self, version):
        frames = b""
        for kind, body in self.FRAMES:
            size = len(body)
            if version == 2:
                frames += {b"TIT2": b"TT2", b"APIC": b"PIC", b"TCOM": b"TCM"}[kind] + struct.pack(">I", size)[1:] + body
            else:
                frames += kind + struct.pack(">I", size if version == 3 else size >> 7 << 8 | size & 127) + b"\0\0" + body
        frames += bytes(50)
        tag = b"ID3" + bytes([version, 0, 0, 0, 0, len(frames) >> 7, len(frames) & 127])
        return tag + frames + (b"\xff\xfb\x90\x64" + bytes(413)) * 30

    def test_what_a_tag_holds(self):
        """Cover art, and texts that nobody here has heard of, go into FLAC; of what WAV has no place for each is named."""
        for version in (2, 3, 4):
            self.write("in.mp3", self.tagged(version))
            done = self.run_command("-i", "in.mp3", "-o", "out.flac")
            said = f"filterchain: warning: out.flac: {LOST}PIC\n" if version == 2 else ""  # libmpg123 reads none of those
            self.assertEqual((done.returncode, done.stderr), (0, said))
            made = self.read("out.flac")
            pictures = [body for kind, body in harness.flac_blocks(made)[0] if kind == 6]
            self.assertEqual([(body[3], body[-4:]) for body in pictures], [(3, bytes(4)), (4, b"\0\0\1x")] if version > 2 else [])
            for text in (b"TITLE=a title", b"COMPOSER=us"):
                self.assertIn(text, made)
            done = self.run_command("-i", "in.mp3", "-o", "out.wav")
            self.assertEqual((done.returncode, done.stderr), (0, f"filterchain: warning: out.wav: {LOST}" + ("COMPOSER, PIC\n" if version == 2 else "picture, COMPOSER\n")))
            self.assertIn(b"a title", self.read("out.wav"))

    def test_there_and_back(self):
        """Texts and cover art of FLAC go into MP3, and from there into FLAC and Ogg."""
        image = bytes(range(256)) * 40
        picture = struct.pack(">II9sI1sIIIII", 3, 9, b"image/png", 1, b"a", 0, 0, 0, 0, len(image)) + image
        harness.write_wav(self.path("in.wav"), [i % 3000 for i in range(20000)], rate=44100)
        self.succeed("-i", "in.wav", "-o", "plain.flac")
        data = self.read("plain.flac")
        fields = [b"TITLE=A title", b"MOOD=calm", b"COMMENT=said"]
        body = bytes(4) + struct.pack("<I", len(fields)) + b"".join(struct.pack("<I", len(f)) + f for f in fields)
        blocks = b"\4" + struct.pack(">I", len(body))[1:] + body + b"\6" + struct.pack(">I", len(picture))[1:] + picture
        self.write("in.flac", data[:42] + blocks + data[42:])
        self.succeed("-i", "in.flac", "-o", "out.mp3")
        self.assertEqual(self.read("out.mp3")[:4], b"ID3\4")
        self.succeed("-i", "out.mp3", "-o", "back.flac")
        made = self.read("back.flac")
        self.assertEqual([body for kind, body in harness.flac_blocks(made)[0] if kind == 6], [picture])
        for field in fields:
            self.assertIn(field, made)
        self.succeed("-i", "back.flac", "-o", "back.npy")
        self.succeed("-i", "in.wav", "-o", "in.npy")
        self.assertEqual(len(self.read("back.npy")), len(self.read("in.npy")))

    def test_other_frames(self):
        """The length of the file is none of another one; what is neither text nor picture is named."""
        for more, word in ((b"TLEN", ""), (b"PRIV", "PRIV"), (b"GEOB", "GEOB")):
            self.FRAMES = [(b"TIT2", b"\0a title"), (more, b"\x001000")]
            done = self.run_command("-i", self.write("in.mp3", self.tagged(3)), "-o", "out.flac")
            said = f"filterchain: warning: out.flac: {LOST}{word}\n" if word else ""
            self.assertEqual((done.returncode, done.stderr), (0, said))

    def test_zeros_between_tag_and_frames(self):
        """As some fill a tag up without counting it; behind one tag or two."""
        good, first = self.tagged(3), b"ID3\4\0\0\0\0\0\x10" + bytes(16)
        frames = good.index(b"\xff\xfb\x90")
        self.succeed("-q", "-i", self.write("in.mp3", good), "-o", "want.wav")
        for ahead, zeros in itertools.product((b"", first), (0, 1, 100, 5000, 70000)):
            data = ahead + good[:frames] + bytes(zeros) + good[frames:]
            self.succeed("-q", "-i", self.write("in.mp3", data), "-o", "out.wav")
            self.succeed("-q", "-i", "-", "-o", "piped.wav", input=data, text=False)
            self.assertEqual(chunks_of(self.read("out.wav"))[b"data"], chunks_of(self.read("want.wav"))[b"data"])
            self.assertEqual(self.read("piped.wav"), self.read("out.wav"))
            if not ahead:
                self.assertEqual(self.read("out.wav"), self.read("want.wav"))
        self.fails(1, "-i", self.write("in.mp3", good[:frames] + bytes(9000)), "-o", "out.wav")

    def test_damaged(self):
        """Sizes that lead anywhere."""
        good = self.tagged(3)
        for at in range(3, 40):
            for value in (0, 0x7f, 0xff):
                self.write("in.mp3", good[:at] + bytes([value]) + good[at + 1:])
                self.assertIn(self.run_command("-i", "in.mp3", "-o", "out.wav", timeout=harness.SOON).returncode, (0, 1))


class Flac(harness.Case):
    def test_a_sheet(self):
        """The cue sheet stays with samples that stay."""
        whole = sheet(FRAMES, *self.TRACKS, cd=True)
        self.assertEqual(self.part(whole, "gain:1"), whole)
        self.assertIsNone(self.part(whole, "crop:length=640", said=LOST + "cue sheet"))

    TRACKS = ((1, (0, (1, 0))), (2, (300, (0, 0), (1, 50), (2, 250), (3, 280))), (3, (600, (1, 0))), (4, (900, (1, 0), (2, 99))))

    def part(self, body, *stages, said=""):
        """The cue sheet of a part of a sound that had this one, or None."""
        harness.write_wav(self.path("in.wav"), range(FRAMES))
        self.succeed("-i", "in.wav", "-o", "plain.flac")
        data = self.read("plain.flac")
        self.write("in.flac", data[:42] + b"\5" + struct.pack(">I", len(body))[1:] + body + data[42:])
        done = self.run_command("-i", "in.flac", "-o", "out.flac", *(word for stage in stages for word in ("-p", stage)))
        if done.returncode:
            self.assertRegex(done.stderr, r"\Afilterchain: in\.flac: cannot be read as FLAC: [^\n]+\n\Z")
            return None  # libFLAC looks at it too
        self.assertEqual(done.stderr, said and f"filterchain: warning: out.flac: {said}\n")
        self.succeed("-i", "out.flac", "-o", "out.wav", "-q")
        found = [body for kind, body in harness.flac_blocks(self.read("out.flac"))[0] if kind == 5]
        return found[0] if found else None


if __name__ == "__main__":
    harness.main()
