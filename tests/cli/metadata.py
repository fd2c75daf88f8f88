#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a sound file says of places in it, when the chain keeps but a part: moved, or left out with a word.
Files are put together and taken apart here, chunk by chunk."""
import itertools
import re
import struct
import unittest

import harness

FRAMES = 1000


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
        after = self.filtered(self.rich(), "crop:start=100:length=400", "gain:1",
                              said="not in what is kept of the input, and left out: 2 cue points, 1 loop, 1 timer")
        self.assertEqual(cue_places(after[b"cue "]), [(2, 100, 100), (3, 400, 400)])
        self.assertEqual(after[b"smpl"], struct.pack("<9I", 1, 2, 3, 60, 0, 0, 0, 2, 4) +
                         struct.pack("<6I", 2, 0, 110, 300, 0, 0) + struct.pack("<6I", 3, 0, 200, 399, 0, 0) + b"data")
        self.assertEqual(after[b"adtl"], labels(b"x", b"two!", b"three")[:4] + labels(b"x", b"two!", b"three")[18:])
        self.assertEqual(after[b"plst"], struct.pack("<4I", 1, 2, 10, 1))
        self.assertEqual(after[b"bext"], bext((5 << 32) + 100))
        self.assertEqual(after[b"cart"][684:748], struct.pack("<4sI", b"MRK ", 0) + bytes(56))

    def test_regions_end_with_the_part(self):
        """A label may have a length, which is of the part what is in it."""
        def regions(*lengths):
            return b"adtl" + b"".join(chunk(b"ltxt", struct.pack("<II4sHHHH", i + 1, length, b"rgn ", 0, 0, 0, 0) + b"words"[:i])
                                      for i, length in enumerate(lengths))
        data = wav(chunk(b"LIST", regions(30, 250, 900, 0xffffffff)), chunk(b"cue ", cues(150, 200, 100, 400)))
        after = self.filtered(data, "crop:start=100:length=300")
        self.assertEqual(after[b"adtl"], regions(30, 200, 300, 0))
        self.assertEqual(self.filtered(data, "gain:1")[b"adtl"], regions(30, 250, 900, 0xffffffff))

    def test_two_crops(self):
        """From 30 on, and of that from 20 on."""
        after = self.filtered(self.rich(), "crop:start=30", "crop:start=20")
        self.assertEqual([place for _, _, place in cue_places(after[b"cue "])], [0, 150, 450, 950])

    def test_the_beginning(self):
        after = self.filtered(self.rich(), "crop:length=300",
                              said="not in what is kept of the input, and left out: 2 cue points, 2 loops, 1 timer")
        self.assertEqual([place for _, _, place in cue_places(after[b"cue "])], [50, 200])
        self.assertEqual(after[b"bext"], bext(5 << 32))

    def test_places_that_mean_nothing(self):
        """A filter without borders has less to say, and of nothing in particular."""
        self.write("in.wav", self.rich())
        done = self.run_command("-i", "in.wav", "-o", "out.wav", "-p", "conv1d:[1,2,3,4]:mode=valid")
        self.assertEqual(done.stderr.count("no longer fits the samples, and is left out\n"), 4, done.stderr)
        self.assertEqual(done.stderr.count("out.wav: not in what is kept of the input, and left out: 2 timers\n"), 1, done.stderr)
        self.assertEqual(chunks_of(self.read("out.wav"))[b"cart"], cart())
        self.assertEqual(set(chunks_of(self.read("out.wav"))), {b"fmt ", b"data", b"bext", b"cart"})

    def test_another_rate(self):
        """The time of day is the same at half the rate."""
        self.write("half.txt", "0.5 0.5\n")
        done = self.run_command("-i", self.write("in.wav", self.rich()), "-o", "out.wav", "-p", "matrix:half.txt:block=2:axis=x")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(chunks_of(self.read("out.wav"))[b"bext"], bext(5 << 31))
        self.assertIn("left out: 2 timers\n", done.stderr)
        self.assertEqual(chunks_of(self.read("out.wav"))[b"cart"], cart())
        self.write("twice.txt", "1\n1\n")
        self.succeed("-i", self.write("in.wav", wav(chunk(b"bext", bext((1 << 64) - 1)))), "-o", "out.wav", "-p", "matrix:twice.txt:block=1:axis=x")
        self.assertEqual(chunks_of(self.read("out.wav"))[b"bext"], bext((1 << 64) - 1))

    def test_more_chunks_than_are_looked_at(self):
        """Behind the samples they are left out with a word, ahead of them nothing is found."""
        many = chunk(b"abcd", b"12") * 5000
        plain = wav()
        data = plain + many
        self.write("in.wav", data[:4] + struct.pack("<I", len(data) - 8) + data[8:])
        done = self.run_command("-i", "in.wav", "-o", "out.wav")
        self.assertEqual((done.returncode, done.stderr), (0, "filterchain: warning: in.wav: holds more than 4096 chunks; those from "
                                                          f"byte {len(plain) + 4094 * 10} on are left out\n"))
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

    def test_many_cue_points(self):
        """libsndfile's own structure for them ends at 100."""
        after = self.filtered(wav(chunk(b"cue ", cues(*range(150)))), "crop:start=10", out="out.aiff",
                              said="not in what is kept of the input, and left out: 10 cue points")
        self.assertEqual(struct.unpack(">H", after[b"MARK"][:2]), (140,))
        self.succeed("-i", "out.aiff", "-o", "back.wav")
        self.assertEqual([place for _, _, place in cue_places(chunks_of(self.read("back.wav"))[b"cue "])], list(range(140)))

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
                      said="FLAC has no place for what else is in the input, and it is left out: 0x6101807a, iXML, 0x02ff6364, "
                      "cart, 0x2020200a")
        data += chunk(b"bext", bext(1)) + b"\1\2\3\4" * 4
        data = data[:4] + struct.pack("<I", len(data) - 8) + data[8:]
        self.write("in.wav", data)
        done = self.run_command("-i", "in.wav", "-o", "out.wav")
        self.assertEqual((done.returncode, done.stderr), (0, f"filterchain: warning: in.wav: from byte {len(data) - 16} on it "
                                                          "holds no chunks, and what that is is left out\n"))
        self.assertEqual(chunks_of(self.read("out.wav"))[b"bext"], bext(1))
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
                for word in (b"title=four", b"artist=me", b"comment=hello"):
                    self.assertEqual(word in self.read("out.flac"), body.startswith(b"INFO"))

    def test_a_large_front_in_a_pipe(self):
        """Not all of it is seen ahead, and what is behind may lead libsndfile astray: it is kept in a file, with all its chunks."""
        endless = b"adtl" + b"ltx1" + struct.pack("<I", 0xfffffff4) + bytes(16)
        for more in (chunk(b"abcd", b"odd"), chunk(b"\1\2\3\4", b"odd"), chunk(b"LIST", endless)):
            data = self.read(self.write("in.wav", wav(chunk(b"iXML", bytes(70000)), more)))
            done = self.run_command("-i", "-", "-p", "gain:1", "-o", "piped.wav", input=data, text=False, timeout=10)
            self.assertEqual(done.returncode, 0, done.stderr)
            whole, piped = chunks_of(data), chunks_of(self.read("piped.wav"))
            self.assertEqual(piped[b"data"], whole[b"data"])
            if endless not in whole.values():
                self.assertEqual((piped, done.stderr), (whole, b""))

    def test_big_endian(self):
        """As in RIFF: numbers in the other order of bytes, from a pipe too, and in what libsndfile makes of it."""
        def turned(kind, body):
            """The chunk of RIFX that says the same."""
            body = bytearray(body)
            numbers = {b"cue ": [(0, 4)] + [(4 + 24 * i + at, 4) for i in range(4) for at in (0, 4, 12, 16, 20)],
                       b"smpl": [(at, 4) for at in range(0, 36 + 72, 4)], b"plst": [(at, 4) for at in range(0, 28, 4)],
                       b"bext": [(338, 4), (342, 4), (346, 2)], b"cart": [(680, 4), (688, 4), (696, 4)]}
            if kind == b"LIST":
                at = 4
                while at < len(body):
                    size, = struct.unpack("<I", body[at + 4:at + 8])
                    fields = [(at + 4, 4)]
                    if body[:4] == b"adtl":
                        fields.append((at + 8, 4))
                    if body[at:at + 4] == b"ltxt":
                        fields += [(at + 12, 4)] + [(at + k, 2) for k in (20, 22, 24, 26)]
                    for place, width in fields:
                        body[place:place + width] = body[place:place + width][::-1]
                    at += 8 + size + size % 2
            for place, width in numbers.get(kind, ()):
                body[place:place + width] = body[place:place + width][::-1]
            return chunk(kind, bytes(body), True)

        notes = labels(b"one", b"two!") + chunk(b"ltxt", struct.pack("<II4sHHHH", 2, 30, b"rgn ", 1, 2, 3, 4) + b"word")
        parts = [(b"bext", bext((5 << 32) + 6)[:346] + b"\1\0" + bytes(254)), (b"cart", cart(100, 700)),
                 (b"cue ", cues(50, 200, 500, 1000)), (b"smpl", loops((60, 80), (210, 400), (300, 499))), (b"LIST", notes),
                 (b"plst", struct.pack("<7I", 2, 1, 10, 1, 2, 10, 1)), (b"iXML", b"<x/>"),
                 (b"LIST", b"INFO" + chunk(b"INAM", b"A title\0"))]
        fmt = chunk(b"fmt ", struct.pack(">HHIIHH", 1, 1, 8000, 16000, 2, 16), True)
        data = chunk(b"data", struct.pack(f">{FRAMES}h", *range(FRAMES)), True)
        some = b"".join(turned(*part) for part in parts)
        for body, ahead in ((b"WAVE" + fmt + some + data, True), (b"WAVE" + fmt + data + some, False)):
            rifx, riff = b"RIFX" + struct.pack(">I", len(body)) + body, wav(*(chunk(*part) for part in parts))
            for stages in ([], ["crop:start=100:length=400"]):
                said = "not in what is kept of the input, and left out: 2 cue points, 1 loop, 1 timer" if stages else ""
                self.assertEqual(self.filtered(rifx, *stages, said=said), self.filtered(riff, *stages, said=said))
                if ahead:
                    arguments = [word for stage in stages for word in ("-p", stage)]
                    done = self.run_command("-i", "-", "-o", "piped.wav", *arguments, input=rifx, text=False)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertEqual(chunks_of(self.read("piped.wav")), chunks_of(self.read("out.wav")))
        self.write("in.wav", rifx)
        self.run_command("-i", "in.wav", "-o", "out.aiff")
        self.write("in.wav", riff)
        self.run_command("-i", "in.wav", "-o", "same.aiff")
        self.assertEqual(chunks_of(self.read("out.aiff"))[b"MARK"], chunks_of(self.read("same.aiff"))[b"MARK"])
        body = b"WAVE" + fmt + chunk(b"acid", bytes(24), True) + data
        self.write("in.wav", b"RIFX" + struct.pack(">I", len(body)) + body)
        done = self.run_command("-i", "in.wav", "-o", "out.wav")
        self.assertIn("its chunk acid, in big-endian WAV of no known order of bytes, is left out", done.stderr)

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

    def test_a_second_list_of_cue_points(self):
        """The first that has any counts."""
        for data, out, kind in ((wav(chunk(b"cue ", cues()), chunk(b"cue ", cues(50, 200)), chunk(b"cue ", cues(7))), "out.aiff", b"MARK"),
                                (aiff(chunk(b"MARK", b"\0\0", True), chunk(b"MARK", struct.pack(">HHIBxHIBx", 2, 1, 50, 0, 2, 200, 0), True)),
                                 "out.wav", b"cue ")):
            after = self.filtered(data, out=out)[kind]
            places = [place for _, _, place in cue_places(after)] if kind == b"cue " else \
                [struct.unpack(">I", after[at:at + 4])[0] for at in (4, 12)]
            self.assertEqual((places, len(after)), ([50, 200], 52 if kind == b"cue " else 18), kind)

    def test_into_aiff(self):
        """By way of libsndfile."""
        after = self.filtered(self.rich(), "crop:start=100", out="out.aiff",
                              said="AIFF has no place for what else is in the input, and it is left out: bext, cart, smpl, "
                              "labels, plst\nfilterchain: warning: out.aiff: not in what is kept of the input, and left out: "
                              "1 cue point")
        count, = struct.unpack(">H", after[b"MARK"][:2])
        self.assertEqual((count, struct.unpack(">HI", after[b"MARK"][2:8])[1]), (3, 100))


