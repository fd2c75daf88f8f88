/* SPDX-License-Identifier: MIT */
/*
 * array.c - arrays in Python. Input arrays are read in place, through the buffer protocol, DLPack (version 1
 * and earlier) or an address; outputs that have no library of their own are Arrays, which support all three.
 * Nothing is copied.
 */
#include "python/binding.h"
#include "python/dlpack.h"

#include <stdlib.h>
#include <string.h>

PyTypeObject *fc_py_array_type;

static const struct {
  const char *name, *format;
} dtypes[FC_DTYPE_COUNT] = {{"uint8", "B"}, {"int16", "h"},   {"uint16", "H"},
                            {"int32", "i"}, {"float32", "f"}, {"float64", "d"}};

const char *fc_py_dtype_name(int dtype) {
  return dtypes[dtype].name;
}

/* ---- borrowed samples --------------------------------------------------------------- */

static int axis_of_letter(char letter) {
  switch (letter) {
  case 'n': return FC_AXIS_N;
  case 'h':
  case 'y': return FC_AXIS_Y;
  case 't':
  case 'w':
  case 'x': return FC_AXIS_X;
  case 'c': return FC_AXIS_C;
  default: return -1;
  }
}

/* The letters of N Y X C for each kind. */
static const char *const letters[FC_KIND_COUNT] = {"nytc", "nhwc", "nyxc"};

static int kind_of_layout(const char *layout) {
  if (strchr(layout, 't')) return FC_AUDIO;
  return strpbrk(layout, "hw") ? FC_IMAGE : FC_ARRAY;
}

static gboolean is_few(Py_ssize_t n) {
  return n >= 1 && n <= 4;
}

/* The layout according to shape, element type and rate; NULL: not determined. */
static const char *guess_layout(const samples *s) {
  const Py_ssize_t *n = s->shape;
  const gboolean codes = s->view.dtype == FC_U8 || s->view.dtype == FC_U16;
  const gboolean sound = s->meaning.rate > 0;
  switch (s->ndim) {
  case 0: return "";
  case 1: return sound || fc_dtype_is_float(s->view.dtype) ? "t" : "x";
  case 2: return codes && !sound ? "hw" : NULL;
  case 3:
    if (sound || is_few(n[0]) == is_few(n[2])) return NULL;
    return is_few(n[2]) ? "hwc" : "chw";
  case 4:
    if (sound || is_few(n[1]) == is_few(n[3])) return NULL;
    return is_few(n[3]) ? "nhwc" : "nchw";
  default: return NULL;
  }
}

static gboolean fail_layout(const samples *s, const char *layout) {
  GString *shape = g_string_new("(");
  for (int i = 0; i < s->ndim; i++) g_string_append_printf(shape, "%s%zd", i ? ", " : "", s->shape[i]);
  g_string_append(shape, s->ndim == 1 ? ",)" : ")");
  if (layout)
    PyErr_Format(
        fc_py_errors[FC_INVALID],
        "layout \"%s\" does not fit shape %s: a letter for each dimension, of n, c, and of t (time), h "
        "and w (an image), or y and x (an array)",
        layout, shape->str);
  else
    PyErr_Format(fc_py_errors[FC_INVALID],
                 "shape %s and type %s do not tell what the dimensions are: say layout=\"tc\" or \"ct\" of "
                 "sound, \"hw\", \"hwc\", \"chw\" or \"nhwc\" of images, \"yx\" of an array",
                 shape->str, dtypes[s->view.dtype].name);
  g_string_free(shape, TRUE);
  return FALSE;
}

