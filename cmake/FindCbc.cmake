# COIN-OR CBC, a solver of mixed-integer programmes (Debian: coinor-libcbc-dev): target Cbc::Cbc.
find_path(CBC_INCLUDE_DIR coin/CbcModel.hpp)
set(CBC_LIBRARIES_ALL)
foreach(part Cbc Cgl OsiClp Clp Osi CoinUtils)
  find_library(CBC_${part}_LIBRARY ${part})
  list(APPEND CBC_LIBRARIES_ALL ${CBC_${part}_LIBRARY})
  mark_as_advanced(CBC_${part}_LIBRARY)
endforeach()
mark_as_advanced(CBC_INCLUDE_DIR)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Cbc
  REQUIRED_VARS CBC_INCLUDE_DIR CBC_Cbc_LIBRARY CBC_Cgl_LIBRARY CBC_OsiClp_LIBRARY CBC_Clp_LIBRARY CBC_Osi_LIBRARY
                CBC_CoinUtils_LIBRARY
  REASON_FAILURE_MESSAGE "install coinor-libcbc-dev")
if(Cbc_FOUND AND NOT TARGET Cbc::Cbc)
  add_library(Cbc::Cbc INTERFACE IMPORTED)
  # Its headers include each other by their bare names.
  target_include_directories(Cbc::Cbc SYSTEM INTERFACE ${CBC_INCLUDE_DIR} ${CBC_INCLUDE_DIR}/coin)
  target_link_libraries(Cbc::Cbc INTERFACE ${CBC_LIBRARIES_ALL})
endif()
