"""The application: the `hmor` command, studies, reports."""
