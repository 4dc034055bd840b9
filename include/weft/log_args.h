/*
 * weft/log_args.h - weft_log: what it passes on, and how it turns its arguments into that: by
 * _Generic in C, by overloads in C++ and CUDA C. Included by device.h, which says what weft_log
 * does; nothing else here is for kernels to name.
 */
#ifndef WEFT_LOG_ARGS_H
#define WEFT_LOG_ARGS_H

#ifndef WEFT_DEVICE_H
#error "weft/log_args.h is a part of weft/device.h: include that"
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_log_arg {
    uint64_t bits;
    uint32_t kind; /* enum weft_log_kind */
    uint32_t unused;
} weft_log_arg;

typedef enum weft_log_kind {
    WEFT_LOG_INT,
    WEFT_LOG_UINT,
    WEFT_LOG_REAL,
    WEFT_LOG_PTR,
    WEFT_LOG_COMM,      /* of the library's own texts: a communicator, printed by its name */
    WEFT_LOG_TYPE,      /* of the library's own texts: a weft_type, printed by its name */
    WEFT_LOG_OPERATION, /* of the library's own texts: a weft_operation, printed by its name */
    WEFT_LOG_STRING     /* bits: address of the text; on the way to the host: its length in bytes */
} weft_log_kind;

#define WEFT_LOG_ARGS 8
#define WEFT_LOG_TEXT 320 /* longest format together with its text arguments; more is cut */

WEFT_FN void weft_log_values(weft_self *self, const char *format, int count,
                             const weft_log_arg *args);

#ifdef __cplusplus
}
#endif

/* Never called: the compiler compares what stands there with the format, as it does for printf. */
int weft_log_check(const char *format, ...) __attribute__((format(printf, 1, 2)));

#define weft_log(self, ...)                                                                        \
    ((void)sizeof(weft_log_check(__VA_ARGS__)), WEFT_LOG_PASS(self, __VA_ARGS__))

#ifdef __cplusplus

#ifdef __CUDACC__
#define WEFT_LOG_FN static __device__ inline
#else
#define WEFT_LOG_FN static inline
#endif

template <class T> WEFT_LOG_FN weft_log_arg weft_log_value(T value)
{
    static_assert(sizeof(T) <= 8,
                  "weft_log takes no integers of more than 8 bytes, and no long double");
    weft_log_arg arg = {(uint64_t)value, WEFT_LOG_INT, 0};
    if ((T)-1 > (T)0)
        arg.kind = WEFT_LOG_UINT;
    return arg;
}
WEFT_LOG_FN weft_log_arg weft_log_value(bool value)
{
    return weft_log_value((int)value);
}
template <class T> WEFT_LOG_FN weft_log_arg weft_log_value(T *value)
{
    weft_log_arg arg = {(uint64_t)value, WEFT_LOG_PTR, 0};
    return arg;
}
WEFT_LOG_FN weft_log_arg weft_log_value(const char *text)
{
    weft_log_arg arg = {(uint64_t)text, WEFT_LOG_STRING, 0};
    return arg;
}
WEFT_LOG_FN weft_log_arg weft_log_value(char *text)
{
    return weft_log_value((const char *)text);
}
WEFT_LOG_FN weft_log_arg weft_log_value(double value)
{
    weft_log_arg arg = {0, WEFT_LOG_REAL, 0};
    memcpy(&arg.bits, &value, sizeof(value));
    return arg;
}
WEFT_LOG_FN weft_log_arg weft_log_value(float value)
{
    return weft_log_value((double)value);
}
template <class... A>
WEFT_LOG_FN void WEFT_LOG_PASS(weft_self *self, const char *format, A... values)
{
    static_assert(sizeof...(A) <= WEFT_LOG_ARGS, "weft_log takes up to 8 arguments");
    weft_log_arg args[sizeof...(A) + 1] = {weft_log_value(values)..., weft_log_arg()};
    weft_log_values(self, format, (int)sizeof...(A), args);
}

#else

static inline weft_log_arg weft_log_int(long long value)
{
    return (weft_log_arg){(uint64_t)value, WEFT_LOG_INT, 0};
}
static inline weft_log_arg weft_log_uint(unsigned long long value)
{
    return (weft_log_arg){value, WEFT_LOG_UINT, 0};
}
static inline weft_log_arg weft_log_real(double value)
{
    weft_log_arg arg = {0, WEFT_LOG_REAL, 0};
    memcpy(&arg.bits, &value, sizeof(value));
    return arg;
}
static inline weft_log_arg weft_log_ptr(const void *value)
{
    return (weft_log_arg){(uint64_t)(uintptr_t)value, WEFT_LOG_PTR, 0};
}
static inline weft_log_arg weft_log_string(const char *text)
{
    return (weft_log_arg){(uint64_t)(uintptr_t)text, WEFT_LOG_STRING, 0};
}

