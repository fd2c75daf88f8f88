// SPDX-License-Identifier: MIT
//
// fold.cuh - the part of slide.cuh for short lines: a tile has several, one behind the other, each with its
// borders and begun at a group, as one long line:
//
//     |border line 0 border|  |border line 1 border|  |border line 2 ...
//     0                        pitch                   2 * pitch
//
// A tile may begin and end within lines, and loads all that it needs. Which positions are the border's, and
// of what, is a table made once.
#ifndef FC_FILTERS_GPU_FOLD_CUH
#define FC_FILTERS_GPU_FOLD_CUH

#include "filters/gpu/window.cuh"

template <typename T, int KT, typename U, int KU, int UI, int UM, int UO, int STEP, int BORDER, bool ALIGNED,
          int SAMPLES, typename Pre, typename Op, typename Post>
struct fc_slide_folded {
  typedef fc_slide_floats<T, KT, U, KU, UI, UM, UO, STEP, BORDER, ALIGNED, SAMPLES, Pre, Op, Post> slide;
  typedef typename slide::rooms rooms;
  static constexpr int THREADS = slide::THREADS, UNIT = slide::UNIT, BEFORE = slide::BEFORE,
                       AFTER = slide::AFTER;
  // Positions that a thread stores at a time.
  static constexpr int EACH = !ALIGNED && sizeof(U) == 4 && UO == 3 ? 1 : slide::VECTOR;
  static_assert(!slide::FAR, "a line's windows end near where they begin");

  // A position that is not loaded in a quad, counted from where its line begins, or NOWHERE: that is none;
  // and that of the signal which it is a copy of, or -1: the constant.
  struct end_position {
    int at, source;
  };
  static constexpr int NOWHERE = -(1 << 30);
  // Positions around whole quads: windows' ends, what quads leave at both ends, and one that is by itself.
  static constexpr int AROUND = 4 * (slide::QUADS_BEFORE + slide::QUADS_AFTER) + 2 * slide::AROUND,
                       ENDS = (Op::NX - 1 + 6 + 4 + AROUND + 3) / 4 * 4;

  // How far lines are from each other; of each, where its whole quads begin, how many there are, how many
  // positions are in the table, and how often EACH outputs are stored.
  struct folds {
    int pitch, from, quads, ends, outs;
    uint32_t over_pitch, over_quads, over_ends, over_outs;
  };

  // Where a tile begins: in which line, and how far from its begin.
  struct place {
    int line, rest;
  };

  // By which __umulhi divides numbers up to 2^32 / n by n, exactly; n > 1.
  static FC_DEVICE uint32_t over_of(int n) { return 0xffffffffu / static_cast<uint32_t>(n) + 1; }
  static FC_DEVICE int quotient(int v, uint32_t over) {
    return static_cast<int>(__umulhi(static_cast<uint32_t>(v), over));
  }

  static FC_DEVICE int clamped(int v, int most) { return min(max(v, 0), most); }

  static FC_DEVICE folds fold(const fc_window_args &a, rooms &r, end_position *ends) {
    constexpr int STEPS = slide::GROUP * slide::RUN; // lines begin at multiples of these
    const typename slide::span in = slide::span_of(a);
    const int begin = -BEFORE - a.first, end = a.total + AFTER - a.first, // of what windows see
        from = min((in.from - a.first + 3) & ~3, end), quads = max((in.end - a.first - from) >> 2, 0),
              to = quads > 1 ? from + 4 * quads : from, before = from - begin;
    folds f = {};
    f.pitch = (end + STEPS - 1) / STEPS * STEPS, f.from = from, f.quads = quads > 1 ? quads : 0;
    f.ends = (before + end - to + 3) / 4 * 4, f.outs = (a.total + EACH - 1) / EACH;
#ifndef __CUDA_ARCH__
    if (f.ends > ENDS) __builtin_trap(); // where kernels are emulated
#endif
    for (int i = threadIdx.x; i < f.ends; i += THREADS) {
      const int at = i < before ? begin + i : to + i - before;
      ends[i] = {at < end ? at : NOWHERE,
                 at < end ? fc_dev_border_source(BORDER, at + a.first + a.begin, a.extent) : 0};
    }
    // What lies between the lines is in no output's window; it is a number (see slide::target).
    for (int i = threadIdx.x; i < STEP * slide::ROOM; i += THREADS)
      r.tail[i / slide::ROOM][i % slide::ROOM] = 1;
    f.over_pitch = over_of(f.pitch), f.over_quads = over_of(max(f.quads, 2));
    f.over_ends = over_of(max(f.ends, 4)), f.over_outs = over_of(f.outs);
    return f;
  }

