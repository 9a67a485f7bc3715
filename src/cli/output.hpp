// Where results go: stdout carries results and nothing else, files appear whole or not at all.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace railyard::cli {

/// Throws IoError when stdout does not take it all (closed pipe, full disk).
void write_stdout(std::string_view text);
/// A line on stderr; nobody is told when that fails.
void say(std::string_view line);

/// Makes the folder (with parents) and finds out now, not after the simulation, whether files can
/// be written to it.
void prepare_folder(const std::filesystem::path& folder);
/// Writes beside the file and renames: a reader sees the old content or the new, never a part.
/// Throws IoError.
void write_file(const std::filesystem::path& path, std::string_view text);

/// A folder of the repository ("scenarios"): below the working directory, else beside the build
/// folder of this program, else in the share/railyard of where it is installed.
/// Empty when there is none.
[[nodiscard]] std::filesystem::path bundled(std::string_view folder);
/// An input file as users name it: the path where it is, else a path of the repository or a bare
/// name ("quickstart") in that folder of it. Itself where there is nothing.
[[nodiscard]] std::filesystem::path input_file(const std::string& word, std::string_view folder);
/// The path as a user would type it here: relative to the working directory where it lies below it.
[[nodiscard]] std::string shown_path(const std::filesystem::path& path);

}  // namespace railyard::cli
