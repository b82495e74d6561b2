"""`python -m dancfr.bench NAME SECONDS`: one benchmark in this very process, as JSON. See `dancfr.bench`."""

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
