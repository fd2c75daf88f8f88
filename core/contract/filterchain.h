/* SPDX-License-Identifier: MIT */
/*
 * filterchain.h - the library: everything the command does, without the command.
 *
 * A context owns the operator registry, the devices, the memory pools and the log
 * sink; nothing is global to the process, so two contexts in two threads do not
 * meet. A chain is parsed from the same strings as the command's -p options and
 * run on files, on host memory, or on device memory and a stream of the caller's.
 *
 * Threads. A context may be shared by threads that only parse and look things up;
 * one chain runs in one thread at a time, several chains of one context may run
 * at once. Nothing starts a thread or touches CUDA before the first run that
 * needs it. After fork() only the parent may go on using a context.
 *
 * Errors are GErrors of domain FC_ERROR whose code is an fc_status and whose
 * message is one line that names the operator or file, the place, and how to repair it.
 * On failure functions return FALSE or NULL and set the error; outputs on disk
 * then are what they were before.
 */
#ifndef FC_FILTERCHAIN_H
#define FC_FILTERCHAIN_H

#include <glib.h>

#include "plugin.h"

G_BEGIN_DECLS

#if defined(__GNUC__)
#define FC_API __attribute__((visibility("default")))
#else
#define FC_API
#endif

#define FC_ERROR (fc_error_quark())
FC_API GQuark fc_error_quark(void);

/* The operator whose callback the calling thread is in, or NULL; async-signal-safe: for the handler of a
 * crash, or of atexit, that tells whose it was. */
FC_API const char *fc_running_operator(void);

/* "1.0.0"; static. */
FC_API const char *fc_version(void);
/* TRUE when this build has the CUDA backend. */
FC_API gboolean fc_has_cuda(void);

/* ---- context ---------------------------------------------------------- */

typedef struct fc_context fc_context;

typedef enum fc_log_level { FC_LOG_ERROR, FC_LOG_WARNING, FC_LOG_INFO, FC_LOG_DEBUG } fc_log_level;
/* One line without a newline. Called from any thread, one call at a time. */
typedef void (*fc_log_fn)(fc_log_level level, const char *message, void *data);

/* Never fails (but aborts, as GLib does, when a few bytes cannot be had). */
FC_API fc_context *fc_context_new(void);
/* NULL is allowed. Chains of the context must have been freed. */
FC_API void fc_context_free(fc_context *context);
/* Without one, warnings and errors go to stderr. */
FC_API void fc_context_set_log(fc_context *context, fc_log_fn log, void *data);
/* The most memory that the buffers of all runs of this context may take together, in bytes; 0 is the
 * default: nine tenths of what machine, container or `ulimit -v` let the process have. A run that would take
 * more works on less at a time, or ends with an error that says so. Not counted: what operators and decoders
 * keep of their own, and memory of a device. Not while anything is run. */
FC_API void fc_context_set_max_memory(fc_context *context, gsize bytes);
/* Host memory for the buffers of runs, aligned as asked for; NULL when there is none. Any thread. */
typedef void *(*fc_alloc_fn)(gsize bytes, gsize alignment, void *data);
typedef void (*fc_free_fn)(void *memory, gsize bytes, void *data);
/* Where that memory comes from instead of malloc. Before the first run. */
FC_API void fc_context_set_allocator(fc_context *context, fc_alloc_fn alloc, fc_free_fn free, void *data);
/* Gives back what is kept for later runs and nobody uses now: threads, host memory, memory and streams of
 * devices. */
FC_API void fc_context_release(fc_context *context);
/* Searched before $FILTERCHAIN_PLUGIN_PATH and the installed folder, in the order
 * added. Before the first look-up only. */
FC_API void fc_context_add_plugin_dir(fc_context *context, const char *dir);

/* ---- what there is ---------------------------------------------------- */

/* A plugin file that was looked at. Strings are the context's. */
typedef struct fc_plugin_info {
  const char *path;
  const char *id;      /* NULL when rejected */
  const char *version; /* NULL when rejected */
  const char *reason;  /* why it was rejected ("is no regular file"); of an accepted one, which of its
                          operators are not used, or NULL */
} fc_plugin_info;

/* All operators, sorted by name: an array that ends with NULL. Free with g_free;
 * the descriptors are the context's. Opens every plugin. */
