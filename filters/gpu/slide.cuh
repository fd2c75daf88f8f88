// SPDX-License-Identifier: MIT
//
// slide.cuh - the skeleton of kernels composed at run time for statistics in windows along one axis, of any
// length: sound, and rows of images; with what is done to each sample or pixel before and after, and the
// border made on the way. The cost per output does not depend on the window.
//
// A block goes along a line in tiles of SAMPLES positions of all its channels. Samples are cut into segments
// of RUN, anchored in the signal, and 32 segments are a group, or fewer where windows are short. A thread
// makes the windows that begin in one segment, of
//
//     |suffix of the segment| the rest of its group | whole groups | what is ahead in the last | prefix |
//
// The pieces of whole groups stay in a ring from tile to tile; nothing is subtracted again. Where windows are
// long, their ends come into shared memory apart from their beginnings, and a block begins with tiles of
// which it wants groups alone. The order of sums is that of filters/winstat/rows, and of row_slide in
// filters/winstat: it depends on the window and on positions in the signal, not on where a tile begins.
// Variances are made from samples' distances in registers (moments.cuh), in short windows without pieces.
//
// Short lines: fold.cuh.
//
//     in --load--> Pre --> head, tail [STEP][segments] --> windows --> result [STEP] --> Post --store--> out
//
// Cost: two reads, the second out of the cache, and some 10 instructions a sample for sums, 60 for variances.
#ifndef FC_FILTERS_GPU_SLIDE_CUH
#define FC_FILTERS_GPU_SLIDE_CUH

#include "filters/gpu/extremes.cuh"
#include "filters/gpu/prefilter.cuh"
#include "filters/gpu/running.cuh"
#include "filters/gpu/statistic.cuh"
#include "filters/gpu/window.cuh"

// The position of quad i in a buffer: the four of a segment of 16 are permuted, so that threads of eight
// segments use different banks.
FC_DEVICE int fc_slide_quad(int i) {
  return 4 * ((i & ~3) | ((i ^ i >> 3) & 3));
}

FC_DEVICE void fc_slide_prefetch(const void *at) {
#ifdef __CUDA_ARCH__
  asm volatile("prefetch.global.L2 [%0];" ::"l"(at));
#endif
}

template <typename T, int KT, typename U, int KU, int UI, int UM, int UO, int STEP, int BORDER, bool ALIGNED,
          int SAMPLES, typename Pre, typename Op, typename Post>
struct fc_slide_floats {
  typedef typename Op::policy P;
  typedef typename P::piece piece;
  static constexpr int RUN = 16, LANES = 32, UNIT = LANES * RUN, UNITS = SAMPLES / UNIT;
  static constexpr int THREADS = SAMPLES / 16 * STEP, WARPS = THREADS / LANES;
  static constexpr int WINDOW = Op::NX, BEFORE = WINDOW / 2, AFTER = WINDOW - 1 - BEFORE;
  // A window ends Q segments after its own, with PART samples of that one for the first of a thread.
  static constexpr int Q = (WINDOW - 1) / RUN, PART = (WINDOW - 1) % RUN + 1;
  static constexpr int BITS = Q >= 32 ? 5 : Q >= 16 ? 4 : Q >= 8 ? 3 : Q >= 4 ? 2 : Q >= 2 ? 1 : 0;
  static constexpr int GROUP = 1 << BITS, WHOLE = Q >> BITS, REST = Q & (GROUP - 1);
  static constexpr bool FAR = Q >= LANES; // beginnings and ends in separate buffers
  // What lies between is made of pieces.
  static constexpr bool PIECES = Q > 1 && !(Op::MOMENTS && WINDOW <= FC_MOMENTS_MOST),
                        TABLE = PIECES && P::SHARED;
  // Where ends begin, in units of 32 segments, and then in segments.
  static constexpr int AWAY = FAR ? WHOLE : 0, APART = FAR ? REST : Q;
  // In the buffer of ends: its segments. A tile leaves its last 32 there for the next one, whose other
  // segments overwrite those no longer needed.
  static constexpr int BLOCKS = UNITS + 1, SEGMENTS = BLOCKS * LANES;
  static constexpr int ROOM = SEGMENTS * RUN, HEADS = FAR ? SAMPLES : 4;
  static constexpr int WARM = FAR ? (WHOLE - 1 + UNITS - 1) / UNITS : 0;
  static constexpr int most_groups(int n, int ring) { return ring >= n ? ring : most_groups(n, 2 * ring); }
  static constexpr int RING = most_groups(FAR ? WHOLE + UNITS + 2 : SEGMENTS >> BITS, 4); // a power of two
  static constexpr int STAGED = SAMPLES + SAMPLES / 16;
  // Positions that a thread stores at a time: one of floats, so that those of a warp lie side by side; of
  // codes, and of short lines, as many as have at most 16 bytes.
  static constexpr int SIZE = UO * static_cast<int>(sizeof(U)),
                       VECTOR = SIZE > 4 && 16 % SIZE == 0 ? 16 / SIZE : 4,
                       EACH = sizeof(U) == 4 ? 1 : VECTOR;

