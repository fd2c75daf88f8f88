#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Sound beside sox and ffmpeg, file to file, in one run: sound.py BUILD [options].

    sound.py build                      speed, and how well each resamples
    sound.py build --only rates         some groups: resample filters rates live spectrogram memory

resample, filters: 10 minutes of stereo in 16 bits at another rate; through ten second-order sections (of one equalizer,
and of ten stages), and its loudness. Programs take turns, the least time of each counts; what they made is compared. As for quality, our
`best` is held against sox's `rate -v` and soxr in ffmpeg at precision 28, our `high` against `rate -h`, soxr at 20
and ffmpeg's own resampler at its (softer) default.
rates: what tones from the lowest to the highest become, 96000 to 44100 Hz: how much those below 0.80, 0.91 and 0.95 of
22050 Hz are changed (ripple and images together), and what is folded back of those above it, in files of floats.
live: how long a sample takes through pipes under --latency 20ms, at the pace of a recording.
memory: peaks of ten minutes and of ten hours, by tests/cli/memory.py.
Needs NumPy, and sox and ffmpeg (Debian: sox ffmpeg): rows whose rival is not there are named and left out. Exit
status 1 when two answers differ, never for a slow one.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np

from rivals_cpu import circumstances, in_turns, say, shell

BANDS = [(60, 1, 3), (120, 1.4, -2), (250, 1, 4), (500, 2, -3), (1000, 1, 2), (2000, 1.4, -4), (4000, 1, 3), (8000, 2, -2),
         (12000, 1, 2), (16000, 1.4, -3)]


def wav(path):
    """The samples of a RIFF file as floats, a column a channel."""
    data = open(path, "rb").read()
    at, form = 12, None
    while at < len(data):
        name, size = data[at:at + 4], int.from_bytes(data[at + 4:at + 8], "little")
        if name == b"fmt ":
            form = np.frombuffer(data[at + 8:at + 24], "<u2")
        if name == b"data":
            kind = {16: "<i2", 32: "<f4" if form[0] == 3 or (form[0] == 0xfffe and data.find(b"\x03\0\0\0\0\0\x10\0") > 0) else "<i4",
                    64: "<f8"}[int(form[7])]
            samples = np.frombuffer(data[at + 8:at + 8 + size], kind).astype(np.float64)
            scale = {"<i2": 2.0 ** 15, "<i4": 2.0 ** 31}.get(kind, 1.0)
            return samples.reshape(-1, int(form[1])) / scale
        at += 8 + size + size % 2
    raise ValueError(path)


class Table:
    def __init__(self):
        self.rows, self.memory, self.wrong = [], [], 0

    def add(self, work, rival, ours, theirs, target, note, same):
        ratio = theirs / ours
        self.rows.append({"work": work, "rival": rival, "ours_s": ours, "theirs_s": theirs, "ratio": round(ratio, 3),
                          "target": target, "met": ratio >= target, "same": bool(same), "difference": note})
        self.wrong += not same
        print(f"{work:<36}{rival:<34}{ours * 1e3:8.1f} ms{theirs * 1e3:9.1f} ms{ratio:7.2f} x  "
              f"{'target ' + str(target) + (' met' if ratio >= target else ' NOT MET'):<20}{note}{'' if same else '  DIFFERENT'}", flush=True)


def db(value):
    return 20 * np.log10(max(float(value), 1e-12))


def difference(a, b):
    """RMS of the difference of what both have, dB of full scale; and whether the lengths are within a sample."""
    count = min(len(a), len(b))
    return db(np.sqrt(np.mean((a[:count] - b[:count]) ** 2)))


def race(table, args, work, ours, rivals):
    """rivals: (name, words, output, target, most difference in dB)."""
    mine, out = ours
    there = [r for r in rivals if shutil.which(r[1][0])]
    for r in rivals:
        if r not in there:
            print(f"{work}: {r[0]} is left out, {r[1][0]} is not installed")
    jobs = [shell(args.command, "--device", "cpu", "-j", str(args.threads), *mine)] + [shell(*r[1]) for r in there]
    times = in_turns(jobs, args.repeats)
    for (name, _, path, target, most), seconds in zip(there, times[1:]):
        off = difference(wav(out), wav(path)) if path else None
        table.add(work, name, times[0], seconds, target, f"differs by {off:.0f} dB" if path else "", off is None or off <= most)


