/* SPDX-License-Identifier: MIT */
/*
 * chain.c - Chain: a chain of the library, called on arrays, on files and on encoded bytes. A call costs 1 to
 * 2 us more than fc_chain_run_host.
 *
 * A chain of the library runs in one thread at a time: a Chain keeps as many clones as threads have used it
 * at once. A forked child refuses the Chains of its parent.
 */
#include "python/binding.h"
#include "python/dlpack.h"
#include "python/request.h"

#include <string.h>

#define FORMATS 8 /* answers of fc_chain_output_format that a Chain remembers */

static PyObject *numpy_array, *numpy_empty, *numpy_dtypes[FC_DTYPE_COUNT];

/* ---- Chain ----------------------------------------------------------------------------------- */

typedef struct known_format {
  fc_format in, out;
  int dtype, precision;
} known_format;

typedef struct chain {
  PyObject head;
  fc_chain *original; /* never run, but cloned */
  GPtrArray *idle;    /* fc_chain not in use; both guarded by the interpreter's lock */
  PyObject *kept;     /* what the chain borrows: texts of options, views of further inputs */
  fc_options options;
  known_format known[FORMATS];
  int n_known, next_known;
  int generation;
} chain;

static PyTypeObject *chain_type;

static fc_chain *take_chain(chain *me) {
  GError *error = NULL;
  fc_chain *taken = NULL;
  if (me->generation != fc_py_generation) {
    PyErr_SetString(PyExc_RuntimeError, "the chain was made before fork(): make it in this process");
    return NULL;
  }
  if (me->idle->len) return g_ptr_array_steal_index_fast(me->idle, me->idle->len - 1);
  Py_BEGIN_ALLOW_THREADS;
  taken = fc_chain_clone(me->original, &error);
  Py_END_ALLOW_THREADS;
  if (!taken) fc_py_raise(error);
  return taken;
}

static void give_chain(chain *me, fc_chain *given) {
  g_ptr_array_add(me->idle, given);
}

static void begin_request(const chain *me, request *r) {
  memset(r, 0, sizeof *r);
  r->options = me->options;
  r->dtype = -1;
}

/* The number of sounds in a batch: the library only knows batches of images, so each sound is run
 * separately. */
static gint64 sounds_of(const fc_view *v) {
  return v->kind == FC_AUDIO ? v->shape[FC_AXIS_N] : 1;
}

static fc_view sound_of(const fc_view *v, gint64 sounds, gint64 index) {
  fc_view one = *v;
  if (sounds != 1) {
    one.data = (char *)v->data + index * v->stride[FC_AXIS_N];
    one.shape[FC_AXIS_N] = one.extent[FC_AXIS_N] = 1;
  }
  return one;
}

/* The output format for the samples; cached, since it takes a plan to compute. */
static gboolean output_format(chain *me, fc_chain *taken, request *r, const samples *s, fc_format *out) {
  GError *error = NULL;
  fc_format in = s->meaning;
  gboolean ok;
  static const int bits[FC_DTYPE_COUNT] = {8, 16, 16, 32, 24, 53};
  in.size = sizeof in, in.kind = s->view.kind, in.dtype = s->view.dtype, in.stored = 0;
  if (in.bits <= 0) in.bits = bits[in.dtype];
  in.layout = s->view.shape[FC_AXIS_C] > 1 && s->view.stride[FC_AXIS_C] > s->view.stride[FC_AXIS_X]
                  ? FC_PLANAR
                  : FC_INTERLEAVED;
  memcpy(in.extent, s->view.shape, sizeof in.extent);
  const gint64 sounds = sounds_of(&s->view);
  if (sounds != 1) in.extent[FC_AXIS_N] = 1;
  for (int i = 0; i < me->n_known; i++) {
    const known_format *k = &me->known[i];
    if (k->dtype != r->dtype || k->precision != r->options.precision || memcmp(&k->in, &in, sizeof in) != 0)
      continue;
    *out = k->out;
    if (sounds != 1) out->extent[FC_AXIS_N] = sounds;
    return TRUE;
  }
  *out = (fc_format){.size = sizeof *out, .dtype = r->dtype};
  Py_BEGIN_ALLOW_THREADS;
  ok = fc_chain_output_format(taken, &in, &r->options, out, &error);
  if (ok && r->dtype < 0 && out->stored && out->stored - 1 != out->dtype) { /* as the chain's own type */
    out->dtype = out->stored - 1;
    ok = fc_chain_output_format(taken, &in, &r->options, out, &error);
  }
  Py_END_ALLOW_THREADS;
  if (!ok) return fc_py_raise(error) != NULL;
  me->known[me->next_known] = (known_format){in, *out, r->dtype, r->options.precision};
  me->next_known = (me->next_known + 1) % FORMATS, me->n_known = MIN(me->n_known + 1, FORMATS);
  if (sounds != 1) out->extent[FC_AXIS_N] = sounds;
  return TRUE;
}

