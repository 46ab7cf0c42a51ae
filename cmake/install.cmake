# install.cmake -- headers, libraries, program, man pages, CMake package and pkg-config file.
include(CMakePackageConfigHelpers)

install(DIRECTORY include/distgraph ${PROJECT_BINARY_DIR}/include/distgraph
	DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(TARGETS distgraph_static EXPORT distgraph-targets
	ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(BUILD_SHARED_LIBS)
	install(TARGETS distgraph_shared EXPORT distgraph-targets
		LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
if(TARGET distgraph_cli)
	install(TARGETS distgraph_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(DIRECTORY docs/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1
	FILES_MATCHING PATTERN "*.1")

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/distgraph)
install(EXPORT distgraph-targets NAMESPACE distgraph:: DESTINATION ${package_dir})
configure_package_config_file(cmake/distgraph-config.cmake.in
	${PROJECT_BINARY_DIR}/distgraph-config.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/distgraph-config-version.cmake
	COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/distgraph-config.cmake
	${PROJECT_BINARY_DIR}/distgraph-config-version.cmake DESTINATION ${package_dir})

configure_file(cmake/distgraph.pc.in ${PROJECT_BINARY_DIR}/distgraph.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/distgraph.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
