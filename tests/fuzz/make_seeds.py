#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the small inputs that fuzzing starts from, one folder a target.

    make_seeds.py FILTERCHAIN [SEEDS]

Images, arrays and plain sound are written here byte by byte; the other sound containers
by FILTERCHAIN itself, from a WAV with metadata; webp_* and tiff_* were made with Pillow. Files that are there and have another
name than ours (regress_*: what fuzzing once found) are left alone.
"""
import io
import os
import struct
import subprocess
import sys
import tarfile
import tempfile
import zlib

RATE = 8000


# ---- images -------------------------------------------------------------------

def png_chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(depth, colour, interlace=0, extra=b"", width=5, height=4):
    bits = depth * {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[colour]
    raw = b"".join(bytes([y % 5]) + bytes((y * 7 + i * 13) % 4 for i in range((width * bits + 7) // 8))
                   for y in range(height if not interlace else 3 * height))
    return (b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlace))
            + extra + png_chunk(b"IDAT", zlib.compress(raw)) + png_chunk(b"IEND", b""))


def bmp(bits=24, width=3, height=2, core=False, gap=0):
    row = b"\x10\x80\xf0\x40"[:bits // 8 or 1] * width
    pixels = (row + b"\0" * (-len(row) % 4)) * height
    palette = bytes(range(4 * 2)) if bits == 1 else bytes(4 * 16) if bits == 4 else b""
    header = struct.pack("<IiiHHIIiiII", 40, width, height, 1, bits, 0, len(pixels), 2835, 2835, len(palette) // 4, 0)
    if core:
        header = struct.pack("<IHHHH", 12, width, height, 1, bits)
    start = 14 + len(header) + len(palette) + gap
    return b"BM" + struct.pack("<IHHI", start + len(pixels), 0, 0, start) + header + palette + bytes(gap) + pixels


def masked_bmp(version, width=3, height=2):
    """By masks of red, green, blue and, in the version of 56 bytes, alpha."""
    header = struct.pack("<IiiHHIIiiIIIIII", version, width, -height, 1, 32, 3, 0, 0, 0, 0, 0, 0xff00, 0xff, 0xff000000, 0xff0000)[:version]
    start = 14 + len(header)
    return b"BM" + struct.pack("<IHHI", 0, 0, 0, start) + header + bytes(range(4 * width * height))


def tga(kind, bits, width=4, height=3, first=0, descriptor=0x20, mapped=False):
    pixel = bytes(range(bits // 8))
    runs = (bytes([0x80 | (width - 1)]) + pixel) * height
    body = runs if kind & 8 else pixel * width * height
    colours, entries = (b"\x01\x02\x03" * 4, 4) if kind & 3 == 1 or mapped else (b"", 0)
    return struct.pack("<BBBHHBHHHHBB", 0, 1 if entries else 0, kind, first, entries, 24 if entries else 0, 0, 0, width, height, bits,
                       descriptor) + colours + body


def jpeg(progressive=False, gray=True, restart=0):
    """A grey or colour image of one block: DC and AC tables with few codes."""
    def segment(marker, data):
        return bytes([0xFF, marker]) + struct.pack(">H", len(data) + 2) + data
    parts = 1 if gray else 3
    exif = b"Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0"
    frame = struct.pack(">BHHB", 8, 8, 8, parts) + b"".join(bytes([i + 1, 0x11, 0]) for i in range(parts))
    table = bytes([0, 2] + [0] * 14) + b"\0\x01"
    scan = bytes([parts]) + b"".join(bytes([i + 1, 0]) for i in range(parts)) + (b"\0\0\0" if progressive else b"\0\x3f\0")
    return (b"\xff\xd8" + segment(0xE0, b"JFIF\0\x01\x01\0\0\x01\0\x01\0\0") + segment(0xE1, exif)
            + segment(0xDB, b"\0" + bytes([8] * 64)) + segment(0xC2 if progressive else 0xC0, frame)
            + segment(0xC4, b"\0" + table[:16] + table[16:]) + segment(0xC4, b"\x10" + table[:16] + table[16:])
            + (segment(0xDD, struct.pack(">H", restart)) if restart else b"") + segment(0xDA, scan) + b"\x2a\x55\x00\x3f\xff\xd9")


def images():
    text = png_chunk(b"tEXt", b"Title\0seed") + png_chunk(b"pHYs", b"\0\0\x0b\x13\0\0\x0b\x13\x01")
    exif = png_chunk(b"eXIf", b"MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x03\0\0\0\0\0\0")
    palette = png_chunk(b"PLTE", bytes(range(12))) + png_chunk(b"tRNS", b"\x80\xff")
    made = {f"png_{d}_{c}": png(d, c, extra=palette if c == 3 else b"")
            for d, c in ((1, 0), (8, 0), (16, 0), (8, 2), (16, 2), (2, 3), (8, 4), (8, 6), (16, 6))}
    made |= {"png_interlaced": png(8, 2, 1), "png_texts": png(8, 0, extra=text + exif), "png_cut": png(8, 2)[:60]}
    large = bytearray(png(8, 6))
    large[16:24] = struct.pack(">II", 1 << 20, 1 << 12)
    large[29:33] = struct.pack(">I", zlib.crc32(large[12:29]))
    made["png_large_header"] = bytes(large)
    made |= {f"bmp_{bits}": bmp(bits) for bits in (1, 4, 16, 24, 32)} | {"bmp_core": bmp(24, core=True)}
    made |= {f"tga_{kind}_{bits}": tga(kind, bits) for kind, bits in ((1, 8), (2, 16), (2, 24), (2, 32), (3, 8), (9, 8), (10, 24), (11, 8))}
    made |= {"bmp_core_4": bmp(4, core=True), "bmp_late": bmp(24, gap=5), "bmp_late_4": bmp(4, gap=70)}
    made |= {f"bmp_masks_{version}": masked_bmp(version) for version in (52, 56)}
    made |= {"tga_right": tga(10, 24, descriptor=0x10), "tga_first": tga(1, 8, first=3), "tga_first_16": tga(9, 16, first=300),
             "tga_unused_palette": tga(2, 24, mapped=True), "tga_mark": tga(2, 24, descriptor=0x40) + bytes(8) + b"TRUEVISION-XFILE.\0"}
    made |= {"jpeg_grey": jpeg(), "jpeg_colour": jpeg(gray=False), "jpeg_progressive": jpeg(True), "jpeg_restart": jpeg(restart=1)}
    return made


# ---- arrays and text ----------------------------------------------------------

def npy(descr, shape, size, fortran=False, version=1):
    header = f"{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}".encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    length = struct.pack("<H" if version == 1 else "<I", len(header))
    return b"\x93NUMPY" + bytes([version, 0]) + length + header + bytes(i % 61 for i in range(size))


def arrays():
    return {"f4": npy("<f4", "(3, 5)", 60), "f8_big": npy(">f8", "(7,)", 56), "u1_fortran": npy("|u1", "(2, 3, 4)", 24, True),
            "i8": npy("<i8", "(2, 2)", 32, version=2), "bool": npy("|b1", "(4,)", 4), "f2": npy("<f2", "(2, 2, 2, 3)", 48, version=3),
            "cut": npy("<i2", "(100, 100)", 500), "huge": npy("<f8", "(4294967296, 4294967296)", 8),
            "empty": npy("<f4", "(0, 5)", 0), "scalar": npy("<f4", "()", 4), "structure": npy("x", "(1,)", 1).replace(b"'x'", b"[('a','<f4')]")}


TABLES = {"mask": "# a mask\n0.25 0.5 0.25\n", "matrix": "1,2,3\n4,5,6\n", "column": "1\n2\n3\n", "ragged": "1 2\n3\n",
          "inline": "[1,2,1]/4", "inline_rows": "[1,0;0,1]*2", "numbers": "-1.5e-3 +2E10 .5 5. 1e999 1e-999\n",
          "words": "nan inf 0x10 1,,2\n", "binary": "\0\1\2\3", "nested": "[[1,2],[3]]", "long": "1 " * 200}

CHAINS = {"plain": "conv1d:[1,2,1]/4", "keys": "conv1d:mask=[1,2,1]/4:flip=no:border=zero", "quoted": "conv1d:'a b:c.txt'",
          "escaped": "conv1d:a\\:b\\'c", "several": "gain:-6dB\nclip:min=-1:max=1\nstats", "unknown": "conv1", "twice": "gain:1:1",
          "open": "conv1d:'x", "bracket": "conv1d:[1,2", "image": "winstat:window=15:stat=std\nsepconv:[1,2,1]/4",
          "spectrum": "stft:size=64:hop=16\nmel\nistft", "list": "crop:1,2:3,4\ncrop:10x10", "nothing": "", "utf8": "gain:\u00e9\u2192",
          "large": "winstat:window=999999999", "matrix": "matrix:[1,0;0,1]\nmix:1,0\nconvert:u8", "dct": "dct:8\ndft:16"}


def chains_of_operators(command):
    """Every example of every operator, on a sound and on an image."""
    import json
    names = [op["name"] for op in json.loads(subprocess.check_output([command, "list", "--json"]))["operators"]]
    made = {}
    for op in json.loads(subprocess.check_output([command, "inspect", *names, "--json"])):
        if op["generator"]:
            continue  # the target has a signal to give
        for i, example in enumerate(op["examples"]):
            kind = "0 4 0 1 2 60 2" if "audio" in op.get("kinds", ["audio"]) else "1 0 0 2 20 30 3"
            stage = example.get("stage", "") if isinstance(example, dict) else example
            made[f"{op['name']}_{i}"] = f"{kind} 20 2 0 {i} {i + 1}\n{stage}"
            made[f"{op['name']}_{i}_image"] = f"1 {i % 6} {i % 2} 2 20 30 3 5 3 {i % 3} {i} {i + 1}\n{stage}"
    return made


# ---- sound --------------------------------------------------------------------

def riff_chunk(kind, data):
    return kind + struct.pack("<I", len(data)) + data + b"\0" * (len(data) & 1)


def wav(tag=1, bits=16, channels=1, frames=20, extra=b""):
    size = bits // 8 * channels
    samples = bytes((i * 37) % 251 for i in range(frames * size))
    header = struct.pack("<HHIIHH", tag, channels, RATE, RATE * size, size, bits)
    body = b"WAVE" + riff_chunk(b"fmt ", header) + extra + riff_chunk(b"data", samples)
    return b"RIFF" + struct.pack("<I", len(body)) + body


def metadata():
    info = riff_chunk(b"LIST", b"INFO" + riff_chunk(b"INAM", b"seed\0\0"))
    cue = riff_chunk(b"cue ", struct.pack("<I", 1) + struct.pack("<II4sIII", 1, 3, b"data", 0, 0, 3))
    smpl = riff_chunk(b"smpl", struct.pack("<9I", 0, 0, 0, 60, 0, 0, 0, 1, 0) + struct.pack("<6I", 0, 0, 1, 5, 0, 0))
    bext = riff_chunk(b"bext", b"a description".ljust(602, b"\0") + b"A=PCM\r\n")
    return info + cue + smpl + bext


def cue_sheet():
    track = struct.pack(">QB12sB13xB", 0, 1, b"CODE", 0, 2) + struct.pack(">QB3xQB3x", 0, 0, 30, 1)
    track += struct.pack(">QB12sB13xB", 40, 2, b"CODE", 0, 1) + struct.pack(">QB3x", 0, 1)
    return b"123".ljust(128, b"\0") + struct.pack(">QB258xB", 0, 0, 3) + track + struct.pack(">QB12xx13xB", 64, 255, 0)


def placed(made):
    """What is copied from frame 20 on, into the same container."""
    flac, sheet = made["by_flac"], cue_sheet()
    region = riff_chunk(b"LIST", b"adtl" + riff_chunk(b"ltxt", struct.pack("<II4sHHHH", 7, 99, b"rgn ", 0, 0, 0, 0)))
    cue = riff_chunk(b"cue ", struct.pack("<I", 1) + struct.pack("<II4sIII", 7, 30, b"data", 0, 0, 30))
    return {"flac_sheet": bytes([101]) + flac[:42] + b"\5" + struct.pack(">I", len(sheet))[1:] + sheet + flac[42:],
            "wav_regions": bytes([100]) + wav(frames=64, extra=region + cue),
            "mp3": bytes([100]) + (b"\xff\xfb\x10\xc4" + bytes(100)) * 5, "mp3_tag":
            bytes([100]) + b"ID3\3\0\0\0\0\0\x10" + bytes(16) + (b"\xff\xfb\x90\xc4" + bytes(413)) * 2}


def commented(flac, copies):
    """Fields that libsndfile has no name for, a picture and damage: from FLAC into FLAC and Ogg, from Ogg into FLAC, and from a pipe
    into Ogg."""
    def block(kind, body, last=0):
        return struct.pack(">I", len(body) | (kind | last) << 24) + body
    fields = [b"COMPOSER=seed", b"ARTIST=one", b"artist=two", b"CHAPTER001=00:00:00.001", b"\xff\x1b=odd", b"none"]
    words = struct.pack("<I", 0) + struct.pack("<I", len(fields)) + b"".join(struct.pack("<I", len(f)) + f for f in fields)
    picture = struct.pack(">II9s6I", 3, 9, b"image/png", 0, 1, 1, 24, 0, 5) + b"bytes"
    rest = flac[46 + int.from_bytes(flac[43:46], "big"):]
    whole = flac[:42] + block(4, words) + block(6, picture, flac[42] & 128) + rest
    damaged = flac[:42] + block(4, words[:-9]) + block(77, b"new", flac[42] & 128) + rest
    made = {"flac_comments": bytes([101]) + whole, "flac_to_ogg": bytes([56]) + whole, "flac_damaged": bytes([1]) + damaged}
    for name, data in copies(whole, ("ogg", "opus")).items():
        made[name + "_comments"], made["pipe_" + name + "_comments"] = b"\1" + data, bytes([248]) + data
    return made


def numbered(ogg):
    """The pages of a stream, with another number."""
    pages = [bytearray(b"OggS" + page) for page in ogg.split(b"OggS")[1:]]
    for page in pages:
        total, page[14:18], page[22:26] = 0, b"\7\0\0\0", bytes(4)
        for byte in page:
            total ^= byte << 24
            for _ in range(8):
                total = total << 1 ^ (0x104c11db7 if total >> 31 else 0)
        page[22:26] = struct.pack("<I", total)
    return pages


def foreign(made):
    """As other programs write them: MP3 in WAV, blocks of which the last is filled up, big-endian WAV, a tag ahead of AIFF, streams
    side by side, long texts."""
    def packed(tag, block, frames, data):
        head = struct.pack("<HHIIHHHH", tag, 1, RATE, RATE, block, 4, 2, frames) + bytes(10 if tag == 0x55 else 0)
        body = b"WAVE" + riff_chunk(b"fmt ", head) + riff_chunk(b"fact", struct.pack("<I", frames + 9)) + riff_chunk(b"data", data)
        return b"RIFF" + struct.pack("<I", len(body)) + body

    def big(kind, data):
        return kind + struct.pack(">I", len(data)) + data + b"\0" * (len(data) & 1)
    labels = big(b"LIST", b"adtl" + big(b"labl", struct.pack(">I", 1) + b"one\0") + big(b"ltxt", struct.pack(">II4sHHHH", 1, 9, b"rgn ", 0, 0, 0, 0)))
    cue = big(b"cue ", struct.pack(">I", 1) + struct.pack(">II4sIII", 1, 3, b"data", 0, 0, 3))
    smpl = big(b"smpl", struct.pack(">9I", 0, 0, 0, 60, 0, 0, 0, 1, 0) + struct.pack(">6I", 0, 0, 1, 5, 0, 0))
    body = b"WAVE" + big(b"fmt ", struct.pack(">HHIIHH", 1, 1, RATE, RATE * 2, 2, 16)) + cue + labels + smpl + big(b"data", bytes(range(80)))
    rifx = b"RIFX" + struct.pack(">I", len(body)) + body
    text = riff_chunk(b"LIST", b"INFO" + riff_chunk(b"ICMT", b"long" * 600) + riff_chunk(b"INAM", b"\x93seed\x94") + riff_chunk(b"IXYZ", b"odd"))
    pages = [b"OggS" + page for page in made["by_ogg"].split(b"OggS")[1:]]
    beside = b"".join(bytes(page) for pair in zip(pages, numbered(made["by_ogg"])) for page in pair)
    return {"mp3_in_wav": b"\0" + packed(0x55, 1, 1, (b"\xff\xfb\x10\xc4" + bytes(100)) * 4), "ima": b"\1" + packed(17, 36, 65, bytes(range(72))),
            "gsm": b"\2" + packed(49, 65, 320, bytes(range(130))), "rifx": bytes([10]) + rifx, "pipe_rifx": bytes([202]) + rifx,
            "tag_aiff": b"\3" + b"ID3\4\0\x10\0\0\0\5" + bytes(15) + made["by_aiff"], "ogg_beside": b"\4" + beside,
            "pipe_beside": bytes([200]) + beside, "long_text": b"\3" + wav(extra=text), "wav_no_padding":
            b"\2" + wav(bits=8, frames=21, extra=b"")[:-1] + riff_chunk(b"LIST", b"INFO" + riff_chunk(b"INAM", b"odd"))}


def tails(made):
    """Comments of AIFF, one about a marker, and a program's name; frames of MP3 that are counted alone, with something between them and
    more behind; sizes that may stand for none, by name and from a pipe; zeros in texts."""
    aiff, frame = made["by_aiff"], b"\xff\xfb\x10\xc4" + bytes(100)
    remarks = struct.pack(">HIHH4sIHH3sx", 2, 1, 0, 4, b"said", 2, 7, 3, b"why")
    said = b"COMT" + struct.pack(">I", len(remarks)) + remarks + b"APPL" + struct.pack(">I", 8) + b"m3gaseed"
    counting = (frame[:4] + bytes(17) + b"Xing" + struct.pack(">II", 1, 3)).ljust(len(frame), b"\0")
    near = wav()
    near = near[:4] + struct.pack("<I", 0x7ffff000 + 136) + near[8:40] + struct.pack("<I", 0x7ffff000) + near[44:]
    text = riff_chunk(b"LIST", b"INFO" + riff_chunk(b"INAM", b"one\0two\0\0"))
    return {"aiff_remarks": b"\1" + aiff[:4] + struct.pack(">I", len(aiff) + len(said) - 8) + aiff[8:12] + said + aiff[12:],
            "mp3_frames": b"\1" + counting + frame * 2 + b"between" + frame * 3, "wav_near": b"\1" + near, "pipe_wav_near": bytes([200]) + near,
            "zero_in_text": b"\1" + wav(extra=text)}


def copies_by(command, data, endings):
    """What the command makes of a sound, by its ending."""
    made = {}
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "in")
        with open(source, "wb") as file:
            file.write(data)
        for ending in endings:
            target = os.path.join(folder, "out." + ending)
            done = subprocess.run([command, "-i", source, "-o", target], stderr=subprocess.PIPE, check=False)
            if done.returncode == 0:
                with open(target, "rb") as file:
                    made[ending] = file.read()
            else:
                print(done.stderr.decode().strip())
    return made


def sounds(command):
    """The first byte tells the target where to copy to, and whether it comes through a pipe."""
    made = {"wav_16": wav(), "wav_8": wav(bits=8), "wav_24": wav(bits=24, channels=2), "wav_32": wav(bits=32), "wav_f32": wav(3, 32),
            "wav_f64": wav(3, 64), "wav_ulaw": wav(7, 8), "wav_alaw": wav(6, 8), "wav_metadata": wav(extra=metadata()), "wav_cut": wav()[:60],
            "au": b".snd" + struct.pack(">IIIII", 24, 40, 3, RATE, 1) + bytes(40)}
    made.update((f"by_{ending}", data) for ending, data in copies_by(command, wav(frames=64, extra=metadata()), (
        "flac", "aiff", "caf", "w64", "ogg", "opus", "rf64", "au")).items())
    piped = {"pipe_" + name: bytes([200]) + made[name] for name in ("wav_metadata", "by_aiff", "by_ogg", "by_opus", "au") if name in made}
    return {**{name: bytes([i % 5]) + data for i, (name, data) in enumerate(sorted(made.items()))}, **placed(made), **piped,
            **foreign(made), **tails(made), **(commented(made["by_flac"], lambda data, endings: copies_by(command, data, endings)) if "by_flac" in made else {})}


def headers(made, *marks):
    """Those of the sounds that begin so, without the byte ahead."""
    return {name: data[1:] for name, data in made.items() if data[1:].startswith(marks)}


def tagged(version=4):
    """MPEG audio behind texts and a picture."""
    frames = b""
    for kind, body in ((b"TIT2", b"\3a title"), (b"TXXX", b"\3name\0text"), (b"COMM", b"\3eng\0said"), (b"APIC", b"\0image/png\0\3\0" + bytes(40))):
        frames += kind + struct.pack(">I", len(body)) + b"\0\0" + body
    return b"ID3" + bytes([version, 0, 0, 0, 0, 0, len(frames)]) + frames + (b"\xff\xfb\x90\x64" + bytes(413)) * 2


# ---- what the child says ------------------------------------------------------

def report(width, height, channels, bits, at, reason=b"", size=400):
    said = struct.pack("<iiiiixxxxq", 1, width, height, channels, bits, at) + reason.ljust(64, b"\0")
    return struct.pack("<HH", 7, 4) + said.ljust(size, b"\x33")


REPORTS = {"well": report(8, 5, 3, 8, 256), "sixteen": report(8, 5, 1, 16, 272), "failed": report(0, 0, 0, 0, 0, b"bad \n\x1b[2J"),
           "other_size": report(9, 5, 3, 8, 256), "outside": report(8, 5, 3, 8, 1 << 40), "before": report(8, 5, 3, 8, -256),
           "odd": report(8, 5, 3, 8, 257), "end": report(8, 5, 4, 16, 384), "short": struct.pack("<HH", 0, 0)}


# ---- the plugin cache -----------------------------------------------------------

def framed(members, ends):
    """A GVariant container: its members laid out, and behind them where some of them end."""
    size = next(size for size, most in ((1, 255), (2, 65535), (4, 1 << 32)) if len(members) + size * len(ends) <= most)
    return members + b"".join(end.to_bytes(size, "little") for end in ends)


def array_of(items, alignment):
    members, ends = b"", []
    for item in items:
        members += bytes(-len(members) % alignment) + item
        ends.append(len(members))
    return framed(members, ends)


def entry(path, size=1, modified=2, changed=3, inode=4, names=()):
    """(ayxxxtas), as core/registry/plugin_cache.c has it for each plugin file."""
    members = path + b"\0"
    end = len(members)
    members += bytes(-end % 8) + struct.pack("<qqqQ", size, modified, changed, inode)
    return framed(members + array_of([name + b"\0" for name in names], 1), [end])


def caches():
    """The first byte says what follows, see fuzz_cache.c."""
    some = [entry(b"/plugins/a.so", names=[b"gain", b"conv1d"]), entry(b"/plugins/b.so"), entry(b"", names=[b""])]
    gone = array_of([entry(b"/nonexistent/a.so", -1, 0, 0, 0, [b"x"]), entry(b"a", -1, 0, 0, 0)], 8)
    whole = b"somebody\0"
    entries = array_of(some, 8)
    whole = framed(whole + bytes(-len(whole) % 8) + entries, [len(whole)])
    return {"entries": b"\1" + entries, "written_back": b"\5" + entries, "gone": b"\1" + gone, "none": b"\1", "cut": b"\1" + entries[:40],
            "many": b"\5" + array_of([entry(b"/plugins/%d.so" % i, names=[b"op%d" % i]) for i in range(30)], 8),
            "bad_text": b"\1" + array_of([entry(b"/p", names=[b"\xff\xfe"])], 8), "other_writer": b"\0" + whole, "bare": b"\2" + whole,
            "short": b"\2" + bytes(31)}


# ---- archives -------------------------------------------------------------------

def archive(members, form=tarfile.USTAR_FORMAT, headers=None):
    """Of (name, content), or (name, type of a member without content)."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=form, pax_headers=headers) as tar:
        for name, content in members:
            member = tarfile.TarInfo(name)
            if isinstance(content, bytes) and len(content) != 1:
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))
            else:
                member.type, member.linkname = content, "a.npy"
                tar.addfile(member)
    content = file.getvalue().rstrip(b"\0")
    return content + bytes(-len(content) % 512 + 1024)


