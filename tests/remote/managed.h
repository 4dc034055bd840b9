/* managed.h - what the parts of test_managed.c share. */
#ifndef TESTS_REMOTE_MANAGED_H
#define TESTS_REMOTE_MANAGED_H

#include "suite.h"

enum { N = 1 << 18 };

extern unsigned *managed;      /* N numbers */
void managed_scale(int shift); /* on the device: so much more, each */
/* Threads and callbacks that use it at once. two: there are two devices. */
void managed_threads(bool two);

#endif
