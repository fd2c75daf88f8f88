/* SPDX-License-Identifier: MIT */
/*
 * operators.c - the operators' descriptors as dicts; and operators implemented by Python functions, for
 * experiments: on the CPU, under the interpreter's lock, on copies of their input.
 */
#include "python/binding.h"

#include <string.h>

/* Puts a value into a dict and releases the reference; FALSE with an exception. */
static gboolean put(PyObject *dict, const char *name, PyObject *value) {
  gboolean ok = dict && value && PyDict_SetItemString(dict, name, value) == 0;
  Py_XDECREF(value);
  return ok;
}

static PyObject *text(const char *value) {
  if (!value) Py_RETURN_NONE;
  return PyUnicode_FromString(value);
}

/* Appends and releases the reference; clears the list on failure. */
static void append(PyObject **list, PyObject *item) {
  if (*list && (!item || PyList_Append(*list, item) < 0)) Py_CLEAR(*list);
  Py_XDECREF(item);
}

static PyObject *choices_of(const fc_param *param) {
  PyObject *list = PyList_New(0);
  for (const fc_choice *const *c = param->choices; c && *c; c++)
    if ((*c)->value != FC_REFUSED) append(&list, Py_BuildValue("(sN)", (*c)->name, text((*c)->doc)));
  return list;
}

static PyObject *limit(const fc_param *param, unsigned which) {
  const fc_limits *l = param->limits;
  const gboolean least = which == FC_LIMIT_MIN;
  if (!l || !(l->flags & which)) Py_RETURN_NONE;
  if (param->type == FC_INT) return PyLong_FromLongLong(least ? l->int_min : l->int_max);
  return PyFloat_FromDouble(least ? l->min : l->max);
}

static PyObject *describe_param(const fc_param *param) {
  static const char *const types[] = {"bool", "int", "float", "enum", "str", "table", "input", "path"};
  PyObject *dict = PyDict_New();
  if (put(dict, "name", text(param->name)) && put(dict, "type", text(types[param->type])) &&
      put(dict, "doc", text(param->doc)) && put(dict, "unit", text(param->unit)) &&
      put(dict, "default", text(param->preset)) && put(dict, "min", limit(param, FC_LIMIT_MIN)) &&
      put(dict, "max", limit(param, FC_LIMIT_MAX)) && put(dict, "choices", choices_of(param)) &&
      put(dict, "main", PyBool_FromLong(param->flags & FC_PARAM_MAIN)) &&
      put(dict, "required", PyBool_FromLong((param->flags & FC_PARAM_REQUIRED) != 0)) &&
      put(dict, "list", PyBool_FromLong((param->flags & FC_PARAM_LIST) != 0)))
    return dict;
  Py_XDECREF(dict);
  return NULL;
}

static PyObject *describe(const fc_operator *op) {
  PyObject *dict = PyDict_New(), *params = PyList_New(0), *examples = PyList_New(0), *kinds = PyList_New(0);
  PyObject *docs = PyList_New(0);
  static const char *const names[] = {"audio", "image", "array"};
  for (guint i = 0; i < op->n_params; i++) append(&params, describe_param(op->params[i]));
  for (const char *const *e = op->examples; e && *e; e++) append(&examples, text(*e));
  for (const char *const *e = op->example_docs; e && *e; e++) append(&docs, text(*e));
  for (int k = 0; k < FC_KIND_COUNT; k++)
    if (op->kinds & FC_KIND_BIT(k)) append(&kinds, text(names[k]));
  gboolean ok = put(dict, "name", text(op->name));
  ok = put(dict, "summary", text(op->summary)) && ok;
  ok = put(dict, "doc", text(op->doc)) && ok;
  ok = put(dict, "params", params) && ok;
  ok = put(dict, "examples", examples) && ok;
  ok = put(dict, "example_docs", docs) && ok;
  ok = put(dict, "kinds", kinds) && ok;
  ok = put(dict, "cuda", PyBool_FromLong(fc_backend_for(op, FC_KIND_CUDA) != NULL)) && ok;
  ok = put(dict, "generator", PyBool_FromLong((op->flags & FC_OP_GENERATOR) != 0)) && ok;
  ok = put(dict, "measures", PyBool_FromLong(op->report != NULL)) && ok;
  if (!ok) Py_CLEAR(dict);
  return dict;
}

