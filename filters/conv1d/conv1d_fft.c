/* SPDX-License-Identifier: MIT */
/*
 * conv1d_fft.c - see conv1d_fft.h. A segment is one block of one line (a channel of a row or column). As many
 * segments as a vector has lanes are transformed together, from any lines: a lane's result does not depend on
 * the others.
 */
#include "filters/conv1d/conv1d_fft.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "filters/fourier/fft.h"
#include "filters/fourier/fft_kernels.h"
#include "filters/base/integers.h"
#include "filters/fourier/stft_kernels.h"

/* Elements of a segment that are converted and transposed into lanes at a time. The distance between
 * segments is not a power of two, so that they use different cache sets. */
#define STRIP    256
#define DISTANCE (STRIP + 16)

static int64_t least(int64_t a, int64_t b) {
  return a < b ? a : b;
}

/* ---- how long a transform ---------------------------------------------------- */

/* Nanoseconds per output on a Zen 4 core; only ratios matter. Direct sums take 0.03 per tap; n samples
 * forward and back with their conversion take n times 1 + 0.165 log2 n, and more from 2^16 on, where they
 * exceed the caches. Direct sums are more accurate, so they are used even if they take a quarter longer:
 * up to about 115 taps. */
#define DIRECT_START  0.3
#define DIRECT_TAP    0.03
#define DIRECT_CREDIT 1.25
#define FFT_START     1.0
#define FFT_LEVEL     0.165
#define FFT_LEVELS    20

static const double far_away[FFT_LEVELS] = {[16] = 1.05, [17] = 1.25, [18] = 1.9, [19] = 3};

static int64_t taps_of_part(int64_t taps) {
  return least(taps, FC_CONV1D_FFT_PART);
}

static int64_t parts_of(int64_t taps) {
  return (taps + FC_CONV1D_FFT_PART - 1) / FC_CONV1D_FFT_PART;
}

int64_t fc_conv1d_fft_hop(int64_t taps, int64_t n, int64_t unit) {
  int64_t hop = n - taps_of_part(taps) + 1;
  return unit > 0 && hop > unit ? hop / unit * unit : hop;
}

int64_t fc_conv1d_fft_lanes(int compute) {
  return compute == FC_F64 ? 8 : 16;
}

int64_t fc_conv1d_fft_length(int64_t taps, int64_t extent, int compute, int64_t unit, int always) {
  double slow = compute == FC_F64 ? 2 : 1, outputs = extent < 0 ? 1e9 : (double)extent;
  double best =
      always ? INFINITY : slow * outputs * (DIRECT_START + DIRECT_TAP * (double)taps) / DIRECT_CREDIT;
  int64_t length = 0;
  for (int levels = 8; levels < FFT_LEVELS; levels++) {
    int64_t n = (int64_t)1 << levels, hop = fc_conv1d_fft_hop(taps, n, unit);
    if (hop < n / 4 || (hop < unit && (extent < 0 || extent > unit))) continue;
    double blocks = extent < 0 ? outputs / (double)hop : ceil(outputs / (double)hop);
    double time = slow * blocks * (double)n * (FFT_START + FFT_LEVEL * (double)levels);
    if (far_away[levels] > 0) time *= far_away[levels];
    time *= 0.5 * (double)(1 + parts_of(taps));
    if (time < best) best = time, length = n;
  }
  return length;
}

/* ---- the mask's spectrum -------------------------------------------------------- */

static void lay_out(fc_conv1d_fft *fft, const fc_conv1d *c, int64_t n) {
  *fft = (fc_conv1d_fft){.n = n, .hop = fc_conv1d_fft_hop(c->taps, n, c->unit)};
  fft->part = taps_of_part(c->taps), fft->parts = parts_of(c->taps);
  fft->plan = fc_align64((int64_t)sizeof *fft);
  fft->spectra = fc_align64(fft->plan + (int64_t)fc_rfft_bytes(n, c->compute));
}

static int64_t spectrum_bytes(const fc_conv1d_fft *fft, int compute) {
  return (fft->n / 2 + 1) * 2 * (int64_t)fc_dtype_size(compute);
}

static const fc_rfft *plan_of(const fc_conv1d_fft *fft) {
  return (const fc_rfft *)(const void *)((const char *)fft + fft->plan);
}

static void *spectrum_of(const fc_conv1d_fft *fft, int compute, int64_t mask, int64_t part) {
  return (char *)fft + fft->spectra + (mask * fft->parts + part) * spectrum_bytes(fft, compute);
}

