/* litmus/messages.h - a litmus program without a kernel. */
#ifndef WEFT_TESTS_MESSAGES_H
#define WEFT_TESTS_MESSAGES_H

#include <weft/weft.h>

/* 0: all was well. */
int litmus_messages(weft_job *job);

#endif
