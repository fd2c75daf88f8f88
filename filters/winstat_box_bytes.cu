// SPDX-License-Identifier: MIT
//
// winstat_box_bytes.cu - launches the kernel of winstat_box_bytes.cuh.
#include "filters/winstat_box_bytes.cuh"
#include "filters/winstat_march.cuh"
#include "filters/winstat_strips_launch.cuh"

namespace winstat {

constexpr int64_t SUMS_MOST = 1 << 30;
constexpr int64_t SUMS_AREA = 32768; // samples of a window, whose sum is below 2^23
constexpr int SUMS_ROWS = 256;       // of a window, whose sums fit 16 bits with a row more
constexpr int SUMS_COLUMNS = 33;     // of a window

static bool packed(const fc_view *v) {
  const int64_t channels = v->shape[FC_AXIS_C];
  return v->stride[FC_AXIS_X] == channels && (channels == 1 || v->stride[FC_AXIS_C] == 1);
}

static bool sums_fit(const fc_winstat *w, const fc_view *in, const fc_view *out) {
  const int64_t across = w->before[0] + w->after[0] + 1, tall = w->before[1] + w->after[1] + 1;
  if (w->n_stats != 1 || w->stat[0] != FC_WINSTAT_MEAN || tall == 1 || in->dtype != FC_U8 ||
      out->dtype != FC_U8 || in->kind != out->kind || across > SUMS_COLUMNS || tall > SUMS_ROWS ||
      across * tall > SUMS_AREA)
    return false;
  // Channels that do not lie together go one by one.
  const int64_t channels = in->shape[FC_AXIS_C];
  const bool planes = in->stride[FC_AXIS_X] == 1 && out->stride[FC_AXIS_X] == 1;
  if (!planes && (channels > 4 || !packed(in) || !packed(out))) return false;
  return in->shape[FC_AXIS_X] * 4 < SUMS_MOST && in->shape[FC_AXIS_Y] < SUMS_MOST &&
         in->stride[FC_AXIS_Y] >= in->shape[FC_AXIS_X];
}

static sums_args sums_args_of(const fc_winstat *w, const fc_view *in, const fc_edges *edges,
                              const fc_view *out, int channels) {
  static const int axes[2] = {FC_AXIS_X, FC_AXIS_Y};
  sums_args a = {};
  fc_winstat_span seen[2];
  for (int i = 0; i < 2; i++) {
    const int64_t extent = in->shape[axes[i]];
    seen[i] = {edges ? 0 : -w->before[i], edges ? extent : extent + w->after[i]};
    if (w->shrink) seen[i] = fc_winstat_inside(in, axes[i], -w->before[i], extent + w->after[i]);
  }
  a.in = static_cast<const char *>(in->data), a.out = static_cast<char *>(out->data);
  a.row_in = in->stride[FC_AXIS_Y], a.row_out = out->stride[FC_AXIS_Y];
  a.plane_in = in->stride[FC_AXIS_C], a.plane_out = out->stride[FC_AXIS_C];
  a.frame_in = in->stride[FC_AXIS_N], a.frame_out = out->stride[FC_AXIS_N];
  a.columns = static_cast<int32_t>(in->shape[FC_AXIS_X]), a.bytes = a.columns * channels;
  a.rows = static_cast<int32_t>(in->shape[FC_AXIS_Y]);
  a.planes = channels > 1 ? 1 : static_cast<int32_t>(in->shape[FC_AXIS_C]);
  a.inside[0] = static_cast<int32_t>(seen[0].lo), a.inside[1] = static_cast<int32_t>(seen[0].hi);
  a.lo[0] = a.inside[0] * channels, a.hi[0] = a.inside[1] * channels;
  a.lo[1] = static_cast<int32_t>(seen[1].lo), a.hi[1] = static_cast<int32_t>(seen[1].hi);
  a.across = static_cast<int32_t>(w->before[0] + w->after[0] + 1);
  a.before = static_cast<int32_t>(w->before[0]) * channels, a.window = a.across * channels;
  a.above = static_cast<int32_t>(w->before[1]);
  a.tall = static_cast<int32_t>(w->before[1] + w->after[1] + 1);
  a.edges = ends_of(edges), a.outside = edges ? static_cast<uint8_t>(edges->code) * 0x01010101u : 0;
  const int32_t area = a.across * a.tall;
  a.over = 1.0f / static_cast<float>(area), a.shrink = w->shrink;
  a.exactly = a.shrink || (area % 2 == 0 && (area & (area - 1)) != 0);
  a.ahead = a.lo[0] + a.before;
  a.all = a.ahead + a.bytes + (a.window - a.before - channels) - a.hi[0];
  return a;
}

// Lanes, cells and strips. Whether what stands beyond the ends of rows is among a warp's columns.
template <int C> static bool cut_columns(sums_args *a, int64_t frames) {
  constexpr int CHUNK = sums_chunk<C>::bytes;
  const int skew = bytes_skew(a->out, a->row_out, a->planes > 1 ? a->plane_out : 0,
                              frames > 1 ? a->frame_out : 0),
            needed = (a->bytes + skew + CHUNK - 1) / CHUNK;
  a->pad = skew > 0 ? 16 : 0;
  const int more = (a->pad + a->window - C + CHUNK - 1) / CHUNK, most = 32 - more;
  a->far = a->window / CHUNK, a->rest = a->window % CHUNK;
  for (int k = 0; k < sums_chunk<C>::sums; k++)
    a->part[k] = 2 * k + 1 < a->rest ? ~0u : 2 * k < a->rest ? 0xffffu : 0u;
  a->strips = (needed + most - 1) / most;
  const int each = (needed + a->strips - 1) / a->strips;
  a->made = each * CHUNK, a->lanes = each + more;
  a->cells = a->strips > 1 ? 1 : 32 / a->lanes;
  while (a->cells > 1 && a->all * a->cells > SUMS_ENDS) a->cells--;
  if (a->strips == 1) return a->all <= SUMS_ENDS;
  return a->all <= SUMS_ENDS && a->made >= 2 * a->window + 16 &&
         (!a->edges.on || a->edges.border != FC_BORDER_WRAP);
}

template <int C> static fc_status launch(sums_args a, int64_t frames, cudaStream_t stream, bool *done) {
  const auto kernel = box_bytes<C>;
  if (!cut_columns<C>(&a, frames)) return FC_OK;
  const int64_t resident = march_resident(kernel, 32 * SUMS_WARPS, 0) * SUMS_WARPS;
  if (resident == 0) return FC_OK;
  // All warps at once, unless more rows were seen twice than are made.
  int64_t splits = resident * a.cells / (a.strips * frames * a.planes), least = a.rows / (2 * a.tall);
  if (splits > least) splits = least;
  a.splits = static_cast<int32_t>(splits < 1 ? 1 : splits);
  a.each = (a.rows + a.splits - 1) / a.splits;
  a.splits = (a.rows + a.each - 1) / a.each;
  const int64_t units = frames * a.planes * a.splits, warps = (units + a.cells - 1) / a.cells * a.strips;
  if (units > INT32_MAX - 32 || warps > INT32_MAX) return FC_OK;
  a.units = static_cast<uint32_t>(units);
  kernel<<<fc_blocks(warps, SUMS_WARPS, INT32_MAX), 32 * SUMS_WARPS, 0, stream>>>(a);
  *done = true;
  return fc_launch_status();
}

fc_status run_box_bytes(const fc_winstat *w, const fc_view *in, const fc_edges *edges, const fc_view *out,
                        cudaStream_t stream, bool *done) {
  *done = false;
  if (!sums_fit(w, in, out)) return FC_OK;
  const int channels =
      packed(in) && packed(out) && in->shape[FC_AXIS_C] <= 4 ? static_cast<int>(in->shape[FC_AXIS_C]) : 1;
  const sums_args a = sums_args_of(w, in, edges, out, channels);
  const int64_t frames = in->shape[FC_AXIS_N];
  switch (channels) {
  case 2: return launch<2>(a, frames, stream, done);
  case 3: return launch<3>(a, frames, stream, done);
  case 4: return launch<4>(a, frames, stream, done);
  default: return launch<1>(a, frames, stream, done);
  }
}

} // namespace winstat
