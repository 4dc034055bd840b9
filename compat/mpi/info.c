/* compat/mpi/info.c - info objects: keys and values, in the order in which they were set. */
#include "win.h"

#include <stdio.h>

struct weftmpi_entry {
    char key[MPI_MAX_INFO_KEY], value[MPI_MAX_INFO_VAL];
};

struct weftmpi_info weftmpi_infos[] = {{.object = {.handle = MPI_INFO_ENV, .references = 1}}};

/* INFO_IN: the object of a handle, in a function of MPI: declares it. Threads may share it. */
#define INFO_IN(name, handle)                                                                      \
    ENTER;                                                                                         \
    LOCKED;                                                                                        \
    OBJECT_IN(name, info, WEFTMPI_INFO, handle)

void weftmpi_info_end(void *info)
{
    free(((struct weftmpi_info *)info)->entries);
}

static struct weftmpi_entry *look(const struct weftmpi_info *info, const char *key)
{
    for (int i = 0; i < info->count; i++)
        if (strcmp(info->entries[i].key, key) == 0)
            return &info->entries[i];
    return NULL;
}

struct weftmpi_info *weftmpi_info_copy(const struct weftmpi_info *info)
{
    struct weftmpi_info *copy = weftmpi_make(WEFTMPI_INFO, sizeof(*copy));
    const int count = info != NULL ? info->count : 0;

    if (count == 0)
        return copy;
    copy->entries = weftmpi_room(NULL, (size_t)count * sizeof(*copy->entries));
    memcpy(copy->entries, info->entries, (size_t)count * sizeof(*copy->entries));
    copy->count = count;
    return copy;
}

CALL(Info_create, (MPI_Info * handle), weftmpi_give(weftmpi_info_copy(NULL), handle))
/* Gives an empty object: nothing is known of how programs were started. */
CALL(Info_create_env, (int argc, char *argv[], MPI_Info *handle),
     ((void)argc, (void)argv, PMPI_Info_create(handle)))

static int check_key(const char *key)
{
    const size_t bytes = key != NULL ? strlen(key) : 0;

    return HOLDS(bytes != 0 && bytes < MPI_MAX_INFO_KEY, MPI_ERR_INFO_KEY, "a key of %zu bytes",
                 bytes);
}

static int set_key(struct weftmpi_info *info, const char *key, const char *value)
{
    TRY(check_key(key));
    TRY(HOLDS(value != NULL, MPI_ERR_INFO_VALUE, "a value at NULL"));
    TRY(HOLDS(strlen(value) < MPI_MAX_INFO_VAL, MPI_ERR_INFO_VALUE, "a value of %zu bytes",
              strlen(value)));
    struct weftmpi_entry *entry = look(info, key);
    if (entry == NULL) {
        info->entries = weftmpi_room(info->entries, (size_t)(info->count + 1) * sizeof(*entry));
        entry = &info->entries[info->count++];
        strcpy(entry->key, key);
    }
    strcpy(entry->value, value);
    return MPI_SUCCESS;
}

API(Info_set, (MPI_Info handle, const char *key, const char *value))
{
    INFO_IN(info, handle == MPI_INFO_ENV ? MPI_INFO_NULL : handle);
    return set_key(info, key, value);
}

/* Gives the value of a key: `room` bytes of it (0: none), and how many it has. */
static int get_value(MPI_Info handle, const char *key, int room, char *value, int *length,
                     int *flag)
{
    TRY(PLACES(length == NULL ? NULL : flag));
    TRY(LISTED(room, value));
    TRY(check_key(key));
    LOCKED;
    OBJECT_IN(info, info, WEFTMPI_INFO, handle);
    const struct weftmpi_entry *entry = look(info, key);
    *flag = entry != NULL;
    if (entry != NULL) {
        if (room > 0)
            snprintf(value, (size_t)room, "%s", entry->value);
        *length = (int)strlen(entry->value);
    }
    return MPI_SUCCESS;
}

