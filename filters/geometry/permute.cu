// SPDX-License-Identifier: MIT
//
// permute.cu - copies with axes exchanged on a CUDA device. A block copies a tile of the input into shared
// memory as it lies, in words of 4 bytes, and makes the words of the output from there. A "thing" is what is
// moved as a whole: a pixel where channels are adjacent on both sides, else an element. What does not lie so:
// a thread an element, in tiles of 32 x 32.
#include "filters/geometry/permute.h"
#include "filters/gpu/copy_async.cuh"
#include "filters/gpu/cuda.cuh"

#include <initializer_list>

namespace {

constexpr int THREADS = 256, WARPS = THREADS / 32;
constexpr int MOST = 16;         // bytes of a thing; channels
constexpr int SHARED = 20 << 10; // bytes of a tile
constexpr int TILE = 32, ROWS = THREADS / TILE;

int64_t size_of(int64_t step) {
  return step < 0 ? -step : step;
}

// ---- by shared memory ----------------------------------------------------------

// How things that are adjacent in the output, along u, lie in the input: adjacent too; a line apart, with v
// the axis along which they are adjacent; as one of `channels` adjacent things; or, things of `channels`
// planes become adjacent.
enum kind { LINE, TURN, SPLIT, JOIN };

// Steps in bytes. u and v are axes of a tile; of the outer ones the second is that of frames.
struct staging {
  const char *in; // of the thing at the lowest address along the input's line
  char *out;
  int32_t kind, thing, channels;
  int32_t u, v;           // things along u (pixels, of SPLIT and JOIN) and lines
  int32_t tile_u, tile_v; // of a tile
  int32_t tiles_u, tiles_v;
  int32_t reversed, pitch; // whether the input's line runs backwards; bytes of a line in shared memory
  int32_t words;           // whether lines of the output begin at multiples of 4
  int32_t together;        // whether lines of the input begin at the same distance from such
  int64_t in_u, in_v, in_c, out_v, out_c;
  int64_t outer[2], in_outer[2], out_outer[2];
  fc_dev_divider by_thing, by_channels, by_tiles;
};

struct area {
  int u, v, nu, nv; // first things and numbers of them
  const char *in;   // the frame's
  char *out;
};

// Line i of what a tile reads.
template <int KIND> __device__ __forceinline__ const char *line_of(const staging &s, const area &a, int i) {
  if (KIND == LINE) return a.in + (a.v + i) * s.in_v + (s.reversed ? s.u - a.u - a.nu : a.u) * s.thing;
  if (KIND == TURN) return a.in + (a.u + i) * s.in_u + (s.reversed ? s.v - a.v - a.nv : a.v) * s.thing;
  if (KIND == SPLIT) return a.in + (a.v + i) * s.in_v + static_cast<int64_t>(a.u) * s.channels * s.thing;
  const int v = s.by_channels.quotient(i);
  return a.in + (a.v + v) * s.in_v + (i - v * s.channels) * s.in_c + a.u * s.thing;
}

// Copies the lines; returns how far into the first word they begin.
template <int KIND>
__device__ __forceinline__ int stage(const staging &s, const area &a, unsigned char *shared) {
  const int lines = KIND == TURN ? a.nu : KIND == JOIN ? a.nv * s.channels : a.nv;
  const int bytes = (KIND == TURN ? a.nv : KIND == SPLIT ? a.nu * s.channels : a.nu) * s.thing;
  const int lane = threadIdx.x % 32;
  const int skew = s.together ? static_cast<int>(reinterpret_cast<uintptr_t>(line_of<KIND>(s, a, 0)) & 3) : 0;
  for (int i = threadIdx.x / 32; i < lines; i += WARPS) {
    const char *from = line_of<KIND>(s, a, i) - skew;
    unsigned char *to = shared + i * s.pitch;
    if (s.together)
      for (int k = 4 * lane; k < skew + bytes; k += 128) fc_copy_word(to + k, from + k);
    else
      for (int k = lane; k < bytes; k += 32) to[k] = static_cast<unsigned char>(from[k]);
  }
  fc_commit_copies();
  return skew;
}

// Where byte b of a line of the output is in shared memory, but for the line.
template <int KIND> __device__ __forceinline__ int place_of(const staging &s, const area &a, int b) {
  const int q = s.by_thing.quotient(b), in_thing = b - q * s.thing;
  if (KIND == LINE) return (s.reversed ? a.nu - 1 - q : q) * s.thing + in_thing;
  if (KIND == TURN) return q * s.pitch + in_thing;
  if (KIND == SPLIT) return q * s.channels * s.thing + in_thing;
  const int pixel = s.by_channels.quotient(q);
  return pixel * s.thing + (q - pixel * s.channels) * s.pitch + in_thing;
}

// Line r of the output: where it begins there, and in shared memory.
template <int KIND>
__device__ __forceinline__ char *output_of(const staging &s, const area &a, int r, int *place) {
  char *to = a.out + static_cast<int64_t>(a.u) * s.thing * (KIND == JOIN ? s.channels : 1);
  if (KIND == SPLIT) {
    const int v = s.by_channels.quotient(r), c = r - v * s.channels;
    *place = v * s.pitch + c * s.thing;
    return to + (a.v + v) * s.out_v + c * s.out_c;
  }
  *place = KIND == TURN ? (s.reversed ? a.nv - 1 - r : r) * s.thing
                        : r * s.pitch * (KIND == JOIN ? s.channels : 1);
  return to + (a.v + r) * s.out_v;
}

template <int PART> struct part_type;
template <> struct part_type<1> { typedef uint8_t type; };
template <> struct part_type<2> { typedef uint16_t type; };
template <> struct part_type<4> { typedef uint32_t type; };

// The tile's lines of output, a word a thread, of parts that lie in one thing.
template <int KIND, int PART>
__device__ __forceinline__ void put(const staging &s, const area &a, const unsigned char *from) {
  typedef typename part_type<PART>::type part;
  const int lines = KIND == SPLIT ? a.nv * s.channels : a.nv;
  const int bytes = a.nu * s.thing * (KIND == JOIN ? s.channels : 1);
  const int unit = s.words ? 4 : PART, count = (bytes + unit - 1) / unit;
  const int at_once = count < THREADS ? THREADS / count : 1;
  if (static_cast<int>(threadIdx.x) >= at_once * count) return;
  for (int w = static_cast<int>(threadIdx.x) % count; w < count; w += THREADS) {
    int place[4 / PART];
#pragma unroll
    for (int k = 0; k < 4 / PART; k++)
      place[k] = place_of<KIND>(s, a, min(unit * w + k * PART, bytes - PART));
#pragma unroll 4
    for (int r = static_cast<int>(threadIdx.x) / count % at_once; r < lines; r += at_once) {
      int line;
      char *to = output_of<KIND>(s, a, r, &line) + unit * w;
      if (!s.words) {
        *reinterpret_cast<part *>(to) = *reinterpret_cast<const part *>(from + line + place[0]);
        continue;
      }
      uint32_t word = 0;
#pragma unroll
      for (int k = 0; k < 4 / PART; k++)
        word |= static_cast<uint32_t>(*reinterpret_cast<const part *>(from + line + place[k]))
                << 8 * PART * k;
      if (4 * w + 4 <= bytes)
        *reinterpret_cast<uint32_t *>(to) = word;
      else
        for (int k = 0; k < bytes - 4 * w; k++) to[k] = static_cast<char>(word >> 8 * k);
    }
  }
}

template <int KIND, int PART>
__global__ void __launch_bounds__(THREADS) permute_staged(const __grid_constant__ staging s) {
  __shared__ __align__(16) unsigned char shared[SHARED];
  const int tile = static_cast<int>(blockIdx.x), row = s.by_tiles.quotient(tile);
  const unsigned outer = static_cast<unsigned>(s.outer[0]),
                 all = static_cast<unsigned>(s.outer[0] * s.outer[1]);
  for (unsigned i = blockIdx.y; i < all; i += gridDim.y) {
    area a;
    a.u = (tile - row * s.tiles_u) * s.tile_u, a.v = row * s.tile_v;
    a.nu = min(s.tile_u, s.u - a.u), a.nv = min(s.tile_v, s.v - a.v);
    a.in = s.in + i % outer * s.in_outer[0] + i / outer * s.in_outer[1];
    a.out = s.out + i % outer * s.out_outer[0] + i / outer * s.out_outer[1];
    const int skew = stage<KIND>(s, a, shared);
    fc_await_copies();
    __syncthreads();
    put<KIND, PART>(s, a, shared + skew);
    __syncthreads();
  }
}

// An axis of the output, with its steps on both sides.
struct axis {
  int64_t count, to, from;
};

// Sorts the axes but N by their steps in the output, the shortest first, without those of one thing; takes
// adjacent elements of both as a thing. Returns how many are left.
int sort_axes(const fc_view *seen, const fc_view *out, axis (&all)[3], int64_t *thing) {
  int n = 0;
  for (int a : {FC_AXIS_C, FC_AXIS_X, FC_AXIS_Y}) {
    if (out->shape[a] == 1) continue;
    int at = n++;
    for (; at > 0 && size_of(all[at - 1].to) > size_of(out->stride[a]); at--) all[at] = all[at - 1];
    all[at] = {out->shape[a], out->stride[a], seen->stride[a]};
  }
  if (n > 1 && all[0].to == *thing && all[0].from == *thing && all[0].count * *thing <= MOST) {
    *thing *= all[0].count, n--;
    for (int i = 0; i < n; i++) all[i] = all[i + 1];
  }
  for (int i = n; i < 3; i++) all[i] = {1, 0, 0};
  return n;
}

int32_t narrow(int64_t v) {
  return static_cast<int32_t>(v);
}

// Finds how the axes lie; false if in no way that is known.
bool arrange(axis (&all)[3], int64_t thing, staging *s) {
  int u = 0, v = -1, c = -1;
  if (all[0].to != thing) return false;
  if (all[0].from == thing || all[0].from == -thing)
    s->kind = LINE, v = 1;
  else
    for (int i = 1; i < 3; i++) {
      if (all[i].count == 1 || size_of(all[i].from) != thing) continue;
      const bool forward = all[i].from == thing;
      if (forward && all[0].count <= MOST && all[i].to == all[0].count * thing)
        s->kind = JOIN, c = 0, u = i;
      else if (forward && all[i].count <= MOST && all[0].from == all[i].count * thing)
        s->kind = SPLIT, c = i;
      else
        s->kind = TURN, v = i;
      break;
    }
  if (s->kind < 0) return false;
  const int last = 3 - (s->kind == LINE || s->kind == TURN ? u + v : u + c);
  if (c >= 0) v = last;
  s->thing = narrow(thing), s->channels = c < 0 ? 1 : narrow(all[c].count);
  s->u = narrow(all[u].count), s->v = narrow(all[v].count);
  s->in_u = all[u].from, s->in_v = all[v].from, s->out_v = all[v].to;
  s->in_c = c < 0 ? 0 : all[c].from, s->out_c = c < 0 ? 0 : all[c].to;
  const axis rest = c >= 0 ? axis{1, 0, 0} : all[last];
  s->outer[0] = rest.count, s->in_outer[0] = rest.from, s->out_outer[0] = rest.to;
  const axis line = s->kind == TURN ? all[v] : all[u];
  s->reversed = (s->kind == LINE || s->kind == TURN) && line.from < 0;
  if (s->reversed) s->in += (line.count - 1) * line.from;
  return true;
}

// Tiles whose words of output occupy a block, and which fit into shared memory.
void choose_tile(staging *s) {
  const int t = s->thing, line = t * s->channels;
  if (s->kind == TURN) {
    const int side = t == 1 ? 128 : t <= 4 ? 64 : 32;
    s->tile_u = s->tile_v = side;
    s->pitch = side * t + 4;
  } else {
    s->tile_u = 1008 / line / 16 * 16, s->tile_v = 8;
    s->pitch = s->kind == JOIN ? s->tile_u * t + 4 : s->tile_u * line + 4;
  }
  s->tiles_u = (s->u + s->tile_u - 1) / s->tile_u, s->tiles_v = (s->v + s->tile_v - 1) / s->tile_v;
}

bool are_multiples(int64_t of, std::initializer_list<int64_t> steps) {
  int64_t all = 0;
  for (int64_t step : steps) all |= step;
  return all % of == 0;
}

template <int KIND> fc_status launch_kind(const staging &s, int part, void *stream) {
  const dim3 grid(static_cast<unsigned>(s.tiles_u) * static_cast<unsigned>(s.tiles_v),
                  fc_blocks(s.outer[0] * s.outer[1], 1, 65535));
  return fc_launch(part == 4   ? permute_staged<KIND, 4>
                   : part == 2 ? permute_staged<KIND, 2>
                               : permute_staged<KIND, 1>,
                   grid, dim3(THREADS), 0, stream, s);
}

// FC_UNSUPPORTED: the strides are others.
fc_status launch_staged(const fc_view *seen, const fc_view *out, void *stream) {
  staging s;
  axis all[3];
  int64_t thing = static_cast<int64_t>(fc_dtype_size(out->dtype));
  if (sort_axes(seen, out, all, &thing) == 0) return FC_UNSUPPORTED;
  for (const axis &a : all)
    if (a.count > INT32_MAX / 2 / MOST) return FC_UNSUPPORTED;
  s.in = static_cast<const char *>(seen->data), s.out = static_cast<char *>(out->data), s.kind = -1;
  if (!arrange(all, thing, &s)) return FC_UNSUPPORTED;
  s.outer[1] = out->shape[FC_AXIS_N];
  s.in_outer[1] = seen->stride[FC_AXIS_N], s.out_outer[1] = out->stride[FC_AXIS_N];
  if (s.thing * s.channels > 63) return FC_UNSUPPORTED; // wider than a tile
  choose_tile(&s);
  if (static_cast<int64_t>(s.tiles_u) * s.tiles_v > INT32_MAX || s.outer[0] * s.outer[1] > INT32_MAX)
    return FC_UNSUPPORTED;
  const int64_t in_outer = (s.outer[0] > 1 ? s.in_outer[0] : 0) | (s.outer[1] > 1 ? s.in_outer[1] : 0),
                out_outer = (s.outer[0] > 1 ? s.out_outer[0] : 0) | (s.outer[1] > 1 ? s.out_outer[1] : 0);
  const int64_t in = static_cast<int64_t>(reinterpret_cast<uintptr_t>(s.in));
  const int64_t to = static_cast<int64_t>(reinterpret_cast<uintptr_t>(s.out));
  const int64_t step = s.kind == TURN ? s.in_u : s.in_v;
  s.together = are_multiples(4, {step, s.in_c});
  s.words = are_multiples(4, {to, s.out_v, s.out_c, out_outer});
  const int64_t out_line = static_cast<int64_t>(thing) * (s.kind == JOIN ? s.channels : 1);
  s.words = s.words && (s.tiles_u == 1 || s.tile_u * out_line % 4 == 0);
  int part = 1;
  for (int of : {4, 2})
    if (part == 1 && are_multiples(of, {thing, in, step, s.in_c, in_outer, to, s.out_v, s.out_c, out_outer}))
      part = of;
  s.by_thing = fc_dev_divider_of(thing), s.by_channels = fc_dev_divider_of(s.channels);
  s.by_tiles = fc_dev_divider_of(s.tiles_u);
  switch (s.kind) {
  case LINE: return launch_kind<LINE>(s, part, stream);
  case TURN: return launch_kind<TURN>(s, part, stream);
  case SPLIT: return launch_kind<SPLIT>(s, part, stream);
  default: return launch_kind<JOIN>(s, part, stream);
  }
}

// ---- an element a thread --------------------------------------------------------

// Two axes that form tiles, `u` the one along which outputs are adjacent, and two outer axes.
struct walk {
  int64_t count[FC_AXES], to[FC_AXES], from[FC_AXES]; // per axis, in the order u, v, w, n
  int64_t tiles_u, tiles_v;
};

template <typename E>
__global__ void __launch_bounds__(THREADS) permute_tiles(const char *in, char *out, walk w) {
  const int64_t all = w.tiles_u * w.tiles_v * w.count[2] * w.count[3];
  for (int64_t i = blockIdx.x; i < all; i += gridDim.x) {
    const int64_t tile = i % (w.tiles_u * w.tiles_v), rest = i / (w.tiles_u * w.tiles_v);
    const int64_t outer = rest % w.count[2], n = rest / w.count[2];
    const char *from = in + outer * w.from[2] + n * w.from[3];
    char *to = out + outer * w.to[2] + n * w.to[3];
    const int64_t u = tile % w.tiles_u * TILE + threadIdx.x;
    if (u >= w.count[0]) continue;
    for (int k = threadIdx.y; k < TILE; k += ROWS) {
      const int64_t v = tile / w.tiles_u * TILE + k;
      if (v < w.count[1])
        *reinterpret_cast<E *>(to + u * w.to[0] + v * w.to[1]) =
            *reinterpret_cast<const E *>(from + u * w.from[0] + v * w.from[1]);
    }
  }
}

// Chooses u as the axis along which outputs are adjacent, and v as the one along which inputs are.
walk walk_of(const fc_view *seen, const fc_view *out) {
  int order[FC_AXES] = {FC_AXIS_X, FC_AXIS_Y, FC_AXIS_C, FC_AXIS_N};
  auto swap = [&](int a, int b) {
    const int kept = order[a];
    order[a] = order[b], order[b] = kept;
  };
  for (int a = 1; a < 3; a++)
    if (out->shape[order[a]] > 1 && size_of(out->stride[order[a]]) < size_of(out->stride[order[0]]) &&
        out->shape[order[a]] >= TILE)
      swap(0, a);
  if (out->shape[order[2]] > 1 && size_of(seen->stride[order[2]]) < size_of(seen->stride[order[1]]) &&
      out->shape[order[2]] >= TILE)
    swap(1, 2);
  walk w;
  for (int a = 0; a < FC_AXES; a++) {
    w.count[a] = out->shape[order[a]];
    w.to[a] = out->stride[order[a]], w.from[a] = seen->stride[order[a]];
  }
  w.tiles_u = (w.count[0] + TILE - 1) / TILE, w.tiles_v = (w.count[1] + TILE - 1) / TILE;
  return w;
}

template <typename E> fc_status launch_tiles(const fc_view *seen, const fc_view *out, void *stream) {
  const walk w = walk_of(seen, out);
  const unsigned blocks = fc_blocks(w.tiles_u * w.tiles_v * w.count[2] * w.count[3], 1, 1 << 30);
  return fc_launch(permute_tiles<E>, dim3(blocks), dim3(TILE, ROWS), 0, stream,
                   static_cast<const char *>(seen->data), static_cast<char *>(out->data), w);
}

} // namespace

extern "C" fc_status fc_permute_cuda(const fc_permute *p, const fc_view *in, const fc_view *out,
                                     void *stream) {
  if (fc_view_count(out) == 0) return FC_OK;
  const fc_view seen = fc_permute_view(p, in, out);
  const fc_status status = launch_staged(&seen, out, stream);
  if (status != FC_UNSUPPORTED) return status;
  switch (fc_dtype_size(out->dtype)) {
  case 1: return launch_tiles<uint8_t>(&seen, out, stream);
  case 2: return launch_tiles<uint16_t>(&seen, out, stream);
  case 4: return launch_tiles<uint32_t>(&seen, out, stream);
  default: return launch_tiles<uint64_t>(&seen, out, stream);
  }
}
