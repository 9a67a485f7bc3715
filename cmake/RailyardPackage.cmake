# What `cmake --install` puts where, and the Debian package of `cpack -G DEB`.
include(GNUInstallDirs)

install(TARGETS railyard)
install(DIRECTORY include/railyard TYPE INCLUDE)
set(RAILYARD_HEADERS "\${CMAKE_CURRENT_LIST_DIR}/../../../include")
configure_file(cmake/RailyardConfig.cmake.in installed/RailyardConfig.cmake @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/installed/RailyardConfig.cmake DESTINATION lib/cmake/Railyard)

# Files name each other by relative paths: they keep their places.
install(DIRECTORY scenarios topologies workloads validation results tools/plugin-template tools/policy-template
  DESTINATION share/railyard)
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright)

# The program writes its own manual pages and completions, as it is installed.
set(written ${PROJECT_BINARY_DIR}/installed)
install(CODE "
  file(MAKE_DIRECTORY \"${written}/completion\")
  execute_process(COMMAND \"$<TARGET_FILE:railyard>\" man --out \"${written}/man\" COMMAND_ERROR_IS_FATAL ANY)
  foreach(shell bash zsh fish)
    execute_process(COMMAND \"$<TARGET_FILE:railyard>\" completion \${shell} --out \"${written}/completion/\${shell}\"
      COMMAND_ERROR_IS_FATAL ANY)
  endforeach()")
install(DIRECTORY ${written}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${written}/completion/bash DESTINATION share/bash-completion/completions RENAME railyard)
install(FILES ${written}/completion/fish DESTINATION share/fish/vendor_completions.d RENAME railyard.fish)
# zsh looks into the first below /usr/local, Debian's into the second below /usr.
foreach(folder site-functions vendor-completions)
  install(FILES ${written}/completion/zsh DESTINATION share/zsh/${folder} RENAME _railyard)
endforeach()

set(CPACK_PACKAGE_NAME railyard)
set(CPACK_PACKAGE_CONTACT "The Railyard authors <railyard@example.org>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# A plug-in is compiled against the headers, a report opens in a browser.
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "g++, cmake, libfmt-dev, bash-completion, slurm-client")
include(CPack)
