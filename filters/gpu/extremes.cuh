// SPDX-License-Identifier: MIT
//
// extremes.cuh - extremes in windows along one axis, of any length: the skeleton slide.cuh where nothing is
// added. Nothing is rounded, so the order is free, and pieces of a window may overlap.
//
// A block, one warp, goes along a line in tiles. A thread has EACH positions of all channels, and loads those
// where its windows begin and those where they end, as running.cuh does:
//
//     begin [ suffix of EACH ]                                  [ prefix of EACH ] end
//     window        |<------>| LAST |<---- COUNT segments ---->|<----->|
//                            |<--- REST: all of its windows -->|
//
// REST is made of segments of EACH that threads, or the same ones some tiles ago, have seen at ends: of what
// reaches back 1, 2, 4 ... segments and LAST samples, two that overlap. Where that takes more than the tile
// before, which is in registers, what reaches back SPAN segments stays in a ring in shared memory. Windows of
// no more than EACH samples are two of 1, 2, 4 ... that overlap.
//
// Codes are compared by two, EACH / 2 positions apart, each in 16 bits. Those of 8 are the upper ones; the
// lower ones decide nothing but between equal codes.
//
// Cost: two reads, the second out of the cache; 3 comparisons a sample, of codes 1.5, and some 40
// instructions for all of a thread's samples of a channel, or of two channels of codes.
#ifndef FC_FILTERS_GPU_EXTREMES_CUH
#define FC_FILTERS_GPU_EXTREMES_CUH

#include "filters/gpu/running.cuh"

// The largest power of two that is not above `n`, but one of the first `most`: its exponent.
constexpr int fc_extremes_level(int n, int most, int level = 0) {
  return level < most && n >= 2 << level ? fc_extremes_level(n, most, level + 1) : level;
}

// Windows of no more bytes than this. As in core/compose/slide.c.
template <typename Op, int UM> constexpr bool fc_extremes_take() {
  constexpr int BYTES = sizeof(typename Op::code), MOST = BYTES < 4 ? 6144 : 4096;
  return Op::EXTREME && BYTES * UM * Op::NX <= MOST;
}

template <typename T, int KT, typename U, int KU, int UI, int UM, int UO, int STEP, int BORDER, bool ALIGNED,
          int SAMPLES, typename Pre, typename Op, typename Post>
struct fc_extremes : fc_running<T, KT, U, KU, UI, UM, UO, STEP, BORDER, ALIGNED, SAMPLES, Pre, Op, Post> {
  typedef fc_running<T, KT, U, KU, UI, UM, UO, STEP, BORDER, ALIGNED, SAMPLES, Pre, Op, Post> lines;
  typedef typename Op::code code;
  typedef typename Op::words words;
  static constexpr bool PAIRS = sizeof(code) < 4;
  static constexpr int LANES = 32, EACH = lines::EACH, RUN = PAIRS ? EACH / 2 : EACH, WM = lines::WM;
  static constexpr int SIZE = RUN * UM;                   // words of a thread's positions
  static constexpr int ROUND = PAIRS ? (UM + 1) / 2 : UM; // words of a segment
  static constexpr int WINDOW = lines::WINDOW, BEFORE = lines::BEFORE, AFTER = lines::AFTER;
  static constexpr bool SHORT = WINDOW <= EACH;
  static constexpr int REST = SHORT ? 0 : WINDOW - 1 - EACH, COUNT = REST / EACH, LAST = REST % EACH;
  // A lane reaches another one of its tile, or of the one before.
  static constexpr int LEVEL = fc_extremes_level(COUNT, 6), SPAN = 1 << LEVEL;
  static constexpr bool FAR = COUNT - SPAN >= LANES;
  static constexpr int WARM = (COUNT + (LAST > 0) + LANES - 1) / LANES; // tiles
  static constexpr int RING = FAR ? ((COUNT - SPAN) / LANES + 2) * LANES : 1;

  struct rooms {
    typename lines::rooms rows;
    uint32_t ring[ROUND][RING];
  };