FC_API const fc_operator **fc_context_operators(fc_context *context, gsize *count);
/* All plugin files looked at, accepted and rejected; g_free. */
FC_API fc_plugin_info *fc_context_plugins(fc_context *context, gsize *count);
/* The operator of that name, or NULL with FC_UNSUPPORTED and a "did you mean". Of several definitions the one
 * that is searched first counts; "id/name" is that of the plugin with this id. */
FC_API const fc_operator *fc_context_find(fc_context *context, const char *name, GError **error);
/* Opens one plugin file by path and adds its operators; NULL with the reason. */
FC_API const fc_plugin *fc_context_open_plugin(fc_context *context, const char *path, GError **error);
/* Adds the operators of a plugin of the program's own, which must live as long as the context and is checked
 * as one from a file is. FALSE with the reason: one of them is unfit, or its name is taken. */
FC_API gboolean fc_context_add_plugin(fc_context *context, const fc_plugin *plugin, GError **error);
/* The plugin that an operator came from, and its file. */
FC_API const fc_plugin *fc_context_plugin_of(fc_context *context, const fc_operator *op, const char **path);

/* ---- files ------------------------------------------------------------- */

/* An option that may stand behind a file's name, as in "out.jpg:quality=85". */
typedef struct fc_file_option {
  const char *key;
  const char *values; /* "1..100": a whole number in that range; "yes|no": one of these; else what to give */
  const char *standard; /* what is taken when it is not given */
  const char *summary;
} fc_file_option;

/* A format of files. Strings are static. */
typedef struct fc_file_format_info {
  const char *name;       /* "jpg": what fc_options.in_format and out_format take */
  const char *title;      /* "JPEG" */
  const char *extensions; /* apart by blanks */
  const char *reader;     /* the library that reads it, and its version; NULL: it is not read */
  const char *writer;     /* likewise */
  const fc_file_option *reading, *writing; /* options, ended by one without a key; NULL: there are none */
} fc_file_format_info;

/* All formats of this build; g_free. */
FC_API fc_file_format_info *fc_file_formats(gsize *count);

/* The path in a file's text as fc_chain_run_file takes it, without the options behind it; g_free. `options`
 * (or NULL) gets these with their first colon, or ""; g_free. A colon in a path is written "\:", or the path
 * in single quotes; of a file that is to be read, and exists under the whole text, all is the path. */
FC_API char *fc_file_split(const char *file, gboolean reading, char **options);
/* The text of a path and options of such form; g_free. */
FC_API char *fc_file_join(const char *path, const char *options);

/* ---- chain ------------------------------------------------------------ */

typedef struct fc_chain fc_chain;

/*
 * Parses stages as given to -p ("conv1d:mask.txt", "conv1d:[1,2,1]/4:flip=no"),
 * opens the plugins and reads the tables. `stages` ends with NULL; an empty chain
 * copies. The context must outlive the chain.
 */
FC_API fc_chain *fc_chain_parse(fc_context *context, const char *const *stages, GError **error);
/* A chain to add stages to. */
FC_API fc_chain *fc_chain_new(fc_context *context);

/* The value of one parameter by name (NULL: the main one): as text, as it would be typed, or as a table or
 * view of the caller's. A table is copied; a view is borrowed as long as the chain lives, in host memory. */
typedef struct fc_value {
  guint32 size;
  const char *name;
  const char *text;
  const fc_table *table;
  const fc_view *view;
} fc_value;

/* Adds an operator with values, which end with NULL. FALSE with the reason: the chain is as it was. */
FC_API gboolean fc_chain_add(fc_chain *chain, const char *operator_name, const fc_value *const *values,
                             GError **error);
/* Adds a stage as fc_chain_parse takes it; likewise. */
FC_API gboolean fc_chain_add_text(fc_chain *chain, const char *stage, GError **error);
FC_API void fc_chain_free(fc_chain *chain);
/* Gives back what the chain keeps ready for another run: memory, of devices too. Nothing that was captured
 * from fc_chain_run_device may be launched afterwards. */
FC_API void fc_chain_release(fc_chain *chain);
FC_API guint fc_chain_length(const fc_chain *chain);
FC_API const fc_operator *fc_chain_operator(const fc_chain *chain, guint stage);
/* The mask that a stage's operator designs for a signal of this rate: `count` taps, g_free. NULL where it
 * designs none, or not with these arguments. */
