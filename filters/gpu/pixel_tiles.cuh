// SPDX-License-Identifier: MIT
//
// pixel_tiles.cuh - pixels of one to four interleaved channels between memory and registers, a warp's tile at
// a time: 16 / size pixels a lane, so 16 bytes a lane and channel. Memory is read and written in aligned
// units of 16 bytes by neighbouring lanes, for any size of pixels and any alignment of rows; shared memory is
// used to give each lane its own pixels and to shift unaligned data.
#ifndef FC_FILTERS_PIXEL_TILES_CUH
#define FC_FILTERS_PIXEL_TILES_CUH

#include "filters/gpu/copy_async.cuh"
#include "filters/gpu/cuda.cuh"

constexpr int FC_TILE_WARPS = 8; // of a block of threads
constexpr int FC_TILE_LANES = 32;

// Rows of pixels that are adjacent in both views; one row if rows are contiguous too.
struct fc_pixel_runs {
  const char *in;
  char *out;
  int64_t rows, length, tiles;                  // pixels, and tiles, per row
  int64_t per_batch;                            // rows per batch entry
  int64_t in_row, out_row, in_batch, out_batch; // bytes
};

// A tile of a row: its start, its pixels, whether it is the row's first, and how many pixels follow from
// there on, including some of later tiles.
struct fc_pixel_tile {
  const char *in;
  char *out;
  int used, left;
  bool first;
};

// `pixel_in` and `pixel_out` in bytes, `pixels` of a full tile.
__device__ __forceinline__ fc_pixel_tile fc_pixel_tile_of(const fc_pixel_runs &r, uint32_t tile, int pixel_in,
                                                          int pixel_out, int pixels) {
  const char *in = r.in;
  char *out = r.out;
  if (r.rows > 1) {
    const uint32_t row = tile / static_cast<uint32_t>(r.tiles);
    const uint32_t batch = row / static_cast<uint32_t>(r.per_batch);
    const uint32_t y = row - batch * static_cast<uint32_t>(r.per_batch);
    tile -= row * static_cast<uint32_t>(r.tiles);
    in += batch * r.in_batch + y * r.in_row, out += batch * r.out_batch + y * r.out_row;
  }
  const int64_t left = r.length - static_cast<int64_t>(tile) * pixels;
  fc_pixel_tile t;
  t.in = in + static_cast<int64_t>(tile) * (pixels * pixel_in);
  t.out = out + static_cast<int64_t>(tile) * (pixels * pixel_out);
  t.left = left < 2 * pixels ? static_cast<int>(left) : 2 * pixels;
  t.used = t.left < pixels ? t.left : pixels;
  t.first = tile == 0;
  return t;
}

// Memory for a tile of this many channels, which begins up to 15 bytes into it.
template <int C> struct alignas(16) fc_tile_room {
  static constexpr int BYTES = FC_TILE_LANES * 16 * C;
  unsigned char at[BYTES + 16];
};

// ---- memory to registers ----------------------------------------------------

__device__ __forceinline__ int fc_tile_phase(const void *at) {
  return static_cast<int>(reinterpret_cast<uintptr_t>(at) % 16);
}

// The aligned 16-byte units that contain a tile; the first and the last may extend beyond its row.
struct fc_tile_span {
  const char *base;
  int phase, first, last, quads; // complete ones are from first to last
};

__device__ __forceinline__ fc_tile_span fc_tile_span_of(const fc_pixel_tile &t, int pixel) {
  fc_tile_span s;
  s.phase = fc_tile_phase(t.in);
  s.base = t.in - s.phase;
  s.quads = (s.phase + t.used * pixel + 15) / 16;
  s.first = t.first && s.phase ? 1 : 0;
  s.last = s.quads * 16 - s.phase > t.left * pixel ? s.quads - 1 : s.quads;
  return s;
}

// If the tile is unaligned or incomplete.
template <int C>
__device__ __forceinline__ void fc_tile_fetch_some(unsigned char *room, const fc_pixel_tile &t, int pixel,
                                                   int lane) {
  const fc_tile_span s = fc_tile_span_of(t, pixel);
#pragma unroll
  for (int i = 0; i <= C; i++) {
    const int q = i * FC_TILE_LANES + lane;
    if (q >= s.first && q < s.last) fc_copy_words(room + q * 16, s.base + q * 16);
  }
  // The first lanes handle what is before the first complete unit, the others what is after the last - unless
  // it is the same.
  const bool front = lane < 16;
  if (front ? s.first == 0 : s.last == s.quads || (s.first == 1 && s.quads == 1)) return;
  const int at = lane < 16 ? lane : (s.quads - 1) * 16 + lane - 16;
  if (at >= s.phase && at < s.phase + t.used * pixel) room[at] = static_cast<unsigned char>(s.base[at]);
}

