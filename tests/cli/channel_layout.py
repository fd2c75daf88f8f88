#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Where the channels of a sound are: in WAV a mask, in FLAC a comment, in CAF and AIFF a chunk of several kinds. Files are put together
and taken apart here; every sample must stay where it was, and what cannot be said is named."""
import os
import struct
import unittest

import harness

FRAMES = 40
LOST = "metadata of the input that is left out: "
COMMENT = "WAVEFORMATEXTENSIBLE_CHANNEL_MASK"
BITS, NOWHERE = 1 << 16, 147 << 16
MPEG_5_1_A, MPEG_5_1_B, HEADPHONES, MID_SIDE = 121 << 16 | 6, 122 << 16 | 6, 102 << 16 | 2, 104 << 16 | 2
MPEG_6_1_A, MPEG_7_1_A, MPEG_7_1_C = 125 << 16 | 7, 126 << 16 | 8, 128 << 16 | 8


def samples_of(channels):
    return [(i // channels + 1) * 100 + i % channels for i in range(FRAMES * channels)]


def wav(channels, mask, chunks=b"", order="<", kind=1):
    """16 bits in the extended form."""
    form = struct.pack(order + "HHIIHHHHIH", 0xfffe, channels, 48000, 96000 * channels, 2 * channels, 16, 22, 16, mask, kind)
    form += bytes.fromhex("000000001000800000aa00389b71")
    data = struct.pack(f"{order}{FRAMES * channels}h", *samples_of(channels))
    body = b"WAVEfmt " + struct.pack(order + "I", len(form)) + form + chunks + b"data" + struct.pack(order + "I", len(data)) + data
    return (b"RIFF" if order == "<" else b"RIFX") + struct.pack(order + "I", len(body)) + body


def layout(tag, bits=0, labels=(), tail=b""):
    return struct.pack(">III", tag, bits, len(labels)) + b"".join(struct.pack(">II3f", label, 0, 0, 0, 0) for label in labels) + tail


def caf(channels, *layouts):
    form = struct.pack(">d4sIIIII", 48000, b"lpcm", 0, 2 * channels, 1, channels, 16)
    data = bytes(4) + struct.pack(f">{FRAMES * channels}h", *samples_of(channels))
    pieces = [(b"desc", form)] + [(b"chan", body) for body in layouts] + [(b"data", data)]
    return b"caff\0\1\0\0" + b"".join(kind + struct.pack(">q", len(body)) + body for kind, body in pieces)


def aiff(channels, *layouts):
    form = struct.pack(">hIh10s", channels, FRAMES, 16, bytes.fromhex("400ebb80000000000000"))
    data = bytes(8) + struct.pack(f">{FRAMES * channels}h", *samples_of(channels))
    pieces = [(b"COMM", form)] + [(b"CHAN", body) for body in layouts] + [(b"SSND", data)]
    body = b"AIFF" + b"".join(kind + struct.pack(">I", len(body)) + body + bytes(len(body) % 2) for kind, body in pieces)
    return b"FORM" + struct.pack(">I", len(body)) + body


def mask_of(data):
    """That of a WAV file; None: it has no place for one."""
    assert data[12:16] == b"fmt "
    return struct.unpack("<I", data[40:44])[0] if data[20:22] == b"\xfe\xff" else None


def layouts_of(data):
    """The bodies of all such chunks in a CAF or AIFF file, or in any other."""
    head, big = (8, ">q") if data[:4] == b"caff" else (12, ">I")
    at, found = head, []
    while at < len(data):
        kind, size = data[at:at + 4], struct.unpack(big, data[at + 4:at + 4 + struct.calcsize(big)])[0]
        at += 4 + struct.calcsize(big)
        if kind in (b"chan", b"CHAN"):
            found.append(data[at:at + size])
        at += size if big == ">q" else size + size % 2
    return found


def comments_of(data):
    body, = [body for kind, body in harness.flac_blocks(data)[0] if kind == 4]
    at, found = 4 + struct.unpack("<I", body[:4])[0] + 4, []
    while at < len(body):
        size, = struct.unpack("<I", body[at:at + 4])
        found.append(body[at + 4:at + 4 + size].decode())
        at += 4 + size
    return found


def flac(data, *fields):
    """With these comments for its own."""
    blocks, rest = harness.flac_blocks(data)
    body = struct.pack("<II", 0, len(fields)) + b"".join(struct.pack("<I", len(field)) + field.encode() for field in fields)
    blocks = [(kind, old if kind != 4 else body) for kind, old in blocks]
    heads = [struct.pack(">I", len(body) | kind << 24 | (i == len(blocks) - 1) << 31) for i, (kind, body) in enumerate(blocks)]
    return b"fLaC" + b"".join(head + body for head, (_, body) in zip(heads, blocks)) + rest


class ChannelLayout(harness.Case):
    def run_command(self, *arguments, **options):
        """Without what libvorbis loses of memory when it encodes surround."""
        leaks = os.path.join(harness.SOURCE, "tests", "fuzz", "leaks.txt")
        environment = {**harness.fixed_environment(), "LSAN_OPTIONS": f"suppressions={leaks}:print_suppressions=0"}
        return super().run_command(*arguments, env=environment, **options)

    def copied(self, data, out, *stages, said=()):
        """A copy, of which these things are said."""
        self.write("in", data)
        done = self.run_command("-i", "in", "-o", out, *[word for stage in stages for word in ("-p", stage)])
        self.assertEqual((done.returncode, done.stderr), (0, "".join(f"filterchain: warning: {out}: {line}\n" for line in said)))
        made = self.read(out)
        if not stages and not out.endswith((".ogg", ".opus")):
            self.succeed("-i", out, "-o", "samples.raw")
            count = len(self.read("samples.raw")) // FRAMES // 2
            self.assertEqual(list(struct.unpack(f"<{FRAMES * count}h", self.read("samples.raw"))), samples_of(count))
        return made

    def flac_of(self, channels, *fields):
        self.write("plain", wav(channels, 0))
        self.succeed("-i", "plain", "-o", "plain.flac")
        return flac(self.read("plain.flac"), *fields)

    def test_a_comment(self):
        """As flac writes it: of all that is said of more than two channels, and of fewer what is not usual."""
        title = b"LIST" + struct.pack("<I", 4 + 8 + 6) + b"INFOINAM" + struct.pack("<I", 6) + b"Title\0"
        for channels, mask, text in ((1, 0x4, None), (1, 0x1, "0x0001"), (2, 0x3, None), (2, 0x600, "0x0600"), (3, 0x7, "0x0007"), (3, 0xb, "0x000B"),
                                     (6, 0x3f, "0x003F"), (6, 0x60f, "0x060F"), (6, 0, None), (8, 0x63f, "0x063F"), (2, 0x60000000, "0x60000000")):
            with self.subTest(channels=channels, mask=mask):
                made = self.copied(wav(channels, mask, title), "out.flac")
                wanted = [f"{COMMENT}={text}"] if text else []
                self.assertEqual([field for field in comments_of(made) if COMMENT in field], wanted)
                self.assertIn("TITLE=Title", [field.replace("title", "TITLE") for field in comments_of(made)])
                self.assertEqual(self.copied(made, "again.flac"), made)
                self.assertEqual(comments_of(self.succeed("-i", "in", "-o", "-", "--format", "flac", text=False)), comments_of(made))
                self.assertEqual(mask_of(self.copied(made, "out.wav")), mask if text else {2: None, 1: None}.get(channels, 0x60f))

    def test_of_a_comment(self):
        """In any case and length; what is not a number is a text like another, and so is 0, which says nothing."""
        for field, mask in ((COMMENT + "=0x3f", 0x3f), (COMMENT.lower() + "=0X0000003F", 0x3f), (COMMENT + "=0x137", 0x137)):
            for out in ("out.wav", "out.rf64"):
                self.assertEqual(mask_of(self.copied(self.flac_of(6, "TITLE=t", field), "out.wav")), mask)
        for value in ("", "63", "0x", "0x0", "0x3g", "0x3f ", "0x1ffffffff", "0x00000000000000000003f"):
            field = f"{COMMENT}={value}"
            made = self.flac_of(6, field)
            self.assertEqual(mask_of(self.copied(made, "out.wav")), 0x60f)
            self.assertEqual(comments_of(self.copied(made, "out.flac")), [field])

    def test_a_chunk(self):
        """A list that everybody knows, or the mask itself."""
        for channels, mask, body in ((3, 0xb, layout(133 << 16 | 3)), (6, 0x60f, layout(MPEG_5_1_A)), (6, 0x3f, layout(BITS, 0x3f)),
                                     (2, 0x3, layout(101 << 16 | 2)), (8, 0x63f, layout(BITS, 0x63f)), (6, 0x137, layout(BITS, 0x137)),
                                     (1, 0x4, None), (6, 0, None)):
            for out in ("out.caf", "out.aiff"):
                with self.subTest(mask=mask, out=out):
                    self.assertEqual(layouts_of(self.copied(wav(channels, mask), out)), [body] if body else [])
        self.assertEqual(layouts_of(self.copied(wav(3, 0x3), "out.caf", said=[LOST + "channel mask"])), [])

    def test_of_a_chunk(self):
        """By a list, by bits and by labels, where they stand as in WAV; one channel says nothing, and neither do some lists."""
        for channels, body, mask in ((6, layout(MPEG_5_1_A), 0x60f), (6, layout(187 << 16 | 6), 0x3f), (8, layout(189 << 16 | 8), 0x63f),
                                     (6, layout(BITS, 0x137), 0x137), (3, layout(0, 0, (1, 2, 4)), 0xb), (6, layout(0, 0, (1, 2, 3, 4, 33, 34)), 0x3f),
                                     (6, layout(0, 0, (1, 2, 3, 4, 10, 11)), 0x60f), (2, layout(101 << 16 | 2), 0x3), (1, layout(0, 0, (42,)), 0x4), (1, layout(100 << 16 | 1), None)):
            for make in (caf, aiff):
                with self.subTest(body=body, make=make):
                    self.assertEqual(mask_of(self.copied(make(channels, body), "out.wav")), mask)
                    self.assertEqual(any(COMMENT in field for field in comments_of(self.copied(make(channels, body), "out.flac"))),
                                     bool(mask) and channels > 2)
                    self.assertEqual(layouts_of(self.copied(make(channels, body), "out." + ("caf" if make == caf else "aiff"))), [body])
                    self.copied(make(channels, body), "out." + ("aiff" if make == caf else "caf"))
                    self.assertEqual(mask_of(self.copied(self.read("out." + ("aiff" if make == caf else "caf")), "out.wav")) or 0,
                                     0 if channels == 1 else mask)

    def test_no_mask_can_say_it(self):
        """Other orders, and places that WAV has none of: that is told."""
        for channels, body in ((6, layout(MPEG_5_1_B)), (7, layout(MPEG_6_1_A)), (8, layout(MPEG_7_1_A)), (8, layout(MPEG_7_1_C)), (2, layout(HEADPHONES)), (2, layout(MID_SIDE)), (3, layout(0, 0, (3, 1, 2))),
                               (3, layout(0, 0, (1, 2, 400))), (3, layout(0, 0, (1, 2, 2)))):
            for make, word, other in ((caf, "chan", "aiff"), (aiff, "CHAN", "caf")):
                for out, title in (("wav", "WAV"), ("flac", "FLAC"), ("ogg", "Ogg"), ("w64", "W64"), ("au", "AU")):
                    self.copied(make(channels, body), "out." + out, said=[LOST + word])
                self.copied(make(channels, body), "out." + other, said=[LOST + word])

    def test_packed_samples(self):
        """Of ADPCM WAV has no place for it."""
        form = struct.pack(">hIh10s4sH", 1, 2, 16, bytes.fromhex("400ebb80000000000000"), b"ima4", 0)
        for body, said in ((layout(0, 0, (1,)), True), (layout(100 << 16 | 1), False)):
            pieces = [(b"COMM", form), (b"CHAN", body), (b"SSND", bytes(8 + 2 * 34))]
            chunks = b"AIFC" + b"".join(kind + struct.pack(">I", len(piece)) + piece for kind, piece in pieces)
            self.write("in", b"FORM" + struct.pack(">I", len(chunks)) + chunks)
            done = self.run_command("-i", "in", "-o", "out.wav")
            warning = f"filterchain: warning: out.wav: {LOST + 'channel mask'}\n" if said else ""
            self.assertEqual((done.returncode, done.stderr, self.read("out.wav")[20:22]), (0, warning, b"\x11\0"))

    def test_packed_bytes(self):
        """Of samples of a byte an odd number is one, in every container."""
        form = struct.pack("<HHIIHH", 7, 1, 8000, 8000, 1, 8)
        body = b"WAVEfmt " + struct.pack("<I", len(form)) + form + b"data" + struct.pack("<I", 7) + bytes(range(7)) + b"\0"
        self.write("in.wav", b"RIFF" + struct.pack("<I", len(body)) + body)
        self.succeed("-i", "in.wav", "-o", "in.raw")
        for out in ("aiff", "caf", "au", "w64", "rf64", "wav"):
            self.succeed("-i", "in.wav", "-o", "out." + out)
            self.succeed("-i", "out." + out, "-o", "back.raw")
            self.assertEqual(self.read("back.raw"), self.read("in.raw"), out)

    def test_big_endian(self):
        """RIFX in the extended form, which libsndfile does not read by itself; of samples that are none it says so."""
        for channels, mask in ((6, 0x60f), (3, 0xb), (6, 0)):
            self.assertEqual(self.copied(wav(channels, mask, order=">"), "out.wav"), self.copied(wav(channels, mask), "plain.wav"))
            piped = self.run_command("-i", "-", "-o", "out.wav", input=wav(channels, mask, order=">"), text=False)
            self.assertEqual((piped.returncode, self.read("out.wav")), (0, self.read("plain.wav")))
        self.write("in", wav(2, 0, order=">", kind=0x1234))
        done = self.run_command("-i", "in", "-o", "out.wav")
        self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1))

    def test_damaged_chunks(self):
        """What is wrong in them is wrong in no other file, and nothing is read beyond them."""
        wrong = [layout(0, 0, (1, 2))[:-1], layout(0, 0, (1, 2, 4))[:-1], layout(0, 0, (1, 2)), struct.pack(">III", 0, 0, 0xffffffff), layout(BITS, 0x7fff0000), layout(BITS, 0x3),
                 layout(MPEG_5_1_A), layout(5), layout(0xdead0003), struct.pack(">III", 0, 0, 0x0ccccccd) + bytes(60)]
        for body in wrong:
            for make, word in ((caf, "chan"), (aiff, "CHAN")):
                self.assertEqual(mask_of(self.copied(make(3, body), "out.wav", said=[LOST + word])), 0)
        for body in (b"", b"1234567", layout(5)[:-1]):
            self.copied(caf(3, body), "out.wav", said=[LOST + "chan"])
        self.assertEqual(mask_of(self.copied(caf(3, layout(133 << 16 | 3), layout(BITS, 7)), "out.wav")), 0xb)

    def test_layouts_of_vorbis(self):
        """Back and sides are one there, if nobody moves; other places are warned of, and a comment stays."""
        for channels, mask, fits in ((4, 0x33, True), (4, 0x603, True), (6, 0x3f, True), (6, 0x60f, True), (7, 0x70f, True), (7, 0x13f, False), (4, 0x107, False)):
            for out, title in (("ogg", "Ogg"), ("opus", "Opus")):
                field = f"{COMMENT}=0x{mask:x}"
                self.copied(wav(channels, mask), "out." + out, said=() if fits else [LOST + "channel mask"])
                made = self.copied(self.flac_of(channels, field), "out." + out)
                self.assertIn(field.encode(), made)
                self.succeed("-i", "out." + out, "-o", "again." + out)
                self.succeed("-i", "again." + out, "-o", "back.flac")
                self.assertEqual(comments_of(self.read("back.flac")), [field])

    def test_other_channels(self):
        """Their places change, with a warning where the places are unusual."""
        self.write("two.txt", "1 0 0\n0 1 0\n")
        stage = "matrix:two.txt:axis=channel"
        for data, usual, word in ((wav(3, 0xb), wav(3, 0x7), "channel mask"), (caf(3, layout(BITS, 0xb)), caf(3, layout(BITS, 0x7)), "channel mask"),
                                  (self.flac_of(3, COMMENT + "=0xb"), self.flac_of(3, COMMENT + "=0x7"), "channel mask")):
            for out in ("wav", "w64", "aiff", "au"):
                made = self.copied(data, "out." + out, stage, said=[LOST + word])
                self.copied(usual, "out." + out, stage)
                if out == "wav":
                    self.assertIn(mask_of(made), (0, None))
                if out == "aiff":
                    self.assertEqual(layouts_of(made), [])
        self.copied(wav(3, 0xb), "out.flac", stage, said=[LOST + "channel mask"])
        self.assertEqual(mask_of(self.copied(wav(3, 0xb), "out.wav", "gain:1")), 0xb)


if __name__ == "__main__":
    harness.main()
