/* compat/mpi/info.c - info objects: keys and values, in the order in which they were set. */
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct weftmpi_entry {
    char key[MPI_MAX_INFO_KEY], value[MPI_MAX_INFO_VAL];
};

struct weftmpi_info weftmpi_infos[] = {{.object = {MPI_INFO_ENV, 1}}};

/* The object of a handle, in a function of MPI: declares it. Threads may share it. */
#define INFO_IN(name, handle)                                                                      \
    LOCKED;                                                                                        \
    OBJECT_IN(name, info, WEFTMPI_INFO, __func__, handle)

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

API(Info_create, (MPI_Info * handle))
{
    OUT(handle);
    struct weftmpi_info *info = weftmpi_make(WEFTMPI_INFO, sizeof(*info));

    if (info == NULL)
        return weftmpi_no_memory(NULL, __func__);
    *handle = info->object.handle;
    return MPI_SUCCESS;
}

API(Info_set, (MPI_Info handle, const char *key, const char *value))
{
    INFO_IN(info, handle == MPI_INFO_ENV ? MPI_INFO_NULL : handle);
    if (strlen(key) >= MPI_MAX_INFO_KEY || *key == '\0')
        return weftmpi_fail(NULL, __func__, MPI_ERR_INFO_KEY, "a key of %zu bytes", strlen(key));
    if (strlen(value) >= MPI_MAX_INFO_VAL)
        return weftmpi_fail(NULL, __func__, MPI_ERR_INFO_VALUE, "a value of %zu bytes",
                            strlen(value));
    struct weftmpi_entry *entry = look(info, key);
    if (entry == NULL) {
        entry = realloc(info->entries, (size_t)(info->count + 1) * sizeof(*entry));
        if (entry == NULL)
            return weftmpi_no_memory(NULL, __func__);
        info->entries = entry;
        entry += info->count++;
        strcpy(entry->key, key);
    }
    strcpy(entry->value, value);
    return MPI_SUCCESS;
}

API(Info_get, (MPI_Info handle, const char *key, int length, char *value, int *flag))
{
    OUT(flag);
    INFO_IN(info, handle);
    const struct weftmpi_entry *entry = look(info, key);
    *flag = entry != NULL;
    if (entry != NULL)
        snprintf(value, (size_t)length + 1, "%s", entry->value);
    return MPI_SUCCESS;
}

API(Info_get_string, (MPI_Info handle, const char *key, int *length, char *value, int *flag))
{
    INFO_IN(info, handle);
    const struct weftmpi_entry *entry = look(info, key);
    *flag = entry != NULL;
    if (entry == NULL)
        return MPI_SUCCESS;
    if (*length > 0)
        snprintf(value, (size_t)*length, "%s", entry->value);
    *length = (int)strlen(entry->value) + 1;
    return MPI_SUCCESS;
}

API(Info_get_valuelen, (MPI_Info handle, const char *key, int *length, int *flag))
{
    OUT(flag);
    INFO_IN(info, handle);
    const struct weftmpi_entry *entry = look(info, key);
    *flag = entry != NULL;
    if (entry != NULL)
        *length = (int)strlen(entry->value);
    return MPI_SUCCESS;
}

ASK(Info_get_nkeys, INFO_IN, MPI_Info, of->count)

API(Info_get_nthkey, (MPI_Info handle, int n, char *key))
{
    INFO_IN(info, handle);
    if (n < 0 || n >= info->count)
        return weftmpi_fail(NULL, __func__, MPI_ERR_ARG, "key %d of %d", n, info->count);
    strcpy(key, info->entries[n].key);
    return MPI_SUCCESS;
}

API(Info_delete, (MPI_Info handle, const char *key))
{
    INFO_IN(info, handle);
    struct weftmpi_entry *entry = look(info, key);
    if (entry == NULL)
        return weftmpi_fail(NULL, __func__, MPI_ERR_INFO_NOKEY, "no key '%s'", key);
    info->count--;
    memmove(entry, entry + 1, (size_t)(info->entries + info->count - entry) * sizeof(*entry));
    return MPI_SUCCESS;
}

API(Info_dup, (MPI_Info handle, MPI_Info *copy))
{
    INFO_IN(info, handle);
    TRY(PMPI_Info_create(copy));
    for (int i = 0; i < info->count; i++)
        TRY(PMPI_Info_set(*copy, info->entries[i].key, info->entries[i].value));
    return MPI_SUCCESS;
}

API(Info_free, (MPI_Info * handle))
{
    INFO_IN(info, *handle == MPI_INFO_ENV ? MPI_INFO_NULL : *handle);
    weftmpi_leave(info);
    *handle = MPI_INFO_NULL;
    return MPI_SUCCESS;
}