// Starts to copy a tile of pixels of this size into memory with the same alignment, from fc_tile_phase(t.in)
// on; fc_tile_await waits for all except the last `more` copies.
template <int C>
__device__ __forceinline__ void fc_tile_fetch(unsigned char *room, const fc_pixel_tile &t, int pixel,
                                              int lane) {
  if (fc_tile_phase(t.in) || t.used * pixel < C * FC_TILE_LANES * 16)
    return fc_tile_fetch_some<C>(room, t, pixel, lane);
#pragma unroll
  for (int i = 0; i < C; i++) {
    const int at = (i * FC_TILE_LANES + lane) * 16;
    fc_copy_words(room + at, t.in + at);
  }
}

template <int MORE> __device__ __forceinline__ void fc_tile_await() {
  fc_await_copies<MORE>();
  __syncwarp();
}

// QUADS times 16 bytes from any address in shared memory.
template <int QUADS>
__device__ __forceinline__ void fc_tile_words(uint32_t (&to)[4 * QUADS], const unsigned char *from) {
  const uint32_t at = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(from) % 16), bits = at % 4 * 8;
  if (at == 0) {
#pragma unroll
    for (int i = 0; i < QUADS; i++) {
      const uint4 q = reinterpret_cast<const uint4 *>(from)[i];
      to[4 * i] = q.x, to[4 * i + 1] = q.y, to[4 * i + 2] = q.z, to[4 * i + 3] = q.w;
    }
    return;
  }
  const uint32_t *word = reinterpret_cast<const uint32_t *>(from - at % 4);
  uint32_t here = word[0];
#pragma unroll
  for (int i = 0; i < 4 * QUADS; i++) {
    const uint32_t next = i + 1 < 4 * QUADS || bits ? word[i + 1] : 0;
    to[i] = __funnelshift_r(here, next, bits);
    here = next;
  }
}

// ---- registers to memory ----------------------------------------------------

template <int C>
__device__ __forceinline__ void fc_tile_keep(unsigned char *room, const uint32_t (&v)[4 * C], int lane) {
#pragma unroll
  for (int i = 0; i < C; i++)
    reinterpret_cast<uint4 *>(room)[lane * C + i] =
        make_uint4(v[4 * i], v[4 * i + 1], v[4 * i + 2], v[4 * i + 3]);
}

// If they are unaligned or the tile is incomplete.
template <int C>
__device__ __forceinline__ void fc_tile_send_some(char *to, const unsigned char *room, int bytes, int lane) {
  int head = (16 - fc_tile_phase(to)) % 16;
  if (head > bytes) head = bytes;
  const int quads = (bytes - head) / 16, tail = bytes - head - quads * 16;
#pragma unroll
  for (int i = 0; i < C; i++)
    if (i * FC_TILE_LANES + lane < quads) {
      const int at = head + (i * FC_TILE_LANES + lane) * 16;
      uint32_t v[4];
      fc_tile_words<1>(v, room + at);
      *reinterpret_cast<uint4 *>(to + at) = make_uint4(v[0], v[1], v[2], v[3]);
    }
  if (lane < head) to[lane] = static_cast<char>(room[lane]);
  if (lane >= 16 && lane - 16 < tail) {
    const int at = bytes - tail + lane - 16;
    to[at] = static_cast<char>(room[at]);
  }
}

// The first `bytes` of a tile that all lanes have kept.
template <int C>
__device__ __forceinline__ void fc_tile_send(char *to, const unsigned char *room, int bytes, int lane) {
  if (fc_tile_phase(to) || bytes < C * FC_TILE_LANES * 16) return fc_tile_send_some<C>(to, room, bytes, lane);
#pragma unroll
  for (int i = 0; i < C; i++) {
    const int at = (i * FC_TILE_LANES + lane) * 16;
    *reinterpret_cast<uint4 *>(to + at) = *reinterpret_cast<const uint4 *>(room + at);
  }
}

// ---- all tiles --------------------------------------------------------------

