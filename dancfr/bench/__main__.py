"""`python -m dancfr.bench NAME SECONDS`: runs a benchmark in this process and prints its result as JSON."""

import json
import sys

from dancfr.bench import BENCHES
from dancfr.errors import DancfrError, warn

if __name__ == "__main__":
    name, seconds = sys.argv[1:]
    try:
        print(json.dumps(BENCHES[name](float(seconds))))
    except DancfrError as error:
        warn(str(error))
        sys.exit(error.exit_code)
