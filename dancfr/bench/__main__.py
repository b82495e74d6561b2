"""`python -m dancfr.bench NAME SECONDS`: runs a benchmark in this process and prints its result as JSON."""

import json
import sys
from contextlib import redirect_stdout

from dancfr.bench import BENCHES
from dancfr.errors import DancfrError, warn
from dancfr.standard_streams import guard_streams

if __name__ == "__main__":
    guard_streams()
    name, seconds = sys.argv[1:]
    try:
        with redirect_stdout(sys.stderr):  # Ray prints warnings of its workers
            measured = BENCHES[name](float(seconds))
        print(json.dumps(measured))
    except DancfrError as error:
        warn(str(error))
        sys.exit(error.exit_code)