/* Looks up NumPy's functions, if the program has imported it. */
static gboolean know_numpy(void) {
  if (numpy_array) return TRUE;
  PyObject *modules = PyImport_GetModuleDict();
  PyObject *numpy = modules ? PyDict_GetItemString(modules, "numpy") : NULL;
  if (!numpy || !PyObject_HasAttrString(numpy, "float64")) return FALSE;
  numpy_empty = PyObject_GetAttrString(numpy, "empty");
  PyObject *of = PyObject_GetAttrString(numpy, "dtype");
  for (int i = 0; of && i < FC_DTYPE_COUNT; i++)
    numpy_dtypes[i] = PyObject_CallFunction(of, "s", fc_py_dtype_name(i));
  Py_XDECREF(of);
  numpy_array = PyObject_GetAttrString(numpy, "ndarray");
  return numpy_array != NULL;
}

/* An array of the input's library for the result, and its samples; `buffer` must be released. */
static PyObject *make_output(PyObject *x, const dl_exchange *api, const samples *shape, samples *s,
                             Py_buffer *buffer) {
  *buffer = (Py_buffer){0};
  if (api) return fc_py_exchange_new(api, shape, s);
  if (!know_numpy() || !PyObject_TypeCheck(x, (PyTypeObject *)numpy_array)) {
    PyObject *made = fc_py_array_new(shape);
    if (made) *s = *fc_py_array_samples(made);
    return made;
  }
  PyObject *size = fc_py_dims(shape->shape, shape->ndim);
  PyObject *result =
      size ? PyObject_CallFunctionObjArgs(numpy_empty, size, numpy_dtypes[shape->view.dtype], NULL) : NULL;
  Py_XDECREF(size);
  if (result && fc_py_samples_of(result, TRUE, s, buffer) && fc_py_lay_out(s, shape->layout)) return result;
  Py_XDECREF(result);
  return NULL;
}

static PyObject *measured(const fc_result *result) {
  PyObject *list = PyList_New(0);
  for (gsize i = 0; list && i < result->n_measured; i++) {
    const fc_measured *m = result->measured[i];
    PyObject *value = m->exact ? PyLong_FromString(m->exact, NULL, 10) : PyFloat_FromDouble(m->value);
    PyObject *item =
        Py_BuildValue("(IsssiN)", m->stage, m->operator_name, m->name, m->unit, m->channel, value);
    if (!item || PyList_Append(list, item) < 0) Py_CLEAR(list);
    Py_XDECREF(item);
  }
  return list;
}

static PyObject *describe_result(const fc_result *result) {
  return Py_BuildValue("{sssssdsLsLsLsN}", "device", result->device, "reason", result->reason, "seconds",
                       result->seconds, "chunks", (long long)result->chunks, "bytes_up",
                       (long long)result->bytes_up, "bytes_down", (long long)result->bytes_down, "measured",
                       measured(result));
}

/* A dict of the result's fields; frees the result. */
static PyObject *result_dict(fc_result *result) {
  PyObject *dict = describe_result(result);
  fc_result_free(result);
  return dict;
}

/* Runs on two arrays of one device. */
static gboolean run_samples(chain *me, fc_chain *taken, request *r, const samples *in, const samples *out,
                            void *stream) {
  GError *error = NULL;
  gboolean ok = TRUE, guarded;
  const gint64 sounds = sounds_of(&in->view);
  fc_py_set_progress(r);
  do {
    guarded = fc_py_begin_call(r, fc_view_count(&in->view) + fc_view_count(&out->view));
    Py_BEGIN_ALLOW_THREADS;
    for (gint64 i = 0; i < sounds && ok; i++) {
      const fc_view from = sound_of(&in->view, sounds, i), to = sound_of(&out->view, sounds, i);
      if (from.device != FC_HOST)
        ok = fc_chain_run_device(taken, &from, &to, stream, &r->options, &error);
      else
        ok = fc_chain_run_host(taken, &from, &to, &r->options, NULL, &error);
    }
    Py_END_ALLOW_THREADS;
  } while (fc_py_end_call(guarded, ok, &error) && (ok = TRUE));
  if (!ok) fc_py_raise(error);
  return ok;
}

/* The addresses from the first to the last sample; FALSE: there are none. */
static gboolean span_of(const samples *s, const char **lo, const char **hi) {
  *lo = s->view.data, *hi = *lo + fc_dtype_size(s->view.dtype);
  for (int i = 0; i < s->ndim; i++) {
    if (s->shape[i] == 0) return FALSE;
    const Py_ssize_t reach = (s->shape[i] - 1) * s->strides[i];
    *(reach < 0 ? lo : hi) += reach;
  }
  return TRUE;
}