/* clang-format off */
#define WEFT_LOG_VALUE(x)                                                                          \
    _Generic((x),                                                                                  \
        float: weft_log_real, double: weft_log_real,                                               \
        _Bool: weft_log_int, char: weft_log_int, signed char: weft_log_int, short: weft_log_int,   \
        int: weft_log_int, long: weft_log_int, long long: weft_log_int,                            \
        unsigned char: weft_log_uint, unsigned short: weft_log_uint, unsigned: weft_log_uint,      \
        unsigned long: weft_log_uint, unsigned long long: weft_log_uint,                           \
        char *: weft_log_string, const char *: weft_log_string,                                    \
        default: weft_log_ptr)(x)

#define WEFT_LOG_1(a) WEFT_LOG_VALUE(a)
#define WEFT_LOG_2(a, ...) WEFT_LOG_VALUE(a), WEFT_LOG_1(__VA_ARGS__)
#define WEFT_LOG_3(a, ...) WEFT_LOG_VALUE(a), WEFT_LOG_2(__VA_ARGS__)
#define WEFT_LOG_4(a, ...) WEFT_LOG_VALUE(a), WEFT_LOG_3(__VA_ARGS__)
#define WEFT_LOG_5(a, ...) WEFT_LOG_VALUE(a), WEFT_LOG_4(__VA_ARGS__)
#define WEFT_LOG_6(a, ...) WEFT_LOG_VALUE(a), WEFT_LOG_5(__VA_ARGS__)
#define WEFT_LOG_7(a, ...) WEFT_LOG_VALUE(a), WEFT_LOG_6(__VA_ARGS__)
#define WEFT_LOG_8(a, ...) WEFT_LOG_VALUE(a), WEFT_LOG_7(__VA_ARGS__)

#define WEFT_LOG_CALL0(self, format) weft_log_values(self, format, 0, NULL)
#define WEFT_LOG_CALL(n, self, format, ...)                                                        \
    weft_log_values(self, format, n, (const weft_log_arg[]){WEFT_LOG_##n(__VA_ARGS__)})
#define WEFT_LOG_CALL1(self, ...) WEFT_LOG_CALL(1, self, __VA_ARGS__)
#define WEFT_LOG_CALL2(self, ...) WEFT_LOG_CALL(2, self, __VA_ARGS__)
#define WEFT_LOG_CALL3(self, ...) WEFT_LOG_CALL(3, self, __VA_ARGS__)
#define WEFT_LOG_CALL4(self, ...) WEFT_LOG_CALL(4, self, __VA_ARGS__)
#define WEFT_LOG_CALL5(self, ...) WEFT_LOG_CALL(5, self, __VA_ARGS__)
#define WEFT_LOG_CALL6(self, ...) WEFT_LOG_CALL(6, self, __VA_ARGS__)
#define WEFT_LOG_CALL7(self, ...) WEFT_LOG_CALL(7, self, __VA_ARGS__)
#define WEFT_LOG_CALL8(self, ...) WEFT_LOG_CALL(8, self, __VA_ARGS__)
#define WEFT_LOG_MANY(self, ...)                                                                   \
    (void)sizeof(struct { int unused; static_assert(0, "weft_log takes up to 8 arguments"); })
#define WEFT_LOG_PICK(format, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, name, ...) name
#define WEFT_LOG_PASS(self, ...)                                                                   \
    WEFT_LOG_PICK(__VA_ARGS__, WEFT_LOG_MANY, WEFT_LOG_MANY, WEFT_LOG_MANY, WEFT_LOG_MANY,         \
                  WEFT_LOG_MANY, WEFT_LOG_MANY, WEFT_LOG_MANY, WEFT_LOG_MANY, WEFT_LOG_CALL8,      \
                  WEFT_LOG_CALL7, WEFT_LOG_CALL6, WEFT_LOG_CALL5, WEFT_LOG_CALL4, WEFT_LOG_CALL3,  \
                  WEFT_LOG_CALL2, WEFT_LOG_CALL1, WEFT_LOG_CALL0, 0)(self, __VA_ARGS__)
/* clang-format on */

#endif
#endif
