"""`python -m hmor` is `hmor`."""

from hmor.cli import main

main()
