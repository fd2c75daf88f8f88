// SPDX-License-Identifier: MIT
//
// dct_blocks.cu - see dct_walk.cuh. A warp processes 32 blocks, one per lane. If the blocks of
// neighbouring lanes are adjacent in memory (along Y), lanes load and store their own values. Otherwise the
// values of one block are adjacent, and the 32 blocks are transposed in shared memory: global accesses are
// whole blocks, 16 bytes at a time if possible, and each lane accesses its own block in shared memory.
// Blocks of 32 bytes are exchanged between two lanes instead, without shared memory.
#include <cuda_pipeline_primitives.h>

#include "filters/fourier/gpu/fft_block.cuh"
#include "filters/fourier/gpu/dct_walk.cuh"

// Cosine transforms whose length is a power of two and whose values are in the registers of one thread. A
// type II is split into a type II of half the length, of the sums of opposite values, and a type IV of their
// differences; a type IV of M values is a complex Fourier transform of M/2 between two rotations. All steps
// are orthogonal up to a scale, so errors do not grow as with the secants of Lee's and related methods.
// Everything is unrolled, and all angles are constants.

// ---- constants -------------------------------------------------------------

// Sine and cosine for x from 0 to pi/4, accurate to about the last bit of a double.
__host__ __device__ constexpr double fc_small_sine(double x) {
  const double z = x * x;
  return x *
         (1 -
          z / 6 *
              (1 -
               z / 20 *
                   (1 -
                    z / 42 * (1 - z / 72 * (1 - z / 110 * (1 - z / 156 * (1 - z / 210 * (1 - z / 272))))))));
}
__host__ __device__ constexpr double fc_small_cosine(double x) {
  const double z = x * x;
  return 1 -
         z / 2 *
             (1 -
              z / 12 *
                  (1 - z / 30 * (1 - z / 56 * (1 - z / 90 * (1 - z / 132 * (1 - z / 182 * (1 - z / 240)))))));
}

// Cosine of 2 pi k / n for 0 <= k < n, and sine.
__host__ __device__ constexpr double fc_turn_cosine(int k, int n) {
  const double pi = 3.14159265358979323846;
  if (2 * k > n) return fc_turn_cosine(n - k, n);
  if (4 * k > n) return -fc_turn_cosine(n - 2 * k, 2 * n);
  if (8 * k > n) return fc_small_sine(pi * (n - 4 * k) / (2.0 * n));
  return fc_small_cosine(2 * pi * k / n);
}
__host__ __device__ constexpr double fc_turn_sine(int k, int n) {
  return 4 * k >= n ? fc_turn_cosine(4 * k - n, 4 * n) : fc_turn_cosine(n - 4 * k, 4 * n);
}

// A constant instead of a call, so that the compiler computes it.
template <int K, int N> struct fc_turn_of {
  static constexpr double cosine = fc_turn_cosine(K % N, N), sine = fc_turn_sine(K % N, N);
};

// a times exp(-2 pi i K / N)
template <int K, int N, typename F> __device__ __forceinline__ fc_complex<F> fc_turned(fc_complex<F> a) {
  if constexpr (K % N == 0) {
    return a;
  } else {
    constexpr F c = static_cast<F>(fc_turn_of<K, N>::cosine), s = static_cast<F>(fc_turn_of<K, N>::sine);
    return {fc_fft_fma(c, a.re, s * a.im), fc_fft_fma(c, a.im, -(s * a.re))};
  }
}

// f(constant 0), f(constant 1), ... f(constant N - 1)
template <int I> struct fc_constant { static constexpr int value = I; };
template <int N, int I = 0, typename Fn> __device__ __forceinline__ void fc_each(Fn f) {
  if constexpr (I < N) {
    f(fc_constant<I>());
    fc_each<N, I + 1>(f);
  }
}

// ---- Fourier transforms ----------------------------------------------------

// Fourier transform of H values, input and output in natural order.
template <int H, typename F> __device__ __forceinline__ void fc_register_fft(fc_complex<F> (&z)[H]) {
  if constexpr (H == 2 || H == 4 || H == 8) {
    fc_butterfly<F, H>(z, nullptr);
  } else if constexpr (H > 8) {
    constexpr int R = H == 16 ? 4 : 8, S = H / R;
    fc_complex<F> row[R][S];
    fc_each<S>([&](auto s) {
      fc_complex<F> column[R];
#pragma unroll
      for (int r = 0; r < R; r++) column[r] = z[s.value + S * r];
      fc_butterfly<F, R>(column, nullptr);
      fc_each<R>([&](auto r) { row[r.value][s.value] = fc_turned<s.value * r.value, H>(column[r.value]); });
    });
#pragma unroll
    for (int r = 0; r < R; r++) {
      fc_register_fft<S>(row[r]);
#pragma unroll
      for (int s = 0; s < S; s++) z[r + R * s] = row[r][s];
    }
  }
}

