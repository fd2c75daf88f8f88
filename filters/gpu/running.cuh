// SPDX-License-Identifier: MIT
//
// running.cuh - statistics of integers in windows along one axis, of any length: the skeleton slide.cuh where
// sums are exact. A window is the one before, and what enters it less what leaves it, in integers of whatever
// order; nothing is divided or rounded before the end.
//
// A block, of a warp, or of long windows of several, goes along a line in tiles. A thread has EACH positions
// of all channels, and loads both what enters and what leaves there, out of global memory, as packed words:
//
//     samples   ...[ leaves ]......................[ enters ]...
//                        |<------- WINDOW ------->|
//     outputs                  [ thread's EACH ]
//
// Pass 1 sums the differences, lanes and warps add up theirs (inclusive scan), pass 2 goes from window to
// window. Sums of a block's first window are made of tiles of which only what enters is read.
//
// Cost: two reads, the second out of the cache, and some 20 to 40 instructions a sample.
#ifndef FC_FILTERS_GPU_RUNNING_CUH
#define FC_FILTERS_GPU_RUNNING_CUH

#include "filters/gpu/prefilter.cuh"
#include "filters/gpu/statistic.cuh"
#include "filters/gpu/window.cuh"

// Of longer windows a block's warps share what they begin with; as in core/compose/slide.c.
constexpr int FC_RUNNING_ALONE = 4096;

template <typename T, int KT, typename U, int KU, int UI, int UM, int UO, int STEP, int BORDER, bool ALIGNED,
          int SAMPLES, typename Pre, typename Op, typename Post>
struct fc_running {
  typedef typename Op::sums sums;
  typedef typename Op::code code;                                // what the window sees, from 0 on or signed
  static constexpr int BYTES = UI * static_cast<int>(sizeof(T)); // of a position
  static constexpr int SIZE = sizeof(code), LANES = 32,
                       WARPS = Op::EXTREME || Op::NX <= FC_RUNNING_ALONE ? 1 : 4, THREADS = LANES * WARPS,
                       EACH = SAMPLES / THREADS;
  static constexpr int WINDOW = Op::NX, BEFORE = WINDOW / 2, AFTER = WINDOW - 1 - BEFORE;
  // Tiles that a block begins with, unless lanes read a first window's few samples by themselves.
  static constexpr int WARM = (WINDOW + SAMPLES - 1) / SAMPLES;
  static constexpr bool FEW = WINDOW <= 4 * LANES;
  static constexpr int WI = EACH * BYTES / 4, WM = EACH * UM * static_cast<int>(sizeof(code)) / 4,
                       WO = EACH * UO * static_cast<int>(sizeof(U)) / 4,
                       ROW = (WM > WO ? WM : WO) / 4 * 4 + 4; // words
  static constexpr int VECTOR = 16;                           // bytes that are moved at once
  // Positions that a thread looks at, with those around its own for a prefilter: in whole vectors.
  typedef fc_prefilter<Pre> prefilter;
  static constexpr int SEEN = EACH + prefilter::TAPS - 1,
                       WS = (SEEN * BYTES + VECTOR - 1) / VECTOR * (VECTOR / 4);
  static constexpr bool CODE = Post::ROUNDED && fc_map_dtype<U> < FC_F32 && !Op::EXTREME,
                        TOGETHER = !ALIGNED || (WO % 4 == 0 && WO > 4);
  // Codes of sound are stored with an offset.
  static constexpr uint32_t FLIP = Op::EXTREME                                  ? 0
                                   : fc_map_scaling<float, T, KT>().bias == 128 ? 0x80808080u
                                   : fc_map_scaling<float, T, KT>().bias        ? 0x80008000u
                                                                                : 0;
  static_assert(STEP == UM && SAMPLES % THREADS == 0, "whole warps, all channels of a position");
  static_assert(WI % 4 == 0, "whole vectors");

  struct rooms {
    uint32_t words[THREADS * ROW];
    sums parts[WARPS > 1 ? 2 : 1][WARPS][UM]; // of warps, in turns
  };