PyObject *fc_py_operators(PyObject *module, PyObject *none) {
  gsize count;
  const fc_operator **all;
  Py_BEGIN_ALLOW_THREADS;
  all = fc_context_operators(fc_py_context(), &count);
  Py_END_ALLOW_THREADS;
  PyObject *list = PyList_New(0);
  for (gsize i = 0; i < count; i++) append(&list, describe(all[i]));
  g_free(all);
  return list;
}

/* ---- operators implemented in Python ------------------------------------------- */

#define VALUES_MOST 16

/*
 * Such an operator lives as long as the process. Its declaration is permanent; the function may be replaced
 * by another one with the same parameters, for chains created afterwards.
 */
typedef struct own_operator {
  fc_plugin plugin;
  fc_operator op;
  const fc_operator *operators[1];
  const fc_param *param_list[VALUES_MOST + 1];
  fc_param params[VALUES_MOST];
  const char *examples[2];
  PyObject *description; /* a dict, which owns the strings above */
  gint64 halo[FC_AXES][2];
  int border; /* fc_border, or -1: reflect101 for images, zero for others */
} own_operator;

static GHashTable *own_operators; /* keyed by name; guarded by the interpreter's lock */

/* An instance: function, halo and border at its creation, and the values of its parameters. */
typedef struct own_instance {
  PyObject *function;
  PyObject *values; /* a dict */
  gint64 halo[FC_AXES][2];
  int border;
} own_instance;

static PyObject *value_of(const fc_param *param, const fc_arg *arg) {
  switch (param->type) {
  case FC_BOOL: return PyBool_FromLong(arg->ints[0] != 0);
  case FC_INT: return PyLong_FromLongLong(arg->ints[0]);
  case FC_FLOAT: return PyFloat_FromDouble(arg->floats[0]);
  default: return PyUnicode_FromString(arg->text);
  }
}

static void own_destroy(void *self) {
  own_instance *me = self;
  if (!me) return;
  PyGILState_STATE state = PyGILState_Ensure();
  Py_XDECREF(me->function);
  Py_XDECREF(me->values);
  PyGILState_Release(state);
  g_free(me);
}

/* create is not told which operator it is, but the library knows whose callback this thread runs. */
static fc_status own_create(const fc_host *host, const fc_arg *const *args, void **self) {
  own_instance *me = g_new0(own_instance, 1);
  PyGILState_STATE state = PyGILState_Ensure();
  const own_operator *of = g_hash_table_lookup(own_operators, fc_running_operator());
  me->border = of->border, me->values = PyDict_New();
  memcpy(me->halo, of->halo, sizeof me->halo);
  me->function = Py_NewRef(PyDict_GetItemString(of->description, "function"));
  gboolean ok = TRUE;
  for (guint i = 0; i < of->op.n_params && ok; i++)
    ok = put(me->values, of->params[i].name, value_of(&of->params[i], args[i]));
  if (!ok) PyErr_Clear();
  PyGILState_Release(state);
  if (ok)
    *self = me;
  else
    own_destroy(me);
  return ok ? FC_OK : FC_NO_MEMORY;
}

static fc_status own_negotiate(const fc_host *host, void *self, fc_terms *terms) {
  const own_instance *of = self;
  const int kind = terms->in[0]->kind;
  fc_need *need = terms->needs[0];
  need->border = of->border >= 0 ? of->border : kind == FC_IMAGE ? FC_BORDER_REFLECT101 : FC_BORDER_ZERO;
  for (int a = FC_AXIS_Y; a <= FC_AXIS_X; a++)
    if (kind != FC_AUDIO || a == FC_AXIS_X)
      need->reach[a].before = of->halo[a][0], need->reach[a].after = of->halo[a][1];
  need->reach[FC_AXIS_C].before = need->reach[FC_AXIS_C].after = FC_WHOLE;
  return FC_OK;
}