gboolean fc_py_lay_out(samples *s, const char *layout) {
  fc_view *v = &s->view;
  unsigned seen = 0;
  if (!layout) layout = *s->layout ? s->layout : guess_layout(s);
  if (!layout) return fail_layout(s, NULL);
  if ((int)strlen(layout) != s->ndim) return fail_layout(s, layout);
  gint64 bytes = (gint64)fc_dtype_size(v->dtype);
  for (int i = 0; i < s->ndim; i++) bytes *= MAX(s->shape[i], 1);
  v->size = sizeof *v, v->kind = kind_of_layout(layout);
  for (int a = 0; a < FC_AXES; a++)
    v->shape[a] = 1, v->stride[a] = a == FC_AXIS_C ? (gint64)fc_dtype_size(v->dtype) : bytes,
    v->origin[a] = 0;
  for (int i = 0; i < s->ndim; i++) {
    const int axis = axis_of_letter(layout[i]);
    if (axis < 0 || seen & 1u << axis || !strchr(letters[v->kind], layout[i])) return fail_layout(s, layout);
    seen |= 1u << axis;
    v->shape[axis] = s->shape[i], v->stride[axis] = s->strides[i];
  }
  memcpy(v->extent, v->shape, sizeof v->extent);
  if (layout != s->layout) g_strlcpy(s->layout, layout, sizeof s->layout);
  return TRUE;
}

static void set_dense(samples *s) {
  Py_ssize_t step = (Py_ssize_t)fc_dtype_size(s->view.dtype);
  for (int i = s->ndim; i-- > 0; step *= MAX(s->shape[i], 1)) s->strides[i] = step;
}

static gsize bytes_of(const samples *s) {
  gsize bytes = fc_dtype_size(s->view.dtype);
  for (int i = 0; i < s->ndim; i++) bytes *= (gsize)s->shape[i];
  return bytes;
}

/* The given dimensions in their order, and others that have more than one element. */
void fc_py_lay_out_like(samples *s, const fc_format *format, const char *like) {
  const char *names = letters[format->kind];
  char out[FC_AXES + 1];
  int n = 0, at[FC_AXES] = {-1, -1, -1, -1};
  memset(s, 0, sizeof *s);
  for (const char *c = like ? like : format->kind == FC_IMAGE ? "hw" : "x"; *c; c++)
    at[axis_of_letter(*c)] = n, out[n++] = (char)axis_of_letter(*c);
  for (int axis = FC_AXES; axis-- > 0;) {
    if (at[axis] >= 0 || format->extent[axis] == 1) continue;
    /* Channels come last, images of a batch first, rows before columns. */
    int place = axis == FC_AXIS_C || axis == FC_AXIS_X ? n : axis == FC_AXIS_N ? 0 : MAX(at[FC_AXIS_X], 0);
    memmove(out + place + 1, out + place, (size_t)(n++ - place));
    out[place] = (char)axis;
    for (int a = 0; a < FC_AXES; a++) at[a] += at[a] >= place;
    at[axis] = place;
  }
  s->ndim = n, s->view.dtype = format->dtype, s->meaning = *format;
  for (int i = 0; i < n; i++)
    s->layout[i] = names[(int)out[i]], s->shape[i] = (Py_ssize_t)format->extent[(int)out[i]];
  set_dense(s);
}

static int dtype_of_name(const char *name) {
  for (int i = 0; i < FC_DTYPE_COUNT; i++)
    if (strcmp(dtypes[i].name, name) == 0 || strcmp(fc_dtype_name(i), name) == 0) return i;
  return -1;
}

static int fail_dtype(const char *what) {
  PyErr_Format(
      PyExc_TypeError,
      "elements of type %s: filterchain takes uint8, int16, uint16, int32, float32 and float64 in this "
      "machine's byte order: convert, as by x.astype(\"float32\") or x.float()",
      what);
  return -1;
}

int fc_py_dtype_of(PyObject *value) {
  PyObject *name = PyUnicode_Check(value)                      ? Py_NewRef(value)
                   : PyObject_HasAttrString(value, "__name__") ? PyObject_GetAttrString(value, "__name__")
                                                               : PyObject_Str(value);
  const char *text = name ? fc_py_text(name) : NULL;
  const char *dot = text ? strrchr(text, '.') : NULL;
  int dtype = text ? dtype_of_name(dot ? dot + 1 : text) : -1;
  if (text && dtype < 0) fail_dtype(text);
  Py_XDECREF(name);
  return dtype;
}