def make_source(args, path, rate=44100):
    """Noise and a sweep, softened towards high frequencies, with no sample at full scale."""
    subprocess.run([args.command, "-q", "-p", f"tone:noise:length={args.seconds}s:channels=2:rate={rate}:level=-8dB", "-p",
                    "biquad:lowpass:freq=5000:q=0.5", "-p", "convert:i16", "-o", path], check=True)


def resample(table, args, folder):
    source, out, other = (os.path.join(folder, n) for n in ("in.wav", "out.wav", "other.wav"))
    make_source(args, source)
    what = f"{args.seconds} s stereo"
    for quality, soxes, precision in (("best", "-v", 28), ("high", "-h", 20)):
        rivals = [(f"sox rate {soxes}", ["sox", "-D", source, other, "rate", soxes, "48000"], other, 2, -75),
                  (f"ffmpeg aresample, soxr {precision}", ffmpeg(source, other, f"aresample=48000:resampler=soxr:precision={precision}"),
                   other, 1.5, -75)]
        if quality == "high":
            rivals.append(("ffmpeg aresample", ffmpeg(source, other, "aresample=48000"), other, 1.5, -60))
        # One output each: the last that wrote it is compared, so a race a rival.
        for rival in rivals:
            race(table, args, f"{what}, 44.1 to 48 kHz, {quality}",
                 (["-i", source, "-p", f"resample:48k:quality={quality}", "-o", out], out), [rival])


def filters(table, args, folder):
    source, out, other = (os.path.join(folder, n) for n in ("in.wav", "out.wav", "other.wav"))
    make_source(args, source)
    what = f"{args.seconds} s stereo"
    freq, q, gain = (",".join(str(b[i]) for b in BANDS) for i in range(3))
    gain = ",".join(f"{g}dB" for g in gain.split(","))
    one = (["-i", source, "-p", f"equalizer:{freq}:q={q}:gain={gain}", "-o", out], out)
    stages = [w for f, width, g in BANDS for w in ("-p", f"biquad:peak:freq={f}:q={width}:gain={g}dB")]
    ten = (["-i", source, *stages, "-o", out], out)
    sox = [w for f, width, g in BANDS for w in ("equalizer", str(f), f"{width}q", str(g))]
    chain = "aformat=sample_fmts=fltp," + ",".join(f"equalizer=f={f}:t=q:w={width}:g={g}" for f, width, g in BANDS)
    for name, ours in (("equalizer of 10 bands", one), ("10 biquad stages", ten)):
        race(table, args, f"{what}, {name}", ours, [("sox equalizer, 10 times", ["sox", "-D", source, other, *sox], other, 2, -80)])
        race(table, args, f"{what}, {name}", ours, [("ffmpeg equalizer, 10 times", ffmpeg(source, other, chain), other, 1.5, -80)])
    loudness(table, args, source, what)


def ffmpeg(source, out, chain):
    """With one thread a filter: several for its channels wait for each other, ten times as long."""
    return ["ffmpeg", "-y", "-nostdin", "-v", "error", "-filter_threads", "1", "-i", source, "-af", chain, "-c:a", "pcm_s16le", out]


