# Run at install time: kernels compile the device API's code, so its headers go with weft/device.h,
# under weft/internal, and include each other there.
#   cmake -DSOURCE=... -DINCLUDE=... -P weft_kernel_headers.cmake
file(GLOB headers RELATIVE ${SOURCE}/src ${SOURCE}/src/kernel_api/*.h)
list(APPEND headers base/atomic.h base/atomic_cuda.h base/inline.h base/model.h base/order.h
     base/task.h base/ticks.h device/port.h queue/command_ring.h window/channel.h window/counter.h window/letter.h window/state.h window/table.h
     window/trace.h
     wire/command.h wire/notice.h)

function(install_header from to)
  file(READ ${from} text)
  string(REGEX REPLACE "#include \"(base|device|kernel_api|queue|window|wire)/([a-z_]+[.]h)\""
                       "#include <weft/internal/\\1/\\2>" text "${text}")
  file(WRITE ${to} "${text}")
endfunction()

foreach(header IN LISTS headers)
  install_header(${SOURCE}/src/${header} ${INCLUDE}/weft/internal/${header})
endforeach()
install_header(${SOURCE}/include/weft/device.h ${INCLUDE}/weft/device.h)
