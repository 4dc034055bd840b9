# `cmake --install`: headers, library, tools, a CMake package and a pkg-config file. What is
# installed may be moved: both find their prefix from where they lie.
include(CMakePackageConfigHelpers)

install(TARGETS weft EXPORT weft-targets)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/weft DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h")
install(CODE "execute_process(COMMAND \"${CMAKE_COMMAND}\" \"-DSOURCE=${PROJECT_SOURCE_DIR}\"
  \"-DINCLUDE=\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_INCLUDEDIR}\"
  -P \"${PROJECT_SOURCE_DIR}/cmake/weft_kernel_headers.cmake\" COMMAND_ERROR_IS_FATAL ANY)")
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
  \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_MANDIR}/man1\" COMMAND_ERROR_IS_FATAL ANY)")
install(FILES ${PROJECT_SOURCE_DIR}/tools/weft-gdb.py DESTINATION ${CMAKE_INSTALL_DATADIR}/weft)
install(FILES ${PROJECT_BINARY_DIR}/weft.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