  static constexpr int BYTES = UI * static_cast<int>(sizeof(T)); // of a position
  typedef fc_prefilter<Pre> prefilter;
  static constexpr int QUADS_BEFORE = (prefilter::BEFORE + 3) / 4, QUADS_AFTER = (prefilter::AFTER + 3) / 4;
  static constexpr bool FLOATS = !ALIGNED && sizeof(T) == 4 && UI == 3;
  static constexpr int AROUND = FLOATS ? 1 : 0; // positions that are read beside
  // Two floats a position that begin anywhere are loaded position by position, those of a warp side by side:
  // a vector a thread, word by word, takes the first cache eight times as long (std of 431 of f32 stereo 114
  // us and 98; of one channel vectors are faster, 87 us for 91 by 100).
  static constexpr bool SINGLY = !ALIGNED && sizeof(T) == 4 && UI == 2 && prefilter::TAPS == 1 &&
                                 UNIT == 4 * THREADS; // a thread has four positions of a block

  // Joins whose shares lanes have in a table: with segments before, and behind, by 1 to 16; of whole groups,
  // by 16 to 1; and of the rest of a group with whole ones, with the last, and with what is ahead in that.
  enum { BEFORE_BY, BEHIND_BY = 5, GROUPS_BY = 10, WITH_WHOLE = 15, WITH_LAST, WITH_AHEAD, SHARES };
  static constexpr int COUNT = WHOLE > 1 ? WHOLE - 1 : 0; // whole groups between a window's ends

  // Channels of a tile in shared memory, de-interleaved.
  struct rooms {
    float head[STEP][HEADS], tail[STEP][ROOM], result[STEP][STAGED];
    piece ahead[STEP][PIECES ? SEGMENTS : 1], groups[STEP][PIECES ? RING : 1];
    fc_share shares[TABLE ? SHARES : 1][LANES];
  };

  // Groups that a lane has after every by-th have been joined.
  static FC_DEVICE int groups_held(int lane, int by) {
    return lane < COUNT ? (COUNT - lane + by - 1) / by : 0;
  }

  // Counts in segments, the same for all tiles.
  static FC_DEVICE fc_share share_of(int which, int lane) {
    const int place = lane & (GROUP - 1), rest = GROUP - 1 - place + COUNT * GROUP,
              last = place + REST >= GROUP ? GROUP : 0, by = 1 << which % 5;
    int a = rest + last, b = (place + REST) & (GROUP - 1); // WITH_AHEAD
    if (which < BEHIND_BY)
      a = place >= by ? min(by, place + 1 - by) : 0, b = min(by, place + 1);
    else if (which < GROUPS_BY)
      a = min(by, GROUP - place), b = place + by < GROUP ? min(by, GROUP - place - by) : 0;
    else if (which < WITH_WHOLE)
      a = GROUP * groups_held(lane, 2 * (16 / by)), b = GROUP * groups_held(lane + 16 / by, 2 * (16 / by)),
      b = lane < 16 / by ? b : 0;
    else if (which == WITH_WHOLE)
      a = GROUP - 1 - place, b = COUNT * GROUP;
    else if (which == WITH_LAST)
      a = rest, b = last;
    return fc_share_of(a * RUN, b * RUN);
  }

  // Joins a and b if `both`; or as the table says, a of which may be missing, or b.
  template <bool A, bool B>
  static FC_DEVICE piece combine(const rooms &r, int which, const piece &a, const piece &b, bool both,
                                 const piece &otherwise) {
    if constexpr (P::SHARED) return P::template join_by<A, B>(a, b, r.shares[which][threadIdx.x % LANES]);
    return both ? P::join(a, b) : otherwise;
  }

  static FC_DEVICE int staged(int i) { return i + (i >> 4); }

  // The parts of a line that a tile needs: its heads, or none, and its tails from block `first` on. Buffers
  // are as long as tiles, except that of ends, where block 0 is number `turn`.
  struct wanted {
    const char *in;
    int at, heads, tail_at, tails; // positions, and how many quads
    int first, turn;
  };

  // Positions [from, end) of a line are in the signal, with those around them that are read beside.
  struct span {
    int from, end;
  };
  static FC_DEVICE span span_of(const fc_window_args &a) {
    return {max(-a.begin, -BEFORE - prefilter::BEFORE) + 4 * QUADS_BEFORE + AROUND,
            min(a.extent - a.begin, a.total + AFTER + prefilter::AFTER) - 4 * QUADS_AFTER - AROUND};
  }

  static FC_DEVICE int turned(int block, int turn) { // block, turn <= UNITS
    return block + turn < BLOCKS ? block + turn : block + turn - BLOCKS;
  }