  static FC_DEVICE code *row_of(rooms &r, int thread) {
    return reinterpret_cast<code *>(r.words + thread * ROW);
  }

  // A position's codes, where it may be outside the signal, or seen by no window: then they are 0.
  static FC_DEVICE void at_ends(const fc_window_args &a, const char *in, int at, const Pre &pre,
                                code (&to)[UM], fc_dev_noted &noted) {
#pragma unroll
    for (int c = 0; c < UM; c++) to[c] = 0;
    if (at < -BEFORE || at >= a.total + AFTER) return;
    const int source = fc_dev_border_source(BORDER, at + a.begin, a.extent);
    float v[UM];
#pragma unroll
    for (int c = 0; c < UM; c++) v[c] = a.constant;
    if (source >= 0)
      fc_prefiltered_at<UI>(a, source, pre, v, noted,
                            [&](int position, float(&x)[UI]) { fc_read_position<T, KT>(in, position, x); });
#pragma unroll
    for (int c = 0; c < UM; c++) to[c] = static_cast<code>(Op::code_of(v[c]));
  }

  // The positions [from, end) around which load() may read whole vectors: those of a thread that lie in them
  // are loaded, all others are gathered.
  struct bounds {
    int from, end;
  };
  static FC_DEVICE bounds bounds_of(const fc_window_args &a) {
    constexpr int AROUND = (VECTOR - 1 + 4 * WS - SEEN * BYTES + BYTES - 1) / BYTES; // positions
    return {max(-a.begin, -BEFORE - prefilter::BEFORE) + AROUND + prefilter::BEFORE,
            min(a.extent - a.begin, a.total + AFTER + prefilter::AFTER) - AROUND - prefilter::AFTER};
  }
  static FC_DEVICE bool is_whole(const bounds &b, int at, int count = EACH) {
    return at >= b.from && at + count <= b.end;
  }

  // Position `n` of a warp's, rounded to the first position of a thread: down, or UP; 0 to LANES * EACH.
  template <bool UP> static FC_DEVICE int threads_before(int n) {
    return min(max(n + (UP ? EACH - 1 : 0), 0) / EACH, LANES) * EACH;
  }

  // Gathers codes into the rows of those threads of a warp that cannot load theirs, of the tile that begins
  // at `tile`; not of threads whose positions no window sees. Returns whether a window sees one of this
  // thread's.
  static FC_DEVICE bool gather(const fc_window_args &a, const bounds &b, rooms &r, const char *in, int tile,
                               const Pre &pre, fc_dev_noted &noted) {
    // first <= lo <= hi, and threads in between load by themselves.
    const int lane = threadIdx.x % LANES, warp = threadIdx.x - lane, at = tile + EACH * warp,
              first = threads_before<false>(-BEFORE - at), last = threads_before<true>(a.total + AFTER - at),
              lo = threads_before<true>(b.from - at), hi = max(threads_before<false>(b.end - at), lo),
              left = min(lo, last) - first, all = left + max(last - hi, 0);
    __syncwarp(); // rows have been read
#pragma unroll 1
    for (int k = lane; k < all; k += LANES) {
      const int i = k < left ? first + k : hi + k - left;
      code some[UM];
      at_ends(a, in, at + i, pre, some, noted);
#pragma unroll
      for (int c = 0; c < UM; c++) row_of(r, warp + i / EACH)[i % EACH * UM + c] = some[c];
    }
    __syncwarp();
    return lane * EACH >= first && lane * EACH < last;
  }

  // Words of SEEN positions from `at`, which is OFFSET after a multiple of EACH: by vectors that contain
  // them.
  template <int OFFSET> static FC_DEVICE void load(const char *in, int at, uint32_t (&word)[WS]) {
    constexpr int MISS = (OFFSET * BYTES % VECTOR + VECTOR) % VECTOR; // of vectors, if rows begin there
    const char *at_all = in + static_cast<int64_t>(at) * BYTES;
    const uint32_t askew =
        ALIGNED ? MISS : static_cast<uint32_t>(reinterpret_cast<uintptr_t>(at_all) % VECTOR);
    uint32_t all[WS + 4], some[WS + 1];
#pragma unroll
    for (int i = 0; i < WS + 4; i += 4) {
      uint32_t four[4] = {0, 0, 0, 0};
      if (i < WS || askew) fc_words_load(four, at_all - askew + 4 * i);
#pragma unroll
      for (int k = 0; k < 4; k++) all[i + k] = four[k];
    }
    fc_window_slide<4>(some, all, askew / 4);
#pragma unroll
    for (int i = 0; i < WS; i++) word[i] = __funnelshift_r(some[i], some[i + 1], askew % 4 * 8);
  }

