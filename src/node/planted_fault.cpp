#include "node/planted_fault.h"

#include <memory>

namespace hoplite::node {

store::CopyPtr Unpinned(const store::Copy& copy) {
  auto view = std::make_shared<store::Copy>(copy.object(), copy.layout(), copy.metadata(),
                                            copy.bytes(), copy.segment_offset(), nullptr);
  for (std::uint64_t block = 0; block < copy.layout().block_count(); ++block) {
    view->SetChecksum(block, copy.checksum(block));
  }
  for (std::uint32_t s = 0; s < copy.layout().stripe_count; ++s) {
    view->Advance(s, copy.layout().stripe_block_count(s));
  }
  view->set_version(copy.version());
  view->Seal();
  return view;
}

}  // namespace hoplite::node