/* Whether an output shares memory with the input. Two channels of one array, each with the same strides, do
 * not. */
static gboolean overlap(const samples *a, const samples *b) {
  const char *a_lo, *a_hi, *b_lo, *b_hi;
  if (a->view.device != b->view.device || !span_of(a, &a_lo, &a_hi) || !span_of(b, &b_lo, &b_hi))
    return FALSE;
  if (a_hi <= b_lo || b_hi <= a_lo) return FALSE;
  const Py_ssize_t size = (Py_ssize_t)fc_dtype_size(a->view.dtype), apart = ABS(a_lo - b_lo);
  gboolean beside = a->ndim == b->ndim && a->view.dtype == b->view.dtype && apart >= size;
  for (int i = 0; i < a->ndim && beside; i++)
    beside = a->strides[i] == b->strides[i] && (a->shape[i] == 1 || ABS(a->strides[i]) >= apart + size);
  return !beside;
}

/* A given output must have the layout that a new one would have. */
static gboolean check_output(const samples *wanted, const samples *in, samples *given) {
  if (given->readonly) return PyErr_SetString(fc_py_errors[FC_INVALID], "out is read-only"), FALSE;
  if (overlap(in, given))
    return PyErr_SetString(fc_py_errors[FC_INVALID], "out shares memory with the input: give another array"),
           FALSE;
  for (int i = 0; i < given->ndim; i++)
    if (given->strides[i] == 0 && given->shape[i] > 1)
      return PyErr_SetString(fc_py_errors[FC_INVALID], "out has several elements in one place"), FALSE;
  if (given->ndim == wanted->ndim &&
      memcmp(given->shape, wanted->shape, sizeof *given->shape * (size_t)given->ndim) == 0)
    return fc_py_lay_out(given, wanted->layout);
  PyObject *is = fc_py_dims(given->shape, given->ndim), *be = fc_py_dims(wanted->shape, wanted->ndim);
  if (is && be) PyErr_Format(fc_py_errors[FC_INVALID], "out has shape %R where the chain makes %R", is, be);
  Py_XDECREF(is);
  Py_XDECREF(be);
  return FALSE;
}

/* The samples of the argument `out`. */
static gboolean take_output(PyObject *out, const dl_exchange *api, samples *s, Py_buffer *buffer) {
  return api ? fc_py_exchange_look(api, out, s) : fc_py_samples_of(out, TRUE, s, buffer);
}

/* With `api`, on tensors of such a library, on their current stream. */
static PyObject *call_samples(chain *me, fc_chain *taken, request *r, PyObject *x, const dl_exchange *api,
                              samples *in) {
  fc_format format;
  samples wanted, out;
  Py_buffer buffer = {0};
  PyObject *result = NULL;
  void *stream = NULL;
  const gboolean device = in->view.device != FC_HOST;
  if (device && api->current_stream(DL_CUDA, fc_device_ordinal(in->view.device), &stream) != 0) return NULL;
  if (!fc_py_apply_request(r, in)) return NULL;
  if (r->out && take_output(r->out, api, &out, &buffer)) {
    if (r->dtype < 0) r->dtype = out.view.dtype;
    if (output_format(me, taken, r, in, &format)) {
      fc_py_lay_out_like(&wanted, &format, in->layout);
      if (check_output(&wanted, in, &out)) result = Py_NewRef(r->out);
    }
  } else if (!r->out && output_format(me, taken, r, in, &format)) {
    fc_py_lay_out_like(&wanted, &format, in->layout);
    wanted.view.device = in->view.device;
    result = make_output(x, api, &wanted, &out, &buffer);
  }
  if (result && !run_samples(me, taken, r, in, &out, stream)) Py_CLEAR(result);
  if (buffer.obj) PyBuffer_Release(&buffer);
  return result;
}

/* The single positional argument, if there are no keyword arguments. */
static PyObject *only_argument(PyObject *args) {
  if (PyTuple_Size(args) == 1) return PyTuple_GetItem(args, 0);
  PyErr_SetString(PyExc_TypeError, "one array is wanted");
  return NULL;
}

/* Objects without a buffer, and those of libraries that create their own results, are handled in Python. */
static gboolean needs_python(PyObject *x) {
  if (Py_TYPE(x) == fc_py_array_type) return fc_py_array_samples(x)->view.device != FC_HOST;
  if (know_numpy() && PyObject_TypeCheck(x, (PyTypeObject *)numpy_array)) return FALSE;
  return !PyObject_CheckBuffer(x) || PyObject_HasAttrString(x, "__dlpack__");
}

