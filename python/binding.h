/* SPDX-License-Identifier: MIT */
/*
 * binding.h - the library for CPython: arrays are borrowed without copies, and chains run on them without the
 * interpreter's lock.
 *
 *   module.c     errors, the context, the contents of the module
 *   array.c      arrays in Python: the buffer protocol, DLPack, Array
 *   exchange.c   tensors of libraries that have DLPack's C exchange API
 *   request.c    the arguments of a call; interrupts and progress
 *   chain.c      Chain: calls on arrays, files and encoded bytes
 *   operators.c  descriptors as dicts, and operators that are functions of Python
 *
 * Only CPython's limited API of 3.11 and the library's public header are used, so that one binary works with
 * every later Python. Code for other Python libraries - PyTorch, CuPy - is in filterchain/, in Python;
 * NumPy's arrays, which support the buffer protocol, are handled here.
 *
 * Calls of the library that may log, or may call an operator in Python, are made without the interpreter's
 * lock, because both acquire it.
 */
#ifndef FC_PYTHON_BINDING_H
#define FC_PYTHON_BINDING_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030b0000
#include <Python.h>

#include "core/contract/filterchain.h"

#define DIMS_MOST 4

/* ---- module.c --------------------------------------------------------------- */

extern PyObject *fc_py_helpers;              /* the module filterchain._helpers */
extern PyObject *fc_py_errors[FC_FATAL + 1]; /* by fc_status; [0] is Error itself */
extern int fc_py_generation;                 /* number of forks between the importing process and this one */

/* Created at its first use and never freed; a forked child creates another one. */
fc_context *fc_py_context(void);
/* Raises a message, or an error of the library, which is freed; a pending Python exception takes
 * precedence. Both return NULL. */
PyObject *fc_py_fail(int status, const char *message);
PyObject *fc_py_raise(GError *error);
/* The text of a str, owned by it; NULL with an exception: it is not a str, or contains a null character. */
const char *fc_py_text(PyObject *text);

/* ---- array.c ---------------------------------------------------------------- */

/* An array as Python and as the library see it. */
typedef struct samples {
  fc_view view;
  int ndim;
  char layout[DIMS_MOST + 1]; /* a letter per dimension: n, c, and t, or h and w, or y and x; "": not known */
  Py_ssize_t shape[DIMS_MOST], strides[DIMS_MOST]; /* strides in bytes */
  fc_format meaning;                               /* rate, bits, and so on */
  gboolean readonly;
} samples;

extern PyTypeObject *fc_py_array_type;

/* The samples of an array; `buffer` must be released if it has an object. FALSE with an exception. */
gboolean fc_py_samples_of(PyObject *object, gboolean write, samples *s, Py_buffer *buffer);
/* Sets up the view from dimensions and layout; NULL: the known layout, or the one determined by shape and
 * type. */
gboolean fc_py_lay_out(samples *s, const char *layout);
/* The shape of an output of this format, for an input with that layout (NULL: no input). */
void fc_py_lay_out_like(samples *s, const fc_format *format, const char *like);
/* An Array with its own memory, on the device of the samples; NULL with an exception. */
PyObject *fc_py_array_new(const samples *s);
/* An Array on borrowed memory, which is valid as long as `owner` lives. */
PyObject *fc_py_array_borrow(const samples *s, PyObject *owner);
const samples *fc_py_array_samples(PyObject *array);
PyObject *fc_py_dims(const Py_ssize_t *values, int n);
const char *fc_py_dtype_name(int dtype);
/* From a name, or from an object that has one or prints as one: numpy.float32, torch.float32; -1 with an
 * exception. */
int fc_py_dtype_of(PyObject *value);

/* from_dlpack(capsule), from_buffer(object), from_pointer(address, shape, strides or None, dtype, device's
 * number or -1, readonly, owner) */
PyObject *fc_py_from_dlpack(PyObject *module, PyObject *capsule);
PyObject *fc_py_from_buffer(PyObject *module, PyObject *object);
PyObject *fc_py_from_pointer(PyObject *module, PyObject *args);
/* describe(Array, layout or None, rate or 0, bits or 0): another Array on its memory, with that
 * information. */
PyObject *fc_py_describe(PyObject *module, PyObject *args);
/* stack(list of Arrays): one Array with all of them, if they are images in host memory of the same size, type
 * and meaning; otherwise None. */
PyObject *fc_py_stack(PyObject *module, PyObject *list);
/* unstack(Array): a list of Arrays on its memory, one for each image, with the dimensions that a file's has;
 * None if it is not a batch. */
PyObject *fc_py_unstack(PyObject *module, PyObject *object);
gboolean fc_py_array_init(PyObject *module);

/* ---- chain.c, operators.c --------------------------------------------------- */

gboolean fc_py_chain_init(PyObject *module);

PyObject *fc_py_operators(PyObject *module, PyObject *none);
/* add_operator(dict): name, summary, doc, function, kinds (fc_kind bits), params, halo (y, y, x, x before and
 * after), border (fc_border, or -1) */
PyObject *fc_py_add_operator(PyObject *module, PyObject *description);
/* Adds the operators defined in Python to the context of a forked child. */
gboolean fc_py_add_own_operators(fc_context *context, GError **error);

#endif
