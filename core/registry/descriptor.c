/* SPDX-License-Identifier: MIT */
/*
 * descriptor.c - see descriptor.h. Copying and checking are separate passes: the copy relies only on the
 * sizes it compares; the check then reads only full-sized structs. Both need memory in proportion to the size
 * of the plugin's own data.
 */
#include "core/registry/descriptor.h"

#include "core/registry/params.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

/* Far above any real plugin; they end the reading of garbage early. */
#define OPERATORS_MOST 1024u
#define PARAMS_MOST    256u
#define LIST_MOST      1024u
#define STRUCT_LARGEST 65536u

#define NAME_LONGEST 63
#define ID_LONGEST   255
#define TEXT_LONGEST 65536

/* Offset of the end of the last field that a struct must have in version 1. */
#define SIZE_TO(type, field) (G_STRUCT_OFFSET(type, field) + sizeof(((type *)0)->field))

/* ---- copying ----------------------------------------------------------- */

/* Everything that belongs to one copy, freed together. The plugin comes first. */
typedef struct copy {
  fc_plugin plugin;
  GPtrArray *blocks;
} copy;

/* A copied operator, and its original. */
typedef struct kept_operator {
  fc_operator pub;
  const fc_operator *origin;
  struct copy *owner;
  const fc_linear *linear; /* with a copy of its operator; NULL: it has none, or one that is not valid */
  gboolean asked;          /* for it */
} kept_operator;

static gpointer new_block(copy *c, gsize bytes) {
  gpointer block = g_malloc0(bytes);
  g_ptr_array_add(c->blocks, block);
  return block;
}

static gboolean check_size(const void *from, gsize least, const char *type, GError **error) {
  if (!from) return fc_fail(error, FC_INVALID, "%s is missing (NULL)", type);
  guint32 size = *(const guint32 *)from;
  if (size >= least && size <= STRUCT_LARGEST) return TRUE;
  return fc_fail(error, FC_INVALID, "%s has impossible size %u", type, size);
}

/* A full-sized copy of a struct that begins with its size, followed by `more` bytes of ours. */
static gpointer copy_struct(copy *c, const void *from, gsize least, gsize full, gsize more, const char *type,
                            GError **error) {
  if (!check_size(from, least, type, error)) return NULL;
  gpointer to = new_block(c, full + more);
  memcpy(to, from, MIN(*(const guint32 *)from, full));
  *(guint32 *)to = (guint32)full;
  return to;
}

/* The number of entries before the NULL; LIST_MOST + 1 for a list without an end. */
static guint list_length(const void *const *list) {
  guint n = 0;
  while (list && n <= LIST_MOST && list[n]) n++;
  return n;
}

static const char *text_or_empty(const char *text) {
  return text ? text : "";
}

static const fc_choice *const *copy_choices(copy *c, const fc_choice *const *from, GError **error) {
  guint n = list_length((const void *const *)from);
  if (n > LIST_MOST) {
    fc_fail(error, FC_INVALID, "its list of choices has no end");
    return NULL;
  }
  const fc_choice **to = new_block(c, (n + 1) * sizeof *to);
  for (guint i = 0; i < n; i++) {
    fc_choice *choice =
        copy_struct(c, from[i], SIZE_TO(fc_choice, name), sizeof *choice, 0, "fc_choice", error);
    if (!choice) return NULL;
    choice->doc = text_or_empty(choice->doc);
    to[i] = choice;
  }
  return to;
}

/* A list of texts, whose strings are not copied; NULL becomes an empty list. */
static const char *const *copy_texts(copy *c, const char *const *from, const char *what, GError **error) {
  guint n = list_length((const void *const *)from);
  if (n > LIST_MOST) {
    fc_fail(error, FC_INVALID, "its list of %s has no end", what);
    return NULL;
  }
  const char **to = new_block(c, (n + 1) * sizeof *to);
  for (guint i = 0; i < n; i++) to[i] = from[i];
  return to;
}