  // Four positions, and the quads before and behind them that a prefilter looks at.
  struct load {
    static constexpr int QUADS = QUADS_BEFORE + 1 + QUADS_AFTER;
    typename fc_either<FLOATS, fc_window_load_floats<T, KT, 4 * UI>,
                       fc_window_load<T, KT, 4 * UI, ALIGNED>>::type quad[QUADS];
    FC_DEVICE void fetch(const char *from) {
#pragma unroll
      for (int q = 0; q < QUADS; q++) quad[q].fetch(from + (q - QUADS_BEFORE) * (4 * BYTES));
    }
    FC_DEVICE void seen(float (&x)[(3 + prefilter::TAPS) * UI]) const {
      constexpr int SKIP = (4 * QUADS_BEFORE - prefilter::BEFORE) * UI;
#pragma unroll
      for (int q = 0; q < QUADS; q++) {
        float some[4 * UI];
        quad[q].values(some);
#pragma unroll
        for (int i = 0; i < 4 * UI; i++) {
          const int to = q * (4 * UI) + i - SKIP;
          if (to >= 0 && to < (3 + prefilter::TAPS) * UI) x[to] = some[i];
        }
      }
    }
  };
  static_assert(UNIT % (4 * LANES) == 0 && SAMPLES % (4 * LANES) == 0,
                "buffers are made of whole warps' quads");

  // Where quad i of a buffer lies, if it is one of this thread's, THREADS apart.
  static FC_DEVICE int place(int i) {
    return 4 * (i & ~(LANES - 1)) + fc_slide_quad(threadIdx.x % LANES);
  }

  // The same of the buffer of ends, by the block that comes first.
  static FC_DEVICE int tail_place(int i, int first, int turn) {
    return turned(4 * i / UNIT + first, turn) * UNIT + place(i) % UNIT;
  }

  // A sample as it is kept: infinities have no variance.
  static FC_DEVICE float kept(float v) {
    return Op::MOMENTS ? v + (v - v) : v;
  }

  static FC_DEVICE void keep(float *to, int room, const float (&v)[4 * UM]) {
#pragma unroll
    for (int c = 0; c < STEP; c++)
      *reinterpret_cast<float4 *>(to + c * room) =
          make_float4(kept(v[c]), kept(v[UM + c]), kept(v[2 * UM + c]), kept(v[3 * UM + c]));
  }

  static FC_DEVICE void keep(rooms &r, const wanted &w, int quad, const float (&v)[4 * UM]) {
    const int i = quad - w.heads;
    if (i < 0)
      keep(r.head[0] + place(quad), HEADS, v);
    else
      keep(r.tail[0] + tail_place(i, w.first, w.turn), ROOM, v);
  }

  // Four positions, as they are kept.
  static FC_DEVICE void values(float (&v)[4 * UM], const load &raw, const Pre &pre, fc_dev_noted &noted) {
    float x[(3 + prefilter::TAPS) * UI];
    raw.seen(x);
    fc_prefiltered<4>(pre, x, v, noted);
  }

  // A position of the buffers, from the first quad on, or -1, and that of the signal which it is a copy of,
  // or -1: the constant. Or it does not exist: then no output's window uses it, and it is 1, as the
  // statistics of sums that are very small or large take long (of_windows).
  struct target {
    int p, source;
    bool exists;
    const char *in;
  };

  // Positions one by one, of which target_of(i) is the i-th of `count`. Several are read ahead of their use.
  template <class Target>
  static FC_DEVICE void put(const fc_window_args &a, rooms &r, const wanted &w, int count, Target target_of,
                            const Pre &pre, fc_dev_noted &noted) {
    constexpr int SOME = prefilter::TAPS > 1 ? 1 : BYTES > 8 ? 2 : 4;
#pragma unroll 1
    for (int first = threadIdx.x; first < count; first += SOME * THREADS) {
      target s[SOME];
      T code[SOME][UI];
#pragma unroll
      for (int b = 0; b < SOME; b++) {
        s[b] = {-1, -1, false, w.in};
        if (first + b * THREADS < count) s[b] = target_of(first + b * THREADS);
        if (prefilter::TAPS > 1 || s[b].p < 0 || s[b].source < 0) continue;
        const T *samples =
            reinterpret_cast<const T *>(s[b].in + static_cast<int64_t>(s[b].source - a.begin) * BYTES);
#pragma unroll
        for (int c = 0; c < UI; c++) code[b][c] = samples[c];
      }
#pragma unroll
      for (int b = 0; b < SOME; b++) {
        if (s[b].p < 0) continue;
        float v[UM];
#pragma unroll
        for (int c = 0; c < UM; c++) v[c] = s[b].exists ? a.constant : 1;
        const auto read = [&](int position, float(&x)[UI]) {
          if constexpr (prefilter::TAPS > 1) return fc_read_position<T, KT>(s[b].in, position, x);
#pragma unroll
          for (int c = 0; c < UI; c++)
            x[c] = fc_dev_value<float, T>(code[b][c], fc_map_scaling<float, T, KT>());
        };
        if (s[b].source >= 0) fc_prefiltered_at<UI>(a, s[b].source, pre, v, noted, read);
        const int quad = s[b].p / 4, i = quad - w.heads, room = i < 0 ? HEADS : ROOM;
        float *to = i < 0
                        ? r.head[0] + fc_slide_quad(quad)
                        : r.tail[0] + turned(4 * i / UNIT + w.first, w.turn) * UNIT + fc_slide_quad(i) % UNIT;
#pragma unroll
        for (int c = 0; c < STEP; c++) to[c * room + s[b].p % 4] = kept(v[c]);
      }
    }
  }

