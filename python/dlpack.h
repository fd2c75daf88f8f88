/* SPDX-License-Identifier: MIT */
/*
 * dlpack.h - the structures of DLPack 1 and of its C exchange API: a table of functions in the attribute
 * __dlpack_c_exchange_api__ of a library's type of tensors, by which a call on a tensor of PyTorch costs what
 * one on an array of NumPy costs. https://dmlc.github.io/dlpack/latest/
 */
#ifndef FC_PYTHON_DLPACK_H
#define FC_PYTHON_DLPACK_H

#include "python/binding.h"

enum { DL_CPU = 1, DL_CUDA = 2, DL_CUDA_HOST = 3, DL_CUDA_MANAGED = 13 };
enum { DL_INT = 0, DL_UINT = 1, DL_FLOAT = 2, DL_BOOL = 6 };
#define DL_READ_ONLY 1u

typedef struct dl_tensor {
  void *data;
  gint32 device_type, device_id, ndim;
  guint8 code, bits;
  guint16 lanes;
  gint64 *shape, *strides; /* in elements */
  guint64 byte_offset;
} dl_tensor;

typedef struct dl_managed { /* before version 1 */
  dl_tensor tensor;
  void *context;
  void (*free)(struct dl_managed *self);
} dl_managed;

typedef struct dl_versioned {
  guint32 major, minor;
  void *context;
  void (*free)(struct dl_versioned *self);
  guint64 flags;
  dl_tensor tensor;
} dl_versioned;

typedef void (*dl_fail)(void *context, const char *kind, const char *message);

/* The exchange API. Functions return 0, or -1 with an exception; none of them synchronises. */
typedef struct dl_exchange {
  guint32 major, minor;
  const struct dl_exchange *previous; /* the table of an earlier version, or NULL */
  int (*allocate)(const dl_tensor *like, dl_versioned **made, void *context, dl_fail fail);
  int (*from_object)(PyObject *tensor, dl_versioned **lent);
  int (*to_object)(dl_versioned *given, PyObject **tensor);
  int (*look)(PyObject *tensor, dl_tensor *lent); /* valid as long as the tensor; may be NULL */
  int (*current_stream)(gint32 device_type, gint32 device_id, void **stream);
} dl_exchange;

/* The samples of a tensor; FALSE with an exception. */
gboolean fc_py_take_tensor(const dl_tensor *t, samples *s);
/* The inverse, with room for DIMS_MOST numbers each. */
void fc_py_describe_tensor(const samples *s, dl_tensor *t, gint64 *shape, gint64 *strides);

/* The table of an object's type, or NULL: it has none, or not all that is needed here. */
const dl_exchange *fc_py_exchange_of(PyObject *tensor);
/* The samples of a tensor, which must live as long as they are used; FALSE with an exception. */
gboolean fc_py_exchange_look(const dl_exchange *api, PyObject *tensor, samples *s);
/* A new tensor of the library for these samples, and its memory in `made`; NULL with an exception. */
PyObject *fc_py_exchange_new(const dl_exchange *api, const samples *wanted, samples *made);

#endif
