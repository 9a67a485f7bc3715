// The only program file: it will hand each verb to its own file. No verb has landed yet.
#include <cstdio>

int main() {
  std::fputs("usage: railyard VERB …\n", stderr);
  return 2;
}
