# CUDA programs on GPUs of other hosts (remote): a library, a runtime that takes the place of
# NVIDIA's libcudart.so.13, and what puts it into programs that hold NVIDIA's static one.
set(WEFT_REMOTE AUTO CACHE STRING "weft-cuda and weft-gpud: CUDA programs on GPUs of other hosts: AUTO, ON or OFF")
find_path(WEFT_REMOTE_INCLUDE cuda_runtime_api.h HINTS ${WEFT_CUDA_INCLUDE} ENV CUDA_HOME /usr/local/cuda/include)
set(remote_found OFF)
if(WEFT_REMOTE_INCLUDE AND EXISTS ${WEFT_REMOTE_INCLUDE}/cuda.h)
  file(STRINGS ${WEFT_REMOTE_INCLUDE}/cuda.h remote_version REGEX "^#define CUDA_VERSION 13")
  if(remote_version AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    set(remote_found ON)
  endif()
endif()
weft_want(WEFT_REMOTE ${remote_found} "cuda.h and cuda_runtime_api.h of CUDA 13 were not found, or this is no x86-64")

# weft_remote_target(<target>): may include src/ and CUDA's headers; nothing of it is visible outside.
function(weft_remote_target target)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/src
                             ${PROJECT_SOURCE_DIR}/include)
  target_include_directories(${target} SYSTEM PRIVATE ${WEFT_REMOTE_INCLUDE})
  target_compile_definitions(${target} PRIVATE _GNU_SOURCE)
endfunction()

# weft_remote_library(<name> <version> <status> <header> <headers with its functions>): lib<name>.so.<version> of
# weft, if the vendor's header is there. What no row serves is refused with that status: weak functions by the
# headers' names.
function(weft_remote_library name version status header)
  if(NOT EXISTS ${WEFT_REMOTE_INCLUDE}/${header})
    return()
  endif()
  set(names)
  foreach(file IN LISTS ARGN)
    file(READ ${WEFT_REMOTE_INCLUDE}/${file} text)
    string(REGEX MATCHALL "${name}[A-Za-z0-9_]+[ \n]*\\(" found "${text}")
    list(APPEND names ${found})
  endforeach()
  list(TRANSFORM names REPLACE "[ \n]*\\($" "")
  list(REMOVE_DUPLICATES names)
  list(SORT names)
  list(TRANSFORM names REPLACE "(.+)" "X(\\1)\n")
  list(JOIN names "" names)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/remote/${name}_refused.def CONTENT "${names}")
  set(map ${PROJECT_BINARY_DIR}/remote/${name}.map)
  file(CONFIGURE OUTPUT ${map} CONTENT "lib${name}.so.${version} { global: ${name}*; local: *; };\n")
  add_library(weft_${name} SHARED ${PROJECT_SOURCE_DIR}/remote/library/${name}.c ${PROJECT_SOURCE_DIR}/remote/library/refused.c)
  weft_remote_target(weft_${name})
  target_compile_definitions(weft_${name} PRIVATE REFUSED="${PROJECT_BINARY_DIR}/remote/${name}_refused.def" REFUSAL=${status})
  target_link_libraries(weft_${name} PRIVATE cudart)
  target_link_options(weft_${name} PRIVATE LINKER:--version-script=${map})
  set_target_properties(weft_${name} PROPERTIES OUTPUT_NAME ${name} SOVERSION ${version} LINK_DEPENDS ${map} SKIP_BUILD_RPATH ON
                        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib/weft-cuda)
  install(TARGETS weft_${name} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/weft-cuda NAMELINK_SKIP)
endfunction()

# weft_remote(): the libraries. weft_remote: all but the runtime; weft_cudart: the runtime, for tests;
# cudart: the same as libcudart.so.13; weft_redirect: what is preloaded.
function(weft_remote)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/remote/*.c)
  set(runtime ${sources})
  list(FILTER runtime INCLUDE REGEX "/remote/cudart/")
  set(redirect ${sources})
  list(FILTER redirect INCLUDE REGEX "/remote/redirect/")
  list(FILTER sources EXCLUDE REGEX "/remote/(cudart|library|redirect)/")
  set(map ${PROJECT_SOURCE_DIR}/remote/cudart/exports.map)

  add_library(weft_remote STATIC ${sources})
  weft_remote_target(weft_remote)
  target_compile_options(weft_remote PRIVATE -fvisibility=hidden)
  target_link_libraries(weft_remote PUBLIC weft_internal ${CMAKE_DL_LIBS})

  add_library(weft_cudart STATIC ${runtime})
  weft_remote_target(weft_cudart)
  target_link_libraries(weft_cudart PUBLIC weft_remote)

  add_library(cudart SHARED ${runtime})
  weft_remote_target(cudart)
  target_link_libraries(cudart PRIVATE weft_remote)
  target_link_options(cudart PRIVATE LINKER:--version-script=${map} LINKER:--exclude-libs,ALL)
  set_target_properties(cudart PROPERTIES SOVERSION 13 LINK_DEPENDS ${map}
                        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib/weft-cuda)

  add_library(weft_redirect SHARED ${redirect})
  weft_remote_target(weft_redirect)
  target_compile_options(weft_redirect PRIVATE -fvisibility=hidden)
  target_link_libraries(weft_redirect PRIVATE ${CMAKE_DL_LIBS})
  set_target_properties(weft_redirect PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib/weft-cuda)
  install(TARGETS cudart weft_redirect LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/weft-cuda NAMELINK_SKIP)

  # Libraries of CUDA whose headers are there.
  weft_remote_library(cublas 13 15 cublas_v2.h cublas_api.h)
  weft_remote_library(cusolver 12 9 cusolverDn.h cusolverDn.h cusolverSp.h cusolverRf.h)

  # weft-gpud, and weft-cuda, which reads programs as what is preloaded does.
  foreach(tool gpud cuda)
    file(GLOB tool_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tools/weft-${tool}/*.c)
    add_executable(weft-${tool} ${tool_sources})
    weft_remote_target(weft-${tool})
    target_link_libraries(weft-${tool} PRIVATE weft_remote)
    install(TARGETS weft-${tool})
  endforeach()
  target_sources(weft-cuda PRIVATE ${PROJECT_SOURCE_DIR}/remote/redirect/elf.c)
  target_compile_definitions(weft-cuda PRIVATE WEFT_LIBDIR="${CMAKE_INSTALL_LIBDIR}")
endfunction()
