/* SPDX-License-Identifier: MIT */
/*
 * matrix_xy.c - passes.h with two matrices.
 */
#include "filters/matrix/matrix_xy.h"

static fc_status apply(const void *self, const fc_view *in, const fc_view *out, void *scratch,
                       uint32_t *notes) {
  return fc_matrix_cpu(self, in, out, scratch, notes);
}

static fc_status apply_reference(const void *self, const fc_view *in, const fc_view *out, void *scratch,
                                 uint32_t *notes) {
  (void)scratch;
  return fc_matrix_ref(self, in, out, notes);
}

fc_pass fc_matrix_pass(const fc_matrix *m) {
  return (fc_pass){m->rows, m->cols, m, fc_matrix_scratch(m), apply};
}

static fc_passes passes_of(const fc_matrix_xy *m) {
  return (fc_passes){m->x.compute, fc_matrix_pass(&m->x), fc_matrix_pass(&m->y)};
}

size_t fc_matrix_xy_scratch(const fc_matrix_xy *m, const fc_view *in, const fc_view *out) {
  (void)in;
  fc_passes p = passes_of(m);
  return fc_passes_scratch(&p, out);
}

fc_status fc_matrix_xy_ref(const fc_matrix_xy *m, const fc_view *in, const fc_view *out, void *scratch,
                           uint32_t *notes) {
  fc_passes p = passes_of(m);
  p.x.run = p.y.run = apply_reference;
  return fc_passes_run(&p, in, out, scratch, notes);
}

fc_status fc_matrix_xy_cpu(const fc_matrix_xy *m, const fc_view *in, const fc_view *out, void *scratch,
                           uint32_t *notes) {
  fc_passes p = passes_of(m);
  return fc_passes_run(&p, in, out, scratch, notes);
}
