"""`python -m anamnesis` is the `anamnesis` command."""

from anamnesis.cli import main

main()
