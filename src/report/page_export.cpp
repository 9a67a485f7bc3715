#include <algorithm>

#include "json_value.hpp"
#include "railyard/report/page.hpp"

namespace railyard::report {

namespace {

/// RFC 4648, without line breaks. Throws ResultError.
std::string from_base64(std::string_view text) {
  static constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve(text.size() / 4 * 3);
  std::uint32_t bits = 0;
  int held = 0;
  for (const char letter : text) {
    if (letter == '=') break;
    const std::size_t value = kLetters.find(letter);
    if (value == std::string_view::npos)
      throw ResultError("the browser left a page whose pictures cannot be decoded");
    bits = bits << 6U | static_cast<std::uint32_t>(value);
    held += 6;
    if (held < 8) continue;
    held -= 8;
    out += static_cast<char>(bits >> static_cast<unsigned>(held) & 0xffU);
  }
  return out;
}

bool is_name(const std::string& id) {
  const auto plain = [](unsigned char letter) {
    return std::isalnum(letter) != 0 || letter == '-' || letter == '_';
  };
  return !id.empty() && std::all_of(id.begin(), id.end(), plain);
}

}  // namespace

std::vector<ChartPicture> exported_charts(const std::string& document) {
  static constexpr std::string_view kBegin = "<pre id=\"exported\">";
  const std::size_t begin = document.find(kBegin);
  const std::size_t end = document.find("</pre>", begin);
  if (begin == std::string::npos || end == std::string::npos)
    throw ResultError("the browser opened the page and drew no picture");
  const std::size_t first = begin + kBegin.size();
  const std::string name = "the page in the browser";
  const Json json =
      parse_json(from_base64(std::string_view(document).substr(first, end - first)), name);
  std::vector<ChartPicture> out;
  Value(json, name, "").each([&out](const std::string&, const Value& chart) {
    ChartPicture picture{chart.at("id").text(), chart.at("svg").text(),
                         from_base64(chart.at("png").text())};
    if (!is_name(picture.id)) chart.at("id").fail("expected a name of a chart");
    out.push_back(std::move(picture));
  });
  return out;
}

}  // namespace railyard::report
