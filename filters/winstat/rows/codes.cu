// SPDX-License-Identifier: MIT
//
// codes.cu - one statistic of 8- or 16-bit integers in windows along a row, of any length: kernel and launch.
//
// Sums of integers are exact, so a sliding sum has no rounding error: each sum is the previous one plus the
// sample that enters the window, minus the one that leaves. A block processes several consecutive tiles of a
// row. It first adds up the window of its first output. Then each thread adds up the changes over its SEGMENT
// consecutive outputs, the totals of the threads are scanned, and a second pass over the samples gives the
// outputs:
//
//     trail: x0 - before ...            lead: trail + window         P positions of all channels of a tile
//     sum(x0 + i) = base + sum over k < i of  lead[k] - trail[k]
//
// The result equals codes_stat bit for bit. A fast estimate (a reciprocal and one Newton step) has a relative
// error of about 1e-13; where that error could change the rounded result, the exact formula is used.
//
// Cost: two reads of each sample, the second from the cache unless windows are longer than the cache, plus
// the first window of each block.
#include "filters/winstat/launch.cuh"

namespace winstat {
namespace {

constexpr int SLIDE_THREADS = 256, SLIDE_SEGMENT = 16, SLIDE_ROOM = SLIDE_THREADS * SLIDE_SEGMENT;
constexpr int SLIDE_CHANNELS = 8; // interleaved channels per block, at most
constexpr double SLIDE_SURE = 1e-11;

// A row as one block processes it: `joint` interleaved channels, `step` bytes between adjacent elements.
struct slide_line {
  int32_t joint, tiles; // channels; tiles per block
  int64_t in_step, out_step, stretches;
};

// Index of element i in shared memory. After every 16 elements one is left unused, against bank conflicts.
__device__ __forceinline__ int slide_at(int i) {
  return i + i / 16;
}

// v * v, exact for |v| up to 65535. Squares of entering samples are added, those of leaving ones subtracted.
__device__ __forceinline__ int64_t slide_square(int32_t v) {
  return static_cast<uint32_t>(v) * static_cast<uint32_t>(v);
}

__device__ __forceinline__ double slide_root(double v) {
  if (v < 1e-30) return sqrt(v);
  const double r = rsqrtf(static_cast<float>(v)), s = v * r;
  return s + 0.5 * r * (v - s * s);
}

// Estimate of codes_stat's mean, root mean square or deviation, for windows of up to 65536 samples.
__device__ __forceinline__ double slide_guess(const codes &p, int which, int64_t n, double inverse,
                                              double scale) {
  const double unit = scale * inverse, sum = static_cast<double>(p.sum);
  if (which == FC_WINSTAT_MEAN) return sum * unit;
  const double squares = static_cast<double>(static_cast<int64_t>(p.squares));
  if (which == FC_WINSTAT_RMS) return slide_root(squares * scale * unit);
  const double product = sum * sum, rest = fma(sum, sum, -product); // all of them exact; rounded once is
  return slide_root(fma(static_cast<double>(n), squares, -product) - rest) * unit;
}

// The exact statistic. Called only where the estimate is too close to a rounding boundary, which is rare.
template <typename U>
__device__ __noinline__ U slide_code_exact(const pass<double> &p, codes piece, int64_t n) {
  const double v = codes_stat(piece, p.stat[0], static_cast<double>(n), p.load.scale);
  return fc_dev_code<double, U>(v, p.store, p.notes);
}

template <typename U>
__device__ __forceinline__ U slide_code(const pass<double> &p, const codes &piece, int64_t n, double inverse,
                                        bool guess) {
  const int which = p.stat[0];
  if (guess) {
    const double v = slide_guess(piece, which, n, inverse, p.load.scale), off = SLIDE_SURE * fabs(v);
    if constexpr (std::is_same<U, float>::value) {
      const float low = static_cast<float>(v - off), high = static_cast<float>(v + off);
      if (low == high) return low;
    } else {
      const double magic =
          6755399441055744.0; // 1.5 * 2^52: the nearest integer, half to even, in the low bits
      const double low = fma(v - off, p.store.inverse, magic), high = fma(v + off, p.store.inverse, magic);
      if (low == high) {
        const int32_t code = __double2loint(low) + p.store.bias;
        const int32_t held = min(max(code, fc_dev_limits<U>::low), fc_dev_limits<U>::high);
        if (held != code) fc_dev_note(p.notes, 1);
        return static_cast<U>(held);
      }
    }
  }
  return slide_code_exact<U>(p, piece, n);
}

// Sums of one channel; exclusive prefix sums over the threads that process it.
struct slide_sums {
  int64_t sum;
  int64_t squares;
};

// Exclusive scan of `totals` over the `count` threads of each of `joint` channels; the grand total is stored
// after the last entry.
__device__ __forceinline__ void slide_scan(slide_sums *totals, int count, int joint) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  for (int c = static_cast<int>(threadIdx.x) / 32; c < joint; c += SLIDE_THREADS / 32) {
    slide_sums so_far = {0, 0};
    for (int first = 0; first < count; first += 32) {
      const bool mine = first + lane < count;
      slide_sums own = mine ? totals[(first + lane) * joint + c] : slide_sums{0, 0}, all = own;
#pragma unroll
      for (int by = 1; by < 32; by *= 2) {
        const int64_t a = __shfl_up_sync(ALL, all.sum, by), b = __shfl_up_sync(ALL, all.squares, by);
        if (lane >= by) all.sum += a, all.squares += b;
      }
      if (mine)
        totals[(first + lane) * joint + c] = {so_far.sum + all.sum - own.sum,
                                              so_far.squares + all.squares - own.squares};
      so_far.sum += __shfl_sync(ALL, all.sum, 31), so_far.squares += __shfl_sync(ALL, all.squares, 31);
    }
    if (lane == 0) totals[count * joint + c] = so_far;
  }
}

// Shared memory of a block. Results overwrite the entering samples (`lead`), to save space.
struct slide_room {
  int32_t lead[SLIDE_ROOM + SLIDE_ROOM / 16 + 1], trail[SLIDE_ROOM + SLIDE_ROOM / 16 + 1];
  slide_sums totals[SLIDE_THREADS + SLIDE_CHANNELS], base[SLIDE_CHANNELS];
};

// Total change of the sums over the outputs of thread `mine` of channel c.
__device__ __forceinline__ slide_sums slide_changes(const slide_room &room, int joint, int c, int mine) {
  slide_sums own = {0, 0};
#pragma unroll
  for (int k = 0; k < SLIDE_SEGMENT; k++) {
    const int at = slide_at((mine * SLIDE_SEGMENT + k) * joint + c);
    const int32_t a = room.lead[at], b = room.trail[at];
    own.sum += a - b, own.squares += slide_square(a) - slide_square(b);
  }
  return own;
}

// The outputs of this thread, from position x0 of the tile on; `whole`: no window is cut off by a border.
template <typename U>
__device__ __forceinline__ void slide_outputs(const pass<double> &p, slide_room *room, int joint, int c,
                                              int mine, int64_t x0, bool whole, bool guess) {
  const slide_sums &base = room->base[c], &ahead = room->totals[mine * joint + c];
  codes piece = {base.sum + ahead.sum, static_cast<uint64_t>(base.squares + ahead.squares)};
  const double inverse = 1.0 / p.area;
#pragma unroll 4
  for (int k = 0; k < SLIDE_SEGMENT; k++) {
    const int at = slide_at((mine * SLIDE_SEGMENT + k) * joint + c);
    const int32_t a = room->lead[at], b = room->trail[at];
    const int64_t x = x0 + mine * SLIDE_SEGMENT + k;
    if (x < p.columns) {
      const int64_t all = whole ? p.window[0] : inside(p, 0, x);
      const U code =
          slide_code<U>(p, piece, all, all == p.window[0] ? inverse : 1.0 / static_cast<double>(all), guess);
      if constexpr (sizeof(U) == 4)
        room->lead[at] = __float_as_int(code);
      else
        room->lead[at] = code;
    }
    piece.sum += a - b, piece.squares += static_cast<uint64_t>(slide_square(a) - slide_square(b));
  }
}

template <typename T, typename U>
__global__ void __launch_bounds__(SLIDE_THREADS)
    winstat_slide_codes(const __grid_constant__ pass<double> p, const __grid_constant__ slide_line l,
                        int64_t lines) {
  __shared__ slide_room room;
  const int t = static_cast<int>(threadIdx.x), joint = l.joint, count = SLIDE_THREADS / joint;
  const int positions = count * SLIDE_SEGMENT, elements = positions * joint, c = t % joint, mine = t / joint;
  const bool works = mine < count;
  const int64_t groups = p.channels / joint, start = static_cast<int64_t>(blockIdx.x) * l.tiles * positions;
  const bool guess = p.window[0] <= 65536 && (p.stat[0] == FC_WINSTAT_MEAN || p.stat[0] == FC_WINSTAT_RMS ||
                                              p.stat[0] == FC_WINSTAT_STD);
  for (int64_t line = blockIdx.y; line < lines * groups; line += gridDim.y) {
    const int64_t row = line / groups, n = p.n0 + row / p.rows, y = p.y0 + row % p.rows,
                  c0 = line % groups * joint;
    const char *in = p.in.at(n, y, 0, c0);
    const int64_t low = p.lo[0] * joint, high = p.hi[0] * joint;
    const auto value = [&](int64_t element) {
      if (element < low || element >= high) return 0;
      return value_of(*reinterpret_cast<const T *>(in + element * l.in_step), p.load, int32_t());
    };
    slide_sums own = {0, 0};
    for (int64_t i = mine; works && i < p.window[0]; i += count) {
      const int32_t v = value((start - p.before[0] + i) * joint + c);
      own.sum += v, own.squares += slide_square(v);
    }
    __syncthreads(); // all threads have read the data of the previous line
    if (works) room.totals[mine * joint + c] = own;
    __syncthreads();
    slide_scan(room.totals, count, joint);
    __syncthreads();
    if (t < joint) room.base[t] = room.totals[count * joint + t];
    for (int tile = 0; tile < l.tiles; tile++) {
      const int64_t x0 = start + static_cast<int64_t>(tile) * positions;
      if (x0 >= p.columns) break;
      const int64_t first = (x0 - p.before[0]) * joint, apart = p.window[0] * joint;
      for (int i = t; i < elements; i += SLIDE_THREADS) {
        room.trail[slide_at(i)] = value(first + i);
        room.lead[slide_at(i)] = value(first + apart + i);
      }
      __syncthreads();
      if (works) room.totals[mine * joint + c] = slide_changes(room, joint, c, mine);
      __syncthreads();
      slide_scan(room.totals, count, joint);
      __syncthreads();
      const bool whole = !p.shrink || (first >= low && first + apart + positions * joint <= high);
      if (works) slide_outputs<U>(p, &room, joint, c, mine, x0, whole, guess);
      __syncthreads();
      if (t < joint)
        room.base[t].sum += room.totals[count * joint + t].sum,
            room.base[t].squares += room.totals[count * joint + t].squares;
      const int64_t rest = p.columns - x0;
      const int left = static_cast<int>(rest < positions ? rest : positions) * joint;
      char *to = p.out.at(n, y, x0, p.slot[0] * p.channels + c0);
      for (int i = t; i < left; i += SLIDE_THREADS) {
        U *out = reinterpret_cast<U *>(to + i * l.out_step);
        if constexpr (sizeof(U) == 4)
          *out = __int_as_float(room.lead[slide_at(i)]);
        else
          *out = static_cast<U>(room.lead[slide_at(i)]);
      }
      __syncthreads();
    }
  }
}

// Tiles per block: enough that adding up the first window costs less than the tiles themselves, but few
// enough that there are blocks to fill the device.
int32_t tiles_of(const pass<double> &p, int64_t lines, int64_t positions) {
  const int64_t all = (p.columns + positions - 1) / positions, enough = (all * lines + 1055) / 1056;
  int64_t wanted = 2 * p.window[0] / positions + 1;
  if (wanted > enough) wanted = enough;
  return static_cast<int32_t>(wanted < 1 ? 1 : wanted);
}

template <typename T, typename U>
void launch_slide_codes(const pass<double> &p, int64_t in_size, cudaStream_t stream) {
  const int64_t lines = p.frames * p.rows, out_size = sizeof(U);
  const bool side_by_side = p.channels <= SLIDE_CHANNELS && p.in.stride[FC_AXIS_C] == in_size &&
                            p.in.stride[FC_AXIS_X] == p.channels * in_size &&
                            p.out.stride[FC_AXIS_C] == out_size &&
                            p.out.stride[FC_AXIS_X] == p.channels * out_size;
  slide_line l;
  l.joint = side_by_side ? static_cast<int32_t>(p.channels) : 1;
  l.in_step = side_by_side ? in_size : p.in.stride[FC_AXIS_X];
  l.out_step = side_by_side ? out_size : p.out.stride[FC_AXIS_X];
  const int64_t positions = static_cast<int64_t>(SLIDE_THREADS / l.joint) * SLIDE_SEGMENT,
                all = lines * (p.channels / l.joint);
  l.tiles = tiles_of(p, all, positions);
  l.stretches = (p.columns + positions * l.tiles - 1) / (positions * l.tiles);
  const dim3 grid(fc_blocks(l.stretches, 1, INT32_MAX), fc_blocks(all, 1, GRID_Y));
  winstat_slide_codes<T, U><<<grid, SLIDE_THREADS, 0, stream>>>(p, l, lines);
}

} // namespace

fc_status run_slide_codes(const pass<double> &p, cudaStream_t stream, bool *done) {
  const int in = p.in.dtype, out = p.out.dtype;
  *done = p.n_stats == 1 && p.window[1] == 1 && p.window[0] > 1 && p.columns >= SLIDE_ROOM / 2 &&
          (in == FC_U8 || in == FC_I16 || in == FC_U16) && (out == in || out == FC_F32);
  if (!*done) return FC_OK;
  return fc_dispatch_dtype(in, [&](auto t) {
    using T = decltype(t);
    if constexpr (sizeof(T) <= 2) {
      if (out == FC_F32)
        launch_slide_codes<T, float>(p, sizeof(T), stream);
      else
        launch_slide_codes<T, T>(p, sizeof(T), stream);
    }
    return fc_launch_status();
  });
}

} // namespace winstat
