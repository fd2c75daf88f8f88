// SPDX-License-Identifier: MIT
//
// tma_codes.cu - matrices of floats, multiplied as doubles, with a result of integers: see gemm.h and
// tma_f32.cuh.
#include "filters/gemm/tma_f32.cuh"

// Codes of any integer type: rounded, limited and noted as by fc_dev_code<float, T>, with what depends on T
// as numbers, so that a kernel serves all types.
struct fc_tma_codes {
  using F = float;
  char *data;
  int64_t row, col; // in codes
  int size;         // bytes of a code
  double alpha, beta;
  bool packs; // two neighbours in a row are aligned to their size
  const float *d;
  int64_t d_row, d_col;
  float inverse, low, above; // of the type's limits, without bias
  int32_t bias, least, most;
  uint32_t *notes;

  __device__ __forceinline__ int32_t code(float value) const {
    const float r = rintf(value * inverse);
    if (r >= low && r < above) return static_cast<int32_t>(r) + bias;
    fc_dev_note(notes, r != r ? 0 : 1);
    return r != r ? bias : r < low ? least : most;
  }
  __device__ __forceinline__ bool adds(void) const { return beta != 0; }
  __device__ __forceinline__ float added(int64_t i, int64_t j) const { return d[i * d_row + j * d_col]; }
  __device__ __forceinline__ int32_t code(double sum, float before) const {
    return code(fc_gemm_sum<float, double>(sum, alpha, beta, before));
  }
  __device__ __forceinline__ void store(int64_t i, int64_t j, double sum, float before) const {
    const int32_t c = code(sum, before);
    char *to = data + (i * row + j * col) * size;
    if (size == 1)
      *to = static_cast<char>(c);
    else if (size == 2)
      *reinterpret_cast<int16_t *>(to) = static_cast<int16_t>(c);
    else
      *reinterpret_cast<int32_t *>(to) = c;
  }
  __device__ __forceinline__ void store_pair(int64_t i, int64_t j, double low, double high, float first,
                                             float second) const {
    const uint32_t a = static_cast<uint32_t>(code(low, first)), b = static_cast<uint32_t>(code(high, second));
    char *to = data + (i * row + j) * size;
    if (size == 1)
      *reinterpret_cast<uint16_t *>(to) = static_cast<uint16_t>((a & 0xff) | b << 8);
    else if (size == 2)
      *reinterpret_cast<uint32_t *>(to) = (a & 0xffff) | b << 16;
    else
      *reinterpret_cast<uint2 *>(to) = make_uint2(a, b);
  }
};

namespace {

using codes = fc_tma_codes;

template <typename T> void set_limits(codes *c) {
  using limits = fc_dev_limits<T>;
  c->least = limits::low, c->most = limits::high;
  c->low = static_cast<float>(limits::low) - static_cast<float>(c->bias);
  c->above = static_cast<float>(static_cast<double>(limits::high) + 1.0) - static_cast<float>(c->bias);
}

codes codes_of(const fc_gemm *g, const fc_gemm_codes *to, bool transposed) {
  const fc_dev_map<float> map = fc_dev_map_of<float>(to->kind, to->dtype);
  codes c = {};
  c.data = static_cast<char *>(g->c), c.d = static_cast<const float *>(g->d);
  c.row = transposed ? g->c_col : g->c_row, c.col = transposed ? g->c_row : g->c_col;
  c.d_row = transposed ? g->d_col : g->d_row, c.d_col = transposed ? g->d_row : g->d_col;
  c.size = static_cast<int>(fc_dtype_size(to->dtype));
  c.alpha = g->alpha, c.beta = g->beta;
  c.packs = c.col == 1 && c.row % 2 == 0 && reinterpret_cast<uintptr_t>(c.data) % (2 * c.size) == 0;
  c.inverse = map.inverse, c.bias = map.bias, c.notes = to->notes;
  switch (to->dtype) {
  case FC_U8: set_limits<uint8_t>(&c); break;
  case FC_I16: set_limits<int16_t>(&c); break;
  case FC_U16: set_limits<uint16_t>(&c); break;
  default: set_limits<int32_t>(&c); break;
  }
  return c;
}

template <bool A_BY_K, bool B_BY_K> using sized = fc_tma_f32<A_BY_K, B_BY_K, codes>;

} // namespace

extern "C" fc_status fc_gemm_codes_cuda(const fc_gemm *given, const fc_gemm_codes *to, void *stream) {
  const fc_status status = fc_gemm_check(given);
  if (status != FC_OK || given->m == 0 || given->n == 0) return status;
  const fc_gemm g = fc_gemm_by_rows(given);
  const fc_gemm_chip chip = fc_gemm_chip_now();
  if (!fc_gemm_takes_codes(given, to->dtype, &chip)) return FC_UNSUPPORTED;
  const fc_gemm_choice choice = fc_gemm_choose(&g, &chip, FC_GEMM_TMA);
  return fc_tma_product<sized>(&g, &choice, codes_of(&g, to, choice.transposed),
                               static_cast<cudaStream_t>(stream));
}
