// SPDX-License-Identifier: MIT
//
// peak_cells.cu - launches the kernel of peak_cells.cuh.
#include "filters/winstat/launch.cuh"
#include "filters/winstat/box/march.cuh"
#include "filters/winstat/box/extremes.cuh"
#include "filters/winstat/box/peak_cells.cuh"

namespace winstat {

// Size of windows along x and along y, at most.
constexpr int32_t CELLS_MOST = 33;
// The fewest rows for which this kernel pays, as it processes sixteen at once ...
constexpr int64_t CELL_ROWS = 4;
// ... and for bytes, which strips of warps (peak_bytes.cu) compute too.
constexpr int64_t CELL_TALL = 64;

// Whether the border along axis `axis` only repeats samples that the window contains anyway, so that it can
// be ignored for extremes.
static bool repeats(const fc_winstat *w, int axis, int border) {
  const int64_t before = w->before[axis], after = w->after[axis];
  switch (border) {
  case FC_BORDER_REPLICATE: return true;
  case FC_BORDER_REFLECT: return before <= after + 1 && after <= before + 1;
  case FC_BORDER_REFLECT101: return before == after;
  default: return before + after == 0;
  }
}

static bool rows_alike(const fc_view &v) {
  return v.stride[FC_AXIS_Y] % 4 == 0 && (v.shape[FC_AXIS_N] == 1 || v.stride[FC_AXIS_N] % 4 == 0) &&
         (v.shape[FC_AXIS_C] == 1 || v.stride[FC_AXIS_C] % 4 == 0 ||
          v.stride[FC_AXIS_X] > v.stride[FC_AXIS_C]);
}

// Bytes between pixels where only one byte of a pixel of up to four is processed (one channel of an image, or
// one column treated as a row), else 0.
static int sole_bytes(const seen &s) {
  const int64_t apart = s.in.stride[FC_AXIS_X];
  return s.in.dtype == FC_U8 && s.in.shape[FC_AXIS_C] == 1 && apart > 1 && apart <= 4 &&
                 s.out.stride[FC_AXIS_X] == apart && s.in.shape[FC_AXIS_X] < 1 << 26 &&
                 s.in.shape[FC_AXIS_Y] < 1 << 28
             ? static_cast<int>(apart)
             : 0;
}

// Whether bytes are faster here than in strips of warps: tall images whose rows are aligned to words.
static bool cells_suit(const peak_args &a, int step) {
  const uintptr_t begin = reinterpret_cast<uintptr_t>(a.in) | reinterpret_cast<uintptr_t>(a.out);
  return begin % 4 == 0 && !a.ragged && a.words && step != 3 && a.rows >= CELL_TALL;
}

// The value outside the image: the border's constant, or one that is never an extreme.
static uint32_t beyond_of(const peak_args &a, const fc_edges *edges, int dtype) {
  if (!edges || !constant(edges->border)) return a.beyond;
  const uint32_t code = static_cast<uint32_t>(edges->code);
  return dtype == FC_U8    ? (code & 0xff) * 0x01010101u
         : dtype == FC_F32 ? code
                           : (code & 0xffff) * 0x00010001u;
}

template <typename T, bool MANY>
static fc_status launch(crest_args d, const seen &s, bool only_ask, cudaStream_t stream, bool *done) {
  typedef cell_room<T, MANY> room;
  peak_args *a = &d.c.p;
  if (!cells_fit(&d.c, s, {(room::WORDS - (room::K > 1 && MANY)) / room::SEGMENT, room::LANES, room::K}) ||
      a->rows < CELL_ROWS)
    return FC_OK;
  // A cell of several channels has one more word, for the bytes before its first pixel.
  const int32_t words = a->step * d.c.plane * room::SEGMENT + (room::K > 1 && MANY);
  while (d.c.cells * words > room::WORDS) d.c.cells--;
  a->slots = a->y.warm + room::SPARE;
  const int64_t bytes = static_cast<int64_t>(sizeof(uint32_t)) * a->slots * room::STEP,
                resident = march_resident(cell_march<T, MANY>, room::THREADS, bytes),
                blocks = cells_split(&d.c, s, resident);
  if (resident == 0 || blocks > INT32_MAX) return FC_OK;
  *done = true;
  if (only_ask) return FC_OK;
  cell_march<T, MANY>
      <<<static_cast<unsigned>(blocks), room::THREADS, static_cast<size_t>(bytes), stream>>>(d);
  return fc_launch_status();
}

fc_status run_peak_cells(const fc_winstat *w, const fc_view *in, const fc_edges *edges, const fc_view *out,
                         int which, bool only_ask, cudaStream_t stream, bool *done) {
  *done = false;
  const seen s = seen_of(w, in, edges, out, true);
  const int apart = sole_bytes(s), step = apart ? apart : channels_of(s),
            size = static_cast<int>(fc_dtype_size(in->dtype));
  if (step == 0) return FC_OK;
  for (int k = 0; k < 2; k++) {
    if (s.w.before[k] + s.w.after[k] >= CELLS_MOST) return FC_OK;
    if (edges && !constant(edges->border) && !repeats(&s.w, k, edges->border)) return FC_OK;
  }
  crest_args d = {};
  peak_args *a = &d.c.p;
  *a = peak_args_of(&s.w, &s.in, edges, &s.out, which, step);
  a->beyond = beyond_of(*a, edges, in->dtype);
  d.filled = s.filled, d.filling = a->beyond ^ a->flip;
  a->words = rows_alike(s.out);
  const int64_t at = static_cast<int64_t>(reinterpret_cast<uintptr_t>(a->out)) % 4 / size, K = 4 / size;
  if (a->words) d.late = static_cast<int32_t>(floor_mod(a->skew - at, K));
  if (d.late > a->skew) d.late -= static_cast<int32_t>(K);
  switch (in->dtype) {
  case FC_F32: return launch<float, false>(d, s, only_ask, stream, done);
  case FC_U8:
    if (!apart && cells_suit(*a, step)) {
      const fc_status status = step > 1 ? launch<uint8_t, true>(d, s, only_ask, stream, done)
                                        : launch<uint8_t, false>(d, s, only_ask, stream, done);
      if (status != FC_OK || *done) return status;
    }
    return run_peak_bytes(*a, s.in.shape[FC_AXIS_N], s.filled, apart > 0, only_ask, stream, done);
  default:
    return step > 1 ? launch<uint16_t, true>(d, s, only_ask, stream, done)
                    : launch<uint16_t, false>(d, s, only_ask, stream, done);
  }
}

} // namespace winstat