  // SINGLY: four positions, THREADS apart, of those in [from, end). INSIDE: all are.
  template <bool INSIDE> struct singles {
    T code[4][UI];
    bool in[4];
    // Others are copies of one of them, so that nothing is noted of what does not exist.
    FC_DEVICE void fetch(const char *line, int at, const span &s) {
      const T *first = reinterpret_cast<const T *>(line + static_cast<int64_t>(at) * BYTES);
#pragma unroll
      for (int i = 0; i < 4; i++) {
        const int p = at + i * THREADS;
        in[i] = INSIDE || (p >= s.from && p < s.end);
        const T *from = first + i * THREADS * UI;
        if (!INSIDE)
          from = reinterpret_cast<const T *>(line +
                                             static_cast<int64_t>(max(min(p, s.end - 1), s.from)) * BYTES);
#pragma unroll
        for (int c = 0; c < UI; c++) code[i][c] = from[c];
      }
    }
    // Of position at + threadIdx.x of the buffer `to`.
    FC_DEVICE void keep(float *to, int room, const Pre &pre, fc_dev_noted &noted) const {
      float x[4 * UI], v[4 * UM];
#pragma unroll
      for (int i = 0; i < 4 * UI; i++)
        x[i] = fc_dev_value<float, T>(code[i / UI][i % UI], fc_map_scaling<float, T, KT>());
      pre.run(x, v, noted);
#pragma unroll
      for (int i = 0; i < 4; i++)
#pragma unroll
        for (int c = 0; c < STEP; c++)
          if (in[i]) to[c * room + i * THREADS] = kept(v[i * UM + c]);
    }
  };

  template <bool INSIDE>
  static FC_DEVICE void bring_singly(rooms &r, const wanted &w, span in, const Pre &pre,
                                     fc_dev_noted &noted) {
    constexpr int EACH_TIME = 4 * THREADS, TIMES = SAMPLES / EACH_TIME;
    const int t = threadIdx.x, place = fc_slide_quad(t / 4) + t % 4;
    const span heads = {in.from, min(in.end, w.at + 4 * w.heads)},
               tails = {in.from, min(in.end, w.tail_at + 4 * w.tails)};
    const auto block = [&](int i) { return r.tail[0] + turned(i, w.turn) * UNIT + place; };
    singles<INSIDE> head[FAR ? TIMES : 1], tail[TIMES];
#pragma unroll
    for (int k = 0; k < TIMES; k++) {
      if (FAR && w.heads) head[FAR ? k : 0].fetch(w.in, w.at + t + k * EACH_TIME, heads);
      tail[k].fetch(w.in, w.tail_at + (1 - w.first) * UNIT + t + k * EACH_TIME, tails);
    }
#pragma unroll
    for (int k = 0; k < TIMES; k++) {
      if (FAR && w.heads) head[FAR ? k : 0].keep(r.head[0] + place + k * EACH_TIME, HEADS, pre, noted);
      tail[k].keep(block(1 + k), ROOM, pre, noted);
    }
    if (w.first) return;
    singles<INSIDE> ahead;
    ahead.fetch(w.in, w.tail_at + t, {in.from, min(tails.end, w.tail_at + UNIT)});
    ahead.keep(block(0), ROOM, pre, noted);
  }

  // Loads all blocks from `first` on, and the heads, into shared memory, where all of these are in the
  // signal: distances of a thread's quads are constants.
  static FC_DEVICE void bring_inside(rooms &r, const wanted &w, const Pre &pre, fc_dev_noted &noted) {
    constexpr int QUADS = SAMPLES / 4, MINE = (QUADS + THREADS - 1) / THREADS;
    const int t = threadIdx.x;
    const char *head = w.in + static_cast<int64_t>(w.at + 4 * t) * BYTES,
               *tail = w.in + static_cast<int64_t>(w.tail_at + (1 - w.first) * UNIT + 4 * t) * BYTES;
    load heads[FAR ? MINE : 1], tails[MINE];
    float v[4 * UM];
#pragma unroll
    for (int k = 0; k < MINE; k++) {
      if (QUADS % THREADS && t + k * THREADS >= QUADS) continue;
      if (FAR && w.heads) heads[FAR ? k : 0].fetch(head + k * (4 * THREADS * BYTES));
      tails[k].fetch(tail + k * (4 * THREADS * BYTES));
    }
#pragma unroll
    for (int k = 0; k < MINE; k++) {
      if (QUADS % THREADS && t + k * THREADS >= QUADS) continue;
      if (FAR && w.heads) {
        values(v, heads[FAR ? k : 0], pre, noted);
        keep(r.head[0] + place(t) + k * (4 * THREADS), HEADS, v);
      }
      values(v, tails[k], pre, noted);
      keep(r.tail[0] + tail_place(t + k * THREADS, 1, w.turn), ROOM, v);
    }
    if (w.first) return;
#pragma unroll 1
    for (int quad = t; quad < UNIT / 4; quad += THREADS) {
      load raw;
      raw.fetch(w.in + static_cast<int64_t>(w.tail_at + 4 * quad) * BYTES);
      values(v, raw, pre, noted);
      keep(r.tail[0] + tail_place(quad, 0, w.turn), ROOM, v);
    }
  }