def loudness(table, args, source, what):
    """Ours always measures the true peak, so ffmpeg does as well; without it is told, too."""
    report = os.path.join(os.path.dirname(source), "r.json")
    ours = (["-q", "-i", source, "-p", "loudness", "--report", report], None)
    for name, options in (("ffmpeg ebur128, true peak", "=peak=true"), ("ffmpeg ebur128, no peak", "")):
        words = ["ffmpeg", "-nostdin", "-i", source, "-af", "ebur128" + options, "-f", "null", "-"]
        race(table, args, f"{what}, loudness", ours, [(name, words, None, 1.5, None)])
        if shutil.which("ffmpeg"):
            told = subprocess.run(words, capture_output=True, text=True, check=True).stderr
            theirs = float(re.findall(r"I:\s+(-?[\d.]+) LUFS", told)[-1])
            with open(report, encoding="utf-8") as file:
                mine = next(m["value"] for m in json.load(file)["files"][0]["measurements"] if m["name"] == "integrated")
            if abs(mine - theirs) > 0.1:
                table.wrong += 1
            print(f"    integrated: ours {mine:.2f} LUFS, theirs {theirs:.1f}")


# ---- how well rates are changed ----------------------------------------------------------

def rates(table, args, folder):
    """Tones, each by itself at a place of its own in one file: what passes is held against the same tone at the new
    rate, what must not pass against silence."""
    high, low, each = 96000, 44100, 0.25
    passed = [low / 2 * part for part in np.linspace(0.02, 0.95, 48)]
    folded = [low / 2 * 1.0005 + (high / 2 - low / 2) * part for part in np.linspace(0, 0.99, 48)]
    t = np.arange(int(each * high)) / high
    envelope = np.interp(t, [0, 0.02, each - 0.02, each], [0, 1, 1, 0])
    envelope = np.sin(envelope * np.pi / 2) ** 2
    source, out = os.path.join(folder, "tones.wav"), os.path.join(folder, "rated.wav")
    tones = np.concatenate([0.5 * envelope * np.sin(2 * np.pi * f * t) for f in passed + folded]).astype(np.float32)
    subprocess.run([args.command, "-q", "--raw", f"dtype=f32,channels=1,rate={high}", "-i", raw(folder, tones), "-o", source + ":dtype=f32"],
                   check=True)
    print(f"\n{'largest error of tones, of their level':<40}{'to 0.80':>12}{'to 0.91':>12}{'to 0.95':>12}{'folded back':>14}")
    for name, words in rate_programs(args, source, out, low):
        if not shutil.which(words[0]):
            print(f"{name} is left out: {words[0]} is not installed")
            continue
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        got = wav(out)[:, 0]
        per, skip = int(each * low), int(0.05 * low)
        worst = [0.0] * 4
        for i, f in enumerate(passed + folded):
            n = np.arange(i * per + skip, (i + 1) * per - skip)
            at = n / low - i * each
            want = 0.5 * np.sin(2 * np.pi * f * at) if f in passed else 0 * at
            error, part = np.abs(got[n] - want).max() / 0.5, f / (low / 2)
            for k in [3] if f not in passed else [k for k, edge in enumerate((0.80, 0.91, 0.9501)) if part <= edge]:
                worst[k] = max(worst[k], error)
        levels = [round(db(w), 1) for w in worst]
        print(f"    {name:<36}" + "".join(f"{level:9.1f} dB" for level in levels), flush=True)
        table.rows.append({"work": "tones, 96000 to 44100 Hz", "program": name, "to_0.80_dB": levels[0], "to_0.91_dB": levels[1],
                           "to_0.95_dB": levels[2], "folded_dB": levels[3]})


def raw(folder, samples):
    path = os.path.join(folder, "tones.raw")
    samples.tofile(path)
    return path


def rate_programs(args, source, out, low):
    """Of each program, in floats."""
    for quality in ("low", "medium", "high", "best"):
        yield f"ours, {quality}", [args.command, "-q", "-i", source, "-p", f"resample:{low}:quality={quality}", "-o", out + ":dtype=f32"]
    for soxes in ("-m", "-h", "-v"):
        yield f"sox rate {soxes}", ["sox", "-D", source, "-b", "32", out, "rate", soxes, str(low)]
    for precision in (20, 28):
        yield f"ffmpeg, soxr {precision}", ["ffmpeg", "-y", "-nostdin", "-i", source, "-af",
                                            f"aresample={low}:resampler=soxr:precision={precision}:osf=dbl", "-c:a", "pcm_f64le", out]
    yield "ffmpeg, its own", ["ffmpeg", "-y", "-nostdin", "-i", source, "-af", f"aresample={low}:osf=dbl", "-c:a", "pcm_f64le", out]