CALL(Info_get, (MPI_Info info, const char *key, int length, char *value, int *flag),
     get_value(info, key, length == INT32_MAX ? length : length + 1, value, &length, flag))
CALL(Info_get_valuelen, (MPI_Info info, const char *key, int *length, int *flag),
     get_value(info, key, 0, NULL, length, flag))
API(Info_get_string, (MPI_Info info, const char *key, int *length, char *value, int *flag))
{
    OUT(length);
    TRY(get_value(info, key, *length, value, length, flag));
    *length += *flag; /* with its end */
    return MPI_SUCCESS;
}

ASK(Info_get_nkeys, INFO_IN, MPI_Info, int, of->count)

API(Info_get_nthkey, (MPI_Info handle, int n, char *key))
{
    OUT(key);
    INFO_IN(info, handle);
    TRY(HOLDS(n >= 0 && n < info->count, MPI_ERR_ARG, "key %d of %d", n, info->count));
    strcpy(key, info->entries[n].key);
    return MPI_SUCCESS;
}

API(Info_delete, (MPI_Info handle, const char *key))
{
    INFO_IN(info, handle);
    TRY(check_key(key));
    struct weftmpi_entry *entry = look(info, key);
    TRY(HOLDS(entry != NULL, MPI_ERR_INFO_NOKEY, "no key '%s'", key));
    info->count--;
    memmove(entry, entry + 1, (size_t)(info->entries + info->count - entry) * sizeof(*entry));
    return MPI_SUCCESS;
}

ON(Info_dup, INFO_IN, (MPI_Info handle, MPI_Info *copy), weftmpi_give(weftmpi_info_copy(of), copy))

/* Hints that objects remember, and what those of windows are at first. */
static const struct {
    const char *key, *of_windows;
} hints[] = {
    {"no_locks", "false"},
    {"accumulate_ordering", "rar,raw,war,waw"},
    {"accumulate_ops", "same_op_no_op"},
    {"same_size", "false"},
    {"same_disp_unit", "false"},
    {"alloc_shared_noncontig", "false"},
    {"mpi_assert_no_any_tag", NULL},
    {"mpi_assert_no_any_source", NULL},
    {"mpi_assert_exact_length", NULL},
    {"mpi_assert_allow_overtaking", NULL},
};

int weftmpi_info_set(struct weftmpi_object *object, bool is_window, MPI_Info handle)
{
    LOCKED;
    const struct weftmpi_info *info = weftmpi_find(WEFTMPI_INFO, handle);
    if (info == NULL && handle != MPI_INFO_NULL)
        return weftmpi_no_object(WEFTMPI_INFO);
    if (object->info == NULL)
        object->info = weftmpi_info_copy(NULL);
    for (size_t i = 0; i < sizeof(hints) / sizeof(hints[0]); i++) {
        const char *const key = hints[i].key;
        const struct weftmpi_entry *given = info != NULL ? look(info, key) : NULL;
        const char *value = given != NULL ? given->value : NULL;
        if ((hints[i].of_windows != NULL) != is_window)
            continue;
        if (value == NULL && is_window && look(object->info, key) == NULL)
            value = hints[i].of_windows;
        if (value != NULL)
            TRY(set_key(object->info, key, value));
    }
    return MPI_SUCCESS;
}

static int get(struct weftmpi_object *object, MPI_Info *handle)
{
    LOCKED;
    return weftmpi_give(weftmpi_info_copy(object->info), handle);
}

#define HINTS(name, is_window, IN, type)                                                           \
    ON(name##_set_info, IN, (type handle, MPI_Info info),                                          \
       weftmpi_info_set(&of->object, is_window, info))                                             \
    ON(name##_get_info, IN, (type handle, MPI_Info * info), get(&of->object, info))
HINTS(Comm, false, COMM_IN, MPI_Comm)
HINTS(Win, true, WIN_IN, MPI_Win)

GIVE_BACK(Info_free, INFO_IN, MPI_Info, MPI_INFO_NULL, false,
          HOLDS(*handle != MPI_INFO_ENV, MPI_ERR_INFO, "MPI_INFO_ENV stays"))
