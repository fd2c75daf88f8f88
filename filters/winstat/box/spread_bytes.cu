// SPDX-License-Identifier: MIT
//
// spread_bytes.cu - launches the kernel of spread_bytes.cuh.
#include "filters/winstat/box/march.cuh"
#include "filters/winstat/box/spread_bytes.cuh"
#include "filters/winstat/launch.cuh"

namespace winstat {

// Chooses the largest number of runs that leaves room for the columns that windows reach beyond them; false
// if these are too few.
static bool fit(deviation_args *d) {
  peak_args *a = &d->p;
  const int most = 32 / a->step, beyond = a->x.warm;
  a->runs = deviation_room::RUNS / a->step - beyond;
  if (a->runs > most) a->runs = most;
  while (a->runs > 0 &&
         a->skew + (a->runs * DEVIATION_RUN + a->window[0] - 1) * a->step > DEVIATION_WORDS * 4)
    a->runs--;
  a->held = a->runs + beyond;
  a->warm = (a->window[1] - 1 + DEVIATION_ROWS - 1) / DEVIATION_ROWS, a->slots = a->warm + 2;
  return 2 * a->runs >= most;
}

static int64_t bytes_of(const deviation_args &d) {
  return static_cast<int64_t>(sizeof(uint32_t)) * d.p.slots * DEVIATION_STEP +
         static_cast<int64_t>(sizeof(uint2)) * deviation_room::SIZE;
}

static deviation_args deviation_args_of(const fc_winstat *w, const fc_view *in, const fc_edges *edges,
                                        const fc_view *out, int which, int step, uint32_t *notes) {
  deviation_args d = {};
  const fc_scaling scaling = fc_scaling_of(in->kind, in->dtype);
  d.p = peak_args_of(w, in, edges, out, which, step);
  d.root = w->stat[which] == FC_WINSTAT_STD, d.dtype = out->dtype;
  d.count = static_cast<uint32_t>(d.p.window[0] * d.p.window[1]);
  const double n = static_cast<double>(d.count);
  d.over = static_cast<float>(d.root ? 1 / n : scaling.scale / (n * n));
  d.top = static_cast<float>(255 - scaling.bias) + 0.4f;
  d.scale = scaling.scale, d.step_out = static_cast<int64_t>(fc_dtype_size(out->dtype));
  d.store = fc_dev_map_of<double>(out->kind, out->dtype), d.notes = notes;
  return d;
}

static bool march_takes(const fc_winstat *w, const fc_view *in, const fc_view *out) {
  const int step = side_by_side(in);
  const int64_t most = 1 << 28, channels = in->shape[FC_AXIS_C];
  if (in->shape[FC_AXIS_Y] < DEVIATION_ROWS) return false; // a step processes as many rows
  if (in->dtype != FC_U8 || in->kind != out->kind || w->shrink) return false;
  if (step == 0 || side_by_side(out) != step || (step > 1 && w->n_stats > 1)) return false;
  for (int k = 0; k < 2; k++)
    if (w->before[k] + w->after[k] >= 64) return false;
  if (in->shape[FC_AXIS_X] * step > most || in->shape[FC_AXIS_Y] > most || channels > most) return false;
  deviation_args d = deviation_args_of(w, in, nullptr, out, 0, step, nullptr);
  return fit(&d) && march_resident(deviation_march<true>, DEVIATION_THREADS, bytes_of(d)) > 0;
}

unsigned spread_bytes_take(const fc_winstat *w, const fc_view *in, const fc_edges *edges,
                           const fc_view *out) {
  unsigned taken = 0;
  if (in->dtype != FC_U8) return 0;
  const bool marches = march_takes(w, in, out);
  for (int i = 0; i < w->n_stats; i++) {
    const int stat = w->stat[i];
    bool done = marches && (stat == FC_WINSTAT_VAR || stat == FC_WINSTAT_STD);
    if (!done) run_box_squares(w, in, edges, out, i, true, nullptr, nullptr, &done);
    if (done) taken |= 1u << stat;
  }
  return taken;
}

template <bool BYTES> static fc_status launch(deviation_args d, int64_t frames, cudaStream_t stream) {
  peak_args *a = &d.p;
  const int64_t bytes = bytes_of(d),
                resident = march_resident(deviation_march<BYTES>, DEVIATION_THREADS, bytes);
  const int32_t steps = (a->rows + DEVIATION_ROWS - 1) / DEVIATION_ROWS;
  a->strips = (a->columns + a->runs * DEVIATION_RUN - 1) / (a->runs * DEVIATION_RUN);
  const int64_t strips = a->strips * frames * a->planes;
  const march_splits s = march_splits_of(steps, a->warm, strips, resident);
  a->blocks = s.steps, a->splits = s.splits;
  if (resident == 0 || strips * a->splits > INT32_MAX) return FC_UNSUPPORTED;
  deviation_march<BYTES><<<static_cast<unsigned>(strips * a->splits), DEVIATION_THREADS, bytes, stream>>>(d);
  return fc_launch_status();
}

fc_status run_spread_bytes(const fc_winstat *w, const fc_view *in, const fc_edges *edges, const fc_view *out,
                           int which, uint32_t *notes, cudaStream_t stream) {
  bool done = false;
  const fc_status status = run_box_squares(w, in, edges, out, which, false, notes, stream, &done);
  if (status != FC_OK || done) return status;
  deviation_args d = deviation_args_of(w, in, edges, out, which, side_by_side(in), notes);
  if (!fit(&d)) return FC_UNSUPPORTED;
  return out->dtype == FC_U8 ? launch<true>(d, in->shape[FC_AXIS_N], stream)
                             : launch<false>(d, in->shape[FC_AXIS_N], stream);
}

} // namespace winstat
