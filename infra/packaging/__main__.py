"""`python -m infra.packaging`: builds the zips of the functions."""

import sys

from infra.packaging.zips import main

if __name__ == "__main__":
    sys.exit(main())