static int dtype_of_buffer(const Py_buffer *buffer) {
  const char *format = buffer->format ? buffer->format : "B";
  if (*format == '@' || *format == '=' || (*format == '<' && G_BYTE_ORDER == G_LITTLE_ENDIAN)) format++;
  for (int i = 0; i < FC_DTYPE_COUNT; i++)
    if (strcmp(format, dtypes[i].format) == 0 && buffer->itemsize == (Py_ssize_t)fc_dtype_size(i)) return i;
  return fail_dtype(format);
}

static gboolean take_buffer(PyObject *object, samples *s, Py_buffer *buffer, gboolean write) {
  if (PyObject_GetBuffer(object, buffer, write ? PyBUF_RECORDS : PyBUF_RECORDS_RO) < 0) return FALSE;
  memset(s, 0, sizeof *s);
  s->view.dtype = dtype_of_buffer(buffer);
  if (s->view.dtype >= 0 && buffer->ndim <= DIMS_MOST) {
    s->view.data = buffer->buf, s->ndim = buffer->ndim, s->readonly = buffer->readonly != 0;
    memcpy(s->shape, buffer->shape, sizeof *s->shape * (size_t)s->ndim);
    memcpy(s->strides, buffer->strides, sizeof *s->strides * (size_t)s->ndim);
    return TRUE;
  }
  if (s->view.dtype >= 0)
    PyErr_Format(fc_py_errors[FC_INVALID], "an array of %d dimensions: filterchain takes up to 4",
                 buffer->ndim);
  PyBuffer_Release(buffer);
  return FALSE;
}

/* ---- DLPack, version 1 ----------------------------------------------------------------- */

static const struct {
  guint8 code, bits;
} dl_types[FC_DTYPE_COUNT] = {{DL_UINT, 8}, {DL_INT, 16},   {DL_UINT, 16},
                              {DL_INT, 32}, {DL_FLOAT, 32}, {DL_FLOAT, 64}};

gboolean fc_py_take_tensor(const dl_tensor *t, samples *s) {
  static const char *const codes[] = {"int", "uint", "float", "opaque", "bfloat", "complex", "bool"};
  memset(s, 0, sizeof *s);
  s->view.dtype = -1;
  for (int i = 0; i < FC_DTYPE_COUNT; i++)
    if (t->lanes == 1 && t->code == dl_types[i].code && t->bits == dl_types[i].bits) s->view.dtype = i;
  if (s->view.dtype < 0) {
    const gboolean known = t->code < G_N_ELEMENTS(codes);
    g_autofree char *name = known && t->code == DL_BOOL
                                ? g_strdup("bool")
                                : g_strdup_printf("%s%d", known ? codes[t->code] : "?", t->bits);
    return fail_dtype(name) >= 0;
  }
  if (t->ndim > DIMS_MOST) {
    PyErr_Format(fc_py_errors[FC_INVALID], "an array of %d dimensions: filterchain takes up to 4",
                 (int)t->ndim);
    return FALSE;
  }
  const gboolean cuda = t->device_type == DL_CUDA || t->device_type == DL_CUDA_MANAGED;
  if (!cuda && t->device_type != DL_CPU && t->device_type != DL_CUDA_HOST) {
    PyErr_Format(PyExc_TypeError, "a tensor on a device of DLPack's type %d: filterchain takes CPU and CUDA",
                 (int)t->device_type);
    return FALSE;
  }
  s->view.device = cuda ? FC_CUDA_DEVICE(t->device_id) : FC_HOST;
  s->view.data = (char *)t->data + t->byte_offset;
  s->ndim = t->ndim;
  for (int i = 0; i < s->ndim; i++) s->shape[i] = (Py_ssize_t)t->shape[i];
  set_dense(s);
  for (int i = 0; t->strides && i < s->ndim; i++)
    s->strides[i] = (Py_ssize_t)(t->strides[i] * (gint64)fc_dtype_size(s->view.dtype));
  return TRUE;
}

