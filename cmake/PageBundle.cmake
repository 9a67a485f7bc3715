# cmake -DNPM= -DNODE= -DPAGE= -DFILES= -DWORK= -DOUT= -P PageBundle.cmake: writes OUT, the page as
# C++ source. Never fails: without npm, or where it cannot fetch what the lock file names, OUT says
# what is missing.

function(write_missing reason)
  message(STATUS "railyard report will not be able to write pages: ${reason}")
  file(WRITE ${OUT} "// Written by cmake/PageBundle.cmake.
#include \"page_bundle.hpp\"

namespace railyard::report {

Bundle page_bundle() {
  return {{}, R\"~page~(${reason})~page~\"};
}

}  // namespace railyard::report
")
endfunction()

if(NOT NPM OR NOT NODE)
  write_missing("this program was built without npm, which bundles the charts: install nodejs and npm, then configure and build again")
  return()
endif()


file(MAKE_DIRECTORY ${WORK})
foreach(file ${FILES})
  file(COPY ${PAGE}/${file} DESTINATION ${WORK})
endforeach()
# --ignore-scripts: nothing of what is fetched runs but the bundler.
execute_process(
  COMMAND ${NPM} ci --ignore-scripts --no-audit --no-fund --prefer-offline --fetch-retries=1
  WORKING_DIRECTORY ${WORK} OUTPUT_FILE ${WORK}/npm.log ERROR_FILE ${WORK}/npm.log
  RESULT_VARIABLE fetched TIMEOUT 180)
if(fetched EQUAL 0)
  execute_process(
    COMMAND ${NODE} build.mjs ${OUT}.new WORKING_DIRECTORY ${WORK}
    OUTPUT_FILE ${WORK}/bundle.log ERROR_FILE ${WORK}/bundle.log RESULT_VARIABLE bundled)
endif()
if(fetched EQUAL 0 AND bundled EQUAL 0)
  file(RENAME ${OUT}.new ${OUT})
else()
  write_missing("its charts could not be fetched or bundled when this program was built (logs in ${WORK}): remove ${OUT} and build again")
endif()