/* Whether Python must say why it is refused: it requires a gradient, or its values are stored negated. */
static gboolean is_refused(PyObject *tensor) {
  PyObject *gradient = PyObject_GetAttrString(tensor, "requires_grad");
  PyObject *negated = gradient ? PyObject_CallMethod(tensor, "is_neg", NULL) : NULL;
  const gboolean refused = gradient == Py_True || negated == Py_True;
  PyErr_Clear();
  Py_XDECREF(gradient);
  Py_XDECREF(negated);
  return refused;
}

/* The exchange API of a tensor, and its samples. NULL: it has none, or is handled in Python, as is what
 * cannot be looked at; `out` must be of the same type. */
static const dl_exchange *take_tensor(PyObject *x, PyObject *out, samples *s) {
  const dl_exchange *api = fc_py_exchange_of(x);
  if (!api || (out && Py_TYPE(out) != Py_TYPE(x)) || is_refused(x) || (out && is_refused(out))) return NULL;
  if (fc_py_exchange_look(api, x, s)) return api;
  PyErr_Clear();
  return NULL;
}

static PyObject *chain_call(PyObject *self, PyObject *args, PyObject *kwargs) {
  chain *me = (chain *)self;
  PyObject *result = NULL, *x = PyTuple_Size(args) == 0 ? Py_None : only_argument(args);
  PyObject *out = kwargs ? PyDict_GetItemString(kwargs, "out") : NULL;
  const dl_exchange *api = NULL;
  request r;
  samples in;
  Py_buffer buffer = {0};
  if (!x) return NULL;
  if (out == Py_None) out = NULL;
  const gboolean tensor = needs_python(x);
  if ((tensor && !(api = take_tensor(x, out, &in))) || (!tensor && out && needs_python(out))) {
    PyObject *options_given = kwargs ? PyDict_Copy(kwargs) : PyDict_New();
    result = PyObject_CallMethod(fc_py_helpers, "call", "OOO", self, x, options_given);
    Py_XDECREF(options_given);
    return result;
  }
  begin_request(me, &r);
  if (!fc_py_read_request(&r, kwargs) || (!api && !fc_py_samples_of(x, FALSE, &in, &buffer))) return NULL;
  fc_chain *taken = take_chain(me);
  if (taken) result = call_samples(me, taken, &r, x, api, &in);
  if (taken) give_chain(me, taken);
  if (buffer.obj) PyBuffer_Release(&buffer);
  return result;
}

/* ---- files and encoded bytes -------------------------------------------------------------------- */

/* A file's name: a string or a path; *text is valid as long as the returned object. NULL with an
 * exception. */
static PyObject *file_name(PyObject *value, const char **text) {
  PyObject *bytes = NULL;
  if (!PyUnicode_FSConverter(value, &bytes)) return NULL;
  *text = PyBytes_AsString(bytes);
  return bytes;
}

typedef struct source {
  const char *file;
  const void *content;
  gsize bytes;
  PyObject *held; /* the file's name */
  Py_buffer buffer;
} source;

/* A path, the content of a file, or None. */
static gboolean take_source(PyObject *value, source *s) {
  memset(s, 0, sizeof *s);
  if (value == Py_None) return TRUE;
  if (PyUnicode_Check(value) || PyObject_HasAttrString(value, "__fspath__"))
    return (s->held = file_name(value, &s->file)) != NULL;
  if (PyObject_GetBuffer(value, &s->buffer, PyBUF_SIMPLE) < 0) return FALSE;
  s->content = s->buffer.buf, s->bytes = (gsize)s->buffer.len;
  return TRUE;
}

static void clear_source(source *s) {
  Py_XDECREF(s->held);
  if (s->buffer.obj) PyBuffer_Release(&s->buffer);
}

/* Opens and plans; repeats that if a signal's handler raised no exception. */
static fc_loader *open_load(fc_chain *taken, request *r, const source *s) {
  fc_loader *load;
  GError *error = NULL;
  gboolean guarded;
  do {
    guarded = fc_py_begin_call(r, G_MAXINT64);
    Py_BEGIN_ALLOW_THREADS;
    load = s->content ? fc_chain_load_bytes(taken, s->content, s->bytes, &r->options, &error)
                      : fc_chain_load_file(taken, s->file, &r->options, &error);
    Py_END_ALLOW_THREADS;
  } while (fc_py_end_call(guarded, load != NULL, &error));
  return load ? load : (fc_loader *)fc_py_raise(error);
}

