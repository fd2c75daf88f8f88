// SPDX-License-Identifier: MIT
//
// along.cu - resize of bytes by warps that walk along rows: tables and launches of along.cuh.
#include "filters/resample/along.cuh"

namespace {

constexpr int64_t LEAST_PART = 4; // groups, of which each block reads some columns twice

struct plan : product_plan {
  int64_t groups_x, groups_y, tasks;
  int64_t steps, blocks, rows; // 32 inputs of 16 rows; blocks of a group; inputs of 16 rows
  bool any;                    // of these; else they are an instance's
  bool skewed;                 // rows do not begin at multiples of 16 bytes
  int64_t part, warps, bytes;
};

int64_t slot_of(const plan &p) {
  return p.rows * ALONG_CHUNK;
}
int64_t copied_of(const plan &p) {
  return p.skewed ? p.rows * ALONG_SKEWED_PITCH : ALONG_STAGES * slot_of(p);
}
int64_t warp_of(const plan &p) {
  return copied_of(p) + GROUP_Y * ALONG_PITCH;
}
int64_t ends_of(const plan &p) {
  return p.any ? 0 : p.part * p.blocks * 512;
}
int64_t rings_of(const plan &p) {
  return ends_of(p) + up_to((p.part + 1) * 4, 128);
}
// Rows that products with weights of 0 read are behind those of the last warp.
int64_t shared_of(const plan &p) {
  return rings_of(p) + p.warps * warp_of(p) +
         (p.steps * 32 - p.rows) * (p.skewed ? ALONG_SKEWED_PITCH : ALONG_CHUNK);
}

// Instances of the kernel.
bool choose_kernel(plan *p) {
  static const int64_t of[][2] = {{1, 2}, {2, 2}, {2, 3}, {3, 4}};
  for (auto &k : of)
    if (p->steps <= k[0] && p->blocks <= k[1]) return p->steps = k[0], p->blocks = k[1], p->any = false, true;
  return p->any = p->blocks <= ALONG_ANY_BLOCKS && p->rows <= ROWS_MOST && p->x.scale >= ALONG_ANY_SHRUNK &&
                  p->y.scale >= ALONG_ANY_SHRUNK;
}

// As many columns as fit beside the warps, or as leave each multiprocessor its share of warps.
bool choose_part(plan *p, int64_t processors) {
  const int64_t share = p->groups_x * p->tasks / (processors * ALONG_WARPS);
  const int64_t warps = p->any ? ALONG_ANY_WARPS : p->skewed ? ALONG_SKEWED_WARPS : ALONG_WARPS;
  for (p->warps = warps;; p->warps = (p->warps + 1) / 2) {
    p->part = 0;
    int64_t most = (SHARED - shared_of(*p) - 256) / ((p->any ? 0 : p->blocks * 512) + 4);
    if (most >= 16 || (p->warps == 1 && most > 0)) {
      if (most > share) most = share < LEAST_PART ? LEAST_PART : share;
      const int64_t parts = (p->groups_x + most - 1) / most;
      p->part = (p->groups_x + parts - 1) / parts;
      // Few tasks are spread over many blocks.
      while (p->warps > 1 && parts * ((p->tasks + p->warps - 1) / p->warps) < processors) p->warps /= 2;
      p->bytes = shared_of(*p);
      return p->bytes <= SHARED;
    }
    if (p->warps == 1) return false;
  }
}

// Of shapes and extents, for so many interleaved channels.
bool plan_of(const fc_resample *r, const fc_view *in, const fc_view *out, int64_t channels, plan *p) {
  if (!plan_views(r, in, out, channels, p) || !fc_resample_down_first(r, 1, &p->y)) return false;
  p->groups_x = (out->shape[FC_AXIS_X] * channels + GROUP_X - 1) / GROUP_X;
  p->groups_y = (out->shape[FC_AXIS_Y] + GROUP_Y - 1) / GROUP_Y;
  p->tasks = p->groups_y * p->planes;
  p->rows = inputs_of(p->y, GROUP_Y), p->steps = up_to(p->rows, 32) / 32;
  const int64_t window = inputs_of(p->x, (GROUP_X + 2 * channels - 2) / channels) * channels;
  p->blocks = (window + 30) / ALONG_BLOCK + 1;
  return choose_kernel(p);
}

int64_t bytes_x(const plan &p) {
  return p.groups_x * p.blocks * 512;
}
int64_t bytes_y(const plan &p) {
  return p.groups_y * p.steps * 1024;
}
int64_t scratch_of(const plan &p) {
  return bytes_x(p) + bytes_y(p) + (p.groups_x + p.groups_y) * static_cast<int64_t>(sizeof(int2));
}

along_job job_of(const plan &p, const fc_view *in, const fc_view *out, void *scratch) {
  along_job j;
  set_views(j, p, in, out);
  j.groups_x = static_cast<int32_t>(p.groups_x), j.groups_y = static_cast<int32_t>(p.groups_y);
  j.part = static_cast<int32_t>(p.part);
  j.whole = static_cast<int32_t>(up_to(j.low, ALONG_CHUNK)), j.wholes = j.high - ALONG_CHUNK - j.whole + 1;
  if (j.wholes < 1) j.whole = INT32_MAX, j.wholes = 0;
  j.slot = static_cast<int32_t>(slot_of(p)), j.ends_at = static_cast<int32_t>(ends_of(p));
  j.ring = static_cast<int32_t>(copied_of(p));
  j.rings_at = static_cast<int32_t>(rings_of(p)), j.warp_bytes = static_cast<int32_t>(warp_of(p));
  char *at = static_cast<char *>(scratch);
  j.x = product_axis_of(&at, bytes_x(p), p.blocks, p.channels, out, FC_AXIS_X);
  j.y = product_axis_of(&at, bytes_y(p), p.steps, 1, out, FC_AXIS_Y);
  j.x.range = reinterpret_cast<int2 *>(at), j.y.range = j.x.range + p.groups_x;
  j.by_groups = fc_dev_divider_of(p.groups_y), j.by_planes = fc_dev_divider_of(p.by_n);
  return j;
}

template <int STEPS, int BLOCKS, bool SKEWED>
fc_status launch_one(plan p, const fc_view *in, const fc_view *out, void *scratch, void *stream) {
  auto kernel = resample_along<STEPS, BLOCKS, SKEWED>;
  const int64_t processors = processors_for(kernel);
  if (!processors || !choose_part(&p, processors) || !fc_allow_shared(kernel, p.bytes)) return FC_UNSUPPORTED;
  const along_job j = job_of(p, in, out, scratch);
  const fc_status status = launch_tables<along_tables>(p, j.x, j.y, stream);
  if (status != FC_OK) return status;
  const int64_t across = (p.groups_x + p.part - 1) / p.part, needed = (p.tasks + p.warps - 1) / p.warps,
                high = blocks_down(processors * (SHARED / p.bytes), across, needed);
  return fc_launch(kernel, dim3(static_cast<unsigned>(across), static_cast<unsigned>(high)),
                   dim3(static_cast<unsigned>(32 * p.warps)), static_cast<size_t>(p.bytes), stream, j);
}

template <int STEPS, int BLOCKS>
fc_status launch(const plan &p, const fc_view *in, const fc_view *out, void *scratch, void *stream) {
  return p.skewed ? launch_one<STEPS, BLOCKS, true>(p, in, out, scratch, stream)
                  : launch_one<STEPS, BLOCKS, false>(p, in, out, scratch, stream);
}

} // namespace

int64_t fc_resample_along_scratch(const fc_resample *r, const fc_view *in, const fc_view *out) {
  return most_scratch<plan>(r, in, out, plan_of, scratch_of);
}

fc_status fc_resample_along(const fc_resample *r, const fc_view *in, const fc_view *out, void *scratch,
                            void *stream) {
  const int64_t channels = channels_of_rows(in, out);
  plan p;
  if (!channels || !plan_of(r, in, out, channels, &p)) return FC_UNSUPPORTED;
  p.skewed = !is_aligned(p, in);
  switch (p.any ? 0 : p.steps * 10 + p.blocks) {
  case 12: return launch<1, 2>(p, in, out, scratch, stream);
  case 22: return launch<2, 2>(p, in, out, scratch, stream);
  case 23: return launch<2, 3>(p, in, out, scratch, stream);
  case 34: return launch<3, 4>(p, in, out, scratch, stream);
  default: return launch<0, ALONG_ANY_BLOCKS>(p, in, out, scratch, stream);
  }
}
