#include "bindings.hpp"

NB_MODULE(_core, m) {
  m.doc() = "The C++ core of rt_runtime: a loop and its blocks. Arguments are checked in words by the Python layer.";
  hmor::bind_engine(m);
  hmor::bind_blocks(m);
  hmor::bind_control(m);
  hmor::bind_kinematics(m);
  hmor::bind_runtime(m);
  hmor::bind_safety(m);
  hmor::bind_actuators(m);
  hmor::bind_rom(m);
  hmor::bind_interop(m);
}