/* The result, or NULL; *again: interrupted by a signal whose handler raised no exception. */
static PyObject *load_once(fc_chain *taken, request *r, const source *s, gboolean *again) {
  GError *error = NULL;
  gboolean ok = FALSE, guarded;
  samples wanted;
  *again = FALSE;
  fc_loader *load = open_load(taken, r, s);
  if (!load) return NULL;
  fc_format format = *fc_loader_format(load);
  if (r->dtype >= 0) format.dtype = r->dtype;
  fc_py_lay_out_like(&wanted, &format, NULL);
  PyObject *made = fc_py_array_new(&wanted);
  if (made) {
    guarded = fc_py_begin_call(r, G_MAXINT64);
    Py_BEGIN_ALLOW_THREADS;
    ok = fc_loader_run(load, &fc_py_array_samples(made)->view, NULL, &error);
    Py_END_ALLOW_THREADS;
    *again = fc_py_end_call(guarded, ok, &error);
    if (!ok && !*again) fc_py_raise(error);
  }
  fc_loader_free(load);
  if (made && !ok) Py_CLEAR(made);
  return made;
}

/* load(path, content or None): the chain's output, as an Array. */
static PyObject *chain_load(PyObject *self, PyObject *args, PyObject *kwargs) {
  chain *me = (chain *)self;
  PyObject *from = only_argument(args), *result = NULL;
  request r;
  source s;
  begin_request(me, &r);
  if (!from || !fc_py_read_request(&r, kwargs) || !take_source(from, &s)) return NULL;
  fc_py_set_progress(&r);
  fc_chain *taken = take_chain(me);
  gboolean again = taken != NULL;
  while (again) result = load_once(taken, &r, &s, &again);
  if (taken) give_chain(me, taken);
  clear_source(&s);
  return result;
}

/* save(array, path or None): into a file, or only for measurements; returns a dict of the result. */
static PyObject *chain_save(PyObject *self, PyObject *args, PyObject *kwargs) {
  chain *me = (chain *)self;
  PyObject *x, *path, *result = NULL;
  Py_buffer buffer;
  GError *error = NULL;
  fc_result *did = NULL;
  const char *file = NULL;
  samples in;
  request r;
  begin_request(me, &r);
  if (!PyArg_ParseTuple(args, "OO", &x, &path) || !fc_py_read_request(&r, kwargs)) return NULL;
  PyObject *held = path == Py_None ? Py_NewRef(path) : file_name(path, &file);
  if (!held || !fc_py_samples_of(x, FALSE, &in, &buffer)) return Py_XDECREF(held), NULL;
  fc_chain *taken = fc_py_apply_request(&r, &in) ? take_chain(me) : NULL;
  if (taken) {
    gboolean ok, guarded;
    fc_py_set_progress(&r);
    do {
      guarded = fc_py_begin_call(&r, G_MAXINT64);
      Py_BEGIN_ALLOW_THREADS;
      ok = fc_chain_save_file(taken, &in.view, file, &r.options, &did, &error);
      Py_END_ALLOW_THREADS;
    } while (fc_py_end_call(guarded, ok, &error));
    result = ok ? result_dict(did) : fc_py_raise(error);
    give_chain(me, taken);
  }
  if (buffer.obj) PyBuffer_Release(&buffer);
  Py_DECREF(held);
  return result;
}

/* An optional file name. */
static gboolean take_optional(PyObject *value, PyObject **held, const char **text) {
  *text = NULL;
  *held = value == Py_None ? Py_NewRef(value) : file_name(value, text);
  return *held != NULL;
}

static PyObject *run_or_explain(chain *me, const char *input, const char *output, request *r, int explain) {
  GError *error = NULL;
  fc_result *did = NULL;
  char *text = NULL;
  gboolean ok, guarded;
  fc_chain *taken = take_chain(me);
  if (!taken) return NULL;
  fc_py_set_progress(r);
  do {
    guarded = fc_py_begin_call(r, G_MAXINT64);
    Py_BEGIN_ALLOW_THREADS;
    if (explain)
      ok = (text = fc_chain_explain_file(taken, input, output, &r->options, explain > 1, &error)) != NULL;
    else
      ok = fc_chain_run_file(taken, input, output, &r->options, &did, &error);
    Py_END_ALLOW_THREADS;
    if (!ok) fc_result_free(did), did = NULL;
  } while (fc_py_end_call(guarded, ok, &error));
  give_chain(me, taken);
  if (!ok) return fc_py_raise(error);
  if (!explain) return result_dict(did);
  PyObject *string = PyUnicode_FromString(text);
  g_free(text);
  return string;
}

/* run_file(input or None, output or None, explain: 0 no, 1 as text, 2 as JSON) */
static PyObject *chain_run_file(PyObject *self, PyObject *args, PyObject *kwargs) {
  chain *me = (chain *)self;
  PyObject *in, *out, *held_in = NULL, *held_out = NULL, *result = NULL;
  const char *input, *output;
  int explain;
  request r;
  begin_request(me, &r);
  if (!PyArg_ParseTuple(args, "OOi", &in, &out, &explain) || !fc_py_read_request(&r, kwargs)) return NULL;
  if (take_optional(in, &held_in, &input) && take_optional(out, &held_out, &output))
    result = run_or_explain(me, input, output, &r, explain);
  Py_XDECREF(held_in);
  Py_XDECREF(held_out);
  return result;
}