FC_API double *fc_chain_mask(fc_chain *chain, guint stage, double rate, gsize *count, GError **error);
/* Another instance of the same stages, for another thread: files are not read again, views are borrowed
 * likewise. NULL with the reason. */
FC_API fc_chain *fc_chain_clone(fc_chain *chain, GError **error);
/* Paths of the files that its tables were read from, as they were given, and NULL; g_free, the paths stay the
 * chain's. */
FC_API const char **fc_chain_files(const fc_chain *chain);

/* Progress; called at most ten times a second from the thread that runs the chain.
 * `total` is FC_UNKNOWN when it is not known. Return FALSE to stop the run. */
typedef gboolean (*fc_progress_fn)(gint64 done, gint64 total, void *data);

/* Whether stages side by side that look at one sample or pixel each run as one kernel on a device. Results
 * are the same to the bit. Kernels are compiled meanwhile (by NVRTC, in a child process) and kept on disk
 * ($XDG_CACHE_HOME/filterchain/kernels); until then stages run one by one, and so where there is no NVRTC. */
typedef enum fc_fuse {
  FC_FUSE_AUTO = 0, /* once their kernel is there, which is compiled where there is enough to do */
  FC_FUSE_NO = 1,   /* never */
  FC_FUSE_WAIT = 2  /* from the first chunk on: the run waits for the compiler */
} fc_fuse;

/* How to run; start from FC_OPTIONS_INIT. Strings are borrowed for the call. */
typedef struct fc_options {
  guint32 size;
  const char *device;  /* "auto", "cpu", "cuda", "cuda:N", "cuda:N,M,..." or "cuda:all"; NULL is "auto" */
  int threads;         /* CPU threads; 0 is one for each core that the process may use */
  int precision;       /* FC_F32, FC_F64; -1 chooses: f32 unless the input holds more than 24 bits */
  gint64 chunk;        /* samples, frames, or rows of a single image, at a time; 0 chooses */
  gboolean no_clobber; /* fail when the output exists */
  gboolean allow_truncated; /* take what can be read of a cut-off input, with a warning */
  gboolean sync;            /* fsync the output before it is renamed */
  const char *trace;        /* file for a Chrome trace, or NULL */
  const char *in_format;    /* "wav", "png", "npy", "raw", ...; NULL tells by name and content */
  const char *out_format;   /* likewise, by extension */
  const char
      *in_raw; /* raw input: "dtype=f32,channels=2,rate=48000" or "dtype=u8,width=..,height=..,channels=.." */
  gint64 max_pixels; /* limit on a decoded image; 0 is 2^28 */
  fc_progress_fn progress;
  void *progress_data;
  const int *cancel; /* read atomically between chunks and while a pipe is waited for: non-zero stops the run;
                        NULL */
  int fuse;          /* fc_fuse */
  /* Of sound that comes as it is played: no sample is to be held for longer than so many seconds before what
   * follows from it is written, but for the time of computing. 0: as long as is convenient. Chunks are as
   * short as that takes, and what goes into a pipe goes at once. */
  double latency;
  /* Files that follow the input, one after another, as if they were one; sounds of the same rate and
   * channels. The output has the metadata and the sample format of the first. Ends with NULL; NULL: there are
   * none. */
  const char *const *followers;
  /* What the samples of an input view mean: its rate, bits (0: those of the element type), color, alpha,
   * channels and time are taken, the other fields are not read. NULL: nothing is known. */
  const fc_format *meaning;
  /* The input's content, instead of a file, whose name is for messages, and its ending; and where what the
   * output would hold goes when all went well, instead of a file; g_bytes_unref. NULL: files. */
  GBytes *in_bytes, **out_bytes;
  /* What random operators draw depends on these alone, their place in the chain and the frame's: the user's
   * seed, which time the data are gone through, and the input's name. NULL: the input's path as it was given;
   * memory has none, so whoever gives views names each. Of a batch the library names each input: by its path
   * as it was given, below a folder or the fixed part of a pattern by the rest of it, a member by its path in
   * the archive. */
  guint64 seed, epoch;
  const char *random_name;
} fc_options;