static gboolean copy_limits(copy *c, fc_param *param, GError **error) {
  if (!param->limits) return TRUE;
  param->limits =
      copy_struct(c, param->limits, SIZE_TO(fc_limits, max), sizeof(fc_limits), 0, "fc_limits", error);
  return param->limits != NULL;
}

static const fc_param *copy_param(copy *c, const fc_param *from, GError **error) {
  fc_param *param = copy_struct(c, from, SIZE_TO(fc_param, preset), sizeof *param, 0, "fc_param", error);
  if (!param) return NULL;
  param->doc = text_or_empty(param->doc);
  param->choices = copy_choices(c, param->choices, error);
  if (param->choices) param->aliases = copy_texts(c, param->aliases, "aliases", error);
  return param->choices && param->aliases && copy_limits(c, param, error) ? param : NULL;
}

static gboolean copy_params(copy *c, fc_operator *op, GError **error) {
  const fc_param *const *from = op->params;
  if (op->n_params > PARAMS_MOST || (op->n_params > 0 && !from))
    return fc_fail(error, FC_INVALID, "%u parameters are announced, but not there", op->n_params);
  const fc_param **to = new_block(c, (op->n_params + 1) * sizeof *to);
  op->params = to;
  for (guint i = 0; i < op->n_params; i++) {
    to[i] = copy_param(c, from[i], error);
    if (to[i]) continue;
    g_prefix_error(error, "parameter %u: ", i + 1);
    return FALSE;
  }
  return TRUE;
}

static const fc_backend *copy_backend(copy *c, const fc_backend *from, GError **error) {
  return copy_struct(c, from, SIZE_TO(fc_backend, process), sizeof(fc_backend), 0, "fc_backend", error);
}

/* The backends for kinds of device that this host knows. */
static gboolean copy_backends(copy *c, fc_operator *op, GError **error) {
  const fc_backend *const *from = op->backends;
  guint n = list_length((const void *const *)from), kept = 0;
  if (n > LIST_MOST) return fc_fail(error, FC_INVALID, "its list of backends has no end");
  const fc_backend **to = new_block(c, (n + 1) * sizeof *to);
  op->backends = to;
  for (guint i = 0; i < n; i++) {
    const fc_backend *backend = copy_backend(c, from[i], error);
    if (!backend) return FALSE;
    if (backend->device_kind <= FC_KIND_CUDA) to[kept++] = backend;
  }
  if (n > 0 && kept == 0)
    return fc_fail(error, FC_UNSUPPORTED, "none of its backends is for a device known here");
  if (op->reference && !(op->reference = copy_backend(c, op->reference, error))) return FALSE;
  return TRUE;
}

static const fc_linear *linear_of(kept_operator *kept);

/* The plugin's function is called with the plugin's own operator: it may distinguish operators by address. */
static const void *ask_extension(const fc_operator *op, const char *name) {
  kept_operator *kept = (kept_operator *)op;
  if (strcmp(name, FC_LINEAR) == 0) return linear_of(kept);
  return kept->origin->extension(kept->origin, name);
}

static const fc_operator *copy_operator(copy *c, const fc_operator *from, GError **error) {
  kept_operator *kept = copy_struct(c, from, SIZE_TO(fc_operator, backends), sizeof(fc_operator),
                                    sizeof *kept - sizeof(fc_operator), "fc_operator", error);
  if (!kept) return NULL;
  fc_operator *op = &kept->pub;
  kept->origin = from, kept->owner = c;
  op->doc = text_or_empty(op->doc);
  /* A plugin of a later version may know more kinds and types than this host. */
  op->kinds &= FC_KINDS_ALL;
  op->dtypes_in &= FC_DTYPES_ALL;
  op->dtypes_out &= FC_DTYPES_ALL;
  if (op->flags & FC_OP_PASSTHROUGH) op->flags |= FC_OP_KEEPS_DTYPE | FC_OP_KEEPS_MEANING;
  if (op->extension) op->extension = ask_extension;
  op->examples = copy_texts(c, op->examples, "examples", error);
  op->example_docs = copy_texts(c, op->example_docs, "example_docs", error);
  op->example_commands = copy_texts(c, op->example_commands, "example_commands", error);
  op->keywords = copy_texts(c, op->keywords, "keywords", error);
  return op->examples && op->example_docs && op->example_commands && op->keywords &&
                 copy_params(c, op, error) && copy_backends(c, op, error)
             ? op
             : NULL;
}