  // Of the tile before: LAST samples of segments, and what reaches back 2^i segments.
  struct past {
    uint32_t last[ROUND], reach[LEVEL + 1][ROUND];
  };

  // ---- words ---------------------------------------------------------------------------

  // Elements i and i + SIZE; of floats element i.
  template <int W> static FC_DEVICE uint32_t pair(const uint32_t (&from)[W], int i) {
    const int j = i + SIZE;
    if constexpr (!PAIRS) return from[i];
    if constexpr (sizeof(code) == 2)
      return __byte_perm(from[i / 2], from[j / 2], (i % 2 ? 0x32 : 0x10) | (j % 2 ? 0x7600 : 0x5400));
    return __byte_perm(from[i / 4], from[j / 4], 0x11 * (i % 4) | 0x1100 * (4 + j % 4));
  }

  // The inverse of all.
  static FC_DEVICE void pack(const uint32_t (&v)[SIZE], uint32_t (&to)[WM]) {
    if constexpr (!PAIRS) {
#pragma unroll
      for (int i = 0; i < SIZE; i++) to[i] = v[i];
    } else if constexpr (sizeof(code) == 2) {
#pragma unroll
      for (int i = 0; i < SIZE; i += 2) {
        to[i / 2] = __byte_perm(v[i], v[i + 1], 0x5410);
        to[(SIZE + i) / 2] = __byte_perm(v[i], v[i + 1], 0x7632);
      }
    } else {
#pragma unroll
      for (int i = 0; i < SIZE; i += 4) {
        const uint32_t a = __byte_perm(v[i], v[i + 1], 0x7351), b = __byte_perm(v[i + 2], v[i + 3], 0x7351);
        to[i / 4] = __byte_perm(a, b, 0x5410), to[(SIZE + i) / 4] = __byte_perm(a, b, 0x7632);
      }
    }
  }

  // From each position to the last one of its run, and from the first one.
  static FC_DEVICE void suffixes(uint32_t (&v)[SIZE]) {
#pragma unroll
    for (int i = SIZE - UM - 1; i >= 0; i--) v[i] = words::join(v[i], v[i + UM]);
  }
  static FC_DEVICE void prefixes(uint32_t (&v)[SIZE]) {
#pragma unroll
    for (int i = UM; i < SIZE; i++) v[i] = words::join(v[i - UM], v[i]);
  }

  // ---- segments --------------------------------------------------------------------------

  // Channels by two, given both halves of each.
  static FC_DEVICE void side_by_side(const uint32_t (&v)[UM], uint32_t (&to)[ROUND]) {
#pragma unroll
    for (int c = 0; c < ROUND; c++)
      to[c] = PAIRS && 2 * c + 1 < UM ? __byte_perm(v[2 * c], v[2 * c + 1 < UM ? 2 * c + 1 : 0], 0x5410)
                                      : v[PAIRS ? 2 * c : c];
  }
  static FC_DEVICE uint32_t of_channel(const uint32_t (&v)[ROUND], int c) {
    if constexpr (!PAIRS) return v[c];
    return UM == 1 ? v[0] : __byte_perm(v[c / 2], 0, c % 2 ? 0x3232 : 0x1010);
  }

  // A thread's segment at the ends, given its samples, which become prefixes: all of it, and its LAST
  // samples.
  static FC_DEVICE void segment(uint32_t (&v)[SIZE], uint32_t (&all)[ROUND], uint32_t (&last)[ROUND]) {
    constexpr int FROM = PAIRS && LAST > RUN ? EACH - LAST : RUN - LAST; // of the lower run, or of the upper
    uint32_t some[UM], whole[UM];
#pragma unroll
    for (int c = 0; c < UM; c++) {
      some[c] = v[(RUN - 1) * UM + c];
#pragma unroll
      for (int k = RUN - 2; k >= FROM; k--) some[c] = words::join(v[k * UM + c], some[c]);
    }
    prefixes(v);
#pragma unroll
    for (int c = 0; c < UM; c++) {
      const uint32_t both = v[(RUN - 1) * UM + c];
      whole[c] = PAIRS ? words::join(both, __byte_perm(both, both, 0x1032)) : both;
      if (PAIRS && LAST <= RUN) some[c] = __byte_perm(some[c], some[c], 0x3232);
      if (PAIRS && LAST > RUN)
        some[c] = words::join(__byte_perm(some[c], some[c], 0x1010), __byte_perm(both, both, 0x3232));
    }
    side_by_side(whole, all), side_by_side(some, last);
  }