#define FC_OPTIONS_INIT                                                                                      \
  {                                                                                                          \
    sizeof(fc_options), NULL, 0, -1, 0, FALSE, FALSE, FALSE, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, 0, \
        0, NULL, NULL, NULL, NULL, 0, 0, NULL                                                                \
  }

/* One measured value. */
typedef struct fc_measured {
  guint32 size;
  guint stage; /* index into the chain */
  const char *operator_name;
  const char *name, *unit, *exact; /* exact may be NULL */
  int channel;                     /* -1 for all together */
  double value;
} fc_measured;

/* What a run did. The library's to make, the caller's to free (fc_result_free), with all that it points at.
 */
typedef struct fc_result {
  guint32 size;
  const fc_format *in, *out; /* with the extents as they turned out */
  const char *device;        /* "cpu (8 threads)", "cuda:0 (NVIDIA H200)" */
  const char *reason;        /* why that device */
  double seconds;            /* from opening the input to the output in place */
  gint64 chunks;
  gint64 bytes_up, bytes_down; /* transfers to and from the device */
  gsize n_measured;
  const fc_measured *const *measured;
} fc_result;

FC_API void fc_result_free(fc_result *result);

/*
 * Filters a file into a file. "-" is stdin or stdout; options may stand behind both, as in
 * "out.jpg:quality=85" (fc_file_formats lists them). `input` is NULL for a chain that begins with a
 * generator, `output` may be NULL when the chain is run for its measurements. Writing onto the input is safe:
 * the output is written beside its target and renamed when complete. `options` and `result` may be NULL.
 * Where a measurement fails the run, `result` has what was measured nevertheless; else it is NULL on failure.
 */
FC_API gboolean fc_chain_run_file(fc_chain *chain, const char *input, const char *output,
                                  const fc_options *options, fc_result **result, GError **error);

/* One file of many. */
typedef struct fc_file {
  guint32 size;
  const char *input, *output;
} fc_file;

/* After each file, in their order, from the thread that called fc_chain_run_files: its result, or why it
 * failed; both are the library's. FALSE: no more files are begun. `progress` of the options is not called. */
typedef gboolean (*fc_file_fn)(gsize index, const fc_result *result, const GError *why, void *data);

/*
 * Filters files into files, several at a time: decoding, filtering and writing of different ones overlap, on
 * options->threads workers, each of which has an instance of the chain; on several devices they are spread.
 * Files are told of in order. A file that fails does not keep others from being done. Returns how many
 * failed; -1 with an error when none could be begun.
 */
FC_API gint64 fc_chain_run_files(fc_chain *chain, const fc_file *const *files, gsize n,
                                 const fc_options *options, fc_file_fn done, void *data, GError **error);

/* ---- batches: folders, lists and archives --------------------------------- */

/* What a batch is made of; start from {sizeof(fc_batch_spec)}. Strings are borrowed as long as it lives. */
typedef struct fc_batch_spec {
  guint32 size;
  /* Ends with NULL: files, folders, patterns of names ("photos/ ** / *.jpg" without the blanks), "@LIST" (a
   * path a line), archives (.tar, or "-" for one from standard input). */
  const char *const *inputs;
  /* "FOLDER/", a pattern with {name} {stem} {ext} {dir} {index} ("out/{dir}/{stem}.npy"), archives
   * ("out-{shard:06}.tar"), one array of all ("all.npy"), or NULL. */
  const char *output;
  const char *const *stages; /* of the chain, as text, ends with NULL: so that another chain is noticed */
  gboolean recursive;        /* folders with those below them */
  gboolean resume;           /* leave out what an earlier, interrupted run of the same batch has made */
  gint64 part, parts;        /* of the list only each parts-th, beginning with number `part` from 0; 0: all */
  gint64 shard_items, shard_bytes; /* how many samples, or bytes, an archive holds at most; 0: any */
} fc_batch_spec;

/* One that is done, has failed, or was passed through. */
typedef struct fc_batch_file {
  guint32 size;
  gint64 index;            /* its place in the batch */
  const char *input;       /* of a member, ARCHIVE/PATH */
  const char *output;      /* of a member likewise; NULL: there is none */
  gint64 bytes;            /* of the input */
  const fc_result *result; /* NULL: it has failed, or was passed through */
  const GError *why;       /* NULL: all is well */
} fc_batch_file;