// ---- cosine transforms -----------------------------------------------------

// Sum of x[i] cos(pi (2i + 1) (2k + 1) / 4M).
template <int M, typename F> __device__ __forceinline__ void fc_register_dct4(F (&x)[M]) {
  if constexpr (M == 1) {
    x[0] *= static_cast<F>(0.70710678118654752440);
  } else {
    constexpr int H = M / 2;
    fc_complex<F> z[H];
    fc_each<H>([&](auto i) {
      z[i.value] = fc_turned<4 * i.value + 1, 8 * M>(fc_complex<F>{x[2 * i.value], x[M - 1 - 2 * i.value]});
    });
    fc_register_fft<H>(z);
    fc_each<H>([&](auto i) {
      const fc_complex<F> y = fc_turned<i.value, 2 * M>(z[i.value]);
      x[2 * i.value] = y.re, x[M - 1 - 2 * i.value] = -y.im;
    });
  }
}

// Sum of x[i] cos(pi (2i + 1) k / 2N).
template <int N, typename F> __device__ __forceinline__ void fc_register_dct2(F (&x)[N]) {
  if constexpr (N > 1) {
    constexpr int H = N / 2;
    F sum[H], difference[H];
#pragma unroll
    for (int i = 0; i < H; i++) sum[i] = x[i] + x[N - 1 - i], difference[i] = x[i] - x[N - 1 - i];
    fc_register_dct2<H>(sum);
    fc_register_dct4<H>(difference);
#pragma unroll
    for (int i = 0; i < H; i++) x[2 * i] = sum[i], x[2 * i + 1] = difference[i];
  }
}

// Sum of x[k] cos(pi (2i + 1) k / 2N).
template <int N, typename F> __device__ __forceinline__ void fc_register_dct3(F (&x)[N]) {
  if constexpr (N > 1) {
    constexpr int H = N / 2;
    F even[H], odd[H];
#pragma unroll
    for (int i = 0; i < H; i++) even[i] = x[2 * i], odd[i] = x[2 * i + 1];
    fc_register_dct3<H>(even);
    fc_register_dct4<H>(odd);
#pragma unroll
    for (int i = 0; i < H; i++) x[i] = even[i] + odd[i], x[N - 1 - i] = even[i] - odd[i];
  }
}

