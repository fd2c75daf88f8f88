#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Bad input: each gives one line that names the file, the place, and how to repair it, the right
exit status, no output, and leaves the output that was there as it was."""
import itertools
import json
import os
import random
import resource
import stat
import struct
import unittest

import harness

OLD = b"what was here before"


def ogg_page(page):
    """With the checksum that it should have."""
    page, total = bytearray(page), 0
    page[22:26] = bytes(4)
    for byte in page:
        total ^= byte << 24
        for _ in range(8):
            total = total << 1 ^ (0x104c11db7 if total >> 31 else 0)
    page[22:26] = struct.pack("<I", total)
    return bytes(page)


class DamagedFlac(harness.Case):
    def test_no_damage_passes_in_silence(self):
        """libsndfile gives zeros behind a frame that it cannot decode, and a full count."""
        sound = os.path.join(harness.SOURCE, "examples", "speech.wav")
        self.succeed("-i", sound, "-o", "in.flac")
        self.succeed("-i", sound, "-o", "want.raw", "--format", "raw")
        whole, want = self.read("in.flac"), self.read("want.raw")
        found = 0
        for k in range(40):
            at = len(whole) * 4 // 5 + k * (len(whole) // 5) // 40
            self.write("bad.flac", whole[:at] + bytes([whole[at] ^ 0x10]) + whole[at + 1:])
            done = self.run_command("-i", "bad.flac", "-o", "out.raw", "--format", "raw")
            found += done.returncode != 0
            if done.returncode == 0:
                self.assertEqual(self.read("out.raw"), want, at)
        self.assertGreater(found, 30)


class Bad(harness.Case):
    def setUp(self):
        super().setUp()
        self.sound = "in.wav"
        harness.write_wav(self.path(self.sound), harness.tone(400))
        self.write("mask.txt", "0.25 0.5 0.25\n")

    def expect(self, status, line, *arguments, output="out.wav", **options):
        """The same twice: with no output before, and with one, which must survive."""
        self.assertEqual(self.fails(status, *arguments, "-o", output, **options), line)
        before = self.files()
        self.assertNotIn(output, before)
        folder = os.path.dirname(self.path(output))
        if os.path.isdir(folder) and os.access(folder, os.W_OK):
            self.write(output, OLD)
            self.assertEqual(self.fails(status, *arguments, "-o", output, **options), line)
            self.assertEqual(self.read(output), OLD)
            self.assertEqual(self.files(), sorted(before + [output]))
            os.remove(self.path(output))

    def expect_mask(self, status, line, content):
        self.write("bad.txt", content)
        self.expect(status, line, "-i", self.sound, "-p", "conv1d:bad.txt")


class Inputs(Bad):
    def test_missing_file(self):
        self.expect(1, "no.wav: cannot be opened: No such file or directory", "-i", "no.wav", "-p", "conv1d:mask.txt")

    def test_directory(self):
        os.mkdir(self.path("folder"))
        self.expect(1, "folder: the folder holds no sound, image or array (-r looks in the folders below it too)", "-i", "folder", "-p", "conv1d:mask.txt")

    def test_empty_file(self):
        self.write("empty.wav", "")
        self.expect(1, "empty.wav: is empty", "-i", "empty.wav", "-p", "conv1d:mask.txt")

    def test_text_as_wav(self):
        self.write("text.wav", "Dear Sir,\nthis is a letter and no sound at all.\n")
        self.expect(1, "text.wav: is not a WAV file but text", "-i", "text.wav", "-p", "conv1d:mask.txt")

    def test_another_kind_than_was_said(self):
        for name, said in (("npy", "not an .npy"), ("png", "not a PNG"), ("jpg", "not a JPEG"), ("bmp", "not a BMP")):
            self.expect(1, f"in.wav: is {said} file", "-i", self.sound, "--in-format", name, output="out.npy")
        for name, said in (("flac", "a FLAC"), ("ogg", "an Ogg"), ("opus", "an Opus")):
            self.expect(1, f"in.wav: is not {said} file but WAV", "-i", self.sound, "--in-format", name, output="out.npy")
        self.succeed("-i", self.sound, "-o", "in.flac")
        for name, said in (("wav", "a WAV"), ("aiff", "an AIFF"), ("ogg", "an Ogg")):
            self.expect(1, f"in.flac: is not {said} file but FLAC", "-i", "in.flac", "--in-format", name, output="out.npy")
        self.write("in.mp3", b"\xff\xfb\x94\xc4" + bytes(413))
        for name, said in (("wav", "a WAV"), ("flac", "a FLAC"), ("ogg", "an Ogg"), ("au", "an AU"), ("caf", "a CAF")):
            self.expect(1, f"in.mp3: is not {said} file: its first bytes are ff fb 94 c4, as of MP3", "-i", "in.mp3", "--in-format", name, output="out.npy")
        self.succeed("-i", self.sound, "--in-format", "rf64", "-o", "out.npy")

    def test_a_few_bytes(self):
        """Of a mark that is cut off, of a character, and of text."""
        for name, data, said in (("in.jpg", b"\xff\xd8", "is cut off within its first bytes"),
                                 ("in.png", b"\x89PNG\r\n", "is cut off within its first bytes"),
                                 ("in.wav", b"RIFF\x10\0\0\0WAV", "is cut off within its first bytes"),
                                 ("in.jpg", b"\xc3", "is not a JPEG file, nor of any other known format"),
                                 ("in.jpg", b"Gr\xc3", "is not a JPEG file but text"), ("in.png", b"PNG", "is not a PNG file but text")):
            self.expect(1, f"{name}: {said}", "-i", self.write(name, data))

    def test_truncated_sound(self):
        whole = self.read(self.sound)
        self.write("cut.wav", whole[:444])
        self.expect(1, "cut.wav: is cut off: 400 bytes are missing; --allow-truncated uses the readable part",
                    "-i", "cut.wav", "-p", "conv1d:mask.txt")

    def test_truncated_sound_when_allowed(self):
        self.write("cut.wav", self.read(self.sound)[:444])
        done = self.run_command("-i", "cut.wav", "-o", "out.wav", "--allow-truncated")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r"\Afilterchain: warning: cut\.wav: [^\n]*\n\Z")
        self.assertEqual(harness.read_wav(self.path("out.wav"))[0], harness.read_wav(self.path(self.sound))[0][:200])

    def test_names_that_upset_a_terminal(self):
        """A message is one line without control characters, an error as well as a warning."""
        for name in ("two\nlines.wav", "red\x1b[31m.wav", "clear\x9b2J.wav", "bell\7.wav", "back\x7f.wav"):
            shown = "".join(" " * len(c.encode()) if c < " " or "\x7f" <= c < "\xa0" else c for c in name)
            self.assertEqual(self.fails(1, "-i", "no" + name, "-o", "out.wav"), f"no{shown}: cannot be opened: No such file or directory")
            self.write(name, self.read(self.sound)[:444])
            done = self.run_command("-i", name, "-o", "out.wav", "--allow-truncated")
            self.assertEqual((done.returncode, done.stderr), (0, f"filterchain: warning: {shown}: is cut off: 400 bytes are missing; the readable part is used\n"))

    def test_truncated_pipe_is_told_once(self):
        done = self.run_command("-i", "-", "--in-format", "raw", "--raw", "dtype=i16,channels=2,rate=44100",
                                "-o", "out.wav", "--allow-truncated", input="\1" * 4001)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r"\Afilterchain: warning: standard input: is cut off[^\n]*\n\Z")

    def test_a_truncated_array_from_a_pipe(self):
        """What it promises cannot be held against the size of a pipe: kept, and taken as of a file."""
        harness.write_npy(self.path("whole.npy"), (50, 30, 2, 1), range(3000))
        whole = self.read("whole.npy")
        cut = whole[:len(whole) - 30 * 8 * 10 - 4]
        self.assertRegex(self.run_command("-i", "-", "-o", "out.npy", input=cut, text=False).stderr,
                         rb"is cut off: .*; --allow-truncated uses the readable part\n\Z")
        done = self.run_command("-i", "-", "-o", "out.npy", "--allow-truncated", input=cut, text=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, b"filterchain: warning: standard input: is cut off: 9596 of 12000 bytes are there; "
                         b"the readable part is used\n")
        self.assertEqual(harness.read_npy(self.path("out.npy")), ((39, 30, 2, 1), list(range(39 * 60))))
        self.succeed("-i", "-", "-o", "again.npy", "--allow-truncated", input=whole + b"more", text=False)
        self.assertEqual(harness.read_npy(self.path("again.npy"))[1], list(range(3000)))

    def riff(self, *chunks, big=b""):
        """A sound of 32 zeros, with chunks (id, content, size that it says) ahead of them; `big` in another container."""
        order, form = (">", b"FORM") if big in (b"AIFF", b"RIFX") else ("<", b"RIFF")
        head = {b"AIFF": b"COMM" + struct.pack(">IhIh", 18, 1, 32, 16) + b"\x40\x0b\xfa" + bytes(7)}.get(
            big, b"fmt " + struct.pack(order + "IHHIIHH", 16, 1, 1, 8000, 16000, 2, 16))
        samples = b"SSND" + struct.pack(">I", 72) + bytes(72) if big == b"AIFF" else b"data" + struct.pack(order + "I", 64) + bytes(64)
        for kind, content, *size in chunks:
            head += kind + struct.pack(order + "I", *(size or [len(content)])) + content + bytes(len(content) % 2)
        body = (big if big == b"AIFF" else b"WAVE") + head + samples
        return (big if big == b"RIFX" else form) + struct.pack(order + "I", len(body)) + body

    def test_chunks_that_lead_astray(self):
        """What libsndfile would loop in without end, or for minutes, or take for samples: a list by the name of its kind or
        within another chunk, comments of which each promises all that follows, a list that holds samples of its own."""
        endless = b"adtl" + b"ltx1" + struct.pack("<I", 0xfffffff4) + bytes(16)
        comments = b"\xff\xff" + bytes(7) + b"\6" + bytes(6)
        for ending, chunks, big in (("wav", [(b"INFO", endless)], b""),
                                    ("wav", [(b"fmt ", b"LIST" + struct.pack("<I", len(endless)) + endless)], b""),
                                    ("wav", [(b"LIST", b"adtl" + b"ltx1" + struct.pack(">I", 0xfffffff4) + bytes(16))], b"RIFX"),
                                    ("wav", [(b"LIST", b"INFO" + b"data" + struct.pack("<I", 20) + b"\1" * 20)], b""),
                                    ("wav", [(b"cue ", struct.pack("<I", 2500))] * 99, b""),
                                    ("aiff", [(b"COMT", comments)] * 3000, b"AIFF"),
                                    ("aiff", [(b"MARK", struct.pack(">H", 2500))] * 3000, b"AIFF")):
            data = self.riff(*chunks, big=big)
            self.write("astray." + ending, data)
            for source, pipe in (("astray." + ending, {}), ("-", {"input": data})):
                done = self.run_command("-i", source, "-o", "-", "--format", "raw", "-q", text=False, timeout=harness.SOON, **pipe)
                if done.returncode == 1 and pipe:
                    self.assertIn(b" is cut off: it ends after 0 of 32 frames", done.stderr)
                else:
                    self.assertEqual((done.returncode, done.stdout), (0, bytes(64)), (chunks[0][0], done.stderr))
            self.write("tag.mp3", b"ID3\4\0\0\0\0\0\x10" + bytes(16) + data)
            done = self.run_command("-i", "tag.mp3", "-o", "-", "--format", "raw", "-q", text=False, timeout=harness.SOON)
            self.assertEqual((done.returncode, done.stdout), (0, bytes(64)), (chunks[0][0], done.stderr))

    def test_chunks_of_more_than_two_gigabytes(self):
        """Which libsndfile takes for a step back. They are there: nothing but holes on the disk."""
        size = 0xffffff00
        riff, aiff = self.riff((b"JUNK", b"", size)), self.riff((b"FVER", b"", size), big=b"AIFF")
        for ending, head in (("wav", riff), ("aiff", aiff)):
            cut = head.index(struct.pack("<I", size) if ending == "wav" else struct.pack(">I", size)) + 4
            with open(self.path("large." + ending), "wb") as file:
                file.write(head[:cut])
                try:
                    file.seek(size, 1)
                except OSError:
                    self.skipTest("no file may be as large here")
                file.write(head[cut:])
            done = self.run_command("-i", "large." + ending, "-o", "-", "--format", "raw", "-q", text=False, timeout=harness.SOON)
            os.remove(self.path("large." + ending))
            self.assertEqual((done.returncode, done.stdout), (0, bytes(64)), done.stderr)
            done = self.run_command("-i", "-", "-o", "out.wav", input=head, text=False, timeout=harness.SOON)  # of which nothing is there
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stderr, rb"\Afilterchain: standard input: (is cut off|holds more than)[^\n]*\n\Z")

    def test_a_list_that_is_cut_off_in_a_pipe(self):
        """It has no rows: that the first element is not whole is not said where others are."""
        harness.write_npy(self.path("list.npy"), (7,), range(7))
        cut = self.read("list.npy")[:-5]
        self.assertEqual(self.run_command("-i", "-", "-o", "out.npy", input=cut, text=False).stderr,
                         b"filterchain: standard input: is cut off: it ends after 5 elements; --allow-truncated uses the readable "
                         b"part\n")

    def test_an_mp3_that_is_cut_off(self):
        """What its decoder thinks of it is not said."""
        head = b"\xff\xfb\x90\x64"
        xing = head + bytes(32) + b"Xing" + struct.pack(">III", 3, 50, 417 * 51)
        frames = (head + bytes(413)) * 20
        self.write("cut.mp3", xing.ljust(417, b"\0") + frames)
        done = self.run_command("-i", "cut.mp3", "-o", "out.wav", "--allow-truncated")
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stderr, r"\Afilterchain: warning: cut.mp3: is cut off: [^\n]*\n\Z")
        self.succeed("-q", "-i", "cut.mp3", "-o", "out.wav", "--allow-truncated")
        self.fails(1, "-i", "cut.mp3", "-o", "out.wav")

    def test_an_ogg_page_that_is_not_what_it_was(self):
        """libsndfile leaves it out without a word. What follows the last page is reported."""
        noise = random.Random(9)
        harness.write_wav(self.path("noise.wav"), [noise.randrange(-9000, 9000) for _ in range(96000)], 2, 48000)
        for ending in ("ogg", "opus"):
            self.succeed("-i", "noise.wav", "-o", "whole." + ending)
            whole = self.read("whole." + ending)
            pages = [at for at in range(len(whole)) if whole[at:at + 4] == b"OggS"]
            self.assertGreater(len(pages), 4)
            for page in (pages[2], pages[len(pages) // 2], pages[-1]):
                bad = bytearray(whole)
                bad[page + 60] ^= 4
                self.write("bad." + ending, bytes(bad))
                said = f"is damaged: what it has from byte {page} on is not what was written"
                self.assertEqual(self.fails(1, "-i", "bad." + ending, "-o", "out.wav"),
                                 f"bad.{ending}: {said}; --allow-truncated uses the readable part")
                done = self.run_command("-i", "-", "-o", "out.wav", input=bytes(bad), text=False)
                self.assertIn(said.encode(), done.stderr)
                self.assertEqual(done.returncode, 1)
                done = self.run_command("-i", "bad." + ending, "-o", "out.wav", "--allow-truncated")
                self.assertEqual((done.returncode, done.stderr.splitlines()[0]),
                                 (0, f"filterchain: warning: bad.{ending}: {said}; the readable part is used"))
            self.write("bad." + ending, whole[:pages[-1]] + b"no page" + whole[pages[-1]:])
            self.assertIn(f"from byte {pages[-1]} on", self.fails(1, "-i", "bad." + ending, "-o", "out.wav"))
            gone, twice = whole[:pages[3]] + whole[pages[4]:], whole[:pages[4]] + whole[pages[3]:]
            for bad, at in ((gone, pages[3]), (twice, pages[4])):  # each page is right by itself
                self.write("bad." + ending, bad)
                self.assertIn(f"from byte {at} on is not what was written", self.fails(1, "-i", "bad." + ending, "-o", "out.wav"))
                done = self.run_command("-i", "-", "-o", "out.wav", input=bad, text=False)
                self.assertEqual(done.returncode, 1, done.stderr)
                self.succeed("-q", "-i", "bad." + ending, "-o", "out.wav", "--allow-truncated")
            for page in (pages[3], pages[-1]):  # a cut that no page shows
                self.write("cut." + ending, whole[:page])
                said = "cut.{}: is cut off: its last page is not the end of a stream; --allow-truncated uses the readable part"
                self.assertEqual(self.fails(1, "-i", "cut." + ending, "-o", "out.wav"), said.format(ending))
            edges = pages + [len(whole)]
            joined = b"".join(ogg_page(whole[a:a + 18] + struct.pack("<I", i + 5000) + whole[a + 22:b]) if i > 1 else whole[a:b]
                              for i, (a, b) in enumerate(zip(edges, edges[1:])))  # as who joins a live stream gets it
            self.write("live." + ending, joined)
            self.succeed("-i", "live." + ending, "-o", "out.wav")
            self.succeed("-i", "whole." + ending, "-o", "all.wav")
            self.assertEqual(self.read("out.wav"), self.read("all.wav"))
            self.write("more." + ending, whole + b"Of no use" * 99)
            self.succeed("-i", "more." + ending, "-o", "out.wav")
            for many in (b"\0" * (40 << 20), b"y" * (17 << 20)):  # which is not waited for in a pipe
                done = self.run_command("-i", "-", "-o", "out.wav", input=whole + many, text=False)
                self.assertEqual((done.returncode, done.stderr), (0, b""))

    def test_streams_side_by_side(self):
        """The first is read, wherever it ends, from a pipe as well; where it is cut off, that is said."""
        def pages_of(name):
            data = self.read(name)
            starts = [at for at in range(len(data)) if data[at:at + 4] == b"OggS"]
            return [data[a:b] for a, b in zip(starts, starts[1:] + [len(data)])]

        def numbered(page):
            return ogg_page(page[:14] + b"\7\0\0\0" + page[18:])

        for name, length in (("short", 4000), ("long", 20000)):
            harness.write_wav(self.path(name + ".wav"), [i * 37 % 20000 - 10000 for i in range(length)])
            self.succeed("-i", name + ".wav", "-o", name + ".ogg", "-q")
            self.succeed("-i", name + ".ogg", "-o", name + ".raw")
        said = "holds streams side by side; the first is read, and the others are left out"
        for first, other in (("short", "long"), ("long", "short")):
            a, b = pages_of(first + ".ogg"), [numbered(page) for page in pages_of(other + ".ogg")]
            pairs = itertools.zip_longest(a, b, fillvalue=b"")
            self.write("both.ogg", b"".join(itertools.chain.from_iterable(pairs)))
            for source, pipe in (("both.ogg", {}), ("-", {"input": self.read("both.ogg")})):
                done = self.run_command("-i", source, "-o", "-", "--format", "raw", text=False, **pipe)
                name = "standard input" if pipe else source
                self.assertEqual((done.returncode, done.stderr.decode()), (0, f"filterchain: warning: {name}: {said}\n"))
                self.assertEqual(done.stdout, self.read(first + ".raw"))
            whole = b"".join(a[:2] + b[:2] + a[2:] + b[2:])
            for cut, all_of_first in ((b"".join(a[:2] + b[:2] + a[2:-1] + b[2:3]), False), (b"".join(a[:2] + b[:2] + a[2:-1] + b[2:]), False),
                                      (whole[:-7], True), (whole[:-len(b[-1]) + 30], True),
                                      (whole[:-len(b"".join(b[2:])) - 9], False)):
                self.write("cut.ogg", cut)
                for source, pipe in (("cut.ogg", {}), ("-", {"input": cut})):
                    done = self.run_command("-i", source, "-o", "out.wav", text=False, **pipe)
                    name = b"standard input" if pipe else b"cut.ogg"
                    self.assertEqual(done.returncode, 1, (first, source))
                    self.assertIn(name + b": is cut off: its last page is not the end of a stream", done.stderr)
                    done = self.run_command("-i", source, "-o", "-", "--format", "raw", "--allow-truncated", text=False, **pipe)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertIn(b"warning: " + name + b": is cut off: its last page is not the end of a stream", done.stderr)
                    self.assertEqual(done.stdout == self.read(first + ".raw"), all_of_first)

    def test_streams_one_after_another(self):
        """The first is read. Where another one is cut off the whole is, by name and from a pipe."""
        for name, seed in (("one", 3), ("two", 4)):
            noise = random.Random(seed)
            harness.write_wav(self.path(name + ".wav"), [noise.randrange(-9000, 9000) for _ in range(48000)])
            self.succeed("-i", name + ".wav", "-o", name + ".ogg")
        one, two = self.read("one.ogg"), self.read("two.ogg")
        two = b"".join(ogg_page(b"OggS" + page[:10] + b"\7\0\0\0" + page[14:]) for page in two.split(b"OggS")[1:])
        self.succeed("-i", "one.ogg", "-o", "one.raw")
        chain, cut = ("holds streams one after another; the first is read, and what follows is left out",
                      "is cut off: its last page is not the end of a stream; ")
        for size in (len(two), len(two) - 1, len(two) // 2, 30):
            for source, pipe in (("in.ogg", {}), ("-", {"input": one + two[:size]})):
                self.write("in.ogg", one + two[:size])
                name = "standard input" if pipe else "in.ogg"
                done = self.run_command("-i", source, "-o", "-", "--format", "raw", text=False, **pipe)
                if size == len(two):
                    self.assertEqual((done.returncode, done.stderr.decode()), (0, f"filterchain: warning: {name}: {chain}\n"))
                else:
                    self.assertEqual((done.returncode, done.stderr.decode()),
                                     (1, f"filterchain: {name}: {cut}--allow-truncated uses the readable part\n"))
                    done = self.run_command("-i", source, "-o", "-", "--format", "raw", "--allow-truncated", text=False, **pipe)
                    self.assertIn(f"filterchain: warning: {name}: {cut}the readable part is used\n", done.stderr.decode())
                self.assertEqual(done.stdout, self.read("one.raw"))

    def test_a_table_of_packets(self):
        """ALAC in CAF: what it leads to is no more than there is of it, which is told; what libsndfile prints on standard
        output meanwhile comes in between neither samples nor results."""
        packet, count = bytes.fromhex("000013080981f8c1ff800000ff87fff0000000"), 4  # 4096 frames of silence
        for table, packets in ((b"\x13" * 4, 4), (b"\x13" + b"\xff" * 5 + b"\x7f\x13", 1)):
            data = b"caff\0\1\0\0"
            for kind, content in ((b"desc", struct.pack(">d4s5I", 8000, b"alac", 1, 0, 4096, 1, 0)),
                                  (b"kuki", struct.pack(">IBBBBBBHIII", 4096, 0, 16, 40, 10, 14, 1, 255, 19, 0, 8000)),
                                  (b"pakt", struct.pack(">qqii", count, count * 4096, 0, 0) + table),
                                  (b"data", bytes(4) + packet * count)):
                data += kind + struct.pack(">q", len(content)) + content
            self.write("packets.caf", data)
            done = self.run_command("-i", "packets.caf", "-o", "-", "--format", "raw", "--allow-truncated", text=False)
            self.assertEqual((done.returncode, done.stdout), (0, bytes(packets * 8192)))
            if packets == count:
                self.assertEqual(done.stderr, b"")
                continue
            self.assertIn(b"packets.caf: is cut off: it ends after 4096 of 16384 frames; the readable part is used", done.stderr)
            self.fails(1, "-i", "packets.caf", "-o", "out.wav")
            json.loads(self.succeed("-q", "-i", "packets.caf", "-p", "stats", "--json", "--allow-truncated"))
            json.loads(self.succeed("-i", "packets.caf", "-o", "out.wav", "--dry-run", "--json"))

    def test_packets_as_ffmpeg_counts_them(self):
        """The depth stands in the data for the decoder alone, bare or in atoms, and the last packet is counted as a full one."""
        samples = [i * 7 - 300 for i in range(4096 + 100)]
        for depth, wrapped in ((16, False), (16, True), (24, True)):
            packets = []
            for part in (samples[:4096], samples[4096:]):
                bits = "0" * 19 + f"{len(part) < 4096:d}001" + (f"{len(part):032b}" if len(part) < 4096 else "")  # as they are
                bits += "".join(f"{sample % (1 << depth):0{depth}b}" for sample in part) + "111"
                bits += "0" * (-len(bits) % 8)
                packets.append(int(bits, 2).to_bytes(len(bits) // 8, "big"))
            table = b"".join(bytes([len(p) >> 14 | 128, len(p) >> 7 & 127 | 128, len(p) & 127]) for p in packets)
            kuki = struct.pack(">IBBBBBBHIII", 4096, 0, depth, 40, 10, 14, 1, 255, 0, 0, 8000)
            if wrapped:
                kuki = struct.pack(">I4s4sI4sI", 12, b"frma", b"alac", 36, b"alac", 0) + kuki
            data = b"caff\0\1\0\0"
            for kind, content in ((b"desc", struct.pack(">d4s5I", 8000, b"alac", 0, 0, 4096, 1, 0)), (b"kuki", kuki),
                                  (b"data", bytes(4) + b"".join(packets)), (b"pakt", struct.pack(">qqii", 2, 8192, 0, 0) + table)):
                data += kind + struct.pack(">q", len(content)) + content
            self.write("in.caf", data)
            for source, pipe in (("in.caf", {}), ("-", {"input": data})):
                done = self.run_command("-i", source, "-o", "-", "--format", "raw", text=False, **pipe)
                self.assertEqual((done.returncode, done.stderr), (0, b""))
                self.assertEqual(done.stdout, b"".join(struct.pack("<h" if depth == 16 else "<i", s << (0 if depth == 16 else 32 - depth)) for s in samples))

    def test_mp3_that_counts_what_is_not_there(self):
        """Frames are not looked for without end where there are none: 4 GB of a hole."""
        head = b"\xff\xfb\x90\x64"
        first = (head + bytes(32) + b"Xing" + struct.pack(">II", 1, 0xffffffff)).ljust(417, b"\0")
        self.write("in.mp3", first + (head + bytes(413)) * 50)
        os.truncate(self.path("in.mp3"), 4 << 30)
        self.run_command("-i", "in.mp3", "-o", "out.wav", "--dry-run", timeout=harness.SOON)

    def test_less_than_one_image(self):
        self.write("short.raw", bytes(3000))
        for layout, pipe in (("", False), (",length=2", False), ("", True)):
            arguments = ["-i", "-" if pipe else "short.raw", "--raw", "dtype=u8,width=100,height=100" + layout, "-o", "out.npy",
                         "--allow-truncated"]
            line = self.fails(1, *arguments, **({"input": "\0" * 3000} if pipe else {}))
            self.assertRegex(line, "is cut off: 3000 bytes are there, and the first image has 10000$")
        line = self.fails(2, "-i", "-", "--raw", "dtype=u8,width=10,height=10", "-o", "out.png", input="\0" * 100)
        self.assertIn("how many come is not known: say length=1", line)
        self.succeed("-i", "-", "--raw", "dtype=u8,width=10,height=10,length=1", "-o", "out.png", input="\0" * 100)

    def test_a_device(self):
        """One that never ends, by name and behind standard input; one that has nothing."""
        for name, said in (("/dev/zero", "is a device; name a file or pipe one in"), ("/dev/null", "is empty")):
            if not os.path.exists(name):
                self.skipTest(f"no {name} here")
            self.expect(1, f"{name}: {said}", "-i", name)
            with open(name, "rb") as device:
                self.expect(1, f"standard input: {said}", "-i", "-", stdin=device)

    def test_wrong_kind(self):
        harness.write_png(self.path("in.png"), [[1, 2, 3]], 1)
        self.expect(2, "out.wav: an image cannot be stored as sound; use .npy or .png", "-i", "in.png")


    def test_a_header_without_a_rate(self):
        data = bytearray(self.read(self.sound))
        data[24:28] = bytes(4)
        self.write("zero.wav", bytes(data))
        self.expect(1, "zero.wav: cannot be read as WAV: its header gives no sample rate, or no channels",
                    "-i", "zero.wav", "-p", "conv1d:mask.txt")

    def test_the_right_article(self):
        self.write("text.aiff", "Dear Sir,\nthis is a letter.\n")
        self.expect(1, "text.aiff: is not an AIFF file but text", "-i", "text.aiff")

    def test_an_image_without_a_mark_from_a_pipe(self):
        self.write("image.tga", bytes([0, 0, 2] + [0] * 9) + struct.pack("<HHBB", 2, 2, 24, 0) + bytes(12))
        with open(self.path("image.tga"), "rb") as nameless:
            line = self.fails(1, "-i", "-", "-o", "out.png", stdin=nameless)
            self.assertIn("--in-format names one, which tga and raw need where no file name tells", line)
            nameless.seek(0)
            self.succeed("-i", "-", "--in-format", "tga", "-o", "out.png", stdin=nameless)

    def test_an_operator_for_another_kind(self):
        """The chain does not fit the input: corrected on the command line."""
        self.expect(2, "sepconv: works on images and arrays, not on audio", "-i", self.sound, "-p", "sepconv:mask.txt")
        self.expect(2, "dct: sound has no rows: axis=y and axis=xy are for images", "-i", self.sound, "-p", "dct:axis=y")

    def test_too_many_channels(self):
        """More than memory has room for, and at last more than numbers do."""
        made = 1026 ** 3 * 1026
        for stages in (4, 8):
            self.expect(2, f"stft: makes {made} channels of {1026 ** 3}, at most 2147483647 are possible", "-i", self.sound,
                        *(word for _ in range(stages) for word in ("-p", "stft")))

    def test_an_output_that_cannot_hold_it(self):
        """Likewise, whatever it is that it cannot hold."""
        self.expect(2, "out.png: sound cannot be stored as an image; use .wav or .npy", "-i", self.sound, output="out.png")
        harness.write_wav(self.path("odd.wav"), harness.tone(400), rate=11025)
        self.expect(2, "out.opus: Opus takes 8000, 12000, 16000, 24000 or 48000 Hz, not 11025; use .ogg or .flac",
                    "-i", "odd.wav", output="out.opus")


    @unittest.skipUnless("libjpeg-turbo" in harness.formats(), "stb_image reports no damage")
    def test_flipped_bits(self):
        """Three bits of the coded data. PNG has checksums, which find them all; of JPEG, which has none, libjpeg-turbo finds what breaks
        the coding. The others are read, of the size that they have."""
        self.write("noise.npy", b"")
        harness.write_npy(self.path("noise.npy"), (96, 128, 3), [random.Random(i // 3).randrange(256) for i in range(96 * 128 * 3)])
        found = {}
        for kind, name, options, begin in (("png", "x.png", "", b"IDAT"), ("baseline", "x.jpg", ":progressive=no", b"\xff\xda"),
                                           ("progressive", "x.jpg", ":progressive=yes", b"\xff\xda")):
            self.succeed("-i", "noise.npy", "-p", "convert:u8", "-p", "gauss:1", "-o", name + options)
            whole = self.read(name)
            start, end = whole.index(begin) + 16, len(whole) - 20
            for seed in range(20):
                draw, data = random.Random(seed), bytearray(whole)
                for _ in range(3):
                    data[draw.randrange(start, end)] ^= 1 << draw.randrange(8)
                done = self.run_command("-i", self.write("d" + name, bytes(data)), "-o", "out.npy")
                self.assertIn(done.returncode, (0, 1))
                found[kind] = found.get(kind, 0) + done.returncode
                if done.returncode:
                    self.assertRegex(done.stderr, r"is damaged|is cut off")
        self.assertEqual(found["png"], 20)
        self.assertGreaterEqual(found["baseline"], 5)
        self.assertGreaterEqual(found["progressive"], 10)


class Masks(Bad):
    def test_missing(self):
        self.expect(1, "conv1d: no.txt: cannot be opened: No such file or directory",
                    "-i", self.sound, "-p", "conv1d:no.txt")

    def test_empty(self):
        self.expect_mask(1, "conv1d: bad.txt: is empty", "")
        self.expect_mask(1, "conv1d: bad.txt: it holds no numbers", "# only a comment\n\n")

    def test_a_word(self):
        self.expect_mask(1, 'conv1d: bad.txt:3: expected a number, found "x"', "# a mask\n1 2\n3 x 4\n")

    def test_nan(self):
        self.expect_mask(1, 'conv1d: bad.txt:2: "nan" is not finite', "1\nnan\n")
        self.expect_mask(1, 'conv1d: bad.txt:1: "1e999" is too large', "1e999\n")

    def test_binary(self):
        self.expect_mask(1, "conv1d: bad.txt:1: expected numbers, found binary data", bytes(range(256)))

    def test_written_out(self):
        self.expect(2, 'conv1d: [1,x]: expected a number, found "x"', "-i", self.sound, "-p", "conv1d:[1,x]")

    def test_longer_than_memory_allows(self):
        # A sparse .npy that promises a terabyte of taps.
        header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (137438953472,), }"
        header += b" " * (-(len(header) + 11) % 64) + b"\n"
        self.write("huge.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header)
        try:
            os.truncate(self.path("huge.npy"), 10 + len(header) + 137438953472 * 8)
        except OSError:
            self.skipTest("no sparse files of a terabyte here")
        self.expect(1, "conv1d: huge.npy: holds more than the 67108864 numbers of a table",
                    "-i", self.sound, "-p", "conv1d:huge.npy")


class Chains(Bad):
    def test_unknown_operator(self):
        self.expect(2, 'no operator "conv1": did you mean "conv1d"?', "-i", self.sound, "-p", "conv1")

    def test_unknown_parameter(self):
        self.expect(2, 'conv1d: unknown parameter "flp": did you mean "flip"?',
                    "-i", self.sound, "-p", "conv1d:mask.txt:flp=no")

    def test_missing_parameter(self):
        self.assertRegex(self.fails(2, "-i", self.sound, "-p", "conv1d", "-o", "out.wav"), r'\Aconv1d: "mask" is missing')

    def test_same_key_twice(self):
        self.expect(2, 'conv1d: "flip" is given twice', "-i", self.sound, "-p", "conv1d:mask.txt:flip=no:flip=yes")

    def test_a_choice_that_is_none(self):
        line = self.fails(2, "-i", self.sound, "-p", "conv1d:mask.txt:border=zerro", "-o", "out.wav")
        self.assertEqual(line, 'conv1d: border: no such choice "zerro": did you mean "zero"?')

    def test_a_name_that_is_refused(self):
        line = self.fails(2, "-i", self.sound, "-p", "conv1d:mask.txt:border=mirror", "-o", "out.wav")
        self.assertRegex(line, r'\Aconv1d: border: "mirror" is not accepted: .*reflect')

    def test_a_large_limit_is_said_in_full(self):
        self.expect(2, "crop: length: 0 is out of range: expected 1 to 1099511627776 samples",
                    "-i", self.sound, "-p", "crop:length=0")

    def test_out_of_range(self):
        """The first number with a range of every operator, one above it."""
        tried = 0
        for op in harness.operators():
            given = {"table": "[1]", "input": self.sound, "float": "1", "int": "1"}
            for param in op["params"]:
                required = "".join(f":{p['name']}={given[p['type']]}" for p in op["params"]
                                   if p["required"] and p["type"] in given and p is not param)
                if param["type"] not in ("int", "float") or not 0 < param.get("max", 0) < 1e15 or param["list"]:
                    continue
                stage = f"{op['name']}{required}:{param['name']}={param['max'] + 1:.0f}"
                line = self.fails(2, "-i", self.sound, "-p", stage, "-o", "out.wav")
                self.assertRegex(line, rf"\A{op['name']}: {param['name']}: .* out of range: expected .* to ", stage)
                tried += 1
        self.assertEqual(self.files(), [self.sound, "mask.txt"])
        if not tried:
            self.skipTest("no operator has a number with an upper limit")

    def test_numbers_that_are_not_read(self):
        """Nor taken for others: 0 and 10, or 0."""
        self.expect(2, "gain: gain: 0x10 is not a number: expected a number", "-i", self.sound, "-p", "gain:0x10")
        self.expect(2, "gain: gain: 1e-400 is too small: expected a number", "-i", self.sound, "-p", "gain:1e-400")

    def test_syntax(self):
        self.assertRegex(self.fails(2, "-i", self.sound, "-p", "conv1d:'mask.txt", "-o", "out.wav"), "column 8.*quote")
        self.assertRegex(self.fails(2, "-i", self.sound, "-p", ":x", "-o", "out.wav"), "operator's name is missing")

    def test_unknown_abi(self):
        folder = os.path.join(harness.BUILD, "tests", "cli")
        path = os.path.join(folder, "future.so")
        self.expect(2, f'no operator "future": {path} is made for plugin ABI 2, this is 1',
                    "-i", self.sound, "-p", "future", "--plugin-dir", folder)


class Outputs(Bad):
    def test_missing_folder(self):
        self.expect(1, "no/out.wav: there is no folder no",
                    "-i", self.sound, "-p", "conv1d:mask.txt", output="no/out.wav")

    def test_a_file_as_folder(self):
        self.expect(1, "mask.txt/out.wav: cannot be created: Not a directory",
                    "-i", self.sound, "-p", "conv1d:mask.txt", output="mask.txt/out.wav")

    def test_unwritable_folder(self):
        if os.path.isdir("/proc/self"):
            line = self.fails(1, "-i", self.sound, "-p", "conv1d:mask.txt", "-o", "/proc/out.wav")
            self.assertRegex(line, r"\A/proc/out\.wav: cannot be created: ")
        if os.geteuid() != 0:
            os.mkdir(self.path("closed"), 0o555)
            self.expect(1, "closed/out.wav: cannot be created: Permission denied",
                        "-i", self.sound, output="closed/out.wav")

    def test_unknown_extension(self):
        line = self.fails(2, "-i", self.sound, "-p", "conv1d:mask.txt", "-o", "out.xyz")
        self.assertRegex(line, r'\Aout\.xyz: no format "xyz" to write: there are .*wav')
        self.expect(2, line, "-i", self.sound, "-p", "conv1d:mask.txt", output="out.xyz")

    def test_a_dry_run_looks_at_the_output(self):
        self.expect(1, "no/out.wav: there is no folder no", "-i", self.sound, "--dry-run", output="no/out.wav")
        self.expect(1, "mask.txt/out.wav: cannot be created: Not a directory", "-i", self.sound, "--dry-run",
                    output="mask.txt/out.wav")
        if os.geteuid() != 0:
            os.mkdir(self.path("closed"), 0o555)
            self.expect(1, "closed/out.wav: cannot be created: Permission denied", "-i", self.sound, "--dry-run",
                        output="closed/out.wav")
        self.succeed("-i", self.sound, "--dry-run", "-n", "-o", "out.wav")
        self.write("out.wav", OLD)
        self.succeed("-i", self.sound, "--dry-run", "-o", "out.wav")
        line = self.fails(1, "-i", self.sound, "--dry-run", "-n", "-o", "out.wav")
        self.assertEqual(line, "out.wav: exists already; name another file or leave out --no-clobber")
        self.assertEqual(self.read("out.wav"), OLD)

    def test_no_clobber(self):
        self.write("out.wav", OLD)
        line = self.fails(1, "-i", self.sound, "-p", "conv1d:mask.txt", "-o", "out.wav", "-n")
        self.assertRegex(line, r"\Aout\.wav: exists")
        self.assertEqual(self.read("out.wav"), OLD)

    def test_full_disk(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full here")
        line = self.fails(1, "-i", self.sound, "-p", "conv1d:mask.txt", "-o", "/dev/full", "--format", "wav")
        self.assertEqual(line, "/dev/full: writing failed after 0 bytes: No space left on device")

    def test_file_size_limit(self):
        line = self.fails(1, "-i", self.sound, "-p", "conv1d:mask.txt", "-o", "out.wav",
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)))
        self.assertRegex(line, r"\Aout\.wav: writing failed after .* bytes: File too large")
        self.assertEqual(self.files(), [self.sound, "mask.txt"])

    def test_report_in_a_missing_folder(self):
        self.expect(1, "--report no/report.json: there is no folder no",
                    "-i", self.sound, "-p", "conv1d:mask.txt", "--report", "no/report.json")

    def test_report_that_cannot_be_written(self):
        done = self.run_command("-i", self.sound, "-o", "out.wav", "--report", "/proc/report.json")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"\Afilterchain: /proc/report\.json: the report cannot be written: [^\n]+\n\Z")


    def test_report_over_the_input(self):
        """However the input is spelt: it would be lost."""
        os.symlink(self.sound, self.path("link"))
        os.link(self.path(self.sound), self.path("twin.wav"))
        for name in ("./in.wav", self.path("in.wav"), "link", "twin.wav"):
            for flag in ("--report", "--trace"):
                self.expect(2, f"{flag} would overwrite {name}", "-i", self.sound, flag, name)

    def test_trace_that_cannot_be_written(self):
        if os.path.isdir("/proc/self"):
            line = self.fails(1, "-i", self.sound, "-o", "out.wav", "--trace", "/proc/trace.json")
            self.assertRegex(line, r"\A/proc/trace\.json: the trace cannot be written: ")
        full = "/dev/full"
        if os.geteuid() == 0:  # who could replace that of the machine
            full = self.path("full")
            try:
                os.mknod(full, 0o666 | stat.S_IFCHR, os.makedev(1, 7))
                open(full, "wb").close()
            except OSError:
                self.skipTest("no devices can be made here")
        self.expect(1, f"{full}: the trace cannot be written: No space left on device",
                    "-i", self.sound, "--trace", full)
        self.assertTrue(stat.S_ISCHR(os.stat(full).st_mode))

    def test_trace_through_a_link(self):
        self.write("trace.json", OLD)
        os.symlink("trace.json", self.path("link"))
        self.succeed("-i", self.sound, "-o", "out.wav", "--trace", "link")
        self.assertTrue(os.path.islink(self.path("link")))
        self.assertIn(b"traceEvents", self.read("trace.json"))
        self.assertIn("traceEvents", self.succeed("-i", self.sound, "-o", "out.wav", "--trace", "-"))


class Devices(Bad):
    def test_unknown_device(self):
        known = "auto or cpu" if "CPU only" in self.succeed("--version") else "auto, cpu, cuda, cuda:N, cuda:N,M or cuda:all"
        self.expect(2, f'unknown device "gpu": expected {known}',
                    "-i", self.sound, "-p", "conv1d:mask.txt", "--device", "gpu")


if __name__ == "__main__":
    harness.main()
