"""Other people's worlds: sites for OpenSees and OpenFresco (`hmor serve`), OPC UA, controllers for other hosts."""
