/* compat/mpi/attribute.c - attributes of communicators: values under keys, with callbacks. */
#include "internal.h"

#include <stdlib.h>

enum { FIRST_KEY = 1024 }; /* above the standard's */

struct key {
    MPI_Comm_copy_attr_function *copy;
    MPI_Comm_delete_attr_function *erase;
    void *extra;
    int references; /* one a value, and one until it is freed; 0: it is no key */
    bool freed;
};

static struct key *keys;
static int keys_count;

static struct key *find(int keyval)
{
    const int i = keyval - FIRST_KEY;

    return i >= 0 && i < keys_count && keys[i].references > 0 ? &keys[i] : NULL;
}

static int no_key(struct weftmpi_comm *comm, const char *call, int keyval)
{
    return weftmpi_fail(comm, call, MPI_ERR_KEYVAL, "keyval %d is none, or was freed", keyval);
}

API(Comm_create_keyval, (MPI_Comm_copy_attr_function * copy, MPI_Comm_delete_attr_function *erase,
                         int *keyval, void *extra))
{
    TRY(weftmpi_is_open(__func__));
    weftmpi_lock();
    struct key *more = realloc(keys, ((size_t)keys_count + 1) * sizeof(*keys));
    if (more != NULL) {
        keys = more;
        keys[keys_count] = (struct key){copy, erase, extra, 1, false};
        *keyval = FIRST_KEY + keys_count++;
    }
    weftmpi_unlock();
    return more != NULL ? MPI_SUCCESS : weftmpi_no_memory(NULL, __func__);
}

API(Comm_free_keyval, (int *keyval))
{
    struct key *key = find(*keyval);

    TRY(weftmpi_is_open(__func__));
    if (key == NULL || key->freed)
        return no_key(NULL, __func__, *keyval);
    key->freed = true;
    key->references--;
    *keyval = MPI_KEYVAL_INVALID;
    return MPI_SUCCESS;
}

static struct weftmpi_attribute **look(struct weftmpi_comm *comm, int keyval)
{
    struct weftmpi_attribute **at = &comm->attributes;

    while (*at != NULL && (*at)->keyval != keyval)
        at = &(*at)->next;
    return at;
}

/* Calls the key's delete function; with no error from it the value is gone. */
static int erase(struct weftmpi_comm *comm, struct weftmpi_attribute **at)
{
    struct weftmpi_attribute *attribute = *at;
    struct key *key = find(attribute->keyval);

    if (key->erase != MPI_COMM_NULL_DELETE_FN) {
        const int error =
            key->erase(comm->object.handle, attribute->keyval, attribute->value, key->extra);
        if (error != MPI_SUCCESS)
            return error;
        key = find(attribute->keyval); /* the callback may have made keys */
    }
    key->references--;
    *at = attribute->next;
    free(attribute);
    return MPI_SUCCESS;
}

/* Behind the others: they are copied and deleted in the order in which they were set. */
static int add(struct weftmpi_comm *comm, const char *call, int keyval, void *value)
{
    struct weftmpi_attribute **at = look(comm, keyval);

    *at = calloc(1, sizeof(**at));
    if (*at == NULL)
        return weftmpi_no_memory(comm, call);
    **at = (struct weftmpi_attribute){NULL, keyval, value};
    find(keyval)->references++;
    return MPI_SUCCESS;
}

API(Comm_set_attr, (MPI_Comm handle, int keyval, void *value))
{
    COMM_IN(comm, handle);
    const struct key *key = find(keyval);
    if (key == NULL || key->freed)
        return no_key(comm, __func__, keyval);
    struct weftmpi_attribute **at = look(comm, keyval);
    if (*at != NULL)
        TRY(erase(comm, at));
    return add(comm, __func__, keyval, value);
}

/* The standard's, of MPI_COMM_WORLD. NULL: not one of them, or without a value here. */
static const int *standard(int keyval)
{
    static int tag_most = WEFT_TAG_MOST, no_host = MPI_PROC_NULL, any = MPI_ANY_SOURCE, yes = 1;
    static int universe, last_code = MPI_ERR_LASTCODE;

    switch (keyval) {
    case MPI_TAG_UB:
        return &tag_most;
    case MPI_HOST:
        return &no_host;
    case MPI_IO:
        return &any;
    case MPI_WTIME_IS_GLOBAL: /* one clock on one node */
        return weft_numbers_of(weftmpi.job)->nodes == 1 ? &yes : NULL;
    case MPI_UNIVERSE_SIZE:
        universe = weft_numbers_of(weftmpi.job)->processes;
        return &universe;
    case MPI_LASTUSEDCODE:
        return &last_code;
    default:
        return NULL;
    }
}

API(Comm_get_attr, (MPI_Comm handle, int keyval, void *value, int *flag))
{
    COMM_IN(comm, handle);
    if (keyval > 0 && keyval < FIRST_KEY) {
        const int *there = standard(keyval);
        *flag = there != NULL;
        if (there != NULL)
            *(const int **)value = there;
        return MPI_SUCCESS;
    }
    if (find(keyval) == NULL)
        return no_key(comm, __func__, keyval);
    const struct weftmpi_attribute *attribute = *look(comm, keyval);
    *flag = attribute != NULL;
    if (attribute != NULL)
        *(void **)value = attribute->value;
    return MPI_SUCCESS;
}

API(Comm_delete_attr, (MPI_Comm handle, int keyval))
{
    COMM_IN(comm, handle);
    struct weftmpi_attribute **at = look(comm, keyval);
    if (find(keyval) == NULL || *at == NULL)
        return no_key(comm, __func__, keyval);
    return erase(comm, at);
}

int weftmpi_attributes_copy(const struct weftmpi_comm *from, struct weftmpi_comm *to)
{
    for (const struct weftmpi_attribute *a = from->attributes; a != NULL; a = a->next) {
        const struct key key = *find(a->keyval);
        void *value = a->value;
        int flag = key.copy == MPI_COMM_DUP_FN;
        if (key.copy != MPI_COMM_NULL_COPY_FN && key.copy != MPI_COMM_DUP_FN)
            TRY(key.copy(from->object.handle, a->keyval, key.extra, a->value, &value, &flag));
        if (flag)
            TRY(add(to, "MPI_Comm_dup", a->keyval, value));
    }
    return MPI_SUCCESS;
}

int weftmpi_attributes_delete(struct weftmpi_comm *comm)
{
    while (comm->attributes != NULL)
        TRY(erase(comm, &comm->attributes));
    return MPI_SUCCESS;
}
