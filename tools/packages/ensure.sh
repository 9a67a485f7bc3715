# Sourced by tools/run and tools/test: the packages they need, installed once. All output goes to stderr.
# shellcheck shell=bash disable=SC2086

say() { printf 'railyard: %s\n' "$*" >&2; }

# packages_of LIST…: the names in the lists, comments and empty lines left out.
packages_of() { sed -e 's/#.*//' -e 's/[[:space:]]//g' -e '/^$/d' "$@" | sort -u; }

# provided: names that installed packages stand for, as a nodejs that brings npm along does.
provided() {
  dpkg-query --show --showformat='${db:Status-Abbrev}, ${Provides}\n' | sed -n 's/^ii *, //p' |
    tr ',' '\n' | sed -e 's/(.*//' -e 's/[[:space:]]//g' | sort -u
}

# missing_packages LIST…: the names that are not installed. One dpkg-query for all of them: milliseconds.
missing_packages() {
  local wanted installed name missing=
  wanted=$(packages_of "$@")
  # Names of packages hold no spaces: they are split on purpose.
  installed=$(dpkg-query --show --showformat='${db:Status-Abbrev}${Package}\n' $wanted 2>/dev/null | sed -n 's/^ii *//p')
  for name in $wanted; do
    case $'\n'$installed$'\n' in
      *$'\n'$name$'\n'*) ;;
      *) missing+=$name$'\n' ;;
    esac
  done
  [ -z "$missing" ] || printf '%s' "$missing" | grep -vxF -f <(provided) || true
}

# as_root COMMAND…: as it is for root, through sudo for others.
as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo -- "$@"
  else
    say "installing needs root or sudo; as root, run: $*"
    return 1
  fi
}

# ensure_packages INSTALL LIST…: INSTALL is yes or no. With no, nothing is touched: what is missing is named,
# and the build goes on, since a compiler or a library may well come from somewhere else.
ensure_packages() {
  local install=$1 missing
  shift
  if ! command -v dpkg-query >/dev/null; then
    say "no dpkg here: the packages of ${*##*/} are taken as present"
    return 0
  fi
  missing=$(missing_packages "$@")
  [ -n "$missing" ] || return 0
  if [ "$install" = no ]; then
    say "not installed, and --no-install was given:" $missing
    return 0
  fi
  say "installing" $missing
  as_root apt-get update >&2 </dev/null || say "no fresh package lists; trying those at hand"
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends $missing \
    >&2 </dev/null || { say "installing failed; missing:" $missing; return 1; }
}
