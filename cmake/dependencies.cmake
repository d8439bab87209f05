# The libraries that Holdfast stands on, each as one imported target.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(YAML REQUIRED IMPORTED_TARGET yaml-0.1)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson>=2.13)
pkg_check_modules(ZLIB REQUIRED IMPORTED_TARGET zlib)

find_path(LTDL_INCLUDE_DIR ltdl.h REQUIRED)
find_library(LTDL_LIBRARY ltdl REQUIRED)

if(HOLDFAST_SQLITE_ROOT)
  find_path(SQLITE_INCLUDE_DIR sqlite3.h PATHS ${HOLDFAST_SQLITE_ROOT}/include
            NO_DEFAULT_PATH REQUIRED)
  find_library(SQLITE_LIBRARY sqlite3 PATHS ${HOLDFAST_SQLITE_ROOT}/lib
               NO_DEFAULT_PATH REQUIRED)
else()
  find_path(SQLITE_INCLUDE_DIR sqlite3.h REQUIRED)
  find_library(SQLITE_LIBRARY sqlite3 REQUIRED)
endif()
add_library(holdfast_sqlite3 INTERFACE)
target_include_directories(holdfast_sqlite3 INTERFACE ${SQLITE_INCLUDE_DIR})
target_link_libraries(holdfast_sqlite3 INTERFACE ${SQLITE_LIBRARY})
