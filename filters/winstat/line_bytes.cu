// SPDX-License-Identifier: MIT
//
// line_bytes.cu - launches the kernel of line_bytes.cuh.
#include "filters/winstat/line_bytes.cuh"
#include "filters/winstat/strips_launch.cuh"

namespace winstat {

constexpr int BYTES_CHANNELS = 4; // side by side, at most
constexpr int BYTES_FAR = 128;    // chunks of a window, at most
constexpr int64_t BYTES_MOST = 1 << 30;

// Channels that lie side by side, and pixels too; 1: each channel goes by itself.
static int together(const fc_view *in, const fc_view *out) {
  const int64_t channels = in->shape[FC_AXIS_C];
  if (channels > BYTES_CHANNELS) return 1;
  for (const fc_view *v : {in, out})
    if (v->stride[FC_AXIS_C] != 1 || v->stride[FC_AXIS_X] != channels) return 1;
  return static_cast<int>(channels);
}

static bool bytes_fit(const fc_winstat *w, const fc_view *in, const fc_view *out) {
  if (w->n_stats != 1 || w->stat[0] != FC_WINSTAT_MEAN || w->before[1] + w->after[1] > 0 ||
      in->dtype != FC_U8 || out->dtype != FC_U8 || in->kind != out->kind)
    return false;
  for (const fc_view *v : {in, out})
    if (v->stride[FC_AXIS_X] < 1 || v->stride[FC_AXIS_X] > 1 << 15 ||
        v->shape[FC_AXIS_X] > BYTES_MOST / v->stride[FC_AXIS_X])
      return false;
  return in->shape[FC_AXIS_X] * BYTES_CHANNELS < BYTES_MOST &&
         in->shape[FC_AXIS_Y] < BYTES_MOST / (in->shape[FC_AXIS_N] + 1) &&
         (w->before[0] + w->after[0] + 1) * BYTES_CHANNELS < BYTES_FAR * 32;
}

// Pieces of rows, or rows, of a block.
template <int C> static void cut_bytes(bytes_args *a, int64_t frames) {
  const int skew = a->step_out == 1 ? bytes_skew(a->out, a->row_out, a->planes > 1 ? a->plane_out : 0,
                                                 frames > 1 ? a->frame_out : 0)
                                    : 0;
  constexpr int CHUNK = chunk_of<C>::bytes;
  a->far = a->window / CHUNK, a->rest = a->window % CHUNK;
  const int all = (a->bytes + skew + CHUNK - 1) / CHUNK, most = BYTES_THREADS - a->far;
  a->pieces = (all + most - 1) / most;
  a->made = (all + a->pieces - 1) / a->pieces, a->chunks = a->made + a->far;
  a->each = a->pieces > 1 ? 1 : BYTES_THREADS / a->chunks;
  if (a->each > a->rows) a->each = a->rows;
  a->groups = (a->rows + a->each - 1) / a->each;
  a->dense = a->step_in == 1 && a->row_in >= a->bytes && a->lo == 0 && a->hi == a->bytes;
  a->need = a->made * CHUNK + a->window;
  a->quads = (15 + a->need + 15) / 16, a->pitch = (a->need + 63) / 16 * 16;
  a->by_chunks = fc_dev_divider_of(a->chunks), a->by_quads = fc_dev_divider_of(a->quads);
  for (int k = 0; k < chunk_of<C>::words; k++) {
    const int left = a->rest - 4 * k;
    a->part[k] = left >= 4 ? ~0u : left <= 0 ? 0u : (1u << 8 * left) - 1;
  }
}

// All frames are one where their rows follow one another.
static void join_frames(bytes_args *a, int64_t *frames) {
  if (*frames > 1 && (a->frame_in != a->rows * a->row_in || a->frame_out != a->rows * a->row_out)) return;
  a->rows = static_cast<int32_t>(a->rows * *frames), *frames = 1;
}

static bytes_args bytes_args_of(const fc_winstat *w, const fc_view *in, const fc_edges *edges,
                                const fc_view *out, int channels) {
  bytes_args a = {};
  const int64_t columns = in->shape[FC_AXIS_X];
  fc_winstat_span seen = {edges ? 0 : -w->before[0], edges ? columns : columns + w->after[0]};
  if (w->shrink) seen = fc_winstat_inside(in, FC_AXIS_X, -w->before[0], columns + w->after[0]);
  a.in = static_cast<const char *>(in->data), a.out = static_cast<char *>(out->data);
  a.row_in = in->stride[FC_AXIS_Y], a.row_out = out->stride[FC_AXIS_Y];
  a.plane_in = in->stride[FC_AXIS_C], a.plane_out = out->stride[FC_AXIS_C];
  a.frame_in = in->stride[FC_AXIS_N], a.frame_out = out->stride[FC_AXIS_N];
  a.step_in = channels > 1 ? 1 : static_cast<int32_t>(in->stride[FC_AXIS_X]);
  a.step_out = channels > 1 ? 1 : static_cast<int32_t>(out->stride[FC_AXIS_X]);
  a.columns = static_cast<int32_t>(columns), a.bytes = a.columns * channels;
  a.rows = static_cast<int32_t>(in->shape[FC_AXIS_Y]);
  a.planes = channels > 1 ? 1 : static_cast<int32_t>(in->shape[FC_AXIS_C]);
  a.lo = static_cast<int32_t>(seen.lo) * channels, a.hi = static_cast<int32_t>(seen.hi) * channels;
  a.inside[0] = static_cast<int32_t>(seen.lo), a.inside[1] = static_cast<int32_t>(seen.hi);
  a.before = static_cast<int32_t>(w->before[0]) * channels;
  a.after = static_cast<int32_t>(w->after[0]) * channels;
  a.window = a.before + a.after + channels;
  a.samples = static_cast<int32_t>(w->before[0] + w->after[0] + 1),
  a.over = 1.0f / static_cast<float>(a.samples);
  a.ties = a.samples % 2 == 0 && (a.samples & (a.samples - 1)) != 0, a.shrink = w->shrink;
  a.edges = ends_of(edges), a.outside = edges ? static_cast<uint8_t>(edges->code) : 0;
  return a;
}

template <int C> static fc_status launch(bytes_args a, int64_t frames, cudaStream_t stream, bool *done) {
  join_frames(&a, &frames);
  cut_bytes<C>(&a, frames);
  const auto kernel = line_bytes<C>;
  const int64_t blocks = static_cast<int64_t>(a.pieces) * a.groups * a.planes, bytes = a.each * a.pitch;
  if (blocks > INT32_MAX / frames || !fc_allow_shared(kernel, bytes)) return FC_OK;
  const int threads = (a.each * a.chunks + 31) / 32 * 32;
  kernel<<<static_cast<unsigned>(blocks * frames), threads, static_cast<size_t>(bytes), stream>>>(a);
  *done = true;
  return fc_launch_status();
}

fc_status run_line_bytes(const fc_winstat *w, const fc_view *in, const fc_edges *edges, const fc_view *out,
                         cudaStream_t stream, bool *done) {
  *done = false;
  if (!bytes_fit(w, in, out)) return FC_OK;
  const int channels = together(in, out);
  const bytes_args a = bytes_args_of(w, in, edges, out, channels);
  const int64_t frames = in->shape[FC_AXIS_N];
  return with_channels(channels, [&](auto c) { return launch<decltype(c)::value>(a, frames, stream, done); });
}

} // namespace winstat
