# Sourced by tools/run and tools/test: configure and build a preset. All output goes to stderr.
# shellcheck shell=bash

# configure_preset ROOT PRESET: only where there is no finished configuration of this very tree, or the
# presets changed since; everything else CMake notices by itself when ninja runs. Settings wanted beside
# those of the preset stand in the array configure_settings; a build that has more of them serves, too.
configure_settings=()
configure_preset() {
  local root=$1 preset=$2 setting configured=yes
  local folder=$root/build/$preset
  local stamp=$folder/.configured launcher=()
  for setting in "$root" "${configure_settings[@]}"; do
    grep -qsxF -e "$setting" "$stamp" || configured=no
  done
  if [ "$configured" = yes ] && [ ! "$root/CMakePresets.json" -nt "$stamp" ]; then return 0; fi
  if command -v ccache >/dev/null; then launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi
  (cd "$root" && cmake --fresh --preset "$preset" "${configure_settings[@]}" "${launcher[@]}") >&2 </dev/null || return 1
  printf '%s\n' "$root" "${configure_settings[@]}" >"$stamp"
}

# build_preset ROOT PRESET [TARGET…]: says nothing when there is nothing to do. Two calls at once take turns.
build_preset() {
  local root=$1 preset=$2
  shift 2
  local folder=$root/build/$preset
  # One cache serves clones in several folders, and files that use precompiled headers.
  export CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=pch_defines,time_macros
  mkdir -p "$folder" || return 1
  (
    if command -v flock >/dev/null; then flock 9 || exit 1; fi
    configure_preset "$root" "$preset" 9>&- || exit 1
    if [ "$(ninja -C "$folder" -n "$@" 2>/dev/null 9>&- | tail -n 1)" = "ninja: no work to do." ]; then exit 0; fi
    ninja -C "$folder" "$@" >&2 </dev/null 9>&-
  ) 9>"$folder/.lock"
}