void fc_py_describe_tensor(const samples *s, dl_tensor *t, gint64 *shape, gint64 *strides) {
  const gboolean host = s->view.device == FC_HOST;
  for (int i = 0; i < s->ndim; i++)
    shape[i] = s->shape[i], strides[i] = s->strides[i] / (gint64)fc_dtype_size(s->view.dtype);
  *t = (dl_tensor){.data = s->view.data,
                   .device_type = host ? DL_CPU : DL_CUDA,
                   .device_id = host ? 0 : fc_device_ordinal(s->view.device),
                   .ndim = s->ndim,
                   .code = dl_types[s->view.dtype].code,
                   .bits = dl_types[s->view.dtype].bits,
                   .lanes = 1,
                   .shape = shape,
                   .strides = strides};
}

/* ---- Array -------------------------------------------------------------------------- */

typedef struct array {
  PyObject head;
  samples s;
  gboolean owned;  /* the memory belongs to this Array */
  PyObject *owner; /* otherwise its owner; or NULL */
  dl_managed *managed;
  dl_versioned *versioned;
  int generation;
} array;

static array *wrap(const samples *s) {
  array *me = PyObject_New(array, fc_py_array_type);
  if (!me) return NULL;
  me->s = *s;
  me->owned = FALSE, me->owner = NULL, me->managed = NULL, me->versioned = NULL,
  me->generation = fc_py_generation;
  return me;
}

PyObject *fc_py_array_new(const samples *s) {
  array *me = wrap(s);
  GError *error = NULL;
  void *memory = NULL;
  if (!me) return NULL;
  if (s->view.device != FC_HOST) {
    Py_BEGIN_ALLOW_THREADS;
    memory = fc_device_alloc(fc_py_context(), s->view.device, bytes_of(s), &error);
    Py_END_ALLOW_THREADS;
  } else if (posix_memalign(&memory, 64, MAX(bytes_of(s), 1)) != 0)
    memory = NULL;
  me->s.view.data = memory, me->owned = memory != NULL;
  if (memory && fc_py_lay_out(&me->s, NULL)) return (PyObject *)me;
  if (error)
    fc_py_raise(error);
  else if (!PyErr_Occurred())
    fc_py_fail(FC_NO_MEMORY, "there is no memory for the result");
  Py_DECREF(me);
  return NULL;
}

PyObject *fc_py_array_borrow(const samples *s, PyObject *owner) {
  array *me = wrap(s);
  if (me) me->owner = Py_NewRef(owner);
  return (PyObject *)me;
}

const samples *fc_py_array_samples(PyObject *array_object) {
  return &((array *)array_object)->s;
}

gboolean fc_py_samples_of(PyObject *object, gboolean write, samples *s, Py_buffer *buffer) {
  *buffer = (Py_buffer){0};
  if (Py_TYPE(object) != fc_py_array_type) return take_buffer(object, s, buffer, write);
  *s = ((array *)object)->s;
  return TRUE;
}

static void array_dealloc(PyObject *self) {
  array *me = (array *)self;
  PyTypeObject *type = Py_TYPE(self);
  if (me->owned && me->s.view.device == FC_HOST) free(me->s.view.data);
  if (me->owned && me->s.view.device != FC_HOST && me->generation == fc_py_generation) {
    Py_BEGIN_ALLOW_THREADS;
    fc_device_free(fc_py_context(), me->s.view.device, me->s.view.data);
    Py_END_ALLOW_THREADS;
  }
  if (me->managed && me->managed->free) me->managed->free(me->managed);
  if (me->versioned && me->versioned->free) me->versioned->free(me->versioned);
  Py_XDECREF(me->owner);
  PyObject_Free(self);
  Py_DECREF(type);
}

static int array_get_buffer(PyObject *self, Py_buffer *buffer, int flags) {
  array *me = (array *)self;
  buffer->obj = NULL;
  if (me->s.view.device != FC_HOST || ((flags & PyBUF_WRITABLE) && me->s.readonly)) {
    PyErr_SetString(PyExc_BufferError, me->s.readonly ? "the array is read-only" : "the array is on a GPU");
    return -1;
  }
  *buffer = (Py_buffer){.buf = me->s.view.data,
                        .obj = Py_NewRef(self),
                        .len = (Py_ssize_t)bytes_of(&me->s),
                        .itemsize = (Py_ssize_t)fc_dtype_size(me->s.view.dtype),
                        .readonly = me->s.readonly,
                        .ndim = me->s.ndim,
                        .format = (char *)dtypes[me->s.view.dtype].format,
                        .shape = me->s.shape,
                        .strides = me->s.strides};
  return 0;
}

