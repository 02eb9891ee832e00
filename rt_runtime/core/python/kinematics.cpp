#include "bindings.hpp"
#include "kinematics/maps.hpp"
#include "safety/fade.hpp"

namespace hmor {

void bind_kinematics(nb::module_& m) {
  nb::class_<Platform>(m, "Platform")
      .def(
          "__init__",
          [](Platform* self, const Array1& fixed, const Array1& moving, const Array1& stroke) {
            new (self) Platform(to_vector(fixed), to_vector(moving), to_vector(stroke));
          },
          "fixed"_a, "moving"_a, "stroke"_a)
      .def(
          "jacobian",
          [](const Platform& platform, const Array1& pose) {
            if (pose.size() != 6) throw nb::value_error("pose of jacobian must have 6 numbers.");
            Platform::Strokes stroke;
            Platform::Jacobian jacobian;
            platform.evaluate(pose.data(), stroke.data(), jacobian);
            return to_numpy(&jacobian[0][0], {6, 6});
          },
          "pose"_a, nb::sig("def jacobian(self, pose: NDArray[numpy.float64]) -> NDArray[numpy.float64]"),
          "d stroke / d pose (6, 6) at a pose.");

  nb::class_<InverseKinematics, Block>(m, "InverseKinematics").def(nb::init<const Platform&>(), "platform"_a);
  nb::class_<ForwardKinematics, Block>(m, "ForwardKinematics")
      .def(nb::init<const Platform&, int, double, double, double>(), "platform"_a, "steps"_a, "reach"_a, "turn"_a,
           "least_pivot"_a);
  nb::class_<ForceTransform, Block>(m, "ForceTransform")
      .def(nb::init<const Platform&, bool>(), "platform"_a, "inverse"_a);
  nb::class_<Fade, Block>(m, "Fade").def(nb::init<int, int>(), "channels"_a, "ticks"_a);
}

}  // namespace hmor
