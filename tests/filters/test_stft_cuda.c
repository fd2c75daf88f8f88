/* SPDX-License-Identifier: MIT */
/*
 * test_stft_cuda.c - short-time transforms, their inverse and mel bands on a CUDA device: every component and
 * element type against the references, there and back, pieces, bit for bit, and as little scratch as one
 * frame's. Skipped without a device.
 */
#include "filters/fourier/stft.h"
#include "tests/filters/grid_device.h"

/* The tables on the device as well; release frees them. */
typedef struct placed {
  fc_stft s;
  void *memory[5];
  int count;
} placed;

static const void *place(placed *p, const void *from, size_t bytes) {
  return p->memory[p->count++] = to_device(from, bytes);
}

static placed place_tables(const fc_stft *s) {
  const size_t size = fc_dtype_size(s->compute);
  const fc_bands *b = &s->bands;
  placed p = {.s = *s};
  p.s.device_window = place(&p, s->window, (size_t)s->frame * size);
  p.s.device_plan = place(&p, s->plan, fc_rfft_bytes(s->size, s->compute));
  if (b->count > 0)
    p.s.device_bands = (fc_bands){b->count, place(&p, b->first, (size_t)(b->count + 1) * sizeof *b->first),
                                  place(&p, b->bin, (size_t)b->count * sizeof *b->bin),
                                  place(&p, b->weights, (size_t)b->first[b->count] * size)};
  return p;
}

static void release(placed *p) {
  while (p->count > 0) cudaFree(p->memory[--p->count]);
}

typedef fc_status (*transform)(const fc_stft *s, const fc_view *in, const fc_view *out, void *scratch,
                               size_t scratch_bytes, uint32_t *notes, void *stream);

/* A view of the grid there, where its elements lie. */
static fc_view moved(const grid *g, const fc_view *there, const fc_view *part) {
  fc_view v = *part;
  v.device = there->device;
  v.data = (char *)there->data + ((char *)part->data - (char *)g->view.data);
  return v;
}

static void run(transform f, const placed *p, const grid *from, const fc_view *in, const grid *to,
                const fc_view *out, size_t bytes) {
  fc_view from_there = grid_to_device(from), to_there = grid_to_device(to);
  const fc_view in_there = moved(from, &from_there, in), out_there = moved(to, &to_there, out);
  void *scratch = NULL;
  if (bytes && cudaMalloc(&scratch, bytes) != cudaSuccess) abort();
  CHECK(f(&p->s, &in_there, &out_there, scratch, bytes, NULL, NULL) == FC_OK, "size %" PRId64 ": refused",
        p->s.size);
  CHECK(cudaDeviceSynchronize() == cudaSuccess, "size %" PRId64 ": the kernel failed", p->s.size);
  cudaFree(scratch);
  grid_from_device(from, &from_there), grid_from_device(to, &to_there);
}

/* All frames at a time, or one after the other. */
static void run_forward(const fc_stft *s, const grid *from, const fc_view *in, const grid *to,
                        const fc_view *out) {
  placed p = place_tables(s);
  fc_view one = *out;
  if (one.shape[FC_AXIS_X] > 1 && random_int(0, 1)) one.shape[FC_AXIS_X] = 1;
  run(fc_stft_cuda, &p, from, in, to, out, fc_stft_device_scratch(&p.s, &one));
  release(&p);
}

static void run_back(const fc_stft *s, const grid *from, const fc_view *in, const grid *to,
                     const fc_view *out) {
  placed p = place_tables(s);
  run(fc_istft_cuda, &p, from, in, to, out, fc_istft_device_scratch(&p.s, in, out));
  release(&p);
}

#include "tests/filters/stft_check.h"

/* Frames whose transforms do not fit a block's shared memory, so that scratch is used. */
static void check_long(int compute, int64_t size) {
  setup t = setup_new(compute, FC_ISA_BASE, size, size, size / 2, size / 2, FC_WINDOW_HANN, 1);
  fc_mel mel = {40, size, 48000, 0, 24000, 0, 1};
  add_bank(&t, &mel);
  t.s.components = 1, t.s.component[0] = FC_POWER;
  grid x = sound_new(FC_F32, 2, 5 * size, size, size, 0);
  grid want = frames_new(&t.s, FC_F64, 6, 2, 0), got = frames_new(&t.s, compute, 6, 2, 0);
  guarded scratch = guarded_new(fc_stft_scratch(&t.s, &want.view));
  CHECK(fc_stft_cpu(&t.s, &x.view, &want.view, scratch.data, NULL) == FC_OK, "stft");
  run_forward(&t.s, &x, &x.view, &got, &got.view);
  GRID_EACH(&got, n, y, f, c) {
    const double a = grid_value(&want, n, y, f, c), b = grid_value(&got, n, y, f, c);
    CHECK(fabs(a - b) <= (compute == FC_F32 ? 1e-4 : 1e-12) * fabs(a), "size %" PRId64 ": %g, not %g", size,
          b, a);
  }
  CHECK(grid_intact(&got), "stft wrote beyond");
  guarded_free(&scratch);
  grid_free(&x), grid_free(&want), grid_free(&got);
  setup_free(&t);
}

int main(void) {
  if (!have_device()) return SKIPPED;
  random_start(8);
  for (int compute = FC_F32; compute <= FC_F64; compute++) {
    check_transforms(compute, FC_ISA_BASE);
    check_long(compute, 1024), check_long(compute, 3000), check_long(compute, 32768);
  }
  return check_result();
}
