// SPDX-License-Identifier: MIT
//
// strips.cu - launches the kernel of strips.cuh: sums and sums of squares in windows of up to
// STRIP_COLUMNS x STRIP_ROWS of floats in single precision and of integers whose sums fit 32 bits; of
// integers also along rows alone.
#include "filters/winstat/strips.cuh"
#include "filters/winstat/strips_launch.cuh"

namespace winstat {

// ---- which windows -------------------------------------------------------------

constexpr int SMALL = STRIP_THREADS / 2;
constexpr unsigned PLAIN = 1u << FC_WINSTAT_SUM | 1u << FC_WINSTAT_MEAN,
                   SQUARED = 1u << FC_WINSTAT_SUMSQ | 1u << FC_WINSTAT_RMS;
constexpr int CHANNELS = 4; // side by side in a strip, at most
constexpr int LISTED = sizeof(strip_args::stat) / sizeof(int32_t);

// Rows of words that lie so that threads of eight neighbouring rows meet no bank twice.
static int64_t pitch_of(int64_t words) {
  return words / 32 * 32 + (words % 32 > 4 ? 36 : 4);
}

// Sizes of shared memory for strips of so many channels side by side, and as many columns as threads. Floats
// are cut into segments where the samples' positions in the signal say, so that whole segments are
// copied; outputs begin with a segment too, and where both differ, a run more has the last one's sums.
static void size_strips(strip_args *a, int channels, int threads) {
  a->channels = channels;
  a->runs = threads / channels / RUN;
  a->pixels = (a->runs - (a->skew > 0)) * RUN;
  a->plane = RUN * (a->runs + a->x.warm);
  a->pitch = static_cast<int32_t>(pitch_of(static_cast<int64_t>(a->plane) * channels));
  a->held = static_cast<int32_t>(pitch_of(static_cast<int64_t>(a->runs) * RUN * channels));
  a->slots = a->y.warm + 1;
}

static int64_t bytes_of(const strip_args &a, int quantities) {
  const int64_t tile = RUN * static_cast<int64_t>(a.pitch) + RUN;
  const int64_t sums = static_cast<int64_t>(a.slots) * RUN * a.held,
                totals = a.y.segments > 1 ? static_cast<int64_t>(a.slots) * a.held : 0,
                segments = a.x.segments > 1 ? static_cast<int64_t>(RUN) * a.channels * (a.plane / RUN) : 0;
  return 4 * (a.stages * tile + quantities * (sums + totals + segments));
}

static int64_t area_of(const fc_winstat *w) {
  return (w->before[0] + w->after[0] + 1) * (w->before[1] + w->after[1] + 1);
}

static int shared_most(int device) {
  int bytes = 48 << 10;
  cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  return bytes;
}

// What a view looks like must not change how its floats are added: the most memory that any needs decides.
unsigned strips_take(const fc_winstat *w, const fc_view *in) {
  const int64_t columns = w->before[0] + w->after[0] + 1, rows = w->before[1] + w->after[1] + 1;
  if (columns > STRIP_COLUMNS || rows > STRIP_ROWS || columns == 1) return 0;
  // Rows of floats slide faster (row_slide), as do columns.
  if (rows == 1 && in->dtype == FC_F32) return 0;
  if (in->dtype == FC_I32 || in->dtype == FC_F64 || (in->dtype == FC_F32 && w->compute != FC_F32)) return 0;
  int device = 0, listed = 0;
  for (int i = 0; i < w->n_stats; i++) listed += (PLAIN | SQUARED) >> w->stat[i] & 1;
  if (listed > LISTED) return 0; // some of them twice
  strip_args a;
  a.x = extent16_of(columns), a.y = extent16_of(rows), a.stages = 2, a.skew = 0;
  size_strips(&a, 1, SMALL);
  int64_t most = bytes_of(a, 2);
  a.stages = 1, size_strips(&a, CHANNELS, SMALL);
  if (bytes_of(a, 2) > most) most = bytes_of(a, 2);
  if (cudaGetDevice(&device) != cudaSuccess || most > shared_most(device)) return 0;
  if (in->dtype == FC_F32) return PLAIN | SQUARED;
  const int64_t size = magnitude_of(in->dtype), area = area_of(w);
  unsigned taken = area <= INT32_MAX / size ? PLAIN : 0;
  if (in->dtype == FC_U8 && area <= UINT32_MAX / (size * size)) taken |= SQUARED;
  return taken;
}

// ---- launching -----------------------------------------------------------------

// Splits of the strips, so that the device is busy to the end and windows are begun seldom.
static void split_strips(strip_args *a, int64_t strips, int64_t resident) {
  const int64_t all = (a->rows - a->y0 + RUN - 1) / RUN;
  int64_t best = INT64_MAX;
  for (int64_t splits = 1; splits <= all && splits <= 256; splits++) {
    const int64_t blocks = (all + splits - 1) / splits, real = (all + blocks - 1) / blocks;
    const int64_t cost = (strips * real + resident - 1) / resident * (blocks + a->y.warm + 1);
    if (cost < best) best = cost, a->blocks = blocks, a->splits = real;
  }
}

// Rows, columns and the fold. A single row becomes rows of `strips` strips each.
static void fold_rows(strip_args *a, const fc_view *in, const fc_view *out) {
  a->columns = in->shape[FC_AXIS_X], a->rows = in->shape[FC_AXIS_Y];
  a->row_in = in->stride[FC_AXIS_Y], a->row_out = out->stride[FC_AXIS_Y];
  a->fold = 0, a->width = a->columns - a->x0;
  if (a->rows == 1 && a->y.reach == 0) {
    const int64_t tiles = a->width / (RUN * a->pixels), strips = tiles / 8 < 1    ? 1
                                                                 : tiles / 8 > 64 ? 64
                                                                                  : tiles / 8;
    a->fold = strips * a->pixels, a->rows = (a->width + a->fold - 1) / a->fold, a->width = a->fold;
    a->row_in = a->fold * in->stride[FC_AXIS_X], a->row_out = a->fold * out->stride[FC_AXIS_X];
    a->y0 = 0;
  }
  a->strips = (a->width + a->pixels - 1) / a->pixels;
}

template <typename K> static int resident_of(K kernel, int threads, int64_t bytes) {
  int each = 0;
  if (!fc_allow_shared(kernel, bytes) ||
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, threads, static_cast<size_t>(bytes)) !=
          cudaSuccess)
    return 0;
  return each;
}

