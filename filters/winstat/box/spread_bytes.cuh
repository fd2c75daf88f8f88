// SPDX-License-Identifier: MIT
//
// spread_bytes.cuh - variances and standard deviations of bytes: of exact sums and sums of squares, from
// which samples that leave a window can be subtracted. The same bits as with fc_winstat_spread.
//
// A block of threads marches down a strip of 640 elements, 8 rows at a time. A thread keeps the sums of two
// columns; those of 8 rows go to shared memory, channel by channel as in extremes.cuh, and a warp slides
// along each of them, 16 pixels a lane.
#ifndef FC_FILTERS_WINSTAT_SPREAD_BYTES_CUH
#define FC_FILTERS_WINSTAT_SPREAD_BYTES_CUH

#include "filters/winstat/box/extremes.cuh"

namespace winstat {

constexpr int DEVIATION_ROWS = 8, DEVIATION_THREADS = 320, DEVIATION_WORDS = 160, DEVIATION_RUN = 16;
constexpr int DEVIATION_STEP = DEVIATION_ROWS * DEVIATION_WORDS;
constexpr int DEVIATION_MOST =
    514; // limit on samples of a window, such that the squared deviations times their number fit 32 bits

// Sums of a column of a window, laid out as in peak_room; TABLE: where the elements of a row are.
struct deviation_room {
  static constexpr int RUNS = 38, ROW = DEVIATION_RUN * RUNS + 32, TABLE = DEVIATION_ROWS * ROW;
  static constexpr int SIZE = TABLE + 32 * DEVIATION_RUN / 4;
  static __device__ __forceinline__ int at(int pixel, int channel, int held) {
    return channel * held + pixel % DEVIATION_RUN * RUNS + pixel / DEVIATION_RUN;
  }
};

struct deviation_args {
  peak_args p;
  int32_t root, dtype;
  uint32_t count;   // samples of a window
  float over, top;  // codes are square roots of squared deviations, or these, times `over`; below `top`
  double scale;     // of codes
  int64_t step_out; // bytes from one element of the results to the next
  fc_dev_map<double> store;
  uint32_t *notes;
};

// As defined by codes_stat.
__device__ __forceinline__ double deviation_of(const deviation_args &a, uint32_t sum, uint32_t squares) {
  const uint64_t all = static_cast<uint64_t>(a.count) * squares - static_cast<uint64_t>(sum) * sum;
  const double n = static_cast<double>(a.count);
  const double v = static_cast<double>(all) / n * a.scale * a.scale / n;
  return a.root ? sqrt(v) : v;
}

inline __device__ __noinline__ uint32_t deviation_exact(const deviation_args &a, uint32_t sum,
                                                        uint32_t squares) {
  return fc_dev_code<double, uint8_t>(deviation_of(a, sum, squares), a.store, a.notes);
}

// The byte of a window: in single precision, unless that is too near to a rounding boundary. The error is
// below 2^-21 for codes up to 255. For a window that is not `wanted` nothing is noted.
__device__ __forceinline__ uint32_t deviation_code(const deviation_args &a, uint2 v, bool wanted) {
  constexpr float ROUND = 12582912.0f; // 1.5 2^23: what is added to it is rounded
  float code = a.count > DEVIATION_MOST
                   ? __ull2float_rn(static_cast<uint64_t>(a.count) * v.y - static_cast<uint64_t>(v.x) * v.x)
                   : __uint2float_rn(a.count * v.y - v.x * v.x);
  if (a.root) asm("sqrt.approx.ftz.f32 %0, %0;" : "+f"(code));
  code = times(code, a.over);
  const float rounded = plus(code, ROUND), apart = plus(code, -plus(rounded, -ROUND));
  if (fabsf(apart) > 0.4998f || code > a.top) return wanted ? deviation_exact(a, v.x, v.y) : 0;
  return (__float_as_uint(rounded) + static_cast<uint32_t>(a.store.bias)) & 0xff;
}

// Eight rows of a thread's words; which of them windows cover.
__device__ __forceinline__ void deviation_copy(const peak_args &a, const char *plane, int y, int e,
                                               peak_way way, uint32_t *to) {
  peak_copy<uint8_t, DEVIATION_ROWS>(a, plane, y, e, way, to);
}

// A lane's 16 windows along x from sums of columns.
template <int PART>
__device__ __forceinline__ void deviation_slide(uint2 (&v)[DEVIATION_RUN], uint2 sum, const uint2 *line,
                                                const uint2 *far) {
  constexpr int RUN = DEVIATION_RUN, RUNS = deviation_room::RUNS;
  auto add = [&](int k) {
    const uint2 w = far[k % RUN * RUNS + k / RUN];
    sum.x += w.x, sum.y += w.y;
  };
#pragma unroll
  for (int k = 0; k < PART; k++) add(k);
#pragma unroll
  for (int k = 0; k < RUN; k++) {
    v[k] = sum;
    if (k + 1 == RUN) continue;
    const uint2 gone = line[k * RUNS];
    add(PART + k);
    sum.x -= gone.x, sum.y -= gone.y;
  }
}
__device__ __forceinline__ void deviation_along(uint2 (&v)[DEVIATION_RUN], const uint2 *line,
                                                const extent16 &w) {
  uint2 sum = {0, 0};
#pragma unroll 1
  for (int s = 0; s < w.segments; s++)
#pragma unroll
    for (int k = 0; k < DEVIATION_RUN; k++) {
      const uint2 whole = line[k * deviation_room::RUNS + s];
      sum.x += whole.x, sum.y += whole.y;
    }
  with_number(w.rest + 1,
              [&](auto n) { deviation_slide<decltype(n)::value>(v, sum, line, line + w.segments); });
}

// The codes of a lane's windows, of which the first `wanted` are needed, four per word.
__device__ __forceinline__ void deviation_codes(const deviation_args &a, const uint2 (&v)[DEVIATION_RUN],
                                                int wanted, uint32_t (&codes)[DEVIATION_RUN / 4]) {
#pragma unroll
  for (int k = 0; k < DEVIATION_RUN / 4; k++) codes[k] = 0;
#pragma unroll
  for (int k = 0; k < DEVIATION_RUN; k++) codes[k / 4] |= deviation_code(a, v[k], k < wanted) << (k % 4 * 8);
}

// Stores a row of results from a warp's shared memory, pixel by pixel.
__device__ __forceinline__ void deviation_store(const deviation_args &a, const uint2 *from,
                                                const uint16_t *table, char *row, int elements) {
#pragma unroll 1
  for (int e = threadIdx.x % 32; e < elements; e += 32) {
    const uint2 v = from[table[e]];
    fc_dev_store_any<double>(row + e * a.step_out, a.dtype,
                             __hiloint2double(static_cast<int>(v.y), static_cast<int>(v.x)), a.store,
                             a.notes);
  }
}

// BYTES: results are bytes of the same kind.
template <bool BYTES>
__global__ void __launch_bounds__(DEVIATION_THREADS)
    deviation_march(const __grid_constant__ deviation_args d) {
  typedef deviation_room room;
  constexpr int RUN = DEVIATION_RUN, ROWS = DEVIATION_ROWS, PITCH = 2 * DEVIATION_WORDS;
  extern __shared__ __align__(16) uint32_t memory[];
  const peak_args &a = d.p;
  uint2 *const mid = reinterpret_cast<uint2 *>(memory + a.slots * DEVIATION_STEP);
  uint16_t *const table = reinterpret_cast<uint16_t *>(mid + room::TABLE);
  const int C = a.step;
  unsigned i = blockIdx.x;
  const int x = static_cast<int>(i % a.strips) * a.runs * RUN;
  i /= a.strips;
  const int first = static_cast<int>(i % a.splits) * a.blocks;
  i /= a.splits;
  const int64_t plane = i % a.planes, frame = i / a.planes;
  const char *const in = a.in + frame * a.frame_in + plane * a.plane_in;
  const int all = (a.rows + ROWS - 1) / ROWS, blocks = all - first < a.blocks ? all - first : a.blocks;
  const int end = blocks + a.warm, pixels = a.columns - x < a.runs * RUN ? a.columns - x : a.runs * RUN;
  const int thread = threadIdx.x, begin = (x - a.before[0]) * C,
            seen = begin + (pixels + a.window[0] - 1) * C;
  // The thread's words, and its columns: two elements.
  const int e = begin - a.skew + thread * 4;
  const peak_way way = thread < DEVIATION_WORDS ? peak_way_of<uint8_t>(a, e, seen) : PEAK_UNSEEN;
  const uint16_t *const column = reinterpret_cast<const uint16_t *>(memory) + thread;
  int place[2];
#pragma unroll
  for (int k = 0; k < 2; k++) {
    const int element = thread * 2 + k - a.skew, pixel = element / C;
    place[k] = element >= 0 && begin + element < seen ? room::at(pixel, element - pixel * C, a.held) : -1;
  }
  const bool mine = place[0] >= 0 || place[1] >= 0;
  // The lane's windows along x: of the warp's row.
  const int lane = thread % 32, row_of_warp = thread / 32, channel = lane / a.runs,
            run = lane - channel * a.runs;
  uint2 *const own = mid + row_of_warp * room::ROW;
  const bool live = row_of_warp < ROWS && channel < C;
  const uint2 *const line = own + (live ? channel * a.held + run : 0);
  for (int n = thread; n < pixels * C; n += DEVIATION_THREADS)
    table[n] = static_cast<uint16_t>(room::at(n / C, n % C, a.held));
  uint32_t sum[2] = {0, 0}, squares[2] = {0, 0};
  const uint16_t *const bottom = column + a.slots * ROWS * PITCH;
  const uint16_t *newest = column, *oldest = column; // rows of the ring
  int y = first * ROWS - a.before[1], row = first * ROWS + row_of_warp;
  auto next_of = [&](const uint16_t **from) {
    const uint32_t pair = **from;
    *from = *from + PITCH == bottom ? column : *from + PITCH;
    return pair;
  };
  auto add = [&] {
    const uint32_t pair = next_of(&newest), v[2] = {pair & 0xff, pair >> 8};
#pragma unroll
    for (int k = 0; k < 2; k++) sum[k] += v[k], squares[k] += v[k] * v[k];
  };
  auto take = [&] {
    const uint32_t pair = next_of(&oldest), v[2] = {pair & 0xff, pair >> 8};
#pragma unroll
    for (int k = 0; k < 2; k++) sum[k] -= v[k], squares[k] -= v[k] * v[k];
  };
  int slot = 0;
  deviation_copy(a, in, y, e, way, memory + thread), fc_commit_copies();
  for (int block = 0; block < end; block++) {
    const int next = slot + 1 < a.slots ? slot + 1 : 0;
    fc_await_copies<0>();
    __syncthreads(); // all have what was copied, and have stored the results of the last step
    y += ROWS;
    if (block + 1 < end) deviation_copy(a, in, y, e, way, memory + next * DEVIATION_STEP + thread);
    fc_commit_copies();
    slot = next;
    if (block < a.warm) continue;
    if (mine) {
      if (block == a.warm)
        for (int k = 0; k + 1 < a.window[1]; k++) add();
#pragma unroll
      for (int k = 0; k < ROWS; k++) {
        add();
#pragma unroll
        for (int j = 0; j < 2; j++)
          if (place[j] >= 0) mid[k * room::ROW + place[j]] = make_uint2(sum[j], squares[j]);
        take();
      }
    }
    __syncthreads();
    if (row_of_warp >= ROWS) continue; // the same for a warp
    char *const to = a.out + frame * a.frame_out + plane * a.plane_out + row * a.row_out + x * C * d.step_out;
    const int elements = pixels * C;
    uint2 v[RUN];
    if (live) deviation_along(v, line, a.x);
    if (BYTES) {
      uint32_t codes[RUN / 4];
      if (live) deviation_codes(d, v, row < a.rows ? pixels - run * RUN : 0, codes);
      __syncwarp();
      uint8_t *const bytes = reinterpret_cast<uint8_t *>(own) + run * RUN * C + channel;
      if (live) {
        if (C == 1) {
          *reinterpret_cast<uint4 *>(bytes) = make_uint4(codes[0], codes[1], codes[2], codes[3]);
        } else {
#pragma unroll
          for (int k = 0; k < RUN; k++) bytes[k * C] = static_cast<uint8_t>(codes[k / 4] >> (k % 4 * 8));
        }
      }
      __syncwarp();
      if (row < a.rows)
        for (int at = lane * 4; at < elements; at += 128)
          peak_store<uint8_t>(a, to, at, elements, reinterpret_cast<const uint32_t *>(own)[at / 4]);
    } else {
      __syncwarp();
      if (live) {
#pragma unroll
        for (int k = 0; k < RUN; k++) {
          const double value = deviation_of(d, v[k].x, v[k].y);
          own[channel * a.held + run + k * room::RUNS] = make_uint2(
              static_cast<uint32_t>(__double2loint(value)), static_cast<uint32_t>(__double2hiint(value)));
        }
      }
      __syncwarp();
      if (row < a.rows) deviation_store(d, own, table, to, elements);
    }
    row += ROWS;
  }
}

} // namespace winstat

#endif
