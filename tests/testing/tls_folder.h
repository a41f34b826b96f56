// A folder with an authority, certificates of members and secrets, as an operator makes them.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <hoplite/config.h>

#include "net/tls_authority.h"

namespace hoplite::test {

class TlsFolder {
 public:
  TlsFolder() {
    std::string path = ::testing::TempDir() + "hoplite-tls-XXXXXX";
    EXPECT_NE(::mkdtemp(path.data()), nullptr);
    folder_ = path;
    Write("ca.pem", authority_.pair().certificate);
  }
  ~TlsFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  TlsFolder(const TlsFolder&) = delete;
  TlsFolder& operator=(const TlsFolder&) = delete;

  std::string In(const std::string& name) const { return folder_ / name; }
  // Whole at any moment, as `hoplite certs` writes it.
  std::string Write(const std::string& name, const std::string& content, mode_t mode = 0600) const {
    const std::string fresh = In(name + ".new");
    std::ofstream(fresh) << content;
    ::chmod(fresh.c_str(), mode);
    std::filesystem::rename(fresh, In(name));
    return In(name);
  }
  // Files NAME.pem and NAME.key with a certificate of that authority.
  SecurityConfig Certificate(const std::string& name, net::TlsRole role,
                             const std::string& cluster = "",
                             net::TlsValidity validity = {.ends = std::chrono::hours(1)}) const {
    const net::TlsPair pair = authority_.Issue(cluster, role, validity);
    return {.tls_ca = In("ca.pem"),
            .tls_cert = Write(name + ".pem", pair.certificate),
            .tls_key = Write(name + ".key", pair.key)};
  }
  SecurityConfig Secret(const std::string& name, const std::string& secret,
                        mode_t mode = 0600) const {
    return {.secret_file = Write(name, secret, mode)};
  }

 private:
  std::filesystem::path folder_;
  net::TlsAuthority authority_ = net::TlsAuthority::Make({.ends = std::chrono::hours(10)});
};

}  // namespace hoplite::test
