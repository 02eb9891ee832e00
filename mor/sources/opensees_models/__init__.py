"""Ready full-order models in OpenSees: bridge pier, steel frame, base-isolated building."""
