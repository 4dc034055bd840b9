/*
 * compat/mpi/attribute.c - attributes of communicators: values under keys, with callbacks. The lock
 * guards keys and lists of values; it is free while a callback of the program runs.
 */
#include "win.h"

enum { FIRST_KEY = 0x400 }; /* above the standard's: the numbers of handles */

/* Callbacks of all kinds are called alike: every handle is a pointer. */
struct key {
    struct weftmpi_object object;
    MPI_Comm_copy_attr_function *copy;
    MPI_Comm_delete_attr_function *erase;
    void *extra;
    enum weftmpi_kind kind; /* kind of objects that it is for */
    bool freed;             /* the program has freed it; values keep it */
};

struct weftmpi_attribute {
    struct weftmpi_attribute *next;
    struct key *key;
    void *value;
};

/* Finds a key. NULL: it is none. */
static struct key *find(int keyval)
{
    return weftmpi_find(WEFTMPI_KEYVAL, weftmpi_from_fortran(keyval));
}

static int no_key(int keyval)
{
    return weftmpi_fail(MPI_ERR_KEYVAL, "keyval %d is none, or was freed, or is for other objects",
                        keyval);
}

static int keyval_make(enum weftmpi_kind kind, void (*copy)(void), void (*erase)(void), int *keyval,
                       void *extra)
{
    TRY(weftmpi_is_open());
    TRY(PLACES(keyval));
    struct key *key = weftmpi_make(WEFTMPI_KEYVAL, sizeof(*key));
    key->copy = (MPI_Comm_copy_attr_function *)copy;
    key->erase = (MPI_Comm_delete_attr_function *)erase;
    key->extra = extra;
    key->kind = kind;
    *keyval = weftmpi_to_fortran(key->object.handle);
    return MPI_SUCCESS;
}

/* Frees a key's handle; the key stays while there are values. It may be freed again then. */
static int keyval_free(enum weftmpi_kind kind, int *keyval)
{
    TRY(weftmpi_is_open());
    TRY(PLACES(keyval));
    LOCKED;
    struct key *key = find(*keyval);
    if (key == NULL || key->kind != kind)
        return no_key(*keyval);
    if (!key->freed) {
        key->freed = true;
        weftmpi_leave(key);
    }
    *keyval = MPI_KEYVAL_INVALID;
    return MPI_SUCCESS;
}

/* Finds where a key's value is, or would be. Locked. */
static struct weftmpi_attribute **look(struct weftmpi_object *object, const struct key *key)
{
    struct weftmpi_attribute **at = &object->attributes;

    while (*at != NULL && (*at)->key != key)
        at = &(*at)->next;
    return at;
}

/* Puts a value there. Locked. */
static void put(struct weftmpi_attribute **at, struct key *key, void *value)
{
    struct weftmpi_attribute *attribute = weftmpi_room(NULL, sizeof(*attribute));

    *attribute = (struct weftmpi_attribute){*at, weftmpi_hold(key), value};
    *at = attribute;
}

/* Removes a value. Locked. */
static void take(struct weftmpi_attribute **at)
{
    struct weftmpi_attribute *attribute = *at;

    *at = attribute->next;
    weftmpi_leave(attribute->key);
    free(attribute);
}

/* Calls the delete function of a value that is there. */
static int call_erase(struct weftmpi_object *object, int keyval)
{
    struct key key = {.erase = MPI_COMM_NULL_DELETE_FN};
    void *value = NULL;

    weftmpi_lock();
    const struct weftmpi_attribute *attribute = *look(object, find(keyval));
    if (attribute != NULL) {
        key = *attribute->key;
        value = attribute->value;
    }
    weftmpi_unlock();
    if (key.erase == MPI_COMM_NULL_DELETE_FN)
        return MPI_SUCCESS;
    int error;
    {
        CALLS_BACK;
        error = key.erase(object->handle, keyval, value, key.extra);
    }
    return HOLDS(error == MPI_SUCCESS, error, "keyval %d: delete", keyval);
}

/* Calls the delete function of a value and, with no error from it, removes the value. */
static int erase_one(struct weftmpi_object *object, int keyval)
{
    TRY(call_erase(object, keyval));
    LOCKED;
    struct weftmpi_attribute **at = look(object, find(keyval));
    if (*at == NULL)
        return no_key(keyval);
    take(at);
    return MPI_SUCCESS;
}

/* Sets a value: a new one before the others, so that the last one is deleted first. */
static int set(enum weftmpi_kind kind, struct weftmpi_object *object, int keyval, void *value)
{
    TRY(call_erase(object, keyval));
    LOCKED;
    struct key *const key = find(keyval);
    struct weftmpi_attribute *before = *look(object, key);
    if (key == NULL || key->freed || key->kind != kind)
        return no_key(keyval);
    if (before != NULL)
        before->value = value;
    else
        put(&object->attributes, key, value);
    return MPI_SUCCESS;
}

/* Returns a value of the standard's, of MPI_COMM_WORLD. NULL: not one of them, or without a value
 * here. */
