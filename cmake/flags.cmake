# flags.cmake -- compiler flags of every target.
add_compile_definitions(_GNU_SOURCE)
add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes
	-Wconversion -Wvla -Wcast-qual -Wwrite-strings -fno-strict-aliasing
	# Results must not depend on whether the compiler fused a multiplication and an addition.
	-ffp-contract=off)

if(DG_SANITIZE)
	add_compile_options(-fsanitize=${DG_SANITIZE} -fno-omit-frame-pointer
		-fno-sanitize-recover=all)
	add_link_options(-fsanitize=${DG_SANITIZE})
endif()
if(DG_LIBFUZZER) # the library tells the fuzzer which of its branches an input reached
	add_compile_options(-fsanitize=fuzzer-no-link)
	add_link_options(-fsanitize=fuzzer-no-link)
endif()
if(DG_COVERAGE)
	add_compile_options(--coverage)
	add_link_options(--coverage)
endif()
if(DG_HARDEN)
	add_compile_options(-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 -fstack-protector-strong
		-fstack-clash-protection -ftrivial-auto-var-init=zero -fcf-protection)
	add_link_options(LINKER:-z,relro,-z,now,-z,noexecstack)
endif()