/* ---- checking ---------------------------------------------------------- */

static const char *kind_name(int kind) {
  return kind == FC_KIND_HOST ? "cpu" : kind == FC_KIND_CUDA ? "cuda" : "?";
}

gboolean fc_is_name(const char *text) {
  if (!text || !g_ascii_islower(*text)) return FALSE;
  gsize n = 0;
  while (n <= NAME_LONGEST && (g_ascii_islower(text[n]) || g_ascii_isdigit(text[n]) || text[n] == '_')) n++;
  return n <= NAME_LONGEST && !text[n];
}

/* "org.example.echo": without a '/' or ':', since a qualified name is "id/operator" in a stage. */
static gboolean is_id(const char *text) {
  gsize n = text ? strnlen(text, ID_LONGEST + 1) : 0;
  for (gsize i = 0; i < n; i++)
    if (!g_ascii_isalnum(text[i]) && !strchr("_-+.", text[i])) return FALSE;
  return n > 0 && n <= ID_LONGEST;
}

/* UTF-8, and either exactly one non-empty line, or any number of lines, possibly none. */
static gboolean check_text(const char *text, gboolean one_line, const char *what, GError **error) {
  if (!text || (one_line && !*text)) return fc_fail(error, FC_INVALID, "%s is missing", what);
  gsize length = strnlen(text, TEXT_LONGEST);
  if (length == TEXT_LONGEST || !g_utf8_validate(text, (gssize)length, NULL))
    return fc_fail(error, FC_INVALID, "%s is not UTF-8 text", what);
  for (const char *p = text; *p; p++)
    if ((guchar)*p < 0x20 && (one_line || (*p != '\n' && *p != '\t')))
      return fc_fail(error, FC_INVALID, "%s holds a control character", what);
  return TRUE;
}

static gboolean is_choice_name(const char *text) {
  gsize n = text ? strnlen(text, NAME_LONGEST + 1) : 0;
  if (n == 0 || n > NAME_LONGEST) return FALSE;
  for (; *text; text++)
    if (!g_ascii_isalnum(*text) && !strchr("_-+.", *text)) return FALSE;
  return TRUE;
}

static gboolean check_choices(const fc_param *param, GError **error) {
  guint taken = 0;
  for (guint i = 0; param->choices[i]; i++) {
    const fc_choice *choice = param->choices[i];
    if (!is_choice_name(choice->name))
      return fc_fail(error, FC_INVALID, "choice %u has no valid name", i + 1);
    if (!check_text(choice->doc, FALSE, "doc of a choice", error)) return FALSE;
    for (guint j = 0; j < i; j++)
      if (strcmp(choice->name, param->choices[j]->name) == 0)
        return fc_fail(error, FC_INVALID, "choice \"%s\" is defined twice", choice->name);
    taken += choice->value != FC_REFUSED;
    if (choice->value == FC_REFUSED && !*choice->doc)
      return fc_fail(error, FC_INVALID, "choice \"%s\" is refused without a reason", choice->name);
  }
  if (param->type == FC_ENUM && taken == 0) return fc_fail(error, FC_INVALID, "a choice without choices");
  if (param->type != FC_ENUM && param->choices[0])
    return fc_fail(error, FC_INVALID, "choices, but its type is %s", fc_param_type_name(param));
  return TRUE;
}