  // The codes of a thread's EACH positions of the tile that begins at `tile`, packed; for all threads.
  template <int OFFSET>
  static FC_DEVICE void fetch(const fc_window_args &a, rooms &r, const char *in, int tile, const Pre &pre,
                              uint32_t (&word)[WM], fc_dev_noted &noted) {
    const int at = tile + EACH * static_cast<int>(threadIdx.x);
    const bounds b = bounds_of(a);
    if (!is_whole(b, tile, SAMPLES)) { // known to be alike for all threads
      const bool seen = gather(a, b, r, in, tile, pre, noted);
      if (!is_whole(b, at)) {
        const uint32_t *row = r.words + threadIdx.x * ROW;
#pragma unroll
        for (int i = 0; i < WM; i++) word[i] = seen ? row[i] : 0;
        return;
      }
    }
    uint32_t raw[WS];
    load<OFFSET - prefilter::BEFORE>(in, at - prefilter::BEFORE, raw);
    if constexpr (std::is_same<Pre, fc_none>::value) {
#pragma unroll
      for (int i = 0; i < WM; i++) word[i] = raw[i] ^ FLIP;
    } else {
      float all[4 * WS / sizeof(T)], x[SEEN * UI], v[EACH * UM];
      fc_map_values<float, T, KT, static_cast<int>(4 * WS / sizeof(T))>(all, raw);
#pragma unroll
      for (int i = 0; i < SEEN * UI; i++) x[i] = all[i];
      fc_prefiltered<EACH>(pre, x, v, noted);
#pragma unroll
      for (int i = 0; i < EACH * UM; i++)
        fc_map_element_set<code>(word, i, static_cast<code>(Op::code_of(v[i])));
    }
  }

  static FC_DEVICE int element(const uint32_t (&word)[WM], int position, int channel) {
    return fc_map_element<code>(word, position * UM + channel);
  }

  // What enters a thread's windows less what leaves them, from the one before its first to its last.
  static FC_DEVICE void differences(const uint32_t (&enters)[WM], const uint32_t (&leaves)[WM],
                                    sums (&s)[UM]) {
#pragma unroll
    for (int c = 0; c < UM; c++) s[c] = {0, 0};
    if constexpr (sizeof(code) == 1) { // four at a time
      sums out[UM] = {};
#pragma unroll
      for (int i = 0; i < WM; i++)
#pragma unroll
        for (int c = 0; c < UM; c++) {
          const uint32_t of_channel = bytes_of(i, c);
          s[c].template add_bytes<std::is_signed<code>::value>(enters[i], of_channel);
          out[c].template add_bytes<std::is_signed<code>::value>(leaves[i], of_channel);
        }
#pragma unroll
      for (int c = 0; c < UM; c++) s[c].subtract(out[c]);
    } else {
#pragma unroll
      for (int k = 0; k < EACH; k++)
#pragma unroll
        for (int c = 0; c < UM; c++) s[c].change(element(enters, k, c), element(leaves, k, c));
    }
  }
  // The bytes of word i that are of channel c: all of their bits.
  static FC_DEVICE constexpr uint32_t bytes_of(int i, int c) {
    uint32_t bits = 0;
    for (int k = 0; k < 4; k++)
      if ((4 * i + k) % UM == c) bits |= 0xffu << 8 * k;
    return bits;
  }

