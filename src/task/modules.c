/* task/modules.c - the layers above the runtime that have a part in every job. */
#include "runtime/job/module.h"

#include <stddef.h>

const struct weft_module *const weft_modules[] = {&weft_msg_module,   &weft_ccl_module,
                                                  &weft_teams_module, &weft_pgas_module,
                                                  &weft_tasks_module, NULL};