template <typename V, typename T, bool SUMS, bool SQUARES>
static fc_status launch(strip_args a, const fc_view *in, const fc_view *out, cudaStream_t stream) {
  const auto kernel = march<V, T, SUMS, SQUARES>;
  const int channels = a.channels;
  int threads = 0, each = 0, device = 0, processors = 1;
  a.stages = a.words ? 2 : 1;
  for (int t = SMALL; t <= STRIP_THREADS; t *= 2) { // the more the better, if no fewer work at once
    size_strips(&a, channels, t);
    const int64_t bytes = bytes_of(a, SUMS + SQUARES);
    const int more = bytes <= INT32_MAX ? resident_of(kernel, t, bytes) : 0;
    if (more * t >= each * threads && more > 0) threads = t, each = more;
  }
  cudaGetLastError(); // of sizes that were too much
  if (each == 0 || cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device) != cudaSuccess)
    return FC_DEVICE;
  size_strips(&a, channels, threads);
  const int64_t bytes = bytes_of(a, SUMS + SQUARES);
  if (resident_of(kernel, threads, bytes) == 0) return FC_DEVICE;
  fold_rows(&a, in, out);
  const int64_t strips = a.strips * a.planes * in->shape[FC_AXIS_N];
  split_strips(&a, strips, static_cast<int64_t>(processors) * each);
  if (strips * a.splits > INT32_MAX) return FC_UNSUPPORTED;
  kernel<<<static_cast<unsigned>(strips * a.splits), threads, bytes, stream>>>(a);
  return fc_launch_status();
}

