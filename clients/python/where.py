# SPDX-License-Identifier: MIT
"""where.py PREFIX USUAL - prints the directory below PREFIX that this interpreter searches for modules, or USUAL if there is
none. Meson's own choice may be one that is not searched: Debian's python3 searches /usr/local/lib/python3.11, not
/usr/local/lib/python3."""
import os
import site
import sys

prefix, usual = sys.argv[1:]
below = os.path.join(prefix, "lib", "")
print(next((place for place in [*site.getsitepackages(), site.getusersitepackages()] if place.startswith(below)), usual))
