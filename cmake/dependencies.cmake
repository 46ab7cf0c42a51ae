# dependencies.cmake -- libraries from outside, each an imported target. scripts/deps installs them.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)

# A library without a CMake package: header and library by name.
function(dg_find_library target header library package)
	find_path(${target}_INCLUDE ${header})
	find_library(${target}_LIBRARY ${library})
	if(NOT ${target}_INCLUDE OR NOT ${target}_LIBRARY)
		message(FATAL_ERROR "${header} not found: install ${package}, or run scripts/deps")
	endif()
	add_library(dg::${target} INTERFACE IMPORTED)
	target_include_directories(dg::${target} SYSTEM INTERFACE ${${target}_INCLUDE})
	target_link_libraries(dg::${target} INTERFACE ${${target}_LIBRARY})
endfunction()

dg_find_library(lmdb lmdb.h lmdb liblmdb-dev)
dg_find_library(xxhash xxhash.h xxhash libxxhash-dev)
dg_find_library(metis metis.h metis libmetis-dev)
dg_find_library(jansson jansson.h jansson libjansson-dev)
if(DG_TESTS)
	dg_find_library(cmocka cmocka.h cmocka libcmocka-dev)
endif()