# ---- live --------------------------------------------------------------------------------

LIVE = {"a copy": [], "3 bands, limiter": ["equalizer:100,1k,5k:gain=3dB,-2dB,2dB:q=1", "limiter:-1dBFS"],
        "low pass of 255 taps": ["fir:lowpass=3k:taps=255"], "44.1 kHz": ["resample:44100"],
        "compand, gate": ["compand:-70,-60,0,-20", "gate:-50dB"], "a room of 1 s": ["conv1d:{room}:mode=full"]}


def live(table, args, folder):
    """Sound is written in pieces of 2 ms when they would have been recorded. A sample's delay is from when it was written
    until as many have come out; a chain that changes the rate by as much of them."""
    rate, piece, seconds = 48000, 96, 5
    room = os.path.join(folder, "room.txt")
    np.savetxt(room, np.random.default_rng(1).normal(size=rate) * np.exp(-np.arange(rate) / 8000) * 0.01, "%.7g")
    print(f"\n{'live, 48 kHz mono, --latency 20ms':<36}{'says':>10}{'median':>12}{'99 %':>10}{'longest':>12}")
    for name, stages in LIVE.items():
        chain = [w for s in stages for w in ("-p", s.format(room=room))]
        raw_in = ["--raw", f"dtype=f32,channels=1,rate={rate}", "--latency", "20ms"]
        plan = subprocess.run([args.command, "-i", "-", *raw_in, *chain, "-o", "-", "--format", "raw", "--dry-run"], capture_output=True,
                              input=bytes(4 * rate), check=True).stdout
        says = float(re.search(rb"held for ([\d.e-]+) ms", plan).group(1))
        delays = np.array(paced([args.command, "-i", "-", *raw_in, *chain, "-o", "-", "--format", "raw"], rate, piece, seconds,
                                44100 / rate if name == "44.1 kHz" else 1))
        low, most = np.percentile(delays, [50, 99])
        table.rows.append({"work": f"live, {name}", "says_ms": says, "median_ms": round(low, 2), "p99_ms": round(most, 2),
                           "longest_ms": round(delays.max(), 2)})
        print(f"    {name:<32}{says:7.1f} ms{low:9.1f} ms{most:7.1f} ms{delays.max():9.1f} ms", flush=True)


def paced(words, rate, piece, seconds, ratio):
    """Delays in ms of the first sample of each piece."""
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    came, noise = [], np.random.default_rng(2).normal(size=piece).astype(np.float32).tobytes()

    def read():
        total = 0
        while True:
            block = os.read(process.stdout.fileno(), 1 << 16)
            if not block:
                return
            total += len(block) // 4
            came.append((time.perf_counter(), total))
    reader = threading.Thread(target=read)
    reader.start()
    start, written = time.perf_counter() + 0.3, []
    for i in range(int(seconds * rate / piece)):
        time.sleep(max(0, start + (i + 1) * piece / rate - time.perf_counter()))
        written.append(time.perf_counter())
        process.stdin.write(noise)
    process.stdin.close()
    reader.join()
    process.wait()
    delays, at = [], 0
    for i in range(50, len(written) - 50):  # what follows the end is not waited for
        while came[at][1] <= i * piece * ratio:
            at += 1
        delays.append((came[at][0] - written[i]) * 1e3)
    return delays


# ---- pictures ----------------------------------------------------------------------------

