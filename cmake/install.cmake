# install.cmake -- headers, libraries, program, CMake package and pkg-config file.
