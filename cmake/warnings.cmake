# Language level, warnings, hardening and sanitizers, the same for every target.
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Build type" FORCE)
endif()

add_compile_definitions(_GNU_SOURCE)
add_compile_options(-Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes
                    -Wvla -Wformat=2 -Wundef -fno-strict-aliasing
                    -ffile-prefix-map=${PROJECT_SOURCE_DIR}/=)
if(HOLDFAST_WERROR)
  add_compile_options(-Werror)
endif()
if(HOLDFAST_SANITIZE)
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=undefined
                      -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
elseif(HOLDFAST_TSAN)
  add_compile_options(-fsanitize=thread -fno-omit-frame-pointer)
  add_link_options(-fsanitize=thread)
else()
  # Sanitized objects have undefined references by design; everything else has none.
  add_link_options(-Wl,-z,defs -Wl,-z,relro -Wl,-z,now)
  add_compile_options(-fstack-protector-strong)
endif()