  // Loads what is wanted, with what the border makes of it.
  static FC_DEVICE void bring(const fc_window_args &a, rooms &r, const wanted &w, const Pre &pre,
                              fc_dev_noted &noted) {
    constexpr int BATCH = BYTES > 8 ? 2 : 4;
    const span in = span_of(a);
    const int count = w.heads + w.tails;
    const bool inside = (w.heads == 0 || w.at >= in.from) && w.tail_at >= in.from &&
                        w.tail_at + (BLOCKS - w.first) * UNIT <= in.end;
    if constexpr (SINGLY) {
      if (inside) return bring_singly<true>(r, w, in, pre, noted);
      bring_singly<false>(r, w, in, pre, noted);
    } else {
      if (inside) return bring_inside(r, w, pre, noted);
#pragma unroll 1
      for (int first = threadIdx.x; first < count; first += BATCH * THREADS) {
        load raw[BATCH];
        bool whole[BATCH];
#pragma unroll
        for (int b = 0; b < BATCH; b++) {
          const int quad = first + b * THREADS,
                    at = quad < w.heads ? w.at + 4 * quad : w.tail_at + 4 * (quad - w.heads);
          whole[b] = quad < count && at >= in.from && at + 4 <= in.end;
          if (whole[b]) raw[b].fetch(w.in + static_cast<int64_t>(at) * BYTES);
        }
#pragma unroll
        for (int b = 0; b < BATCH; b++) {
          if (!whole[b]) continue;
          float v[4 * UM];
          values(v, raw[b], pre, noted);
          keep(r, w, first + b * THREADS, v);
        }
      }
    }
    // Of so many quads from `quad` on, at positions from `at` on: those at the ends that are not loaded.
    const auto put_ends = [&](int quad, int quads, int at) {
      constexpr int BELOW = SINGLY ? 0 : 3;
      const int before = min(max((in.from - at + BELOW) & ~BELOW, 0), 4 * quads),
                behind = min(max((in.end - at) & ~BELOW, before), 4 * quads);
      put(
          a, r, w, before + 4 * quads - behind,
          [&](int i) {
            const int p = i + (i < before ? 0 : behind - before), source = at + p;
            const bool exists = source >= -BEFORE && source < a.total + AFTER;
            return target{4 * quad + p,
                          exists ? fc_dev_border_source(BORDER, source + a.begin, a.extent) : -1, exists,
                          w.in};
          },
          pre, noted);
    };
    if (FAR) put_ends(0, w.heads, w.at);
    put_ends(w.heads, w.tails, w.tail_at);
  }

  // Prefetches into the second-level cache; its lines have 128 bytes.
  static FC_DEVICE void await(const fc_window_args &a, const char *in, int at) {
    constexpr int APIECE = 128 / BYTES > 0 ? 128 / BYTES : 1;
    for (int p = at + static_cast<int>(threadIdx.x) * APIECE; p < at + SAMPLES; p += THREADS * APIECE)
      if (p >= -a.begin && p < a.extent - a.begin && p < a.total + AFTER)
        fc_slide_prefetch(in + static_cast<int64_t>(p) * BYTES);
  }

  // Samples from the beginning of a segment on, or their squares.
  template <int N, bool TURNED = false>
  static FC_DEVICE void read(float (&v)[N], const float *room, int segment, int turn = 0) {
#pragma unroll
    for (int k = 0; k < (N + 3) / 4; k++) {
      const int in = segment + k / (RUN / 4),
                at = TURNED ? turned(in / LANES, turn) * LANES + in % LANES : in;
      const float4 q =
          *reinterpret_cast<const float4 *>(room + fc_slide_quad(at * (RUN / 4) + k % (RUN / 4)));
      const float word[4] = {q.x, q.y, q.z, q.w};
#pragma unroll
      for (int i = 0; i < 4; i++)
        if (4 * k + i < N) v[4 * k + i] = P::of(word[i]);
    }
  }

  // A segment: its suffixes, of which the first is the segment's piece.
  struct begun {
    typename fc_either<Op::MOMENTS, fc_moments, float>::type suffix[RUN];
    piece whole;
    FC_DEVICE explicit begun(const float (&v)[RUN]) {
      if constexpr (Op::MOMENTS) {
        fc_moments_suffixes(suffix, [&](int k) { return v[k]; });
        whole = {v[RUN - 1], suffix[0].mean, suffix[0].squares, RUN};
      } else {
        suffix[RUN - 1] = v[RUN - 1];
#pragma unroll
        for (int k = RUN - 2; k >= 0; k--) suffix[k] = P::join(v[k], suffix[k + 1]);
        whole = suffix[0];
      }
    }
  };