/* The upper half of a flag word may be ignored. */
static gboolean check_flags(guint32 flags, guint32 known, GError **error) {
  guint32 unknown = flags & ~known & ~FC_FLAG_IGNORABLE;
  return !unknown || fc_fail(error, FC_UNSUPPORTED, "unknown flags 0x%x", unknown);
}

static gboolean check_param_flags(const fc_param *param, GError **error) {
  static const struct {
    guint flag, types;
    const char *name;
  } only[] = {
      {FC_PARAM_LIST, 1u << FC_BOOL | 1u << FC_INT | 1u << FC_FLOAT | 1u << FC_ENUM, "FC_PARAM_LIST"},
      {FC_PARAM_DECIBEL, 1u << FC_FLOAT, "FC_PARAM_DECIBEL"},
      {FC_PARAM_MASK, 1u << FC_TABLE, "FC_PARAM_MASK"},
  };
  guint known = FC_PARAM_MAIN | FC_PARAM_REQUIRED | FC_PARAM_LIST | FC_PARAM_DECIBEL | FC_PARAM_MASK;
  if (!check_flags(param->flags, known, error)) return FALSE;
  for (guint i = 0; i < G_N_ELEMENTS(only); i++)
    if ((param->flags & only[i].flag) && !(only[i].types & 1u << param->type))
      return fc_fail(error, FC_INVALID, "%s does not go with type %s", only[i].name,
                     fc_param_type_name(param));
  if ((param->flags & FC_PARAM_REQUIRED) && param->preset)
    return fc_fail(error, FC_INVALID, "required, and yet it has a preset");
  if (param->type == FC_INPUT && param->preset)
    return fc_fail(error, FC_INVALID, "an input, and yet it has a preset");
  return TRUE;
}

static gboolean check_limits(const fc_param *param, GError **error) {
  const fc_limits *l = param->limits;
  if (!l) return TRUE;
  if (param->type != FC_INT && param->type != FC_FLOAT)
    return fc_fail(error, FC_INVALID, "limits do not go with type %s", fc_param_type_name(param));
  if (!check_flags(l->flags, FC_LIMIT_MIN | FC_LIMIT_MAX, error)) return FALSE;
  gboolean both = (l->flags & FC_LIMIT_MIN) && (l->flags & FC_LIMIT_MAX);
  gboolean empty = param->type == FC_INT ? both && l->int_min > l->int_max
                                         : isnan(l->min) || isnan(l->max) || (both && l->min > l->max);
  return !empty || fc_fail(error, FC_INVALID, "its range is empty");
}

static gboolean check_param(const fc_param *param, GError **error) {
  if (param->type < FC_BOOL || param->type > FC_PATH)
    return fc_fail(error, FC_UNSUPPORTED, "unknown type %d", param->type);
  if (!check_param_flags(param, error) || !check_text(param->doc, FALSE, "doc", error)) return FALSE;
  if (param->unit && *param->unit && !check_text(param->unit, TRUE, "unit", error)) return FALSE;
  if (param->deprecated && !check_text(param->deprecated, TRUE, "deprecated", error)) return FALSE;
  if (!check_limits(param, error) || !check_choices(param, error)) return FALSE;
  if (param->preset && !check_text(param->preset, FALSE, "preset", error)) return FALSE;
  return fc_param_check_preset(param, error);
}

/* How often a name occurs among the names and aliases of the parameters before `end`, and as that of the
 * operator. */
static guint count_name(const fc_operator *op, guint end, const char *name) {
  guint count = 0;
  for (guint i = 0; i <= end; i++) {
    const fc_param *param = op->params[i];
    count += strcmp(param->name, name) == 0;
    for (const char *const *alias = param->aliases; *alias; alias++) count += strcmp(*alias, name) == 0;
  }
  return count;
}

