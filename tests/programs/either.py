# SPDX-License-Identifier: MIT
"""One program both ways: linked again with Rheaper, or as it is under `rheaper`. Such a program calls track() for the first, which is
nothing for the second."""
import os

import launched
from harness import BASE_FLAGS, COMPILER, ROOT, equal

WAYS = ('wrap', 'preload')
CXX = os.environ.get('CXX', 'g++').split()
CXX_FLAGS = [flag for flag in BASE_FLAGS if not flag.startswith('-std')]


def built(test, way, source, *flags, libs=()):
    product, plus = test.product, source.endswith('.cc')
    how = product.cflags if way == 'wrap' else ['-DPLAIN']
    return test.builder.get((source, flags, way, tuple(libs)), lambda output: [
        *(CXX if plus else COMPILER), *(CXX_FLAGS if plus else BASE_FLAGS), *how, *flags, '-o', output, os.path.join(ROOT, source), *libs,
        *(product.libs(False) if way == 'wrap' else []), '-pthread', '-ldl'])


def command(test, way, program, *arguments, options=()):
    """What starts it so that its profiles come to lie in the working directory."""
    return [program, *arguments] if way == 'wrap' else [launched.launcher(test), '-q', *options, '--', program, *arguments]


def run(test, way, source, *arguments, flags=(), libs=(), options=(), status=0, env=None, place=None):
    """Runs it in a directory of its own, done.work. It says nothing on stderr."""
    work = test.mkdir(place or way)
    done = launched.run(test, *command(test, way, built(test, way, source, *flags, libs=libs), *arguments, options=options),
                        cwd=work, status=status, env=env)
    equal('standard error', done.err, '')
    done.work = work
    return done
