/* crowded/test_notify_1024.c - see README.md. */
#define WEFT_MOST_THREADS 1024
#include "device/test_notify.c"