size_t fc_conv1d_fft_bytes(const fc_conv1d *c, int64_t n) {
  fc_conv1d_fft fft;
  if (n % 2 != 0 || fc_conv1d_fft_hop(c->taps, n, c->unit) < 1 || fc_rfft_bytes(n, c->compute) == 0) return 0;
  lay_out(&fft, c, n);
  return (size_t)(fft.spectra + c->masks * fft.parts * spectrum_bytes(&fft, c->compute));
}

/* Memory for the initialisation, in double for either type, so that the spectrum is accurate to the last
 * bit. */
typedef struct maker {
  fc_rfft *plan;
  double *taps, *re, *im;
  void *scratch;
} maker;

static void maker_free(maker *m) {
  free(m->plan);
  free(m->taps);
  free(m->re);
  free(m->im);
  free(m->scratch);
}

static fc_status maker_init(maker *m, int64_t n) {
  size_t row = (size_t)fc_align64((n + 2) * (int64_t)sizeof(double));
  *m = (maker){.plan = aligned_alloc(64, (size_t)fc_align64((int64_t)fc_rfft_bytes(n, FC_F64)))};
  fc_status status = m->plan ? fc_rfft_init(m->plan, n, FC_F64, fc_isa_best()) : FC_NO_MEMORY;
  if (status == FC_OK) {
    m->taps = aligned_alloc(64, row), m->re = aligned_alloc(64, row), m->im = aligned_alloc(64, row);
    m->scratch = aligned_alloc(64, (size_t)fc_align64((int64_t)fc_rfft_scratch(m->plan, 1)));
    if (!m->taps || !m->re || !m->im || !m->scratch) status = FC_NO_MEMORY;
  }
  if (status != FC_OK) maker_free(m);
  return status;
}

static double tap_at(const fc_conv1d *c, int64_t mask, int64_t j) {
  int64_t i = mask * c->taps + j;
  return c->compute == FC_F64 ? ((const double *)c->mask)[i] : (double)((const float *)c->mask)[i];
}

/* Taps in the order of application make a correlation, whose spectrum is the conjugate. */
static void make_spectrum(const maker *m, const fc_conv1d_fft *fft, const fc_conv1d *c, int64_t mask,
                          int64_t part) {
  int64_t first = part * fft->part, count = least(fft->part, c->taps - first);
  void *pairs = spectrum_of(fft, c->compute, mask, part);
  for (int64_t i = 0; i < fft->n; i++) m->taps[i] = i < count ? tap_at(c, mask, first + i) : 0;
  fc_rfft_forward(m->plan, m->taps, m->re, m->im, 1, m->scratch);
  for (int64_t k = 0; k <= fft->n / 2; k++) {
    if (c->compute == FC_F64)
      ((double *)pairs)[2 * k] = m->re[k], ((double *)pairs)[2 * k + 1] = -m->im[k];
    else
      ((float *)pairs)[2 * k] = (float)m->re[k], ((float *)pairs)[2 * k + 1] = (float)-m->im[k];
  }
}

fc_status fc_conv1d_fft_init(fc_conv1d_fft *fft, const fc_conv1d *c, int64_t n) {
  maker m;
  if (fc_conv1d_fft_bytes(c, n) == 0) return FC_INVALID;
  lay_out(fft, c, n);
  fc_status status = fc_rfft_init((fc_rfft *)(void *)((char *)fft + fft->plan), n, c->compute, c->isa);
  if (status == FC_OK) status = maker_init(&m, n);
  if (status != FC_OK) return status;
  for (int64_t mask = 0; mask < c->masks; mask++)
    for (int64_t part = 0; part < fft->parts; part++) make_spectrum(&m, fft, c, mask, part);
  maker_free(&m);
  return FC_OK;
}

/* ---- running ------------------------------------------------------------------------ */

/* A block of a line. */
typedef struct segment {
  const char *from; /* the input of tap 0 of its first output */
  char *to;
  int64_t outputs;
  int64_t at[FC_AXES]; /* position of its first output in the view */
} segment;

#define MOST_LANES 16

typedef struct batch {
  const fc_conv1d_fft *fft;
  const fc_conv1d *c;
  const fc_view *in, *out;
  const fc_fft_kernels *kernels;
  const fc_stft_kernels *turning;
  const fc_samples_kernels *samples;
  fc_scaling in_map, out_map;
  int64_t size, mask; /* bytes of an element; index of the mask */
  int64_t count;
  segment segments[MOST_LANES];
  fc_planes spectrum, sum; /* scratch */
  char *strip, *rest;
  uint32_t *notes;
} batch;