def spectrogram(table, args, folder):
    source, out, other = (os.path.join(folder, n) for n in ("in.wav", "out.png", "other.png"))
    make_source(args, source)
    jobs = [shell(args.command, "-j", str(args.threads), "-i", source, "-p", "spectrogram", "-o", out)]
    if not shutil.which("sox"):
        print("spectrogram: sox is left out, it is not installed")
        return
    jobs.append(shell("sox", source, "-n", "spectrogram", "-o", other))
    times = in_turns(jobs, args.repeats)
    levels = same_picture(args, folder)
    same = levels[0] < 2 and levels[1] > 0.99
    table.add(f"{args.seconds} s stereo, spectrogram", "sox spectrogram", times[0], times[1], 1,
              f"of speech: median difference {levels[0]:.1f} dB, correlation {levels[1]:.3f}", same)


def same_picture(args, folder):
    """Levels that both draw of speech, with windows of the same length, from -90 dB up: the median of their differences; and the
    correlation of all levels."""
    speech = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "speech.wav")
    out, other = (os.path.join(folder, n) for n in ("mine.png", "theirs.png"))
    run = lambda *words: subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    run(args.command, "-i", speech, "-p", "spectrogram:axes=no:colors=gray:width=400:height=257:fft=512:range=120", "-o", out)
    run("sox", speech, "-n", "spectrogram", "-r", "-m", "-x", "400", "-y", "257", "-z", "120", "-w", "Hann", "-o", other)
    pictures = []
    for path in (out, other):
        run(args.command, "-i", path, "-p", "gray", "-o", path + ".npy")
        pictures.append(np.load(path + ".npy").squeeze().astype(float) / 255 * 120 - 120)
    # A column of sox's is of what begins, one of ours of what is centred there: half a window, which is one column.
    mine, theirs = pictures[0][:, :-1], pictures[1][:, 1:]
    off = np.abs(mine - theirs)[np.minimum(mine, theirs) > -90]
    return np.median(off), np.corrcoef(mine.ravel(), theirs.ravel())[0, 1]


# ---- memory ------------------------------------------------------------------------------

def memory(table, args, folder):
    """Of chains that tests/cli/memory.py holds to the same peak."""
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    done = subprocess.run([sys.executable, os.path.join(root, "tests", "cli", "memory.py"), args.build, root, "10", "600"], check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env={**os.environ, "TMPDIR": folder})
    table.wrong += done.returncode != 0
    for line in done.stdout.splitlines():
        peaks = re.fullmatch(r"(.*): 10 min ([\d.]+) MB, 600 min ([\d.]+) MB \(.*", line)
        if peaks:
            table.memory.append({"chain": peaks[1], "short_MB": float(peaks[2]), "long_MB": float(peaks[3])})
            print(line, flush=True)


GROUPS = {"resample": resample, "filters": filters, "rates": rates, "live": live, "spectrogram": spectrogram, "memory": memory}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--only", default=",".join(GROUPS), help="groups, with commas")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=int, default=600, help="of sound")
    parser.add_argument("--folder", default="/dev/shm" if os.path.isdir("/dev/shm") else None, help="for the files")
    parser.add_argument("--json", metavar="FILE", help="a record; groups that are not run stay in it as they are")
    args = parser.parse_args()
    args.command = os.path.join(os.path.abspath(args.build), "cli", "filterchain")
    run = circumstances(args.threads)
    say(run)
    table, runs = Table(), {}
    groups = args.only.split(",")
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        for name in groups:
            first = len(table.rows)
            run = circumstances(args.threads)
            runs[name] = {"date": run["date"][:10], "commit": run["commit"][:7] if run["commit"] else None, "load": run["load"],
                          "repeats": args.repeats}
            GROUPS[name](table, args, folder)
            for row in table.rows[first:]:
                row["group"] = name
    if args.json and os.path.exists(args.json):
        with open(args.json, encoding="utf-8") as file:
            kept = json.load(file)
        table.rows = [row for name in GROUPS for row in (table.rows if name in groups else kept["rows"]) if row["group"] == name]
        table.memory = table.memory if "memory" in groups else kept["memory"]
        runs = {**kept["groups"], **runs}
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump({"machine": run["machine"], "threads": args.threads, "groups": runs, "rows": table.rows, "memory": table.memory}, file, indent=1)
    return 1 if table.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
