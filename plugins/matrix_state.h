/* SPDX-License-Identifier: MIT */
/*
 * matrix_state.h - the matrix of a prepared operator in device memory: code shared by operators that multiply
 * by a matrix.
 */
#ifndef FC_PLUGINS_MATRIX_STATE_H
#define FC_PLUGINS_MATRIX_STATE_H

#include "core/contract/fc_helpers.h"
#include "filters/matrix/matrix.h"

/* Frees what matrix_state_make allocated. */
static inline void matrix_state_clear(const fc_host *host, int device, fc_matrix *m) {
  host->free(host, device, (void *)m->matrix);
  host->free(host, device, (void *)m->offset);
  m->matrix = m->offset = NULL;
}

/* Copies `filled` to device memory and frees it; on the host returns `filled` itself. */
static inline void *matrix_state_move(const fc_host *host, int device, void *filled, size_t bytes,
                                      fc_status *status) {
  if (device == FC_HOST || !filled) return filled;
  void *there = host->alloc(host, device, bytes);
  *status = there ? host->upload(host, device, there, filled, bytes) : FC_NO_MEMORY;
  host->free(host, FC_HOST, filled);
  return there;
}

/*
 * Lays out a row-major matrix and its offsets (NULL: none) for a device. On failure *m holds what has been
 * made so far, for matrix_state_clear.
 */
static inline fc_status matrix_state_make(const fc_host *host, const fc_setup *setup, int axis, int64_t rows,
                                          int64_t cols, const double *values, const double *offsets,
                                          fc_matrix *m) {
  fc_status status = FC_OK;
  fc_matrix_init(m, setup->compute, fc_isa_best(), axis, rows, cols);
  void *matrix = host->alloc(host, FC_HOST, fc_matrix_bytes(m));
  void *offset = offsets ? host->alloc(host, FC_HOST, fc_matrix_offset_bytes(m)) : NULL;
  if (!matrix || (offsets && !offset)) {
    host->free(host, FC_HOST, matrix);
    host->free(host, FC_HOST, offset);
    return host->fail(host, FC_NO_MEMORY, "no memory for a matrix of %lld x %lld", (long long)rows,
                      (long long)cols);
  }
  fc_matrix_fill(m, matrix, offset, values, offsets);
  m->matrix = matrix_state_move(host, setup->device, matrix, fc_matrix_bytes(m), &status);
  fc_status moved = FC_OK;
  m->offset = matrix_state_move(host, setup->device, offset, fc_matrix_offset_bytes(m), &moved);
  if (status == FC_OK) status = moved;
  if (status == FC_OK) return FC_OK;
  return host->fail(host, status, "no device memory for a matrix of %lld x %lld", (long long)rows,
                    (long long)cols);
}

#endif