template <typename V, typename T>
static fc_status launch_floats(const strip_args &a, unsigned mask, const fc_view *in, const fc_view *out,
                               cudaStream_t stream) {
  if ((mask & PLAIN) && (mask & SQUARED)) return launch<V, T, true, true>(a, in, out, stream);
  if (mask & PLAIN) return launch<V, T, true, false>(a, in, out, stream);
  return launch<V, T, false, true>(a, in, out, stream);
}

static strip_args args_of(const fc_winstat *w, const fc_view *in, const fc_view *out, unsigned mask,
                          uint32_t *notes) {
  static const int axes[2] = {FC_AXIS_X, FC_AXIS_Y};
  strip_args a = {};
  const int64_t channels = in->shape[FC_AXIS_C], size = static_cast<int64_t>(fc_dtype_size(in->dtype));
  a.in = fc_dev_view_of(in), a.out = fc_dev_view_of(out), a.notes = notes;
  const bool together =
      channels <= CHANNELS && in->stride[FC_AXIS_C] == size && in->stride[FC_AXIS_X] == channels * size;
  a.channels = together ? static_cast<int32_t>(channels) : 1, a.planes = together ? 1 : channels;
  int64_t origin[2];
  for (int i = 0; i < 2; i++) {
    a.before[i] = w->before[i], origin[i] = in->origin[axes[i]];
    a.lo[i] = -w->before[i], a.hi[i] = in->shape[axes[i]] + w->after[i];
    if (!w->shrink) continue;
    fc_winstat_span s = fc_winstat_inside(in, axes[i], a.lo[i], a.hi[i]);
    a.lo[i] = s.lo, a.hi[i] = s.hi;
  }
  a.x = extent16_of(w->before[0] + w->after[0] + 1), a.y = extent16_of(w->before[1] + w->after[1] + 1);
  a.x0 = -floor_mod(origin[0], RUN), a.y0 = -floor_mod(origin[1], RUN);
  const int64_t area = area_of(w);
  a.skew = in->dtype == FC_F32 ? static_cast<int32_t>(floor_mod(-w->before[0], RUN)) : 0;
  a.area = static_cast<int32_t>(area), a.over = 1.0f / static_cast<float>(area), a.shrink = w->shrink;
  a.exact = in->dtype != FC_F32 && area * magnitude_of(in->dtype) < 1 << 23;
  const fc_scaling scaling = fc_scaling_of(in->kind, in->dtype);
  a.bias = static_cast<int32_t>(scaling.bias), a.scale = scaling.scale;
  a.store = fc_dev_map_of<float>(out->kind, out->dtype),
  a.store_exact = fc_dev_map_of<double>(out->kind, out->dtype);
  for (int i = 0; i < w->n_stats; i++)
    if (mask & 1u << w->stat[i]) a.stat[a.n_stats] = w->stat[i], a.slot[a.n_stats++] = i;
  return a;
}

fc_status run_strips(const fc_winstat *w, const fc_view *in, const fc_view *out, unsigned mask,
                     uint32_t *notes, cudaStream_t stream) {
  bool done = false;
  const fc_status status = run_boxes(w, in, nullptr, out, mask, notes, stream, &done);
  if (status != FC_OK || done) return status;
  strip_args a = args_of(w, in, out, mask, notes);
  unsigned wanted = 0;
  for (int i = 0; i < a.n_stats; i++) wanted |= 1u << a.stat[i];
  if (wanted == 0) return FC_OK;
  switch (in->dtype) {
  case FC_U8: return launch_floats<int32_t, uint8_t>(a, wanted, in, out, stream);
  case FC_I16: return launch<int32_t, int16_t, true, false>(a, in, out, stream);
  case FC_U16: return launch<int32_t, uint16_t, true, false>(a, in, out, stream);
  default: break;
  }
  a.words = in->stride[FC_AXIS_X] == sizeof(float) && a.channels == 1 && in->stride[FC_AXIS_Y] % 4 == 0 &&
            in->stride[FC_AXIS_N] % 4 == 0 && in->stride[FC_AXIS_C] % 4 == 0 &&
            reinterpret_cast<uintptr_t>(in->data) % 4 == 0;
  return launch_floats<float, float>(a, wanted, in, out, stream);
}

} // namespace winstat
