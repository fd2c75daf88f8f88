// SPDX-License-Identifier: MIT
//
// ways_bytes.cu - separable filters of u8 images narrower than bands, by blocks that march down several ways
// at a time (ways.cuh): horizontal sums by the integer matrix units (digits.cuh), whose 16 windows may
// belong to different ways. This requires all rows to begin at the same offset within a word. They are
// copied by words, and the border beside a row is then made in shared memory.
//
// A kernel of N rows is used for all masks of fewer, zero-padded.
#include <algorithm>

#include "filters/filter2d/sepconv/digits.cuh"
#include "filters/filter2d/sepconv/ways.cuh"

namespace {

constexpr int STAGES = 4;    // batches in shared memory
constexpr int THREADS = 256; // maximum per block

template <int N> constexpr int batch_of = N <= 15 ? 8 : 4; // rows

template <int N> struct taps_of {
  fc_byte_taps along;
  float y[N];
};

struct ways {
  fc_ways all;
  int32_t windows, lanes;    // of 8 columns, and threads that copy, per way
  int32_t pitch;             // bytes between ways in a row
  int32_t shift;             // offset of the first window within a word
  int32_t rows_down;         // per window
  int32_t lo, hi;            // range of elements of a row of windows that may be read
  int32_t head, words, tail; // of that range: bytes before the first word, words, bytes after the last
  bool even;                 // outputs can be stored in pairs
};

// A thread's two adjacent outputs of one window.
struct pair {
  const uint32_t *window; // its words in the first row
  char *to;
  int count, inside; // rows, and columns within the image
};

// Begins to copy a thread's share of a row, or stores the constant for it.
__device__ __forceinline__ void fetch_row(const ways &b, const char *row, int lane, char *to) {
  if (!row)
    for (int j = lane; j < b.all.columns + b.all.margin; j += b.lanes)
      to[j] = static_cast<char>(b.all.edges.code);
  for (int i = lane; row && i < b.words; i += b.lanes)
    fc_copy_word(to + b.lo + b.head + 4 * i, row + b.lo + b.head + 4 * i);
  for (int i = lane; row && i < b.head + b.tail; i += b.lanes) {
    const int at = b.lo + (i < b.head ? i : 4 * b.words + i);
    to[at] = row[at];
  }
}

// The same for a batch that begins with row q of a way of `rows` rows. If they are all within the image
// (`row` and those after it), the bytes before and after the words are all loaded before the first is
// stored.
template <int BATCH>
__device__ __forceinline__ void fetch(const ways &b, int y, int lane, int q, int rows, const char *row,
                                      char *to) {
  const int pitch = 4 * b.all.row;
  to += b.shift;
  if (q + BATCH > rows || (b.all.edges.on && (y + q < 0 || y + q + BATCH > b.all.height))) {
#pragma unroll 1
    for (int u = 0; u < BATCH && q + u < rows; u++, to += pitch) {
      const int own = y + q + u;
      const int source = b.all.edges.on ? fc_dev_border_source(b.all.edges.border, own, b.all.height) : own;
      fetch_row(b, source < 0 && b.all.edges.on ? nullptr : row + (source - own + u) * b.all.in_row, lane,
                to);
    }
    return;
  }
#pragma unroll 1
  for (int i = lane; i < b.words; i += b.lanes) {
    const int at = b.lo + b.head + 4 * i;
#pragma unroll
    for (int u = 0; u < BATCH; u++) fc_copy_word(to + u * pitch + at, row + u * b.all.in_row + at);
  }
#pragma unroll 1
  for (int i = lane; i < b.head + b.tail; i += b.lanes) {
    const int at = b.lo + (i < b.head ? i : 4 * b.words + i);
    char byte[BATCH];
#pragma unroll
    for (int u = 0; u < BATCH; u++) byte[u] = (row + u * b.all.in_row)[at];
#pragma unroll
    for (int u = 0; u < BATCH; u++) to[u * pitch + at] = byte[u];
  }
}

// Makes the border beside the rows of a batch that has arrived.
template <int BATCH>
__device__ __forceinline__ void make_border(const ways &b, const int *list, int lane, char *rows) {
  const int pitch = 4 * b.all.row, beside = b.all.columns + b.all.margin - (b.hi - b.lo);
  rows += b.shift;
#pragma unroll 1
  for (int i = lane; i < beside; i += b.lanes) {
    const int at = i < b.lo ? i : i + b.hi - b.lo, from = list[at];
    char byte[BATCH];
#pragma unroll
    for (int u = 0; u < BATCH; u++)
      byte[u] = from == FC_BAND_CONSTANT ? static_cast<char>(b.all.edges.code) : rows[u * pitch + from];
#pragma unroll
    for (int u = 0; u < BATCH; u++) rows[u * pitch + at] = byte[u];
  }
}

// The thread's pair in window `number` of a block.
__device__ __forceinline__ pair pair_of(const ways &b, int number, const char *rows) {
  const int own = number / b.windows, column = number % b.windows * 8, of_lane = threadIdx.x % 4;
  const bool is_one = own < b.all.together;
  const fc_way w = fc_way_of<1>(b.all, is_one ? blockIdx.x * b.all.together + own : UINT32_MAX, 0);
  const int first = column + 2 * of_lane;
  pair p;
  p.window = reinterpret_cast<const uint32_t *>(rows + (is_one ? own * b.pitch : 0) + column) + 2 * of_lane;
  p.to = w.out + first;
  p.count = w.count, p.inside = max(0, min(w.width - first, 2));
  if (p.inside == 0) p.count = 0;
  return p;
}

// Stores a pair of outputs, if `is_output`.
__device__ __forceinline__ void store_pair(const ways &b, bool is_output, const pair &p, char *to,
                                           uint32_t low, uint32_t high, uint32_t &seen) {
  const uint32_t bytes = fc_bytes_of(low, high);
  if (b.even) {
    if (is_output) *reinterpret_cast<uint16_t *>(to) = static_cast<uint16_t>(bytes);
    seen |= is_output ? low | high : 0;
  } else if (is_output) {
    to[0] = static_cast<char>(bytes);
    if (p.inside == 2) to[1] = static_cast<char>(bytes >> 8);
    seen |= low | (p.inside == 2 ? high : low);
  }
}

// Makes the digits of the taps for windows with this image's offset within a word; called by all threads.
template <int KS>
__device__ __forceinline__ void make_digits(const fc_byte_taps &t, int shift, fc_digits<KS> &all) {
  const uint32_t *x = fc_share_digits(t);
  for (int i = threadIdx.x; i < 2 * KS * 32; i += blockDim.x)
    fc_make_digit<KS>(x, t.nx, t.step, shift, i / 32, i % 32, all);
  __syncthreads();
}

template <int N, int KS>
__device__ __forceinline__ void march(const ways &b, const taps_of<N> &t, const fc_digits<KS> &all,
                                      const int *list, char *ring) {
  constexpr int BATCH = batch_of<N>;
  const int mine = threadIdx.x / b.lanes, lane = threadIdx.x % b.lanes, end = b.all.rows + N - 1;
  const bool idle = mine >= b.all.together;
  const fc_way w = fc_way_of<1>(b.all, idle ? UINT32_MAX : blockIdx.x * b.all.together + mine, 0);
  const int rows = w.count > 0 ? w.count + b.rows_down - 1 : 0, batch_bytes = 4 * BATCH * b.all.row;
  const int number = static_cast<int>(threadIdx.x) / 32 * 16 + static_cast<int>(threadIdx.x) % 32 / 4;
  pair one = pair_of(b, number, ring), two = pair_of(b, number + 8, ring);
  char *own = ring + (idle ? 0 : mine) * b.pitch;
  const char *row = w.in; // the next to be copied
  fc_fragment<KS> f;
  fc_load_digits(all, b.shift, f);
#pragma unroll 1
  for (int i = 0; i < STAGES - 1; i++, row += BATCH * b.all.in_row) {
    fetch<BATCH>(b, w.y, lane, i * BATCH, rows, row, own + i * batch_bytes);
    fc_commit_copies();
  }
  fc_await_copies<STAGES - 2>();
  __syncthreads();
  const bool bordered = b.all.edges.on && w.count > 0;
  if (bordered) make_border<BATCH>(b, list, lane, own);
  float4 sum[N - 1 + BATCH];
#pragma unroll
  for (int i = 0; i < N - 1 + BATCH; i++) sum[i] = make_float4(0, 0, 0, 0);
  uint32_t seen = FC_BYTE_ZERO;
  one.to -= (N - 1) * b.all.out_row, two.to -= (N - 1) * b.all.out_row;
#pragma unroll 1
  for (int q = 0, now = 0; q < end; q += BATCH, now = (now + 1) % STAGES, row += BATCH * b.all.in_row) {
    fc_await_copies<STAGES - 3>(); // the batch after this one too
    __syncthreads();
    fetch<BATCH>(b, w.y, lane, q + (STAGES - 1) * BATCH, rows, row,
                 own + (now + STAGES - 1) % STAGES * batch_bytes);
    fc_commit_copies();
    if (bordered) make_border<BATCH>(b, list, lane, own + (now + 1) % STAGES * batch_bytes);
#pragma unroll
    for (int u = 0; u < BATCH; u++, one.to += b.all.out_row, two.to += b.all.out_row) {
      const int at = (now * BATCH + u) * b.all.row, o = q + u - (N - 1);
      const float4 v = fc_sum_windows<KS>(one.window + at, two.window + at, f);
#pragma unroll
      for (int j = 0; j < N; j++) fc_fma4(t.y[j], v.x, v.y, v.z, v.w, sum[u + N - 1 - j]);
      const float4 sums[1] = {sum[u]};
      uint32_t code[4];
      fc_round_sums<1>(sums, code);
      store_pair(b, static_cast<uint32_t>(o) < static_cast<uint32_t>(one.count), one, one.to, code[0],
                 code[1], seen);
      store_pair(b, static_cast<uint32_t>(o) < static_cast<uint32_t>(two.count), two, two.to, code[2],
                 code[3], seen);
    }
#pragma unroll
    for (int i = 0; i < N - 1 + BATCH; i++) sum[i] = i < N - 1 ? sum[i + BATCH] : make_float4(0, 0, 0, 0);
  }
  fc_await_copies();
  if (seen > FC_BYTE_ZERO + 255) fc_dev_note(b.all.notes, 1);
}

template <int N, int KS>
__global__ void __launch_bounds__(THREADS, N <= 15 ? 2 : 1)
    sepconv_ways_bytes(const __grid_constant__ ways b, const __grid_constant__ taps_of<N> t) {
#if __CUDA_ARCH__ >= 800
  extern __shared__ __align__(16) uint32_t memory[];
  fc_digits<KS> &all = *reinterpret_cast<fc_digits<KS> *>(memory);
  int *list = reinterpret_cast<int *>(memory + sizeof all / 4);
  fc_way_elements(b.all, 0, list);
  make_digits<KS>(t.along, b.shift, all);
  march<N, KS>(b, t, all, list, reinterpret_cast<char *>(list + (b.all.columns + b.all.margin + 3) / 4 * 4));
#endif
}

// ---- launching -------------------------------------------------------------

// How a block's threads are distributed: as many ways per block as leave few windows unused.
struct sharing {
  int together, threads;
  double worth; // share of the threads that have outputs
};

sharing sharing_of(int64_t columns) {
  const int64_t windows = (columns + 7) / 8;
  sharing best = {};
  for (int threads = 64; threads <= THREADS; threads += 32) {
    const int64_t together = threads / 2 / windows;
    const double worth = static_cast<double>(columns * together) / (4. * threads);
    if (worth > best.worth) best = {static_cast<int>(together), threads, worth};
  }
  return best;
}

ways ways_of(const fc_march &m, const sharing &s, int steps) {
  const uintptr_t in = reinterpret_cast<uintptr_t>(m.in);
  const int columns = static_cast<int>(m.columns), n = columns + m.margin;
  ways b = {};
  b.all = fc_ways_of(m, 1, columns, s.together);
  b.windows = (columns + 7) / 8, b.lanes = s.threads / s.together;
  b.shift = static_cast<int>(in % 4);
  b.lo = m.edges.on ? m.left : 0, b.hi = m.edges.on ? m.left + columns : n;
  b.head = std::min(static_cast<int>(-(in + static_cast<uintptr_t>(b.lo)) % 4), b.hi - b.lo);
  b.words = (b.hi - b.lo - b.head) / 4, b.tail = (b.hi - b.lo - b.head) % 4;
  const int words = (std::max(b.shift + n, 8 * (b.windows - 1) + 32 * steps) + 3) / 4;
  b.pitch = 4 * (words | 1); // odd, so that windows of two ways that are read together lie in different banks
  b.all.row = s.together * b.pitch / 4;
  const int64_t ends = (m.images > 1 ? m.out_image : 0) | (m.planes > 1 ? m.out_plane : 0) | m.out_row;
  const bool wide = (ends | static_cast<int64_t>(reinterpret_cast<uintptr_t>(m.out))) % 2 == 0;
  b.even = wide && columns % 2 == 0;
  return b;
}

template <int N, int KS>
fc_status launch(const fc_sepconv *op, const fc_march &m, const sharing &s, cudaStream_t stream) {
  const auto kernel = sepconv_ways_bytes<N, KS>;
  if (!fc_has_units(reinterpret_cast<const void *>(kernel))) return FC_UNSUPPORTED;
  ways b = ways_of(m, s, KS);
  b.rows_down = static_cast<int32_t>(op->ny);
  taps_of<N> t = {};
  const int exponent = fc_read_bytes_taps(op, m.step, &t.along);
  for (int64_t j = 0; j < op->ny; j++) t.y[j] = ldexpf(static_cast<const float *>(op->y)[j], -exponent);
  const int words = static_cast<int>(sizeof(fc_digits<KS>) / 4) + (b.all.columns + b.all.margin + 3) / 4 * 4 +
                    STAGES * batch_of<N> * b.all.row;
  return fc_ways_launch(kernel, b, m, t, s.threads, 4 * words, op->ny, stream);
}

// Launches the kernel for windows of the smallest number of steps, from LEAST to MOST, that is at least
// `steps`.
template <int N, int LEAST, int MOST>
fc_status choose(const fc_sepconv *op, const fc_march &m, const sharing &s, int steps, cudaStream_t stream) {
  if constexpr (LEAST > MOST)
    return FC_UNSUPPORTED;
  else
    return steps <= LEAST ? launch<N, LEAST>(op, m, s, stream)
                          : choose<N, LEAST + 1, MOST>(op, m, s, steps, stream);
}

} // namespace

fc_status fc_sepconv_ways_bytes(const fc_sepconv *op, const fc_march &m, cudaStream_t stream) {
  const sharing s = sharing_of(m.columns);
  const int steps = static_cast<int>(8 + m.margin + reinterpret_cast<uintptr_t>(m.in) % 4 + 31) / 32;
  if (op->ny <= 3) return choose<3, 1, 2>(op, m, s, steps, stream);
  if (op->ny <= 7) return choose<7, 1, 2>(op, m, s, steps, stream);
  if (op->ny <= 15) return choose<15, 1, 3>(op, m, s, steps, stream);
  return choose<31, 2, 4>(op, m, s, steps, stream);
}