/* In order, from the thread that called fc_batch_run. FALSE: no more are begun. */
typedef gboolean (*fc_batch_fn)(const fc_batch_file *file, void *data);

typedef struct fc_batch fc_batch;

/* Whether that is a batch, rather than one file for fc_chain_run_file. */
FC_API gboolean fc_batch_is(const fc_batch_spec *spec);
/* Whether a format is "tar" or "tar:FORMAT": with the output "-" an archive of all outputs, of that format.
 */
FC_API gboolean fc_batch_is_tar_format(const char *format);
/* Lists the inputs and names the outputs; FC_INVALID where two would be one file, or one would replace
 * another's input. Touches nothing. `chain` and what `options` point at must outlive it. */
FC_API fc_batch *fc_batch_new(fc_chain *chain, const fc_batch_spec *spec, const fc_options *options,
                              GError **error);
FC_API void fc_batch_free(fc_batch *batch); /* NULL is allowed */
/* How many there will be; -1: there are archives, so nobody knows. */
FC_API gint64 fc_batch_count(const fc_batch *batch);
/* Of a batch without archives, what number i of all is called; both g_free, `output` may be NULL. */
FC_API void fc_batch_names(const fc_batch *batch, gint64 i, char **input, char **output);
/* The name under which it is an input or, with `as_output`, an output of the batch; NULL: it is none. */
FC_API const char *fc_batch_has(const fc_batch *batch, const char *path, gboolean as_output);
/* Files of folders that were skipped; and such as an earlier run has made. */
FC_API gint64 fc_batch_skipped(const fc_batch *batch);
FC_API gint64 fc_batch_resumed(const fc_batch *batch);
/* Runs it, once. How many failed (with those of the archives that an earlier run has made); -1 with an error
 * where it could not be begun, or not be gone on with. */
FC_API gint64 fc_batch_run(fc_batch *batch, fc_batch_fn done, void *data, GError **error);

/* Writes a picture of at most `n` inputs, spread over the list (of archives the first ones), each beside what
 * the chain makes of it, and nothing else. Before fc_batch_run, or without it. */
FC_API gboolean fc_batch_preview(fc_batch *batch, gint64 n, const char *path, GError **error);

/* What fc_chain_run_file would do, as text for a person, or as JSON; touches no
 * output and no device. Free with g_free. */
FC_API char *fc_chain_explain_file(fc_chain *chain, const char *input, const char *output,
                                   const fc_options *options, gboolean json, GError **error);

/* The format that the chain makes of `in` with these options; out->dtype says which
 * element type is wanted on entry, or -1 for the chain's own. */
FC_API gboolean fc_chain_output_format(fc_chain *chain, const fc_format *in, const fc_options *options,
                                       fc_format *out,
                                       GError **error); /* fields beyond out->size are left alone */

/*
 * Filters host memory into host memory, on the CPU or a device as the options say.
 * `out` has the shape that fc_chain_output_format tells and any element type; both
 * views are the caller's and must not overlap. Complete on return.
 */
FC_API gboolean fc_chain_run_host(fc_chain *chain, const fc_view *in, const fc_view *out,
                                  const fc_options *options, fc_result **result, GError **error);

/*
 * Filters device memory into device memory on a stream of the caller's
 * (a cudaStream_t), whose device must be that of both views. Enqueues and returns:
 * the work is complete when the stream has reached it, and both views must live
 * until then. The first call with a new format or stream prepares (and may synchronise)
 * and takes device memory, which the chain keeps; later ones only enqueue. They may be captured into a graph,
 * each launch of which is a use of the chain like a call: on one stream, or one after the other. What was
 * captured keeps its memory until fc_chain_release or the chain's end, and so the chain must outlive the
 * enqueued work and such graphs' launches. Chains with measurements are refused. A stage with carried state
 * starts from the beginning with each call.
 */
FC_API gboolean fc_chain_run_device(fc_chain *chain, const fc_view *in, const fc_view *out, void *stream,
                                    const fc_options *options, GError **error);

/* After the stream has reached the work: FALSE when a value that is not a number (NaN) was to become an
 * integer in any call since the last check. */