  // What the lane `by` segments before has; `was`: a tile ago.
  static FC_DEVICE uint32_t back(uint32_t now, uint32_t was, int by) {
    const int lane = threadIdx.x % LANES;
    if (by == LANES) return was;
    return __shfl_sync(FC_ALL_LANES, lane < LANES - by ? now : was, lane - by); // modulo 32
  }

  // REST of a thread's windows. `turn`: where the tile lies in the ring.
  static FC_DEVICE void rest(rooms &r, int turn, const uint32_t (&all)[ROUND], const uint32_t (&last)[ROUND],
                             past &p, uint32_t (&to)[ROUND]) {
    uint32_t now[ROUND];
#pragma unroll
    for (int c = 0; c < ROUND; c++) {
      to[c] = LAST ? back(last[c], p.last[c], 1) : 0;
      now[c] = LAST ? words::join(all[c], to[c]) : all[c];
      p.last[c] = last[c];
      if (COUNT == 0) continue;
#pragma unroll
      for (int i = 0; i < LEVEL; i++) {
        const uint32_t before = back(now[c], p.reach[i][c], 1 << i);
        p.reach[i][c] = now[c];
        now[c] = words::join(now[c], before);
      }
      if (FAR) continue;
      to[c] = back(now[c], p.reach[LEVEL][c], 1);
      if (COUNT > SPAN) to[c] = words::join(to[c], back(now[c], p.reach[LEVEL][c], 1 + COUNT - SPAN));
      p.reach[LEVEL][c] = now[c];
    }
    if constexpr (FAR) {
      const uint32_t at = turn + threadIdx.x % LANES;
#pragma unroll
      for (int c = 0; c < ROUND; c++) r.ring[c][at] = now[c];
      __syncwarp();
      const auto behind = [&](int c, uint32_t by) { return r.ring[c][min(at - by, at - by + RING)]; };
#pragma unroll
      for (int c = 0; c < ROUND; c++) {
        to[c] = behind(c, 1 + COUNT - SPAN);
#pragma unroll
        for (int k = 0; k < COUNT - SPAN; k += SPAN) to[c] = words::join(to[c], behind(c, 1 + k));
      }
      __syncwarp();
    }
  }

  // ---- windows ----------------------------------------------------------------------------

  // Of suffixes at their beginnings, and prefixes at their ends.
  static FC_DEVICE void windows(uint32_t (&begin)[SIZE], const uint32_t (&end)[SIZE],
                                const uint32_t (&rest)[ROUND]) {
    constexpr bool SOME = REST > 0;
    if constexpr (!PAIRS && SOME)
#pragma unroll
      for (int c = 0; c < UM; c++)
        begin[SIZE - UM + c] = words::join(begin[SIZE - UM + c], of_channel(rest, c));
    suffixes(begin);
    if constexpr (PAIRS) {
      uint32_t between[UM]; // the upper run of beginnings, and the lower one of ends
#pragma unroll
      for (int c = 0; c < UM; c++) {
        between[c] = __byte_perm(begin[c], end[SIZE - UM + c], 0x5432);
        if (SOME) between[c] = words::join(between[c], of_channel(rest, c));
      }
#pragma unroll
      for (int i = 0; i < SIZE; i++) begin[i] = words::join(begin[i], between[i % UM], end[i]);
    } else {
#pragma unroll
      for (int i = 0; i < SIZE; i++) begin[i] = words::join(begin[i], end[i]);
    }
  }

  // Of 2^i samples what two of half as many have.
  template <int POWER, int N> static FC_DEVICE void doubled(uint32_t (&v)[N]) {
    if constexpr (WINDOW >= 2 << POWER) {
#pragma unroll
      for (int i = 0; i < N - ((2 << POWER) - 1) * UM; i++) v[i] = words::join(v[i], v[i + (UM << POWER)]);
      doubled<POWER + 1>(v);
    }
  }

