// What a plug-in library defines: two functions with C names. tools/plugin-template builds one.
//
// The program that loads it calls the first, goes on if the number is its own, and calls the second
// with the catalogs, to which entries are added: placements, queues, predictors, reservations,
// schedulers. Everything else that a plug-in calls (headers below railyard/) comes from the
// program: a plug-in links none of its libraries. It is trusted code: it runs in the program, with
// the user's rights, and what it breaks is broken.
#pragma once

#include <cstdint>

#include "railyard/scheduler/catalogs.hpp"

namespace railyard::bridge {

/// Changes with every change of a type that a plug-in sees. The program refuses other numbers.
inline constexpr std::uint32_t kPluginAbi = 1;

}  // namespace railyard::bridge

extern "C" {
/// Returns railyard::bridge::kPluginAbi as the plug-in was compiled with it.
std::uint32_t railyard_plugin_abi();
/// Adds entries. The texts they point to live as long as the library.
void railyard_plugin(railyard::scheduler::Catalogs& catalogs);
}