  // For tile `tile`, from block `first` to `end`: what is before each segment in its group, and whole groups.
  static FC_DEVICE void scan(rooms &r, int tile, int first, int end, int turn) {
    const int lane = threadIdx.x % LANES, place = lane & (GROUP - 1);
#pragma unroll 1
    for (int unit = threadIdx.x / LANES + first * STEP; unit < end * STEP; unit += WARPS) { // whole warps
      const int c = unit % STEP, block = unit / STEP, segment = turned(block, turn) * LANES + lane;
      float v[RUN];
      read(v, r.tail[c], segment);
      piece total = begun(v).whole;
#pragma unroll
      for (int i = 0; i < BITS; i++) {
        const piece other = fc_lane_before(total, 1 << i);
        total = combine<true, false>(r, BEFORE_BY + i, other, total, place >= 1 << i, total);
      }
      const piece before = counted(fc_lane_before(total, 1), place);
      r.ahead[c][segment] = place ? before : P::none();
      const int group = ((tile * UNITS + AWAY + block) * LANES + lane) >> BITS & (RING - 1);
      if (place == GROUP - 1) r.groups[c][group] = total;
    }
  }

  // Of so many segments: known from where it is.
  static FC_DEVICE piece counted(const piece &v, int segments) {
    return P::counted(v, segments * RUN);
  }

  // What lies between a lane's segment, whose piece is `total`, and the one in which its windows end.
  static FC_DEVICE piece between(const rooms &r, int c, piece total, int segment, int tile, int turn) {
    const int lane = threadIdx.x % LANES, place = lane & (GROUP - 1), end = segment + APART;
    const int mine = (tile * (UNITS * LANES) + segment) >> BITS;
    const auto group = [&](int k) { return counted(r.groups[c][(mine + k) & (RING - 1)], GROUP); };
#pragma unroll
    for (int i = 0; i < BITS; i++) {
      const piece other = fc_lane_behind(total, 1 << i);
      total = combine<false, true>(r, BEHIND_BY + i, total, other, place + (1 << i) < GROUP, total);
    }
    piece rest = fc_lane_behind(total, 1);
    if (!P::SHARED && place == GROUP - 1) rest = P::none();
    if constexpr (COUNT > 0) {
      piece middle = P::none(); // of groups, every 32nd
#pragma unroll 1
      for (int k = 1 + lane; k < WHOLE; k += LANES) middle = P::join(middle, group(k));
#pragma unroll
      for (int i = 0; i < 5; i++) {
        const int by = LANES / 2 >> i;
        if (by >= COUNT) continue;
        const piece other = fc_lane_behind(middle, by);
        middle =
            combine<false, true>(r, GROUPS_BY + i, middle, other, lane < by && lane + by < COUNT, middle);
      }
      rest = combine<true, false>(r, WITH_WHOLE, rest, fc_lane_first(middle), true, rest);
    }
    rest = combine<true, true>(r, WITH_LAST, rest, group(WHOLE), place + REST >= GROUP, rest);
    const int ahead = turned(end / LANES, turn) * LANES + end % LANES;
    return counted(combine<true, true>(r, WITH_AHEAD, rest, r.ahead[c][ahead], true, rest), Q - 1);
  }

  // v[k]: the windows that begin with x[k], of at most RUN samples.
  static FC_DEVICE void short_windows(float (&v)[RUN], const float (&x)[RUN + PART]) {
#pragma unroll
    for (int block = 0; block < RUN; block += PART) {
      float suffix[PART], prefix = P::none();
#pragma unroll
      for (int k = PART - 1; k >= 0; k--) {
        const int at = block + k < RUN + PART ? block + k : 0; // not used by any output beyond it
        suffix[k] = k + 1 < PART ? P::join(x[at], suffix[k + 1 < PART ? k + 1 : k]) : x[at];
      }
#pragma unroll
      for (int k = 0; k < PART; k++) {
        if (block + k >= RUN) continue;
        if (k > 0) prefix = k > 1 ? P::join(prefix, x[block + PART + k - 1]) : x[block + PART];
        v[block + k] = k > 0 ? P::join(suffix[k], prefix) : suffix[k];
      }
    }
  }

  // Of windows that begin with the segment `b`, of which x are the samples that they end with.
  static FC_DEVICE void long_windows(float (&v)[RUN], const begun &b, const piece &core,
                                     const float (&x)[RUN + PART - 1]) {
    if constexpr (Op::MOMENTS) {
      constexpr fc_moments_shares shares = fc_moments_shares_of(WINDOW);
      fc_moments_windows(
          shares, b.suffix, b.whole.p, {(core.p - b.whole.p) + core.d, core.m}, RUN * (Q - 1), PART,
          [&](int k) { return x[k]; }, [&](int k, float, const fc_moments &m) { v[k] = m.squares; });
    } else {
      float all = Q > 1 ? P::join(core, x[0]) : x[0];
#pragma unroll
      for (int k = 1; k < PART; k++) all = P::join(all, x[k]);
#pragma unroll
      for (int k = 0; k < RUN; k++) {
        v[k] = P::join(b.suffix[k], all);
        if (k + 1 < RUN) all = P::join(all, x[PART + k]);
      }
    }
  }

  // Squared deviations of the windows that begin with the first of x and take no pieces.
  static FC_DEVICE void moments_of(const float (&x)[RUN + WINDOW - 1], float (&v)[RUN]) {
    constexpr fc_moments_shares shares = fc_moments_shares_of(WINDOW);
    const auto at = [&](int k) { return x[k < RUN + WINDOW - 1 ? k : 0]; }; // no output of those beyond
    const auto tail = [&](int k) { return x[Q * RUN + k]; };
    const auto put = [&](int k, float, const fc_moments &m) { v[k] = m.squares; };
    if constexpr (Q == 0)
      fc_moments_short<PART>(at, put);
    else if constexpr (Q == 1)
      fc_moments_long<0, PART>(shares, {0, 0}, at, tail, put);
    else
      fc_moments_most(
          shares, at, [&](int k) { return x[RUN + k]; }, tail, put);
  }