static const int *of_world(int keyval)
{
    static int tag_most = WEFT_TAG_MOST, no_host = MPI_PROC_NULL, any = MPI_ANY_SOURCE, yes = 1;
    const weft_numbers *numbers = weft_numbers_of(weftmpi.job);
    const int *const values[] = {
        [MPI_TAG_UB - MPI_TAG_UB] = &tag_most,
        [MPI_HOST - MPI_TAG_UB] = &no_host,
        [MPI_IO - MPI_TAG_UB] = &any,
        [MPI_WTIME_IS_GLOBAL - MPI_TAG_UB] = numbers->nodes == 1 ? &yes : NULL, /* one clock */
        [MPI_UNIVERSE_SIZE - MPI_TAG_UB] = &numbers->processes,
        [MPI_LASTUSEDCODE - MPI_TAG_UB] = &weftmpi_last_code,
    };

    return keyval >= MPI_TAG_UB && keyval <= MPI_LASTUSEDCODE ? values[keyval - MPI_TAG_UB] : NULL;
}

/* Returns a value of the standard's, of a window. NULL: not one of them. */
static const void *of_window(struct weftmpi_object *object, int keyval)
{
    const struct weftmpi_win *win = (struct weftmpi_win *)object;
    const void *const values[] = {
        [MPI_WIN_BASE - MPI_WIN_BASE] = win->base,
        [MPI_WIN_SIZE - MPI_WIN_BASE] = &win->bytes,
        [MPI_WIN_DISP_UNIT - MPI_WIN_BASE] = &win->unit,
        [MPI_WIN_CREATE_FLAVOR - MPI_WIN_BASE] = &win->flavor,
        [MPI_WIN_MODEL - MPI_WIN_BASE] = &win->model,
    };

    return keyval >= MPI_WIN_BASE && keyval <= MPI_WIN_MODEL ? values[keyval - MPI_WIN_BASE] : NULL;
}

static int get(enum weftmpi_kind kind, struct weftmpi_object *object, int keyval, void *value,
               int *flag)
{
    TRY(PLACES(value, flag));
    if (keyval > 0 && keyval < FIRST_KEY) {
        const void *const there = kind == WEFTMPI_WIN    ? of_window(object, keyval)
                                  : kind == WEFTMPI_COMM ? of_world(keyval)
                                                         : NULL;
        *flag = there != NULL || (kind == WEFTMPI_WIN && keyval == MPI_WIN_BASE); /* may be NULL */
        if (*flag)
            *(const void **)value = there;
        return MPI_SUCCESS;
    }
    LOCKED;
    const struct key *const key = find(keyval);
    const struct weftmpi_attribute *attribute = *look(object, key);
    if (key == NULL || key->kind != kind)
        return no_key(keyval);
    *flag = attribute != NULL;
    if (attribute != NULL)
        *(void **)value = attribute->value;
    return MPI_SUCCESS;
}

/* Copies attributes: first all, so that they are those of this moment; then each is asked for its
 * value over there. */
int weftmpi_attributes_copy(struct weftmpi_object *from, struct weftmpi_attribute **to)
{
    struct weftmpi_attribute **at = to;
    int error = MPI_SUCCESS;

    weftmpi_lock();
    for (const struct weftmpi_attribute *a = from->attributes; a != NULL; a = a->next) {
        put(at, a->key, a->value);
        at = &(*at)->next;
    }
    weftmpi_unlock();
    for (at = to; *at != NULL;) {
        struct weftmpi_attribute *a = *at;
        const struct key *const key = a->key;
        int flag = key->copy == MPI_COMM_DUP_FN;
        if (error == MPI_SUCCESS && !flag && key->copy != MPI_COMM_NULL_COPY_FN) {
            CALLS_BACK;
            error = key->copy(from->handle, weftmpi_to_fortran(key->object.handle), key->extra,
                              a->value, &a->value, &flag);
        }
        LOCKED;
        if (flag && error == MPI_SUCCESS)
            at = &a->next;
        else
            take(at);
    }
    return error == MPI_SUCCESS ? error : weftmpi_fail(error, "an attribute's copy");
}

int weftmpi_attributes_delete(struct weftmpi_object *object)
{
    while (object->attributes != NULL)
        TRY(erase_one(object, weftmpi_to_fortran(object->attributes->key->object.handle)));
    return MPI_SUCCESS;
}

#define ATTRIBUTES(name, KIND, IN, type)                                                           \
    CALL(name##_create_keyval,                                                                     \
         (MPI_##name##_copy_attr_function * copy, MPI_##name##_delete_attr_function * erase,       \
          int *keyval, void *extra),                                                               \
         keyval_make(KIND, (void (*)(void))copy, (void (*)(void))erase, keyval, extra))            \
    CALL(name##_free_keyval, (int *keyval), keyval_free(KIND, keyval))                             \
    ON(name##_set_attr, IN, (type handle, int keyval, void *value),                                \
       set(KIND, &of->object, keyval, value))                                                      \
    ON(name##_get_attr, IN, (type handle, int keyval, void *value, int *flag),                     \
       get(KIND, &of->object, keyval, value, flag))                                                \
    ON(name##_delete_attr, IN, (type handle, int keyval), erase_one(&of->object, keyval))
ATTRIBUTES(Comm, WEFTMPI_COMM, COMM_IN, MPI_Comm)
ATTRIBUTES(Type, WEFTMPI_TYPE, TYPE_IN, MPI_Datatype)
ATTRIBUTES(Win, WEFTMPI_WIN, WIN_IN, MPI_Win)

/* Functions of MPI 1 under their old names. */
SAME(Keyval_create, Comm_create_keyval)
SAME(Keyval_free, Comm_free_keyval)
SAME(Attr_put, Comm_set_attr)
SAME(Attr_get, Comm_get_attr)
SAME(Attr_delete, Comm_delete_attr)
