/* SPDX-License-Identifier: MIT */
/*
 * synthetic.c - see synthetic.h. Samples are computed in double, in one order for each element, so that they
 * have the same bits however the output was cut. Slow: a sum an element.
 */
#include "core/contract/fc_helpers.h" /* first: its parameters have names that are types below */

#include "tests/engine/synthetic.h"

#include "check/source.h"

#include <stdlib.h>
#include <string.h>

#define MAX(a, b) ((a) > (b) ? (a) : (b))

static const char letters[] = "NYXC";

/* An instance is its arguments. */
typedef const fc_arg *const *arguments;

static int64_t number(arguments args, int which) {
  return args[which]->ints[0];
}

/* A weight of a tap, or of a position: multiples of 1/16 that follow no pattern of a few elements. */
static double weight(int64_t i) {
  return (double)((i * 37 % 11 + 11) % 11 - 5) / 16;
}

static double load(const fc_view *v, const int64_t at[FC_AXES]) {
  return element_value(fc_view_at(v, at[0], at[1], at[2], at[3]), v->kind, v->dtype);
}

static void store(const fc_view *v, const int64_t at[FC_AXES], double value) {
  element_store(fc_view_at(v, at[0], at[1], at[2], at[3]), v->kind, v->dtype, value);
}

static int64_t floor_of(int64_t a, int64_t num, int64_t den) {
  return a * num / den;
}

static int64_t ceil_of(int64_t a, int64_t num, int64_t den) {
  return (a * num + den - 1) / den;
}

/* The next element in the order N Y X C; 0 after the last. */
static int next(const fc_view *v, int64_t at[FC_AXES]) {
  for (int a = FC_AXES - 1; a >= 0; a--) {
    if (++at[a] < v->shape[a]) return 1;
    at[a] = 0;
  }
  return 0;
}

