/* crowded/test_order_1024.c - see README.md. */
#define WEFT_MOST_THREADS 1024
#include "stress/test_order.c"
