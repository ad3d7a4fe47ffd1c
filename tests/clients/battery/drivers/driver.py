"""The loop of a driver in Python; see driver.mjs."""

import asyncio
import json
import os
import sys

given = json.loads(os.environ["TABWIRE_BATTERY"])

# Libraries print to stdout, too. Only results may arrive there.
results = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)


def at(path):
    """An address on the site."""
    return given["site"] + path


def report(line):
    print(json.dumps(line), file=results, flush=True)


def message_of(error):
    return str(error) or type(error).__name__


def serve(operations):
    for line in sys.stdin:
        operation = operations.get(line.strip())
        if operation is None:
            report({"missing": True})
            continue
        try:
            value = operation()
            report({"value": True if value is None else value})
        except Exception as error:
            report({"error": message_of(error)})
    os._exit(0)


async def serve_async(operations):
    while line := await asyncio.to_thread(sys.stdin.readline):
        operation = operations.get(line.strip())
        if operation is None:
            report({"missing": True})
            continue
        try:
            value = await operation()
            report({"value": True if value is None else value})
        except Exception as error:
            report({"error": message_of(error)})
    os._exit(0)