PyObject *fc_py_dims(const Py_ssize_t *values, int n) {
  PyObject *tuple = PyTuple_New(n);
  for (int i = 0; tuple && i < n; i++) PyTuple_SetItem(tuple, i, PyLong_FromSsize_t(values[i]));
  return tuple;
}

typedef enum field { SHAPE, STRIDES, DTYPE, LAYOUT, RATE, BITS, NDIM, DEVICE, KIND } field;

static PyObject *array_field(PyObject *self, void *closure) {
  static const char *const kinds[] = {"audio", "image", "array"};
  const samples *s = &((array *)self)->s;
  switch ((field)GPOINTER_TO_INT(closure)) {
  case SHAPE: return fc_py_dims(s->shape, s->ndim);
  case STRIDES: return fc_py_dims(s->strides, s->ndim);
  case DTYPE: return PyUnicode_FromString(dtypes[s->view.dtype].name);
  case LAYOUT: return PyUnicode_FromString(s->layout);
  case RATE: return PyFloat_FromDouble(s->meaning.rate);
  case BITS: return PyLong_FromLong(s->meaning.bits);
  case NDIM: return PyLong_FromLong(s->ndim);
  case KIND: return PyUnicode_FromString(kinds[*s->layout ? kind_of_layout(s->layout) : FC_ARRAY]);
  default:
    return s->view.device == FC_HOST ? PyUnicode_FromString("cpu")
                                     : PyUnicode_FromFormat("cuda:%d", fc_device_ordinal(s->view.device));
  }
}

/* The common part of __array_interface__ and __cuda_array_interface__, version 3 of both. */
static PyObject *array_interface(PyObject *self, void *cuda) {
  const samples *s = &((array *)self)->s;
  if ((s->view.device != FC_HOST) != (cuda != NULL)) {
    PyErr_SetString(PyExc_AttributeError, cuda ? "the array is not on a GPU" : "the array is on a GPU");
    return NULL;
  }
  const char format = dtypes[s->view.dtype].format[0];
  const char code = strchr("fd", format) ? 'f' : strchr("BH", format) ? 'u' : 'i';
  const char order = s->view.dtype == FC_U8 ? '|' : G_BYTE_ORDER == G_LITTLE_ENDIAN ? '<' : '>';
  PyObject *shape = fc_py_dims(s->shape, s->ndim), *strides = fc_py_dims(s->strides, s->ndim);
  PyObject *type = PyUnicode_FromFormat("%c%c%d", order, code, (int)fc_dtype_size(s->view.dtype));
  PyObject *all =
      Py_BuildValue("{sNsNsNs(NN)si}", "shape", shape, "strides", strides, "typestr", type, "data",
                    PyLong_FromVoidPtr(s->view.data), PyBool_FromLong(s->readonly), "version", 3);
  PyObject *stream =
      cuda && all ? PyLong_FromLong(1) : NULL; /* memory allocated here is filled on the default stream */
  if (stream) PyDict_SetItemString(all, "stream", stream);
  Py_XDECREF(stream);
  return all;
}

/* The tensor in a capsule: the array's, with the memory that DLPack's pointers need. */
typedef struct lent_tensor {
  union {
    dl_managed old;
    dl_versioned new;
  } u;
  gint64 shape[DIMS_MOST], strides[DIMS_MOST];
  PyObject *owner;
} lent_tensor;

static void free_lent(lent_tensor *t) {
  PyGILState_STATE state = PyGILState_Ensure();
  Py_DECREF(t->owner);
  g_free(t);
  PyGILState_Release(state);
}

static void free_lent_old(dl_managed *self) {
  free_lent(self->context);
}

static void free_lent_new(dl_versioned *self) {
  free_lent(self->context);
}

