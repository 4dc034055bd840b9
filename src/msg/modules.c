/* msg/modules.c - the layers above the runtime that have a part in every job. */
#include "msg/msg.h"
#include "runtime/job/module.h"

const struct weft_module *const weft_modules[] = {&weft_msg_module, NULL};