/* Lays out the scratch from `base` on and returns its bytes. */
static int64_t place(batch *b, char *base) {
  int64_t lanes = fc_rfft_lanes(plan_of(b->fft));
  int64_t plane = fc_align64((b->fft->n / 2 + 1) * lanes * b->size);
  int64_t sums = b->fft->parts > 1 ? plane : 0;
  b->spectrum = (fc_planes){base, base + plane};
  b->sum = (fc_planes){base + 2 * plane, base + 2 * plane + sums};
  b->strip = base + 2 * plane + 2 * sums;
  b->rest = b->strip + fc_align64(lanes * DISTANCE * b->size);
  int64_t transforms = (int64_t)fc_rfft_scratch(plan_of(b->fft), lanes);
  int64_t direct = (int64_t)fc_conv1d_cpu_scratch(b->c);
  return b->rest - base + (transforms > direct ? transforms : direct);
}

size_t fc_conv1d_fft_scratch(const fc_conv1d_fft *fft, const fc_conv1d *c) {
  batch b = {.fft = fft, .c = c, .size = (int64_t)fc_dtype_size(c->compute)};
  return (size_t)place(&b, fc_nowhere());
}

static void load(const batch *b, char *to, const char *from, int64_t count) {
  int64_t stride = b->in->stride[b->c->axis];
  if (b->c->compute == FC_F64)
    b->samples->load_f64[b->in->dtype]((double *)to, from, stride, count, b->in_map);
  else
    b->samples->load_f32[b->in->dtype]((float *)to, from, stride, count, b->in_map);
}

static void store(const batch *b, char *to, const char *from, int64_t count) {
  int64_t stride = b->out->stride[b->c->axis];
  if (b->c->compute == FC_F64)
    b->samples->store_f64[b->out->dtype](to, stride, (const double *)from, count, b->out_map, b->notes);
  else
    b->samples->store_f32[b->out->dtype](to, stride, (const float *)from, count, b->out_map, b->notes);
}

static fc_planes row_of(const batch *b, fc_planes z, int64_t i) {
  int64_t bytes = i / 2 * b->count * b->size;
  return (fc_planes){(char *)z.re + bytes, (char *)z.im + bytes};
}

/* Loads the inputs for a part of the mask into lanes; 0 where no output needs them. */
static void gather(const batch *b, fc_planes to, int64_t part) {
  const fc_conv1d_fft *fft = b->fft;
  int64_t first = part * fft->part, reach = least(fft->part, b->c->taps - first) - 1;
  int64_t stride = b->in->stride[b->c->axis];
  for (int64_t i = 0; i < fft->n; i += STRIP) {
    int64_t rows = least(STRIP, fft->n - i);
    for (int64_t l = 0; l < b->count; l++) {
      const segment *s = &b->segments[l];
      char *strip = b->strip + l * DISTANCE * b->size;
      int64_t there = least(s->outputs + reach - i, rows);
      there = there > 0 ? there : 0;
      if (there > 0) load(b, strip, s->from + (first + i) * stride, there);
      memset(strip + there * b->size, 0, (size_t)((rows - there) * b->size));
    }
    b->kernels->pack(row_of(b, to, i), b->strip, DISTANCE, rows, b->count);
  }
}

/* The spectrum of the result. */
static fc_planes filter(const batch *b) {
  int64_t bins = b->fft->n / 2 + 1;
  for (int64_t part = 0; part < b->fft->parts; part++) {
    fc_planes to = part == 0 && b->fft->parts > 1 ? b->sum : b->spectrum;
    gather(b, to, part);
    fc_rfft_forward_pairs(plan_of(b->fft), to.re, to.im, b->count, b->rest);
    b->kernels->multiply(to, spectrum_of(b->fft, b->c->compute, b->mask, part), bins, b->count, 0);
    if (part > 0) b->kernels->add(b->sum, b->spectrum, bins * b->count);
  }
  return b->fft->parts > 1 ? b->sum : b->spectrum;
}

/* A bit for each lane that has non-finite values. */
static unsigned tainted(const batch *b, fc_planes x) {
  double memory[MOST_LANES] = {0};
  unsigned lanes = 0;
  b->turning->taint(memory, x.re, (b->fft->hop + 1) / 2, b->count);
  b->turning->taint(memory, x.im, (b->fft->hop + 1) / 2, b->count);
  for (int64_t l = 0; l < b->count; l++) {
    double taint = b->c->compute == FC_F64 ? memory[l] : (double)((float *)(void *)memory)[l];
    lanes |= (unsigned)(taint != 0) << l;
  }
  return lanes;
}

