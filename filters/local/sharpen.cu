// SPDX-License-Identifier: MIT
//
// sharpen.cu - sharpen.h on a CUDA device: sepconv into scratch, then a thread per four elements of rows that
// are dense on both sides and of a common pair of types, else a thread per element.
#include "filters/gpu/packs.cuh"
#include "filters/local/sharpen.h"

namespace {

constexpr int THREADS = 256;

template <typename F>
__global__ void __launch_bounds__(THREADS)
    sharpen(fc_dev_view in, const F *blurred, fc_dev_view out, F amount, F threshold, fc_dev_map<F> load,
            fc_dev_map<F> store, uint32_t *notes) {
  const int64_t channels = out.shape[FC_AXIS_C], row = out.shape[FC_AXIS_X] * channels;
  const int64_t rows = out.shape[FC_AXIS_Y], lines = out.shape[FC_AXIS_N] * rows;
  for (int64_t line = blockIdx.y; line < lines; line += gridDim.y)
    for (int64_t i = blockIdx.x * static_cast<int64_t>(THREADS) + threadIdx.x; i < row;
         i += static_cast<int64_t>(gridDim.x) * THREADS) {
      const int64_t n = line / rows, y = line % rows, x = i / channels, c = i % channels;
      const F v = fc_dev_load_any<F>(in.at(n, y, x, c), in.dtype, load), d = v - blurred[line * row + i];
      const F made = d > threshold || d < -threshold ? v + amount * d : v;
      fc_dev_store_any<F>(out.at(n, y, x, c), out.dtype, made, store, notes);
    }
}

struct rows_job {
  fc_dev_view in, out;
  const float *blurred;
  int row, lines; // elements of a row; rows
  fc_dev_divider by_rows;
  float amount, threshold;
  fc_dev_map<float> load, store;
  uint32_t *notes;
};

__device__ __forceinline__ float sharpened(const rows_job &j, float v, float blurred) {
  const float d = v - blurred;
  return d > j.threshold || d < -j.threshold ? v + j.amount * d : v;
}

template <typename T, typename U>
__global__ void __launch_bounds__(THREADS) sharpen_rows(const __grid_constant__ rows_job j) {
  constexpr int N = 4, SIZE = sizeof(T);
  fc_dev_noted noted = {false, false};
  for (int line = blockIdx.y; line < j.lines; line += gridDim.y) {
    const int n = j.by_rows.quotient(line), y = line - n * static_cast<int>(j.out.shape[FC_AXIS_Y]);
    const char *from = j.in.at(n, y, 0, 0);
    char *to = j.out.at(n, y, 0, 0);
    const float *blurred = j.blurred + static_cast<int64_t>(line) * j.row;
    const int ahead = static_cast<int>(reinterpret_cast<uintptr_t>(to) / sizeof(U) % N); // before the row
    for (int i = (blockIdx.x * THREADS + threadIdx.x) * N - ahead; i < j.row; i += gridDim.x * THREADS * N) {
      const uint32_t askew = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(from + i * SIZE) % 4);
      if (i * SIZE < static_cast<int>(askew) || (i + N) * SIZE + (askew ? 4 : 0) > j.row * SIZE) {
        for (int k = i < 0 ? 0 : i; k < i + N && k < j.row; k++) {
          const float v = fc_dev_load<float, T>(from + k * SIZE, j.load);
          fc_dev_store<float, U>(to + k * static_cast<int>(sizeof(U)), sharpened(j, v, blurred[k]), j.store,
                                 j.notes);
        }
        continue;
      }
      fc_packed<T, N> x;
      fc_packed<U, N> made;
      uint32_t last;
      float v[N], b[N];
      fc_words_load_askew(x.word, &last, from + i * SIZE, askew);
      if (reinterpret_cast<uintptr_t>(blurred + i) % 16 == 0) {
        const float4 four = *reinterpret_cast<const float4 *>(blurred + i);
        b[0] = four.x, b[1] = four.y, b[2] = four.z, b[3] = four.w;
      } else {
#pragma unroll
        for (int k = 0; k < N; k++) b[k] = blurred[i + k];
      }
      fc_words_shift(x.word, last, askew);
      fc_packed_values(v, x, j.load);
#pragma unroll
      for (int k = 0; k < N; k++) v[k] = sharpened(j, v[k], b[k]);
      fc_packed_codes(made, v, j.store, noted, j.notes);
      fc_words_store(to + i * static_cast<int>(sizeof(U)), made.word);
    }
  }
  noted.tell(j.notes);
}