def archives():
    pair = [("a/1.npy", b"some bytes"), ("a/1.json", b"{}"), ("a/2.npy", bytes(513))]
    long = [("folder/" * 20 + "n" * 90, b"x" * 5), ("b", b"")]
    other = [("folder", tarfile.DIRTYPE), ("link", tarfile.SYMTYPE), ("../../up", b"up"), ("pipe", tarfile.FIFOTYPE)]
    plain = archive(pair)
    binary = bytearray(plain)
    binary[124:136] = b"\x80" + (10).to_bytes(11, "big")
    holes = bytearray(plain)  # GNU's own form: more of the map of holes in a block behind the header
    holes[156:157], holes[482:483], holes[512:512] = b"S", b"\1", bytes(512)
    return {"plain": plain, "pax": archive(long, tarfile.PAX_FORMAT), "gnu": archive(long, tarfile.GNU_FORMAT), "ustar": archive(long[1:] + pair),
            "prefix": archive([("p/" * 60 + "name", b"content")]), "other": archive(other), "global": archive(pair, tarfile.PAX_FORMAT, {"comment": "words"}),
            "sparse": archive(pair, tarfile.PAX_FORMAT, {"GNU.sparse.major": "1"}), "holes": bytes(holes),
            "size": archive([("sized", b"seven b")], tarfile.PAX_FORMAT, {"size": "7"}), "binary": bytes(binary), "cut": plain[:1500],
            "several": plain + archive(other), "large": archive([("large", bytes(range(256)) * 24), ("behind", b"it")]), "empty": archive([])}


def main(command, seeds):
    made = {"image": images(), "npy": arrays(), "table": {k: v.encode() for k, v in TABLES.items()},
            "chain": {k: v.encode() for k, v in CHAINS.items()}, "audio": sounds(command), "report": REPORTS,
            "cache": caches(), "tar": archives(),
            "pcm": {}, "mp3": {"tagged": tagged(), "tagged_3": tagged(3)},
            "operators": {k: v.encode() for k, v in chains_of_operators(command).items()}}
    made["pcm"] = headers(made["audio"], b"RIFF", b"RF64", b"RIFX", b"riff", b"FORM", b"caff", b".snd", b"dns.")
    made["mp3"].update(headers(made["audio"], b"ID3", b"\xff"))
    for target, files in made.items():
        os.makedirs(os.path.join(seeds, target), exist_ok=True)
        for name, data in files.items():
            with open(os.path.join(seeds, target, name), "wb") as file:
                file.write(data)
        print(f"{target}: {len(files)} seeds, {sum(map(len, files.values()))} bytes")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "seeds"))