/* For a capsule that was not consumed. */
static void free_capsule(PyObject *capsule) {
  lent_tensor *t = NULL;
  if (PyCapsule_IsValid(capsule, "dltensor")) t = PyCapsule_GetPointer(capsule, "dltensor");
  if (PyCapsule_IsValid(capsule, "dltensor_versioned"))
    t = PyCapsule_GetPointer(capsule, "dltensor_versioned");
  if (t) free_lent(t);
}

static PyObject *array_dlpack(PyObject *self, PyObject *args, PyObject *kwargs) {
  static char *names[] = {"stream", "max_version", "dl_device", "copy", NULL};
  array *me = (array *)self;
  PyObject *stream = Py_None, *version = Py_None, *device = Py_None, *copy = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$OOOO", names, &stream, &version, &device, &copy))
    return NULL;
  if (copy == Py_True) {
    PyErr_SetString(PyExc_BufferError, "the array is lent, not copied");
    return NULL;
  }
  long major = 0;
  if (version != Py_None) {
    PyObject *first = PySequence_GetItem(version, 0);
    major = first ? PyLong_AsLong(first) : -1;
    Py_XDECREF(first);
    if (PyErr_Occurred()) return NULL;
  }
  const samples *s = &me->s;
  if (major < 1 && s->readonly) {
    PyErr_SetString(PyExc_BufferError, "the array is read-only, which DLPack says from version 1 on");
    return NULL;
  }
  lent_tensor *t = g_new0(lent_tensor, 1);
  fc_py_describe_tensor(s, major >= 1 ? &t->u.new.tensor : &t->u.old.tensor, t->shape, t->strides);
  t->owner = Py_NewRef(self);
  if (major >= 1) {
    t->u.new.major = 1, t->u.new.context = t, t->u.new.free = free_lent_new;
    t->u.new.flags = s->readonly ? DL_READ_ONLY : 0;
  } else
    t->u.old.context = t, t->u.old.free = free_lent_old;
  return PyCapsule_New(t, major >= 1 ? "dltensor_versioned" : "dltensor", free_capsule);
}

static PyObject *array_dlpack_device(PyObject *self, PyObject *none) {
  const gint32 device = ((array *)self)->s.view.device;
  return Py_BuildValue("(ii)", device == FC_HOST ? DL_CPU : DL_CUDA,
                       device == FC_HOST ? 0 : fc_device_ordinal(device));
}

static PyGetSetDef array_fields[] = {
    {"shape", array_field, NULL, "The extent of each dimension.", GINT_TO_POINTER(SHAPE)},
    {"strides", array_field, NULL, "Bytes between neighbours in each dimension.", GINT_TO_POINTER(STRIDES)},
    {"dtype", array_field, NULL, "\"float32\", \"uint8\" and so on.", GINT_TO_POINTER(DTYPE)},
    {"layout", array_field, NULL, "A letter for each dimension, as \"tc\" or \"hwc\".",
     GINT_TO_POINTER(LAYOUT)},
    {"rate", array_field, NULL, "Samples a second; 0 if unknown.", GINT_TO_POINTER(RATE)},
    {"bits", array_field, NULL, "Bits that carry information.", GINT_TO_POINTER(BITS)},
    {"ndim", array_field, NULL, "How many dimensions there are.", GINT_TO_POINTER(NDIM)},
    {"kind", array_field, NULL, "\"audio\", \"image\" or \"array\".", GINT_TO_POINTER(KIND)},
    {"device", array_field, NULL, "\"cpu\" or \"cuda:0\".", GINT_TO_POINTER(DEVICE)},
    {"__array_interface__", array_interface, NULL, NULL, NULL},
    {"__cuda_array_interface__", array_interface, NULL, NULL, GINT_TO_POINTER(1)},
    {0}};

static PyMethodDef array_methods[] = {
    {"__dlpack__", (PyCFunction)(void (*)(void))array_dlpack, METH_VARARGS | METH_KEYWORDS, NULL},
    {"__dlpack_device__", array_dlpack_device, METH_NOARGS, NULL},
    {0}};

