"""`python -m dancfr.bench NAME SECONDS`: one benchmark in this very process, as JSON. See `dancfr.bench`."""

import json
import sys

from dancfr.bench import BENCHES

if __name__ == "__main__":
    name, seconds = sys.argv[1:]
    print(json.dumps(BENCHES[name](float(seconds))))