/* Files being filtered, and what was made of each. */
typedef struct many_files {
  PyObject *outcomes; /* a list of a dict, or an exception, for each */
  gsize n;
  const request *r;
  gboolean stopped;
} many_files;

/* Those that were begun before a stop are still reported. */
static gboolean on_file(gsize index, const fc_result *result, const GError *why, void *data) {
  many_files *many = data;
  if (many->stopped) return FALSE;
  const PyGILState_STATE state = PyGILState_Ensure();
  PyObject *outcome =
      why ? PyObject_CallFunction(fc_py_errors[why->domain == FC_ERROR ? why->code : 0], "s", why->message)
          : describe_result(result);
  many->stopped = !outcome || PyList_Append(many->outcomes, outcome) < 0;
  Py_XDECREF(outcome);
  PyGILState_Release(state);
  if (!many->stopped && many->r->progress)
    many->stopped = !fc_py_on_progress((gint64)index + 1, (gint64)many->n, many->r->progress);
  return !many->stopped;
}

/* The names in a list of pairs; `held` owns them. */
static gboolean take_pairs(PyObject *pairs, fc_file *files, const fc_file **list, PyObject *held) {
  for (Py_ssize_t i = 0; i < PyList_Size(pairs); i++) {
    PyObject *in, *out;
    files[i].size = sizeof *files, list[i] = &files[i];
    if (!PyArg_ParseTuple(PyList_GetItem(pairs, i), "OO", &in, &out)) return FALSE;
    PyObject *names[] = {file_name(in, &files[i].input), file_name(out, &files[i].output)};
    const gboolean ok =
        names[0] && names[1] && PyList_Append(held, names[0]) == 0 && PyList_Append(held, names[1]) == 0;
    Py_XDECREF(names[0]);
    Py_XDECREF(names[1]);
    if (!ok) return FALSE;
  }
  return TRUE;
}

static gboolean run_many(fc_chain *taken, request *r, const fc_file *const *list, many_files *many) {
  GError *error = NULL;
  gboolean ok, guarded;
  do {
    many->stopped = FALSE;
    if (PyList_SetSlice(many->outcomes, 0, PyList_Size(many->outcomes), NULL) < 0) return FALSE;
    guarded = fc_py_begin_call(r, G_MAXINT64);
    Py_BEGIN_ALLOW_THREADS;
    ok = fc_chain_run_files(taken, list, many->n, &r->options, on_file, many, &error) >= 0;
    Py_END_ALLOW_THREADS;
    if (ok && (many->stopped || fc_py_interrupted(guarded)))
      ok = FALSE, g_set_error(&error, FC_ERROR, FC_IO, "stopped");
  } while (fc_py_end_call(guarded, ok, &error));
  if (!ok) fc_py_raise(error);
  return ok;
}

/* run_files(list of (input, output)): a list of dicts and exceptions. */
static PyObject *chain_run_files(PyObject *self, PyObject *args, PyObject *kwargs) {
  chain *me = (chain *)self;
  PyObject *pairs;
  request r;
  begin_request(me, &r);
  if (!PyArg_ParseTuple(args, "O!", &PyList_Type, &pairs) || !fc_py_read_request(&r, kwargs)) return NULL;
  const gsize n = (gsize)PyList_Size(pairs);
  g_autofree fc_file *files = g_new0(fc_file, n + 1);
  g_autofree const fc_file **list = g_new0(const fc_file *, n + 1);
  PyObject *held = PyList_New(0);
  many_files many = {PyList_New(0), n, &r};
  fc_chain *taken = held && many.outcomes && take_pairs(pairs, files, list, held) ? take_chain(me) : NULL;
  if (!taken || !run_many(taken, &r, list, &many)) Py_CLEAR(many.outcomes);
  if (taken) give_chain(me, taken);
  Py_XDECREF(held);
  return many.outcomes;
}

/* ---- for tensors of other libraries ---------------------------------------------------------------- */