class Aiff(harness.Case):
    def test_a_part(self):
        marks = struct.pack(">H", 3) + struct.pack(">HI6p", 1, 50, b"start") + struct.pack(">HI4p", 2, 200, b"end") + \
            struct.pack(">HI4pH", 7, 600, b"two", 0)[:10]
        instrument = struct.pack(">6bh6h", 60, 0, 0, 127, 1, 127, 0, 1, 2, 7, 1, 1, 2)
        remark = struct.pack(">HIHH3sx", 1, 99, 1, 3, b"why")
        self.write("in.aiff", aiff(chunk(b"MARK", marks, True), chunk(b"INST", instrument, True),
                                   chunk(b"COMT", remark, True)))
        done = self.run_command("-i", "in.aiff", "-o", "out.aiff", "-p", "crop:start=100")
        self.assertEqual((done.returncode, done.stderr), (0, "filterchain: warning: out.aiff: not in what is kept of the "
                                                          "input, and left out: 1 cue point\n"))
        after = chunks_of(self.read("out.aiff"))
        self.assertEqual(after[b"MARK"], struct.pack(">H", 2) + struct.pack(">HI4p", 2, 100, b"end") +
                         struct.pack(">HI4p", 7, 500, b"two"))
        self.assertEqual(after[b"INST"], instrument[:14] + bytes(6))
        self.assertEqual(after[b"COMT"], struct.pack(">HIHH3sx", 1, 99, 0, 3, b"why"))

    def test_comments(self):
        """As sox writes them; of another rate, and of a part. One about a marker is no comment of the sound."""
        def comments(*texts):
            return chunk(b"COMT", struct.pack(">H", len(texts)) + b"".join(
                struct.pack(">IHH", 0xe728a67a, marker, len(text)) + text + b"\0" * (len(text) % 2) for marker, text in texts), True)
        program = chunk(b"APPL", b"m3gaMy prog", True)
        lost = " has no place for what else is in the input, and it is left out: "
        self.write("half.txt", "0.5 0.5\n")
        for parts, named in (([comments((0, b"said of it ")), program], ""), ([comments((0, b"said of it")), chunk(b"ANNO", b"other", True)], "COMT"),
                             ([comments((0, b"said of it"), (0, b"more"))], "COMT"), ([comments((3, b"why"), (0, b"said of it"))], "COMT"),
                             ([comments((0, b"said of it"), (0, b"said of it"))], ""), ([chunk(b"APPL", b"stoc\1\2", True)], "APPL"), ([comments()], ""),
                             ([comments((0, b"said of it")) + b"junk"], "COMT")):
            data = aiff(*parts)
            if parts[0].endswith(b"junk"):
                at = data.index(b"COMT") + 4
                data = data[:at] + struct.pack(">I", len(parts[0]) - 8) + data[at + 4:]
            for out, title, word, software in (("wav", "WAV", b"ICMT", b"ISFT"), ("flac", "FLAC", b"comment=", b"software="),
                                               ("ogg", "Ogg", b"COMMENT=", b"SOFTWARE="), ("caf", "CAF", b"comment\0", b"software\0")):
                for piped in (False, True):
                    self.write("in.aiff", data)
                    done = self.run_command("-i", "-" if piped else "in.aiff", "-o", "out." + out, text=False, **({"input": data} if piped else {}))
                    said = f"filterchain: warning: out.{out}: {title}{lost}{named}\n" if named else ""
                    self.assertEqual((done.returncode, done.stderr.decode()), (0, said), parts)
                    made = self.read("out." + out)
                    if b"said of it" in data and b"other" not in data:
                        self.assertRegex(made, re.escape(word) + rb"(....)?said of it")
                    if program in data:
                        self.assertRegex(made, re.escape(software) + rb"(....)?My prog")
            for stage in ("gain:1", "crop:start=100", "matrix:half.txt:block=2:axis=x"):
                self.succeed("-i", "in.aiff", "-o", "out.aiff", "-p", stage)
                made = chunks_of(self.read("out.aiff"))
                self.assertEqual({kind: made[kind] for kind in (b"COMT", b"ANNO", b"APPL") if kind in made},
                                 {kind: body if kind != b"COMT" or stage[0] != "m" else body.replace(b"\xe7\x28\xa6\x7a\0\3", b"\xe7\x28\xa6\x7a\0\0")
                                  for kind, body in chunks_of(data).items() if kind in (b"COMT", b"ANNO", b"APPL")}, (parts, stage))

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
    def test_an_odd_number_of_bytes(self):
        """No byte makes them even there: what follows them is found."""
        self.write("in.caf", caf((b"uuid", b"y" * 16)).replace(struct.pack(">5I", 0, 2, 1, 1, 16), struct.pack(">5I", 0, 1, 1, 1, 8)))
        self.succeed("-i", "in.caf", "-p", "crop:length=333", "-o", "out.caf")
        self.succeed("-i", "out.caf", "-p", "gain:1", "-o", "again.caf")
        for name in ("out.caf", "again.caf"):
            after = caf_chunks(self.read(name))
            self.assertEqual((after[b"uuid"], len(after[b"data"])), (b"y" * 16, 4 + 333))

    def test_a_part(self):
        self.write("in.caf", caf((b"mark", caf_marks((1, 50), (2, 200.5), (3, 1000))),
                                 (b"regn", caf_regions([(4, 20), (5, 300)], [(6, 150), (7, 300)]))))
        done = self.run_command("-i", "in.caf", "-o", "out.caf", "-p", "crop:start=100")
        self.assertEqual((done.returncode, done.stderr), (0, "filterchain: warning: out.caf: not in what is kept of the "
                                                          "input, and left out: 2 cue points\n"))
        after = caf_chunks(self.read("out.caf"))
        self.assertEqual(after[b"mark"], caf_marks((2, 100.5), (3, 900)))
        self.assertEqual(after[b"regn"][8:], struct.pack(">III", 2, 0, 2) + caf_mark(6, 50) + caf_mark(7, 200))
        self.assertEqual(after[b"regn"][:8], struct.pack(">II", 0, 1))

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
                    self.assertEqual(said, "these texts of the input cannot be stored, and are left out: album" if album else "")
                self.succeed("-i", "out.aiff", "-o", "back.wav")
                self.assertIn(text, self.read("back.wav"))

    def test_too_long_and_unknown_ones(self):
        """They are named, each once."""
        data = wav(chunk(b"LIST", b"INFO" + chunk(b"ICMT", b"x" * 20000) + chunk(b"IENG", b"Who") + chunk(b"INAM", b"A title\0")))
        made, said = self.both_ways(data, "out.caf")
        self.assertIn(b"A title", made)
        self.assertEqual(sorted(said.splitlines()), ["CAF has no place for what else is in the input, and it is left out: IENG",
                                                     "these texts of the input cannot be stored, and are left out: comment"])
        data = wav(chunk(b"LIST", b"INFO" + chunk(b"ICMT", b"x" * 70000) + chunk(b"\1\2\3\4", b"Who") + chunk(b"INAM", b"A title\0")))
        made, said = self.both_ways(data, "out.flac")
        self.assertIn(b"A title", made)
        self.assertEqual(said, "FLAC has no place for what else is in the input, and it is left out: ICMT, texts")

    def test_two_of_a_kind(self):
        """Of which others have but one."""
        made, said = self.both_ways(aiff(chunk(b"AUTH", b"first ", True), chunk(b"AUTH", b"second", True), chunk(b"NAME", b"A title ", True)),
                                    "out.wav")
        self.assertIn(b"A title", made)
        self.assertEqual(said, "WAV has no place for what else is in the input, and it is left out: AUTH")

    def test_behind_a_zero(self):
        """More of a text is told of; zeros that fill it up are none."""
        for data in (aiff(chunk(b"NAME", b"A\0more", True), chunk(b"AUTH", b"whole\0\0\0", True)),
                     wav(chunk(b"LIST", b"INFO" + chunk(b"INAM", b"A\0more\0") + chunk(b"IART", b"whole\0\0\0")))):
            made, said = self.both_ways(data, "out.flac")
            self.assertIn(b"title=A", made)
            self.assertIn(b"artist=whole", made)
            self.assertEqual(said, "FLAC has no place for what else is in the input, and it is left out: " + ("NAME" if data[:4] == b"FORM" else "INAM"))

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
            lost = "filterchain: warning: out.au: AU has no place for what else is in the input, and it is left out: comment\n" if word else ""
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
    """Of an ID3 tag libsndfile reads some texts; the rest is named."""
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
        for version in (2, 3, 4):
            for ending in ("wav", "flac"):
                with self.subTest(version=version, ending=ending):
                    done = self.run_command("-i", self.write("in.mp3", self.tagged(version)), "-o", "out." + ending)
                    word = "TCM" if version == 2 else "TCOM"
                    self.assertEqual((done.returncode, done.stderr), (0, f"filterchain: warning: out.{ending}: of the input's ID3 tag these are "
                                                                      f"not read, and left out: picture, {word}\n"))
                    self.assertIn(b"a title", self.read("out." + ending))
            done = self.run_command("-i", "in.mp3", "-o", "out.au")
            self.assertEqual((done.returncode, done.stderr), (0, "filterchain: warning: out.au: AU has no place for what else is in the input, "
                                                              "and it is left out: title\nfilterchain: warning: out.au: of the input's ID3 tag "
                                                              f"these are not read, and left out: picture, {word}\n"))

    def test_second_texts(self):
        """Of each kind there is one; the length is none."""
        for more, word in (((b"TIT2", b"\0another"), "TIT2"), ((b"COMM", b"\0eng\0a\0"), None), ((b"TLEN", b"\x001000"), None), ((b"TSSE", b"\0us"), None)):
            self.FRAMES = [(b"TIT2", b"\0a title"), (b"TENC", b"\0us"), more] if word or more[0] != b"TSSE" else [(b"TENC", b"\0us"), more]
            word = "TSSE" if more[0] == b"TSSE" else word
            done = self.run_command("-i", self.write("in.mp3", self.tagged(3)), "-o", "out.wav")
            said = f"filterchain: warning: out.wav: of the input's ID3 tag these are not read, and left out: {word}\n" if word else ""
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
                self.assertIn(self.run_command("-i", "in.mp3", "-o", "out.wav", timeout=20).returncode, (0, 1))