  // The sums of all threads' differences: those up to a thread's are added to `s`, and all to `carry`.
  // `s`: its own, and then what is before it.
  static FC_DEVICE void spread(rooms &r, int turn, sums (&s)[UM], sums (&carry)[UM]) {
    const int lane = threadIdx.x % LANES, warp = threadIdx.x / LANES;
    sums own[UM];
#pragma unroll
    for (int c = 0; c < UM; c++) own[c] = s[c];
    if constexpr (WARPS == 1) __syncthreads(); // or the compiler makes shuffles for parts of warps, too
#pragma unroll
    for (int by = 1; by < LANES; by *= 2)
#pragma unroll
      for (int c = 0; c < UM; c++) {
        const sums other = s[c].before(by);
        if (lane >= by) s[c].add(other);
      }
    if constexpr (WARPS > 1) {
      if (lane == LANES - 1)
#pragma unroll
        for (int c = 0; c < UM; c++) r.parts[turn][warp][c] = s[c];
      __syncthreads();
    }
#pragma unroll
    for (int c = 0; c < UM; c++) {
      s[c].add(carry[c]);
      if constexpr (WARPS == 1)
        carry[c] = s[c].of_lane(LANES - 1);
      else
#pragma unroll
        for (int w = 0; w < WARPS; w++) {
          const sums part = r.parts[turn][w][c];
          if (w < warp) s[c].add(part);
          carry[c].add(part);
        }
      s[c].subtract(own[c]);
    }
  }

  // A thread's statistics once more, one by one, and with certainty, which takes long, where that is needed:
  // from the last window, whose sums are `s`, to the first.
  static FC_DEVICE void again(const fc_window_args &a, const char *in, int at, int count, const Pre &pre,
                              sums (&s)[UM], float (&v)[EACH * UM], fc_dev_noted &noted) {
#pragma unroll 1
    for (int k = EACH - 1; k >= 0; k--) {
      code enters[UM], leaves[UM];
      at_ends(a, in, at + k + AFTER, pre, enters, noted);
      at_ends(a, in, at + k - BEFORE - 1, pre, leaves, noted);
#pragma unroll
      for (int c = 0; c < UM; c++) {
        bool sure = true;
        fc_dev_noted here = {false, false};
        float one = Op::template of_sums<CODE, U, KU, false>(s[c], here, sure);
        if (!sure) here = {false, false}, one = Op::template of_sums<CODE, U, KU, true>(s[c], here, sure);
#pragma unroll
        for (int i = 0; i < EACH; i++) v[i * UM + c] = i == k ? one : v[i * UM + c];
        noted.clipped |= here.clipped & (k < count);
        s[c].change(leaves[c], enters[c]);
      }
    }
  }

  // Outputs of a thread, of which `count` positions exist.
  static FC_DEVICE void give(rooms &r, char *out, int at, int count, int whole, float (&v)[EACH * UM],
                             const Post &post, fc_dev_noted &noted) {
    fc_dev_noted here = {false, false};
    char *to = out + static_cast<int64_t>(at) * (UO * static_cast<int>(sizeof(U)));
    float y[EACH * UO];
    uint32_t word[WO];
    fc_window_fill<UM>(v, count < EACH ? count * UM : EACH * UM);
    post.run(v, y, here);
    if constexpr (CODE)
#pragma unroll
      for (int i = 0; i < EACH * UO; i++)
        fc_map_element_set<U>(word, i, static_cast<U>(__float_as_uint(y[i])));
    else
      fc_map_codes<float, U, KU, Post::QUIET>(word, y, here);
    if (count > 0) noted.nan |= here.nan, noted.clipped |= here.clipped;
    const int lane = threadIdx.x & ~(LANES - 1);
    store(r, to, count, {lane, lane + whole - 1}, word);
  }

  static FC_DEVICE void store(rooms &r, char *to, int count, const fc_window_lanes &lanes,
                              const uint32_t (&word)[WO]) {
    if constexpr (TOGETHER)
      fc_window_store_together<U, ALIGNED>(to, word, lanes, r.words + (threadIdx.x & ~(LANES - 1)) * ROW);
    else if (count == EACH)
      fc_map_store_words(to, word);
    if (count == EACH) return;
#pragma unroll
    for (int i = 0; i < EACH * UO; i++)
      if (i < count * UO) reinterpret_cast<U *>(to)[i] = fc_map_element<U>(word, i);
  }

