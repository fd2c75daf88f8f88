// SPDX-License-Identifier: MIT
//
// box_march.cu - sums in boxes: conditions and launch of the kernel of box_march.cuh.
#include "filters/winstat/box/box_march_launch.cuh"

namespace winstat {

// Columns below which several images share a block of threads (box_cells.cu).
constexpr int64_t BOX_NARROW = BOX_THREADS / 2;
// Windows along rows alone. ROWS_LEAST: the fewest rows, since sixteen are processed at once; ROWS_FLOATS,
// ROWS_CODES: the columns from which on the kernels for rows are faster, of floats and of integers. Only
// windows are taken whose segments are added in the same order as in other kernels.
constexpr int64_t ROWS_LEAST = 8, ROWS_FLOATS = 1024, ROWS_CODES = 256;
constexpr int ROWS_SEGMENTS = 1;

static bool quarters(const fc_view *v) {
  return v->stride[FC_AXIS_X] == sizeof(float) && v->stride[FC_AXIS_Y] % 16 == 0 &&
         v->stride[FC_AXIS_N] % 16 == 0 && (v->shape[FC_AXIS_C] == 1 || v->stride[FC_AXIS_C] % 16 == 0);
}

// Whether samples can be copied four at a time.
static bool plain_planes(const fc_winstat *w, const fc_view *in) {
  const int64_t start = static_cast<int64_t>(reinterpret_cast<uintptr_t>(in->data)) -
                        (w->before[0] + floor_mod(in->origin[FC_AXIS_X] - w->before[0], RUN)) *
                            static_cast<int64_t>(sizeof(float));
  return in->dtype == FC_F32 && quarters(in) && floor_mod(start, 16) == 0;
}

// Whether these kernels are used, and not those for rows.
static bool fits(const fc_winstat *w, const fc_view *in, const fc_view *out) {
  const extent16 x = extent16_of(w->before[0] + w->after[0] + 1);
  if (in->dtype != out->dtype || in->kind != out->kind || x.warm > BOX_SEGMENTS || !summed_in_floats(w, in) ||
      !within_reach(in, in->shape[FC_AXIS_X] + x.reach) || !within_reach(out, in->shape[FC_AXIS_X]))
    return false;
  if (w->before[1] + w->after[1] > 0) return true;
  return x.segments <= ROWS_SEGMENTS && in->shape[FC_AXIS_Y] >= ROWS_LEAST &&
         in->shape[FC_AXIS_X] < (in->dtype == FC_F32 ? ROWS_FLOATS : ROWS_CODES);
}

static fc_status march(const fc_winstat *w, const fc_view *in, const fc_edges *edges, const fc_view *out,
                       int which, uint32_t *notes, cudaStream_t stream, bool *done) {
  box_args a = box_args_of(w, in, edges, out, which, 1);
  const int64_t frames = in->shape[FC_AXIS_N];
  a.notes = notes;
  switch (in->dtype) {
  case FC_U8: return launch_march<box_words<uint8_t>>(a, frames, stream, done);
  case FC_I16: return launch_march<box_words<int16_t>>(a, frames, stream, done);
  case FC_U16: return launch_march<box_words<uint16_t>>(a, frames, stream, done);
  default: break;
  }
  return plain_planes(w, in) ? launch_march<box_quads>(a, frames, stream, done)
                             : launch_march<box_words<float>>(a, frames, stream, done);
}

fc_status run_boxes(const fc_winstat *w, const fc_view *in, const fc_edges *edges, const fc_view *out,
                    unsigned mask, uint32_t *notes, cudaStream_t stream, bool *done) {
  int which = -1, wanted = 0;
  *done = false;
  for (int i = 0; i < w->n_stats; i++)
    if (mask & 1u << w->stat[i]) which = i, wanted++;
  if (wanted != 1 || (w->stat[which] != FC_WINSTAT_SUM && w->stat[which] != FC_WINSTAT_MEAN)) return FC_OK;
  if (!fits(w, in, out)) return FC_OK;
  fc_status status = run_box_pixels(w, in, edges, out, which, stream, done);
  if (status != FC_OK || *done) return status;
  if (in->shape[FC_AXIS_X] >= BOX_NARROW) {
    status = march(w, in, edges, out, which, notes, stream, done);
    if (status != FC_OK || *done) return status;
  }
  return run_cells(w, in, edges, out, which, notes, stream, done);
}

} // namespace winstat
