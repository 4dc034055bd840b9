/*
 * base/config.h - every tunable, from one table (config.def): parser and manual (weft-info).
 *
 * A value comes from its default, then WEFT_NAME in the environment, then --weft-NAME on the
 * command line. A malformed value, one out of range, or an unknown WEFT_* name is an error.
 */
#ifndef WEFT_BASE_CONFIG_H
#define WEFT_BASE_CONFIG_H

#include "weft/types.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* CHOICE values, in the order in which a settings.def lists their words. */
enum weft_device_choice { WEFT_DEVICE_AUTO, WEFT_DEVICE_CPU, WEFT_DEVICE_CUDA };
enum weft_cpu_bind_choice { WEFT_CPU_BIND_OFF, WEFT_CPU_BIND_ON };
enum weft_cuda_share_choice { WEFT_CUDA_SHARE_AUTO, WEFT_CUDA_SHARE_FD, WEFT_CUDA_SHARE_IPC };
enum weft_cuda_service_choice {
    WEFT_CUDA_SERVICE_AUTO,
    WEFT_CUDA_SERVICE_ON,
    WEFT_CUDA_SERVICE_OFF
};
enum weft_pmix_choice { WEFT_PMIX_AUTO, WEFT_PMIX_OFF };
enum weft_path_choice { WEFT_PATH_AUTO, WEFT_PATH_DIRECT, WEFT_PATH_PROXY, WEFT_PATH_QUEUE };
enum weft_gda_choice { WEFT_GDA_OFF, WEFT_GDA_SOFTNIC };
enum weft_gda_nic_choice { WEFT_GDA_NIC_HOST, WEFT_GDA_NIC_BLOCK };
enum weft_net_choice { WEFT_NET_AUTO, WEFT_NET_SHM, WEFT_NET_OFI, WEFT_NET_VERBS, WEFT_NET_MPI };
enum weft_msg_copier_choice { WEFT_MSG_COPIER_AUTO, WEFT_MSG_COPIER_ENGINE, WEFT_MSG_COPIER_BLOCK };
enum weft_mpi_threads_choice { WEFT_MPI_THREADS_MULTI, WEFT_MPI_THREADS_SINGLE };
enum weft_verbs_transport_choice {
    WEFT_VERBS_TRANSPORT_AUTO,
    WEFT_VERBS_TRANSPORT_RC,
    WEFT_VERBS_TRANSPORT_DC
};

/* The rows of config.def, in order. A group has the number of its first row. */
enum weft_config_index {
#define WEFT_CONFIG_INT(name, field, def, min, max, unit, doc)  WEFT_CONFIG_AT_##name,
#define WEFT_CONFIG_SIZE(name, field, def, min, max, doc)       WEFT_CONFIG_AT_##name,
#define WEFT_CONFIG_REAL(name, field, def, min, max, unit, doc) WEFT_CONFIG_AT_##name,
#define WEFT_CONFIG_CHOICE(name, field, def, words, doc)        WEFT_CONFIG_AT_##name,
#define WEFT_CONFIG_TEXT(name, field, def, doc)                 WEFT_CONFIG_AT_##name,
#define WEFT_CONFIG_GROUP(name, title)                                                             \
    WEFT_CONFIG_GROUP_##name, WEFT_CONFIG_BEFORE_##name = WEFT_CONFIG_GROUP_##name - 1,
#include "base/config.def"
    WEFT_CONFIG_ROWS
};

/* Where a value comes from. */
enum weft_config_source { WEFT_CONFIG_DEFAULT, WEFT_CONFIG_ENVIRONMENT, WEFT_CONFIG_OPTION };

struct weft_config {
#define WEFT_CONFIG_INT(name, field, def, min, max, unit, doc)  int64_t field;
#define WEFT_CONFIG_SIZE(name, field, def, min, max, doc)       uint64_t field; /* bytes */
#define WEFT_CONFIG_REAL(name, field, def, min, max, unit, doc) double field;
#define WEFT_CONFIG_CHOICE(name, field, def, words, doc)        int field; /* index into words */
#define WEFT_CONFIG_TEXT(name, field, def, doc)                 char field[128];
#define WEFT_CONFIG_LINE(name, field, def, doc)                 char field[2048];
#include "base/config.def"
    unsigned char source[WEFT_CONFIG_ROWS]; /* by index: a weft_config_source */
};

/*
 * Fills *config from defaults, the environment and, if given, the command line, from which the
 * --weft-* options are removed. Errors: CONFIG.
 */
weft_status weft_config_load(struct weft_config *config, int *argc, char **argv);

/* Whether cpu_schedule asks for random mode, and with which seed. */
bool weft_config_random(const struct weft_config *config, uint64_t *seed);

/* "64", "4K", "2M", "1G". False: it is none; UINT64_MAX: it is more. */
bool weft_config_bytes(const char *text, uint64_t *bytes);

/* The value of an INT or CHOICE. */
int64_t weft_config_number(const struct weft_config *config, enum weft_config_index row);
/* A CHOICE's value as its word, or "?": it has no such value; another's as a number. */
struct weft_config_word {
    char text[16];
};
struct weft_config_word weft_config_word(enum weft_config_index row, int64_t value);

/* ---- config_table.c: config.def as an array, for who reads and lists all ---- */

enum weft_config_kind { WEFT_INT, WEFT_SIZE, WEFT_REAL, WEFT_CHOICE, WEFT_TEXT };

/* One row of config.def. */
struct weft_config_row {
    const char *name;
    enum weft_config_kind kind;
    size_t at; /* offset of the field in struct weft_config */
    const char *def, *unit, *words, *doc;
    double min, max;
};

extern const struct weft_config_row weft_config_rows[WEFT_CONFIG_ROWS];

/* Whether the row can be set in this build. */
bool weft_config_offers(const struct weft_config_row *row);

/* Rows of one subject: from `first` up to the next group's. The last has no title. */
struct weft_config_group {
    const char *title;
    int first;
};
extern const struct weft_config_group weft_config_groups[];

/* Sets the row's field. Errors: CONFIG, and the field is as it was. */
weft_status weft_config_set(struct weft_config *config, const struct weft_config_row *row,
                            const char *text);

#endif
