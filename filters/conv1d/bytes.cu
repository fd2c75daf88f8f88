// SPDX-License-Identifier: MIT
//
// bytes.cu - short masks along rows of u8, of one to four interleaved channels.
//
// A lane computes sixteen adjacent bytes and slides over its inputs one word per channel at a time, in a
// ring of registers whose position is known at compile time: a byte is converted to float by one
// instruction, once for sixteen outputs, and nothing passes through shared memory. Taps of a channel are C
// bytes apart, which takes C times as many conversions. Words are shifted to where windows begin. Sums of
// bytes that cannot leave the range are stored without a separate conversion (sample_words.cuh, FC_TINY_UP).
//
// The order of sums is that of conv1d.h. A row's last tile begins early enough to be whole. The outputs at
// both ends, whose words are not all readable, are computed one by one by a warp of their own, scheduled
// before the row's other warps; it also makes the border if the views are the whole signal.
#include "filters/conv1d/kernels.cuh"

#include "filters/conv1d/choice.h"
#include "filters/gpu/border.cuh"
#include "filters/gpu/sample_words.cuh"

namespace {

constexpr int WARPS = 8, RESIDENT = 3, EACH = 16, TILE = 32 * EACH;
static_assert(FC_CONV1D_BYTES_TAPS <= FC_CONV1D_BLOCK && FC_CONV1D_BYTES_TAPS % 4 == 0,
              "one block of taps, by fours");
static_assert(FC_CONV1D_BYTES_SUM == FC_TINY_MOST, "as sums are stored");
constexpr int SHORTEST = 2; // tiles of a row; in shorter ones the ends take too long
constexpr int AHEAD = 5;    // words that a lane loads before the first taps

struct byte_taps {
  float4 quad[FC_CONV1D_BYTES_TAPS / 4]; // multiplied by FC_TINY_UP
};

struct bytes_args {
  const uint8_t *in; // the input at the position of output 0, in the first row
  uint8_t *out;
  int64_t in_row, out_row, in_image, out_image;
  int elements;   // per row
  int ahead;      // bytes from the beginning of output 0's window to output 0
  int begin, end; // readable range of a row, relative to the position of output 0
  int taps, read; // read: bytes that a lane loads
  int units;      // warps; the first of each row computes its ends
  int units_a_row, rows;
  fc_dev_divider by_row, by_image;
  fc_dev_border border;
  uint32_t *notes;
};

// The outputs at which a row's first and last whole tile begin.
struct row_cut {
  int begin, last;
};

template <int C> constexpr int RING = 4 + C;                               // words
template <int C> constexpr int PERIOD = C == 4 ? 2 : C == 2 ? 3 : RING<C>; // groups of four taps

template <int C>
__device__ __forceinline__ void add_tap(float (&sum)[EACH], const float (&x)[4 * RING<C>], float w,
                                        int first) {
#pragma unroll
  for (int r = 0; r < EACH; r++) sum[r] = fmaf(x[(first + r) % (4 * RING<C>)], w, sum[r]);
}

__device__ __forceinline__ void to_ring(float *x, uint32_t word) {
  const uint32_t one[1] = {word};
  float v[4];
  fc_bytes_tiny<4>(v, one);
#pragma unroll
  for (int i = 0; i < 4; i++) x[i] = v[i];
}

// A lane's sums and windows; windows begin `bits` after the first loaded word.
template <int C> struct byte_windows {
  static constexpr int R = RING<C>;
  float sum[EACH], x[4 * R];
  uint32_t held, next[C];
  const uint32_t *from;
  int bits;

  __device__ __forceinline__ void load_next(void) {
#pragma unroll
    for (int c = 0; c < C; c++) next[c] = __ldg(from + c);
    from += C;
  }

  __device__ __forceinline__ void begin(void) {
    uint32_t w[AHEAD];
#pragma unroll
    for (int i = 0; i < AHEAD; i++) w[i] = __ldg(from + i);
    from += AHEAD;
    load_next();
#pragma unroll
    for (int i = 0; i < AHEAD - 1; i++) to_ring(&x[4 * i], __funnelshift_r(w[i], w[i + 1], bits));
    held = w[AHEAD - 1];
#pragma unroll
    for (int r = 0; r < EACH; r++) sum[r] = 0.f;
  }

  // Adds four of the remaining taps; PHASE is the position in the ring.
  template <int PHASE> __device__ __forceinline__ void add_four(float4 w, int taps) {
#pragma unroll
    for (int c = 0; c < C; c++) {
      to_ring(&x[(C * PHASE + 4 + c) % R * 4], __funnelshift_r(held, next[c], bits));
      held = next[c];
    }
    if (taps > 4) load_next();
    constexpr int first = 4 * C * PHASE;
    add_tap<C>(sum, x, w.x, first);
    if (taps > 1) add_tap<C>(sum, x, w.y, first + C);
    if (taps > 2) add_tap<C>(sum, x, w.z, first + 2 * C);
    if (taps > 3) add_tap<C>(sum, x, w.w, first + 3 * C);
  }

  // Adds one turn of the ring, or the remaining taps if they are fewer.
  template <int PHASE> __device__ __forceinline__ void add_around(const float4 *list, int taps) {
    if constexpr (PHASE < PERIOD<C>) {
      add_four<PHASE>(list[PHASE], taps);
      if (taps > 4) add_around<PHASE + 1>(list, taps - 4);
    }
  }

  __device__ __forceinline__ void add_all(const byte_taps &list, int taps) {
#pragma unroll 1
    for (int g = 0; taps > 0; g += PERIOD<C>, taps -= 4 * PERIOD<C>) add_around<0>(&list.quad[g], taps);
  }
};

// ---- ends ------------------------------------------------------------------------

// Element e of a row, mapped by the border if it is outside.
template <int C> __device__ __forceinline__ float element(const bytes_args &a, const uint8_t *in, int e) {
  if (e < a.begin || e >= a.end) e = fc_dev_border_element<C>(a.border, e);
  return static_cast<float>(e == FC_BORDER_ELEMENT_NONE ? static_cast<uint8_t>(a.border.code)
                                                        : __ldg(in + e));
}

// Computes the outputs of a row that no tile contains, one by one.
template <int C>
__device__ __forceinline__ void make_ends(const bytes_args &a, const byte_taps &list, const uint8_t *in,
                                          uint8_t *out, row_cut cut, fc_dev_noted &noted) {
  const int behind = cut.last + TILE - cut.begin; // skips the outputs of the tiles
  for (int i = threadIdx.x % 32; i + (i < cut.begin ? 0 : behind) < a.elements; i += 32) {
    const int at = i + (i < cut.begin ? 0 : behind);
    float sum = 0.f;
#pragma unroll 8
    for (int j = 0; j < a.taps; j++)
      sum = fmaf(element<C>(a, in, at - a.ahead + j * C), (&list.quad[0].x)[j] * (1 / FC_TINY_UP), sum);
    out[at] = fc_value_code<uint8_t>(sum, {1.f, 1.f, 0}, noted);
  }
}

// Tiles are aligned in the output's memory. Up to three bytes before a window are loaded with it.
__host__ __device__ __forceinline__ row_cut cut_of(const bytes_args &a, const uint8_t *out) {
  const int lead = static_cast<int>(reinterpret_cast<uintptr_t>(out)) & (EACH - 1);
  const int first = a.begin + a.ahead + 3, last = a.end + a.ahead - a.read - (TILE - EACH);
  const int begin = first > 0 ? first : 0, end = last < a.elements - TILE ? last : a.elements - TILE;
  row_cut c;
  c.begin = begin + (-(lead + begin) & (EACH - 1));
  c.last = end - ((lead + end) & (EACH - 1));
  return c;
}

template <int C>
__global__ void __launch_bounds__(32 * WARPS, RESIDENT)
    conv1d_bytes(const __grid_constant__ bytes_args a, const __grid_constant__ byte_taps list) {
  int unit = static_cast<int>(blockIdx.x) * WARPS + static_cast<int>(threadIdx.x) / 32;
  if (unit >= a.units) return;
  const int row = a.by_row.quotient(unit), image = a.by_image.quotient(row), y = row - image * a.rows;
  unit -= row * a.units_a_row;
  const uint8_t *in = a.in + image * a.in_image + y * a.in_row;
  uint8_t *out = a.out + image * a.out_image + y * a.out_row;
  const row_cut cut = cut_of(a, out);
  fc_dev_noted noted = {};
  if (unit == 0) {
    make_ends<C>(a, list, in, out, cut, noted);
    return noted.tell(a.notes);
  }
  int at = cut.begin + (unit - 1) * TILE;
  if (at >= cut.last + TILE) return;
  at = min(at, cut.last) + static_cast<int>(threadIdx.x) % 32 * EACH;
  const uint8_t *window = in + (at - a.ahead);
  const int askew = static_cast<int>(reinterpret_cast<uintptr_t>(window)) & 3;
  byte_windows<C> w;
  w.from = reinterpret_cast<const uint32_t *>(window - askew), w.bits = 8 * askew;
  w.begin();
  w.add_all(list, a.taps);
  uint32_t words[EACH / 4];
  fc_bytes_tame<EACH>(words, w.sum, noted);
  *reinterpret_cast<uint4 *>(out + at) = make_uint4(words[0], words[1], words[2], words[3]);
  noted.tell(a.notes);
}

// ---- launching -------------------------------------------------------------------

bool set_row(bytes_args *a, const fc_conv1d *c, const fc_view *in, const fc_edges *edges,
             const fc_view *out) {
  constexpr int64_t most = INT32_MAX / 2;
  const int64_t step = out->shape[FC_AXIS_C], elements = out->shape[FC_AXIS_X] * step,
                there = in->shape[FC_AXIS_X] * step;
  const int64_t around = c->before < 0 ? -c->before : c->before;
  if (elements > most || there > most || around > most / 8 ||
      !fc_dev_border_of(&a->border, edges, in, c->before, c->taps, out->shape[FC_AXIS_X]))
    return false;
  a->in = static_cast<const uint8_t *>(in->data), a->out = static_cast<uint8_t *>(out->data);
  a->elements = static_cast<int>(elements), a->ahead = static_cast<int>(c->before * step);
  a->taps = static_cast<int>(c->taps);
  a->read = 4 * (AHEAD + static_cast<int>(step) * ((a->taps + 3) / 4));
  a->begin = edges ? 0 : -a->ahead;
  a->end = static_cast<int>(edges ? there : elements + (c->taps - 1 - c->before) * step);
  return true;
}

template <int C>
fc_status launch(bytes_args a, const byte_taps &list, const fc_view *in, const fc_view *out,
                 cudaStream_t stream) {
  const row_cut cut = cut_of(a, a.out);
  // Rows with another alignment may have their tiles up to EACH - 1 later.
  if (cut.last - cut.begin < (SHORTEST - 1) * TILE + EACH) return FC_UNSUPPORTED;
  a.units_a_row = (a.elements + TILE - 1) / TILE + 1;
  const int64_t rows = out->shape[FC_AXIS_Y], images = out->shape[FC_AXIS_N];
  if (rows > INT32_MAX / 2 / a.units_a_row || images > INT32_MAX / 2 / a.units_a_row / rows)
    return FC_UNSUPPORTED;
  a.rows = static_cast<int>(rows), a.units = static_cast<int>(images * rows * a.units_a_row);
  a.by_row = fc_dev_divider_of(a.units_a_row), a.by_image = fc_dev_divider_of(rows);
  a.in_row = in->stride[FC_AXIS_Y], a.out_row = out->stride[FC_AXIS_Y];
  a.in_image = in->stride[FC_AXIS_N], a.out_image = out->stride[FC_AXIS_N];
  conv1d_bytes<C><<<fc_blocks(a.units, WARPS, INT32_MAX), 32 * WARPS, 0, stream>>>(a, list);
  return fc_launch_status();
}

} // namespace

fc_status fc_conv1d_bytes(const fc_conv1d *c, const fc_view *in, const fc_edges *edges, const fc_view *out,
                          cudaStream_t stream, uint32_t *notes) {
  bytes_args a = {};
  byte_taps list = {};
  if (!set_row(&a, c, in, edges, out)) return FC_UNSUPPORTED;
  for (int j = 0; j < a.taps; j++) (&list.quad[0].x)[j] = static_cast<const float *>(c->mask)[j] * FC_TINY_UP;
  a.notes = notes;
  switch (out->shape[FC_AXIS_C]) {
  case 1: return launch<1>(a, list, in, out, stream);
  case 2: return launch<2>(a, list, in, out, stream);
  case 3: return launch<3>(a, list, in, out, stream);
  case 4: return launch<4>(a, list, in, out, stream);
  default: return FC_UNSUPPORTED;
  }
}