#define EACH_ELEMENT(v, at)                                                                                  \
  for (int64_t at[FC_AXES] = {0}, at##_more = fc_view_count(v) > 0; at##_more; at##_more = next((v), at))

static int time_of(const fc_view *v) {
  return v->kind == FC_AUDIO ? FC_AXIS_X : FC_AXIS_N;
}

/* ---- the host's side of the contract ---------------------------------------------------------- */

/* Does this input's view begin where the output's first element looks? */
static fc_status check_begin(const fc_host *host, const fc_job *job, uint32_t k, int a, int64_t num,
                             int64_t den) {
  const int64_t wanted = floor_of(job->out->origin[a], num, den);
  if (fc_view_count(job->out) == 0 || job->in[k]->origin[a] == wanted) return FC_OK;
  return host->fail(host, FC_FATAL, "input %u begins at %lld on axis %c, not at %lld", k,
                    (long long)job->in[k]->origin[a], letters[a], (long long)wanted);
}

/* The output begins at a block, and ends at one or where the signal does. */
static fc_status check_blocks(const fc_host *host, const fc_view *v, int a, int64_t align) {
  const int64_t begin = v->origin[a], end = begin + v->shape[a];
  if (begin % align == 0 && (end % align == 0 || v->extent[a] < 0 || end == v->extent[a])) return FC_OK;
  return host->fail(host, FC_FATAL, "[%lld, %lld) of %lld on axis %c cuts blocks of %lld", (long long)begin,
                    (long long)end, (long long)v->extent[a], letters[a], (long long)align);
}

/* ---- parameters that several have -------------------------------------------------------------- */

#define BORDERS                                                                                              \
  FC_CHOICES(FC_CHOICE(FC_BORDER_ZERO, "zero", "zeros"), FC_CHOICE(FC_BORDER_CONSTANT, "constant", "0.25"),  \
             FC_CHOICE(FC_BORDER_REPLICATE, "replicate", "the last"),                                        \
             FC_CHOICE(FC_BORDER_REFLECT, "reflect", "a mirror"),                                            \
             FC_CHOICE(FC_BORDER_REFLECT101, "reflect101", "a mirror"),                                      \
             FC_CHOICE(FC_BORDER_WRAP, "wrap", "around"))
#define BORDER_PARAM                      FC_ENUM_PARAM(0, "border", "What lies beyond the ends.", "zero", BORDERS)
#define INT(name, doc, preset, low, high) FC_INT_PARAM(0, name, doc, NULL, preset, FC_INT_BETWEEN(low, high))
#define AXES                                                                                                 \
  FC_CHOICES(FC_CHOICE(FC_AXIS_N, "n", "frames"), FC_CHOICE(FC_AXIS_Y, "y", "rows"),                         \
             FC_CHOICE(FC_AXIS_X, "x", "columns"), FC_CHOICE(FC_AXIS_C, "c", "channels"))
/* Loads all types; what it stores are floats, so that nothing is rounded but by casts of the host. */
#define LOADS_ALL .dtypes_in = FC_DTYPES_ALL, .dtypes_out = FC_DTYPES_FLOAT
#define ON_CPU(process)                                                                                      \
  .create = fc_create_args, .backends = FC_BACKENDS(FC_ON_CPU(NULL, NULL, NULL, process))

static void choose_border(fc_need *need, arguments args, int which) {
  need->border = (int32_t)number(args, which), need->border_value = 0.25;
}

/* ---- scan: a window on one axis, rescaled, in blocks ------------------------------------------- */

enum { SCAN_AXIS, SCAN_BEFORE, SCAN_AFTER, SCAN_NUM, SCAN_DEN, SCAN_ALIGN, SCAN_LENGTHEN, SCAN_BORDER };

static fc_status scan_negotiate(const fc_host *host, void *self, fc_terms *terms) {
  arguments args = self;
  const int axis = (int)number(args, SCAN_AXIS);
  int64_t *extent = &terms->out->extent[axis];
  const int64_t num = number(args, SCAN_NUM), den = number(args, SCAN_DEN);
  if (number(args, SCAN_BEFORE) + number(args, SCAN_AFTER) < 0)
    return host->fail(host, FC_INVALID, "it looks at nothing");
  if (terms->in[0]->kind == FC_AUDIO && axis != FC_AXIS_X && axis != FC_AXIS_C)
    return host->fail(host, FC_INVALID, "sound has no such axis");
  terms->needs[0]->reach[axis] =
      (fc_reach){number(args, SCAN_BEFORE), number(args, SCAN_AFTER), num, den, number(args, SCAN_ALIGN)};
  choose_border(terms->needs[0], args, SCAN_BORDER);
  /* What is left out at the end must not be made before the end is seen; and what comes behind it is made of
   * what is kept before it. */
  fc_reach *reach = &terms->needs[0]->reach[axis];
  const int64_t more = number(args, SCAN_LENGTHEN);
  reach->after = MAX(reach->after, more < 0 ? ceil_of(1 - more, num, den) : 0);
  if (more > 0) reach->before = MAX(reach->before, ceil_of(more, num, den));
  if (*extent >= 0) *extent = MAX(ceil_of(*extent, den, num) + number(args, SCAN_LENGTHEN), 0);
  if (*extent == 0 && axis == FC_AXIS_C) return host->fail(host, FC_INVALID, "no channel is left");
  return FC_OK;
}

static fc_status scan_process(const fc_host *host, const void *state, const fc_job *job) {
  arguments args = state;
  const int axis = (int)number(args, SCAN_AXIS);
  const int64_t num = number(args, SCAN_NUM), den = number(args, SCAN_DEN);
  const fc_view *in = job->in[0], *out = job->out;
  fc_status status = check_blocks(host, out, axis, number(args, SCAN_ALIGN));
  for (int a = 0; a < FC_AXES && status == FC_OK; a++)
    status = check_begin(host, job, 0, a, a == axis ? num : 1, a == axis ? den : 1);
  if (status != FC_OK) return status;
  EACH_ELEMENT(out, at) {
    const int64_t o = out->origin[axis] + at[axis];
    const int64_t low = floor_of(o, num, den) - number(args, SCAN_BEFORE),
                  high = ceil_of(o + 1, num, den) - 1 + number(args, SCAN_AFTER);
    int64_t from[FC_AXES];
    double sum = weight(o);
    memcpy(from, at, sizeof from);
    for (int64_t p = low; p <= high; p++) {
      from[axis] = p - in->origin[axis];
      sum += (weight(p - low) + 0.5) * load(in, from);
    }
    store(out, at, sum);
  }
  return FC_OK;
}

static const fc_operator scan = {
    .size = sizeof scan,
    .name = "scan",
    .summary = "a weighted sum over a window on one axis",
    .doc =
        "The window may lie anywhere, the axis become longer or shorter, and the output be made in blocks.",
    .examples =
        FC_TEXTS("scan:axis=x:before=2:after=1", "scan:axis=n:before=1:after=1:border=replicate",
                 "scan:axis=x:num=3:den=2:after=2", "scan:axis=x:before=-20:after=20",
                 "scan:axis=x:before=5:after=1:align=16:border=reflect", "scan:axis=c:before=1:after=1",
                 "scan:axis=x:before=2:after=300:border=reflect101", "scan:axis=x:before=8:lengthen=8",
                 "scan:axis=x:before=9:after=9:border=wrap", "scan:axis=y:num=2:den=3:align=4:after=1"),
    .kinds = FC_KINDS_ALL,
    LOADS_ALL,
    FC_OPERATOR_PARAMS(FC_ENUM_PARAM(0, "axis", "Along which axis.", "x", AXES),
                       INT("before", "How far it looks back.", "0", -30, 300),
                       INT("after", "How far it looks ahead.", "0", -30, 300),
                       INT("num", "How many elements come in.", "1", 1, 7),
                       INT("den", "How many elements go out for these.", "1", 1, 5),
                       INT("align", "Elements of a block.", "1", 1, 24),
                       INT("lengthen", "Elements more, or fewer.", "0", -12, 12), BORDER_PARAM),
    .negotiate = scan_negotiate,
    ON_CPU(scan_process),
};

/* ---- carry: state along the time ----------------------------------------------------------------- */

enum { CARRY_AFTER, CARRY_ALIGN, CARRY_BORDER };

static fc_status carry_negotiate(const fc_host *host, void *self, fc_terms *terms) {
  arguments args = self;
  const int time = terms->in[0]->kind == FC_AUDIO ? FC_AXIS_X : FC_AXIS_N;
  const int64_t *e = terms->out->extent;
  terms->needs[0]->reach[time].after = number(args, CARRY_AFTER);
  terms->needs[0]->reach[time].align = number(args, CARRY_ALIGN);
  choose_border(terms->needs[0], args, CARRY_BORDER);
  /* A state for each line along the time, and for each how far it has come. */
  const int64_t lines = time == FC_AXIS_X ? e[FC_AXIS_C] : e[FC_AXIS_Y] * e[FC_AXIS_X] * e[FC_AXIS_C];
  terms->carry_bytes = (uint64_t)lines * 2 * sizeof(double);
  return FC_OK;
}

static fc_status carry_process(const fc_host *host, const void *state, const fc_job *job) {
  arguments args = state;
  const fc_view *in = job->in[0], *out = job->out;
  const int time = time_of(out);
  fc_status status = check_begin(host, job, 0, time, 1, 1);
  if (status == FC_OK) status = check_blocks(host, out, time, number(args, CARRY_ALIGN));
  if (status != FC_OK) return status;
  EACH_ELEMENT(out, at) {
    int64_t line = out->origin[FC_AXIS_C] + at[FC_AXIS_C], from[FC_AXES];
    if (time == FC_AXIS_N)
      line += out->extent[FC_AXIS_C] * (out->origin[FC_AXIS_X] + at[FC_AXIS_X] +
                                        out->extent[FC_AXIS_X] * (out->origin[FC_AXIS_Y] + at[FC_AXIS_Y]));
    double *mine = (double *)job->carry + 2 * line;
    if (mine[1] != (double)(out->origin[time] + at[time]))
      return host->fail(host, FC_FATAL, "element %lld comes when %g should",
                        (long long)(out->origin[time] + at[time]), mine[1]);
    memcpy(from, at, sizeof from);
    from[time] += number(args, CARRY_AFTER);
    mine[0] = mine[0] / 2 + load(in, at) / 4, mine[1] += 1;
    store(out, at, mine[0] + load(in, from) / 8);
  }
  return FC_OK;
}

static const fc_operator carry = {
    .size = sizeof carry,
    .name = "carry",
    .summary = "a recursion along the time",
    .doc = "Each element follows from all before it, and from one that comes later.",
    .examples = FC_TEXTS("carry", "carry:after=9:border=reflect", "carry:align=7"),
    .kinds = FC_KINDS_ALL,
    LOADS_ALL,
    FC_OPERATOR_PARAMS(INT("after", "How far it looks ahead.", "0", 0, 40),
                       INT("align", "Elements of a block.", "1", 1, 16), BORDER_PARAM),
    .negotiate = carry_negotiate,
    ON_CPU(carry_process),
};

/* ---- join: further inputs ------------------------------------------------------------------------- */

enum { JOIN_OTHER, JOIN_THIRD, JOIN_BEFORE, JOIN_AFTER, JOIN_ALL, JOIN_ACROSS, JOIN_BORDER };

static fc_status join_negotiate(const fc_host *host, void *self, fc_terms *terms) {
  arguments args = self;
  const int time = terms->in[0]->kind == FC_AUDIO ? FC_AXIS_X : FC_AXIS_N;
  if (number(args, JOIN_BEFORE) + number(args, JOIN_AFTER) < 0)
    return host->fail(host, FC_INVALID, "it looks at nothing");
  for (uint32_t k = 1; k < terms->n_in; k++) {
    if ((terms->in[k]->kind == FC_AUDIO) != (terms->in[0]->kind == FC_AUDIO))
      return host->fail(host, FC_INVALID, "a sound does not go with an image");
    fc_reach *r = &terms->needs[k]->reach[time];
    choose_border(terms->needs[k], args, JOIN_BORDER);
    if (k > 1) continue;
    r->before = number(args, JOIN_BEFORE), r->after = number(args, JOIN_AFTER);
    if (number(args, JOIN_ALL)) r->before = r->after = FC_WHOLE;
    fc_reach *across = &terms->needs[k]->reach[FC_AXIS_C];
    across->before = across->after = number(args, JOIN_ACROSS);
  }
  return FC_OK;
}

static fc_status join_process(const fc_host *host, const void *state, const fc_job *job) {
  arguments args = state;
  const fc_view *out = job->out;
  const int time = time_of(out), all = (int)number(args, JOIN_ALL);
  for (uint32_t k = 1; k < job->n_in; k++)
    for (int a = 0; a < FC_AXES; a++) {
      fc_status status = k == 1 && a == time && all ? FC_OK : check_begin(host, job, k, a, 1, 1);
      if (status != FC_OK) return status;
    }
  EACH_ELEMENT(out, at) {
    int64_t from[FC_AXES];
    double sum = load(job->in[0], at);
    memcpy(from, at, sizeof from);
    if (all)
      for (from[time] = 0; from[time] < job->in[1]->shape[time]; from[time]++)
        sum += weight(from[time] + out->origin[time] + at[time]) * load(job->in[1], from);
    for (int64_t j = -number(args, JOIN_BEFORE); !all && j <= number(args, JOIN_AFTER); j++) {
      from[time] = at[time] + j;
      for (int64_t c = -number(args, JOIN_ACROSS); c <= number(args, JOIN_ACROSS); c++) {
        from[FC_AXIS_C] = at[FC_AXIS_C] + c;
        sum += weight(j + 5 * c) * load(job->in[1], from);
      }
    }
    if (job->n_in > 2) sum += 0.75 * load(job->in[2], at);
    store(out, at, sum);
  }
  return FC_OK;
}

static const fc_operator join = {
    .size = sizeof join,
    .name = "join",
    .summary = "a sum with one or two further signals",
    .doc = "Of the second a window is looked at, of neighbouring channels too, or all of it, of the third "
           "one element.",
    .examples = FC_TEXTS("join:second", "join:second:third=third:before=3:after=5", "join:second:all=yes",
                         "join:second:before=4:border=wrap", "join:second:across=2:border=reflect"),
    .kinds = FC_KINDS_ALL,
    LOADS_ALL,
    FC_OPERATOR_PARAMS(FC_INPUT_PARAM(FC_PARAM_MAIN | FC_PARAM_REQUIRED, "other", "The second signal."),
                       FC_INPUT_PARAM(0, "third", "The third."),
                       INT("before", "How far it looks back in the second.", "0", -20, 40),
                       INT("after", "How far it looks ahead there.", "0", -20, 40),
                       FC_BOOL_PARAM(0, "all", "Looks at all of it.", "no"),
                       INT("across", "How many channels it looks at beside each.", "0", 0, 3), BORDER_PARAM),
    .negotiate = join_negotiate,
    ON_CPU(join_process),
};

/* ---- make: a generator ---------------------------------------------------------------------------- */

enum { MAKE_KIND, MAKE_LENGTH, MAKE_HEIGHT, MAKE_WIDTH, MAKE_CHANNELS };

static fc_status make_negotiate(const fc_host *host, void *self, fc_terms *terms) {
  arguments args = self;
  fc_format *out = terms->out;
  const int sound = number(args, MAKE_KIND) == FC_AUDIO;
  out->kind = (int32_t)number(args, MAKE_KIND), out->rate = sound ? 16000 : 0;
  out->extent[FC_AXIS_N] = sound ? 1 : number(args, MAKE_LENGTH) % 6;
  out->extent[FC_AXIS_Y] = sound ? 1 : number(args, MAKE_HEIGHT);
  out->extent[FC_AXIS_X] = sound ? number(args, MAKE_LENGTH) : number(args, MAKE_WIDTH);
  out->extent[FC_AXIS_C] = number(args, MAKE_CHANNELS);
  return FC_OK;
}

static fc_status make_process(const fc_host *host, const void *state, const fc_job *job) {
  const fc_view *out = job->out;
  (void)host, (void)state;
  EACH_ELEMENT(out, at) {
    int64_t place = 0;
    for (int a = 0; a < FC_AXES; a++) place = place * 101 + out->origin[a] + at[a];
    store(out, at, weight(place) + weight(place / 7));
  }
  return FC_OK;
}

static const fc_operator make = {
    .size = sizeof make,
    .flags = FC_OP_GENERATOR,
    .name = "make",
    .summary = "a signal that follows from its positions",
    .doc = "Takes no input.",
    .examples = FC_TEXTS("make", "make:kind=image:length=5", "make:kind=array:length=1:height=30"),
    .kinds = FC_KINDS_ALL,
    LOADS_ALL,
    FC_OPERATOR_PARAMS(FC_ENUM_PARAM(0, "kind", "Of which kind.", "audio",
                                     FC_CHOICES(FC_CHOICE(FC_AUDIO, "audio", "sound"),
                                                FC_CHOICE(FC_IMAGE, "image", "images"),
                                                FC_CHOICE(FC_ARRAY, "array", "arrays"))),
                       INT("length", "Samples of sound; frames.", "100", 0, 300),
                       INT("height", "Rows.", "7", 1, 40), INT("width", "Columns.", "9", 1, 40),
                       INT("channels", "Channels.", "1", 1, 4)),
    .negotiate = make_negotiate,
    ON_CPU(make_process),
};

/* ---- tally: a measurement -------------------------------------------------------------------------- */

typedef struct tally_instance {
  arguments args;
  double sum;
  int64_t blocks;
} tally_instance;

static fc_status tally_create(const fc_host *host, const fc_arg *const *args, void **self) {
  tally_instance *op = calloc(1, sizeof *op);
  if (!op) return host->fail(host, FC_NO_MEMORY, "out of memory");
  op->args = args, *self = op;
  return FC_OK;
}

static int tally_axis(int kind) {
  return kind == FC_AUDIO ? FC_AXIS_X : FC_AXIS_Y;
}

static fc_status tally_negotiate(const fc_host *host, void *self, fc_terms *terms) {
  (void)host;
  terms->needs[0]->reach[tally_axis(terms->in[0]->kind)].align = number(((tally_instance *)self)->args, 0);
  terms->measure_bytes = sizeof(double);
  return FC_OK;
}

static fc_status tally_process(const fc_host *host, const void *state, const fc_job *job) {
  const int64_t align = number(((const tally_instance *)state)->args, 0);
  const fc_view *in = job->in[0];
  const int axis = tally_axis(in->kind);
  fc_status status = check_blocks(host, in, axis, align);
  if (status != FC_OK) return status;
  for (int64_t n = 0; n < in->shape[FC_AXIS_N]; n++)
    memset((char *)job->measure + n * job->measure_stride, 0,
           (size_t)((in->shape[axis] + align - 1) / align) * sizeof(double));
  EACH_ELEMENT(in, at) {
    double *blocks = (double *)(void *)((char *)job->measure + at[FC_AXIS_N] * job->measure_stride);
    blocks[at[axis] / align] += load(in, at) * (1 + weight(in->origin[axis] + at[axis]));
  }
  return FC_OK;
}

static void tally_reset(void *self) {
  ((tally_instance *)self)->sum = 0, ((tally_instance *)self)->blocks = 0;
}

static fc_status tally_collect(const fc_host *host, void *self, const void *blocks, int64_t count) {
  tally_instance *op = self;
  (void)host;
  for (int64_t i = 0; i < count; i++) op->sum = op->sum / 2 + ((const double *)blocks)[i];
  op->blocks += count;
  return FC_OK;
}

static fc_status tally_report(const fc_host *host, void *self) {
  const tally_instance *op = self;
  const fc_measurement sum = {sizeof sum, -1, "sum", "", op->sum, NULL},
                       blocks = {sizeof blocks, -1, "blocks", "", (double)op->blocks, NULL};
  host->measured(host, &sum);
  host->measured(host, &blocks);
  return FC_OK;
}

static const fc_operator tally = {
    .size = sizeof tally,
    .flags = FC_OP_PASSTHROUGH,
    .name = "tally",
    .summary = "a sum that tells the order of its blocks",
    .doc = "Later blocks weigh more, so that two that change places, one that is missing and one that comes "
           "twice are "
           "noticed.",
    .examples = FC_TEXTS("tally", "tally:align=32"),
    .kinds = FC_KINDS_ALL,
    .dtypes_in = FC_DTYPES_ALL,
    .dtypes_out = FC_DTYPES_ALL,
    FC_OPERATOR_PARAMS(INT("align", "Elements of a block.", "8", 1, 40)),
    .create = tally_create,
    .destroy = free,
    .negotiate = tally_negotiate,
    .backends = FC_BACKENDS(FC_ON_CPU(NULL, NULL, NULL, tally_process)),
    .reset = tally_reset,
    .collect = tally_collect,
    .report = tally_report,
};

/* ---- turn: whole signals, other kinds ----------------------------------------------------------------- */

enum { TURN_TO, TURN_AXIS };
enum { KEEP = 10 };

/* What sound becomes as an image, and an image as sound. */
static const int64_t picture[FC_AXES] = {1, 5, 7, 2}, sound[FC_AXES] = {1, 1, 90, 2};

static fc_status turn_negotiate(const fc_host *host, void *self, fc_terms *terms) {
  arguments args = self;
  const fc_format *in = terms->in[0];
  fc_format *out = terms->out;
  const int axis = (int)number(args, TURN_AXIS), to = (int)number(args, TURN_TO);
  (void)host;
  if (to != KEEP) out->kind = to;
  if ((in->kind == FC_AUDIO) == (out->kind == FC_AUDIO)) {
    terms->needs[0]->reach[axis].before = terms->needs[0]->reach[axis].after = FC_WHOLE;
    return FC_OK;
  }
  for (int a = 0; a < FC_AXES; a++)
    terms->needs[0]->reach[a].before = terms->needs[0]->reach[a].after = FC_WHOLE;
  memcpy(out->extent, out->kind == FC_AUDIO ? sound : picture, sizeof out->extent);
  out->rate = out->kind == FC_AUDIO ? 16000 : 0;
  return FC_OK;
}

/* Element i of the output is made of every element of the input whose place is i, modulo how many there are.
 */
static void turn_kind(const fc_job *job) {
  const fc_view *in = job->in[0], *out = job->out;
  int64_t total = 1;
  for (int a = 0; a < FC_AXES; a++) total *= out->extent[a];
  EACH_ELEMENT(out, at) {
    int64_t place = 0, i = 0;
    double sum = 0;
    for (int a = 0; a < FC_AXES; a++) place = place * out->extent[a] + out->origin[a] + at[a];
    EACH_ELEMENT(in, from) {
      if (i++ % total == place) sum = sum / 2 + load(in, from);
    }
    store(out, at, sum);
  }
}

static fc_status turn_process(const fc_host *host, const void *state, const fc_job *job) {
  arguments args = state;
  const fc_view *in = job->in[0], *out = job->out;
  const int axis = (int)number(args, TURN_AXIS);
  if ((in->kind == FC_AUDIO) != (out->kind == FC_AUDIO)) return turn_kind(job), FC_OK;
  if (in->shape[axis] != in->extent[axis] && fc_view_count(out))
    return host->fail(host, FC_FATAL, "it has %lld of %lld elements of axis %c", (long long)in->shape[axis],
                      (long long)in->extent[axis], letters[axis]);
  EACH_ELEMENT(out, at) {
    int64_t from[FC_AXES];
    memcpy(from, at, sizeof from);
    from[axis] = in->shape[axis] - 1 - (out->origin[axis] + at[axis]);
    store(out, at, load(in, from));
  }
  return FC_OK;
}

static const fc_operator turn = {
    .size = sizeof turn,
    .name = "turn",
    .summary = "an axis the other way round, or another kind of signal",
    .doc = "Looks at all of an axis, or at all there is.",
    .examples = FC_TEXTS("turn", "turn:to=image", "turn:to=audio", "turn:to=array", "turn:axis=c"),
    .kinds = FC_KINDS_ALL,
    LOADS_ALL,
    FC_OPERATOR_PARAMS(
        FC_ENUM_PARAM(FC_PARAM_MAIN, "to", "Which kind.", "keep",
                      FC_CHOICES(FC_CHOICE(KEEP, "keep", "as it is"), FC_CHOICE(FC_AUDIO, "audio", "sound"),
                                 FC_CHOICE(FC_IMAGE, "image", "an image"),
                                 FC_CHOICE(FC_ARRAY, "array", "an array"))),
        FC_ENUM_PARAM(0, "axis", "Which axis is turned.", "x", AXES)),
    .negotiate = turn_negotiate,
    ON_CPU(turn_process),
};

/* ---- frames: overlapping pieces as channels --------------------------------------------------------------
 */

enum { FRAMES_HOP, FRAMES_SIZE };

static fc_status frames_negotiate(const fc_host *host, void *self, fc_terms *terms) {
  arguments args = self;
  fc_format *out = terms->out;
  const int64_t hop = number(args, FRAMES_HOP), size = number(args, FRAMES_SIZE);
  const int64_t channels = terms->in[0]->extent[FC_AXIS_C];
  (void)host;
  terms->needs[0]->border = FC_BORDER_ZERO;
  terms->needs[0]->reach[FC_AXIS_X] = (fc_reach){0, size - hop, hop, 1, 1};
  terms->needs[0]->reach[FC_AXIS_C] = (fc_reach){FC_WHOLE, FC_WHOLE, 1, 1, channels * size};
  out->framed = out->extent[FC_AXIS_X] < 0 ? 0 : out->extent[FC_AXIS_X];
  if (out->extent[FC_AXIS_X] >= 0) out->extent[FC_AXIS_X] = ceil_of(out->extent[FC_AXIS_X], 1, hop);
  out->extent[FC_AXIS_C] = channels * size, out->rate /= (double)hop;
  return FC_OK;
}

static fc_status frames_process(const fc_host *host, const void *state, const fc_job *job) {
  arguments args = state;
  const int64_t hop = number(args, FRAMES_HOP), size = number(args, FRAMES_SIZE);
  const fc_view *in = job->in[0], *out = job->out;
  fc_status status = check_begin(host, job, 0, FC_AXIS_X, hop, 1);
  if (status != FC_OK) return status;
  EACH_ELEMENT(out, at) {
    const int64_t c = out->origin[FC_AXIS_C] + at[FC_AXIS_C];
    const int64_t from[FC_AXES] = {at[0], at[1], at[FC_AXIS_X] * hop + c % size,
                                   c / size - in->origin[FC_AXIS_C]};
    store(out, at, load(in, from) * (1 + weight(c)));
  }
  return FC_OK;
}

static const fc_operator frames = {
    .size = sizeof frames,
    .name = "frames",
    .summary = "overlapping pieces of sound, their samples as channels",
    .doc = "As a short-time transform cuts sound, with nothing transformed.",
    .examples = FC_TEXTS("frames", "frames:hop=3:size=7", "frames:hop=9:size=2"),
    .kinds = FC_KIND_BIT(FC_AUDIO),
    LOADS_ALL,
    FC_OPERATOR_PARAMS(INT("hop", "From one piece to the next.", "4", 1, 20),
                       INT("size", "Samples of a piece.", "8", 1, 20)),
    .negotiate = frames_negotiate,
    ON_CPU(frames_process),
};

static const fc_operator *const operators[] = {&scan, &carry, &join, &make, &tally, &turn, &frames};

const fc_plugin synthetic_plugin = {.size = sizeof synthetic_plugin,
                                    .abi = FC_PLUGIN_ABI,
                                    .id = "synthetic",
                                    .version = "1.0",
                                    .author = "the filterchain authors",
                                    .license = "MIT",
                                    .url = "",
                                    .n_operators = sizeof operators / sizeof *operators,
                                    .operators = operators};