/* format(Array): (shape, element type, layout) of the output. */
static PyObject *chain_format(PyObject *self, PyObject *args, PyObject *kwargs) {
  chain *me = (chain *)self;
  PyObject *x = only_argument(args), *result = NULL;
  request r;
  fc_format format;
  samples in, wanted;
  Py_buffer buffer;
  begin_request(me, &r);
  if (!x || !fc_py_read_request(&r, kwargs) || !fc_py_samples_of(x, FALSE, &in, &buffer)) return NULL;
  fc_chain *taken = fc_py_apply_request(&r, &in) ? take_chain(me) : NULL;
  if (taken && output_format(me, taken, &r, &in, &format)) {
    fc_py_lay_out_like(&wanted, &format, in.layout);
    result = Py_BuildValue("(Nss)", fc_py_dims(wanted.shape, wanted.ndim), fc_py_dtype_name(format.dtype),
                           wanted.layout);
  }
  if (taken) give_chain(me, taken);
  if (buffer.obj) PyBuffer_Release(&buffer);
  return result;
}

/* run(Array, Array or None, stream): from one into the other, or into a new one, which is returned. On a
 * device everything is enqueued on the stream, without waiting. */
static PyObject *chain_run(PyObject *self, PyObject *args, PyObject *kwargs) {
  chain *me = (chain *)self;
  PyObject *x, *y, *result = NULL;
  unsigned long long stream;
  request r;
  fc_format format;
  samples in, wanted, out;
  begin_request(me, &r);
  if (!PyArg_ParseTuple(args, "O!OK", fc_py_array_type, &x, &y, &stream) || !fc_py_read_request(&r, kwargs))
    return NULL;
  in = *fc_py_array_samples(x);
  fc_chain *taken = fc_py_apply_request(&r, &in) ? take_chain(me) : NULL;
  if (taken && y != Py_None) {
    out = *fc_py_array_samples(y);
    r.dtype = out.view.dtype;
  }
  if (taken && output_format(me, taken, &r, &in, &format)) {
    fc_py_lay_out_like(&wanted, &format, in.layout);
    wanted.view.device = in.view.device;
    if (y == Py_None)
      result = fc_py_array_new(&wanted);
    else if (check_output(&wanted, &in, &out))
      result = Py_NewRef(y);
    if (result && y == Py_None) out = *fc_py_array_samples(result);
    if (result && !run_samples(me, taken, &r, &in, &out, (void *)(guintptr)stream)) Py_CLEAR(result);
  }
  if (taken) give_chain(me, taken);
  return result;
}

/* check(): to be called after the streams have completed the work. */
static PyObject *chain_check(PyObject *self, PyObject *none) {
  chain *me = (chain *)self;
  for (guint i = 0; i < me->idle->len; i++) {
    GError *error = NULL;
    if (!fc_chain_check_device(me->idle->pdata[i], &error)) return fc_py_raise(error);
  }
  Py_RETURN_NONE;
}

/* ---- making chains ---------------------------------------------------------------------------------- */

/* One value of a stage: text, (rows, columns, float64 buffer) for a table, or an Array for an input. */
typedef struct value {
  fc_value pub;
  fc_table table;
  fc_view view;
  Py_buffer buffer;
} value;

static gboolean take_table(value *v, PyObject *rows, PyObject *cols, PyObject *numbers) {
  v->table = (fc_table){.size = sizeof v->table, .name = v->pub.name ? v->pub.name : "an array"};
  v->table.rows = PyLong_AsLongLong(rows), v->table.cols = PyLong_AsLongLong(cols);
  if (PyErr_Occurred() || PyObject_GetBuffer(numbers, &v->buffer, PyBUF_SIMPLE) < 0) return FALSE;
  if ((gint64)v->buffer.len != v->table.rows * v->table.cols * 8) {
    PyErr_SetString(PyExc_ValueError, "a table's numbers are not as many as it has rows and columns");
    return FALSE;
  }
  v->table.data = v->buffer.buf, v->pub.table = &v->table;
  return TRUE;
}

static gboolean take_value(value *v, PyObject *pair) {
  PyObject *name = PyTuple_GetItem(pair, 0), *given = name ? PyTuple_GetItem(pair, 1) : NULL;
  if (!given) return FALSE;
  v->pub.size = sizeof v->pub;
  v->pub.name = name == Py_None ? NULL : fc_py_text(name);
  if (name != Py_None && !v->pub.name) return FALSE;
  if (PyTuple_Check(given) && PyTuple_Size(given) == 3)
    return take_table(v, PyTuple_GetItem(given, 0), PyTuple_GetItem(given, 1), PyTuple_GetItem(given, 2));
  if (Py_TYPE(given) != fc_py_array_type) return (v->pub.text = fc_py_text(given)) != NULL;
  samples s = *fc_py_array_samples(given);
  if (!fc_py_lay_out(&s, NULL)) return FALSE;
  v->view = s.view, v->pub.view = &v->view;
  return TRUE;
}

