#include <fmt/format.h>
#include <sqlite3.h>

#include <filesystem>
#include <memory>

#include "railyard/core/check.hpp"
#include "railyard/sweep/sweep.hpp"

namespace railyard::sweep {

namespace {

struct Close {
  void operator()(sqlite3* database) const { sqlite3_close(database); }
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Database = std::unique_ptr<sqlite3, Close>;
using Statement = std::unique_ptr<sqlite3_stmt, Close>;

[[noreturn]] void fail(const std::filesystem::path& path, sqlite3* database) {
  throw IoError(fmt::format("{}: {}", path.string(), sqlite3_errmsg(database)));
}

/// A name of SQL, whatever is in it.
std::string sql_name(std::string_view name) {
  std::string out = "\"";
  for (const char letter : name)
    out += letter == '"' ? std::string("\"\"") : std::string(1, letter);
  return out + '"';
}

class Table {
 public:
  Table(sqlite3* database, const std::filesystem::path& path) : database_(database), path_(path) {}

  void run(const std::string& sql) {
    if (sqlite3_exec(database_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
      fail(path_, database_);
  }
  void insert_into(const std::string& name, std::size_t columns) {
    std::string marks;
    for (std::size_t i = 0; i < columns; ++i) marks += i == 0 ? "?" : ", ?";
    const std::string sql = fmt::format("INSERT INTO {} VALUES ({})", name, marks);
    sqlite3_stmt* made = nullptr;
    if (sqlite3_prepare_v2(database_, sql.c_str(), -1, &made, nullptr) != SQLITE_OK)
      fail(path_, database_);
    statement_.reset(made);
    column_ = 0;
  }
  void add(std::string_view text) {
    check(sqlite3_bind_text(statement_.get(), ++column_, text.data(), static_cast<int>(text.size()),
                            SQLITE_TRANSIENT));
  }
  void add(std::uint64_t number) {
    check(sqlite3_bind_int64(statement_.get(), ++column_, static_cast<sqlite3_int64>(number)));
  }
  void add(std::optional<double> number) {
    check(number ? sqlite3_bind_double(statement_.get(), ++column_, *number)
                 : sqlite3_bind_null(statement_.get(), ++column_));
  }
  void row() {
    if (sqlite3_step(statement_.get()) != SQLITE_DONE) fail(path_, database_);
    check(sqlite3_reset(statement_.get()));
    column_ = 0;
  }

 private:
  void check(int code) {
    if (code != SQLITE_OK) fail(path_, database_);
  }
  sqlite3* database_;
  const std::filesystem::path& path_;
  Statement statement_;
  int column_ = 0;
};

void write_points(Table& table, const Sweep& sweep) {
  std::string columns;
  for (const std::string& axis : sweep.axes) columns += fmt::format(", {} TEXT", sql_name(axis));
  table.run(
      fmt::format("CREATE TABLE points (point INTEGER PRIMARY KEY, setting INTEGER, "
                  "seed INTEGER{})",
                  columns));
  table.insert_into("points", 3 + sweep.axes.size());
  for (std::size_t i = 0; i < sweep.points.size(); ++i) {
    const Point& point = sweep.points[i];
    table.add(std::uint64_t{i});
    table.add(std::uint64_t{point.setting});
    table.add(point.seed);
    for (const std::string& value : point.values) table.add(value);
    table.row();
  }
}

void write_results(Table& table, const std::vector<PointResult>& results) {
  std::string columns;
  for (const auto& metric : metrics::metric_catalog())
    columns += fmt::format(", {} REAL", metric.key);
  table.run(
      fmt::format("CREATE TABLE results (point INTEGER REFERENCES points, policy TEXT, "
                  "digest TEXT{}, PRIMARY KEY (point, policy))",
                  columns));
  table.insert_into("results", 3 + metrics::kMetrics);
  for (const PointResult& point : results) {
    for (const metrics::PolicyResult& policy : point.result.policies) {
      table.add(std::uint64_t{point.index});
      table.add(std::string_view(policy.name));
      table.add(std::string_view(point.result.digest));
      for (std::size_t m = 0; m < metrics::kMetrics; ++m)
        table.add(policy.metrics.get(static_cast<metrics::Metric>(m)));
      table.row();
    }
  }
}

}  // namespace

void write_sqlite(const Sweep& sweep, const std::vector<PointResult>& results,
                  const std::filesystem::path& path) {
  std::filesystem::path fresh = path;
  fresh += ".new";
  std::error_code ignored;
  std::filesystem::remove(fresh, ignored);
  {
    sqlite3* made = nullptr;
    const int code = sqlite3_open(fresh.c_str(), &made);
    const Database database(made);
    if (code != SQLITE_OK) fail(path, database.get());
    Table table(database.get(), path);
    table.run("BEGIN");
    write_points(table, sweep);
    write_results(table, results);
    table.run("COMMIT");
  }
  std::error_code error;
  std::filesystem::rename(fresh, path, error);
  if (error) throw IoError(fmt::format("{}: {}", path.string(), error.message()));
}

}  // namespace railyard::sweep