/* One sound, or one image of a batch, as an Array that borrows it, including its `halo`. */
static PyObject *lend_view(const fc_view *v, gint64 n, const gint64 halo[FC_AXES][2]) {
  static const gint64 none[FC_AXES][2];
  static const int axes[] = {FC_AXIS_Y, FC_AXIS_X, FC_AXIS_C};
  const int first = v->kind == FC_AUDIO ? 1 : 0;
  samples s = {.view = *v, .ndim = 3 - first, .readonly = halo != NULL};
  if (!halo) halo = none;
  char *data = (char *)v->data + n * v->stride[FC_AXIS_N];
  for (int i = first; i < 3; i++) {
    const int a = axes[i];
    data -= halo[a][0] * v->stride[a];
    s.shape[i - first] = (Py_ssize_t)(v->shape[a] + halo[a][0] + halo[a][1]);
    s.strides[i - first] = (Py_ssize_t)v->stride[a];
    s.layout[i - first] = "yxc"[i];
  }
  s.view.data = data;
  return fc_py_array_borrow(&s, Py_None);
}

/* The message of the pending exception: "ValueError: ..."; g_free. */
static char *take_sentence(void) {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  PyObject *said = value ? PyObject_CallMethod(fc_py_helpers, "sentence", "O", value) : NULL;
  const char *utf8 = said ? PyUnicode_AsUTF8AndSize(said, NULL) : NULL;
  char *sentence = g_strdup(utf8 ? utf8 : "the function failed");
  PyErr_Clear();
  Py_XDECREF(said);
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(trace);
  return sentence;
}

static fc_status own_process(const fc_host *host, const void *state, const fc_job *job) {
  const own_instance *me = state;
  PyGILState_STATE lock = PyGILState_Ensure();
  gint64 halo[FC_AXES][2];
  memcpy(halo, me->halo, sizeof halo);
  if (job->out->kind == FC_AUDIO) halo[FC_AXIS_Y][0] = halo[FC_AXIS_Y][1] = 0;
  gboolean ok = TRUE;
  for (gint64 n = 0; n < job->out->shape[FC_AXIS_N] && ok; n++) {
    PyObject *in = lend_view(job->in[0], n, halo), *out = lend_view(job->out, n, NULL);
    PyObject *done =
        in && out ? PyObject_CallMethod(fc_py_helpers, "apply", "OOOO", me->function, in, out, me->values)
                  : NULL;
    ok = done != NULL;
    Py_XDECREF(done);
    Py_XDECREF(in);
    Py_XDECREF(out);
  }
  g_autofree char *why = ok ? NULL : take_sentence();
  PyGILState_Release(lock);
  return ok ? FC_OK : host->fail(host, FC_INVALID, "%s", why);
}

static const fc_backend own_cpu = {
    .size = sizeof(fc_backend), .device_kind = FC_KIND_HOST, .process = own_process};
static const fc_backend *const own_backends[] = {&own_cpu, NULL};

/* A text owned by a dict; NULL with an exception. */
static const char *text_of(PyObject *dict, const char *name) {
  PyObject *value = PyDict_GetItemString(dict, name);
  if (value) return fc_py_text(value);
  PyErr_Format(PyExc_KeyError, "%s", name);
  return NULL;
}

static long number_of(PyObject *dict, const char *name) {
  PyObject *value = PyDict_GetItemString(dict, name);
  return value ? PyLong_AsLong(value) : -1;
}

/* params: a list of (name, fc_param_type, doc, preset) */
static gboolean take_params(own_operator *own) {
  PyObject *list = PyDict_GetItemString(own->description, "params");
  const Py_ssize_t n = list ? PyList_Size(list) : -1;
  if (n > VALUES_MOST)
    PyErr_Format(fc_py_errors[FC_INVALID], "an operator of more than %d parameters", VALUES_MOST);
  if (n < 0 || n > VALUES_MOST) return FALSE;
  for (Py_ssize_t i = 0; i < n; i++) {
    fc_param *p = &own->params[i];
    int type;
    if (!PyArg_ParseTuple(PyList_GetItem(list, i), "siss", &p->name, &type, &p->doc, &p->preset))
      return FALSE;
    p->size = sizeof *p, p->type = type, p->flags = i == 0 ? FC_PARAM_MAIN : 0;
    own->param_list[i] = p;
  }
  own->op.n_params = (uint32_t)n, own->op.params = own->param_list;
  return TRUE;
}

