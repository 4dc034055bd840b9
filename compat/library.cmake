# weft_compat_library(<name> <standard> <tool>): a static library weft-<name> of the folder's
# sources over weft's public API, with its headers, the program that starts its programs, and what
# pkg-config says of it, installed and in the build folder.
function(weft_compat_library name standard tool)
  set(package weft-${name})
  file(GLOB sources CONFIGURE_DEPENDS *.c)
  add_library(${package} STATIC ${sources})
  target_include_directories(${package} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include/${package}>
                             $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/${package}>)
  target_compile_definitions(${package} PRIVATE _GNU_SOURCE)
  target_link_libraries(${package} PUBLIC weft)
  set_target_properties(${package} PROPERTIES EXPORT_NAME ${name})

  install(TARGETS ${package} EXPORT weft-targets)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/${package} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(PROGRAMS ${PROJECT_SOURCE_DIR}/tools/${tool} DESTINATION ${CMAKE_INSTALL_BINDIR})
  foreach(kind "" -uninstalled)
    configure_file(../library${kind}.pc.in ${PROJECT_BINARY_DIR}/${package}${kind}.pc @ONLY)
  endforeach()
  install(FILES ${PROJECT_BINARY_DIR}/${package}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()