static gboolean check_names(const fc_operator *op, guint i, GError **error) {
  const fc_param *param = op->params[i];
  if (!fc_is_name(param->name))
    return fc_fail(error, FC_INVALID, "parameter %u has no valid name ([a-z][a-z0-9_]*)", i + 1);
  for (const char *const *alias = param->aliases; *alias; alias++)
    if (!fc_is_name(*alias))
      return fc_fail(error, FC_INVALID, "an alias of parameter \"%s\" is not a valid name", param->name);
  if (count_name(op, i, param->name) > 1)
    return fc_fail(error, FC_INVALID, "parameter \"%s\" is defined twice", param->name);
  for (const char *const *alias = param->aliases; *alias; alias++)
    if (count_name(op, i, *alias) > 1)
      return fc_fail(error, FC_INVALID, "parameter \"%s\" is defined twice", *alias);
  return TRUE;
}

static gboolean check_params(const fc_operator *op, GError **error) {
  guint mains = 0;
  for (guint i = 0; i < op->n_params; i++) {
    const fc_param *param = op->params[i];
    if (!check_names(op, i, error)) return FALSE;
    if (!check_param(param, error)) {
      g_prefix_error(error, "parameter \"%s\": ", param->name);
      return FALSE;
    }
    if (param->type == FC_INPUT && (op->flags & FC_OP_GENERATOR))
      return fc_fail(error, FC_INVALID, "a generator takes no input, but parameter \"%s\" is one",
                     param->name);
    if ((param->flags & FC_PARAM_MAIN) && ++mains > 1)
      return fc_fail(error, FC_INVALID, "more than one main parameter");
  }
  return TRUE;
}

static gboolean check_backend(const fc_backend *backend, const char *name, GError **error) {
  const uint32_t known = FC_BACKEND_GRAPH | FC_BACKEND_EDGES | FC_BACKEND_SHAPED | FC_BACKEND_INSIDE;
  if (!backend->process) return fc_fail(error, FC_INVALID, "its %s backend has no process", name);
  if (check_flags(backend->flags, known, error)) return TRUE;
  g_prefix_error(error, "its %s backend: ", name);
  return FALSE;
}

static gboolean check_backends(const fc_operator *op, GError **error) {
  guint kinds = 0;
  if (!op->backends[0]) return fc_fail(error, FC_INVALID, "it has no backend");
  for (const fc_backend *const *b = op->backends; *b; b++) {
    const char *name = kind_name((int)(*b)->device_kind);
    if (kinds & 1u << (*b)->device_kind) return fc_fail(error, FC_INVALID, "it has two %s backends", name);
    kinds |= 1u << (*b)->device_kind;
    if (!check_backend(*b, name, error)) return FALSE;
  }
  return !op->reference || check_backend(op->reference, "reference", error);
}

/* Checks that flags and callbacks do not contradict each other. */
static gboolean check_behaviour(const fc_operator *op, GError **error) {
  const guint32 known = FC_OP_KEEPS_DTYPE | FC_OP_PASSTHROUGH | FC_OP_NOISE | FC_OP_KEEPS_MEANING |
                        FC_OP_GENERATOR | FC_OP_TWO_PASSES | FC_OP_SURVEYS;
  gboolean generates = (op->flags & FC_OP_GENERATOR) != 0;
  if (!check_flags(op->flags, known, error)) return FALSE;
  if (!op->kinds) return fc_fail(error, FC_INVALID, "it takes no kind of media");
  if ((!op->dtypes_in && !generates) || !op->dtypes_out)
    return fc_fail(error, FC_INVALID, "it takes or makes no element type");
  if (generates && (op->flags & (FC_OP_KEEPS_DTYPE | FC_OP_KEEPS_MEANING)))
    return fc_fail(error, FC_INVALID, "a generator has no input to keep anything of");
  if (generates && !op->negotiate)
    return fc_fail(error, FC_INVALID, "a generator without negotiate does not say what it makes");
  if ((op->collect == NULL) != (op->report == NULL) && !(op->flags & FC_OP_SURVEYS))
    return fc_fail(error, FC_INVALID, "collect and report go together, one is missing");
  if ((op->flags & FC_OP_TWO_PASSES) && (generates || !op->report || !op->extension))
    return fc_fail(error, FC_INVALID,
                   "an operator of two passes measures a signal and has an extension for it");
  return TRUE;
}