// The loop of each warp: tile after tile, with the next being loaded meanwhile. work.fill(pixels, used, lane)
// initialises pixels beyond the last of a row; work.make(y, x) converts a lane's pixels of CI channels to
// those of CO.
template <int CI, int CO, typename Work>
__device__ __forceinline__ void fc_tile_each(const fc_pixel_runs &r, int size, Work &work) {
  __shared__ fc_tile_room<(CI > CO ? CI : CO)> rooms[FC_TILE_WARPS][2];
  const int lane = threadIdx.x % FC_TILE_LANES, warp = threadIdx.x / FC_TILE_LANES;
  const int full = FC_TILE_LANES * 16 / size;
  unsigned char *room = rooms[warp][0].at, *other = rooms[warp][1].at;
  const uint32_t total = static_cast<uint32_t>(r.rows * r.tiles), step = gridDim.x * FC_TILE_WARPS;
  uint32_t tile = blockIdx.x * FC_TILE_WARPS + warp;
  if (tile >= total) return;
  fc_pixel_tile next = fc_pixel_tile_of(r, tile, CI * size, CO * size, full);
  fc_tile_fetch<CI>(room, next, CI * size, lane);
  fc_commit_copies();
  for (;;) {
    const fc_pixel_tile t = next;
    tile += step;
    if (tile < total) {
      next = fc_pixel_tile_of(r, tile, CI * size, CO * size, full);
      fc_tile_fetch<CI>(other, next, CI * size, lane);
    }
    fc_commit_copies();
    fc_tile_await<1>();
    unsigned char *pixels = room + fc_tile_phase(t.in);
    if (t.used < full) {
      work.fill(pixels, t.used, lane);
      __syncwarp();
    }
    uint32_t x[4 * CI], y[4 * CO];
    fc_tile_words<CI>(x, pixels + lane * 16 * CI);
    __syncwarp();
    work.make(y, x);
    fc_tile_keep<CO>(room, y, lane);
    __syncwarp();
    fc_tile_send<CO>(t.out, room, t.used * CO * size, lane);
    if (tile >= total) break;
    __syncwarp(); // it has been sent
    unsigned char *swap = room;
    room = other, other = swap;
  }
}

// ---- launching --------------------------------------------------------------
#ifndef __CUDACC_RTC__

// Channels adjacent, and columns contiguous.
static inline bool fc_is_dense(const fc_view *v) {
  const int64_t size = static_cast<int64_t>(fc_dtype_size(v->dtype));
  return (v->stride[FC_AXIS_C] == size || v->shape[FC_AXIS_C] == 1) &&
         v->stride[FC_AXIS_X] == v->shape[FC_AXIS_C] * size;
}

// Whether each row of pixels, and each batch entry, begins where the one before ends.
static inline bool fc_is_one_row(const fc_view *v) {
  const int64_t row = v->shape[FC_AXIS_X] * v->stride[FC_AXIS_X];
  const bool rows = v->shape[FC_AXIS_Y] == 1 || v->stride[FC_AXIS_Y] == row;
  return rows && (v->shape[FC_AXIS_N] == 1 || v->stride[FC_AXIS_N] == v->shape[FC_AXIS_Y] * row);
}

static inline int64_t fc_tile_pixels(const fc_view *v) {
  return FC_TILE_LANES * 16 / static_cast<int64_t>(fc_dtype_size(v->dtype));
}

// Dense views of equal shape except for their channels.
static inline fc_pixel_runs fc_pixel_runs_of(const fc_view *in, const fc_view *out) {
  fc_pixel_runs r;
  const bool one = fc_is_one_row(in) && fc_is_one_row(out);
  const int64_t lines = out->shape[FC_AXIS_N] * out->shape[FC_AXIS_Y], pixels = fc_tile_pixels(out);
  r.in = static_cast<const char *>(in->data);
  r.out = static_cast<char *>(out->data);
  r.rows = one ? 1 : lines;
  r.length = out->shape[FC_AXIS_X] * (one ? lines : 1);
  r.tiles = (r.length + pixels - 1) / pixels;
  r.per_batch = out->shape[FC_AXIS_Y];
  r.in_row = in->stride[FC_AXIS_Y], r.out_row = out->stride[FC_AXIS_Y];
  r.in_batch = in->stride[FC_AXIS_N], r.out_batch = out->stride[FC_AXIS_N];
  return r;
}

// Whether 32 bits can number the tiles, including those that the grid has beyond the last.
static inline bool fc_tiles_fit(const fc_pixel_runs &r) {
  return r.tiles <= INT32_MAX && r.per_batch <= INT32_MAX &&
         r.rows <= INT32_MAX / (r.tiles > 0 ? r.tiles : 1);
}

// Blocks to launch, of which a multiprocessor runs `resident` at a time: eight times as many in total, so
// that multiprocessors that finish early get more; memory bandwidth is not shared equally.
static inline unsigned fc_tile_blocks(const fc_pixel_runs &r, int resident, int turns = 8) {
  int device = 0, processors = 0;
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device) != cudaSuccess)
    processors = 128;
  return fc_blocks(r.rows * r.tiles, FC_TILE_WARPS, static_cast<int64_t>(processors) * resident * turns);
}
#endif

#endif
