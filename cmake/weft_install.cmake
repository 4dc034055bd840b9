# `cmake --install`: headers, library, tools, a CMake package and a pkg-config file. What is
# installed may be moved: both find their prefix from where they lie.
#
# weft_installed(<glob>): what a command has made below the prefix, for the list by which ./run uninstall
# removes it.
function(weft_installed glob)
  install(CODE "file(GLOB_RECURSE made \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${glob}\")
string(REPLACE \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/\" \"\${CMAKE_INSTALL_PREFIX}/\" made \"\${made}\")
list(APPEND CMAKE_INSTALL_MANIFEST_FILES \${made})")
endfunction()
include(CMakePackageConfigHelpers)

install(TARGETS weft EXPORT weft-targets)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/weft DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h")
install(CODE "execute_process(COMMAND \"${CMAKE_COMMAND}\" \"-DSOURCE=${PROJECT_SOURCE_DIR}\"
  \"-DINCLUDE=\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_INCLUDEDIR}\"
  -P \"${PROJECT_SOURCE_DIR}/cmake/weft_kernel_headers.cmake\" COMMAND_ERROR_IS_FATAL ANY)")
weft_installed(${CMAKE_INSTALL_INCLUDEDIR}/weft/internal/*)
install(EXPORT weft-targets NAMESPACE weft:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/weft)
# WEFT_NET_PACKAGES: the pkg-config packages of networks, each as "CMAKE_PREFIX name". A static library
# needs them where it is linked.
set(WEFT_CONFIG_PACKAGES)
set(WEFT_PC_REQUIRES)
set(WEFT_PC_STATIC_LIBS)
if(NOT BUILD_SHARED_LIBS)
  foreach(package IN LISTS WEFT_NET_PACKAGES)
    separate_arguments(package)
    list(GET package 0 prefix)
    list(GET package 1 name)
    string(APPEND WEFT_CONFIG_PACKAGES
           "find_dependency(PkgConfig)\npkg_check_modules(${prefix} REQUIRED IMPORTED_TARGET ${name})\n")
    list(APPEND WEFT_PC_REQUIRES ${name})
    list(REMOVE_ITEM ${prefix}_LIBRARY_DIRS ${CMAKE_C_IMPLICIT_LINK_DIRECTORIES})
    list(TRANSFORM ${prefix}_LIBRARY_DIRS PREPEND " -L" OUTPUT_VARIABLE folders)
    list(TRANSFORM ${prefix}_LIBRARIES PREPEND " -l" OUTPUT_VARIABLE libraries)
    string(APPEND WEFT_PC_STATIC_LIBS ${folders} ${libraries})
  endforeach()
endif()
list(JOIN WEFT_PC_REQUIRES ", " WEFT_PC_REQUIRES)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/weft-config.cmake.in
  ${PROJECT_BINARY_DIR}/weft-config.cmake INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/weft)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/weft-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/weft-config.cmake ${PROJECT_BINARY_DIR}/weft-config-version.cmake
              ${PROJECT_SOURCE_DIR}/cmake/weft_program.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/weft)

# A static library brings nothing with it: plain `pkg-config --libs` must name what it needs, in words
# that nvcc takes, too (-lpthread, not -pthread).
if(NOT BUILD_SHARED_LIBS)
  string(APPEND WEFT_PC_STATIC_LIBS " -lpthread -lm -ldl")
endif()
file(RELATIVE_PATH WEFT_PC_TO_PREFIX /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
string(REGEX REPLACE "/$" "" WEFT_PC_TO_PREFIX ${WEFT_PC_TO_PREFIX})
configure_file(${PROJECT_SOURCE_DIR}/cmake/weft.pc.in ${PROJECT_BINARY_DIR}/weft.pc @ONLY)
install(CODE "execute_process(COMMAND \"${PROJECT_SOURCE_DIR}/tools/man-pages\" \"${CMAKE_RUNTIME_OUTPUT_DIRECTORY}\"
  \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_MANDIR}/man1\" COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND \"${PROJECT_SOURCE_DIR}/tools/man-functions\" \"${PROJECT_SOURCE_DIR}/include\"
  \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_MANDIR}/man3\" COMMAND_ERROR_IS_FATAL ANY)")
foreach(page man1/weft* man1/gaspi_run.1 man1/dartrun.1 man3/weft_*)
  weft_installed(${CMAKE_INSTALL_MANDIR}/${page})
endforeach()
# Documents and examples; the raw figures stay behind.
install(FILES ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
file(GLOB pages CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/docs/*.md)
install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/apps/examples DESTINATION ${CMAKE_INSTALL_DOCDIR})
file(GLOB common CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/apps/common/report.* ${PROJECT_SOURCE_DIR}/apps/common/settings.*
     ${PROJECT_SOURCE_DIR}/apps/common/usage.*) # of the examples
install(FILES ${common} DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples/common)
install(FILES ${PROJECT_SOURCE_DIR}/tools/weft-gdb.py DESTINATION ${CMAKE_INSTALL_DATADIR}/weft)
install(FILES ${PROJECT_BINARY_DIR}/weft.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