/* Texts that accompany the examples: one each, or none. */
static gboolean check_beside(const fc_operator *op, const char *const *texts, const char *what,
                             GError **error) {
  const guint n = list_length((const void *const *)texts),
              wanted = list_length((const void *const *)op->examples);
  for (guint i = 0; i < n; i++)
    if (!check_text(texts[i], FALSE, what, error)) return FALSE;
  return n == 0 || n == wanted
             ? TRUE
             : fc_fail(error, FC_INVALID, "%u texts in %s for %u examples", n, what, wanted);
}

/* "volume", or "negative=levels:...". */
static gboolean check_keywords(const fc_operator *op, GError **error) {
  for (const char *const *k = op->keywords; *k; k++) {
    if (!check_text(*k, TRUE, "keyword", error)) return FALSE;
    g_autofree char *word = g_strndup(*k, strcspn(*k, "="));
    if (!fc_is_name(word)) return fc_fail(error, FC_INVALID, "keyword \"%s\" is not a valid name", word);
  }
  return TRUE;
}

static gboolean check_operator(const fc_operator *op, GError **error) {
  if (!check_text(op->summary, TRUE, "summary", error) || !check_text(op->doc, FALSE, "doc", error))
    return FALSE;
  for (guint i = 0; op->examples[i]; i++)
    if (!check_text(op->examples[i], TRUE, "example", error)) return FALSE;
  if (!check_beside(op, op->example_docs, "example_docs", error) ||
      !check_beside(op, op->example_commands, "example_commands", error))
    return FALSE;
  return check_keywords(op, error) && check_behaviour(op, error) && check_backends(op, error) &&
         check_params(op, error);
}

static gboolean check_plugin(fc_plugin *plugin, GError **error) {
  plugin->author = text_or_empty(plugin->author);
  plugin->license = text_or_empty(plugin->license);
  plugin->url = text_or_empty(plugin->url);
  if (!plugin->id || !*plugin->id) return fc_fail(error, FC_INVALID, "the plugin's id is missing");
  if (!is_id(plugin->id))
    return fc_fail(error, FC_INVALID, "the plugin's id holds something other than letters, digits and _-+.");
  return check_text(plugin->version, TRUE, "the plugin's version", error) &&
         check_text(plugin->author, FALSE, "the plugin's author", error) &&
         check_text(plugin->license, FALSE, "the plugin's license", error) &&
         check_text(plugin->url, FALSE, "the plugin's url", error);
}

/* ---- joined stages ------------------------------------------------------ */

/* A valid copy with a copy of its operator, which itself has none; NULL: it is not valid. */
static const fc_linear *take_linear(copy *c, const fc_linear *from) {
  const guint32 others = FC_OP_PASSTHROUGH | FC_OP_GENERATOR | FC_OP_TWO_PASSES | FC_OP_SURVEYS;
  fc_linear *linear = copy_struct(c, from, SIZE_TO(fc_linear, made), sizeof *linear, 0, "fc_linear", NULL);
  if (!linear || !linear->describe || !linear->make) return NULL;
  kept_operator *made = (kept_operator *)copy_operator(c, linear->made, NULL);
  if (!made || !fc_is_name(made->pub.name) || !check_operator(&made->pub, NULL) || made->pub.flags & others)
    return NULL;
  made->asked = TRUE;
  linear->made = &made->pub;
  return linear;
}

/* Asked for when it is first wanted, not when the plugin is loaded: then the operator is known that crashes.
 */
static const fc_linear *linear_of(kept_operator *kept) {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&mutex);
  const gboolean asked = kept->asked;
  pthread_mutex_unlock(&mutex);
  const fc_linear *from = asked ? NULL : kept->origin->extension(kept->origin, FC_LINEAR);
  pthread_mutex_lock(&mutex);
  if (!kept->asked && from) kept->linear = take_linear(kept->owner, from);
  kept->asked = TRUE;
  const fc_linear *linear = kept->linear;
  pthread_mutex_unlock(&mutex);
  return linear;
}

