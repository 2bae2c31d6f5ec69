# SPDX-License-Identifier: MIT
"""where.py PREFIX USUAL - where a module that is installed below PREFIX is found by this interpreter: of the places that
it looks at the one below PREFIX, else USUAL. Meson's own choice is not always one of them: Debian's python3 looks at
/usr/local/lib/python3.11, not at /usr/local/lib/python3."""
import os
import site
import sys

prefix, usual = sys.argv[1:]
below = os.path.join(prefix, "lib", "")
print(next((place for place in [*site.getsitepackages(), site.getusersitepackages()] if place.startswith(below)), usual))