static gboolean take_halo(own_operator *own) {
  PyObject *halo = PyDict_GetItemString(own->description, "halo");
  long long y0, y1, x0, x1;
  if (!halo || !PyArg_ParseTuple(halo, "LLLL", &y0, &y1, &x0, &x1)) return FALSE;
  const gint64 all[FC_AXES][2] = {{0, 0}, {y0, y1}, {x0, x1}, {0, 0}};
  memcpy(own->halo, all, sizeof all);
  own->border = (int)number_of(own->description, "border");
  return !PyErr_Occurred();
}

static gboolean describe_own(own_operator *own) {
  fc_operator *op = &own->op;
  op->size = sizeof *op, op->flags = FC_OP_KEEPS_MEANING;
  op->name = text_of(own->description, "name"), op->summary = text_of(own->description, "summary");
  op->doc = text_of(own->description, "doc");
  own->examples[0] = op->name, op->examples = own->examples;
  op->kinds = (uint32_t)number_of(own->description, "kinds");
  op->dtypes_in = op->dtypes_out = FC_DTYPES_FLOAT;
  op->create = own_create, op->destroy = own_destroy, op->negotiate = own_negotiate,
  op->backends = own_backends;
  own->operators[0] = op;
  own->plugin = (fc_plugin){sizeof own->plugin, FC_PLUGIN_ABI, op->name, "1", "this program", "MIT", "", 1,
                            own->operators};
  return op->name && op->summary && op->doc && take_params(own) && take_halo(own) && !PyErr_Occurred();
}

gboolean fc_py_add_own_operators(fc_context *context, GError **error) {
  GHashTableIter all;
  gpointer own;
  if (!own_operators) return TRUE;
  g_hash_table_iter_init(&all, own_operators);
  while (g_hash_table_iter_next(&all, NULL, &own))
    if (!fc_context_add_plugin(context, &((own_operator *)own)->plugin, error)) return FALSE;
  return TRUE;
}

/* With the same parameters the function is replaced, for chains created later. */
static PyObject *replace(own_operator *old, own_operator *new) {
  gboolean same = old->op.n_params == new->op.n_params && old->op.kinds == new->op.kinds;
  for (guint i = 0; i < old->op.n_params && same; i++)
    same = strcmp(old->params[i].name, new->params[i].name) == 0 &&
           old->params[i].type ==
               new->params[i].type &&strcmp(old->params[i].preset, new->params[i].preset) == 0;
  if (!same) {
    PyErr_Format(fc_py_errors[FC_INVALID], "operator \"%s\" has other parameters or kinds: take another name",
                 old->op.name);
    return NULL;
  }
  memcpy(old->halo, new->halo, sizeof old->halo);
  old->border = new->border;
  PyObject *function = PyDict_GetItemString(new->description, "function");
  if (!function || PyDict_SetItemString(old->description, "function", function) < 0) return NULL;
  Py_RETURN_NONE;
}

static PyObject *add(own_operator *own) {
  GError *error = NULL;
  gboolean ok;
  if (!own_operators) own_operators = g_hash_table_new(g_str_hash, g_str_equal);
  own_operator *old = g_hash_table_lookup(own_operators, own->op.name);
  if (old) {
    PyObject *done = replace(old, own);
    Py_DECREF(own->description);
    g_free(own);
    return done;
  }
  fc_context *context = fc_py_context();
  Py_BEGIN_ALLOW_THREADS;
  ok = fc_context_add_plugin(context, &own->plugin, &error);
  Py_END_ALLOW_THREADS;
  if (ok) {
    g_hash_table_insert(own_operators, (gpointer)own->op.name, own);
    Py_RETURN_NONE;
  }
  Py_DECREF(own->description);
  g_free(own);
  return fc_py_raise(error);
}

PyObject *fc_py_add_operator(PyObject *module, PyObject *description) {
  own_operator *own = g_new0(own_operator, 1);
  own->description = PyDict_Copy(description);
  if (own->description && describe_own(own)) return add(own);
  Py_XDECREF(own->description);
  g_free(own);
  return NULL;
}