/* ---- copy and check ---------------------------------------------------- */

/* The name of an operator that may not have a valid one, for messages; g_free. */
static char *describe_operator(const fc_operator *op, guint i) {
  gboolean named = op && op->size >= SIZE_TO(fc_operator, name) && fc_is_name(op->name);
  return named ? g_strdup_printf("operator \"%s\"", op->name) : g_strdup_printf("operator %u", i + 1);
}

static gboolean is_taken(const fc_plugin *plugin, const char *name) {
  for (guint i = 0; i < plugin->n_operators; i++)
    if (strcmp(plugin->operators[i]->name, name) == 0) return TRUE;
  return FALSE;
}

/* A valid operator, copied; NULL with the reason, which names the operator. */
static const fc_operator *take_operator(copy *c, const fc_operator *from, guint place, GError **error) {
  const fc_operator *op = copy_operator(c, from, error);
  if (op && !fc_is_name(op->name))
    fc_fail(error, FC_INVALID, "it has no valid name ([a-z][a-z0-9_]*)");
  else if (op && is_taken(&c->plugin, op->name))
    fc_fail(error, FC_INVALID, "it is defined twice");
  else if (op && check_operator(op, error))
    return op;
  g_autofree char *which = describe_operator(from, place);
  g_prefix_error(error, "%s: ", which);
  return NULL;
}

/* The valid operators; what is wrong with the others goes into `unfit`, of char *. */
static gboolean take_operators(copy *c, GPtrArray *unfit, GError **error) {
  guint n = c->plugin.n_operators;
  const fc_operator *const *from = c->plugin.operators;
  if (n == 0 || n > OPERATORS_MOST || !from)
    return fc_fail(error, FC_INVALID, "%u operators are announced, but not there", n);
  const fc_operator **to = new_block(c, (n + 1) * sizeof *to);
  c->plugin.operators = to;
  c->plugin.n_operators = 0;
  for (guint i = 0; i < n; i++) {
    GError *why = NULL;
    const fc_operator *op = take_operator(c, from[i], i, &why);
    if (op)
      to[c->plugin.n_operators++] = op;
    else
      g_ptr_array_add(unfit, g_strdup(why->message));
    g_clear_error(&why);
  }
  if (c->plugin.n_operators > 0) return TRUE;
  g_ptr_array_add(unfit, NULL);
  g_autofree char *all = g_strjoinv("; ", (char **)unfit->pdata);
  fc_fail(error, FC_INVALID, "%s", all);
  return FALSE;
}

fc_plugin *fc_descriptor_copy(const fc_plugin *plugin, GStrv *unfit, GError **error) {
  if (!check_size(plugin, SIZE_TO(fc_plugin, operators), "fc_plugin", error)) return NULL;
  copy *c = g_new0(copy, 1);
  GPtrArray *left_out = g_ptr_array_new_with_free_func(g_free);
  c->blocks = g_ptr_array_new_with_free_func(g_free);
  memcpy(&c->plugin, plugin, MIN(plugin->size, sizeof *plugin));
  c->plugin.size = sizeof c->plugin;
  gboolean fit = check_plugin(&c->plugin, error) && take_operators(c, left_out, error);
  if (fit && unfit && left_out->len > 0) {
    g_ptr_array_add(left_out, NULL);
    *unfit = (GStrv)g_ptr_array_steal(left_out, NULL);
  }
  g_ptr_array_free(left_out, TRUE);
  if (fit) return &c->plugin;
  fc_descriptor_free(&c->plugin);
  return NULL;
}

void fc_descriptor_free(fc_plugin *plugin) {
  copy *c = (copy *)plugin;
  if (!c) return;
  g_ptr_array_free(c->blocks, TRUE);
  g_free(c);
}