  // The windows that begin in a lane's segment: their sums, extremes or squared deviations.
  static FC_DEVICE void windows(const rooms &r, int c, int segment, int tile, int turn, float (&v)[RUN]) {
    const float *head = FAR ? r.head[c] : r.tail[c];
    if constexpr (Op::MOMENTS && !PIECES) {
      float x[RUN + WINDOW - 1];
      read<RUN + WINDOW - 1, true>(x, head, segment, turn);
      moments_of(x, v);
    } else if constexpr (Q == 0) {
      float x[RUN + PART];
      read<RUN + PART, true>(x, head, segment, turn);
      short_windows(v, x);
    } else {
      float own[RUN], x[RUN + PART - 1];
      read<RUN, !FAR>(own, head, segment, turn);
      const begun b(own);
      piece core = P::none();
      if constexpr (Q > 1) core = between(r, c, b.whole, segment, tile, turn);
      read<RUN + PART - 1, true>(x, r.tail[c], segment + APART, turn);
      long_windows(v, b, core, x);
    }
  }

  // Outputs of N positions from o on.
  template <int N>
  static FC_DEVICE void take(const rooms &r, int o, int tile_at, const Post &post, float (&y)[N * UO],
                             fc_dev_noted &noted) {
    float v[N * UM];
#pragma unroll
    for (int k = 0; k < N; k++)
#pragma unroll
      for (int c = 0; c < UM; c++) v[k * UM + c] = r.result[c][staged(o - tile_at + k)];
    post.run(v, y, noted);
  }

  // N outputs from position o on, of which those in [lo, hi) belong to this tile. PERHAPS: they may begin at
  // multiples of 16 bytes even if not ALIGNED.
  template <int N, bool PERHAPS>
  static FC_DEVICE void give(const rooms &r, char *out, int o, int tile_at, int lo, int hi, const Post &post,
                             fc_dev_noted &noted) {
    constexpr bool WORDS = PERHAPS && !ALIGNED && N * SIZE % 16 == 0;
    char *to = out + static_cast<int64_t>(o) * SIZE;
    if (o >= lo && o + N <= hi) {
      float y[N * UO];
      take<N>(r, o, tile_at, post, y, noted);
      if (WORDS && reinterpret_cast<uintptr_t>(to) % 16 == 0)
        fc_window_store<U, KU, Post::QUIET, WORDS || ALIGNED, N * UM, UM, Post::NEAR>(to, y, N * UM, noted);
      else
        fc_window_store<U, KU, Post::QUIET, ALIGNED, N * UM, UM, Post::NEAR>(to, y, N * UM, noted);
      return;
    }
#pragma unroll 1
    for (int k = max(lo - o, 0); k < min(hi - o, N); k++) {
      float y[UO];
      take<1>(r, o + k, tile_at, post, y, noted);
#pragma unroll
      for (int c = 0; c < UO; c++)
        reinterpret_cast<U *>(to)[k * UO + c] =
            fc_map_code<float, U, Post::QUIET>(y[c], fc_map_scaling<float, U, KU>(), noted);
    }
  }

  // The outputs [lo, hi) of a tile, the first of which is at position `to`: some of a thread are read ahead
  // of their use. ALL: they are the whole tile's. In place of one that does not exist the first is made, so
  // that nothing is noted of it.
  template <bool ALL>
  static FC_DEVICE void give_together(const rooms &r, char *out, int to, int lo, int hi, const Post &post,
                                      fc_dev_noted &noted) {
    constexpr int STRIDE = EACH * THREADS, TIMES = (SAMPLES + STRIDE - 1) / STRIDE,
                  SOME = TIMES < 4 ? TIMES : 4;
    static_assert(STRIDE % 16 == 0, "staged alike");
    const int mine = EACH * static_cast<int>(threadIdx.x);
#pragma unroll
    for (int first = 0; first < TIMES; first += SOME) {
      float y[SOME][EACH * UO];
      bool exists[SOME];
#pragma unroll
      for (int k = 0; k < SOME; k++) {
        const int i = mine + (first + k) * STRIDE, o = to + i;
        exists[k] = (SAMPLES % STRIDE == 0 || i < SAMPLES) && (ALL || (o >= lo && o < hi));
        if (first + k >= TIMES) continue;
        float v[EACH * UM];
#pragma unroll
        for (int j = 0; j < EACH; j++)
#pragma unroll
          for (int c = 0; c < UM; c++)
            v[j * UM + c] =
                r.result[c][exists[k] ? staged(mine + j) + (first + k) * staged(STRIDE) : staged(lo - to)];
        post.run(v, y[k], noted);
      }
#pragma unroll
      for (int k = 0; k < SOME; k++)
        if (first + k < TIMES && exists[k])
          fc_window_store<U, KU, Post::QUIET, ALIGNED, EACH * UM, UM, Post::NEAR>(
              out + static_cast<int64_t>(to + mine + (first + k) * STRIDE) * SIZE, y[k], EACH * UM, noted);
    }
  }