static PyObject *array_repr(PyObject *self) {
  PyObject *shape = array_field(self, GINT_TO_POINTER(SHAPE)),
           *device = array_field(self, GINT_TO_POINTER(DEVICE));
  const samples *s = &((array *)self)->s;
  PyObject *text = shape && device ? PyUnicode_FromFormat("<filterchain.Array %R %s \"%s\" on %U>", shape,
                                                          dtypes[s->view.dtype].name, s->layout, device)
                                   : NULL;
  Py_XDECREF(shape);
  Py_XDECREF(device);
  return text;
}

static PyType_Slot array_slots[] = {
    {Py_tp_doc, "Samples in memory, which NumPy and others look at without a copy."},
    {Py_tp_dealloc, array_dealloc},
    {Py_tp_repr, array_repr},
    {Py_tp_getset, array_fields},
    {Py_tp_methods, array_methods},
    {Py_bf_getbuffer, array_get_buffer},
    {0}};
static PyType_Spec array_spec = {"filterchain.Array", sizeof(array), 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, array_slots};

PyObject *fc_py_from_dlpack(PyObject *module, PyObject *capsule) {
  const gboolean new = PyCapsule_IsValid(capsule, "dltensor_versioned");
  void *tensor = PyCapsule_GetPointer(capsule, new ? "dltensor_versioned" : "dltensor");
  samples s;
  if (!tensor) return NULL;
  if (new && ((dl_versioned *)tensor)->major != 1) {
    PyErr_SetString(PyExc_BufferError, "a tensor of another major version of DLPack than 1");
    return NULL;
  }
  if (!fc_py_take_tensor(new ? &((dl_versioned *)tensor)->tensor : &((dl_managed *)tensor)->tensor, &s))
    return NULL;
  s.readonly = new && ((dl_versioned *)tensor)->flags &DL_READ_ONLY;
  array *me = wrap(&s);
  if (!me) return NULL;
  PyCapsule_SetName(capsule, new ? "used_dltensor_versioned" : "used_dltensor");
  PyCapsule_SetDestructor(capsule, NULL);
  me->versioned = new ? tensor : NULL, me->managed = new ? NULL : tensor;
  return (PyObject *)me;
}

PyObject *fc_py_from_buffer(PyObject *module, PyObject *object) {
  Py_buffer buffer;
  samples s;
  if (!take_buffer(object, &s, &buffer, FALSE)) return NULL;
  array *me = wrap(&s);
  /* keeps the buffer exported, and so in place */
  PyObject *held = me ? PyMemoryView_FromObject(object) : NULL;
  PyBuffer_Release(&buffer);
  if (me) me->owner = held;
  if (held) return (PyObject *)me;
  Py_XDECREF((PyObject *)me);
  return NULL;
}

PyObject *fc_py_from_pointer(PyObject *module, PyObject *args) {
  PyObject *shape, *strides, *owner;
  unsigned long long address;
  const char *dtype;
  int device, readonly;
  samples s = {0};
  if (!PyArg_ParseTuple(args, "KO!OsipO", &address, &PyTuple_Type, &shape, &strides, &dtype, &device,
                        &readonly, &owner))
    return NULL;
  s.ndim = (int)PyTuple_Size(shape);
  if ((s.view.dtype = dtype_of_name(dtype)) < 0) return fail_dtype(dtype), NULL;
  if (s.ndim > DIMS_MOST)
    return PyErr_Format(fc_py_errors[FC_INVALID], "an array of %d dimensions: filterchain takes up to 4",
                        s.ndim);
  for (int i = 0; i < s.ndim; i++) s.shape[i] = PyLong_AsSsize_t(PyTuple_GetItem(shape, i));
  set_dense(&s);
  for (int i = 0; strides != Py_None && i < s.ndim; i++)
    s.strides[i] = PyLong_AsSsize_t(PyTuple_GetItem(strides, i));
  if (PyErr_Occurred()) return NULL;
  s.view.data = (void *)(guintptr)address, s.readonly = readonly;
  s.view.device = device < 0 ? FC_HOST : FC_CUDA_DEVICE(device);
  return fc_py_array_borrow(&s, owner);
}

