#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace hmor {

/// Version 1 of the protocol, as far as two sides of different release need it to tell each other so.
using Version1 = std::array<std::uint8_t, 216>;

/// Outside the loop. The hello of a version 1 loop: a version 1 rig answers it, which moves nothing.
Version1 version1_hello(int n_command, int n_measured, const std::string& key);

/// In the loop. Whether `size` bytes are a whole message of version 1.
bool is_version1(const std::uint8_t* bytes, std::size_t size) noexcept;

/// In the loop. What makes a version 1 loop say "Rig speaks version 2": its form with another version number.
Version1 version1_refusal() noexcept;

}  // namespace hmor