  static FC_DEVICE void short_windows(const uint32_t (&from)[2 * WM], uint32_t (&to)[SIZE]) {
    constexpr int LONG = 1 << fc_extremes_level(WINDOW, 30);
    uint32_t v[(RUN + WINDOW - 1) * UM];
#pragma unroll
    for (int i = 0; i < (RUN + WINDOW - 1) * UM; i++) v[i] = pair(from, i);
    doubled<0>(v);
#pragma unroll
    for (int i = 0; i < SIZE; i++)
      to[i] = WINDOW > LONG ? words::join(v[i], v[i + (WINDOW - LONG) * UM]) : v[i];
  }

  // Outputs of a thread.
  static FC_DEVICE void finish(rooms &r, char *out, int at, int count, int whole, const uint32_t (&v)[SIZE],
                               const Post &post, fc_dev_noted &noted) {
    uint32_t word[WM];
    pack(v, word);
    if constexpr (std::is_same<Post, fc_none>::value && std::is_same<code, U>::value) {
      char *to = out + static_cast<int64_t>(at) * (UO * static_cast<int>(sizeof(U)));
      lines::store(r.rows, to, count, {0, whole - 1}, word);
    } else {
      float x[EACH * UM];
      fc_map_values<float, code, Op::KIND_OF_CODES, EACH * UM>(x, word);
      lines::give(r.rows, out, at, count, whole, x, post, noted);
    }
  }

  static FC_DEVICE void run(const fc_window_args &a, const Pre &pre, const Op &, const Post &post) {
    __shared__ __align__(16) rooms r;
    const int mine = EACH * static_cast<int>(threadIdx.x);
    fc_dev_noted noted = {false, false};
#pragma unroll 1
    for (int row = blockIdx.y; row < a.across; row += gridDim.y) {
      const fc_window_line line = fc_window_line_of(a, blockIdx.z, row);
      const int start = static_cast<int>(blockIdx.x) * a.each * SAMPLES;
      past p = {};
      int turn = 0;
#pragma unroll 1
      for (int tile = -WARM; tile < a.each; tile++) {
        const int to = start + tile * SAMPLES, at = to + mine, count = min(max(a.total - at, 0), EACH);
        if (to >= a.total) break;
        uint32_t v[SIZE], first[WM], behind[WM];
        if constexpr (SHORT) {
          lines::template fetch<-BEFORE>(a, r.rows, line.in, to - BEFORE, pre, first, noted);
          lines::template fetch<EACH - BEFORE>(a, r.rows, line.in, to + EACH - BEFORE, pre, behind, noted);
          uint32_t seen[2 * WM];
#pragma unroll
          for (int i = 0; i < 2 * WM; i++) seen[i] = i < WM ? first[i] : behind[i - WM];
          short_windows(seen, v);
        } else {
          uint32_t end[SIZE], all[ROUND], last[ROUND], between[ROUND];
          lines::template fetch<AFTER>(a, r.rows, line.in, to + AFTER, pre, behind, noted);
          if (tile >= 0) lines::template fetch<-BEFORE>(a, r.rows, line.in, to - BEFORE, pre, first, noted);
#pragma unroll
          for (int i = 0; i < SIZE; i++) end[i] = pair(behind, i);
          segment(end, all, last);
          rest(r, turn, all, last, p, between);
          turn = turn + LANES < RING ? turn + LANES : 0;
          if (tile < 0) continue;
#pragma unroll
          for (int i = 0; i < SIZE; i++) v[i] = pair(first, i);
          windows(v, end, between);
        }
        if constexpr (lines::TOGETHER) __syncwarp(); // rooms have been read
        const int whole = min(max((a.total - to) / EACH, 0), LANES);
        if (count > 0 || lines::TOGETHER) finish(r, line.out, at, count, whole, v, post, noted);
      }
    }
    noted.tell(a.notes);
  }
};

#endif
