"""The application: the `hmor` command, studies, reports."""

import os

# The command works in several processes; threads of the linear algebra under each would only stand in their way
# (a fit of a small network becomes five to ten times slower on a busy machine).
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
