# Run at install time: kernels compile the device API's code, so its headers go with weft/device.h,
# under weft/internal, and include each other there: rank/api.h, rank/thread.h, ccl/api.h, coll/api.h, task/api.h, and
# all that they include.
#   cmake -DSOURCE=... -DINCLUDE=... -P weft_kernel_headers.cmake
set(include "#include \"((abi|base|ccl|coll|device|gda|order|pgas|rank|ring|task)/[a-z0-9_/]+[.]h)\"")

function(install_header from to)
  file(READ ${from} text)
  string(REGEX REPLACE "${include}" "#include <weft/internal/\\1>" text "${text}")
  file(WRITE ${to} "${text}")
endfunction()

set(headers rank/api.h rank/thread.h ccl/api.h coll/api.h pgas/api.h task/api.h) # grows while it is gone through
set(at 0)
list(LENGTH headers count)
while(at LESS count)
  list(GET headers ${at} header)
  install_header(${SOURCE}/src/${header} ${INCLUDE}/weft/internal/${header})
  file(STRINGS ${SOURCE}/src/${header} lines REGEX "${include}")
  list(TRANSFORM lines REPLACE ".*\"(.*)\".*" "\\1")
  list(APPEND headers ${lines})
  list(REMOVE_DUPLICATES headers)
  math(EXPR at "${at} + 1")
  list(LENGTH headers count)
endwhile()
foreach(header device ccl coll pgas task warp)
  install_header(${SOURCE}/include/weft/${header}.h ${INCLUDE}/weft/${header}.h)
endforeach()