namespace {

constexpr int LANES = 32;
constexpr int64_t ACROSS =
    8; // minimum of adjacent blocks for direct access: 8 floats are one memory sector of 32 bytes

// Warps per block of threads: 48 KiB of shared memory are available without opting in.
template <typename F, int N> constexpr int WARPS = N * sizeof(F) > 256 ? 2 : 4;
// Distance between blocks in shared memory, in values: an odd multiple of 16 bytes, so that the 16-byte
// accesses of eight lanes use each bank once.
template <typename F, int N> constexpr int PITCH = N + 16 / static_cast<int>(sizeof(F));

template <typename F> struct block_job {
  fc_dct_walk walk;
  const char *in;
  char *out;
  int64_t in_step, out_step; // in bytes
  int32_t rows, cols, in_dtype, out_dtype;
  fc_dev_map<F> in_map, out_map;
  F first, other;         // factors of the first coefficient and of the others
  bool second;            // type II; else III, its inverse
  bool across;            // the blocks of neighbouring lanes are adjacent
  bool in_wide, out_wide; // blocks are of the compute type and accessed 16 bytes at a time
  uint32_t *notes;
};

// The 32 blocks of a warp: byte offsets of the lane's own block, and the number of blocks.
struct place {
  int64_t in, out;
  int lane, have;
};

// What a lane accesses in access i: value `at` of block `block`.
struct share {
  int block, at;
};
template <int N> __device__ __forceinline__ share share_of(int i, int lane, bool across) {
  if (across) return {lane, i};
  return {(i * LANES + lane) / N, (i * LANES + lane) % N};
}

// ---- through shared memory ---------------------------------------------------

// Calls use(share, byte offset of its block) for COUNT accesses of a lane, UNROLL at a time; `own` is the
// offset of the lane's own block.
template <int COUNT, int UNROLL, class Use>
__device__ __forceinline__ void deal(const place &p, int64_t own, bool across, const Use &use) {
#pragma unroll UNROLL
  for (int i = 0; i < COUNT; i++) {
    const share s = share_of<COUNT>(i, p.lane, across);
    use(s, __shfl_sync(0xffffffffu, own, s.block));
  }
}

// Calls use(value of the type).
template <class Use> __device__ __forceinline__ void with_type(int dtype, const Use &use) {
  switch (dtype) {
  case FC_U8: return use(uint8_t());
  case FC_I16: return use(int16_t());
  case FC_U16: return use(uint16_t());
  case FC_I32: return use(int32_t());
  case FC_F32: return use(float());
  default: return use(double());
  }
}

template <typename F, int N>
__device__ __forceinline__ void load_turned(const block_job<F> &job, const place &p, F *room) {
  with_type(job.in_dtype, [&](auto type) {
    deal<N, 8>(p, p.in, job.across, [&](share s, int64_t block) {
      F v = F(0);
      if (s.block < p.have && s.at < job.cols)
        v = fc_dev_load<F, decltype(type)>(job.in + block + s.at * job.in_step, job.in_map);
      room[s.block * PITCH<F, N> + s.at] = v;
    });
  });
}

template <typename F, int N>
__device__ __forceinline__ void store_turned(const block_job<F> &job, const place &p, const F *room) {
  with_type(job.out_dtype, [&](auto type) {
    deal<N, 4>(p, p.out, job.across, [&](share s, int64_t block) {
      if (s.block < p.have && s.at < job.rows)
        fc_dev_store<F, decltype(type)>(job.out + block + s.at * job.out_step,
                                        room[s.block * PITCH<F, N> + s.at], job.out_map, job.notes);
    });
  });
}

// Accesses whole blocks 16 bytes at a time: use(offset in global memory, index in shared memory).
template <typename F, int N, class Use>
__device__ __forceinline__ void deal_wide(const place &p, int64_t own, const Use &use) {
  constexpr int EACH = 16 / sizeof(F), QUADS = N / EACH;
  deal<QUADS, QUADS>(p, own, false, [&](share s, int64_t block) {
    if (s.block < p.have) use(block + s.at * 16, s.block * PITCH<F, N> + s.at * EACH);
  });
}

template <typename F, int N>
__device__ __forceinline__ void load_wide(const block_job<F> &job, const place &p, F *room) {
  deal_wide<F, N>(p, p.in, [&](int64_t at, int to) { __pipeline_memcpy_async(room + to, job.in + at, 16); });
  __pipeline_commit();
  __pipeline_wait_prior(0);
}

template <typename F, int N>
__device__ __forceinline__ void store_wide(const block_job<F> &job, const place &p, const F *room) {
  deal_wide<F, N>(p, p.out, [&](int64_t at, int from) {
    *reinterpret_cast<uint4 *>(job.out + at) = *reinterpret_cast<const uint4 *>(room + from);
  });
}

// Reads a lane's own block from shared memory.
template <typename F, int N> __device__ __forceinline__ void take(F (&x)[N], const F *block) {
  constexpr int EACH = 16 / sizeof(F);
#pragma unroll
  for (int i = 0; i < N; i += EACH) {
    const uint4 q = *reinterpret_cast<const uint4 *>(block + i);
    memcpy(x + i, &q, sizeof q);
  }
}

template <typename F, int N> __device__ __forceinline__ void leave(F *block, const F (&x)[N]) {
  constexpr int EACH = 16 / sizeof(F);
#pragma unroll
  for (int i = 0; i < N; i += EACH) {
    uint4 q;
    memcpy(&q, x + i, sizeof q);
    *reinterpret_cast<uint4 *>(block + i) = q;
  }
}

// ---- by pairs of lanes --------------------------------------------------------

// Blocks of 32 bytes: two lanes together load or store the even lane's block, then the odd lane's, each one
// half, so that memory is accessed by whole 32-byte sectors. They exchange the halves that belong to the
// other.
template <typename F, int N> constexpr bool IN_PAIRS = N * sizeof(F) == 32;

struct pair_places {
  int64_t even, odd; // this lane's half of the even and of the odd lane's block
};
__device__ __forceinline__ pair_places pair_of(int64_t own, int lane) {
  const int64_t other = __shfl_xor_sync(0xffffffffu, own, 1), half = lane % 2 * 16;
  return {(lane % 2 ? other : own) + half, (lane % 2 ? own : other) + half};
}

// From one half of each lane's block to both halves of the own block, and back.
__device__ __forceinline__ void exchange(uint4 &even, uint4 &odd, int lane) {
  const uint4 other = lane % 2 ? even : odd;
  const uint4 own =
      make_uint4(__shfl_xor_sync(0xffffffffu, other.x, 1), __shfl_xor_sync(0xffffffffu, other.y, 1),
                 __shfl_xor_sync(0xffffffffu, other.z, 1), __shfl_xor_sync(0xffffffffu, other.w, 1));
  (lane % 2 ? even : odd) = own;
}

template <typename F, int N>
__device__ __forceinline__ void load_pairs(F (&x)[N], const block_job<F> &job, const place &p) {
  const pair_places at = pair_of(p.in, p.lane);
  uint4 q[2] = {*reinterpret_cast<const uint4 *>(job.in + at.even),
                *reinterpret_cast<const uint4 *>(job.in + at.odd)};
  exchange(q[0], q[1], p.lane);
  memcpy(x, q, sizeof q);
}

template <typename F, int N>
__device__ __forceinline__ void store_pairs(const F (&x)[N], const block_job<F> &job, const place &p) {
  const pair_places at = pair_of(p.out, p.lane);
  uint4 q[2];
  memcpy(q, x, sizeof q);
  exchange(q[0], q[1], p.lane);
  if ((p.lane & ~1) < p.have) *reinterpret_cast<uint4 *>(job.out + at.even) = q[0];
  if ((p.lane | 1) < p.have) *reinterpret_cast<uint4 *>(job.out + at.odd) = q[1];
}

// ---- the kernel ---------------------------------------------------------------

template <typename F>
constexpr int dtype_of = sizeof(F) == 4 ? static_cast<int>(FC_F32) : static_cast<int>(FC_F64);

template <typename F, int N>
__device__ __forceinline__ void load(F (&x)[N], const block_job<F> &job, const place &p, F *room) {
  if (job.across && job.in_dtype == dtype_of<F>) {
#pragma unroll
    for (int i = 0; i < N; i++)
      x[i] = i < job.cols ? *reinterpret_cast<const F *>(job.in + p.in + i * job.in_step) : F(0);
    return;
  }
  if constexpr (IN_PAIRS<F, N>)
    if (job.in_wide) return load_pairs<F, N>(x, job, p);
  if (job.in_wide)
    load_wide<F, N>(job, p, room);
  else
    load_turned<F, N>(job, p, room);
  __syncwarp();
  take<F, N>(x, room + p.lane * PITCH<F, N>);
  __syncwarp();
}

template <typename F, int N>
__device__ __forceinline__ void store(const F (&x)[N], const block_job<F> &job, const place &p, F *room) {
  if (job.across && job.out_dtype == dtype_of<F>) {
#pragma unroll
    for (int i = 0; i < N; i++)
      if (i < job.rows && p.lane < p.have) *reinterpret_cast<F *>(job.out + p.out + i * job.out_step) = x[i];
    return;
  }
  if constexpr (IN_PAIRS<F, N>)
    if (job.out_wide) return store_pairs<F, N>(x, job, p);
  leave<F, N>(room + p.lane * PITCH<F, N>, x);
  __syncwarp();
  if (job.out_wide)
    store_wide<F, N>(job, p, room);
  else
    store_turned<F, N>(job, p, room);
}

template <typename F, int N> __device__ __forceinline__ void transform(F (&x)[N], const block_job<F> &job) {
  F taint = F(0); // NaN if a value is not finite
#pragma unroll
  for (int i = 0; i < N; i++) taint = fc_fft_fma(x[i], F(0), taint);
  if (job.second) {
    fc_register_dct2<N>(x);
#pragma unroll
    for (int i = 0; i < N; i++) x[i] = fc_fft_fma(x[i], i ? job.other : job.first, taint);
  } else {
#pragma unroll
    for (int i = 0; i < N; i++) x[i] *= i ? job.other : job.first;
    fc_register_dct3<N>(x);
#pragma unroll
    for (int i = 0; i < N; i++) x[i] += taint;
  }
}

template <typename F, int N>
__global__ void __launch_bounds__(WARPS<F, N> *LANES) dct_blocks(block_job<F> job) {
  __shared__ alignas(16) F rooms[WARPS<F, N>][LANES * PITCH<F, N>];
  const int warp = threadIdx.x / LANES;
  const int64_t first = (static_cast<int64_t>(blockIdx.x) * WARPS<F, N> + warp) * LANES;
  if (first >= job.walk.lines) return;
  place p;
  p.lane = threadIdx.x % LANES;
  p.have = job.walk.lines - first < LANES ? static_cast<int>(job.walk.lines - first) : LANES;
  job.walk.find(first + (p.lane < p.have ? p.lane : 0), &p.in, &p.out);
  F x[N];
  load<F, N>(x, job, p, rooms[warp]);
  transform(x, job);
  store<F, N>(x, job, p, rooms[warp]);
}

// ---- launching ------------------------------------------------------------------

// Whether blocks of `length` adjacent values of this type begin at multiples of 16 bytes.
bool is_wide(const fc_view *v, int axis, int dtype, int64_t length, int64_t n) {
  const int64_t size = static_cast<int64_t>(fc_dtype_size(dtype));
  if (v->dtype != dtype || v->stride[axis] != size || length != n) return false;
  uint64_t all = reinterpret_cast<uintptr_t>(v->data) | static_cast<uint64_t>(n * size);
  for (int a = 0; a < FC_AXES; a++)
    if (a != axis && v->shape[a] > 1) all |= static_cast<uint64_t>(v->stride[a]);
  return all % 16 == 0;
}

template <typename F>
block_job<F> job_of(const fc_dct_fft *plan, const fc_view *in, const fc_view *out, uint32_t *notes) {
  const int64_t n = plan->dct.size;
  block_job<F> job;
  job.second = fc_dct_fft_is_second(&plan->dct) != 0;
  job.walk = fc_dct_walk_of(plan, in, out);
  job.in = static_cast<const char *>(in->data), job.out = static_cast<char *>(out->data);
  job.in_step = in->stride[plan->axis], job.out_step = out->stride[plan->axis];
  job.rows = static_cast<int32_t>(plan->rows), job.cols = static_cast<int32_t>(plan->cols);
  job.in_dtype = in->dtype, job.out_dtype = out->dtype;
  job.in_map = fc_dev_map_of<F>(in->kind, in->dtype), job.out_map = fc_dev_map_of<F>(out->kind, out->dtype);
  job.first = static_cast<F>(fc_dct_fft_weight(&plan->dct, 0) * (job.second ? 2 : 1));
  job.other = static_cast<F>(fc_dct_fft_weight(&plan->dct, 1) * 2);
  job.across = job.walk.n > 0 && job.walk.count[0] >= ACROSS && job.walk.from[0] < in->stride[plan->axis];
  job.in_wide = !job.across && is_wide(in, plan->axis, plan->compute, plan->cols, n);
  job.out_wide = !job.across && is_wide(out, plan->axis, plan->compute, plan->rows, n);
  job.notes = notes;
  return job;
}

template <typename F, int N>
fc_status launch(const fc_dct_fft *plan, const fc_view *in, const fc_view *out, uint32_t *notes,
                 cudaStream_t stream) {
  const block_job<F> job = job_of<F>(plan, in, out, notes);
  constexpr int threads = WARPS<F, N> * LANES;
  const int64_t blocks = (job.walk.lines + threads - 1) / threads;
  if (blocks > INT32_MAX) return FC_UNSUPPORTED;
  dct_blocks<F, N><<<static_cast<unsigned>(blocks), threads, 0, stream>>>(job);
  return fc_launch_status();
}

} // namespace

bool fc_dct_blocks_try(const fc_dct_fft *plan, const fc_view *in, const fc_view *out, uint32_t *notes,
                       cudaStream_t stream, fc_status *status) {
  const bool wide = plan->compute == FC_F64;
  switch (plan->dct.size) {
  case 8: *status = (wide ? launch<double, 8> : launch<float, 8>)(plan, in, out, notes, stream); return true;
  case 16:
    *status = (wide ? launch<double, 16> : launch<float, 16>)(plan, in, out, notes, stream);
    return true;
  case 32:
    *status = (wide ? launch<double, 32> : launch<float, 32>)(plan, in, out, notes, stream);
    return true;
  case 64:
    *status = (wide ? launch<double, 64> : launch<float, 64>)(plan, in, out, notes, stream);
    return true;
  case 128:
    if (wide) return false;
    *status = launch<float, 128>(plan, in, out, notes, stream);
    return true;
  default: return false;
  }
}
