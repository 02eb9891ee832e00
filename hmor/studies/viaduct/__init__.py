"""Study `viaduct`: a bridge that OpenSees solves far slower than real time, its middle pier in the laboratory."""
