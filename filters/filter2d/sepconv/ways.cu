// SPDX-License-Identifier: MIT
//
// ways.cu - separable filters of f32 for which bands (band.cuh) are slow: images of two or four interleaved
// channels, or three with long masks, whose windows are wide; and images narrower than bands.
//
// A block marches down several ways at a time (ways.cuh), each of which is a part of an image's columns and
// rows. A thread has 4 adjacent pixels of one channel: rows are deinterleaved on their way into shared
// memory, so that horizontal sums are those of a single channel, and interleaved again when outputs are
// stored. The order of sums is that of floats.cu.
#include "filters/filter2d/sepconv/down.cuh"
#include "filters/filter2d/sepconv/ways.cuh"

namespace {

constexpr int BATCH = 4, STAGES = 3;

template <int N> constexpr int blocks_of = N <= 15 ? 4 : 3;

template <int N> struct taps_of { float x[N], y[N]; };

struct ways {
  fc_ways all;
  int32_t step, quads, lanes; // channels, quads of one channel per way, threads per way
  int32_t listed;             // length of the list of elements in words
  int32_t pitch, room_pitch;  // words between channels: of a way's row, of its outputs
};

// What a thread needs seldom, kept in shared memory to leave registers for sums.
struct part {
  int lane;            // index within the way
  int y, rows, count;  // row of the signal at which its windows begin, rows of windows, rows of outputs
  int elements, width; // per row of windows, per row of outputs
  int share, room_share, room_first; // offsets of its first element loaded, first stored, and of its sums
};

__device__ __forceinline__ part part_of(const ways &b, const fc_way &w, int own, int lane, int taps) {
  part p;
  p.lane = lane, p.y = w.y, p.count = w.count, p.rows = w.count + taps - 1;
  p.width = w.count > 0 ? w.width : 0, p.elements = w.count > 0 ? w.width + b.all.margin : 0;
  p.share = (own + lane % b.step) * b.pitch + lane / b.step;
  p.room_share = (own + lane % b.step) * b.room_pitch + lane / b.step;
  p.room_first = (own + lane / b.quads) * b.room_pitch + lane % b.quads * 4;
  return p;
}

// Stores the constant for those elements that are the constant in all rows, once per block.
__device__ __forceinline__ void fill(const ways &b, const part &p, const int *list, float *to) {
  for (int i = p.lane; i < p.elements; i += b.lanes, to += b.quads)
    for (int r = 0; list[i] == FC_BAND_CONSTANT && r < STAGES * BATCH; r++)
      to[r * b.all.row] = __uint_as_float(b.all.edges.code);
}

// Begins to copy a thread's share of a batch from `row` on, of elements that are all within the image.
__device__ __forceinline__ void fetch_plain(const ways &b, const part &p, const char *row, float *to) {
  row += 4 * p.lane;
#pragma unroll 2
  for (int i = p.lane; i < p.elements; i += b.lanes, row += 4 * b.lanes, to += b.quads) {
#pragma unroll
    for (int u = 0; u < BATCH; u++) fc_copy_word(to + u * b.all.row, row + u * b.all.in_row);
  }
}

// The same by the list of mapped elements; 4 are looked up at a time, since each copy waits for its look-up.
__device__ __forceinline__ void fetch_listed(const ways &b, const part &p, const int *list, const char *row,
                                             float *to) {
#pragma unroll 1
  for (int i = p.lane; i < p.elements; i += 4 * b.lanes) {
    int from[4];
#pragma unroll
    for (int k = 0; k < 4; k++)
      from[k] = i + k * b.lanes < p.elements ? list[i + k * b.lanes] : FC_BAND_CONSTANT;
#pragma unroll
    for (int k = 0; k < 4; k++, to += b.quads) {
      if (from[k] == FC_BAND_CONSTANT) continue;
      const char *at = row + 4 * static_cast<int64_t>(from[k]);
#pragma unroll
      for (int u = 0; u < BATCH; u++) fc_copy_word(to + u * b.all.row, at + u * b.all.in_row);
    }
  }
}

// The same for a batch with rows outside the image, which are mapped to others or are the constant.
__device__ __forceinline__ void fetch_rows(const ways &b, const part &p, const int *list, int q,
                                           const char *first, float *to) {
#pragma unroll 1
  for (int u = 0; u < BATCH && q + u < p.rows; u++, to += b.all.row) {
    const int y = p.y + q + u;
    const int source = b.all.edges.on ? fc_dev_border_source(b.all.edges.border, y, b.all.height) : y;
    const char *row = first + (source - y + u) * b.all.in_row;
    float *element = to;
#pragma unroll 1
    for (int i = p.lane; i < p.elements; i += b.lanes, element += b.quads)
      if (source < 0 && b.all.edges.on)
        *element = __uint_as_float(b.all.edges.code);
      else if (list[i] != FC_BAND_CONSTANT)
        fc_copy_word(element, row + 4 * static_cast<int64_t>(list[i]));
  }
}

// `row` is row q of the way. INNER: all elements of the band are within the image.
__device__ __forceinline__ void fetch(const ways &b, const part &p, bool inner, const int *list, int q,
                                      const char *row, float *to) {
  const bool there = !b.all.edges.on || (p.y + q >= 0 && p.y + q + BATCH <= b.all.height);
  if (!there || q + BATCH > p.rows)
    fetch_rows(b, p, list, q, row, to);
  else if (inner)
    fetch_plain(b, p, row, to);
  else
    fetch_listed(b, p, list, row, to);
  fc_commit_copies();
}

// Interleaves and stores a batch of outputs, the first of which is number o and belongs to `row`.
__device__ __forceinline__ void store_batch(const ways &b, const part &p, int o, char *row,
                                            const float *room) {
  const int stride = b.all.together * b.step * b.room_pitch, count = p.count;
  row += 4 * p.lane;
#pragma unroll 2
  for (int i = p.lane; i < p.width; i += b.lanes, room += b.quads, row += 4 * b.lanes) {
    float v[BATCH];
#pragma unroll
    for (int u = 0; u < BATCH; u++) v[u] = room[u * stride];
#pragma unroll
    for (int u = 0; u < BATCH; u++)
      if (static_cast<uint32_t>(o + u) < static_cast<uint32_t>(count))
        *reinterpret_cast<float *>(row + u * b.all.out_row) = v[u];
  }
}

// Stores a thread's sums of a row, at most as many as are left in it.
__device__ __forceinline__ void store_quad(char *to, int left, float4 v) {
  float *at = reinterpret_cast<float *>(to);
  if (left >= 4) {
    *reinterpret_cast<float4 *>(at) = v;
    return;
  }
  at[0] = v.x;
  if (left > 1) at[1] = v.y;
  if (left > 2) at[2] = v.z;
}

// DIRECT: one channel, stored 4 elements at a time from registers; otherwise interleaved through shared
// memory.
template <int N, bool DIRECT>
__global__ void __launch_bounds__(FC_WAYS_THREADS, (blocks_of<N>))
    sepconv_ways(const __grid_constant__ ways b, const __grid_constant__ taps_of<N> t) {
  extern __shared__ __align__(16) float memory[];
  __shared__ part parts[FC_WAYS_THREADS];
  const uint32_t band = blockIdx.x % b.all.bands, group = blockIdx.x / b.all.bands;
  const int mine = threadIdx.x / b.lanes, lane = threadIdx.x % b.lanes;
  const bool idle = mine >= b.all.together; // reads another thread's data, and stores nothing
  const fc_way w = fc_way_of<4>(b.all, idle ? UINT32_MAX : group * b.all.together + mine, band);
  const int own = idle ? 0 : mine * b.step, end = b.all.rows + N - 1;
  part &p = parts[threadIdx.x];
  p = part_of(b, w, own, lane, N);
  int *list = reinterpret_cast<int *>(memory);
  float *ring = memory + b.listed, *rooms = ring + STAGES * BATCH * b.all.row;
  const float *first = ring + (own + lane / b.quads) * b.pitch + lane % b.quads * 4;
  const int room_words = BATCH * b.all.together * b.step * b.room_pitch;
  const int x = static_cast<int>(band) * b.all.band - b.all.edges.left;
  const bool inner = !b.all.edges.on || (x >= 0 && x + b.all.band + b.all.margin <= b.all.columns);
  const int left = DIRECT ? w.width - 4 * lane : 0;
  const uint32_t stored = left > 0 ? w.count : 0; // rows of outputs that it stores itself (DIRECT)
  fc_way_elements(b.all, band, list);
  __syncthreads();
  if (!inner) fill(b, p, list, ring + p.share);
  const char *row = w.in; // the next to be copied
#pragma unroll 1
  for (int i = 0; i < STAGES - 1; i++, row += BATCH * b.all.in_row)
    fetch(b, p, inner, list, i * BATCH, row, ring + i * BATCH * b.all.row + p.share);
  float4 sum[N - 1 + BATCH];
#pragma unroll
  for (int i = 0; i < N - 1 + BATCH; i++) sum[i] = make_float4(0, 0, 0, 0);
  char *to = w.out - (N - 1) * b.all.out_row + (DIRECT ? 16 * lane : 0);
  int now = 0, next = STAGES - 1, room = 0; // indices of batches in the ring, and of the output buffer
#pragma unroll 1
  for (int q = 0; q < end; q += BATCH, row += BATCH * b.all.in_row) {
    fc_await_copies<STAGES - 2>();
    __syncthreads();
    fetch(b, p, inner, list, q + (STAGES - 1) * BATCH, row, ring + next * BATCH * b.all.row + p.share);
    if (!DIRECT && q > 0)
      store_batch(b, p, q - BATCH - (N - 1), to - BATCH * b.all.out_row,
                  rooms + (room ^ 1) * room_words + p.room_share);
    const float *at = first + now * BATCH * b.all.row;
    float *sums = rooms + room * room_words + (DIRECT ? 0 : p.room_first);
#pragma unroll
    for (int u = 0; u < BATCH; u++, to += b.all.out_row) {
      fc_add_down<N>(u, t.y, fc_sum_along<N, 1, 0>(at + u * b.all.row, t.x), sum);
      if constexpr (DIRECT) {
        if (static_cast<uint32_t>(q + u - (N - 1)) < stored) store_quad(to, left, sum[u]);
      } else if (!idle) {
        *reinterpret_cast<float4 *>(sums + u * b.all.together * b.step * b.room_pitch) = sum[u];
      }
    }
#pragma unroll
    for (int i = 0; i < N - 1 + BATCH; i++) sum[i] = i < N - 1 ? sum[i + BATCH] : make_float4(0, 0, 0, 0);
    room ^= 1, now = now == STAGES - 1 ? 0 : now + 1, next = next == STAGES - 1 ? 0 : next + 1;
  }
  fc_await_copies();
  if (DIRECT) return;
  __syncthreads();
  store_batch(b, p, (end + BATCH - 1) / BATCH * BATCH - BATCH - (N - 1), to - BATCH * b.all.out_row,
              rooms + (room ^ 1) * room_words + p.room_share);
}

// ---- launching -------------------------------------------------------------

// The distance between channels in words: the smallest multiple of 4 from `least` on for which adjacent
// elements lie in different banks.
int pitch_of(int least, int step) {
  static const int banks[] = {0, 0, 16, 12, 8};
  int pitch = (least + 3) / 4 * 4;
  while (step > 1 && pitch % 32 != banks[step]) pitch += 4;
  return pitch;
}

ways ways_of(const fc_march &m, const fc_ways_sharing &s) {
  ways b = {};
  b.step = m.step, b.quads = s.quads, b.lanes = s.quads * m.step;
  b.all = fc_ways_of(m, s.bands, 4 * b.lanes, s.together);
  b.listed = (4 * b.lanes + m.margin + 3) / 4 * 4;
  b.pitch = pitch_of(4 * s.quads + (m.margin / m.step + 3) / 4 * 4, m.step);
  b.all.row = s.together * m.step * b.pitch;
  b.room_pitch = pitch_of(4 * s.quads, m.step);
  return b;
}

template <int N>
fc_status launch(const fc_sepconv *op, const fc_march &m, const fc_ways_sharing &s, cudaStream_t stream) {
  const ways b = ways_of(m, s);
  constexpr bool MAY = N <= 25; // more would exceed the registers
  const bool direct = MAY && m.step == 1 && m.quads && m.columns % 4 == 0;
  const int rooms = direct ? 0 : 2 * BATCH * s.together * m.step * b.room_pitch;
  taps_of<N> t;
  for (int i = 0; i < N; i++)
    t.x[i] = static_cast<const float *>(op->x)[i], t.y[i] = static_cast<const float *>(op->y)[i];
  return fc_ways_launch(direct ? sepconv_ways<N, MAY> : sepconv_ways<N, false>, b, m, t, s.threads,
                        4 * (b.listed + STAGES * BATCH * b.all.row + rooms), N, stream);
}

} // namespace

fc_status fc_sepconv_ways(const fc_sepconv *op, const fc_march &m, cudaStream_t stream) {
  const fc_ways_sharing s = fc_ways_share(m.columns, m.step, m.margin);
  return fc_band_choose<3, FC_SEPCONV_TAPS>(op->nx, [&](auto n) { return launch<n()>(op, m, s, stream); });
}