// FC_UNSUPPORTED: other strides or types.
fc_status launch_rows(const fc_sharpen *s, const fc_view *in, const float *blurred, const fc_view *out,
                      void *stream, uint32_t *notes) {
  const int64_t row = out->shape[FC_AXIS_X] * out->shape[FC_AXIS_C],
                lines = out->shape[FC_AXIS_N] * out->shape[FC_AXIS_Y];
  if (!fc_dev_is_interleaved(in) || !fc_dev_is_interleaved(out) || lines > INT32_MAX / 2 ||
      row > INT32_MAX / 16)
    return FC_UNSUPPORTED;
  const rows_job j = {fc_dev_view_of(in),
                      fc_dev_view_of(out),
                      blurred,
                      static_cast<int>(row),
                      static_cast<int>(lines),
                      fc_dev_divider_of(out->shape[FC_AXIS_Y]),
                      static_cast<float>(s->amount),
                      static_cast<float>(s->threshold),
                      fc_dev_map_of<float>(in->kind, in->dtype),
                      fc_dev_map_of<float>(out->kind, out->dtype),
                      notes};
  const dim3 grid(fc_blocks(row + 3, THREADS * 4, 1 << 20), fc_blocks(lines, 1, 65535));
  fc_status status = FC_UNSUPPORTED;
  fc_dispatch_dtype(in->dtype, [&](auto t) {
    using T = decltype(t);
    if constexpr (sizeof(T) < 4 || std::is_same<T, float>::value)
      fc_with_common<float>(out->dtype, t, [&](auto u) {
        using U = decltype(u);
        if constexpr (sizeof(U) < 4 || std::is_same<U, float>::value)
          status = fc_launch(sharpen_rows<T, U>, grid, dim3(THREADS), 0, stream, j);
      });
    return FC_OK;
  });
  return status;
}

} // namespace

size_t fc_sharpen_cuda_scratch(const fc_sharpen *s, const fc_view *out) {
  return fc_sharpen_blurred_bytes(s, out) + fc_sepconv_cuda_scratch(&s->blur, out);
}

fc_status fc_sharpen_cuda(const fc_sharpen *s, const fc_view *in, const fc_view *out, void *scratch,
                          void *stream, uint32_t *notes) {
  const fc_view blurred = fc_sharpen_blurred(s, out, scratch);
  void *sums = static_cast<char *>(scratch) + fc_sharpen_blurred_bytes(s, out);
  if (fc_view_count(out) == 0) return FC_OK;
  const fc_status status = fc_sepconv_cuda(&s->blur, in, &blurred, sums, stream, nullptr);
  if (status != FC_OK) return status;
  if (s->blur.compute == FC_F32) {
    const fc_status made = launch_rows(s, in, static_cast<const float *>(scratch), out, stream, notes);
    if (made != FC_UNSUPPORTED) return made;
  }
  const int64_t row = out->shape[FC_AXIS_X] * out->shape[FC_AXIS_C];
  const dim3 grid(fc_blocks(row, THREADS, 1 << 20),
                  fc_blocks(out->shape[FC_AXIS_N] * out->shape[FC_AXIS_Y], 1, 65535));
  return fc_dispatch_compute(s->blur.compute, [&](auto f) {
    using F = decltype(f);
    return fc_launch(sharpen<F>, grid, dim3(THREADS), 0, stream, fc_dev_view_of(in),
                     static_cast<const F *>(scratch), fc_dev_view_of(out), static_cast<F>(s->amount),
                     static_cast<F>(s->threshold), fc_dev_map_of<F>(in->kind, in->dtype),
                     fc_dev_map_of<F>(out->kind, out->dtype), notes);
  });
}
