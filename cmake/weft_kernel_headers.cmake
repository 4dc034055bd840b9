# Run at install time: kernels compile the device API's code, so its headers go with weft/device.h,
# under weft/internal, and include each other there.
#   cmake -DSOURCE=... -DINCLUDE=... -P weft_kernel_headers.cmake
file(GLOB_RECURSE headers RELATIVE ${SOURCE}/src ${SOURCE}/src/rank/*.h)
list(APPEND headers order/atomic.h order/atomic_cuda.h order/inline.h order/model.h order/order.h order/update.h
     base/task.h base/ticks.h device/port.h ring/command.h ring/lines.h
     abi/ask.h abi/channel.h abi/command.h abi/letter.h abi/line.h abi/notice.h abi/trace.h abi/window.h)

function(install_header from to)
  file(READ ${from} text)
  string(REGEX REPLACE "#include \"(abi|base|device|order|rank|ring)/([a-z_/]+[.]h)\""
                       "#include <weft/internal/\\1/\\2>" text "${text}")
  file(WRITE ${to} "${text}")
endfunction()

foreach(header IN LISTS headers)
  install_header(${SOURCE}/src/${header} ${INCLUDE}/weft/internal/${header})
endforeach()
install_header(${SOURCE}/include/weft/device.h ${INCLUDE}/weft/device.h)