class Flac(harness.Case):
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

    def test_a_part(self):
        whole = sheet(FRAMES, *self.TRACKS, cd=True)
        self.assertEqual(self.part(whole, "gain:1"), whole)
        gone = "not in what is kept of the input, and left out: {} cue points"
        self.assertEqual(self.part(whole, "crop:length=640", said=gone.format(1).rstrip("s")),
                         sheet(640, (1, (0, (1, 0))), (2, (300, (0, 0), (1, 50), (2, 250), (3, 280))), (3, (600, (1, 0)))))
        # It begins in the second track's second point, or ahead of its first.
        self.assertEqual(self.part(whole, "crop:start=560:length=350", said=gone.format(1).rstrip("s")),
                         sheet(350, (2, (0, (1, 0), (2, 20))), (3, (40, (1, 0))), (4, (340, (1, 0)))))
        self.assertEqual(self.part(whole, "crop:start=310:length=100", said=gone.format(3)), sheet(100, (2, (0, (0, 0), (1, 40)))))
        self.assertEqual(self.part(sheet(FRAMES, (1, (100, (1, 20)))), "crop:start=110"), sheet(890, (1, (0, (1, 10)))))

    def test_what_makes_no_sense(self):
        """It is left out with a word."""
        said = "the cue sheet of the input no longer fits the samples, and is left out"
        whole = sheet(FRAMES, *self.TRACKS)
        for body in (whole[:-1], whole[:400], whole[:395] + b"\xff" + whole[396:], whole[:395] + b"\0", whole[:20], b"",
                     sheet(FRAMES, (1, (-1 & 0xffffffffffffffff, (1, 0)))), sheet(FRAMES, (1, (0, (1, 1 << 63)))),
                     sheet(FRAMES, (1, (0,))), sheet(FRAMES, (1, (50, (1, 0))))):
            self.assertIsNone(self.part(body, "crop:start=100:length=300" if len(body) > 600 else "crop:length=30", said=said), body)

    def test_samples_that_are_no_longer_those(self):
        self.write("half.txt", "0.5 0.5\n")
        self.assertIsNone(self.part(sheet(FRAMES, *self.TRACKS), "matrix:half.txt:block=2:axis=x",
                                    said="the cue sheet of the input no longer fits the samples, and is left out"))


if __name__ == "__main__":
    harness.main()