FC_API gboolean fc_chain_check_device(fc_chain *chain, GError **error);

/* Memory of a device, for callers without a CUDA runtime of their own; NULL with the reason. Freeing waits
 * for the device; NULL is allowed. */
FC_API void *fc_device_alloc(fc_context *context, gint32 device, gsize bytes, GError **error);
FC_API void fc_device_free(fc_context *context, gint32 device, void *memory);

/* ---- between files and memory ------------------------------------------ */

/*
 * A file whose samples, filtered, go to memory of the caller's: opened, planned and waiting for that memory.
 * The chain must outlive it and is not run otherwise meanwhile.
 */
typedef struct fc_loader fc_loader;

/* Opens a file as fc_chain_run_file does; NULL for a chain that begins with a generator. Where only the end
 * of the input tells how much there is, it is read into memory now. */
FC_API fc_loader *fc_chain_load_file(fc_chain *chain, const char *input, const fc_options *options,
                                     GError **error);
/* The same of the content of a file, which is copied. */
FC_API fc_loader *fc_chain_load_bytes(fc_chain *chain, const void *content, gsize bytes,
                                      const fc_options *options, GError **error);
/* What comes of it, all extents known; the loader's. */
FC_API const fc_format *fc_loader_format(const fc_loader *loader);
/* Reads and filters into a view of that shape and any element type, in host memory. Once. */
FC_API gboolean fc_loader_run(fc_loader *loader, const fc_view *out, fc_result **result, GError **error);
FC_API void fc_loader_free(fc_loader *loader); /* NULL is allowed */

/* Filters host memory into a file; NULL: for its measurements. options->meaning says the rate, and so on. */
FC_API gboolean fc_chain_save_file(fc_chain *chain, const fc_view *in, const char *output,
                                   const fc_options *options, fc_result **result, GError **error);

/* ---- session ---------------------------------------------------------- */

/*
 * A chain run on a signal that comes in pieces and goes in pieces, as a filter of FFmpeg or an element of
 * GStreamer needs it. What comes out is, byte for byte, what a file with the same samples would become. On
 * the CPU or one device, in the caller's thread; one thread at a time.
 */
typedef struct fc_session fc_session;

/* For a signal of this format, whose extent along time (X, of images N) is not looked at. The chain must
 * outlive it and is not run otherwise meanwhile. Chains whose stages need the whole signal at once are
 * refused. */
FC_API fc_session *fc_session_new(fc_chain *chain, const fc_format *in, int out_dtype,
                                  const fc_options *options, GError **error);
/* The format of what is pulled, its length unknown; the session's. */
FC_API const fc_format *fc_session_format(const fc_session *session);
/* Elements of input, along time, that come before the first output of their moment: what a live chain is
 * behind. */
FC_API gint64 fc_session_latency(const fc_session *session);
/* Takes the samples of a view in host memory, which may go afterwards, and makes of them what can be made. */
FC_API gboolean fc_session_push(fc_session *session, const fc_view *samples, GError **error);
/* Moves up to as many elements as `into` has along time, in host memory; returns how many there were, -1 with
 * an error. Fewer means that there are no more for now. */
FC_API gint64 fc_session_pull(fc_session *session, const fc_view *into, GError **error);
/* The signal has ended: what is left may be pulled. */
FC_API gboolean fc_session_drain(fc_session *session, GError **error);
/* Measurements, after draining; the session's. */
FC_API const fc_result *fc_session_result(fc_session *session, GError **error);
FC_API void fc_session_free(fc_session *session); /* NULL is allowed */

/* ---- for programs around the library ---------------------------------- */

/* The end of an error message about a mistyped name: `: did you mean "conv1d"?`, or
 * "" when none of `names` (ends with NULL) is near. Free with g_free. */
FC_API char *fc_did_you_mean(const char *typed, const char *const *names);

/* Removes the temporary files of every output that this process is writing, and does
 * nothing else. Async-signal-safe: for the handler of a signal that ends the process
 * at once. Nothing of the library may be called afterwards. */
FC_API void fc_output_remove_all(void);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(fc_batch, fc_batch_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(fc_context, fc_context_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(fc_chain, fc_chain_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(fc_result, fc_result_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(fc_loader, fc_loader_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(fc_session, fc_session_free)

G_END_DECLS

#endif
