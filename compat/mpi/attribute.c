/*
 * compat/mpi/attribute.c - attributes of communicators: values under keys, with callbacks. The lock
 * guards keys and lists of values; it is free while a callback of the program runs.
 */
#include "internal.h"

#include <stdlib.h>

enum { FIRST_KEY = 1024 }; /* above the standard's */

struct key {
    MPI_Comm_copy_attr_function *copy;
    MPI_Comm_delete_attr_function *erase;
    void *extra;
    int keyval;
    int references; /* one a value, and one until it is freed; 0: it is no key */
    bool freed;
};

struct weftmpi_attribute {
    struct weftmpi_attribute *next;
    struct key key; /* a copy: the table may move */
    void *value;
};

static struct key *keys;
static int keys_count;

/* Locked. NULL: it is no key. */
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
    OUT(keyval);
    LOCKED;
    struct key *more = realloc(keys, ((size_t)keys_count + 1) * sizeof(*keys));
    if (more == NULL)
        return weftmpi_no_memory(NULL, __func__);
    keys = more;
    *keyval = FIRST_KEY + keys_count;
    keys[keys_count++] = (struct key){
        .copy = copy, .erase = erase, .extra = extra, .keyval = *keyval, .references = 1};
    return MPI_SUCCESS;
}

/* It may be freed again while there are values. */
API(Comm_free_keyval, (int *keyval))
{
    TRY(weftmpi_is_open(__func__));
    LOCKED;
    struct key *key = find(*keyval);
    if (key == NULL)
        return no_key(NULL, __func__, *keyval);
    key->references -= !key->freed;
    key->freed = true;
    *keyval = MPI_KEYVAL_INVALID;
    return MPI_SUCCESS;
}

/* Locked. */
static struct weftmpi_attribute **look(struct weftmpi_comm *comm, int keyval)
{
    struct weftmpi_attribute **at = &comm->attributes;

    while (*at != NULL && (*at)->key.keyval != keyval)
        at = &(*at)->next;
    return at;
}

/* Puts a value there. False: no memory. Locked. */
static bool put(struct weftmpi_attribute **at, int keyval, void *value)
{
    struct weftmpi_attribute *attribute = malloc(sizeof(*attribute));

    if (attribute == NULL)
        return false;
    find(keyval)->references++;
    *attribute = (struct weftmpi_attribute){*at, *find(keyval), value};
    *at = attribute;
    return true;
}

/* Locked. */
static void take(struct weftmpi_attribute **at)
{
    struct weftmpi_attribute *attribute = *at;

    *at = attribute->next;
    find(attribute->key.keyval)->references--;
    free(attribute);
}

/* Calls the delete function of a value that is there. */
static int call_erase(struct weftmpi_comm *comm, const char *call, int keyval)
{
    struct weftmpi_attribute a = {.key.erase = MPI_COMM_NULL_DELETE_FN};

    weftmpi_lock();
    if (*look(comm, keyval) != NULL)
        a = **look(comm, keyval);
    weftmpi_unlock();
    if (a.key.erase == MPI_COMM_NULL_DELETE_FN)
        return MPI_SUCCESS;
    const int error = a.key.erase(comm->object.handle, keyval, a.value, a.key.extra);
    return error == MPI_SUCCESS ? MPI_SUCCESS
                                : weftmpi_fail(comm, call, error, "keyval %d: delete", keyval);
}

/* With no error from its delete function the value is gone. */
static int erase(struct weftmpi_comm *comm, const char *call, int keyval)
{
    TRY(call_erase(comm, call, keyval));
    LOCKED;
    struct weftmpi_attribute **at = look(comm, keyval);
    if (*at == NULL)
        return no_key(comm, call, keyval);
    take(at);
    return MPI_SUCCESS;
}

/* A new one before the others, so that the last one is deleted first. */
API(Comm_set_attr, (MPI_Comm handle, int keyval, void *value))
{
    COMM_IN(comm, handle);
    TRY(call_erase(comm, __func__, keyval));
    LOCKED;
    const struct key *key = find(keyval);
    struct weftmpi_attribute *before = *look(comm, keyval);
    if (key == NULL || key->freed)
        return no_key(comm, __func__, keyval);
    if (before != NULL)
        before->value = value;
    else if (!put(&comm->attributes, keyval, value))
        return weftmpi_no_memory(comm, __func__);
    return MPI_SUCCESS;
}

/* The standard's, of MPI_COMM_WORLD. NULL: not one of them, or without a value here. */
static const int *standard(int keyval)
{
    static int tag_most = WEFT_TAG_MOST, no_host = MPI_PROC_NULL, any = MPI_ANY_SOURCE, yes = 1;
    static int last_code = MPI_ERR_LASTCODE;

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
        return &weft_numbers_of(weftmpi.job)->processes;
    case MPI_LASTUSEDCODE:
        return &last_code;
    default:
        return NULL;
    }
}

API(Comm_get_attr, (MPI_Comm handle, int keyval, void *value, int *flag))
{
    OUT(value);
    OUT(flag);
    COMM_IN(comm, handle);
    if (keyval > 0 && keyval < FIRST_KEY) {
        const int *there = standard(keyval);
        *flag = there != NULL;
        if (there != NULL)
            *(const int **)value = there;
        return MPI_SUCCESS;
    }
    LOCKED;
    const struct weftmpi_attribute *attribute = *look(comm, keyval);
    if (find(keyval) == NULL)
        return no_key(comm, __func__, keyval);
    *flag = attribute != NULL;
    if (attribute != NULL)
        *(void **)value = attribute->value;
    return MPI_SUCCESS;
}

API(Comm_delete_attr, (MPI_Comm handle, int keyval))
{
    COMM_IN(comm, handle);
    return erase(comm, __func__, keyval);
}

/* First all, so that they are those of this moment; then each is asked for its value over there. */
int weftmpi_attributes_copy(const char *call, struct weftmpi_comm *from,
                            struct weftmpi_attribute **to)
{
    struct weftmpi_attribute **at = to;
    int error = MPI_SUCCESS;

    weftmpi_lock();
    for (const struct weftmpi_attribute *a = from->attributes; a != NULL; a = a->next) {
        if (!put(at, a->key.keyval, a->value))
            error = MPI_ERR_NO_MEM;
        else
            at = &(*at)->next;
    }
    weftmpi_unlock();
    for (at = to; *at != NULL;) {
        struct weftmpi_attribute *a = *at;
        const struct key *const key = &a->key;
        int flag = key->copy == MPI_COMM_DUP_FN;
        if (error == MPI_SUCCESS && !flag && key->copy != MPI_COMM_NULL_COPY_FN)
            error =
                key->copy(from->object.handle, key->keyval, key->extra, a->value, &a->value, &flag);
        LOCKED;
        if (flag && error == MPI_SUCCESS)
            at = &a->next;
        else
            take(at);
    }
    return error == MPI_SUCCESS ? error : weftmpi_fail(from, call, error, "an attribute's copy");
}

int weftmpi_attributes_delete(struct weftmpi_comm *comm)
{
    while (comm->attributes != NULL)
        TRY(erase(comm, "MPI_Comm_free", comm->attributes->key.keyval));
    return MPI_SUCCESS;
}