  // The sums of the window before that of output `to`.
  static FC_DEVICE void begin(const fc_window_args &a, rooms &r, const char *in, int to, const Pre &pre,
                              sums (&carry)[UM], fc_dev_noted &noted) {
    const int lo = to - 1 - BEFORE, mine = EACH * static_cast<int>(threadIdx.x);
    sums s[UM];
#pragma unroll
    for (int c = 0; c < UM; c++) carry[c] = s[c] = {0, 0};
    if constexpr (FEW) {
#pragma unroll 1
      for (int k = threadIdx.x; k < WINDOW; k += LANES) {
        code some[UM];
        at_ends(a, in, lo + k, pre, some, noted);
#pragma unroll
        for (int c = 0; c < UM; c++) s[c].change(some[c], 0);
      }
    } else {
#pragma unroll 1
      for (int tile = -WARM; tile < 0; tile++) {
        const int at = to + tile * SAMPLES + mine + AFTER;
        constexpr uint32_t NONE[WM] = {}, ALL = (1u << 8 * SIZE) - 1; // bits of a code
        uint32_t word[WM];
        sums more[UM];
        fetch<AFTER>(a, r, in, at - mine, pre, word, noted);
        if (at < lo)
#pragma unroll
          for (int i = 0; i < EACH * UM; i++)
            if (at + i / UM < lo) word[i * SIZE / 4] &= ~(ALL << 8 * (i * SIZE % 4));
        differences(word, NONE, more);
#pragma unroll
        for (int c = 0; c < UM; c++) s[c].add(more[c]);
      }
    }
    spread(r, 0, s, carry);
  }

  static FC_DEVICE void run(const fc_window_args &a, const Pre &pre, const Op &, const Post &post) {
    __shared__ __align__(16) rooms r;
    const int mine = EACH * static_cast<int>(threadIdx.x);
    fc_dev_noted noted = {false, false};
#pragma unroll 1
    for (int row = blockIdx.y; row < a.across; row += gridDim.y) {
      const fc_window_line line = fc_window_line_of(a, blockIdx.z, row);
      const int start = static_cast<int>(blockIdx.x) * a.each * SAMPLES;
      sums carry[UM];
      begin(a, r, line.in, start, pre, carry, noted);
#pragma unroll 1
      for (int tile = 0; tile < a.each; tile++) {
        const int to = start + tile * SAMPLES, at = to + mine;
        if (to >= a.total) break;
        uint32_t enters[WM], leaves[WM];
        fetch<AFTER>(a, r, line.in, to + AFTER, pre, enters, noted);
        fetch<-BEFORE - 1>(a, r, line.in, to - BEFORE - 1, pre, leaves, noted);
        sums s[UM];
        differences(enters, leaves, s);
        spread(r, 1 - (tile & 1), s, carry);
        float v[EACH * UM];
        bool sure = true;
        fc_dev_noted here = {false, false};
        const int count = min(max(a.total - at, 0), EACH);
#pragma unroll
        for (int k = 0; k < EACH; k++)
#pragma unroll
          for (int c = 0; c < UM; c++) {
            s[c].change(element(enters, k, c), element(leaves, k, c));
            v[k * UM + c] = Op::template of_sums<CODE, U, KU, false>(s[c], here, sure);
          }
        // Of windows that no output has nothing is told.
        if (!sure | (here.clipped & (count < EACH)))
          again(a, line.in, at, count, pre, s, v, noted);
        else
          noted.clipped |= here.clipped;
        if constexpr (TOGETHER) __syncwarp(); // rooms have been read
        const int warp = threadIdx.x & ~(LANES - 1), whole = min(max((a.total - to) / EACH - warp, 0), LANES);
        if (count > 0 || TOGETHER) give(r, line.out, at, count, whole, v, post, noted);
      }
      if constexpr (WARPS > 1) __syncthreads(); // parts have been read
    }
    noted.tell(a.notes);
  }
};

#endif