  // A tile's outputs, the first of which is at position `to`.
  static FC_DEVICE void give_line(const fc_window_args &a, const rooms &r, char *out, int to,
                                  const Post &post, fc_dev_noted &noted) {
    const int lo = to > 0 ? to : 0, hi = to + SAMPLES < a.total ? to + SAMPLES : a.total;
    if (hi - lo == SAMPLES && (to & (EACH - 1)) == 0)
      return give_together<true>(r, out, to, lo, hi, post, noted);
    if constexpr (EACH == 1) return give_together<false>(r, out, to, lo, hi, post, noted);
#pragma unroll 1
    for (int o = (lo & -EACH) + EACH * static_cast<int>(threadIdx.x); o < hi; o += EACH * THREADS)
      give<EACH, false>(r, out, o, to, lo, hi, post, noted);
  }

  // The table of shares.
  static FC_DEVICE void prepare(rooms &r) {
    static_assert(STEP == UM || UM == 1, "samples by themselves, or pixels");
    if (TABLE)
      for (int i = threadIdx.x; i < SHARES * LANES; i += THREADS)
        r.shares[i / LANES][i % LANES] = share_of(i / LANES, i % LANES);
  }

  // The outputs of so many units of a tile.
  static FC_DEVICE void make(rooms &r, int units, int tile, int turn) {
#pragma unroll 1
    for (int unit = threadIdx.x / LANES; unit < units * STEP; unit += WARPS) {
      const int c = unit % STEP, segment = unit / STEP * LANES + threadIdx.x % LANES;
      float v[RUN], of[RUN];
      windows(r, c, segment, tile, turn, v);
      Op::of_windows(v, of);
      float *to = r.result[c] + staged(segment * RUN); // a segment is within 16
#pragma unroll
      for (int k = 0; k < RUN; k++) to[k] = of[k];
    }
  }

  static FC_DEVICE void run(const fc_window_args &a, const Pre &pre, const Op &, const Post &post) {
    __shared__ __align__(16) rooms r;
    fc_dev_noted noted = {false, false};
    prepare(r);
#pragma unroll 1
    for (int row = blockIdx.y; row < a.across; row += gridDim.y) {
      const fc_window_line line = fc_window_line_of(a, blockIdx.z, row);
      const int start = a.first + static_cast<int>(blockIdx.x) * a.each * SAMPLES, end = a.total - BEFORE;
      int turn = 0;
#pragma unroll 1
      for (int tile = -WARM; tile < a.each; tile++) {
        const int at = start + tile * SAMPLES; // of samples
        if (at >= end) break;
        const int first = tile > -WARM ? 1 : 0; // a block is there from the tile before
        const bool last = tile + 1 == a.each || at + SAMPLES >= end;
        const int units = min((end - at + UNIT - 1) / UNIT, UNITS); // that have outputs
        const wanted w = {line.in,
                          at,
                          FAR && tile >= 0 ? units * (UNIT / 4) : 0,
                          at + (AWAY + first) * UNIT,
                          (last ? (units * LANES + APART + 1) * RUN : BLOCKS * UNIT) / 4 - first * (UNIT / 4),
                          first,
                          turn};
        bring(a, r, w, pre, noted);
        __syncthreads();
        if (tile + 1 < a.each) await(a, line.in, at + SAMPLES + (AWAY + 1) * UNIT);
        if constexpr (PIECES) {
          scan(r, tile, first, units + 1, turn);
          __syncthreads();
        }
        const int turn_now = turn;
        turn = turn == 0 ? UNITS : turn - 1;
        if (tile < 0) continue;
        make(r, units, tile, turn_now);
        __syncthreads();
        give_line(a, r, line.out, at + BEFORE, post, noted);
      }
    }
    noted.tell(a.notes);
  }
};

// Short lines of the same, as a part of this file.
#include "filters/gpu/fold.cuh"

template <typename T, int KT, typename U, int KU, int UI, int UM, int UO, int STEP, int BORDER, bool ALIGNED,
          int SAMPLES, bool FOLDED, typename Pre, typename Op, typename Post>
struct fc_slide
    : fc_either<
          Op::CODES, fc_running<T, KT, U, KU, UI, UM, UO, STEP, BORDER, ALIGNED, SAMPLES, Pre, Op, Post>,
          typename fc_either<
              (fc_extremes_take<Op, UM>()),
              fc_extremes<T, KT, U, KU, UI, UM, UO, STEP, BORDER, ALIGNED, SAMPLES, Pre, Op, Post>,
              typename fc_either<
                  FOLDED,
                  fc_slide_folded<T, KT, U, KU, UI, UM, UO, STEP, BORDER, ALIGNED, SAMPLES, Pre, Op, Post>,
                  fc_slide_floats<T, KT, U, KU, UI, UM, UO, STEP, BORDER, ALIGNED, SAMPLES, Pre, Op,
                                  Post>>::type>::type>::type {};

#endif