PyObject *fc_py_describe(PyObject *module, PyObject *args) {
  PyObject *from;
  const char *layout;
  double rate;
  int bits;
  if (!PyArg_ParseTuple(args, "O!zdi", fc_py_array_type, &from, &layout, &rate, &bits)) return NULL;
  samples s = ((array *)from)->s;
  if (rate > 0) s.meaning.rate = rate;
  if (bits > 0) s.meaning.bits = bits;
  return fc_py_lay_out(&s, layout) ? fc_py_array_borrow(&s, from) : NULL;
}

/* Whether an image may be the next one of a batch that begins with `first`; its samples lie without gaps. */
static gboolean is_alike(const samples *first, PyObject *object) {
  if (Py_TYPE(object) != fc_py_array_type) return FALSE;
  const samples *s = &((array *)object)->s;
  samples dense = *s;
  set_dense(&dense);
  const size_t dims = sizeof *s->shape * (size_t)s->ndim;
  return s->view.device == FC_HOST && kind_of_layout(s->layout) == FC_IMAGE && s->ndim < DIMS_MOST &&
         !strchr(s->layout, 'n') && s->ndim == first->ndim && s->view.dtype == first->view.dtype &&
         strcmp(s->layout, first->layout) == 0 && memcmp(s->shape, first->shape, dims) == 0 &&
         memcmp(s->strides, dense.strides, dims) == 0 &&
         memcmp(&s->meaning, &first->meaning, sizeof s->meaning) == 0;
}

PyObject *fc_py_stack(PyObject *module, PyObject *list) {
  const Py_ssize_t n = PyList_Check(list) ? PyList_Size(list) : 0;
  if (n == 0 || Py_TYPE(PyList_GetItem(list, 0)) != fc_py_array_type) Py_RETURN_NONE;
  samples s = ((array *)PyList_GetItem(list, 0))->s;
  for (Py_ssize_t i = 0; i < n; i++)
    if (!is_alike(&s, PyList_GetItem(list, i))) Py_RETURN_NONE;
  const gsize each = bytes_of(&s);
  memmove(s.layout + 1, s.layout, sizeof s.layout - 1);
  memmove(s.shape + 1, s.shape, sizeof s.shape - sizeof *s.shape);
  s.layout[0] = 'n', s.shape[0] = n, s.ndim++, s.meaning.extent[FC_AXIS_N] = n;
  set_dense(&s);
  PyObject *all = fc_py_array_new(&s);
  for (Py_ssize_t i = 0; all && i < n; i++)
    memcpy((char *)((array *)all)->s.view.data + (gsize)i * each,
           ((array *)PyList_GetItem(list, i))->s.view.data, each);
  return all;
}

PyObject *fc_py_unstack(PyObject *module, PyObject *object) {
  if (Py_TYPE(object) != fc_py_array_type || ((array *)object)->s.layout[0] != 'n') Py_RETURN_NONE;
  const samples *all = &((array *)object)->s;
  PyObject *list = PyList_New(0);
  for (Py_ssize_t i = 0; list && i < all->shape[0]; i++) {
    samples one = *all;
    one.view.data = (char *)all->view.data + i * all->strides[0];
    one.ndim = 0, one.meaning.extent[FC_AXIS_N] = 1;
    memset(one.layout, 0, sizeof one.layout);
    for (int d = 1; d < all->ndim; d++)
      if (all->shape[d] != 1 || strchr("hwx", all->layout[d])) {
        one.shape[one.ndim] = all->shape[d], one.strides[one.ndim] = all->strides[d];
        one.layout[one.ndim++] = all->layout[d];
      }
    PyObject *item = fc_py_lay_out(&one, NULL) ? fc_py_array_borrow(&one, object) : NULL;
    if (!item || PyList_Append(list, item) < 0) Py_CLEAR(list);
    Py_XDECREF(item);
  }
  return list;
}

gboolean fc_py_array_init(PyObject *module) {
  fc_py_array_type = (PyTypeObject *)PyType_FromSpec(&array_spec);
  return fc_py_array_type && PyModule_AddObjectRef(module, "Array", (PyObject *)fc_py_array_type) == 0;
}