static void scatter(const batch *b, fc_planes x, unsigned skip) {
  for (int64_t i = 0; i < b->fft->hop; i += STRIP) {
    int64_t rows = least(STRIP, b->fft->hop - i);
    b->kernels->unpack(b->strip, DISTANCE, row_of(b, x, i), rows + rows % 2, b->count);
    for (int64_t l = 0; l < b->count; l++) {
      const segment *s = &b->segments[l];
      int64_t count = least(rows, s->outputs - i);
      if (count > 0 && !(skip >> l & 1))
        store(b, s->to + i * b->out->stride[b->c->axis], b->strip + l * DISTANCE * b->size, count);
    }
  }
}

/* One segment of a view by itself. */
static fc_view alone(const fc_view *v, const segment *s, int axis) {
  fc_view part = *v;
  part.data = fc_view_at(v, s->at[0], s->at[1], s->at[2], s->at[3]);
  for (int a = 0; a < FC_AXES; a++) {
    part.shape[a] = a == axis ? s->outputs : 1;
    part.origin[a] = v->origin[a] + s->at[a];
  }
  return part;
}

static void filter_directly(const batch *b, const segment *s) {
  fc_conv1d one = *b->c;
  fc_view in = alone(b->in, s, b->c->axis), out = alone(b->out, s, b->c->axis);
  one.mask = (const char *)one.mask + b->mask * one.taps * b->size, one.masks = 1;
  fc_conv1d_cpu(&one, &in, &out, b->rest, b->notes);
}

static void run_batch(batch *b) {
  if (b->count == 0) return;
  fc_planes x = filter(b);
  fc_rfft_inverse_pairs(plan_of(b->fft), x.re, x.im, b->count, b->rest);
  unsigned skip = tainted(b, x);
  scatter(b, x, skip);
  for (int64_t l = 0; l < b->count; l++)
    if (skip >> l & 1) filter_directly(b, &b->segments[l]);
  b->count = 0;
}

static void add_segment(batch *b, const int64_t at[FC_AXES]) {
  int axis = b->c->axis;
  segment *s = &b->segments[b->count++];
  memcpy(s->at, at, sizeof s->at);
  s->from = (const char *)fc_view_at(b->in, at[0], at[1], at[2], at[3]) - b->c->before * b->in->stride[axis];
  s->to = fc_view_at(b->out, at[0], at[1], at[2], at[3]);
  s->outputs = least(b->fft->hop, b->out->shape[axis] - at[axis]);
  if (b->count == fc_rfft_lanes(plan_of(b->fft))) run_batch(b);
}

/* All blocks of channels first .. end-1, which share a mask; neighbours in memory are neighbouring lanes. */
static void run_channels(batch *b, int64_t first, int64_t end) {
  int axis = b->c->axis, across = axis == FC_AXIS_X ? FC_AXIS_Y : FC_AXIS_X;
  int64_t at[FC_AXES];
  for (at[FC_AXIS_N] = 0; at[FC_AXIS_N] < b->out->shape[FC_AXIS_N]; at[FC_AXIS_N]++)
    for (at[axis] = 0; at[axis] < b->out->shape[axis]; at[axis] += b->fft->hop)
      for (at[across] = 0; at[across] < b->out->shape[across]; at[across]++)
        for (at[FC_AXIS_C] = first; at[FC_AXIS_C] < end; at[FC_AXIS_C]++) add_segment(b, at);
  run_batch(b);
}

fc_status fc_conv1d_fft_cpu(const fc_conv1d_fft *fft, const fc_conv1d *c, const fc_view *in,
                            const fc_view *out, void *scratch, uint32_t *notes) {
  batch b = {
      .fft = fft,
      .c = c,
      .in = in,
      .out = out,
      .kernels = fc_fft_kernels_of(c->isa, c->compute),
      .turning = fc_stft_kernels_of(c->isa, c->compute),
      .samples = fc_samples_kernels_of(c->isa),
      .in_map = fc_scaling_of(in->kind, in->dtype),
      .out_map = fc_scaling_of(out->kind, out->dtype),
      .size = (int64_t)fc_dtype_size(c->compute),
      .notes = notes,
  };
  int64_t channels = out->shape[FC_AXIS_C];
  if (out->origin[c->axis] % fft->hop != 0) return FC_INVALID;
  place(&b, scratch);
  if (c->masks == 1) run_channels(&b, 0, channels);
  for (b.mask = 0; c->masks > 1 && b.mask < channels; b.mask++) run_channels(&b, b.mask, b.mask + 1);
  return FC_OK;
}
