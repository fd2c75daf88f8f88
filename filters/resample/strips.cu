// SPDX-License-Identifier: MIT
//
// strips.cu - resize of bytes by warps that march down strips: tables and launches of strips.cuh.
#include "filters/resample/strips.cuh"

namespace {

constexpr int64_t BEYOND = 32 * 6; // bytes behind the rows, at least; see lay_strips
constexpr int64_t LEAST_SEGMENT = 4;

struct plan : product_plan {
  int64_t strips, bands, groups; // bands: of the strips of a block
  int64_t steps, units, tiles, warps;
  bool any; // of these; else they are an instance's
  int64_t width, pitch, bytes, segment, segments;
};

// Elements that so many adjacent elements of output read, from a multiple of 16 on.
int64_t elements_of(const plan &p, int64_t count) {
  const int64_t pixels = (count + 2 * p.channels - 2) / p.channels;
  return inputs_of(p.x, pixels) * p.channels + 15;
}

// Strips of so many tiles, and so many warps of a block; whether the rows that a block copies fit. Products
// with weights of 0 read behind them: as far as all steps from where a last strip of few elements begins.
bool lay_strips(plan *p, int64_t tiles, int64_t warps) {
  const int64_t wide = STRIP * tiles, vectors = up_to(elements_of(*p, wide * warps), 16) / 16 + 1;
  p->steps = up_to(elements_of(*p, wide), 32) / 32, p->tiles = tiles, p->warps = warps;
  p->strips = (p->width + wide - 1) / wide, p->bands = (p->strips + warps - 1) / warps;
  const int64_t beyond = 32 * p->steps > BEYOND ? 32 * p->steps : BEYOND;
  p->pitch = (vectors | 1) * 16, p->bytes = STRIP_STAGES * STRIP_COPIED * p->pitch + beyond;
  return p->bytes <= SHARED;
}

// Instances of the kernel: steps, units, tiles.
bool choose_kernel(plan *p) {
  static const int64_t of[][3] = {{2, 2, 2}, {2, 4, 1}, {3, 4, 1}, {4, 4, 1}, {5, 6, 1}};
  const int64_t units = (inputs_of(p->y, STRIP_ROWS) + 14) / STRIP_UNIT + 1;
  p->any = false;
  for (auto &k : of)
    if (units <= k[1] && lay_strips(p, k[2], STRIP_WARPS) && p->steps <= k[0])
      return p->steps = k[0], p->units = k[1], true;
  p->any = true, p->units = up_to(units, 2);
  return units <= STRIP_ANY_UNITS && lay_strips(p, 1, STRIP_ANY_WARPS);
}

// Of shapes and extents, for so many interleaved channels.
bool plan_of(const fc_resample *r, const fc_view *in, const fc_view *out, int64_t channels, plan *p) {
  if (!plan_views(r, in, out, channels, p) || fc_resample_down_first(r, 1, &p->y)) return false;
  p->width = out->shape[FC_AXIS_X] * channels;
  p->groups = (out->shape[FC_AXIS_Y] + STRIP_ROWS - 1) / STRIP_ROWS;
  return choose_kernel(p);
}

// Enough blocks for the device, each of few rounds.
void choose_segments(plan *p, int64_t processors) {
  const int64_t wanted = 4 * processors * STRIP_BLOCKS, blocks = p->bands * p->planes;
  int64_t segments = (wanted + blocks - 1) / blocks;
  p->segment = (p->groups + segments - 1) / segments;
  if (p->segment < LEAST_SEGMENT) p->segment = LEAST_SEGMENT;
  p->segments = (p->groups + p->segment - 1) / p->segment;
}

int64_t bytes_x(const plan &p) {
  return p.strips * p.steps * p.tiles * 1024;
}
int64_t bytes_y(const plan &p) {
  return p.groups * (p.units / 2) * 512;
}
int64_t scratch_of(const plan &p) {
  return bytes_x(p) + bytes_y(p) + (p.strips + p.groups) * static_cast<int64_t>(sizeof(int2));
}

// Two values between the passes.
uint32_t two_of(int32_t value) {
  return (static_cast<uint32_t>(value) & 0xffffu) * 0x10001u;
}

strip_job job_of(const plan &p, bool limits, const fc_view *in, const fc_view *out, void *scratch) {
  strip_job j;
  set_views(j, p, in, out);
  j.strips = static_cast<int32_t>(p.strips), j.groups = static_cast<int32_t>(p.groups);
  j.segment = static_cast<int32_t>(p.segment), j.segments = static_cast<int32_t>(p.segments);
  j.pitch = static_cast<int32_t>(p.pitch), j.stage = static_cast<int32_t>(STRIP_COPIED * p.pitch);
  char *at = static_cast<char *>(scratch);
  j.skewed = !is_aligned(p, in);
  j.least = two_of(limits ? 0 : INT16_MIN), j.most = two_of(limits ? FC_RESAMPLE_VALUE_MOST : INT16_MAX);
  j.x = product_axis_of(&at, bytes_x(p), p.steps, p.channels, out, FC_AXIS_X);
  j.x.tiles = static_cast<int32_t>(p.tiles);
  j.y = product_axis_of(&at, bytes_y(p), p.units / 2, 1, out, FC_AXIS_Y);
  j.x.range = reinterpret_cast<int2 *>(at), j.y.range = j.x.range + p.strips;
  j.by_segments = fc_dev_divider_of(p.segments), j.by_planes = fc_dev_divider_of(p.by_n);
  return j;
}

template <int STEPS, int UNITS, int TILES>
fc_status launch(plan p, bool limits, const fc_view *in, const fc_view *out, void *scratch, void *stream) {
  auto kernel = resample_strips<STEPS, UNITS, TILES>;
  const int64_t processors = processors_for(kernel);
  if (!processors || !fc_allow_shared(kernel, p.bytes)) return FC_UNSUPPORTED;
  choose_segments(&p, processors);
  const strip_job j = job_of(p, limits, in, out, scratch);
  const fc_status status = launch_tables<strip_tables>(p, j.x, j.y, stream);
  if (status != FC_OK) return status;
  return fc_launch(kernel, dim3(static_cast<unsigned>(p.bands), fc_blocks(p.planes * p.segments, 1, 65535)),
                   dim3(static_cast<unsigned>(32 * p.warps)), static_cast<size_t>(p.bytes), stream, j);
}

} // namespace

int64_t fc_resample_strips_scratch(const fc_resample *r, const fc_view *in, const fc_view *out) {
  return most_scratch<plan>(r, in, out, plan_of, scratch_of);
}

fc_status fc_resample_strips(const fc_resample *r, const fc_view *in, const fc_view *out, void *scratch,
                             void *stream) {
  const int64_t channels = channels_of_rows(in, out);
  plan p;
  if (!channels || !plan_of(r, in, out, channels, &p)) return FC_UNSUPPORTED;
  const bool limits = fc_resample_limits(r, 1) != 0;
  switch (p.any ? 0 : p.steps * 100 + p.units * 10 + p.tiles) {
  case 222: return launch<2, 2, 2>(p, limits, in, out, scratch, stream);
  case 241: return launch<2, 4, 1>(p, limits, in, out, scratch, stream);
  case 341: return launch<3, 4, 1>(p, limits, in, out, scratch, stream);
  case 441: return launch<4, 4, 1>(p, limits, in, out, scratch, stream);
  case 561: return launch<5, 6, 1>(p, limits, in, out, scratch, stream);
  default: return launch<0, STRIP_ANY_UNITS, 1>(p, limits, in, out, scratch, stream);
  }
}
