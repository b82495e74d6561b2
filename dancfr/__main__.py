"""`python -m dancfr`, the entry that works in cluster jobs, where no console script is installed."""

from dancfr.cli import main

if __name__ == "__main__":
    main()