  // Loads `wanted` positions, with what the border makes of them.
  static FC_DEVICE void bring(const fc_window_args &a, rooms &r, const folds &f, const end_position *ends,
                              const char *in, const place &at, int wanted, const Pre &pre,
                              fc_dev_noted &noted) {
    constexpr int BATCH = slide::BYTES > 8 ? 2 : 4;
    const int last = min(quotient(at.rest + wanted - 1, f.over_pitch), a.across - 1 - at.line),
              begin = clamped((at.rest - f.from) >> 2, f.quads),
              end = last * f.quads + clamped((at.rest + wanted - last * f.pitch - f.from) >> 2, f.quads);
    const char *line = in + at.line * a.in_row;
#pragma unroll 1
    for (int first = begin + static_cast<int>(threadIdx.x); first < end; first += BATCH * THREADS) {
      typename slide::load raw[BATCH];
      int p[BATCH];
#pragma unroll
      for (int b = 0; b < BATCH; b++) {
        const int e = first + b * THREADS, row = quotient(e, f.over_quads),
                  quad = f.from + 4 * (e - row * f.quads); // its position in the line
        p[b] = e < end ? row * f.pitch + quad - at.rest : -1;
        if (e < end)
          raw[b].fetch(line + row * a.in_row + static_cast<int64_t>(quad + a.first) * slide::BYTES);
      }
#pragma unroll
      for (int b = 0; b < BATCH; b++) {
        if (p[b] < 0) continue;
        float v[4 * UM];
        slide::values(v, raw[b], pre, noted);
        slide::keep(r.tail[0] + fc_slide_quad(p[b] >> 2), slide::ROOM, v);
      }
    }
    const typename slide::wanted all = {in, 0, 0, 0, 0, 0, 0};
    slide::put(
        a, r, all, (last + 1) * f.ends,
        [&](int e) {
          const int row = quotient(e, f.over_ends);
          const end_position of = ends[e - row * f.ends];
          const int p = row * f.pitch + of.at - at.rest;
          return typename slide::target{p < wanted ? p : -1, of.source, true, line + row * a.in_row};
        },
        pre, noted);
  }

  // Prefetches the next tile into the second-level cache; its lines have 128 bytes.
  static FC_DEVICE void await(const fc_window_args &a, const folds &f, const char *in, const place &at) {
    constexpr int APIECE = 128 / slide::BYTES > 0 ? 128 / slide::BYTES : 1;
    for (int i = threadIdx.x * APIECE; i < SAMPLES; i += THREADS * APIECE) {
      const int p = at.rest + i, row = quotient(p, f.over_pitch), x = p - row * f.pitch + a.first;
      if (at.line + row < a.across && x >= 0 && x < min(a.extent - a.begin, a.total + AFTER))
        fc_slide_prefetch(in + (at.line + row) * a.in_row + static_cast<int64_t>(x) * slide::BYTES);
    }
  }

  // A tile's outputs.
  static FC_DEVICE void give(const fc_window_args &a, const rooms &r, const folds &f, char *out,
                             const place &at, const Post &post, fc_dev_noted &noted) {
    const int last = min(quotient(at.rest + SAMPLES - 1, f.over_pitch), a.across - 1 - at.line),
              first = at.rest + a.first + BEFORE, // the output that the tile begins with, of its first line
        end = last * f.outs + clamped((first + SAMPLES - last * f.pitch + EACH - 1) / EACH, f.outs);
    char *line = out + at.line * a.out_row;
#pragma unroll 1
    for (int i = clamped(first / EACH, f.outs) + static_cast<int>(threadIdx.x); i < end; i += THREADS) {
      const int row = quotient(i, f.over_outs), to = first - row * f.pitch;
      slide::template give<EACH, true>(r, line + row * a.out_row, EACH * (i - row * f.outs), to, max(to, 0),
                                       min(to + SAMPLES, a.total), post, noted);
    }
  }

  static FC_DEVICE void run(const fc_window_args &a, const Pre &pre, const Op &, const Post &post) {
    __shared__ __align__(16) rooms r;
    __shared__ end_position ends[ENDS];
    fc_dev_noted noted = {false, false};
    slide::prepare(r);
    const folds f = fold(a, r, ends);
    __syncthreads();
    const fc_window_line line = fc_window_line_of(a, blockIdx.z, 0);
    const int start = static_cast<int>(blockIdx.x) * a.each * SAMPLES, all = a.across * f.pitch;
    place at = {start / f.pitch, start % f.pitch};
#pragma unroll 1
    for (int tile = 0; tile < a.each && start + tile * SAMPLES < all; tile++) {
      const int units = min((all - start - tile * SAMPLES + UNIT - 1) / UNIT, slide::UNITS);
      bring(a, r, f, ends, line.in, at, (units * slide::LANES + slide::APART + 1) * slide::RUN, pre, noted);
      __syncthreads();
      // Less than pitch + SAMPLES, so that the quotient is exact.
      const int lines = quotient(at.rest + SAMPLES, f.over_pitch);
      const place next = {at.line + lines, at.rest + SAMPLES - lines * f.pitch};
      if (tile + 1 < a.each) await(a, f, line.in, next);
      if constexpr (slide::PIECES) {
        slide::scan(r, 0, 0, units + 1, 0);
        __syncthreads();
      }
      slide::make(r, units, 0, 0);
      __syncthreads();
      give(a, r, f, line.out, at, post, noted);
      at = next;
    }
    noted.tell(a.notes);
  }
};

#endif
