"""`python -m anamnesis` is the `anamnesis` command."""

from anamnesis.entry import main

main()
