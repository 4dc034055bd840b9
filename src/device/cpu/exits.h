/* device/cpu/exits.h - a rank that ends its process or its worker: it is named, and all ends. */
#ifndef WEFT_DEVICE_CPU_EXITS_H
#define WEFT_DEVICE_CPU_EXITS_H

/* Once in a process. Without memory for it ranks are not named. */
void weft_exits_watch(void);

/* By a worker: between the two its thread must not end. */
void weft_exits_begin(void);
void weft_exits_end(void);

#endif