/* (name, ((parameter or None, value), ...)) */
static gboolean add_operator(fc_chain *to, PyObject *spec) {
  const char *name;
  PyObject *pairs;
  GError *error = NULL;
  if (!PyArg_ParseTuple(spec, "sO!", &name, &PyTuple_Type, &pairs)) return FALSE;
  const Py_ssize_t n = PyTuple_Size(pairs);
  g_autofree value *values = g_new0(value, n + 1);
  g_autofree const fc_value **list = g_new0(const fc_value *, n + 1);
  gboolean ok = TRUE;
  for (Py_ssize_t i = 0; i < n && ok; i++)
    ok = take_value(&values[i], PyTuple_GetItem(pairs, i)), list[i] = &values[i].pub;
  if (ok) {
    Py_BEGIN_ALLOW_THREADS;
    ok = fc_chain_add(to, name, list, &error);
    Py_END_ALLOW_THREADS;
    if (!ok) fc_py_raise(error);
  }
  for (Py_ssize_t i = 0; i < n; i++)
    if (values[i].buffer.obj) PyBuffer_Release(&values[i].buffer);
  return ok;
}

static gboolean add_stage(fc_chain *to, PyObject *spec) {
  if (!PyUnicode_Check(spec)) return add_operator(to, spec);
  const char *text = fc_py_text(spec);
  GError *error = NULL;
  gboolean ok;
  if (!text) return FALSE;
  Py_BEGIN_ALLOW_THREADS;
  ok = fc_chain_add_text(to, text, &error);
  Py_END_ALLOW_THREADS;
  if (!ok) fc_py_raise(error);
  return ok;
}

/* Chain(stages, **options) */
static PyObject *chain_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  PyObject *stages;
  request r = {.options = FC_OPTIONS_INIT, .dtype = -1};
  if (!PyArg_ParseTuple(args, "O!", &PyTuple_Type, &stages) || !fc_py_read_request(&r, kwargs)) return NULL;
  /* A Python subclass has a dict and is garbage-collected. */
  chain *me = (chain *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
  if (!me) return NULL;
  me->idle = g_ptr_array_new(), me->options = r.options, me->generation = fc_py_generation;
  me->n_known = me->next_known = 0;
  me->kept = Py_BuildValue("(OO)", stages, kwargs ? kwargs : Py_None);
  me->original = fc_chain_new(fc_py_context());
  give_chain(me, me->original);
  gboolean ok = me->kept != NULL;
  for (Py_ssize_t i = 0; i < PyTuple_Size(stages) && ok; i++)
    ok = add_stage(me->original, PyTuple_GetItem(stages, i));
  if (ok) return (PyObject *)me;
  Py_DECREF(me);
  return NULL;
}

static void chain_dealloc(PyObject *self) {
  chain *me = (chain *)self;
  PyTypeObject *type = Py_TYPE(self);
  if (me->generation == fc_py_generation) {
    Py_BEGIN_ALLOW_THREADS;
    for (guint i = 0; i < me->idle->len; i++) fc_chain_free(me->idle->pdata[i]);
    Py_END_ALLOW_THREADS;
  }
  g_ptr_array_free(me->idle, TRUE);
  Py_XDECREF(me->kept);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

/* The names of the operators. */
static PyObject *chain_operators(PyObject *self, void *closure) {
  const chain *me = (const chain *)self;
  PyObject *names = PyTuple_New(fc_chain_length(me->original));
  for (guint i = 0; names && i < fc_chain_length(me->original); i++)
    PyTuple_SetItem(names, i, PyUnicode_FromString(fc_chain_operator(me->original, i)->name));
  return names;
}

#define METHOD(name, function)                                                                               \
  { name, (PyCFunction)(void (*)(void))function, METH_VARARGS | METH_KEYWORDS, NULL }
static PyMethodDef chain_methods[] = {METHOD("_load", chain_load),
                                      METHOD("_save", chain_save),
                                      METHOD("_run_file", chain_run_file),
                                      METHOD("_run_files", chain_run_files),
                                      METHOD("_format", chain_format),
                                      METHOD("_run", chain_run),
                                      {"_check", chain_check, METH_NOARGS, NULL},
                                      {0}};
static PyGetSetDef chain_fields[] = {
    {"operators", chain_operators, NULL, "The names of its operators.", NULL}, {0}};
static PyType_Slot chain_slots[] = {{Py_tp_new, chain_new},       {Py_tp_dealloc, chain_dealloc},
                                    {Py_tp_call, chain_call},     {Py_tp_methods, chain_methods},
                                    {Py_tp_getset, chain_fields}, {0}};
static PyType_Spec chain_spec = {"filterchain._filterchain.Chain", sizeof(chain), 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, chain_slots};

gboolean fc_py_chain_init(PyObject *module) {
  chain_type = (PyTypeObject *)PyType_FromSpec(&chain_spec);
  return chain_type && PyModule_AddObjectRef(module, "Chain", (PyObject *)chain_type) == 0;
}
