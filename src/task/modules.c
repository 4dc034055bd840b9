/* task/modules.c - what every job consists of: the runtime's services, and what the layers above it
 * have in every job. */
#include "runtime/service/service.h"

#include <stddef.h>

const struct weft_service *const weft_services[] = {
    &weft_proxy_service,      &weft_queues_service,
    &weft_ask_service,        &weft_answer_service,
    &weft_network_service,    &weft_failure_service,
    &weft_exchange_service,   &weft_memory_service,
    &weft_collective_service, &weft_exposure_service,
    &weft_waiting_service,    &weft_text_service,
    &weft_msg_rounds,         &weft_msg_service,
    &weft_msg_module,         &weft_ccl_service,
    &weft_ccl_module,         &weft_teams_module,
    &weft_pgas_module,        &weft_tasks_service,
    &weft_tasks_module,       NULL};
